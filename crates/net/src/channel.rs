//! Labelled, bounded, metered messages over a byte stream.
//!
//! On the wire, a message is one byte `n` from 1 to 40, a label of `n` ASCII characters, the length of the payload as
//! eight bytes in little-endian order, and the payload in segments of 16,383 bytes (the last may be shorter), each
//! after one zero byte. In place of a message or a segment, the byte 255 and the code of an [`AbortReason`] may come
//! and end the stream: a party can give its reason for stopping even in the middle of a large message. Two labels
//! belong to the channel itself: `busy` is an empty keep-alive message, and `end` is empty and ends the run.

mod settings;

use std::{
    io,
    time::{Duration, Instant},
};

use bytemuck::Pod;

use crate::{
    AbortReason, CancelToken, Clock, Deviation, Error, Fingerprint, Gate, Meter, Result, SessionId,
    Transport,
    connect::connection::Parallel,
    meter::Flight,
    patience::{Deadlines, KEEP_ALIVE_MESSAGES, LAST_WORDS, Wait},
    turns::Turns,
    watch::Watch,
};

const _: () = assert!(cfg!(target_endian = "little"), "values travel as they lie in memory");

/// The longest label, in bytes.
pub const MAX_LABEL: usize = 40;

/// Payload bytes of a segment: with the byte before them they fill a TLS record.
pub(crate) const SEGMENT: usize = (1 << 14) - 1;

/// Bytes gathered before they are passed to the transport, and read ahead from it.
const BUFFER: usize = 1 << 16;

/// The time between two keep-alive messages.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(1);

const KEEP_ALIVE: &str = "busy";
const END: &str = "end";

/// The byte that begins a segment, and the one that begins an abort.
const GOES_ON: u8 = 0;
const ABORT: u8 = 255;

