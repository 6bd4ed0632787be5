//! Nicknames of English given names.
//!
//! The table was compiled for this crate from common usage, and has its licence. Each nickname belongs to one formal
//! name, so that a row has one key; where usage knows several, it has the most common one for people who use only the
//! nickname.

use std::{collections::HashMap, fmt::Write, sync::LazyLock};

use sha2::{Digest, Sha256};

use super::{latin::latin, words::letters};

/// Lines of a formal name and its nicknames.
const TABLE: &str = include_str!("nicknames.txt");

static FORMAL_NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(formal) = words.next() else { continue };
        names.extend(words.map(|nickname| (nickname, formal)));
    }
    names
});

/// Returns the formal name that belongs to a nickname; any other name itself, without white space.
pub(crate) fn nickname(value: &str) -> Option<String> {
    match FORMAL_NAMES.get(latin(value).as_str()) {
        Some(formal) => Some((*formal).to_owned()),
        None => letters(value),
    }
}

/// Returns the SHA-256 of the table, in hexadecimal digits. It is part of the terms: both sides must have the same.
pub fn nickname_table_sha256() -> String {
    Sha256::digest(TABLE).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}"); // a text takes everything
        digits
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nicknames_by_table() {
        for (name, formal) in [
            ("bill", "william"),
            ("Bill", "william"),
            ("bob", "robert"),
            ("peggy", "margaret"),
            ("william", "william"),
            ("j oel", "joel"),
            ("Ёлкин", "Ёлкин"),
        ] {
            assert_eq!(nickname(name).as_deref(), Some(formal));
        }
        assert_eq!(nickname(" "), None);
    }

    /// Each name stands once, so that the names of one formal name do not belong to another.
    #[test]
    fn the_table_is_a_partition() {
        let words =
            TABLE.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let (mut seen, mut count) = (HashSet::new(), 0);
        for word in words {
            assert!(seen.insert(word), "{word} stands twice");
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
            count += 1;
        }
        assert!(count > 600 && FORMAL_NAMES.len() > 400);
        assert!(FORMAL_NAMES.values().all(|formal| !FORMAL_NAMES.contains_key(formal)));
    }

    #[test]
    fn the_table_is_that_of_the_version() {
        let expected = "50f9fa9592d4814c853627b67f913d1e2b4d6859f2d094a43119de4ce4ab4599";
        assert_eq!(nickname_table_sha256(), expected, "raise the version of `nickname`");
    }
}
