//! Malicious parties that cheat at one chosen step, to run against honest ones.
//!
//! [`tamper`](crate::tamper) changes bytes without knowing what they mean. The parties here know the protocol:
//! a test can replace any one of their steps, for example choose a filter or a list, open another value, or use
//! more items than announced. They are written from the protocols' descriptions and share no code with the
//! protocols above the OPRFs, so an honest run of one of them also tests that the implementation follows the
//! description.
//!
//! **The place of malicious parties.** All code that cheats on purpose is in this module, with one exception: an attack
//! that needs the private state of a party is in a module `adversary` next to that party, which exists only in the
//! crate's own unit tests (`#[cfg(test)] mod adversary`). There are two such modules, for the consistency checks of OT
//! extensions (`ot/src/extension/checked/adversary.rs`) and for the cut and choose of RR16
//! (`psi/src/protocols/rr16/adversary.rs`). Both try an attack a thousand times on one setup. No build of a library
//! outside its tests contains either, and no secret is made visible for them.
//!
//! `docs/security/adversaries.md` lists the check that detects each attack on each message, and the test that shows it.

pub mod cm20;
pub mod prty20;
pub mod rr17;
pub mod rs21;

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error as ChannelError};
use vesica_primitives::Block;
use vesica_psi::{Error, Items, Protocol, Sizes, receive, send};

use crate::{
    conformance::psi::Sets,
    two_party::{Link, PATIENCE, between},
};

/// Number of attempts of an attack that succeeds only by chance.
pub const ATTEMPTS: usize = 1000;

/// Maximum number of items that an honest party of these tests accepts.
pub const MOST: usize = 10_000;

/// The output of an honest receiver against a sender that cheats.
pub fn received(
    protocol: &'static Protocol,
    sets: &Sets,
    cheat: impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send,
) -> Result<Vec<u32>, Error> {
    let honest = |channel: &mut Channel, rng: &mut StdRng| {
        receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng)
    };
    between(Link::Memory.connect(), PATIENCE, cheat, honest).1
}

/// Returns the outcome of an honest sender against a cheating receiver, and the receiver's own outcome.
pub fn sent<T: Send>(
    protocol: &'static Protocol,
    sets: &Sets,
    cheat: impl FnOnce(&mut Channel, &mut StdRng) -> Result<T, Error> + Send,
) -> (Result<(), Error>, Result<T, Error>) {
    let honest = |channel: &mut Channel, rng: &mut StdRng| {
        send(protocol, sets.sender.items(), 0..=MOST, channel, rng)
    };
    between(Link::Memory.connect(), PATIENCE, honest, cheat)
}

/// Two sets with the same items.
pub fn equal_sets(n: usize) -> Sets {
    Sets::random(Sizes { sender: n, receiver: n }, n, 1)
}

/// The name of the check that refused the peer, if one did.
pub fn failed_check(error: &ChannelError) -> Option<&'static str> {
    match error {
        ChannelError::Peer { deviation: Deviation::CheckFailed { check }, .. } => Some(check),
        _ => None,
    }
}

/// Whether this error is a refusal of the peer by the check of this name.
pub fn fails(error: &Error, check: &str) -> bool {
    matches!(error, Error::Channel(error) if failed_check(error) == Some(check))
}

/// Whether this error is a refusal of a message because of its length.
pub fn has_wrong_length(error: &Error, of: &str) -> bool {
    matches!(
        error,
        Error::Channel(ChannelError::Peer { deviation: Deviation::WrongLength { label, .. }, .. })
            if *label == of
    )
}

/// Whether `count` of [`ATTEMPTS`] agrees with this probability, within five standard deviations.
pub fn is_share(count: usize, probability: f64) -> bool {
    let expected = probability * ATTEMPTS as f64;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (count as f64 - expected).abs() <= 5.0 * deviation + 1e-9
}

/// The first message of a sender with `items` items.
fn hello_of_sender(protocol: &Protocol, items: usize, channel: &mut Channel) -> Result<(), Error> {
    let receiver = hello(protocol, items, channel)?;
    protocol.on(Sizes { sender: items, receiver })?.bind(channel);
    Ok(())
}

/// The first message of a receiver with `items` items.
fn hello_of_receiver(
    protocol: &Protocol,
    items: usize,
    channel: &mut Channel,
) -> Result<(), Error> {
    let sender = hello(protocol, items, channel)?;
    protocol.on(Sizes { sender, receiver: items })?.bind(channel);
    Ok(())
}

/// Sends this party's number of items, which may be any claim, and returns the other's.
pub fn hello(protocol: &Protocol, items: usize, channel: &mut Channel) -> Result<usize, Error> {
    let name = blake3::hash(protocol.key.as_bytes());
    let mine = [&(items as u64).to_le_bytes()[..], &name.as_bytes()[..8]].concat();
    let mut theirs = [[0; 8]; 2];
    channel.exchange("psi/size", &mine, theirs.as_flattened_mut())?;
    Ok(u64::from_le_bytes(theirs[0]) as usize)
}

/// The toss of a seed, for the party that commits.
fn toss_committing(channel: &mut Channel, rng: &mut StdRng) -> Result<Block, Error> {
    let mine = Block::random(rng);
    let theirs = toss_opening(mine, mine, channel)?;
    Ok(mine ^ theirs)
}

/// Tosses a seed like [`toss_committing`], for a party that may open a different share from the one it committed to.
/// Returns the other party's share.
fn toss_opening(committed: Block, opened: Block, channel: &mut Channel) -> Result<Block, Error> {
    let commitment = blake3::derive_key("vesica psi seed share v1", &committed.to_bytes());
    let mut theirs = [Block::ZERO];
    channel.send("psi/seed-commitment", &commitment)?;
    channel.recv_slice("psi/seed-share", &mut theirs)?;
    channel.send_slice("psi/seed-opening", &[opened])?;
    Ok(theirs[0])
}

/// The toss of a seed, for the other party.
fn toss_committed(channel: &mut Channel, rng: &mut StdRng) -> Result<Block, Error> {
    let (mine, mut theirs) = (Block::random(rng), [Block::ZERO]);
    channel.recv_into("psi/seed-commitment", &mut [0; 32])?;
    channel.send_slice("psi/seed-share", &[mine])?;
    channel.recv_slice("psi/seed-opening", &mut theirs)?;
    Ok(mine ^ theirs[0])
}

/// Items of 256 bits.
fn whole(items: Items<'_>) -> Vec<[u8; 32]> {
    items
        .low_halves()
        .iter()
        .zip(items.high_halves())
        .map(|(h, t)| bytemuck::cast([*h, *t]))
        .collect()
}
