//! A peer that deviates at one message.
//!
//! The deviating party runs honest code over a wire that changes one of the messages it sends.

use std::{
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Deviation, Error, Transport};

use crate::{
    assurance,
    frame::{Framer, Message, Piece},
    transcript::record,
    two_party::{Link, PATIENCE, Wire, party},
};

/// A change to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tamper {
    /// One bit of the payload is flipped; the number counts from its first bit, wrapping around.
    FlipBit(usize),
    /// The payload is replaced by random bytes.
    Scramble,
    /// The last byte of the payload is omitted, but the old length is announced.
    Truncate,
    /// The last byte of the payload is omitted, and the new length is announced.
    Shorten,
    /// A byte is added to the payload, and the new length is announced.
    Extend,
    /// The second half of the payload is replaced by another message's, such as one from an earlier run, as far as both
    /// reach.
    Splice(Message),
    /// The message is dropped.
    Drop,
    /// The message is sent twice.
    Duplicate,
    /// The message is swapped with the next one.
    SwapWithNext,
    /// Another message is sent instead, such as one of an earlier run.
    Replace(Message),
    /// A false length is announced.
    Announce(u64),
    /// The message has another label.
    Relabel(String),
    /// Random bytes replace the message and everything after it.
    Noise,
    /// Nothing more is sent, and the connection stays open.
    Stall,
    /// The connection is closed instead of the message.
    Close,
    /// The connection is closed in the middle of the message.
    CloseWithin,
}

impl Tamper {
    /// Returns every way to tamper with a message, given one of the same step from an earlier run.
    pub fn all(message: &Message, earlier: &Message) -> Vec<Self> {
        let len = message.payload.len();
        let mut all = vec![
            Self::Drop,
            Self::Duplicate,
            Self::SwapWithNext,
            Self::Replace(earlier.clone()),
            Self::Announce(len as u64 + 1),
            Self::Announce(1 << 63),
            Self::Relabel("another/step".into()),
            Self::Noise,
            Self::Stall,
            Self::Close,
            Self::CloseWithin,
        ];
        if len > 0 {
            all.extend([Self::FlipBit(0), Self::FlipBit(4 * len), Self::FlipBit(8 * len - 1)]);
            all.extend([Self::Scramble, Self::Truncate, Self::Shorten, Self::Announce(0)]);
        }
        all.extend([Self::Extend, Self::Splice(earlier.clone())]);
        all
    }

    /// Returns whether this changes only the content of one payload, which a protocol for semi-honest parties need not
    /// notice.
    pub fn keeps_the_form(&self) -> bool {
        matches!(self, Self::FlipBit(_) | Self::Scramble | Self::Replace(_) | Self::Splice(_))
    }

    /// Returns whether an error fits the change.
    fn explains(&self, error: &Error) -> bool {
        if self.keeps_the_form() {
            return comes_of_other_content(error);
        }
        let Error::Peer { deviation, .. } = error else {
            return match self {
                Self::Close | Self::CloseWithin => matches!(error, Error::Closed { .. }),
                // The next expected message never arrives.
                Self::Stall | Self::Drop | Self::Truncate | Self::SwapWithNext => {
                    matches!(error, Error::Stalled { .. })
                }
                _ => false,
            };
        };
        match self {
            Self::Announce(announced) => {
                matches!(deviation, Deviation::WrongLength { received, .. } if received == announced)
            }
            Self::Shorten | Self::Extend => matches!(deviation, Deviation::WrongLength { .. }),
            Self::Drop | Self::Duplicate | Self::SwapWithNext => {
                matches!(deviation, Deviation::UnexpectedLabel { .. })
            }
            Self::Relabel(label) => {
                matches!(deviation, Deviation::UnexpectedLabel { received, .. } if received == label)
            }
            Self::Noise => matches!(deviation, Deviation::NotAMessage { .. }),
            Self::Truncate => true,
            _ => false,
        }
    }
}

/// Returns whether an error may follow from a well-formed message with different content: the content is refused, or it
/// changes the length that the other party waits for, or the malicious party, whose code is honest, gave up first.
fn comes_of_other_content(error: &Error) -> bool {
    match error {
        Error::Peer { deviation, .. } => matches!(
            deviation,
            Deviation::Malformed { .. }
                | Deviation::WrongLength { .. }
                | Deviation::CheckFailed { .. }
        ),
        _ => matches!(error, Error::Stalled { .. } | Error::Closed { .. }),
    }
}

enum TamperState {
    /// Everything passes up to the message with this number.
    Before(usize),
    /// The message that is held back until the next one has passed it.
    Swapping(Message),
    /// Everything passes.
    After,
    /// Everything is swallowed.
    Silent,
    /// Nothing can be written any more.
    Closed,
}

