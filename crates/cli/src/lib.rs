//! The command line: flags, progress and messages on a terminal.
//!
//! One file per subcommand. **Must never import** what reads tables, and never hold cryptography: the work is done by
//! `vesica`, and this crate only starts it and shows the outcome.
//!
//! It is a library so that other packages can carry the program: the one for Python does.

mod agreed;
mod agreement;
mod bench;
mod calibrate;
mod cancel;
mod check;
mod columns;
#[doc(hidden)]
pub mod decoders;
mod delimiter;
mod demo;
mod document;
mod examples;
mod exit;
mod flags;
mod gateway;
mod heading;
mod itself;
mod jobs;
mod keygen;
mod ledger;
mod lookup;
mod meet;
mod numbers;
mod panics;
mod partner;
mod plan;
mod progress;
mod project;
mod protocols;
mod publish;
mod query;
mod reference;
mod relay;
mod run;
mod serve;
mod terminal;

use std::{ffi::OsString, sync::LazyLock};

use clap::{CommandFactory, Parser, Subcommand};
use vesica::WIRE_VERSION;

pub use self::{itself::started_by, panics::hide_panics};

use self::{
    exit::Failure,
    terminal::{print, print_lines, say},
};

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
    /// Create a project: an identity, and a file vesica.toml for jobs
    #[command(after_help = examples::of("init"))]
    Init(partner::InitArgs),
    /// Invite a partner to an agreement, and print the text to send
    #[command(after_help = examples::of("invite"))]
    Invite(Box<partner::InviteArgs>),
    /// Accept an invitation, and print the reply to send back
    #[command(after_help = examples::of("accept"))]
    Accept(Box<partner::AcceptArgs>),
    /// Confirm the reply to an invitation
    #[command(after_help = examples::of("confirm"))]
    Confirm(partner::ConfirmArgs),
    /// Show, renew or revoke an agreement
    #[command(after_help = examples::of("agreement"))]
    Agreement(agreement::AgreementArgs),
    /// List the jobs of a project: partners, runs so far, the next permitted run, and how much the rules leave
    #[command(after_help = examples::of("jobs"))]
    Jobs(jobs::Args),
    /// Check a table before a run: count rows, empty and repeated keys, and warn of weaknesses
    #[command(after_help = examples::of("check"))]
    Check(check::Args),
    /// Say what a run would disclose to each side, without contacting anybody: `vesica preview JOB`, or the flags of `run`
    #[command(after_help = examples::of("preview"))]
    Preview(Box<run::Args>),
    /// Intersect this party's table with the other party's
    #[command(
        override_usage = run::USAGE,
        after_help = examples::of("run"),
        after_long_help = examples::with_codes("run")
    )]
    Run(Box<run::Args>),
    /// Make or update a list in which others look keys up, without showing it or seeing their keys
    #[command(after_help = examples::of("publish"))]
    Publish(Box<publish::Args>),
    /// Look the keys of a table up in a published list
    #[command(after_help = examples::of("lookup"))]
    Lookup(Box<lookup::Args>),
    /// Serve the jobs of a project to many partners, or a published list, until asked to stop
    #[command(after_help = examples::of("serve"))]
    Serve(serve::Args),
    /// Take this party's side of a run whose partitions are compared by tasks of a cluster, such as Spark
    #[command(after_help = examples::of("gateway"), after_long_help = examples::with_codes("gateway"))]
    Gateway(Box<gateway::Args>),
    /// Relay between parties who can both only dial out, until asked to stop
    #[command(after_help = examples::of("relay"))]
    Relay(relay::Args),
    /// Check, list, export or make a page of the ledger of all runs under agreements
    #[command(after_help = examples::of("ledger"))]
    Ledger(ledger::LedgerArgs),
    /// Check the record of a run, which both sides signed
    #[command(after_help = examples::of("verify"))]
    Verify(ledger::VerifyArgs),
    /// Make a page for people of the record of a run
    #[command(after_help = examples::of("report"))]
    Report(ledger::ReportArgs),
    /// Estimate the cost of each protocol for given sizes and a link, and recommend one
    #[command(after_help = examples::of("plan"))]
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
    Reference(reference::ReferenceArgs),
}

/// The program: carries out what these arguments ask for, of which the first is the program's name, and returns the exit
/// code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    hide_panics();
    if arguments.iter().any(|argument| argument.to_string_lossy().contains("-----BEGIN")) {
        // Nor is it repeated, as a usage error would.
        return failed(&Failure::usage(
            "an argument is the text of a key or of another document; name the file that it is in. Other users see the \
             arguments of programs: if the text is secret, treat it as known",
        ));
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        // Help has the code of success.
        Err(said) => {
            let _ = said.print();
            return said.exit_code() as u8;
        }
    };
    let ended = std::panic::catch_unwind(|| match cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Keygen(args) => keygen::keygen(&args),
        Command::Fingerprint(args) => keygen::fingerprint(&args),
        Command::Init(args) => partner::init(&args),
        Command::Invite(args) => partner::invite(&args),
        Command::Accept(args) => partner::accept(&args),
        Command::Confirm(args) => partner::confirm(&args),
        Command::Agreement(args) => agreement::agreement(&args),
        Command::Jobs(args) => jobs::jobs(&args),
        Command::Preview(args) => run::preview(&args),
        Command::Publish(args) => publish::run(*args),
        Command::Lookup(args) => lookup::run(*args),
        Command::Serve(args) => serve::serve(&args),
        Command::Gateway(args) => gateway::gateway(*args),
        Command::Relay(args) => relay::relay(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Verify(args) => ledger::verify(&args),
        Command::Report(args) => ledger::report(&args),
        Command::Check(args) => check::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Protocols(args) => protocols::run(&args),
        Command::Bench(bench) => bench.run(),
        Command::Completions(args) => reference::completions(&args, Cli::command()),
        Command::Man(args) => reference::man(&args, Cli::command()),
        Command::Reference(args) => reference::reference(&args, Cli::command()),
    });
    match ended {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failed(&failure),
        // The hook has said where.
        Err(_) => exit::BUG,
    }
}

/// Says why the program ends.
fn failed(failure: &Failure) -> u8 {
    say(&format!("vesica: {}", failure.message));
    failure.hint.iter().for_each(|hint| say(hint));
    failure.code
}
