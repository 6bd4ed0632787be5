//! `vesica.toml`: the identity and the jobs of a project.
//!
//! A job is a table in which each flag of `run` has its key. The job becomes a command line, which is read like any other: so
//! there is one list of flags, and one judge of what they may be.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::{ArgAction, ArgMatches, Command, parser::ValueSource};
use toml::{Table, Value};

use crate::{document, exit::Failure};

/// The name of the file.
pub const FILE: &str = "vesica.toml";

/// The name of the identity's file where the project names none.
pub const IDENTITY: &str = "vesica.identity";

/// What a new project file holds.
pub const TEMPLATE: &str = include_str!("vesica.toml");

/// Flags whose values are paths, which are relative to the project file.
const PATHS: [&str; 11] = [
    "identity",
    "agreement",
    "ledger",
    "record",
    "input",
    "output",
    "report",
    "resume",
    "spill",
    "query-file",
    "exchange-dir",
];

/// Flags that say how to reach the other side: one of them is enough.
const WAYS: [&str; 4] = ["listen", "connect", "relay", "exchange-dir"];

/// A project file that was read.
pub struct Project {
    file: PathBuf,
    table: Table,
}

/// A job for the project file.
pub struct JobEntry {
    pub name: String,
    pub input: Option<PathBuf>,
    pub key: Vec<Vec<String>>,
    pub answer: Option<String>,
    pub output: Option<PathBuf>,
}

impl Project {
    /// The project in this file, or in `vesica.toml`.
    pub fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let file = file.unwrap_or(Path::new(FILE)).to_owned();
        let failed = |what: String| Failure::input(format!("{}: {what}", file.display()));
        let text = fs::read_to_string(&file).map_err(|error| {
            failed(format!("cannot be read: {error}; `vesica init` makes a project"))
        })?;
        let table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            failed(format!("line {line}: {}", error.message()))
        })?;
        let project = Self { file, table };
        let known = ["identity", "jobs"];
        match project.table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(project),
            Some(key) => {
                Err(project
                    .failed(&format!("there is no key `{key}`; there are {}", known.join(", "))))
            }
        }
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::input(format!("{}: {what}", self.file.display()))
    }

    /// A path of the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.file.with_file_name(name)
    }

    /// The names of all jobs.
    pub fn jobs(&self) -> Vec<String> {
        let jobs = self.table.get("jobs").and_then(Value::as_table);
        jobs.map(|jobs| jobs.keys().cloned().collect()).unwrap_or_default()
    }

    /// When the file was written last.
    pub fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.file).and_then(|found| found.modified()).ok()
    }

    /// The file of the identity.
    pub fn identity(&self) -> PathBuf {
        let named = self.table.get("identity").and_then(Value::as_str);
        self.path(named.unwrap_or(IDENTITY))
    }

    fn job(&self, name: &str) -> Result<&Table, Failure> {
        let jobs = self.table.get("jobs").and_then(Value::as_table);
        let job = jobs.and_then(|jobs| jobs.get(name)).and_then(Value::as_table);
        job.ok_or_else(|| {
            let names =
                jobs.map(|jobs| jobs.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
            self.failed(&match names.is_empty() {
                true => format!("there is no job `{name}`, nor any other"),
                false => format!("there is no job `{name}`; there are {}", names.join(", ")),
            })
        })
    }

    /// Refuses a job that there is already.
    pub fn check_new(&self, name: &str) -> Result<(), Failure> {
        let jobs = self.table.get("jobs").and_then(Value::as_table);
        match jobs.is_some_and(|jobs| jobs.contains_key(name)) {
            false => Ok(()),
            true => Err(self
                .failed(&format!("has a job `{name}` already; remove it, or choose another name"))),
        }
    }

    /// Adds a job at the end of the file.
    pub fn add(&self, entry: &JobEntry) -> Result<(), Failure> {
        let mut job = Table::new();
        let path = |path: &Path| Value::from(path.to_string_lossy().into_owned());
        job.insert("agreement".to_owned(), format!("{}.agreement", entry.name).into());
        job.insert("record".to_owned(), format!("{}.record", entry.name).into());
        if let Some(input) = &entry.input {
            job.insert("input".to_owned(), path(input));
        }
        let key = match &entry.key[..] {
            [one] if one.len() == 1 => Value::from(one[0].clone()),
            [one] => Value::from(one.clone()),
            several => Value::from(several.to_vec()),
        };
        job.insert("key".to_owned(), key);
        if let Some(answer) = &entry.answer {
            job.insert("answer".to_owned(), answer.clone().into());
        }
        if let Some(output) = &entry.output {
            job.insert("output".to_owned(), path(output));
        }
        let job = toml::to_string(&job).map_err(|_| Failure::bug("a job has TOML"))?;
        let text = fs::read_to_string(&self.file).map_err(|e| self.failed(&e.to_string()))?;
        let text = format!("{}\n\n[jobs.{}]\n{job}", text.trim_end(), entry.name);
        document::put(&self.file, &text)
    }

    /// The job as flags, without those that are `given` already.
    pub fn flags(
        &self,
        name: &str,
        run: &Command,
        given: &[String],
    ) -> Result<Vec<OsString>, Failure> {
        let mut flags = Vec::new();
        let mut job = self.job(name)?.clone();
        if let (Some(identity), false) = (self.table.get("identity"), job.contains_key("identity"))
        {
            job.insert("identity".to_owned(), identity.clone());
        }
        if !job.contains_key("identity") {
            job.insert("identity".to_owned(), IDENTITY.into());
        }
        for (key, value) in &job {
            let fault = |what: &str| self.failed(&format!("job `{name}`, key `{key}`: {what}"));
            let known = |arg: &&clap::Arg| arg.get_long() == Some(key) && key != "project";
            let arg = run.get_arguments().find(known).ok_or_else(|| {
                fault("there is no such flag of `vesica run`; its help lists them all")
            })?;
            let takes_way = WAYS.contains(&key.as_str());
            if given.iter().any(|id| id == key || takes_way && WAYS.contains(&id.as_str())) {
                continue;
            }
            let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
            let values = match value {
                Value::Boolean(set) if is_switch => {
                    flags.extend(set.then(|| OsString::from(format!("--{key}"))));
                    continue;
                }
                _ if is_switch => return Err(fault("it is true or false")),
                Value::Array(values) if values.iter().all(Value::is_array) => values
                    .iter()
                    .map(|value| value.as_array().map_or(&[][..], Vec::as_slice))
                    .map(list)
                    .collect::<Option<Vec<_>>>(),
                Value::Array(values) => list(values).map(|list| vec![list]),
                value => scalar(value).map(|value| vec![value]),
            };
            let values =
                values.ok_or_else(|| fault("it is a text, a number, or a list of these"))?;
            for value in values {
                let is_path = PATHS.contains(&key.as_str()) && is_file(&value);
                let value = if is_path { self.path(&value).into_os_string() } else { value.into() };
                let mut flag = OsString::from(format!("--{key}="));
                flag.push(value);
                flags.push(flag);
            }
        }
        Ok(flags)
    }
}

