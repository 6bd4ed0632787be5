//! Rows with a shared key, with columns from the other side.
//!
//! One side sends and learns nothing, the other learns and receives. [`sent_columns`](vesica_table::sent_columns)
//! describes a payload. Of several rows with the same key, the sender sends the first one, or as many as the terms
//! allow; each of the receiver's rows is written once for each of them.
//!
//! By rules, a payload is the token of a row and its columns, and rows are linked one to one.
//!
//! A payload that cannot be read leaves its columns empty and is counted. It does not end the run, so that a malicious
//! sender does not see that its key matched.

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::counted,
};
use vesica_keyset::{
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, CATALOGUE, DigestLength, Items, Protocol, Status,
    payload::{Carrying, Opened, Receiver, ReceiverInput, Sender, SenderInput},
};
use vesica_table::output::Access;

use crate::{
    disclosure::{Fact, Scenario, Secret},
    gather::{ByPartitions, End, FoundPieces, PreparedMethod},
    interface::{
        Call, Context, Found, Gather, Method, Part, Party, Randomness, Request, Reveal, Task,
        Unrevealed,
    },
    join_pieces, joined,
    outcome::Outcome,
    piece::{JoinLayout, JoinPiece},
    query::{Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules, Values},
    rows::matching,
};

impl Query {
    /// The receiving side's rows whose key the other side has too, with columns from the other side.
    pub const JOIN: Self = Self { kind: &KIND, body: QueryBody::Nothing };
}

/// The query for a join.
pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "join",
    word: "join",
    form: None,
    values: Values::None,
    body: QueryBodyForm::Nothing,
    takes_columns: true,
    takes_identifiers: false,
    takes_rules: Some(RowsByRules::OneToOne),
    takes_order: false,
    is_told: true,
    keeps_rows: true,
    access: Access::Usual,
    result: ResultForm::Rows,
    task: &Join,
};

struct Join;

impl Task for Join {
    fn check(&self, part: &Part) -> Result<()> {
        if part.minimum > 0 {
            let message = "a join takes no minimum; only counts and sums do";
            return Err(Error::usage(Misuse::Join, message));
        }
        Ok(())
    }

    fn conflict(&self, ours: &Part, theirs: &Part) -> Option<Difference> {
        let says = |part: &Part| if part.sends { "sends columns" } else { "receives columns" };
        (ours.sends == theirs.sends).then(|| Difference {
            what: "side that sends columns",
            here: says(ours).to_owned(),
            there: says(theirs).to_owned(),
        })
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        let carriers = CATALOGUE.iter().filter(|protocol| protocol.carries_payloads());
        carriers.map(|protocol| Box::new(Carrier(protocol)) as Box<dyn Method>).collect()
    }

    fn activity(&self) -> &'static str {
        "joining"
    }

    fn facts(&self, scenario: &Scenario, learner: Role) -> Vec<Fact> {
        let (columns, rows) = scenario.sent.clone();
        let mut facts = vec![scenario.matches(learner)];
        if scenario.rules.len() > 1 {
            facts.extend([Fact::Rules { rules: scenario.rules.clone() }, Fact::SameRow]);
        }
        facts.push(Fact::Columns { columns, rows });
        facts
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let of_rules = scenario.secret_keys();
        of_rules.into_iter().chain([Secret::OtherColumns]).collect()
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let matches = outcome.matches?;
        let mut line = matching(matches, outcome, context);
        if let Some(rows) = outcome.rows_written {
            line += &format!("; {}", (context.written)(counted(rows, "row")));
        }
        if let Some(unreadable @ 1..) = outcome.unreadable {
            line += &format!(
                "; the other side's columns cannot be read for {} and are left empty",
                counted(unreadable, "key")
            );
        }
        Some(line)
    }
}

/// A protocol with payloads.
struct Carrier(&'static Protocol);

impl Carrier {
    fn carrying(&self, request: &Request) -> Option<Carrying> {
        self.0.carrying(request.payload_len)
    }
}

impl Method for Carrier {
    fn key(&self) -> &'static str {
        self.0.key
    }

    fn status(&self) -> Status {
        self.0.status
    }

    fn adversary(&self) -> Adversary {
        self.0.adversary
    }

    fn item_length(&self) -> DigestLength {
        self.0.digest
    }

    /// Returns the answer of the protocol without payloads.
    fn splits(&self) -> bool {
        self.0.splits()
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        let joining = Joining { protocol: self.0, call: call.clone() };
        self.splits().then(|| Box::new(joining) as Box<dyn Gather>)
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        (&self.0).candidate(request)?;
        let carrying = self.carrying(request).ok_or_else(|| {
            let none =
                format!("`{}` cannot send {} bytes per row", self.0.key, request.payload_len);
            Difference::of_both("columns that are sent", none)
        })?;
        Ok(Candidate::carrying(&carrying, request.setting()))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        Ok(Box::new(PreparedMethod::new(Joining { protocol: self.0, call }, channel, rng)?))
    }
}

/// A protocol with payloads, in a run.
#[derive(Clone)]
struct Joining {
    protocol: &'static Protocol,
    call: Call,
}

type Ends = End<Box<Sender>, Box<Receiver>>;

impl ByPartitions for Joining {
    type Party = Ends;
    type Piece = JoinPiece;

    fn layout(&self) -> JoinLayout {
        JoinLayout::of(&self.call)
    }

    fn prepare(&self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> vesica_psi::Result<Ends> {
        let Request { payload_len, .. } = self.call.request;
        let setting = self.call.request.setting();
        let carrying = self.protocol.carrying(payload_len).expect("a candidate carries payloads");
        let intersection = carrying.on(setting)?;
        Ok(match self.call.receives() {
            true => End::Receiver(intersection.receiver(channel, rng)?),
            false => End::Sender(intersection.sender(channel, rng)?),
        })
    }

    fn run(
        &self,
        party: Ends,
        partition: &Partition,
        _: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<JoinPiece>> {
        let Partition { set, items, .. } = partition;
        let opened = party.opened(items.items(), set, &self.call.request, channel, rng)?;
        Ok(opened.map(|opened| join_pieces::piece(&opened, &self.call, partition)))
    }

    fn add_up<'a>(
        self,
        pieces: FoundPieces<JoinPiece>,
        _: Option<&'a Partitions>,
        _: &mut Channel,
        _: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let found = match self.call.receives() {
            true => join_pieces::joined(pieces, self.call)?.found(),
            false => Found { outcome: Outcome::default(), content: None },
        };
        Ok(Unrevealed::complete(found))
    }
}

impl Party for PreparedMethod<Joining> {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Self { method: Joining { call, .. }, party } = *self;
        let opened = party.opened(items, set, &call.request, channel, rng)?;
        let found = match opened {
            Some(opened) => joined::joined(opened, call, set).found(),
            None => Found { outcome: Outcome::default(), content: None },
        };
        Ok(Unrevealed::complete(found))
    }
}

impl Ends {
    /// Returns the payloads of the shared keys; `None` for the sender.
    fn opened(
        self,
        items: Items<'_>,
        set: &KeyRows,
        request: &Request,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<Opened>> {
        match self {
            Self::Sender(party) => {
                let input = SenderInput { items, payloads: set.payloads() };
                party.run(input, channel, rng)?;
                channel.flush()?;
                Ok(None)
            }
            Self::Receiver(party) => {
                let input = ReceiverInput { items, payload_len: request.payload_len };
                Ok(Some(party.run(input, channel, rng)?))
            }
        }
    }
}
