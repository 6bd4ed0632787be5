//! The columns that a side declares for queries.

use std::{fmt, str::FromStr};

use crate::{
    column::Name,
    date::{Date, MAX_DAYS, Period},
    error::Error,
    fixed_point::FixedPoint,
    lexer::{Lexer, Token, is_hidden},
};

/// The longest text of a declaration, in bytes: a public list may have many labels.
const MAX_DECLARATION_BYTES: usize = 64 << 10;

/// The largest scale of a column.
const MAX_SCALE: u32 = 18;

/// The most labels of a column.
pub(crate) const MAX_LABELS: u32 = 4096;

/// Whether a table may have several rows with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Each key has one row.
    Unique,
    /// A key may have several rows.
    Repeats,
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unique => "unique",
            Self::Repeats => "repeats",
        })
    }
}

impl FromStr for Keys {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "unique" => Ok(Self::Unique),
            "repeats" => Ok(Self::Repeats),
            _ => Err(Error::at(text, 0, "keys are `unique` or `repeats`")),
        }
    }
}

/// The bounds of a number, in units of its scale. They hold for the sum of a key's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The least value.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
}

impl Range {
    /// Every number that fits.
    pub const FULL: Self = Self { low: -i64::MAX, high: i64::MAX };

    /// Returns the largest magnitude.
    pub fn magnitude(self) -> u64 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    /// Returns the number of bits of a value in two's complement, or without a sign if none is negative.
    pub fn bits(self) -> u32 {
        // −2^k needs k + 1 bits.
        let negative = self.low.min(0).unsigned_abs().saturating_sub(1);
        let bits = 64 - (self.high.max(0).unsigned_abs() | negative).leading_zeros();
        bits + u32::from(self.low < 0)
    }
}

/// The most labels of one key.
pub const MAX_PER_KEY: u32 = 8;

/// The most rows of one key that each count by themselves.
pub const MAX_ROWS_OF_KEY: u32 = 16;

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnKind {
    /// `decimal(SCALE)`, or `integer` for a scale of 0; with bounds, `decimal(2)[0..500]`.
    Number {
        /// The number of decimal places, at most 18.
        scale: u8,
        /// The bounds, into which greater and smaller values are moved.
        range: Option<Range>,
    },
    /// `text`, for filters only.
    Text,
    /// `boolean`, a filter or a label.
    Boolean,
    /// `date`, for joins by the latest earlier row; `date[2026-10-01..2026-11-30]` with the days that it may have.
    Date {
        /// The days, beyond which a value is an error.
        period: Option<Period>,
        /// The most rows of one key: more than 1 as in `date[2026-10-01..2026-11-30]/4`, with at most 63 days.
        rows: u32,
    },
    /// `label<=N`: at most `N` distinct labels, which stay private.
    Label {
        /// The maximum, from 1 to 4096.
        most: u32,
        /// The most labels of one key: more than 1 as in `label<=16/4`.
        per_key: u32,
    },
    /// `{north,south}`: labels that both sides know, from 1 to 4096.
    PublicLabels {
        /// The labels.
        labels: Vec<String>,
        /// The most labels of one key: more than 1 as in `{north,south}/2`.
        per_key: u32,
    },
}

impl ColumnKind {
    /// Returns the most labels of one key.
    pub fn per_key(&self) -> u32 {
        match self {
            Self::Label { per_key, .. } | Self::PublicLabels { per_key, .. } => *per_key,
            _ => 1,
        }
    }
}

/// Displays the most labels or rows of one key, if it is more than one.
struct PerKey(u32);

