//! Another process of this program, as `demo` and `bench` start it.

use std::{env, ffi::OsString, io, process::Command, sync::OnceLock};

static LINE: OnceLock<(OsString, Vec<OsString>)> = OnceLock::new();

/// Sets the program that starts this one, and its arguments before a command, if this program has no file of its own.
/// Only the first call counts.
pub fn started_by(program: OsString, arguments: Vec<OsString>) {
    // Another call would say the same of the same process.
    let _ = LINE.set((program, arguments));
}

/// Returns this program once more, still without a command.
///
/// # Errors
/// If the system does not report the file of this process.
pub fn again() -> io::Result<Command> {
    match LINE.get() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
        None => env::current_exe().map(Command::new),
    }
}
