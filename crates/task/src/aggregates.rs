//! Numbers about the shared keys: their count, sums of their values, and whether they reach a threshold.

use std::borrow::Cow;

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::{counted, grouped},
};
use vesica_keyset::{
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, Items, Status,
    aggregate::{self, Adder, Aggregate, METHODS, Open, Output, Receiver, Sender, Share, Valued},
};
use vesica_table::output::Access;

use crate::{
    by_rules::whole_sets,
    disclosure::{Fact, Measure, Scenario, Secret},
    gather::{ByPartitions, End, FoundPieces},
    interface::{
        Call, Content, Context, Found, Gather, Method, Part, Party, PartyKeys, Randomness, Request,
        Reveal, RevealStep, Task, Telling, Unrevealed,
    },
    outcome::{Decimal, Outcome, QueryResult},
    piece::NumberPiece,
    query::{self, Form, Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules},
};

impl Query {
    /// The number of keys that both sides have.
    pub const COUNT: Self = Self { kind: &COUNT, body: QueryBody::Nothing };
    /// The sum of one side's values over the shared keys. One side provides the values.
    pub const SUM: Self = Self { kind: &SUM, body: QueryBody::Nothing };
    /// The sum of the products of both sides' values over the shared keys. Both sides provide values.
    pub const PRODUCTS: Self = Self { kind: &PRODUCTS, body: QueryBody::Nothing };

    /// Whether at least `threshold` keys are shared.
    pub const fn at_least(threshold: u64) -> Self {
        Self { kind: &THRESHOLD, body: QueryBody::Number(threshold) }
    }
}

/// The queries for numbers.
pub(crate) static KINDS: &[&QueryKind] = &[&COUNT, &SUM, &PRODUCTS, &THRESHOLD];

static COUNT: QueryKind = QueryKind {
    name: "count",
    word: "count",
    form: Some(Form { names: "count", help: "count: the number of shared keys" }),
    values: query::Values::None,
    takes_rules: Some(RowsByRules::Hidden),
    task: &Number::Count,
    ..NUMBER
};

static SUM: QueryKind = QueryKind {
    name: "sum",
    word: "sum",
    form: Some(Form {
        names: "sum, sum:COL",
        help: "sum:COL: the sum of this side's column COL over the shared keys, while the other side says sum",
    }),
    values: query::Values::OfOne,
    takes_rules: Some(RowsByRules::Hidden),
    task: &Number::Sum,
    ..NUMBER
};

static PRODUCTS: QueryKind = QueryKind {
    name: "products",
    word: "products",
    form: Some(Form {
        names: "products:COL",
        help: "products:COL: the sum of the products of both sides' columns over the shared keys",
    }),
    values: query::Values::OfBoth,
    task: &Number::Products,
    ..NUMBER
};

static THRESHOLD: QueryKind = QueryKind {
    name: "threshold",
    word: "at-least",
    form: Some(Form {
        names: "threshold:K",
        help: "threshold:K: whether at least K keys are shared",
    }),
    values: query::Values::None,
    body: QueryBodyForm::Number,
    takes_rules: Some(RowsByRules::Hidden),
    task: &Number::AtLeast,
    ..NUMBER
};

/// The properties that all of them share.
const NUMBER: QueryKind = QueryKind {
    name: "",
    word: "",
    form: None,
    values: query::Values::None,
    body: QueryBodyForm::Nothing,
    takes_columns: false,
    takes_identifiers: false,
    takes_rules: None,
    takes_order: false,
    is_told: true,
    keeps_rows: false,
    access: Access::Usual,
    result: ResultForm::Line,
    task: &Number::Count,
};

/// A number about the shared keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// The number of shared keys.
    Count,
    /// A sum over shared keys.
    Sum,
    /// A sum of products over shared keys.
    Products,
    /// Whether at least a given number of keys is shared.
    AtLeast,
}

impl Number {
    /// Returns the number of values that are multiplied for each key.
    fn power(self) -> u32 {
        match self {
            Self::Count | Self::AtLeast => 0,
            Self::Sum => 1,
            Self::Products => 2,
        }
    }

