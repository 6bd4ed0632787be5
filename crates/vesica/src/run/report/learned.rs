//! What each side learned, in sentences for people who were not there.
//!
//! The sentences follow from what the protocol or the method tells each of its parties. Every combination of
//! task, side and outcome is in `tests/report_sentences.txt`, for a person to read.

use serde::Serialize;
use vesica_psi::{
    Adversary, Protocol,
    aggregate::{Answer, Inquiry, Method, Question},
};

use crate::{
    agree::{offer::Role, terms::Terms},
    words::{counted, grouped},
};

/// What each side learned, and what that rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// What this side learned.
    pub me: String,
    /// What the other side learned.
    pub peer: String,
    /// Under what assumption the two sentences are true.
    pub assuming: String,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Me,
    Peer,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Me => Self::Peer,
            Self::Peer => Self::Me,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Me => "this side",
            Self::Peer => "the other side",
        }
    }

    /// The name at the beginning of a sentence.
    fn capital(self) -> &'static str {
        match self {
            Self::Me => "This side",
            Self::Peer => "The other side",
        }
    }
}

/// The sizes of both sets, and who learns the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    /// Distinct keys of this side.
    pub(crate) my_keys: u64,
    /// Distinct keys of the other side.
    pub(crate) peer_keys: u64,
    /// Whether this side learns the result.
    pub(crate) i_learn: bool,
    /// Whether the other side does.
    pub(crate) peer_learns: bool,
    /// The protocol's receiver.
    pub(crate) receiver: Side,
}

impl Sides {
    /// Those of a run on these terms, in which this side has that role.
    pub(crate) fn new(terms: &Terms, role: Role, my_keys: u64, peer_keys: u64) -> Self {
        let (i_learn, peer_learns) = (terms.learns(role), terms.learns(role.other()));
        let receiver = if terms.receiver() == role { Side::Me } else { Side::Peer };
        Self { my_keys, peer_keys, i_learn, peer_learns, receiver }
    }

    fn keys(&self, side: Side) -> u64 {
        match side {
            Side::Me => self.my_keys,
            Side::Peer => self.peer_keys,
        }
    }

    fn learns(&self, side: Side) -> bool {
        match side {
            Side::Me => self.i_learn,
            Side::Peer => self.peer_learns,
        }
    }

    /// A sentence for each side from the facts that it learned besides the size of the other's set.
    fn learned(&self, assuming: String, facts: impl Fn(Side) -> Vec<String>) -> Learned {
        let sentence = |side: Side| {
            let other = side.other();
            let size =
                format!("how many keys {} has ({})", other.name(), grouped(self.keys(other)));
            let facts = listed(&[facts(side), vec![size]].concat());
            format!("{} learned {facts}, and nothing else.", side.capital())
        };
        Learned { me: sentence(Side::Me), peer: sentence(Side::Peer), assuming }
    }
}

impl Learned {
    /// Of a run for rows. `matches` is how many keys match, where this side knows.
    pub(crate) fn of_rows(sides: Sides, protocol: &Protocol, matches: Option<u64>) -> Self {
        let assuming = match protocol.adversary {
            Adversary::None => insecure(protocol.key, sides.receiver),
            Adversary::SemiHonest => FOLLOWING.to_owned(),
            Adversary::MaliciousSender => deviating_sender(sides.receiver),
            Adversary::Malicious => deviating(&sides),
        };
        sides.learned(assuming, |side| {
            let other = side.other().name();
            let of = grouped(sides.keys(side));
            let found = matches.map(|n| format!(" ({} of {of})", grouped(n))).unwrap_or_default();
            let rows = format!("which of its keys {other} has too{found}");
            if sides.learns(side) { vec![rows] } else { vec![] }
        })
    }

    /// Of a run that answered a question. `answer` is what this side was told, if anything.
    pub(crate) fn of_answer(
        sides: Sides,
        method: &Method,
        inquiry: Inquiry,
        answer: Option<Answer>,
    ) -> Self {
        sides.learned(FOLLOWING.to_owned(), |side| {
            let mut facts = Vec::new();
            if sides.learns(side) {
                facts = told(&sides, side, inquiry, answer);
            }
            let brings_values = match side == sides.receiver {
                true => inquiry.question.takes_receivers_values(),
                false => inquiry.question.takes_senders_values(),
            };
            if method.tells_size && !brings_values {
                facts.push("how many keys the two sides share".to_owned());
            }
            facts
        })
    }

    /// Of a run that gave each side its shares.
    pub(crate) fn of_shares(sides: Sides) -> Self {
        let shares = "The shares of one side alone say nothing of the result.";
        sides.learned(format!("{FOLLOWING} {shares}"), |_| vec![])
    }
}

/// The facts that an answer tells a side; where this side does not know the answer, those that it may tell.
fn told(sides: &Sides, side: Side, inquiry: Inquiry, answer: Option<Answer>) -> Vec<String> {
    let Inquiry { question, minimum, .. } = inquiry;
    let share = |bound: &str, n: u64| format!("that the two sides share {bound} {}", keys(n));
    let sum = |of: &str| format!("the sum of {of} over the shared keys");
    let sum_of = |owner: Side| match owner == side {
        true => sum("its own values"),
        false => sum(&format!("{}'s values", owner.name())),
    };
    let fact = match (question, answer) {
        (_, Some(Answer::TooFew)) => return vec![share("fewer than", minimum)],
        (Question::Count, Some(Answer::Count(n))) => {
            return vec![format!("how many keys the two sides share ({})", grouped(n))];
        }
        (Question::AtLeast(least), Some(Answer::AtLeast(true))) => {
            return vec![share("at least", least.max(minimum))];
        }
        (Question::AtLeast(least), Some(_)) => share("fewer than", least),
        (Question::AtLeast(least), None) => {
            format!("whether the two sides share at least {}", keys(least))
        }
        (Question::Count, _) => "how many keys the two sides share".to_owned(),
        (Question::SumOfSender, _) => sum_of(sides.receiver.other()),
        (Question::SumOfReceiver, _) => sum_of(sides.receiver),
        (Question::Products, _) => sum("the products of both sides' values"),
    };
    match (minimum, answer) {
        (0, _) => vec![fact],
        (_, Some(_)) => vec![fact, share("at least", minimum)],
        (_, None) => vec![format!("{fact} (or only {})", share("fewer than", minimum))],
    }
}

/// One, two or more things, as a sentence lists them.
fn listed(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

fn keys(n: u64) -> String {
    counted(n, "key")
}

const FOLLOWING: &str = "This holds if both sides follow the protocol (semi-honest security).";

fn insecure(protocol: &str, receiver: Side) -> String {
    format!(
        "Nothing enforces this: `{protocol}` is insecure and for measurements only. {} can find out each key \
         of {} that it can guess.",
        receiver.capital(),
        receiver.other().name()
    )
}

fn deviating_sender(receiver: Side) -> String {
    format!(
        "This holds whatever {} does, if {} follows the protocol (security against a malicious sender).",
        receiver.other().name(),
        receiver.name()
    )
}

fn deviating(sides: &Sides) -> String {
    let Sides { receiver, i_learn, peer_learns, .. } = *sides;
    let (one, other) = (receiver.name(), receiver.other().name());
    let capital = receiver.capital();
    let mut text = format!(
        "This holds even if a side deviates from the protocol (malicious security), but {one} may then \
         have used somewhat more keys than it announced."
    );
    if i_learn && peer_learns {
        text += &format!(
            " {capital} learned first and told {other}: if it deviated, it may have left out matches, \
             and learned whether {other} has all keys of a further list."
        );
    }
    text
}
