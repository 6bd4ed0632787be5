//! Secret shares of the matches and their values, for a later computation of both sides.
//!
//! A side's shares are CSV with a header and a line for each bin of the receiver's table, in the same order on both
//! sides. `docs/reference/shares.md` specifies the columns, and how to combine the two files.

use std::io::{self, Write};

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::counted,
};
use vesica_keyset::{
    key_number::KeyNumber,
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, Items, Status,
    aggregate::{
        Valued,
        shares::{Outline, SHARING, Sharer, Shares, Sharing},
    },
};
use vesica_table::{output::Access, row_number::RowNumber};
use zeroize::Zeroizing;

use crate::{
    by_rules::whole_sets,
    disclosure::{Fact, Scenario, Secret},
    gather::{ByPartitions, FoundPieces, PreparedMethod},
    interface::{
        Call, Content, Context, Found, Gather, Method, Part, Party, Randomness, Request, Reveal,
        Task, Unrevealed, WriteText,
    },
    outcome::Outcome,
    piece::BinsPiece,
    query::{Form, Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules, Values},
};

impl Query {
    /// A file of secret shares on each side: of the shared keys, and of their values if a side provides
    /// some. Neither side learns anything from its own file.
    pub const SHARES: Self = Self { kind: &KIND, body: QueryBody::Nothing };
}

/// The query for shares.
pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "shares",
    word: "shares",
    form: Some(Form {
        names: "shares, shares:COL",
        help: "shares, or shares:COL with values: secret shares of the result for a later computation by both sides; \
           neither learns anything",
    }),
    values: Values::Any,
    body: QueryBodyForm::Nothing,
    takes_columns: false,
    takes_identifiers: false,
    takes_rules: Some(RowsByRules::Hidden),
    takes_order: false,
    is_told: false,
    keeps_rows: false,
    access: Access::Owner,
    result: ResultForm::File,
    task: &SecretShares,
};

struct SecretShares;

impl Task for SecretShares {
    fn check(&self, part: &Part) -> Result<()> {
        if part.minimum > 0 {
            let message = "shares take no minimum, because nobody knows how many keys match";
            return Err(Error::usage(Misuse::Query, message));
        }
        Ok(())
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        vec![Box::new(&SHARING)]
    }

    fn activity(&self) -> &'static str {
        "computing shares"
    }

    fn facts(&self, _: &Scenario, _: Role) -> Vec<Fact> {
        vec![Fact::Share]
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let secrets = [Secret::Result, Secret::Members].into_iter().chain(scenario.secret_keys());
        secrets.chain([Secret::AllColumns]).collect()
    }

    /// A row that matches by rules may match several rows of the other side, each with a value.
    fn conflict(&self, ours: &Part, theirs: &Part) -> Option<Difference> {
        let is_refused = ours.rules.is_some() && ours.brings_values && theirs.brings_values;
        let message = "by rules, a row may match several rows of the other side, so one side at most has values: name a column \
                       on one side only";
        is_refused.then(|| Difference::of_both("values", message.to_owned()))
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let bins = counted(outcome.bins_written?, "bin");
        Some(format!("shares of {}", (context.written)(bins)))
    }
}

/// Returns the outline of the shares.
fn outline(request: &Request) -> Outline {
    let Request { sizes, partitions, sender_brings, receiver_brings, rules, .. } = *request;
    let (of_sender, of_receiver) = (sender_brings, receiver_brings);
    Outline { sizes, partitions, of_sender, of_receiver, people: rules }
}

impl Method for &'static Sharing {
    fn key(&self) -> &'static str {
        self.key
    }

    fn status(&self) -> Status {
        self.status
    }

    fn adversary(&self) -> Adversary {
        self.adversary
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        whole_sets(request)?;
        Ok(Candidate::sharing(outline(request)))
    }

    fn splits(&self) -> bool {
        true
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        if call.request.rules.is_some() {
            return None;
        }
        Some(Box::new(InShares { call: call.clone() }))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        Ok(Box::new(PreparedMethod::new(InShares { call }, channel, rng)?))
    }
}

/// The protocol for shares in a run.
#[derive(Clone)]
struct InShares {
    call: Call,
}

impl Party for PreparedMethod<InShares> {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Self { method: InShares { call }, party } = *self;
        let has_people = call.request.rules.is_some() && call.receives();
        let people = if has_people { set.people() } else { Vec::new() };
        let input = Valued { people: &people, ..Valued::new(items, set.values()) };
        let shares = party.run(input, channel, rng)?;
        let bins = shares.members.len() as u64;
        // Only the receiver knows which of its keys is in which bin.
        let rows = shares.items.is_some().then(|| set.first_rows());
        let receiver = call.receiver();
        let row = move |key| rows.as_ref()?.of(key);
        let write: WriteText = Box::new(move |out| write(&shares, receiver, &row, out));
        Ok(Unrevealed::complete(found(bins, write)))
    }
}

impl ByPartitions for InShares {
    type Party = Box<Sharer>;
    type Piece = BinsPiece;

    /// Returns the number of bins of a partition.
    fn layout(&self) -> usize {
        outline(&self.call.request).bins()
    }

    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<Sharer>> {
        outline(&self.call.request).functionality().party(self.call.receives(), channel, rng)
    }

