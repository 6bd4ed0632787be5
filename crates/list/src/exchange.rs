//! The messages between a client and the publisher: a question and its answer.
//!
//! A question consists of blinded elements of 32 bytes. Its answer is a proof of 64 bytes, followed by the evaluated
//! elements. Both sides state the epoch outside these messages, in the address.

use rand::CryptoRng;

use crate::{
    error::Result,
    head::Head,
    value::Value,
    voprf::{Blinded, ELEMENT_BYTES, Error, Evaluated, Mode, PROOF_BYTES, ServerKey, WireElement},
};

/// Maximum number of items in a question. A client with more items asks several questions.
pub const MAX_QUESTION: usize = 1 << 12;

/// Default number of items in a question.
pub const DEFAULT_QUESTION: usize = 1 << 10;

/// The info string for deriving an epoch's key, completed by the epoch's number.
const INFO: &[u8] = b"vesica 1 list epoch ";

/// Derives the key of an epoch from the epoch's secret seed.
///
/// # Errors
/// [`Error::Key`].
pub fn epoch_key(seed: &[u8; 32], epoch: u64) -> Result<ServerKey> {
    let info = [INFO, &epoch.to_be_bytes()].concat();
    Ok(ServerKey::derive(seed, &info, Mode::Voprf)?)
}

/// A question that awaits its answer.
pub struct Question {
    blinded: Blinded<[u8; 32]>,
    public_key: WireElement,
}

impl Question {
    /// Creates a question about 1 to [`MAX_QUESTION`] items, under the key of the head's epoch.
    ///
    /// # Errors
    /// [`Error::Count`].
    pub fn new(items: Vec<[u8; 32]>, head: &Head, rng: &mut dyn CryptoRng) -> Result<Self> {
        if items.len() > MAX_QUESTION {
            return Err(Error::Count.into());
        }
        let blinded = Blinded::new(items, Mode::Voprf, rng)?;
        Ok(Self { blinded, public_key: head.public_key.0 })
    }

    /// Returns the message to the publisher.
    pub fn bytes(&self) -> Vec<u8> {
        self.blinded.elements().concat()
    }

    /// Returns the length of the answer.
    pub fn answer_bytes(&self) -> usize {
        answer_bytes(self.blinded.elements().len())
    }

    /// Decodes the answer, and returns the values in the order of the items.
    ///
    /// # Errors
    /// [`Error::Count`], [`Error::Element`], and [`Error::Proof`] if the publisher used another key.
    pub fn finish(self, answer: &[u8]) -> Result<Vec<Value>> {
        let (proof, elements) = answer.split_first_chunk().ok_or(Error::Count)?;
        let (elements, rest) = elements.as_chunks();
        if !rest.is_empty() {
            return Err(Error::Count.into());
        }
        let outputs = self.blinded.finalize(&self.public_key, elements, proof)?;
        Ok(outputs.iter().map(Value::of).collect())
    }
}

/// Returns the length of a question about this many items.
pub fn question_bytes(items: usize) -> usize {
    items * ELEMENT_BYTES
}

/// Returns the length of the answer to a question about this many items.
pub fn answer_bytes(items: usize) -> usize {
    PROOF_BYTES + items * ELEMENT_BYTES
}

/// Returns the number of items in a question of this length, or `None` if no question has this length.
pub fn items(question_bytes: usize) -> Option<usize> {
    let items = question_bytes / ELEMENT_BYTES;
    let is_one = question_bytes.is_multiple_of(ELEMENT_BYTES);
    (is_one && (1..=MAX_QUESTION).contains(&items)).then_some(items)
}

/// Answers a question.
///
/// # Errors
/// [`Error::Count`] and [`Error::Element`].
pub fn answer(key: &ServerKey, question: &[u8], rng: &mut dyn CryptoRng) -> Result<Vec<u8>> {
    items(question.len()).ok_or(Error::Count)?;
    let (elements, _) = question.as_chunks();
    let Evaluated { elements, proof } = key.blind_evaluate(elements, rng)?;
    let mut answer = Vec::with_capacity(answer_bytes(elements.len()));
    answer.extend_from_slice(&proof.unwrap_or([0; PROOF_BYTES]));
    elements.iter().for_each(|element| answer.extend_from_slice(element));
    Ok(answer)
}
