//! The test vectors of `docs/spec/vectors.md`: results of the code for fixed inputs, compared with the files in
//! `tests/vectors/`, or written there if [`UPDATE`] is set.

use std::{convert::Infallible, fs, path::PathBuf};

use rand::{TryCryptoRng, TryRng};
use serde_json::Value;
use vesica_net::{Channel, Error};
use vesica_primitives::Block;

use crate::{
    transcript::{Transcript, Transcripts, UPDATE, record},
    two_party::{Link, PATIENCE, Wire},
};

/// Compares a file of vectors with the code's results, or writes it.
///
/// # Panics
/// If they differ.
pub fn check(name: &str, made: &Value) {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let path = directory.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(made).unwrap() + "\n";
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "tests/vectors/{name}.json differs from the code's results, first in line {}. If that is on purpose, update \
         docs/spec/ and run these tests with {UPDATE}=1",
        1 + kept.lines().zip(text.lines()).take_while(|(kept, made)| kept == made).count()
    );
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Blocks as hexadecimal digits, one after another.
pub fn blocks(blocks: &[Block]) -> String {
    hex(bytemuck::cast_slice::<_, u8>(blocks))
}

/// Returns the length and the BLAKE3 hash of bytes that are too long to show.
pub fn digest(bytes: impl AsRef<[u8]>) -> Value {
    let bytes = bytes.as_ref();
    serde_json::json!({ "bytes": bytes.len(), "blake3": blake3::hash(bytes).to_hex().as_str() })
}

/// Randomness that anybody can reproduce: the extended output of BLAKE3 for a name.
pub struct Draws(blake3::OutputReader);

impl Draws {
    /// The randomness of this name.
    pub fn new(name: &str) -> Self {
        let context = "vesica test vectors v1";
        Self(blake3::Hasher::new_derive_key(context).update(name.as_bytes()).finalize_xof())
    }

    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill(&mut bytes);
        bytes
    }

    /// The next blocks.
    pub fn blocks(&mut self, count: usize) -> Vec<Block> {
        (0..count).map(|_| Block::random(self)).collect()
    }
}

impl TryRng for Draws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(out);
        Ok(())
    }
}

impl TryCryptoRng for Draws {}

/// Runs S and R with the randomness of `name/S` and `name/R`, and returns their results and what they sent.
///
/// # Panics
/// If a party fails.
pub fn run<A: Send, B: Send, E: From<Error> + std::fmt::Debug + Send>(
    name: &str,
    sender: impl FnOnce(&mut Channel, &mut Draws) -> Result<A, E> + Send,
    receiver: impl FnOnce(&mut Channel, &mut Draws) -> Result<B, E> + Send,
) -> (A, B, Transcripts) {
    let (left, right) = Link::Memory.connect();
    let ((left, sent), (right, received)) = (record(left), record(right));
    let draws = |side| Draws::new(&format!("{name}/{side}"));
    let (a, b) = std::thread::scope(|scope| {
        let left = scope.spawn(|| party(left, draws("S"), sender));
        let right = scope.spawn(|| party(right, draws("R"), receiver));
        (left.join().unwrap(), right.join().unwrap())
    });
    let both = Transcripts { sender: sent.transcript(), receiver: received.transcript() };
    (a, b, both)
}

fn party<T, E: From<Error> + std::fmt::Debug>(
    Wire { transport, clock }: Wire,
    mut draws: Draws,
    run: impl FnOnce(&mut Channel, &mut Draws) -> Result<T, E>,
) -> T {
    let mut channel = Channel::new(transport).with_clock(clock).with_stall_timeout(PATIENCE);
    let result = run(&mut channel, &mut draws).unwrap();
    channel.finish().unwrap();
    result
}

/// Returns a party's messages. Payloads of more than `most` bytes are [digests](digest), except those with the label
/// `whole`.
pub fn messages(sent: &Transcript, most: usize, whole: &str) -> Value {
    let messages = sent.messages.iter().map(|message| {
        let payload = match message.payload.len() <= most || message.label == whole {
            true => Value::String(hex(&message.payload)),
            false => digest(&message.payload),
        };
        serde_json::json!({ "label": message.label, "payload": payload })
    });
    messages.collect()
}
