//! The page around what is shown, and text in it.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::chart::mark;

const PAGE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The whole page. Its policy names the one style and the one script by their hashes.
pub fn document(body: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    // The body comes last, so that nothing in it is taken for a place to fill.
    [("{policy}", policy.as_str()), ("{style}", STYLE), ("{script}", SCRIPT), ("{body}", body)]
        .iter()
        .fold(PAGE.to_owned(), |page, (place, text)| page.replacen(place, text, 1))
}

/// Text as text, wherever in the page it stands.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => fmt::Write::write_char(f, c),
        })
    }
}

/// A small picture of how something is drawn.
pub enum Swatch {
    /// A line with its mark.
    Line(usize),
    /// A bar.
    Bar(usize),
}

impl Swatch {
    pub fn line(style: usize) -> Self {
        Self::Line(style)
    }

    pub fn bar(style: usize) -> Self {
        Self::Bar(style)
    }
}

impl fmt::Display for Swatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(style) => write!(
                f,
                "<svg class=\"swatch\" viewBox=\"0 0 28 12\" width=\"28\" height=\"12\" aria-hidden=\"true\"><g \
                 class=\"c{} d{}\"><path class=\"line\" d=\"M1 6H27\"/>{}</g></svg>",
                style % 8,
                style / 8 % 4,
                mark(*style, 14.0, 6.0, "")
            ),
            Self::Bar(style) => write!(
                f,
                "<svg class=\"swatch\" viewBox=\"0 0 12 12\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect \
                 class=\"c{} fill\" width=\"12\" height=\"12\" rx=\"2\"/></svg>",
                style % 8
            ),
        }
    }
}

/// At most three digits behind the point, and none that are zero.
pub fn number(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size, as a power of two where it is one; plain text.
pub fn power(size: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if !size.is_power_of_two() || size < 16 {
        return size.to_string();
    }
    let exponent = size.ilog2() as usize;
    let tens = (exponent >= 10).then(|| DIGITS[exponent / 10]);
    "2".chars().chain(tens).chain([DIGITS[exponent % 10]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(Escaped("<b a='\"'>&").to_string(), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
        assert_eq!([number(0.2), number(80.0)], ["0.2", "80"]);
        assert_eq!([power(1000), power(1 << 20), power(256)], ["1000", "2²⁰", "2⁸"]);
    }

    /// RFC 4648 §10.
    #[test]
    fn base64_is_as_specified() {
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (text, encoded) in known {
            assert_eq!(STANDARD.encode(text), encoded);
        }
    }
}
