//! What a cluster's driver and tasks ask their gateway, and what it answers.
//!
//! Each question has a connection of its own and gets one answer, within seconds: whoever has to wait asks again. So a
//! gateway that was started again, or a connection that was lost, is no special case. Connections are authenticated by
//! the job's [`Token`] and begin with 17 bytes: [`ASKS`] and zeros, before a question as a message; or [`JOINS`] and a ticket, before the
//! bytes of an attempt, which the gateway passes on.

use std::{fmt, path::Path, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use vesica_core::{
    error::{Error, Misuse, Result},
    parties::Role,
};
use vesica_keyset::sketch::Sketch;
use vesica_net::{Fingerprint, Identity};
use vesica_normalize::normalize::TravellingName;
use vesica_partner::signed::hex;
use vesica_psi::{MAX_ITEMS, Sizes};
use vesica_run::{permits::Prepared, session::Elsewhere};
use vesica_table::output::{Access, Output};
use vesica_task::{
    interface::{Call, Request},
    sides::{Side, Sides},
};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub(super) const ASK: &str = "gateway/ask";
pub(super) const ANSWER: &str = "gateway/answer";

/// The longest question and answer, in bytes.
pub(super) const LONGEST: usize = 1 << 20;

/// Bytes of a ticket.
pub(super) const TICKET: usize = 16;

/// How a connection begins on which something is asked.
pub(super) const ASKS: u8 = 1;

/// How one begins that carries an attempt.
pub(super) const JOINS: u8 = 2;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Ask {
    /// Which keys are made, and how.
    Keys { version: u32 },
    /// The driver has counted its keys, and asks what to do. Where it has asked before the gateway was
    /// started again, its slots are busy with partitions.
    Work { counted: Counted, busy: Vec<(u32, u32)> },
    /// A slot asks for a partition.
    Next { slot: u32 },
    /// What was found in a slot's partition is where it stays.
    Kept { slot: u32, partition: u32 },
    /// A task is ready for a partition.
    Ready { partition: u32, task: Prepared },
    /// An attempt is about to send that from which the other side learns.
    Reveals { partition: u32, attempt: u8 },
    /// An attempt came to its end; a side that learns knows how many keys match.
    Found { partition: u32, attempt: u8, matches: Option<u64> },
    /// The driver is there, and says whether all that its slots found is where it stays.
    Here { is_staged: bool },
    /// The cluster cannot go on.
    Stopped { reason: String },
}

/// What the driver counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counted {
    pub(crate) rows: u64,
    /// Rows without a key.
    pub(crate) null: u64,
    /// Distinct keys.
    pub(crate) keys: u64,
    pub(crate) sketch: Sketch,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Answer {
    /// Ask again.
    Wait,
    Keys(KeysWanted),
    Work(Box<Work>),
    Partition(u32),
    /// There is nothing more to do.
    Over,
    Good,
    /// What was found does not count, or what was told is not known any more: once more.
    Again,
    Begin {
        attempt: u8,
        #[serde(with = "vesica_run::permits::text")]
        peer: Fingerprint,
        ticket: [u8; TICKET],
    },
    /// The run succeeded: its report, and the record, as JSON; and what went wrong after the result was complete.
    Ended {
        report: String,
        record: Option<String>,
        shortfalls: Vec<String>,
    },
    /// The run failed.
    Failed {
        class: vesica_core::error::Class,
        reason: String,
        report: String,
    },
    /// The question makes no sense.
    Refused {
        reason: String,
    },
}

/// Secret bytes in hexadecimal digits, which are wiped when they are dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(hex(bytes))
    }

    /// The bytes, if they are so many.
    pub(super) fn bytes<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        if self.0.len() != 2 * N || !self.0.is_ascii() {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&self.0[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(bytes)
    }

    /// The digits.
    pub(super) fn digits(&self) -> &str {
        &self.0
    }
}

/// Shows no secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// How keys are made, as the agreement says.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysWanted {
    pub(super) normalize: Vec<TravellingName>,
    pub(super) null_values: Vec<String>,
    /// The secret under which the set is sketched.
    pub(super) sketch: Secret,
    pub(super) learns: bool,
}

/// Shows no secret.
impl fmt::Debug for KeysWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeysWanted({:?})", self.normalize)
    }
}

