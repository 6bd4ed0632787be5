//! A disagreement between the two sides, for a person to read.

use std::fmt;

use vesica_normalize::shown::shown;

/// A point on which the two sides do not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The subject.
    pub what: &'static str,
    /// This side's position.
    pub here: String,
    /// The other side's position.
    pub there: String,
}

impl Difference {
    /// Returns a fault that both sides have alike.
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