/// A wire that tampers with what is written to it.
struct Tampering {
    wire: Option<Box<dyn Transport>>,
    framer: Framer,
    state: TamperState,
    tamper: Tamper,
    /// Bytes that the wire has not accepted yet.
    pending: Vec<u8>,
}

/// Tampers with message number `k`, counted from 0, that is sent into a wire. Messages that the channel sends
/// by itself are not counted. Each message is held back until it is complete, so the two parties must not both
/// wait in the middle of one.
pub fn tamper(wire: Wire, k: usize, tamper: Tamper) -> Wire {
    let tampering = Tampering {
        wire: Some(wire.transport),
        framer: Framer::default(),
        state: TamperState::Before(k),
        tamper,
        pending: Vec::new(),
    };
    Wire { transport: Box::new(tampering), clock: wire.clock }
}

impl Tampering {
    fn take(&mut self, piece: Piece) {
        let message = match piece {
            Piece::Message(message) => message,
            Piece::Abort(code) => return self.pass(&[255, code]),
        };
        match std::mem::replace(&mut self.state, TamperState::After) {
            TamperState::Before(0) if message.is_of_protocol() => self.deviate(message),
            TamperState::Before(k) => {
                self.state = TamperState::Before(k.saturating_sub(message.is_of_protocol().into()));
                self.pass(&message.to_bytes());
            }
            // A `busy` message belongs to no step, and may come at any time.
            TamperState::Swapping(held) if message.label == "busy" => {
                self.pass(&message.to_bytes());
                self.state = TamperState::Swapping(held);
            }
            TamperState::Swapping(held) => {
                self.pass(&message.to_bytes());
                self.pass(&held.to_bytes());
            }
            TamperState::After => self.pass(&message.to_bytes()),
            end @ (TamperState::Silent | TamperState::Closed) => self.state = end,
        }
    }

    fn deviate(&mut self, mut message: Message) {
        let honest = message.to_bytes();
        let len = message.payload.len();
        match self.tamper.clone() {
            Tamper::FlipBit(bit) => {
                message.payload[bit / 8 % len] ^= 1 << (bit % 8);
                self.pass(&message.to_bytes());
            }
            Tamper::Scramble => {
                StdRng::seed_from_u64(9).fill_bytes(&mut message.payload);
                self.pass(&message.to_bytes());
            }
            Tamper::Truncate => self.pass(&honest[..honest.len() - 1]),
            Tamper::Shorten => {
                message.payload.pop();
                self.pass(&message.to_bytes());
            }
            Tamper::Extend => {
                message.payload.push(0);
                self.pass(&message.to_bytes());
            }
            Tamper::Splice(other) => {
                let both = len.min(other.payload.len());
                message.payload[both / 2..both].copy_from_slice(&other.payload[both / 2..both]);
                self.pass(&message.to_bytes());
            }
            Tamper::Drop => {}
            Tamper::Duplicate => self.pass(&[honest.clone(), honest].concat()),
            Tamper::SwapWithNext => self.state = TamperState::Swapping(message),
            Tamper::Replace(other) => self.pass(&other.to_bytes()),
            Tamper::Announce(len) => self.pass(&message.announcing(len)),
            Tamper::Relabel(label) => {
                message.label = label;
                self.pass(&message.to_bytes());
            }
            Tamper::Noise => {
                let mut noise = vec![0; 1 << 16];
                StdRng::seed_from_u64(9).fill_bytes(&mut noise);
                self.pass(&noise);
                self.state = TamperState::Silent;
            }
            Tamper::Stall => self.state = TamperState::Silent,
            Tamper::Close => self.state = TamperState::Closed,
            Tamper::CloseWithin => {
                self.pass(&honest[..honest.len() / 2]);
                self.state = TamperState::Closed;
            }
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Writes the bytes that the wire accepts, and closes it after the last bytes if requested.
    fn pump(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            let Some(wire) = &mut self.wire else { return Err(io::ErrorKind::BrokenPipe.into()) };
            let written = wire.write(&self.pending)?;
            self.pending.drain(..written);
        }
        if let Some(wire) = &mut self.wire {
            wire.flush()?;
        }
        if matches!(self.state, TamperState::Closed) {
            self.wire = None;
        }
        Ok(())
    }
}

impl Read for Tampering {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.pump() {
            Err(error) if !is_blocked(&error) => return Err(error),
            _ => {}
        }
        match &mut self.wire {
            Some(wire) => wire.read(buf),
            None => Ok(0),
        }
    }
}

