// Published lists in a browser: which keys of yours are in a list, without showing them to anybody.

import { ListError, checked } from "./errors.js";
import * as http from "./http.js";
import { load } from "./module.js";
import { BLOCK, IndexedStore, MemoryStore, MissingBlock } from "./store.js";

export { ListError };

/** The longest head that is read, in bytes. */
const LONGEST_HEAD = 1 << 18;

/** The largest list that is kept, in bytes, where nobody says otherwise. */
const BUDGET = 1 << 30;

/** Keys in a question. */
const QUESTION = 1024;

/** Blocks that are stored, or read again, at a time. */
const AT_A_TIME = 16;

/** A published list that this browser has a copy of. */
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

  /** Opens a list: fetches it, or what changed of it, checks it, and keeps it. */
  static async open(options) {
    const { publisher, cache = "vesica-lists", keys = [], nullValues, budget = BUDGET } = options;
    const { token, onProgress, signal } = options;
    const url = address(options.url);
    const ask = options.ask === undefined ? url : address(options.ask);
    if (typeof publisher !== "string") throw new TypeError("`publisher` is the fingerprint of the list's publisher");
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

  /** What the publisher says of the list. */
  get info() {
    const { parts, state, logEntries, ...facts } = this.#facts;
    return { ...facts, issued: new Date(facts.issued * 1000), expires: new Date(facts.expires * 1000) };
  }

  /** Whether the publisher was reached when the list was last opened or brought up to date. */
  get isFresh() {
    return this.#isFresh;
  }

  /** How many keys were asked for since the list was opened. */
  get asked() {
    return this.#asked;
  }

  /** How many keys were found since the list was opened whose labels cannot be read, and are missing. */
  get unreadable() {
    return this.#unreadable;
  }

  /** Fetches what changed. Returns whether anything did. */
  async update({ signal } = {}) {
    const before = this.#facts?.state;
    await exclusively(`vesica ${this.#options.publisher} ${this.#options.url}`, () => this.#refresh(signal));
    return before !== this.#facts.state;
  }

  /** Which of these keys are in the list. */
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

  /** Removes the copy from the browser. The list is of no use afterwards. */
  async forget() {
    await this.#store.clear();
    this.close();
  }

  /** Closes the copy, which stays in the browser. */
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
      // Without a network there is the copy, until it expires.
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
    // The head is remembered once all of it is here and right.
    await this.#store.setHead(text);
    await this.#store.keep(facts.parts.map(({ digest }) => digest));
    this.#isFresh = true;
  }

  /** Checks the log, unless the list is the one that was accepted before. */
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

  /** Does something with each part, and shows how far it has come. */
  async #parts(facts, work) {
    let before = 0;
    for (const [nth, part] of facts.parts.entries()) {
      await work(nth, part, (phase, done) => this.#progress(phase, before + done, facts.bytes));
      before += part.bytes;
    }
  }

  /** Opens the copy with this head. All its parts must be here. */
  async #offline(head) {
    await this.#parts(JSON.parse(head.facts()), async (nth, part, progress) => {
      if (!(await this.#kept(head, nth, part, progress)).isWhole) throw new MissingBlock();
    });
    await this.#use(head);
  }

  /** Checks again what is here of a part: what was right when it came may not be any more. What is not is removed. */
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

  /** Fetches a part, unless it is here. A download that was interrupted goes on. */
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

  /** Opens the copy that has this head. */
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

  /** Provides what is wanted: a part, and where in its file, in threes. */
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

  /** The answers about keys. All of them are asked for before any is looked up: what is found shows in nothing that is sent. */
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

  /** Asks for all batches, and waits where there are several and the service says so. */
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

  /** The values of a batch. */
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

  /** Looks values up. They are the same in each version of an epoch. */
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

/** Who may construct a list. */
const opening = Symbol("opening");

/** Bytes of a file as they come, and whole blocks of them. */
class Blocks {
  #pieces = [];
  #length = 0;

  add(piece) {
    if (piece.length > 0) this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** The first blocks, so many. */
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

  /** All that is left, the last block perhaps shorter. */
  rest() {
    return this.take(Math.ceil(this.#length / BLOCK));
  }
}

/** A key's values, one for each column. What is missing is empty. */
function valuesOf(key, columns) {
  const values = Array.isArray(key) ? key : [key];
  if (values.length !== columns) throw new TypeError(`a key of this list has ${columns} values`);
  return values.map((value) => {
    if (value !== null && value !== undefined && typeof value !== "string") {
      throw new TypeError("the values of a key are strings, or null where there is none");
    }
    return value ?? "";
  });
}

/** An address of a list: with TLS, or of this machine. */
function address(given) {
  let url;
  try {
    url = new URL(given, globalThis.location?.href);
  } catch {
    throw new ListError("address", "the address of a list is one such as https://lists.example.org/v1");
  }
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isHere)) {
    throw new ListError("address", "the address of a list begins with https://, or with http:// on this machine");
  }
  if (url.search || url.hash || url.username || url.password) {
    throw new ListError("address", "the address of a list ends with its path");
  }
  return url;
}

/** Waits, unless somebody asks to stop. */
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

/** One page at a time brings a list up to date, where the browser can tell. */
function exclusively(name, work) {
  return globalThis.navigator?.locks ? navigator.locks.request(name, work) : work();
}

function gone(cause) {
  const message = "the browser has removed the copy of the list; open the list again";
  return new ListError("storage", message, { cause });
}
