//! The cases that run with every change. The linker leaves out unreachable code.

use std::process::ExitCode;

fn main() -> ExitCode {
    vesica_constant_time::main(vesica_constant_time::quick())
}
