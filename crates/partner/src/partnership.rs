//! An agreement, bound to one side's identity, ledger and rules: everything that a run under it needs to know before it
//! begins.

use std::{path::PathBuf, sync::Arc};

use vesica_agree::{
    disclosed::MatchRules,
    offer::{Offer, WireOffer},
    pledge::Pledge,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
    parties::Role,
    refusal::Refusal,
};
use vesica_keyset::sketch::SketchSecret;
use vesica_net::{Channel, Fingerprint, Identity};
use vesica_table::target::Protected;

use super::{
    agreement::{Agreement, limited},
    entry::LedgerEvent,
    history::Runs,
    ledger::{Ledger, Subject},
    outlook::Outlook,
    party::Party,
    policy::{DEFAULT_ATTEMPTS, Past, Policy},
    signed::Signed,
    summary::Summary,
};

/// Binds a job to an agreement.
#[derive(Debug, Clone)]
pub struct Partnership {
    pub(super) me: Arc<Identity>,
    pub(super) agreement: Arc<Signed<Agreement>>,
    peer: Party,
    ledger: PathBuf,
    /// The policy of the agreement, and this side's own.
    pub(super) policies: [Policy; 2],
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
            return Err(Error::usage(Misuse::Policy, message));
        }
        if !agreement.is_signed_by(me.fingerprint()) {
            let message = "this side has not signed the agreement; confirm the reply first";
            return Err(Error::usage(Misuse::Agreement, message));
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
    pub fn files(&self) -> Vec<Protected> {
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

    /// Refuses whoever is not the other party of the agreement, before anything is sent to them. `peer` is the party that the
    /// connection has authenticated.
    ///
    /// # Errors
    /// [`vesica_net::Error::WrongPeer`], and [`Error::Usage`] where the connection has authenticated nobody.
    pub fn require_peer(&self, peer: Option<Fingerprint>) -> Result<()> {
        let expected = self.peer.fingerprint();
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

    /// The offer that the other side has signed, for a run in which it has this role.
    pub fn pledge(&self, role: Role) -> Result<Pledge> {
        self.agreement.document().pledge_of(self.peer.fingerprint(), role)
    }

    /// The rules' view of what was done under the agreement, the run that goes on left out.
    pub(super) fn past(&self, runs: &Runs, goes_on: Option<u64>) -> Past {
        let noise = self.agreement.document().noise();
        runs.past(goes_on, noise.map(|noise| noise.epsilon))
    }

    pub(super) fn subject(&self) -> Subject {
        Subject {
            agreement: self.agreement.hash(),
            name: self.agreement.document().proposal.name.clone(),
            peer: self.peer.fingerprint(),
        }
    }

    /// Refuses a run that may not begin now, or go on where it was interrupted, before the other side is contacted.
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

    /// Revokes the agreement: this side's program refuses runs under it from now on, and tells the other side so when it calls.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn revoke(&self) -> Result<()> {
        let add = |runs: &Runs| Ok(runs.require_valid().is_ok().then_some(LedgerEvent::Revoked {}));
        self.ledger().add(&self.me, &self.subject(), add).map(drop)
    }

    /// What runs under the agreement disclose, and what binds both sides, with the rules of this side's own.
    ///
    /// # Errors
    /// As [`Agreement::summary`].
    pub fn summary(&self) -> Result<Summary> {
        let [_, own] = self.policies.clone();
        let summary = self.agreement.document().summary(Some(self.me.fingerprint()))?;
        Ok(summary.with_rules(own))
    }

    /// The runs so far, the next permitted one, and how much the rules leave.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn outlook(&self) -> Result<Outlook> {
        let (history, _) = self.ledger().history(&self.me)?;
        let runs = history.of(&self.agreement.hash());
        let past = self.past(&runs, None);
        Ok(Outlook::new(runs.require_valid(), &past, &self.policies, Moment::now()))
    }

    /// How often the comparison of a partition may begin.
    pub fn max_attempts(&self) -> u64 {
        let rules = self.policies.iter().filter_map(|policy| policy.max_attempts);
        rules.min().unwrap_or(DEFAULT_ATTEMPTS)
    }

    /// The rules of the agreement and of this side that decide which matches are shown.
    pub fn match_rules(&self) -> MatchRules {
        let [agreed, own] = &self.policies;
        agreed.match_rules().stricter(own.match_rules())
    }

    /// Whether a rule limits the shared keys that a result reveals.
    pub fn limits_results(&self) -> bool {
        self.policies.iter().any(|policy| {
            [policy.min_result, policy.max_result, policy.max_result_total]
                .iter()
                .any(Option::is_some)
        })
    }

    /// The secret under which this side's sets are sketched.
    pub fn sketch_secret(&self) -> SketchSecret {
        SketchSecret::of(&self.me, &self.agreement.hash())
    }

    /// Notes that a run failed, and the line where it began, if it had. A call that fails before a run begins is noted once a
    /// day: whoever calls again and again does not make the ledger grow.
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

    /// The hash of the agreement that the other side names, before this side has said anything: so one side can serve many
    /// agreements.
    ///
    /// # Errors
    /// What any exchange can meet, [`Error::Version`], and an offer that is none.
    pub fn asked_for(channel: &mut Channel) -> Result<Option<String>> {
        WireOffer::await_agreement(channel)
    }
}
