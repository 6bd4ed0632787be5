//! The protocols of Rindal and Schoppmann (EUROCRYPT 2021), §5: [`vole_oprf`](super::vole_oprf) with the paper's own
//! OKVS. Deviations from the paper: see `docs/protocols/vole.md`. Its circuit PSI is
//! [`circuit_psi::rs21`](crate::circuit_psi::rs21).

use vesica_params::{
    lpn::{self, Lpn},
    okvs::{Shape, paxos, polynomial},
};
use vesica_structures::okvs::{paxos::Paxos, polynomial::Polynomial};

use crate::{
    Protocol, Status,
    memory::PerItem,
    protocols::vole_oprf::{About, Variant, malicious, whole},
};

pub(crate) const CITATION: &str = "Rindal, Schoppmann (EUROCRYPT 2021)";

/// PaXoS of the size that semi-honest parties need, with elements of GF(2^128) as in the paper.
struct Rs21WithPaxos;

impl Variant for Rs21WithPaxos {
    const MEMORY: PerItem = PerItem::new([85.0, 126.0], [292.0, 22.0]);

    type Store = Paxos;

    fn shape(items: usize, lambda: u32) -> Shape {
        paxos(items, lambda)
    }
}

/// A single polynomial, which has no more columns than items, and a single noise vector for the whole VOLE.
struct WithPolynomial;

impl Variant for WithPolynomial {
    const MEMORY: PerItem = PerItem::new([620.0, 200.0], [950.0, 60.0]);

    type Store = Polynomial;

    const LPN: Lpn = lpn::UNIFORM.with_piece(usize::MAX);

    fn shape(items: usize, lambda: u32) -> Shape {
        polynomial(items, usize::MAX, lambda)
    }
}

/// PaXoS with one-way rows.
struct WithOneWayPaxos;

impl Variant for WithOneWayPaxos {
    const MEMORY: PerItem = PerItem::new([118.0, 150.0], [324.0, 32.0]);

    type Store = Paxos;

    fn shape(items: usize, lambda: u32) -> Shape {
        Rs21WithPaxos::shape(items, lambda).one_way()
    }
}

/// The paper's protocol for semi-honest parties.
pub static SEMI_HONEST: Protocol = whole::<Rs21WithPaxos>(About {
    key: "rs21",
    title: "VOLE-based OPRF with PaXoS",
    citation: CITATION,
    status: Status::Sound,
});

/// The same with the OKVS that sends the least, at the price of n log² n steps.
pub static LOW: Protocol = whole::<WithPolynomial>(About {
    key: "rs21-low",
    title: "VOLE-based OPRF with one polynomial",
    citation: CITATION,
    status: Status::Sound,
});

/// The paper's protocol against malicious parties.
pub static MALICIOUS: Protocol = malicious::<WithOneWayPaxos>(About {
    key: "rs21-malicious",
    title: "VOLE-based OPRF with PaXoS, all steps checked",
    citation: CITATION,
    status: Status::Sound,
});
