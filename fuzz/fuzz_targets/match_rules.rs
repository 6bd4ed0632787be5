#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| vesica_fuzz_targets::named("match_rules").run(input));
