//! The wheels of a release, each tried on its system.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{archive, folder, tool};
use crate::{Failure, environment::Environment, repository::Repository, step::ended};

/// The emulator of the other processor, and the program that creates a system for it.
const EMULATOR: &str = "qemu-aarch64-static";
const BOOTSTRAP: &str = "debootstrap";

/// Debian's name of the processor, and the version of Debian whose Python is used.
const ARCHITECTURE: &str = "arm64";
const SUITE: &str = "bookworm";

/// Runs both sides in one process, with tables in files.
const PAIR: &str = r#"
import concurrent.futures, pathlib, platform, vesica
for name, begin in (("a.csv", 0), ("b.csv", 7000)):
    rows = "\n".join(f"u{number}@example.org" for number in range(begin, begin + 10000))
    pathlib.Path(name).write_text("email\n" + rows + "\n")
ends = zip(("a.csv", "b.csv"), vesica.local_pair())
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    runs = [
        pool.submit(vesica.intersect, table, key="email", learns="both", partner=end)
        for table, end in ends
    ]
for run in runs:
    assert len(run.result().rows) == run.result().count == 3000, run.result()
print("found 3000 on", platform.machine())
"#;

/// Tries a wheel on the system in its name, and reports how, or why it could not be tried.
pub fn check(repository: &Repository, wheel: &Path) -> Result<String, Failure> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("musllinux") {
        return Ok("NOT TRIED: Debian does not have a package of Python for musl".to_owned());
    }
    if name.contains("aarch64") {
        return emulated(repository, wheel);
    }
    here(repository, wheel)
}

/// Installs the wheel in an empty environment, imports it, and runs the demo of its command.
fn here(repository: &Repository, wheel: &Path) -> Result<String, Failure> {
    let folder = repository.path("target/release-work/environment");
    folder::empty(&folder)?;
    let clean = Environment::new(folder)?;
    clean.install(&["--no-index", &wheel.to_string_lossy()])?;
    let imports = clean.command("python").args(["-c", "import vesica"]).status();
    ended("python -c 'import vesica'", imports)?;
    ended("vesica demo", clean.command("vesica").args(["demo", "--rows", "10000"]).status())?;
    Ok("in an empty environment: imported, and the demo ran".to_owned())
}

/// Unpacks the source distribution, and checks that cargo finds all crates of the package there.
pub fn check_sources(repository: &Repository, archive: &Path) -> Result<(), Failure> {
    let folder = repository.path("target/release-work/sources");
    folder::empty(&folder)?;
    archive::unpack(archive, &folder)?;
    let [name] = &folder::names(&folder)?[..] else {
        return Err("the source distribution must contain exactly one folder".to_owned());
    };
    let mut cargo = repository.cargo(&["tree", "--locked", "--offline", "-e", "normal,build"]);
    cargo.current_dir(folder.join(name).join("bindings/python"));
    tool::run(&mut cargo, "Rust").map(drop)
}

/// Runs both sides of an intersection on the other processor, emulated, with Debian's Python.
fn emulated(repository: &Repository, wheel: &Path) -> Result<String, Failure> {
    for program in [EMULATOR, BOOTSTRAP] {
        if Command::new(program).arg("--version").output().is_err() {
            return Ok(format!(
                "NOT TRIED: `{program}` is missing, install it (qemu-user-static, debootstrap)"
            ));
        }
    }
    let root = system(repository)?;
    let site = repository.path("target/release-work/wheel");
    folder::empty(&site)?;
    // It refuses a wheel for another system.
    let such = ["--platform", "manylinux2014_aarch64", "--only-binary", ":all:", "--no-deps"];
    let into = ["--no-index", "--python-version", "3.10", "--target"];
    let here = Environment::new(repository.path("target/python/tools"))?;
    let (site, wheel) = (site.to_string_lossy(), wheel.to_string_lossy());
    here.install(&[&such[..], &into, &[&site, &wheel]].concat())?;
    let mut command = Command::new(EMULATOR);
    command.arg("-L").arg(&root).arg(root.join("usr/bin/python3.11")).args(["-c", PAIR]);
    command.env("PYTHONPATH", &*site).current_dir(&*site);
    let printed = tool::run(&mut command, "qemu-user-static")?;
    match printed.contains("found 3000 on aarch64") {
        true => Ok("under emulation: imported, and two sides found their intersection".to_owned()),
        false => Err(format!("the wheel for AArch64 printed:\n{printed}")),
    }
}

/// Creates a Debian system for the other processor, unpacked but not set up. It is kept for later runs.
fn system(repository: &Repository) -> Result<PathBuf, Failure> {
    let root = repository.path("target/release-work").join(ARCHITECTURE);
    let done = root.join("unpacked");
    if done.exists() {
        return Ok(root);
    }
    folder::empty(&root)?;
    let architecture = format!("--arch={ARCHITECTURE}");
    let what = ["--foreign", "--variant=minbase", "--include=python3"];
    let mut command = Command::new(BOOTSTRAP);
    tool::run(command.arg(architecture).args(what).arg(SUITE).arg(&root), BOOTSTRAP)?;
    let archives = root.join("var/cache/apt/archives");
    for name in folder::names(&archives)?.iter().filter(|name| name.ends_with(".deb")) {
        let mut command = Command::new("dpkg-deb");
        tool::run(command.arg("-x").arg(archives.join(name)).arg(&root), "dpkg")?;
    }
    fs::write(&done, "").map_err(tool::at(&done))?;
    Ok(root)
}
