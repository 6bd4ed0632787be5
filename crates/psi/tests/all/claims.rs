//! A peer that claims a set of any size, for every protocol and either party: the honest one refuses it with the claim
//! and the bound in the error, and has by then sent nothing but its own size, so nothing was prepared for the claim.
//! `cli/tests/program/claims.rs` has the same of the program, with claims that the terms allow and memory does not.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{CATALOGUE, Error, MAX_ITEMS, Protocol, Sizes, receive, send};
use vesica_testkit::{
    adversary::hello,
    conformance::psi::Sets,
    transcript::record,
    two_party::{Link, PATIENCE, between},
};

/// The items of the honest party.
const ITEMS: usize = 20;

/// The error of an honest party that accepts up to `most` items of the other, which claims `claimed`; and whether it
/// sent anything but its size.
fn refusal(protocol: &Protocol, is_sender: bool, most: usize, claimed: usize) -> Error {
    let sets = Sets::random(Sizes { sender: ITEMS, receiver: ITEMS }, 5, 1);
    let (left, right) = Link::Memory.connect();
    let (left, sent) = record(left);
    let honest = |channel: &mut Channel, rng: &mut StdRng| match is_sender {
        true => send(protocol, sets.sender.items(), 0..=most, channel, rng),
        false => receive(protocol, sets.receiver.items(), 0..=most, channel, rng).map(drop),
    };
    let claimant = |channel: &mut Channel, _: &mut StdRng| {
        hello(protocol, claimed, channel)?;
        // The next message would be the first of a run.
        Ok::<_, Error>(channel.recv_into("psi/size", &mut [0; 16])?)
    };
    let (refused, heard) = between((left, right), PATIENCE, honest, claimant);
    assert!(heard.is_err(), "{} went on", protocol.key);
    let shape: Vec<_> = sent.transcript().messages.into_iter().map(|sent| sent.label).collect();
    assert_eq!(shape, ["psi/size"], "{}: prepared for a claim", protocol.key);
    refused.expect_err("a claim beyond what was agreed")
}

#[test]
fn claims_beyond_the_bound_are_refused_by_every_protocol() {
    for protocol in CATALOGUE {
        for is_sender in [true, false] {
            let beyond = [(0, 1), (1000, 1001), (1000, MAX_ITEMS), (1000, usize::MAX)];
            let maximum = [(MAX_ITEMS, MAX_ITEMS + 1), (usize::MAX, MAX_ITEMS + 1)];
            for (most, claimed) in beyond.into_iter().chain(maximum) {
                let error = refusal(protocol, is_sender, most, claimed);
                let bound = most.min(MAX_ITEMS) as u64;
                let named = matches!(
                    error,
                    Error::TooManyItems { items, max } if items == claimed as u64 && max == bound
                );
                assert!(named, "{}: {error}", protocol.key);
            }
        }
    }
}

/// A protocol with a limit of its own names it, however much was agreed on.
#[test]
fn claims_beyond_a_protocols_limit_are_refused() {
    let mut limited = 0;
    for protocol in CATALOGUE {
        for is_sender in [true, false] {
            let sizes = match is_sender {
                true => Sizes { sender: ITEMS, receiver: MAX_ITEMS },
                false => Sizes { sender: MAX_ITEMS, receiver: ITEMS },
            };
            let Err(of_protocol) = (protocol.limits)(sizes) else { continue };
            limited += 1;
            let error = refusal(protocol, is_sender, MAX_ITEMS, MAX_ITEMS);
            let named = matches!(
                &error,
                Error::Limit { protocol: key, limit } if *key == protocol.key && *limit == of_protocol
            );
            assert!(named, "{}: {error}", protocol.key);
        }
    }
    assert!(limited > 4, "{limited}");
}
