//! The list of all structures, from which `vesica bench --structures` is generated.
//!
//! Every structure is planned for a number of items, built from a set, and then queried. A filter or a table reports
//! whether a value is in it. An OKVS, whose keys are the items, reports whether a key has the value that an item would
//! have. The answers are therefore yes for a set's own items, and no for others.

mod bins;
mod filter;
mod okvs;

use std::ops::RangeInclusive;

use rand::Rng;
use vesica_params::{
    LAMBDA,
    bins::cuckoo::{self, Published},
    filter::{BloomShape, CuckooShape, ListShape, SortedListShape, VacuumShape},
    okvs::{
        Excess, band, garbled_bloom, mega_bin, paxos, polynomial, random_matrix, shape, three_hash,
    },
};
use vesica_primitives::Block;

use self::{
    bins::{balanced, cuckoo, phased, simple, two_choice},
    filter::{filled, sparse},
    okvs::{always_encoded, encoded},
};
use vesica_structures::{
    filter::{Bloom, Cuckoo, List, MobileCuckoo, SortedList, Vacuum},
    okvs::{
        Free, band::Band, depth_first::DepthFirst, garbled_bloom::GarbledBloom, paxos::Paxos,
        polynomial::Polynomial, rr22::Rr22,
    },
};

/// The kind of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A table of hash bins: a tag is sent for each place, whether occupied or not.
    Bins,
    /// A filter, with false positives.
    Filter,
    /// An oblivious key-value store, for values of 128 bits.
    Okvs,
}

impl Kind {
    /// The strictness that a plan for `n` items needs in a protocol: λ, and λ + log n for filters, which are
    /// queried n times.
    pub fn strictness(self, n: usize) -> u32 {
        match self {
            Self::Filter => LAMBDA + n.max(1).next_power_of_two().ilog2(),
            Self::Bins | Self::Okvs => LAMBDA,
        }
    }

    /// A strictness at which failures are visible in a million queries of a filter or a thousand tables or
    /// stores.
    pub fn visible(self) -> u32 {
        match self {
            Self::Filter => 10,
            Self::Bins | Self::Okvs => 5,
        }
    }
}

/// The plan of a structure: a shape, from which a structure with the planned number of items is built.
pub trait Plan: Send + Sync {
    /// log2 of a bound on the risk: for filters, of a false positive; for others, of a failure to build. `None` if
    /// there is no risk.
    fn log2_risk(&self) -> Option<f64>;

    /// Bytes on the wire.
    fn bytes(&self) -> usize;

    /// Builds it from random, distinct items, including encoding. Returns `None` if that fails for these items.
    ///
    /// # Panics
    /// If there are more items than planned.
    fn build<'a>(&'a self, items: &'a [Block], rng: &mut dyn Rng) -> Option<Box<dyn Held + 'a>>;
}

/// A built structure.
pub trait Held {
    /// The number of these values for which the answer is yes.
    fn found(&self, values: &[Block]) -> usize;
}

/// A structure.
pub struct Entry {
    /// Its name on the command line.
    pub key: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Its publication.
    pub citation: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The supported numbers of items: at least the minimum for security, at most what is practical.
    pub sizes: RangeInclusive<usize>,
    /// The reason for a bound on these.
    pub because: &'static str,
    /// Maximum number of items of structures that are built to count failures. `None` if it never fails, or if only the
    /// risk for λ can be requested.
    pub trial: Option<usize>,
    /// The plan for this many items with a risk of 2^-strictness; `None` if 128 bits do not allow it.
    pub plan: fn(usize, u32) -> Option<Box<dyn Plan>>,
}

