//! `vesica.toml`: the identity and the jobs of a project.
//!
//! `vesica::spec` defines its content. This module finds, reads and changes the file, and words its faults.

mod binding;
mod files;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use toml::{Table, Value};
use vesica::spec::{self, Fault, Given, Job, Options as _, Stamp, is_file};

use crate::{document, exit::Failure};

/// The name of the file.
pub const FILE: &str = "vesica.toml";

/// The content of a new project file.
pub const TEMPLATE: &str = include_str!("vesica.toml");

/// A project file that was read.
pub struct Project {
    file: PathBuf,
    text: String,
    table: Table,
    spec: spec::Project,
    /// The time of the last change before the file was read.
    modified: Option<SystemTime>,
}

/// A job for the project file.
#[derive(Default)]
pub struct JobEntry {
    pub name: String,
    pub input: Option<PathBuf>,
    pub key: Vec<Vec<String>>,
    /// The fields in place of key columns, if rules make the keys.
    pub field: Vec<spec::FieldColumn>,
    pub answer: Option<String>,
    pub output: Option<PathBuf>,
    /// Whether the output has its default name.
    pub output_is_default: bool,
    /// The delimiter of the input, if it was named.
    pub delimiter: Option<&'static str>,
    /// This side's name for the other party.
    pub partner: Option<String>,
    /// The hash of the agreement, if there is one yet.
    pub agreement_hash: Option<String>,
}

impl JobEntry {
    /// Returns the file of the agreement.
    pub fn agreement(&self) -> String {
        format!("{}.agreement", self.name)
    }

    /// Returns the file of each run's record.
    pub fn record(&self) -> String {
        format!("{}-{{time}}.record", self.name)
    }

    /// Returns the job as it is in the file.
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
        match self.field.is_empty() {
            true => drop(job.insert("key".to_owned(), key)),
            // The agreement has the rules and the profiles.
            false => {
                let fields: Vec<_> = self.field.iter().map(ToString::to_string).collect();
                job.insert("field".to_owned(), fields.into());
            }
        }
        if let Some(answer) = &self.answer {
            job.insert("answer".to_owned(), answer.clone().into());
        }
        if let Some(output) = &self.output {
            job.insert("output".to_owned(), path(output));
        }
        job
    }
}

/// Returns the time of a file's last change, if the file exists.
fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|found| found.modified()).ok()
}