    /// Returns the query in the form that the methods take.
    pub fn query(self, request: &Request) -> aggregate::Query {
        let aggregate = match self {
            Self::Count => Aggregate::Count,
            Self::Sum if request.receiver_brings => Aggregate::SumOfReceiver,
            Self::Sum => Aggregate::SumOfSender,
            Self::Products => Aggregate::Products,
            Self::AtLeast => Aggregate::AtLeast(request.number),
        };
        let Request { sizes, partitions, minimum, scale, rules, .. } = *request;
        // Offers have only noise that is valid.
        let noise = request.noise.and_then(|noise| noise.laplace(self.power(), scale).ok());
        aggregate::Query { sizes, aggregate, minimum, noise, partitions, people: rules }
    }

    /// Returns the result from a method's output for the receiver, for values with `scale` decimal places. The places
    /// of both factors of a product add up.
    pub fn result(self, answer: Output, scale: u8) -> QueryResult {
        match answer {
            Output::Count(count) => QueryResult::Count(count),
            Output::Sum(sum) if self == Self::Products => {
                QueryResult::SumOfProducts(Decimal { number: sum, scale: 2 * scale })
            }
            Output::Sum(sum) => QueryResult::Sum(Decimal { number: sum, scale }),
            Output::Noisy(number) => {
                QueryResult::Noisy(Decimal { number, scale: self.power() as u8 * scale })
            }
            Output::AtLeast(is) => QueryResult::AtLeast(is),
            Output::TooFew => QueryResult::TooFew,
        }
    }
}

impl Task for Number {
    fn check(&self, part: &Part) -> Result<()> {
        if *self == Self::Products && !part.brings_values {
            let message = "a sum of products requires a column of values from each side";
            return Err(Error::usage(Misuse::Query, message));
        }
        let Some(noise) = part.noise else { return Ok(()) };
        if part.minimum > 0 {
            let message = "a minimum reveals with certainty whether this many keys are shared, which noise is meant to hide; choose one of them";
            return Err(Error::usage(Misuse::Noise, message));
        }
        noise.laplace(self.power(), part.scale).map(drop)
    }

    fn takes_minimum(&self) -> bool {
        true
    }

    fn takes_noise(&self) -> bool {
        *self != Self::AtLeast
    }

    /// The values of a sum come from one side.
    fn conflict(&self, ours: &Part, theirs: &Part) -> Option<Difference> {
        let wrong = *self == Self::Sum && ours.brings_values == theirs.brings_values;
        let said = |side: &str, brings| match brings {
            true => format!("{side} provides a column"),
            false => format!("{side} provides none"),
        };
        wrong.then(|| Difference {
            what: "source of the values to add up",
            here: said("this side", ours.brings_values),
            there: said("the other side", theirs.brings_values),
        })
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        let computing = |method| Box::new(Computing { number: *self, method }) as Box<dyn Method>;
        METHODS.iter().copied().map(computing).collect()
    }

    fn activity(&self) -> &'static str {
        "computing the answer"
    }

    fn facts(&self, scenario: &Scenario, _: Role) -> Vec<Fact> {
        let rows = match self {
            Self::Sum if scenario.brings[Role::A as usize] => Role::A,
            Self::Sum => Role::B,
            _ => scenario.receiver,
        };
        vec![scenario.number(
            rows,
            match self {
                Self::Count => Measure::Count,
                Self::Sum if scenario.brings[Role::A as usize] => Measure::Sum(Role::A),
                Self::Sum => Measure::Sum(Role::B),
                Self::Products => Measure::SumOfProducts,
                Self::AtLeast => Measure::AtLeast(scenario.number),
            },
        )]
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let values = (self.power() > 0).then_some(Secret::Values);
        let exact = scenario.noise.map(|_| Secret::ExactNumber);
        let of_rules = scenario.secret_keys();
        [Secret::Members]
            .into_iter()
            .chain(of_rules)
            .chain(values)
            .chain(exact)
            .chain([Secret::AllColumns])
            .collect()
    }

    fn telling(&self) -> Option<&dyn Telling> {
        Some(self)
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let shared = if context.by_rules { "rows that match" } else { "shared keys" };
        Some(match outcome.answer? {
            QueryResult::Count(count) => format!("{shared}: {}", grouped(count)),
            QueryResult::Sum(sum) => format!("sum of the values over the {shared}: {sum}"),
            QueryResult::SumOfProducts(sum) => {
                format!("sum of the products of both sides' values over the shared keys: {sum}")
            }
            reached @ QueryResult::AtLeast(_) if context.by_rules => {
                format!("at least {} match: {reached}", counted(context.number, "row"))
            }
            reached @ QueryResult::AtLeast(_) => {
                format!("at least {} shared: {reached}", counted(context.number, "key"))
            }
            QueryResult::Noisy(number) => {
                let what = match self {
                    Self::Count => "shared keys",
                    Self::Products => {
                        "sum of the products of both sides' values over the shared keys"
                    }
                    _ => "sum of the values over the shared keys",
                };
                let noise = context.noise.map(|noise| {
                    let deviation = noise.deviation(self.power(), context.scale);
                    format!("{}; standard deviation {deviation}", noise.describe())
                });
                let noise = noise.unwrap_or_default();
                let clamped = outcome.clamped.filter(|clamped| *clamped > 0);
                let clamped = clamped.map(|keys| {
                    format!("; the values of {} of this side were clamped", counted(keys, "key"))
                });
                format!("{what}, with noise ({noise}): {number}{}", clamped.unwrap_or_default())
            }
            QueryResult::TooFew => {
                let minimum = grouped(context.minimum);
                format!("no answer: fewer {shared} than the minimum, {minimum}")
            }
        })
    }
}

