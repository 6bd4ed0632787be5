// Compresses a file by Brotli, which every browser takes, into one beside it, and fails where that is too large.
//
// usage: node compress.mjs FILE MOST-BYTES

import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [file, most] = process.argv.slice(2);
const bytes = readFileSync(file);
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
};
const compressed = brotliCompressSync(bytes, { params });
writeFileSync(`${file}.br`, compressed);
const gzip = gzipSync(bytes, { level: 9 });
console.log(`    the WebAssembly module: ${bytes.length} bytes, ${compressed.length} by Brotli, ${gzip.length} by gzip`);
if (compressed.length > Number(most)) {
  console.log(`    that is more than ${most}`);
  process.exitCode = 1;
}
