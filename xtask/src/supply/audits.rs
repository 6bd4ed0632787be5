//! Checks dependencies with records of other people: their sources, known vulnerabilities, and audits.

use crate::{Failure, repository::Repository, step::ended};

/// Checks versions and sources against `deny.toml` and, if the database can be reached, advisories and yanked versions.
pub fn deny(repository: &Repository) -> Result<(), Failure> {
    installed(repository, "deny")?;
    cargo(repository, &["deny", "--locked", "check", "bans", "sources"])?;
    match cargo(repository, &["deny", "--locked", "fetch", "db"]) {
        Ok(()) => {
            cargo(repository, &["deny", "--locked", "check", "--disable-fetch", "advisories"])
        }
        Err(_) => {
            println!(
                "    NOT CHECKED: advisories, because their database (RustSec) cannot be reached"
            );
            Ok(())
        }
    }
}

/// Checks `supply-chain/`: every dependency was audited by us or by people we trust, or is exempted by name and
/// version.
pub fn vet(repository: &Repository) -> Result<(), Failure> {
    installed(repository, "vet")?;
    cargo(repository, &["vet", "--locked"])
}

/// Checks that a cargo subcommand is installed.
///
/// # Errors
/// A message that says what to install.
pub fn installed(repository: &Repository, name: &str) -> Result<(), Failure> {
    let asked = repository.cargo(&[name, "--version"]).output();
    match asked.is_ok_and(|asked| asked.status.success()) {
        true => Ok(()),
        false => Err(format!("`cargo {name}` is missing: `cargo install cargo-{name} --locked`")),
    }
}

fn cargo(repository: &Repository, args: &[&str]) -> Result<(), Failure> {
    ended(&format!("cargo {}", args.join(" ")), repository.cargo(args).status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_command_is_told_with_what_to_install() {
        let repository = Repository::here().unwrap();
        let told = installed(&repository, "no-such-command").unwrap_err();
        assert!(told.ends_with("`cargo install cargo-no-such-command --locked`"), "{told}");
        assert_eq!(installed(&repository, "clippy"), Ok(()));
    }
}