impl Telling for Number {
    fn tell(
        &self,
        found: &Found,
        _: PartyKeys<'_>,
        _: &Call,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let answer = found.outcome.answer;
        let answer = answer.ok_or(Error::bug("a side that shows a number has one"))?;
        let told = aggregate::tell(output(answer), channel);
        told.map_err(|error| Error::of_protocol(error, channel))
    }

    fn learn(
        &self,
        _: PartyKeys<'_>,
        call: &Call,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Found> {
        let query = self.query(&call.request);
        let answer = aggregate::learn(&query, channel);
        let answer = answer.map_err(|error| Error::of_protocol(error, channel))?;
        Ok(found(*self, query, call, Some(answer), 0))
    }
}

/// Returns a result in the form of the methods.
fn output(result: QueryResult) -> Output {
    match result {
        QueryResult::Count(count) => Output::Count(count),
        QueryResult::Sum(sum) | QueryResult::SumOfProducts(sum) => Output::Sum(sum.number),
        QueryResult::Noisy(number) => Output::Noisy(number.number),
        QueryResult::AtLeast(is) => Output::AtLeast(is),
        QueryResult::TooFew => Output::TooFew,
    }
}

/// A method, with the number to compute.
struct Computing {
    number: Number,
    method: &'static aggregate::Method,
}

impl Method for Computing {
    fn key(&self) -> &'static str {
        self.method.key
    }

    fn status(&self) -> Status {
        self.method.status
    }

    fn adversary(&self) -> Adversary {
        self.method.adversary
    }

    fn tells_size(&self) -> bool {
        self.method.tells_size
    }

    fn takes_rules(&self) -> bool {
        self.method.counts_people
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        whole_sets(request)?;
        let query = self.number.query(request);
        match self.method.answers(&query) {
            true => Ok(Candidate::method(self.method, query)),
            false => Err(Difference::of_both(
                "answer",
                format!("`{}` does not answer this with this minimum or noise", self.method.key),
            )),
        }
    }

    fn splits(&self) -> bool {
        self.method.partitions.is_some()
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        let Self { number, method } = *self;
        let by_partitions = method.partitions?;
        let query = number.query(&call.request);
        if query.people.is_some() {
            return None;
        }
        Some(Box::new(Adding {
            number,
            method,
            open: by_partitions.open,
            query,
            call: call.clone(),
        }))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        let Self { number, method } = *self;
        let query = number.query(&call.request);
        let inquiry = method.on(query);
        let end = match call.receives() {
            true => End::Receiver(inquiry.receiver(channel, rng)?),
            false => End::Sender(inquiry.sender(channel, rng)?),
        };
        Ok(Box::new(Answering { number, query, call, end }))
    }
}

/// A party of a method, on whole sets.
struct Answering {
    number: Number,
    query: aggregate::Query,
    call: Call,
    end: End<Box<Sender>, Box<Receiver>>,
}

