//! The preprocessor of the book, which mdBook calls: it lets links lead to pages of the book.
//!
//! Pages are also read in the repository, where they link to documents in its root and to sources. A document of the
//! root that `docs/SUMMARY.md` names is a page of the book, too. A link to a file that the book does not have is
//! replaced by the file's path.

use std::{collections::BTreeSet, io};

use serde_json::Value;

use crate::{Failure, repository::Repository};

/// The folder of the book. mdBook names pages relative to it.
const FOLDER: &str = "docs";

/// Reads mdBook's context and the book from standard input, and writes the book to standard output.
pub fn prepare(_repository: &Repository) -> Result<(), Failure> {
    let input: Result<[Value; 2], _> = serde_json::from_reader(io::stdin().lock());
    let [_context, book] = input.map_err(|e| format!("mdBook calls this task: {e}"))?;
    println!("{}", with_links(book)?);
    Ok(())
}

/// Returns the book with links that lead to its own pages.
fn with_links(mut book: Value) -> Result<Value, Failure> {
    let mut pages = BTreeSet::new();
    let items = book.get_mut("items").ok_or("the book has no items: mdBook 0.5 calls this task")?;
    each_chapter(items, &mut |chapter| pages.extend(place(chapter)));
    each_chapter(items, &mut |chapter| {
        let Some(page) = place(chapter) else { return };
        if let Some(text) = chapter["content"].as_str() {
            chapter["content"] = page_in_book(&page, text, &pages).into();
        }
        if let Some(outside) = chapter["path"].as_str().and_then(|path| path.strip_prefix("../")) {
            chapter["path"] = outside.into();
        }
    });
    Ok(book)
}

/// Calls a function with each chapter of these items, and with the chapters below it.
fn each_chapter(items: &mut Value, call: &mut impl FnMut(&mut Value)) {
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(chapter) = item.get_mut("Chapter") {
            call(chapter);
            each_chapter(&mut chapter["sub_items"], call);
        }
    }
}

/// Returns the path of a chapter's file in the repository.
fn place(chapter: &Value) -> Option<String> {
    Some(joined(FOLDER, chapter["source_path"].as_str()?))
}

/// Returns the text of a page as it is in the book. Blocks of code stay as they are.
fn page_in_book(page: &str, text: &str, pages: &BTreeSet<String>) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        if is_code || is_fence {
            shown += &prose_in_book(page, &std::mem::take(&mut prose), pages);
            shown += line;
            is_code ^= is_fence;
        } else {
            prose += line;
        }
    }
    shown + &prose_in_book(page, &prose, pages)
}

/// Returns prose of a page as it is in the book.
fn prose_in_book(page: &str, prose: &str, pages: &BTreeSet<String>) -> String {
    let mut shown = String::new();
    let mut rest = prose;
    while let Some((text, after)) = rest.split_once("](")
        && let Some((target, after)) = after.split_once(')')
    {
        rest = after;
        let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        if path.is_empty() || path.contains("://") {
            shown += &format!("{text}]({target})");
            continue;
        }
        let path = joined(&page[..page.rfind('/').unwrap_or(0)], path);
        let is_in_book = !path.ends_with(".md") && path.starts_with(FOLDER);
        if is_in_book || pages.contains(&path) {
            shown += &format!("{text}]({}{anchor})", relative(&in_book(page), &in_book(&path)));
            continue;
        }
        let (before, words) = text.rsplit_once('[').unwrap_or((text, ""));
        let is_name = path.ends_with(words.trim_matches('`'));
        shown += &match is_name {
            true => format!("{before}`{path}`"),
            false => format!("{before}{words} (`{path}`)"),
        };
    }
    shown + rest
}

/// Returns where a file of the repository is in the book, which calls the first page of a folder "index".
fn in_book(path: &str) -> String {
    let inside = path.strip_prefix(FOLDER).unwrap_or(path).trim_start_matches('/');
    let folder = inside.strip_suffix("README.md");
    folder.map_or_else(|| inside.to_owned(), |folder| format!("{folder}index.md"))
}

