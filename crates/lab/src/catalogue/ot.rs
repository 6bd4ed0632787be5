//! The list of all OTs, from which `vesica bench --ot` and documents are generated.
//!
//! Each entry makes *random* OTs from scratch, including base OTs and setup. The additional cost of chosen messages is
//! the same for all: 2·ℓ bytes per OT for messages of ℓ bytes, and n·ℓ for 1-out-of-n.

use rand::{CryptoRng, RngExt};
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, LAMBDA, code, lpn};
use vesica_primitives::{
    Bits, Block,
    code::{Bch, LinearCode, WalshHadamard},
    group::{Ffdhe3072, Ristretto},
};

use vesica_ot::{
    Bytes, CotReceiver, CotSender,
    base::{BaseOt, co15::Co15, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, iknp03, kos15, silent,
        softspoken::{self, SmallField},
    },
    one_of_n::{Keys, Receiver as _, Sender as _, kk13, kkrt16, oos17},
};

/// The kind of an OT: how it is made, and the number of messages it chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 1-out-of-2, by public-key cryptography.
    Base,
    /// 1-out-of-2, from base OTs.
    OneOfTwo,
    /// 1-out-of-n, from base OTs.
    OneOfMany,
}

/// Runs one party of this many random OTs.
pub type Party = fn(usize, &mut Channel, &mut dyn CryptoRng) -> Result<()>;

/// An oblivious transfer.
pub struct Entry {
    /// Its name on the command line.
    pub key: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Its publication.
    pub citation: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The adversary against which it is secure.
    pub adversary: Adversary,
    /// Payload bytes of this many random OTs, setup included.
    pub bytes: fn(usize) -> Bytes,
    /// The party with Δ, or with both seeds.
    pub send: Party,
    /// The party with choices.
    pub receive: Party,
}

