//! The client of published lists in a browser: what a page must not decide by itself.
//!
//! It accepts heads, checks parts as they come, makes questions of keys, and reads answers, by the same code as the program. The
//! page's side, in `bindings/browser/js`, fetches and stores, and hands bytes over. Everything runs on one thread.
//!
//! **Must never import** what has to do with files, sockets or clocks: time comes as an argument.

mod accepted;
mod checking;
mod copy;
mod log;
mod question;
mod refusal;
mod values;

#[cfg(test)]
mod tests;

pub use accepted::AcceptedHead;
pub use checking::PartChecker;
pub use copy::ListCopy;
pub use log::LogChecker;
pub use question::Question;
pub use refusal::Refusal;
pub use values::Values;
