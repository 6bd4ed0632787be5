//! The ledger's account of a run under an agreement. Rules are checked and lines added in one step, under the ledger's
//! lock, before the events that they describe.

use std::sync::Arc;

use serde::Serialize;
use vesica_agree::{joint::JointTerms, terms::Terms};
use vesica_core::{
    error::{Error, Result},
    moment::Moment,
    of_others::OfOthers,
    parties::Role,
    refusal::Refusal,
    words::counted,
};
use vesica_keyset::{rule_findings::FalseMatches, sketch::Sketch};
use vesica_net::{Channel, Mesh};
use vesica_table::output::{Access, Output};
use vesica_task::disclosure::Disclosure;

use super::{
    any_agreement::AnyAgreement,
    entry::{LedgerEvent, LedgerHead},
    history::Runs,
    partnership::Partnership,
    policy::Intent,
    record::{self, AnyRecord, Facts, Statement, joint::JointFacts},
};

const AGREEMENT: &str = "vesica/agreement";
const LEDGER: &str = "vesica/ledger";

/// The longest signature, in bytes; one of Ed25519 has 64.
const MAX_SIGNATURE: usize = 64;

/// A run under an agreement, from the first message of a session to its record.
#[derive(Debug)]
pub struct Account {
    partnership: Partnership,
    started: Moment,
    /// The ledger of each other party when the session began.
    peer_ledger: Option<OfOthers<LedgerHead>>,
    begun: Option<RecordedRun>,
    /// The number of shared keys that the ledger records as revealed.
    revealed: Option<u64>,
    /// The number of times that partitions were begun, if tasks compared them.
    attempts: Option<u64>,
}

/// A run with a line in the ledger.
#[derive(Debug, Clone)]
struct RecordedRun {
    /// The number of the line.
    run: u64,
    keys: u64,
    of_others: OfOthers<u64>,
}

/// The end of a run: the facts of its record and of its last line in the ledger.
#[derive(Debug)]
pub struct End<'a> {
    /// This side's role.
    pub role: Role,
    /// The terms of the run.
    pub terms: &'a Terms,
    /// The number of shared keys, if the result says it.
    pub shared: Option<u64>,
    /// The number of matches that limits on results count, if the result says it.
    pub counted: Option<u64>,
    /// The disclosure for this side's ledger.
    pub noted: Disclosure,
    /// The disclosure that both sides sign. It holds the outcome only if [both learn](Terms::both_learn).
    pub signed: Disclosure,
    /// The catalogue's name of the protocol.
    pub protocol: &'static str,
    /// The name of the security that the protocol provided.
    pub security: &'static str,
    /// The number of partitions.
    pub partitions: u64,
}

/// The end of a run among several parties.
#[derive(Debug)]
pub struct JointEnd<'a> {
    /// The terms of all parties.
    pub terms: &'a JointTerms,
    /// The facts for this party's ledger.
    pub noted: Noted,
    /// The disclosure that all parties sign, without an outcome.
    pub signed: Disclosure,
    /// The catalogue's name of the protocol.
    pub protocol: &'static str,
    /// The name of the security that the protocol provided.
    pub security: &'static str,
    /// The number of partitions.
    pub partitions: u64,
    /// The identifier of the session.
    pub session: String,
}

/// The facts about the result of a run for this side's ledger.
#[derive(Debug)]
pub struct Noted {
    /// The number of matches that limits on results count, if the result says it.
    pub counted: Option<u64>,
    /// The facts that each side learned, as this side knows them.
    pub learned: NotedLearned,
}

/// The facts that the sides of a run learned, as a ledger keeps them.
#[derive(Debug)]
pub enum NotedLearned {
    /// Of two: the disclosure, and this side's role in it.
    Pair(Box<Disclosure>, Role),
    /// Of several: the sentences on this party and on the others, without the final full stop.
    Several(String),
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerLine {
    /// The file.
    pub file: String,
    /// The number of the line, from 0.
    pub line: u64,
}

/// A request to begin a run or to resume it.
pub struct Admission {
    /// Distinct keys of this side.
    pub keys: u64,
    /// Distinct keys of each other party.
    pub of_others: OfOthers<u64>,
    /// The false matches that this side expects, if rules make the keys.
    pub false_matches: Option<FalseMatches>,
    /// This side's set.
    pub sketch: Sketch,
    /// The line at which the run began, and the number of times it was started, this time included; `None` for a new
    /// run.
    pub goes_on: Option<(u64, u64)>,
}

impl Account {
    /// Returns an account in which nothing has begun.
    pub fn new(partnership: Partnership) -> Self {
        let started = Moment::now();
        Self {
            partnership,
            started,
            peer_ledger: None,
            begun: None,
            revealed: None,
            attempts: None,
        }
    }

