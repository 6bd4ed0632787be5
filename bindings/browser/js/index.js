// Published lists in a browser: finds out which of your keys are in a list, without revealing them to anybody.

import { ListError, checked } from "./errors.js";
import * as http from "./http.js";
import { load } from "./module.js";
import { BLOCK, IndexedStore, MemoryStore, MissingBlock } from "./store.js";

export { ListError };

/** Maximum length of a head, in bytes. */
const LONGEST_HEAD = 1 << 18;

/** Default maximum size of a list, in bytes. */
const BUDGET = 1 << 30;

/** Number of keys in a question. */
const QUESTION = 1024;

/** Number of blocks stored or read at a time. */
const AT_A_TIME = 16;

/** A published list with a copy in this browser. */
export class PublishedList {
  #module;
  #options;
  #store;
  #copy;
  #facts;
  #isFresh = false;
  #asked = 0;
  #unreadable = 0;

  constructor(secret, module, options, store) {
    if (secret !== opening) throw new TypeError("open a list with PublishedList.open");
    this.#module = module;
    this.#options = options;
    this.#store = store;
  }

  /** Opens a list: fetches it or its changes, checks it, and stores it. */
  static async open(options) {
    const { publisher, cache = "vesica-lists", keys = [], nullValues, budget = BUDGET } = options;
    const { token, onProgress, signal } = options;
    const url = address(options.url);
    const ask = options.ask === undefined ? url : address(options.ask);
    if (typeof publisher !== "string") throw new TypeError("`publisher` must be the fingerprint of the list's publisher");
    const module = await load(options.wasm);
    const store = cache === null ? new MemoryStore() : await IndexedStore.open(cache, `${publisher.trim()} ${url}`);
    const told = { url, ask, publisher, keys: [...keys], nullValues: nullValues && [...nullValues], budget, token, onProgress };
    const list = new PublishedList(opening, module, told, store);
    try {
      await list.update({ signal });
    } catch (error) {
      store.close();
      throw error;
    }
    return list;
  }

  /** The publisher's description of the list. */
  get info() {
    const { parts, state, logEntries, ...facts } = this.#facts;
    return { ...facts, issued: new Date(facts.issued * 1000), expires: new Date(facts.expires * 1000) };
  }

  /** Whether the publisher was reached when the list was last opened or updated. */
  get isFresh() {
    return this.#isFresh;
  }

  /** Number of keys asked for since the list was opened. */
  get asked() {
    return this.#asked;
  }

  /** Number of keys found since the list was opened whose labels cannot be read and count as missing. */
  get unreadable() {
    return this.#unreadable;
  }

  /** Fetches the changes, and returns whether there were any. */
  async update({ signal } = {}) {
    const before = this.#facts?.state;
    await exclusively(`vesica ${this.#options.publisher} ${this.#options.url}`, () => this.#refresh(signal));
    return before !== this.#facts.state;
  }

  /** Finds out which of these keys are in the list. */
  async lookup(keys, { signal } = {}) {
    const columns = this.#facts.keys.length;
    const values = keys.map((key) => valuesOf(key, columns));
    const batches = [];
    for (let at = 0; at < values.length; at += QUESTION) batches.push(values.slice(at, at + QUESTION));
    const found = batches.length > 0 ? await this.#answers(batches, signal) : [];
    const names = this.#facts.labels;
    this.#unreadable += found.filter(({ member, labels }) => names && member && !labels).length;
    return found.map(({ labels, ...rest }) => ({
      ...rest,
      labels: labels && Object.fromEntries(names.map((name, nth) => [name, labels[nth]])),
    }));
  }

  /** Removes the copy from the browser. The list cannot be used afterwards. */
  async forget() {
    await this.#store.clear();
    this.close();
  }

  /** Closes the copy, and keeps it in the browser. */
  close() {
    this.#store.close();
  }

  #progress(phase, done, total) {
    this.#options.onProgress?.({ phase, done, total });
  }

