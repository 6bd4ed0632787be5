//! The crates of the workspace and their dependencies, according to cargo.

use std::path::Path;

use serde_json::Value;

use crate::{Failure, named, repository::Repository};

/// Files outside the crates on which all crates depend.
const SHARED: [&str; 4] = ["Cargo.toml", "Cargo.lock", "clippy.toml", "rust-toolchain.toml"];

/// Prefix of the names of most crates.
const PREFIX: &str = "vesica-";

/// The crates of the workspace.
pub struct Crates {
    members: Vec<Member>,
}

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    name: String,
    /// Its folder, relative to the root of the repository.
    folder: String,
    /// The crates that its library and programs depend on.
    needs: Vec<String>,
    /// The crates that only its tests and benchmarks depend on.
    tests_need: Vec<String>,
}

impl Crates {
    /// Reads the crates from cargo.
    pub fn of(repository: &Repository) -> Result<Self, Failure> {
        let args = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
        let ran = repository.cargo(&args).output();
        let ran = ran.map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !ran.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&ran.stderr)));
        }
        let metadata = serde_json::from_slice(&ran.stdout);
        Self::read(&metadata.map_err(|error| format!("cargo metadata: {error}"))?)
    }

    /// Reads cargo's metadata.
    fn read(metadata: &Value) -> Result<Self, Failure> {
        let root = metadata["workspace_root"].as_str().unwrap_or_default();
        let packages = metadata["packages"].as_array();
        let members = packages.into_iter().flatten().map(|package| Member::read(package, root));
        match members.collect::<Option<Vec<_>>>() {
            Some(members) if !members.is_empty() => Ok(Self { members }),
            _ => Err("cargo's metadata has another form than expected".to_owned()),
        }
    }

    /// Finds the crates by name, for instance `vesica-psi` or `psi`.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn named(&self, names: &[&str]) -> Result<Vec<&Member>, Failure> {
        let find =
            |name: &&str| named::find("crate", short(name), &self.members, |one| short(&one.name));
        names.iter().map(find).collect()
    }

    /// Finds the crates that these files belong to.
    pub fn owners(&self, files: &[String]) -> Vec<&Member> {
        let is_shared = |file: &String| SHARED.contains(&file.as_str());
        let owner = |file: &String| {
            let holders =
                self.members.iter().filter(|one| Path::new(file).starts_with(&one.folder));
            holders.max_by_key(|one| one.folder.len()).map(|one| &one.name)
        };
        let owners: Vec<&String> = files.iter().filter_map(owner).collect();
        let all = files.iter().any(is_shared);
        self.members.iter().filter(|one| all || owners.contains(&&one.name)).collect()
    }

    /// Adds the crates that depend on these, and those whose tests use one of these. A crate whose tests only use
    /// crates that depend on these is not added, because through the test kit this would be nearly every crate.
    pub fn with_dependents(&self, chosen: &[&Member]) -> Vec<&Member> {
        let has = |crates: &[&Member], needs: &[String]| {
            crates.iter().any(|one| needs.contains(&one.name))
        };
        let mut found = chosen.to_vec();
        loop {
            let is_new = |one: &&Member| !found.contains(one) && has(&found, &one.needs);
            let more: Vec<&Member> = self.members.iter().filter(is_new).collect();
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        let is_meant = |one: &&Member| found.contains(one) || has(chosen, &one.tests_need);
        self.members.iter().filter(is_meant).collect()
    }
}

impl Member {
    /// Returns the last part of its folder.
    pub fn folder_name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or_default()
    }

    /// Reads a package of cargo's metadata, in the workspace at `root`.
    fn read(package: &Value, root: &str) -> Option<Self> {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let folder = manifest.parent()?.strip_prefix(root).ok()?;
        let of_workspace =
            package["dependencies"].as_array()?.iter().filter(|needed| !needed["path"].is_null());
        let (for_tests, for_all): (Vec<_>, Vec<_>) =
            of_workspace.partition(|needed| needed["kind"] == "dev");
        let name = |needed: &Value| Some(needed["name"].as_str()?.to_owned());
        let names = |needed: Vec<&Value>| needed.into_iter().map(name).collect::<Option<_>>();
        Some(Self {
            name: package["name"].as_str()?.to_owned(),
            folder: folder.to_str()?.to_owned(),
            needs: names(for_all)?,
            tests_need: names(for_tests)?,
        })
    }
}