/// Every structure, with secure parameters unless its title says otherwise. Free columns of an OKVS are zero,
/// as is sufficient under a mask, unless its title says otherwise.
pub static CATALOGUE: &[Entry] = &[
    bins("simple", "simple hashing, 3 bins an item", PSZ14, |n, risk| Some(simple::<3>(n, risk))),
    bins("balanced", "balanced allocation, 2 bins an item", PSZ14, |n, risk| {
        Some(balanced::<2>(n, risk))
    }),
    bins("cuckoo-2", "cuckoo hashing, 2 functions and stash", PSZ14, |n, risk| {
        Some(cuckoo::<2>(n, cuckoo::sound(n, risk), risk))
    }),
    bins("cuckoo-3", "cuckoo hashing, 3 functions", PSZ18, |n, risk| {
        Some(cuckoo::<3>(n, cuckoo::sound(n, risk), risk))
    }),
    Entry {
        trial: None,
        ..bins("cuckoo-3-stash", "the same with a stash, as published", KKRT16, |n, risk| {
            Some(cuckoo::<3>(n, cuckoo::published(n, Published::Stash)?, risk))
        })
    },
    bins("cuckoo-4", "cuckoo hashing, 4 functions", PSZ18, |n, risk| {
        Some(cuckoo::<4>(n, cuckoo::sound(n, risk), risk))
    }),
    bins("cuckoo-5", "cuckoo hashing, 5 functions", PSZ18, |n, risk| {
        Some(cuckoo::<5>(n, cuckoo::sound(n, risk), risk))
    }),
    bins("two-choice", "two choices, bins of about 40", PRTY19, |n, risk| {
        Some(two_choice(n, risk))
    }),
    bins("phasing", "cuckoo hashing, 3 functions, phased", PSSZ15, phased::<3>),
    filter("list", "list", LIANG22, |n, risk| filled::<List>(n, risk, ListShape::new)),
    filter("sorted-list", "list, sorted and Golomb–Rice coded", "Rice (1979)", |n, risk| {
        filled::<SortedList>(n, risk, SortedListShape::new)
    }),
    filter("bloom", "Bloom filter", "Bloom (CACM 1970)", |n, risk| {
        filled::<Bloom>(n, risk, |n, rate| Ok(BloomShape::new(n, rate)))
    }),
    filter("distinct-bloom", "Bloom filter, distinct positions", LIANG22, |n, risk| {
        filled::<Bloom>(n, risk, |n, rate| Ok(BloomShape::distinct(n, rate)))
    }),
    filter("sparse-bloom", "Bloom filter, sparse", RR16, |n, risk| {
        filled::<Bloom>(n, risk, |n, rate| Ok(sparse(n, rate)))
    }),
    filter("cuckoo-filter", "cuckoo filter", "Fan et al. (CoNEXT 2014)", |n, risk| {
        filled::<Cuckoo>(n, risk, CuckooShape::new)
    }),
    filter(
        "mobile-cuckoo",
        "cuckoo filter, buckets of 3",
        "Kales et al. (USENIX 2019)",
        |n, risk| filled::<MobileCuckoo>(n, risk, CuckooShape::mobile),
    ),
    filter("vacuum", "vacuum filter", "Wang et al. (VLDB 2019); Liang et al.", |n, risk| {
        filled::<Vacuum>(n, risk, VacuumShape::new)
    }),
    Entry {
        sizes: 0..=1 << 20,
        because: "it has 92 columns a key at 2^24, 25 GB",
        trial: Some(1 << 9),
        ..store("garbled-bloom", "garbled Bloom filter", DCW13, |n, risk| {
            Some(encoded::<GarbledBloom>(garbled_bloom(n, risk), Free::Zero, risk))
        })
    },
    Entry {
        sizes: 0..=1 << 12,
        because: "it takes n³ steps",
        trial: Some(1 << 8),
        ..store("random-matrix", "random matrix", RS21, |n, risk| {
            Some(encoded::<Band>(random_matrix(n, risk), Free::Zero, risk))
        })
    },
    store("paxos", "PaXoS", "Pinkas, Rosulek, Trieu, Yanai (EUROCRYPT 2020)", |n, risk| {
        Some(encoded::<Paxos>(paxos(n, risk), Free::Zero, risk))
    }),
    store("xopaxos", "XoPaXoS, random free columns", RS21, |n, risk| {
        Some(encoded::<Paxos>(paxos(n, risk), Free::Random, risk))
    }),
    store(
        "depth-first",
        "PaXoS by depth-first search",
        "Pinkas et al. (EUROCRYPT 2020)",
        |n, risk| Some(encoded::<DepthFirst>(paxos(n, risk), Free::Zero, risk)),
    ),
    Entry {
        sizes: 6600..=ANY,
        because: "with fewer keys it fails more often than it may",
        ..store("three-hash", "garbled cuckoo table, 3 functions", GPR21, |n, risk| {
            Some(encoded::<Rr22>(three_hash(n, risk), Free::Zero, risk))
        })
    },
    store("rr22", "RR22, weight 3, one cluster", RR22, |n, risk| {
        Some(encoded::<Rr22>(shape(n, usize::MAX, risk), Free::Zero, risk))
    }),
    store("rr22-clustered", "RR22, weight 3, clusters of 2^15", RR22, |n, risk| {
        Some(encoded::<Rr22>(shape(n, 1 << 15, risk), Free::Zero, risk))
    }),
    store("band-3", "RB-OKVS, 3 in 100 more columns", BPSY23, |n, risk| {
        Some(encoded::<Band>(band(n, usize::MAX, Excess::Percent3, risk), Free::Zero, risk))
    }),
    store("band-5", "RB-OKVS, 5 in 100 more columns", BPSY23, |n, risk| {
        Some(encoded::<Band>(band(n, usize::MAX, Excess::Percent5, risk), Free::Zero, risk))
    }),
    store("band-10", "RB-OKVS, 10 in 100 more columns", BPSY23, |n, risk| {
        Some(encoded::<Band>(band(n, usize::MAX, Excess::Percent10, risk), Free::Zero, risk))
    }),
    Entry {
        sizes: 0..=1 << 20,
        because: "it takes n log² n products and room for n log n elements",
        trial: None,
        ..store("polynomial", "polynomial", "Freedman et al. (EUROCRYPT 2004)", |n, risk| {
            Some(always_encoded::<Polynomial>(polynomial(n, usize::MAX, risk)))
        })
    },
    Entry {
        trial: Some(1 << 10),
        ..store("mega-bins", "polynomials of mega-bins", PSTY19, |n, risk| {
            Some(encoded::<Polynomial>(polynomial(n, mega_bin(n), risk), Free::Zero, risk))
        })
    },
];

