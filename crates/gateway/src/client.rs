//! The driver and the tasks of a cluster: requests to their gateway, and the comparison of partitions.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rand::{SeedableRng, rngs::StdRng};
use vesica_agree::offer::WIRE_VERSION;
use vesica_core::{
    error::{Class, Error, Misuse, Result},
    random::system_rng,
};
use vesica_keyset::{
    partitions::{Commitments, Partition, partitions_of},
    seed::Seed,
};
use vesica_net::{
    CancelToken, Fingerprint, Gate, Identity,
    connect::{self, Connection, Meeting},
};
use vesica_normalize::digest::Digest;
use vesica_psi::Sizes;
use vesica_run::permits::{self, Attempt, MOST_ATTEMPTS, Prepared, may_pass};
use vesica_task::{
    piece::{Piece, RowsLayout, RowsPiece},
    query::Query,
};
use zeroize::Zeroizing;

use super::{
    keys::{Keys, Sketched},
    message::{
        ANSWER, ASK, ASKS, Ask, Counted, GatewayReply, JOINS, LONGEST, Secret, TICKET, Token, Work,
    },
};

/// The longest silence of the gateway after a request.
const SILENCE: Duration = Duration::from_secs(30);

/// The pause before a request without an answer is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// A gateway, as its cluster sees it.
#[derive(Debug, Clone)]
pub struct Gateway {
    address: String,
    token: Arc<Token>,
    /// The time after which requests are given up if nobody answers.
    wait: Duration,
    cancel: CancelToken,
    told: Arc<Mutex<Option<Told>>>,
}

/// The facts that a driver has sent.
#[derive(Debug)]
struct Told {
    counted: Counted,
    /// The seed of the run that it received in answer.
    seed: Option<Secret>,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The report, as JSON.
    pub report: String,
    /// The record, as JSON.
    pub record: Option<String>,
    /// Faults that occurred after the result was complete.
    pub shortfalls: Vec<String>,
}

/// The gateway's answer to a driver's heartbeat.
#[derive(Debug, Clone)]
pub enum Here {
    /// The run continues.
    Waits,
    /// The gateway was restarted, and the driver must [repeat](Gateway::again) its facts.
    Again,
    /// The run has ended.
    Ended(Ended),
}

/// The error that ended a job of the cluster, with the report if the gateway has made one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failed {
    /// The side at fault.
    pub class: Class,
    /// The message for the user.
    pub message: String,
    /// The report, as JSON.
    pub report: Option<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { class: error.class(), message: error.to_string(), report: None }
    }
}

/// The result of an operation of a cluster.
pub type ClusterResult<T> = std::result::Result<T, Failed>;

impl Gateway {
    /// Creates a handle of the gateway at `host:port`. Requests are repeated for the time `wait` if nobody answers.
    pub fn new(address: String, token: Arc<Token>, wait: Duration, cancel: CancelToken) -> Self {
        Self { address, token, wait, cancel, told: Arc::default() }
    }

    fn connect(&self) -> Result<Connection> {
        let meeting = Meeting {
            me: &self.token.key,
            peer: &self.token.gateway,
            wait: self.wait,
            stall: SILENCE,
            proxy: None,
            cancel: &self.cancel,
            observer: &|_| {},
        };
        Ok(connect::dial(&self.address, &meeting)?)
    }

