//! Nicknames of English given names.
//!
//! The table was compiled for this crate from common usage, and has its licence. Each nickname belongs to one formal
//! name, so that a row has one key; where usage knows several, it has the most common one for people who go by the
//! nickname alone.

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
