//! A run, against a model of its rules that knows neither files nor signatures.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_agree::offer::Offer;
use vesica_core::{error::Class, parties::Learns};
use vesica_keyset::sketch::SketchSecret;
use vesica_net::Identity;
use vesica_normalize::{digest::Digest, normalize::Normalize};
use vesica_partner::{
    agreement::{Invitation, MeetingPlace as Address},
    entry::LedgerEvent,
    policy::Policy,
};

use super::*;
use crate::journal::JournalSecret;

const PARTITIONS: u64 = 3;
const PEER_KEYS: u64 = 12;

const LIMITS: Limits =
    Limits { peer_keys: PEER_KEYS, max_peer_keys: 22, of_partition: 5, is_malicious: false };

const MAX_RUNS: u64 = 4;
const MAX_RESULTS: u64 = 30;

/// One side with an agreement, and with room for several concurrent runs, each with its own journal.
struct Side {
    folder: tempfile::TempDir,
    me: Arc<Identity>,
    partnership: Partnership,
}

impl Side {
    fn new(policy: Policy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [me, peer] = [(); 2].map(|()| Arc::new(Identity::generate().unwrap()));
        let offer = |learns| Offer::new(vec![Normalize::EMAIL], learns);
        let place = Address::Here("localhost:7788".to_owned());
        let invited = Invitation::new(&me, "acme", &offer(Learns::Peer), place, policy).unwrap();
        let reply = invited.accept(&peer, &offer(Learns::Me), None).unwrap();
        let agreement = reply.confirm(&me, &invited).unwrap();
        let ledger = folder.path().join("vesica.ledger");
        let partnership =
            Partnership::new(me.clone(), agreement, ledger, Policy::default()).unwrap();
        Self { folder, me, partnership }
    }

    fn resume(&self, slot: usize) -> Resume {
        let journal = self.folder.path().join(format!("{slot}.run"));
        Resume { journal, secret: JournalSecret::of(&self.me) }
    }

    /// Begins a session, or resumes from the journal, when the other side reports this many partitions as done.
    fn begin(&self, slot: usize, their_done: u64, limits: Limits, seed: u8) -> Result<Standing> {
        let resume = self.resume(slot);
        self.partnership.check(Journal::line(&resume)?)?;
        let standing = Standing::new(Some(self.partnership.clone()), Some(&resume))?;
        let run = Run {
            program: "1".to_owned(),
            terms: "t".to_owned(),
            input: None,
            rows: PEER_KEYS,
            keys: PEER_KEYS,
        };
        let sketch = Sketch::of(&SketchSecret::new([7; 32]), &[Digest::of(b"key")]);
        standing.describe(run, Some(sketch));
        let Place { begun, done, peer_done } = standing.place()?;
        if their_done < peer_done {
            return Err(Error::Terms(Vec::new()));
        }
        let found = begun.flatten();
        standing.admit(PEER_KEYS, OfOthers::One(PEER_KEYS), found.as_ref())?;
        let (method, seed) = ("rr22".to_owned(), [seed; 32]);
        let new = Begun {
            peer_keys: OfOthers::One(PEER_KEYS),
            method,
            partitions: PARTITIONS,
            seed,
            line: None,
        };
        let done = found.as_ref().map_or(0, |_| done.min(their_done));
        standing.begin(found.unwrap_or(new), done, limits, |_| Ok(()))?;
        Ok(standing)
    }
}

/// A run as the model sees it.
#[derive(Debug, Clone, Default)]
struct Modelled {
    begun: BTreeMap<u32, u64>,
    revealed: BTreeMap<u32, u64>,
    done: u64,
    peer_done: u64,
    result: u64,
}

/// The rules, as the documentation states them.
#[derive(Debug, Default)]
struct Model {
    is_malicious: bool,
    /// All runs that ever began.
    runs: Vec<Modelled>,
    /// The run of each journal.
    of_slot: [Option<usize>; 2],
}

impl Model {
    fn may_begin(&self, slot: usize, their_done: u64) -> bool {
        let mine = self.of_slot[slot];
        let others = self.runs.len() - usize::from(mine.is_some());
        let results: u64 = self.others(mine).map(|run| run.result).sum();
        (others as u64) < MAX_RUNS
            && results < MAX_RESULTS
            && mine.is_none_or(|run| their_done >= self.runs[run].peer_done)
    }

