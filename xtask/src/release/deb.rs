//! The package for Debian and Ubuntu.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{contents::LICENCES, folder, parts::Parts, tool};
use crate::Failure;

/// Debian's name of the architecture.
const ARCHITECTURE: &str = "amd64";

/// Builds the package from the program and the folder of its contents.
pub fn build(parts: &Parts<'_>) -> Result<PathBuf, Failure> {
    let Parts { repository, version, program, contents, out } = *parts;
    let root = repository.path("target/release-work/deb");
    folder::empty(&root)?;
    folder::copy(program, &root.join("usr/bin/vesica"))?;
    let share = root.join("usr/share");
    let mut copy = Command::new("cp");
    tool::run(copy.arg("-r").arg(contents.join("share")).arg(&share), "coreutils")?;
    // Debian's zsh has another folder for completions of packages.
    let vendor = share.join("zsh/vendor-completions");
    fs::rename(share.join("zsh/site-functions"), &vendor).map_err(tool::at(&vendor))?;
    let pages = share.join("man/man1");
    for page in folder::names(&pages)? {
        tool::run(Command::new("gzip").args(["-9", "-n"]).arg(pages.join(page)), "gzip")?;
    }
    let documents = share.join("doc/vesica");
    for name in ["README.md", "CHANGELOG.md"] {
        folder::copy(&contents.join(name), &documents.join(name))?;
    }
    let text = |name: &str| {
        let path = contents.join(name);
        fs::read_to_string(&path).map_err(tool::at(&path))
    };
    let copyright = copyright(&text("LICENSE-MIT")?, &text("LICENSE-APACHE")?, &text(LICENCES)?);
    folder::write(&documents.join("copyright"), copyright)?;
    let unit = root.join("usr/lib/systemd/system/vesica.service");
    folder::copy(&repository.path("packaging/vesica.service"), &unit)?;
    let size = fs::metadata(program).map_err(tool::at(program))?.len().div_ceil(1024);
    folder::write(&root.join("DEBIAN/control"), control(version, size))?;
    permit(&root)?;
    let package = out.join(format!("vesica_{version}_{ARCHITECTURE}.deb"));
    let mut command = Command::new("dpkg-deb");
    command.env("SOURCE_DATE_EPOCH", "0").args(["--root-owner-group", "--build", "-Zxz"]);
    tool::run(command.arg(&root).arg(&package), "dpkg")?;
    Ok(package)
}

/// Installs the package into a folder that serves as a system's root.
pub fn install(package: &Path, root: &Path) -> Result<(), Failure> {
    tool::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(root), "dpkg").map(drop)
}

/// Returns the package's description for dpkg, with `size` in KiB.
fn control(version: &str, size: u64) -> String {
    format!(
        "Package: vesica\nVersion: {version}\nArchitecture: {ARCHITECTURE}\nMaintainer: The authors of Vesica\n\
         Installed-Size: {size}\nSection: net\nPriority: optional\n\
         Description: private set intersection\n \
         Two parties with a table each learn which keys they share, and nothing about\n the others. \
         This package has the program, linked statically, its manual pages,\n completions for shells, \
         and a unit of systemd, which is not enabled.\n"
    )
}

/// Returns the licences in one file, as Debian requires.
fn copyright(mit: &str, apache: &str, others: &str) -> String {
    format!(
        "Vesica is under either of two licences, at your choice: MIT or Apache-2.0.\n\n{mit}\n{}\n{apache}\n{}\n{others}",
        "-".repeat(72),
        "-".repeat(72)
    )
}

/// Lets everybody enter the folders, run the program, and read the other files.
fn permit(path: &Path) -> Result<(), Failure> {
    let folder = path.is_dir();
    let mode = if folder || path.ends_with("usr/bin/vesica") { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(tool::at(path))?;
    if folder {
        for name in folder::names(path)? {
            permit(&path.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_what_dpkg_requires_and_no_empty_line() {
        let control = control("1.2.3", 4567);
        for field in
            ["Package: vesica", "Version: 1.2.3", "Architecture: amd64", "Installed-Size: 4567"]
        {
            assert!(control.lines().any(|line| line == field), "{field}");
        }
        let (_, description) = control.split_once("Description: ").unwrap();
        assert!(description.lines().skip(1).all(|line| line.starts_with(' ')));
        assert!(control.ends_with('\n') && !control.contains("\n\n"));
        for field in ["Maintainer: ", "Section: ", "Priority: "] {
            assert!(control.contains(&format!("\n{field}")), "{field}");
        }
    }

    #[test]
    fn every_licence_is_in_the_file_of_copyrights() {
        let all = copyright("MIT text", "Apache text", "aes 0.9.0: MIT");
        assert!(["MIT text", "Apache text", "aes 0.9.0"].iter().all(|text| all.contains(text)));
    }
}
