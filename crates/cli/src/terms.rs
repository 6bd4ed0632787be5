//! The terms that this side offers.

use vesica::{
    Epsilon, Learns, Noise, Normalize, Offer, Query, Security,
    files::{DEFAULT_BYTES, Duplicates, NullValues, SentColumns},
    report::counted,
};

use crate::{
    columns::{self, Names},
    exit::Failure,
    heading, numbers,
};

use clap::ValueEnum;

/// What both sides have to agree on.
#[derive(clap::Args)]
#[command(mut_args = heading::placed)]
pub struct TermsArgs {
    /// How keys are made comparable: one profile for all columns, or one a column with commas between them; both sides
    /// must agree. none: bytes as they are; trim: Unicode NFC, no white space around; lower: and lower case; text: and
    /// single spaces, full case folding; email, email:plain (without the rules of gmail.com); phone:CC, by the
    /// country CC where a number does not begin with +; date:%d.%m.%Y, or date for ISO dates; number; name;
    /// postcode:CC; sha256:PROFILE where the other side has digests and says hashed:PROFILE. See docs/keys.md
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = normalize)]
    pub normalize: Vec<Normalize>,
    /// Values that count as empty in key columns that are normalised, whatever their case, with commas between them; the
    /// same on both sides. '' for none [default: NULL, NA, N/A, none, unknown, - and others like them]
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    null_values: Option<Names>,
    /// Join: send these columns of matching rows to the other side, which says --receive and learns. Of several rows
    /// with one key the first is sent, unless --duplicates says otherwise. docs/joins.md says what each side learns
    #[arg(long, value_name = "COLS", value_parser = columns::key, conflicts_with_all = ["receive", "answer"])]
    send: Option<Names>,
    /// With --send: bytes that a row's values are padded to, two more for each value than it is long. The other side
    /// receives so many for each key
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BYTES, requires = "send")]
    send_bytes: u32,
    /// Join: add the columns that the other side sends to this side's matched rows
    #[arg(long, conflicts_with = "answer")]
    receive: bool,
    /// Write the matched rows of both sides in one order, with the number of the match in a first column `match_id`, so
    /// that the two outputs fit together. Both sides must ask for it and learn; see docs/joins.md
    #[arg(long, conflicts_with_all = ["send", "receive"])]
    align: bool,
    /// Decimal places of the values for sums, products and shares, the same on both sides: with 2, a value may be
    /// 12.50. A sum has as many, a sum of products twice as many
    #[arg(long, default_value_t = 0, value_name = "PLACES", value_parser = clap::value_parser!(u8).range(0..=18))]
    scale: u8,
    /// For numbers: if fewer keys than this are shared, tell nothing else; the larger minimum of the two sides applies
    #[arg(long, default_value = "0", value_name = "N", hide_default_value = true, value_parser = numbers::number)]
    minimum: u64,
    /// For counts and sums, the same on both sides: add noise that hides any single key, as differential privacy with this
    /// ε, for example 0.5. Nobody learns the number without it; see docs/noise.md
    #[arg(long, value_name = "E", conflicts_with = "minimum")]
    epsilon: Option<Epsilon>,
    /// With --epsilon, for sums: the largest magnitude with which the value of a key counts, a whole number
    #[arg(long, value_name = "N", requires = "epsilon", value_parser = numbers::number)]
    clamp: Option<u64>,
    /// Who learns the result
    #[arg(long, value_enum)]
    pub learns: Option<Who>,
    /// A protocol of `vesica protocols`, or auto: the recommended one that the other side names, or the one that
    /// `vesica plan` would choose for the sizes and the round trip. One that is not recommended must be named on both
    /// sides
    #[arg(long, default_value = "auto", value_name = "NAME")]
    protocol: String,
    /// The least security accepted; the stricter of the two sides applies
    #[arg(long, default_value = "semi-honest", value_parser = security, value_name = "LEVEL")]
    security: Security,
    /// If the other side passes this too, compare what the keys look like, in coarse shares (white space, case, length),
    /// to learn why nothing matches; docs/diagnose.md says exactly what this reveals
    #[arg(long)]
    diagnose: bool,
    /// The most distinct keys the other side may bring
    #[arg(long, default_value = "100,000,000", value_name = "N", value_parser = numbers::number)]
    max_peer_rows: u64,
    /// Allow protocols that are not for real data; both sides must
    #[arg(long)]
    allow_research: bool,
}

/// Who learns the result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// This side alone
    Me,
    /// The other side alone
    Peer,
    /// Both sides
    Both,
    /// Neither: with shares
    Nobody,
}

