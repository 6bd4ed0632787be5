//! More connections of the same two parties, for a run that uses several at a time.
//!
//! The party that dialled dials again, and the one that listens still does. Both authenticate as before. The first
//! message of a connection is its number and the [session](crate::SessionId) of the run, so that it belongs to only
//! this run.

use super::connection::{Connection, Parallel, ParallelSource};
use crate::{Channel, Error, Meter, Result, Transport, meter::PARALLEL};

impl Channel {
    /// Allows as many [more](Self::parallel) as there are transports to the other party; exactly one of the two parties
    /// `calls`.
    pub fn with_parallel(
        mut self,
        calls: bool,
        transports: impl IntoIterator<Item = Box<dyn Transport>, IntoIter: Send + 'static>,
    ) -> Self {
        let source = ParallelSource::Transports(Box::new(transports.into_iter()));
        self.parallel = Some(Parallel { calls, source });
        self
    }

    /// Whether this party can have more [connections](Self::parallel) to the other.
    pub fn has_parallel(&self) -> bool {
        self.parallel.is_some()
    }

    /// Opens another channel to the same party, in the same session. Both parties call this with the same numbers in
    /// the same order.
    ///
    /// # Errors
    /// Same as [`dial`](super::dial()) and [`listen`](super::listen()); a deviation if the other side is in another
    /// run.
    ///
    /// # Panics
    /// If it [does not support any](Self::has_parallel).
    pub fn parallel(&mut self, number: u8) -> Result<Channel> {
        let (mut channel, calls) = match &mut self.parallel {
            Some(Parallel { calls, source: ParallelSource::Transports(transports) }) => {
                let next = transports.next().ok_or(Error::Closed { phase: PARALLEL })?;
                (Channel::new(next), *calls)
            }
            _ => {
                let (next, calls) = self.next();
                (next?.into_channel()?, calls)
            }
        };
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

    /// Returns another connection, and whether this party called.
    fn next(&mut self) -> (Result<Connection>, bool) {
        let mut more = self.parallel.take().expect("a channel that can have more");
        let (patience, cancel) = (self.stall, self.cancel_token());
        let next = match &mut more.source {
            ParallelSource::Connections(connections) => {
                connections.next(patience, &cancel, &mut || self.keep_alive())
            }
            // They are channels, not connections.
            ParallelSource::Transports(_) => Err(Error::Closed { phase: PARALLEL }),
        };
        let calls = more.calls;
        self.parallel = Some(more);
        (next, calls)
    }

    /// Like [`Channel::parallel`], for bytes that are not messages of this party. The connection begins with its number
    /// and the session.
    ///
    /// # Errors
    /// Same as [`Channel::parallel`].
    ///
    /// # Panics
    /// If it [does not support any](Self::has_parallel).
    pub fn another(&mut self, number: u8) -> Result<Connection> {
        let (next, calls) = self.next();
        let (mut connection, cancel) = (next?, self.cancel_token());
        let expected = [&[number], &self.session().as_bytes()[..]].concat();
        if calls {
            connection.put(&expected, self.stall, &cancel)?;
        } else {
            let mut named = [0; 33];
            connection.get(&mut named, self.stall, &cancel)?;
            if named[..] != expected {
                return Err(self.malformed(PARALLEL, "a connection of another run"));
            }
        }
        Ok(connection)
    }

    /// Takes over the session, the phase and the limits of another channel of this party.
    fn inherit(&mut self, other: &Self) {
        (self.stall, self.clock, self.ends) =
            (other.stall, other.clock.clone(), other.ends.clone());
        self.session.bind(PARALLEL, other.session.as_bytes());
        self.phase(other.meter().phase());
    }

    /// Adds the cost of another channel of this party to the cost of this run.
    pub fn add_cost(&mut self, other: &Meter) {
        self.meter.add(other);
    }
}
