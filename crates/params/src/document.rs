//! `docs/security/parameters.md`, generated so that the document cannot differ from the code.

use std::fmt::Write;

use crate::{
    Adversary, KAPPA, LAMBDA,
    bins::{
        balanced,
        cuckoo::{
            self,
            Published::{NoStash, Stash},
        },
        phasing, simple, two_choice,
    },
    code, cut_and_choose, effective_inputs,
    filter::{BloomShape, CuckooShape, Rate, Shape, VacuumShape},
    lpn::{self, Lpn},
    matrix::{Matrix, matrix},
    okvs, subfield, tag,
};

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
    bins(&mut text);
    row(&mut text, "width of the pseudo-random code, bits", "KKRT16 §3.3, exact sum", |n| {
        code::width(cuckoo::HASHES * n, LAMBDA).to_string()
    });
    row(&mut text, "blocks × rows × columns of a bit matrix", "CM20 §3.3, exact sums", |n| {
        let Matrix { blocks, height, width } = matrix(n, n, LAMBDA);
        format!("{blocks} × {height} × {width}")
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
    row(&mut text, "the same at 10 in 100, clusters of 2^16", "BPSY23, measured lines", |n| {
        let shape = okvs::band(n, 1 << 16, okvs::Excess::Percent10, LAMBDA);
        format!("{}, {}", per_key(n, shape), shape.weight)
    });
    row(&mut text, "garbled Bloom filter, columns per key", "DCW13, exact bound", |n| {
        per_key(n, okvs::garbled_bloom(n, LAMBDA))
    });
    row(&mut text, "mega-bins × coefficients, a polynomial each", "PSTY19, union bound", |n| {
        let shape = okvs::polynomial(n, okvs::mega_bin(n), LAMBDA);
        format!("{} × {}", shape.clusters, shape.dense)
    });
    row(&mut text, "dense columns a cluster of 2^15, plain and one-way", "RS21 §2", |n| {
        let shape = okvs::shape(n, 1 << 15, LAMBDA);
        format!("{}, {}", shape.dense, shape.one_way().dense)
    });
    row(&mut text, "bits of an OKVS entry in `rr22`", "λ + log n", |n| {
        subfield::bits(n, LAMBDA).to_string()
    });
    let inputs =
        "inputs per item of a cheating receiver of `prty20-malicious`, 2^64 and 2^100 queries";
    row(&mut text, inputs, "RS21 §4, PRTY20 §6", |n| {
        let columns = okvs::shape(n, 1 << 15, LAMBDA).columns();
        let per_item = |queries| effective_inputs(columns, queries) as f64 / n as f64;
        format!("{:.2}, {:.2}", per_item(64), per_item(100))
    });
    row(&mut text, "OTs per item in `rr16`, and opened", "hypergeometric tails", |n| {
        let shape = cut_and_choose::Shape::new(n, LAMBDA);
        let per_item = |ots: usize| ots as f64 / n as f64;
        format!("{:.1}, {:.2}", per_item(shape.ots()), per_item(shape.opened))
    });
    row(&mut text, "tag length, bits", "λ + 2 log n", |n| tag::bits(n, n, LAMBDA).to_string());
    row(&mut text, "sorted list of tags, bits per item", "n (r + 1) + 2^(ℓ − r)", |n| {
        let bits = tag::bits(n, n, LAMBDA);
        let total = tag::sorted_list_bits(n, bits, tag::rice_parameter(n, bits));
        format!("{:.1}", total as f64 / n as f64)
    });
    filters(&mut text);
    codes(&mut text);
    text
}

/// Hash bins, published figures beside secure ones.
fn bins(text: &mut String) {
    let per_item = |bins: usize, n: usize| format!("{:.3}", bins as f64 / n as f64);
    row(text, "cuckoo bins per item, three hash functions, no stash", "RS21 §7.2", |n| {
        per_item(cuckoo::sound::<3>(n, LAMBDA).bins, n)
    });
    row(text, "the same, by proof only", "union bound", |n| {
        per_item(cuckoo::proved::<3>(n, 0, LAMBDA).bins, n)
    });
    row(text, "the same, as published: not sound", "PSZ18", |n| published::<3>(n, NoStash));
    row(text, "three hash functions and stash, as published", "KKRT16 Table 2", |n| {
        published::<3>(n, Stash)
    });
    row(text, "cuckoo bins per item, four hash functions", "union bound", |n| {
        per_item(cuckoo::sound::<4>(n, LAMBDA).bins, n)
    });
    row(text, "the same, as published: not proved", "PSZ18", |n| published::<4>(n, NoStash));
    row(text, "cuckoo bins per item, five hash functions", "union bound", |n| {
        per_item(cuckoo::sound::<5>(n, LAMBDA).bins, n)
    });
    row(text, "the same, as published: not proved", "PSZ18", |n| published::<5>(n, NoStash));
    row(text, "stash, two hash functions, 2.4 n bins", "union bound", |n| {
        cuckoo::sound::<2>(n, LAMBDA).stash.to_string()
    });
    row(text, "the same, as published: not proved", "PSSZ15, cryptoTools", |n| {
        published::<2>(n, Stash)
    });
    row(text, "most items in a bin, three bins an item", "exact union bound", |n| {
        simple::max_load(3 * n, cuckoo::sound::<3>(n, LAMBDA).bins, LAMBDA).to_string()
    });
    row(text, "most items in one of n bins, emptier of two", "layered induction", |n| {
        balanced::max_load(n, n, 2, LAMBDA).to_string()
    });
    row(text, "the same, as published: not a bound", "PSZ14 §6.1", |n| {
        balanced::published(n, 2).to_string()
    });
    row(text, "bins × capacity, two choices", "union bound", |n| {
        let shape = two_choice::sound(n, LAMBDA);
        format!("{} × {}", shape.bins, shape.capacity)
    });
    row(text, "the same, as published", "PRTY19, mpc4j", |n| {
        let shape = two_choice::published(n);
        format!("{} × {}", shape.bins, shape.capacity)
    });
    row(text, "item bits before phasing", "λ + 2 log 2n − 1", |n| {
        phasing::sound_bits(128, n, n, LAMBDA).to_string()
    });
    row(text, "stored bits after phasing, three hash functions", "RR17 §6.1", |n| {
        let bits = phasing::sound_bits(128, n, n, LAMBDA);
        let shape = phasing::Shape::modular(bits, cuckoo::sound::<3>(n, LAMBDA).bins);
        shape.map_or_else(String::new, |shape| shape.stored_bits(3).to_string())
    });
}

fn published<const H: usize>(n: usize, published: cuckoo::Published) -> String {
    cuckoo::published::<H>(n, published).map_or_else(String::new, |shape| {
        let per_item = shape.bins as f64 / n as f64;
        let stash = if shape.stash > 0 { format!(" + {}", shape.stash) } else { String::new() };
        format!("{per_item:.2}{stash}")
    })
}

/// Filters that n values of the receiver are tested against.
fn filters(text: &mut String) {
    const REACH: &str = "2^-(λ + log n) is within reach of 128-bit values";
    let sender = Adversary::SemiHonest;
    let sound = |n: usize| Rate::sound(sender, n, LAMBDA).expect(REACH);
    row(text, "Bloom filter, bits per item", "n log(1/ε) / ln 2; n ε ≤ 2^-λ", |n| {
        per_item(n, BloomShape::new(n, sound(n)))
    });
    row(text, "Bloom filter of distinct positions", "fill^k", |n| {
        per_item(n, BloomShape::distinct(n, sound(n)))
    });
    row(text, "sparse Bloom filter: positions; bits per item", "RR16, authors' code", |n| {
        let shape = BloomShape::sparse(n);
        format!("{}; {}", shape.hashes, per_item(n, shape))
    });
    row(text, "cuckoo filter, bits per item", "tag ≥ log(2 n / (buckets ε))", |n| {
        per_item(n, CuckooShape::new(n, sound(n)).expect(REACH))
    });
    row(text, "mobile cuckoo filter, bits per item", "KRSSW19, tag as above", |n| {
        per_item(n, CuckooShape::mobile(n, sound(n)).expect(REACH))
    });
    row(text, "vacuum filter, bits per item", "chunks of LIANG22 §5.1, tag as above", |n| {
        per_item(n, VacuumShape::new(n, sound(n)).expect(REACH))
    });
    let tag_and_failure = |n: usize, rate: Rate| {
        let shape = VacuumShape::new(n, rate).expect(REACH);
        format!("{}; 2^{:.0}", shape.tag_bits, shape.log2_failure(n))
    };
    row(text, "its tag, bits; a run's false positives", "LIANG22 Theorem 1", |n| {
        tag_and_failure(n, sound(n))
    });
    row(text, "the same as published, too many", "LIANG22 §5.1", |n| {
        tag_and_failure(n, Rate::liang22(sender).expect(REACH))
    });
}

/// Codes and noise of silent VOLE and silent OT.
fn codes(text: &mut String) {
    const PROFILES: [(&str, Lpn); 5] = [
        ("VOLE", lpn::UNIFORM),
        ("OT", lpn::ONES),
        ("OT, malicious", lpn::GUESSED_ONES),
        ("VOLE, published code", lpn::PUBLISHED),
        ("OT, published code", lpn::PUBLISHED_ONES),
    ];
    /// The longest code whose failure bits are computed for the document.
    const LONGEST: usize = 49_152;
    let least_values = lpn::blocks_for_rank(KAPPA + LAMBDA);
    let _ = write!(
        text,
        "\n## Codes of silent VOLE and silent OT\n\n\
         Noise of t blocks is compressed by a Golay block–accumulate code of length N and dimension N/2. A linear \
         test has bias at most 2^-{KAPPA} if no word of the code is lighter than δN; for OT, nor heavier than \
         (1 − δ)N. Then (1 − δ)^t = 2^-{KAPPA} for VOLE and (1 − 2δ)^t = 2^-{KAPPA} for OT. Besides, values of \
         {KAPPA} bits with {LAMBDA} bits of guesses ask for t ≥ {least_values}, for their rank. No run has a code that is \
         shorter than the least N. More entries than a piece has are compressed piece by piece, each with noise of its own.\n\n\
         | for | accumulators | t | δ | least N | failure bits at the least N | entries of a piece |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for (name, lpn) in PROFILES {
        let Lpn { accumulators, blocks, least, piece, .. } = lpn;
        // Values that take long to compute are computed by a test.
        let bits = match least > LONGEST {
            true => format!("≥ {LAMBDA}"),
            false => format!("{:.1}", lpn.failure_bits(least)),
        };
        let delta = lpn.distance();
        let _ = writeln!(
            text,
            "| {name} | {accumulators} | {blocks} | {delta:.5} | {least} | {bits} | {piece} |"
        );
    }
    let _ = write!(
        text,
        "\nFailure bits are −log2 of the expected number of words that are too light (for OT, or too heavy), over \
         uniform permutations: a bound on the probability that a code has any. \
         `vesica_params::lpn::first_moment::words` computes it. Two accumulators are the instance of ePrint \
         2026/1903 (Peceny, Rindal), which publishes 46.4 bits at N = 2097024 and δ = 0.10, after one bit that it takes off for \
         rounding; all other figures are derived here. By N, for light words and for heavy ones:\n\n\
         | N | two accumulators, δ = 0.10 | three, δ = {:.5} | three, δ = {:.5} |\n\
         |---|---|---|---|\n",
        lpn::UNIFORM.distance(),
        lpn::ONES.distance()
    );
    for n in [6_144, 12_288, 24_576, LONGEST] {
        let published = lpn::first_moment::words(n, 2, n / 10);
        let cells = [published, lpn::UNIFORM.tails(n), lpn::ONES.tails(n)]
            .map(|tails| format!("{:.1}, {:.1}", -tails.light, -tails.heavy));
        let _ = writeln!(text, "| {n} | {} |", cells.join(" | "));
    }
}

fn per_item(n: usize, shape: impl Shape) -> String {
    format!("{:.1}", shape.wire_bits() as f64 / n as f64)
}

fn row(text: &mut String, name: &str, source: &str, cell: impl Fn(usize) -> String) {
    let cells: Vec<String> = SIZES.iter().map(|e| cell(1 << e)).collect();
    let _ = writeln!(text, "| {name} | {} | {source} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    /// `cargo xtask docs --check` compares them with every change. This is for cargo-mutants.
    #[test]
    #[ignore = "assure: the page takes seconds"]
    fn the_page_says_what_the_code_says() {
        let (code, page) =
            (super::markdown(), include_str!("../../../docs/security/parameters.md"));
        for (code, page) in code.lines().zip(page.lines()) {
            assert_eq!(code, page, "`cargo xtask docs` writes it again");
        }
        assert_eq!(code.len(), page.len());
    }
}
