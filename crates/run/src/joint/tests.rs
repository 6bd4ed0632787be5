use std::{collections::BTreeMap, fs, sync::Arc, thread};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_agree::{
    joint::{Cast, NamedParty},
    offer::Offer,
};
use vesica_core::{observe::NoObserver, parties::Security};
use vesica_net::{CancelToken, Identity, transport::memory};
use vesica_normalize::normalize::Normalize;
use vesica_psi::joint::Place;
use vesica_select::{Declared, Keys, Side};
use vesica_table::source::Source;
use vesica_task::{
    outcome::{Outcome, QueryResult},
    query::Query,
    select::QueryTable,
};

use super::*;
use crate::{
    job::Job,
    journal::{Interrupted, JournalSecret, Resume},
};

const NAMES: [&str; 5] = ["shop", "club", "bank", "mall", "post"];

/// A run of some parties.
struct World {
    cast: Cast,
    /// The keys of each party; one that occurs twice is in two rows.
    keys: Vec<Vec<u32>>,
    /// A party that stops when it enters a phase.
    stops: Option<Stop>,
}

#[derive(Debug, Clone, Copy)]
struct Stop {
    party: usize,
    phase: &'static str,
}

/// Cancels the channels of a party in a phase.
struct Stopper {
    phase: &'static str,
    channels: Vec<CancelToken>,
}

impl Observer for Stopper {
    fn phase(&self, name: &'static str) {
        if name == self.phase {
            self.channels.iter().for_each(CancelToken::cancel);
        }
    }
}

impl World {
    fn new(keys: Vec<Vec<u32>>, leader: usize, pivot: usize) -> Self {
        let party = |name: &&str| NamedParty { name: (*name).into(), fingerprint: (*name).into() };
        let parties = NAMES[..keys.len()].iter().map(party).collect();
        let cast = Cast::new(parties, NAMES[leader], NAMES[pivot]).unwrap();
        Self { cast, keys, stops: None }
    }

    /// Sets of these sizes; many keys are in several of them.
    fn random(sizes: &[usize], leader: usize, pivot: usize, rng: &mut StdRng) -> Self {
        let most = sizes.iter().max().map_or(1, |most| most * 3 / 2 + 1) as u32;
        let keys = sizes.iter().map(|size| (0..*size).map(|_| rng.random_range(0..most)).collect());
        Self::new(keys.collect(), leader, pivot)
    }

    /// Parties that learn beside the leader.
    fn with_learners(mut self, names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        self.cast = self.cast.with_learners(&names).unwrap();
        self
    }

    /// The leader's keys that all have, with the rows of each.
    fn shared(&self) -> Vec<u32> {
        self.shared_rows(self.cast.leader)
    }

    /// A party's keys that all have, with the rows of each.
    fn shared_rows(&self, party: usize) -> Vec<u32> {
        let mut holders: BTreeMap<u32, usize> = BTreeMap::new();
        for keys in &self.keys {
            let mut keys = keys.clone();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().for_each(|key| *holders.entry(key).or_default() += 1);
        }
        let all = self.keys.len();
        self.keys[party].iter().copied().filter(|key| holders[key] == all).collect()
    }

    fn offer(&self, party: usize) -> Offer {
        Offer::new(vec![Normalize::NONE], self.cast.learners_for(party))
    }

