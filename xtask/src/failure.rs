//! The failure of a task.

/// The reason why a task failed, as a complete message.
pub type Failure = String;
