//! Parts of documents that are generated from the code, so that the two always agree.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::{
    Failure, assure, compression, errors,
    programs::Built,
    readmes::{self, Readme},
    repository::Repository,
    security,
    tidy::{layers, supply},
    tiers,
};

/// A generated part.
struct Part {
    path: &'static str,
    /// The name in the markers `<!-- NAME -->` and `<!-- /NAME -->` around the part, or `None` if it is the whole
    /// document.
    marker: Option<&'static str>,
    generate: fn(&Repository) -> Result<String, Failure>,
}

/// Documents that need the program come last, because it must be built first.
const PARTS: [Part; 18] = [
    Part {
        path: "docs/security/assurance.md",
        marker: None,
        generate: |repository| Ok(tiers::document(&repository.tree()?, &assure::STEPS)),
    },
    Part {
        path: "docs/security/parameters.md",
        marker: None,
        generate: |_| Ok(vesica_params::markdown()),
    },
    Part { path: "docs/protocols/compression.svg", marker: None, generate: |_| compression::svg() },
    Part {
        path: "docs/security/supply-chain.md",
        marker: Some("counts"),
        generate: |repository| Ok(supply::counts(&repository.tree()?)),
    },
    Part { path: "ARCHITECTURE.md", marker: Some("layers"), generate: |_| Ok(layers::markdown()) },
    Part {
        path: "docs/reference/errors.md",
        marker: None,
        generate: |repository| Ok(errors::markdown(&repository.tree()?)),
    },
    Part {
        path: "docs/reference/performance.md",
        marker: None,
        generate: |repository| performance(repository, "performance.md"),
    },
    Part {
        path: "docs/reference/performance-time.svg",
        marker: None,
        generate: |repository| performance(repository, "performance-time.svg"),
    },
    Part {
        path: "docs/reference/performance-bytes.svg",
        marker: None,
        generate: |repository| performance(repository, "performance-bytes.svg"),
    },
    Part {
        path: "docs/reference/performance-circuits.svg",
        marker: None,
        generate: |repository| performance(repository, "performance-circuits.svg"),
    },
    Part {
        path: "docs/reference/performance-protocols.svg",
        marker: None,
        generate: |repository| performance(repository, "performance-protocols.svg"),
    },
    Part {
        path: "docs/reference/cli.md",
        marker: None,
        generate: |repository| printed(repository, &["reference"]),
    },
    Part {
        path: "docs/reference/job.schema.json",
        marker: None,
        generate: |repository| schema(repository, "job"),
    },
    Part {
        path: "docs/reference/project.schema.json",
        marker: None,
        generate: |repository| schema(repository, "project"),
    },
    Part {
        path: "docs/reference/list.schema.json",
        marker: None,
        generate: |repository| schema(repository, "list"),
    },
    Part {
        path: "docs/reference/service.schema.json",
        marker: None,
        generate: |repository| schema(repository, "service"),
    },
    Part { path: "docs/protocols/README.md", marker: Some("protocols"), generate: protocols },
    Part {
        path: "SECURITY.md",
        marker: Some("protocols"),
        generate: |repository| security::protocols(&protocols(repository)?),
    },
];

/// Returns the catalogue's table, as printed by the program.
fn protocols(repository: &Repository) -> Result<String, Failure> {
    printed(repository, &["protocols", "--markdown"])
}

/// Returns the JSON Schema of a specification, as printed by the program.
fn schema(repository: &Repository, specification: &str) -> Result<String, Failure> {
    printed(repository, &["reference", "--schema", specification])
}

/// Returns a document made from the table of results, as printed by the example of the lab.
fn performance(repository: &Repository, name: &str) -> Result<String, Failure> {
    let build = ["build", "--workspace", "--locked", "--example", "performance"];
    let built = Built::by(
        repository,
        &[&build[..], &["--message-format=json-render-diagnostics"]].concat(),
    )?;
    let table = repository.path("docs/reference/performance.tsv");
    output(Command::new(built.binary("performance")?).arg(table).arg(name))
}

