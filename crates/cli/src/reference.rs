//! `completions`, `man` and `reference`: what there is to know of the flags, in the forms that shells, manual readers
//! and documents take. All three are made from the definitions of the flags themselves.

use std::{fmt::Write as _, fs, io, path::PathBuf};

use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;
use vesica::spec::{Job, List, Project, Service};

use crate::exit::Failure;

#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(clap::Args)]
pub struct ManArgs {
    /// The directory to write to, which is created if it does not exist
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
    let failed = |e: io::Error| Failure::input(format!("{}: {e}", args.directory.display()));
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
    let mut out = String::from(
        "# Commands and options\n\n*For everybody who runs the program. Generated from the definitions of its flags by \
         `cargo xtask docs`.*\n",
    );
    for command in program.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        section(&mut out, command);
    }
    crate::print(&out)
}

/// What a flag does, in one line.
fn words(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A command's section.
fn section(out: &mut String, command: &Command) {
    let about = command.get_long_about().or(command.get_about());
    let usage = command.clone().render_usage().to_string();
    let lines: Vec<_> = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect();
    let usage = lines.join("\n");
    // Writing to a string cannot fail.
    let _ = write!(out, "\n## vesica {}\n\n", command.get_name());
    if let Some(about) = about {
        let _ = write!(out, "{about}.\n\n");
    }
    let _ = write!(out, "```text\n{usage}\n```\n\n| option | meaning |\n|---|---|\n");
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help") {
        let _ = writeln!(out, "| `{}` | {} |", signature(arg), meaning(arg));
    }
}

/// A flag with the names of its values, as in `--input <FILE>`.
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

/// What a flag does, its default, and the values that it may have.
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
