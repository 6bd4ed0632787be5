//! Items, which represent the elements of a set.

use vesica_primitives::Block;

/// The part of each key's digest that a protocol takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestLength {
    /// 128 bits, the low half: enough unless a party searches for two keys with the same item.
    Short,
    /// 256 bits, for protocols that extract items from a malicious party's messages.
    Long,
}

/// A party's set, owned.
#[derive(Debug, Clone, Default)]
pub struct Set {
    low_halves: Vec<Block>,
    high_halves: Vec<Block>,
}

impl Set {
    /// A set of short digests.
    pub fn short(low_halves: Vec<Block>) -> Self {
        Self { low_halves, high_halves: Vec::new() }
    }

    /// A set of long digests.
    ///
    /// # Panics
    /// If there are not as many high halves as low halves.
    pub fn long(low_halves: Vec<Block>, high_halves: Vec<Block>) -> Self {
        assert_eq!(low_halves.len(), high_halves.len(), "a high half for each low half");
        Self { low_halves, high_halves }
    }

    /// The items, as protocols take them.
    pub fn items(&self) -> Items<'_> {
        Items { low_halves: &self.low_halves, high_halves: &self.high_halves }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.low_halves.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.low_halves.is_empty()
    }
}

/// A party's set, as a protocol sees it. Items need not look random, but they must be distinct as a whole: with
/// long digests, two items may share a low half or a high half.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    low_halves: &'a [Block],
    high_halves: &'a [Block],
}

impl<'a> Items<'a> {
    /// The number of items.
    pub fn len(self) -> usize {
        self.low_halves.len()
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.low_halves.is_empty()
    }

    /// The first 128 bits of each digest.
    pub fn low_halves(self) -> &'a [Block] {
        self.low_halves
    }

    /// The other 128 bits of each digest; empty if digests are short.
    pub fn high_halves(self) -> &'a [Block] {
        self.high_halves
    }

    /// The items at these positions, in this order.
    pub fn at(self, positions: &[u32]) -> Set {
        let pick = |all: &[Block]| match all {
            [] => Vec::new(),
            all => positions.iter().map(|position| all[*position as usize]).collect(),
        };
        Set { low_halves: pick(self.low_halves), high_halves: pick(self.high_halves) }
    }

    /// The low halves of the digests.
    pub(crate) fn short(self) -> Self {
        Self { high_halves: &[], ..self }
    }
}

impl<'a> From<&'a [Block]> for Items<'a> {
    /// Short digests.
    fn from(low_halves: &'a [Block]) -> Self {
        Self { low_halves, high_halves: &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_a_set() {
        let set = Set::long(vec![Block(1), Block(2)], vec![Block(3), Block(4)]);
        let some = set.items().at(&[1, 1]);
        assert_eq!(
            (some.items().low_halves(), some.items().high_halves()),
            (&[Block(2); 2][..], &[Block(4); 2][..])
        );
        let short = Set::short(vec![Block(1), Block(2)]).items().at(&[1]);
        assert_eq!(
            (short.items().low_halves(), short.items().high_halves()),
            (&[Block(2)][..], &[][..])
        );
    }
}
