//! Rust sources without comments and literals, so that a rule about code only looks at code.

use std::ops::Range;

/// Returns the source with every comment, string and character literal blanked out, with the same lines.
pub(super) fn without_words(source: &str) -> String {
    let mut code = source.as_bytes().to_vec();
    for text in texts(source) {
        for byte in &mut code[text] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    // Whole literals and comments were blanked, so the rest consists of whole characters.
    String::from_utf8_lossy(&code).into_owned()
}

/// Finds the comments, strings and character literals of a source.
pub(super) fn texts(source: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = source.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if let Some(length) = skipped(&bytes[at..]) {
                let text = at..(at + length).min(bytes.len());
                at = text.end;
                return Some(text);
            }
            // Skip a whole word at a time, so that the r in `for"` does not count as a raw string's.
            at += bytes[at..].iter().take_while(|b| is_word(**b)).count().max(1);
        }
        None
    })
}

/// Removes items that are compiled only for tests, with the same lines.
pub(super) fn without_tests(code: &str) -> String {
    let mut rest = code.to_owned();
    while let Some(start) = FOR_TESTS.iter().filter_map(|mark| rest.find(mark)).min() {
        let end = end_of_item(&rest, start);
        let blank = rest[start..end].replace(|c| c != '\n', " ");
        rest.replace_range(start..end, &blank);
    }
    rest
}

/// The beginnings of attributes that compile an item only for tests.
const FOR_TESTS: [&str; 2] = ["#[cfg(test", "#[cfg(all(test"];

/// Returns the end of the item that begins at `start`, including its attributes.
pub(super) fn end_of_item(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return at,
            b')' | b']' | b'}' => {
                depth -= 1;
                let goes_on = code[at + 1..].trim_start().starts_with(';');
                if depth == 0 && byte == b'}' && !goes_on {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the length of the comment or literal that begins here, if any.
fn skipped(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"//") {
        return Some(rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()));
    }
    if rest.starts_with(b"/*") {
        return Some(block_comment(rest));
    }
    let prefix = rest.iter().take_while(|b| matches!(b, b'r' | b'b' | b'c')).count().min(2);
    let hashes = rest[prefix..].iter().take_while(|b| **b == b'#').count();
    let raw = rest[..prefix].contains(&b'r');
    match rest.get(prefix + hashes) {
        Some(b'"') if raw => Some(raw_string(rest, prefix + hashes, hashes)),
        Some(b'"') if hashes == 0 => Some(quoted(rest, prefix)),
        Some(b'\'') if hashes == 0 && !raw => character(rest, prefix),
        _ => None,
    }
}

/// Comments of this kind nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn raw_string(rest: &[u8], open: usize, hashes: usize) -> usize {
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let inside = &rest[open + 1..];
    let length = inside.windows(close.len()).position(|window| window == close);
    length.map_or(rest.len(), |length| open + 1 + length + close.len())
}

/// Returns the length of a string or character literal whose quotation mark is at `open`.
fn quoted(rest: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < rest.len() && rest[at] != rest[open] {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the length of a character literal, as opposed to a lifetime.
fn character(rest: &[u8], open: usize) -> Option<usize> {
    let inside = std::str::from_utf8(&rest[open + 1..]).ok()?;
    let mut characters = inside.chars();
    let first = characters.next()?;
    let is_literal = first == '\\' || characters.next() == Some('\'');
    is_literal.then(|| quoted(rest, open))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the words of a line of code, each with the text after it.
pub(super) fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.bytes().position(is_word)?;
        let length = rest[start..].bytes().take_while(|b| is_word(*b)).count();
        let (word, after) = rest[start..].split_at(length);
        rest = after;
        Some((word, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_words(source: &str) -> Vec<String> {
        without_words(source).lines().flat_map(words).map(|(word, _)| word.to_owned()).collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        for hidden in [
            "// x",
            "/* x /* x */ x */",
            "\"x \\\" x\"",
            "b\"x\"",
            "c\"x\"",
            "r\"x \\\"",
            "r#\"x \" x\"#",
            "br##\"x \"# x\"##",
            "'x'",
            "b'x'",
            "'\\''",
            "'\\x41'",
            "'ä'",
        ] {
            assert_eq!(
                code_words(&format!("before {hidden}\nafter")),
                ["before", "after"],
                "{hidden}"
            );
        }
    }

    #[test]
    fn items_for_tests_are_no_code() {
        for hidden in [
            "#[cfg(test)]\nmod tests { fn x() {} }",
            "#[cfg(all(test, unix))] #[must_use] pub fn x<A, B>(x: [u8; 2]) -> (A, B) { x }",
            "#[cfg(test)]\npub use x::{x, y};",
            "#[cfg(test)]\nstatic X: X = X { x: 1 };",
            "#[cfg(test)]\nmod x;",
        ] {
            let code = format!("before {hidden}\nafter ");
            for code in [format!("{code};"), format!("{{ {code} }}")] {
                let rest = without_tests(&code);
                let left: Vec<_> = words(&rest).map(|(word, _)| word).collect();
                assert_eq!(left, ["before", "after"], "{hidden}");
                assert_eq!(rest.lines().count(), code.lines().count());
            }
        }
    }

    #[test]
    fn code_around_them_is_kept() {
        assert_eq!(code_words("a\"x\"b 'x'c r\"x\"d"), ["a", "b", "c", "d"]);
        let lifetimes = code_words("fn f<'a>(x: &'a str) -> &'static u8");
        assert_eq!(lifetimes, ["fn", "f", "a", "x", "a", "str", "static", "u8"]);
        assert_eq!(code_words("for\"x\" bar"), ["for", "bar"]);
        assert_eq!(without_words("a /* b\nc */ d").lines().count(), 2);
    }
}