/// Every OT that is measured separately. Any of them except base OTs can also be precomputed, and silent OT
/// runs over any extension.
pub static CATALOGUE: &[Entry] = &[
    base::<Np01<Ristretto>>("np01", "NP01, ristretto255", NAOR_PINKAS),
    base::<Np01<Ffdhe3072>>("np01-ffc", "NP01, ffdhe3072", NAOR_PINKAS),
    base::<Co15<Ristretto>>("co15", "CO15 with seed commitment, ristretto255", CHOU_ORLANDI),
    base::<Co15<Ffdhe3072>>("co15-ffc", "CO15 with seed commitment, ffdhe3072", CHOU_ORLANDI),
    base::<Mr19<Ristretto>>("mr19", "MR19, ristretto255", MASNY_RINDAL),
    base::<Mr19<Ffdhe3072>>("mr19-ffc", "MR19, ffdhe3072", MASNY_RINDAL),
    Entry {
        key: "iknp03",
        title: "IKNP03 as published, both columns",
        citation: "Ishai, Kilian, Nissim, Petrank (CRYPTO 2003)",
        kind: Kind::OneOfTwo,
        adversary: iknp03::ADVERSARY,
        bytes: |n| iknp03::setup_bytes() + iknp03::bytes(n),
        send: |n, channel, rng| pairs(n, &mut iknp03::Sender::setup(channel, rng)?, channel),
        receive: |n, channel, rng| {
            chosen(n, &mut iknp03::Receiver::setup(channel, rng)?, channel, rng)
        },
    },
    Entry {
        key: "alsz13",
        title: "ALSZ13",
        citation: "Asharov, Lindell, Schneider, Zohner (CCS 2013)",
        kind: Kind::OneOfTwo,
        adversary: alsz13::ADVERSARY,
        bytes: |n| alsz13::setup_bytes() + alsz13::bytes(n),
        send: |n, channel, rng| pairs(n, &mut alsz13::Sender::setup(channel, rng)?, channel),
        receive: |n, channel, rng| {
            chosen(n, &mut alsz13::Receiver::setup(channel, rng)?, channel, rng)
        },
    },
    Entry {
        key: "kos15",
        title: "KOS15 with the repaired check, of columns",
        citation: "Keller, Orsini, Scholl (CRYPTO 2015; check of ePrint 2015/546, corrected)",
        kind: Kind::OneOfTwo,
        adversary: kos15::ADVERSARY,
        bytes: |n| kos15::setup_bytes() + kos15::bytes(n),
        send: |n, channel, rng| pairs(n, &mut kos15::Sender::setup(channel, rng)?, channel),
        receive: |n, channel, rng| {
            chosen(n, &mut kos15::Receiver::setup(channel, rng)?, channel, rng)
        },
    },
    Entry {
        key: "softspoken",
        title: "SoftSpokenOT, k = 2",
        citation: ROY,
        kind: Kind::OneOfTwo,
        adversary: softspoken::semi_honest::ADVERSARY,
        bytes: |n| {
            softspoken::semi_honest::setup_bytes(QUICK) + softspoken::semi_honest::bytes(QUICK, n)
        },
        send: |n, channel, rng| {
            pairs(n, &mut softspoken::semi_honest::Sender::setup(QUICK, channel, rng)?, channel)
        },
        receive: |n, channel, rng| {
            let mut ot = softspoken::semi_honest::Receiver::setup(QUICK, channel, rng)?;
            chosen(n, &mut ot, channel, rng)
        },
    },
    Entry {
        key: "softspoken-malicious",
        title: "SoftSpokenOT, k = 2, malicious",
        citation: ROY,
        kind: Kind::OneOfTwo,
        adversary: softspoken::malicious::ADVERSARY,
        bytes: |n| {
            softspoken::malicious::setup_bytes(QUICK) + softspoken::malicious::bytes(QUICK, n)
        },
        send: |n, channel, rng| {
            pairs(n, &mut softspoken::malicious::Sender::setup(QUICK, channel, rng)?, channel)
        },
        receive: |n, channel, rng| {
            let mut ot = softspoken::malicious::Receiver::setup(QUICK, channel, rng)?;
            chosen(n, &mut ot, channel, rng)
        },
    },
    Entry {
        key: "silent",
        title: "silent OT over SoftSpokenOT, k = 8",
        citation: SILENT,
        kind: Kind::OneOfTwo,
        adversary: softspoken::semi_honest::ADVERSARY,
        bytes: |n| {
            use softspoken::semi_honest::{ADVERSARY, bytes, setup_bytes};
            let beneath = bytes(SMALL, silent::ots_beneath(n, lpn::ONES, ADVERSARY));
            let own = silent::bytes(n, lpn::ONES, ADVERSARY);
            setup_bytes(SMALL) + session() + beneath + own
        },
        send: |n, channel, rng| {
            let cot = softspoken::semi_honest::Sender::setup(SMALL, channel, rng)?;
            silent::Sender::setup(cot, lpn::ONES, channel, rng)?.extend_random(n, channel).map(drop)
        },
        receive: |n, channel, rng| {
            let cot = softspoken::semi_honest::Receiver::setup(SMALL, channel, rng)?;
            let mut ot = silent::Receiver::setup(cot, lpn::ONES, channel, rng)?;
            ot.extend_random(n, channel).map(drop)
        },
    },
    Entry {
        key: "silent-malicious",
        title: "silent OT over SoftSpokenOT, k = 8, malicious",
        citation: SILENT,
        kind: Kind::OneOfTwo,
        adversary: softspoken::malicious::ADVERSARY,
        bytes: |n| {
            use softspoken::malicious::{ADVERSARY, bytes, setup_bytes};
            let beneath = bytes(SMALL, silent::ots_beneath(n, lpn::GUESSED_ONES, ADVERSARY));
            let own = silent::bytes(n, lpn::GUESSED_ONES, ADVERSARY);
            setup_bytes(SMALL) + session() + beneath + own
        },
        send: |n, channel, rng| {
            let cot = softspoken::malicious::Sender::setup(SMALL, channel, rng)?;
            silent::Sender::setup(cot, lpn::GUESSED_ONES, channel, rng)?
                .extend_random(n, channel)
                .map(drop)
        },
        receive: |n, channel, rng| {
            let cot = softspoken::malicious::Receiver::setup(SMALL, channel, rng)?;
            let mut ot = silent::Receiver::setup(cot, lpn::GUESSED_ONES, channel, rng)?;
            ot.extend_random(n, channel).map(drop)
        },
    },
    Entry {
        key: "kk13",
        title: "KK13, 1 of 256",
        citation: "Kolesnikov, Kumaresan (CRYPTO 2013)",
        kind: Kind::OneOfMany,
        adversary: kk13::ADVERSARY,
        bytes: |n| kk13::setup_bytes() + kk13::bytes(n),
        send: |n, channel, rng| {
            let mut ot = kk13::Sender::setup(channel, rng)?;
            ot.send_random_pieces(n, channel, rng, one_key_each)
        },
        receive: |n, channel, rng| {
            let mut ot = kk13::Receiver::setup(channel, rng)?;
            ot.receive_random(&words(n, rng), channel, rng).map(drop)
        },
    },
    Entry {
        key: "kkrt16",
        title: "KKRT16, 1 of 2^128",
        citation: "Kolesnikov, Kumaresan, Rosulek, Trieu (CCS 2016)",
        kind: Kind::OneOfMany,
        adversary: kkrt16::ADVERSARY,
        bytes: |n| kkrt16::setup_bytes(kkrt16_width(n)) + kkrt16::bytes(kkrt16_width(n), n),
        send: |n, channel, rng| {
            let mut ot = kkrt16::Sender::setup(kkrt16_width(n), channel, rng)?;
            ot.send_random_pieces(n, channel, rng, one_key_each)
        },
        receive: |n, channel, rng| {
            let mut ot = kkrt16::Receiver::setup(kkrt16_width(n), channel, rng)?;
            ot.receive_random(&words(n, rng), channel, rng).map(drop)
        },
    },
    oos17::<WalshHadamard>("oos17-256", "OOS17, 1 of 256, Walsh–Hadamard"),
    oos17::<Bch>("oos17", "OOS17, 1 of 2^76, BCH"),
];

