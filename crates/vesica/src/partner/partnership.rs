//! One side's part in a run under an agreement: the policy is checked, the ledger written, and the record signed.

use std::{path::PathBuf, sync::Arc};

use vesica_net::{Channel, Identity};

use super::{
    agreement::{Agreement, limited},
    ledger::{self, Entry, Event, Ledger, Subject},
    moment::Moment,
    party::Party,
    policy::{Intent, Past, Policy},
    record::{self, Facts, Record, Statement},
    refusal::Refusal,
    signed::Signed,
    sketch::{Sketch, SketchSecret},
};
use crate::{
    agree::{
        offer::{Offer, WireOffer},
        terms::Terms,
    },
    error::{Error, Result},
    parties::Role,
    run::report::Report,
    table::{
        output::{Access, Output},
        target::Protected,
    },
};

const AGREEMENT: &str = "vesica/agreement";

/// The longest signature, in bytes; one of Ed25519 has 64.
const MAX_SIGNATURE: usize = 64;

/// Binds a job to an agreement.
#[derive(Debug, Clone)]
pub struct Partnership {
    me: Arc<Identity>,
    agreement: Arc<Signed<Agreement>>,
    peer: Party,
    ledger: PathBuf,
    /// The policy of the agreement, and this side's own.
    policies: [Policy; 2],
    /// The file of the agreement, to which the other side's signature is added.
    pub file: Option<PathBuf>,
    /// The file for the record of a run, if one is wanted.
    pub record: Option<PathBuf>,
}

impl Partnership {
    /// Runs of this identity under the agreement, noted in the ledger at this path. Rules of `own` apply beside those of the
    /// agreement.
    ///
    /// # Errors
    /// [`Error::Usage`] where the identity is no party of the agreement, or has not signed it.
    pub fn new(
        me: Arc<Identity>,
        agreement: Signed<Agreement>,
        ledger: PathBuf,
        own: Policy,
    ) -> Result<Self> {
        let peer = agreement.document().peer_of(me.fingerprint())?.clone();
        if own.threshold_first {
            let message =
                "both sides compute a threshold: --threshold-first belongs in the invitation";
            return Err(Error::Usage(message.to_owned()));
        }
        if !agreement.is_signed_by(me.fingerprint()) {
            let message = "this side has not signed the agreement; confirm the reply first";
            return Err(Error::Usage(message.to_owned()));
        }
        let policies = [agreement.document().proposal.policy.clone(), own];
        Ok(Self {
            me,
            agreement: Arc::new(agreement),
            peer,
            ledger,
            policies,
            file: None,
            record: None,
        })
    }

    /// The agreement.
    pub fn agreement(&self) -> &Signed<Agreement> {
        &self.agreement
    }

    /// The other side.
    pub fn peer(&self) -> &Party {
        &self.peer
    }

    /// The ledger.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(&self.ledger)
    }

    /// The files that no result may replace.
    pub(crate) fn files(&self) -> Vec<Protected> {
        let agreement = self.file.iter().map(|file| Protected::new("the agreement", file));
        [Protected::new("the ledger", &self.ledger)].into_iter().chain(agreement).collect()
    }

    /// What this side offers, its own minimum included.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that this release cannot make.
    pub fn offer(&self) -> Result<Offer> {
        let mut offer = limited(
            &self.agreement.document().offer_of(self.me.fingerprint())?,
            &self.policies[1],
        )?;
        offer.agreement = Some(self.agreement.hash());
        Ok(offer)
    }

    /// What was done under the agreement.
    fn past(&self, entries: &[Entry]) -> Past {
        let noise = self.agreement.document().noise();
        ledger::past(entries, &self.agreement.hash(), noise.map(|noise| noise.epsilon))
    }

    fn subject(&self) -> Subject {
        Subject {
            agreement: self.agreement.hash(),
            name: self.agreement.document().proposal.name.clone(),
            peer: self.peer.fingerprint(),
        }
    }

    /// Refuses a run that may not begin now, before the other side is contacted.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub fn check(&self) -> Result<()> {
        let (entries, _) = self.ledger().look(&self.me.certificate())?;
        let past = self.past(&entries);
        let now = Moment::now();
        self.policies.iter().try_for_each(|policy| Ok(policy.check_time(now, &past)?))
    }

    /// The secret under which this side's sets are sketched.
    pub(crate) fn sketch_secret(&self) -> SketchSecret {
        SketchSecret::new(*self.me.derive("vesica 1 sketches of sets"))
    }

    /// Notes that a run failed, and the line where it began, if it had.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub(crate) fn failed(&self, run: Option<u64>, error: &Error) -> Result<()> {
        let event = match error {
            Error::Policy(Refusal { rule, reason }) => {
                Event::Refused { run, rule: (*rule).to_owned(), reason: reason.clone() }
            }
            error => Event::Failed { run, class: error.class(), reason: error.to_string() },
        };
        self.ledger().add(&self.me, &self.subject(), |_| Ok(event)).map(drop)
    }

    /// The hash of the agreement that the other side names, before this side has said anything: so one side can serve many
    /// agreements.
    ///
    /// # Errors
    /// What any exchange can meet, [`Error::Version`], and an offer that is none.
    pub fn asked_for(channel: &mut Channel) -> Result<Option<String>> {
        WireOffer::await_agreement(channel)
    }
}

/// A run under an agreement, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Standing {
    partnership: Partnership,
    started: Moment,
    begun: Option<Begun>,
}

/// A run of which the ledger has a line.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The number of the line.
    run: u64,
    keys: u64,
    peer_keys: u64,
}

impl Standing {
    pub(crate) fn new(partnership: Partnership) -> Self {
        Self { partnership, started: Moment::now(), begun: None }
    }

