//! Messages in their wire format, read and written independently of the channel.

/// Payload bytes of a segment.
const SEGMENT: usize = (1 << 14) - 1;

/// The first byte of a segment, and the first byte of an abort.
const GOES_ON: u8 = 0;
const ABORT: u8 = 255;

/// Labels of messages that the channel sends by itself.
const OF_THE_CHANNEL: [&str; 2] = ["busy", "end"];

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The label of its step.
    pub label: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Message {
    /// Returns whether a protocol sent it, rather than the channel itself.
    pub fn is_of_protocol(&self) -> bool {
        !OF_THE_CHANNEL.contains(&self.label.as_str())
    }

    /// Returns the bytes on the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.announcing(self.payload.len() as u64)
    }

    /// Returns the bytes on the wire, with an announced length that may be false.
    pub fn announcing(&self, len: u64) -> Vec<u8> {
        let mut bytes = vec![self.label.len() as u8];
        bytes.extend_from_slice(self.label.as_bytes());
        bytes.extend_from_slice(&len.to_le_bytes());
        for segment in self.payload.chunks(SEGMENT) {
            bytes.push(GOES_ON);
            bytes.extend_from_slice(segment);
        }
        bytes
    }
}

/// A complete unit of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A message.
    Message(Message),
    /// A party announced that it stops, with the code of its reason.
    Abort(u8),
}

/// Takes the bytes of one direction as they arrive, and returns complete messages.
#[derive(Debug, Default)]
pub struct Framer {
    bytes: Vec<u8>,
}

impl Framer {
    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next unit once it has arrived completely.
    ///
    /// # Panics
    /// If an honest channel sent something that is not a message.
    pub fn next_piece(&mut self) -> Option<Piece> {
        let (piece, len) = parse(&self.bytes)?;
        self.bytes.drain(..len);
        Some(piece)
    }
}

/// Parses the first unit of `bytes`, and returns it with its length if it is complete.
fn parse(bytes: &[u8]) -> Option<(Piece, usize)> {
    let label_len = usize::from(*bytes.first()?);
    if bytes[0] == ABORT {
        return Some((Piece::Abort(*bytes.get(1)?), 2));
    }
    let label = bytes.get(1..1 + label_len)?;
    let label = str::from_utf8(label).expect("labels are ASCII").to_owned();
    let (len, _) = bytes.get(1 + label_len..)?.split_first_chunk()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).expect("an honest length");
    let mut at = 1 + label_len + 8;
    let mut payload = Vec::new();
    while payload.len() < len {
        match *bytes.get(at)? {
            GOES_ON => {}
            ABORT => return Some((Piece::Abort(*bytes.get(at + 1)?), at + 2)),
            other => panic!("a segment of `{label}` begins with {other}"),
        }
        let segment = SEGMENT.min(len - payload.len());
        payload.extend_from_slice(bytes.get(at + 1..at + 1 + segment)?);
        at += 1 + segment;
    }
    Some((Piece::Message(Message { label, payload }), at))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use vesica_net::{AbortReason, Channel, transport::memory};

    use super::*;

    /// Returns the bytes that a channel writes for `send`.
    fn written_by(send: impl FnOnce(&mut Channel)) -> Vec<u8> {
        let (ours, mut theirs) = memory::pair();
        let mut channel = Channel::new(ours);
        send(&mut channel);
        channel.flush().unwrap();
        drop(channel);
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_channel_and_this_reader_agree_on_the_frame() {
        let payload = |len: usize| (0..len).map(|i| i as u8).collect::<Vec<u8>>();
        for len in [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT, 100_000] {
            let bytes = written_by(|channel| {
                channel.send("step/one", &payload(len)).unwrap();
                channel.send("step/two", b"x").unwrap();
            });
            let mut framer = Framer::default();
            let mut pieces = Vec::new();
            for byte in &bytes {
                framer.push(&[*byte]);
                pieces.extend(framer.next_piece());
            }
            let one = Message { label: "step/one".into(), payload: payload(len) };
            let two = Message { label: "step/two".into(), payload: b"x".to_vec() };
            assert_eq!([one.to_bytes(), two.to_bytes()].concat(), bytes);
            assert_eq!(pieces, [Piece::Message(one), Piece::Message(two)]);
        }
    }

    #[test]
    fn an_abort_is_a_unit() {
        let (ours, mut theirs) = memory::pair();
        let speaker = std::thread::spawn(move || {
            Channel::new(ours).abort(AbortReason::Cancelled);
        });
        let mut bytes = [0; 2];
        theirs.read_exact(&mut bytes).unwrap();
        drop(theirs);
        speaker.join().unwrap();
        let mut framer = Framer::default();
        framer.push(&bytes);
        assert_eq!(framer.next_piece(), Some(Piece::Abort(bytes[1])));
    }
}