impl Project {
    /// Opens the project in this file, or in `vesica.toml`.
    pub fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let file = file.unwrap_or(Path::new(FILE)).to_owned();
        let modified = modified(&file);
        let text = fs::read_to_string(&file).map_err(|error| {
            let file = file.display();
            let what = format!("{file}: cannot be read: {error}; `vesica init` creates a project");
            Failure::input(what)
        })?;
        Ok(Self { modified, ..Self::read(file, text)? })
    }

    /// Reads the project in a file with this text.
    pub fn read(file: PathBuf, text: String) -> Result<Self, Failure> {
        let table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start);
            let ends = text.bytes().take(before).filter(|byte| *byte == b'\n').count();
            let what = format!("{}: line {}: {}", file.display(), ends + 1, error.message());
            Failure::input(what)
        })?;
        let failed = |what: &str| Failure::input(format!("{}: {what}", file.display()));
        let given = Given { table: object(&table), ..Given::default() };
        let spec = spec::Project::of(given).map_err(|fault| match fault {
            Fault::Unknown { option } => {
                let known =
                    spec::Project::described().iter().map(|known| known.name).collect::<Vec<_>>();
                failed(&format!("unknown key `{option}`; the keys are {}", known.join(", ")))
            }
            fault => failed(&fault.words(|option| format!("key `{option}`"))),
        })?;
        Ok(Self { file, text, table, spec, modified: None })
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::input(format!("{}: {what}", self.file.display()))
    }

    /// Returns a path of the project.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.file.with_file_name(name.as_ref())
    }

    /// Returns the names of all jobs.
    pub fn jobs(&self) -> Vec<String> {
        self.job_table().map(|jobs| jobs.keys().cloned().collect()).unwrap_or_default()
    }

    /// Returns whether a job has this name.
    fn has_job(&self, name: &str) -> bool {
        self.job_table().is_some_and(|jobs| jobs.contains_key(name))
    }

    /// Returns all jobs with their names.
    fn job_tables(&self) -> impl Iterator<Item = (&String, &Table)> {
        let jobs = self.job_table().into_iter().flatten();
        jobs.filter_map(|(name, job)| Some((name, job.as_table()?)))
    }

    /// Returns all jobs by their names, if the file has any.
    fn job_table(&self) -> Option<&Table> {
        self.table.get("jobs").and_then(Value::as_table)
    }

    /// Returns the times of the last changes that decide which jobs can run: of the file that was read, and of the
    /// agreements of its jobs. An agreement exists only once both sides have agreed.
    pub fn written(&self) -> Vec<Option<SystemTime>> {
        let agreements = self.job_tables().filter_map(|(_, job)| job.get("agreement")?.as_str());
        let agreements = agreements.map(|agreement| modified(&self.path(agreement)));
        std::iter::once(self.modified).chain(agreements).collect()
    }

    /// Returns the file of the identity.
    pub fn identity(&self) -> PathBuf {
        self.path(&self.spec.identity)
    }

    /// Returns this side's name for people, if it has one.
    pub fn own_name(&self) -> Option<&str> {
        self.spec.name.as_deref()
    }

    /// Returns a job.
    pub fn job(&self, name: &str) -> Result<&Table, Failure> {
        let job = self.job_table().and_then(|jobs| jobs.get(name)).and_then(Value::as_table);
        job.ok_or_else(|| {
            let names = self.jobs();
            self.failed(&match names.is_empty() {
                true => format!("has no job `{name}`, nor any other"),
                false => format!("has no job `{name}`; its jobs are {}", names.join(", ")),
            })
        })
    }

    /// Returns the specification of a job, in which flags replace keys.
    ///
    /// # Errors
    /// Any fault of the job, including a missing option that every run has.
    pub fn specified(
        &self,
        name: &str,
        flags: Vec<(String, Vec<OsString>)>,
    ) -> Result<Job, Failure> {
        let job = self.read_job(name, flags)?;
        let lacks = |key| format!("{}: job `{name}` has no `{key}`", self.file.display());
        missing(&job).map_or(Ok(job), |key| Err(Failure::usage(lacks(key))))
    }

    /// Reads a job, which may lack an option.
    pub fn read_job(
        &self,
        name: &str,
        flags: Vec<(String, Vec<OsString>)>,
    ) -> Result<Job, Failure> {
        self.job(name)?;
        let given: Vec<_> = flags.iter().map(|(flag, _)| flag.clone()).collect();
        let is_flag = |option: &str| given.iter().any(|flag| flag == option);
        let notation = |option: &str| match is_flag(option) {
            true => format!("--{option}"),
            false => format!("key `{option}`"),
        };
        self.spec.job(name, &self.path(""), flags).map_err(|fault| match &fault {
            Fault::Unknown { option } => self.failed(&format!(
                "job `{name}`, key `{option}`: not an option of `vesica run`, whose --help lists all"
            )),
            Fault::Value { option, .. } if !is_flag(option) => {
                self.failed(&format!("job `{name}`, {}", fault.words(notation)))
            }
            _ => Failure::usage(format!(
                "{}: job `{name}`: {}",
                self.file.display(),
                fault.words(notation)
            )),
        })
    }

    /// Refuses a command that names neither a job nor files.
    pub fn without_job(&self, command: &str) -> Failure {
        let (file, jobs) = (self.file.display(), self.jobs());
        Failure::usage(match jobs.first() {
            Some(first) => {
                let all = jobs.join(", ");
                format!(
                    "name a job, as in `vesica {command} {first}`; the jobs of {file} are {all}"
                )
            }
            None => format!(
                "{file} has no job yet: `vesica invite` and `vesica accept` add jobs. Without a job, `vesica {command}` \
                 takes --identity, --input and --key, or --field and --match"
            ),
        })
    }

    /// Adds a job at the end of the file.
    pub fn add(&self, entry: &JobEntry) -> Result<(), Failure> {
        self.add_job(&entry.name, &entry.table())
    }

    /// Adds a job, as it is in the file, at the end of the file.
    pub fn add_job(&self, name: &str, job: &Table) -> Result<(), Failure> {
        // It may have changed while the question was open.
        let now = Self::open(Some(&self.file))?;
        document::put(&self.file, &now.with(name, job)?)
    }

    /// Returns a job like this one, with an agreement of this name and files of its own.
    pub fn renewed(&self, job: &str, name: &str) -> Result<Table, Failure> {
        let mut new = self.job(job)?.clone();
        let entry = JobEntry { name: name.to_owned(), ..JobEntry::default() };
        new.remove(binding::KEY);
        new.insert("agreement".to_owned(), entry.agreement().into());
        new.insert("record".to_owned(), entry.record().into());
        for key in ["output", "report", "resume"] {
            let old = new.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(old) = old.filter(|old| is_file(old) && !Stamp::is_in(old)) {
                let extension = Path::new(&old).extension().and_then(|end| end.to_str());
                let file = format!("{name}.{}", extension.unwrap_or(key));
                let beside = Path::new(&old).with_file_name(file);
                new.insert(key.to_owned(), beside.to_string_lossy().into_owned().into());
            }
        }
        Ok(new)
    }

    /// Returns the text with another job at its end.
    pub fn with(&self, name: &str, job: &Table) -> Result<String, Failure> {
        if self.has_job(name) {
            let what = format!("already has a job `{name}`; remove it, or choose another name");
            return Err(self.failed(&what));
        }
        let job = toml::to_string(job).map_err(|_| Failure::bug("a job has TOML"))?;
        let text = format!("{}\n\n[jobs.{name}]\n{job}", self.text.trim_end());
        match text.parse::<Table>() {
            Ok(_) => Ok(text),
            Err(_) => Err(self.failed(&format!(
                "a job cannot be added at the end: write each job as a table, such as [jobs.{name}]"
            ))),
        }
    }
}

