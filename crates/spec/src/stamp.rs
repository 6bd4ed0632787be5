//! The text that stands for `{time}` in the paths of a run's results.

use std::path::{Path, PathBuf};

use vesica_core::{error::Result, moment::Moment, random::system_bytes};

const PATTERN: &str = "{time}";

/// The time of a run, followed by 64 random bits, so that no two runs have the same stamp.
pub struct Stamp(String);

impl Stamp {
    /// Creates the stamp of a run that begins now.
    ///
    /// # Errors
    /// [`Error::Bug`](vesica_core::error::Error::Bug) if the system gives no randomness.
    pub fn now() -> Result<Self> {
        let random = system_bytes()?;
        let moment: String =
            Moment::now().to_string().chars().filter(|c| !"-:".contains(*c)).collect();
        Ok(Self(format!("{moment}-{:016x}", u64::from_le_bytes(random))))
    }

    /// Replaces `{time}` in a path, as in `results/{time}.csv`.
    pub fn path(&self, path: &Path) -> PathBuf {
        match path.to_str() {
            Some(text) => PathBuf::from(text.replace(PATTERN, &self.0)),
            None => path.to_owned(),
        }
    }

    /// Returns whether a path differs from run to run.
    pub fn is_in(path: &str) -> bool {
        path.contains(PATTERN)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, thread};

    use super::*;

    #[test]
    fn runs_of_one_moment_have_different_names() {
        const RUNS: usize = 1000;
        let paths = || -> Vec<_> {
            let path = |_| Stamp::now().ok().unwrap().path(Path::new("r/{time}.csv"));
            (0..RUNS).map(path).collect()
        };
        let all: BTreeSet<_> = thread::scope(|scope| {
            let threads = [scope.spawn(paths), scope.spawn(paths)];
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(all.len(), 2 * RUNS);
        let first = all.first().unwrap().to_str().unwrap();
        // They sort by their time: r/20261127T152656Z-0123456789abcdef.csv
        assert!(first.starts_with("r/2") && first.len() == 2 + 16 + 17 + 4, "{first}");
    }

    #[test]
    fn a_run_has_one_stamp_in_all_its_paths() {
        let stamp = Stamp::now().ok().unwrap();
        let path = |path: &str| stamp.path(Path::new(path)).to_str().unwrap().to_owned();
        assert_eq!(path("a/{time}.csv").replace(".csv", ".record"), path("a/{time}.record"));
        assert_eq!(path("plain.csv"), "plain.csv");
    }
}
