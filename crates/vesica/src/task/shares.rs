//! Secret shares of which keys match, and of their values, for a later computation of both sides.
//!
//! A side's shares are CSV with a header and a line for each bin of the receiver's table, in the same order on both
//! sides. `docs/answers.md` specifies the columns, and how two files are put together.

use std::io::{self, Write};

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, Items, Status,
    aggregate::shares::{self, Outline, SHARING, Shares, Sharing},
};

use crate::{
    difference::Difference,
    error::{Error, Result},
    keys::keyset::KeySet,
    parties::Role,
    table::output::Access,
    task::{
        interface::{Call, Content, Context, Found, Method, Part, Party, Request, Task},
        learned::{FOLLOWING, Learned, Sides},
        outcome::Outcome,
        query::{Form, Query, QueryKind, ResultForm, Values},
    },
    words::counted,
};

impl Query {
    /// A file of secret shares on each side: of which keys both sides have, and of their values where a side brings
    /// some. Neither side learns anything from its own.
    pub const SHARES: Self = Self { kind: &KIND, number: 0 };
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
    takes_number: false,
    takes_columns: false,
    takes_identifiers: false,
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
            let message =
                "shares cannot be held back by a minimum: nobody knows how many keys match";
            return Err(Error::Usage(message.to_owned()));
        }
        Ok(())
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        vec![Box::new(&SHARING)]
    }

    fn activity(&self) -> &'static str {
        "computing shares"
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let bins = counted(outcome.bins_written?, "bin");
        Some(format!("shares of {}", (context.written)(bins)))
    }
}

/// What is to be shared.
fn outline(request: &Request) -> Outline {
    let Request { sizes, sender_brings, receiver_brings, .. } = *request;
    Outline { sizes, of_sender: sender_brings, of_receiver: receiver_brings }
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
        Ok(Candidate::sharing(outline(request)))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        let outline = outline(&call.request);
        let end = match call.receives() {
            true => End::Receiver(shares::Receiver::agreed(outline, channel, rng)?),
            false => End::Sender(shares::Sender::agreed(outline, channel, rng)?),
        };
        Ok(Box::new(Prepared { call, end }))
    }
}

/// A party that gets shares.
struct Prepared {
    call: Call,
    end: End,
}

enum End {
    Sender(shares::Sender),
    Receiver(shares::Receiver),
}

impl Party for Prepared {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        set: &KeySet,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Found> {
        let Self { call, end } = *self;
        let shares = match end {
            End::Sender(party) => party.share(items, set.values(), channel, rng)?,
            End::Receiver(party) => party.share(items, set.values(), channel, rng)?,
        };
        let bins_written = Some(shares.members.len() as u64);
        // Only the receiver knows which of its keys is in which bin.
        let rows = if shares.items.is_some() { set.first_rows() } else { Vec::new() };
        let receiver = call.receiver();
        let content = Content::Text(Box::new(move |out| write(&shares, receiver, &rows, out)));
        let outcome = Outcome { bins_written, ..Outcome::default() };
        Ok(Found { outcome, learned: learned(call.sides), content: Some(content) })
    }
}

/// What both sides learned.
pub(crate) fn learned(sides: Sides) -> Learned {
    let shares = "The shares of one side alone say nothing of the result.";
    sides.learned(format!("{FOLLOWING} {shares}"), |_| vec![])
}

/// Writes shares of a run in which `receiver` was the protocol's receiver. `rows` has the first row that bears
/// each of this side's keys, counted from 0; it is needed by the receiver alone.
fn write(shares: &Shares, receiver: Role, rows: &[u32], out: &mut dyn Write) -> io::Result<()> {
    let (of_a, of_b) = match receiver {
        Role::A => (&shares.of_receiver, &shares.of_sender),
        Role::B => (&shares.of_sender, &shares.of_receiver),
    };
    let row = if shares.items.is_some() { ",row" } else { "" };
    let a = if of_a.is_some() { ",value_a" } else { "" };
    let b = if of_b.is_some() { ",value_b" } else { "" };
    writeln!(out, "bin{row},member{a}{b}")?;
    for (bin, member) in shares.members.iter().enumerate() {
        write!(out, "{bin}")?;
        match shares.items.as_ref().map(|items| items[bin]) {
            Some(Some(item)) => write!(out, ",{}", u64::from(rows[item as usize]) + 1)?,
            Some(None) => write!(out, ",")?,
            None => {}
        }
        write!(out, ",{}", u8::from(*member))?;
        for values in [of_a, of_b].into_iter().flatten() {
            write!(out, ",{:016x}", values[bin])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shares: &Shares, receiver: Role, rows: &[u32]) -> String {
        let mut out = Vec::new();
        write(shares, receiver, rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_those_that_there_are() {
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
