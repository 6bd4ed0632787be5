//! The rows whose key both sides have.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{Adversary, CATALOGUE, DigestLength, Items, Protocol, Status, reveal};
use zeroize::Zeroizing;

use crate::{
    difference::Difference,
    error::{Error, Result},
    keys::{keyset::KeySet, partitions::Partition},
    table::{output::Access, pieces::Pieces, written::Matched},
    task::{
        aligned::aligned,
        interface::{
            Call, Content, Context, Found, Gather, Method, Part, PartitionParty, Party, Request,
            Task,
        },
        learned::{FOLLOWING, Learned, Side, Sides},
        outcome::Outcome,
        query::{Form, Query, QueryKind, ResultForm, Values},
    },
    words::{counted, grouped},
};

impl Query {
    /// This side's rows whose key the other side has too.
    pub const ROWS: Self = Self { kind: &KIND, number: 0 };
}

/// The query for rows.
pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "rows",
    word: "rows",
    form: Some(Form {
        names: "rows",
        help: "rows: this side's rows whose key the other side has too",
    }),
    values: Values::None,
    takes_number: false,
    takes_columns: false,
    takes_identifiers: true,
    takes_order: true,
    is_told: true,
    keeps_rows: true,
    access: Access::Usual,
    result: ResultForm::Rows,
    task: &Rows,
};

struct Rows;

impl Task for Rows {
    fn check(&self, part: &Part) -> Result<()> {
        if part.minimum > 0 {
            let message = "rows cannot be held back by a minimum; it is for counts and sums";
            return Err(Error::Usage(message.to_owned()));
        }
        Ok(())
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        CATALOGUE.iter().map(|protocol| Box::new(*protocol) as Box<dyn Method>).collect()
    }

    fn activity(&self) -> &'static str {
        "intersecting"
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let matches = outcome.matches?;
        let of = format!("{} of {} match", grouped(matches), counted(context.keys, "key"));
        let of = match &outcome.matches_of_identifiers {
            Some(counts) => format!("{of} ({})", by_identifier(counts)),
            None => of,
        };
        let rows = outcome.rows_written.map(|rows| (context.written)(counted(rows, "row")));
        Some([Some(of), rows].into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

/// How many keys of each identifier match.
fn by_identifier(counts: &[u64]) -> String {
    let counts = counts.iter().enumerate();
    let of = |(i, count): (usize, &u64)| format!("{} of identifier {}", grouped(*count), i + 1);
    counts.map(of).collect::<Vec<_>>().join(", ")
}

impl Method for &'static Protocol {
    fn key(&self) -> &'static str {
        self.key
    }

    fn status(&self) -> Status {
        self.status
    }

    fn adversary(&self) -> Adversary {
        self.adversary
    }

    fn item_length(&self) -> DigestLength {
        self.digest
    }

    /// Of the recommended protocols the length of tags is all that results depend on.
    fn splits(&self) -> bool {
        self.status == Status::Recommended
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        let by_partitions = ByPartitions { protocol: self, call: call.clone() };
        self.splits().then(|| Box::new(by_partitions) as Box<dyn Gather>)
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        (self.limits)(request.sizes).map_err(|limit| {
            Difference::of_both("sizes of the sets", format!("`{}` takes {limit}", self.key))
        })?;
        Ok(Candidate::protocol(self, request.sizes))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        Ok(Box::new(Intersecting::prepare(self, call, channel, rng)?))
    }
}

/// A party of a PSI protocol.
struct Intersecting {
    protocol: &'static Protocol,
    call: Call,
    end: End,
}

enum End {
    Sender(Box<dyn vesica_psi::Sender>),
    Receiver(Box<dyn vesica_psi::Receiver>),
}

impl Intersecting {
    fn prepare(
        protocol: &'static Protocol,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Self> {
        let setting = call.request.setting();
        let end = match call.receives() {
            true => End::Receiver(vesica_psi::receiver_for(protocol, setting, channel, rng)?),
            false => End::Sender(vesica_psi::sender_for(protocol, setting, channel, rng)?),
        };
        Ok(Self { protocol, call, end })
    }
}

