//! The final step that most protocols share: the sender sends a sorted list of tags, or a filter that contains
//! them, and the receiver checks which of them are its own.
//!
//! Sorting takes time that depends on the tags, and so does comparing. The sender's are on the list that it is about to
//! send. The receiver's are pseudo-random, also those that are not on it: the sender could tell more than that from a time
//! only if it knew which items to compute them for, and then only whether some tags lie as those of a set that it guessed.

mod filter;

use bytemuck::{Pod, Zeroable};
use vesica_net::Channel;
use vesica_oprf::Values;
use vesica_params::KAPPA;
use vesica_primitives::{Block, declassify_all};
use vesica_structures::{sort, tag_list};

use crate::{Error, Items, List, Result, Setting};

use filter::Form;

/// How tags of a run are made and encoded: the first bits of pseudo-random blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tags {
    bits: u32,
    list: List,
    /// The number of values that the receiver tests.
    queries: usize,
}

/// A tag, and the position of its item in the party's set.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tagged {
    /// In pieces, because a 128-bit number would be aligned to 16 bytes and waste 12.
    tag: [u32; 4],
    position: u32,
}

/// The place of an item's tag on a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The tag's place, counted from the first of the list.
    pub place: u32,
    /// The position of the item.
    pub position: u32,
}

impl Tagged {
    fn new(tag: u128, position: u32) -> Self {
        Self { tag: bytemuck::cast(tag), position }
    }

    /// A tag before truncation.
    pub(crate) fn whole(value: Block, position: usize) -> Self {
        Self::new(value.0, position as u32)
    }

    fn tag(self) -> u128 {
        bytemuck::cast(self.tag)
    }
}

impl Tags {
    /// As many bits as are needed so that two different tags are equal with probability at most 2^-λ over all
    /// pairs that the receiver compares.
    ///
    /// A filter takes whole blocks, and is wrong on any of the receiver's with that probability.
    pub(crate) fn new(setting: impl Into<Setting>) -> Self {
        let setting = setting.into();
        let Setting { sizes, list, .. } = setting;
        let bits = match list {
            List::Sorted => {
                vesica_params::tag::bits(sizes.receiver, sizes.sender, setting.lambda())
            }
            _ => 128,
        };
        Self { bits, list, queries: sizes.receiver }
    }

    /// All κ bits, for a sender that may choose its tags: each then belongs to one item.
    pub(crate) fn whole() -> Self {
        Self { bits: KAPPA, list: List::Sorted, queries: 0 }
    }

