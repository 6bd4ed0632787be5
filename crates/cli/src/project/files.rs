//! The files of all jobs of a project, so that no result of a job replaces a file of another.

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use vesica::{
    files::{Protected, check_results},
    spec::{LEDGER, Stamp, is_file},
};

use super::{JobEntry, Project};
use crate::exit::Failure;

/// Keys of a job whose files a run reads or adds to, with their names in messages.
const KEPT: [(&str, &str); 6] = [
    ("identity", "the identity"),
    ("agreement", "the agreement"),
    ("ledger", "the ledger"),
    ("input", "the input"),
    ("input-query-file", "the query"),
    ("query-file", "the query"),
];

/// Keys of a job whose files a run replaces, with their names in messages.
const REPLACED: [(&str, &str); 4] = [
    ("output", "the output"),
    ("record", "the record"),
    ("report", "the report"),
    ("resume", "the journal"),
];

/// Extensions of files beside an agreement, with their names in messages.
const BESIDE: [(&str, &str); 2] = [("invite", "the invitation"), ("reply", "the reply")];

impl Project {
    /// Returns the files that no result of this job may replace: all files of other jobs, the files that this job
    /// reads, and the project's own.
    pub fn protected(&self, job: &str) -> Vec<Protected> {
        let own = [("the project file", self.file.clone()), ("the identity", self.identity())];
        let mut all: Vec<_> =
            own.into_iter().map(|(what, path)| Protected::new(what, path)).collect();
        for (name, table) in self.job_tables() {
            all.extend(self.files_of(name, table, &KEPT));
            all.extend(self.beside_agreement(name, table));
            if name != job {
                all.extend(self.files_of(name, table, &REPLACED));
            }
        }
        all
    }

    /// Refuses a job that would replace a file of another job, or a file that it reads.
    pub fn check_files(&self) -> Result<(), Failure> {
        self.job_tables().try_for_each(|(name, table)| {
            let results = self.files_of(name, table, &REPLACED);
            Ok(check_results(&results, &self.protected(name), None)?)
        })
    }

    /// Refuses a job that cannot be added, because its name or the name of a file of it is taken. `written` are the
    /// files that are about to be written with it, and `rename` is the way to give it another name.
    pub fn check_new(
        &self,
        entry: &JobEntry,
        written: &[&Path],
        rename: &str,
    ) -> Result<(), Failure> {
        self.check_name(&entry.name, rename)?;
        let table = entry.table();
        let result = entry.output.as_deref().filter(|_| entry.output_is_default);
        let new = result.into_iter().map(|new| self.path(new));
        let written = written.iter().map(|path| path.to_path_buf());
        if let Some(taken) = new.chain(written).find(|path| path.symlink_metadata().is_ok()) {
            let way = match result.is_some_and(|result| self.path(result) == taken) {
                true => format!("name another file for the result with --output, or {rename}"),
                false => format!("{rename}, or move the file away"),
            };
            let what = format!("{}: already exists and is not replaced: {way}", taken.display());
            return Err(Failure::input(what));
        }
        self.check_new_job(&entry.name, &table, &[], rename)
    }

