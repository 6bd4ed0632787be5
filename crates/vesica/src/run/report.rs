//! What a run did, in numbers and two sentences, without any identifier.

use serde::Serialize;
use vesica_net::{Meter, meter::peak_memory};
use vesica_psi::{
    Protocol, Status,
    aggregate::{Answer, Method, Question},
};

use crate::{
    agree::terms::Terms,
    keys::keyset::RowCounts,
    words::{counted, grouped},
};

/// The report of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The protocol's key.
    pub protocol: &'static str,
    /// The security agreed on.
    pub security: &'static str,
    /// The hash of the terms, the same in both sides' reports.
    pub terms_hash: String,
    /// This side's rows.
    pub rows: RowCounts,
    /// Distinct keys of the other side.
    pub peer_items: u64,
    /// Distinct keys that both sides have; `None` where this side does not learn them.
    pub matches: Option<u64>,
    /// What was asked for in place of matches; `None` where this side does not learn it.
    pub answer: Option<Answered>,
    /// From the first message to the last.
    pub seconds: f64,
    /// Bytes sent, framing included, TLS records not.
    pub bytes_sent: u64,
    /// Bytes received, framing included, TLS records not.
    pub bytes_received: u64,
    /// How often the direction of traffic changed.
    pub rounds: u64,
    /// Where time and bytes went.
    pub phases: Vec<PhaseReport>,
    /// The most memory the process had at a time, where the system says.
    pub peak_memory_bytes: Option<u64>,
    /// Who learned what.
    pub learned: Learned,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// Keys that both sides have.
    Count(u64),
    /// What values of shared keys add up to.
    Sum(i128),
    /// Whether there are as many shared keys as asked.
    AtLeast(bool),
    /// There are fewer shared keys than the minimum.
    TooFew,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Count(count) => Self::Count(count),
            Answer::Sum(sum) => Self::Sum(sum),
            Answer::AtLeast(is) => Self::AtLeast(is),
            Answer::TooFew => Self::TooFew,
        }
    }
}

/// The cost of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseReport {
    /// The phase's name.
    pub name: &'static str,
    /// Time spent in it.
    pub seconds: f64,
    /// Bytes sent in it.
    pub bytes_sent: u64,
    /// Bytes received in it.
    pub bytes_received: u64,
}

/// What each side learned, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// This side.
    pub me: String,
    /// The other side.
    pub peer: String,
}

impl Report {
    /// A report without a result and without costs.
    pub(crate) fn new(
        protocol: &'static str,
        terms: &Terms,
        rows: RowCounts,
        peer_items: u64,
        learned: Learned,
    ) -> Self {
        Self {
            protocol,
            security: terms.security().name(),
            terms_hash: terms.hash(),
            rows,
            peer_items,
            matches: None,
            answer: None,
            seconds: 0.0,
            bytes_sent: 0,
            bytes_received: 0,
            rounds: 0,
            phases: Vec::new(),
            peak_memory_bytes: None,
            learned,
        }
    }

    /// Puts the meter's figures into the report.
    pub(crate) fn set_costs(&mut self, meter: &Meter) {
        let phases = meter.phases();
        self.seconds = phases.iter().map(|phase| phase.time.as_secs_f64()).sum();
        self.bytes_sent = meter.sent();
        self.bytes_received = meter.received();
        self.rounds = meter.rounds();
        self.phases = phases
            .iter()
            .map(|phase| PhaseReport {
                name: phase.name,
                seconds: phase.time.as_secs_f64(),
                bytes_sent: phase.sent,
                bytes_received: phase.received,
            })
            .collect();
        self.peak_memory_bytes = peak_memory();
    }
}

impl Learned {
    /// The sentences for a run in which this side had `mine` keys and the other `peers`.
    pub(crate) fn new(
        protocol: &Protocol,
        (mine, i_learn): (u64, bool),
        (peers, peer_learns): (u64, bool),
        matches: Option<u64>,
    ) -> Self {
        let count = matches.map(|n| format!(" ({})", grouped(n))).unwrap_or_default();
        let sentence = |one: &str, other: &str, learns, ones, others| {
            let (ones, others) = (counted(ones, "key"), counted(others, "key"));
            if learns {
                format!(
                    "{one} learned which of its {ones} {other} has too{count}, and that {other} \
                     has {others}."
                )
            } else {
                format!("{one} learned that {other} has {others}, and nothing about which.")
            }
        };
        let mut me = sentence("This side", "the other side", i_learn, mine, peers);
        let mut peer = sentence("The other side", "this side", peer_learns, peers, mine);
        if protocol.status == Status::Insecure {
            let truth = format!(
                " But `{}` is insecure and for measurements only: take it that either side can \
                 find out every guessable key of the other.",
                protocol.key
            );
            me.push_str(&truth);
            peer.push_str(&truth);
        }
        Self { me, peer }
    }

    /// The sentences for a run in which a question was asked; this side has `mine` keys and the other
    /// `peers`, and `receives` says whether this side is the one that the method tells.
    pub(crate) fn of_answer(
        (method, question): (&Method, Question),
        receives: bool,
        (mine, i_learn): (u64, bool),
        (peers, peer_learns): (u64, bool),
    ) -> Self {
        let learns = (method.learns)(question);
        let told = match question {
            Question::Count => "how many keys are shared".to_owned(),
            Question::SumOfSender | Question::SumOfReceiver => {
                "what the values of the shared keys add up to".to_owned()
            }
            Question::Products => {
                "what the products of both sides' values of the shared keys add up to".to_owned()
            }
            Question::AtLeast(least) => {
                format!("whether at least {} are shared", counted(least, "key"))
            }
        };
        let sentence = |one: &str, other: &str, learns_answer, others, by_method: &str| {
            let answer = if learns_answer { format!("{told}, and ") } else { String::new() };
            format!(
                "{one} learned {answer}that {other} has {}, and nothing about which; by `{}` it learns \
                 {by_method}.",
                counted(others, "key"),
                method.key
            )
        };
        let (my, theirs) = if receives {
            (learns.receiver, learns.sender)
        } else {
            (learns.sender, learns.receiver)
        };
        Self {
            me: sentence("This side", "the other side", i_learn, peers, my),
            peer: sentence("The other side", "this side", peer_learns, mine, theirs),
        }
    }

    /// The sentences for a run that gave each side its shares and nothing else: this side has `mine` keys and the other
    /// `peers`.
    pub(crate) fn of_shares(mine: u64, peers: u64) -> Self {
        let sentence = |one: &str, other: &str, others| {
            format!(
                "{one} learned that {other} has {}, and nothing about which or how many match; it holds its              shares of that.",
                counted(others, "key")
            )
        };
        Self {
            me: sentence("This side", "the other side", peers),
            peer: sentence("The other side", "this side", mine),
        }
    }
}
