//! The page around the content.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::chart::mark;

const PAGE: &str = include_str!("../../../assets/report.html");
const STYLE: &str = include_str!("../../../assets/report.css");
const SCRIPT: &str = include_str!("../../../assets/report.js");

/// The whole page. Its policy names the only style and the only script by their hashes.
pub fn document(body: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    // The body comes last, so that nothing in it is taken for a placeholder.
    [("{policy}", policy.as_str()), ("{style}", STYLE), ("{script}", SCRIPT), ("{body}", body)]
        .iter()
        .fold(PAGE.to_owned(), |page, (place, text)| page.replacen(place, text, 1))
}

/// A small picture of how something is drawn in charts.
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

#[cfg(test)]
mod tests {
    use super::*;

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
