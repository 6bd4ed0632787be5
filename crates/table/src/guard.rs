//! The one place at which panics of the libraries for Parquet and Arrow become errors.
//!
//! Both libraries check their input, but their authors do not promise that no bytes make them panic. Here a panic is
//! just another sign that a file is damaged. Nothing that such a call was changing is used afterwards: the reader is
//! dropped, and so is the output.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread counts as a damaged file, which needs no report of its own.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs `read`; `None` if it panics.
pub(crate) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_recognized() {
        assert_eq!(guarded(is_guarded), Some(true));
        assert!(!is_guarded());
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        assert_eq!(guarded(|| -> u8 { panic!("on purpose") }), None);
        std::panic::set_hook(hook);
        assert!(!is_guarded());
    }
}
