//! Conversion of a specification into a run.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use vesica_agree::{choice::PlannerInputs, offer::Offer, rule_terms::RuleTerms};
use vesica_core::{
    error,
    parties::{Learns, Role},
};
use vesica_keyset::linked::AmbiguousKeys;
use vesica_net::{Fingerprint, Identity};
use vesica_normalize::normalize::Normalize;
use vesica_partner::{
    any_agreement::AnyAgreement, partnership::Partnership, party::Party, policy::Policy,
    summary::Summary,
};
use vesica_planner::Figures;
use vesica_run::{
    job,
    journal::{JournalSecret, Resume},
    meet::Way,
    seat::Seat,
};
use vesica_select::{Declared, Keys, Select, Side};
use vesica_table::{
    destination::Destination,
    sent_columns::SentColumns,
    source::{Delimiter, Dialect, Source},
    target::Protected,
};
use vesica_task::{
    noise::Noise,
    query::{Query, ResultForm},
    select::QueryTable,
};

use crate::{
    Answer, Error, Fault, Job, Join, Limits, Result, Stamp, Table, Terms, job::WAYS, rules,
};

/// The default name of a ledger.
pub const LEDGER: &str = "vesica.ledger";

/// The parts of a job that its specification does not contain.
#[derive(Debug, Default)]
pub struct Around {
    /// The table, unless it is the one that `input` names.
    pub source: Option<Source>,
    /// The identity of this side, which encrypts a journal. A run without an identity is not resumed.
    pub identity: Option<Arc<Identity>>,
    /// The agreement, from [`Job::partnership`].
    pub partnership: Option<Partnership>,
    /// The place of this party in a run among several, from [`Job::seat`].
    pub seat: Option<Seat>,
    /// The figures of this machine, for choosing a protocol.
    pub figures: Figures,
    /// Files that no result may replace.
    pub protected: Vec<Protected>,
    /// Whether the memory of the job is a part of this process's, in which other runs have parts of their own.
    pub shares_memory: bool,
    /// The destination of matched rows if `output` names none.
    pub rows: Option<Destination>,
    /// The destination of a number if `output` names none. The report has the number in any case.
    pub number: Option<Destination>,
}

impl Table {
    /// Returns the dialect in which the table is read.
    pub fn dialect(&self) -> Dialect {
        Dialect { format: self.format, delimiter: self.delimiter(), ..Dialect::default() }
    }

    /// Returns the delimiter that is named, or that the name of the table implies.
    pub fn delimiter(&self) -> Delimiter {
        let of_name = || self.input.as_deref().map(Delimiter::of_name);
        self.delimiter.or_else(of_name).unwrap_or_default()
    }

    /// Returns the table that is read: `source`, or else the table of `input`, or the rows of the query there.
    ///
    /// # Errors
    /// [`Error::File`] if the query cannot be read, and [`Error::Run`] if the table takes no query.
    pub fn source(&self, source: Option<Source>) -> Result<Source> {
        queried(
            source,
            self.input.as_deref(),
            self.input_query.as_deref(),
            self.input_query_file.as_deref(),
        )
    }
}

pub(crate) fn queried(
    source: Option<Source>,
    input: Option<&Path>,
    query: Option<&str>,
    query_file: Option<&Path>,
) -> Result<Source> {
    let source = source.or_else(|| input.map(Source::from_path));
    let source =
        source.ok_or(Fault::Missing { options: &["input"], purpose: "which table to read" })?;
    let query = match query_file {
        Some(file) => Some(read_query(file)?),
        None => query.map(str::to_owned),
    };
    Ok(source.with_query(query)?)
}

/// Reads the text of a query in a file.
fn read_query(file: &Path) -> Result<String, error::Error> {
    fs::read_to_string(file).map_err(|error| {
        let message = format!("{}: the query cannot be read: {error}", file.display());
        error::Error::usage(error::Misuse::Argument, message)
    })
}

