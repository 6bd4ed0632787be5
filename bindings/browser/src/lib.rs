//! The client of published lists in a browser: the checks that a page must not implement by itself.
//!
//! It accepts heads, checks parts as they arrive, makes questions about keys, and reads answers, with the same code as
//! the program. The page's side, in `bindings/browser/js`, fetches and stores, and passes bytes. Everything runs on one
//! thread.
//!
//! **Must never import** files, sockets or clocks: the time is an argument.

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
pub use values::KeyValues;
