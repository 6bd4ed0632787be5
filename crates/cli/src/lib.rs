//! The command line: flags, progress and messages on a terminal.
//!
//! One file per subcommand. **Must never import** readers of tables or hold cryptography: `vesica` does the work, and
//! this crate only starts it and shows the outcome.
//!
//! It is a library so that other packages can carry the program: the one for Python does.

mod agreed;
mod agreement;
mod bench;
mod calibrate;
mod cancel;
mod check;
#[doc(hidden)]
pub mod decoders;
mod demo;
mod document;
mod dpia;
mod exit;
mod flags;
mod gateway;
mod help;
mod itself;
mod jobs;
mod keygen;
mod ledger;
mod log;
mod lookup;
mod match_quality;
mod meet;
mod metrics;
mod numbers;
mod panics;
mod partner;
mod plan;
mod progress;
mod project;
mod protocols;
mod publish;
mod reference;
mod relay;
mod run;
mod serve;
mod serve_list;
mod terminal;

use std::{ffi::OsString, sync::LazyLock};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use vesica::WIRE_VERSION;

pub use self::{itself::started_by, panics::hide_panics};

use self::{
    exit::Failure,
    terminal::{print, print_lines, say},
};

/// Find the rows that two tables have in common, without showing the other side any other row
///
/// Two parties run this program, one with --listen and one with --connect, over a connection that is encrypted and
/// authenticated on both sides. Try it on one machine with `vesica demo`.
#[derive(Parser)]
#[command(name = "vesica", version = version(), arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Returns the program's version, and the wire version, which must be the same on both sides of a run.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (wire version {WIRE_VERSION})", env!("CARGO_PKG_VERSION")));
    &VERSION
}

#[derive(Subcommand)]
enum Command {
    /// Run both parties on this machine, with made-up customers
    Demo(demo::Args),
    /// Create this party's identity, and print its fingerprint for the other party
    Keygen(keygen::KeygenArgs),
    /// Print the fingerprint of an identity
    Fingerprint(keygen::FingerprintArgs),
    /// Create a project: an identity, and a file vesica.toml for jobs
    Init(partner::InitArgs),
    /// Invite a partner to an agreement, and print the text to send
    Invite(Box<partner::InviteArgs>),
    /// Accept an invitation, and print the reply to send back
    Accept(Box<partner::AcceptArgs>),
    /// Gather the replies of several parties to an invitation
    Gather(partner::several::GatherArgs),
    /// Confirm the reply to an invitation
    Confirm(partner::ConfirmArgs),
    /// Show, renew or revoke an agreement
    Agreement(agreement::AgreementArgs),
    /// List the jobs of a project: partners, runs, the next permitted run, limits
    Jobs(jobs::Args),
    /// Check a table before a run: rows, empty and repeated keys, weaknesses
    Check(check::Args),
    /// Judge rules on tables whose people are known: recall and precision of each
    MatchQuality(match_quality::Args),
    /// Say what a run would disclose to each side, without contacting anybody
    ///
    /// It takes a job, or the options of `run`.
    Preview(Box<run::PreviewArgs>),
    /// Intersect this party's table with the other party's
    Run(Box<run::Args>),
    /// Create or update a published list that others can query privately
    Publish(Box<publish::Args>),
    /// Look the keys of a table up in a published list
    Lookup(Box<lookup::Args>),
    /// Serve the jobs of a project to many partners, until asked to stop
    Serve(serve::Args),
    /// Serve a published list, and answer queries, until asked to stop
    ServeList(serve_list::Args),
    /// Run this party's gateway for a Spark or Ray cluster
    ///
    /// Tasks of the cluster compare the partitions of the run.
    Gateway(Box<gateway::Args>),
    /// Relay between parties that can both only dial out, until asked to stop
    Relay(relay::Args),
    /// Check, list or export the ledger of all runs under agreements
    Ledger(ledger::LedgerArgs),
    /// Check the record of a run, which both sides signed
    Verify(ledger::VerifyArgs),
    /// Render a signed run record as an HTML page
    Report(ledger::ReportArgs),
    /// Estimate the cost of protocols for given sizes and a link, and recommend one
    Plan(plan::Args),
    /// Measure the speed of this machine, for plans and for the choice of protocols
    Calibrate(calibrate::Args),
    /// List all protocols
    Protocols(protocols::Args),
    /// Measure protocols, with both parties in one process
    ///
    /// It times protocols, oblivious transfers or structures by turns.
    Bench(Box<bench::Bench>),
    /// Print a script that completes commands and options in a shell
    Completions(reference::CompletionsArgs),
    /// Write manual pages into a directory
    Man(reference::ManArgs),
    /// Print all commands and options as Markdown
    #[command(hide = true)]
    Reference(reference::ReferenceArgs),
}