impl Limits {
    /// Returns the limits as a policy.
    pub fn policy(&self) -> Policy {
        Policy {
            min_set: self.min_set,
            min_parties: self.min_parties,
            min_result: self.min_result,
            threshold_first: self.threshold_first,
            max_result: self.max_result,
            max_result_total: self.max_result_total,
            min_cell: self.min_cell,
            max_cells: self.max_cells,
            max_false: self.max_false,
            epsilon_total: self.epsilon_total,
            max_runs_per_day: self.max_runs_per_day,
            max_runs: self.max_runs,
            max_attempts: self.max_attempts,
            min_change: self.min_change,
            hours: self.hours,
            expires: self.expires,
        }
    }
}

impl Terms {
    /// Creates the offer to the other side for keys of this table. At most `rows` rows per key are sent. `side` is
    /// this side's table in a query, unless the terms name it.
    ///
    /// # Errors
    /// [`Fault::Missing`], [`Fault::Profiles`] and [`Fault::Requires`]; [`Error::Run`] if the query cannot be read.
    pub fn offer(&self, table: &Table, rows: u32, side: Option<Side>) -> Result<Offer> {
        let missing = Fault::Missing { options: &["learns"], purpose: "who learns the result" };
        let learns = self.learns.ok_or(missing)?;
        let (names, identifiers) = identifiers(&table.key);
        let mut offer = match (&self.r#match[..], &table.field[..]) {
            ([], []) => Offer::new(profiles(names.len(), &self.normalize)?, learns),
            ([], _) => return Err(Fault::Requires { option: "field", other: "match" }.into()),
            (texts, _) => {
                let rules = table.rules(texts)?;
                let profiles = rules.fields().iter().map(|field| field.normalize().clone());
                let rules = Some(RuleTerms::of(&rules, AmbiguousKeys::default()));
                Offer { rules, ..Offer::new(profiles.collect(), learns) }
            }
        };
        let Answer { query, column } = &self.answer;
        offer.protocol.clone_from(&self.protocol);
        offer.security = self.security;
        offer.identifiers = identifiers;
        offer.max_peer_rows = self.max_peer_rows;
        offer.allow_research = self.allow_research;
        offer.query = if self.send.is_some() || self.receive { Query::JOIN } else { query.clone() };
        self.ask(&mut offer, side)?;
        offer.rules = offer.rules.map(|rules| rules.in_query(offer.query.kind));
        offer.sends = self.sent(rows);
        offer.align = self.align;
        offer.brings_values = column.is_some();
        offer.minimum = self.minimum;
        offer.noise = self.epsilon.map(|epsilon| Noise { epsilon, clamp: self.clamp });
        offer.scale = self.scale;
        offer.diagnose = self.diagnose;
        offer.null_values = self.null_values.clone().unwrap_or_default();
        Ok(offer)
    }

    /// Sets the query over both tables in an offer, if there is one, and this side's table in it: `side` unless the
    /// terms name it.
    ///
    /// # Errors
    /// [`Fault::Missing`] and [`Fault::Requires`]; [`Error::Run`] if the query cannot be read.
    pub fn ask(&self, offer: &mut Offer, side: Option<Side>) -> Result<()> {
        if let Some(select) = self.asked()? {
            let purpose = "which table of the query is this side's";
            let missing = Fault::Missing { options: &["query-side"], purpose };
            let side = self.query_side.or(side).ok_or(missing)?;
            offer.query = Query::select(select);
            offer.table = Some(QueryTable { side, declared: Some(self.declared()?) });
        } else if let Some(option) = self.declares() {
            return Err(Fault::Requires { option, other: "query" }.into());
        }
        Ok(())
    }

