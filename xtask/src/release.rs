//! `cargo xtask release`: every package of a version, in one folder, with their checksums.
//!
//! Nothing is published here. A rehearsal builds the same packages from the present checkout, then installs each in an
//! empty root and runs the demo there.

mod archive;
pub mod checksums;
mod clean_root;
mod contents;
mod deb;
mod folder;
mod formula;
mod image;
mod parts;
pub mod program;
mod sbom;
mod tool;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use self::{clean_root::CleanRoot, parts::Parts, program::TARGET, tool::at};
use crate::{Failure, python, repository::Repository};

/// Builds every package of the checked-out version.
///
/// # Errors
/// If the work tree has changes, or its commit does not have the version's tag.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    let version = version(repository)?;
    let changed = git(repository, &["status", "--porcelain"])?;
    let tags = git(repository, &["tag", "--points-at", "HEAD"])?;
    released(&version, &changed, &tags)?;
    let packages = Packages::build(repository, &version)?;
    packages.tell()
}

/// Builds every package of the checkout, and tries each in an empty root.
pub fn rehearse(repository: &Repository) -> Result<(), Failure> {
    let packages = Packages::build(repository, &version(repository)?)?;
    packages.try_each(repository)?;
    packages.tell()
}

/// Refuses a state from which a version must not be built.
fn released(version: &str, changed: &str, tags: &str) -> Result<(), Failure> {
    if !changed.is_empty() {
        return Err(format!(
            "a release must be built from a commit, but these files have changes:\n{changed}"
        ));
    }
    match tags.lines().any(|tag| tag == format!("v{version}")) {
        true => Ok(()),
        false => Err(format!(
            "this commit does not have the tag `v{version}`; use `cargo xtask release --dry-run` without a tag"
        )),
    }
}

/// The results of a build.
struct Packages {
    version: String,
    folder: PathBuf,
    archive: PathBuf,
    deb: PathBuf,
    image: PathBuf,
}

impl Packages {
    fn build(repository: &Repository, version: &str) -> Result<Self, Failure> {
        let folder = repository.path(&format!("target/release-{version}"));
        folder::empty(&folder)?;
        println!("    the program for {TARGET}");
        let program = program::build(repository, &program::cargo_home()?)?;
        println!("    the archive of the program");
        let name = format!("vesica-{version}-{TARGET}");
        let work = repository.path("target/release-work/archive");
        folder::empty(&work)?;
        let contents = work.join(&name);
        contents::write(repository, &program, &contents)?;
        folder::copy(&program, &contents.join("bin/vesica"))?;
        let archive = folder.join(format!("{name}.tar.gz"));
        archive::pack(&archive, &work, &name)?;
        let parts =
            Parts { repository, version, program: &program, contents: &contents, out: &folder };
        println!("    the package for Debian");
        let deb = deb::build(&parts)?;
        println!("    the image for containers");
        let image = image::build(&parts)?;
        println!("    the sources and the formula for Homebrew");
        let sources = sources(repository, version, &folder)?;
        println!("    the bill of materials");
        sbom::write(repository, version, &sources, &folder)?;
        println!("    the package for Python");
        python::wheels_into(repository, &folder)?;
        checksums::write_list(&folder)?;
        Ok(Self { version: version.to_owned(), folder, archive, deb, image })
    }

    fn try_each(&self, repository: &Repository) -> Result<(), Failure> {
        let root = |name: &str| {
            CleanRoot::new(&repository.path(&format!("target/release-work/{name}-root")))
        };
        let clean = root("archive")?;
        archive::unpack(&self.archive, clean.folder())?;
        let [unpacked] = &inside(clean.folder(), "vesica-")?[..] else {
            return Err("the archive of the program must contain exactly one folder".to_owned());
        };
        clean.demo(&format!("/{unpacked}/bin/vesica"))?;
        println!("    tried: the archive, unpacked into an empty root: the demo ran");
        let clean = root("deb")?;
        deb::install(&self.deb, clean.folder())?;
        clean.demo("/usr/bin/vesica")?;
        println!("    tried: the package for Debian, unpacked into an empty root: the demo ran");
        let clean = root("image")?;
        image::install(repository, &self.image, clean.folder())?;
        clean.demo(image::PROGRAM)?;
        println!(
            "    tried: the image, digests checked and its layer in an empty root: the demo ran"
        );
        let outcome = formula::check(&self.folder.join("vesica.rb"))?;
        println!("    tried: the formula for Homebrew: {outcome}");
        for name in inside(&self.folder, "vesica-")?.iter().filter(|name| name.ends_with(".whl")) {
            let outcome = wheel::check(repository, &self.folder.join(name))?;
            println!("    tried: {name}: {outcome}");
        }
        let sources = self.folder.join(format!("vesica-{}.tar.gz", self.version));
        wheel::check_sources(repository, &sources)?;
        println!("    tried: the source distribution: cargo finds all of its crates; not built");
        let mut check = Command::new("sha256sum");
        check.args(["--check", "--strict", "--quiet", checksums::LIST]).current_dir(&self.folder);
        tool::run(&mut check, "coreutils")?;
        println!("    tried: {} by sha256sum: every file is right", checksums::LIST);
        Ok(())
    }

    /// Lists the packages.
    fn tell(&self) -> Result<(), Failure> {
        println!("in {}:", self.folder.display());
        for name in folder::names(&self.folder)? {
            let path = self.folder.join(&name);
            let size = fs::metadata(&path).map_err(at(&path))?.len();
            println!("    {:>10.1} KB  {name}", size as f64 / 1000.0);
        }
        Ok(())
    }
}

/// Makes the archive of the sources, which it returns, and the formula that builds them.
fn sources(repository: &Repository, version: &str, out: &Path) -> Result<PathBuf, Failure> {
    let name = format!("vesica-{version}-source.tar.gz");
    let prefix = format!("--prefix=vesica-{version}/");
    let path = out.join(&name);
    let output = format!("--output={}", path.display());
    git(repository, &["archive", "--format=tar.gz", &prefix, &output, "HEAD"])?;
    formula::write(version, &name, &checksums::of_file(&path)?, out)?;
    Ok(path)
}

/// Lists the entries of a folder whose names begin like this.
fn inside(folder: &Path, beginning: &str) -> Result<Vec<String>, Failure> {
    let names = folder::names(folder)?;
    Ok(names.into_iter().filter(|name| name.starts_with(beginning)).collect())
}

fn git(repository: &Repository, args: &[&str]) -> Result<String, Failure> {
    tool::run(Command::new("git").args(args).current_dir(repository.path("")), "git")
}

/// Returns the version of the workspace.
fn version(repository: &Repository) -> Result<String, Failure> {
    let manifest = repository.path("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(at(&manifest))?;
    let version =
        text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| "Cargo.toml does not name a version".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_of_a_clean_tree_with_the_tag_of_its_version() {
        assert_eq!(released("1.2.3", "", "latest\nv1.2.3\n"), Ok(()));
        assert!(released("1.2.3", " M README.md\n", "v1.2.3\n").unwrap_err().contains("README.md"));
        assert!(released("1.2.3", "", "v1.2.30\n").unwrap_err().contains("the tag `v1.2.3`"));
    }
}