/// Returns the command line of the program.
fn program() -> clap::Command {
    help::complete(Cli::command())
}

/// Reads a command line, whose first argument is the program's name.
fn parse(arguments: Vec<OsString>) -> Result<Command, clap::Error> {
    let matches = program().try_get_matches_from(arguments)?;
    Ok(Cli::from_arg_matches(&matches)?.command)
}

/// Returns whether these are the arguments of a command that has another name now: `serve --list`.
fn serves_list(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    words.next().is_some_and(|command| command == "serve")
        && words.any(|argument| argument == "--list" || argument.starts_with("--list="))
}

/// Carries out a command line, whose first argument is the program's name, and returns the exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    hide_panics();
    if arguments.iter().any(|argument| argument.to_string_lossy().contains("-----BEGIN")) {
        // Nor is it repeated, as a usage error would.
        return failed(&Failure::usage(
            "an argument holds the text of a key or of another document: name its file instead. Other users of this \
             machine can see arguments, so treat a secret in them as known",
        ));
    }
    if serves_list(&arguments) {
        return failed(&Failure::usage(
            "`vesica serve` serves the jobs of a project; a published list is served by `vesica serve-list --list DIR`",
        ));
    }
    let command = match parse(arguments) {
        Ok(command) => command,
        // Help has the code of success.
        Err(said) => {
            let _ = said.print();
            return said.exit_code() as u8;
        }
    };
    let ended = std::panic::catch_unwind(|| match command {
        Command::Demo(args) => demo::run(args),
        Command::Keygen(args) => keygen::keygen(&args),
        Command::Fingerprint(args) => keygen::fingerprint(&args),
        Command::Init(args) => partner::init(&args),
        Command::Invite(args) => partner::invite(&args),
        Command::Accept(args) => partner::accept(&args),
        Command::Gather(args) => partner::several::gather(&args),
        Command::Confirm(args) => partner::confirm(&args),
        Command::Agreement(args) => agreement::agreement(&args),
        Command::Jobs(args) => jobs::jobs(&args),
        Command::Preview(args) => run::preview(&args),
        Command::Publish(args) => publish::run(&args),
        Command::Lookup(args) => lookup::run(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::ServeList(args) => serve_list::serve_list(&args),
        Command::Gateway(args) => gateway::gateway(&args),
        Command::Relay(args) => relay::relay(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Verify(args) => ledger::verify(&args),
        Command::Report(args) => ledger::report(&args),
        Command::Check(args) => check::run(&args),
        Command::MatchQuality(args) => match_quality::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Protocols(args) => protocols::run(&args),
        Command::Bench(bench) => bench.run(),
        Command::Completions(args) => reference::completions(&args, program()),
        Command::Man(args) => reference::man(&args, program()),
        Command::Reference(args) => reference::reference(&args, program()),
    });
    match ended {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failed(&failure),
        // The hook has printed the place.
        Err(_) => exit::BUG,
    }
}

/// Prints why the program ends, and returns its exit code.
fn failed(failure: &Failure) -> u8 {
    say(&format!("vesica: {}", failure.message));
    failure.hint.iter().for_each(|hint| say(hint));
    failure.code
}
