//! The contents of the packages besides the program.

use std::{path::Path, process::Command};

use super::{
    folder,
    program::{FEATURES, TARGET},
    tool,
};
use crate::{Failure, licences, repository::Repository};

/// The licences of everything the program is built from.
pub const LICENCES: &str = "LICENSES-THIRD-PARTY.txt";

/// The folders in which shells look for completions, below `/usr/share` or a prefix's `share`, and the program's names
/// of the shells.
pub const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/vesica"),
    ("zsh", "zsh/site-functions/_vesica"),
    ("fish", "fish/vendor_completions.d/vesica.fish"),
];

/// Writes texts, manual pages and completions into a folder:
///
/// ```text
/// README.md  CHANGELOG.md  LICENSE-MIT  LICENSE-APACHE  LICENSES-THIRD-PARTY.txt
/// share/man/man1/…  share/bash-completion/…  share/zsh/…  share/fish/…
/// ```
///
/// # Errors
/// If the program does not run on this machine, or a licence is not found.
pub fn write(repository: &Repository, program: &Path, into: &Path) -> Result<(), Failure> {
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        folder::copy(&repository.path(name), &into.join(name))?;
    }
    let licences = licences::text(repository, "vesica-cli", FEATURES, &[TARGET])?;
    folder::write(&into.join(LICENCES), licences)?;
    let what = "a Linux kernel that runs the program's target";
    tool::run(Command::new(program).arg("man").arg(into.join("share/man/man1")), what)?;
    for (shell, place) in COMPLETIONS {
        let script = tool::run(Command::new(program).args(["completions", shell]), what)?;
        folder::write(&into.join("share").join(place), script)?;
    }
    Ok(())
}
