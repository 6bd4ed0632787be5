//! Help texts: groups of commands, short and long lists of options, and examples.

mod commands;

use std::fmt::Write as _;

use clap::Command;

use self::commands::{CommandHelp, GROUPS};
use crate::exit;

/// Commands that the short help of the program leaves out.
const LONG_ONLY: [&str; 4] = ["calibrate", "completions", "gather", "man"];

/// Commands whose long help ends with the exit codes.
const WITH_CODES: [&str; 2] = ["run", "gateway"];

/// The help of the program: commands stand in groups, below the usage.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}";

/// Returns the groups, each with the names of its commands.
pub fn groups() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    GROUPS.iter().map(|group| {
        let names = group.commands.iter().map(|help| help.command);
        (group.name, names.filter(|name| !name.contains(' ')).collect())
    })
}

/// Returns the forms of a command, one a line.
pub fn usage(command: &str) -> Option<String> {
    let help = find(command)?;
    (!help.usage.is_empty()).then(|| help.usage.join("\n       "))
}

fn find(command: &str) -> Option<&'static CommandHelp> {
    GROUPS.iter().flat_map(|group| group.commands).find(|help| help.command == command)
}

/// Completes the help of the program and of its commands.
pub fn complete(program: Command) -> Command {
    let names: Vec<_> = program.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let program = names.into_iter().fold(program, |program, name| {
        program.mut_subcommand(&name, |command| complete_command(command, &name))
    });
    let (short, long) = (list(&program, false), list(&program, true));
    let style = program.get_styles().get_header();
    let short = format!(
        "{short}\n`vesica COMMAND -h` shows the options of a command, and --help explains all of them."
    );
    let long = format!(
        "{long}\n{style}Options:{style:#}\n  -h, --help     Print help\n  -V, --version  Print the version\n\n{}",
        exit::CODES
    );
    program.help_template(TEMPLATE).after_help(short).after_long_help(long)
}

/// Lists the commands in their groups.
fn list(program: &Command, long: bool) -> String {
    let style = program.get_styles().get_header();
    let literal = program.get_styles().get_literal();
    let mut text = String::new();
    for (group, names) in groups() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{style}{group}:{style:#}");
        for name in names.into_iter().filter(|name| long || !LONG_ONLY.contains(name)) {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<13}{literal:#} {about}");
        }
        text.push('\n');
    }
    text.truncate(text.len() - 1);
    text
}