    /// Returns the option that declares something of this side's table in a query, if one does.
    pub(crate) fn declares(&self) -> Option<&'static str> {
        let columns = (!self.column.is_empty()).then_some("column");
        self.repeated_keys.then_some("repeated-keys").or(columns)
    }

    /// Returns the query over both tables, if there is one.
    pub(crate) fn asked(&self) -> Result<Option<Select>> {
        let Some(file) = &self.query_file else { return Ok(self.query.clone()) };
        let text = read_query(file)?;
        let parsed = text.parse().map_err(|error: vesica_select::Error| {
            let message = format!("{}: {error}", file.display());
            error::Error::usage(error::Misuse::Query, message)
        });
        Ok(Some(parsed?))
    }

    /// Returns the columns that this side declares for a query.
    ///
    /// # Errors
    /// [`Error::Run`] if a column is declared twice.
    pub fn declared(&self) -> Result<Declared> {
        let keys = if self.repeated_keys { Keys::Repeats } else { Keys::Unique };
        let declared = Declared::new(self.column.clone(), keys)
            .map_err(|error| error::Error::usage(error::Misuse::Query, error.to_string()));
        Ok(declared?)
    }

    /// Returns the columns that this side sends, with at most this number of rows per key.
    pub fn sent(&self, rows: u32) -> Option<SentColumns> {
        let columns = self.send.clone()?;
        Some(SentColumns { columns, bytes: self.send_bytes, rows })
    }
}

impl Job {
    /// Reads the agreement, if the job names one.
    ///
    /// # Errors
    /// [`Error::File`], also for an agreement with a different hash than in the job.
    pub fn agreement(&self) -> Result<Option<AnyAgreement>> {
        let file = self.parties.agreement.as_deref();
        file.map(|file| read_agreement(file, self.parties.agreement_hash.as_deref())).transpose()
    }

    /// Binds the job to its agreement, if it names one. The identity is loaded only in that case.
    ///
    /// # Errors
    /// As [`Job::agreement`]; [`Fault::Requires`] for options that require an agreement, and [`Error::Run`] if the
    /// agreement is between other parties.
    pub fn partnership<E: From<Error>>(
        &self,
        me: impl FnOnce() -> Result<Arc<Identity>, E>,
    ) -> Result<Option<Partnership>, E> {
        let Some(agreement) = self.agreement()? else {
            self.alone()?;
            return Ok(None);
        };
        let (ledger, file) = (self.ledger(), self.parties.agreement.clone());
        let own = self.limits.policy();
        let partnership = Partnership::new(me()?, agreement, ledger.unwrap_or_default(), own);
        let mut partnership = partnership.map_err(Error::from)?;
        partnership.file = file;
        partnership.record.clone_from(&self.parties.record);
        Ok(Some(partnership))
    }

    /// Returns the ledger of the runs under the agreement.
    pub fn ledger(&self) -> Option<PathBuf> {
        let beside = || Some(self.parties.agreement.as_deref()?.with_file_name(LEDGER));
        self.parties.ledger.clone().or_else(beside)
    }

    /// Refuses options that are only for runs under an agreement.
    fn alone(&self) -> Result<()> {
        let written = crate::Options::written(self);
        let limits = <Limits as crate::Options>::described().into_iter().map(|known| known.name);
        let mut all = rules::UNDER_AGREEMENT.iter().copied().chain(limits);
        match all.find(|name| written.contains_key(*name)) {
            Some(option) => Err(Fault::Requires { option, other: "agreement" }.into()),
            None => Ok(()),
        }
    }

    /// Returns the other party, from the agreement or else from `peer`.
    ///
    /// # Errors
    /// [`Fault::Missing`] if no party is named, and [`Fault::Unfit`] if it is this side itself.
    pub fn peer(&self, me: Fingerprint, partnership: Option<&Partnership>) -> Result<Fingerprint> {
        let agreed = partnership.map(|partnership| partnership.peer("a run with --peer is for"));
        let agreed = agreed.transpose()?.map(Party::fingerprint);
        let missing = Fault::Missing { options: &["peer"], purpose: "who the other side is" };
        match agreed.or(self.parties.peer).ok_or(missing)? {
            peer if peer == me => {
                let why = "is this side's own fingerprint: name the other party's";
                Err(Fault::Unfit { option: "peer", why }.into())
            }
            peer => Ok(peer),
        }
    }

