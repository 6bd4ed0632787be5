//! The fuzz targets of every decoder and reader, and of code with a slow reference implementation: functions of bytes
//! that panic if the code breaks a promise.
//!
//! A target takes any bytes. The programs in `fuzz/` let libFuzzer call them, and the test of this crate replays the
//! corpus (`fuzz/corpus`) with the usual toolchain. Besides not panicking, decoding and encoding must give the same
//! bytes or the same value, and no error may show content (`bytes`).
//!
//! **Must never import** protocols, and must never be shipped.

mod bytes;
mod documents;
mod groups;
mod kernels;
mod lists;
mod queries;
mod structures;
mod tables;
mod wire;

use std::{collections::BTreeSet, panic, sync::Once};

/// A target: its name and its function.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    body: Body,
    /// The kinds of valid input, as [`Target::valid`] names them.
    pub reads: &'static [&'static str],
}

/// Runs on an input, and notes its valid parts.
type Body = fn(&[u8], &mut Valid);

const fn target(name: &'static str, body: Body, reads: &'static [&'static str]) -> Target {
    Target { name, body, reads }
}

/// The kinds of valid data found in an input, which were read to their end.
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

/// All targets.
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
    target("select", queries::select, &["query", "declaration", "shape"]),
    target("match_rules", queries::match_rules, &["field", "rule", "key"]),
    target(
        "documents",
        documents::documents,
        &[
            "invitation",
            "proposal",
            "agreement",
            "record",
            "joint proposal",
            "joint reply",
            "joint parts",
            "joint record",
        ],
    ),
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
    /// If the code breaks a promise.
    pub fn run(&self, input: &[u8]) {
        self.valid(input);
    }

    /// Runs the target on an input, and returns the kinds of valid data in it. If all inputs of a corpus are refused, a
    /// fuzzer that starts with them tests little else.
    ///
    /// # Panics
    /// If the code breaks a promise.
    pub fn valid(&self, input: &[u8]) -> BTreeSet<&'static str> {
        static ONCE: Once = Once::new();
        ONCE.call_once(overlook_guarded_panics);
        let mut valid = Valid::default();
        (self.body)(input, &mut valid);
        valid.0
    }
}

/// Returns the target of this name.
///
/// # Panics
/// If there is no such target.
pub fn named(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
}

/// libFuzzer's hook ends the process at every panic, including panics of the Parquet and Arrow libraries, which the
/// product treats as damaged files.
fn overlook_guarded_panics() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !vesica::files::is_guarded() {
            hook(info);
        }
    }));
}
