//! The program `vesica`.

use std::process::ExitCode;

fn main() -> ExitCode {
    vesica_cli::main(std::env::args_os().collect()).into()
}
