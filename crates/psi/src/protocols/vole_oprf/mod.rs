//! PSI from a multi-point OPRF that comes from a VOLE and an OKVS: Rindal and Schoppmann (EUROCRYPT 2021), §5, with the
//! OPRF of `vesica_oprf::rs21`.
//!
//! Offline: OT extension and a silent VOLE.
//!
//! 1. The OPRF: R gets F(x) for each of its items, S can compute F anywhere. R → S: the OKVS of R's items,
//!    masked by the VOLE.
//! 2. S → R: the sorted list of {F(y)}, cut to tags.
//! 3. R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. `semi_honest` and `malicious` are
//! the constructions; a `Variant` says on which OKVS they run. [`rs21`](super::rs21) has the variants of that paper,
//! with PaXoS and with a polynomial, and [`rr22`](super::rr22) those whose OKVS is smaller and faster. Deviations from
//! the papers: see `docs/protocols/vole.md`.

mod malicious;
mod semi_honest;

use vesica_ot::extension::softspoken::SmallField;
use vesica_params::{
    Failure,
    lpn::{self, Lpn},
    okvs::Shape,
};
use vesica_primitives::Block;
use vesica_structures::okvs::Codec;

pub(crate) use malicious::{FEW, protocol as malicious};
pub(crate) use semi_honest::{short, whole};

use crate::{
    Error, Items, Memory, Setting, Status, memory::PerItem, parts::tags::refuse_duplicates,
};

/// An OKVS for the protocol.
pub(crate) trait Variant: Send + Sync + 'static {
    /// Memory for each item.
    const MEMORY: PerItem;

    /// The OKVS.
    type Store: Codec<Block>;

    /// The noise of the VOLE.
    const LPN: Lpn = lpn::UNIFORM;

    /// Its shape for this many items of the receiver, such that it fails with probability at most 2^-λ.
    fn shape(items: usize, lambda: u32) -> Shape;

    /// Its shape for a run.
    fn shape_for(setting: Setting) -> Shape {
        Self::shape(setting.sizes.receiver, setting.lambda())
    }

    /// The event that it has no solution.
    fn failure(setting: Setting) -> Failure {
        let log2 = Self::shape_for(setting).log2_failure(setting.sizes.receiver);
        Failure::new("the OKVS has no solution", log2)
    }
}

/// The memory of a run with this OKVS.
///
/// The part that does not grow with the sizes is a second vector of a piece's noise and the permutations of its code:
/// 12 bytes per entry if they are cached, less if a piece is longer.
fn memory<V: Variant>(setting: Setting) -> Memory {
    let len = V::shape_for(setting).columns();
    let piece = len.div_ceil(V::LPN.pieces(len));
    let entries = V::LPN.code_len(V::LPN.block_len(piece)) as f64;
    Memory::linear(setting.sizes, V::MEMORY).and(28.0 * entries, 40.0 * entries)
}

/// An OKVS for a run between semi-honest parties.
pub(crate) trait ShortVariant: Variant<Store: Codec<u64>> {
    /// Bits of an element.
    fn bits(setting: Setting) -> u32;
}

/// The field of the OT extension: the largest, because few OTs are needed and bytes count.
pub(crate) const FIELD: SmallField = SmallField::new(8);

const LIST: &str = "rs21/list";

/// The fields that the entries of all variants share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub key: &'static str,
    pub title: &'static str,
    pub citation: &'static str,
    pub status: Status,
}

/// Attributes a failure of the OPRF to equal items, if a store does not take them.
fn blame_duplicates(error: vesica_oprf::Error, items: Items<'_>) -> Error {
    match error.into() {
        Error::HashingFailure => match refuse_duplicates(items) {
            Err(duplicate) => duplicate,
            Ok(()) => Error::HashingFailure,
        },
        other => other,
    }
}
