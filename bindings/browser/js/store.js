// Storage of lists between visits: the newest accepted head, and blocks of the parts' files. Stored data was checked when
// it arrived, and is checked again when a list is opened.

import { ListError } from "./errors.js";

/** Bytes of a block of a file, except the last. A segment of a list is about half as long. */
export const BLOCK = 1 << 16;

/**
 * The progress of a part's download.
 *
 * @typedef {{ blocks: number, whole: boolean }} Stored
 * @typedef {{ digest: string, start: number, end: number }} Range
 */

/** A store in memory, until the user leaves the page. */
export class MemoryStore {
  #head;
  #parts = new Map();

  async head() {
    return this.#head;
  }

  async setHead(text) {
    this.#head = text;
  }

  async part(digest) {
    const { blocks = [], whole = false } = this.#parts.get(digest) ?? {};
    return { blocks: blocks.length, whole };
  }

  async put(digest, first, blocks, whole) {
    const part = this.#parts.get(digest) ?? { blocks: [] };
    part.blocks.length = first;
    part.blocks.push(...blocks);
    part.whole = whole;
    this.#parts.set(digest, part);
  }

  async drop(digest) {
    this.#parts.delete(digest);
  }

  async read(ranges) {
    return assembled(ranges, (digest, index) => this.#parts.get(digest)?.blocks[index]);
  }

  async keep(digests) {
    for (const digest of this.#parts.keys()) if (!digests.includes(digest)) this.#parts.delete(digest);
  }

  async clear() {
    this.#head = undefined;
    this.#parts.clear();
  }

  close() {}
}

/** A store in IndexedDB. Keys begin with the list's name, so that a database can hold several lists. */
export class IndexedStore {
  #database;
  #list;

  /**
   * @param {string} name of the database
   * @param {string} list
   */
  static async open(name, list) {
    const store = new IndexedStore();
    store.#list = list;
    store.#database = await told(() => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => {
        for (const kind of ["heads", "parts", "blocks"]) request.result.createObjectStore(kind);
      };
      return done(request);
    });
    // Another page may be about to remove the database.
    store.#database.onversionchange = () => store.close();
    return store;
  }

  head() {
    return this.#run(["heads"], "readonly", ([heads]) => done(heads.get(this.#list)));
  }

  setHead(text) {
    return this.#run(["heads"], "readwrite", ([heads]) => done(heads.put(text, this.#list)));
  }

  /** @returns {Promise<Stored>} */
  async part(digest) {
    const found = await this.#run(["parts"], "readonly", ([parts]) => done(parts.get([this.#list, digest])));
    return found ?? { blocks: 0, whole: false };
  }

  /** Stores blocks from this number on, as the last ones so far. */
  put(digest, first, blocks, whole) {
    return this.#run(["parts", "blocks"], "readwrite", ([parts, stored]) => {
      blocks.forEach((block, at) => stored.put(block, [this.#list, digest, first + at]));
      return done(parts.put({ blocks: first + blocks.length, whole }, [this.#list, digest]));
    });
  }

  drop(digest) {
    return this.#run(["parts", "blocks"], "readwrite", ([parts, blocks]) => {
      blocks.delete(IDBKeyRange.bound([this.#list, digest], [this.#list, digest, []]));
      return done(parts.delete([this.#list, digest]));
    });
  }

  /**
   * Reads the bytes of these ranges.
   *
   * @param {Range[]} ranges
   */
  read(ranges) {
    return this.#run(["blocks"], "readonly", ([blocks]) =>
      assembled(ranges, (digest, index) => done(blocks.get([this.#list, digest, index]))),
    );
  }

  /** Removes all parts except these. */
  async keep(digests) {
    const all = IDBKeyRange.bound([this.#list], [this.#list, []]);
    const keys = await this.#run(["parts"], "readonly", ([parts]) => done(parts.getAllKeys(all)));
    for (const [, digest] of keys) if (!digests.includes(digest)) await this.drop(digest);
  }

  async clear() {
    await this.#run(["heads"], "readwrite", ([heads]) => done(heads.delete(this.#list)));
    await this.keep([]);
  }

  close() {
    this.#database.close();
  }

  #run(kinds, mode, work) {
    return told(async () => {
      const transaction = this.#database.transaction(kinds, mode);
      const ended = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error ?? new Error("a transaction was aborted"));
      });
      const result = work(kinds.map((kind) => transaction.objectStore(kind)));
      return (await Promise.all([result, ended]))[0];
    });
  }
}

/** Assembles ranges of files from blocks, reading each block once. */
async function assembled(ranges, blockOf) {
  const blocks = new Map();
  const wanted = ranges.map(({ digest, start, end }) => {
    const parts = [];
    for (let index = Math.floor(start / BLOCK); index * BLOCK < end; index += 1) {
      const name = `${digest} ${index}`;
      if (!blocks.has(name)) blocks.set(name, blockOf(digest, index));
      parts.push([index * BLOCK, blocks.get(name)]);
    }
    return { start, end, parts };
  });
  return Promise.all(
    wanted.map(async ({ start, end, parts }) => {
      const bytes = new Uint8Array(end - start);
      for (const [begin, block] of parts) {
        const buffer = await block;
        const last = Math.min(end, begin + BLOCK);
        if (buffer === undefined || begin + buffer.byteLength < last) throw new MissingBlock();
        const first = Math.max(start, begin);
        bytes.set(new Uint8Array(buffer, first - begin, last - first), first - start);
      }
      return bytes;
    }),
  );
}

/** A block is missing because another page has updated the list, or the browser has freed storage. */
export class MissingBlock extends Error {}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function told(work) {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof MissingBlock) throw cause;
    const why = `${cause?.name ?? "error"}: ${cause?.message ?? ""}`;
    const message = `the browser cannot store the list (${why}); free some space, or open the list with \`cache: null\``;
    throw new ListError("storage", message, { cause });
  }
}
