//! The agreement of a job, by its hash in the job.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::Project;
use crate::{document, exit::Failure};

/// The key of the hash.
pub const KEY: &str = "agreement-hash";

impl Project {
    /// Returns the jobs whose agreement is in this file.
    pub fn jobs_under(&self, agreement: &Path) -> Vec<&String> {
        let names_it = |job: &Table| {
            let named = job.get("agreement").and_then(Value::as_str);
            named.is_some_and(|named| self.path(named) == agreement)
        };
        self.job_tables().filter(|(_, job)| names_it(job)).map(|(name, _)| name).collect()
    }

    /// Returns the files of the agreements of all jobs, each once.
    pub fn agreements(&self) -> BTreeSet<PathBuf> {
        let named = self.job_tables().filter_map(|(_, job)| job.get("agreement")?.as_str());
        named.map(|name| self.path(name)).collect()
    }

    /// Refuses an agreement of this hash for this file, if a job that names the file is for another one.
    pub fn check_binding(&self, agreement: &Path, hash: &str) -> Result<(), Failure> {
        let is_for = |name: &String| Some(self.job(name).ok()?.get(KEY)?.as_str() == Some(hash));
        match self.jobs_under(agreement).into_iter().find(|name| is_for(name) == Some(false)) {
            None => Ok(()),
            Some(name) => Err(self.failed(&format!(
                "job `{name}` is for another agreement; to replace it by this one, first remove the key `{KEY}` of the job"
            ))),
        }
    }

    /// Writes the hash of the agreement into each job whose agreement is in this file.
    pub fn bind(&self, agreement: &Path, hash: &str) -> Result<(), Failure> {
        // It may have changed while the question was open.
        let mut now = Self::open(Some(&self.file))?;
        let jobs: Vec<_> = now.jobs_under(agreement).into_iter().cloned().collect();
        for name in jobs {
            if now.job(&name)?.contains_key(KEY) {
                continue;
            }
            let text = now.bound(&name, hash).ok_or_else(|| {
                now.failed(&format!(
                    "add `{KEY} = \"{hash}\"` to job `{name}`, so that no other agreement can replace this one"
                ))
            })?;
            document::put(&now.file, &text)?;
            now = Self::read(self.file.clone(), text)?;
        }
        Ok(())
    }

    /// Returns the text in which this job has the hash; `None` if the job has no header of its own for it.
    fn bound(&self, name: &str, hash: &str) -> Option<String> {
        let mut wanted = self.table.clone();
        let job = wanted.get_mut("jobs")?.get_mut(name)?.as_table_mut()?;
        job.insert(KEY.to_owned(), hash.into());
        let lines: Vec<_> = self.text.split_inclusive('\n').collect();
        (1..=lines.len()).filter(|after| lines[after - 1].trim_start().starts_with('[')).find_map(
            |after| {
                let (before, rest) = lines.split_at(after);
                let before = before.concat();
                let end = if before.ends_with('\n') { "" } else { "\n" };
                let text = format!("{before}{end}{KEY} = \"{hash}\"\n{}", rest.concat());
                (text.parse::<Table>().ok()? == wanted).then_some(text)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> Option<String> {
        let project = Project::read("vesica.toml".into(), text.to_owned());
        project.ok().unwrap().bound("a", "00")
    }

    #[test]
    fn the_hash_stands_in_the_job_and_nothing_else_changes() {
        for (text, with) in [
            ("[jobs.a]\nkey = \"k\"\n", "[jobs.a]\nagreement-hash = \"00\"\nkey = \"k\"\n"),
            ("[jobs.a]", "[jobs.a]\nagreement-hash = \"00\"\n"),
            (
                "[jobs.b]\nkey = \"\"\"\n[jobs.a]\n\"\"\"\n  [ jobs . \"a\" ] # mine\n[jobs.c]\n",
                "[jobs.b]\nkey = \"\"\"\n[jobs.a]\n\"\"\"\n  [ jobs . \"a\" ] # mine\nagreement-hash = \"00\"\n[jobs.c]\n",
            ),
        ] {
            assert_eq!(bound(text).as_deref(), Some(with), "{text}");
        }
        for none in ["jobs.a.key = \"k\"", "jobs = { a = { key = \"k\" } }", "[jobs.b]\n"] {
            assert_eq!(bound(none), None, "{none}");
        }
    }

    #[test]
    fn a_job_for_another_agreement_is_named() {
        let text =
            "[jobs.a]\nagreement = \"x\"\nagreement-hash = \"00\"\n[jobs.b]\nagreement = \"x\"\n";
        let project = Project::read("vesica.toml".into(), text.to_owned()).ok().unwrap();
        assert_eq!(project.jobs_under(Path::new("x")), ["a", "b"]);
        assert!(project.check_binding(Path::new("x"), "00").is_ok());
        assert!(project.check_binding(Path::new("y"), "01").is_ok());
        let message = project.check_binding(Path::new("x"), "01").unwrap_err().message;
        assert!(message.contains("job `a` is for another agreement"), "{message}");
    }
}
