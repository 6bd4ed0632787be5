//! The fuzz targets of every decoder and reader, and of what has a slow twin: functions of bytes that panic where the code
//! breaks a promise.
//!
//! A target takes any bytes. The programs in `fuzz/` let libFuzzer call them; the test of this crate replays the corpus
//! (`fuzz/corpus`) with the toolchain of everything else. Besides not panicking, what is decoded and encoded again must
//! give the same bytes or the same value, and no error may show content (`bytes`).
//!
//! **Must never import** protocols, and must never be shipped.

mod bytes;
mod documents;
mod groups;
mod kernels;
mod lists;
mod structures;
mod tables;
mod wire;

use std::{collections::BTreeSet, panic, sync::Once};

/// A target: its name, and what it does with an input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    body: Body,
    /// All that it can read of inputs, by what [`Target::valid`] calls it.
    pub reads: &'static [&'static str],
}

/// Takes an input, and notes what of it is valid.
type Body = fn(&[u8], &mut Valid);

const fn target(name: &'static str, body: Body, reads: &'static [&'static str]) -> Target {
    Target { name, body, reads }
}

/// What of an input is valid, and so is read to its end.
#[derive(Debug, Default)]
struct Valid(BTreeSet<&'static str>);

impl Valid {
    fn note(&mut self, what: &'static str) {
        self.0.insert(what);
    }

    fn note_if(&mut self, is_valid: bool, what: &'static str) {
        if is_valid {
            self.note(what);
        }
    }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("frames", wire::frames, &["messages"]),
    target("exchange_file", wire::exchange_file, &["file"]),
    target("relay_call", wire::relay_call, &["call"]),
    target("offer", wire::offer, &["offer"]),
    target("gateway_messages", wire::gateway_messages, &["question", "answer"]),
    target("key_profile", wire::key_profile, &["profile"]),
    target("tag_list", structures::tag_list, &["list"]),
    target("tag_list_made", structures::tag_list_made, &["list"]),
    target("packed_numbers", structures::packed_numbers, &["numbers"]),
    target(
        "filter",
        structures::filter,
        &[
            "list",
            "sorted list",
            "Bloom filter",
            "cuckoo filter",
            "mobile cuckoo filter",
            "vacuum filter",
        ],
    ),
    target("group", groups::group, &["ristretto255", "ffdhe3072"]),
    target("public_key", groups::public_key, &["residue", "plaintext", "ciphertext"]),
    target(
        "identity",
        documents::identity,
        &["certificate", "identity", "token", "fingerprint", "proxy"],
    ),
    target("words", documents::words, &["moment", "day", "hours", "profile", "policy"]),
    target("project", documents::project, &["jobs"]),
    target("normalize", documents::normalize, &["value"]),
    target("documents", documents::documents, &["invitation", "proposal", "agreement", "record"]),
    target("ledger", documents::ledger, &["ledger"]),
    target("journal", documents::journal, &["journal"]),
    target("figures", documents::figures, &["figures"]),
    target("csv", tables::csv, &["table"]),
    target("csv_against_crate", tables::csv_against_crate, &["table"]),
    target("ndjson", tables::ndjson, &["table"]),
    target("recognised_table", tables::recognised, &["table"]),
    target("parquet", tables::parquet, &["table"]),
    target("arrow_file", tables::arrow_file, &["table"]),
    target("arrow_stream", tables::arrow_stream, &["table"]),
    target("kernels", kernels::kernels, &["vectors"]),
    target("list_head", lists::list_head, &["head"]),
    target("list_log", lists::list_log, &["log"]),
    target("list_part", lists::list_part, &["part"]),
    target("list_exchange", lists::list_exchange, &["question", "answer"]),
];

impl Target {
    /// Runs the target on an input.
    ///
    /// # Panics
    /// Where the code breaks a promise.
    pub fn run(&self, input: &[u8]) {
        self.valid(input);
    }

    /// Runs the target on an input, and says what of it is valid. Where all inputs of a corpus are refused, a fuzzer that begins with
    /// them tests little else.
    ///
    /// # Panics
    /// Where the code breaks a promise.
    pub fn valid(&self, input: &[u8]) -> BTreeSet<&'static str> {
        static ONCE: Once = Once::new();
        ONCE.call_once(overlook_guarded_panics);
        let mut valid = Valid::default();
        (self.body)(input, &mut valid);
        valid.0
    }
}

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn named(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
}

/// libFuzzer's hook ends the process at every panic, also at those of the libraries for Parquet and Arrow, which the product
/// takes for damaged files.
fn overlook_guarded_panics() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !vesica::files::is_guarded() {
            hook(info);
        }
    }));
}
