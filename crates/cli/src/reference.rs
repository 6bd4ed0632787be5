//! `completions`, `man` and `reference`: the commands and options in the forms of shells, manuals and documents. All
//! three are made from the definitions of the flags.

use std::{fmt::Write as _, fs, io, path::PathBuf};

use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;
use vesica::spec::{Job, List, Project, Service};

use crate::{exit::Failure, help};

#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(clap::Args)]
pub struct ManArgs {
    /// The directory for the pages, which is created if it is missing
    directory: PathBuf,
}

/// Prints a script that completes commands and flags in a shell.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "vesica", &mut script);
    crate::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program and for each of its commands.
pub fn man(args: &ManArgs, program: Command) -> Result<(), Failure> {
    let failed = |e: io::Error| {
        Failure::input(format!("{}: cannot be written: {e}", args.directory.display()))
    };
    fs::create_dir_all(&args.directory).map_err(failed)?;
    clap_mangen::generate_to(program, &args.directory).map_err(failed)
}

#[derive(clap::Args)]
pub struct ReferenceArgs {
    /// Print the JSON Schema of this specification instead
    #[arg(long, value_enum)]
    schema: Option<Specification>,
}

/// A specification that has a JSON Schema.
#[derive(Clone, Copy, ValueEnum)]
enum Specification {
    Job,
    Project,
    List,
    Service,
}

/// Prints every command and flag as Markdown, or a JSON Schema.
pub fn reference(args: &ReferenceArgs, mut program: Command) -> Result<(), Failure> {
    program.build();
    if let Some(specification) = args.schema {
        let schema = match specification {
            Specification::Job => Job::schema(),
            Specification::Project => Project::schema(),
            Specification::List => List::schema(),
            Specification::Service => Service::schema(),
        };
        let schema = serde_json::to_string_pretty(&schema);
        return crate::print(&(schema.map_err(|_| Failure::bug("a schema has JSON"))? + "\n"));
    }
    crate::print(&document(&program)?)
}

/// The command whose options other commands share.
const MODEL: &str = "run";

/// The heading of the options that have a section of their own.
const POLICY: &str = "Policy";

/// Returns the reference of the commands and options in Markdown.
fn document(program: &Command) -> Result<String, Failure> {
    let model = program.find_subcommand(MODEL).ok_or(Failure::bug("there is `vesica run`"))?;
    let mut out = String::from(
        "# Commands and options\n\n*For everybody who runs the program. Generated from the definitions of its flags by \
         `cargo xtask docs`.*\n",
    );
    for (group, commands) in help::groups() {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n## {group}\n");
        for name in commands {
            let command = program.find_subcommand(name);
            let command = command.ok_or(Failure::bug("a group has commands of the program"))?;
            section(&mut out, command, name, model);
        }
    }
    let _ = write!(
        out,
        "\n## {POLICY}\n\nThe limits on what runs under an agreement may reveal. In an invitation they apply to both sides; \
         in a run they apply beside the limits of the agreement.\n"
    );
    let policy = model.get_arguments().filter(|arg| arg.get_help_heading() == Some(POLICY));
    table(&mut out, policy);
    Ok(out)
}

/// Returns the meaning of a flag in one line.
fn words(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    // The short text has no full stop, and the rest follows in paragraphs of its own.
    let paragraphs = help.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>());
    let mut line = String::new();
    for paragraph in paragraphs.map(|words| words.join(" ")).filter(|text| !text.is_empty()) {
        if !line.is_empty() {
            line.push_str(if line.ends_with(['.', ':', '?']) { " " } else { ". " });
        }
        line.push_str(&paragraph);
    }
    line
}

/// Writes the section of a command, and of the commands below it.
fn section(out: &mut String, command: &Command, name: &str, model: &Command) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let dot = if about.ends_with('.') { "" } else { "." };
    let usage = command.clone().render_usage().to_string();
    let lines: Vec<_> = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect();
    let _ =
        write!(out, "\n### vesica {name}\n\n{about}{dot}\n\n```text\n{}\n```\n", lines.join("\n"));
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let is_shared = |arg: &Arg| {
        let mut known = model.get_arguments().filter(|_| name != MODEL);
        known.any(|known| {
            known.get_long().is_some()
                && signature(known) == signature(arg)
                && meaning(known) == meaning(arg)
        })
    };
    let is_policy = |arg: &Arg| arg.get_help_heading() == Some(POLICY);
    let own = command.get_arguments().filter(shown).filter(|arg| !is_policy(arg));
    table(out, own.filter(|arg| !is_shared(arg)));
    let shared =
        command.get_arguments().filter(shown).filter(|arg| !is_policy(arg) && is_shared(arg));
    let shared: Vec<_> =
        shared.filter_map(Arg::get_long).map(|long| format!("`--{long}`")).collect();
    if !shared.is_empty() {
        let _ = write!(out, "\nAs in [vesica {MODEL}](#vesica-{MODEL}): {}.\n", shared.join(", "));
    }
    if command.get_arguments().any(is_policy) {
        let _ = write!(out, "\nAlso the options of a [policy](#policy).\n");
    }
    for below in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(out, below, &format!("{name} {}", below.get_name()), model);
    }
}

/// Writes options with their meanings, under their headings if there are several.
fn table<'a>(out: &mut String, options: impl Iterator<Item = &'a Arg>) {
    let mut options = options.peekable();
    if options.peek().is_none() {
        return;
    }
    let _ = write!(out, "\n| option | meaning |\n|---|---|\n");
    let mut heading = None;
    for arg in options {
        let above = arg.get_help_heading().filter(|above| *above != POLICY);
        if let Some(above) = above.filter(|_| above != heading) {
            let _ = writeln!(out, "| **{above}** | |");
        }
        heading = above;
        let _ = writeln!(out, "| `{}` | {} |", signature(arg), meaning(arg));
    }
}

/// Returns a flag with the names of its values, as in `--input <FILE>`.
fn signature(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    let values: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let mut parts = Vec::new();
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => parts.push(format!("-{short}, --{long}")),
        (None, Some(long)) => parts.push(format!("--{long}")),
        (Some(short), None) => parts.push(format!("-{short}")),
        (None, None) => {}
    }
    if takes_value {
        parts.extend(values);
    }
    parts.join(" ")
}

/// Returns the meaning of a flag, its default, and the values that it may have.
fn meaning(arg: &Arg) -> String {
    let mut text = words(arg);
    if arg.get_action().takes_values() && !arg.is_hide_possible_values_set() {
        let possible: Vec<String> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| match value.get_help() {
                Some(help) => format!("`{}` ({help})", value.get_name()),
                None => format!("`{}`", value.get_name()),
            })
            .collect();
        if !possible.is_empty() {
            let _ = write!(text, ": {}", possible.join(", "));
        }
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    if !defaults.is_empty() && !arg.is_hide_default_value_set() && arg.get_action().takes_values() {
        let _ = write!(text, " [default: `{}`]", defaults.join(" "));
    }
    text.replace('|', "\\|").replace('<', "&lt;")
}
