//! The headings under which help lists options.

use clap::Arg;

/// The heading of the limits on what runs may reveal.
const POLICY: &str = "Policy";

/// Each heading with the options below it. Commands that share an option list it under the same heading.
const HEADINGS: [(&str, &[&str]); 9] = [
    (
        "Parties and agreement",
        &[
            "project",
            "identity",
            "peer",
            "partner",
            "agreement",
            "agreement_hash",
            "ledger",
            "record",
        ],
    ),
    (
        "Connection",
        &[
            "listen",
            "connect",
            "address",
            "relay",
            "exchange_dir",
            "side",
            "bandwidth",
            "wait",
            "stall_timeout",
            "deadline",
            "proxy",
        ],
    ),
    ("Cluster", &["cluster", "token", "journal", "task_memory"]),
    (
        "Table",
        &[
            "input",
            "query",
            "query_file",
            "format",
            "delimiter",
            "key",
            "nulls",
            "duplicates",
            "allow_empty",
        ],
    ),
    (
        "Terms",
        &[
            "answer",
            "learns",
            "normalize",
            "null_values",
            "send",
            "send_bytes",
            "receive",
            "align",
            "scale",
            "minimum",
            "epsilon",
            "clamp",
            "protocol",
            "security",
            "diagnose",
            "max_peer_rows",
            "allow_research",
        ],
    ),
    (
        POLICY,
        &[
            "min_set",
            "min_result",
            "threshold_first",
            "max_result",
            "max_result_total",
            "epsilon_total",
            "max_runs_per_day",
            "max_runs",
            "max_attempts",
            "min_change",
            "hours",
            "expires",
        ],
    ),
    ("Result", &["output", "select", "join", "formulas"]),
    ("Memory and interruptions", &["memory", "partitions", "spill", "resume", "threads"]),
    ("Reports and messages", &["report", "json", "progress", "quiet", "log"]),
];

/// Puts an option below its heading; one that has none stays among the others.
pub fn placed(arg: Arg) -> Arg {
    let has_it = |(_, options): &&(&str, &[&str])| options.contains(&arg.get_id().as_str());
    match HEADINGS.iter().find(has_it) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, CommandFactory as _};

    use super::*;
    use crate::{Cli, policy::PolicyArgs};

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
        let limits = PolicyArgs::augment_args(Command::new("limits"));
        let limits: Vec<_> = limits.get_arguments().map(|arg| arg.get_id().to_string()).collect();
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
