//! What each protocol sends is what it sent before, with every set of kernels.

use vesica_psi::{CATALOGUE, Sizes};
use vesica_testkit::{
    conformance::psi::{Sets, transcripts},
    transcript::{again_with_portable_kernels, check_baseline},
};

#[test]
fn equal_the_baseline() {
    let sets = Sets::random(Sizes { sender: 317, receiver: 211 }, 100, 1);
    let found: Vec<_> =
        CATALOGUE.iter().map(|protocol| (protocol.key, transcripts(protocol, &sets))).collect();
    check_baseline(&found);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("equal_the_baseline");
}
