//! A link of a given bandwidth and round-trip time, for the lab.
//!
//! Both ends of a transport are wrapped. Data that one end writes crosses a link that exists only in arithmetic:
//! each chunk carries the time at which its last byte leaves the link, and the other end does not release it
//! before that time. The two ends read the same clock, so they must be on one machine.
//!
//! Data in flight is held by the transport below, whose capacity must therefore be at least the link's
//! bandwidth times half its round trip: [`memory::pair_of`](super::memory::pair_of) takes a size for this.
//! Losses, slow start and other traffic are not modelled.

use std::{
    io::{self, Read, Write},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{POLL_INTERVAL, Transport, is_blocked};

/// The properties of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Bits per second in each direction; zero counts as one.
    pub bits_per_second: u64,
    /// The time that a byte takes there and back on an idle link.
    pub round_trip: Duration,
}

impl Link {
    /// Returns the time for which this many bytes occupy the link.
    pub fn occupied_by(&self, bytes: usize) -> Duration {
        let nanos = bytes as u128 * 8_000_000_000 / u128::from(self.bits_per_second.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The maximal number of bytes of one chunk.
const CHUNK: usize = 1 << 14;

/// Delivery time in nanoseconds since 1970, and the length, both little endian.
const HEADER: usize = 8 + 4;

/// The maximal number of bytes that may wait to enter the link: the size of an operating system's socket buffer.
const BACKLOG: usize = 1 << 20;

/// One end of a transport with a link in between.
pub struct Shaped {
    transport: Box<dyn Transport>,
    link: Link,
    /// The time at which the link has accepted everything that was written.
    line_free: Duration,
    /// A chunk and its header that the transport has not accepted yet.
    out: Vec<u8>,
    /// The received part of the current chunk's header.
    header: Vec<u8>,
    /// The number of bytes of the current chunk that are still to come.
    left: usize,
    /// The time at which the current chunk may be released.
    due: Duration,
}

/// Time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Sleeps until `time`, or for a poll interval if that is sooner. Returns whether the time has come.
fn sleep_until(time: Duration) -> bool {
    thread::sleep(time.saturating_sub(now()).min(POLL_INTERVAL));
    now() >= time
}

impl Shaped {
    /// Puts a link behind one end of a transport; the other end needs the same.
    pub fn new(transport: impl Transport + 'static, link: Link) -> Self {
        Self {
            transport: Box::new(transport),
            link,
            line_free: Duration::ZERO,
            out: Vec::with_capacity(HEADER + CHUNK),
            header: Vec::with_capacity(HEADER),
            left: 0,
            due: Duration::ZERO,
        }
    }

    /// Passes the waiting chunk to the transport.
    fn push(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.transport.write(&self.out)? {
                0 => return Err(io::ErrorKind::BrokenPipe.into()),
                written => self.out.drain(..written),
            };
        }
        Ok(())
    }

    /// Puts a chunk on the link: it enters when the link is free, and its last byte arrives half a round trip
    /// after entering.
    fn put_on_line(&mut self, bytes: &[u8]) {
        self.line_free = self.line_free.max(now()) + self.link.occupied_by(bytes.len());
        let due = self.line_free + self.link.round_trip / 2;
        self.out.extend_from_slice(&(due.as_nanos() as u64).to_le_bytes());
        self.out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.out.extend_from_slice(bytes);
    }

    /// Reads the next chunk's header. Returns false at the end of the stream.
    fn read_header(&mut self) -> io::Result<bool> {
        while self.header.len() < HEADER {
            let mut bytes = [0; HEADER];
            let missing = HEADER - self.header.len();
            match self.transport.read(&mut bytes[..missing])? {
                0 if self.header.is_empty() => return Ok(false),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.header.extend_from_slice(&bytes[..read]),
            }
        }
        let (due, len) = self.header.split_at(8);
        self.due = Duration::from_nanos(u64::from_le_bytes(due.try_into().unwrap_or_default()));
        self.left = u32::from_le_bytes(len.try_into().unwrap_or_default()) as usize;
        self.header.clear();
        if !(1..=CHUNK).contains(&self.left) {
            let what = "the other end of a shaped link is not shaped";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(true)
    }
}

impl Read for Shaped {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.read_header()? {
            return Ok(0);
        }
        if !sleep_until(self.due) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = buf.len().min(self.left);
        let read = self.transport.read(&mut buf[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        Ok(read)
    }
}

impl Write for Shaped {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.push()?;
        let room = self.line_free.saturating_sub(self.link.occupied_by(BACKLOG));
        if !sleep_until(room) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = buf.len().min(CHUNK);
        if taken > 0 {
            self.put_on_line(&buf[..taken]);
        }
        match self.push() {
            Err(error) if !is_blocked(&error) => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()?;
        self.transport.flush()
    }
}

impl Drop for Shaped {
    /// The last bytes written may still be waiting for room below.
    fn drop(&mut self) {
        drop(self.flush());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::transport::memory;

    fn pair(link: Link) -> (Shaped, Shaped) {
        let (a, b) = memory::pair();
        (Shaped::new(a, link), Shaped::new(b, link))
    }

    fn read_patiently(end: &mut Shaped, mut buf: &mut [u8]) {
        while !buf.is_empty() {
            match end.read(buf) {
                Ok(0) => panic!("closed"),
                Ok(read) => buf = &mut buf[read..],
                Err(error) => assert!(is_blocked(&error), "{error}"),
            }
        }
    }

    #[test]
    fn a_byte_takes_half_a_round_trip() {
        let round_trip = Duration::from_millis(300);
        let (mut a, mut b) = pair(Link { bits_per_second: 1 << 40, round_trip });
        let started = Instant::now();
        a.write_all(&[7]).unwrap();
        let mut byte = [0];
        read_patiently(&mut b, &mut byte);
        assert_eq!(byte, [7]);
        assert!(started.elapsed() >= Duration::from_millis(149));
        b.write_all(&byte).unwrap();
        read_patiently(&mut a, &mut byte);
        assert!(started.elapsed() >= Duration::from_millis(299));
    }

    #[test]
    fn bytes_take_the_time_that_the_bandwidth_says() {
        let link = Link { bits_per_second: 1_000_000, round_trip: Duration::ZERO };
        let (mut a, mut b) = pair(link);
        let sent: Vec<u8> = (0..50_000u32).map(|i| i as u8).collect();
        let started = Instant::now();
        a.write_all(&sent).unwrap();
        a.flush().unwrap();
        let mut received = vec![0; sent.len()];
        read_patiently(&mut b, &mut received);
        // 400,000 bits at 1 Mbit/s.
        assert!(started.elapsed() >= Duration::from_millis(395));
        assert!(sent == received);
    }

    #[test]
    fn the_line_is_full_at_some_time_and_then_blocks() {
        let (mut a, _b) = pair(Link { bits_per_second: 8_000, round_trip: Duration::ZERO });
        let chunk = [0; CHUNK];
        let taken = (0..1000).take_while(|_| a.write(&chunk).is_ok()).count();
        assert!(taken * CHUNK <= BACKLOG + CHUNK, "{taken}");
        assert!(is_blocked(&a.write(&chunk).unwrap_err()));
    }

    #[test]
    fn the_arithmetic_holds_at_the_edges() {
        let link = |bits_per_second| Link { bits_per_second, round_trip: Duration::ZERO };
        assert_eq!(link(8).occupied_by(1), Duration::from_secs(1));
        assert_eq!(link(1_000_000_000).occupied_by(125_000_000), Duration::from_secs(1));
        assert_eq!(link(u64::MAX).occupied_by(CHUNK), Duration::ZERO);
        assert_eq!(link(0).occupied_by(1), Duration::from_secs(8));
        assert_eq!(link(0).occupied_by(usize::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn the_end_arrives_after_the_last_byte_and_an_unshaped_end_is_named() {
        let (mut a, mut b) = pair(Link { bits_per_second: 1 << 30, round_trip: POLL_INTERVAL });
        a.write_all(b"last").unwrap();
        drop(a);
        let mut last = [0; 4];
        read_patiently(&mut b, &mut last);
        assert_eq!((&last, b.read(&mut [0]).unwrap()), (b"last", 0));

        let (mut plain, other) = memory::pair();
        plain.write_all(&[255; 64]).unwrap();
        let mut shaped = Shaped::new(other, Link { bits_per_second: 1, round_trip: POLL_INTERVAL });
        assert_eq!(shaped.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
