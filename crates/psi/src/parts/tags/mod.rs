//! The final step that most protocols share: the sender sends a sorted list of tags, or a filter that contains
//! them, and the receiver checks which of them are its own.
//!
//! Sorting takes time that depends on the tags, and so does comparing. The sender's tags are on the list that it is
//! about to send. The receiver's are pseudo-random, also those that are not on it: to learn more from a time, the
//! sender would have to know which items to compute tags for, and it would learn only whether some tags are distributed
//! like the tags of a set that it guessed.

mod filter;

use bytemuck::{Pod, Zeroable};
use vesica_net::Channel;
use vesica_oprf::Values;
use vesica_params::{Failure, KAPPA, tag};
use vesica_primitives::{Block, declassify_all, threads};
use vesica_structures::{sort, tag_list};

use crate::{Error, Items, List, Result, Setting, Sizes};

use filter::Form;

/// Tags that are compared together.
const TASK: usize = 1 << 14;

/// The form and encoding of a run's tags: the first bits of pseudo-random blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tags {
    bits: u32,
    list: List,
    /// The number of values that the receiver tests.
    queries: usize,
    /// −log2 of the probability with which any of them may be wrong.
    lambda: u32,
}

/// A tag, and the position of its item in the party's set.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tagged {
    /// Stored in pieces, because a 128-bit number would be aligned to 16 bytes and waste 12.
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
    /// Chooses enough bits that two different values have equal tags with probability at most 2^-λ over all pairs that
    /// the receiver compares.
    ///
    /// A filter takes whole blocks, and is wrong on any of the receiver's with that probability.
    pub(crate) fn new(setting: impl Into<Setting>) -> Self {
        let setting = setting.into();
        let (Setting { sizes, list, .. }, lambda) = (setting, setting.lambda());
        let bits = match list {
            List::Sorted => tag::bits(sizes.receiver, sizes.sender, lambda),
            _ => 128,
        };
        Self { bits, list, queries: sizes.receiver, lambda }
    }

    /// The event that one of the receiver's values is mistaken for another one of the sender's.
    pub(crate) fn failure(self, Sizes { sender, receiver }: Sizes) -> Failure {
        let log2 = match self.filter(sender) {
            Some(filter) => filter.log2_failure(receiver),
            None => tag::log2_failure(receiver, sender, self.bits),
        };
        Failure::new("two tags are equal", log2)
    }

    /// All κ bits, for a sender that may choose its tags: each then belongs to one item.
    pub(crate) fn whole() -> Self {
        Self { bits: KAPPA, list: List::Sorted, queries: 0, lambda: KAPPA }
    }

    /// Creates tags of few bits, so that different values do have equal tags.
    #[cfg(test)]
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self { bits, ..Self::whole() }
    }

    /// Bits of a tag.
    pub(crate) fn bits(self) -> u32 {
        self.bits
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
        Form::new(self.list, count, self.queries, self.lambda)
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
        let mut values = evaluated.values;
        declassify_all(&mut values);
        self.send_made(label, values.len(), move |i| self.of(values[i]), items, channel)?;
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
        let Values { positions, mut values } = evaluated;
        declassify_all(&mut values);
        let tagged = |i: usize| self.tagged(values[i], positions[i] as usize);
        let mine = self.sort_own(values.len(), tagged, items)?;
        drop((values, positions));
        self.recv_sorted(label, count, &mine, channel)
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
        self.send_made(label, tags.len(), move |i| tags[i], items, channel)
    }

    /// Like [`Tags::send_list`], for the `count` tags that `make` gives.
    fn send_made(
        self,
        label: &'static str,
        count: usize,
        make: impl Fn(usize) -> u128 + Sync,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<()> {
        if let Some(filter) = self.filter(count) {
            let values: Vec<Block> = (0..count).map(|i| Block(make(i))).collect();
            let Some(encoded) = filter.encode(&values)? else {
                refuse_duplicates(items)?;
                return Err(Error::HashingFailure);
            };
            channel.reveal()?;
            return Ok(channel.send(label, &encoded)?);
        }
        let tags = sort::sorted(count, self.bits, &make, |tag| *tag);
        drop(make);
        refuse_equal(&tags, |tag| *tag, items)?;
        let words = self.layout(count).encode(&tags, |tag| *tag);
        channel.reveal()?;
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
        refuse_equal(&tagged, cut, items)?;
        let words = self.layout(tagged.len()).encode(&tagged, cut);
        channel.reveal()?;
        channel.send(label, bytemuck::cast_slice(&words))?;
        Ok(tagged.into_iter().map(|tagged| tagged.position).collect())
    }

    /// Receives a list of `count` tags and returns the places on it of the tags in `mine`, which belong to `items`; of
    /// equal tags on the list, the first place. Places are in ascending order.
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
        declassify_all(&mut mine);
        let mine = self.sort_own(mine.len(), move |i| mine[i], items)?;
        self.compare(label, count, &mine, channel)
    }

    /// Receives a list or filter of `count` tags and returns the positions of the tags in `mine`, which belong to
    /// `items`, that are on it: each once, in ascending order.
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
        declassify_all(&mut mine);
        let mine = self.sort_own(mine.len(), move |i| mine[i], items)?;
        self.recv_sorted(label, count, &mine, channel)
    }

    /// Like [`Tags::recv_matches`], for tags that are sorted already.
    fn recv_sorted(
        self,
        label: &'static str,
        count: usize,
        mine: &[Tagged],
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        if let Some(filter) = self.filter(count) {
            let contains = filter.recv(label, channel)?;
            let found = mine.iter().filter(|tagged| contains(Block(tagged.tag())));
            return Ok(ascending(found.map(|tagged| tagged.position)));
        }
        let places = self.compare(label, count, mine, channel)?;
        Ok(ascending(places.iter().map(|place| place.position)))
    }

    /// Sorts R's own tags, `count` of them from `make`. Refuses tags that are equal because their items are.
    fn sort_own(
        self,
        count: usize,
        make: impl Fn(usize) -> Tagged + Sync,
        items: Items<'_>,
    ) -> Result<Vec<Tagged>> {
        let mine = sort::sorted(count, self.bits, make, |tagged| tagged.tag());
        refuse_equal(&mine, |tagged| tagged.tag(), items)?;
        Ok(mine)
    }

    /// Receives a sorted list and returns the places on it of the tags in `mine`, sorted as well, in ascending order.
    fn compare(
        self,
        label: &'static str,
        count: usize,
        mine: &[Tagged],
        channel: &mut Channel,
    ) -> Result<Vec<Place>> {
        let layout = self.layout(count);
        let mut words = vec![0u64; layout.encoded_words()];
        channel.recv_into(label, bytemuck::cast_slice_mut(&mut words))?;
        let malformed = |error: tag_list::Error| channel.malformed(label, describe(error));
        let theirs = layout.decode(words).map_err(malformed)?;
        // A result has no default, and an option has.
        let found = threads::map(theirs.chunks(), |theirs| Some(among(mine, theirs)));
        let found: std::result::Result<Vec<_>, _> = found.into_iter().flatten().collect();
        let found = found.map_err(malformed)?;
        Ok(found.concat())
    }
}