    /// Of so few bits that different values do have equal ones.
    #[cfg(test)]
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self { bits, ..Self::whole() }
    }

    /// The tag of an item's pseudo-random value.
    pub(crate) fn of(self, value: Block) -> u128 {
        value.0 >> (128 - self.bits)
    }

    pub(crate) fn tagged(self, value: Block, position: usize) -> Tagged {
        Tagged::new(self.of(value), position as u32)
    }

    /// Bytes of a list of `count` tags.
    pub(crate) fn list_len(self, count: usize) -> usize {
        match self.filter(count) {
            Some(filter) => filter.encoded_len(),
            None => self.layout(count).encoded_len(),
        }
    }

    fn filter(self, count: usize) -> Option<Form> {
        Form::new(self.list, count, self.queries)
    }

    fn layout(self, count: usize) -> tag_list::Layout {
        tag_list::Layout::new(count, self.bits)
    }

    /// Sends the tags of the values of a multi-point OPRF at `items`, as the last message.
    ///
    /// # Errors
    /// Same as [`Tags::send_list`].
    pub(crate) fn send_values(
        self,
        label: &'static str,
        evaluated: Values,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<()> {
        let list = evaluated.values.into_iter().map(|value| self.of(value)).collect();
        self.send_list(label, list, items, channel)?;
        Ok(channel.flush()?)
    }

    /// Receives a list or filter of `count` tags and returns the positions, in ascending order, of the `items`
    /// whose values, `evaluated`, are on it.
    ///
    /// # Errors
    /// Same as [`Tags::recv_matches`].
    pub(crate) fn recv_values(
        self,
        label: &'static str,
        count: usize,
        evaluated: Values,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        let mine = evaluated.values.into_iter().zip(evaluated.positions);
        let mine = mine.map(|(value, position)| self.tagged(value, position as usize)).collect();
        let mut matches = self.recv_matches(label, count, mine, items, channel)?;
        matches.sort_unstable();
        Ok(matches)
    }

    /// Sends the tags of `items` as a sorted list or as a filter, which hides their order.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`] if tags are equal because items are.
    pub(crate) fn send_list(
        self,
        label: &'static str,
        mut tags: Vec<u128>,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<()> {
        declassify_all(&mut tags);
        if let Some(filter) = self.filter(tags.len()) {
            let values: Vec<Block> = tags.into_iter().map(Block).collect();
            let Some(encoded) = filter.encode(&values)? else {
                refuse_duplicates(items)?;
                return Err(Error::HashingFailure);
            };
            return Ok(channel.send(label, &encoded)?);
        }
        sort::by_uniform_key(&mut tags, self.bits, |tag| *tag);
        if tags.array_windows().any(|[a, b]| a == b) {
            refuse_duplicates(items)?;
        }
        let words = self.layout(tags.len()).encode(tags.into_iter());
        Ok(channel.send(label, bytemuck::cast_slice(&words))?)
    }

    /// Truncates tags, sends them as a sorted list, and returns the positions of their items in its order.
    /// Among equal tags, the removed bits decide the order.
    ///
    /// # Errors
    /// Same as [`Tags::send_list`].
    pub(crate) fn send_in_order(
        self,
        label: &'static str,
        mut tagged: Vec<Tagged>,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        debug_assert!(self.list == List::Sorted, "a filter has no order");
        declassify_all(&mut tagged);
        sort::by_uniform_key(&mut tagged, 128, |tagged| tagged.tag());
        let cut = |tagged: &Tagged| self.of(Block(tagged.tag()));
        if tagged.array_windows().any(|[a, b]| cut(a) == cut(b)) {
            refuse_duplicates(items)?;
        }
        let words = self.layout(tagged.len()).encode(tagged.iter().map(cut));
        channel.send(label, bytemuck::cast_slice(&words))?;
        Ok(tagged.into_iter().map(|tagged| tagged.position).collect())
    }

    /// Receives a list of `count` tags and returns the places on it of those of `mine`, the tags of `items`: of
    /// equal ones on the list, the first. Places are in ascending order.
    ///
    /// # Errors
    /// Same as [`Tags::recv_matches`].
    pub(crate) fn recv_places(
        self,
        label: &'static str,
        count: usize,
        mut mine: Vec<Tagged>,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<Vec<Place>> {
        debug_assert!(self.list == List::Sorted, "a filter has no order");
        self.sort_own(&mut mine, items)?;
        let mut places = Vec::new();
        self.compare(label, count, &mine, channel, |place| places.push(place))?;
        Ok(places)
    }

    /// Receives a list or filter of `count` tags and returns the positions of those of `mine`, the tags of
    /// `items`, that are on it, in no particular order.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`] if tags are equal because items are.
    pub(crate) fn recv_matches(
        self,
        label: &'static str,
        count: usize,
        mut mine: Vec<Tagged>,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        self.sort_own(&mut mine, items)?;
        if let Some(filter) = self.filter(count) {
            let contains = filter.recv(label, channel)?;
            let found = mine.iter().filter(|tagged| contains(Block(tagged.tag())));
            return Ok(found.map(|tagged| tagged.position).collect());
        }
        let mut matches = Vec::new();
        self.compare(label, count, &mine, channel, |place| matches.push(place.position))?;
        Ok(matches)
    }

    /// Sorts R's own tags, and refuses tags that are equal because their items are.
    fn sort_own(self, mine: &mut Vec<Tagged>, items: Items<'_>) -> Result<()> {
        declassify_all(mine);
        sort::by_uniform_key(mine, self.bits, |tagged| tagged.tag());
        if mine.array_windows().any(|[a, b]| a.tag() == b.tag()) {
            refuse_duplicates(items)?;
        }
        Ok(())
    }

    /// Receives a sorted list and reports which of `mine`, sorted as well, are on it, and where.
    fn compare(
        self,
        label: &'static str,
        count: usize,
        mine: &[Tagged],
        channel: &mut Channel,
        mut show: impl FnMut(Place),
    ) -> Result<()> {
        let layout = self.layout(count);
        let mut words = vec![0u64; layout.encoded_words()];
        channel.recv_into(label, bytemuck::cast_slice_mut(&mut words))?;
        let malformed = |error: tag_list::Error| channel.malformed(label, describe(error));
        let mut mine = mine.iter().peekable();
        for (place, theirs) in (0..).zip(layout.decode(words).map_err(malformed)?) {
            let theirs = theirs.map_err(malformed)?;
            while mine.next_if(|tagged| tagged.tag() < theirs).is_some() {}
            while let Some(tagged) = mine.next_if(|tagged| tagged.tag() == theirs) {
                show(Place { place, position: tagged.position });
            }
        }
        Ok(())
    }
}

fn describe(error: tag_list::Error) -> &'static str {
    match error {
        tag_list::Error::Length => "wrong length of a tag list",
        tag_list::Error::Count => "wrong number of tags in a list",
        tag_list::Error::Order => "tags of a list are not sorted",
        tag_list::Error::Padding => "padding of a tag list is not zero",
    }
}

/// Refuses items that are not a set, naming two equal ones.
pub(crate) fn refuse_duplicates(items: Items<'_>) -> Result<()> {
    // Items need not look random; a permutation under a fixed key distributes them evenly. A high half is added
    // to its low half's image, so whole items need to be compared only if sums collide.
    let permutation = vesica_primitives::aes::Aes128::new(Block::ZERO);
    let mut images = items.low_halves().to_vec();
    permutation.encrypt(&mut images);
    images.iter_mut().zip(items.high_halves()).for_each(|(image, high)| *image ^= *high);
    if !items.high_halves().is_empty() {
        permutation.encrypt(&mut images);
    }
    let mut sorted: Vec<Tagged> = images
        .iter()
        .enumerate()
        .map(|(position, image)| Tagged::new(image.0, position as u32))
        .collect();
    drop(images);
    sort::by_uniform_key(&mut sorted, 128, |tagged| tagged.tag());
    let whole = |tagged: &Tagged| {
        let position = tagged.position as usize;
        (items.low_halves()[position], items.high_halves().get(position))
    };
    for meeting in sorted.chunk_by(|a, b| a.tag() == b.tag()).filter(|run| run.len() > 1) {
        let mut meeting: Vec<_> = meeting.iter().map(|t| (whole(t), t.position as usize)).collect();
        meeting.sort_unstable();
        if let Some([(_, first), (_, second)]) = meeting.array_windows().find(|[a, b]| a.0 == b.0) {
            return Err(Error::DuplicateItem { first: *first, second: *second });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    fn refused(items: Items<'_>) -> Option<(usize, usize)> {
        match refuse_duplicates(items) {
            Ok(()) => None,
            Err(Error::DuplicateItem { first, second }) => Some((first, second)),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn equal_items_are_named() {
        let low_halves = [7, 8, 9, 8].map(Block);
        assert_eq!(refused(Items::from(&low_halves[..])), Some((1, 3)));
        assert_eq!(refused(Items::from(&low_halves[..3])), None);
        assert_eq!(refused(Items::from(&[][..])), None);
    }

    #[test]
    fn items_are_equal_as_a_whole() {
        let set = |high_halves: [u128; 4]| {
            Set::long([8, 8, 9, 8].map(Block).to_vec(), high_halves.map(Block).to_vec())
        };
        assert_eq!(refused(set([1, 2, 1, 3]).items()), None);
        assert_eq!(refused(set([1, 2, 1, 2]).items()), Some((1, 3)));
    }

    /// High halves that make different items collide under the public permutation do not make them equal.
    #[test]
    fn items_that_only_meet_are_not_equal() {
        let mut images = [Block(1), Block(2)];
        vesica_primitives::aes::Aes128::new(Block::ZERO).encrypt(&mut images);
        let set =
            Set::long(vec![Block(1), Block(2), Block(1)], vec![images[0], images[1], images[0]]);
        assert_eq!(refused(set.items()), Some((0, 2)));
        let set = Set::long(vec![Block(1), Block(2)], images.to_vec());
        assert_eq!(refused(set.items()), None);
    }
}
