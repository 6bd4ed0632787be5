// The WebAssembly module, loaded once.

import initialise, * as module from "./wasm/vesica_browser.js";
import { ListError } from "./errors.js";

let loading;

/**
 * @param {URL | string | BufferSource | WebAssembly.Module} [source] where the module is, if not beside this file
 * @returns {Promise<typeof module>}
 */
export function load(source) {
  loading ??= initialise(source === undefined ? undefined : { module_or_path: source }).then(
    () => module,
    (cause) => {
      loading = undefined;
      throw new ListError("no-module", `the WebAssembly module cannot be loaded: ${cause.message}`, { cause });
    },
  );
  return loading;
}
