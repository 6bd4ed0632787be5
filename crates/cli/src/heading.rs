//! The headings under which help lists options.

use std::sync::LazyLock;

use clap::Arg;
use vesica::spec::{Described, Job, Options as _};

/// Each heading with the options below it that jobs lack.
const HEADINGS: [(&str, &[&str]); 4] = [
    ("Parties and agreement", &["project"]),
    ("Connection", &["address"]),
    ("Cluster", &["cluster", "token", "journal", "task_memory"]),
    ("Reports and messages", &["log"]),
];

/// Puts an option below its heading. Commands that share an option with jobs list it under the same heading; one that has
/// none stays among the others.
pub fn placed(arg: Arg) -> Arg {
    static OPTIONS: LazyLock<Vec<Described>> = LazyLock::new(Job::described);
    let has_it = |(_, options): &&(&str, &[&str])| options.contains(&arg.get_id().as_str());
    let own = HEADINGS.iter().find(has_it).map(|(heading, _)| *heading);
    let of_job = || OPTIONS.iter().find(|known| arg.get_long() == Some(known.name));
    match own.or_else(|| Some(of_job()?.heading)) {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};
    use vesica::spec::Limits;

    use super::*;
    use crate::Cli;

    const POLICY: &str = "Policy";

    /// The options of a command that are below a heading.
    fn below(command: &Command, heading: Option<&str>) -> Vec<String> {
        let options = command.get_arguments().filter(|arg| {
            arg.get_long().is_some_and(|long| long != "help") && arg.get_help_heading() == heading
        });
        options.map(|arg| arg.get_id().to_string()).collect()
    }

    #[test]
    fn every_option_is_below_a_heading_that_says_what_it_is() {
        const WITH_LIMITS: [&str; 4] = ["run", "preview", "gateway", "invite"];
        let mut program = Cli::command();
        program.build();
        let limits: Vec<_> = Limits::described().iter().map(|known| known.name).collect();
        for name in WITH_LIMITS {
            let command = program.find_subcommand(name).unwrap();
            assert_eq!(below(command, Some(POLICY)), limits, "{name}");
            assert_eq!(below(command, None), [""; 0], "{name}: options without a heading");
        }
        let others =
            program.get_subcommands().filter(|command| !WITH_LIMITS.contains(&command.get_name()));
        for command in others {
            assert_eq!(below(command, Some(POLICY)), [""; 0], "{}", command.get_name());
        }
    }
}