/// Completes the help of the command with these words, and of the commands below it.
fn complete_command(command: Command, words: &str) -> Command {
    let below: Vec<_> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let command = below.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}");
        command.mut_subcommand(&name, |command| complete_command(command, &words))
    });
    let Some(help) = find(words) else { return command };
    let command = match usage(words) {
        Some(usage) => command.override_usage(usage),
        None => command,
    };
    let all = command.get_arguments().filter(|arg| arg.get_long().is_some()).count();
    let command = match help.short {
        [] => command,
        shown => command.mut_args(|arg| {
            let is_hidden = !shown.contains(&arg.get_id().as_str());
            arg.hide_short_help(is_hidden)
        }),
    };
    let lines = help.examples.iter().take(2).map(|(_, line)| format!("  {line}\n"));
    let mut short = format!("Examples:\n{}", lines.collect::<String>());
    if !help.short.is_empty() {
        let _ = write!(short, "`vesica {words} --help` explains all {all} options.");
    }
    let lines = help.examples.iter().map(|(does, line)| format!("  {does}:\n    {line}\n"));
    let mut long = format!("Examples:\n{}", lines.collect::<String>());
    if WITH_CODES.contains(&words) {
        let _ = write!(long, "\n{}", exit::CODES);
    }
    command.after_help(short.trim_end().to_owned()).after_long_help(long.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, fs};

    use clap::Arg;
    use vesica::spec::{Limits, Options as _};

    use super::*;
    use crate::{Command as Parsed, parse, program};

    const FINGERPRINT: &str = "vesica1-cb6k-2h9h-zv5y-vbs9-x9hk-7s17-nebt-btgk-93tr";

    /// The lines that fit a screen.
    const SCREEN: usize = 40;

    fn built() -> Command {
        let mut program = program();
        program.build();
        program
    }

    /// Calls this for each visible command, with its words.
    fn walk(command: &Command, words: &str, see: &mut dyn FnMut(&str, &Command)) {
        let below = command.get_subcommands();
        for command in below.filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let words = format!("{words} {}", command.get_name());
            let words = words.trim_start();
            see(words, command);
            walk(command, words, see);
        }
    }

    #[test]
    fn every_short_help_fits_a_screen() {
        let mut long = String::new();
        let mut check = |words: &str, command: &Command| {
            let help = command.clone().render_help().to_string();
            let lines = help.lines().count();
            if lines > SCREEN {
                let _ = writeln!(long, "{words} -h has {lines} lines:\n{help}");
            }
        };
        check("", &built());
        walk(&built(), "", &mut check);
        assert!(long.is_empty(), "{long}");
    }

    #[test]
    fn large_commands_fill_most_of_a_screen() {
        for words in ["", "run"] {
            let mut program = built();
            let mut named = words.split_whitespace();
            let command = named.try_fold(&mut program, |c, word| c.find_subcommand_mut(word));
            let lines = command.unwrap().render_help().to_string().lines().count();
            assert!((24..=SCREEN).contains(&lines), "{words}: {lines}");
        }
    }

    #[test]
    fn options_have_a_short_text_in_one_line() {
        walk(&built(), "", &mut |words, command| {
            let own = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
            for arg in command.get_arguments().filter(own) {
                let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let name = arg.get_id();
                assert!((4..=72).contains(&short.chars().count()), "{words} {name}: {short}");
                assert!(!short.ends_with('.') && !short.contains(". "), "{words} {name}: {short}");
                let long = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
                assert!(long.is_empty() || long.starts_with(&short), "{words} {name}: {long}");
            }
        });
    }

    #[test]
    fn long_help_has_every_option_and_its_whole_text() {
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        walk(&built(), "", &mut |words, command| {
            let help = plain(&command.clone().render_long_help().to_string());
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let name = arg.get_id();
                let text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
                assert!(help.contains(&plain(&text.unwrap_or_default())), "{words} {name}");
            }
        });
    }

    #[test]
    fn each_command_is_in_one_group_and_has_examples() {
        let known: Vec<_> =
            GROUPS.iter().flat_map(|group| group.commands).map(|help| help.command).collect();
        let mut top = 0;
        walk(&built(), "", &mut |words, _| {
            let is_top = !words.contains(' ');
            top += usize::from(is_top);
            let count = known.iter().filter(|known| **known == words).count();
            assert!(count == 1 || !is_top && count == 0, "{words}");
        });
        assert_eq!(known.iter().filter(|known| !known.contains(' ')).count(), top);
    }

    #[test]
    fn options_of_short_help_exist() {
        walk(&built(), "", &mut |words, command| {
            let options: Vec<_> = command.get_arguments().map(Arg::get_id).collect();
            for name in find(words).map_or(&[][..], |help| help.short) {
                assert!(options.iter().any(|known| known == name), "{words} {name}");
            }
        });
    }

    #[test]
    fn every_example_is_a_command_line_of_the_program() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("vesica.toml");
        let job = "[jobs.acme]\nagreement = \"acme.agreement\"\ninput = \"customers.csv\"\nkey = \"email\"\n";
        fs::write(&file, job).unwrap();
        for CommandHelp { command, examples, .. } in GROUPS.iter().flat_map(|group| group.commands)
        {
            assert!((2..=3).contains(&examples.len()), "{command}");
            for (_, line) in *examples {
                let line = line.replace("FINGERPRINT", FINGERPRINT);
                assert!(line.starts_with(&format!("vesica {command}")), "{line}");
                let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                if ["vesica run acme", "vesica preview acme", "vesica preview acme --dpia"]
                    .contains(&&*line)
                {
                    words.extend(["--project".into(), file.clone().into()]);
                }
                let read = parse(words).unwrap_or_else(|error| panic!("{line}: {error}"));
                match read {
                    Parsed::Run(args) => assert!(args.run(command).is_ok(), "{line}"),
                    Parsed::Preview(args) => assert!(args.run.run(command).is_ok(), "{line}"),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn help_ends_with_the_examples() {
        let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        walk(&built(), "", &mut |words, command| {
            let mut command = command.clone();
            let (short, long) = (command.render_help(), command.render_long_help());
            let (short, long) = (plain(short.to_string()), plain(long.to_string()));
            let examples = find(words).map_or(&[][..], |help| help.examples);
            assert!(examples.iter().take(2).all(|(_, line)| short.contains(line)), "{short}");
            assert!(examples.iter().all(|(_, line)| long.contains(line)), "{long}");
        });
    }

    #[test]
    fn policy_heading_has_the_limits_and_nothing_else() {
        const WITH_LIMITS: [&str; 5] = ["run", "preview", "gateway", "invite", "agreement renew"];
        let limits: Vec<_> = Limits::described().iter().map(|known| known.name).collect();
        walk(&built(), "", &mut |words, command| {
            let below = |heading: Option<&str>| -> Vec<_> {
                let options = command.get_arguments().filter(|arg| arg.get_long().is_some());
                let options = options.filter(|arg| arg.get_help_heading() == heading);
                options.map(|arg| arg.get_id().as_str()).filter(|id| *id != "help").collect()
            };
            let expected = if WITH_LIMITS.contains(&words) { &limits[..] } else { &[] };
            assert_eq!(below(Some("Policy")), expected, "{words}");
            if WITH_LIMITS[..4].contains(&words) {
                assert_eq!(below(None), [""; 0], "{words}: options without a heading");
            }
        });
    }
}
