//! The cases that run with every change. The linker leaves out what they do not reach.

use std::process::ExitCode;

fn main() -> ExitCode {
    vesica_constant_time::main(vesica_constant_time::quick())
}
