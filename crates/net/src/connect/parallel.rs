//! More connections of the same two parties, for a run that uses several at a time.
//!
//! The party that dialled dials again, and the one that listens still does. Both authenticate as before. The first message of
//! a connection is its number and the [session](crate::SessionId) of the run, so that it is of this run and of no other.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::{Connection, open, porter::Porter};
use crate::{
    CancelToken, Channel, Error, Meter, Proxy, Result, Tls,
    transport::{POLL_INTERVAL, tls::Credentials},
};

const PARALLEL: &str = "parallel";

/// The interval between two calls.
const PAUSE: Duration = Duration::from_millis(10);

/// How to get another connection.
pub(crate) enum Parallel {
    /// By calling again.
    Dialling {
        /// Where the other side listens.
        address: String,
        /// Through which proxy.
        proxy: Option<Proxy>,
        /// Who calls whom.
        credentials: Box<Credentials>,
    },
    /// By answering.
    Listening {
        /// Answers callers; gone with this.
        porter: Porter,
        /// Those who were admitted.
        admitted: Receiver<Tls>,
    },
}

impl Parallel {
    /// Another connection, for which to wait so long.
    fn next(&mut self, patience: Duration, cancel: &CancelToken) -> Result<Tls> {
        match self {
            Self::Dialling { address, proxy, credentials } => {
                let started = Instant::now();
                loop {
                    let tcp = open(address, proxy.as_ref(), patience, cancel)?;
                    match credentials.parallel(tcp)?.complete(patience, cancel) {
                        // The other side does not expect it yet.
                        Err(Error::InARun) if started.elapsed() < patience => thread::sleep(PAUSE),
                        ended => return ended,
                    }
                }
            }
            Self::Listening { porter, admitted } => {
                porter.expect_parallel();
                let started = Instant::now();
                loop {
                    if cancel.is_cancelled() {
                        return Err(Error::Cancelled { phase: PARALLEL });
                    }
                    match admitted.recv_timeout(POLL_INTERVAL) {
                        Ok(tls) => return Ok(tls),
                        Err(RecvTimeoutError::Timeout) if started.elapsed() < patience => {}
                        Err(_) => return Err(Error::Stalled { phase: PARALLEL, after: patience }),
                    }
                }
            }
        }
    }
}

impl Channel {
    /// Whether this party can have more [connections](Self::parallel) to the other.
    pub fn has_parallel(&self) -> bool {
        self.parallel.is_some()
    }

    /// Another channel to the same party, in the same session. Both parties call this with the same numbers in the same order.
    ///
    /// # Errors
    /// As [`dial`](super::dial()) and [`listen`](super::listen()); a deviation if the other side is in another run.
    ///
    /// # Panics
    /// If there [can be none](Self::has_parallel).
    pub fn parallel(&mut self, number: u8) -> Result<Channel> {
        let mut more = self.parallel.take().expect("a channel that can have more");
        let calls = matches!(more, Parallel::Dialling { .. });
        let next = more.next(self.stall, &self.cancel_token());
        self.parallel = Some(more);
        let mut channel = Connection::from(next?).into_channel()?;
        channel.inherit(self);
        let expected = [&[number], &self.session().as_bytes()[..]].concat();
        if calls {
            channel.send(PARALLEL, &expected)?;
            channel.flush()?;
        } else {
            let mut named = [0; 33];
            channel.recv_into(PARALLEL, &mut named)?;
            if named[..] != expected {
                return Err(channel.malformed(PARALLEL, "a connection of another run"));
            }
        }
        channel.bind("parallel", &expected);
        Ok(channel)
    }

    /// Takes over the session, the phase and the limits of another channel of this party.
    fn inherit(&mut self, other: &Self) {
        (self.stall, self.clock, self.ends) = (other.stall, other.clock.clone(), other.ends);
        self.session.bind(PARALLEL, other.session.as_bytes());
        self.phase(other.meter().phase());
    }

    /// Adds to the cost of this run that of another channel of this party.
    pub fn add_cost(&mut self, other: &Meter) {
        self.meter.add(other);
    }
}
