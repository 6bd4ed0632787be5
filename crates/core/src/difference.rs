//! What the two sides do not agree on, for a person to read.

use std::fmt;

use vesica_normalize::shown::shown;

/// Something the two sides do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub what: &'static str,
    /// What this side says.
    pub here: String,
    /// What the other side says.
    pub there: String,
}

impl Difference {
    /// Something that is the matter on both sides alike.
    pub fn of_both(what: &'static str, said: String) -> Self {
        Self { what, here: said.clone(), there: said }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [here, there] = [&self.here, &self.there].map(|said| shown(said));
        write!(f, "{} (here: {here}; there: {there})", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_other_side_do_not_act_on_a_screen() {
        let there = "a\u{1b}[2K\n\u{202e}b".to_owned();
        let said = Difference { what: "columns", here: "c".to_owned(), there }.to_string();
        assert_eq!(said, "columns (here: c; there: a\u{fffd}[2K\u{fffd}\u{fffd}b)");
    }
}
