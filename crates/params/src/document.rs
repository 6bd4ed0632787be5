//! `docs/parameters.md`, generated so that the document and the code cannot differ.

use std::fmt::Write;

use crate::{KAPPA, LAMBDA, code, cuckoo, lpn, okvs, simple, subfield, tag};

/// log2 of the set sizes shown.
const SIZES: [u32; 5] = [8, 12, 16, 20, 24];

/// The document, as Markdown.
pub fn markdown() -> String {
    let mut text = format!(
        "# Parameters\n\n\
         Generated from `vesica_params`; do not edit. κ = {KAPPA}, λ = {LAMBDA}: each event listed \
         here has probability at most 2^-{LAMBDA} a run. Both sets have n items.\n\n"
    );
    let sizes: Vec<String> = SIZES.iter().map(|e| format!("2^{e}")).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| parameter | {} | source |", sizes.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---|".repeat(SIZES.len()));
    row(&mut text, "cuckoo bins per item, no stash, three distinct bins", "RS21 §7.2", |n| {
        format!("{:.3}", cuckoo::bins(n, LAMBDA) as f64 / n as f64)
    });
    row(&mut text, "cuckoo bins and stash as published", "KKRT16 Table 2", |n| {
        let shape = cuckoo::shape(n, cuckoo::Profile::Kkrt16);
        format!("1.2 n + {}", shape.stash)
    });
    row(&mut text, "most items in a bin, three bins an item", "exact union bound", |n| {
        let bins = cuckoo::shape(n, cuckoo::Profile::Sound).bins;
        simple::max_load(cuckoo::HASHES * n, bins, LAMBDA).to_string()
    });
    row(&mut text, "width of the pseudo-random code, bits", "KKRT16 §3.3, exact sum", |n| {
        code::width(cuckoo::HASHES * n, LAMBDA).to_string()
    });
    let per_key =
        |n: usize, shape: okvs::Shape| format!("{:.3}", shape.columns() as f64 / n as f64);
    row(&mut text, "OKVS columns per key, clusters of 2^15", "RR22 §4, union bound", |n| {
        per_key(n, okvs::shape(n, 1 << 15, LAMBDA))
    });
    row(&mut text, "OKVS columns per key, one cluster", "RR22 §4", |n| {
        per_key(n, okvs::shape(n, usize::MAX, LAMBDA))
    });
    row(&mut text, "the same, dense part over GF(2^128)", "RR22 §4", |n| {
        per_key(n, okvs::shape_over_field(n, usize::MAX, LAMBDA))
    });
    row(&mut text, "PaXoS columns per key", "RS21 Figure 1", |n| {
        per_key(n, okvs::paxos(n, LAMBDA))
    });
    row(&mut text, "three-hash garbled cuckoo table, columns per key", "GPR+21", |n| {
        per_key(n, okvs::three_hash(n, LAMBDA))
    });
    row(&mut text, "RB-OKVS at 5 in 100: columns per key, width", "BPSY23, measured lines", |n| {
        let shape = okvs::band(n, usize::MAX, okvs::Excess::Percent5, LAMBDA);
        format!("{}, {}", per_key(n, shape), shape.weight)
    });
    row(&mut text, "garbled Bloom filter, columns per key", "DCW13, exact bound", |n| {
        per_key(n, okvs::garbled_bloom(n, LAMBDA))
    });
    row(&mut text, "dense columns a cluster of 2^15, plain and one-way", "RS21 §2", |n| {
        let shape = okvs::shape(n, 1 << 15, LAMBDA);
        format!("{}, {}", shape.dense, shape.one_way().dense)
    });
    row(&mut text, "bits of an OKVS entry in `rr22`", "λ + log n", |n| {
        subfield::bits(n).to_string()
    });
    row(&mut text, "noise blocks of a silent VOLE, expander weight 7", "linear tests", |_| {
        lpn::FAST.blocks.to_string()
    });
    row(&mut text, "noise blocks of a silent VOLE, expander weight 21", "linear tests", |_| {
        lpn::CONSERVATIVE.blocks.to_string()
    });
    row(&mut text, "noise blocks of a silent OT, at least", "linear tests", |_| {
        lpn::BITS.blocks.to_string()
    });
    row(&mut text, "tag length, bits", "λ + 2 log n", |n| tag::bits(n, n, LAMBDA).to_string());
    row(&mut text, "sorted list of tags, bits per item", "n (r + 1) + 2^(ℓ − r)", |n| {
        let bits = tag::bits(n, n, LAMBDA);
        let total = tag::sorted_list_bits(n, bits, tag::rice_parameter(n, bits));
        format!("{:.1}", total as f64 / n as f64)
    });
    text
}

fn row(text: &mut String, name: &str, source: &str, cell: impl Fn(usize) -> String) {
    let cells: Vec<String> = SIZES.iter().map(|e| cell(1 << e)).collect();
    let _ = writeln!(text, "| {name} | {} | {source} |", cells.join(" | "));
}
