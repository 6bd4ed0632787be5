//! Derivations: pure functions from normalised values to coarser ones. Each accepts any text and returns `None`, never
//! an empty text, if there is nothing to derive.

mod cologne;
mod dates;
mod double_metaphone;
mod latin;
mod metaphone_consonants;
mod nickname;
mod soundex;
mod words;

pub use self::nickname::nickname_table_sha256;
pub(crate) use self::{
    cologne::cologne,
    dates::{month_day, swap_day_month, year, year_day, year_month},
    double_metaphone::double_metaphone,
    nickname::nickname,
    soundex::soundex,
    words::{left, letters, right, sorted_words},
};