    fn run(
        &self,
        party: Box<Sharer>,
        partition: &Partition,
        _: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<BinsPiece>> {
        let Partition { set, items, rows, .. } = partition;
        let receiver = self.call.receiver();
        let shares = party.run(Valued::new(items.items(), set.values()), channel, rng)?;
        let first_rows = shares.items.is_some().then(|| set.first_rows());
        // Items that fill up the partition do not belong to a row.
        let row = |key| Some(rows.row(first_rows.as_ref()?.of(key)?));
        let mut lines = Zeroizing::new(Vec::new());
        // Writing to a vector cannot fail.
        let _ = (0..shares.members.len())
            .try_for_each(|bin| write_rest(&shares, receiver, bin, &row, &mut *lines));
        Ok(Some(BinsPiece { lines }))
    }

    fn add_up<'a>(
        self,
        pieces: FoundPieces<BinsPiece>,
        _: Option<&'a Partitions>,
        _: &mut Channel,
        _: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let request = &self.call.request;
        let outline = outline(request);
        let bins = (outline.bins() * request.partitions) as u64;
        let (receives, receiver) = (self.call.receives(), self.call.receiver());
        let write = move |out: &mut dyn Write| {
            let values = OfParties { receiver: outline.of_receiver, sender: outline.of_sender };
            write_header(receives, receiver, values, out)?;
            let mut bin = 0u64;
            for piece in pieces.of_all() {
                let BinsPiece { lines } = piece.map_err(io::Error::other)?;
                for line in lines.split_inclusive(|byte| *byte == b'\n') {
                    write!(out, "{bin}")?;
                    out.write_all(line)?;
                    bin += 1;
                }
            }
            Ok(())
        };
        Ok(Unrevealed::complete(found(bins, Box::new(write))))
    }
}

fn found(bins: u64, write: WriteText) -> Found {
    let outcome = Outcome { bins_written: Some(bins), ..Outcome::default() };
    Found { outcome, content: Some(Content::Text(write)) }
}

/// The first row with a key; `None` if no row has it.
type FirstRow<'a> = dyn Fn(KeyNumber) -> Option<RowNumber> + 'a;

/// Writes shares of a run in which `receiver` was the protocol's receiver. Only the receiver has rows to write.
fn write(
    shares: &Shares,
    receiver: Role,
    row: &FirstRow<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let are_there =
        OfParties { receiver: shares.of_receiver.is_some(), sender: shares.of_sender.is_some() };
    write_header(shares.items.is_some(), receiver, are_there, out)?;
    (0..shares.members.len()).try_for_each(|bin| {
        write!(out, "{bin}")?;
        write_rest(shares, receiver, bin, row, out)
    })
}

/// The data of both parties of the protocol.
struct OfParties<T> {
    receiver: T,
    sender: T,
}

impl<T> OfParties<T> {
    /// Returns the data of side A and of side B.
    fn of_sides(self, receiver: Role) -> [T; 2] {
        match receiver {
            Role::A => [self.receiver, self.sender],
            Role::B => [self.sender, self.receiver],
        }
    }
}

/// Writes the names of the columns, depending on whether this side is the receiver and which sides provide values.
fn write_header(
    receives: bool,
    receiver: Role,
    values: OfParties<bool>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [of_a, of_b] = values.of_sides(receiver);
    let row = if receives { ",row" } else { "" };
    let a = if of_a { ",value_a" } else { "" };
    let b = if of_b { ",value_b" } else { "" };
    writeln!(out, "bin{row},member{a}{b}")
}

/// Writes the rest of a line after the number of the bin.
fn write_rest(
    shares: &Shares,
    receiver: Role,
    bin: usize,
    row: &FirstRow<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(items) = &shares.items {
        match items[bin].and_then(|item| row(KeyNumber::at(item as usize))) {
            Some(row) => write!(out, ",{}", row.ordinal())?,
            None => write!(out, ",")?,
        }
    }
    write!(out, ",{}", u8::from(shares.members[bin]))?;
    let values = OfParties { receiver: &shares.of_receiver, sender: &shares.of_sender };
    for values in values.of_sides(receiver).into_iter().flatten() {
        write!(out, ",{:016x}", values[bin])?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shares: &Shares, receiver: Role, rows: &[u64]) -> String {
        let mut out = Vec::new();
        let row = |key: KeyNumber| Some(RowNumber::new(rows[key.index()]));
        write(shares, receiver, &row, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_existing_columns_are_written() {
        let members = || vec![true, false].into();
        let values = |values: [u64; 2]| Some(values.to_vec().into());
        let bare =
            || Shares { members: members(), of_sender: None, of_receiver: None, items: None };
        assert_eq!(written(&bare(), Role::A, &[]), "bin,member\n0,1\n1,0\n");
        let items = || Some(vec![None, Some(1)]);
        let receiver = Shares { items: items(), of_sender: values([7, u64::MAX]), ..bare() };
        assert_eq!(
            written(&receiver, Role::A, &[0, 4]),
            "bin,row,member,value_b\n0,,1,0000000000000007\n1,5,0,ffffffffffffffff\n"
        );
        let both = Shares { of_receiver: values([1, 2]), ..receiver };
        let lines = "bin,row,member,value_a,value_b\n\
                     0,,1,0000000000000001,0000000000000007\n\
                     1,5,0,0000000000000002,ffffffffffffffff\n";
        assert_eq!(written(&both, Role::A, &[0, 4]), lines);
        let turned = written(&both, Role::B, &[0, 4]);
        assert!(turned.contains("0,,1,0000000000000007,0000000000000001\n"), "{turned}");
    }
}