/// The OT with this key.
pub fn find(key: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.key == key)
}

const NAOR_PINKAS: &str = "Naor, Pinkas (SODA 2001)";
const CHOU_ORLANDI: &str = "Chou, Orlandi (LATINCRYPT 2015)";
const MASNY_RINDAL: &str = "Masny, Rindal (CCS 2019)";
const ROY: &str = "Roy (CRYPTO 2022)";
const SILENT: &str = "Boyle et al. (CCS 2019); Peceny, Rindal (ePrint 2026/1903)";

/// The field of SoftSpokenOT with the least time.
const QUICK: SmallField = SmallField::new(2);

/// The field with the fewest bytes, for few OTs.
const SMALL: SmallField = SmallField::new(8);

const fn base<B: BaseOt>(key: &'static str, title: &'static str, citation: &'static str) -> Entry {
    Entry {
        key,
        title,
        citation,
        kind: Kind::Base,
        adversary: B::ADVERSARY,
        bytes: B::bytes,
        send: |n, channel, rng| B::send(n, channel, rng).map(drop),
        receive: |n, channel, rng| B::receive(&Bits::random(n, rng), channel, rng).map(drop),
    }
}

const fn oos17<C: LinearCode + Default>(key: &'static str, title: &'static str) -> Entry {
    Entry {
        key,
        title,
        citation: "Orrù, Orsini, Scholl (CT-RSA 2017)",
        kind: Kind::OneOfMany,
        adversary: oos17::ADVERSARY,
        bytes: |n| oos17::setup_bytes::<C>() + oos17::bytes::<C>(n),
        send: |n, channel, rng| {
            let mut ot = oos17::Sender::setup(C::default(), channel, rng)?;
            ot.send_random_pieces(n, channel, rng, one_key_each)
        },
        receive: |n, channel, rng| {
            let mut ot = oos17::Receiver::setup(C::default(), channel, rng)?;
            ot.receive_random(&words(n, rng), channel, rng).map(drop)
        },
    }
}

fn pairs(n: usize, ot: &mut impl CotSender, channel: &mut Channel) -> Result<()> {
    ot.send_random(n, channel).map(drop)
}

fn chosen(
    n: usize,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    ot.receive_random(&Bits::random(n, rng), channel).map(drop)
}

/// The cost of a session's public key.
const fn session() -> Bytes {
    Bytes { to_sender: 0, to_receiver: size_of::<Block>() }
}

/// Words of eight bits, which every 1-out-of-n OT supports.
fn words(n: usize, rng: &mut dyn CryptoRng) -> Vec<Block> {
    (0..n).map(|_| Block(rng.random::<u8>().into())).collect()
}

/// Computes one key of each OT, as a PSI sender does for each of its items.
fn one_key_each<K: Keys>(keys: &K) {
    keys.at(&vec![Block(1); keys.len()]);
}

fn kkrt16_width(n: usize) -> usize {
    code::width(n, LAMBDA)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::rngs::StdRng;
    use vesica_testkit::two_party::{Link, run};

    use super::*;

    #[test]
    fn keys_are_different() {
        let keys: HashSet<&str> = CATALOGUE.iter().map(|entry| entry.key).collect();
        assert_eq!(keys.len(), CATALOGUE.len());
        assert!(CATALOGUE.iter().all(|entry| find(entry.key).is_some()));
        assert!(find("np02").is_none());
    }

    /// Bytes are within 3 % of the formula; the difference includes framing, whose share does not grow.
    #[test]
    fn every_entry_sends_what_it_says() {
        for entry in CATALOGUE {
            let n = if entry.kind == Kind::Base { 16 } else { 20_000 };
            let sent_by = |party: Party| {
                move |channel: &mut Channel, rng: &mut StdRng| {
                    party(n, channel, rng)?;
                    channel.flush()?;
                    Ok::<_, vesica_net::Error>(channel.meter().sent())
                }
            };
            let (sent, received) = run(Link::Memory, sent_by(entry.send), sent_by(entry.receive));
            let Bytes { to_sender, to_receiver } = (entry.bytes)(n);
            for (counted, predicted) in [(sent, to_receiver), (received, to_sender)] {
                let least = predicted as u64;
                let fits = (least..=least + least * 3 / 100 + 2000).contains(&counted);
                assert!(fits, "{}: {counted} for {predicted}", entry.key);
            }
        }
    }
}
