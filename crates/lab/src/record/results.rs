//! Files of results: JSON lines. The first line describes the machine, and every other line is a run.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Host, Job, Record, Result};

/// The contents of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The machine.
    pub host: Host,
    /// Every run, in order.
    pub records: Vec<Record>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct ResultsHeader {
    #[serde(rename = "machine")]
    host: Host,
}

impl Measured {
    /// Reads the file at this path.
    ///
    /// # Errors
    /// If it cannot be read or is not a file of results; the message names the line.
    pub fn read(path: &Path) -> Result<Self> {
        let of_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| of_file(&error))?;
        Self::parse(&text).map_err(|error| of_file(&error).into())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines = (1..).zip(text.lines());
        let at = |number: usize, error: serde_json::Error| format!("line {number}: {error}");
        let (number, first) = lines.next().ok_or("it is empty, so it is not a file of results")?;
        let ResultsHeader { host } = serde_json::from_str(first).map_err(|e| at(number, e))?;
        let record = |(number, line)| serde_json::from_str(line).map_err(|e| at(number, e));
        Ok(Self { host, records: lines.map(record).collect::<std::result::Result<_, _>>()? })
    }
}

/// The existing records, and the file to which new ones are added.
#[derive(Default)]
pub struct Results {
    records: Vec<Record>,
    file: Option<(File, PathBuf)>,
}

impl Results {
    /// Opens the file at this path, to append records. The file is created if it does not exist. An incomplete last
    /// line, left by a run that was killed, is dropped.
    ///
    /// # Errors
    /// If it cannot be read or written, is not a file of results, or belongs to another machine or version.
    pub fn open(path: &Path) -> Result<Self> {
        let of_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(of_file(&error).into()),
        };
        let read = text.len();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        if text.is_empty() && read > 0 {
            return Err(of_file(&"it has no complete line, so it is not a file of results").into());
        }
        let here = Host::here();
        let open = || {
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            file.set_len(text.len() as u64)?;
            Ok::<_, std::io::Error>(file)
        };
        let measured = match text.is_empty() {
            true => None,
            false => Some(Measured::parse(&text).map_err(|error| of_file(&error))?),
        };
        if let Some(measured) = measured.as_ref().filter(|there| !there.host.is_like(&here)) {
            let Host { processor, version, .. } = &measured.host;
            return Err(of_file(&format!(
                "it contains runs of another machine or version ({processor}, {version}), whose figures must not be mixed with \
                 this one's: give another file"
            ))
            .into());
        }
        let mut file = open().map_err(|error| of_file(&error))?;
        let records = match measured {
            Some(measured) => measured.records,
            None => {
                write(&mut file, &ResultsHeader { host: here }).map_err(|error| of_file(&error))?;
                Vec::new()
            }
        };
        Ok(Self { records, file: Some((file, path.to_owned())) })
    }

    /// Returns every record.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the record of the nth run of a job, from 0.
    pub fn nth(&self, job: &Job, nth: usize) -> Option<&Record> {
        self.records.iter().filter(|record| job.gave(record)).nth(nth)
    }

    /// Stores a record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, record: Record) -> Result<()> {
        if let Some((file, path)) = &mut self.file {
            write(file, &record).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        self.records.push(record);
        Ok(())
    }
}

/// Writes one line at once, so that a run that is killed leaves at most one incomplete line.
fn write(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use vesica_psi::Sizes;

    use super::*;
    use crate::{Bench, BenchOutcome, Line};

    fn job(name: &str, items: usize) -> Job {
        let sizes = Sizes { sender: items, receiver: items };
        Job { work: name.parse().unwrap(), sizes, line: Line::memory(), threads: 1 }
    }

    #[test]
    fn recorded_runs_are_not_repeated() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("results.jsonl");
        let jobs = [job("naive", 11), job("ot/np01", 3), job("structure/cuckoo-3", 20)];
        let run = |rounds| {
            let mut bench = Bench::new(Results::open(&path).unwrap());
            let times = (0..rounds).flat_map(|nth| jobs.iter().map(move |job| (job, nth)));
            times.map(|(job, nth)| bench.run(job, nth).unwrap()).collect::<Vec<_>>()
        };
        let first = run(2);
        let length = fs::metadata(&path).unwrap().len();
        // Left by a run that was killed while writing.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"kind\":\"proto").unwrap();
        // Reading rounds the last bit of a figure, so values that were both read are compared.
        let again = run(2);
        assert_eq!((again.len(), fs::metadata(&path).unwrap().len()), (first.len(), length));
        assert_eq!(run(3)[..6], again);
        let kept = Measured::read(&path).unwrap();
        assert_eq!(kept.records.len(), 9);
        assert!(kept.host.is_like(&Host::here()));
        let kept = kept.records.into_iter().map(BenchOutcome::Ran).collect::<Vec<_>>();
        assert_eq!(kept[..6], again);
    }

    #[test]
    fn files_that_are_none_are_refused_and_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("results.jsonl");
        let foreign = ResultsHeader { host: Host { version: "0".to_owned(), ..Host::here() } };
        let foreign = serde_json::to_string(&foreign).unwrap() + "\n";
        for (text, said) in [
            ("no line", "no complete line"),
            ("key,value\n1,2\n", "line 1"),
            (&foreign, "another machine or version"),
            (&format!("{foreign}{{}}\n"), "line 2"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Results::open(&path).err().unwrap().to_string();
            assert!(error.contains(said) && error.contains("results.jsonl"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, "").unwrap();
        assert!(Measured::read(&path).unwrap_err().to_string().contains("empty"));
    }
}
