//! An honest party against a peer that deviates at each message in each possible way: it ends with an error
//! that names what happened, or with an output that contains no item that the other side does not have (except
//! for circuit PSI, which promises nothing in this case).

use crate::key;
use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error};
use vesica_psi::{Protocol, Sizes, receive, reveal, send};
use vesica_testkit::{conformance::psi::Sets, tamper};

const SIZES: Sizes = Sizes { sender: 41, receiver: 30 };
const SHARED: usize = 12;

/// For protocols that compute with integers of thousands of bits.
const FEW: Sizes = Sizes { sender: 4, receiver: 3 };
const FEW_SHARED: usize = 2;

/// The largest number of items that either party accepts.
const MOST: usize = 1000;

/// To a caller, a size beyond the agreed bound is the peer's fault.
fn blame(error: vesica_psi::Error) -> Error {
    match error {
        vesica_psi::Error::Channel(error) => error,
        vesica_psi::Error::TooManyItems { items, max: 1000 } if items > 1000 => Error::Peer {
            phase: "sizes",
            deviation: Deviation::Malformed { label: "psi/size", what: "too many" },
        },
        other => panic!("nothing that a peer does may end in: {other}"),
    }
}

fn deviating_sender(protocol: &Protocol, sets: &Sets) {
    let expected = sets.expected();
    // Inconsistent shares represent something else, which may claim that anything is shared: nothing in a
    // circuit binds a match to an item of the other side.
    let anything = ["psty19", "rs21-circuit"].contains(&protocol.key);
    tamper::against(
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng).map_err(blame),
        |channel, rng| {
            receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng).map_err(blame)
        },
        |case, matches| {
            let right = |position: &u32| {
                expected.contains(position) || anything && (*position as usize) < SIZES.receiver
            };
            let right = matches.iter().all(right);
            assert!(right, "{}: {case:?}: a false match", protocol.key);
        },
    );
}

fn deviating_receiver(protocol: &Protocol, sets: &Sets) {
    tamper::against(
        |channel, rng| {
            receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng).map_err(blame)
        },
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng).map_err(blame),
        |_, ()| {},
    );
}

/// Either party of a protocol deviates.
macro_rules! deviating {
    ($name:ident, $protocol:expr) => {
        deviating!($name, $protocol, SIZES, SHARED);
    };
    ($name:ident, $protocol:expr, $sizes:ident, $shared:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn sender() {
                deviating_sender($protocol, &Sets::random($sizes, $shared, 1));
            }

            #[test]
            fn receiver() {
                deviating_receiver($protocol, &Sets::random($sizes, $shared, 1));
            }
        }
    };
}

deviating!(blind_rsa, &key::BLIND_RSA, FEW, FEW_SHARED);
deviating!(cm20, &vesica_psi::protocols::cm20::SEMI_HONEST);
deviating!(cm20_malicious_sender, &vesica_psi::protocols::cm20::MALICIOUS_SENDER);
deviating!(dcw13, &vesica_psi::protocols::dcw13::PROTOCOL);
deviating!(dh, &vesica_psi::protocols::dh::UNBLINDING);
deviating!(dh_classic, &vesica_psi::protocols::dh::CLASSIC);
deviating!(dh_ffc, &vesica_psi::protocols::dh::FINITE_FIELD, FEW, FEW_SHARED);
deviating!(hl08, &vesica_psi::protocols::hl08::RISTRETTO);
deviating!(hl08_ffc, &vesica_psi::protocols::hl08::FINITE_FIELD, FEW, FEW_SHARED);
deviating!(kkrt16, &vesica_psi::protocols::kkrt16::PROTOCOL);
deviating!(naive, &vesica_psi::protocols::naive::PROTOCOL);
deviating!(prty19_fast, &vesica_psi::protocols::prty19::FAST);
deviating!(prty19_low, &vesica_psi::protocols::prty19::LOW);
deviating!(prty20, &vesica_psi::protocols::prty20::CLUSTERED);
deviating!(prty20_malicious, &vesica_psi::protocols::prty20::MALICIOUS);
deviating!(prty20_paxos, &vesica_psi::protocols::prty20::WITH_PAXOS);
deviating!(pssz15, &vesica_psi::protocols::pssz15::PROTOCOL);
deviating!(psty19, &vesica_psi::circuit_psi::psty19::PROTOCOL);
deviating!(psz14, &vesica_psi::protocols::psz14::CUCKOO);
deviating!(psz14_gbf, &vesica_psi::protocols::psz14::gbf::PUBLISHED);
deviating!(psz14_simple, &vesica_psi::protocols::psz14::SIMPLE);
deviating!(rr16, &vesica_psi::protocols::rr16::PROTOCOL);
deviating!(rr17_de, &vesica_psi::protocols::rr17::DUAL_EXECUTION);
deviating!(rr17_ec, &vesica_psi::protocols::rr17::ENCODE_COMMIT);
deviating!(rr22, &vesica_psi::protocols::rr22::FAST);
deviating!(rr22_low, &vesica_psi::protocols::rr22::LOW);
deviating!(rr22_malicious, &vesica_psi::protocols::rr22::MALICIOUS);
deviating!(rr22_malicious_low, &vesica_psi::protocols::rr22::MALICIOUS_LOW);
deviating!(rs21, &vesica_psi::protocols::rs21::SEMI_HONEST);
deviating!(rs21_circuit, &vesica_psi::protocols::rs21::circuit::SILENT);
deviating!(rs21_low, &vesica_psi::protocols::rs21::LOW);
deviating!(rs21_malicious, &vesica_psi::protocols::rs21::MALICIOUS);
deviating!(scs_gmw, &vesica_psi::protocols::scs::GMW, FEW, FEW_SHARED);
deviating!(scs_yao, &vesica_psi::protocols::scs::YAO, FEW, FEW_SHARED);

/// In [`reveal`], every change of a bit is noticed.
#[test]
fn receiver_that_reveals() {
    let sets = Sets::random(SIZES, SHARED, 1);
    let shared = sets.receiver.items().at(&sets.expected());
    let tell = |channel: &mut Channel, rng: &mut StdRng| {
        reveal::tell(shared.items(), SIZES, channel, rng).map_err(blame)
    };
    let learn = |channel: &mut Channel, _: &mut StdRng| {
        reveal::learn(sets.sender.items(), SIZES, channel).map_err(blame)
    };
    tamper::against(tell, learn, |case, learned| {
        // A message of an earlier run may be identical.
        let same = learned.len() == SHARED && matches!(case.tamper, tamper::Tamper::Replace(_));
        assert!(same, "{case:?}: not noticed");
    });
}
