//! The refusal of a run by a policy.

use crate::words::counted;

/// The rule that asks for a number of shared keys.
const TOO_FEW: &str = "min-result";

/// The rule that refuses a run, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} ({rule})")]
pub struct Refusal {
    /// The rule, as it is written: `min-set`.
    pub rule: &'static str,
    /// The reason. Of the data it mentions only sizes.
    pub reason: String,
}

impl Refusal {
    /// Returns the refusal of a rule, for a reason.
    pub fn new(rule: &'static str, reason: String) -> Self {
        Self { rule, reason }
    }

    /// Returns the refusal of a result that rests on fewer than `least` shared keys.
    pub fn too_few(least: u64) -> Self {
        let reason =
            format!("there are fewer than {}, so nothing is revealed", counted(least, "match"));
        Self::new(TOO_FEW, reason)
    }

    /// Whether too few shared keys are the reason.
    pub fn is_too_few(&self) -> bool {
        self.rule == TOO_FEW
    }
}
