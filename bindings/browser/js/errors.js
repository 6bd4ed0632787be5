// Errors, with codes for programs.

/** The reason why a list, an answer or a call is refused. index.d.ts lists all values of `code`. */
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
 * Calls the WebAssembly module, and converts its refusals to errors.
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