    /// Returns the agreement and this side's rules.
    pub fn partnership(&self) -> &Partnership {
        &self.partnership
    }

    /// Sets the number of times that partitions were begun, if tasks compared them, for the record.
    pub fn compared_in(&mut self, attempts: Option<u64>) {
        self.attempts = attempts;
    }

    /// Exchanges the signatures under the agreement and the heads of both ledgers, and returns the agreement's hash. An
    /// accepting side keeps the other's signature, which it does not have before the first run.
    ///
    /// # Errors
    /// An invalid signature, [`Error::Policy`] if the other side's ledger is shorter than before, and
    /// [`Error::Output`] if the signature cannot be kept.
    pub fn exchange_signatures(&mut self, channel: &mut Channel) -> Result<String> {
        let (history, head) = self.partnership.ledger().history(&self.partnership.me)?;
        let Partnership { me, agreement, file, .. } = &mut self.partnership;
        let AnyAgreement::Pair(signed) = Arc::make_mut(agreement) else {
            return Err(Error::bug("a run of two parties is under an agreement of two"));
        };
        let mine = signed.signature_of(me.fingerprint()).unwrap_or_default();
        channel.send(AGREEMENT, &mine)?;
        channel.send(LEDGER, &head.to_bytes())?;
        let theirs = channel.recv_len(AGREEMENT, MAX_SIGNATURE)?;
        let mut peer_ledger = [0; LedgerHead::BYTES];
        channel.recv_into(LEDGER, &mut peer_ledger)?;
        let peer = signed.document().peer_of(me.fingerprint())?.fingerprint();
        let was_complete = signed.is_signed_by(peer);
        signed.add(peer, &theirs).map_err(|_| {
            channel.malformed(AGREEMENT, "the other side has not signed the agreement")
        })?;
        if let Some(file) = file.as_ref().filter(|_| !was_complete) {
            let text = signed.to_json();
            Output::prepare(file, Access::Usual)?
                .stage(|out| out.write_all(text.as_bytes()))?
                .commit()?;
        }
        let hash = agreement.hash();
        let peer_ledger = LedgerHead::from_bytes(&peer_ledger);
        require_grown(&history.of(&hash).peer_ledger(0), &peer_ledger, "the other side")?;
        self.peer_ledger = Some(OfOthers::One(peer_ledger));
        Ok(hash)
    }

    /// Exchanges the heads of all ledgers among several parties, and returns the agreement's hash. `name` names the
    /// party of a number.
    ///
    /// # Errors
    /// [`Error::Policy`] if the ledger of a party is shorter than before, and any error of a connection.
    pub fn exchange_ledgers<'n>(
        &mut self,
        mesh: &mut Mesh<'_>,
        name: impl Fn(usize) -> &'n str,
    ) -> Result<String> {
        let Partnership { me, agreement, .. } = &self.partnership;
        let (history, head) = self.partnership.ledger().history(me)?;
        let hash = agreement.hash();
        let runs = history.of(&hash);
        let all = mesh.all(LEDGER, head.to_bytes())?;
        let mut heads = Vec::new();
        for party in mesh.others() {
            let shown = LedgerHead::from_bytes(&all[party]);
            require_grown(&runs.peer_ledger(heads.len()), &shown, name(party))?;
            heads.push(shown);
        }
        self.peer_ledger = Some(OfOthers::Several(heads));
        Ok(hash)
    }

