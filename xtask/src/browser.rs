//! The package for browsers, in `bindings/browser`: built with its demo page, and tested in a real Chromium with the
//! real program.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure, cross, licences,
    programs::Built,
    repository::{Repository, emptied},
    step::{self, Step, StepWork, ended},
    tally::Tally,
};

/// Its folder.
const PROJECT: &str = "bindings/browser";

/// Its crate.
const PACKAGE: &str = "vesica-browser";

/// The target it is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// The program that converts the compiler's output to a module for browsers, with its own workspace and lock file.
const BINDGEN: &str = "bindings/browser/bindgen/Cargo.toml";

/// Maximum size of the compressed module.
const MOST_BYTES: usize = 600_000;

/// Names of Chromium's program.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// `cargo xtask browser`: builds the package and the demo page into `target/browser`.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    cross::installed(repository, TARGET)?;
    build(repository)?;
    println!("the package is in {}", repository.path("target/browser/package").display());
    println!("the page is in {}", repository.path("target/browser/demo").display());
    Ok(())
}

/// `cargo xtask browser --test`: runs only the tests, and fails if a prerequisite is missing.
pub fn run_tests(repository: &Repository) -> Result<(), Failure> {
    step::run(&[Step { work: StepWork::Tests(test_in_full), ..STEP }], repository)
}

/// The tests, if their prerequisites are installed. Otherwise the step reports what is missing.
pub const STEP: Step =
    Step { name: "the package for browsers", minutes: 6, work: StepWork::Tests(test_if_can_be) };

fn test_if_can_be(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    match tools(repository) {
        Ok(chromium) => test(repository, tally, &chromium),
        Err(missing) => {
            println!("    browser: NOT TESTED: {missing}");
            Ok(())
        }
    }
}

/// Runs the tests, and fails if a prerequisite is missing.
pub fn test_in_full(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let chromium = tools(repository)?;
    test(repository, tally, &chromium)
}

/// Finds the prerequisites of the tests: Chromium, Node.js and the standard library.
fn tools(repository: &Repository) -> Result<String, Failure> {
    let answers = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let named = env::var("CHROMIUM").ok();
    let mut names = named.as_deref().into_iter().chain(CHROMIUM);
    let chromium = names.find(|name| answers(name));
    let chromium = chromium.ok_or(
        "Chromium is missing (install the package `chromium`, or set CHROMIUM to its path)",
    )?;
    if !answers("node") {
        return Err("no Node.js (package `nodejs`)".to_owned());
    }
    cross::installed(repository, TARGET)?;
    Ok(chromium.to_owned())
}

fn test(repository: &Repository, tally: &mut Tally, chromium: &str) -> Result<(), Failure> {
    build(repository)?;
    let built = Built::here(repository, &[])?;
    let mut command = Command::new("node");
    command.arg(repository.path(PROJECT).join("tests/run.mjs"));
    command.args([built.binary("vesica")?, chromium]);
    command.arg(repository.path("target/browser/demo"));
    command.arg(repository.path("target/browser/pictures"));
    ended("node tests/run.mjs", tally.count(&mut command))
}

/// Builds the package, and the page that contains it.
fn build(repository: &Repository) -> Result<(), Failure> {
    let args = ["build", "--locked", "--lib", "--package", PACKAGE, "--target", TARGET];
    let args = [&args[..], &["--profile", "browser"]].concat();
    ended(&format!("cargo {}", args.join(" ")), repository.cargo(&args).status())?;
    let package = emptied(repository.path("target/browser/package"))?;
    let module = repository.path("target").join(TARGET).join("browser/vesica_browser.wasm");
    let mut command = Command::new(bindgen(repository)?);
    ended("bindgen", command.arg(&module).arg(package.join("wasm")).status())?;
    let project = repository.path(PROJECT);
    copied(&project.join("js"), &package)?;
    for name in ["package.json", "README.md"] {
        copied(&project.join(name), &package.join(name))?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copied(&repository.path(name), &package.join(name))?;
    }
    let licences = licences::text(repository, PACKAGE, "", &[TARGET])?;
    write(&package.join("LICENSES-THIRD-PARTY.txt"), licences.as_bytes())?;
    let demo = emptied(repository.path("target/browser/demo"))?;
    copied(&project.join("demo"), &demo)?;
    let inside = demo.join("vesica");
    fs::create_dir(&inside).map_err(|error| format!("{}: {error}", inside.display()))?;
    copied(&project.join("js"), &inside)?;
    copied(&package.join("wasm"), &inside.join("wasm"))?;
    compress(repository, &inside.join("wasm/vesica_browser_bg.wasm"))
}

/// Compresses the module, prints its size, and fails if it is too large.
fn compress(repository: &Repository, module: &Path) -> Result<(), Failure> {
    let mut command = Command::new("node");
    command.arg(repository.path(PROJECT).join("compress.mjs")).arg(module);
    ended("node compress.mjs", command.arg(MOST_BYTES.to_string()).status())
}

/// Builds [`BINDGEN`].
fn bindgen(repository: &Repository) -> Result<PathBuf, Failure> {
    let tools = repository.path("target/browser/tools");
    let args = ["build", "--quiet", "--locked", "--manifest-path", BINDGEN];
    let mut command = repository.cargo(&args);
    ended("cargo build of bindgen", command.arg("--target-dir").arg(&tools).status())?;
    Ok(tools.join("debug").join(format!("bindgen{}", env::consts::EXE_SUFFIX)))
}

/// Copies a file, or the contents of a folder.
fn copied(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error| format!("{}: {error}", from.display());
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(failed);
    }
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        copied(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