    /// Sends a request, and repeats it if the answer was lost.
    fn ask(&self, ask: &Ask) -> ClusterResult<GatewayReply> {
        let started = Instant::now();
        loop {
            match self.attempt(ask) {
                Err(error) if may_pass(&error) && started.elapsed() < self.wait => {
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(error.into()),
                Ok(GatewayReply::Failed { class, reason, report }) => {
                    return Err(Failed { class, message: reason, report: Some(report) });
                }
                Ok(GatewayReply::Refused { reason }) => {
                    let message = format!("the gateway refused: {reason}");
                    return Err(Failed { class: Class::Usage, message, report: None });
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    fn attempt(&self, ask: &Ask) -> Result<GatewayReply> {
        let mut connection = self.connect()?;
        let mut head = [0; 1 + TICKET];
        head[0] = ASKS;
        connection.put(&head, SILENCE, &self.cancel)?;
        let mut channel = connection
            .into_channel()?
            .with_stall_timeout(SILENCE)
            .with_cancel_token(self.cancel.clone());
        channel.phase("gateway");
        let encoded = serde_json::to_vec(ask).map_err(|_| Error::bug("a request has JSON"))?;
        channel.send(ASK, &encoded)?;
        // The answer may contain secrets.
        let answer = Zeroizing::new(channel.recv_len(ANSWER, LONGEST)?);
        let malformed = |_| channel.malformed(ANSWER, "not an answer of this version");
        let answer = serde_json::from_slice(&answer).map_err(malformed)?;
        // The answer has arrived, even if the gateway does not learn that.
        let _ = channel.finish();
        Ok(answer)
    }

    /// Requests the key columns and their normalisation.
    ///
    /// # Errors
    /// A gateway that does not answer, or whose answer is unexpected.
    pub fn keys(&self) -> ClusterResult<Keys> {
        match self.ask(&Ask::Keys { version: WIRE_VERSION })? {
            GatewayReply::Keys(wanted) => Ok(Keys::new(wanted)),
            _ => Err(unexpected()),
        }
    }

    /// Sends the driver's counts, and waits for the tasks.
    ///
    /// # Errors
    /// As [`Gateway::keys`], and a run that fails in the meantime.
    pub fn work(&self, counts: [u64; 3], sketch: Sketched) -> ClusterResult<Tasks> {
        let [rows, null, keys] = counts;
        let counted = Counted { rows, null, keys, sketch: sketch.into_inner() };
        *self.told() = Some(Told { counted: counted.clone(), seed: None });
        self.work_again(counted, &[])
    }

    fn told(&self) -> MutexGuard<'_, Option<Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_again(&self, counted: Counted, busy: &[(u32, u32)]) -> ClusterResult<Tasks> {
        let ask = Ask::Work { counted, busy: busy.to_vec() };
        loop {
            match self.ask(&ask)? {
                GatewayReply::Work(work) => {
                    if let Some(Told { seed, .. }) = &mut *self.told() {
                        let seed = seed.get_or_insert_with(|| work.seed.clone());
                        if *seed != work.seed {
                            return Err(another());
                        }
                    }
                    return Ok(Tasks { work: *work });
                }
                GatewayReply::Wait => self.check()?,
                // The run ended before this driver received the tasks.
                GatewayReply::Ended { .. } => return Err(over()),
                _ => return Err(unexpected()),
            }
        }
    }

    /// Waits for a partition for this slot; `None` if there are no more.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn next(&self, slot: u32) -> ClusterResult<Option<u32>> {
        loop {
            match self.ask(&Ask::Next { slot })? {
                GatewayReply::Partition(partition) => return Ok(Some(partition)),
                GatewayReply::Over | GatewayReply::Ended { .. } => return Ok(None),
                GatewayReply::Wait => self.check()?,
                _ => return Err(unexpected()),
            }
        }
    }

    /// Reports that a slot's result has been stored. If the result does not count, the partition is assigned again.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn kept(&self, slot: u32, partition: u32) -> ClusterResult<()> {
        loop {
            match self.ask(&Ask::Kept { slot, partition })? {
                GatewayReply::Good | GatewayReply::Ended { .. } => return Ok(()),
                GatewayReply::Wait => self.check()?,
                _ => return Err(unexpected()),
            }
        }
    }

    /// Sends a heartbeat of the driver, with whether all results have been stored.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn here(&self, is_staged: bool) -> ClusterResult<Here> {
        match self.ask(&Ask::Here { is_staged })? {
            GatewayReply::Wait => Ok(Here::Waits),
            GatewayReply::Again => Ok(Here::Again),
            GatewayReply::Ended { report, record, shortfalls } => {
                Ok(Here::Ended(Ended { report, record, shortfalls }))
            }
            _ => Err(unexpected()),
        }
    }

    /// Repeats the facts of [`Gateway::work`] to a gateway that was restarted, with the partitions that slots currently
    /// compare.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn again(&self, busy: &[(u32, u32)]) -> ClusterResult<()> {
        let counted = self.told().as_ref().map(|told| told.counted.clone());
        self.work_again(counted.ok_or_else(unexpected)?, busy).map(drop)
    }

