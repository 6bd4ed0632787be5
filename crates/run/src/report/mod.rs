//! The outcome of a run, in numbers and sentences, without any identifier.
//!
//! A report is begun before anything else and filled in as the run proceeds, so a failed run also has a report, with
//! everything known by then and the reason for the failure. `docs/reference/report.schema.json` describes its JSON
//! form; raise [`REPORT_VERSION`] when that form changes.

pub mod parties;
#[cfg(test)]
mod sentences;
mod summary;

use std::path::Path;

use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use vesica_agree::{
    disclosed::{Known, MatchRules},
    offer::WIRE_VERSION,
    terms::Terms,
};
use vesica_core::{
    error::{Class, Error, Result},
    parties::{Parties, Role, Security},
};
use vesica_keyset::{
    counts::RowCounts,
    rule_findings::{FalseMatches, RuleFindings},
};
use vesica_net::{Meter, meter::peak_memory};
use vesica_partner::account::{End, LedgerLine};
use vesica_psi::Adversary;
use vesica_table::{
    digest::InputDigest,
    formulas::ColumnFormulas,
    output::{Access, Output, Staged},
};
use vesica_task::{
    disclosure::{
        Disclosure, Fact,
        words::{Learned, Names},
    },
    outcome::Outcome,
};

pub use self::parties::{PartiesReport, PartyReport};

/// The version of the report's form. A reader that knows a version can read all reports of that version.
pub const REPORT_VERSION: u32 = 2;

/// The report of one side. Facts that this side does not know are `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub report_version: u32,
    /// The program that ran.
    pub program: Program,
    /// The time at which the run began, in UTC, as in RFC 3339.
    pub started: String,
    /// The time at which it ended.
    pub ended: Option<String>,
    /// The outcome.
    pub status: Status,
    /// The failure, if it failed.
    pub failure: Option<FailureReason>,
    /// The reason why the other side's result is not known to be in place, although this side's is.
    pub unconfirmed: Option<String>,
    /// This side's role.
    pub role: Option<Role>,
    /// The fingerprints of both sides.
    pub fingerprints: Fingerprints,
    /// All parties of a run among several. The members on the other side and the terms then describe the session with
    /// this party's partner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parties: Option<PartiesReport>,
    /// The terms that the two sides agreed on.
    pub terms: Option<Terms>,
    /// The hash of the terms, the same in both sides' reports.
    pub terms_hash: Option<String>,
    /// The hash of the agreement under which the run took place.
    pub agreement: Option<String>,
    /// The path of this side's result, if it gets one; `None` if the run failed.
    pub output: Option<String>,
    /// The file of the record that both sides signed; `None` if the run failed.
    pub record: Option<String>,
    /// The ledger, and the number of its line on the end of the run.
    pub ledger: Option<LedgerLine>,
    /// The digest of the input.
    pub input: Option<InputDigest>,
    /// This side's rows.
    pub rows: Option<RowCounts>,
    /// The numbers of this side's keys by rule; `None` if columns make the keys.
    pub rules: Option<Vec<RuleOfRun>>,
    /// The false matches to expect by all rules; `None` without rules.
    pub false_matches: Option<FalseMatches>,
    /// Keys with which this side takes part, random ones included.
    #[serde(skip)]
    pub items: Option<u64>,
    /// Keys with which the other side takes part.
    pub peer_items: Option<u64>,
    /// The number of times the run was started, this time included, if it can be resumed.
    pub attempts: Option<u32>,
    /// The number of partitions in which the sets were compared; 1 if as a whole.
    pub partitions: Option<u64>,
    /// The key of the protocol that ran.
    pub protocol: Option<&'static str>,
    /// The required security, and the security of the protocol that ran.
    pub security: Option<SecurityOfRun>,
    /// The result, as far as this side learns it. In JSON its fields are among the others.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Received columns with texts that a spreadsheet would take for formulas.
    pub formulas: Vec<ColumnFormulas>,
    /// Hints at why nothing matched, and the findings of a diagnosis.
    pub hints: Vec<String>,
    /// Sentences on what each side learned; `None` if the run failed.
    pub learned: Option<Learned>,
    /// The same facts in a structured form, with the sides by their roles.
    pub disclosure: Option<Disclosure>,
    /// The seconds from the first message to the last.
    pub seconds: f64,
    /// Bytes sent, including framing but not TLS records.
    pub bytes_sent: u64,
    /// Bytes received, including framing but not TLS records.
    pub bytes_received: u64,
    /// The number of times the direction of traffic changed.
    pub rounds: u64,
    /// The time and bytes of each phase.
    pub phases: Vec<PhaseReport>,
    /// The peak memory of the process, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
}

