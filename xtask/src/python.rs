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

/// What builds it.
const BUILDER: &str = "maturin==1.16.0";

/// What the tests of the package need.
const REQUIREMENTS: &str = "tests/requirements.txt";

/// What those need besides that run only in full: Spark, Ray and an object store.
const REQUIREMENTS_IN_FULL: &str = "tests/requirements-full.txt";

/// The oldest release of Spark for which the package is.
const OLDEST_SPARK: &str = "tests/requirements-spark-3.5.txt";

/// The tests with Spark.
const TESTS_OF_SPARK: &str = "tests/test_spark.py";

/// What a released package has beside the default.
const FEATURES: &str = "databases,stores";

/// The licences of what it is built from, which go into it.
const LICENCES: &str = "bindings/python/LICENSES-THIRD-PARTY.txt";

/// The wheels of a release: a target of Rust, and the least that a system needs, as the wheel's name says it.
/// manylinux2014 is glibc 2.17.
const WHEELS: [(&str, &str); 4] = [
    ("x86_64-unknown-linux-gnu", "manylinux2014"),
    ("aarch64-unknown-linux-gnu", "manylinux2014"),
    ("x86_64-unknown-linux-musl", "musllinux_1_2"),
    ("aarch64-unknown-linux-musl", "musllinux_1_2"),
];

/// `cargo xtask wheel`: a wheel for this system and a source distribution, into `target/wheels`.
pub fn wheel(repository: &Repository) -> Result<(), Failure> {
    let out = repository.path("target/wheels");
    write_licences(repository)?;
    let tools = tools(repository)?;
    maturin(repository, &tools, &["build", "--release", "--locked", "--sdist"], &out)?;
    println!("the packages are in {}", out.display());
    Ok(())
}

/// `cargo xtask wheels`: the wheels of a release and a source distribution, into `target/wheels`.
pub fn wheels(repository: &Repository) -> Result<(), Failure> {
    let out = repository.path("target/wheels");
    wheels_into(repository, &out)?;
    println!("the packages are in {}", out.display());
    Ok(())
}

/// The same into another folder.
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

/// `cargo xtask python`: the tests alone.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    step::run(&[STEP], repository)
}

/// The package, built as fast as can be, and its tests.
pub const STEP: Step =
    Step { name: "the package for Python", minutes: 2, work: StepWork::Tests(test) };

/// Builds the package as fast as can be, installs it where there is nothing else, and runs its tests there.
fn test(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    // What a released package has beside the default takes as long again to build.
    let args = ["build", "--profile", "dev", "--locked", "--features", ""];
    installed(repository, tally, &args, &[REQUIREMENTS], &[]).map(drop)
}

/// Does the same with the package as it is released, and runs its tests in full, those of Spark also with the oldest one.
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

/// The environment with what builds packages.
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

/// The one file in a folder.
fn only_file(folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| format!("{}: {error}", folder.display());
    let files: Result<Vec<_>, _> =
        fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|e| e.path())).collect();
    match &files.map_err(failed)?[..] {
        [file] => Ok(file.clone()),
        files => Err(format!("{} has {} files, and not one", folder.display(), files.len())),
    }
}
