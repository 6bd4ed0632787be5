//! How this program starts itself again, as `demo` and `bench` do.

use std::{env, ffi::OsString, io, process::Command, sync::OnceLock};

static LINE: OnceLock<(OsString, Vec<OsString>)> = OnceLock::new();

/// Says what starts this program, where it is not a file of its own: a program, and the arguments before those of a
/// command. The first call counts.
pub fn started_by(program: OsString, arguments: Vec<OsString>) {
    // Another call would say the same of the same process.
    let _ = LINE.set((program, arguments));
}

/// This program once more, still without a command.
///
/// # Errors
/// Where the system does not tell which file this process runs.
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