    /// Returns the way to reach the other side, from the job or else from the agreement.
    ///
    /// # Errors
    /// [`Fault::Missing`] if neither names one.
    pub fn way(&self, me: Fingerprint, partnership: Option<&Partnership>) -> Result<Way> {
        let connection = &self.connection;
        let folder = connection.exchange_dir.clone();
        let exchange = folder.map(|folder| Way::Exchange { folder, role: connection.side });
        let way = connection.connect.clone().map(Way::Connect);
        let way = way.or_else(|| connection.listen.clone().map(Way::Listen));
        let way = way.or_else(|| connection.relay.clone().map(Way::Relay)).or(exchange);
        let agreed = || Way::agreed(partnership?.agreement().pair()?.document(), me);
        let missing = Fault::Missing { options: WAYS, purpose: "how to reach the other side" };
        Ok(way.or_else(agreed).ok_or(missing)?)
    }

    /// Returns this side's table in a query by the way to the other side: the side that connects has the first one.
    fn query_side(&self) -> Option<Side> {
        let connects = self.connection.connect.as_ref().map(|_| Side::A);
        connects.or_else(|| self.connection.listen.as_ref().map(|_| Side::B))
    }

    /// Creates the offer to the other side.
    ///
    /// # Errors
    /// As [`Terms::offer`]; [`Fault::KeyColumns`] and [`Fault::AgreedAnswer`] for a job that does not match its
    /// agreement.
    pub fn offer(&self, partnership: Option<&Partnership>) -> Result<Offer> {
        let Some(partnership) = partnership else {
            let rows = self.table.duplicates.rows;
            return self.terms.offer(&self.table, rows, self.query_side());
        };
        let offer = partnership.offer()?;
        let (names, identifiers) = identifiers(&self.table.key);
        if let Some(rules) = &offer.rules {
            self.check_fields(rules, &offer.keys)?;
        } else if names.len() != offer.keys.len() || identifiers != offer.identifiers {
            let (agreed, named) = (offer.keys.len(), names.len());
            return Err(Fault::KeyColumns { agreed, named }.into());
        }
        let Answer { query, column } = &self.terms.answer;
        let is_named = *query != Query::ROWS || column.is_some();
        if is_named && *query != offer.query || offer.brings_values != column.is_some() {
            let (answer, brings_values) = (offer.query.describe(), offer.brings_values);
            return Err(Fault::AgreedAnswer { answer, brings_values }.into());
        }
        Ok(offer)
    }

    /// Refuses fields that do not fit the agreed rules.
    fn check_fields(&self, rules: &RuleTerms, agreed: &[Normalize]) -> Result<()> {
        if !self.table.key.is_empty() {
            let why = "names key columns, and under the agreement rules make the keys: name their fields with --field";
            return Err(Fault::Unfit { option: "key", why }.into());
        }
        self.table.key_columns(Some(rules))?;
        if self.table.profiles_of_fields(rules.fields(), agreed) != agreed {
            let why = "has another normalisation than the agreement: leave it out";
            return Err(Fault::Unfit { option: "field", why }.into());
        }
        Ok(())
    }

    /// Returns the disclosures of such a run, without contacting anyone.
    ///
    /// # Errors
    /// As [`Job::offer`].
    pub fn summary(&self, partnership: Option<&Partnership>) -> Result<Summary> {
        Ok(match partnership {
            Some(partnership) => partnership.summary()?,
            None => {
                let role = if self.connection.listen.is_some() { Role::B } else { Role::A };
                Summary::of_offer(&self.offer(None)?, role)?
            }
        })
    }

    /// Puts the stamp of a run into the paths of its results.
    pub fn stamp(&mut self, stamp: &Stamp) {
        let results =
            [&mut self.outputs.output, &mut self.messages.report, &mut self.parties.record];
        results.into_iter().flatten().for_each(|path| *path = stamp.path(path));
    }

