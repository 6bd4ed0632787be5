//! Rows with a shared key.

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::{counted, grouped},
};
use vesica_keyset::{
    key_number::KeyNumber,
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, CATALOGUE, DigestLength, Items, Protocol, Receiver, Sender, Setting, Status, reveal,
};
use vesica_table::{output::Access, written::Numbering};

use crate::{
    aligned::matched,
    by_rules::LinkedRows,
    disclosure::{Fact, Scenario, Secret},
    gather::{ByPartitions, End, FoundPieces, PreparedMethod},
    interface::{
        Call, Content, Context, Found, Gather, Method, Part, Party, PartyKeys, Randomness, Request,
        Reveal, RevealStep, Task, Telling, Unrevealed,
    },
    outcome::Outcome,
    piece::{RowsLayout, RowsPiece},
    query::{Form, Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules, Values},
    row_pieces,
};

impl Query {
    /// This side's rows whose key the other side has too.
    pub const ROWS: Self = Self { kind: &KIND, body: QueryBody::Nothing };
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
    body: QueryBodyForm::Nothing,
    takes_columns: false,
    takes_identifiers: true,
    takes_rules: Some(RowsByRules::Shown),
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
            let message = "a query for rows takes no minimum; only counts and sums do";
            return Err(Error::usage(Misuse::Query, message));
        }
        Ok(())
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        CATALOGUE.iter().map(|protocol| Box::new(*protocol) as Box<dyn Method>).collect()
    }

    fn activity(&self) -> &'static str {
        "intersecting"
    }

    fn facts(&self, scenario: &Scenario, learner: Role) -> Vec<Fact> {
        let several = (scenario.identifiers > 1).then(|| match &scenario.rules[..] {
            [] => Fact::Identifiers,
            rules => Fact::Rules { rules: rules.to_vec() },
        });
        [scenario.matches(learner)].into_iter().chain(several).collect()
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let of_rules = scenario.secret_keys();
        of_rules.into_iter().chain([Secret::AllColumns]).collect()
    }

    fn telling(&self) -> Option<&dyn Telling> {
        Some(self)
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let of = matching(outcome.matches?, outcome, context);
        let rows = outcome.rows_written.map(|rows| (context.written)(counted(rows, "row")));
        Some([Some(of), rows].into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

impl Telling for Rows {
    fn tell(
        &self,
        found: &Found,
        keys: PartyKeys<'_>,
        call: &Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let Some(Content::Rows(matched)) = &found.content else {
            return Err(Error::bug("a side that shows its rows has some"));
        };
        let mut tell = |items: Items<'_>, positions: Vec<u32>, rng: &mut dyn CryptoRng| {
            let shared = items.at(&positions);
            let told = reveal::tell(shared.items(), call.request.setting(), channel, rng);
            told.map_err(|error| Error::of_protocol(error, channel))
        };
        match keys {
            PartyKeys::Whole(items, set) => {
                tell(items, row_pieces::positions(&matched.rows, set, |row| row), rng)
            }
            PartyKeys::Parts(partitions) => (0..partitions.count()).try_for_each(|number| {
                let Partition { set, items, rows, .. } = partitions.load(number, rng)?;
                let positions = row_pieces::positions(&matched.rows, &set, |row| rows.row(row));
                tell(items.items(), positions, rng)
            }),
        }
    }

    fn learn(
        &self,
        keys: PartyKeys<'_>,
        call: &Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Found> {
        match keys {
            PartyKeys::Whole(items, set) => {
                let learned = reveal::learn(items, call.request.setting(), channel);
                let matches = learned.map_err(|error| Error::of_protocol(error, channel))?;
                let rows = matched(&matches, call.numbering, items, set);
                let outcome = Outcome {
                    matches: Some(matches.len() as u64),
                    rows_written: Some(rows.rows.len() as u64),
                    ..Outcome::default()
                };
                Ok(Found { outcome, content: Some(Content::Rows(rows)) })
            }
            PartyKeys::Parts(partitions) => {
                let mut all = row_pieces::Gathered::new(call);
                for number in 0..partitions.count() {
                    let partition = partitions.load(number, rng)?;
                    all.add(row_pieces::learn(&partition, call, channel)?);
                }
                Ok(all.found())
            }
        }
    }
}

/// Describes the number of matching keys, in all and by identifier or rule if there are several.
pub(super) fn matching(matches: u64, outcome: &Outcome, context: &Context<'_>) -> String {
    let of = format!("{} of {} match", grouped(matches), counted(context.keys, "key"));
    match &outcome.matches_of_identifiers {
        Some(counts) => {
            let kind = if outcome.rows_of_rules.is_some() { "rule" } else { "identifier" };
            format!("{of} ({})", by_kind(counts, kind))
        }
        None => of,
    }
}

/// Describes the number of matching keys of each identifier or rule.
fn by_kind(counts: &[u64], kind: &str) -> String {
    let counts = counts.iter().enumerate();
    let of = |(i, count): (usize, &u64)| format!("{} of {kind} {}", grouped(*count), i + 1);
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

    fn splits(&self) -> bool {
        Protocol::splits(self)
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        let intersection = Intersecting { protocol: self, call: call.clone() };
        self.splits().then(|| Box::new(intersection) as Box<dyn Gather>)
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        (self.limits)(request.sizes).map_err(|limit| {
            Difference::of_both("sizes of the sets", format!("`{}` takes {limit}", self.key))
        })?;
        Ok(Candidate::protocol(self, request.setting()))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        Ok(Box::new(PreparedMethod::new(Intersecting { protocol: self, call }, channel, rng)?))
    }
}

/// A PSI protocol in a run.
#[derive(Clone)]
struct Intersecting {
    protocol: &'static Protocol,
    call: Call,
}

type RowEnds = End<Box<Sender>, Box<Receiver>>;

impl RowEnds {
    /// Returns the positions, ascending, of this side's keys that the other side has too; `None` for the sender.
    fn matches(
        self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<Vec<u32>>> {
        match self {
            Self::Sender(party) => {
                party.run(items, channel, rng)?;
                channel.flush()?;
                Ok(None)
            }
            Self::Receiver(party) => Ok(Some(party.run(items, channel, rng)?)),
        }
    }
}

/// Reveals the receiver's matches to the sender.
fn reveal(
    matches: &mut Option<Vec<u32>>,
    items: Items<'_>,
    setting: Setting,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> vesica_psi::Result<()> {
    match matches {
        Some(matches) => reveal::tell(items.at(matches).items(), setting, channel, rng)?,
        None => *matches = Some(reveal::learn(items, setting, channel)?),
    }
    Ok(())
}

impl Party for PreparedMethod<Intersecting> {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Self { method: Intersecting { call, .. }, party } = *self;
        let setting = call.request.setting();
        let mut matches = party.matches(items, channel, rng)?;
        let shared = matches.as_ref().map(|matches| match call.numbering {
            Some(Numbering::Rules) => LinkedRows::of(matches, set).len(),
            _ => matches.len() as u64,
        });
        let reveal: RevealStep<'a> = Box::new(move |channel, rng| {
            if call.sides.both_learn() {
                let revealed = reveal(&mut matches, items, setting, channel, rng);
                revealed.map_err(|error| Error::of_protocol(error, channel))?;
            }
            let count = matches.as_ref().map(|matches| matches.len() as u64);
            let several = matches.as_ref().filter(|_| call.sides.identifiers > 1);
            let matches_of_identifiers =
                several.map(|matches| set.keys_of_identifiers(KeyNumber::at_all(matches)));
            let mut outcome =
                Outcome { matches: count, matches_of_identifiers, ..Outcome::default() };
            let rows = matches.map(|matches| match call.numbering {
                Some(Numbering::Rules) => {
                    let linked = LinkedRows::of(&matches, set);
                    linked.count(call.sides.identifiers, &mut outcome);
                    linked.into_matched(call.wanted)
                }
                numbering => matched(&matches, numbering, items, set),
            });
            outcome.rows_written = rows.as_ref().map(|rows| rows.rows.len() as u64);
            Ok(Found { outcome, content: rows.map(Content::Rows) })
        });
        Ok(Unrevealed { shared, reveal })
    }
}

impl ByPartitions for Intersecting {
    type Party = RowEnds;
    type Piece = RowsPiece;

    fn layout(&self) -> RowsLayout {
        RowsLayout::of(&self.call, self.protocol.digest)
    }

    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<RowEnds> {
        let Self { protocol, call } = self;
        let intersection = protocol.on(call.request.setting())?;
        Ok(match call.receives() {
            true => End::Receiver(intersection.receiver(channel, rng)?),
            false => End::Sender(intersection.sender(channel, rng)?),
        })
    }

    fn run(
        &self,
        party: RowEnds,
        partition: &Partition,
        when: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<RowsPiece>> {
        let call = &self.call;
        let items = partition.items.items();
        let mut matches = party.matches(items, channel, rng)?;
        let both = call.sides.both_learn();
        if both && when == Reveal::WithPartition {
            reveal(&mut matches, items, call.request.setting(), channel, rng)?;
        }
        let is_revealed = !both || when == Reveal::WithPartition;
        Ok(matches.map(|matches| row_pieces::piece(&matches, call, partition, is_revealed)))
    }

    fn add_up<'a>(
        self,
        pieces: FoundPieces<RowsPiece>,
        partitions: Option<&'a Partitions>,
        _: &mut Channel,
        _: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let Self { call, .. } = self;
        let shared = row_pieces::matches(&pieces, &call)?;
        let reveal: RevealStep<'a> = Box::new(move |channel, rng| {
            if call.receives() && call.sides.both_learn() {
                row_pieces::reveal(&pieces, &call, channel, rng)?;
            }
            let mut all = row_pieces::Gathered::new(&call);
            for (number, piece) in pieces.iter().enumerate() {
                match piece? {
                    Some(piece) => all.add(piece),
                    None if call.sides.i_learn => {
                        let partitions = partitions.ok_or(Error::bug("partitions are kept"))?;
                        let partition = partitions.load(number, rng)?;
                        all.add(row_pieces::learn(&partition, &call, channel)?);
                    }
                    None => {}
                }
            }
            Ok(all.found())
        });
        Ok(Unrevealed { shared, reveal })
    }
}