impl fmt::Display for PerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => Ok(()),
            most => write!(f, "/{most}"),
        }
    }
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { scale, range } => {
                match scale {
                    0 => f.write_str("integer")?,
                    scale => write!(f, "decimal({scale})")?,
                }
                let shown = |bound: i64| FixedPoint::new(bound.into(), *scale).shortest();
                match range {
                    Some(Range { low, high }) => write!(f, "[{}..{}]", shown(*low), shown(*high)),
                    None => Ok(()),
                }
            }
            Self::Text => f.write_str("text"),
            Self::Boolean => f.write_str("boolean"),
            Self::Date { period: None, .. } => f.write_str("date"),
            Self::Date { period: Some(Period { first, last }), rows } => {
                write!(f, "date[{first}..{last}]{}", PerKey(*rows))
            }
            Self::Label { most, per_key } => write!(f, "label<={most}{}", PerKey(*per_key)),
            Self::PublicLabels { labels, per_key } => {
                let label = |label: &String| match is_plain(label) {
                    true => label.clone(),
                    false => format!("'{}'", label.replace('\'', "''")),
                };
                let labels: Vec<_> = labels.iter().map(label).collect();
                write!(f, "{{{}}}{}", labels.join(","), PerKey(*per_key))
            }
        }
    }
}

/// The characters that end a label outside of quotes, or cannot be in one.
const SPECIAL: [char; 5] = [',', '{', '}', '\'', '"'];

/// Whether a label needs no quotes.
fn is_plain(label: &str) -> bool {
    !label.is_empty() && label.trim() == label && !label.contains(SPECIAL)
}

/// A side's declaration of a column: `spend:decimal(2)`, and with a `?` at its end if values may be null.
///
/// Its text is canonical: a declaration is displayed as a text that parses to an equal declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    name: String,
    kind: ColumnKind,
    is_nullable: bool,
}

impl Declaration {
    /// Returns the name of the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the column.
    pub fn kind(&self) -> &ColumnKind {
        &self.kind
    }

    /// Returns whether values may be null.
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_nullable { "?" } else { "" };
        write!(f, "{}:{}{end}", Name(&self.name), self.kind)
    }
}

impl FromStr for Declaration {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { lexer: Lexer::new(text, MAX_DECLARATION_BYTES)?, text, at: 0 };
        let name = match parser.next()? {
            Token::Word(name) | Token::Quoted(name) => name,
            _ => {
                return parser
                    .fail("a declaration begins with the name of a column: spend:integer");
            }
        };
        if name.eq_ignore_ascii_case("key") {
            return parser.fail("the key is not declared: use another name for this column");
        }
        parser.expect(
            ":",
            "write a colon after the name; names that are not plain words need double quotes",
        )?;
        let kind = parser.kind()?;
        let token = parser.next()?;
        let is_nullable = token == Token::Symbol("?");
        if (if is_nullable { parser.next()? } else { token }) != Token::End {
            return parser.fail(
                "the declaration should end here, or with a question mark if values may be null",
            );
        }
        Ok(Self { name, kind, is_nullable })
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    text: &'a str,
    /// The byte at which the last token begins.
    at: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<Token, Error> {
        let lexeme = self.lexer.next()?;
        self.at = lexeme.at;
        Ok(lexeme.token)
    }

    /// Returns an error at the last token.
    fn fail<T>(&self, what: impl Into<String>) -> Result<T, Error> {
        Err(Error::at(self.text, self.at, what))
    }

    fn expect(&mut self, symbol: &'static str, advice: &str) -> Result<(), Error> {
        if self.next()? == Token::Symbol(symbol) { Ok(()) } else { self.fail(advice) }
    }

    fn kind(&mut self) -> Result<ColumnKind, Error> {
        const TYPES: &str =
            "the types are integer, decimal(SCALE), text, boolean, date, label<=N and {LABEL,...}";
        let word = match self.next()? {
            Token::Word(word) => word.to_ascii_lowercase(),
            Token::Symbol("{") => return self.labels(),
            _ => return self.fail(TYPES),
        };
        match word.as_str() {
            "integer" => Ok(ColumnKind::Number { scale: 0, range: self.range(0)? }),
            "decimal" => {
                const SCALE: &str = "write the number of decimal places, from 0 to 18: decimal(2)";
                self.expect("(", SCALE)?;
                let scale = self.whole(0, MAX_SCALE, SCALE)? as u8;
                self.expect(")", SCALE)?;
                Ok(ColumnKind::Number { scale, range: self.range(scale)? })
            }
            "text" => Ok(ColumnKind::Text),
            "boolean" => Ok(ColumnKind::Boolean),
            "date" => self.dates(),
            "label" => {
                const MOST: &str =
                    "write the maximum number of distinct labels, from 1 to 4096: label<=64";
                self.expect("<=", MOST)?;
                let most = self.whole(1, MAX_LABELS, MOST)?;
                Ok(ColumnKind::Label { most, per_key: self.labels_per_key()? })
            }
            _ => self.fail(TYPES),
        }
    }

