//! Command lines that name a job, and what is wrong with them in words of the project file.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{
    ArgMatches, Command,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};

use super::{FILE, Project};
use crate::exit::Failure;

/// The commands that take the flags of a run, and so a job.
const WITH_JOBS: [&str; 2] = ["run", "preview"];

/// A command line, with the flags of the job that it names.
pub struct CommandLine {
    /// The program's name, its flags, and those of the job.
    pub arguments: Vec<OsString>,
    job: Option<Origin>,
}

/// A job whose keys became flags.
pub struct Origin {
    file: PathBuf,
    job: String,
    /// The keys of the job whose flags are not on the command line.
    keys: Vec<String>,
    /// The flags of the command line.
    given: Vec<String>,
}

impl CommandLine {
    /// Puts the flags of the job that is named, if one is, into the command line of a program with these commands.
    ///
    /// # Errors
    /// A project file that cannot be read or has no such job, and a run without a job where a project has some.
    pub fn new(arguments: Vec<OsString>, commands: &Command) -> Result<Self, Failure> {
        let alone = |arguments| Ok(Self { arguments, job: None });
        // What is required may come from the job; what cannot be read is complained of later, with all flags in place.
        let relaxed = WITH_JOBS.into_iter().fold(commands.clone(), |commands, name| {
            commands.mut_subcommand(name, |command| command.mut_args(|arg| arg.required(false)))
        });
        let Ok(matches) = relaxed.try_get_matches_from(&arguments) else {
            return alone(arguments);
        };
        let named = matches.subcommand().filter(|(name, _)| WITH_JOBS.contains(name));
        let Some((command, given)) = named else { return alone(arguments) };
        let Some(name) = given.get_one::<String>("job") else {
            return match says_nothing(given) && Path::new(FILE).exists() {
                true => Err(Project::open(None)?.without_job(command)),
                false => alone(arguments),
            };
        };
        let project = Project::open(given.get_one::<PathBuf>("project").map(PathBuf::as_path))?;
        let mut commands = commands.clone();
        commands.build();
        let run = commands.find_subcommand(command).ok_or(Failure::bug("the command is there"))?;
        let (flags, origin) = project.flags_of(name, run, names(given, run))?;
        Ok(Self { arguments: [arguments, flags].concat(), job: Some(origin) })
    }

    /// What is wrong with the job that is named; `None` if that is for the command line alone to say.
    pub fn fault(&self, error: &clap::Error) -> Option<Failure> {
        let job = self.job.as_ref().filter(|job| error.use_stderr() && job.has_part_in(error));
        Some(job?.fault(error))
    }
}

/// The error, in which a flag conflicts only with flags that are on this command line.
///
/// A flag that excludes a group of others is otherwise said to exclude each of them.
pub fn only_given(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::Strings(others)) = error.get(ContextKind::PriorArg) else {
        return error;
    };
    let is_given = |flag: &&String| {
        let name = flag.split([' ', '=']).next().unwrap_or_default();
        let is_it = |word: &OsString| word.to_string_lossy().split('=').next() == Some(name);
        arguments.iter().any(is_it)
    };
    let mut given: Vec<_> = others.iter().filter(is_given).cloned().collect();
    let given = match given.len() {
        0 => return error,
        1 => ContextValue::String(given.remove(0)),
        _ => ContextValue::Strings(given),
    };
    error.insert(ContextKind::PriorArg, given);
    error
}

impl Project {
    /// The job as flags, without those that are `given` already, and where they come from.
    ///
    /// # Errors
    /// A job that there is not, or whose keys are no flags.
    pub fn flags_of(
        &self,
        name: &str,
        run: &Command,
        given: Vec<String>,
    ) -> Result<(Vec<OsString>, Origin), Failure> {
        let flags = self.flags(name, run, &given)?;
        let key = |flag: &OsString| {
            let flag = flag.to_string_lossy();
            flag.trim_start_matches("--").split('=').next().unwrap_or_default().to_owned()
        };
        let keys = flags.iter().map(key).collect();
        let (file, job) = (self.file.clone(), name.to_owned());
        Ok((flags, Origin { file, job, keys, given }))
    }

    /// Refuses a command that names neither a job nor files.
    fn without_job(&self, command: &str) -> Failure {
        let (file, jobs) = (self.file.display(), self.jobs());
        Failure::usage(match jobs.first() {
            Some(first) => {
                let all = jobs.join(", ");
                format!("name a job, as in `vesica {command} {first}`; the jobs of {file}: {all}")
            }
            None => format!(
                "{file} has no job yet: `vesica invite` and `vesica accept` add jobs. Without a job, `vesica {command}` \
                 takes --identity, --input and --key"
            ),
        })
    }
}

impl Origin {
    /// Whether the error is about a key of the job, or about something that it lacks.
    fn has_part_in(&self, error: &clap::Error) -> bool {
        let all =
            [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| named(error.get(kind)));
        error.kind() == ErrorKind::MissingRequiredArgument
            || all.iter().flatten().any(|name| self.keys.contains(name))
    }

