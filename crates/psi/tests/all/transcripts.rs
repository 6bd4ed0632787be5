//! The messages of each protocol do not change, and are the same with every set of kernels.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{
    CATALOGUE, Sizes,
    payload::{self, Payloads, SenderInput},
};
use vesica_testkit::{
    conformance::psi::{Sets, transcripts},
    transcript::{self, again_with_portable_kernels, check_baseline},
};

#[test]
fn equal_the_baseline() {
    let sets = Sets::random(Sizes { sender: 317, receiver: 211 }, 100, 1);
    let found: Vec<_> =
        CATALOGUE.iter().map(|protocol| (protocol.key, transcripts(protocol, &sets))).collect();
    check_baseline(&found);
}

#[test]
fn with_payloads_equal_the_baseline() {
    const LEN: usize = 40;
    let sets = Sets::random(Sizes { sender: 317, receiver: 211 }, 100, 1);
    let payloads: Vec<u8> = (0..LEN * 317).map(|i| i as u8).collect();
    let carrying = CATALOGUE.iter().filter_map(|protocol| protocol.carrying(LEN));
    let runs = carrying.map(|carrying| {
        let send = |channel: &mut Channel, rng: &mut StdRng| {
            let payloads = Payloads::new(LEN, &payloads);
            let with = SenderInput { items: sets.sender.items(), payloads };
            payload::send(&carrying, with, 211..=211, channel, rng)
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            payload::receive(&carrying, sets.receiver.items(), 317..=317, channel, rng)
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