    fn whole(&mut self, least: u32, most: u32, advice: &str) -> Result<u32, Error> {
        let number = match self.next()? {
            Token::Number(number) => {
                number.in_units(0).and_then(|number| u32::try_from(number).ok())
            }
            _ => None,
        };
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => self.fail(advice),
        }
    }

    /// Whether the rest begins with a symbol.
    fn is_next(&self, symbol: char) -> bool {
        self.lexer.rest().trim_start().starts_with(symbol)
    }

    /// Reads the most labels or rows of a key, if it stands there.
    fn per_key(&mut self, most: u32, advice: &str) -> Result<u32, Error> {
        if !self.is_next('/') {
            return Ok(1);
        }
        self.next()?;
        self.whole(1, most, advice)
    }

    /// Reads the most labels of a key, if it stands there.
    fn labels_per_key(&mut self) -> Result<u32, Error> {
        const LABELS: &str =
            "write the most labels of one key, from 1 to 8, after the slash: label<=64/4";
        self.per_key(MAX_PER_KEY, LABELS)
    }

    /// Reads the days of a date and the most rows of a key, if they stand there.
    fn dates(&mut self) -> Result<ColumnKind, Error> {
        const ROWS: &str = "write the most rows of one key, from 1 to 16, after the slash: date[2026-10-01..2026-11-30]/4";
        let Some(period) = self.period()? else {
            return Ok(ColumnKind::Date { period: None, rows: 1 });
        };
        let rows = self.per_key(MAX_ROWS_OF_KEY, ROWS)?;
        if rows > 1 && period.days() == MAX_DAYS {
            return self.fail(format!(
                "with several rows of a key, a period has at most {} days",
                MAX_DAYS - 1
            ));
        }
        Ok(ColumnKind::Date { period: Some(period), rows })
    }

    fn period(&mut self) -> Result<Option<Period>, Error> {
        const PERIOD: &str =
            "write the first and the last day, at most 64 days: date[2026-10-01..2026-11-30]";
        if !self.is_next('[') {
            return Ok(None);
        }
        self.next()?;
        let first = self.date(PERIOD)?;
        self.expect("..", PERIOD)?;
        let last = self.date(PERIOD)?;
        let days = i64::from(last.number()) - i64::from(first.number()) + 1;
        if !(1..=i64::from(MAX_DAYS)).contains(&days) {
            return self.fail(PERIOD);
        }
        self.expect("]", PERIOD)?;
        Ok(Some(Period { first, last }))
    }

    fn date(&mut self, advice: &str) -> Result<Date, Error> {
        let year = self.whole(1, 9999, advice)?;
        self.expect("-", advice)?;
        let month = self.whole(1, 12, advice)?;
        self.expect("-", advice)?;
        let day = self.whole(1, 31, advice)?;
        match Date::new(year, month, day) {
            Some(date) => Ok(date),
            None => self.fail("this month has fewer days"),
        }
    }

    /// Reads the bounds of a number, if there are any.
    fn range(&mut self, scale: u8) -> Result<Option<Range>, Error> {
        const BOUNDS: &str = "write the bounds of the values as [LOW..HIGH]";
        if !self.is_next('[') {
            return Ok(None);
        }
        self.next()?;
        let low = self.bound(scale, BOUNDS)?;
        self.expect("..", BOUNDS)?;
        let high = self.bound(scale, BOUNDS)?;
        if low > high {
            return self.fail("the upper bound is below the lower one");
        }
        self.expect("]", BOUNDS)?;
        Ok(Some(Range { low, high }))
    }

    fn bound(&mut self, scale: u8, advice: &str) -> Result<i64, Error> {
        let mut token = self.next()?;
        let sign = if token == Token::Symbol("-") { -1 } else { 1 };
        if sign < 0 {
            token = self.next()?;
        }
        let Token::Number(number) = token else { return self.fail(advice) };
        match number.in_units(scale) {
            Some(bound) => Ok(sign * bound),
            None => self
                .fail(format!("bounds fit 64 bits and have at most {scale} decimal places here")),
        }
    }

    /// Reads public labels, after their opening brace.
    fn labels(&mut self) -> Result<ColumnKind, Error> {
        let mut labels: Vec<String> = Vec::new();
        loop {
            let rest = self.lexer.rest();
            self.lexer.skip(rest.len() - rest.trim_start_matches(' ').len());
            let fault =
                self.lexer.fail("write a label, in single quotes if it has special characters");
            let double = self.lexer.fail("this label is in the list twice");
            let many = self.lexer.fail(format!("a list has at most {MAX_LABELS} labels"));
            let label = match self.lexer.rest().starts_with('\'') {
                true => self.lexer.quoted('\'')?,
                false => {
                    let rest = self.lexer.rest();
                    let label = &rest[..rest.find(SPECIAL).unwrap_or(rest.len())];
                    self.lexer.skip(label.len());
                    label.trim_end_matches(' ').to_owned()
                }
            };
            let is_visible = !label.chars().any(is_hidden) && label.trim() == label;
            if label.is_empty() || !is_visible {
                return Err(fault);
            }
            if labels.contains(&label) {
                return Err(double);
            }
            if labels.len() == MAX_LABELS as usize {
                return Err(many);
            }
            labels.push(label);
            match self.next()? {
                Token::Symbol(",") => {}
                Token::Symbol("}") => {
                    let per_key = self.labels_per_key()?;
                    return Ok(ColumnKind::PublicLabels { labels, per_key });
                }
                _ => return self.fail("write a comma or a closing brace after a label"),
            }
        }
    }
}

