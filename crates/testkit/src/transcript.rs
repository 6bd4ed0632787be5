//! The messages that a party sent.
//!
//! Transcripts have two uses. A digest of each protocol's transcript, with seeded randomness, is stored in
//! `tests/vectors/transcripts.json`, so that a change on the wire is always deliberate. Transcripts of two runs on
//! different sets of the same size must also have equal lengths, message by message, because an observer sees lengths
//! through TLS.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    fs,
    io::{self, Read, Write},
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
};

use rand::rngs::StdRng;
use vesica_net::{Channel, Error, Transport};
use vesica_primitives::arch::FORCE_PORTABLE;

use crate::{
    frame::{Framer, Message, Piece},
    two_party::{Link, PATIENCE, Wire, between},
};

/// The environment variable that makes [`check_baseline`] write instead of compare.
pub const UPDATE: &str = "VESICA_UPDATE_VECTORS";

/// The messages sent by a party, without those that the channel itself sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The messages in the order in which they were sent.
    pub messages: Vec<Message>,
}

impl Transcript {
    /// Returns the label and payload length of each message.
    pub fn shape(&self) -> Vec<(&str, usize)> {
        self.messages.iter().map(|m| (m.label.as_str(), m.payload.len())).collect()
    }

    /// Returns the number of payload bytes, without framing.
    pub fn payload_bytes(&self) -> usize {
        self.messages.iter().map(|message| message.payload.len()).sum()
    }

    /// Returns a digest of labels, lengths and payloads, but not of the framing.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("vesica transcript v1");
        for message in &self.messages {
            hasher.update(&(message.label.len() as u64).to_le_bytes());
            hasher.update(message.label.as_bytes());
            hasher.update(&(message.payload.len() as u64).to_le_bytes());
            hasher.update(&message.payload);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// A wire that records what is written to it.
struct Recording {
    wire: Box<dyn Transport>,
    framer: Framer,
    transcript: Recorder,
}

/// Access to the transcript of a recorded wire.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Transcript>>);

impl Recorder {
    /// Returns the messages sent so far.
    pub fn transcript(&self) -> Transcript {
        self.0.lock().unwrap().clone()
    }
}

/// Records the messages sent into a wire.
pub fn record(wire: Wire) -> (Wire, Recorder) {
    let transcript = Recorder::default();
    let recording = Recording {
        wire: wire.transport,
        framer: Framer::default(),
        transcript: transcript.clone(),
    };
    (Wire { transport: Box::new(recording), clock: wire.clock }, transcript)
}

impl Read for Recording {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.wire.read(buf)
    }
}

impl Write for Recording {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.wire.write(buf)?;
        self.framer.push(&buf[..written]);
        while let Some(piece) = self.framer.next_piece() {
            if let Piece::Message(message) = piece
                && message.is_of_protocol()
            {
                self.transcript.0.lock().unwrap().messages.push(message);
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }
}

/// The environment variable that names the emulator, with its arguments, for tests compiled for another processor.
const RUNNER: &str = "VESICA_TEST_RUNNER";

/// The calling program, to be run again.
fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace();
    match words.next() {
        None => Command::new(program),
        Some(runner) => {
            let mut command = Command::new(runner);
            command.args(words).arg(program);
            command
        }
    }
}

/// Runs the calling test program again with the portable kernels, restricted to this test (named with its modules).
///
/// # Panics
/// If the test fails with them.
pub fn again_with_portable_kernels(test: &str) {
    if std::env::var_os(UPDATE).is_some() {
        return;
    }
    let outcome = this_program().args(["--exact", test]).env(FORCE_PORTABLE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success() && said.contains("1 passed"), "portable kernels: {said}");
}

/// The transcripts of the two parties of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcripts {
    /// The messages that the sender of the protocol sent.
    pub sender: Transcript,
    /// The messages that its receiver sent.
    pub receiver: Transcript,
}

impl Transcripts {
    /// The digests of both.
    pub fn digest(&self) -> String {
        format!("{} {}", self.sender.digest(), self.receiver.digest())
    }

    /// The shapes of both.
    pub fn shape(&self) -> [Vec<(&str, usize)>; 2] {
        [self.sender.shape(), self.receiver.shape()]
    }
}

/// Runs both parties of a protocol over memory with seeded randomness, and returns their messages.
///
/// # Panics
/// If a party fails.
pub fn of<A: Send, B: Send, E>(
    sender: impl FnOnce(&mut Channel, &mut StdRng) -> Result<A, E> + Send,
    receiver: impl FnOnce(&mut Channel, &mut StdRng) -> Result<B, E> + Send,
) -> Transcripts
where
    E: From<Error> + Debug + Send,
{
    let (left, right) = Link::Memory.connect();
    let ((left, sent), (right, received)) = (record(left), record(right));
    let (a, b) = between((left, right), PATIENCE, sender, receiver);
    a.map(drop).unwrap();
    b.map(drop).unwrap();
    Transcripts { sender: sent.transcript(), receiver: received.transcript() }
}

/// Compares the messages of protocols, each under its key, with the baseline, or writes the baseline if [`UPDATE`] is
/// set.
///
/// # Panics
/// If a digest differs from the baseline, or is not in it.
pub fn check_baseline(found: &[(&str, Transcripts)]) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/transcripts.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".into());
    let mut baseline: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
    if std::env::var_os(UPDATE).is_some() {
        baseline.extend(found.iter().map(|(key, both)| ((*key).to_owned(), both.digest())));
        let text = serde_json::to_string_pretty(&baseline).unwrap() + "\n";
        return fs::write(path, text).unwrap();
    }
    for (key, both) in found {
        assert_eq!(
            baseline.get(*key),
            Some(&both.digest()),
            "the messages of `{key}` have changed. If that is on purpose, run these tests with \
             {UPDATE}=1 and commit tests/vectors/transcripts.json with the reason. It sent {:?}",
            both.shape()
        );
    }
}
