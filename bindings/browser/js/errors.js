// What can go wrong, by names that programs can tell apart.

/** Why a list, an answer or a call is refused. `code` names the reason; index.d.ts lists all of them. */
export class ListError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{ cause?: unknown, retryAfter?: number }} [options]
   */
  constructor(code, message, { cause, retryAfter } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ListError";
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * Runs a call into the WebAssembly module, whose refusals become errors.
 *
 * @template T
 * @param {() => T} call
 * @returns {T}
 */
export function checked(call) {
  try {
    return call();
  } catch (thrown) {
    if (thrown instanceof Error || typeof thrown?.code !== "function") throw thrown;
    const refused = new ListError(thrown.code(), thrown.message());
    thrown.free();
    throw refused;
  }
}