/// The columns that a side declares, and whether its keys are unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    columns: Vec<Declaration>,
    keys: Keys,
}

impl Declared {
    /// Declares columns.
    ///
    /// # Errors
    /// [`Error::DeclaredTwice`] if two have one name.
    pub fn new(columns: Vec<Declaration>, keys: Keys) -> Result<Self, Error> {
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].iter().any(|earlier| earlier.name == column.name) {
                return Err(Error::DeclaredTwice { name: column.name.clone() });
            }
        }
        Ok(Self { columns, keys })
    }

    /// Parses declarations of columns.
    ///
    /// # Errors
    /// [`Error::Syntax`] for a text that is not a declaration, [`Error::DeclaredTwice`] if two have one name.
    pub fn parse(columns: &[impl AsRef<str>], keys: Keys) -> Result<Self, Error> {
        let columns: Result<_, Error> = columns.iter().map(|text| text.as_ref().parse()).collect();
        Self::new(columns?, keys)
    }

    /// Returns the declarations.
    pub fn columns(&self) -> &[Declaration] {
        &self.columns
    }

    /// Returns whether keys are unique.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the declaration of a column.
    pub fn column(&self, name: &str) -> Option<&Declaration> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_have_a_canonical_text() {
        for (text, canonical) in [
            ("spend:decimal(2)", "spend:decimal(2)"),
            (" spend : DECIMAL ( 2 ) [ -0.50 .. 500.00 ] ? ", "spend:decimal(2)[-0.5..500]?"),
            ("visits:decimal(0)", "visits:integer"),
            ("visits:integer[-9223372036854775807..0]", "visits:integer[-9223372036854775807..0]"),
            ("campaign:label<=64?", "campaign:label<=64?"),
            ("region:{north, south,São Paulo , 65+}", "region:{north,south,São Paulo,65+}"),
            ("region:{'a,b','it''s', 'x'}?", "region:{'a,b','it''s',x}?"),
            ("campaign:label<=64 / 4?", "campaign:label<=64/4?"),
            ("campaign:label<=64/1", "campaign:label<=64"),
            ("region:{north,south}/2", "region:{north,south}/2"),
            ("shown_at:DATE", "shown_at:date"),
            ("at:date [2024-02-29 .. 2024-03-01]", "at:date[2024-02-29..2024-03-01]"),
            ("at:date[2024-02-29..2024-03-01] / 4 ?", "at:date[2024-02-29..2024-03-01]/4?"),
            ("at:date[2024-02-29..2024-03-01]/1", "at:date[2024-02-29..2024-03-01]"),
            ("\"first name\":text", "\"first name\":text"),
            ("opted_in:boolean -- ours", "opted_in:boolean"),
        ] {
            let declaration: Declaration = text.parse().unwrap();
            assert_eq!(declaration.to_string(), canonical);
            assert_eq!(canonical.parse().as_ref(), Ok(&declaration));
        }
    }

    #[test]
    fn wrong_declarations_are_refused_with_their_place() {
        for (text, column, words) in [
            ("", 1, "begins with the name"),
            ("first name:text", 7, "double quotes"),
            ("key:text", 1, "another name"),
            ("a:float", 3, "the types are"),
            ("a:decimal", 10, "decimal places"),
            ("a:decimal(19)", 11, "from 0 to 18"),
            ("a:integer[1..0]", 14, "below the lower"),
            ("a:integer[0..1.5]", 14, "at most 0 decimal places"),
            ("a:integer[0..9223372036854775808]", 14, "64 bits"),
            ("a:decimal(1)[0..1", 18, "[LOW..HIGH]"),
            ("a:label", 8, "maximum number"),
            ("a:label<=0", 10, "from 1 to 4096"),
            ("a:label<=4097", 10, "from 1 to 4096"),
            ("a:label<=9/9", 12, "from 1 to 8"),
            ("a:date[2026-02-29..2026-03-01]", 16, "fewer days"),
            ("a:date[2026-01-01..2026-03-06]", 28, "at most 64 days"),
            ("a:date[2026-01-02..2026-01-01]", 28, "the first and the last"),
            ("a:date[2026-01-02]", 18, "the first and the last"),
            ("a:date/2", 7, "should end here"),
            ("a:date[2026-01-01..2026-01-02]/17", 32, "from 1 to 16"),
            ("a:date[2026-01-01..2026-03-05]/2", 32, "at most 63 days"),
            ("a:{}", 4, "write a label"),
            ("a:{x,x}", 6, "twice"),
            ("a:{x\u{202e}}", 4, "write a label"),
            ("a:{x 'y'}", 6, "a comma or a closing brace"),
            ("a:text?x", 8, "should end here"),
        ] {
            let error = text.parse::<Declaration>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("line 1, column {column}: ")) && error.contains(words),
                "{text}: {error}"
            );
        }
        let many = (0..=MAX_LABELS).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        let error = format!("a:{{{many}}}").parse::<Declaration>().unwrap_err().to_string();
        assert!(error.ends_with("a list has at most 4096 labels"), "{error}");
        let error = Declared::parse(&["a:text", "a:integer"], Keys::Unique).unwrap_err();
        assert_eq!(error.to_string(), "column `a` is declared twice");
        let keys = [Keys::Unique, Keys::Repeats].map(|keys| keys.to_string().parse());
        assert_eq!(keys, [Ok(Keys::Unique), Ok(Keys::Repeats)]);
    }

    #[test]
    fn bits_follow_from_bounds() {
        for (low, high, bits) in [
            (0, 0, 0),
            (0, 1, 1),
            (0, 255, 8),
            (0, 256, 9),
            (-1, 0, 1),
            (-128, 127, 8),
            (-129, 127, 9),
            (-1, 255, 9),
            (5, 7, 3),
            (-i64::MAX, i64::MAX, 64),
        ] {
            assert_eq!(Range { low, high }.bits(), bits, "{low}..{high}");
        }
    }
}