/// A program and its versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The version of what it sends.
    pub wire_version: u32,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has not ended.
    Running,
    /// It ended with a result.
    Succeeded,
    /// It ended without a result.
    Failed,
}

/// The reason why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureReason {
    /// The side at fault.
    pub class: Class,
    /// The message that the user saw.
    pub reason: String,
}

/// The fingerprints of both sides' identities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Fingerprints {
    /// This side's.
    pub me: Option<String>,
    /// The other side's, as this side expects it.
    pub peer: Option<String>,
}

/// The required security and the security that was provided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SecurityOfRun {
    /// The minimum that the two sides accept.
    pub required: Security,
    /// The security of the protocol that ran; `None` before one was chosen.
    pub provided: Option<&'static str>,
}

/// A rule, and the numbers of this side's keys by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleOfRun {
    /// The rule.
    pub rule: String,
    /// The numbers.
    #[serde(flatten)]
    pub found: RuleFindings,
}

/// The cost of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseReport {
    /// The phase's name.
    pub name: &'static str,
    /// Time spent in it.
    pub seconds: f64,
    /// Bytes sent in it.
    pub bytes_sent: u64,
    /// Bytes received in it.
    pub bytes_received: u64,
}

impl Report {
    /// Returns the report of a run that begins now.
    pub fn begin() -> Self {
        Self {
            report_version: REPORT_VERSION,
            program: Program {
                name: "vesica",
                version: env!("CARGO_PKG_VERSION"),
                wire_version: WIRE_VERSION,
            },
            started: now(),
            ended: None,
            status: Status::Running,
            failure: None,
            unconfirmed: None,
            role: None,
            fingerprints: Fingerprints::default(),
            parties: None,
            terms: None,
            terms_hash: None,
            agreement: None,
            output: None,
            record: None,
            ledger: None,
            input: None,
            rows: None,
            rules: None,
            false_matches: None,
            items: None,
            peer_items: None,
            partitions: None,
            attempts: None,
            protocol: None,
            security: None,
            outcome: Outcome::default(),
            formulas: Vec::new(),
            hints: Vec::new(),
            learned: None,
            disclosure: None,
            seconds: 0.0,
            bytes_sent: 0,
            bytes_received: 0,
            rounds: 0,
            phases: Vec::new(),
            peak_memory_bytes: None,
        }
    }

    /// Sets the parties, once the two sides are connected.
    pub fn set_parties(&mut self, parties: &Parties) {
        self.role = Some(parties.role);
        self.fingerprints.me = Some(parties.me.clone());
        self.fingerprints.peer = Some(parties.peer.clone());
    }

    /// Sets the terms, once the two sides have agreed.
    pub fn set_terms(&mut self, terms: &Terms) {
        self.terms = Some(terms.clone());
        self.terms_hash = Some(terms.hash());
        self.security = Some(SecurityOfRun { required: terms.security(), provided: None });
    }

    /// Sets the numbers of this side's keys by rule.
    pub(crate) fn set_rules(&mut self, findings: &[RuleFindings]) {
        let terms = self.terms.as_ref();
        self.rules = terms.and_then(Terms::rules).map(|terms| {
            let rules = terms.rules().iter().zip(findings);
            rules.map(|(rule, found)| RuleOfRun { rule: rule.clone(), found: *found }).collect()
        });
    }

    /// Sets the protocol that ran.
    pub fn set_protocol(&mut self, key: &'static str, adversary: Adversary) {
        self.protocol = Some(key);
        if let Some(security) = &mut self.security {
            security.provided = Some(adversary.name());
        }
    }

    /// Records what both sides learned. `shown` says whether this side and the other showed what its keys look like.
    ///
    /// # Errors
    /// [`Error::Bug`] before the two sides have agreed.
    pub fn disclose(&mut self, shown: [bool; 2], rules: MatchRules) -> Result<()> {
        let role = self.role.ok_or(Error::bug("a run has two sides"))?;
        let [mine, theirs] = shown;
        let profiles = if role == Role::A { [mine, theirs] } else { [theirs, mine] };
        let disclosure = self.disclosure_of(profiles, rules, Some(&self.outcome))?;
        self.learned = Some(disclosure.said(role));
        self.disclosure = Some(disclosure);
        Ok(())
    }

