//! The failure of a task.

/// The reason why a task ended without success: a message with all that there is to say.
pub type Failure = String;
