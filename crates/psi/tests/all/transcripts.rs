//! The messages of each protocol do not change, and are the same with every set of kernels.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{
    CATALOGUE, Protocol, Sizes,
    payload::{self, Payloads, SenderInput},
};
use vesica_testkit::{
    conformance::psi::{Sets, transcripts},
    transcript::{self, again_with_portable_kernels, check_baseline},
};

/// The sizes of both sets, and the number of shared items: few for protocols that compute with integers of thousands of
/// bits.
fn sizes(protocol: &Protocol) -> (Sizes, usize) {
    match protocol.key {
        "blind-rsa" | "dh-ffc" | "hl08-ffc" => (Sizes { sender: 7, receiver: 5 }, 3),
        _ => (Sizes { sender: 317, receiver: 211 }, 100),
    }
}

fn sets(protocol: &Protocol) -> Sets {
    let (sizes, shared) = sizes(protocol);
    Sets::random(sizes, shared, 1)
}

#[test]
fn equal_the_baseline() {
    let found: Vec<_> = CATALOGUE
        .iter()
        .map(|protocol| (protocol.key, transcripts(protocol, &sets(protocol))))
        .collect();
    check_baseline(&found);
}

#[test]
fn with_payloads_equal_the_baseline() {
    const LEN: usize = 40;
    let carrying = CATALOGUE.iter().filter_map(|protocol| protocol.carrying(LEN));
    let runs = carrying.map(|carrying| {
        let sets = sets(carrying.protocol());
        let Sizes { sender, receiver } = sets.sizes();
        let payloads: Vec<u8> = (0..LEN * sender).map(|i| i as u8).collect();
        let send = |channel: &mut Channel, rng: &mut StdRng| {
            let payloads = Payloads::new(LEN, &payloads);
            let with = SenderInput { items: sets.sender.items(), payloads };
            payload::send(&carrying, with, receiver..=receiver, channel, rng)
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            let items = sets.receiver.items();
            payload::receive(&carrying, items, sender..=sender, channel, rng)
        };
        (format!("{}+payloads", carrying.protocol().key), transcript::of(send, receive))
    });
    let runs: Vec<_> = runs.collect();
    let found: Vec<_> = runs.iter().map(|(name, both)| (&name[..], both.clone())).collect();
    check_baseline(&found);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("transcripts::equal_the_baseline");
    again_with_portable_kernels("transcripts::with_payloads_equal_the_baseline");
}