/// Returns the path of a file that a page in this folder names.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => (),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the path by which a page names another file of the book.
fn relative(page: &str, file: &str) -> String {
    let folders: Vec<&str> = page.split('/').rev().skip(1).collect();
    let parts: Vec<&str> = file.split('/').collect();
    let shared = folders.iter().rev().zip(&parts).take_while(|(a, b)| a == b).count();
    let up = vec![".."; folders.len() - shared];
    [&up, &parts[shared..]].concat().join("/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn assert_shown(page: &str, text: &str, expected: &str) {
        let pages = ["docs/README.md", "docs/a/one.md", "docs/b/two.md", "SECURITY.md"];
        let pages = pages.map(str::to_owned).into();
        assert_eq!(page_in_book(page, text, &pages), expected);
    }

    #[test]
    fn links_between_pages_stay() {
        for link in ["[one](one.md)", "[two](../b/two.md#part)", "[above](#part)"] {
            assert_shown("docs/a/one.md", link, link);
        }
    }

    #[test]
    fn the_first_page_of_a_folder_has_the_name_that_mdbook_gives_it() {
        assert_shown("docs/a/one.md", "[start](../README.md#b)", "[start](../index.md#b)");
        assert_shown("docs/README.md", "[one](a/one.md)", "[one](a/one.md)");
    }

    #[test]
    fn links_between_documents_and_pages_have_the_paths_of_the_book() {
        assert_shown("docs/a/one.md", "[S](../../SECURITY.md#all)", "[S](../SECURITY.md#all)");
        assert_shown(
            "SECURITY.md",
            "[one](docs/a/one.md), [S](#all)",
            "[one](a/one.md), [S](#all)",
        );
        assert_shown("SECURITY.md", "![x](docs/idea.svg)", "![x](idea.svg)");
    }

    #[test]
    fn a_link_to_a_file_that_is_not_in_the_book_becomes_its_path() {
        let (page, path) = ("docs/a/one.md", "`crates/psi/src/lib.rs`");
        assert_shown(page, "in [`lib.rs`](../../crates/psi/src/lib.rs).", &format!("in {path}."));
        let wrapped = "[the\nlibrary](../../crates/psi/src/lib.rs)";
        assert_shown(page, wrapped, &format!("the\nlibrary ({path})"));
        assert_shown(page, "[x](../notes/old.md)", "x (`docs/notes/old.md`)");
        assert_shown(page, "[y](../../examples/)", "y (`examples`)");
    }

    #[test]
    fn addresses_and_code_stay() {
        for text in ["[web](https://example.org/x.md)", "```\n[x](../../Cargo.toml)\n```\n"] {
            assert_shown("docs/a/one.md", text, text);
        }
        let around = "[x](../../a.rs)\n```\n[x](../../a.rs)\n```\n[x](../../a.rs)\n";
        let shown = "x (`a.rs`)\n```\n[x](../../a.rs)\n```\nx (`a.rs`)\n";
        assert_shown("docs/a/one.md", around, shown);
    }

    #[test]
    fn documents_beside_the_folder_are_pages() {
        let chapter = |path: &str, content: &str| {
            json!({"Chapter": {
                "name": "", "content": content, "path": path, "source_path": path, "sub_items": [],
            }})
        };
        let mut first = chapter("a/one.md", "[S](../../SECURITY.md)");
        first["Chapter"]["sub_items"] = json!([chapter("../SECURITY.md", "[one](docs/a/one.md)")]);
        let book =
            with_links(json!({"items": [{"PartTitle": "Part"}, first, "Separator"]})).unwrap();
        let first = &book["items"][1]["Chapter"];
        assert_eq!(first["content"], "[S](../SECURITY.md)");
        let security = &first["sub_items"][0]["Chapter"];
        assert_eq!([&security["path"], &security["content"]], ["SECURITY.md", "[one](a/one.md)"]);
        assert!(with_links(json!({"sections": []})).is_err());
    }
}
