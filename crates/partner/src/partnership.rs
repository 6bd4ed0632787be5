//! An agreement, bound to one side's identity, ledger and rules: the input of every run under it.

use std::{path::PathBuf, sync::Arc};

use vesica_agree::{
    disclosed::MatchRules,
    offer::{Offer, WireOffer},
    pledge::Pledge,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
    of_others::OfOthers,
    parties::Role,
    refusal::Refusal,
};
use vesica_keyset::sketch::SketchSecret;
use vesica_net::{Channel, Fingerprint, Identity};
use vesica_table::target::Protected;

use super::{
    any_agreement::AnyAgreement,
    entry::LedgerEvent,
    history::Runs,
    joint::JointParts,
    ledger::{Ledger, Subject},
    limits::limited,
    outlook::Outlook,
    party::Party,
    policy::{DEFAULT_ATTEMPTS, Past, Policy},
    summary::Summary,
};

/// The binding of a job to an agreement.
#[derive(Debug, Clone)]
pub struct Partnership {
    pub(super) me: Arc<Identity>,
    pub(super) agreement: Arc<AnyAgreement>,
    others: OfOthers<Party>,
    ledger: PathBuf,
    /// The policy of the agreement, and this side's own.
    pub(super) policies: [Policy; 2],
    /// The file of the agreement, to which the other side's signature is added.
    pub file: Option<PathBuf>,
    /// The file for the record of a run, if one is wanted.
    pub record: Option<PathBuf>,
}

impl Partnership {
    /// Binds this identity to the agreement, with the ledger at this path. The rules of `own` apply in addition to the
    /// agreement's.
    ///
    /// # Errors
    /// [`Error::Usage`] if the identity is not a party of the agreement, or has not signed it.
    pub fn new(
        me: Arc<Identity>,
        agreement: impl Into<AnyAgreement>,
        ledger: PathBuf,
        own: Policy,
    ) -> Result<Self> {
        let agreement = agreement.into();
        let others = agreement.others(me.fingerprint())?;
        if own.threshold_first {
            let message = "both sides compute a threshold: set --threshold-first in the invitation";
            return Err(Error::usage(Misuse::Policy, message));
        }
        if !agreement.is_signed_by(me.fingerprint()) {
            let message = "this side has not signed the agreement; confirm the reply first";
            return Err(Error::usage(Misuse::Agreement, message));
        }
        let policies = [agreement.policy().clone(), own];
        Ok(Self {
            me,
            agreement: Arc::new(agreement),
            others,
            ledger,
            policies,
            file: None,
            record: None,
        })
    }

    /// Returns the agreement.
    pub fn agreement(&self) -> &AnyAgreement {
        &self.agreement
    }

    /// Returns the other parties.
    pub fn others(&self) -> &OfOthers<Party> {
        &self.others
    }

    /// Returns the other side, for a purpose that needs an agreement between two.
    ///
    /// # Errors
    /// As [`AnyAgreement::require_pair`].
    pub fn peer(&self, purpose: &str) -> Result<&Party> {
        self.agreement.require_pair(purpose)?;
        self.others.only().ok_or(Error::bug("an agreement between two has one other party"))
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(&self.ledger)
    }

    /// Returns the files that no result may replace.
    pub fn files(&self) -> Vec<Protected> {
        let agreement = self.file.iter().map(|file| Protected::new("the agreement", file));
        [Protected::new("the ledger", &self.ledger)].into_iter().chain(agreement).collect()
    }

    /// Returns this side's offer, its own minimum included.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that this release cannot make.
    pub fn offer(&self) -> Result<Offer> {
        self.agreement.check(self.me.fingerprint(), &self.policies[1])?;
        let mut offer =
            limited(&self.agreement.offer_of(self.me.fingerprint())?, &self.policies[1])?;
        offer.agreement = Some(self.agreement.hash());
        Ok(offer)
    }

    /// Refuses everyone except the other party of the agreement, before anything is sent. `peer` is the party that the
    /// connection has authenticated.
    ///
    /// # Errors
    /// [`vesica_net::Error::WrongPeer`], and [`Error::Usage`] if the connection has authenticated nobody.
    pub fn require_peer(&self, peer: Option<Fingerprint>) -> Result<()> {
        let expected = self.peer("a run with one party is for")?.fingerprint();
        match peer {
            Some(presented) if presented == expected => Ok(()),
            Some(presented) => Err(vesica_net::Error::WrongPeer { expected, presented }.into()),
            None => {
                let message =
                    "a run under an agreement needs a connection that proves who the other side is";
                Err(Error::usage(Misuse::Agreement, message))
            }
        }
    }