/// One party's end of the conversation.
pub struct Channel {
    transport: Box<dyn Transport>,
    pub(crate) stall: Duration,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancelToken,
    pub(crate) meter: Meter,
    pub(crate) session: SessionId,
    pub(crate) watch: Watch,
    pub(crate) turns: Turns,
    /// Complete headers and segments that the transport has not accepted yet.
    out: Vec<u8>,
    /// Whether anything was sent since the transport was last flushed.
    unflushed: bool,
    pub(crate) last_send: Instant,
    /// Bytes read ahead: `ahead[ahead_at..ahead_end]` is not consumed yet.
    ahead: Vec<u8>,
    ahead_at: usize,
    ahead_end: usize,
    /// Payload bytes of the current message that have not been received yet.
    unread: u64,
    /// The wait for the current message, from its first byte or the first keep-alive before it.
    pub(crate) arrival: Option<Wait>,
    /// The moments at which to stop waiting altogether.
    pub(crate) ends: Deadlines,
    /// Whether the peer is known to be gone, so that nothing more can be sent to it.
    pub(crate) alone: bool,
    /// The party at the other end, if the connection has authenticated it.
    pub(crate) peer: Option<Fingerprint>,
    /// Asked before a party reveals anything.
    pub(crate) gate: Option<Gate>,
    /// State that a protocol keeps for later ones.
    pub(crate) kept: Option<Box<dyn std::any::Any + Send>>,
    /// The means to open more connections to the peer.
    pub(crate) parallel: Option<Parallel>,
    /// A message that was [awaited](Channel::await_message) and not received yet.
    pub(crate) early: Option<(&'static str, Vec<u8>)>,
}

impl Channel {
    /// A channel with a stall timeout of one minute.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self {
            transport: Box::new(transport),
            stall: Duration::from_secs(60),
            clock: Clock::default(),
            cancel: CancelToken::default(),
            meter: Meter::default(),
            session: SessionId::default(),
            watch: Watch::default(),
            turns: Turns::default(),
            out: Vec::with_capacity(BUFFER + SEGMENT),
            unflushed: false,
            last_send: Instant::now(),
            ahead: vec![0; BUFFER],
            ahead_at: 0,
            ahead_end: 0,
            unread: 0,
            arrival: None,
            ends: Deadlines::default(),
            alone: false,
            peer: None,
            gate: None,
            kept: None,
            parallel: None,
            early: None,
        }
    }

    /// Enters a phase: traffic from here on is metered under this name, and errors name it.
    pub fn phase(&mut self, name: &'static str) {
        self.meter.enter(name);
    }

    /// The cost of this party's run so far.
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
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Stalled`], [`Error::Cancelled`], [`Error::Aborted`] and
    /// [`Error::Io`].
    pub fn send(&mut self, label: &'static str, payload: &[u8]) -> Result<()> {
        self.meter.count_flight(Flight::Out);
        self.put_header(label, payload.len());
        for segment in payload.chunks(SEGMENT) {
            self.put_segment(segment);
            if self.is_full() {
                self.drain()?;
            }
        }
        Ok(())
    }

    /// Sends values as their little-endian bytes.
    ///
    /// # Errors
    /// Same as [`Channel::send`].
    pub fn send_slice<T: Pod>(&mut self, label: &'static str, values: &[T]) -> Result<()> {
        self.send(label, bytemuck::cast_slice(values))
    }

    /// Passes everything sent so far to the transport.
    ///
    /// # Errors
    /// Same as [`Channel::send`].
    pub fn flush(&mut self) -> Result<()> {
        self.drain()?;
        if self.unflushed {
            self.patiently(|transport| transport.flush().map(|()| 1))?;
            self.unflushed = false;
        }
        Ok(())
    }

    /// Receives a message of exactly `buf.len()` bytes.
    ///
    /// # Errors
    /// [`Deviation::WrongLength`] before any byte of the payload is read, and the errors of every receive:
    /// [`Error::Closed`], [`Error::Stalled`], [`Error::Aborted`] and the like.
    pub fn recv_into(&mut self, label: &'static str, buf: &mut [u8]) -> Result<()> {
        self.turn_to_receive()?;
        self.await_length(label, buf.len())?;
        self.read_payload(label, buf)
    }

    /// Receives exactly `buf.len()` values.
    ///
    /// # Errors
    /// Same as [`Channel::recv_into`].
    pub fn recv_slice<T: Pod>(&mut self, label: &'static str, buf: &mut [T]) -> Result<()> {
        self.recv_into(label, bytemuck::cast_slice_mut(buf))
    }

    /// Receives a message whose length the peer chooses, of at most `max` bytes.
    ///
    /// # Errors
    /// [`Deviation::TooLong`] before anything is allocated, and the errors of [`Channel::recv_into`].
    pub fn recv_len(&mut self, label: &'static str, max: usize) -> Result<Vec<u8>> {
        if let Some((_, early)) = self.early.take_if(|(early, _)| *early == label) {
            return Ok(early);
        }
        self.turn_to_receive()?;
        let received = self.await_header(label)?;
        let max = max as u64;
        if received > max {
            return Err(self.deviation(Deviation::TooLong { label, max, received }));
        }
        let mut payload = vec![0; received as usize];
        self.read_payload(label, &mut payload)?;
        Ok(payload)
    }

    /// Sends a waiting peer, at most once a second, a message that this party is still at work. Call it during long
    /// computations between two messages. It never waits for the peer.
    ///
    /// # Errors
    /// Same as [`Channel::send`], except [`Error::Stalled`]. They also occur if nothing more is owed to a peer
    /// that has gone, which is why both parties call [`Channel::finish`] before they drop their channels.
    pub fn keep_alive(&mut self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: self.meter.phase() });
        }
        if self.clock.since(self.last_send) < KEEP_ALIVE_INTERVAL {
            return Ok(());
        }
        // A peer that has not accepted the earlier data is not waiting for this party.
        if self.out.is_empty() {
            self.put_header(KEEP_ALIVE, 0);
        }
        self.last_send = self.clock.now();
        self.try_flush().map(|_| ())
    }

    /// Ends the run in order: returns once the other side has received everything and says so. Both parties
    /// call it, after their last message; then the channel may be dropped without loss.
    ///
    /// # Errors
    /// Same as [`Channel::recv_into`].
    pub fn finish(&mut self) -> Result<()> {
        self.put_header(END, 0);
        self.flush()?;
        self.await_length(END, 0)
    }

    /// Sends the peer the reason why this party stops, and waits up to two seconds for it to close, so that the
    /// reason is not lost with the connection. Best effort: the run is over in any case.
    pub fn abort(&mut self, reason: AbortReason) {
        if self.alone {
            return;
        }
        self.begin_last_words();
        self.cancel = CancelToken::default();
        self.put(&[ABORT, reason.code()]);
        // Nobody is left to report a failed send to.
        if self.flush().is_ok() {
            while self.fill_ahead().is_ok() {}
        }
        self.alone = true;
    }

    /// Flushes before a receive, because the peer may be waiting for the data.
    fn turn_to_receive(&mut self) -> Result<()> {
        self.flush()?;
        self.meter.count_flight(Flight::In);
        Ok(())
    }

    /// Appends a message's header to the outgoing data.
    pub(crate) fn put_header(&mut self, label: &'static str, len: usize) {
        debug_assert!(!label.is_empty() && label.len() <= MAX_LABEL && is_label(label));
        let mut header = Vec::with_capacity(1 + MAX_LABEL + 8);
        header.push(label.len() as u8);
        header.extend_from_slice(label.as_bytes());
        header.extend_from_slice(&(len as u64).to_le_bytes());
        self.put(&header);
    }

    /// Appends a segment of a payload to the outgoing data.
    pub(crate) fn put_segment(&mut self, segment: &[u8]) {
        self.put(&[GOES_ON]);
        self.put(segment);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.meter.count_sent(bytes.len());
        self.last_send = self.clock.now();
        self.out.extend_from_slice(bytes);
        self.unflushed = true;
    }

    /// Whether enough data has been gathered to be passed to the transport.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() >= BUFFER
    }

    /// Waits for a message of this label and exactly this length.
    pub(crate) fn await_length(&mut self, label: &'static str, len: usize) -> Result<()> {
        let received = self.await_header(label)?;
        let expected = len as u64;
        if received != expected {
            return Err(self.deviation(Deviation::WrongLength { label, expected, received }));
        }
        Ok(())
    }

    /// The length of the next message, which must have this label.
    fn await_header(&mut self, label: &'static str) -> Result<u64> {
        self.watch.begin_waiting();
        self.arrival = None;
        for _ in 0..=KEEP_ALIVE_MESSAGES {
            let (received, len) = self.read_header(label)?;
            if received == label {
                self.watch.end_waiting();
                return Ok(len);
            }
            if (received.as_str(), len) != (KEEP_ALIVE, 0) {
                let deviation = Deviation::UnexpectedLabel { expected: label, received };
                return Err(self.deviation(deviation));
            }
            self.arrival.get_or_insert(Wait::new(self.clock.now(), 0)).excuse();
        }
        Err(self.deviation(Deviation::EndlessKeepAlive { limit: KEEP_ALIVE_MESSAGES }))
    }

    fn read_header(&mut self, expected: &'static str) -> Result<(String, u64)> {
        let first = self.read_byte()?;
        self.arrival.get_or_insert(Wait::new(self.clock.now(), 0));
        let label_len = match first {
            ABORT => return Err(self.read_abort()),
            n if (1..=MAX_LABEL).contains(&n.into()) => usize::from(n),
            _ => return Err(self.deviation(Deviation::NotAMessage { expected })),
        };
        let mut label = vec![0; label_len];
        self.read_exact(&mut label)?;
        let received = String::from_utf8(label)
            .ok()
            .filter(|label| is_label(label))
            .ok_or_else(|| self.deviation(Deviation::NotAMessage { expected }))?;
        let mut len = [0; 8];
        self.read_exact(&mut len)?;
        self.unread = u64::from_le_bytes(len);
        self.arrival.iter_mut().for_each(|wait| wait.extend(self.unread));
        Ok((received, self.unread))
    }

    fn read_payload(&mut self, label: &'static str, buf: &mut [u8]) -> Result<()> {
        buf.chunks_mut(SEGMENT).try_for_each(|segment| self.read_segment(label, segment))
    }

    pub(crate) fn read_segment(&mut self, label: &'static str, segment: &mut [u8]) -> Result<()> {
        match self.read_byte()? {
            GOES_ON => self.read_exact(segment)?,
            ABORT => return Err(self.read_abort()),
            _ => return Err(self.malformed(label, "a segment begins with an unknown byte")),
        }
        self.unread -= segment.len() as u64;
        Ok(())
    }

    fn read_abort(&mut self) -> Error {
        match self.read_byte() {
            Ok(code) => {
                self.alone = true;
                Error::Aborted { phase: self.meter.phase(), reason: AbortReason::from_code(code) }
            }
            Err(error) => error,
        }
    }

    fn read_byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn read_exact(&mut self, mut buf: &mut [u8]) -> Result<()> {
        while !buf.is_empty() {
            if self.ahead_at == self.ahead_end {
                self.fill_ahead()?;
            }
            let available = &self.ahead[self.ahead_at..self.ahead_end];
            let n = available.len().min(buf.len());
            buf[..n].copy_from_slice(&available[..n]);
            self.ahead_at += n;
            self.meter.count_received(n);
            buf = &mut buf[n..];
        }
        Ok(())
    }

    /// Refills the read-ahead buffer. Keeps sending in the meantime, since the peer may be waiting for data.
    fn fill_ahead(&mut self) -> Result<()> {
        if let Some(wait) = self.arrival {
            wait.check(self.clock.now(), self.stall, self.meter.phase())?;
        }
        let mut ahead = std::mem::take(&mut self.ahead);
        let mut since = self.clock.now();
        let read = loop {
            match self.attempt(|transport| transport.read(&mut ahead)) {
                Ok(None) => {}
                Ok(Some(read)) => break Ok(read),
                Err(error) => break Err(error),
            }
            match self.try_flush() {
                Ok(true) => since = self.clock.now(),
                Ok(false) => {}
                Err(error) => break Err(error),
            }
            if let Err(error) = self.check_stall(since) {
                break Err(error);
            }
        };
        self.ahead = ahead;
        (self.ahead_at, self.ahead_end) = (0, *read.as_ref().unwrap_or(&0));
        read.map(|_| ())
    }

    /// Passes the gathered data to the transport.
    pub(crate) fn drain(&mut self) -> Result<()> {
        let mut since = self.clock.now();
        let mut wait = Wait::new(since, self.out.len() as u64);
        while !self.out.is_empty() {
            wait.check(self.clock.now(), self.stall, self.meter.phase())?;
            let mut moved = self.try_write()?;
            // A peer that accepts nothing for long may still be at work, and then sends keep-alive messages.
            let due = self.clock.since(since) >= KEEP_ALIVE_INTERVAL;
            if !moved && due && self.hear_in_the_meantime()? {
                wait.excuse();
                moved = true;
            }
            if moved {
                since = self.clock.now();
            } else {
                self.check_stall(since)?;
            }
        }
        Ok(())
    }

    /// Reads data from a peer that does not accept any, as far as there is room. Returns whether anything arrived.
    fn hear_in_the_meantime(&mut self) -> Result<bool> {
        if self.ahead_at == self.ahead_end {
            (self.ahead_at, self.ahead_end) = (0, 0);
        }
        let (mut ahead, end) = (std::mem::take(&mut self.ahead), self.ahead_end);
        let heard = match end < ahead.len() {
            true => self.attempt(|transport| transport.read(&mut ahead[end..])),
            false => Ok(None),
        };
        self.ahead = ahead;
        match heard {
            Ok(heard) => {
                self.ahead_end += heard.unwrap_or(0);
                Ok(heard.is_some())
            }
            Err(Error::Closed { phase }) => {
                Err(self.last_words().unwrap_or(Error::Closed { phase }))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads ahead as far as data has arrived and there is room, if the transport does not wait.
    ///
    /// # Errors
    /// [`Error::Closed`] if the peer has left, and other errors of the connection.
    pub(crate) fn hear_now(&mut self) -> Result<()> {
        while self.hear_in_the_meantime()? {}
        Ok(())
    }

    /// Passes on and flushes as much as the transport accepts at once. Returns whether anything moved.
    pub(crate) fn try_flush(&mut self) -> Result<bool> {
        let mut moved = self.try_drain()?;
        if self.unflushed && self.out.is_empty() {
            let flushed = self.attempt(|transport| transport.flush().map(|()| 1))?.is_some();
            self.unflushed = !flushed;
            moved |= flushed;
        }
        Ok(moved)
    }

    /// Passes on as much as the transport accepts at once. Returns whether anything moved.
    pub(crate) fn try_drain(&mut self) -> Result<bool> {
        let mut moved = false;
        while !self.out.is_empty() && self.try_write()? {
            moved = true;
        }
        Ok(moved)
    }

    /// Whether everything sent so far has been passed on and flushed.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.unflushed
    }

    /// Attempts once to pass on the gathered data. Returns whether anything moved.
    fn try_write(&mut self) -> Result<bool> {
        let out = std::mem::take(&mut self.out);
        let written = self.attempt(|transport| transport.write(&out));
        self.out = out;
        match written {
            Ok(written) => {
                self.out.drain(..written.unwrap_or(0));
                Ok(written.is_some())
            }
            // If the peer gave a reason before it closed, report that reason.
            Err(Error::Closed { phase }) => {
                Err(self.last_words().unwrap_or(Error::Closed { phase }))
            }
            Err(error) => Err(error),
        }
    }

    /// From here on the run is over, and all remaining attempts share one deadline.
    fn begin_last_words(&mut self) {
        self.ends.begin_last_words(self.clock.now());
        self.stall = LAST_WORDS;
        self.arrival = None;
    }

    /// Returns, after a failed write, the peer's reason for closing, if it gave one. Skips earlier data from the peer.
    fn last_words(&mut self) -> Option<Error> {
        self.out.clear();
        self.unflushed = false;
        self.begin_last_words();
        let mut scratch = [0; SEGMENT];
        loop {
            let segment = self.unread.min(SEGMENT as u64) as usize;
            let read = match segment {
                0 => self.read_header(END).map(|_| ()),
                _ => self.read_segment(END, &mut scratch[..segment]),
            };
            match read {
                Ok(()) => {}
                Err(error) => return matches!(error, Error::Aborted { .. }).then_some(error),
            }
        }
    }

    /// Repeats an operation that may return without moving bytes until it moves some.
    fn patiently(
        &mut self,
        mut operation: impl FnMut(&mut dyn Transport) -> io::Result<usize>,
    ) -> Result<usize> {
        let since = self.clock.now();
        loop {
            if let Some(moved) = self.attempt(&mut operation)? {
                return Ok(moved);
            }
            self.check_stall(since)?;
        }
    }

    /// An error if nothing has moved for the stall timeout.
    fn check_stall(&self, since: Instant) -> Result<()> {
        if self.clock.since(since) >= self.stall {
            return Err(Error::Stalled { phase: self.meter.phase(), after: self.stall });
        }
        Ok(())
    }

    /// One operation of the transport: the number of bytes it moved, or `None` if it blocked. Zero bytes mean
    /// that the peer closed.
    fn attempt(
        &mut self,
        operation: impl FnOnce(&mut dyn Transport) -> io::Result<usize>,
    ) -> Result<Option<usize>> {
        self.watch.show(&self.meter);
        let phase = self.meter.phase();
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase });
        }
        let (began, bytes) = (self.clock.now(), self.meter.sent() + self.meter.received());
        self.ends.check(began, bytes, phase)?;
        let moved = self.turns.without(|| operation(self.transport.as_mut()));
        self.ends.spend(self.clock.since(began));
        let moved = match moved {
            Ok(0) => Err(Error::Closed { phase }),
            Ok(moved) => Ok(Some(moved)),
            Err(error) if crate::transport::is_blocked(&error) => Ok(None),
            Err(error) => Err(Error::from_io(error, phase)),
        };
        self.alone |= matches!(moved, Err(Error::Closed { .. }));
        moved
    }
}

/// Whether a label consists of permitted characters; labels from the peer are printed in errors.
fn is_label(label: &str) -> bool {
    label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_/. ".contains(&b))
}
