//! Labelled, bounded, metered messages over a byte stream.
//!
//! A message on the wire is one byte `n`, a label of `n` ASCII characters, the payload's length as
//! eight bytes little endian, and the payload. Two labels are the channel's own: `abort` carries one
//! byte, an [`AbortReason`]; `busy` is empty and says that the sender is still at work.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytemuck::Pod;

use crate::{AbortReason, Deviation, Error, Meter, Result, Transport};

/// The longest label, in bytes.
pub const MAX_LABEL: usize = 40;

/// Bytes gathered before they are handed to the transport, and read ahead from it.
const BUFFER: usize = 1 << 16;

/// What one turn of [`Channel::exchange`] moves each way: less than any transport buffers, so that
/// two parties can both write it before either reads.
const EXCHANGE_CHUNK: usize = 1 << 14;

/// How often a busy party says so.
const BUSY_INTERVAL: Duration = Duration::from_secs(1);

/// How many `busy` messages in a row are put up with: an hour and a half of them.
const BUSY_LIMIT: u32 = 5400;

/// How long [`Channel::abort`] tries to get its reason across.
const ABORT_PATIENCE: Duration = Duration::from_secs(2);

const ABORT: &str = "abort";
const BUSY: &str = "busy";

/// Asks the channel it came from to stop; may be used from any thread.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Makes the channel's next or current operation end with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One party's end of the conversation.
pub struct Channel {
    transport: Box<dyn Transport>,
    stall: Duration,
    cancel: CancelToken,
    meter: Meter,
    out: Vec<u8>,
    /// Bytes read ahead: `ahead[ahead_at..]` is still to be consumed.
    ahead: Vec<u8>,
    ahead_at: usize,
    last_send: Instant,
}

