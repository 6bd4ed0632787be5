//! What a cluster's driver and its tasks do: they ask their gateway, and compare partitions.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica_agree::offer::WIRE_VERSION;
use vesica_core::error::{Class, Error, Misuse, Result};
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
        ANSWER, ASK, ASKS, Answer, Ask, Counted, JOINS, LONGEST, Secret, TICKET, Token, Work,
    },
};

/// How long the gateway may be silent after a question.
const SILENCE: Duration = Duration::from_secs(30);

/// The pause before a question is asked again that was not heard.
const PAUSE: Duration = Duration::from_millis(500);

/// A gateway, as its cluster sees it.
#[derive(Debug, Clone)]
pub struct Gateway {
    address: String,
    token: Arc<Token>,
    /// How long to go on asking where nobody answers.
    wait: Duration,
    cancel: CancelToken,
    told: Arc<Mutex<Option<Told>>>,
}

/// What a driver told.
#[derive(Debug)]
struct Told {
    counted: Counted,
    /// The seed of the run that it then heard of.
    seed: Option<Secret>,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The report, as JSON.
    pub report: String,
    /// The record, as JSON.
    pub record: Option<String>,
    /// What went wrong after the result was complete.
    pub shortfalls: Vec<String>,
}

/// What a driver hears.
#[derive(Debug, Clone)]
pub enum Here {
    /// The run goes on.
    Waits,
    /// The gateway was started again, and is to be [told again](Gateway::again) what it was told.
    Again,
    /// The run has ended.
    Ended(Ended),
}

/// What ended a job of the cluster: a fault and, where the gateway has made one, the report.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failed {
    /// Whose fault it was.
    pub class: Class,
    /// What the user is told.
    pub message: String,
    /// The report, as JSON.
    pub report: Option<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { class: error.class(), message: error.to_string(), report: None }
    }
}

/// The result of what a cluster does.
pub type ClusterResult<T> = std::result::Result<T, Failed>;

impl Gateway {
    /// The gateway at `host:port`, which is asked for so long although nobody answers.
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

    /// Asks once, and again where the answer was lost.
    fn ask(&self, ask: &Ask) -> ClusterResult<Answer> {
        let started = Instant::now();
        loop {
            match self.attempt(ask) {
                Err(error) if may_pass(&error) && started.elapsed() < self.wait => {
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(error.into()),
                Ok(Answer::Failed { class, reason, report }) => {
                    return Err(Failed { class, message: reason, report: Some(report) });
                }
                Ok(Answer::Refused { reason }) => {
                    let message = format!("the gateway refuses: {reason}");
                    return Err(Failed { class: Class::Usage, message, report: None });
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    fn attempt(&self, ask: &Ask) -> Result<Answer> {
        let mut connection = self.connect()?;
        let mut head = [0; 1 + TICKET];
        head[0] = ASKS;
        connection.put(&head, SILENCE, &self.cancel)?;
        let mut channel = connection
            .into_channel()?
            .with_stall_timeout(SILENCE)
            .with_cancel_token(self.cancel.clone());
        channel.phase("gateway");
        let encoded = serde_json::to_vec(ask).map_err(|_| Error::bug("a question has JSON"))?;
        channel.send(ASK, &encoded)?;
        // It may hold secrets.
        let answer = Zeroizing::new(channel.recv_len(ANSWER, LONGEST)?);
        let malformed = |_| channel.malformed(ANSWER, "not an answer of this version");
        let answer = serde_json::from_slice(&answer).map_err(malformed)?;
        // The answer is here, whether or not the gateway hears that.
        let _ = channel.finish();
        Ok(answer)
    }

    /// Which keys are made, and how.
    ///
    /// # Errors
    /// A gateway that does not answer, or answers something else.
    pub fn keys(&self) -> ClusterResult<Keys> {
        match self.ask(&Ask::Keys { version: WIRE_VERSION })? {
            Answer::Keys(wanted) => Ok(Keys::new(wanted)),
            _ => Err(unexpected()),
        }
    }

    /// Tells what was counted, and waits for what there is to do.
    ///
    /// # Errors
    /// As [`Gateway::keys`], and a run that fails meanwhile.
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
                Answer::Work(work) => {
                    if let Some(Told { seed, .. }) = &mut *self.told() {
                        let seed = seed.get_or_insert_with(|| work.seed.clone());
                        if *seed != work.seed {
                            return Err(another());
                        }
                    }
                    return Ok(Tasks { work: *work });
                }
                Answer::Wait => self.check()?,
                // The run ended before this driver heard of it.
                Answer::Ended { .. } => return Err(over()),
                _ => return Err(unexpected()),
            }
        }
    }

    /// Waits until this slot is to compare a partition; `None` when there are no more.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn next(&self, slot: u32) -> ClusterResult<Option<u32>> {
        loop {
            match self.ask(&Ask::Next { slot })? {
                Answer::Partition(partition) => return Ok(Some(partition)),
                Answer::Over | Answer::Ended { .. } => return Ok(None),
                Answer::Wait => self.check()?,
                _ => return Err(unexpected()),
            }
        }
    }

    /// Says that what was found in a slot's partition is where it stays. If it does not count, the partition is given out
    /// again.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn kept(&self, slot: u32, partition: u32) -> ClusterResult<()> {
        loop {
            match self.ask(&Ask::Kept { slot, partition })? {
                Answer::Good | Answer::Ended { .. } => return Ok(()),
                Answer::Wait => self.check()?,
                _ => return Err(unexpected()),
            }
        }
    }

