// What a page downloads, from a server that a test plays: `node http.mjs` runs it without a browser.

import assert from "node:assert/strict";

import * as http from "../js/http.js";

/** Downloads `bytes` bytes at a rate of `aSecond`, by the test's own clock. */
async function download(bytes, aSecond) {
  const [fetched, now] = [globalThis.fetch, performance.now];
  let [clock, sent, requests] = [0, 0, 0];
  performance.now = () => clock;
  globalThis.fetch = async () => {
    requests += 1;
    const read = async () => {
      clock += 1000;
      const value = new Uint8Array(Math.min(aSecond, bytes - sent));
      sent += value.length;
      return value.length > 0 ? { value } : { done: true };
    };
    return { ok: true, status: 206, body: { getReader: () => ({ read, cancel: async () => {} }) } };
  };
  try {
    let came = 0;
    const take = async (piece) => {
      came += piece.length;
      // What the page does with it is not the server's time.
      clock += 100_000;
    };
    const end = await http.bytes(new URL("http://list.example/v1"), "a.part", 0, take).catch(({ code }) => code);
    return { end, came, requests };
  } finally {
    [globalThis.fetch, performance.now] = [fetched, now];
  }
}

/** A byte a second ends with an error, and a slow download does not. */
export async function leastRate() {
  assert.deepEqual(await download(1 << 20, 1), { end: "unreachable", came: 5 * 19, requests: 5 });
  const slow = await download(1 << 16, 900);
  assert.deepEqual([slow.end, slow.came, slow.requests], [undefined, 1 << 16, 1]);
}

if (process.argv[1] === import.meta.filename) {
  await leastRate();
  console.log("ok");
}