    /// Records that a run begins or resumes, if the rules allow it, and returns the number of the line at which it
    /// began and a warning for this side.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub fn admit(&mut self, admission: Admission) -> Result<(u64, Option<String>)> {
        let Admission { keys, of_others, false_matches, sketch, goes_on } = admission;
        let Partnership { me, policies, .. } = &self.partnership;
        let mut warning = None;
        let mut run = None;
        let added = self.partnership.ledger().add(me, &self.partnership.subject(), |runs| {
            runs.require_valid()?;
            // A ledger without the line was replaced: the run counts again.
            let (earlier, session) = goes_on.filter(|(run, _)| runs.has(*run)).unzip();
            let past = self.partnership.past(runs, earlier);
            let intent = Intent {
                now: Moment::now(),
                keys,
                of_others: of_others.clone(),
                false_matches,
                sketch: &sketch,
            };
            policies.iter().try_for_each(|policy| policy.check_sets(&intent, &past))?;
            if let (Some(earlier), Some(session)) = (earlier, session) {
                run = Some(earlier);
                return Ok(Some(LedgerEvent::WentOn { run: earlier, session }));
            }
            warning = past.warning(&sketch, policies);
            let (peer_keys, peer_ledger) = (of_others.clone(), self.peer_ledger.clone());
            Ok(Some(LedgerEvent::Began { keys, peer_keys, sketch: runs.keep(sketch), peer_ledger }))
        })?;
        let run = run.or(added).ok_or(Error::bug("a run has a line"))?;
        self.begun = Some(RecordedRun { run, keys, of_others });
        Ok((run, warning))
    }

    /// Returns the minimum number of shared keys that both sides check before they compare rows.
    pub fn threshold(&self) -> Option<u64> {
        let [agreed, _] = &self.partnership.policies;
        agreed.min_result.filter(|_| agreed.threshold_first)
    }

    /// Records that a result is about to be revealed, if the rules allow it. Without a number of shared keys there is
    /// nothing to check.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub fn reveal(&mut self, shared: Option<u64>) -> Result<()> {
        let Some(matches) = shared.filter(|shared| Some(*shared) != self.revealed) else {
            return Ok(());
        };
        let begun = self.begun.as_ref().ok_or(Error::bug("a run with a result has begun"))?;
        let run = begun.run;
        let Partnership { me, policies, .. } = &self.partnership;
        self.partnership.ledger().add(me, &self.partnership.subject(), |runs: &Runs| {
            let past = self.partnership.past(runs, Some(run));
            policies.iter().try_for_each(|policy| policy.check_result(matches, &past))?;
            Ok(Some(LedgerEvent::Revealed { run, matches }))
        })?;
        self.revealed = Some(matches);
        Ok(())
    }

    /// Signs the record of a run together with the other side, and records its success.
    ///
    /// # Errors
    /// As [`record::agree`], and [`Error::Ledger`].
    pub fn sign(&self, end: End<'_>, channel: &mut Channel) -> Result<(AnyRecord, LedgerLine)> {
        let (begun, mine) = self.statement()?;
        let subject = self.partnership.subject();
        let agreement = self.partnership.agreement();
        let peer_keys = begun.of_others.only().copied();
        let facts = Facts {
            name: subject.name.clone(),
            agreement: subject.agreement.clone(),
            terms: end.terms,
            matches: end.shared.filter(|_| end.terms.both_learn()),
            disclosure: end.signed,
            rules: agreement.policy().clone(),
            agreed: agreement.accepted(),
            protocol: end.protocol,
            security: end.security,
            partitions: end.partitions,
            attempts: self.attempts,
            peer_keys: peer_keys.ok_or(Error::bug("a run of two parties has one other"))?,
        };
        let (me, peer) = (&self.partnership.me, self.partnership.peer("a run of two is for")?);
        let record = record::agree(facts, mine, me, peer, end.role, channel)?;
        let theirs = match end.role {
            Role::A => &record.document().b,
            Role::B => &record.document().a,
        };
        let peer_ledger = OfOthers::One(theirs.ledger.clone());
        let learned = NotedLearned::Pair(Box::new(end.noted), end.role);
        let noted = Noted { counted: end.counted, learned };
        let line = self.succeeded(noted, record.hash(), peer_ledger)?;
        Ok((AnyRecord::Pair(Box::new(record)), line))
    }

    /// Signs the record of a run together with all other parties, and records its success.
    ///
    /// # Errors
    /// As [`record::joint::agree`], and [`Error::Ledger`].
    pub fn sign_jointly(
        &self,
        end: JointEnd<'_>,
        mesh: &mut Mesh<'_>,
    ) -> Result<(AnyRecord, LedgerLine)> {
        let (begun, mine) = self.statement()?;
        let subject = self.partnership.subject();
        let agreement = self.partnership.agreement();
        let mut sizes = begun.of_others.as_slice().to_vec();
        sizes.insert(mesh.me(), begun.keys);
        let facts = JointFacts {
            name: subject.name,
            agreement: subject.agreement,
            parties: agreement.parties().into_iter().cloned().collect(),
            terms: end.terms,
            sizes,
            disclosure: end.signed,
            rules: agreement.policy().clone(),
            agreed: agreement.accepted(),
            protocol: end.protocol,
            security: end.security,
            partitions: end.partitions,
            session: end.session,
        };
        let record = record::joint::agree(facts, &mine, &self.partnership.me, mesh)?;
        let statements = record.document().statements.iter().enumerate();
        let others = statements.filter(|(party, _)| *party != mesh.me());
        let heads = others.map(|(_, statement)| statement.ledger.clone()).collect();
        let line = self.succeeded(end.noted, record.hash(), OfOthers::Several(heads))?;
        Ok((AnyRecord::Joint(Box::new(record)), line))
    }

    /// Returns the run that ends, and this side's statement about it.
    fn statement(&self) -> Result<(&RecordedRun, Statement)> {
        let me = &self.partnership.me;
        let begun = self.begun.as_ref().ok_or(Error::bug("a run that ends has begun"))?;
        let (_, head) = self.partnership.ledger().history(me)?;
        let statement = Statement {
            party: (&**me).into(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            keys: begun.keys,
            started: self.started,
            ended: Moment::now(),
            ledger: head,
        };
        Ok((begun, statement))
    }

    /// Records the success of a run with a record of this hash.
    fn succeeded(
        &self,
        noted: Noted,
        record: String,
        peer_ledger: OfOthers<LedgerHead>,
    ) -> Result<LedgerLine> {
        let begun = self.begun.as_ref().ok_or(Error::bug("a run that ends has begun"))?;
        let (disclosure, role, learned) = match noted.learned {
            NotedLearned::Pair(disclosure, role) => (Some(disclosure), Some(role), None),
            NotedLearned::Several(learned) => (None, None, Some(learned)),
        };
        let event = LedgerEvent::Succeeded {
            run: begun.run,
            matches: noted.counted,
            disclosure,
            role,
            learned,
            record,
            peer_ledger: Some(peer_ledger),
        };
        let ledger = self.partnership.ledger();
        let me = &self.partnership.me;
        let line = ledger.add(me, &self.partnership.subject(), |_| Ok(Some(event)))?;
        let line = line.ok_or(Error::bug("the end of a run has a line"))?;
        Ok(LedgerLine { file: ledger.path().display().to_string(), line })
    }

    /// Writes the record to its file, if it has one.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn keep(&self, record: &AnyRecord) -> Result<()> {
        let Some(path) = &self.partnership.record else { return Ok(()) };
        let text = record.to_json();
        Output::prepare(path, Access::Usual)?.stage(|out| out.write_all(text.as_bytes()))?.commit()
    }

    /// Records that the run failed.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn failed(&self, error: &Error) -> Result<()> {
        self.partnership.failed(self.begun.as_ref().map(|begun| begun.run), error)
    }
}

