//! Every case.

use std::process::ExitCode;

fn main() -> ExitCode {
    vesica_constant_time::main(vesica_constant_time::every())
}
