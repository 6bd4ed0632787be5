//! PSI from a multi-point OPRF: Rindal and Schoppmann (EUROCRYPT 2021), §5, with the OPRF of
//! `vesica_oprf::rs21`.
//!
//! Without input but the sizes: OT extension and a silent VOLE.
//!
//! 1. The OPRF: R gets F(x) for each of its items, S can compute F anywhere. R → S: the OKVS of R's
//!    items, masked by the VOLE.
//! 2. S → R: the sorted list of {F(y)}, cut to tags.
//! 3. R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set, S the size of R's set. `semi_honest` and
//! `malicious` are the machines; a `Variant` says which OKVS they run on. Here are the paper's own,
//! with PaXoS; those of [`rr22`](crate::rr22) have an OKVS that is smaller and faster.

mod malicious;
mod semi_honest;

use vesica_ot::extension::softspoken::SmallField;
use vesica_params::{
    LAMBDA,
    lpn::{self, Lpn},
    okvs::Shape,
};
use vesica_primitives::Block;
use vesica_structures::okvs::{Codec, paxos::Paxos};

pub(crate) use malicious::protocol as malicious;
pub(crate) use semi_honest::protocol as semi_honest;

use crate::{Error, Protocol, Sizes, Status};

/// An OKVS for the protocol.
pub(crate) trait Variant: Send + Sync + 'static {
    /// The OKVS.
    type Store: Codec<Block>;

    /// The noise of the VOLE.
    const LPN: Lpn = lpn::FAST;

    /// Its shape for as many items of the receiver.
    fn shape(items: usize) -> Shape;
}

/// An OKVS for a run among parties that follow the protocol.
pub(crate) trait ShortVariant: Variant<Store: Codec<u64>> {
    /// Bits of an element.
    fn bits(sizes: Sizes) -> u32;
}

/// The field of the OT extension: the largest, for few OTs are needed and bytes count.
const FIELD: SmallField = SmallField::new(8);

const LIST: &str = "rs21/list";

/// What the entries of all variants have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub key: &'static str,
    pub title: &'static str,
    pub citation: &'static str,
    pub status: Status,
}

/// PaXoS of the size that semi-honest parties need, with elements of GF(2^128) as in the paper.
struct WithPaxos;

impl Variant for WithPaxos {
    type Store = Paxos;

    fn shape(items: usize) -> Shape {
        vesica_params::okvs::paxos(items, LAMBDA)
    }
}

impl ShortVariant for WithPaxos {
    fn bits(_: Sizes) -> u32 {
        128
    }
}

/// PaXoS with one-way rows.
struct WithOneWayPaxos;

impl Variant for WithOneWayPaxos {
    type Store = Paxos;

    fn shape(items: usize) -> Shape {
        WithPaxos::shape(items).one_way()
    }
}

/// The paper's protocol among parties that follow it.
pub static SEMI_HONEST: Protocol = semi_honest::<WithPaxos>(About {
    key: "rs21",
    title: "VOLE-based OPRF with PaXoS",
    citation: "Rindal, Schoppmann (EUROCRYPT 2021)",
    status: Status::Sound,
});

/// The paper's protocol against parties that deviate.
pub static MALICIOUS: Protocol = malicious::<WithOneWayPaxos>(About {
    key: "rs21-malicious",
    title: "VOLE-based OPRF with PaXoS, all steps checked",
    citation: "Rindal, Schoppmann (EUROCRYPT 2021)",
    status: Status::Sound,
});

impl From<vesica_oprf::Error> for Error {
    fn from(error: vesica_oprf::Error) -> Self {
        match error {
            vesica_oprf::Error::Channel(error) => error.into(),
            _ => Self::HashingFailure,
        }
    }
}