    /// Returns the disclosure of the run with this outcome, or without an outcome. `profiles` says which side showed
    /// what its keys look like, the connecting one first.
    ///
    /// # Errors
    /// As [`Report::disclose`].
    pub fn disclosure_of(
        &self,
        profiles: [bool; 2],
        rules: MatchRules,
        outcome: Option<&Outcome>,
    ) -> Result<Disclosure> {
        let (Some(role), Some(terms)) = (self.role, &self.terms) else {
            return Err(Error::bug("a run has two sides and terms"));
        };
        let (mine, theirs) = (self.items, self.peer_items);
        let keys = match role {
            Role::A => [mine, theirs],
            Role::B => [theirs, mine],
        };
        let (method, profiles) = (self.protocol, Some(profiles));
        Ok(terms.disclosure(Known { keys, method, outcome, profiles, rules }))
    }

    /// Returns the end of the run, for the record under an agreement with these rules.
    ///
    /// # Errors
    /// [`Error::Bug`] before [`Report::disclose`].
    pub(crate) fn end<'a>(&self, terms: &'a Terms, rules: MatchRules) -> Result<End<'a>> {
        let (Some(role), Some(noted)) = (self.role, self.disclosure.clone()) else {
            return Err(Error::bug("a run that ends has a disclosure"));
        };
        let profiles = [Role::B, Role::A].map(|role| noted.facts(role).contains(&Fact::KeyProfile));
        // Both sides sign the same record, so it holds an outcome only if both learned it.
        let outcome = Some(&self.outcome).filter(|_| terms.both_learn());
        Ok(End {
            role,
            terms,
            shared: self.outcome.shared(),
            counted: self.outcome.counted(),
            noted,
            signed: self.disclosure_of(profiles, rules, outcome)?,
            protocol: self.protocol.unwrap_or_default(),
            security: self.security.and_then(|security| security.provided).unwrap_or_default(),
            partitions: self.partitions.unwrap_or_default(),
        })
    }

    /// Describes in one line, for a log, the facts that the sides learned besides sizes.
    pub fn brief(&self) -> Option<String> {
        let role = self.role?;
        let said = self.disclosure.as_ref()?.brief(role, &Names::of_reader(role));
        Some(said).filter(|said| !said.is_empty())
    }

    /// Copies the meter's figures into the report.
    pub fn set_costs(&mut self, meter: &Meter) {
        let phases = meter.phases();
        self.seconds = phases.iter().map(|phase| phase.time.as_secs_f64()).sum();
        self.bytes_sent = meter.sent();
        self.bytes_received = meter.received();
        self.rounds = meter.rounds();
        self.phases = phases
            .iter()
            .map(|phase| PhaseReport {
                name: phase.name,
                seconds: phase.time.as_secs_f64(),
                bytes_sent: phase.sent,
                bytes_received: phase.received,
            })
            .collect();
        self.peak_memory_bytes = peak_memory();
    }

    /// Marks the run as succeeded.
    pub(crate) fn succeed(&mut self) {
        self.status = Status::Succeeded;
        self.ended = Some(now());
    }

    /// Marks the run as failed: there is no result to report, and the report cannot say what was learned.
    pub fn fail(&mut self, class: Class, reason: String) {
        self.status = Status::Failed;
        self.failure = Some(FailureReason { class, reason });
        self.ended = Some(now());
        (self.outcome, self.learned, self.disclosure) = (Outcome::default(), None, None);
        (self.output, self.record, self.ledger) = (None, None, None);
        self.hints.clear();
        self.formulas.clear();
    }

    /// Returns the report as JSON, followed by a newline.
    ///
    /// # Errors
    /// [`Error::Bug`].
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        Ok(text.map_err(|_| Error::bug("the report has no JSON"))? + "\n")
    }

    /// Writes the report to a file that does not have its name yet.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn stage(&self, path: &Path) -> Result<Staged> {
        let text = self.to_json()?;
        Output::prepare(path, Access::Usual)?.stage(|out| out.write_all(text.as_bytes()))
    }
}

/// Returns the current time, to the second.
fn now() -> String {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    // Years with four digits always have this form.
    now.format(&Rfc3339).unwrap_or_default()
}