impl Channel {
    /// A channel with a stall timeout of one minute.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self {
            transport: Box::new(transport),
            stall: Duration::from_secs(60),
            cancel: CancelToken::default(),
            meter: Meter::default(),
            out: Vec::with_capacity(BUFFER),
            ahead: Vec::new(),
            ahead_at: 0,
            last_send: Instant::now(),
        }
    }

    /// Gives up on a peer after this long without a byte moving.
    pub fn with_stall_timeout(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// Listens to this token instead of one of its own.
    pub fn with_cancel_token(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// A handle that stops this channel from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Enters a phase: what follows is metered under this name, and errors name it.
    pub fn phase(&mut self, name: &'static str) {
        self.meter.enter(name);
    }

    /// What this party's run cost so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// An [`Error::Peer`] of the current phase.
    pub fn deviation(&self, deviation: Deviation) -> Error {
        Error::Peer { phase: self.meter.phase(), deviation }
    }

    /// An [`Error::Peer`] for a message whose payload is not a valid encoding.
    pub fn malformed(&self, label: &'static str, what: &'static str) -> Error {
        self.deviation(Deviation::Malformed { label, what })
    }

    /// Sends one message. It may wait in a buffer until [`Channel::flush`] or the next receive.
    pub fn send(&mut self, label: &'static str, payload: &[u8]) -> Result<()> {
        self.send_header(label, payload.len())?;
        self.write_buffered(payload)
    }

    /// Sends values as their little-endian bytes.
    pub fn send_slice<T: Pod>(&mut self, label: &'static str, values: &[T]) -> Result<()> {
        self.send(label, bytemuck::cast_slice(values))
    }

    /// Hands everything sent so far to the transport.
    pub fn flush(&mut self) -> Result<()> {
        self.drain()?;
        self.patiently(|transport| transport.flush().map(|()| 1)).map(|_| ())
    }

    /// Receives a message of exactly `buf.len()` bytes.
    ///
    /// # Errors
    /// [`Deviation::WrongLength`] before any byte of the payload is read, and what every receive
    /// can meet: [`Error::Closed`], [`Error::Stalled`], [`Error::Aborted`] and the like.
    pub fn recv_into(&mut self, label: &'static str, buf: &mut [u8]) -> Result<()> {
        let received = self.recv_header(label)?;
        let expected = buf.len() as u64;
        if received != expected {
            return Err(self.deviation(Deviation::WrongLength { label, expected, received }));
        }
        self.read_exact(label, buf)
    }

    /// Receives exactly `buf.len()` values.
    ///
    /// # Errors
    /// As [`Channel::recv_into`].
    pub fn recv_slice<T: Pod>(&mut self, label: &'static str, buf: &mut [T]) -> Result<()> {
        self.recv_into(label, bytemuck::cast_slice_mut(buf))
    }

    /// Receives a message whose length the peer chooses, of at most `max` bytes.
    ///
    /// # Errors
    /// [`Deviation::TooLong`] before anything is allocated, and as [`Channel::recv_into`].
    pub fn recv_len(&mut self, label: &'static str, max: usize) -> Result<Vec<u8>> {
        let received = self.recv_header(label)?;
        let max = max as u64;
        if received > max {
            return Err(self.deviation(Deviation::TooLong { label, max, received }));
        }
        let mut payload = vec![0; received as usize];
        self.read_exact(label, &mut payload)?;
        Ok(payload)
    }

    /// Sends `out` and receives exactly `into.len()` bytes at the same time, in chunks, so that two
    /// parties that both have much to say do not block each other.
    ///
    /// # Errors
    /// As [`Channel::recv_into`].
    pub fn exchange(&mut self, label: &'static str, out: &[u8], into: &mut [u8]) -> Result<()> {
        self.send_header(label, out.len())?;
        self.flush()?;
        let received = self.recv_header(label)?;
        let expected = into.len() as u64;
        if received != expected {
            return Err(self.deviation(Deviation::WrongLength { label, expected, received }));
        }
        let mut outgoing = out.chunks(EXCHANGE_CHUNK);
        let mut incoming = into.chunks_mut(EXCHANGE_CHUNK);
        loop {
            let (chunk_out, chunk_in) = (outgoing.next(), incoming.next());
            if chunk_out.is_none() && chunk_in.is_none() {
                return Ok(());
            }
            if let Some(chunk) = chunk_out {
                self.write_buffered(chunk)?;
                self.flush()?;
            }
            if let Some(chunk) = chunk_in {
                self.read_exact(label, chunk)?;
            }
        }
    }

    /// Tells a waiting peer, once a second at the most, that this party is still at work. To be
    /// called from long computations between two messages.
    pub fn busy(&mut self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: self.meter.phase() });
        }
        if self.last_send.elapsed() < BUSY_INTERVAL {
            return Ok(());
        }
        self.send_header(BUSY, 0)?;
        self.flush()
    }

    /// Tells the peer that this party stops, and why. Best effort: the run is over either way.
    pub fn abort(&mut self, reason: AbortReason) {
        self.stall = self.stall.min(ABORT_PATIENCE);
        self.cancel = CancelToken::default();
        self.out.clear();
        let told = self.send(ABORT, &[reason.code()]).and_then(|()| self.flush());
        // There is nobody left to tell that telling failed.
        drop(told);
    }

    fn send_header(&mut self, label: &'static str, len: usize) -> Result<()> {
        debug_assert!(!label.is_empty() && label.len() <= MAX_LABEL && label.is_ascii());
        let mut header = Vec::with_capacity(1 + MAX_LABEL + 8);
        header.push(label.len() as u8);
        header.extend_from_slice(label.as_bytes());
        header.extend_from_slice(&(len as u64).to_le_bytes());
        self.write_buffered(&header)
    }

    /// The length of the next message, which must bear this label.
    fn recv_header(&mut self, label: &'static str) -> Result<u64> {
        self.flush()?;
        for _ in 0..=BUSY_LIMIT {
            let (received, len) = self.read_header(label)?;
            match (received.as_str(), len) {
                (l, len) if l == label => return Ok(len),
                (BUSY, 0) => continue,
                (ABORT, 1) => return Err(self.read_abort()),
                _ => {
                    let deviation = Deviation::UnexpectedLabel { expected: label, received };
                    return Err(self.deviation(deviation));
                }
            }
        }
        Err(self.deviation(Deviation::BusyForever { limit: BUSY_LIMIT }))
    }

    fn read_header(&mut self, expected: &'static str) -> Result<(String, u64)> {
        let mut label_len = [0];
        self.read_exact(expected, &mut label_len)?;
        let mut label = vec![0; label_len[0] as usize];
        if !(1..=MAX_LABEL).contains(&label.len()) {
            return Err(self.deviation(Deviation::NotAMessage { expected }));
        }
        self.read_exact(expected, &mut label)?;
        let received = String::from_utf8(label)
            .ok()
            .filter(|l| l.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_/. ".contains(&b)))
            .ok_or_else(|| self.deviation(Deviation::NotAMessage { expected }))?;
        let mut len = [0; 8];
        self.read_exact(expected, &mut len)?;
        Ok((received, u64::from_le_bytes(len)))
    }

    fn read_abort(&mut self) -> Error {
        let mut code = [0];
        match self.read_exact(ABORT, &mut code) {
            Ok(()) => {
                let reason = AbortReason::from_code(code[0]);
                Error::Aborted { phase: self.meter.phase(), reason }
            }
            Err(error) => error,
        }
    }

    fn write_buffered(&mut self, bytes: &[u8]) -> Result<()> {
        self.meter.count_sent(bytes.len());
        self.last_send = Instant::now();
        if self.out.len() + bytes.len() <= BUFFER {
            self.out.extend_from_slice(bytes);
            return Ok(());
        }
        self.drain()?;
        if bytes.len() <= BUFFER {
            self.out.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_all(bytes)
    }

    /// Empties the buffer into the transport.
    fn drain(&mut self) -> Result<()> {
        let mut out = std::mem::take(&mut self.out);
        let written = self.write_all(&out);
        out.clear();
        self.out = out;
        written
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = match self.patiently(|transport| transport.write(bytes)) {
                // A peer that said why it stops and then closed deserves to be heard.
                Err(Error::Closed { phase }) => {
                    return Err(self.last_words().unwrap_or(Error::Closed { phase }));
                }
                written => written?,
            };
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// After a write failed: an abort message that the peer sent before it closed, if there is one.
    fn last_words(&mut self) -> Option<Error> {
        // What comes first may be messages of the step this party never got to; only a stream that
        // is at an abort message already is understood.
        let (label, len) = self.read_header(ABORT).ok()?;
        (label == ABORT && len == 1).then(|| self.read_abort())
    }

    fn read_exact(&mut self, label: &'static str, mut buf: &mut [u8]) -> Result<()> {
        debug_assert!(!label.is_empty());
        self.meter.count_received(buf.len());
        while !buf.is_empty() {
            if self.ahead_at == self.ahead.len() && buf.len() < BUFFER {
                self.fill_ahead()?;
            }
            let read = if self.ahead_at < self.ahead.len() {
                let available = &self.ahead[self.ahead_at..];
                let n = available.len().min(buf.len());
                buf[..n].copy_from_slice(&available[..n]);
                self.ahead_at += n;
                n
            } else {
                self.patiently(|transport| transport.read(buf))?
            };
            buf = &mut buf[read..];
        }
        Ok(())
    }

    fn fill_ahead(&mut self) -> Result<()> {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.resize(BUFFER, 0);
        let read = self.patiently(|transport| transport.read(&mut ahead));
        ahead.truncate(*read.as_ref().unwrap_or(&0));
        self.ahead = ahead;
        self.ahead_at = 0;
        read.map(|_| ())
    }

    /// Repeats an operation that may come back empty-handed, until it moves bytes, the stall timeout
    /// runs out or somebody cancels. Zero bytes moved means that the peer closed.
    fn patiently(
        &mut self,
        mut operation: impl FnMut(&mut dyn Transport) -> io::Result<usize>,
    ) -> Result<usize> {
        let started = Instant::now();
        let phase = self.meter.phase();
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Cancelled { phase });
            }
            match operation(self.transport.as_mut()) {
                Ok(0) => return Err(Error::Closed { phase }),
                Ok(moved) => return Ok(moved),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        if started.elapsed() >= self.stall {
                            return Err(Error::Stalled { phase, after: self.stall });
                        }
                    }
                    io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::UnexpectedEof => return Err(Error::Closed { phase }),
                    _ => return Err(Error::Io { phase, source: error }),
                },
            }
        }
    }
}