    /// Shows each other that both sides signed the agreement, and returns its hash. An accepting side keeps the other's
    /// signature, which it has not had before the first run.
    ///
    /// # Errors
    /// A signature that does not hold, and [`Error::Output`] where it cannot be kept.
    pub(crate) fn exchange_signatures(&mut self, channel: &mut Channel) -> Result<String> {
        let Partnership { me, agreement, peer, file, .. } = &mut self.partnership;
        let mine = agreement.signature_of(me.fingerprint()).unwrap_or_default();
        channel.send(AGREEMENT, &mine)?;
        let theirs = channel.recv_len(AGREEMENT, MAX_SIGNATURE)?;
        let peer = peer.fingerprint();
        let was_complete = agreement.is_signed_by(peer);
        let agreement = Arc::make_mut(agreement);
        agreement.add(peer, &theirs).map_err(|_| {
            channel.malformed(AGREEMENT, "the other side has not signed the agreement")
        })?;
        if let Some(file) = file.as_ref().filter(|_| !was_complete) {
            let text = agreement.to_json();
            Output::prepare(file, Access::Usual)?
                .stage(|out| out.write_all(text.as_bytes()))?
                .commit()?;
        }
        Ok(agreement.hash())
    }

    /// Notes that a run on so many keys of this side and of the other begins, if the policy allows it, and returns what this
    /// side should be warned of. A run that `goes_on` was noted before.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub(crate) fn begin(
        &mut self,
        (keys, peer_keys): (u64, u64),
        sketch: Sketch,
        goes_on: bool,
    ) -> Result<Option<String>> {
        let mut warning = None;
        let Partnership { me, policies, .. } = &self.partnership;
        let agreement = self.partnership.agreement.hash();
        let earlier = match goes_on {
            true => {
                let (entries, _) = self.partnership.ledger().look(&me.certificate())?;
                let is_it = |entry: &&Entry| {
                    entry.agreement == agreement && matches!(entry.event, Event::Began { .. })
                };
                entries.iter().rev().find(is_it).map(|entry| entry.number)
            }
            false => None,
        };
        let run = match earlier {
            Some(run) => run,
            None => self.partnership.ledger().add(me, &self.partnership.subject(), |entries| {
                let past = self.partnership.past(entries);
                let intent =
                    Intent { now: Moment::now(), keys: [keys, peer_keys], sketch: &sketch };
                policies.iter().try_for_each(|policy| policy.check_sets(&intent, &past))?;
                warning = past.warning(&sketch, policies);
                Ok(Event::Began { keys, peer_keys, sketch: Box::new(sketch) })
            })?,
        };
        self.begun = Some(Begun { run, keys, peer_keys });
        Ok(warning)
    }

    /// The least number of shared keys of which the agreement has both sides make sure before they compare rows.
    pub(crate) fn threshold(&self) -> Option<u64> {
        let [agreed, _] = &self.partnership.policies;
        agreed.min_result.filter(|_| agreed.threshold_first)
    }

    /// Refuses a result of so many shared keys, where this side knows how many there are.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub(crate) fn check_result(&self, shared: Option<u64>) -> Result<()> {
        let Some(shared) = shared else { return Ok(()) };
        let Partnership { me, policies, .. } = &self.partnership;
        let (entries, _) = self.partnership.ledger().look(&me.certificate())?;
        let past = self.partnership.past(&entries);
        policies.iter().try_for_each(|policy| Ok(policy.check_result(shared, &past)?))
    }

    /// Signs the record of a run together with the other side, and notes that it succeeded. What may be told later is
    /// counted from here on, whether or not the last steps succeed.
    ///
    /// # Errors
    /// As [`record::agree`], and [`Error::Ledger`].
    pub(crate) fn sign(
        &self,
        report: &Report,
        terms: &Terms,
        channel: &mut Channel,
    ) -> Result<Signed<Record>> {
        let Partnership { me, peer, .. } = &self.partnership;
        let begun = self.begun.ok_or(Error::Bug("a run that ends has begun"))?;
        let (_, head) = self.partnership.ledger().look(&me.certificate())?;
        let mine = Statement {
            party: (&**me).into(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            keys: begun.keys,
            started: self.started,
            ended: Moment::now(),
            ledger: head,
        };
        let shared = report.outcome.shared();
        let Subject { name, agreement, .. } = self.partnership.subject();
        let facts = Facts {
            name,
            agreement,
            terms,
            matches: shared.filter(|_| terms.learns(Role::A) && terms.learns(Role::B)),
            protocol: report.protocol.unwrap_or_default(),
            security: report.security.and_then(|security| security.provided).unwrap_or_default(),
            partitions: report.partitions.unwrap_or_default(),
            peer_keys: begun.peer_keys,
        };
        let role = report.role.ok_or(Error::Bug("a run has two sides"))?;
        let record = record::agree(facts, mine, (me, peer), role, channel)?;
        let event = Event::Succeeded { run: begun.run, matches: shared, record: record.hash() };
        self.partnership.ledger().add(me, &self.partnership.subject(), |_| Ok(event))?;
        Ok(record)
    }

    /// Writes the record to its file, if it has one.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn keep(&self, record: &Signed<Record>) -> Result<()> {
        let Some(path) = &self.partnership.record else { return Ok(()) };
        let text = record.to_json();
        Output::prepare(path, Access::Usual)?.stage(|out| out.write_all(text.as_bytes()))?.commit()
    }

    /// Notes that the run failed.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub(crate) fn failed(&self, error: &Error) -> Result<()> {
        self.partnership.failed(self.begun.map(|begun| begun.run), error)
    }
}
