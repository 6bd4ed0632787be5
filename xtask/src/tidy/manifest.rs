//! A reader for the few forms that this repository's manifests use.
//!
//! It does not support all of TOML. A dependency in an unsupported form violates the rule that looks for it, and never
//! evades it.

/// A `key = value` line and its section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) section: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    /// The comment after the value.
    pub(super) comment: &'a str,
}

/// Returns the entries of a manifest, in order. An empty section has one entry with an empty key.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let (content, comment) = split_comment(content);
        let header = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(header) = header {
            section = header.trim_matches(['[', ']', ' ']);
            entries.push(Entry { section, line, key: "", value: "", comment });
        } else if let Some((key, value)) = content.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            entries.push(Entry { section, line, key, value, comment });
        }
    }
    entries
}

/// Splits a line into its content and its comment.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return (line[..at].trim(), line[at + 1..].trim()),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    (line.trim(), "")
}

/// The purpose of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `[dependencies]` and `[build-dependencies]`.
    Shipped,
    /// `[dev-dependencies]`.
    Dev,
}

impl<'a> Entry<'a> {
    /// Returns the kind of dependency, if this is one or the header of one written as a table.
    pub(super) fn dependency(&self) -> Option<Kind> {
        let table = |name: &str| {
            let within = |part: &str| {
                self.section.starts_with(part) || self.section.contains(&format!(".{part}"))
            };
            let listed = self.section == name || self.section.ends_with(&format!(".{name}"));
            within(&format!("{name}.")) || listed && !self.key.is_empty()
        };
        if self.section.starts_with("workspace.") {
            None
        } else if table("dev-dependencies") {
            Some(Kind::Dev)
        } else if table("dependencies") || table("build-dependencies") {
            Some(Kind::Shipped)
        } else {
            None
        }
    }

    /// Returns the dependency's name.
    pub(super) fn name(&self) -> &'a str {
        if self.key.is_empty() {
            return self.section.rsplit('.').next().unwrap_or_default();
        }
        self.key.split('.').next().unwrap_or_default()
    }

    /// Returns whether the dependency inherits its version from the workspace.
    pub(super) fn is_inherited(&self) -> bool {
        let inline = || {
            let fields = self.value.strip_prefix('{').and_then(|v| v.strip_suffix('}'));
            fields.is_some_and(|fields| {
                fields.split(',').any(|field| field.replace(' ', "") == "workspace=true")
            })
        };
        self.key.ends_with(".workspace") && self.value == "true" || inline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_values_and_comments_are_told_apart() {
        let text =
            "[package]\nname = \"a#b\" # why\n\n[dependencies]\n# none\nb.workspace = true\n";
        let found: Vec<_> =
            entries(text).iter().map(|e| (e.section, e.line, e.key, e.value, e.comment)).collect();
        let wanted = [
            ("package", 1, "", "", ""),
            ("package", 2, "name", "\"a#b\"", "why"),
            ("dependencies", 4, "", "", ""),
            ("dependencies", 6, "b.workspace", "true", ""),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn every_form_of_a_dependency_is_seen() {
        let text = "[dependencies]\na.workspace = true\n[dependencies.b]\nversion = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\nc = \"1\"\n[dev-dependencies]\nd = \"1\"\n\
                    [build-dependencies]\ne = { workspace = true, features = [] }\n\
                    [target.x.dev-dependencies.f]\n[workspace.dependencies]\ng = \"1\"\n\
                    [features]\nh = []\n";
        let dependencies = |kind: Kind| -> Vec<(String, bool)> {
            let of_kind = |e: &&Entry<'_>| e.dependency() == Some(kind);
            let all = entries(text);
            all.iter().filter(of_kind).map(|e| (e.name().to_owned(), e.is_inherited())).collect()
        };
        let wanted = [("a", true), ("b", false), ("version", false), ("c", false), ("e", true)];
        assert_eq!(dependencies(Kind::Shipped), wanted.map(|(n, i)| (n.to_owned(), i)));
        let wanted = [("d", false), ("f", false)];
        assert_eq!(dependencies(Kind::Dev), wanted.map(|(n, i)| (n.to_owned(), i)));
    }
}