    /// Says what is wrong in words of the project file.
    pub fn fault(&self, error: &clap::Error) -> Failure {
        let Self { file, job, keys, given } = self;
        let about = named(error.get(ContextKind::InvalidArg));
        let is_key = |name: &String| keys.contains(name);
        let place = format!("{}: job `{job}`", file.display());
        let what = match error.kind() {
            ErrorKind::MissingRequiredArgument => {
                let lacks: Vec<_> = about.iter().map(|name| format!("`{name}`")).collect();
                format!("{place} has no {}", lacks.join(", "))
            }
            ErrorKind::ArgumentConflict => {
                let others = named(error.get(ContextKind::PriorArg));
                let both =
                    about.iter().chain(&others).filter(|name| is_key(name) || given.contains(name));
                let both: Vec<_> =
                    both.map(|name| {
                        if is_key(name) { format!("key `{name}`") } else { format!("--{name}") }
                    })
                    .collect();
                let settles = about.iter().chain(&others).any(|name| name == "agreement");
                let why = if settles { "; the agreement settles the terms" } else { "" };
                format!("{place}: {} exclude each other{why}", both.join(" and "))
            }
            _ => {
                let message = error.to_string();
                let lines = message.lines().take_while(|line| !line.is_empty()).map(str::trim);
                let what = lines.collect::<Vec<_>>().join(" ");
                let what = what.trim_start_matches("error: ");
                match about.iter().find(|name| is_key(name)) {
                    Some(key) => format!("{place}, key `{key}`: {what}"),
                    None => format!("{place}: {what}"),
                }
            }
        };
        Failure::usage(what)
    }
}

/// The names of flags in a context, which has them as in `--input <FILE>`.
fn named(context: Option<&ContextValue>) -> Vec<String> {
    let flags = match context {
        Some(ContextValue::String(flag)) => std::slice::from_ref(flag),
        Some(ContextValue::Strings(flags)) => flags,
        _ => &[],
    };
    let name = |flag: &String| {
        let long = flag.split([' ', '=']).find_map(|word| word.strip_prefix("--"));
        long.map(str::to_owned)
    };
    flags.iter().filter_map(name).collect()
}

/// Whether a run names neither a file of its own nor who it is.
fn says_nothing(given: &ArgMatches) -> bool {
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    !["identity", "input", "key"].into_iter().any(is_given)
}

/// The flags that were given on the command line.
pub fn names(given: &ArgMatches, run: &Command) -> Vec<String> {
    let is_given = |arg: &&clap::Arg| {
        given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let given = run.get_arguments().filter(is_given);
    given.filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::Cli;

    /// What is said of the job `cnt` with these keys and of these flags.
    fn said(keys: &str, flags: &[&str]) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("vesica.toml");
        std::fs::write(&file, format!("[jobs.cnt]\n{keys}")).unwrap();
        let line = ["vesica", "run", "cnt", "--project"].map(OsString::from);
        let flags = flags.iter().map(OsString::from);
        let line = line.into_iter().chain([file.clone().into()]).chain(flags).collect();
        let line = match CommandLine::new(line, &Cli::command()) {
            Ok(line) => line,
            Err(failure) => return failure.message,
        };
        let error = Cli::try_parse_from(line.arguments.clone()).map(|_| ()).unwrap_err();
        let failure = line.fault(&error).unwrap_or_else(|| panic!("{keys}: {error}"));
        assert_eq!(failure.code, crate::exit::USAGE);
        failure.message.replace(&format!("{}: ", file.display()), "")
    }

    #[test]
    fn a_flag_excludes_those_that_are_given() {
        for (flags, expected) in [
            (
                "--learns=both",
                "the argument '--agreement <FILE>' cannot be used with '--learns <LEARNS>'\n",
            ),
            (
                "--align --scale 2",
                "the argument '--agreement <FILE>' cannot be used with:\n  --align\n  --scale <PLACES>\n\n",
            ),
        ] {
            let line = format!("vesica run --identity a --input b --key c --agreement d {flags}");
            let line: Vec<_> = line.split(' ').map(OsString::from).collect();
            let error = Cli::try_parse_from(&line).map(|_| ()).unwrap_err();
            let said = only_given(error, &line).to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_job_is_said_in_words_of_its_file() {
        let agreed = "agreement = \"cnt.agreement\"\ninput = \"in.csv\"\nkey = \"k\"\n";
        for (keys, flags, expected) in [
            (
                agreed,
                &["--learns", "both"][..],
                "job `cnt`: key `agreement` and --learns exclude each other; the agreement settles the terms",
            ),
            (
                "learns = \"me\"\n",
                &[],
                "job `cnt`: key `agreement` and key `learns` exclude each other; the agreement settles the terms",
            ),
            (
                "memory = 100\n",
                &[],
                "job `cnt`, key `memory`: invalid value '100' for '--memory <SIZE>': an amount with its unit: 2G, \
                 1.5G or 512M",
            ),
            (
                "join = \"outer\"\n",
                &[],
                "job `cnt`, key `join`: invalid value 'outer' for '--join <JOIN>' [possible values: inner, left]",
            ),
            (
                "listen = \"a:1\"\nconnect = \"b:1\"\n",
                &[],
                "job `cnt`: key `connect` and key `listen` exclude each other",
            ),
        ] {
            let keys = if keys == agreed { agreed.to_owned() } else { format!("{agreed}{keys}") };
            assert_eq!(said(&keys, flags), expected);
        }
        assert_eq!(said("key = \"k\"\n", &[]), "job `cnt` has no `input`");
    }
}