/// Returns a crate's name without the prefix that most have.
fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Builds a package in cargo's metadata. A dependency whose name begins with `dev:` is for tests.
    fn package(name: &str, folder: &str, needs: &[&str]) -> Value {
        let dependencies = needs.iter().map(|needed| match needed.strip_prefix("dev:") {
            Some(needed) => json!({"name": needed, "kind": "dev", "path": "/v"}),
            None => json!({"name": needed, "kind": null, "path": "/v"}),
        });
        let foreign = json!({"name": "rand", "kind": null});
        json!({
            "name": name,
            "manifest_path": format!("/v/{folder}/Cargo.toml"),
            "dependencies": dependencies.chain([foreign]).collect::<Vec<_>>(),
        })
    }

    fn workspace() -> Crates {
        let packages = [
            package("vesica-params", "crates/params", &["dev:vesica-testkit"]),
            package("vesica-ot", "crates/ot", &["vesica-params", "dev:vesica-testkit"]),
            package("vesica-psi", "crates/psi", &["vesica-ot", "dev:vesica-testkit"]),
            package("vesica-testkit", "crates/testkit", &["vesica-psi"]),
            package("vesica", "crates/vesica", &["vesica-psi"]),
            package("vesica-browser", "bindings/browser", &["vesica-params"]),
            package("vesica-python", "bindings/python", &["vesica"]),
            package("xtask", "xtask", &["vesica-params"]),
        ];
        Crates::read(&json!({"workspace_root": "/v", "packages": packages})).unwrap()
    }

    fn names(crates: &[&Member]) -> String {
        crates.iter().map(|one| short(&one.name)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_belongs_to_the_crate_around_it() {
        let workspace = workspace();
        for (files, owners) in [
            ("crates/ot/src/lib.rs", "ot"),
            ("crates/ot/Cargo.toml xtask/src/main.rs crates/ot/benches/cpu/mod.rs", "ot xtask"),
            ("bindings/browser/js/module.mjs", "browser"),
            // The folder of another crate, a removed crate, and files of no crate.
            (
                "crates/vesica-old/src/lib.rs crates/ot2/src/lib.rs docs/reference/cli.md README.md",
                "",
            ),
            ("Cargo.lock", "params ot psi testkit vesica browser python xtask"),
        ] {
            let files: Vec<String> = files.split(' ').map(str::to_owned).collect();
            assert_eq!(names(&workspace.owners(&files)), owners, "{files:?}");
        }
    }

    #[test]
    fn dependents_follow() {
        let workspace = workspace();
        for (chosen, all) in [
            ("", ""),
            ("python", "python"),
            ("psi", "psi testkit vesica python"),
            ("browser ot", "ot psi testkit vesica browser python"),
            ("testkit", "params ot psi testkit"),
            ("params", "params ot psi testkit vesica browser python xtask"),
        ] {
            let names_chosen: Vec<&str> = chosen.split_terminator(' ').collect();
            let found = workspace.with_dependents(&workspace.named(&names_chosen).unwrap());
            assert_eq!(names(&found), all, "{chosen}");
        }
    }

    #[test]
    fn a_crate_has_two_names() {
        let workspace = workspace();
        let found = workspace.named(&["vesica-psi", "ot", "vesica", "xtask"]).unwrap();
        assert_eq!(names(&found), "psi ot vesica xtask");
        let said = workspace.named(&["psy"]).unwrap_err();
        assert!(said.starts_with("`psy` is not a crate; choose one of `params`, `ot`"), "{said}");
    }

    #[test]
    fn the_crates_of_this_repository_are_read() {
        let workspace = Crates::of(&Repository::here().unwrap()).unwrap();
        let found = workspace.with_dependents(&workspace.named(&["params"]).unwrap());
        assert!(names(&found).ends_with("xtask") && found.len() > 10, "{}", names(&found));
        let other = Crates::read(&json!({"workspace_root": "/v", "packages": [{"name": "ot"}]}));
        assert!(other.is_err());
    }
}