    /// Runs all parties, and returns what each made of it. Each job is changed by `change`.
    fn run(
        &self,
        change: impl Fn(usize, &mut Job) + Sync,
    ) -> Vec<(Result<Vec<Shortfall>>, Report, Option<String>)> {
        let parties = self.keys.len();
        let mut ends: Vec<Vec<Channel>> = (0..parties).map(|_| Vec::new()).collect();
        for left in 0..parties {
            for right in left + 1..parties {
                let (one, other) = memory::pair();
                ends[left].push(Channel::new(one));
                ends[right].push(Channel::new(other));
            }
        }
        let (change, directory) = (&change, &tempfile::tempdir().unwrap());
        thread::scope(|scope| {
            let started = ends.into_iter().enumerate().map(|(me, mut channels)| {
                scope.spawn(move || {
                    let rows = self.keys[me].iter().map(|key| format!("{key},{}\n", 1000 + key));
                    let text = format!("k,v\n{}", rows.collect::<String>());
                    let source = Source::Memory { name: "t".into(), bytes: text.into() };
                    let mut job = Job::new(source, ["k"], self.offer(me));
                    let seat = Seat { cast: self.cast.clone(), me };
                    let output = directory.path().join(NAMES[me]);
                    job.seat = Some(seat.clone());
                    job.allow_empty = true;
                    job.threads = 1;
                    job.spill = Some(directory.path().to_owned());
                    if self.cast.learns(me) {
                        job.output = Some(Destination::Path(output.clone()));
                    }
                    change(me, &mut job);
                    let (mut report, mut rng) =
                        (Report::begin(), StdRng::seed_from_u64(7 + me as u64));
                    let tokens = channels.iter().map(Channel::cancel_token).collect();
                    let observer: Arc<dyn Observer> = match self.stops {
                        Some(Stop { party, phase }) if party == me => {
                            Arc::new(Stopper { phase, channels: tokens })
                        }
                        _ => Arc::new(NoObserver),
                    };
                    let channels = &mut channels;
                    let ended = job
                        .prepare()
                        .and_then(|job| run(job, &seat, channels, observer, &mut rng, &mut report));
                    (ended, report, fs::read_to_string(output).ok())
                })
            });
            let started: Vec<_> = started.collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// All parties succeed, and only those that learn have rows, as a plain intersection has them.
    #[track_caller]
    fn assert_rows(&self, change: impl Fn(usize, &mut Job) + Sync) {
        let ran = self.run(change);
        for (me, (ended, report, output)) in ran.iter().enumerate() {
            let ended = ended.as_ref().unwrap_or_else(|error| panic!("{}: {error}", NAMES[me]));
            assert!(ended.is_empty());
            if self.cast.learns(me) {
                let rows = self.shared_rows(me).into_iter();
                let rows = rows.map(|key| format!("{key},{}\n", 1000 + key));
                let expected = format!("k,v\n{}", rows.collect::<String>());
                assert_eq!(output.as_deref(), Some(&*expected), "{}", NAMES[me]);
            } else {
                assert_eq!((output, &report.outcome), (&None, &Outcome::default()));
            }
            let parties = report.parties.as_ref().unwrap();
            assert_eq!(parties.terms_hash, ran[0].1.parties.as_ref().unwrap().terms_hash);
            assert_eq!(report.partitions, ran[0].1.partitions);
            assert_eq!(report.protocol, ran[0].1.protocol);
        }
    }
}

#[test]
fn the_leader_gets_the_rows_whose_keys_all_have() {
    let rng = &mut StdRng::seed_from_u64(1);
    for (sizes, leader, pivot) in [
        (&[30, 30, 30][..], 0, 2),
        (&[1, 300, 7], 1, 0),
        (&[0, 20, 20], 2, 1),
        (&[20, 20, 0], 1, 2),
        (&[97, 101, 89, 103], 3, 1),
        (&[40, 41, 42, 43, 44], 2, 4),
    ] {
        World::random(sizes, leader, pivot, rng).assert_rows(|_, _| {});
    }
}

/// Asks for a run against malicious parties.
fn distrust(job: &mut Job) {
    job.offer.security = Security::Malicious;
    job.offer.allow_research = true;
}

/// Against malicious parties, rows are the same, of whole sets and in partitions.
#[test]
fn rows_against_malicious_parties_are_those_that_all_have() {
    let rng = &mut StdRng::seed_from_u64(12);
    for (sizes, leader, pivot, partitions) in [
        (&[30, 30, 30][..], 0, 2, 1),
        (&[0, 20, 20], 2, 1, 1),
        (&[1, 300, 7], 1, 0, 1),
        (&[40, 41, 42, 43, 44], 2, 4, 1),
        (&[3000, 2500, 2800, 2600], 3, 1, 2),
    ] {
        let world = World::random(sizes, leader, pivot, rng);
        world.assert_rows(|me, job| {
            distrust(job);
            job.planner.partitions = if me == 0 { partitions } else { 1 };
        });
        let ran = world.run(|_, job| distrust(job));
        for (_, report, _) in ran {
            assert_eq!(report.protocol, Some("rr22-malicious"));
            let learned = report.learned.unwrap();
            assert!(learned.assuming.contains("nobody has reviewed"), "{}", learned.assuming);
            assert!(learned.assuming.contains("`joint-malicious` is a research protocol"));
            assert!(!learned.assuming.contains("semi-honest"), "{}", learned.assuming);
        }
    }
}

/// A party that would take other parts in the fold is found before anything is sent.
#[test]
fn all_parties_ask_for_the_same_security() {
    let rng = &mut StdRng::seed_from_u64(13);
    let world = World::random(&[30, 30, 30], 0, 2, rng);
    for other in 0..3 {
        let ran = world.run(|me, job| {
            if me != other {
                distrust(job);
            }
        });
        for (ended, _, output) in ran {
            let error = ended.unwrap_err().to_string();
            assert!(error.contains("security (--security)"), "{error}");
            assert!(output.is_none());
        }
    }
}

#[test]
fn learners_get_their_own_rows() {
    let rng = &mut StdRng::seed_from_u64(8);
    for (sizes, leader, pivot, learners) in [
        (&[30, 40, 50][..], 0, 2, &["all"][..]),
        (&[30, 40, 50], 1, 2, &["bank"]),
        (&[30, 40, 50], 1, 0, &["bank"]),
        (&[60, 0, 50], 0, 1, &["all"]),
        (&[97, 1, 89, 103], 3, 1, &["all"]),
        (&[40, 41, 42, 43, 44], 2, 4, &["shop", "mall"]),
    ] {
        let world = World::random(sizes, leader, pivot, rng).with_learners(learners);
        world.assert_rows(|_, _| {});
    }
    let world = World::random(&[3000, 2500, 2800, 2600], 0, 1, rng).with_learners(&["all"]);
    world.assert_rows(|_, job| job.planner.partitions = 2);
}

/// The leader gets its rows whose keys enough others have, with their names.
#[test]
fn holders_of_keys_are_named() {
    let rng = &mut StdRng::seed_from_u64(9);
    for (sizes, leader, least, partitions) in [
        (&[30, 40, 50][..], 0, 2, 1),
        (&[60, 0, 50, 70], 2, 2, 1),
        (&[40, 41, 42, 43, 44], 4, 3, 1),
        (&[2000, 2500, 1800, 2600], 1, 2, 2),
    ] {
        let mut world = World::random(sizes, leader, usize::from(leader == 0), rng);
        let parties = world.cast.parties.clone();
        world.cast = Cast::of_holders(parties, NAMES[leader], least).unwrap();
        let ran = world.run(|me, job| {
            job.planner.partitions = if me == 0 { partitions } else { 1 };
        });
        for (me, (ended, report, output)) in ran.iter().enumerate() {
            assert!(ended.is_ok(), "{}: {:?}", NAMES[me], ended.as_ref().err());
            assert_eq!(report.partitions, Some(partitions as u64));
            assert_eq!(output.is_some(), me == leader);
            assert_eq!(report.outcome.matches.is_some(), me == leader);
        }
        let held = |key: &u32| {
            let others = (0..sizes.len()).filter(|party| *party != leader);
            let names = others.filter(|party| world.keys[*party].contains(key));
            let names: Vec<_> = names.map(|party| NAMES[party]).collect();
            let line = || format!("{key},{},{}\n", 1000 + key, names.join(" "));
            (names.len() >= least).then(line)
        };
        let rows: String = world.keys[leader].iter().filter_map(held).collect();
        assert_eq!(ran[leader].2, Some(format!("k,v,holders\n{rows}")));
    }
}

/// Random keys in the place of keys that several rows have take part like others.
#[test]
fn random_keys_match_nothing() {
    let rng = &mut StdRng::seed_from_u64(10);
    for partitions in [1, 2] {
        let world = World::random(&[3000, 2500, 2800], 0, 1, rng).with_learners(&["bank"]);
        world.assert_rows(|me, job| {
            job.pad_keys = me != 1;
            job.planner.partitions = partitions;
        });
    }
}

/// All compare as many partitions as the party that wants the most.
#[test]
fn sets_are_compared_in_as_many_partitions_as_any_party_asks_for() {
    let rng = &mut StdRng::seed_from_u64(2);
    for asks in 0..3 {
        let world = World::random(&[3000, 2500, 2800], 0, 1, rng);
        world.assert_rows(|me, job| {
            job.planner.partitions = if me == asks { 2 } else { 1 };
        });
    }
}

#[test]
fn numbers_are_about_keys_that_all_have() {
    let rng = &mut StdRng::seed_from_u64(3);
    let world = World::random(&[200, 220, 180, 210], 1, 3, rng).with_learners(&["shop", "mall"]);
    let mut shared = world.shared();
    let rows = shared.clone();
    shared.sort_unstable();
    shared.dedup();
    let count = shared.len() as u64;
    assert!(count > 3, "{count}");
    let answer = |change: &(dyn Fn(usize, &mut Job) + Sync)| {
        let ran = world.run(|me, job| {
            job.output = None;
            change(me, job);
        });
        let result = ran[world.cast.leader].1.outcome.answer;
        for (me, (ended, report, _)) in ran.iter().enumerate() {
            assert!(ended.is_ok(), "{}: {:?}", NAMES[me], ended.as_ref().err());
            let expected = result.filter(|_| world.cast.learns(me));
            assert_eq!(report.outcome.answer, expected, "{}", NAMES[me]);
        }
        result.unwrap()
    };
    let counted = answer(&|_, job| job.offer.query = Query::COUNT);
    assert_eq!(counted, QueryResult::Count(count));
    let few = answer(&|me, job| {
        job.offer.query = Query::COUNT;
        // Of a helper.
        job.offer.minimum = if me == 0 { count + 1 } else { 0 };
    });
    assert_eq!(few, QueryResult::TooFew);
    let reached = answer(&|_, job| job.offer.query = Query::at_least(count));
    assert_eq!(reached, QueryResult::AtLeast(true));
    let sum = answer(&|me, job| {
        job.offer.query = Query::SUM;
        job.offer.brings_values = me == world.cast.leader;
        job.values = (me == world.cast.leader).then(|| "v".to_owned());
        job.planner.partitions = 2;
    });
    let expected: u64 = rows.iter().map(|key| u64::from(1000 + key)).sum();
    assert!(matches!(sum, QueryResult::Sum(sum) if sum.number == i128::from(expected)), "{sum}");
}

/// Leader and pivot have the tables; only keys of all parties count, in whole sets and in partitions.
#[test]
fn queries_are_about_keys_that_all_have() {
    let from = "FROM a JOIN b USING (key)";
    let rng = &mut StdRng::seed_from_u64(6);
    for (partitions, sizes) in [(1, &[90, 80, 100][..]), (2, &[2100, 2500, 2300, 2400])] {
        let mut world = World::random(sizes, 1, 0, rng);
        for keys in &mut world.keys {
            keys.sort_unstable();
            keys.dedup();
        }
        let shared = world.shared();
        let mut groups: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for key in &shared {
            let (count, sum) = groups.entry(key % 5).or_default();
            (*count, *sum) = (*count + 1, *sum + 1000 + key);
        }
        let least = groups.values().map(|(count, _)| *count).max().unwrap();
        let enough = groups.iter().filter(|(_, (count, _))| *count >= least);
        let rows = enough.map(|(group, (count, sum))| format!("g{group},{count},{sum},shown\n"));
        let by_group = format!("b.g,n,s,cell\n{}", rows.collect::<String>());
        let sum: u32 = shared.iter().map(|key| 1000 + key).sum();
        for (query, of_pivot, expected) in [
            (
                format!("SELECT count(*) AS n, sum(a.v) AS s {from}"),
                &[][..],
                format!("n,s\n{},{sum}\n", shared.len()),
            ),
            // The pivot has the table of circuit PSI.
            (
                format!(
                    "SELECT b.g, count(*) AS n, sum(a.v) AS s {from} GROUP BY b.g HAVING count(*) >= {least}"
                ),
                &["g:label<=8"],
                by_group,
            ),
        ] {
            let ran = world.run(|me, job| {
                job.planner.partitions = if me == 2 { partitions } else { 1 };
                job.offer.query = Query::select(query.parse().unwrap());
                let columns = match world.cast.place(me) {
                    Place::Leader => (Side::A, &["v:integer"][..]),
                    Place::Pivot => (Side::B, of_pivot),
                    Place::Helper => return,
                };
                let (side, columns) = columns;
                let declared = Declared::parse(columns, Keys::Unique).unwrap();
                job.offer.table = Some(QueryTable { side, declared: Some(declared) });
                let rows = world.keys[me].iter();
                let rows = rows.map(|key| format!("{key},{},g{}\n", 1000 + key, key % 5));
                let text = format!("k,v,g\n{}", rows.collect::<String>());
                job.input = Source::Memory { name: "t".into(), bytes: text.into() };
            });
            for (me, (ended, report, _)) in ran.iter().enumerate() {
                assert!(ended.is_ok(), "{}: {:?}", NAMES[me], ended.as_ref().err());
                assert_eq!(report.outcome.cells.is_some(), me == world.cast.leader);
                assert_eq!(report.partitions, Some(partitions as u64));
            }
            assert_eq!(ran[world.cast.leader].2.as_deref(), Some(&*expected), "{query}");
            let said = &ran[2].1.learned.as_ref().unwrap().peer;
            assert!(said.starts_with("club learned the number of shared keys"), "{said}");
        }
    }
}

/// A run that a party left in any step goes on, and gives what an undisturbed one gives.
#[test]
fn a_run_goes_on_after_a_party_left_it() {
    let [shop, club, bank] = [0, 1, 2];
    let rng = &mut StdRng::seed_from_u64(11);
    let secrets = &[(); 3].map(|()| JournalSecret::of(&Identity::generate().unwrap()));
    let scenarios = [
        (shop, "seed"),
        (bank, "choice"),
        (club, "partitions"),
        (club, "joint"),
        (shop, "finish"),
        (club, "finish"),
        (bank, "finish"),
    ];
    let worlds = scenarios.map(|(party, phase)| {
        let world = World::random(&[3000, 2500, 2800], bank, shop, rng).with_learners(&["club"]);
        World { stops: Some(Stop { party, phase }), ..world }
    });
    // Each waits for a party that stopped to close its connections.
    thread::scope(|scope| {
        for (mut world, (party, phase)) in worlds.into_iter().zip(scenarios) {
            scope.spawn(move || {
                let journals = tempfile::tempdir().unwrap();
                let keep = |me: usize, job: &mut Job| {
                    job.planner.partitions = 2;
                    let journal = journals.path().join(NAMES[me]);
                    job.resume = Some(Resume { journal, secret: secrets[me].clone() });
                };
                for (ended, _, output) in world.run(keep) {
                    assert!(ended.is_err() && output.is_none(), "{party} {phase}");
                }
                world.stops = None;
                world.assert_rows(|me, job| {
                    keep(me, job);
                    let interrupted = job.resume.as_ref().and_then(Resume::interrupted);
                    if phase == "finish" {
                        assert_eq!(interrupted, Some(Interrupted { done: 2, partitions: 2 }));
                    }
                });
                assert_eq!(fs::read_dir(&journals).unwrap().count(), 0);
            });
        }
    });
}

/// Nobody has a result if one party cannot take part, and all others know which party that was.
#[test]
fn a_party_that_cannot_go_on_ends_the_run_of_all() {
    let rng = &mut StdRng::seed_from_u64(4);
    let world = World::random(&[30, 30, 30], 0, 2, rng);
    for (faulty, name) in NAMES[..3].iter().enumerate() {
        let ran = world.run(|me, job| {
            if me == faulty {
                let bytes = b"k,v\n1,2\n\"".to_vec();
                job.input = Source::Memory { name: "t".into(), bytes };
            }
        });
        for (me, (ended, report, output)) in ran.into_iter().enumerate() {
            let error = ended.err().unwrap().to_string();
            assert!(output.is_none() && report.learned.is_none());
            if me == faulty {
                assert!(error.starts_with("t: "), "{error}");
            } else {
                let says = ["its own input", "has stopped or is lost"];
                let is_said = says.iter().any(|said| error.contains(said));
                assert!(error.contains(*name) && is_said, "{error}");
            }
        }
    }
}

#[test]
fn different_terms_end_the_run_of_all() {
    let rng = &mut StdRng::seed_from_u64(5);
    let world = World::random(&[5, 5, 5], 0, 2, rng);
    let ran = world.run(|me, job| {
        if me == 1 {
            job.offer.keys = vec![Normalize::LOWER];
        }
    });
    for (ended, ..) in ran {
        let error = ended.err().unwrap();
        assert_eq!(error.class(), Class::Terms, "{error}");
    }
    // Sizes are bounds of each party for all others.
    let ran = world.run(|me, job| {
        if me == 1 {
            job.offer.max_peer_rows = 1;
        }
    });
    for (ended, ..) in ran {
        let error = ended.err().unwrap().to_string();
        assert!(error.contains("some party accepts at most 1"), "{error}");
    }
}

#[test]
fn sentences_name_the_parties_and_the_coalition() {
    let world = World::new(vec![vec![1, 2, 3], vec![2, 3], vec![3, 4, 5, 6]], 0, 2);
    let ran = world.run(|_, _| {});
    let learned = |party: usize| ran[party].1.learned.clone().unwrap();
    assert_eq!(
        learned(0).me,
        "This side learned which of its keys every other party has too (1 of 3); how many keys every other party has \
         (club 2, bank 4); and nothing else."
    );
    assert_eq!(
        learned(0).peer,
        "Every other party learned how many keys each party has and nothing else."
    );
    assert_eq!(
        learned(1).me,
        "This side learned how many keys every other party has (shop 3, bank 4); and nothing else."
    );
    let world = world.with_learners(&["all"]);
    let ran = world.run(|_, _| {});
    assert_eq!(
        ran[1].1.learned.as_ref().map(|learned| [&*learned.me, &learned.peer]),
        Some([
            "This side learned which of its keys every other party has too (1 of 2); how many keys every other party has \
             (shop 3, bank 4); and nothing else.",
            "shop learned which of its keys every other party has too (1 of 3), how many keys each party has, and nothing \
             else. bank learned which of its keys every other party has too, how many keys each party has, and nothing else."
        ])
    );
    let assuming = ran[1].1.learned.clone().unwrap().assuming;
    assert!(assuming.ends_with("club and bank have the result from shop."), "{assuming}");
    let pooled =
        "If shop and bank pool what they received, they learn which of shop's keys club has.";
    assert!(assuming.contains(pooled), "{assuming}");
}