impl Party for Answering {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Self { number, query, call, end } = *self;
        let values = KeyValues::of(set, &call.request);
        let has_people = query.has_people(call.receives());
        let people = if has_people { set.people() } else { Vec::new() };
        let input = Valued { people: &people, ..Valued::new(items, &values.values) };
        let answer = match end {
            End::Sender(party) => {
                party.run(input, channel, rng)?;
                channel.flush()?;
                None
            }
            End::Receiver(party) => Some(party.run(input, channel, rng)?),
        };
        Ok(unrevealed(number, query, call, answer, values.clamped))
    }
}

/// Returns the result of a method, before the side that has the number reveals it to the other. `clamped` is the number
/// of this side's keys with clamped values.
fn unrevealed<'a>(
    number: Number,
    query: aggregate::Query,
    call: Call,
    mut answer: Option<Output>,
    clamped: u64,
) -> Unrevealed<'a> {
    let result = answer.map(|answer| number.result(answer, call.request.scale));
    let shared = Outcome { answer: result, ..Outcome::default() }.shared();
    let reveal: RevealStep<'a> = Box::new(move |channel, _| {
        if call.sides.both_learn() {
            let revealed = match answer {
                Some(answer) => aggregate::tell(answer, channel),
                None => aggregate::learn(&query, channel).map(|learned| answer = Some(learned)),
            };
            revealed.map_err(|error| Error::of_protocol(error, channel))?;
        }
        Ok(found(number, query, &call, answer, clamped))
    });
    Unrevealed { shared, reveal }
}

/// The values of this side's keys.
struct KeyValues<'a> {
    values: Cow<'a, [i64]>,
    /// The number of values that are larger than the noise can hide, and count with the maximum magnitude.
    clamped: u64,
}

impl<'a> KeyValues<'a> {
    fn of(set: &'a KeyRows, request: &Request) -> Self {
        let all = set.values();
        let bound = request.noise.and_then(|noise| noise.bound(request.scale));
        let Some(bound) = bound.and_then(|bound| i64::try_from(bound).ok()) else {
            return Self { values: Cow::Borrowed(all), clamped: 0 };
        };
        let clamped =
            all.iter().filter(|value| value.unsigned_abs() > bound.unsigned_abs()).count();
        let values = all.iter().map(|value| *value.max(&-bound).min(&bound)).collect();
        Self { values, clamped: clamped as u64 }
    }
}

/// Returns the result of a method. `answer` is this side's output, if any; `clamped` is the number of its keys with
/// clamped values.
fn found(
    number: Number,
    query: aggregate::Query,
    call: &Call,
    answer: Option<Output>,
    clamped: u64,
) -> Found {
    let result = answer.map(|answer| number.result(answer, call.request.scale));
    // A reader of the output finds a number or no file.
    let number = result.filter(|result| *result != QueryResult::TooFew);
    let content =
        number.map(|number| Content::Text(Box::new(move |out| writeln!(out, "{number}"))));
    let clamped = query.noise.map(|_| clamped);
    let outcome = Outcome { answer: result, clamped, ..Outcome::default() };
    Found { outcome, content }
}

/// A method on sets in partitions.
#[derive(Clone)]
struct Adding {
    number: Number,
    method: &'static aggregate::Method,
    open: Open,
    query: aggregate::Query,
    call: Call,
}

impl ByPartitions for Adding {
    type Party = Box<Adder>;
    type Piece = NumberPiece;

    fn layout(&self) {}

    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<Adder>> {
        self.method.on_partition(self.query).party(self.call.receives(), channel, rng)
    }

    fn run(
        &self,
        party: Box<Adder>,
        partition: &Partition,
        _: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<NumberPiece>> {
        let Partition { set, items, .. } = partition;
        let KeyValues { values, clamped } = KeyValues::of(set, &self.call.request);
        let share = party.run(Valued::new(items.items(), &values), channel, rng)?;
        Ok(Some(NumberPiece { share, clamped }))
    }

    fn add_up<'a>(
        self,
        pieces: FoundPieces<NumberPiece>,
        _: Option<&'a Partitions>,
        channel: &mut Channel,
        randomness: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let Self { number, open, query, call, .. } = self;
        let (mut total, mut all_clamped) = (Share::default(), 0);
        for piece in pieces.of_all() {
            let NumberPiece { share, clamped } = piece?;
            total.add(&share);
            all_clamped += clamped;
        }
        let opened = open(query, call.receives(), &total, channel, randomness);
        let answer = opened.map_err(|error| Error::of_protocol(error, channel))?;
        Ok(unrevealed(number, query, call, answer, all_clamped))
    }
}