    /// Refuses a job, as it is in the file, that cannot be added.
    pub fn check_new_job(
        &self,
        name: &str,
        job: &Table,
        written: &[&Path],
        rename: &str,
    ) -> Result<(), Failure> {
        self.check_name(name, rename)?;
        if let Some(taken) = written.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(Failure::input(format!(
                "{}: already exists and is not replaced: {rename}, or move the file away",
                taken.display()
            )));
        }
        let with_it = self.with(name, job)?;
        Self::read(self.file.clone(), with_it)?.check_files()
    }

    /// Refuses a name that no job can have, or that a job already has.
    fn check_name(&self, name: &str, rename: &str) -> Result<(), Failure> {
        vesica::partnership::check_name(name)?;
        match self.has_job(name) {
            true => Err(self.failed(&format!("already has a job `{name}`; {rename}"))),
            false => Ok(()),
        }
    }

    /// Returns the files of these kinds that a job names. A name with `{time}` is another file in each run.
    fn files_of(&self, name: &str, job: &Table, kinds: &[(&str, &str)]) -> Vec<Protected> {
        let place = |key: &str| job.get(key).and_then(Value::as_str);
        let named = kinds.iter().filter_map(|(key, what)| Some((place(key)?, what)));
        let named = named.filter(|(place, _)| *place != "-" && !Stamp::is_in(place));
        let file = |(place, what): (&str, &&str)| {
            let path = if is_file(place) { self.path(place) } else { PathBuf::from(place) };
            Protected::new(format!("{what} of job `{name}`"), path)
        };
        named.map(file).collect()
    }

    /// Returns the ledger, the invitation and the reply of a job under an agreement.
    fn beside_agreement(&self, name: &str, job: &Table) -> Vec<Protected> {
        let Some(agreement) = job.get("agreement").and_then(Value::as_str) else {
            return Vec::new();
        };
        let agreement = self.path(agreement);
        let texts = BESIDE.map(|(extension, what)| (what, agreement.with_extension(extension)));
        let ledger = ("the ledger", agreement.with_file_name(LEDGER));
        let all = texts.into_iter().chain((!job.contains_key("ledger")).then_some(ledger));
        all.map(|(what, path)| Protected::new(format!("{what} of job `{name}`"), path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the refusal of these jobs, in a directory with a file `there.csv`.
    fn said(jobs: &str) -> Option<String> {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("there.csv"), "k\n").unwrap();
        let project = Project::read(scratch.path().join("vesica.toml"), jobs.to_owned());
        project.ok().unwrap().check_files().err().map(|failure| failure.message)
    }

    /// Each file of one job as each result of another: a line for each.
    #[test]
    fn no_result_replaces_a_file_of_another_job() {
        let files = [
            ("input", "there.csv", "the input"),
            ("input", "gone.csv", "the input"),
            ("input-query-file", "q.sql", "the query"),
            ("identity", "other.identity", "the identity"),
            ("ledger", "other.ledger", "the ledger"),
            ("agreement", "x.agreement", "the agreement"),
            ("output", "o.csv", "the output"),
            ("output", "s3://bucket/o.csv", "the output"),
            ("record", "x.record", "the record"),
            ("report", "x.json", "the report"),
            ("resume", "x.run", "the journal"),
        ];
        for (key, file, what) in files {
            for (result, _) in REPLACED {
                let jobs = format!("jobs.z.{key} = \"{file}\"\njobs.b.{result} = \"{file}\"\n");
                let message = said(&jobs).unwrap();
                assert!(message.contains(&format!("would replace {what} of job `z`")), "{message}");
            }
        }
        for (file, what) in [
            ("vesica.toml", "the project file"),
            ("vesica.identity", "the identity"),
            ("a.invite", "the invitation of job `a`"),
            ("a.reply", "the reply of job `a`"),
            ("vesica.ledger", "the ledger of job `a`"),
            ("./there.csv", "the input of job `a`"),
        ] {
            let jobs = format!(
                "[jobs.a]\nagreement = \"a.agreement\"\ninput = \"there.csv\"\n[jobs.b]\noutput = \"{file}\"\n"
            );
            let message = said(&jobs).unwrap();
            assert!(message.contains(&format!("would replace {what}")), "{message}");
        }
        // The default output, where the input is called like the agreement.
        let own = said("jobs.a = { input = \"x.csv\", output = \"x.csv\" }");
        assert!(own.unwrap().contains("would replace the input of job `a`"));
    }

    #[test]
    fn jobs_may_share_what_no_run_replaces_and_what_is_new_in_each() {
        for shared in ["input = \"there.csv\"", "ledger = \"l\"", "output = \"{time}.csv\""] {
            let jobs = format!("[jobs.a]\n{shared}\n[jobs.b]\n{shared}\n");
            assert_eq!(said(&jobs), None, "{shared}");
        }
        assert_eq!(said("jobs.a.output = \"-\"\njobs.b.output = \"-\""), None);
    }

    #[test]
    fn a_job_whose_files_are_there_is_not_added() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let project =
            Project::read(at("vesica.toml"), "jobs.b.input = \"customers.csv\"".to_owned());
        let project = project.ok().unwrap();
        let entry = |name: &str, output: &str, is_default| JobEntry {
            name: name.to_owned(),
            key: vec![vec!["k".to_owned()]],
            output: Some(output.into()),
            output_is_default: is_default,
            ..JobEntry::default()
        };
        let refused = |entry: &JobEntry| {
            let agreement = at(&format!("{}.agreement", entry.name));
            project
                .check_new(entry, &[&agreement], "rename it")
                .err()
                .map(|failure| failure.message)
        };
        assert_eq!(refused(&entry("a", "a.csv", true)), None);
        assert!(refused(&entry("b", "b.csv", true)).unwrap().contains("already has a job `b`"));
        assert!(refused(&entry("a/b", "b.csv", true)).unwrap().contains("letters, digits"));
        let message = refused(&entry("a", "customers.csv", true)).unwrap();
        assert!(message.contains("would replace the input of job `b`"), "{message}");
        for (taken, way) in [("a.agreement", "rename it"), ("a.csv", "--output")] {
            std::fs::write(at(taken), "").unwrap();
            let message = refused(&entry("a", "a.csv", true)).unwrap();
            assert!(message.contains("already exists") && message.contains(way), "{message}");
            // An output that was named may be there already.
            assert_eq!(refused(&entry("a", "a.csv", false)).is_some(), taken != "a.csv");
            std::fs::remove_file(at(taken)).unwrap();
        }
    }
}
