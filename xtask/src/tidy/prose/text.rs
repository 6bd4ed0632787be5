//! The texts of a file that people read, as words.

use super::code;

/// A word of a text.
pub(super) struct TextWord<'a> {
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
    /// The character before it that is not white space, in the same block. Nothing for the first word.
    before: Option<char>,
    /// Whether only white space separates it from the word before.
    joined: bool,
}

/// A text that is read as a whole: successive lines of comments, a string literal, or a paragraph.
#[derive(Default)]
pub(super) struct Passage<'a> {
    pub(super) words: Vec<TextWord<'a>>,
    /// Whether it documents an item or a module.
    pub(super) is_doc: bool,
    asks: bool,
    before: Option<char>,
    joined: bool,
    is_code: bool,
}

impl<'a> Passage<'a> {
    /// Returns whether this word is one of these, which are in lower case.
    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.words
            .get(at)
            .is_some_and(|word| words.iter().any(|w| word.text.eq_ignore_ascii_case(w)))
    }

    /// Returns whether the words from here on are one of each of these, with nothing between them.
    pub(super) fn follow(&self, at: usize, words: &[&[&str]]) -> bool {
        (at..).zip(words).all(|(i, words)| self.is(i, words) && (i == at || self.joined(i)))
    }

    pub(super) fn joined(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.joined)
    }

    /// Returns whether this word begins a text or a sentence.
    pub(super) fn opens(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| matches!(word.before, None | Some('.' | ':' | ';')))
    }

    pub(super) fn capital(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.text.starts_with(char::is_uppercase))
    }

    pub(super) fn is_number(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Returns whether the first sentence is a question.
    pub(super) fn is_question(&self) -> bool {
        self.asks
    }

    /// Adds a line of text, without names between backticks, escapes, and arguments between braces.
    fn add(&mut self, line: usize, text: &'a str) {
        if text.trim_start().starts_with("```") {
            self.is_code = !self.is_code;
            self.interrupt('`');
            return;
        }
        if self.is_code {
            return;
        }
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || "_'’".contains(c)));
            let length = length.unwrap_or(rest.len());
            if length > 0 && c.is_alphanumeric() {
                let (word, after) = rest.split_at(length);
                let (before, joined) = (self.before, self.joined);
                self.words.push(TextWord { text: word, line, before, joined });
                (self.before, self.joined) = (word.chars().next_back(), true);
                rest = after;
                continue;
            }
            let skipped = match c {
                '`' => rest[1..].find('`').map_or(1, |end| end + 2),
                '{' => rest
                    .find('}')
                    .filter(|end| !rest[..*end].contains(' '))
                    .map_or(1, |end| end + 1),
                '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                c => c.len_utf8(),
            };
            if !(c.is_whitespace() || c == '\\' && rest.len() == 1) {
                self.asks |= c == '?' && !self.before_is_end();
                self.interrupt(c);
            }
            rest = &rest[skipped..];
        }
    }

    fn interrupt(&mut self, by: char) {
        (self.before, self.joined) = (Some(by), false);
    }

    fn before_is_end(&self) -> bool {
        self.words.iter().any(|word| word.before == Some('.'))
    }
}

/// Splits a file into the texts that people read.
pub(super) fn blocks<'a>(path: &str, text: &'a str) -> Vec<Passage<'a>> {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "rs" => of_rust(text),
        "md" => of_markdown(text),
        "py" | "pyi" => of_python(text),
        "toml" => of_lines(text, &["#"]),
        "js" | "mjs" | "ts" => of_lines(text, &["//", "/*", "*"]),
        _ => Vec::new(),
    }
}

fn of_rust(source: &str) -> Vec<Passage<'_>> {
    let mut blocks: Vec<Passage<'_>> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    // The marker of the comment before, and its line.
    let mut last = ("", 0);
    for range in code::texts(source) {
        line += source[counted..range.start].matches('\n').count();
        counted = range.start;
        let text = &source[range];
        if let Some(marker) = ["///", "//!", "//"].into_iter().find(|mark| text.starts_with(mark)) {
            if last != (marker, line - 1) {
                blocks.push(Passage { is_doc: marker != "//", ..Passage::default() });
            }
            last = (marker, line);
            if let Some(block) = blocks.last_mut() {
                block.add(line, &text[marker.len()..]);
            }
        } else if text.ends_with(['"', '#']) && text.contains(' ') {
            let mut block = Passage::default();
            let inside = text.trim_start_matches(['r', 'b', 'c', '#']).trim_end_matches('#');
            for (line, text) in (line..).zip(inside.trim_matches('"').lines()) {
                block.add(line, text);
            }
            blocks.push(block);
        }
    }
    blocks
}

fn of_markdown(text: &str) -> Vec<Passage<'_>> {
    let mut blocks = vec![Passage::default()];
    let mut is_code = false;
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if text.trim().is_empty() {
            blocks.push(Passage::default());
        } else if let Some(block) = blocks.last_mut()
            && !is_code
            && !text.starts_with("    ")
        {
            block.add(line, text);
        }
    }
    blocks
}

/// Reads lines that consist of a comment.
fn of_lines<'a>(text: &'a str, markers: &[&str]) -> Vec<Passage<'a>> {
    let mut blocks = vec![Passage::default()];
    for (line, text) in (1..).zip(text.lines()) {
        let trimmed = text.trim_start();
        let marked = markers.iter().find_map(|marker| trimmed.strip_prefix(marker));
        match (marked, blocks.last_mut()) {
            (Some(text), Some(block)) => block.add(line, text),
            _ => blocks.push(Passage::default()),
        }
    }
    blocks
}

/// Reads comments and documentation, which stands between triple quotation marks.
fn of_python(text: &str) -> Vec<Passage<'_>> {
    let mut passages = of_lines(text, &["#"]);
    let (mut is_inside, mut is_doc) = (false, false);
    for (line, text) in (1..).zip(text.lines()) {
        if !is_inside {
            is_doc = text.trim_start().starts_with(QUOTES);
            passages.push(Passage::default());
        }
        if let Some(passage) = passages.last_mut()
            && is_doc
        {
            passage.add(line, text);
        }
        is_inside ^= text.matches(QUOTES).count() % 2 == 1;
    }
    passages
}

/// The marks around Python's documentation.
const QUOTES: &str = "\"\"\"";