/// The structure with this key.
pub fn find(key: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.key == key)
}

const PSZ14: &str = "Pinkas, Schneider, Zohner (USENIX 2014)";
const PSZ18: &str = "Pinkas, Schneider, Zohner (TOPS 2018)";
const PSSZ15: &str = "Pinkas, Schneider, Segev, Zohner (USENIX 2015)";
const KKRT16: &str = "Kolesnikov, Kumaresan, Rosulek, Trieu (CCS 2016)";
const PRTY19: &str = "Pinkas, Rosulek, Trieu, Yanai (CRYPTO 2019)";
const LIANG22: &str = "Liang et al. (2022)";
const RR16: &str = "Rindal, Rosulek (EUROCRYPT 2017)";
const DCW13: &str = "Dong, Chen, Wen (CCS 2013)";
const RS21: &str = "Rindal, Schoppmann (EUROCRYPT 2021)";
const GPR21: &str = "Garimella et al. (CRYPTO 2021)";
const RR22: &str = "Raghuraman, Rindal (CCS 2022)";
const BPSY23: &str = "Bienstock, Patel, Seo, Yeo (USENIX 2023)";
const PSTY19: &str = "Pinkas, Schneider, Tkachenko, Yanai (EUROCRYPT 2019)";

/// No bound on the size except the counter's.
const ANY: usize = usize::MAX;