    /// Reports that the cluster cannot continue.
    ///
    /// # Errors
    /// As [`Gateway::keys`].
    pub fn stop(&self, reason: &str) -> ClusterResult<()> {
        self.ask(&Ask::Stopped { reason: reason.to_owned() }).map(drop)
    }

    fn check(&self) -> Result<()> {
        match self.cancel.is_cancelled() {
            true => Err(vesica_net::Error::Cancelled { phase: "gateway" }.into()),
            false => Ok(()),
        }
    }

    /// Compares a partition of these keys, in as many attempts as necessary. Returns the positions of the keys that the
    /// other side has too, or nothing if this side does not learn them.
    ///
    /// # Errors
    /// As [`Gateway::work`]; [`Class::Peer`] for a task of the other side that breaks the protocol.
    pub fn compare(
        &self,
        tasks: &Tasks,
        partition: u32,
        digests: &[[u8; 32]],
    ) -> ClusterResult<Vec<u32>> {
        let compared = self.compare_or_fail(tasks, partition, digests);
        if let Err(failed) = &compared
            && failed.class == Class::Peer
        {
            // A retry is useless; if this message is lost, another task will report the same.
            let _ = self.stop(&failed.message);
        }
        compared
    }

    fn compare_or_fail(
        &self,
        tasks: &Tasks,
        partition: u32,
        digests: &[[u8; 32]],
    ) -> ClusterResult<Vec<u32>> {
        let call = tasks.work.call(digests.len() as u64).ok_or_else(unusable)?;
        let (seed, session) = (tasks.seed()?, bytes(&tasks.work.session)?);
        let commitments = Commitments::new(bytes(&tasks.work.secret)?);
        let mut methods = Query::ROWS.kind.task.methods().into_iter();
        let method = methods.find(|method| method.key() == tasks.work.method);
        let method = method.ok_or_else(unexpected)?;
        let gather = method.gather(&call).ok_or_else(unexpected)?;
        let mut rng = system_rng()?;
        let Sizes { sender, receiver } = call.request.sizes;
        let capacity = if call.receives() { receiver } else { sender };
        let digests: Vec<_> = digests.iter().copied().map(Digest::from_bytes).collect();
        let length = method.item_length();
        let layout = RowsLayout::of(&call, length);
        let loaded = Partition::of(&digests, &seed, capacity, length, &mut rng)?;
        let commitment = commitments.of(partition, &loaded);
        let stall = Duration::from_secs_f64(tasks.work.stall.clamp(0.1, 86400.0));
        for _ in 0..=MOST_ATTEMPTS {
            let me = Identity::generate()
                .map_err(|_| Error::bug("the operating system gives no randomness"))?;
            let task = Prepared { fingerprint: me.fingerprint(), commitment };
            let Some((attempt, peer, ticket)) = self.begin(partition, task)? else {
                return Err(over());
            };
            let mut attempt_once = || -> Result<_> {
                let mut connection = self.connect()?;
                let head = [&[JOINS][..], &ticket].concat();
                connection.put(&head, SILENCE, &self.cancel)?;
                let (role, session) = (call.role, &session);
                let of = Attempt { role, me: &me, peer: &peer, session, partition, attempt };
                let mut channel = permits::channel(connection, of, stall, &self.cancel)?;
                let rng = &mut StdRng::from_rng(&mut rng);
                permits::compare(
                    &*gather,
                    &loaded,
                    self.gate(partition, attempt),
                    &mut channel,
                    rng,
                )
            };
            let piece = match attempt_once() {
                Ok(piece) => piece,
                Err(error) if may_pass(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let piece = RowsPiece::read(&piece, &layout)?;
            let matches = piece.as_ref().map(|piece| piece.matches);
            match self.ask(&Ask::Found { partition, attempt, matches })? {
                GatewayReply::Good => {
                    let rows = piece.map(|piece| piece.rows).unwrap_or_default();
                    return Ok(rows.into_iter().map(|row| row.get() as u32).collect());
                }
                GatewayReply::Again | GatewayReply::Wait => {}
                _ => return Err(unexpected()),
            }
        }
        Err(Error::TooManyAttempts { partition, attempts: MOST_ATTEMPTS.into() }.into())
    }

    /// Returns a gate that asks the gateway before an attempt reveals anything.
    fn gate(&self, partition: u32, attempt: u8) -> Gate {
        let gateway = self.clone();
        Box::new(move || match gateway.ask(&Ask::Reveals { partition, attempt }) {
            Ok(GatewayReply::Good) => Ok(()),
            // The session or the attempt was lost; another one may follow.
            Ok(_) => {
                let lost = vesica_net::Error::Closed { phase: "partition" };
                Err(io::Error::other(Error::from(lost)))
            }
            Err(Failed { message, .. }) => {
                Err(io::Error::other(Error::Cluster { reason: message }))
            }
        })
    }

    /// Waits for the other side's task. Returns `None` if the partition is done.
    fn begin(
        &self,
        partition: u32,
        task: Prepared,
    ) -> ClusterResult<Option<(u8, Fingerprint, [u8; TICKET])>> {
        loop {
            match self.ask(&Ask::Ready { partition, task })? {
                GatewayReply::Begin { attempt, peer, ticket } => {
                    return Ok(Some((attempt, peer, ticket)));
                }
                GatewayReply::Wait => self.check()?,
                GatewayReply::Over | GatewayReply::Ended { .. } => return Ok(None),
                _ => return Err(unexpected()),
            }
        }
    }
}

fn unexpected() -> Failed {
    let message =
        "the gateway sent an unexpected answer: install the same version on both".to_owned();
    Failed { class: Class::Usage, message, report: None }
}

fn another() -> Failed {
    let message = "the gateway was restarted and began another run, because its journal is missing; if it is missing \
                   because the run ended, the record says so";
    Failed { class: Class::Network, message: message.to_owned(), report: None }
}

fn over() -> Failed {
    let message = "the run is over, or this partition is already done".to_owned();
    Failed { class: Class::Network, message, report: None }
}

/// The tasks of a run.
#[derive(Debug, Clone)]
pub struct Tasks {
    work: Work,
}

impl Tasks {
    /// Encodes the tasks as text.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.work).unwrap_or_default()
    }

    /// Decodes the tasks from text.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn of_text(text: &str) -> Result<Self> {
        let work = serde_json::from_str(text);
        Ok(Self { work: work.map_err(|_| unusable())? })
    }

    /// The number of partitions.
    pub fn partitions(&self) -> u32 {
        self.work.partitions
    }

    /// Returns how many of them are done, counted from the first.
    pub fn done(&self) -> u32 {
        self.work.done
    }

    /// Returns a name for the run that reveals none of its secrets, and is the same when it resumes after an
    /// interruption.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 name of a run");
        hasher.update(self.work.seed.digits().as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// Returns the partition of each of these keys.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn partitions_of(&self, digests: &[[u8; 32]]) -> Result<Vec<u32>> {
        let digests: Vec<_> = digests.iter().copied().map(Digest::from_bytes).collect();
        let partitions = self.work.partitions as usize;
        Ok(partitions_of(&self.seed()?, &digests, partitions))
    }

    fn seed(&self) -> Result<Seed> {
        Ok(Seed::of_run(bytes(&self.work.seed)?))
    }
}

fn unusable() -> Error {
    Error::usage(Misuse::Cluster, "not the text of a run's tasks")
}

fn bytes(secret: &Secret) -> Result<[u8; 32]> {
    secret.bytes().ok_or_else(unusable)
}