/// Runs the program with these arguments, and returns its output.
fn printed(repository: &Repository, args: &[&str]) -> Result<String, Failure> {
    // The tests of the program's commands need the program.
    let built = Built::here(repository, &["--test", "program"])?;
    output(Command::new(built.binary("vesica")?).args(args))
}

/// Runs a command, and returns its output.
fn output(command: &mut Command) -> Result<String, Failure> {
    let printed = command.stderr(Stdio::inherit()).output();
    let printed = printed.map_err(|e| format!("{command:?} cannot be started: {e}"))?;
    if !printed.status.success() {
        return Err(format!("{command:?} ended with {}", printed.status));
    }
    String::from_utf8(printed.stdout).map_err(|_| format!("the output of {command:?} is not UTF-8"))
}

/// A generated document, in its present and its expected form.
struct Compared {
    path: String,
    current: String,
    wanted: String,
}

impl Compared {
    /// Reads a document. `wanted` converts it to its expected form.
    fn read(
        repository: &Repository,
        path: &str,
        wanted: impl FnOnce(&str) -> Result<String, Failure>,
    ) -> Result<Self, Failure> {
        let current = match fs::read_to_string(repository.path(path)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|e| format!("{path}: {e}"))?,
        };
        Ok(Self { path: path.to_owned(), wanted: wanted(&current)?, current })
    }
}

/// Compares every generated document with the code, one at a time, first those that do not need the program.
fn compared(
    repository: &Repository,
) -> Result<impl Iterator<Item = Result<Compared, Failure>>, Failure> {
    let readme =
        |Readme { path, text }: Readme| Compared::read(repository, &path, move |_| Ok(text));
    let readmes = readmes::all(&repository.tree()?).into_iter().map(readme);
    Ok(readmes.chain(PARTS.iter().map(|part| part.compare(repository))))
}

/// Writes every generated part.
pub fn write(repository: &Repository) -> Result<(), Failure> {
    for document in compared(repository)? {
        let Compared { path, current, wanted } = document?;
        if current != wanted {
            let written = fs::write(repository.path(&path), wanted);
            written.map_err(|e| format!("{path}: {e}"))?;
            println!("{path} written");
        }
    }
    Ok(())
}

/// Fails if a generated part does not match the code.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    let mut stale = Vec::new();
    for document in compared(repository)? {
        let Compared { path, current, wanted } = document?;
        if current != wanted {
            stale.push(path);
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("stale: {}; run `cargo xtask docs` and commit the result", stale.join(", ")))
}

impl Part {
    /// Compares the document with the code.
    fn compare(&self, repository: &Repository) -> Result<Compared, Failure> {
        let generated = (self.generate)(repository)?;
        Compared::read(repository, self.path, |current| match self.marker {
            None => Ok(generated),
            Some(marker) => replace_between(current, marker, &generated)
                .ok_or_else(|| format!("{}: no markers `{marker}`", self.path)),
        })
    }
}

/// Replaces the part of a document between the markers.
fn replace_between(document: &str, marker: &str, part: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->"));
    let (before, rest) = document.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}{part}{close}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_markers_is_replaced() {
        let document = "a\n<!-- t -->\nold\n<!-- /t -->\nb\n";
        let wanted = "a\n<!-- t -->\nnew\n<!-- /t -->\nb\n";
        assert_eq!(replace_between(document, "t", "new\n").as_deref(), Some(wanted));
        assert_eq!(replace_between(wanted, "t", "new\n").as_deref(), Some(wanted));
    }

    #[test]
    fn a_document_without_both_markers_is_refused() {
        assert_eq!(replace_between("a\n<!-- t -->\nold\n", "t", "new\n"), None);
        assert_eq!(replace_between("a\nold\n<!-- /t -->\n", "t", "new\n"), None);
    }
}