impl Write for Tampering {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.pump()?;
        if self.wire.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.framer.push(buf);
        while let Some(piece) = self.framer.next_piece() {
            self.take(piece);
        }
        match self.pump() {
            Err(error) if !is_blocked(&error) => Err(error),
            _ => Ok(buf.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pump()
    }
}

fn is_blocked(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Number of concurrent runs.
const AT_ONCE: usize = 2;

/// Number of messages of one step that are tampered with: the first and the last and, in full, some between them.
fn of_one_step() -> usize {
    assurance::trials(2, 4)
}

/// With every change, one in this many deviations is tried at a message.
const ONE_IN: usize = 8;

/// One deviation.
#[derive(Debug, Clone)]
pub struct Case {
    /// The number of the message.
    pub number: usize,
    /// Its label.
    pub label: String,
    /// The change.
    pub tamper: Tamper,
    /// Whether the message before it or after it has the same label: parts of one step, which differ only in
    /// length.
    pub repeated: bool,
}

impl Case {
    /// Returns whether this may go unnoticed, because it changes only the content of payloads.
    fn keeps_the_form(&self) -> bool {
        self.tamper.keeps_the_form() || self.is_another_order()
    }

    /// Returns whether this is the error that fits.
    fn explains(&self, error: &Error) -> bool {
        self.tamper.explains(error) || self.is_another_order() && comes_of_other_content(error)
    }

    /// Returns whether it reorders parts of one step, which is equivalent to other content of that step.
    fn is_another_order(&self) -> bool {
        self.repeated
            && matches!(self.tamper, Tamper::Drop | Tamper::Duplicate | Tamper::SwapWithNext)
    }
}

/// Runs an honest party against one that deviates at one message, for each message and each kind of deviation
/// (outside `cargo xtask assure`, some kinds for each message). The honest party must end within the stall
/// timeout, with the error that fits the deviation or, if only the content of a payload was changed, with a
/// value, which is passed to `judge`.
///
/// # Panics
/// If it does anything else.
pub fn against<D: Send, H: Send>(
    malicious: impl Fn(&mut Channel, &mut StdRng) -> Result<D, Error> + Sync,
    honest: impl Fn(&mut Channel, &mut StdRng) -> Result<H, Error> + Sync,
    judge: impl Fn(&Case, H) + Sync,
) {
    against_at(|_| true, malicious, honest, judge);
}

/// Like [`against`], but only at the messages of some steps, given by their labels: for a party whose other
/// steps are tested separately.
///
/// # Panics
/// Same as [`against`], and if the deviating party sends no such message.
pub fn against_at<D: Send, H: Send>(
    steps: impl Fn(&str) -> bool,
    malicious: impl Fn(&mut Channel, &mut StdRng) -> Result<D, Error> + Sync,
    honest: impl Fn(&mut Channel, &mut StdRng) -> Result<H, Error> + Sync,
    judge: impl Fn(&Case, H) + Sync,
) {
    let sent_with = |seed: u64| {
        let (left, right) = Link::Memory.connect();
        let (left, recorder) = record(left);
        thread::scope(|scope| {
            let left = scope.spawn(|| party(left, PATIENCE, seed, &malicious).map(drop));
            party(right, PATIENCE, seed + 1, &honest).map(drop).unwrap();
            left.join().unwrap().unwrap();
        });
        recorder.transcript().messages
    };
    let (messages, earlier) = (sent_with(100), sent_with(200));
    let mut cases = Vec::new();
    for (number, (message, earlier)) in messages.iter().zip(&earlier).enumerate() {
        let label = &message.label;
        if !steps(label) || !is_one_of_few(&messages, number) {
            continue;
        }
        let neighbours = [number.checked_sub(1), Some(number + 1)];
        let neighbours = neighbours.into_iter().flatten().filter_map(|i| messages.get(i));
        let repeated = neighbours.into_iter().any(|neighbour| neighbour.label == *label);
        let case = |tamper| Case { number, label: label.clone(), tamper, repeated };
        // Parties that share their first steps, but not the total number, try different deviations in them.
        let place = messages.len() + number;
        let ways = Tamper::all(message, earlier).into_iter().enumerate();
        let tried = ways.filter(|(way, _)| assurance::tries(place, *way, ONE_IN));
        cases.extend(tried.map(|(_, tamper)| case(tamper)));
    }
    // A party may send no messages at all, but the named steps must exist.
    assert!(messages.is_empty() || !cases.is_empty(), "a message to tamper with");
    // Every kind of message is included, even if few of the deviations are tried.
    let is_tried = |label: &str| cases.iter().any(|case| case.label == label);
    let mut kinds = messages.iter().map(|message| message.label.as_str()).filter(|at| steps(at));
    assert!(kinds.all(is_tried), "each kind of message is tampered with");
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    confront(case, &malicious, &honest, &judge);
                }
            });
        }
    });
}

