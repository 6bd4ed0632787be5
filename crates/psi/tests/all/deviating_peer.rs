//! An honest party against a peer that deviates at each message in each possible way: it ends with an error that names
//! the deviation, or with an output that contains no item that the other side does not have (except for circuit PSI,
//! which promises nothing in this case).

use crate::key;
use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error};
use vesica_psi::{CATALOGUE, Protocol, Sizes, circuit_psi, protocols, receive, reveal, send};
use vesica_testkit::{
    conformance::psi::Sets,
    tamper::{self, Tamper},
};

const SIZES: Sizes = Sizes { sender: 41, receiver: 30 };
const SHARED: usize = 12;

/// So many that a VOLE has noise.
const MANY: Sizes = Sizes { sender: 41, receiver: 800 };

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
    let anything = ["psty19", "rs21-circuit", "rs21-circuit-iknp"].contains(&protocol.key);
    tamper::against(
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng).map_err(blame),
        |channel, rng| {
            receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng).map_err(blame)
        },
        |case, matches| {
            let right = |position: &u32| {
                expected.contains(position)
                    || anything && (*position as usize) < sets.receiver.len()
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

/// Either party of each protocol deviates.
macro_rules! deviating {
    ($($name:ident: $protocol:expr, $sizes:ident, $shared:ident;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn sender() {
                deviating_sender($protocol, &Sets::random($sizes, $shared, 1));
            }

            #[test]
            fn receiver() {
                deviating_receiver($protocol, &Sets::random($sizes, $shared, 1));
            }
        })*

        #[test]
        fn no_protocol_of_the_catalogue_is_left_out() {
            let here = [$($protocol.key),*];
            assert!(CATALOGUE.iter().map(|protocol| protocol.key).eq(here));
        }
    };
}

deviating! {
    blind_rsa: &key::BLIND_RSA, FEW, FEW_SHARED;
    cm20: &protocols::cm20::SEMI_HONEST, SIZES, SHARED;
    cm20_malicious_sender: &protocols::cm20::MALICIOUS_SENDER, SIZES, SHARED;
    dcw13: &protocols::dcw13::PROTOCOL, SIZES, SHARED;
    dh: &protocols::dh::UNBLINDING, SIZES, SHARED;
    dh_classic: &protocols::dh::CLASSIC, SIZES, SHARED;
    dh_ffc: &protocols::dh::FINITE_FIELD, FEW, FEW_SHARED;
    hl08: &protocols::hl08::RISTRETTO, SIZES, SHARED;
    hl08_ffc: &protocols::hl08::FINITE_FIELD, FEW, FEW_SHARED;
    kkrt16: &protocols::kkrt16::PROTOCOL, SIZES, SHARED;
    naive: &protocols::naive::PROTOCOL, SIZES, SHARED;
    prty19_fast: &protocols::prty19::FAST, SIZES, SHARED;
    prty19_low: &protocols::prty19::LOW, SIZES, SHARED;
    prty20: &protocols::prty20::CLUSTERED, SIZES, SHARED;
    prty20_malicious: &protocols::prty20::MALICIOUS, SIZES, SHARED;
    prty20_malicious_paxos: &protocols::prty20::MALICIOUS_WITH_PAXOS, SIZES, SHARED;
    prty20_paxos: &protocols::prty20::WITH_PAXOS, SIZES, SHARED;
    pssz15: &protocols::pssz15::PROTOCOL, SIZES, SHARED;
    psty19: &circuit_psi::psty19::PROTOCOL, SIZES, SHARED;
    psz14: &protocols::psz14::CUCKOO, SIZES, SHARED;
    psz14_balanced: &protocols::psz14::BALANCED, SIZES, SHARED;
    psz14_gbf: &protocols::psz14::gbf::PUBLISHED, SIZES, SHARED;
    psz14_gbf_liang: &protocols::psz14::gbf::LIANG, SIZES, SHARED;
    psz14_none: &protocols::psz14::NONE, SIZES, SHARED;
    psz14_simple: &protocols::psz14::SIMPLE, SIZES, SHARED;
    rr16: &protocols::rr16::PROTOCOL, SIZES, SHARED;
    rr17_de: &protocols::rr17::DUAL_EXECUTION, SIZES, SHARED;
    rr17_ec: &protocols::rr17::ENCODE_COMMIT, SIZES, SHARED;
    rr22: &protocols::rr22::FAST, MANY, SHARED;
    rr22_low: &protocols::rr22::LOW, MANY, SHARED;
    rr22_malicious: &protocols::rr22::MALICIOUS, MANY, SHARED;
    rr22_malicious_low: &protocols::rr22::MALICIOUS_LOW, MANY, SHARED;
    rs21: &protocols::rs21::SEMI_HONEST, MANY, SHARED;
    rs21_circuit: &circuit_psi::rs21::SILENT, SIZES, SHARED;
    rs21_circuit_iknp: &circuit_psi::rs21::IKNP, SIZES, SHARED;
    rs21_low: &protocols::rs21::LOW, MANY, SHARED;
    rs21_malicious: &protocols::rs21::MALICIOUS, MANY, SHARED;
    scs_gmw: &protocols::scs::GMW, FEW, FEW_SHARED;
    scs_gmw_vector: &protocols::scs::GMW_VECTOR, FEW, FEW_SHARED;
    scs_yao: &protocols::scs::YAO, FEW, FEW_SHARED;
}

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
        let same = learned.len() == SHARED
            && matches!(case.tamper, Tamper::Replace(_) | Tamper::Splice(_));
        assert!(same, "{case:?}: not noticed");
    });
}