/// What tasks need to know to compare partitions. Everything that is secret in it is of this side.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    pub(super) role: Role,
    pub(super) session: Secret,
    pub(super) seed: Secret,
    /// What commitments are made with.
    pub(super) secret: Secret,
    pub(super) method: String,
    pub(super) partitions: u32,
    /// Partitions that are done.
    pub(super) done: u32,
    /// Items of each partition of the sender and of the receiver.
    pub(super) sizes: [u64; 2],
    pub(super) keys: u64,
    pub(super) peer_keys: u64,
    pub(super) receives: bool,
    pub(super) learns: bool,
    pub(super) peer_learns: bool,
    /// Seconds without a sign of life after which the other side's task is given up.
    pub(super) stall: f64,
}

impl Work {
    /// The work of a session that has begun, whose tasks wait this long for a sign of life.
    pub(super) fn new(elsewhere: &Elsewhere<'_>, stall: Duration) -> Self {
        let Elsewhere { call, method, seed, session, done, commitments } = elsewhere;
        let Sizes { sender, receiver } = call.request.sizes;
        Self {
            role: call.role,
            session: Secret::new(session.as_bytes()),
            seed: Secret::new(seed.as_bytes()),
            secret: Secret::new(&**commitments),
            method: (*method).to_owned(),
            partitions: call.request.partitions as u32,
            done: *done as u32,
            sizes: [sender as u64, receiver as u64],
            keys: call.sides.my_keys,
            peer_keys: call.sides.peer_keys,
            receives: call.receives(),
            learns: call.sides.i_learn,
            peer_learns: call.sides.peer_learns,
            stall: stall.as_secs_f64(),
        }
    }

    /// The call of a partition with this many keys, the way back from [`Work::new`]. `None` for sizes that no run has.
    pub(super) fn call(&self, rows: u64) -> Option<Call> {
        let [sender, receiver] = self.sizes.map(|size| usize::try_from(size).ok());
        let (sender, receiver) = sender.zip(receiver)?;
        if sender.max(receiver) > MAX_ITEMS || self.partitions == 0 {
            return None;
        }
        let sides = Sides {
            my_keys: self.keys,
            peer_keys: self.peer_keys,
            i_learn: self.learns,
            peer_learns: self.peer_learns,
            receiver: if self.receives { Side::Me } else { Side::Peer },
            identifiers: 1,
        };
        let request = Request::rows(Sizes { sender, receiver }, self.partitions as usize);
        Some(Call::new(request, self.role, sides, rows))
    }
}

/// Shows no secret.
impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Work({} in {} partitions)", self.method, self.partitions)
    }
}

/// What admits the driver and the tasks of a job: a key of their own, and the fingerprint of their gateway.
pub struct Token {
    pub(super) gateway: Fingerprint,
    pub(super) key: Arc<Identity>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.key.fingerprint())
    }
}

impl Token {
    /// The token in this file, or a new one in a new file that only its owner can read.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that holds no token, or one for another gateway; [`Error::Output`].
    pub fn in_file(path: &Path, gateway: Fingerprint) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let token: Self = text.parse().map_err(|_| {
                    Error::usage(
                        Misuse::Cluster,
                        format!("{} holds no token of a gateway", path.display()),
                    )
                })?;
                match token.gateway == gateway {
                    true => Ok(token),
                    false => Err(Error::usage(
                        Misuse::Cluster,
                        format!(
                            "{} holds the token of another gateway: name another file",
                            path.display()
                        ),
                    )),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let key = Identity::generate()
                    .map_err(|_| Error::bug("the operating system gives no randomness"))?;
                let token = Self { gateway, key: Arc::new(key) };
                let text = token.text();
                Output::prepare(path, Access::Owner)?
                    .stage(|out| out.write_all(text.as_bytes()))?
                    .commit()?;
                Ok(token)
            }
            Err(source) => Err(Error::Output { path: path.to_owned(), source }),
        }
    }

    /// As text, for the cluster. Whoever has it can take part in the job for this side.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}\n{}", self.gateway, &*self.key.to_pem()))
    }
}

impl FromStr for Token {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, &'static str> {
        const NONE: &str =
            "not the token of a gateway: it is the text of the file that `vesica gateway` writes";
        let (gateway, key) = text.trim_start().split_once('\n').ok_or(NONE)?;
        let gateway = gateway.trim().parse().map_err(|_| NONE)?;
        let key = Identity::from_pem(key).map_err(|_| NONE)?;
        Ok(Self { gateway, key: Arc::new(key) })
    }
}