type MakePlan = fn(usize, u32) -> Option<Box<dyn Plan>>;

const fn bins(
    key: &'static str,
    title: &'static str,
    citation: &'static str,
    plan: MakePlan,
) -> Entry {
    let (sizes, trial) = (0..=ANY, Some(1 << 13));
    Entry { key, title, citation, kind: Kind::Bins, sizes, because: "", trial, plan }
}

const fn filter(
    key: &'static str,
    title: &'static str,
    citation: &'static str,
    plan: MakePlan,
) -> Entry {
    Entry { kind: Kind::Filter, trial: Some(1 << 20), ..bins(key, title, citation, plan) }
}

const fn store(
    key: &'static str,
    title: &'static str,
    citation: &'static str,
    plan: MakePlan,
) -> Entry {
    Entry { kind: Kind::Okvs, ..bins(key, title, citation, plan) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn keys_are_different() {
        let keys: HashSet<&str> = CATALOGUE.iter().map(|entry| entry.key).collect();
        assert_eq!(keys.len(), CATALOGUE.len());
        assert!(CATALOGUE.iter().all(|entry| find(entry.key).is_some()));
        assert!(find("list-sorted").is_none());
    }

    /// Each structure contains exactly the items it was built from, and has the size that its kind requires.
    #[test]
    fn every_entry_holds_its_items() {
        let mut rng = StdRng::seed_from_u64(1);
        for entry in CATALOGUE {
            for n in [1, 100, 1000, 7001] {
                if !entry.sizes.contains(&n) {
                    assert!(!entry.because.is_empty(), "{}", entry.key);
                    continue;
                }
                let mut blocks = || (0..n).map(|_| Block::random(&mut rng)).collect::<Vec<_>>();
                let (items, others) = (blocks(), blocks());
                let strictness = entry.kind.strictness(n);
                let plan = (entry.plan)(n, strictness).unwrap();
                let held = plan.build(&items, &mut rng).unwrap();
                assert_eq!(held.found(&items), n, "{}", entry.key);
                assert_eq!(held.found(&others), 0, "{}", entry.key);
                let least = if entry.kind == Kind::Okvs { 128 * n } else { 40 * n };
                assert!(plan.bytes() * 8 >= least, "{}", entry.key);
                let risk = plan.log2_risk().unwrap_or(f64::NEG_INFINITY);
                assert!(risk <= 1e-9 - f64::from(strictness), "{}: 2^{risk}", entry.key);
            }
        }
    }

    /// A plan for a visible risk has that risk and not more.
    #[test]
    fn every_risk_that_is_seen_is_as_planned() {
        let mut rng = StdRng::seed_from_u64(2);
        for entry in CATALOGUE {
            let Some(most) = entry.trial else { continue };
            let n = most.min(300);
            let plan = (entry.plan)(n, entry.kind.visible()).unwrap();
            let risk = plan.log2_risk().unwrap().exp2();
            let trials = if entry.kind == Kind::Filter { 1 << 16 } else { 300 };
            let mut blocks =
                |count| (0..count).map(|_| Block::random(&mut rng)).collect::<Vec<_>>();
            let seen = if entry.kind == Kind::Filter {
                let (items, others) = (blocks(n), blocks(trials));
                plan.build(&items, &mut rng).unwrap().found(&others)
            } else {
                let sets: Vec<Vec<Block>> = (0..trials).map(|_| blocks(n)).collect();
                sets.iter().filter(|items| plan.build(items, &mut rng).is_none()).count()
            };
            let mean = trials as f64 * risk;
            if entry.sizes.contains(&n) {
                assert!(seen as f64 <= mean + 5.0 * mean.sqrt(), "{}: {seen}, {mean}", entry.key);
            }
            if entry.kind == Kind::Filter {
                assert!(seen as f64 >= mean / 4.0, "{}: {seen}, {mean}", entry.key);
            }
        }
    }
}