impl From<Who> for Learns {
    fn from(who: Who) -> Self {
        match who {
            Who::Me => Self::Me,
            Who::Peer => Self::Peer,
            Who::Both => Self::Both,
            Who::Nobody => Self::Nobody,
        }
    }
}

impl TermsArgs {
    /// The offer to the other side about keys of these columns, with this to be found out. Of rows that repeat a key so many
    /// are sent.
    pub fn offer(&self, key: &[Names], answer: &QueryArg, rows: u32) -> Result<Offer, Failure> {
        let Some(learns) = self.learns else {
            return Err(Failure::usage("say who learns the result with --learns"));
        };
        let (names, identifiers) = columns::identifiers(key);
        let mut offer = Offer::new(profiles(names.len(), &self.normalize)?, learns.into());
        offer.protocol = Some(self.protocol.clone()).filter(|name| name != "auto");
        offer.security = self.security;
        offer.identifiers = identifiers;
        offer.max_peer_rows = self.max_peer_rows;
        offer.allow_research = self.allow_research;
        let joins = self.send.is_some() || self.receive;
        offer.query = if joins { Query::JOIN } else { answer.query };
        offer.sends = self.sent(rows);
        offer.align = self.align;
        offer.brings_values = answer.column.is_some();
        offer.minimum = self.minimum;
        offer.noise = self.epsilon.map(|epsilon| Noise { epsilon, clamp: self.clamp });
        offer.scale = self.scale;
        offer.diagnose = self.diagnose;
        offer.null_values = self.null_values()?;
        Ok(offer)
    }

    /// The values that count as empty.
    pub fn null_values(&self) -> Result<NullValues, Failure> {
        null_values(self.null_values.as_ref())
    }

    /// The columns that this side sends.
    pub fn sent(&self, rows: u32) -> Option<SentColumns> {
        let Names(columns) = self.send.clone()?;
        Some(SentColumns { columns, bytes: self.send_bytes, rows })
    }
}

/// The values that count as empty: those that are named, or the default ones.
pub fn null_values(named: Option<&Names>) -> Result<NullValues, Failure> {
    match named {
        Some(Names(values)) => Ok(NullValues::new(values).map_err(vesica::Error::from)?),
        None => Ok(NullValues::default()),
    }
}

/// The normalisation of each of so many key columns, of which one is named for all or one each.
pub fn profiles(columns: usize, normalize: &[Normalize]) -> Result<Vec<Normalize>, Failure> {
    if normalize.len() != 1 && normalize.len() != columns {
        return Err(Failure::usage(format!(
            "--normalize names {}, and the key has {}: name one for all, or one each",
            counted(normalize.len() as u64, "profile"),
            counted(columns as u64, "column")
        )));
    }
    Ok(normalize.iter().cycle().take(columns).cloned().collect())
}

pub fn normalize(name: &str) -> Result<Normalize, String> {
    name.parse()
}

/// What to find out, and this side's part in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryArg {
    /// The query, the same on both sides.
    pub query: Query,
    /// This side's column of values.
    pub column: Option<String>,
}

/// Reads `rows`, `sum:COL`, `threshold:K` and so on.
pub fn query(text: &str) -> Result<QueryArg, String> {
    let (query, column) = Query::parse(text, numbers::whole)?;
    Ok(QueryArg { query, column })
}

/// What `--answer` takes.
pub fn query_help() -> String {
    format!("What to find out, the same on both sides. {}", Query::help())
}

/// What becomes of rows that repeat a key, and how many of them are sent.
pub fn duplicates(text: &str) -> Result<(Duplicates, u32), String> {
    let most = |text: &str| text.parse().ok().filter(|rows| *rows > 0);
    match (text, text.strip_prefix("all:").map(most)) {
        ("first", _) => Ok((Duplicates::First, 1)),
        ("error", _) => Ok((Duplicates::Error, 1)),
        (_, Some(Some(rows))) => Ok((Duplicates::All, rows)),
        (_, Some(None)) => Err("all:N takes a whole number of rows, at least 1".to_owned()),
        ("all", _) => Err("say how many rows of one key are sent at most, as in all:3".to_owned()),
        _ => Err("possible values: first, error, all:N".to_owned()),
    }
}

pub fn security(name: &str) -> Result<Security, String> {
    choice(name, [Security::SemiHonest, Security::Malicious], Security::name)
}

/// The one of `all` that has this name.
pub fn choice<T: Copy, const N: usize>(
    wanted: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.into_iter()
        .find(|one| name(*one) == wanted)
        .ok_or_else(|| format!("possible values: {}", all.map(name).join(", ")))
}
