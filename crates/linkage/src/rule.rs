//! Rules: lists of fields and functions of fields.

use std::fmt;

use crate::function::KeyFunction;

/// The maximum length of a rule's text, in bytes.
pub const MAX_BYTES: usize = 512;

/// The maximum number of parts of a rule.
pub const MAX_PARTS: usize = 8;

/// A rule by which two rows match: all its parts are equal, and none is missing.
///
/// It is displayed in its canonical form, which parses to the same rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRule {
    pub(crate) parts: Vec<Operand>,
}

/// A field, or a function of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operand {
    /// The normalised value of the field with this name.
    Field(String),
    /// A derived value.
    Derived {
        /// The function.
        function: &'static KeyFunction,
        /// Its arguments.
        of: Vec<Operand>,
        /// The number of characters, if it counts them.
        count: Option<u8>,
    },
}

impl MatchRule {
    /// Returns the names of the fields, in the order of their first use.
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.parts.iter().for_each(|part| part.add_fields(&mut names));
        names
    }
}

impl Operand {
    fn add_fields<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Field(name) if names.contains(&name.as_str()) => {}
            Self::Field(name) => names.push(name),
            Self::Derived { of, .. } => of.iter().for_each(|part| part.add_fields(names)),
        }
    }
}

impl fmt::Display for MatchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.parts.iter().map(Operand::to_string).collect();
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Derived { function, of, count } => {
                let of = of.iter().map(Self::to_string);
                let all: Vec<_> = of.chain(count.map(|count| count.to_string())).collect();
                write!(f, "{}({})", function.name, all.join(", "))
            }
        }
    }
}