/// Returns the first option that every run has and this job lacks.
pub fn missing(job: &Job) -> Option<&'static str> {
    let has = [
        ("identity", job.parties.identity.is_some()),
        ("input", job.table.input.is_some()),
        ("key", !job.table.key.is_empty() || !job.table.field.is_empty()),
    ];
    has.into_iter().find(|(_, has)| !has).map(|(option, _)| option)
}

/// Returns a table as JSON.
fn object(table: &Table) -> serde_json::Map<String, serde_json::Value> {
    let value = serde_json::to_value(table).unwrap_or_default();
    value.as_object().cloned().unwrap_or_default()
}

/// Returns whether a name is written in quotes on the command line.
fn is_quoted(name: &str) -> bool {
    name.contains([',', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{INPUT, USAGE};

    fn project(text: &str) -> Result<Project, String> {
        Project::read(FILE.into(), text.to_owned()).map_err(|failure| failure.message)
    }

    fn refused(text: &str) -> String {
        project(text).err().unwrap()
    }

    #[test]
    fn faults_are_named_with_their_place() {
        for (text, said) in [
            ("identity = \"a\"\n\nkey = 1.2.3\n", "vesica.toml: line 3: "),
            ("identity =\n", "vesica.toml: line 1: "),
            (
                "identities = 1",
                "vesica.toml: unknown key `identities`; the keys are identity, name, jobs",
            ),
            ("identity = 5", "vesica.toml: key `identity`: a path"),
            ("jobs = 5", "key `jobs`: a table for each job, such as [jobs.example]"),
            ("[[jobs]]", "key `jobs`: a table for each job"),
            ("jobs.a = 5", "key `jobs`: a table for each job"),
        ] {
            assert!(refused(text).contains(said), "{text}: {}", refused(text));
        }
        assert!(project(TEMPLATE).is_ok() && project("").is_ok());
    }

    /// Returns the fault of the job `cnt` with these keys and flags.
    fn fault(keys: &str, flags: &[(&str, &str)]) -> (u8, String) {
        let project = project(&format!("[jobs.cnt]\n{keys}")).unwrap();
        let flag = |(name, text): &(&str, &str)| ((*name).to_owned(), vec![text.into()]);
        let failure = project.specified("cnt", flags.iter().map(flag).collect()).unwrap_err();
        (failure.code, failure.message.replace("vesica.toml: ", ""))
    }

    #[test]
    fn faults_of_a_job_are_in_words_of_its_file() {
        const AGREED: &str = "agreement = \"cnt.agreement\"\ninput = \"in.csv\"\nkey = \"k\"\n";
        for (keys, flags, code, said) in [
            (
                "",
                &[("learns", "both")][..],
                USAGE,
                "job `cnt`: the agreement settles --learns: leave it out",
            ),
            (
                "learns = \"me\"\nalign = false\n",
                &[],
                USAGE,
                "job `cnt`: the agreement settles key `learns` and key `align`: leave them out",
            ),
            (
                "memory = 100\n",
                &[],
                INPUT,
                "job `cnt`, key `memory`: an amount with its unit, such as 2G, 1.5G or 512M, or a number of bytes from \
                 1048576 on",
            ),
            (
                "join = \"outer\"\n",
                &[],
                INPUT,
                "job `cnt`, key `join`: possible values: inner, left",
            ),
            (
                "listen = \"a:1\"\nconnect = \"b:1\"\n",
                &[],
                USAGE,
                "job `cnt`: key `listen` and key `connect` exclude each other",
            ),
            (
                "memory = \"1G\"\n",
                &[("memory", "2X")],
                USAGE,
                "job `cnt`: --memory: an amount with its unit",
            ),
        ] {
            let (found, message) = fault(&format!("{AGREED}{keys}"), flags);
            assert!(found == code && message.starts_with(said), "{found}: {message}");
        }
        assert_eq!(fault("key = \"k\"\n", &[]), (USAGE, "job `cnt` has no `input`".to_owned()));
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
        assert!(said.contains("write each job as a table, such as [jobs.b]"), "{said}");
        assert!(message(closed.with("a", &job).unwrap_err()).contains("already has a job `a`"));
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
