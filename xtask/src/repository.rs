//! The repository on disk: where it is, what is in it, and its cargo.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Failure;

/// Optional features of the workspace, which a build must request.
pub const OPTIONAL: &str = "vesica-cli/databases,vesica-cli/stores";

/// The repository that this task runs in.
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds it through the variables that `cargo run` sets.
    pub fn here() -> Result<Self, Failure> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or("run this as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().ok_or("xtask has no parent folder")?;
        Ok(Self { root: root.to_owned() })
    }

    /// Opens the repository at a place.
    #[cfg(test)]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Returns the path of a file or folder in it.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns a cargo command in its root, for the same cargo that runs this.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(args).current_dir(&self.root);
        forget_this_package(&mut command);
        command
    }

    /// Runs git in its root, and returns its output.
    pub fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let ran = Command::new("git").args(args).current_dir(&self.root).output();
        let ran = ran.map_err(|e| format!("git cannot be started: {e}"))?;
        if !ran.status.success() {
            return Err(format!("git {}: {}", args[0], String::from_utf8_lossy(&ran.stderr)));
        }
        String::from_utf8(ran.stdout).map_err(|_| format!("git {}: not UTF-8", args[0]))
    }

    /// Reads every file that git tracks or would add.
    pub fn tree(&self) -> Result<Tree, Failure> {
        let mut files = BTreeMap::new();
        for name in self.names()? {
            let bytes = fs::read(self.path(&name)).map_err(|e| format!("{name}: {e}"))?;
            files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(Tree { files })
    }

    /// Copies these files into a folder of this repository, which is emptied first.
    pub fn copied_to(&self, relative: &str) -> Result<Self, Failure> {
        let root = self.path(relative);
        let at = |error| format!("{}: {error}", root.display());
        if root.exists() {
            fs::remove_dir_all(&root).map_err(at)?;
        }
        for name in self.names()? {
            let to = root.join(&name);
            fs::create_dir_all(to.parent().unwrap_or(&root)).map_err(at)?;
            fs::copy(self.path(&name), to).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(Self { root })
    }

    /// Lists the names of all files that git tracks or would add.
    fn names(&self) -> Result<Vec<String>, Failure> {
        let names = self.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        // A file that was deleted may still be in the index.
        let there = names.split_terminator('\0').filter(|name| self.path(name).is_file());
        Ok(there.map(str::to_owned).collect())
    }
}

/// Removes the variables that `cargo run` sets for this package from a command's environment. If they differ from the
/// last time, cargo rebuilds packages whose build scripts read them, and everything that depends on these.
pub fn forget_this_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// Creates an empty folder.
pub fn emptied(folder: PathBuf) -> Result<PathBuf, Failure> {
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// Files by their path relative to the root, with `/` between folders.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Iterates over every file: path and text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Iterates over Rust sources.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Iterates over the manifests of the workspace's crates, each with the last part of its folder's path.
    pub fn manifests(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.files().filter_map(|(path, text)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            Some((folder.rsplit('/').next()?, path, text))
        })
    }

    /// Returns the text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
    }
}

#[cfg(test)]
impl FromIterator<(String, String)> for Tree {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        Self { files: files.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_git_knows_and_nothing_else() {
        let repository = Repository::here().unwrap();
        let copy = || repository.copied_to("target/supply/copied").unwrap();
        let root = copy().path("");
        fs::write(root.join("left-behind"), "").unwrap();
        let copy = copy();
        let read = |repository: &Repository| fs::read(repository.path("Cargo.lock")).unwrap();
        assert_eq!(read(&copy), read(&repository));
        assert!(copy.path("crates/cli/src/main.rs").is_file());
        assert!(!copy.path("target").exists() && !copy.path("left-behind").exists());
        fs::remove_dir_all(root).unwrap();
    }
}