    /// Says that the driver is there, and whether all is where it stays.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn here(&self, is_staged: bool) -> ClusterResult<Here> {
        match self.ask(&Ask::Here { is_staged })? {
            Answer::Wait => Ok(Here::Waits),
            Answer::Again => Ok(Here::Again),
            Answer::Ended { report, record, shortfalls } => {
                Ok(Here::Ended(Ended { report, record, shortfalls }))
            }
            _ => Err(unexpected()),
        }
    }

    /// Tells a gateway that was started again what [`Gateway::work`] told, and which slots are busy with which partitions at
    /// this moment.
    ///
    /// # Errors
    /// As [`Gateway::work`].
    pub fn again(&self, busy: &[(u32, u32)]) -> ClusterResult<()> {
        let counted = self.told().as_ref().map(|told| told.counted.clone());
        self.work_again(counted.ok_or_else(unexpected)?, busy).map(drop)
    }

    /// Says that the cluster cannot go on.
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

    /// Compares a partition of these keys, in as many attempts as that takes, and returns which of them the other side has
    /// too, by their positions; nothing where this side does not learn it.
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
            // It is of no use to try again; if that is not heard, another task will say so.
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
        let mut rng = StdRng::try_from_rng(&mut SysRng)
            .map_err(|_| Error::bug("the operating system gives no randomness"))?;
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
                Answer::Good => {
                    let rows = piece.map(|piece| piece.rows).unwrap_or_default();
                    return Ok(rows.into_iter().map(|row| row as u32).collect());
                }
                Answer::Again | Answer::Wait => {}
                _ => return Err(unexpected()),
            }
        }
        Err(Error::TooManyAttempts { partition, attempts: MOST_ATTEMPTS.into() }.into())
    }

    /// Asks the gateway before an attempt reveals anything.
    fn gate(&self, partition: u32, attempt: u8) -> Gate {
        let gateway = self.clone();
        Box::new(move || match gateway.ask(&Ask::Reveals { partition, attempt }) {
            Ok(Answer::Good) => Ok(()),
            // The session was lost, or the attempt; another one may come.
            Ok(_) => {
                let lost = vesica_net::Error::Closed { phase: "partition" };
                Err(io::Error::other(Error::from(lost)))
            }
            Err(Failed { message, .. }) => {
                Err(io::Error::other(Error::Cluster { reason: message }))
            }
        })
    }

    /// Waits for the other side's task. `None` where the partition is done.
    fn begin(
        &self,
        partition: u32,
        task: Prepared,
    ) -> ClusterResult<Option<(u8, Fingerprint, [u8; TICKET])>> {
        loop {
            match self.ask(&Ask::Ready { partition, task })? {
                Answer::Begin { attempt, peer, ticket } => {
                    return Ok(Some((attempt, peer, ticket)));
                }
                Answer::Wait => self.check()?,
                Answer::Over | Answer::Ended { .. } => return Ok(None),
                _ => return Err(unexpected()),
            }
        }
    }
}

fn unexpected() -> Failed {
    let message = "the gateway answers something else than this version expects".to_owned();
    Failed { class: Class::Usage, message, report: None }
}

fn another() -> Failed {
    let message = "the gateway was started again and began another run, because its journal is gone; if it is gone \
                   because the run ended, the record says so";
    Failed { class: Class::Network, message: message.to_owned(), report: None }
}

fn over() -> Failed {
    let message = "the run is over, or this partition is done already".to_owned();
    Failed { class: Class::Network, message, report: None }
}

/// What there is to do.
#[derive(Debug, Clone)]
pub struct Tasks {
    work: Work,
}

impl Tasks {
    /// As text, for tasks.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.work).unwrap_or_default()
    }

    /// From text.
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

    /// How many of them are done, from the first on.
    pub fn done(&self) -> u32 {
        self.work.done
    }

    /// A name for the run that tells nothing of its secrets, and is the same when it goes on after an interruption.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 name of a run");
        hasher.update(self.work.seed.digits().as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The partition of each of these keys.
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
    Error::usage(Misuse::Cluster, "not what there is to do")
}

fn bytes(secret: &Secret) -> Result<[u8; 32]> {
    secret.bytes().ok_or_else(unusable)
}
