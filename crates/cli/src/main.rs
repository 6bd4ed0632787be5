//! The command line: flags, progress and messages on a terminal.
//!
//! One file per subcommand. **Must never hold** cryptography or knowledge of tables: the work is done by `vesica`, and
//! this crate only starts it and shows the outcome.

mod bench;
mod calibrate;
mod cancel;
mod check;
mod columns;
mod demo;
mod exit;
mod figures;
mod keygen;
mod meet;
mod memory;
mod numbers;
mod plan;
mod progress;
mod protocols;
mod query;
mod reference;
mod run;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::LazyLock,
};

use clap::{CommandFactory, Parser, Subcommand};
use vesica::WIRE_VERSION;

use self::exit::Failure;

/// Find the rows that two tables have in common, without showing the other side any other row.
///
/// Two parties run this program, one with --listen and one with --connect, over a connection that is
/// encrypted and authenticated on both sides. Try it on one machine with `vesica demo`.
#[derive(Parser)]
#[command(name = "vesica", version = version(), after_long_help = exit::CODES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The program's version, and the wire version, which must be the same on both sides of a run.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (wire version {WIRE_VERSION})", env!("CARGO_PKG_VERSION")));
    &VERSION
}

#[derive(Subcommand)]
enum Command {
    /// Run both parties on this machine, with made-up customers
    Demo(demo::Args),
    /// Create this party's identity, and print the fingerprint to tell the other party
    Keygen(keygen::KeygenArgs),
    /// Print the fingerprint of an identity
    Fingerprint(keygen::FingerprintArgs),
    /// Check a table before a run: count rows, empty and repeated keys, and warn of weaknesses
    Check(check::Args),
    /// Intersect this party's table with the other party's
    #[command(after_long_help = exit::CODES)]
    Run(Box<run::Args>),
    /// Estimate the cost of each protocol for given sizes and a link, and recommend one
    Plan(plan::Args),
    /// Measure the speed of this machine, for `plan` and for runs that choose their protocol
    Calibrate(calibrate::Args),
    /// List all protocols
    Protocols(protocols::Args),
    /// Measure protocols, with both parties in one process
    Bench(bench::Bench),
    /// Print a script that completes commands and options in a shell
    Completions(reference::CompletionsArgs),
    /// Write manual pages into a directory
    Man(reference::ManArgs),
    /// Print all commands and options as Markdown
    #[command(hide = true)]
    Reference,
}

fn main() -> ExitCode {
    exit::hide_panics();
    let cli = Cli::parse();
    let ended = std::panic::catch_unwind(|| match cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Keygen(args) => keygen::keygen(&args),
        Command::Fingerprint(args) => keygen::fingerprint(&args),
        Command::Check(args) => check::run(args),
        Command::Run(args) => run::run(*args),
        Command::Plan(args) => plan::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Protocols(args) => protocols::run(&args),
        Command::Bench(bench) => bench.run(),
        Command::Completions(args) => reference::completions(&args, Cli::command()),
        Command::Man(args) => reference::man(&args, Cli::command()),
        Command::Reference => reference::reference(Cli::command()),
    });
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            say(&format!("vesica: {}", failure.message));
            ExitCode::from(failure.code)
        }
        // The hook has said where.
        Err(_) => ExitCode::from(exit::BUG),
    }
}

/// Prints a line on the terminal. A terminal that is gone is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints the requested output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader such as `head` may close the pipe once it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|e| Failure::input(format!("standard output: {e}"))),
    }
}
