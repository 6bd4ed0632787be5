//! Runs tests and counts them.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitStatus, Stdio},
};

/// The numbers of passed and failed tests. A step that fails without a failed test, such as clippy, counts as one
/// failure, so that the last line never looks like success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl Tally {
    /// Runs tests, forwards their output as it arrives, and adds up their results.
    pub fn count(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        if let Some(stdout) = child.stdout.take() {
            let (mut lines, mut out, mut line) =
                (BufReader::new(stdout), io::stdout().lock(), Vec::new());
            while lines.read_until(b'\n', &mut line)? > 0 {
                out.write_all(&line)?;
                self.add(&String::from_utf8_lossy(&line));
                line.clear();
            }
        }
        child.wait()
    }

    /// Counts every line of a complete text.
    pub fn add_all(&mut self, text: &[u8]) {
        String::from_utf8_lossy(text).lines().for_each(|line| self.add(line));
    }

    /// Counts a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; ...` or `1 failed, 3 passed in 0.51s`.
    fn add(&mut self, line: &str) {
        let Some((_, result)) = line.split_once("test result: ") else {
            return self.add_of_pytest(line);
        };
        let before = |word: &str| -> u64 {
            let count = result.split(';').find_map(|part| part.trim_end().strip_suffix(word));
            count.and_then(|c| c.split_whitespace().last()?.parse().ok()).unwrap_or(0)
        };
        self.passed += before("passed");
        self.failed += before("failed");
    }

    fn add_of_pytest(&mut self, line: &str) {
        let Some((counts, seconds)) = line.trim_end().rsplit_once(" in ") else { return };
        if !seconds.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        for count in counts.split(", ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_runs_add_up() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests\n",
            "test tests::one_passed ... ok\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out\n",
            "\u{1b}[32mtest result: \u{1b}[31mFAILED\u{1b}[0m. 1 passed; 1 failed; 0 ignored\n",
            "1 failed, 20 passed, 3 skipped, 1 error in 3.85s\n",
            "7 passed in 81.20s (0:01:21)\n",
            "compiled what passed in 3 steps\n",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 41, failed: 5 });
    }
}