    fn others(&self, but: Option<usize>) -> impl Iterator<Item = &Modelled> {
        let all = self.runs.iter().enumerate();
        all.filter(move |(run, _)| Some(*run) != but).map(|(_, run)| run)
    }

    fn begin(&mut self, slot: usize, their_done: u64) {
        let run = *self.of_slot[slot].get_or_insert_with(|| {
            self.runs.push(Modelled::default());
            self.runs.len() - 1
        });
        let run = &mut self.runs[run];
        run.done = run.done.min(their_done);
    }

    fn may_compare(&self, slot: usize, partition: u32) -> bool {
        let run = &self.runs[self.of_slot[slot].unwrap()];
        let was_revealed = run.revealed.contains_key(&partition);
        run.begun.get(&partition).is_none_or(|begun| *begun < DEFAULT_ATTEMPTS)
            && !(self.is_malicious && was_revealed)
    }

    fn may_reveal(&self, slot: usize, partition: u32) -> bool {
        let run = &self.runs[self.of_slot[slot].unwrap()];
        let again: u64 = run.revealed.values().map(|times| times - 1).sum();
        match run.revealed.get(&partition) {
            None => true,
            Some(_) if self.is_malicious => false,
            Some(_) => PEER_KEYS + (again + 1) * LIMITS.of_partition <= LIMITS.max_peer_keys,
        }
    }

    fn may_show(&self, slot: usize, matches: u64) -> bool {
        let results: u64 = self.others(self.of_slot[slot]).map(|run| run.result).sum();
        results + matches <= MAX_RESULTS
    }
}

/// Random sequences of runs, kills, resumptions with other claims, refusals, and two runs at once.
#[test]
fn a_run_does_what_the_model_allows_and_nothing_else() {
    for sequence in 0..vesica_testkit::assurance::trials(12, 300) as u64 {
        let mut rng = StdRng::seed_from_u64(sequence);
        let policy = Policy {
            max_runs: Some(MAX_RUNS),
            max_result_total: Some(MAX_RESULTS),
            ..Policy::default()
        };
        let side = Side::new(policy);
        let is_malicious = sequence % 3 == 2;
        let limits = Limits { is_malicious, ..LIMITS };
        let mut model = Model { is_malicious, ..Model::default() };
        let mut live: [Option<Standing>; 2] = [None, None];
        for step in 0..60u8 {
            let slot = rng.random_range(0..2);
            let Some(standing) = live[slot].clone() else {
                let theirs = rng.random_range(0..=PARTITIONS);
                let ended = side.begin(slot, theirs, limits, step);
                assert_eq!(
                    ended.is_ok(),
                    model.may_begin(slot, theirs),
                    "{sequence} {step} {model:?}"
                );
                if let Ok(standing) = ended {
                    model.begin(slot, theirs);
                    live[slot] = Some(standing);
                }
                continue;
            };
            let run = model.of_slot[slot].unwrap();
            let partition = rng.random_range(0..PARTITIONS as u32);
            match rng.random_range(0..10) {
                0 | 1 => live[slot] = None,
                2 => {
                    // The run ends, or its owner removes the journal.
                    standing.complete();
                    (live[slot], model.of_slot[slot]) = (None, None);
                }
                3 | 4 => {
                    let allowed = model.may_compare(slot, partition);
                    assert_eq!(standing.begin_partition(partition, None).is_ok(), allowed);
                    if allowed {
                        *model.runs[run].begun.entry(partition).or_default() += 1;
                    }
                }
                5 | 6 => {
                    let allowed = model.may_reveal(slot, partition);
                    let ended = standing.reveal_partition(partition);
                    assert_eq!(ended.is_ok(), allowed, "{sequence} {step} {model:?}");
                    if allowed {
                        *model.runs[run].revealed.entry(partition).or_default() += 1;
                    }
                }
                7 if model.runs[run].done < PARTITIONS => {
                    standing.add(b"piece").unwrap();
                    model.runs[run].done += 1;
                }
                8 => {
                    let theirs = rng.random_range(0..=PARTITIONS);
                    standing.confirm(theirs, true).unwrap();
                    let known = &mut model.runs[run].peer_done;
                    *known = theirs.max(*known);
                }
                _ => {
                    let matches = rng.random_range(1..20);
                    let allowed = model.may_show(slot, matches);
                    assert_eq!(standing.reveal(Some(matches)).is_ok(), allowed);
                    if allowed {
                        let known = &mut model.runs[run].result;
                        *known = matches.max(*known);
                    }
                }
            }
            assert_eq!(
                standing.done(),
                if model.of_slot[slot] == Some(run) { model.runs[run].done } else { 0 }
            );
        }
        compare(&side, &model);
    }
}

