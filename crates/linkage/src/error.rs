//! Errors of rules and fields.

/// The reason why a text is not a rule or a field, or why rules do not fit the fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text of a rule is wrong at this place.
    #[error("`{text}`, character {character}: {what}")]
    Syntax {
        /// The text.
        text: String,
        /// The character, counted from 1.
        character: usize,
        /// The fault, and what to write instead.
        what: String,
    },
    /// A part of a rule does not fit the fields.
    #[error("rule {rule}, `{part}`: {what}")]
    Unfit {
        /// The number of the rule, counted from 1.
        rule: usize,
        /// The part, as its rule is displayed.
        part: String,
        /// The fault, and what to write instead.
        what: String,
    },
    /// A text does not declare a field.
    #[error("field `{text}`: {what}")]
    MatchField {
        /// The text.
        text: String,
        /// The fault, and what to write instead.
        what: String,
    },
    /// The rules or fields are too many, too few, or repeat each other.
    #[error("{what}")]
    List {
        /// The fault.
        what: String,
    },
}

impl RuleError {
    /// Returns an error at a byte of a rule's text.
    pub(crate) fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let character = text[..byte].chars().count() + 1;
        Self::Syntax { text: text.to_owned(), character, what: what.into() }
    }

    /// Returns an error of a field.
    pub(crate) fn field(text: &str, what: impl Into<String>) -> Self {
        Self::MatchField { text: text.to_owned(), what: what.into() }
    }

    /// Returns an error of a list.
    pub(crate) fn list(what: impl Into<String>) -> Self {
        Self::List { what: what.into() }
    }
}
