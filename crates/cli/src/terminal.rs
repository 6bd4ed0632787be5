//! Text on the terminal.

use std::io::{self, Write};

use crate::exit::Failure;

/// Prints lines on the terminal, without characters that act on it. The program goes on if the terminal is gone.
pub(crate) fn say(lines: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shown_lines(lines));
}

/// Prints the requested lines, likewise.
pub(crate) fn print_lines(lines: &str) -> Result<(), Failure> {
    print(&shown_lines(lines))
}

/// Lines as they are shown.
fn shown_lines(lines: &str) -> String {
    lines.split('\n').map(vesica::report::shown).collect::<Vec<_>>().join("\n")
}

/// Prints the requested output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader such as `head` may close the pipe once it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|e| Failure::input(format!("standard output cannot be written: {e}")))
        }
    }
}
