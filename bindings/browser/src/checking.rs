//! Checks parts as they arrive.

use vesica_list::checker::Checker;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{accepted::AcceptedHead, refusal::Refusal};

/// Checks a part of a list as its bytes arrive.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct PartChecker(Option<Checker>);

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl PartChecker {
    /// Creates a checker for the part with this index, counted from 0.
    ///
    /// # Errors
    /// A [`Refusal`] if there is no such part.
    pub fn new(head: &AcceptedHead, part: usize) -> Result<Self, Refusal> {
        let (entry, header) = head.head.headers().nth(part).ok_or_else(Refusal::misuse)?;
        Ok(Self(Some(Checker::new(entry, &header))))
    }

    /// Checks the next bytes. Returns the number of bytes, from the beginning of the file, that have been verified.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<f64, Refusal> {
        let checker = self.0.as_mut().ok_or_else(Refusal::misuse)?;
        checker.push(bytes)?;
        Ok(checker.verified() as f64)
    }

    /// Completes the check.
    ///
    /// # Errors
    /// A [`Refusal`] if bytes are missing.
    pub fn finish(&mut self) -> Result<(), Refusal> {
        Ok(self.0.take().ok_or_else(Refusal::misuse)?.finish()?)
    }
}