    /// Returns the offer that the other side has signed, for a run in which it has this role.
    pub fn pledge(&self, role: Role) -> Result<Pledge> {
        const PURPOSE: &str = "a run with one party is for";
        let agreement = self.agreement.require_pair(PURPOSE)?.document();
        agreement.pledge_of(self.peer(PURPOSE)?.fingerprint(), role)
    }

    /// Returns the offers that several parties have signed, in the order of their numbers.
    pub fn pledges(&self) -> Vec<Pledge> {
        self.agreement.joint().map(JointParts::pledges).unwrap_or_default()
    }

    /// Returns the rules' view of earlier runs under the agreement, without the run that resumes.
    pub(super) fn past(&self, runs: &Runs, goes_on: Option<u64>) -> Past {
        let noise = self.agreement.noise();
        runs.past(goes_on, noise.map(|noise| noise.epsilon))
    }

    pub(super) fn subject(&self) -> Subject {
        Subject {
            agreement: self.agreement.hash(),
            name: self.agreement.name().to_owned(),
            others: self.others.map(|party| party.fingerprint().to_string()),
        }
    }

    /// Refuses a run that may not begin now, or resume after an interruption, before the other side is contacted.
    ///
    /// # Errors
    /// [`Error::Policy`] and [`Error::Ledger`].
    pub fn check(&self, goes_on: Option<u64>) -> Result<()> {
        let (history, _) = self.ledger().history(&self.me)?;
        let runs = history.of(&self.agreement.hash());
        runs.require_valid()?;
        let past = self.past(&runs, goes_on);
        let now = Moment::now();
        self.policies.iter().try_for_each(|policy| Ok(policy.check_time(now, &past)?))
    }

    /// Revokes the agreement: this side's program refuses runs under it from now on, and informs the other side when it
    /// calls.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn revoke(&self) -> Result<()> {
        let add = |runs: &Runs| Ok(runs.require_valid().is_ok().then_some(LedgerEvent::Revoked {}));
        self.ledger().add(&self.me, &self.subject(), add).map(drop)
    }

    /// Summarises what runs under the agreement disclose and what binds both sides, including this side's own rules.
    ///
    /// # Errors
    /// As [`AnyAgreement::summary`].
    pub fn summary(&self) -> Result<Summary> {
        let [_, own] = self.policies.clone();
        let summary = self.agreement.summary(Some(self.me.fingerprint()))?;
        Ok(summary.with_rules(own))
    }

    /// Returns the number of runs so far, the next permitted one, and the remainder that the rules leave.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn outlook(&self) -> Result<Outlook> {
        let (history, _) = self.ledger().history(&self.me)?;
        let runs = history.of(&self.agreement.hash());
        let past = self.past(&runs, None);
        Ok(Outlook::new(runs.require_valid(), &past, &self.policies, Moment::now()))
    }

    /// Returns how often the comparison of a partition may begin.
    pub fn max_attempts(&self) -> u64 {
        let rules = self.policies.iter().filter_map(|policy| policy.max_attempts);
        rules.min().unwrap_or(DEFAULT_ATTEMPTS)
    }

    /// Returns the rules of the agreement and of this side that decide which matches are shown.
    pub fn match_rules(&self) -> MatchRules {
        let [agreed, own] = &self.policies;
        agreed.match_rules().stricter(own.match_rules())
    }

    /// Returns whether a rule limits the shared keys that a result reveals.
    pub fn limits_results(&self) -> bool {
        self.policies.iter().any(|policy| {
            [policy.min_result, policy.max_result, policy.max_result_total]
                .iter()
                .any(Option::is_some)
        })
    }

    /// Returns the secret under which this side's sets are sketched.
    pub fn sketch_secret(&self) -> SketchSecret {
        SketchSecret::of(&self.me, &self.agreement.hash())
    }

    /// Records that a run failed, and the line at which it began, if it had begun. A call that fails before a run
    /// begins is recorded once a day, so that a caller who keeps calling cannot make the ledger grow.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn failed(&self, run: Option<u64>, error: &Error) -> Result<()> {
        let event = match error {
            Error::Policy(Refusal { rule, reason }) => {
                LedgerEvent::Refused { run, rule: (*rule).to_owned(), reason: reason.clone() }
            }
            error => LedgerEvent::Failed { run, class: error.class(), reason: error.to_string() },
        };
        let add = |runs: &Runs| Ok((!runs.repeats(&event, Moment::now())).then_some(event));
        self.ledger().add(&self.me, &self.subject(), add).map(drop)
    }

    /// Receives the hash of the agreement that the other side names, before this side has sent anything: so one side
    /// can serve many agreements.
    ///
    /// # Errors
    /// Every error of an exchange, [`Error::Version`], and a message that is not an offer.
    pub fn asked_for(channel: &mut Channel) -> Result<Option<String>> {
        WireOffer::await_agreement(channel)
    }
}
