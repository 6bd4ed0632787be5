//! The runs in a ledger, added up, so that rules need not read every line again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vesica_core::{moment::Moment, of_others::OfOthers, refusal::Refusal};
use vesica_keyset::sketch::Sketch;
use vesica_task::noise::Epsilon;

use super::{
    entry::{Entry, KeptSet, LedgerEvent, LedgerHead},
    policy::Past,
};

/// The time within which a call that fails before a run begins is not recorded again, in seconds.
const REPEATED: i64 = 24 * 60 * 60;

/// The runs of a ledger, by the hash of their agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct History(BTreeMap<String, Runs>);

/// The runs under one agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runs {
    /// The time at which each began, by the number of its line.
    begun: BTreeMap<u64, Moment>,
    /// This side's different sets, by the first line with each.
    sets: BTreeMap<u64, Sketch>,
    /// The largest number of shared keys that each revealed, as far as this side knows.
    revealed: BTreeMap<u64, u64>,
    /// The longest ledger that each other party has shown; none before the first.
    peer_ledger: Vec<LedgerHead>,
    /// Whether this side revoked the agreement.
    #[serde(default)]
    revoked: bool,
    /// The newest line, if it describes a call that failed before a run began.
    last_call: Option<(String, Moment)>,
}

impl History {
    /// Adds a line.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let runs = self.0.entry(entry.agreement.clone()).or_default();
        runs.last_call = entry.event.call().map(|call| (call, entry.time));
        match &entry.event {
            LedgerEvent::Began { sketch, peer_ledger, .. } => {
                runs.begun.insert(entry.number, entry.time);
                if let KeptSet::Sketch(sketch) = sketch {
                    runs.sets.insert(entry.number, (**sketch).clone());
                }
                runs.see(peer_ledger.as_ref());
            }
            LedgerEvent::Revealed { run, matches } => runs.reveal(*run, *matches),
            LedgerEvent::Succeeded { run, matches, peer_ledger, .. } => {
                runs.reveal(*run, matches.unwrap_or_default());
                runs.see(peer_ledger.as_ref());
            }
            LedgerEvent::Revoked {} => runs.revoked = true,
            LedgerEvent::WentOn { .. }
            | LedgerEvent::Refused { .. }
            | LedgerEvent::Failed { .. } => {}
        }
    }

    /// Returns the runs under the agreement with this hash.
    pub(crate) fn of(&self, agreement: &str) -> Runs {
        self.0.get(agreement).cloned().unwrap_or_default()
    }
}

impl Runs {
    /// Returns whether a run began at this line.
    pub(crate) fn has(&self, run: u64) -> bool {
        self.begun.contains_key(&run)
    }

    /// Returns the rules' view of all runs except the one that resumes, each with this ε.
    pub(crate) fn past(&self, goes_on: Option<u64>, epsilon: Option<Epsilon>) -> Past {
        let others = |run: &u64| Some(*run) != goes_on;
        let begun = self.begun.iter().filter(|(run, _)| others(run));
        let revealed = self.revealed.iter().filter(|(run, _)| others(run));
        Past {
            begun: begun.map(|(_, time)| *time).collect(),
            sketches: self.sets.values().cloned().collect(),
            revealed: revealed.fold(0, |sum, (_, keys)| sum.saturating_add(*keys)),
            epsilon,
        }
    }

    /// Returns a set in the form that a line keeps: the number of an earlier line if that has the same set.
    pub(crate) fn keep(&self, sketch: Sketch) -> KeptSet {
        let same = self.sets.iter().find(|(_, kept)| **kept == sketch);
        match same {
            Some((line, _)) => KeptSet::Line(*line),
            None => KeptSet::Sketch(Box::new(sketch)),
        }
    }

    /// Refuses runs under an agreement that this side revoked.
    pub(crate) fn require_valid(&self) -> Result<(), Refusal> {
        match self.revoked {
            false => Ok(()),
            true => {
                let reason = "this side revoked the agreement".to_owned();
                Err(Refusal::new("revoked", reason))
            }
        }
    }

    /// Returns the longest ledger that the other party of this place has shown.
    pub(crate) fn peer_ledger(&self, place: usize) -> LedgerHead {
        self.peer_ledger.get(place).cloned().unwrap_or_default()
    }

    /// Returns whether the newest line records the same failed call, within a day.
    pub(crate) fn repeats(&self, event: &LedgerEvent, now: Moment) -> bool {
        let Some((last, time)) = &self.last_call else { return false };
        event.call().as_ref() == Some(last) && *time > now.minus(REPEATED)
    }

    fn reveal(&mut self, run: u64, matches: u64) {
        let most = self.revealed.entry(run).or_default();
        *most = matches.max(*most);
    }

    fn see(&mut self, heads: Option<&OfOthers<LedgerHead>>) {
        let heads = heads.map(OfOthers::as_slice).unwrap_or_default();
        self.peer_ledger.resize(self.peer_ledger.len().max(heads.len()), LedgerHead::default());
        for (longest, head) in self.peer_ledger.iter_mut().zip(heads) {
            if head.lines > longest.lines {
                longest.clone_from(head);
            }
        }
    }
}
