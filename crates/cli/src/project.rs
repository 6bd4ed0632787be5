//! `vesica.toml`: the identity and the jobs of a project.
//!
//! A job is a table in which each flag of `run` has its key. The job becomes a command line, which is read like any other: so
//! there is one list of flags, and one judge of what they may be.

mod binding;
mod files;
mod line;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::{ArgAction, Command};
use toml::{Table, Value};

pub use self::{
    files::LEDGER,
    line::{CommandLine, names, only_given},
};

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
    text: String,
    table: Table,
    /// When the file had been written last before it was read.
    modified: Option<SystemTime>,
}

/// A job for the project file.
#[derive(Default)]
pub struct JobEntry {
    pub name: String,
    pub input: Option<PathBuf>,
    pub key: Vec<Vec<String>>,
    pub answer: Option<String>,
    pub output: Option<PathBuf>,
    /// Whether nobody named the output.
    pub output_is_default: bool,
    /// The delimiter of the input, where it was named.
    pub delimiter: Option<&'static str>,
    /// This side's name for the other party.
    pub partner: Option<String>,
    /// The hash of the agreement, if there is one yet.
    pub agreement_hash: Option<String>,
}

impl JobEntry {
    /// The file of the agreement.
    pub fn agreement(&self) -> String {
        format!("{}.agreement", self.name)
    }

    /// The file of each run's record.
    pub fn record(&self) -> String {
        format!("{}-{{time}}.record", self.name)
    }

    /// The job as it is in the file.
    pub fn table(&self) -> Table {
        let mut job = Table::new();
        let path = |path: &Path| Value::from(path.to_string_lossy().into_owned());
        job.insert("agreement".to_owned(), self.agreement().into());
        if let Some(hash) = &self.agreement_hash {
            job.insert(binding::KEY.to_owned(), hash.clone().into());
        }
        if let Some(partner) = &self.partner {
            job.insert("partner".to_owned(), partner.clone().into());
        }
        job.insert("record".to_owned(), self.record().into());
        if let Some(input) = &self.input {
            job.insert("input".to_owned(), path(input));
        }
        if let Some(delimiter) = self.delimiter {
            job.insert("delimiter".to_owned(), delimiter.into());
        }
        let key = match &self.key[..] {
            // A text is read like a flag, where such a name stands in quotes.
            [one] if one.len() == 1 && !is_quoted(&one[0]) => Value::from(one[0].clone()),
            [one] => Value::from(one.clone()),
            several => Value::from(several.to_vec()),
        };
        job.insert("key".to_owned(), key);
        if let Some(answer) = &self.answer {
            job.insert("answer".to_owned(), answer.clone().into());
        }
        if let Some(output) = &self.output {
            job.insert("output".to_owned(), path(output));
        }
        job
    }
}

/// When a file was written last, if it is there.
fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|found| found.modified()).ok()
}

