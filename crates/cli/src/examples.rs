//! Examples below the help of a command.

use crate::exit;

/// The examples of a command.
struct Examples {
    command: &'static str,
    /// What each does, and its command line.
    lines: &'static [(&'static str, &'static str)],
}

const EXAMPLES: &[Examples] = &[
    Examples {
        command: "init",
        lines: &[
            ("Make a project in this directory", "vesica init"),
            ("Make a project in a directory of its own", "vesica init partners"),
        ],
    },
    Examples {
        command: "invite",
        lines: &[
            (
                "Propose to find the rows with the same mail address; both sides learn them",
                "vesica invite acme --input customers.csv --key email --normalize email --learns both --address data.example.org:7788",
            ),
            (
                "Propose a count, with limits for every run",
                "vesica invite acme --input customers.csv --key email --normalize email --learns both --answer count --min-result 50 --max-runs-per-day 1 --address data.example.org:7788",
            ),
            (
                "Propose a join: this side receives columns that the partner names; both connect to a relay",
                "vesica invite acme --input customers.csv --key phone --normalize phone:DE --learns me --receive --relay relay.example.org:7799",
            ),
        ],
    },
    Examples {
        command: "accept",
        lines: &[
            (
                "Look at an invitation, and accept it",
                "vesica accept acme.invite --input members.csv --key mail",
            ),
            (
                "Accept a join in which this side sends two columns",
                "vesica accept acme.invite --input members.csv --key mobile --send tier,since",
            ),
        ],
    },
    Examples {
        command: "confirm",
        lines: &[
            ("Compare the six words on the phone, and confirm", "vesica confirm acme.reply"),
            (
                "Confirm for a project elsewhere",
                "vesica confirm acme.reply --project partners/vesica.toml",
            ),
        ],
    },
    Examples {
        command: "agreement",
        lines: &[
            ("Show an agreement", "vesica agreement acme.agreement"),
            (
                "Propose another agreement with the same terms for the next year",
                "vesica agreement renew acme --name acme2 --expires 2028-12-31",
            ),
            ("Permit no more runs", "vesica agreement revoke acme"),
        ],
    },
    Examples {
        command: "jobs",
        lines: &[
            ("Show when each partner was compared last, and when it may be next", "vesica jobs"),
            ("The same for a program", "vesica jobs --json"),
        ],
    },
    Examples {
        command: "preview",
        lines: &[
            ("Say what the next run of a job will disclose", "vesica preview acme"),
            (
                "Say what a run without an agreement would disclose",
                "vesica preview --identity shop.identity --input customers.csv --key email --learns both",
            ),
        ],
    },
    Examples {
        command: "check",
        lines: &[
            (
                "Count the rows, keys and repetitions of a table",
                "vesica check customers.csv --key email --normalize email",
            ),
            ("Check the table of a job of vesica.toml", "vesica check acme"),
            ("List the columns of a table", "vesica check customers.parquet --columns"),
        ],
    },
    Examples {
        command: "run",
        lines: &[
            ("Run a job of vesica.toml", "vesica run acme"),
            (
                "Wait for a partner who connects, and find the rows that both have",
                "vesica run --listen 0.0.0.0:7788 --identity me.identity --peer FINGERPRINT --input customers.csv --key email --normalize email --learns both --output shared.csv",
            ),
            (
                "Connect to a partner who listens, and count",
                "vesica run --connect partner.example.org:7788 --identity me.identity --peer FINGERPRINT --input members.csv --key mail --normalize email --learns both --answer count",
            ),
        ],
    },
    Examples {
        command: "publish",
        lines: &[
            (
                "Make a list of blocked accounts, or bring it up to date",
                "vesica publish --input blocked.csv --key iban --list blocked --identity me.identity",
            ),
            (
                "Give a column to those who ask for a key",
                "vesica publish --input blocked.csv --key iban --labels reason --list blocked --identity me.identity",
            ),
        ],
    },
    Examples {
        command: "lookup",
        lines: &[
            (
                "Find the rows whose key is in a list",
                "vesica lookup --list https://lists.example.org/v1 --publisher FINGERPRINT --input payments.csv --key iban --output found.csv",
            ),
            (
                "Look one key up in a copy of a list",
                "vesica lookup --list blocked/public --ask https://lists.example.org/v1 --publisher FINGERPRINT --value DE02120300000000202051",
            ),
        ],
    },
    Examples {
        command: "serve",
        lines: &[
            ("Serve all jobs in which this side listens", "vesica serve"),
            (
                "Serve two partners at a time, with a log for machines and metrics",
                "vesica serve --runs 2 --log json --metrics 127.0.0.1:9788",
            ),
            (
                "Serve a published list",
                "vesica serve --list blocked --identity me.identity --listen 0.0.0.0:8443",
            ),
        ],
    },
    Examples {
        command: "gateway",
        lines: &[
            (
                "Admit the cluster of this side, and meet the other side as the agreement says",
                "vesica gateway --agreement acme.agreement --identity vesica.identity --cluster 0.0.0.0:7790 --token cluster.token --journal acme.journal",
            ),
            (
                "Give a task of the cluster up to 4 GiB, and keep the signed record",
                "vesica gateway --agreement acme.agreement --identity vesica.identity --cluster 0.0.0.0:7790 --token cluster.token --journal acme.journal --task-memory 4G --record acme.record",
            ),
        ],
    },
    Examples {
        command: "relay",
        lines: &[
            (
                "Relay between two parties",
                "vesica relay --listen 0.0.0.0:7799 --address relay.example.org:7799 --admit FINGERPRINT FINGERPRINT",
            ),
            (
                "Relay at most 10 GiB of a pair, and close a pair that is silent for a minute",
                "vesica relay --listen relay.example.org:7799 --admit FINGERPRINT FINGERPRINT --quota 10G --idle 60",
            ),
        ],
    },
    Examples {
        command: "ledger",
        lines: &[
            ("List the runs of this project", "vesica ledger show"),
            (
                "Check that no run was changed or taken out",
                "vesica ledger verify --record acme.record globex.record",
            ),
            ("Print all runs as JSON", "vesica ledger export"),
        ],
    },
    Examples {
        command: "verify",
        lines: &[
            (
                "Check a record with the identity of this side and the fingerprint of the partner",
                "vesica verify acme.record --with vesica.identity --with FINGERPRINT",
            ),
            (
                "Check a record between two others",
                "vesica verify acme.record --with FINGERPRINT --with FINGERPRINT",
            ),
        ],
    },
    Examples {
        command: "report",
        lines: &[
            ("Make a page of a record", "vesica report acme.record --html acme.html"),
            ("Print the page", "vesica report acme.record --html -"),
        ],
    },
    Examples {
        command: "plan",
        lines: &[
            (
                "Compare the protocols for a million keys against a hundred million",
                "vesica plan --mine 1M --theirs 100M --bandwidth 1000 --rtt 20",
            ),
            (
                "Find the protocol that costs least between two regions",
                "vesica plan --mine 1M --theirs 1M --prices Virginia,Paris",
            ),
            (
                "Compare the protocols for a count that holds against a side that cheats",
                "vesica plan --mine 100,000 --theirs 100,000 --security malicious --learns both",
            ),
        ],
    },
];

