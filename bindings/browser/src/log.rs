//! Checks logs as they arrive.

use vesica_list::log::Checker;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::refusal::Refusal;

/// Checks the log of a list as its bytes arrive.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct LogChecker(pub(crate) Option<Checker>);

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl LogChecker {
    /// Checks the next bytes.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        Ok(self.0.as_mut().ok_or_else(Refusal::misuse)?.push(bytes)?)
    }

    /// Completes the check.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn finish(&mut self) -> Result<(), Refusal> {
        Ok(self.0.take().ok_or_else(Refusal::misuse)?.finish()?)
    }
}
