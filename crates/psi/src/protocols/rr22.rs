//! The protocols of Raghuraman and Rindal (CCS 2022): [`vole_oprf`](super::vole_oprf) with their OKVS of
//! weight 3 and, in the semi-honest form, a VOLE whose short side is only as long as necessary.
//!
//! The differences from the paper, and why entries may be as short as λ + log n_y bits, are in
//! `docs/protocols/vole.md`.

use vesica_params::{
    lpn::{self, Lpn},
    okvs::{Excess, Shape, band, shape},
    subfield,
};
use vesica_structures::okvs::{band::Band, rr22::Rr22};

use crate::{
    Protocol, Setting, Status,
    memory::PerItem,
    protocols::vole_oprf::{About, ShortVariant, Variant, malicious, short},
};

const CITATION: &str = "Raghuraman, Rindal (CCS 2022); Rindal, Schoppmann (EUROCRYPT 2021)";

/// Approximate number of keys per cluster: as many as let a cluster's columns stay in the second-level cache.
const FAST_CLUSTER: usize = 1 << 15;

/// Approximate number of keys per cluster of bands. A single cluster saves another 3 % of the columns, and the run
/// takes a fifth longer.
const BAND_CLUSTER: usize = 1 << 16;

/// Clusters that fit the cache, and elements of minimal length.
struct Fast;

impl Variant for Fast {
    const MEMORY: PerItem = PerItem::new([80.0, 52.0], [130.0, 18.0]);

    type Store = Rr22;

    fn shape(items: usize, lambda: u32) -> Shape {
        shape(items, FAST_CLUSTER, lambda)
    }
}

impl ShortVariant for Fast {
    fn bits(setting: Setting) -> u32 {
        subfield::bits(setting.sizes.sender, setting.lambda())
    }
}

/// The random bands of [BPSY23](vesica_structures::okvs::band) with 1.1 columns per item, elements of minimal length,
/// and pieces of noise twice as large as in the fast variant.
struct Low;

impl Variant for Low {
    const MEMORY: PerItem = PerItem::new([80.0, 68.0], [170.0, 18.0]);

    type Store = Band;

    const LPN: Lpn = lpn::UNIFORM.with_piece(2 * lpn::UNIFORM.piece);

    fn shape(items: usize, lambda: u32) -> Shape {
        band(items, BAND_CLUSTER, Excess::Percent10, lambda)
    }
}

impl ShortVariant for Low {
    fn bits(setting: Setting) -> u32 {
        Fast::bits(setting)
    }
}

/// Clusters twice as large as in the fast variant, because an entry costs twice as many bytes, with enough dense
/// columns to make rows one-way. Over GF(2^128) a few columns would do, but sums of bits use tables and are decoded
/// three times as fast.
struct Rr22Checked;

impl Variant for Rr22Checked {
    const MEMORY: PerItem = PerItem::new([118.0, 78.0], [215.0, 27.0]);

    type Store = Rr22;

    fn shape(items: usize, lambda: u32) -> Shape {
        shape(items, 2 * FAST_CLUSTER, lambda).one_way()
    }
}

/// Random bands in one cluster: 1.05 columns per item, and rows
/// of several hundred random bits, which are already one-way. A single noise vector for the whole VOLE.
struct CheckedBand;

impl Variant for CheckedBand {
    const MEMORY: PerItem = PerItem::new([125.0, 62.0], [278.0, 28.0]);

    type Store = Band;

    const LPN: Lpn = lpn::UNIFORM.with_piece(usize::MAX);

    fn shape(items: usize, lambda: u32) -> Shape {
        band(items, usize::MAX, Excess::Percent5, lambda).one_way()
    }
}

/// The fast variant.
pub static FAST: Protocol = short::<Fast>(About {
    key: "rr22",
    title: "VOLE-based OPRF with a clustered OKVS",
    citation: CITATION,
    status: Status::Recommended,
});

/// The variant with the fewest bytes.
pub static LOW: Protocol = short::<Low>(About {
    key: "rr22-low",
    title: "VOLE-based OPRF with a band OKVS, whose failures are measured, not proven",
    citation: CITATION,
    status: Status::Sound,
});

/// Against malicious parties.
pub static MALICIOUS: Protocol = malicious::<Rr22Checked>(About {
    key: "rr22-malicious",
    title: "VOLE-based OPRF with a clustered OKVS, all steps checked",
    citation: CITATION,
    status: Status::Recommended,
});

/// Against malicious parties, with the fewest bytes.
pub static MALICIOUS_LOW: Protocol = malicious::<CheckedBand>(About {
    key: "rr22-malicious-low",
    title: "VOLE-based OPRF with an OKVS of random bands, whose failures are measured, not proven; all steps checked",
    citation: "Raghuraman, Rindal (CCS 2022); Bienstock, Patel, Seo, Yeo (USENIX Security 2023)",
    status: Status::Sound,
});
