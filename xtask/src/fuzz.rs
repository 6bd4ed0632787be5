//! `cargo xtask fuzz`: runs the fuzz targets for a given time each. docs/developing/testing.md describes them and their
//! prerequisites.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{Failure, named, repository::Repository, step::ended};

/// Default number of seconds for which a target runs.
const SECONDS: u64 = 60;

/// Memory limits of a process and of one allocation in MB, and the time limit of one input in seconds.
const LIMITS: [&str; 3] = ["-rss_limit_mb=2048", "-malloc_limit_mb=512", "-timeout=60"];

/// Maximum length of an input, in bytes.
const LONGEST: &str = "-max_len=65536";

/// The arguments of the task.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    seconds: u64,
    target: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn read(args: &[&'a str]) -> Option<Self> {
        let mut request = Self { seconds: SECONDS, target: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--seconds" => request.seconds = args.next()?.parse().ok().filter(|s| *s > 0)?,
                flag if flag.starts_with('-') => return None,
                target if request.target.is_none() => request.target = Some(target),
                _ => return None,
            }
        }
        Some(request)
    }
}

/// Runs every target for a minute.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    run_with(repository, &[])
}

/// Runs targets according to the arguments `[--seconds N] [TARGET]`.
pub fn run_with(repository: &Repository, args: &[&str]) -> Result<(), Failure> {
    let request = Request::read(args).ok_or("usage: cargo xtask fuzz [--seconds N] [TARGET]")?;
    let manifest = fs::read_to_string(repository.path("fuzz/Cargo.toml"));
    let manifest = manifest.map_err(|error| format!("fuzz/Cargo.toml: {error}"))?;
    let all = targets(&manifest);
    let chosen: Vec<&str> = match request.target {
        None => all,
        Some(name) => vec![named::find("target", name, all, |target| target)?],
    };
    let mut build = nightly(repository);
    build.arg("build");
    if let [only] = chosen[..] {
        build.arg(only);
    }
    let built = ended("cargo +nightly fuzz build", build.status());
    built.map_err(|failure| {
        format!("{failure}; it needs a nightly toolchain and `cargo install cargo-fuzz --locked`")
    })?;
    let mut done = Ok(());
    let (mut executions, count) = (0, chosen.len());
    for target in chosen {
        match fuzz(repository, target, request.seconds) {
            Ok(of_target) => executions += of_target,
            // Report the first failure, and run the others anyway.
            Err(failure) => done = done.and(Err(failure)),
        }
    }
    println!("fuzz: {executions} executions of {count} targets, {} s each", request.seconds);
    done
}

/// Runs a target, and returns its number of executions.
fn fuzz(repository: &Repository, target: &str, seconds: u64) -> Result<u64, Failure> {
    // New inputs go to a separate folder, so that the corpus of the repository does not change.
    let found = format!("fuzz/found/{target}");
    let corpus = format!("fuzz/corpus/{target}");
    let artifacts = format!("fuzz/artifacts/{target}/");
    for folder in [&found, &artifacts] {
        let made = fs::create_dir_all(repository.path(folder));
        made.map_err(|error| format!("{folder}: {error}"))?;
    }
    println!("==> {target}");
    let mut command = nightly(repository);
    command.args(["run", target, &found, &corpus, "--"]).args(LIMITS).arg(LONGEST);
    command.args([&format!("-max_total_time={seconds}"), "-print_final_stats=1"]);
    let ran = command.stdout(Stdio::inherit()).stderr(Stdio::piped()).output();
    let ran = ran.map_err(|error| format!("cargo cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    if ran.status.success() {
        let executions =
            executions(&said).ok_or("the fuzzer did not report its number of executions")?;
        println!("    {executions} executions");
        return Ok(executions);
    }
    eprint!("{said}");
    let input = said
        .lines()
        .find_map(|line| line.split_once("Test unit written to "))
        .map(|(_, path)| path.trim());
    let Some(input) = input else {
        return Err(format!("target `{target}` ended with {}", ran.status));
    };
    let input = Path::new(input);
    let input = input.strip_prefix(repository.path("")).unwrap_or(input).display();
    println!(
        "{target} fails on {input}. Replay it with:\n  cargo +nightly fuzz run {target} {input}"
    );
    println!("Fix it, and add the input to {corpus}, which the tests replay.");
    Err(format!("target `{target}` fails on {input}"))
}

/// Returns the command for the fuzzer, which always uses a nightly toolchain.
fn nightly(repository: &Repository) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).current_dir(repository.path(""));
    // Variables that describe the toolchain of this process.
    ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"].iter().for_each(|name| {
        command.env_remove(name);
    });
    crate::repository::forget_this_package(&mut command);
    command
}

/// Returns the names of the programs that the manifest lists.
fn targets(manifest: &str) -> Vec<&str> {
    let path = |line| str::strip_prefix(line, "path = \"fuzz_targets/");
    manifest.lines().filter_map(path).filter_map(|rest| rest.strip_suffix(".rs\"")).collect()
}

/// Returns the number of executions from the fuzzer's last statistics.
fn executions(said: &str) -> Option<u64> {
    let number =
        said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let request = |seconds, target| Some(Request { seconds, target });
        assert_eq!(Request::read(&[]), request(SECONDS, None));
        assert_eq!(Request::read(&["csv"]), request(SECONDS, Some("csv")));
        assert_eq!(Request::read(&["--seconds", "5", "csv"]), request(5, Some("csv")));
        for bad in
            [&["--seconds"][..], &["--seconds", "x"], &["--seconds", "0"], &["--x"], &["a", "b"]]
        {
            assert_eq!(Request::read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn targets_and_executions_are_found() {
        let manifest =
            "[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\n\n[lib]\npath = \"b.rs\"\n";
        assert_eq!(targets(manifest), ["a"]);
        let said = "Done 7 runs\nstat::number_of_executed_units: 7\nstat::peak_rss_mb:  40\n";
        assert_eq!(executions(said), Some(7));
        assert_eq!(executions(""), None);
    }
}
