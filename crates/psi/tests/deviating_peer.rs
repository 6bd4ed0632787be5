//! An honest party against a peer that deviates at each message in each way: it ends with an error
//! that names what happened, or with an output that holds no item the other side does not have.

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error};
use vesica_psi::{Protocol, Sizes, dh, kkrt16, naive, receive, reveal, rr17, rr22, rs21, send};
use vesica_testkit::{conformance::psi::Sets, tamper};

const SIZES: Sizes = Sizes { sender: 41, receiver: 30 };
const SHARED: usize = 12;

/// The most items that either party accepts.
const MOST: usize = 1000;

/// What a size beyond the agreed bound is to a caller: the peer's fault.
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

fn deviating_sender(protocol: &Protocol) {
    let sets = Sets::random(SIZES, SHARED, 1);
    let expected = sets.expected();
    tamper::against(
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng).map_err(blame),
        |channel, rng| {
            receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng).map_err(blame)
        },
        |case, matches| {
            let right = matches.iter().all(|position| expected.contains(position));
            assert!(right, "{}: {case:?}: a false match", protocol.key);
        },
    );
}

fn deviating_receiver(protocol: &Protocol) {
    let sets = Sets::random(SIZES, SHARED, 1);
    tamper::against(
        |channel, rng| {
            receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng).map_err(blame)
        },
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng).map_err(blame),
        |_, ()| {},
    );
}

#[test]
fn sender_of_dh() {
    deviating_sender(&dh::UNBLINDING);
}

#[test]
fn receiver_of_dh() {
    deviating_receiver(&dh::UNBLINDING);
}

#[test]
fn sender_of_dh_classic() {
    deviating_sender(&dh::CLASSIC);
}

#[test]
fn receiver_of_dh_classic() {
    deviating_receiver(&dh::CLASSIC);
}

#[test]
fn sender_of_kkrt16() {
    deviating_sender(&kkrt16::PROTOCOL);
}

#[test]
fn receiver_of_kkrt16() {
    deviating_receiver(&kkrt16::PROTOCOL);
}

#[test]
fn sender_of_naive() {
    deviating_sender(&naive::PROTOCOL);
}

#[test]
fn receiver_of_naive() {
    deviating_receiver(&naive::PROTOCOL);
}

#[test]
fn sender_of_rr17_de() {
    deviating_sender(&rr17::DUAL_EXECUTION);
}

#[test]
fn receiver_of_rr17_de() {
    deviating_receiver(&rr17::DUAL_EXECUTION);
}

#[test]
fn sender_of_rr17_ec() {
    deviating_sender(&rr17::ENCODE_COMMIT);
}

#[test]
fn receiver_of_rr17_ec() {
    deviating_receiver(&rr17::ENCODE_COMMIT);
}

#[test]
fn sender_of_rr22() {
    deviating_sender(&rr22::FAST);
}

#[test]
fn receiver_of_rr22() {
    deviating_receiver(&rr22::FAST);
}

#[test]
fn sender_of_rr22_low() {
    deviating_sender(&rr22::LOW);
}

#[test]
fn receiver_of_rr22_low() {
    deviating_receiver(&rr22::LOW);
}

#[test]
fn sender_of_rr22_malicious() {
    deviating_sender(&rr22::MALICIOUS);
}

#[test]
fn receiver_of_rr22_malicious() {
    deviating_receiver(&rr22::MALICIOUS);
}

#[test]
fn sender_of_rr22_malicious_low() {
    deviating_sender(&rr22::MALICIOUS_LOW);
}

#[test]
fn receiver_of_rr22_malicious_low() {
    deviating_receiver(&rr22::MALICIOUS_LOW);
}

#[test]
fn sender_of_rs21() {
    deviating_sender(&rs21::SEMI_HONEST);
}

#[test]
fn receiver_of_rs21() {
    deviating_receiver(&rs21::SEMI_HONEST);
}

#[test]
fn sender_of_rs21_malicious() {
    deviating_sender(&rs21::MALICIOUS);
}

#[test]
fn receiver_of_rs21_malicious() {
    deviating_receiver(&rs21::MALICIOUS);
}

/// Of [`reveal`], every change is noticed, down to the last bit.
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
        // One message of an earlier run may be the same message.
        let same = learned.len() == SHARED && matches!(case.tamper, tamper::Tamper::Replace(_));
        assert!(same, "{case:?}: not noticed");
    });
}