impl Party for Intersecting {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        set: &KeySet,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Found> {
        let Self { protocol, call, end } = *self;
        let matches = end.matches(&call, items, channel, rng)?;
        let count = matches.as_ref().map(|matches| matches.len() as u64);
        let several = matches.as_ref().filter(|_| call.sides.identifiers > 1);
        let matches_of_identifiers = several.map(|matches| set.keys_of_identifiers(matches));
        let rows = matches.map(|matches| match call.aligned {
            true => aligned(&matches, items, set),
            false => Matched { rows: set.rows_of(&matches), ..Matched::default() },
        });
        let outcome = Outcome {
            matches: count,
            matches_of_identifiers,
            rows_written: rows.as_ref().map(|rows| rows.rows.len() as u64),
            ..Outcome::default()
        };
        let learned = learned(call.sides, protocol, count);
        Ok(Found { outcome, learned, content: rows.map(Content::Rows) })
    }
}

impl End {
    /// The positions, ascending, of this side's keys that the other side has too; `None` where this side does not
    /// learn them.
    fn matches(
        self,
        call: &Call,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<Vec<u32>>> {
        let (setting, both) = (call.request.setting(), call.sides.both_learn());
        match self {
            Self::Sender(party) => {
                party.send(items, channel, rng)?;
                channel.flush()?;
                both.then(|| reveal::learn(items, setting, channel)).transpose()
            }
            Self::Receiver(party) => {
                let matches = party.receive(items, channel, rng)?;
                if both {
                    reveal::tell(items.at(&matches).items(), setting, channel, rng)?;
                }
                Ok(Some(matches))
            }
        }
    }
}

impl PartitionParty for Intersecting {
    /// The number of matches, how many of them are of each identifier, the rows, and the numbers of their matches; or nothing
    /// where this side does not learn them.
    fn run(
        self: Box<Self>,
        partition: &Partition,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Zeroizing<Vec<u8>>> {
        let Self { call, end, .. } = *self;
        let Partition { set, items, rows } = partition;
        let items = items.items();
        let Some(matches) = end.matches(&call, items, channel, rng)? else {
            return Ok(Zeroizing::default());
        };
        let mut of_identifiers = vec![0u64; call.sides.identifiers];
        let identifiers = rows.identifiers_of(set, &matches);
        identifiers.into_iter().for_each(|identifier| of_identifiers[identifier] += 1);
        let matched = match call.aligned {
            true => aligned(&matches, items, set),
            false => Matched { rows: set.rows_of(&matches), ..Matched::default() },
        };
        let matched_rows = matched.rows.iter().map(|row| rows.row(*row));
        let numbers = [matches.len() as u64].into_iter().chain(of_identifiers);
        let numbers = numbers.chain(matched_rows).chain(matched.ids.into_iter().flatten());
        Ok(Zeroizing::new(numbers.flat_map(u64::to_le_bytes).collect()))
    }
}

/// A protocol on sets in partitions.
struct ByPartitions {
    protocol: &'static Protocol,
    call: Call,
}

impl Gather for ByPartitions {
    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn PartitionParty>> {
        Ok(Box::new(Intersecting::prepare(self.protocol, self.call.clone(), channel, rng)?))
    }

