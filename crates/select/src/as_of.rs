//! Joins by the latest earlier row of the last few days.

use std::fmt;

use crate::column::{ColumnRef, Side};

/// The longest time between two rows that are joined, in days.
pub const MAX_WITHIN: u32 = 63;

/// The clause `a ASOF JOIN b ON a.key = b.key AND a.ordered_at >= b.shown_at`, with the condition `a.ordered_at -
/// b.shown_at <= 14`. Each row of the *later* side is joined with the *earlier* side's latest row of its key that is
/// not after it. Rows without one, or with an older one, are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf {
    /// The later side, which stands first.
    pub later: Side,
    /// The names of both sides' columns of dates, by [`Side::index`].
    pub dates: [String; 2],
    /// The most days between the rows, at most [`MAX_WITHIN`].
    pub within: u32,
}

impl AsOf {
    /// Returns the side whose rows are found.
    pub fn earlier(&self) -> Side {
        self.later.other()
    }

    /// Returns a side's column of dates.
    pub fn date(&self, side: Side) -> ColumnRef {
        ColumnRef { side, name: self.dates[side.index()].clone() }
    }

    pub(crate) fn mirrored(&self) -> Self {
        let [of_a, of_b] = self.dates.clone();
        Self { later: self.later.other(), dates: [of_b, of_a], within: self.within }
    }

    /// Displays the bound on the days between two rows.
    pub(crate) fn bound(&self) -> String {
        let [later, earlier] = [self.later, self.earlier()].map(|side| self.date(side));
        format!("{later} - {earlier} <= {}", self.within)
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (later, earlier) = (self.later, self.earlier());
        write!(f, "{later} ASOF JOIN {earlier} ON {later}.key = {earlier}.key AND ")?;
        write!(f, "{} >= {}", self.date(later), self.date(earlier))
    }
}
