//! Tokens of a text, each with its place.

use crate::{error::Error, fixed_point::FixedPoint};

/// The smallest meaningful part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name or a keyword.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// A number without a sign.
    Number(FixedPoint),
    /// One of [`SYMBOLS`].
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token, and the byte at which it begins.
#[derive(Debug, Clone)]
pub struct Lexeme {
    pub token: Token,
    pub at: usize,
}

/// Longer symbols stand before their beginnings.
const SYMBOLS: [&str; 26] = [
    "::", "..", "<>", "<=", ">=", "!=", "||", "(", ")", ",", ".", "*", ";", "=", "<", ">", "+",
    "-", "/", "%", ":", "[", "]", "{", "}", "?",
];

/// The digits of a number before and after its decimal point. Both together fit an `i128`.
const MAX_DIGITS: [usize; 2] = [19, 18];

/// The rest of a text.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Begins a text of at most `most` bytes.
    pub fn new(text: &'a str, most: usize) -> Result<Self, Error> {
        if text.len() > most {
            let what =
                format!("the text has {} bytes, and at most {most} are supported", text.len());
            return Err(Error::at(text, 0, what));
        }
        Ok(Self { text, at: 0 })
    }

    /// Returns the text from the current place on.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Returns an error at the current place.
    pub fn fail(&self, what: impl Into<String>) -> Error {
        Error::at(self.text, self.at, what)
    }

    /// Skips bytes of the rest.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Reads the next token.
    pub fn next(&mut self) -> Result<Lexeme, Error> {
        self.skip_blanks();
        let at = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok(Lexeme { token: Token::End, at });
        };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.word()?),
            '0'..='9' => Token::Number(self.number()?),
            '"' => Token::Quoted(self.quoted('"')?),
            '\'' => Token::Text(self.quoted('\'')?),
            _ => Token::Symbol(self.symbol(first)?),
        };
        Ok(Lexeme { token, at })
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - blank.len();
            if !blank.starts_with("--") {
                return;
            }
            self.at += blank.find('\n').unwrap_or(blank.len());
        }
    }

    fn word(&mut self) -> Result<String, Error> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        if self.rest().starts_with(|c: char| !c.is_ascii() && c.is_alphanumeric()) {
            return Err(self.fail("put names with letters other than a to z in double quotes"));
        }
        Ok(rest[..end].to_owned())
    }

    fn number(&mut self) -> Result<FixedPoint, Error> {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let rest = self.rest();
        let whole = &rest[..digits(rest)];
        let after = rest[whole.len()..].strip_prefix('.').unwrap_or_default();
        let fraction = &after[..digits(after)];
        let end = whole.len() + fraction.len() + usize::from(!fraction.is_empty());
        if rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return Err(self.fail("write numbers with digits and a decimal point only"));
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let [most_whole, most_fraction] = MAX_DIGITS;
        if whole.len() > most_whole || fraction.len() > most_fraction {
            let what = format!(
                "numbers have at most {most_whole} digits before the decimal point and {most_fraction} after it"
            );
            return Err(self.fail(what));
        }
        self.at += end;
        let number = format!("0{whole}{fraction}").parse().expect("at most 37 digits fit an i128");
        Ok(FixedPoint::new(number, fraction.len() as u8))
    }

    /// Reads a name or a text in quotes, which are doubled inside.
    pub fn quoted(&mut self, quote: char) -> Result<String, Error> {
        let (start, mut content) = (self.at, String::new());
        self.at += 1;
        loop {
            match self.rest().chars().next() {
                Some(c) if c == quote => {
                    self.at += 1;
                    if !self.rest().starts_with(quote) {
                        break;
                    }
                    self.at += 1;
                    content.push(quote);
                }
                Some(c) if is_hidden(c) => {
                    return Err(
                        self.fail("control characters and invisible characters are not supported")
                    );
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    content.push(c);
                }
                None => {
                    self.at = start;
                    return Err(self.fail(format!("this quotation mark has no closing {quote}")));
                }
            }
        }
        if content.is_empty() && quote == '"' {
            self.at = start;
            return Err(self.fail("a name cannot be empty"));
        }
        Ok(content)
    }

    fn symbol(&mut self, first: char) -> Result<&'static str, Error> {
        let rest = self.rest();
        if rest.starts_with("/*") {
            return Err(self.fail("write comments as `-- comment`, up to the end of the line"));
        }
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            self.at += symbol.len();
            return Ok(symbol);
        }
        Err(self.fail(if first.is_alphanumeric() {
            "put names with letters other than a to z in double quotes".to_owned()
        } else if is_hidden(first) {
            format!("unexpected character {}", first.escape_unicode())
        } else {
            format!("unexpected character `{first}`")
        }))
    }
}

/// Whether a character cannot be seen, or changes the order of others: a partner must see what it consents to.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
