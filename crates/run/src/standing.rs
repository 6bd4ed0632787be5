//! The standing of a run: its limits, over all of its sessions together.
//!
//! Every step that compares, reveals or resumes is checked here first. An allowed step is on the disk before it takes
//! place: in the journal, and under an agreement in the ledger. So a side that returns with other keys gets no more
//! than from the number of keys that the terms allow in one run:
//!
//! - No side goes back behind the partitions that it has reported as done (`Standing::confirm`).
//! - The comparison of a partition begins only a few times (`Standing::begin_partition`).
//! - Keys whose result is sent again count against the other side's maximum number of keys; in a protocol against
//!   malicious parties no result is sent twice ([`Standing::reveal_partition`]).
//! - A result is checked against the rules, and recorded, before it is revealed (`Standing::reveal`).
//! - A repeated end has the same noise (`Standing::noise`).

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_agree::{
    disclosed::MatchRules,
    joint::{Cast, JointTerms},
    pledge::Pledge,
    resume::Begun,
    terms::Terms,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    of_others::OfOthers,
    parties::Parties,
    refusal::Refusal,
    words::{counted, grouped},
};
use vesica_keyset::{
    linked::TokenSecret,
    rule_findings::{FalseMatches, RuleFindings},
    seed::Seed,
    sketch::Sketch,
};
use vesica_net::{Channel, Gate, Mesh};
use vesica_partner::{
    account::{Account, Admission, LedgerLine},
    partnership::Partnership,
    policy::DEFAULT_ATTEMPTS,
    record::AnyRecord,
};
use zeroize::Zeroizing;

use crate::{
    journal::{Journal, Resume, Run},
    permits::Committed,
    report::Report,
};

/// The message with the number of partitions that a side has done.
pub(super) const DONE: &str = "vesica/done";

/// One run of this side. Clones are the same run.
#[derive(Clone)]
pub struct Standing(Arc<Mutex<RunState>>);

struct RunState {
    account: Option<Account>,
    journal: Option<Journal>,
    /// The identity of the run and the sketch of its set, once the table is read.
    run: Option<(Run, Option<Sketch>)>,
    /// The numbers by rule, if rules make the keys.
    rules: Vec<RuleFindings>,
    /// The line of the ledger where it began.
    line: Option<u64>,
    limits: Limits,
}

/// The bounds on the comparisons of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Distinct keys of the other side.
    pub(crate) peer_keys: u64,
    /// The maximum number of its keys.
    pub(crate) max_peer_keys: u64,
    /// The number of its items in a partition.
    pub(crate) of_partition: u64,
    /// Whether the protocol is secure against malicious parties.
    pub(crate) is_malicious: bool,
}

/// The progress of a run when a session begins.
pub(crate) struct Place {
    /// The facts agreed on when it began: `None` without a journal, and `Some(None)` for a run that begins.
    pub(crate) begun: Option<Option<Begun>>,
    /// Partitions that this side has done.
    pub(crate) done: u64,
    /// The number of partitions that the other side reports as done.
    pub(crate) peer_done: u64,
}

impl RunState {
    fn false_matches(&self, keys: u64, peer_keys: u64) -> Option<FalseMatches> {
        let rows = self.run.as_ref().map(|(run, _)| run.rows)?;
        let predict = || FalseMatches::predict(&self.rules, rows, keys, peer_keys);
        (!self.rules.is_empty()).then(predict)
    }
}