/// Refuses a ledger of the other side that is shorter than the longest that it has shown, or that differs from it: its
/// rules would not count everything that happened.
fn require_grown(known: &LedgerHead, shown: &LedgerHead, whose: &str) -> Result<()> {
    if shown.lines > known.lines || shown == known {
        return Ok(());
    }
    let reason = format!(
        "the ledger of {whose} has {}, and in an earlier run it had {}: it was truncated, replaced, or restored from an older \
         copy, so its rules miss runs. Restore it there, or make a new agreement",
        counted(shown.lines, "line"),
        match shown.lines == known.lines {
            true => "others".to_owned(),
            false => known.lines.to_string(),
        }
    );
    Err(Refusal::new("partner-ledger", reason).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_that_did_not_grow_is_refused() {
        let head = |lines, hash: &str| LedgerHead { lines, hash: hash.to_owned() };
        let known = head(5, "a");
        for (shown, is_allowed) in [
            (head(5, "a"), true),
            (head(6, "b"), true),
            (head(5, "b"), false),
            (head(4, "a"), false),
            (LedgerHead::default(), false),
        ] {
            assert_eq!(require_grown(&known, &shown, "ash").is_ok(), is_allowed, "{shown:?}");
        }
        assert!(require_grown(&LedgerHead::default(), &LedgerHead::default(), "ash").is_ok());
    }
}
