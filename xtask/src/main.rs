//! Tasks of this repository: `cargo xtask TASK`, from any of its folders.
//!
//! Nothing here is shipped. Besides the standard library this uses `vesica-params`, to render its document and a
//! figure, and libraries for JSON and SHA-256, for releases.

mod aarch64;
mod assure;
mod book;
mod browser;
mod compression;
mod constant_time;
mod cross;
mod documents;
mod environment;
mod errors;
mod failure;
mod fuzz;
mod interop;
mod licences;
mod linkage;
mod named;
mod programs;
mod python;
mod quick;
mod readmes;
#[cfg(unix)]
mod release;
mod repository;
mod security;
mod side_by_side;
mod step;
mod supply;
mod tally;
mod test;
mod tidy;
mod tiers;

use std::process::ExitCode;

use self::{failure::Failure, repository::Repository};

/// Packages depend on file permissions, among other things.
#[cfg(not(unix))]
mod release {
    use crate::{Failure, repository::Repository};

    pub fn run(_repository: &Repository) -> Result<(), Failure> {
        Err("a release is built on Linux".to_owned())
    }

    pub fn rehearse(repository: &Repository) -> Result<(), Failure> {
        run(repository)
    }
}

const USAGE: &str = "\
usage: cargo xtask TASK

tasks:
  test           every check, and the tests of every change, the fastest first
  test STEP      one of these steps
  quick [CRATE]...
                 format, rules, clippy and unit tests of these crates, or of crates that changed since the
                 branch left `main`, and of the crates that depend on them (takes two minutes)
  assure         every test in full, for a release (takes hours)
  assure STEP    one of these steps
  fuzz [--seconds N] [TARGET]
                 all fuzz targets or one, for a minute or N seconds each; needs a nightly toolchain
  python         the tests of the package for Python, as `test` runs them
  wheel          the package for Python: a wheel for this system and a source distribution
  wheels         the package for Python: the wheels of a release
  browser        the package for browsers (WebAssembly) and its demo page
  browser --test the tests of the package for browsers, in Chromium
  constant-time  a check by valgrind that no branch and no address depends on a secret (takes minutes)
  aarch64        the tests of the kernels for AArch64 and of their users, emulated by QEMU
  cross          a check that everything compiles for Windows and macOS
  supply         the supply chain: licences, advisories, audits, minimum versions, and a repeated build in
                 another folder
  supply PART    one of these parts
  release        every package of a version, from a clean tree with the version's tag
  release --dry-run
                 every package of the checkout, each installed in an empty root and tried
  tidy           the rules of the code base: layers, unsafe code, names, sizes, manifests
  book           mdBook's preprocessor, by which the book's links lead to its pages (`mdbook serve`)
  docs           update the generated parts of the documents
  docs --check   fail if a generated part of a document is stale";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["fuzz", rest @ ..] = &args[..] {
        return ended(Repository::here().and_then(|repository| fuzz::run_with(&repository, rest)));
    }
    if let ["quick", names @ ..] = &args[..] {
        return ended(Repository::here().and_then(|here| quick::run(&here, names)));
    }
    if let ["test", step] = args[..] {
        return ended(Repository::here().and_then(|here| test::run_step(&here, step)));
    }
    if let ["assure", step] = args[..] {
        return ended(Repository::here().and_then(|here| assure::run_step(&here, step)));
    }
    if let ["supply", part] = args[..] {
        return ended(Repository::here().and_then(|here| supply::check_part(&here, part)));
    }
    let task = match args[..] {
        ["test"] => test::run,
        ["assure"] => assure::run,
        ["python"] => python::run,
        ["wheel"] => python::wheel,
        ["wheels"] => python::wheels,
        ["browser"] => browser::run,
        ["browser", "--test"] => browser::run_tests,
        ["constant-time"] => constant_time::run,
        ["aarch64"] => aarch64::run,
        ["cross"] => cross::check,
        ["supply"] => supply::check,
        ["release"] => release::run,
        ["release", "--dry-run"] => release::rehearse,
        ["tidy"] => tidy::run,
        ["book"] => book::prepare,
        // mdBook asks whether the pages are for this format.
        ["book", "supports", _format] => return ExitCode::SUCCESS,
        ["docs"] => documents::write,
        ["docs", "--check"] => documents::check,
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    ended(Repository::here().and_then(|repository| task(&repository)))
}

/// Reports why a task failed.
fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Standard output, like the tests' results, so that this is the last line.
            println!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
