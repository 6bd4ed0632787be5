//! The arguments of a call, as the façade has them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use pyo3::prelude::*;
use vesica::{
    Error, Job, Learns, Misuse, Noise, Normalize, Offer, Query, Result, Security, Source, Way,
    files::{
        Delimiter, Destination, Dialect, Duplicates, Format, JournalSecret, KeyColumn,
        MatchedTable, NullValues, Nulls, PlannerInputs, Protected, Resume, SentColumns, figures,
    },
    partnership::{Partnership, Policy, Signed},
    report::ResultForm,
};
use vesica_net::{Fingerprint, Proxy};

use crate::{identity::Identity, local::LocalEnd};

/// How a table is read and which of its columns make up the key: what every call names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Keys {
    /// The columns of each identifier.
    key: Vec<Vec<String>>,
    normalize: Vec<String>,
    null_values: Option<Vec<String>>,
    format: Option<String>,
    delimiter: String,
    query: Option<String>,
}

/// What is to be found out, and who learns it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    pub answer: String,
    learns: Option<String>,
    security: String,
    protocol: Option<String>,
    minimum: u64,
    epsilon: Option<String>,
    clamp: Option<u64>,
    scale: u8,
}

/// The rest of a run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rest {
    send: Option<Vec<String>>,
    send_bytes: u32,
    receive: bool,
    align: bool,
    left: bool,
    select: Option<Vec<String>>,
    nulls: String,
    duplicates: String,
    send_rows: u32,
    allow_empty: bool,
    max_peer_rows: u64,
    allow_research: bool,
    diagnose: bool,
    output: Option<PathBuf>,
    report: Option<PathBuf>,
    record: Option<PathBuf>,
    ledger: Option<PathBuf>,
    spill: Option<PathBuf>,
    resume: Option<PathBuf>,
    bandwidth: Option<u64>,
    memory: Option<u64>,
    partitions: u32,
    threads: usize,
    wait: f64,
    stall_timeout: f64,
    deadline: f64,
}

/// The other side, and how to reach it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Partner {
    fingerprint: Option<String>,
    agreement: Option<PathBuf>,
    connect: Option<String>,
    listen: Option<String>,
    relay: Option<String>,
    exchange: Option<PathBuf>,
    proxy: Option<String>,
    pub local: Option<Py<LocalEnd>>,
    identity: Option<Py<Identity>>,
}

/// A run that is ready to begin.
pub struct Run {
    pub job: Job,
    /// Where matched rows will be, if they go to memory.
    pub rows: MatchedTable,
    pub other: Other,
    /// How long to wait for the other side to appear.
    pub wait: Duration,
    pub stall: Duration,
    pub deadline: Duration,
}

/// The other side.
pub enum Other {
    /// An end in this process.
    Local(Py<LocalEnd>),
    /// A party elsewhere.
    Remote { me: Arc<vesica_net::Identity>, peer: Fingerprint, way: Way, proxy: Option<Proxy> },
}

fn usage<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::usage(Misuse::Argument, message.into()))
}

/// The one of `all` that has this name.
fn named<T: Copy>(what: &str, wanted: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|one| name(*one) == wanted).map_or_else(
        || {
            let all: Vec<_> = all.iter().map(|one| name(*one)).collect();
            usage(format!("`{wanted}` is no {what}; there are {}", all.join(", ")))
        },
        Ok,
    )
}

impl Keys {
    /// The table that is read.
    pub fn source(&self, source: Source) -> Result<Source> {
        source.with_query(self.query.clone())
    }

    pub fn dialect(&self) -> Result<Dialect> {
        Ok(Dialect { format: self.format()?, delimiter: self.delimiter()?, ..Dialect::default() })
    }

    fn format(&self) -> Result<Option<Format>> {
        let format = self.format.as_deref();
        format.map(|name| named("format", name, &Format::ALL, Format::name)).transpose()
    }

    fn delimiter(&self) -> Result<Delimiter> {
        named("delimiter", &self.delimiter, &Delimiter::ALL, Delimiter::name)
    }

    /// The names of all key columns.
    fn columns(&self) -> Vec<String> {
        self.key.concat()
    }

    /// How many columns each identifier has; empty where there is one.
    pub fn identifiers(&self) -> Vec<u8> {
        // A key with more columns than this is refused for their number.
        let columns = self.key.iter().map(|names| names.len().min(u8::MAX.into()) as u8);
        if self.key.len() > 1 { columns.collect() } else { Vec::new() }
    }

    fn profiles(&self) -> Result<Vec<Normalize>> {
        let columns = self.columns().len();
        if self.normalize.len() != 1 && self.normalize.len() != columns {
            return usage(format!(
                "normalize names {} profiles for {columns} key columns; name one for all, or one each",
                self.normalize.len()
            ));
        }
        let profiles = self.normalize.iter().cycle().take(columns);
        let parse = |name: &String| {
            name.parse().map_err(|said| {
                Error::usage(Misuse::Argument, format!("normalize `{name}`: {said}"))
            })
        };
        profiles.map(parse).collect()
    }