/// The examples of a command, as lines below its help.
pub fn of(command: &str) -> String {
    let known = EXAMPLES.iter().find(|examples| examples.command == command);
    let lines = known.map_or(&[][..], |examples| examples.lines);
    let lines = lines.iter().map(|(does, line)| format!("  {does}:\n    {line}\n"));
    format!("Examples:\n{}", lines.collect::<String>()).trim_end().to_owned()
}

/// The examples of a command, and the exit codes.
pub fn with_codes(command: &str) -> String {
    format!("{}\n\n{}", of(command), exit::CODES)
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, fs};

    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::{Cli, Command};

    const FINGERPRINT: &str = "vesica1-cb6k-2h9h-zv5y-vbs9-x9hk-7s17-nebt-btgk-93tr";

    #[test]
    fn every_example_is_a_command_line_of_the_program() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("vesica.toml");
        let job = "[jobs.acme]\nagreement = \"acme.agreement\"\ninput = \"customers.csv\"\nkey = \"email\"\n";
        fs::write(&file, job).unwrap();
        for Examples { command, lines } in EXAMPLES {
            assert!((2..=3).contains(&lines.len()), "{command}");
            for (_, line) in *lines {
                let line = line.replace("FINGERPRINT", FINGERPRINT);
                assert!(line.starts_with(&format!("vesica {command}")), "{line}");
                let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                if ["vesica run acme", "vesica preview acme"].contains(&&*line) {
                    words.extend(["--project".into(), file.clone().into()]);
                }
                let read = Cli::try_parse_from(words);
                let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
                if let Command::Run(args) | Command::Preview(args) = read.command {
                    assert!(args.run(command).is_ok(), "{line}");
                }
            }
        }
    }

    #[test]
    fn help_ends_with_the_examples() {
        let mut program = Cli::command();
        program.build();
        for Examples { command, lines } in EXAMPLES {
            let command = program.find_subcommand_mut(command).unwrap();
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                // It is wrapped to the width of the terminal.
                let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(lines.iter().all(|(_, line)| help.contains(line)), "{help}");
            }
        }
    }
}
