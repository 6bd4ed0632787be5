//! The requests of a cluster's driver and tasks to their gateway, and the answers.
//!
//! Each request has its own connection and gets one answer within seconds; a caller that has to wait asks again. So a
//! gateway that was restarted, or a connection that was lost, needs no special handling. Connections are authenticated
//! by the job's [`Token`] and begin with 17 bytes: [`ASKS`] and zeros, before a request as a message; or [`JOINS`] and
//! a ticket, before the bytes of an attempt, which the gateway relays.

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

/// The maximum length of a request and of an answer, in bytes.
pub(super) const LONGEST: usize = 1 << 20;

/// Bytes of a ticket.
pub(super) const TICKET: usize = 16;

/// The first byte of a connection with a request.
pub(super) const ASKS: u8 = 1;

/// The first byte of a connection with an attempt.
pub(super) const JOINS: u8 = 2;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Ask {
    /// Requests the key columns and their normalisation.
    Keys { version: u32 },
    /// The driver has counted its keys, and asks for the tasks. If it had asked before the gateway was restarted, its
    /// slots are busy with partitions.
    Work { counted: Counted, busy: Vec<(u32, u32)> },
    /// A slot asks for a partition.
    Next { slot: u32 },
    /// The slot's result has been stored.
    Kept { slot: u32, partition: u32 },
    /// A task is ready for a partition.
    Ready { partition: u32, task: Prepared },
    /// An attempt is about to send the message from which the other side learns.
    Reveals { partition: u32, attempt: u8 },
    /// An attempt has ended; a side that learns knows how many keys match.
    Found { partition: u32, attempt: u8, matches: Option<u64> },
    /// The driver is alive, and reports whether the results of all slots have been stored.
    Here { is_staged: bool },
    /// The cluster cannot continue.
    Stopped { reason: String },
}

/// The driver's counts.
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
pub enum GatewayReply {
    /// Ask again.
    Wait,
    Keys(KeysWanted),
    Work(Box<Work>),
    Partition(u32),
    /// There is no more work.
    Over,
    Good,
    /// The result does not count, or the gateway no longer knows the driver's facts: repeat.
    Again,
    Begin {
        attempt: u8,
        #[serde(with = "vesica_run::permits::text")]
        peer: Fingerprint,
        ticket: [u8; TICKET],
    },
    /// The run succeeded: its report and the record, as JSON, and the faults that occurred after the result was
    /// complete.
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
    /// The request is invalid.
    Refused {
        reason: String,
    },
}

/// Secret bytes in hexadecimal, which are wiped when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(hex(bytes))
    }

    /// Returns the bytes, if there are `N`.
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

    /// Returns the hexadecimal digits.
    pub(super) fn digits(&self) -> &str {
        &self.0
    }
}

/// Does not show the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The key columns and their normalisation, as agreed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysWanted {
    pub(super) normalize: Vec<TravellingName>,
    pub(super) null_values: Vec<String>,
    /// The secret under which the set is sketched.
    pub(super) sketch: Secret,
    pub(super) learns: bool,
}

/// Does not show the secret.
impl fmt::Debug for KeysWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeysWanted({:?})", self.normalize)
    }
}

/// The parameters that tasks need to compare partitions. All secrets in it belong to this side.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    pub(super) role: Role,
    pub(super) session: Secret,
    pub(super) seed: Secret,
    /// The secret for commitments.
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
    /// The time without a sign of life after which the other side's task is given up, in seconds.
    pub(super) stall: f64,
}

impl Work {
    /// Creates the work of a session that has begun, whose tasks wait this long for a sign of life.
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

    /// Returns the call of a partition with this many keys, the inverse of [`Work::new`]. `None` for sizes that no run
    /// has.
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

/// Does not show the secrets.
impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Work({} in {} partitions)", self.method, self.partitions)
    }
}

/// The token that admits the driver and the tasks of a job: their own key, and the fingerprint of their gateway.
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
    /// Reads the token in this file, or creates one in a new file that only its owner can read.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file without a token, or with a token of another gateway; [`Error::Output`].
    pub fn in_file(path: &Path, gateway: Fingerprint) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let token: Self = text.parse().map_err(|_| {
                    Error::usage(
                        Misuse::Cluster,
                        format!("{} does not contain a token of a gateway", path.display()),
                    )
                })?;
                match token.gateway == gateway {
                    true => Ok(token),
                    false => Err(Error::usage(
                        Misuse::Cluster,
                        format!(
                            "{} contains the token of another gateway: choose another file",
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

    /// Returns the token as text, for the cluster. Everyone who has it can take part in the job for this side.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}\n{}", self.gateway, &*self.key.to_pem()))
    }
}

impl FromStr for Token {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, &'static str> {
        const NONE: &str =
            "not the token of a gateway: use the text of the file that `vesica gateway` writes";
        let (gateway, key) = text.trim_start().split_once('\n').ok_or(NONE)?;
        let gateway = gateway.trim().parse().map_err(|_| NONE)?;
        let key = Identity::from_pem(key).map_err(|_| NONE)?;
        Ok(Self { gateway, key: Arc::new(key) })
    }
}
