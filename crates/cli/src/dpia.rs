//! `preview --dpia`: a template for a data protection impact assessment, filled from an agreement or a planned run.
//!
//! The facts come from the disclosure of the run; a person fills in the rest, which is in square brackets.

use std::{fmt::Write as _, path::Path};

use vesica::{
    Offer, Role,
    partnership::{Partnership, Party, Policy, Summary},
    report::{Assumption, Disclosure, Fact, Names, Tense, grouped, shown},
    spec,
};
use vesica_net::Fingerprint;
use vesica_params::{KAPPA, LAMBDA};

/// The facts about a planned run.
pub struct Assessed<'a> {
    pub job: &'a spec::Job,
    pub me: Fingerprint,
    pub partnership: Option<&'a Partnership>,
    pub offer: &'a Offer,
    pub summary: &'a Summary,
}

/// A place for a person to fill in.
fn blank(what: &str) -> String {
    format!("[{what}]")
}

/// Returns the sentence with a capital letter and a period.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", rest.as_str())
}

/// Returns a list of sentences in Markdown.
fn list(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().map(|text| format!("- {}\n", sentence(&text))).collect()
}

/// Returns a table in Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}|{}\n{rows}", line(&head.map(str::to_owned)), "---|".repeat(N))
}

impl Assessed<'_> {
    /// Returns the assessment in Markdown.
    pub fn markdown(&self) -> String {
        let title = match self.partnership {
            Some(partnership) => {
                format!("runs under the agreement `{}`", partnership.agreement().name())
            }
            None => "a planned run".to_owned(),
        };
        let parts = [
            ("The processing", self.processing()),
            ("The data", self.data()),
            ("What each side sends", self.sent()),
            ("What each side learns", self.learned()),
            ("What this side keeps", self.kept()),
            ("Limits", self.limits()),
            ("Security measures", self.security()),
            ("Residual risks", self.risks()),
            ("Consultation and sign-off", sign_off()),
        ];
        let mut text = format!(
            "# Data protection impact assessment: {title}\n\nA draft by `vesica preview --dpia`. Text in [square brackets] is \
             for the controller to fill in. The facts come from the terms as this side knows them; the draft is not legal \
             advice.\n"
        );
        for (number, (title, part)) in (1..).zip(parts) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n## {number}. {title}\n\n{}", part.trim_end());
            text.push('\n');
        }
        text
    }

    fn names(&self) -> Names {
        Names::of_reader(self.summary.reader())
    }

    fn processing(&self) -> String {
        let job = &self.job.parties;
        let agreed = self.partnership.and_then(|partnership| partnership.others().only());
        let peer = agreed.map(Party::fingerprint).or(job.peer);
        let peer = peer.map_or_else(|| blank("fingerprint"), |peer| format!("`{peer}`"));
        let partner = job.partner.clone().unwrap_or_else(|| blank("name and address"));
        let agreement = self.partnership.map_or_else(
            || "none: the sides agree on the terms in each run".to_owned(),
            |partnership| {
                let agreement = partnership.agreement();
                let (name, hash) = (agreement.name(), agreement.hash());
                format!("`{name}`, hash `{hash}`, accepted {}", agreement.accepted())
            },
        );
        let role = "[controller of its own table (Art. 4(7) GDPR); state if joint controller (Art. 26) or processor \
                    (Art. 28)]";
        let rows = [
            ["This side".to_owned(), format!("{}, `{}`", blank("name and address"), self.me)],
            ["Role of this side".to_owned(), role.to_owned()],
            ["The other side".to_owned(), format!("{partner}, {peer}")],
            ["Role of the other side".to_owned(), role.to_owned()],
            ["Agreement".to_owned(), agreement],
            ["Question".to_owned(), self.offer.query.describe()],
            [
                "Purpose".to_owned(),
                blank("why the two tables are compared, and the use of the answer"),
            ],
            ["Legal basis".to_owned(), blank("Art. 6, and Art. 9 for special categories")],
            [
                "Necessity".to_owned(),
                blank(
                    "why a weaker answer does not suffice: a count, a sum, noise or a threshold instead of rows",
                ),
            ],
            ["Data protection officers".to_owned(), blank("of both sides")],
        ];
        table(["item", "content"], rows)
    }

    fn data(&self) -> String {
        let columns = self.job.table.key_columns(self.offer.rules.as_ref());
        let columns = columns.unwrap_or_default();
        let kinds = self.offer.keys.iter().map(ToString::to_string);
        let keys = columns.iter().zip(kinds).map(|(column, kind)| {
            let use_of = match &kind[..] {
                "none" => "key, compared byte by byte".to_owned(),
                kind => format!("key, normalised as `{kind}`"),
            };
            [format!("`{column}`"), use_of, blank("category")]
        });
        let disclosure = self.summary.disclosure();
        let received =
            facts_of(&disclosure, self.summary.reader()).iter().filter_map(|fact| match fact {
                Fact::Columns { columns, .. } => Some(match columns.is_empty() {
                    true => "columns of the other side".to_owned(),
                    false => format!("`{}` of the other side", shown(&columns.join("`, `"))),
                }),
                _ => None,
            });
        let received = received
            .map(|columns| [columns, "received for matching rows".to_owned(), blank("category")]);
        let sent = self.offer.sends.iter().flat_map(|sends| &sends.columns);
        let sent = sent.map(|column| {
            [format!("`{column}`"), "sent for matching rows".to_owned(), blank("category")]
        });
        let values = self.job.terms.answer.column.iter();
        let values = values.map(|column| {
            [format!("`{column}`"), "values, never sent in the clear".to_owned(), blank("category")]
        });
        let rows = keys.chain(sent).chain(values).chain(received);
        let input = self.job.table.input.as_deref().map_or("", |path| path.to_str().unwrap_or(""));
        format!(
            "{}\nThe table of this side is `{input}`. Other columns stay on this side, and are in the output only for its own \
             rows. The other side may have at most {} keys. Data subjects: {}; their number: {}.\n",
            table(["column", "use", "category of personal data"], rows),
            grouped(self.offer.max_peer_rows),
            blank("customers, patients …"),
            blank("of each side"),
        )
    }

    fn sent(&self) -> String {
        let disclosure = self.summary.disclosure();
        let is_insecure =
            disclosure.assuming.iter().any(|known| matches!(known, Assumption::Insecure { .. }));
        let keys = match is_insecure {
            true => {
                "digests of the keys, from which the receiver can find out every key that it can guess"
            }
            false => {
                "messages of the protocol that are computed from the keys, and reveal no more than section 4 says"
            }
        };
        let mut sent = vec![
            "its fingerprint, and the terms".to_owned(),
            "the number of its keys".to_owned(),
            keys.to_owned(),
        ];
        if let Some(sends) = &self.offer.sends {
            let columns = sends.columns.join("`, `");
            sent.push(format!(
                "this side only: the values of `{columns}`, padded to {} bytes a row and encrypted, so that only \
                 matching rows' values can be read",
                sends.bytes
            ));
        }
        if self.offer.diagnose {
            sent.push("coarse shares of keys with certain features, for the diagnosis".to_owned());
        }
        format!("Each side sends to the other, and to nobody else:\n\n{}", list(sent))
    }

    fn learned(&self) -> String {
        let (disclosure, names, reader) =
            (self.summary.disclosure(), self.names(), self.summary.reader());
        let sides = [reader, reader.other()];
        let mut said: Vec<_> =
            sides.map(|side| disclosure.sentence(side, &names, Tense::Future)).to_vec();
        let secrets = disclosure.secrets();
        if !secrets.is_empty() {
            said.push(format!("neither side will learn {}", secrets.join(", or ")));
        }
        list(said)
    }

    fn kept(&self) -> String {
        let job = self.job;
        let path = |path: &Path| format!("`{}`", path.display());
        let retention = || blank("period, and who deletes it");
        let file = |what: &str, place: Option<String>, holds: &str| {
            Some([format!("{what}: {}", place?), holds.to_owned(), retention()])
        };
        let under = self.partnership.is_some();
        let ledger = job.ledger().filter(|_| under);
        let rows = [
            file(
                "result",
                job.outputs.output.as_deref().map(path),
                "the rows, the number or the shares; personal data of this side's own table, and sent columns",
            ),
            file(
                "ledger",
                ledger.as_deref().map(path),
                "times, sizes and outcomes of all runs, and a sketch of each set, to compare it with later ones; no keys",
            ),
            file(
                "record",
                job.parties.record.as_deref().map(path),
                "the terms, sizes and disclosure of a run, signed by both sides; no keys",
            ),
            file(
                "report",
                job.messages.report.as_deref().map(path),
                "sizes, times and the disclosure of a run; no keys",
            ),
            file(
                "journal",
                job.resources.resume.as_deref().map(path),
                "the state of a run, encrypted; removed when both sides have their results",
            ),
        ];
        let other = [
            "the other side's copies".to_owned(),
            "its result, ledger and record".to_owned(),
            blank("period, agreed in the contract"),
        ];
        let rows = rows.into_iter().flatten().chain([other]);
        format!(
            "{}\nOtherwise keys are only in the memory of the process; keys that do not fit into it are in encrypted \
             temporary files without a name.\n",
            table(["file", "content", "retention"], rows)
        )
    }

    fn limits(&self) -> String {
        list(self.summary.clauses())
    }

    fn security(&self) -> String {
        let protocol = match self.offer.protocol.as_deref() {
            Some(protocol) => format!("the protocol `{protocol}`"),
            None => "a recommended protocol, which the program chooses".to_owned(),
        };
        let security = self.offer.security.name();
        let mut said = vec![
            format!("the sets are compared by {protocol}, secure against {security} parties"),
            format!(
                "a protocol fails with a probability of at most 2^-{LAMBDA} per run (λ = {LAMBDA}), and attacks on it take \
                 about 2^{KAPPA} steps (κ = {KAPPA})"
            ),
            "the connection is encrypted and authenticated on both sides (TLS 1.3), by fingerprints that the parties \
             exchanged"
                .to_owned(),
            "no third party takes part in the computation".to_owned(),
        ];
        if self.partnership.is_some() {
            said.push("the agreement is signed by both sides, and each program refuses a run that it does not permit".to_owned());
            said.push("both sides sign a record of each run, and a ledger that cannot be changed unnoticed lists all".to_owned());
        }
        let assumptions = self.summary.disclosure().assumptions(&self.names(), Tense::Future);
        said.push(blank("access to the machine, the identity file and the results; backups; logs"));
        format!(
            "{}\nAll of this holds under these assumptions:\n\n{}",
            list(said),
            list(assumptions)
        )
    }

    fn risks(&self) -> String {
        let disclosure = self.summary.disclosure();
        let policy = self.policy();
        let learners = [Role::A, Role::B].map(|role| facts_of(&disclosure, role));
        let has = |wanted: fn(&Fact) -> bool| learners.iter().any(|facts| facts.iter().any(wanted));
        let mut rows = Vec::new();
        let mut risk = |risk: &str, measure: String| {
            rows.push([risk.to_owned(), measure, blank("likelihood and severity")]);
        };
        if has(|fact| matches!(fact, Fact::Matches { .. } | Fact::MatchingRows { .. })) {
            risk(
                "Membership: for each match, a side learns that the person is in the other table too.",
                "Inform the data subjects, or ask for a number instead of rows.".to_owned(),
            );
        }
        if has(|fact| matches!(fact, Fact::Number { .. } | Fact::SharedKeys)) {
            let measure =
                match (self.offer.noise, self.offer.minimum.max(policy.min_result.unwrap_or(0))) {
                    (Some(_), _) => "Noise hides any single key.".to_owned(),
                    (None, 0) if self.offer.rules.is_some() => {
                        "None: consider --min-result.".to_owned()
                    }
                    (None, 0) => "None: consider --min-result or --epsilon.".to_owned(),
                    (None, least) => {
                        format!("Nothing is revealed if fewer than {} are shared.", grouped(least))
                    }
                };
            risk(
                "Small numbers: an exact number about few people reveals much about each.",
                measure,
            );
        }
        let measure = match (policy.min_change, policy.max_runs.or(policy.max_runs_per_day)) {
            (Some(keys), _) => format!(
                "A set must differ from earlier ones by {} keys, or be equal.",
                grouped(keys)
            ),
            (None, Some(_)) => "The number of runs is limited.".to_owned(),
            (None, None) => "None: consider --min-change and --max-runs.".to_owned(),
        };
        risk(
            "Differencing: the results of two runs whose sets differ by a few people expose these people.",
            measure,
        );
        risk(
            "Guessable keys: a side can put telephone numbers or e-mail addresses that it guessed into its table, and \
             learns the result for them.",
            match policy.max_result {
                Some(most) => format!("A run reveals at most {} matches.", grouped(most)),
                None => "Only the contract forbids it; `vesica check` warns of guessable keys. Consider --max-result.".to_owned(),
            },
        );
        risk(
            "Sizes: each side learns how many keys the other has.",
            match policy.min_set {
                Some(least) => format!("Each set has at least {} keys.", grouped(least)),
                None => "None.".to_owned(),
            },
        );
        if self.offer.diagnose {
            risk(
                "Diagnosis: a profile of the keys is revealed.",
                "It has coarse shares only.".to_owned(),
            );
        }
        if disclosure.assuming.iter().any(|known| matches!(known, Assumption::Insecure { .. })) {
            risk(
                "The protocol is insecure: the other side can find out each key that it can guess.",
                "None: do not use it for personal data.".to_owned(),
            );
        }
        risk(
            "The result: it is personal data where it is kept, and may be combined with other data.",
            blank("purpose limitation, access and deletion at both sides"),
        );
        table(["risk", "measure", "assessment"], rows)
    }

    /// Returns the limits of the agreement, and of this side.
    fn policy(&self) -> Policy {
        let own = self.job.limits.policy();
        let agreed = self.partnership.map(|p| p.agreement().policy().clone());
        let agreed = agreed.unwrap_or_default();
        Policy {
            min_set: own.min_set.max(agreed.min_set),
            min_result: own.min_result.max(agreed.min_result),
            max_result: own.max_result.into_iter().chain(agreed.max_result).min(),
            max_runs: own.max_runs.into_iter().chain(agreed.max_runs).min(),
            max_runs_per_day: own.max_runs_per_day.into_iter().chain(agreed.max_runs_per_day).min(),
            min_change: own.min_change.max(agreed.min_change),
            ..Policy::default()
        }
    }
}

/// Returns the facts that a side learns.
fn facts_of(disclosure: &Disclosure, role: Role) -> &[Fact] {
    match role {
        Role::A => &disclosure.a,
        Role::B => &disclosure.b,
    }
}

fn sign_off() -> String {
    let rows = ["Controller", "Data protection officer", "Information security"]
        .map(|who| [who.to_owned(), blank("opinion"), blank("name"), blank("date")]);
    format!(
        "{}\nData subjects or their representatives were consulted: {}. Next review: {}.\n",
        table(["role", "opinion", "name", "date"], rows),
        blank("yes, how; or why not"),
        blank("date; at the latest when the agreement is renewed")
    )
}
