// Requests, only by fetch. They contain no cookies and no referrer, and of a key only blinded elements.

import { ListError } from "./errors.js";

/** Timeout for the next bytes, in milliseconds. */
const PATIENCE = 30_000;

/** Minimum rate: this number of bytes in this time of waiting, in milliseconds. */
const LEAST = { bytes: 1 << 14, time: 20_000 };

/** Number of attempts for an interrupted download. */
const ATTEMPTS = 5;

/** Maximum length of a refusal's message, in bytes. */
const LONGEST_MESSAGE = 4096;

/** @type {RequestInit} */
const PLAIN = { cache: "no-store", credentials: "omit", redirect: "follow", referrerPolicy: "no-referrer" };

/**
 * Returns a response, and its bytes as they arrive.
 *
 * @param {URL} url
 * @param {RequestInit} what
 * @param {AbortSignal} [signal]
 */
async function send(url, what, signal) {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const abandon = () => stop.abort(signal.reason);
  signal?.addEventListener("abort", abandon, { once: true });
  let timer;
  const wait = () => {
    clearTimeout(timer);
    const silent = new ListError("unreachable", `${url.host} has sent nothing for ${PATIENCE / 1000} seconds`);
    timer = setTimeout(() => stop.abort(silent), PATIENCE);
  };
  const pause = () => clearTimeout(timer);
  const end = () => {
    pause();
    signal?.removeEventListener("abort", abandon);
  };
  const failed = (cause) => {
    end();
    if (signal?.aborted) return signal.reason;
    if (cause instanceof ListError) return cause;
    return new ListError("unreachable", `${url.host} cannot be reached: ${cause.message}`, { cause });
  };
  wait();
  try {
    const response = await fetch(url, { ...PLAIN, ...what, signal: stop.signal });
    return { response, pieces: pieces(response, { wait, pause, end, failed }), end };
  } catch (cause) {
    throw failed(cause);
  }
}

async function* pieces(response, { wait, pause, end, failed }) {
  const reader = response.body?.getReader();
  let [waited, came] = [0, 0];
  try {
    for (;;) {
      let next;
      const begun = performance.now();
      wait();
      try {
        next = (await reader?.read()) ?? { done: true };
      } catch (cause) {
        throw failed(cause);
      }
      if (next.done) return;
      waited += performance.now() - begun;
      came += next.value.length;
      if (waited >= LEAST.time) {
        if (came < LEAST.bytes) throw failed(new Error(`only ${came} bytes arrived in ${LEAST.time / 1000} seconds`));
        [waited, came] = [0, 0];
      }
      // The consumer may take any time.
      pause();
      yield next.value;
    }
  } finally {
    end();
    reader?.cancel().catch(() => {});
  }
}

/** Collects the bytes of a response, up to a maximum. */
async function collected(pieces, longest, code, what) {
  const parts = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length > longest) throw new ListError(code, `${what} is longer than ${longest} bytes`);
    parts.push(piece);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Fetches a file of the list as text.
 *
 * @param {URL} base
 * @param {string} name
 * @param {number} longest in bytes
 * @param {AbortSignal} [signal]
 */
export async function text(base, name, longest, signal) {
  const url = below(base, name);
  const { response, pieces, end } = await send(url, {}, signal);
  if (!response.ok) {
    end();
    throw status(url, response);
  }
  const bytes = await collected(pieces, longest, "not-a-list", name);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ListError("not-a-list", `${name} is no text`, { cause });
  }
}

/**
 * Fetches a file from an offset on. Resumes an interrupted download.
 *
 * @param {URL} base
 * @param {string} name
 * @param {number} from
 * @param {(bytes: Uint8Array) => Promise<void>} take
 * @param {AbortSignal} [signal]
 */
export async function bytes(base, name, from, take, signal) {
  const url = below(base, name);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const headers = from > 0 ? { range: `bytes=${from}-` } : {};
      const { response, pieces, end } = await send(url, { headers }, signal);
      // The server may not support ranges.
      let skip = response.status === 206 ? 0 : from;
      if (!response.ok) {
        end();
        throw status(url, response);
      }
      for await (const piece of pieces) {
        const skipped = Math.min(skip, piece.length);
        skip -= skipped;
        const rest = piece.subarray(skipped);
        await take(rest);
        from += rest.length;
      }
      return;
    } catch (error) {
      if (error.code !== "unreachable" || attempt === ATTEMPTS || signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200 * attempt));
    }
  }
}

/**
 * Fetches the answer to a question.
 *
 * @param {URL} base
 * @param {number} epoch
 * @param {Uint8Array} question
 * @param {number} answerBytes
 * @param {string | undefined} token
 * @param {AbortSignal} [signal]
 */
export async function ask(base, epoch, question, answerBytes, token, signal) {
  const url = below(base, `evaluate?epoch=${epoch}`);
  const headers = { "content-type": "application/octet-stream" };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const what = { method: "POST", headers, body: question, redirect: "error" };
  const { response, pieces } = await send(url, what, signal);
  if (response.ok) return collected(pieces, answerBytes, "malformed-answer", "the answer");
  throw refusal(url, response, await collected(pieces, LONGEST_MESSAGE, "server", "a refusal"));
}

function below(base, name) {
  return new URL(`${base.href.replace(/\/+$/, "")}/${name}`);
}

function status(url, response) {
  return new ListError("server", `${url.origin}${url.pathname}: ${response.status} ${response.statusText}`);
}

/** Converts a response that is not an answer to an error. */
function refusal(url, response, bytes) {
  let said = {};
  try {
    said = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // A proxy may send anything.
  }
  const codes = { 401: "token", 409: "other-epoch", 429: "limit", 503: "busy" };
  const code = codes[response.status] ?? "server";
  if (typeof said?.message !== "string") {
    const { message } = status(url, response);
    return new ListError(code, message);
  }
  const after = Number(response.headers.get("retry-after") ?? NaN);
  // Only plain text of the server's message is shown.
  const message = said.message.replace(/[^ -~]/g, "").slice(0, 200);
  return new ListError(code, `${url.host}: ${message}`, { retryAfter: Number.isFinite(after) ? after : undefined });
}
