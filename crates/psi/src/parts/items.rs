//! Items, which represent the elements of a set.

use vesica_primitives::Block;

use crate::{Error, Protocol, Result};

/// How much of each key's digest a protocol takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// 128 bits, the head. Enough where nobody looks for two keys with one item.
    Short,
    /// 256 bits, head and tail, for protocols that extract items from what a malicious party sent.
    Long,
}

/// A party's set, owned.
#[derive(Debug, Clone, Default)]
pub struct Set {
    heads: Vec<Block>,
    tails: Vec<Block>,
}

impl Set {
    /// A set of short digests.
    pub fn short(heads: Vec<Block>) -> Self {
        Self { heads, tails: Vec::new() }
    }

    /// A set of long digests.
    ///
    /// # Panics
    /// If there are not as many tails as heads.
    pub fn long(heads: Vec<Block>, tails: Vec<Block>) -> Self {
        assert_eq!(heads.len(), tails.len(), "a tail for each head");
        Self { heads, tails }
    }

    /// The items, as protocols take them.
    pub fn items(&self) -> Items<'_> {
        Items { heads: &self.heads, tails: &self.tails }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }
}

/// A party's set, as a protocol sees it. Items need not look random, but they must be distinct, each
/// as a whole: with long digests, two may share a head or a tail.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    heads: &'a [Block],
    tails: &'a [Block],
}

impl<'a> Items<'a> {
    /// How many there are.
    pub fn len(self) -> usize {
        self.heads.len()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.heads.is_empty()
    }

    /// The first 128 bits of each digest.
    pub fn heads(self) -> &'a [Block] {
        self.heads
    }

    /// The other 128 bits of each digest; nothing where digests are short.
    pub fn tails(self) -> &'a [Block] {
        self.tails
    }

    /// The items at these positions, in this order.
    pub fn at(self, positions: &[u32]) -> Set {
        let pick = |all: &[Block]| match all {
            [] => Vec::new(),
            all => positions.iter().map(|position| all[*position as usize]).collect(),
        };
        Set { heads: pick(self.heads), tails: pick(self.tails) }
    }

    /// As much of each digest as `protocol` takes.
    ///
    /// # Errors
    /// [`Error::ShortDigests`] where it takes more than there is.
    pub fn cut_for(self, protocol: &Protocol) -> Result<Self> {
        match protocol.digest {
            Digest::Short => Ok(Self { tails: &[], ..self }),
            Digest::Long if self.tails.len() == self.heads.len() => Ok(self),
            Digest::Long => Err(Error::ShortDigests { protocol: protocol.key }),
        }
    }
}

impl<'a> From<&'a [Block]> for Items<'a> {
    /// Short digests.
    fn from(heads: &'a [Block]) -> Self {
        Self { heads, tails: &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::naive;

    const LONG: Protocol = Protocol { digest: Digest::Long, ..naive::PROTOCOL };

    #[test]
    fn a_protocol_gets_what_it_takes() {
        let set = Set::long(vec![Block(1), Block(2)], vec![Block(3), Block(4)]);
        let short = set.items().cut_for(&naive::PROTOCOL).unwrap();
        assert_eq!((short.heads(), short.tails()), (&[Block(1), Block(2)][..], &[][..]));
        let long = set.items().cut_for(&LONG).unwrap();
        assert_eq!(long.tails(), [Block(3), Block(4)]);
        assert!(matches!(short.cut_for(&LONG), Err(Error::ShortDigests { protocol: "naive" })));
        assert!(Set::default().items().cut_for(&LONG).is_ok());
    }

    #[test]
    fn some_of_a_set() {
        let set = Set::long(vec![Block(1), Block(2)], vec![Block(3), Block(4)]);
        let some = set.items().at(&[1, 1]);
        assert_eq!(
            (some.items().heads(), some.items().tails()),
            (&[Block(2); 2][..], &[Block(4); 2][..])
        );
        let short = Set::short(vec![Block(1), Block(2)]).items().at(&[1]);
        assert_eq!((short.items().heads(), short.items().tails()), (&[Block(2)][..], &[][..]));
    }
}
