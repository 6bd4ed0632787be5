//! Questions and their answers.

use rand::{
    RngExt, SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica_list::{exchange, value::item};
use vesica_normalize::encoding::digest_of;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroize;

use crate::{copy::ListCopy, refusal::Refusal, values::KeyValues};

/// A question about keys. The server sees one blinded element for each given key, valid or not, so that their number
/// reveals nothing about the keys.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct Question {
    question: Option<exchange::Question>,
    bytes: Vec<u8>,
    answer_bytes: usize,
    are_keys: Vec<bool>,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl Question {
    /// Creates a question about these keys: the values of each key's columns, one key after the other.
    ///
    /// # Errors
    /// A [`Refusal`] if the values do not fit the columns, are missing or too many, or if the browser does not provide
    /// randomness.
    pub fn new(copy: &ListCopy, mut values: Vec<String>) -> Result<Self, Refusal> {
        let question = Self::about(copy, &values);
        values.zeroize();
        question
    }

    /// Returns the bytes for the server.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Returns the length of the answer.
    pub fn answer_bytes(&self) -> usize {
        self.answer_bytes
    }

    /// Checks the answer, and returns the values. A question has one answer.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn finish(&mut self, answer: &[u8]) -> Result<KeyValues, Refusal> {
        let question = self.question.take().ok_or_else(Refusal::misuse)?;
        let are_keys = std::mem::take(&mut self.are_keys);
        Ok(KeyValues { values: question.finish(answer)?, are_keys })
    }
}

impl Question {
    fn about(copy: &ListCopy, values: &[String]) -> Result<Self, Refusal> {
        let columns = copy.profiles.len();
        if !values.len().is_multiple_of(columns) {
            let message = format!("a key of this list must have {columns} values");
            return Err(Refusal::new("columns", message));
        }
        let random = |_| Refusal::new("no-randomness", "the browser does not provide randomness");
        let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(random)?;
        let digest = |key: &[String]| {
            let columns = key.iter().map(String::as_str).zip(&copy.profiles);
            // A key that no table can contain is invalid.
            digest_of(columns, &copy.null_values)
                .filter(|_| !key.iter().any(|value| value.contains('\0')))
        };
        let digests: Vec<_> = values.chunks(columns).map(digest).collect();
        let are_keys = digests.iter().map(Option::is_some).collect();
        let items = digests.iter().map(|digest| match digest {
            Some(digest) => item(digest.as_bytes(), &copy.head.public_key.0),
            None => rng.random(),
        });
        let items = items.collect();
        let question = exchange::Question::new(items, &copy.head, &mut rng)?;
        let (bytes, answer_bytes) = (question.bytes(), question.answer_bytes());
        Ok(Self { question: Some(question), bytes, answer_bytes, are_keys })
    }
}