impl Project {
    /// The project in this file, or in `vesica.toml`.
    pub fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let file = file.unwrap_or(Path::new(FILE)).to_owned();
        let modified = modified(&file);
        let text = fs::read_to_string(&file).map_err(|error| {
            let file = file.display();
            let what = format!("{file}: cannot be read: {error}; `vesica init` makes a project");
            Failure::input(what)
        })?;
        Ok(Self { modified, ..Self::read(file, text)? })
    }

    /// The project in a file with this text.
    pub fn read(file: PathBuf, text: String) -> Result<Self, Failure> {
        let table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start);
            let ends = text.bytes().take(before).filter(|byte| *byte == b'\n').count();
            let what = format!("{}: line {}: {}", file.display(), ends + 1, error.message());
            Failure::input(what)
        })?;
        let project = Self { file, text, table, modified: None };
        for (key, value) in &project.table {
            let (is_right, form) = match key.as_str() {
                "identity" => (value.is_str(), "the name of a file"),
                "name" => (value.is_str(), "this side's name for people"),
                "jobs" => {
                    let jobs = value.as_table();
                    let are_tables = jobs.is_some_and(|jobs| jobs.values().all(Value::is_table));
                    (are_tables, "a table for each job, such as [jobs.example]")
                }
                _ => {
                    let what = format!("there is no key `{key}`; there are identity, name, jobs");
                    return Err(project.failed(&what));
                }
            };
            if !is_right {
                return Err(project.failed(&format!("key `{key}`: it is {form}")));
            }
        }
        Ok(project)
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::input(format!("{}: {what}", self.file.display()))
    }

    /// A path of the project.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.file.with_file_name(name.as_ref())
    }

    /// The names of all jobs.
    pub fn jobs(&self) -> Vec<String> {
        self.job_table().map(|jobs| jobs.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether there is a job of this name.
    fn has_job(&self, name: &str) -> bool {
        self.job_table().is_some_and(|jobs| jobs.contains_key(name))
    }

    /// All jobs with their names.
    fn job_tables(&self) -> impl Iterator<Item = (&String, &Table)> {
        let jobs = self.job_table().into_iter().flatten();
        jobs.filter_map(|(name, job)| Some((name, job.as_table()?)))
    }

    /// All jobs by their names, if there is a table of them.
    fn job_table(&self) -> Option<&Table> {
        self.table.get("jobs").and_then(Value::as_table)
    }

    /// When what says which jobs can run was written last: the file that was read, and the agreements of its jobs, each of
    /// which is there only once both sides have agreed.
    pub fn written(&self) -> Vec<Option<SystemTime>> {
        let agreements = self.job_tables().filter_map(|(_, job)| job.get("agreement")?.as_str());
        let agreements = agreements.map(|agreement| modified(&self.path(agreement)));
        std::iter::once(self.modified).chain(agreements).collect()
    }

    /// The file of the identity.
    pub fn identity(&self) -> PathBuf {
        let named = self.table.get("identity").and_then(Value::as_str);
        self.path(named.unwrap_or(IDENTITY))
    }

    /// This side's name for people, if it has one.
    pub fn own_name(&self) -> Option<&str> {
        self.table.get("name").and_then(Value::as_str)
    }

    /// A job.
    pub fn job(&self, name: &str) -> Result<&Table, Failure> {
        let job = self.job_table().and_then(|jobs| jobs.get(name)).and_then(Value::as_table);
        job.ok_or_else(|| {
            let names = self.jobs();
            self.failed(&match names.is_empty() {
                true => format!("there is no job `{name}`, nor any other"),
                false => format!("there is no job `{name}`; there are {}", names.join(", ")),
            })
        })
    }

    /// Adds a job at the end of the file.
    pub fn add(&self, entry: &JobEntry) -> Result<(), Failure> {
        self.add_job(&entry.name, &entry.table())
    }

    /// As [`Project::add`], for a job as it is in the file.
    pub fn add_job(&self, name: &str, job: &Table) -> Result<(), Failure> {
        // It may have changed while the user was asked.
        let now = Self::open(Some(&self.file))?;
        document::put(&self.file, &now.with(name, job)?)
    }

    /// A job like this one, with an agreement of this name and files of its own.
    pub fn renewed(&self, job: &str, name: &str) -> Result<Table, Failure> {
        let mut new = self.job(job)?.clone();
        let entry = JobEntry { name: name.to_owned(), ..JobEntry::default() };
        new.remove(binding::KEY);
        new.insert("agreement".to_owned(), entry.agreement().into());
        new.insert("record".to_owned(), entry.record().into());
        for key in ["output", "report", "resume"] {
            let old = new.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(old) = old.filter(|old| is_file(old) && !crate::stamp::is_pattern(old)) {
                let extension = Path::new(&old).extension().and_then(|end| end.to_str());
                let file = format!("{name}.{}", extension.unwrap_or(key));
                let beside = Path::new(&old).with_file_name(file);
                new.insert(key.to_owned(), beside.to_string_lossy().into_owned().into());
            }
        }
        Ok(new)
    }

    /// The text with another job at its end.
    pub fn with(&self, name: &str, job: &Table) -> Result<String, Failure> {
        if self.has_job(name) {
            let what = format!("has a job `{name}` already; remove it, or choose another name");
            return Err(self.failed(&what));
        }
        let job = toml::to_string(job).map_err(|_| Failure::bug("a job has TOML"))?;
        let text = format!("{}\n\n[jobs.{name}]\n{job}", self.text.trim_end());
        match text.parse::<Table>() {
            Ok(_) => Ok(text),
            Err(_) => Err(self.failed(&format!(
                "no job can be added at the end: write each as a table, such as [jobs.{name}]"
            ))),
        }
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
pub fn is_file(place: &str) -> bool {
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
        Some(if is_quoted(&name) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name })
    };
    Some(values.iter().map(name).collect::<Option<Vec<_>>>()?.join(","))
}

/// Whether a name stands in quotes on the command line.
fn is_quoted(name: &str) -> bool {
    name.contains([',', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str) -> Result<Project, String> {
        Project::read(FILE.into(), text.to_owned()).map_err(|failure| failure.message)
    }

    fn refused(text: &str) -> String {
        project(text).err().unwrap()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, said) in [
            ("identity = \"a\"\n\nkey = 1.2.3\n", "vesica.toml: line 3: "),
            ("identity =\n", "vesica.toml: line 1: "),
            (
                "identities = 1",
                "vesica.toml: there is no key `identities`; there are identity, name, jobs",
            ),
            ("identity = 5", "vesica.toml: key `identity`: it is the name of a file"),
            ("jobs = 5", "key `jobs`: it is a table for each job, such as [jobs.example]"),
            ("[[jobs]]", "key `jobs`: it is a table for each job"),
            ("jobs.a = 5", "key `jobs`: it is a table for each job"),
        ] {
            assert!(refused(text).contains(said), "{text}: {}", refused(text));
        }
        assert!(project(TEMPLATE).is_ok() && project("").is_ok());
    }

    #[test]
    fn a_job_is_added_or_nothing_is() {
        let message = |failure: Failure| failure.message;
        let job = Table::new();
        let text = project("jobs.a.key = \"k\"\n").unwrap().with("b", &job).map_err(message);
        assert_eq!(text.unwrap(), "jobs.a.key = \"k\"\n\n[jobs.b]\n");
        // A table in a line is complete.
        let closed = project("jobs = { a = { key = \"k\" } }").unwrap();
        let said = message(closed.with("b", &job).unwrap_err());
        assert!(said.contains("write each as a table, such as [jobs.b]"), "{said}");
        assert!(message(closed.with("a", &job).unwrap_err()).contains("has a job `a` already"));
    }

    #[test]
    fn names_of_a_job_that_is_added_stay_whole() {
        let key = |key: &[&[&str]]| {
            let key = key.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            let key = key.collect();
            let name = "a".to_owned();
            let entry = JobEntry { name, key, ..JobEntry::default() };
            entry.table()["key"].to_string()
        };
        assert_eq!(key(&[&["email"]]), "\"email\"");
        assert_eq!(key(&[&["last, first"]]), "[\"last, first\"]");
        assert_eq!(key(&[&["a", "b"]]), "[\"a\", \"b\"]");
        assert_eq!(key(&[&["a,b"], &["c", "d"]]), "[[\"a,b\"], [\"c\", \"d\"]]");
    }
}
