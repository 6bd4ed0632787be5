//! Refusals, with codes for programs.

use vesica_list::{Error, Fault, voprf};
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

/// The reason for a refusal.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: &'static str,
    message: String,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl Refusal {
    /// Returns the code of the reason, which is the same in all releases.
    pub fn code(&self) -> String {
        self.code.to_owned()
    }

    /// Returns the message for people: what happened, and what to do.
    pub fn message(&self) -> String {
        self.message.clone()
    }
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A call that the package never makes.
    pub(crate) fn misuse() -> Self {
        Self::new(
            "misuse",
            "the files of this package are from different releases; install it again",
        )
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Version(_) => "unknown-version",
            Error::Signature => "forged",
            Error::Publisher => "other-publisher",
            Error::Expired(_) => "expired",
            Error::Replayed { .. } => "rolled-back",
            Error::Forked { .. } => "forked",
            Error::Profile { .. } => "other-keys",
            Error::NullValues { .. } => "other-null-values",
            Error::TagBits { .. } => "tags-too-short",
            Error::TooLarge { .. } => "too-large",
            Error::Part { fault: Fault::Length, .. } => "truncated",
            Error::Part { fault: Fault::Digest, .. } => "forged",
            Error::OutOfOrder { .. } => "out-of-order",
            Error::Log(_) => "log-changed",
            Error::Epoch { .. } => "other-epoch",
            Error::Oprf(voprf::Error::Proof) => "wrong-key",
            Error::Oprf(_) => "malformed-answer",
            Error::Read(_) => "storage",
            _ => "not-a-list",
        };
        Self::new(code, error.to_string())
    }
}