/// Whether a place is a file, and not a stream, an object or a database.
fn is_file(place: &str) -> bool {
    place != "-" && !place.contains("://") && !place.starts_with("adbc:")
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Datetime(date) => Some(date.to_string()),
        Value::Boolean(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// Names as the command line takes them: with commas between them, and quotes around one that holds a comma.
fn list(values: &[Value]) -> Option<String> {
    let name = |value: &Value| {
        let name = scalar(value)?;
        let quoted = name.contains([',', '"']);
        Some(if quoted { format!("\"{}\"", name.replace('"', "\"\"")) } else { name })
    };
    Some(values.iter().map(name).collect::<Option<Vec<_>>>()?.join(","))
}

/// Puts the flags of the job that is named, if one is, into the command line of a program with these commands.
pub fn expand(arguments: Vec<OsString>, commands: &Command) -> Result<Vec<OsString>, Failure> {
    // What is required may come from the job; what cannot be read is complained of later, with all flags in place.
    let relaxed =
        commands.clone().mut_subcommand("run", |run| run.mut_args(|arg| arg.required(false)));
    let Ok(matches) = relaxed.try_get_matches_from(&arguments) else { return Ok(arguments) };
    let Some(("run", given)) = matches.subcommand() else { return Ok(arguments) };
    let Some(name) = given.get_one::<String>("job") else { return Ok(arguments) };
    let project = Project::open(given.get_one::<PathBuf>("project").map(PathBuf::as_path))?;
    let mut commands = commands.clone();
    commands.build();
    let run = commands.find_subcommand("run").ok_or(Failure::bug("there is a command `run`"))?;
    let flags = project.flags(name, run, &names(given, run))?;
    Ok([arguments, flags].concat())
}

/// The flags that were given on the command line.
fn names(given: &ArgMatches, run: &Command) -> Vec<String> {
    let is_given = |arg: &&clap::Arg| {
        given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let given = run.get_arguments().filter(is_given);
    given.filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}