    fn finish(
        self: Box<Self>,
        pieces: Pieces,
        _: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Found> {
        let Self { protocol, call: Call { sides, aligned, .. } } = *self;
        let mut all = Gathered::new(sides.identifiers, aligned);
        for piece in pieces.iter() {
            all.add(&piece?).ok_or(Error::Bug("a piece that is not of rows"))?;
        }
        let Gathered { matches, of_identifiers, mut rows, ids } = all;
        if ids.is_none() {
            rows.sort_unstable();
            // A row may match by several of its identifiers.
            rows.dedup();
        }
        let several = matches.filter(|_| sides.identifiers > 1);
        let outcome = Outcome {
            matches,
            matches_of_identifiers: several.map(|_| of_identifiers),
            rows_written: matches.map(|_| rows.len() as u64),
            ..Outcome::default()
        };
        let content = matches.map(|_| Content::Rows(Matched { rows, ids, received: None }));
        Ok(Found { outcome, learned: learned(sides, protocol, matches), content })
    }
}

/// What was found in the partitions so far.
struct Gathered {
    matches: Option<u64>,
    /// How many of them are of each identifier.
    of_identifiers: Vec<u64>,
    rows: Vec<u64>,
    /// Where matches are numbered, the number of each row.
    ids: Option<Vec<u64>>,
}

impl Gathered {
    fn new(identifiers: usize, aligned: bool) -> Self {
        let of_identifiers = vec![0; identifiers];
        Self { matches: None, of_identifiers, rows: Vec::new(), ids: aligned.then(Vec::new) }
    }

    /// Takes what was found in the next partition; `None` for bytes that say nothing.
    fn add(&mut self, piece: &[u8]) -> Option<()> {
        let (numbers, rest) = piece.as_chunks();
        if piece.is_empty() || !rest.is_empty() {
            return piece.is_empty().then_some(());
        }
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let before = self.matches.unwrap_or_default();
        self.matches = Some(before + numbers.next()?);
        for of_identifier in &mut self.of_identifiers {
            *of_identifier += numbers.next()?;
        }
        let Some(ids) = &mut self.ids else {
            self.rows.extend(numbers);
            return Some(());
        };
        let rows = numbers.len() / 2;
        self.rows.extend(numbers.by_ref().take(rows));
        ids.extend(numbers.map(|id| id + before));
        (ids.len() == self.rows.len()).then_some(())
    }
}

/// What both sides learned. `matches` is the number of matching keys, where this side knows it.
pub(crate) fn learned(sides: Sides, protocol: &Protocol, matches: Option<u64>) -> Learned {
    let assuming = match protocol.adversary {
        Adversary::None => insecure(protocol.key, sides.receiver),
        Adversary::SemiHonest => FOLLOWING.to_owned(),
        Adversary::MaliciousSender => malicious_sender(sides.receiver),
        Adversary::Malicious => malicious(&sides),
    };
    sides.learned(assuming, |side| facts(&sides, side, matches))
}

/// What a side learned of the matching keys.
pub(crate) fn facts(sides: &Sides, side: Side, matches: Option<u64>) -> Vec<String> {
    let other = side.other().name();
    let of = grouped(sides.keys(side));
    let found = matches.map(|n| format!(" ({} of {of})", grouped(n))).unwrap_or_default();
    let rows = format!("which of its keys {other} has too{found}");
    let by = || "by which of its identifiers each row matches".to_owned();
    match (sides.learns(side), sides.identifiers) {
        (false, _) => vec![],
        (true, 1) => vec![rows],
        (true, _) => vec![rows, by()],
    }
}

fn insecure(protocol: &str, receiver: Side) -> String {
    format!(
        "Nothing enforces this: `{protocol}` is insecure and for measurements only. {} can find out each key \
         of {} that it can guess.",
        receiver.capital(),
        receiver.other().name()
    )
}

fn malicious_sender(receiver: Side) -> String {
    format!(
        "This holds whatever {} does, if {} follows the protocol (security against a malicious sender).",
        receiver.other().name(),
        receiver.name()
    )
}

fn malicious(sides: &Sides) -> String {
    let receiver = sides.receiver;
    let (one, other) = (receiver.name(), receiver.other().name());
    let capital = receiver.capital();
    let mut text = format!(
        "This holds even if a side deviates from the protocol (malicious security), but {one} may then \
         have used somewhat more keys than it announced."
    );
    if sides.both_learn() {
        text += &format!(
            " {capital} learned first and told {other}: if it deviated, it may have left out matches, \
             and learned whether {other} has all keys of a further list."
        );
    }
    text
}
