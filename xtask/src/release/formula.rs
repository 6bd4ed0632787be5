//! The formula for Homebrew, which builds the program from the archive of the sources.

use std::{path::Path, process::Command};

use super::{folder, tool};
use crate::Failure;

/// The formula, with placeholders that a release fills in.
const TEMPLATE: &str = include_str!("../../../packaging/vesica.rb.in");

/// Writes the formula for an archive of sources with this digest.
pub fn write(version: &str, archive: &str, digest: &str, out: &Path) -> Result<(), Failure> {
    folder::write(&out.join("vesica.rb"), filled(version, archive, digest))
}

/// Checks that Ruby can read the formula, or reports that Ruby is missing.
pub fn check(formula: &Path) -> Result<String, Failure> {
    match Command::new("ruby").arg("--version").output() {
        Ok(_) => tool::run(Command::new("ruby").arg("-c").arg(formula), "ruby")
            .map(|_| "Ruby reads it; not installed, which takes Homebrew".to_owned()),
        Err(_) => Ok("NOT CHECKED: `ruby` is missing, install it".to_owned()),
    }
}

fn filled(version: &str, archive: &str, digest: &str) -> String {
    TEMPLATE.replace("@VERSION@", version).replace("@ARCHIVE@", archive).replace("@SHA256@", digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_template_is_filled() {
        let formula = filled("1.2.3", "vesica-1.2.3-source.tar.gz", "00ff");
        for line in ["  version \"1.2.3\"", "  sha256 \"00ff\""] {
            assert!(formula.lines().any(|found| found == line), "{line}");
        }
        assert!(formula.contains("/vesica-1.2.3-source.tar.gz\"") && !formula.contains('@'));
    }
}