    /// Turns the specification into a run.
    ///
    /// # Errors
    /// As [`Job::offer`] and [`Table::source`]; [`Fault::Missing`] if the result has no destination.
    pub fn to_run(&self, around: Around) -> Result<job::Job> {
        let offer = match &around.seat {
            Some(seat) => self.offer_among(seat, around.partnership.as_ref())?,
            None => self.offer(around.partnership.as_ref())?,
        };
        let columns = self.table.key_columns(offer.rules.as_ref())?;
        let form = offer.query.result_form();
        if self.outputs.select.is_some() && form != ResultForm::Rows {
            let why = "requires a run for rows";
            return Err(Fault::Unfit { option: "select", why }.into());
        }
        let missing = |purpose| Fault::Missing { options: &["output"], purpose };
        let output = match (&self.outputs.output, form) {
            _ if offer.learns == Learns::Peer => None,
            (Some(path), _) => Some(Destination::Path(path.clone())),
            (None, ResultForm::Rows) => {
                Some(around.rows.ok_or(missing("where the matched rows go"))?)
            }
            (None, ResultForm::File) => return Err(missing("where the shares go").into()),
            (None, ResultForm::Line) => around.number,
            (None, ResultForm::Table) => around.number.or(around.rows),
        };
        let resume = match (&self.resources.resume, &around.identity) {
            (None, _) => None,
            (Some(journal), Some(me)) => {
                Some(Resume { journal: journal.clone(), secret: JournalSecret::of(me) })
            }
            (Some(_), None) => {
                let why = "requires an identity";
                return Err(Fault::Unfit { option: "resume", why }.into());
            }
        };
        Ok(job::Job {
            format: self.table.format,
            delimiter: self.table.delimiter(),
            spill: self.resources.spill.clone(),
            resume,
            pad_keys: self.table.pad_keys,
            min_rule: self.outputs.min_rule,
            values: self.terms.answer.column.clone(),
            nulls: self.table.nulls,
            duplicates: self.table.duplicates.how,
            allow_empty: self.table.allow_empty,
            output,
            select: self.outputs.select.clone(),
            unmatched: self.outputs.join == Join::Left,
            formulas: self.outputs.formulas,
            report: self.messages.report.clone(),
            protected: around.protected,
            threads: self.resources.threads,
            planner: PlannerInputs {
                figures: around.figures,
                bits_per_second: self.connection.bandwidth,
                memory: self.resources.memory,
                is_part: around.shares_memory,
                partitions: self.resources.partitions,
            },
            partnership: around.partnership,
            seat: around.seat,
            ..job::Job::new(self.table.source(around.source)?, columns, offer)
        })
    }
}

/// Reads the agreement in a file. It must have this hash, if one is given.
///
/// # Errors
/// [`Error::File`].
pub fn read_agreement(file: &Path, hash: Option<&str>) -> Result<AnyAgreement> {
    let failed = |fault: String| Error::File { path: file.to_owned(), fault };
    let text = fs::read_to_string(file).map_err(|error| {
        failed(match error.kind() {
            std::io::ErrorKind::NotFound => {
                "the agreement does not exist yet; create it from the other side's reply, or from the parts of \
                 several parties: `vesica confirm FILE`"
                    .to_owned()
            }
            _ => format!("the agreement cannot be read: {error}"),
        })
    })?;
    let found = AnyAgreement::from_file(&text).map_err(|error| failed(error.to_string()))?;
    match hash.is_none_or(|hash| hash == found.hash()) {
        true => Ok(found),
        false => {
            let parties = found.parties().into_iter().map(|party| party.fingerprint().to_string());
            Err(failed(format!(
                "the job is for a different agreement than the one in this file, which is between {}; restore the right \
                 one or change `agreement-hash` of the job to {}",
                parties.collect::<Vec<_>>().join(" and "),
                found.hash()
            )))
        }
    }
}

/// Returns the columns of all identifiers, and the number of columns of each; no numbers if there is one identifier.
pub fn identifiers(key: &[Vec<String>]) -> (Vec<String>, Vec<u8>) {
    // A key with more columns than this is refused for their number.
    let columns = key.iter().map(|names| names.len().min(u8::MAX.into()) as u8);
    (key.concat(), if key.len() > 1 { columns.collect() } else { Vec::new() })
}

/// Returns the profile of each of this number of key columns, one for all or one each.
///
/// # Errors
/// [`Fault::Profiles`].
pub fn profiles(columns: usize, normalize: &[Normalize]) -> Result<Vec<Normalize>, Fault> {
    if normalize.len() != 1 && normalize.len() != columns {
        return Err(Fault::Profiles { profiles: normalize.len(), columns });
    }
    Ok(normalize.iter().cycle().take(columns).cloned().collect())
}
