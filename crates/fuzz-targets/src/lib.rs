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

use std::{panic, sync::Once};

/// A target: its name, and what it does with an input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    body: fn(&[u8]),
}

const fn target(name: &'static str, body: fn(&[u8])) -> Target {
    Target { name, body }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("frames", wire::frames),
    target("exchange_file", wire::exchange_file),
    target("relay_call", wire::relay_call),
    target("offer", wire::offer),
    target("gateway_messages", wire::gateway_messages),
    target("key_profile", wire::key_profile),
    target("tag_list", structures::tag_list),
    target("tag_list_made", structures::tag_list_made),
    target("packed_numbers", structures::packed_numbers),
    target("filter", structures::filter),
    target("group", groups::group),
    target("public_key", groups::public_key),
    target("identity", documents::identity),
    target("words", documents::words),
    target("project", documents::project),
    target("normalize", documents::normalize),
    target("documents", documents::documents),
    target("ledger", documents::ledger),
    target("journal", documents::journal),
    target("figures", documents::figures),
    target("csv", tables::csv),
    target("csv_against_crate", tables::csv_against_crate),
    target("ndjson", tables::ndjson),
    target("recognised_table", tables::recognised),
    target("parquet", tables::parquet),
    target("arrow_file", tables::arrow_file),
    target("arrow_stream", tables::arrow_stream),
    target("kernels", kernels::kernels),
    target("list_head", lists::list_head),
    target("list_log", lists::list_log),
    target("list_part", lists::list_part),
    target("list_exchange", lists::list_exchange),
];

impl Target {
    /// Runs the target on an input.
    ///
    /// # Panics
    /// Where the code breaks a promise.
    pub fn run(&self, input: &[u8]) {
        static ONCE: Once = Once::new();
        ONCE.call_once(overlook_guarded_panics);
        (self.body)(input);
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
