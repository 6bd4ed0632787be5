//! Generates the README of each crate from the first comment of its library.
//!
//! rustdoc resolves links to items, and a README shows only their text. Lines that rustdoc hides are left out of
//! examples.

use crate::repository::Tree;

/// A README and its text.
pub struct Readme {
    pub path: String,
    pub text: String,
}

/// Returns the README of every library in `crates/`.
pub fn all(tree: &Tree) -> Vec<Readme> {
    let readme = |(path, source)| of(tree, path, source);
    tree.sources().filter_map(readme).collect()
}

/// Returns the README of the crate whose library this is, if it is one of `crates/`.
fn of(tree: &Tree, path: &str, source: &str) -> Option<Readme> {
    let folder = path.strip_suffix("/src/lib.rs")?;
    folder.strip_prefix("crates/")?;
    let name = package(tree.text(&format!("{folder}/Cargo.toml"))?)?;
    let header = header(source);
    let text = format!(
        "# {name}\n\n\
         *Generated from [`src/lib.rs`](src/lib.rs) by `cargo xtask docs`. A crate of [Vesica](../../README.md); \
         [ARCHITECTURE.md](../../ARCHITECTURE.md) shows its place.*\n\n{}",
        plain_links(&header)
    );
    Some(Readme { path: format!("{folder}/README.md"), text })
}

/// Returns the name of a manifest's package.
fn package(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = \""))?;
    line.strip_suffix('"')
}

/// Returns the first comment of a library as part of a document: headings are one level lower, examples are marked as
/// Rust, and the lines that rustdoc hides are left out.
fn header(source: &str) -> String {
    let comment = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut text = String::new();
    let mut block = Block::None;
    for line in comment.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        let shown = match (line.strip_prefix("```"), block) {
            (Some("" | "no_run" | "ignore" | "should_panic"), Block::None) => {
                block = Block::Rust;
                "```rust".to_owned()
            }
            (Some(_), Block::None) => {
                block = Block::Other;
                line.to_owned()
            }
            (Some(_), _) => {
                block = Block::None;
                line.to_owned()
            }
            (None, Block::Rust) if line == "#" || line.starts_with("# ") => continue,
            (None, Block::None) if line.starts_with('#') => format!("#{line}"),
            (None, _) => line.to_owned(),
        };
        text += &shown;
        text.push('\n');
    }
    text
}

/// The kind of code block that a line is in.
#[derive(Clone, Copy)]
enum Block {
    None,
    Rust,
    Other,
}

/// Returns a document in which links to items are replaced by their text. Code and links to files or addresses stay the
/// same.
fn plain_links(document: &str) -> String {
    let mut plain = String::new();
    let mut rest = document;
    while let Some(at) = rest.find(['[', '`']) {
        plain += &rest[..at];
        rest = &rest[at..];
        let taken = match code(rest).or_else(|| link(rest)) {
            Some(Markup { len, shown }) => {
                plain += shown;
                len
            }
            None => {
                plain += &rest[..1];
                1
            }
        };
        rest = &rest[taken..];
    }
    plain + rest
}

/// The beginning of a text, and its replacement.
struct Markup<'a> {
    len: usize,
    shown: &'a str,
}

/// Returns the code with which a text begins: a span or a block.
fn code(text: &str) -> Option<Markup<'_>> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let end = (ticks > 0).then(|| text[ticks..].find(&text[..ticks]))??;
    let len = ticks + end + ticks;
    Some(Markup { len, shown: &text[..len] })
}

/// Returns the link with which a text begins, as [`plain_links`] shows it.
fn link(text: &str) -> Option<Markup<'_>> {
    let close = 1 + closing(text.strip_prefix('[')?)?;
    let (shown, after) = (&text[1..close], &text[close + 1..]);
    let Some(rest) = after.strip_prefix('(') else { return Some(Markup { len: close + 1, shown }) };
    let target = &rest[..rest.find(')')?];
    let len = close + 1 + target.len() + 2;
    let leads_out = ["://", "/", ".md"].iter().any(|part| target.contains(part));
    Some(Markup { len, shown: if leads_out { &text[..len] } else { shown } })
}

/// Returns the position of the bracket that closes a link's text, which must not contain another link.
fn closing(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let next = at + text[at..].find([']', '[', '`'])?;
        match text.as_bytes()[next] {
            b']' => return Some(next),
            b'[' => return None,
            _ => at = next + code(&text[next..])?.len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "\
//! Finds [`Things`](thing::Things) in [terms] and `&[u8]`, by [RFC 9497](https://example.org/x).
//!
//! # An example
//!
//! ```
//! # fn hidden() {}
//! let a = [`b`];
//! ```
//!
//! ```text
//! # shown
//! ```

mod thing;
//! Not part of the header.
";

    const README: &str = "\
# vesica-a

*Generated from [`src/lib.rs`](src/lib.rs) by `cargo xtask docs`. A crate of [Vesica](../../README.md); \
[ARCHITECTURE.md](../../ARCHITECTURE.md) shows its place.*

Finds `Things` in terms and `&[u8]`, by [RFC 9497](https://example.org/x).

## An example

```rust
let a = [`b`];
```

```text
# shown
```
";

    #[test]
    fn header_of_a_library_becomes_its_readme() {
        let manifest = "[package]\nname = \"vesica-a\"\n";
        let tree = Tree::from([
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", LIBRARY),
            ("crates/b/src/main.rs", LIBRARY),
            ("tests/c/src/lib.rs", LIBRARY),
        ]);
        let readmes = all(&tree);
        assert_eq!(readmes.len(), 1);
        assert_eq!(readmes[0].path, "crates/a/README.md");
        assert_eq!(readmes[0].text, README);
    }

    #[test]
    fn incomplete_links_do_not_change() {
        for text in ["a[0", "`a", "a [b [c", "[a](b"] {
            assert_eq!(plain_links(text), text);
        }
    }
}
