//! A rule without parameters.

use std::{borrow::Cow, fmt};

/// The version of Unicode of the oldest table of letters in this build. Newer characters may differ.
pub(super) const UNICODE: &str = "unicode17";

/// A rule from a value to its normalised form that needs no parameter. Each is one file, and one line of
/// [`PROFILES`](super::PROFILES).
pub struct ProfileRule {
    /// The name of the profile. Its first word, before any colon, belongs to an entry of the list.
    pub name: &'static str,
    /// The version of the tables that the rule depends on, if it does.
    pub tables: Option<&'static str>,
    /// Whether the values are mail addresses.
    pub is_mail: bool,
    /// Whether letters that differ only in case stay different.
    pub keeps_case: bool,
    /// Returns the normalised value, or an empty one if the value is not of the rule's kind.
    pub apply: for<'a> fn(&'a str) -> Cow<'a, str>,
}

impl ProfileRule {
    /// Returns the first word of the name.
    pub(super) fn word(&self) -> &'static str {
        self.name.split(':').next().unwrap_or_default()
    }
}

impl PartialEq for ProfileRule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ProfileRule {}

impl fmt::Debug for ProfileRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
