//! Several runs on one connection, as of sets in partitions.

#![allow(clippy::unwrap_used)]

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{Error, Setting, Sizes, find};
use vesica_testkit::{
    conformance::psi::Sets,
    two_party::{Link, PATIENCE, between},
};

/// Bytes of base OTs so far, both ways.
fn of_base_ots(channel: &Channel) -> u64 {
    let phases = channel.meter().phases();
    let phases = phases.iter().filter(|phase| phase.name == "base-ot");
    phases.map(|phase| phase.sent + phase.received).sum()
}

/// Base OTs are made only in the first run, and all runs find the shared items.
#[test]
fn later_runs_go_on_with_the_ots_of_the_first() {
    let sizes = Sizes { sender: 300, receiver: 200 };
    let sets = [1, 2, 3].map(|seed| Sets::random(sizes, 50 * seed as usize, seed));
    for (protocol, makes_ots) in [("rr22", true), ("rr22-malicious", true), ("dh", false)] {
        let protocol = find(protocol).unwrap();
        for (runs, times) in [(1, 3), (3, 1)] {
            let setting = Setting::from(sizes).one_of(runs);
            let send = |channel: &mut Channel, rng: &mut StdRng| {
                let mut bytes = Vec::new();
                for sets in &sets {
                    let items = sets.sender.items().cut_for(protocol)?;
                    protocol.on(setting)?.sender(channel, rng)?.run(items, channel, rng)?;
                    channel.flush()?;
                    bytes.push(of_base_ots(channel));
                }
                Ok::<_, Error>(bytes)
            };
            let receive = |channel: &mut Channel, rng: &mut StdRng| {
                let run = |sets: &Sets| {
                    let items = sets.receiver.items().cut_for(protocol)?;
                    protocol.on(setting)?.receiver(channel, rng)?.run(items, channel, rng)
                };
                sets.iter().map(run).collect::<Result<Vec<_>, Error>>()
            };
            let (bytes, found) = between(Link::Memory.connect(), PATIENCE, send, receive);
            let (bytes, found) = (bytes.unwrap(), found.unwrap());
            assert_eq!(found, sets.each_ref().map(Sets::expected), "{}", protocol.key);
            assert_eq!(bytes[0] > 0, makes_ots);
            assert!(bytes[2].abs_diff(times * bytes[0]) <= bytes[0] / 10, "{bytes:?}");
        }
    }
}