  /** Accepts a head, unless it is older than this one. */
  #accept(text, known) {
    const { publisher, keys, nullValues, budget } = this.#options;
    const { AcceptedHead } = this.#module;
    return checked(() => AcceptedHead.accept(text, publisher, Date.now() / 1000, keys, nullValues, budget, known));
  }

  async #refresh(signal) {
    const { url } = this.#options;
    const known = await this.#store.head();
    let text;
    try {
      text = await http.text(url, "head.json", LONGEST_HEAD, signal);
    } catch (error) {
      if (known === undefined || error.code !== "unreachable") throw error;
      // Without a network, the copy is usable until it expires.
      const head = this.#accept(known);
      await this.#offline(head).catch((missing) => {
        throw missing instanceof MissingBlock ? gone(missing) : missing;
      });
      this.#isFresh = false;
      return;
    }
    const head = this.#accept(text, known);
    await this.#readLog(head, known, signal);
    const facts = JSON.parse(head.facts());
    await this.#parts(facts, (nth, part, progress) => this.#fetch(head, nth, part, progress, signal));
    try {
      await this.#use(head);
    } catch (error) {
      if (!(error instanceof MissingBlock)) throw error;
      await this.#store.keep([]);
      throw gone(error);
    }
    // The head is stored once all parts have been fetched and checked.
    await this.#store.setHead(text);
    await this.#store.keep(facts.parts.map(({ digest }) => digest));
    this.#isFresh = true;
  }

  /** Checks the log, unless the list is the one accepted before. */
  async #readLog(head, known, signal) {
    const log = checked(() => head.unread_log(known));
    if (log === undefined) return;
    try {
      const take = async (piece) => checked(() => log.push(piece));
      await http.bytes(this.#options.url, "log.txt", 0, take, signal);
      checked(() => log.finish());
    } finally {
      log.free();
    }
  }

  /** Processes each part, and reports progress. */
  async #parts(facts, work) {
    let before = 0;
    for (const [nth, part] of facts.parts.entries()) {
      await work(nth, part, (phase, done) => this.#progress(phase, before + done, facts.bytes));
      before += part.bytes;
    }
  }

  /** Opens the copy with this head, all of whose parts must be stored. */
  async #offline(head) {
    await this.#parts(JSON.parse(head.facts()), async (nth, part, progress) => {
      if (!(await this.#kept(head, nth, part, progress)).isWhole) throw new MissingBlock();
    });
    await this.#use(head);
  }

  /** Checks the stored bytes of a part again, because storage can corrupt them, and removes damaged ones. */
  async #kept(head, nth, { digest, bytes }, progress) {
    const stored = await this.#store.part(digest);
    const { PartChecker } = this.#module;
    const checker = PartChecker.new(head, nth);
    try {
      for (let first = 0; first < stored.blocks; first += AT_A_TIME) {
        const end = Math.min((first + AT_A_TIME) * BLOCK, stored.blocks * BLOCK, bytes);
        const [again] = await this.#store.read([{ digest, start: first * BLOCK, end }]);
        checked(() => checker.push(again));
        progress("check", end);
      }
      if (stored.whole) checked(() => checker.finish());
      return { checker, first: stored.blocks, isWhole: stored.whole };
    } catch (error) {
      if (!(error instanceof MissingBlock) && !["forged", "truncated", "not-a-list"].includes(error.code)) throw error;
      await this.#store.drop(digest);
      return { checker: PartChecker.new(head, nth), first: 0, isWhole: false };
    }
  }

  /** Fetches a part unless it is stored. Resumes an interrupted download. */
  async #fetch(head, nth, part, progress, signal) {
    const { file, digest } = part;
    const kept = await this.#kept(head, nth, part, progress);
    if (kept.isWhole) return;
    const { checker } = kept;
    let { first } = kept;
    const blocks = new Blocks();
    let done = first * BLOCK;
    const take = async (piece) => {
      const verified = checked(() => checker.push(piece));
      blocks.add(piece);
      done += piece.length;
      progress("download", done);
      const ready = Math.floor(verified / BLOCK) - first;
      if (ready >= AT_A_TIME) {
        await this.#store.put(digest, first, blocks.take(ready), false);
        first += ready;
      }
    };
    await http.bytes(this.#options.url, file, done, take, signal);
    checked(() => checker.finish());
    await this.#store.put(digest, first, blocks.rest(), true);
  }

  /** Uses the copy with this head. */
  async #use(head) {
    const facts = JSON.parse(head.facts());
    const copy = this.#module.ListCopy.new(head);
    for (;;) {
      const wanted = checked(() => copy.open());
      if (wanted.length === 0) break;
      await this.#provide(copy, facts, wanted);
    }
    this.#copy = copy;
    this.#facts = facts;
  }

  /** Provides the wanted ranges, three numbers each: a part, and the beginning and end in its file. */
  async #provide(copy, facts, wanted) {
    const ranges = [];
    for (let at = 0; at < wanted.length; at += 3) {
      const [part, start, end] = wanted.subarray(at, at + 3);
      ranges.push({ part, digest: facts.parts[part].digest, start, end });
    }
    const pieces = await this.#store.read(ranges);
    pieces.forEach((piece, nth) => {
      const { part, start } = ranges[nth];
      checked(() => copy.provide(part, start, piece));
    });
  }

  /** Returns the answers about keys. Asks for all of them before it looks any up, so that requests reveal no result. */
  async #answers(batches, signal) {
    const asked = [];
    const forget = () => asked.splice(0).forEach((values) => values.free());
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          if (Date.now() / 1000 >= this.#facts.expires) await this.update({ signal });
          await this.#askAll(batches, asked, signal);
          break;
        } catch (error) {
          if (error.code !== "other-epoch" || attempt > 1) throw error;
          forget();
          await this.update({ signal });
        }
      }
      return await this.#found(asked, signal);
    } finally {
      forget();
    }
  }

  /** Asks for all batches. If there are several, waits between them when the service requires it. */
  async #askAll(batches, asked, signal) {
    const total = batches.reduce((sum, keys) => sum + keys.length, 0);
    let done = 0;
    for (const keys of batches) {
      for (;;) {
        try {
          asked.push(await this.#ask(keys.flat(), signal));
          break;
        } catch (error) {
          if (batches.length === 1 || error.retryAfter === undefined) throw error;
          await pause(error.retryAfter, signal);
        }
      }
      done += keys.length;
      this.#progress("ask", done, total);
    }
  }

  /** Asks for the values of a batch. */
  async #ask(values, signal) {
    const [facts, { ask, token }] = [this.#facts, this.#options];
    const question = checked(() => this.#module.Question.new(this.#copy, values));
    try {
      const [bytes, answerBytes] = [question.bytes(), question.answer_bytes()];
      const bearer = typeof token === "function" ? await token() : token;
      const answer = await http.ask(ask, facts.epoch, bytes, answerBytes, bearer, signal);
      this.#asked += bytes.length / 32;
      return checked(() => question.finish(answer));
    } finally {
      question.free();
    }
  }

  /** Looks up values, which are the same in each version of an epoch. */
  async #found(asked, signal) {
    const { epoch } = this.#facts;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const found = [];
        for (const values of asked) {
          const copy = this.#copy;
          await this.#provide(copy, this.#facts, checked(() => copy.wanted(values)));
          found.push(...JSON.parse(checked(() => copy.look_up(values))));
        }
        return found;
      } catch (error) {
        if (!(error instanceof MissingBlock)) throw error;
        if (attempt > 1) throw gone(error);
        await this.update({ signal });
        if (this.#facts.epoch !== epoch) throw gone(error);
      }
    }
  }
}