/// Asserts that the ledger has exactly the runs and results of the model, and that the model's rules hold.
fn compare(side: &Side, model: &Model) {
    let (entries, _) = side.partnership.ledger().read(&side.me.certificate()).unwrap();
    let mut results: BTreeMap<u64, u64> = BTreeMap::new();
    for entry in &entries {
        match entry.event {
            LedgerEvent::Began { .. } => drop(results.insert(entry.number, 0)),
            LedgerEvent::Revealed { run, matches } => {
                let known = results.get_mut(&run).unwrap();
                *known = matches.max(*known);
            }
            LedgerEvent::WentOn { run, .. } => assert!(results.contains_key(&run)),
            ref event => panic!("{event:?}"),
        }
    }
    let expected: Vec<_> = model.runs.iter().map(|run| run.result).collect();
    assert_eq!(results.into_values().collect::<Vec<_>>(), expected);
    assert!(model.runs.len() as u64 <= MAX_RUNS && expected.iter().sum::<u64>() <= MAX_RESULTS);
    for run in &model.runs {
        let again: u64 = run.revealed.values().map(|times| times - 1).sum();
        assert!(PEER_KEYS + again * LIMITS.of_partition <= LIMITS.max_peer_keys);
        assert!(run.begun.values().all(|begun| *begun <= DEFAULT_ATTEMPTS));
        assert!(!model.is_malicious || again == 0);
    }
}

/// A run whose line takes the last place that the rules leave can resume.
#[test]
fn the_last_permitted_run_goes_on() {
    let side = Side::new(Policy { max_runs: Some(1), ..Policy::default() });
    drop(side.begin(0, 0, LIMITS, 1).unwrap());
    drop(side.begin(0, 0, LIMITS, 2).unwrap());
    let refused = side.begin(1, 0, LIMITS, 3).err().unwrap();
    assert_eq!(refused.class(), Class::Policy);
    let (entries, _) = side.partnership.ledger().read(&side.me.certificate()).unwrap();
    let words: Vec<_> = entries.iter().map(|entry| entry.event.word()).collect();
    assert_eq!(words, ["began", "went on"]);
}

/// A ledger that was replaced does not have the run's line, so the run counts again.
#[test]
fn a_run_that_the_ledger_does_not_know_counts_again() {
    let side = Side::new(Policy::default());
    drop(side.begin(0, 0, LIMITS, 1).unwrap());
    std::fs::remove_file(side.partnership.ledger().path()).unwrap();
    drop(side.begin(0, 0, LIMITS, 2).unwrap());
    let (entries, _) = side.partnership.ledger().read(&side.me.certificate()).unwrap();
    assert!(matches!(entries[..], [ref entry] if entry.event.word() == "began"));
}

#[test]
fn a_repeated_end_has_the_same_noise_and_another_run_has_not() {
    let side = Side::new(Policy::default());
    let drawn = |standing: &Standing, seed: u8| -> [u64; 4] {
        let mut rng = StdRng::seed_from_u64(rand::random());
        std::array::from_fn({
            let mut noise = standing.noise(&Seed::of_run([seed; 32]), &mut rng);
            move |_| noise.random()
        })
    };
    let first = drawn(&side.begin(0, 0, LIMITS, 1).unwrap(), 1);
    let again = side.begin(0, 0, LIMITS, 1).unwrap();
    assert_eq!(drawn(&again, 1), first);
    assert_ne!(drawn(&again, 2), first);
    // A run without a journal is never repeated.
    let single = Standing::new(None, None).unwrap();
    assert_ne!(drawn(&single, 1), drawn(&single, 1));
}