    pub fn key_columns(&self) -> Result<Vec<KeyColumn>> {
        let named = self.columns().into_iter().zip(self.profiles()?);
        Ok(named.map(|(name, normalize)| KeyColumn { name, normalize }).collect())
    }

    pub fn null_values(&self) -> Result<NullValues> {
        match &self.null_values {
            Some(values) => Ok(NullValues::new(values)?),
            None => Ok(NullValues::default()),
        }
    }
}

impl Asked {
    /// The query, and this side's column of values.
    pub fn query(&self) -> Result<(Query, Option<String>)> {
        Query::parse(&self.answer, |number| number.parse().ok())
            .map_err(|said| Error::usage(Misuse::Argument, said))
    }

    /// What is offered about keys with these profiles.
    pub fn offer(&self, profiles: Vec<Normalize>) -> Result<Offer> {
        let learns = match self.learns.as_deref() {
            Some("me") => Learns::Me,
            Some("peer") => Learns::Peer,
            Some("both") => Learns::Both,
            Some("nobody") => Learns::Nobody,
            Some(other) => {
                return usage(format!("learns is me, peer, both or nobody, not `{other}`"));
            }
            None => {
                return usage("say who learns the result, with learns: me, peer, both or nobody");
            }
        };
        let (query, values) = self.query()?;
        let mut offer = Offer::new(profiles, learns);
        let levels = [Security::SemiHonest, Security::Malicious];
        offer.security = named("security", &self.security, &levels, Security::name)?;
        offer.protocol = self.protocol.clone();
        offer.query = query;
        offer.brings_values = values.is_some();
        offer.minimum = self.minimum;
        let epsilon = self
            .epsilon
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|said| Error::usage(Misuse::Argument, said))?;
        offer.noise = epsilon.map(|epsilon| Noise { epsilon, clamp: self.clamp });
        offer.scale = self.scale;
        Ok(offer)
    }
}

impl Partner {
    /// The agreement and everything that goes with it, if the run is under one.
    fn partnership(&self, rest: &Rest) -> Result<Option<Partnership>> {
        let Some(file) = &self.agreement else {
            return match rest.ledger.is_some() || rest.record.is_some() {
                true => usage("a ledger and a record are for runs under an agreement"),
                false => Ok(None),
            };
        };
        let failed = |fault: String| usage(format!("{}: {fault}", file.display()));
        let agreement = match std::fs::read_to_string(file) {
            Ok(text) => match Signed::from_file(&text) {
                Ok(agreement) => agreement,
                Err(error) => return failed(error.to_string()),
            },
            Err(error) => return failed(format!("the agreement cannot be read: {error}")),
        };
        let ledger = rest.ledger.clone().unwrap_or_else(|| file.with_file_name("vesica.ledger"));
        let mut partnership = Partnership::new(self.me()?, agreement, ledger, Policy::default())?;
        partnership.file = Some(file.clone());
        partnership.record.clone_from(&rest.record);
        Ok(Some(partnership))
    }

    fn me(&self) -> Result<Arc<vesica_net::Identity>> {
        match &self.identity {
            Some(identity) => Ok(identity.get().0.clone()),
            None => usage("say who this side is, with identity"),
        }
    }

    /// The other side, by what is named or else by the agreement.
    fn other(&self, partnership: Option<&Partnership>) -> Result<Other> {
        if let Some(local) = &self.local {
            return Ok(Other::Local(Python::attach(|py| local.clone_ref(py))));
        }
        let me = self.me()?;
        let peer = match (partnership, &self.fingerprint) {
            (Some(partnership), _) => partnership.peer().fingerprint(),
            (None, Some(text)) => match text.parse() {
                Ok(fingerprint) => fingerprint,
                Err(error) => return usage(format!("the partner's fingerprint: {error}")),
            },
            (None, None) => return usage("say who the partner is, by its fingerprint"),
        };
        let agreed = || Way::agreed(partnership?.agreement().document(), me.fingerprint());
        let ways = [
            self.connect.clone().map(Way::Connect),
            self.listen.clone().map(Way::Listen),
            self.relay.clone().map(Way::Relay),
            self.exchange.clone().map(|folder| Way::Exchange { folder, role: None }),
        ];
        let mut named = ways.into_iter().flatten();
        let way = match (named.next(), named.next()) {
            (Some(_), Some(_)) => {
                return usage("a partner is reached in one way; several are named");
            }
            (Some(way), None) => way,
            (None, _) => match agreed() {
                Some(way) => way,
                None => {
                    return usage(
                        "say how to reach the partner: with connect, listen, relay or exchange",
                    );
                }
            },
        };
        let proxy = self.proxy.as_deref().map(str::parse).transpose();
        let proxy =
            proxy.map_err(|error: &str| Error::usage(Misuse::Argument, error.to_owned()))?;
        Ok(Other::Remote { me, peer, way, proxy })
    }
}

