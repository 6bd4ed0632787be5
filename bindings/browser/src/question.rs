//! Questions, and the answers to them.

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica_keys::encoding::digest_of;
use vesica_list::{exchange, value::item};
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroize;

use crate::{copy::ListCopy, refusal::Refusal, values::Values};

/// A question about keys, of which the server sees blinded elements.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct Question {
    /// Nothing where no key is one.
    question: Option<exchange::Question>,
    bytes: Vec<u8>,
    answer_bytes: usize,
    /// For each key the number of its value.
    places: Vec<Option<usize>>,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl Question {
    /// About these keys, of which each has a value for each column of the list's keys, one after the other.
    ///
    /// # Errors
    /// A [`Refusal`] where the values do not fit the columns, are too many, or there is no randomness.
    pub fn new(copy: &ListCopy, mut values: Vec<String>) -> Result<Self, Refusal> {
        let question = Self::about(copy, &values);
        values.zeroize();
        question
    }

    /// What goes to the server; nothing where no key is one.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// How long the answer is.
    pub fn answer_bytes(&self) -> usize {
        self.answer_bytes
    }

    /// Checks the answer, and reads the values. There is one answer to a question.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn finish(&mut self, answer: &[u8]) -> Result<Values, Refusal> {
        let places = std::mem::take(&mut self.places);
        let values = match self.question.take() {
            Some(question) => question.finish(answer)?,
            None => Vec::new(),
        };
        Ok(Values { values, places })
    }
}

impl Question {
    fn about(copy: &ListCopy, values: &[String]) -> Result<Self, Refusal> {
        let columns = copy.profiles.len();
        if !values.len().is_multiple_of(columns) {
            let message = format!("a key of this list has {columns} values");
            return Err(Refusal::new("columns", message));
        }
        let mut items = Vec::new();
        let place = |key: &[String]| {
            let columns = key.iter().map(String::as_str).zip(&copy.profiles);
            // What no table can hold is no key.
            let digest = digest_of(columns, &copy.null_values)
                .filter(|_| !key.iter().any(|value| value.contains('\0')))?;
            items.push(item(digest.as_bytes(), &copy.head.public_key.0));
            Some(items.len() - 1)
        };
        let places: Vec<_> = values.chunks(columns).map(place).collect();
        if items.is_empty() {
            return Ok(Self { question: None, bytes: Vec::new(), answer_bytes: 0, places });
        }
        let random = |_| Refusal::new("no-randomness", "the browser gives no randomness");
        let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(random)?;
        let question = exchange::Question::new(items, &copy.head, &mut rng)?;
        let (bytes, answer_bytes) = (question.bytes(), question.answer_bytes());
        Ok(Self { question: Some(question), bytes, answer_bytes, places })
    }
}