/** The secret argument that the constructor of a list requires. */
const opening = Symbol("opening");

/** Splits the bytes of a file into blocks as they arrive. */
class Blocks {
  #pieces = [];
  #length = 0;

  add(piece) {
    if (piece.length > 0) this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Takes the first `count` blocks. */
  take(count) {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    const left = bytes.subarray(count * BLOCK);
    this.#pieces = left.length > 0 ? [left] : [];
    this.#length = left.length;
    return Array.from({ length: count }, (_, nth) => bytes.slice(nth * BLOCK, (nth + 1) * BLOCK).buffer);
  }

  /** Takes all remaining blocks. The last may be shorter. */
  rest() {
    return this.take(Math.ceil(this.#length / BLOCK));
  }
}

/** Returns a key's values, one for each column. Missing ones are empty. */
function valuesOf(key, columns) {
  const values = Array.isArray(key) ? key : [key];
  if (values.length !== columns) throw new TypeError(`a key of this list must have ${columns} values`);
  return values.map((value) => {
    if (value !== null && value !== undefined && typeof value !== "string") {
      throw new TypeError("the values of a key must be strings, or null if missing");
    }
    return value ?? "";
  });
}

/** Checks the address of a list, which must use TLS or be on this machine. */
function address(given) {
  let url;
  try {
    url = new URL(given, globalThis.location?.href);
  } catch {
    throw new ListError("address", "the address of a list must be like https://lists.example.org/v1");
  }
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isHere)) {
    throw new ListError("address", "the address of a list must begin with https://, or with http:// on this machine");
  }
  if (url.search || url.hash || url.username || url.password) {
    throw new ListError("address", "the address of a list must end with its path");
  }
  return url;
}

/** Waits unless aborted. */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.max(1, seconds) * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Lets one page at a time update a list, if the browser supports locks. */
function exclusively(name, work) {
  return globalThis.navigator?.locks ? navigator.locks.request(name, work) : work();
}

function gone(cause) {
  const message = "the browser has removed the copy of the list; open the list again";
  return new ListError("storage", message, { cause });
}