/// Returns whether a message is one of the few that represent their step.
fn is_one_of_few(messages: &[Message], number: usize) -> bool {
    let same = |message: &&Message| message.label == messages[number].label;
    let before = messages[..number].iter().filter(same).count();
    let all = before + messages[number..].iter().filter(same).count();
    let most = of_one_step();
    let chosen = |i: usize| i * (all - 1) / (most - 1);
    (0..most).any(|i| chosen(i) == before)
}

fn confront<D: Send, H: Send>(
    case: &Case,
    malicious: &(impl Fn(&mut Channel, &mut StdRng) -> Result<D, Error> + Sync),
    honest: &(impl Fn(&mut Channel, &mut StdRng) -> Result<H, Error> + Sync),
    judge: &impl Fn(&Case, H),
) {
    let (left, right) = Link::Memory.connect();
    let left = tamper(left, case.number, case.tamper.clone());
    let outcome = thread::scope(|scope| {
        // The malicious party has a longer timeout, so that the honest one is the first to give up.
        scope.spawn(|| party(left, 2 * PATIENCE, 100, malicious).map(drop));
        catch_unwind(AssertUnwindSafe(|| party(right, PATIENCE, 101, honest)))
    });
    match outcome {
        Err(_) => panic!("{case:?}: the honest party panicked"),
        Ok(Ok(value)) => {
            assert!(case.keeps_the_form(), "{case:?}: not noticed");
            judge(case, value);
        }
        Ok(Err(error)) => assert!(case.explains(&error), "{case:?}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three messages with the second tampered with.
    fn outcome(how: Tamper) -> Result<Vec<u8>, Error> {
        let (left, right) = Link::Memory.connect();
        let send = |channel: &mut Channel, _: &mut StdRng| {
            channel.send("one", &[1])?;
            channel.send("two", &[2, 2])?;
            channel.send("three", &[3, 3, 3])
        };
        let receive = |channel: &mut Channel, _: &mut StdRng| {
            let mut received = vec![0; 6];
            channel.recv_into("one", &mut received[..1])?;
            channel.recv_into("two", &mut received[1..3])?;
            channel.recv_into("three", &mut received[3..])?;
            Ok(received)
        };
        thread::scope(|scope| {
            scope.spawn(|| party(tamper(left, 1, how), 2 * PATIENCE, 1, send).map(drop));
            party(right, PATIENCE, 2, receive)
        })
    }

    #[test]
    fn every_way_does_what_it_says() {
        assert_eq!(outcome(Tamper::FlipBit(3)).unwrap(), [1, 2 ^ 8, 2, 3, 3, 3]);
        let earlier = Message { label: "two".into(), payload: vec![8, 9] };
        assert_eq!(outcome(Tamper::Replace(earlier)).unwrap(), [1, 8, 9, 3, 3, 3]);
        let earlier = Message { label: "two".into(), payload: vec![8, 9] };
        assert_eq!(outcome(Tamper::Splice(earlier)).unwrap(), [1, 2, 9, 3, 3, 3]);
        assert_ne!(outcome(Tamper::Scramble).unwrap()[1..3], [2, 2]);
        let deviation = |how: Tamper| match outcome(how.clone()) {
            Err(Error::Peer { deviation, .. }) => deviation,
            other => panic!("{how:?}: {other:?}"),
        };
        let wrong_length =
            |received| Deviation::WrongLength { label: "two", expected: 2, received };
        assert_eq!(deviation(Tamper::Shorten), wrong_length(1));
        assert_eq!(deviation(Tamper::Extend), wrong_length(3));
        assert_eq!(deviation(Tamper::Announce(0)), wrong_length(0));
        assert_eq!(deviation(Tamper::Announce(1 << 63)), wrong_length(1 << 63));
        let unexpected = |expected, received: &str| {
            let received = received.into();
            Deviation::UnexpectedLabel { expected, received }
        };
        assert_eq!(deviation(Tamper::Drop), unexpected("two", "three"));
        assert_eq!(deviation(Tamper::SwapWithNext), unexpected("two", "three"));
        assert_eq!(deviation(Tamper::Duplicate), unexpected("three", "two"));
        assert_eq!(deviation(Tamper::Relabel("x".into())), unexpected("two", "x"));
        assert_eq!(deviation(Tamper::Noise), Deviation::NotAMessage { expected: "two" });
        // The missing byte is taken from the next message, whose rest is then not a message.
        assert_eq!(deviation(Tamper::Truncate), Deviation::NotAMessage { expected: "three" });
        for how in [Tamper::Close, Tamper::CloseWithin] {
            assert!(matches!(outcome(how), Err(Error::Closed { .. })));
        }
        assert!(matches!(outcome(Tamper::Stall), Err(Error::Stalled { .. })));
    }
}
