/** Why a list, an answer or a call is refused. */
export type ListErrorCode =
  // What a publisher or whoever is in between did.
  /** The list, or a part of it, is not what the publisher signed. */
  | "forged"
  /** Bytes of a part are missing or too many. */
  | "truncated"
  /** What was sent is no list, or a damaged one. */
  | "not-a-list"
  /** Somebody else signed the list than `publisher`. */
  | "other-publisher"
  /** The publisher has not renewed the list in time. */
  | "expired"
  /** The list is older than one that was seen before. */
  | "rolled-back"
  /** There are two different lists of the same version. */
  | "forked"
  /** A delta does not continue the list. */
  | "out-of-order"
  /** The log of published lists does not continue the one that was seen before. */
  | "log-changed"
  /** An answer was computed with another key than the published one. */
  | "wrong-key"
  /** An answer is none. */
  | "malformed-answer"
  /** Other values count as empty in the list than `nullValues` says. */
  | "other-null-values"
  /** The list gives more wrong answers than it promises. */
  | "tags-too-short"
  // What this client cannot or may not do.
  /** The list is larger than `budget`. */
  | "too-large"
  /** The list is written in a newer form than this release reads. */
  | "unknown-version"
  /** A normalisation of keys that this release does not know. */
  | "unknown-keys"
  /** The keys of the list are normalised otherwise than `keys` says. */
  | "other-keys"
  /** The list is of another epoch than the answer, also after it was fetched again. */
  | "other-epoch"
  // What the service says.
  /** The service cannot be reached, or sends nothing. Try again later. */
  | "unreachable"
  /** This client has asked for as many keys as it may. Try again after `retryAfter` seconds. */
  | "limit"
  /** All clients together ask too much. Try again after `retryAfter` seconds. */
  | "busy"
  /** The service answers clients with a token alone. */
  | "token"
  /** The service answers otherwise than a service of lists does. */
  | "server"
  // What is wrong with the call or the browser.
  /** `url` or `ask` is no address of a list. */
  | "address"
  /** `publisher` is no fingerprint, or has a typo in it. */
  | "fingerprint"
  /** `nullValues` are too long, or hold control characters. */
  | "null-values"
  /** The browser does not keep the list, or has removed it. */
  | "storage"
  /** The WebAssembly module cannot be loaded: see what the page's policy allows. */
  | "no-module"
  /** The browser gives no randomness. */
  | "no-randomness"
  /** The files of this package are of different releases. */
  | "misuse"
  /** A key has not as many values as the list has columns. */
  | "columns";

export class ListError extends Error {
  readonly name: "ListError";
  readonly code: ListErrorCode;
  /** Seconds, where the service said so. */
  readonly retryAfter?: number;
}

/** How far something has come. */
export interface Progress {
  /** `check`: what the browser has already; `download`: bytes of the list; `ask`: keys. */
  readonly phase: "check" | "download" | "ask";
  readonly done: number;
  readonly total: number;
}

export interface OpenOptions {
  /** Where the list is, such as `https://lists.example.org/v1`; relative to the page. */
  url: string | URL;
  /** The fingerprint of the publisher, `vesica1-…`, from a source that you trust. */
  publisher: string;
  /** Who answers questions, if that is elsewhere than the list. */
  ask?: string | URL;
  /** The token that the publisher gave this client, or what gives it. */
  token?: string | (() => string | Promise<string>);
  /**
   * How keys are written, one for each column, as in `["phone:GB"]` for numbers without a country's code. By default as the list
   * has them.
   */
  keys?: readonly string[];
  /**
   * Values that count as empty in columns that are normalised, if they are others than the usual ones. They are this client's to
   * say: a list that counts others is refused.
   */
  nullValues?: readonly string[];
  /** The name of the database in which the list is kept; `null` to keep it in memory. By default `vesica-lists`. */
  cache?: string | null;
  /** The most bytes that a list may have. By default 1 GiB. */
  budget?: number;
  /** Is told how far a download or a lookup has come. */
  onProgress?: (progress: Progress) => void;
  /** Ends the opening. */
  signal?: AbortSignal;
  /** The WebAssembly module, if it is not beside the package's files. */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
}

/** A key: its value, or one value for each column of the list's keys. A missing value is `null`. */
export type Key = string | readonly (string | null | undefined)[];

/** What is known of a key. */
export interface Answer {
  /** Whether it is in the list. */
  readonly member: boolean;
  /** Whether it is a key at all: `nobody` is no e-mail address. An invalid key is asked for like any other. */
  readonly valid: boolean;
  /** The list's labels of the key, by the names of the columns; `null` where it is not in the list, or the list has none that can be read. */
  readonly labels: Readonly<Record<string, string | null>> | null;
}

/** What the publisher says of the list. */
export interface ListInfo {
  readonly name: string;
  /** Counts the keys of the publisher. */
  readonly epoch: number;
  /** Counts the changes in an epoch. */
  readonly version: number;
  readonly items: number;
  /** Bytes of the list's files. */
  readonly bytes: number;
  readonly issued: Date;
  readonly expires: Date;
  /** How each column of a key is normalised, such as `email@1`. */
  readonly keys: readonly string[];
  /** The columns of labels, if there are any. */
  readonly labels: readonly string[] | null;
  /** Of `queries` keys that are not in the list, some one is said to be in it with a probability of at most 2^-`lambda`. */
  readonly lambda: number;
  /** For so many queries of a client in an epoch. */
  readonly queries: number;
}

/** A published list that this browser has a copy of. */
export class PublishedList {
  private constructor();

  /**
   * Opens a list: fetches it, or what changed of it, checks it against the publisher's signature, and keeps it. A download that was
   * interrupted goes on. Where the service cannot be reached, the copy that is kept is opened, until it expires.
   *
   * @throws {ListError}
   */
  static open(options: OpenOptions): Promise<PublishedList>;

  readonly info: ListInfo;

  /** Whether the service was reached when the list was last opened or brought up to date. */
  readonly isFresh: boolean;

  /** How many keys were asked for since the list was opened. */
  readonly asked: number;

  /** How many keys were found since the list was opened whose labels cannot be read, and are missing. */
  readonly unreadable: number;

  /**
   * Which of these keys are in the list, in their order. The service receives 32 blinded bytes for each key, valid or not, which reveal
   * nothing. All keys are asked for before any is looked up. If they take more than one question, `lookup` waits as long as the service
   * says. It needs the service, which is the only one that has the key of the list.
   *
   * @throws {ListError}
   */
  lookup(keys: readonly Key[], options?: { signal?: AbortSignal }): Promise<Answer[]>;

  /**
   * Fetches what changed, and returns whether anything did. `lookup` does so when the list has expired or has a new key.
   *
   * @throws {ListError}
   */
  update(options?: { signal?: AbortSignal }): Promise<boolean>;

  /** Removes the copy from the browser, and closes it. */
  forget(): Promise<void>;

  /** Closes the copy, which stays in the browser. */
  close(): void;
}