impl Standing {
    /// Creates the standing of a run under this agreement, if any, with this journal, if it keeps one.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub fn new(partnership: Option<Partnership>, resume: Option<&Resume>) -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(RunState {
            account: partnership.map(Account::new),
            journal: resume.map(Journal::open).transpose()?,
            run: None,
            rules: Vec::new(),
            line: None,
            limits: Limits::default(),
        }))))
    }

    fn state(&self) -> MutexGuard<'_, RunState> {
        // After a panic the run fails.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a connection to anyone but the other side, before anything is sent.
    ///
    /// # Errors
    /// As [`Partnership::require_peer`].
    pub(crate) fn require_peer(&self, parties: &Parties, channel: &Channel) -> Result<()> {
        let peer = channel.peer();
        if peer.is_some_and(|peer| peer.to_string() != parties.peer) {
            let message = "the connection leads to a party that does not take part in this run";
            return Err(Error::usage(Misuse::Agreement, message));
        }
        match &self.state().account {
            Some(account) => account.partnership().require_peer(peer),
            None => Ok(()),
        }
    }

    /// Returns the offer that the other side has signed.
    pub(crate) fn pledge(&self, parties: &Parties) -> Result<Option<Pledge>> {
        let state = self.state();
        let account = state.account.as_ref();
        account.map(|account| account.partnership().pledge(parties.role.other())).transpose()
    }

    /// Exchanges the signatures under the agreement, and returns its hash; `None` without an agreement.
    ///
    /// # Errors
    /// As [`Account::exchange_signatures`].
    pub(crate) fn exchange_signatures(&self, channel: &mut Channel) -> Result<Option<String>> {
        let mut state = self.state();
        state.account.as_mut().map(|account| account.exchange_signatures(channel)).transpose()
    }

    /// Returns the offers that several parties have signed, in the order of their numbers; `None` without an
    /// agreement.
    pub(crate) fn pledges(&self) -> Option<Vec<Pledge>> {
        self.state().account.as_ref().map(|account| account.partnership().pledges())
    }

    /// Exchanges the heads of all ledgers among several parties, and returns the agreement's hash; `None` without an
    /// agreement.
    ///
    /// # Errors
    /// As [`Account::exchange_ledgers`].
    pub(crate) fn exchange_ledgers(
        &self,
        cast: &Cast,
        mesh: &mut Mesh<'_>,
    ) -> Result<Option<String>> {
        let mut state = self.state();
        let account = state.account.as_mut();
        account.map(|account| account.exchange_ledgers(mesh, |party| cast.name(party))).transpose()
    }

    /// Records the run's identity, which may not change between sessions.
    pub fn describe(&self, run: Run, sketch: Option<Sketch>) {
        self.state().run = Some((run, sketch));
    }

    /// Records the numbers by rule, from which false matches are predicted.
    pub(crate) fn expect(&self, rules: &[RuleFindings]) {
        self.state().rules = rules.to_vec();
    }

    /// Predicts the false matches, if rules make the keys, for these numbers of keys.
    pub(crate) fn false_matches(&self, keys: u64, peer_keys: u64) -> Option<FalseMatches> {
        self.state().false_matches(keys, peer_keys)
    }

    /// Returns whether this side keeps a journal.
    pub(crate) fn is_kept(&self) -> bool {
        self.state().journal.is_some()
    }

    /// Returns the progress of the run.
    ///
    /// # Errors
    /// [`Error::Journal`] if the journal belongs to another run, or the run was attempted too often.
    pub(crate) fn place(&self) -> Result<Place> {
        let RunState { journal, run, .. } = &*self.state();
        let (Some(journal), Some((run, _))) = (journal, run) else {
            return Ok(Place { begun: None, done: 0, peer_done: 0 });
        };
        let begun = Some(journal.begun(run)?);
        Ok(Place { begun, done: journal.done(), peer_done: journal.peer_done() })
    }

    /// Records that the run begins or resumes, if the rules allow it, before any data about the keys leaves this side.
    /// Returns a warning for this side.
    ///
    /// # Errors
    /// As [`Account::admit`].
    pub(crate) fn admit(
        &self,
        keys: u64,
        of_others: OfOthers<u64>,
        begun: Option<&Begun>,
    ) -> Result<Option<String>> {
        let state = &mut *self.state();
        // Rules are for two parties.
        let false_matches = of_others.only().and_then(|peer| state.false_matches(keys, *peer));
        let RunState { account, journal, run, line, .. } = state;
        let Some(account) = account else { return Ok(None) };
        let sketch = run.as_mut().and_then(|(_, sketch)| sketch.take());
        let sketch = sketch.ok_or(Error::bug("a run under an agreement has a sketch"))?;
        let session = journal.as_ref().map_or(1, |journal| u64::from(journal.attempts()) + 1);
        let goes_on = begun.and_then(|begun| begun.line).map(|line| (line, session));
        let admission = Admission { keys, of_others, false_matches, sketch, goes_on };
        let (number, warning) = account.admit(admission)?;
        *line = Some(number);
        Ok(warning)
    }

    /// Returns the minimum number of shared keys that both sides check before they compare rows.
    pub(crate) fn threshold(&self) -> Option<u64> {
        self.state().account.as_ref().and_then(Account::threshold)
    }

    /// Returns whether a rule limits the shared keys that a result reveals.
    pub(crate) fn limits_results(&self) -> bool {
        let state = self.state();
        state.account.as_ref().is_some_and(|account| account.partnership().limits_results())
    }

    /// Begins the journal, or resumes it after `done` partitions and passes each of their pieces to `show`.
    ///
    /// # Errors
    /// [`Error::Journal`], and what `show` returns.
    pub(crate) fn begin(
        &self,
        begun: Begun,
        done: u64,
        limits: Limits,
        show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let RunState { journal, run, line, limits: of_run, .. } = &mut *self.state();
        *of_run = limits;
        let (Some(journal), Some((run, _))) = (journal, run) else { return Ok(()) };
        journal.begin(run.clone(), Begun { line: *line, ..begun }, done, show)
    }

    /// Records that the comparison of a partition begins, if it may. Tasks elsewhere have committed to its keys.
    ///
    /// # Errors
    /// [`Error::TooManyAttempts`], [`Error::AlreadyRevealed`] and [`Error::Journal`].
    pub(crate) fn begin_partition(
        &self,
        partition: u32,
        commitments: Option<[[u8; 32]; 2]>,
    ) -> Result<()> {
        let RunState { account, journal, limits, .. } = &mut *self.state();
        let Some(journal) = journal else { return Ok(()) };
        let tried = journal.tried(partition);
        let of_agreement = account.as_ref().map(|account| account.partnership().max_attempts());
        let attempts = of_agreement.unwrap_or(DEFAULT_ATTEMPTS);
        if tried.revealed > 0 && limits.is_malicious {
            return Err(Error::AlreadyRevealed { partition });
        }
        if tried.begun >= attempts {
            return Err(Error::TooManyAttempts { partition, attempts });
        }
        journal.begins(partition, commitments)
    }

    /// Records that the result of a partition is about to be sent to the other side, if it may be.
    ///
    /// # Errors
    /// [`Error::Policy`] if this partition may have been compared with other keys before and they would be too many in
    /// total,
    /// [`Error::AlreadyRevealed`] and [`Error::Journal`].
    pub fn reveal_partition(&self, partition: u32) -> Result<()> {
        let RunState { journal, limits, .. } = &mut *self.state();
        let Some(journal) = journal else { return Ok(()) };
        if journal.tried(partition).revealed > 0 {
            if limits.is_malicious {
                return Err(Error::AlreadyRevealed { partition });
            }
            let again = (journal.repeated() + 1).saturating_mul(limits.of_partition);
            let keys = limits.peer_keys.saturating_add(again);
            if keys > limits.max_peer_keys {
                return Err(too_many_keys(limits.max_peer_keys, again).into());
            }
        }
        journal.reveals(partition)
    }

    /// Returns a gate that calls [`Standing::reveal_partition`], for a channel over which a partition is compared.
    pub(crate) fn gate(&self, partition: u32) -> Gate {
        let standing = self.clone();
        Box::new(move || standing.reveal_partition(partition).map_err(io::Error::other))
    }

    /// Records the result of the next partition.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn add(&self, piece: &[u8]) -> Result<()> {
        self.state().journal.as_mut().map_or(Ok(()), |journal| journal.add(piece))
    }

    /// Returns the number of partitions on the disk.
    pub(crate) fn done(&self) -> u64 {
        self.state().journal.as_ref().map_or(0, Journal::done)
    }

    /// Exchanges the numbers of partitions on the disk, if both sides keep journals. Neither side goes back behind
    /// them.
    ///
    /// # Errors
    /// [`Error::Journal`], and every error of an exchange.
    pub(crate) fn exchange_done(&self, at_once: bool, channel: &mut Channel) -> Result<u64> {
        if !self.is_kept() {
            return Ok(0);
        }
        let mut theirs = [0; 8];
        channel.exchange(DONE, &self.done().to_le_bytes(), &mut theirs)?;
        let theirs = u64::from_le_bytes(theirs);
        self.confirm(theirs, at_once)?;
        Ok(theirs)
    }

    /// Exchanges the numbers of partitions on the disk with all of several parties, if they keep journals. Returns the
    /// number of each other party, in their order.
    ///
    /// # Errors
    /// As [`Standing::exchange_done`].
    pub(crate) fn exchange_done_jointly(
        &self,
        at_once: bool,
        mesh: &mut Mesh<'_>,
    ) -> Result<Vec<u64>> {
        if !self.is_kept() {
            return Ok(Vec::new());
        }
        let mut done = mesh.all(DONE, self.done().to_le_bytes())?;
        done.remove(mesh.me());
        let done: Vec<_> = done.into_iter().map(u64::from_le_bytes).collect();
        // The run resumes after the partitions that all have done, so it is enough to know the least.
        self.confirm(done.iter().copied().min().unwrap_or_default(), at_once)?;
        Ok(done)
    }

    /// Records the number of partitions that the other side reports as done; on the disk at once, or with the next
    /// partition that begins.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn confirm(&self, peer_done: u64, at_once: bool) -> Result<()> {
        let mut state = self.state();
        state.journal.as_mut().map_or(Ok(()), |journal| journal.confirm(peer_done, at_once))
    }

    /// Returns the secret under which this side commits to partitions, and both sides' commitments of earlier sessions.
    ///
    /// # Errors
    /// [`Error::Usage`] without a journal: a side that forgets commitments could be shown one set after another.
    pub(crate) fn commitments(&self, seed: &Seed) -> Result<(Zeroizing<[u8; 32]>, Committed)> {
        let message = "the other side compares partitions by tasks on other machines: keep a journal, with --resume";
        let state = self.state();
        let journal =
            state.journal.as_ref().ok_or_else(|| Error::usage(Misuse::Cluster, message))?;
        let secret = journal.secret_for("vesica 1 commitments to partitions", seed.as_bytes());
        Ok((secret, journal.committed().clone()))
    }

    /// Returns the randomness of this side's part of a number's noise: the same in each session of a run with a
    /// journal.
    pub(crate) fn noise(&self, seed: &Seed, rng: &mut dyn CryptoRng) -> StdRng {
        StdRng::from_seed(*self.secret("vesica 1 noise of a run", seed, rng))
    }

    /// Returns the secret of the tokens of this side's rows, the same in each session of a run with a journal; `None`
    /// without a journal.
    pub(crate) fn token_secret(&self) -> Option<TokenSecret> {
        self.state().journal.as_ref().map(Journal::token_secret)
    }

    /// Returns a secret of this side for a purpose, the same in each session of a run with a journal.
    pub(crate) fn secret(
        &self,
        purpose: &'static str,
        seed: &Seed,
        rng: &mut dyn CryptoRng,
    ) -> Zeroizing<[u8; 32]> {
        match &self.state().journal {
            Some(journal) => journal.secret_for(purpose, seed.as_bytes()),
            None => {
                let mut secret = Zeroizing::new([0; 32]);
                rng.fill_bytes(&mut *secret);
                secret
            }
        }
    }

    /// Records that a result is about to be revealed to a side that learns it, if the rules allow it.
    ///
    /// # Errors
    /// As [`Account::reveal`].
    pub(crate) fn reveal(&self, shared: Option<u64>) -> Result<()> {
        self.state().account.as_mut().map_or(Ok(()), |account| account.reveal(shared))
    }

    /// Returns the number of sessions, this one included, if a journal counts them.
    pub fn sessions(&self) -> Option<u32> {
        self.state().journal.as_ref().map(Journal::attempts)
    }

    /// Returns whether the run is under an agreement, so that a record is signed.
    pub(crate) fn is_recorded(&self) -> bool {
        self.state().account.is_some()
    }

    /// Signs the record together with the other side, if the run is under an agreement. `attempts` is the number of
    /// times that partitions were begun, if tasks compared them.
    ///
    /// # Errors
    /// As [`Account::sign`].
    pub(crate) fn sign(
        &self,
        attempts: Option<u64>,
        report: &Report,
        terms: &Terms,
        channel: &mut Channel,
    ) -> Result<Option<(AnyRecord, LedgerLine)>> {
        let mut state = self.state();
        let Some(account) = &mut state.account else { return Ok(None) };
        account.compared_in(attempts);
        let rules = account.partnership().agreement().policy().match_rules();
        let end = report.end(terms, rules)?;
        account.sign(end, channel).map(Some)
    }

    /// Signs the record together with all other parties, if the run is under an agreement. `seed` is the one that they
    /// drew together.
    ///
    /// # Errors
    /// As [`Account::sign_jointly`].
    pub(crate) fn sign_jointly(
        &self,
        report: &Report,
        terms: &JointTerms,
        seed: &[u8; 32],
        mesh: &mut Mesh<'_>,
    ) -> Result<Option<(AnyRecord, LedgerLine)>> {
        let state = self.state();
        let Some(account) = &state.account else { return Ok(None) };
        let rules = account.partnership().agreement().policy().match_rules();
        account.sign_jointly(report.joint_end(terms, rules, seed)?, mesh).map(Some)
    }

    /// Returns the rules of the agreement and of this side that decide which matches are shown.
    pub(crate) fn match_rules(&self) -> MatchRules {
        let state = self.state();
        let account = state.account.as_ref();
        account.map_or_else(MatchRules::default, |account| account.partnership().match_rules())
    }

    /// Writes the record to its file, if it has one.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn keep(&self, record: &AnyRecord) -> Result<()> {
        self.state().account.as_ref().map_or(Ok(()), |account| account.keep(record))
    }

    /// Records that the run failed.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn failed(&self, error: &Error) -> Result<()> {
        self.state().account.as_ref().map_or(Ok(()), |account| account.failed(error))
    }

    /// Removes the journal of a run that is complete on both sides.
    pub(crate) fn complete(&self) {
        if let Some(journal) = self.state().journal.take() {
            journal.remove();
        }
    }
}

/// Refuses keys that were compared again, since they might have been other keys.
fn too_many_keys(most: u64, again: u64) -> Refusal {
    let reason = format!(
        "the terms allow the other side {} in a run, and after interruptions up to {} more were compared again; begin a new run \
         without the journals, or agree on a larger bound",
        counted(most, "key"),
        grouped(again)
    );
    Refusal::new("max-peer-rows", reason)
}

#[cfg(test)]
mod tests;
