//! The package for Python: built as a wheel and a source distribution, and tested where it was installed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Failure, cross,
    environment::Environment,
    licences,
    repository::{Repository, emptied},
    step::{self, Step, StepWork, ended},
    tally::Tally,
    tiers,
};

/// The folder of the package.
const PROJECT: &str = "bindings/python";

/// The build tool.
const BUILDER: &str = "maturin==1.16.0";

/// The requirements of the package's tests.
const REQUIREMENTS: &str = "tests/requirements.txt";

/// The additional requirements of the tests that run only in full: Spark, Ray and an object store.
const REQUIREMENTS_IN_FULL: &str = "tests/requirements-full.txt";

/// The oldest supported release of Spark.
const OLDEST_SPARK: &str = "tests/requirements-spark-3.5.txt";

/// The tests with Spark.
const TESTS_OF_SPARK: &str = "tests/test_spark.py";

/// The features of a released package in addition to the default.
const FEATURES: &str = "databases,stores";

/// The licences of everything the package is built from, which it contains.
const LICENCES: &str = "bindings/python/LICENSES-THIRD-PARTY.txt";

/// The wheels of a release: a target of Rust, and the minimum system, as in the wheel's name. manylinux2014 is glibc
/// 2.17.
const WHEELS: [(&str, &str); 4] = [
    ("x86_64-unknown-linux-gnu", "manylinux2014"),
    ("aarch64-unknown-linux-gnu", "manylinux2014"),
    ("x86_64-unknown-linux-musl", "musllinux_1_2"),
    ("aarch64-unknown-linux-musl", "musllinux_1_2"),
];

/// `cargo xtask wheel`: builds a wheel for this system and a source distribution into `target/wheels`.
pub fn wheel(repository: &Repository) -> Result<(), Failure> {
    let out = repository.path("target/wheels");
    write_licences(repository)?;
    let tools = tools(repository)?;
    maturin(repository, &tools, &["build", "--release", "--locked", "--sdist"], &out)?;
    println!("the packages are in {}", out.display());
    Ok(())
}

/// `cargo xtask wheels`: builds the wheels of a release and a source distribution into `target/wheels`.
pub fn wheels(repository: &Repository) -> Result<(), Failure> {
    let out = repository.path("target/wheels");
    wheels_into(repository, &out)?;
    println!("the packages are in {}", out.display());
    Ok(())
}

/// Builds the wheels of a release into another folder.
pub fn wheels_into(repository: &Repository, out: &Path) -> Result<(), Failure> {
    WHEELS.iter().try_for_each(|(target, _)| cross::installed(repository, target))?;
    write_licences(repository)?;
    let tools = cross::tools(repository)?;
    tools.install(&[BUILDER])?;
    for (target, platform) in WHEELS {
        let system = ["--zig", "--target", target, "--compatibility", platform];
        maturin(
            repository,
            &tools,
            &[&["build", "--release", "--locked"], &system[..]].concat(),
            out,
        )?;
    }
    maturin(repository, &tools, &["sdist"], out)
}

/// `cargo xtask python`: runs only the tests.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    step::run(&[STEP], repository)
}

/// Builds the package without optimisation, and runs its tests.
pub const STEP: Step =
    Step { name: "the package for Python", minutes: 2, work: StepWork::Tests(test) };

/// Builds the package as fast as possible, installs it into an empty environment, and runs its tests there.
fn test(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    // The additional features of a released package would double the build time.
    let args = ["build", "--profile", "dev", "--locked", "--features", ""];
    installed(repository, tally, &args, &[REQUIREMENTS], &[]).map(drop)
}

/// Works like `test` with the package as released, and runs its tests in full. The tests of Spark also run with its
/// oldest release.
pub fn test_in_full(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let args = ["build", "--release", "--locked"];
    let requirements = [REQUIREMENTS, REQUIREMENTS_IN_FULL];
    let clean = installed(repository, tally, &args, &requirements, &[tiers::IN_FULL])?;
    require(repository, &clean, OLDEST_SPARK)?;
    pytest(repository, tally, &clean, &[TESTS_OF_SPARK], &[tiers::IN_FULL])
}

fn installed(
    repository: &Repository,
    tally: &mut Tally,
    args: &[&str],
    requirements: &[&str],
    env: &[(&str, &str)],
) -> Result<Environment, Failure> {
    write_licences(repository)?;
    let tools = tools(repository)?;
    let out = emptied(repository.path("target/python/wheel"))?;
    maturin(repository, &tools, args, &out)?;
    let wheel = only_file(&out)?;
    let clean = Environment::new(emptied(repository.path("target/python/clean"))?)?;
    clean.install(&[wheel.as_os_str().to_string_lossy().as_ref()])?;
    for name in requirements {
        require(repository, &clean, name)?;
    }
    pytest(repository, tally, &clean, &[], env)?;
    Ok(clean)
}

fn require(repository: &Repository, clean: &Environment, name: &str) -> Result<(), Failure> {
    let file = repository.path(PROJECT).join(name);
    clean.install(&["--requirement", &file.to_string_lossy()])
}

/// Runs these tests, or all.
fn pytest(
    repository: &Repository,
    tally: &mut Tally,
    clean: &Environment,
    tests: &[&str],
    env: &[(&str, &str)],
) -> Result<(), Failure> {
    let mut command = clean.command("python");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(tests);
    command.current_dir(repository.path(PROJECT)).envs(env.iter().copied());
    ended("pytest", tally.count(&mut command))
}

fn write_licences(repository: &Repository) -> Result<(), Failure> {
    let targets = WHEELS.map(|(target, _)| target);
    let text = licences::text(repository, "vesica-python", FEATURES, &targets)?;
    fs::write(repository.path(LICENCES), text).map_err(|error| format!("{LICENCES}: {error}"))
}

/// Returns the environment with the build tools.
fn tools(repository: &Repository) -> Result<Environment, Failure> {
    let tools = Environment::new(repository.path("target/python/tools"))?;
    tools.install(&[BUILDER])?;
    Ok(tools)
}

fn maturin(
    repository: &Repository,
    tools: &Environment,
    args: &[&str],
    out: &Path,
) -> Result<(), Failure> {
    let mut command = match args.contains(&"--zig") {
        true => cross::command(tools, "maturin"),
        false => tools.command("maturin"),
    };
    command.args(args).arg("--out").arg(out).current_dir(repository.path(PROJECT));
    ended(&format!("maturin {}", args.join(" ")), command.status())
}

/// Returns the only file in a folder.
fn only_file(folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| format!("{}: {error}", folder.display());
    let files: Result<Vec<_>, _> =
        fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|e| e.path())).collect();
    match &files.map_err(failed)?[..] {
        [file] => Ok(file.clone()),
        files => Err(format!("{} has {} files instead of one", folder.display(), files.len())),
    }
}
