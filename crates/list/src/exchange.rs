//! What a client and the publisher send each other: a question, and the answer to it.
//!
//! A question is blinded elements of 32 bytes, the answer a proof of 64 bytes and then the evaluated elements. Both sides say
//! beside it, in the address, of which epoch it is.

use rand::CryptoRng;

use crate::{
    error::Result,
    head::Head,
    value::Value,
    voprf::{Blinded, ELEMENT_BYTES, Element, Error, Evaluated, Mode, PROOF_BYTES, ServerKey},
};

/// The most items of a question. A client with more asks several.
pub const MAX_QUESTION: usize = 1 << 12;

/// The items of a question of a client that names no number.
pub const DEFAULT_QUESTION: usize = 1 << 10;

/// What the derivation of an epoch's key is told, with the epoch.
const INFO: &[u8] = b"vesica 1 list epoch ";

/// The key of an epoch, from a secret seed of the epoch's own.
///
/// # Errors
/// [`Error::Key`].
pub fn epoch_key(seed: &[u8; 32], epoch: u64) -> Result<ServerKey> {
    let info = [INFO, &epoch.to_be_bytes()].concat();
    Ok(ServerKey::derive(seed, &info, Mode::Voprf)?)
}

/// A question that a client has asked.
pub struct Question {
    blinded: Blinded<[u8; 32]>,
    public_key: Element,
}

impl Question {
    /// For the values of these items, under the key of the epoch: 1 to [`MAX_QUESTION`].
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

    /// What goes to the publisher.
    pub fn bytes(&self) -> Vec<u8> {
        self.blinded.elements().concat()
    }

    /// How long the answer is.
    pub fn answer_bytes(&self) -> usize {
        answer_bytes(self.blinded.elements().len())
    }

    /// Reads the answer: the values, in the order of the items.
    ///
    /// # Errors
    /// [`Error::Count`], [`Error::Element`], and [`Error::Proof`] where another key was used.
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

/// How long a question about so many items is.
pub fn question_bytes(items: usize) -> usize {
    items * ELEMENT_BYTES
}

/// How long the answer to a question of so many items is.
pub fn answer_bytes(items: usize) -> usize {
    PROOF_BYTES + items * ELEMENT_BYTES
}

/// How many items a question of so many bytes has, if it is one.
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