/// Refuses tags, sorted, that are equal because their items are.
fn refuse_equal<T: Sync>(
    sorted: &[T],
    tag: impl Fn(&T) -> u128 + Sync,
    items: Items<'_>,
) -> Result<()> {
    let has_equal = |first: usize| {
        let some = &sorted[first..sorted.len().min(first + TASK + 1)];
        some.array_windows().any(|[one, next]| tag(one) == tag(next))
    };
    match threads::map((0..sorted.len()).step_by(TASK), has_equal).contains(&true) {
        true => refuse_duplicates(items),
        false => Ok(()),
    }
}

/// Returns the places of the tags in `mine`, sorted, that are among these tags and not on the list before them.
fn among(
    mine: &[Tagged],
    theirs: tag_list::Tags<'_>,
) -> std::result::Result<Vec<Place>, tag_list::Error> {
    let up_to = |previous| mine.partition_point(|tagged| tagged.tag() <= previous);
    let later = theirs.previous().map_or(0, up_to);
    let mut mine = mine[later..].iter().peekable();
    let mut places = Vec::new();
    for (place, theirs) in (theirs.place() as u32..).zip(theirs) {
        let theirs = theirs?;
        while mine.next_if(|tagged| tagged.tag() < theirs).is_some() {}
        while let Some(tagged) = mine.next_if(|tagged| tagged.tag() == theirs) {
            places.push(Place { place, position: tagged.position });
        }
    }
    Ok(places)
}

/// Returns each of these positions once, in ascending order.
fn ascending(positions: impl Iterator<Item = u32> + Clone) -> Vec<u32> {
    let words = positions.clone().max().map_or(0, |last| last as usize / 64 + 1);
    let mut found = vec![0u64; words];
    positions.for_each(|position| found[position as usize / 64] |= 1 << (position % 64));
    let total = found.iter().map(|word| word.count_ones() as usize).sum();
    let mut ascending = Vec::with_capacity(total);
    for (first, mut word) in (0..).step_by(64).zip(found) {
        while word != 0 {
            ascending.push(first + word.trailing_zeros());
            word &= word - 1;
        }
    }
    ascending
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

    /// Tags that are equal on the list count once, and wherever chunks of the list end.
    #[test]
    fn places_are_those_of_a_search() {
        let tags = Tags::of_bits(60);
        let count = 150_000;
        let value = |i: usize, range: u64| Block(u128::from(i as u64 * 7919 % range) << 70);
        for range in [1 << 40, 100_000, 300, 1] {
            let theirs: Vec<u128> = (0..count).map(|i| tags.of(value(i, range))).collect();
            let mine: Vec<Tagged> =
                (0..count).map(|i| tags.tagged(value(3 * i, range), i)).collect();
            let mut sorted = theirs.clone();
            sorted.sort_unstable();
            let mut expected: Vec<(usize, u32)> = mine
                .iter()
                .filter_map(|own| {
                    let place = sorted.partition_point(|tag| *tag < own.tag());
                    (sorted.get(place) == Some(&own.tag())).then_some((place, own.position))
                })
                .collect();
            expected.sort_unstable();
            let (a, b) = vesica_net::transport::memory::pair();
            let (mut a, mut b) = (Channel::new(a), Channel::new(b));
            let items: Vec<Block> = (0..count as u128).map(Block).collect();
            let items = Items::from(&items[..]);
            let found = std::thread::scope(|scope| {
                let sent = scope.spawn(move || {
                    tags.send_list("list", theirs, items, &mut a)?;
                    Ok::<_, Error>(a.flush()?)
                });
                let found = tags.recv_places("list", count, mine.clone(), items, &mut b).unwrap();
                sent.join().unwrap().unwrap();
                found
            });
            let mut found: Vec<(usize, u32)> =
                found.iter().map(|place| (place.place as usize, place.position)).collect();
            assert!(found.is_sorted_by_key(|(place, _)| *place));
            found.sort_unstable();
            assert_eq!(found, expected, "of {range}");
        }
    }

    #[test]
    fn positions_ascend_and_come_once() {
        let of = |positions: &[u32]| ascending(positions.iter().copied());
        assert!(of(&[]).is_empty());
        assert_eq!(of(&[64, 0, 63, 64, 129]), [0, 63, 64, 129]);
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
