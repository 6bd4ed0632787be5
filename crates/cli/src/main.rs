//! The command line: flags, progress and messages on a terminal.
//!
//! One file a subcommand. **Must never hold** cryptography or knowledge of tables: what is done is
//! done by `vesica`, this room only asks for it and shows what came of it.

mod bench;
mod calibrate;
mod cancel;
mod check;
mod columns;
mod demo;
mod exit;
mod keygen;
mod meet;
mod memory;
mod numbers;
mod plan;
mod progress;
mod protocols;
mod reference;
mod run;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::LazyLock,
};

use clap::{CommandFactory, Parser, Subcommand};
use vesica::agree::offer::WIRE_VERSION;

use self::exit::Failure;

/// Find the rows that two tables have in common, without showing the other side anything else.
///
/// Two parties run this program, one with --listen and one with --connect, over a connection that is
/// encrypted and authenticated on both sides. Try it on one machine with `vesica demo`.
#[derive(Parser)]
#[command(name = "vesica", version = version(), after_long_help = exit::CODES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The program's version, and the one that both sides of a run must have in common.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (wire version {WIRE_VERSION})", env!("CARGO_PKG_VERSION")));
    &VERSION
}

#[derive(Subcommand)]
enum Command {
    /// See both parties at work on this machine, with made-up customers
    Demo(demo::Args),
    /// Make this party's identity, and print the fingerprint to tell the other party
    Keygen(keygen::KeygenArgs),
    /// Print the fingerprint of an identity
    Fingerprint(keygen::FingerprintArgs),
    /// Count what a run would make of a table: rows, empty and repeated keys, weak spots
    Check(check::Args),
    /// Intersect this party's table with the other party's
    #[command(after_long_help = exit::CODES)]
    Run(Box<run::Args>),
    /// Say what each protocol would take for given sizes and line, and which one to choose
    Plan(plan::Args),
    /// Measure how fast this machine is, for `plan` and for runs that choose their protocol
    Calibrate(calibrate::Args),
    /// List the protocols there are
    Protocols(protocols::Args),
    /// Time protocols against each other, both parties in one process
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

/// Prints a line for the person at the terminal. One who does not listen is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints what was asked for.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader such as `head` that has seen enough is content.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|e| Failure::input(format!("standard output: {e}"))),
    }
}
