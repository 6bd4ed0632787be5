//! Forwarding of bytes through this party, and raw bytes of a connection that is not used for messages.

use std::{
    io::{self, Read, Write},
    thread,
    time::{Duration, Instant},
};

use super::connection::Connection;
use crate::{CancelToken, Error, Fingerprint, Identity, Result, Tls, tls, transport::is_blocked};

const JOIN: &str = "join";

/// The buffer of each direction, in bytes.
const BUFFER: usize = 1 << 16;

/// The pause when nothing moves; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// One direction.
struct Way {
    buffer: Box<[u8; BUFFER]>,
    start: usize,
    end: usize,
    /// Whether the sending side has ended.
    ended: bool,
}

impl Way {
    fn new() -> Self {
        Self { buffer: Box::new([0; BUFFER]), start: 0, end: 0, ended: false }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn is_over(&self) -> bool {
        self.ended && self.is_empty()
    }

    /// Moves as many bytes as possible, and returns how many were read and whether any moved.
    fn turn(&mut self, from: &mut Tls, to: &mut Tls) -> io::Result<(usize, bool)> {
        let (mut read, mut moved) = (0, false);
        if self.is_empty() && !self.ended {
            match from.read(&mut self.buffer[..]) {
                Ok(0) => self.ended = true,
                Ok(len) => (self.start, self.end, read, moved) = (0, len, len, true),
                Err(error) if is_blocked(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if !self.is_empty() {
            match to.write(&self.buffer[self.start..self.end]) {
                Ok(len) => (self.start, moved) = (self.start + len, moved || len > 0),
                Err(error) if is_blocked(&error) => {}
                Err(error) => return Err(error),
            }
        }
        match to.flush() {
            Err(error) if !is_blocked(&error) => Err(error),
            _ => Ok((read, moved)),
        }
    }
}

impl Connection {
    /// Lets operations wait for a poll interval, or not at all.
    fn set_waiting(&self, waits: bool) -> Result<()> {
        let set = self.socket.as_ref().map_or(Ok(()), |socket| socket.set_waiting(waits));
        set.map_err(|error| Error::from_io(error, JOIN))
    }

    /// Passes on bytes both ways between this connection and another until either ends, is silent for `idle`, or is
    /// cancelled. `moved` receives the numbers of bytes sent to the other connection and received from it since its
    /// last call.
    ///
    /// # Errors
    /// [`Error::Stalled`], [`Error::Cancelled`], and errors of a connection.
    pub fn join(
        mut self,
        mut other: Self,
        idle: Duration,
        cancel: &CancelToken,
        moved: impl Fn(u64, u64),
    ) -> Result<()> {
        self.set_waiting(false)?;
        other.set_waiting(false)?;
        let (mut there, mut back) = (Way::new(), Way::new());
        let (mut pause, mut last) = (FIRST_PAUSE, Instant::now());
        let failed = |error| Error::from_io(error, JOIN);
        while !there.is_over() && !back.is_over() {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: JOIN });
            }
            let one = there.turn(&mut self.tls, &mut other.tls).map_err(failed)?;
            let two = back.turn(&mut other.tls, &mut self.tls).map_err(failed)?;
            if one.0 + two.0 > 0 {
                moved(one.0 as u64, two.0 as u64);
            }
            if one.1 || two.1 {
                (pause, last) = (FIRST_PAUSE, Instant::now());
            } else if last.elapsed() > idle {
                return Err(Error::Stalled { phase: JOIN, after: idle });
            } else {
                thread::sleep(pause);
                pause = LONGEST_PAUSE.min(2 * pause);
            }
        }
        // A side that has ended does not need the data on its way back.
        Ok(())
    }

    /// Writes all of these bytes.
    ///
    /// # Errors
    /// [`Error::Stalled`] after `patience`, [`Error::Cancelled`], and errors of a connection.
    pub fn put(&mut self, bytes: &[u8], patience: Duration, cancel: &CancelToken) -> Result<()> {
        let mut left = bytes;
        steadily(patience, cancel, || {
            while !left.is_empty() {
                match self.tls.write(left)? {
                    0 => return Err(io::ErrorKind::BrokenPipe.into()),
                    len => left = &left[len..],
                }
            }
            self.tls.flush()
        })
    }

    /// Fills the buffer exactly.
    ///
    /// # Errors
    /// Same as [`Connection::put`].
    pub fn get(&mut self, room: &mut [u8], patience: Duration, cancel: &CancelToken) -> Result<()> {
        let mut done = 0;
        steadily(patience, cancel, || {
            while done < room.len() {
                match self.tls.read(&mut room[done..])? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    len => done += len,
                }
            }
            Ok(())
        })
    }

    /// Sets up TLS inside this connection, end to end with the other party, through any forwarder between them. One of
    /// the two parties is `first`.
    ///
    /// # Errors
    /// Same as [`tls::client`].
    pub fn inside(
        self,
        me: &Identity,
        peer: &Fingerprint,
        first: bool,
        patience: Duration,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let make = if first { tls::client } else { tls::server };
        Ok(make(self, me, peer, patience, cancel)?.into())
    }
}

/// Tries again until it is done.
fn steadily(
    patience: Duration,
    cancel: &CancelToken,
    mut attempt: impl FnMut() -> io::Result<()>,
) -> Result<()> {
    let started = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(_) if cancel.is_cancelled() => return Err(Error::Cancelled { phase: JOIN }),
            Err(error) if !is_blocked(&error) => return Err(Error::from_io(error, JOIN)),
            Err(_) if started.elapsed() >= patience => {
                return Err(Error::Stalled { phase: JOIN, after: patience });
            }
            Err(_) => {}
        }
    }
}
