/** The reason why a list, an answer or a call is refused. */
export type ListErrorCode =
  // Faults of the publisher, or of an attacker on the network.
  /** The list, or a part of it, is not what the publisher signed. */
  | "forged"
  /** Bytes of a part are missing or too many. */
  | "truncated"
  /** The data is not a list, or it is damaged. */
  | "not-a-list"
  /** The signer of the list is not `publisher`. */
  | "other-publisher"
  /** The publisher has not renewed the list in time. */
  | "expired"
  /** The list is older than one seen before. */
  | "rolled-back"
  /** There are two different lists of the same version. */
  | "forked"
  /** A delta does not continue the list. */
  | "out-of-order"
  /** The log of published lists does not continue the one seen before. */
  | "log-changed"
  /** An answer was computed with another key than the published one. */
  | "wrong-key"
  /** The data is not an answer. */
  | "malformed-answer"
  /** The list counts different values as empty than `nullValues`. */
  | "other-null-values"
  /** The list's tags are too short for the error probability that it promises. */
  | "tags-too-short"
  // Limits of this client.
  /** The list is larger than `budget`. */
  | "too-large"
  /** The list has a newer format than this release supports. */
  | "unknown-version"
  /** This release does not support a normalisation of keys. */
  | "unknown-keys"
  /** The keys of the list are normalised differently from `keys`. */
  | "other-keys"
  /** The list and the answer belong to different epochs, even after the list was fetched again. */
  | "other-epoch"
  // Refusals of the service.
  /** The service cannot be reached, or does not respond. Try again later. */
  | "unreachable"
  /** This client has reached its limit of keys. Try again after `retryAfter` seconds. */
  | "limit"
  /** All clients together have reached the limit. Try again after `retryAfter` seconds. */
  | "busy"
  /** The service only answers clients with a token. */
  | "token"
  /** The service does not respond like a service of lists. */
  | "server"
  // Faults of the call or the browser.
  /** `url` or `ask` is not the address of a list. */
  | "address"
  /** `publisher` is not a fingerprint, or contains a typo. */
  | "fingerprint"
  /** `nullValues` are too long, or contain control characters. */
  | "null-values"
  /** The browser cannot store the list, or has removed it. */
  | "storage"
  /** The WebAssembly module cannot be loaded. Check the page's content security policy. */
  | "no-module"
  /** The browser does not provide randomness. */
  | "no-randomness"
  /** The files of this package are from different releases. */
  | "misuse"
  /** The number of a key's values differs from the list's number of columns. */
  | "columns";

export class ListError extends Error {
  readonly name: "ListError";
  readonly code: ListErrorCode;
  /** Seconds until the next attempt, if the service names them. */
  readonly retryAfter?: number;
}

/** The progress of an operation. */
export interface Progress {
  /** `check`: bytes already in the browser; `download`: bytes of the list; `ask`: keys. */
  readonly phase: "check" | "download" | "ask";
  readonly done: number;
  readonly total: number;
}

export interface OpenOptions {
  /** The address of the list, such as `https://lists.example.org/v1`, or an address relative to the page. */
  url: string | URL;
  /** The fingerprint of the publisher, `vesica1-…`, from a source that you trust. */
  publisher: string;
  /** The address that answers questions, if it differs from the list's. */
  ask?: string | URL;
  /** The token that the publisher gave this client, or a function that returns it. */
  token?: string | (() => string | Promise<string>);
  /**
   * The normalisation of each key column, such as `["phone:GB"]` for numbers without a country code. By default, the list's.
   */
  keys?: readonly string[];
  /**
   * Values that count as empty in normalised columns, instead of the usual ones. The client decides this: a list with different
   * ones is refused.
   */
  nullValues?: readonly string[];
  /** The name of the database that stores the list, or `null` to keep it in memory. By default, `vesica-lists`. */
  cache?: string | null;
  /** The maximum size of the list in bytes. By default, 1 GiB. */
  budget?: number;
  /** Called with the progress of a download or a lookup. */
  onProgress?: (progress: Progress) => void;
  /** Aborts the operation. */
  signal?: AbortSignal;
  /** The WebAssembly module, if it is not next to the package's files. */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
}

/** A key: its value, or one value for each column of the list's keys. A missing value is `null`. */
export type Key = string | readonly (string | null | undefined)[];

/** The result for a key. */
export interface Answer {
  /** Whether it is in the list. */
  readonly member: boolean;
  /** Whether it is a valid key: `nobody` is not an e-mail address. An invalid key is asked for like any other. */
  readonly valid: boolean;
  /** The key's labels by column name, or `null` if the key is not in the list or has no readable labels. */
  readonly labels: Readonly<Record<string, string | null>> | null;
}

/** The publisher's description of the list. */
export interface ListInfo {
  readonly name: string;
  /** Number of the publisher's key. */
  readonly epoch: number;
  /** Number of the change in the epoch. */
  readonly version: number;
  readonly items: number;
  /** Bytes of the list's files. */
  readonly bytes: number;
  readonly issued: Date;
  readonly expires: Date;
  /** The normalisation of each key column, such as `email@1`. */
  readonly keys: readonly string[];
  /** The columns of labels, if there are any. */
  readonly labels: readonly string[] | null;
  /** The probability of any false match among `queries` keys that are not in the list is at most 2^-`lambda`. */
  readonly lambda: number;
  /** Number of queries of a client in an epoch for which this holds. */
  readonly queries: number;
}

/** A published list with a copy in this browser. */
export class PublishedList {
  private constructor();

  /**
   * Opens a list: fetches it or its changes, checks it against the publisher's signature, and stores it. Resumes an interrupted
   * download. If the service cannot be reached, opens the stored copy, unless it has expired.
   *
   * @throws {ListError}
   */
  static open(options: OpenOptions): Promise<PublishedList>;

  readonly info: ListInfo;

  /** Whether the service was reached when the list was last opened or updated. */
  readonly isFresh: boolean;

  /** Number of keys asked for since the list was opened. */
  readonly asked: number;

  /** Number of keys found since the list was opened whose labels cannot be read and count as missing. */
  readonly unreadable: number;

  /**
   * Looks up keys, and returns an answer for each, in order. The service receives 32 blinded bytes for each key, valid or not,
   * which reveal nothing. `lookup` asks for all keys before it looks any up. If they need more than one question, it waits between
   * questions when the service requires it. It needs the service, because only the service has the list's secret key.
   *
   * @throws {ListError}
   */
  lookup(keys: readonly Key[], options?: { signal?: AbortSignal }): Promise<Answer[]>;

  /**
   * Fetches the changes, and returns whether there were any. `lookup` does this itself if the list has expired or has a new key.
   *
   * @throws {ListError}
   */
  update(options?: { signal?: AbortSignal }): Promise<boolean>;

  /** Removes the copy from the browser, and closes it. */
  forget(): Promise<void>;

  /** Closes the copy, and keeps it in the browser. */
  close(): void;
}