/// Makes ready to run what a call asks for.
///
/// # Errors
/// [`Error::Usage`] where that makes no sense, and what reading files of this side meets.
pub fn run(
    source: Source,
    (keys, asked, rest): (&Keys, &Asked, Rest),
    partner: &Partner,
) -> Result<Run> {
    let partnership = partner.partnership(&rest)?;
    let other = partner.other(partnership.as_ref())?;
    let (query, values) = asked.query()?;
    let offer = match &partnership {
        Some(partnership) => agreed(partnership, keys, (query, values.is_some()))?,
        None => offered(keys, asked, &rest)?,
    };
    let rows = MatchedTable::default();
    let output = match &rest.output {
        _ if offer.learns == Learns::Peer => None,
        Some(path) => Some(Destination::Path(path.clone())),
        None if offer.query.result_form() == ResultForm::Rows => {
            Some(Destination::Memory(rows.clone()))
        }
        None => None,
    };
    let resume = match (&rest.resume, &other) {
        (None, _) => None,
        (Some(journal), Other::Remote { me, .. }) => {
            Some(Resume { journal: journal.clone(), secret: JournalSecret::of(me) })
        }
        (Some(_), Other::Local(_)) => return usage("a run in one process is not resumed"),
    };
    let job = Job {
        format: keys.format()?,
        delimiter: keys.delimiter()?,
        spill: rest.spill,
        resume,
        values,
        nulls: match &*rest.nulls {
            "skip" => Nulls::Skip,
            "error" => Nulls::Error,
            other => return usage(format!("nulls is skip or error, not `{other}`")),
        },
        duplicates: match &*rest.duplicates {
            "first" => Duplicates::First,
            "error" => Duplicates::Error,
            "all" => Duplicates::All,
            other => {
                return usage(format!("duplicates is first, error or a number, not `{other}`"));
            }
        },
        allow_empty: rest.allow_empty,
        output,
        select: rest.select,
        unmatched: rest.left,
        report: rest.report,
        protected: vesica::files::figures_file()
            .map(|path| Protected::new("the calibration", path))
            .into_iter()
            .collect(),
        threads: rest.threads,
        planner: PlannerInputs {
            figures: figures()?,
            bits_per_second: rest.bandwidth,
            memory: rest.memory,
            partitions: rest.partitions,
        },
        partnership,
        ..Job::new(keys.source(source)?, keys.columns(), offer)
    };
    let [wait, stall, deadline] = [rest.wait, rest.stall_timeout, rest.deadline].map(seconds);
    Ok(Run { job, rows, other, wait: wait?, stall: stall?, deadline: deadline? })
}

/// What is offered without an agreement.
///
/// # Errors
/// [`Error::Usage`] where that makes no sense.
pub fn offered(keys: &Keys, asked: &Asked, rest: &Rest) -> Result<Offer> {
    let mut offer = asked.offer(keys.profiles()?)?;
    offer.identifiers = keys.identifiers();
    offer.null_values = keys.null_values()?;
    offer.max_peer_rows = rest.max_peer_rows;
    offer.allow_research = rest.allow_research;
    offer.diagnose = rest.diagnose;
    offer.align = rest.align;
    if rest.send.is_some() || rest.receive {
        offer.query = Query::JOIN;
    }
    offer.sends = rest.send.clone().map(|columns| SentColumns {
        columns,
        bytes: rest.send_bytes,
        rows: rest.send_rows,
    });
    Ok(offer)
}

/// What is offered under an agreement, which settles everything but the names of columns.
fn agreed(partnership: &Partnership, keys: &Keys, (query, brings): (Query, bool)) -> Result<Offer> {
    let offer = partnership.offer()?;
    if keys.columns().len() != offer.keys.len() || keys.identifiers() != offer.identifiers {
        return usage(format!(
            "the agreement compares keys of {} columns, and key names {}",
            offer.keys.len(),
            keys.columns().len()
        ));
    }
    let is_named = query != Query::ROWS || brings;
    if is_named && query != offer.query || offer.brings_values != brings {
        let brings = if offer.brings_values { "a column of values" } else { "no values" };
        return usage(format!(
            "under the agreement the answer is {}, and this side brings {brings}",
            offer.query.describe()
        ));
    }
    Ok(offer)
}

/// A time for which somebody might wait.
fn seconds(seconds: f64) -> Result<Duration> {
    const LONGEST: f64 = 30.0 * 86400.0;
    match (0.1..=LONGEST).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => usage("a time is a number of seconds from 0.1 to 2592000"),
    }
}
