//! The final step of a protocol that carries payloads: lists of tags as in [`tags`](super::tags), followed by
//! S's payloads, encrypted so that R can open only the payloads of common items.
//!
//! S knows an OPRF value v for each place where an item of R's may have been evaluated: one, or one for each
//! hash function. R knows v for its own items; for R, the v of any other item is a random block. One hash,
//! BLAKE3 keyed by the session, derives two independent blocks from it: a **tag**, which is cut to the length
//! that lists need, and a **key** of 128 bits. v itself is never sent, so a tag of any length reveals nothing
//! about the key.
//!
//! 1. S → R: the sorted list of tags, truncated. They are sorted as whole tags, so that pseudo-random values also
//!    decide the order of tags that are equal after truncation.
//! 2. If there are several lists, S → R, for each but the first: the list, and then for each of its places in
//!    turn the item's key and place on the *first* list, encrypted under the key of this one.
//! 3. S → R: the payloads in the order of the first list, encrypted under that list's keys.
//! 4. R finds its items' tags, opens key and place if an item is on another list than the first, and with these
//!    opens the payloads.
//!
//! **Encryption** is XOR with AES-128 in counter mode. A key belongs to one place of one list in one session and
//! encrypts one message of an agreed length, so no part of a stream is used twice, and no nonce is needed.
//!
//! **Payloads are not authenticated**, because that would achieve nothing. Against third parties, the connection
//! authenticates. S itself may choose any payload, so no check could distinguish an invented one from an
//! altered one. And R opens nothing with a wrong key: tag and key derive from the same value, so R would have
//! to meet the tag of another item, which has probability 2^-λ over all pairs, or 2^-128 per pair if tags are
//! whole.
//!
//! **Equal tags on one list**: R takes the first of them and continues. Stopping would show an S that duplicates a tag
//! whether R has that item.
//!
//! Lengths of messages depend on the number of S's items, on the number of lists and on the length of a payload.

use rayon::prelude::*;
use vesica_net::Channel;
use vesica_oprf::Values;
use vesica_primitives::{
    Block, Seed,
    aes::Prg,
    declassify,
    hash::{ShortHash, ShortInput},
    threads,
};
use zeroize::Zeroizing;

use super::tags::{Place, Tagged, Tags};
use crate::{
    Result,
    payload::{Opened, ReceiverInput, SenderInput, WRAPPED_LEN},
};

const WRAPPED: &str = "payload/keys";
const SEALED: &str = "payload/sealed";

/// Maximal number of bytes per message, except for a single payload that is longer.
const CHUNK: usize = 1 << 18;

/// Values hashed at a time by one thread.
const VALUES: usize = 1 << 12;

/// Blocks of a key's stream made at once.
const BATCH: usize = 8;

/// Sends, for each label, the list of the tags of S's items with these values, one for each item, and then the
/// payloads.
///
/// # Errors
/// Same as [`Tags::send_list`].
pub(crate) fn send(
    tags: Tags,
    labels: &[&'static str],
    mut values: impl FnMut(usize) -> Values,
    SenderInput { items, payloads }: SenderInput<'_>,
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(payloads.count(), items.len(), "a payload for each item");
    let mut keys = no_keys(items.len());
    let tagged = derive(values(0), Tagged::whole, &mut keys, channel);
    let order = tags.send_in_order(labels[0], tagged, items, channel)?;
    if labels.len() > 1 {
        let places = inverse(&order);
        for (nth, label) in labels.iter().enumerate().skip(1) {
            let mut wrapping = no_keys(items.len());
            let tagged = derive(values(nth), Tagged::whole, &mut wrapping, channel);
            let order = tags.send_in_order(label, tagged, items, channel)?;
            let wrapped = |position: u32, out: &mut [u8]| {
                let (key, place) = out.split_at_mut(size_of::<Block>());
                key.copy_from_slice(&keys[position as usize].to_bytes());
                place.copy_from_slice(&places[position as usize].to_le_bytes());
            };
            send_sealed(WRAPPED, WRAPPED_LEN, &order, &wrapping, wrapped, channel)?;
        }
    }
    let payload =
        |position: u32, out: &mut [u8]| out.copy_from_slice(payloads.of(position as usize));
    send_sealed(SEALED, payloads.payload_len(), &order, &keys, payload, channel)?;
    Ok(channel.flush()?)
}

/// Like [`send`], for a protocol with one list.
pub(crate) fn send_values(
    tags: Tags,
    label: &'static str,
    values: Values,
    input: SenderInput<'_>,
    channel: &mut Channel,
) -> Result<()> {
    let mut values = Some(values);
    let only = |_| values.take().expect("there is one list, which is asked for once");
    send(tags, &[label], only, input, channel)
}

/// Like [`receive`], for a protocol with one list.
pub(crate) fn receive_values(
    tags: Tags,
    label: &'static str,
    count: usize,
    values: Values,
    input: ReceiverInput<'_>,
    channel: &mut Channel,
) -> Result<Opened> {
    receive(tags, count, std::iter::once((label, values)), input, channel)
}

/// Receives, for each label, a list of `count` tags, on which R looks for the items given with it, each with
/// its value; then the payloads. No item is given with two labels.
///
/// # Errors
/// Same as [`Tags::recv_matches`]; a deviation if the place sent with a key does not exist.
pub(crate) fn receive(
    tags: Tags,
    count: usize,
    lists: impl Iterator<Item = (&'static str, Values)>,
    ReceiverInput { items, payload_len }: ReceiverInput<'_>,
    channel: &mut Channel,
) -> Result<Opened> {
    let mut keys = no_keys(items.len());
    let mut found = Vec::new();
    for (nth, (label, values)) in lists.enumerate() {
        let mine = derive(values, |tag, position| tags.tagged(tag, position), &mut keys, channel);
        let mut places = tags.recv_places(label, count, mine, items, channel)?;
        if nth > 0 {
            unwrap(&mut places, count, &mut keys, channel)?;
        }
        found.extend(places);
    }
    found.sort_unstable_by_key(|found: &Place| found.place);
    let bytes = recv_sealed(
        SealedMessages { label: SEALED, len: payload_len, count },
        &found,
        &keys,
        channel,
    )?;
    let positions = found.into_iter().map(|found| found.position).collect();
    Ok(Opened::new(positions, payload_len, bytes))
}

/// The keys before any value has been seen.
fn no_keys(items: usize) -> Zeroizing<Vec<Block>> {
    Zeroizing::new(bytemuck::zeroed_vec(items))
}

/// Derives tag and key of each value: collects the tags, which `tagged` makes from whole tags and positions,
/// and puts each key at its item's position.
fn derive(
    Values { positions, values }: Values,
    tagged: impl Fn(Block, usize) -> Tagged,
    keys: &mut [Block],
    channel: &Channel,
) -> Vec<Tagged> {
    let context = "vesica psi payload v1";
    let hash = ShortHash::keyed(&blake3::derive_key(context, channel.session().as_bytes()));
    let mut derived: Zeroizing<Vec<[Block; 2]>> =
        Zeroizing::new(bytemuck::zeroed_vec(values.len()));
    let tasks = derived.chunks_mut(VALUES).zip(values.chunks(VALUES));
    threads::for_each(tasks, |(derived, values)| {
        let inputs = values.iter().map(|value| {
            ShortInput::new(&value.to_bytes()).expect("a block is shorter than the longest input")
        });
        let mut derived = derived.iter_mut();
        hash.hash(inputs, |digest| {
            let both = derived.next().expect("a digest for each value");
            let [tag, key] = bytemuck::cast::<_, [[u8; 16]; 2]>(digest);
            *both = [Block::from_bytes(tag), Block::from_bytes(key)];
        });
    });
    let derived = derived.iter().zip(positions);
    let tag_all = derived.map(|([tag, key], position)| {
        keys[position as usize] = *key;
        tagged(*tag, position as usize)
    });
    tag_all.collect()
}

/// The place of each item on a list, given the items' positions in the list's order.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, position) in (0..).zip(order) {
        places[*position as usize] = place;
    }
    places
}

/// Returns the number of messages of this length that are sent together.
fn together(len: usize) -> usize {
    (CHUNK / len).max(1)
}

/// XORs a key's stream onto the only message that it encrypts.
fn apply_stream(key: Block, message: &mut [u8]) {
    let mut stream = Prg::new(&Seed::new(key));
    let mut blocks = Zeroizing::new([Block::ZERO; BATCH]);
    for message in message.chunks_mut(size_of_val(&*blocks)) {
        let blocks = &mut blocks[..message.len().div_ceil(size_of::<Block>())];
        stream.fill(blocks);
        let pads: &[u8] = bytemuck::cast_slice(blocks);
        message.iter_mut().zip(pads).for_each(|(byte, pad)| *byte ^= pad);
    }
}

/// Sends one message of `len` bytes for each position in turn, written by `plain` and encrypted under that
/// position's key.
fn send_sealed(
    label: &'static str,
    len: usize,
    order: &[u32],
    keys: &[Block],
    plain: impl Fn(u32, &mut [u8]) + Sync,
    channel: &mut Channel,
) -> Result<()> {
    let mut sealed = Vec::new();
    for positions in order.chunks(together(len)) {
        sealed.resize(positions.len() * len, 0);
        sealed.par_chunks_exact_mut(len).zip(positions).for_each(|(message, position)| {
            plain(*position, message);
            apply_stream(keys[*position as usize], message);
        });
        channel.send(label, &sealed)?;
    }
    Ok(())
}

/// Messages that a sender sealed under the keys of its items.
struct SealedMessages {
    label: &'static str,
    /// The bytes of a message.
    len: usize,
    /// The number of messages.
    count: usize,
}

/// Receives messages, and returns the contents of those at the given places, one after another. Places are in
/// ascending order; `keys` holds the key of the item at each position.
fn recv_sealed(
    messages: SealedMessages,
    found: &[Place],
    keys: &[Block],
    channel: &mut Channel,
) -> Result<Zeroizing<Vec<u8>>> {
    let SealedMessages { label, len, count } = messages;
    let mut opened = Zeroizing::new(vec![0; found.len() * len]);
    let (mut sealed, mut left, mut out) = (Vec::new(), found, &mut opened[..]);
    for first in (0..count).step_by(together(len)) {
        let end = count.min(first + together(len));
        sealed.resize((end - first) * len, 0);
        channel.recv_into(label, &mut sealed)?;
        let here;
        (here, left) = left.split_at(left.partition_point(|found| (found.place as usize) < end));
        let (opening, rest) = out.split_at_mut(here.len() * len);
        opening.par_chunks_exact_mut(len).zip(here).for_each(|(message, found)| {
            let at = (found.place as usize - first) * len;
            message.copy_from_slice(&sealed[at..at + len]);
            apply_stream(keys[found.position as usize], message);
        });
        out = rest;
    }
    Ok(opened)
}

/// Replaces the places that R found on a list other than the first, and its items' keys, by the wrapped contents.
fn unwrap(
    found: &mut [Place],
    count: usize,
    keys: &mut [Block],
    channel: &mut Channel,
) -> Result<()> {
    let wrapped = SealedMessages { label: WRAPPED, len: WRAPPED_LEN, count };
    let opened = recv_sealed(wrapped, found, keys, channel)?;
    for (found, message) in found.iter_mut().zip(opened.chunks_exact(WRAPPED_LEN)) {
        let (key, place) = message.split_first_chunk().expect("a key comes first");
        // Declassified: which of S's items R has is R's result, as with the tags of the first list.
        let place =
            declassify(u32::from_le_bytes(*place.first_chunk().expect("and a place after it")));
        if place as usize >= count {
            return Err(channel.malformed(WRAPPED, "a place beyond the first list").into());
        }
        keys[found.position as usize] = Block::from_bytes(*key);
        found.place = place;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::transport::memory;

    use super::*;
    use crate::{Items, payload::Payloads};

    const LABELS: [&str; 3] = ["one", "two", "three"];
    const LEN: usize = 24;
    /// S's items; R has half of them and as many others.
    const ITEMS: usize = 40;

    /// Values for items at these positions.
    fn values(range: std::ops::Range<usize>, rng: &mut StdRng) -> Values {
        let positions = (0..range.len() as u32).collect();
        Values { positions, values: range.map(|_| Block::random(rng)).collect() }
    }

    fn heads(count: usize) -> Vec<Block> {
        (0..count as u128).map(Block).collect()
    }

    /// S's messages for these values, one list of them for each label, as the receiver's end of a channel.
    fn sent(lists: &[Values], payloads: &[u8]) -> Channel {
        let (a, b) = memory::pair();
        let lists: Vec<_> = lists.iter().map(copy).collect();
        let (heads, payloads) = (heads(lists[0].values.len()), payloads.to_vec());
        thread::spawn(move || {
            let mut channel = Channel::new(a);
            let mut lists = lists.into_iter();
            let with = SenderInput {
                items: Items::from(&heads[..]),
                payloads: Payloads::new(LEN, &payloads),
            };
            let labels = &LABELS[..lists.len()];
            let next = |_| lists.next().unwrap();
            send(Tags::whole(), labels, next, with, &mut channel).unwrap();
        });
        Channel::new(b)
    }

    fn copy(values: &Values) -> Values {
        Values { positions: values.positions.clone(), values: values.values.clone() }
    }

    fn payload(position: usize) -> [u8; LEN] {
        std::array::from_fn(|i| (position * 31 + i * 7) as u8 | 1)
    }

    fn payloads(count: usize) -> Vec<u8> {
        (0..count).flat_map(payload).collect()
    }

    /// R's keys, matching or not, at every ciphertext: 40 keys of its own and 40 payloads.
    #[test]
    fn only_the_key_of_an_item_opens_its_payload() {
        let mut rng = StdRng::seed_from_u64(1);
        let of_sender = values(0..ITEMS, &mut rng);
        let mut of_receiver = values(0..ITEMS, &mut rng);
        of_receiver.values[..ITEMS / 2].copy_from_slice(&of_sender.values[..ITEMS / 2]);
        let mut channel = sent(&[copy(&of_sender)], &payloads(ITEMS));
        let mut keys = no_keys(ITEMS);
        let mine = derive(of_receiver, Tagged::whole, &mut keys, &channel);
        let items = heads(ITEMS);
        let items = Items::from(&items[..]);
        let found = Tags::whole().recv_places(LABELS[0], ITEMS, mine, items, &mut channel).unwrap();
        let mut sealed = vec![0; ITEMS * LEN];
        channel.recv_into(SEALED, &mut sealed).unwrap();
        let mut opened = 0;
        for (place, message) in sealed.chunks(LEN).enumerate() {
            for (position, key) in keys.iter().enumerate() {
                let mut message = message.to_vec();
                apply_stream(*key, &mut message);
                let matches = |found: &Place| {
                    (found.place as usize, found.position as usize) == (place, position)
                };
                if found.iter().any(matches) {
                    assert_eq!(message, payload(position));
                    opened += 1;
                } else {
                    assert!((0..ITEMS).all(|item| message != payload(item)));
                }
            }
        }
        assert_eq!((found.len(), opened), (ITEMS / 2, ITEMS / 2));
    }

    /// Tag and key are the two halves of one digest, so a tag of any length reveals nothing about the key.
    #[test]
    fn tag_and_key_are_halves_of_a_digest() {
        let (a, _b) = memory::pair();
        let channel = Channel::new(a);
        let value = Block(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        let list = Values { positions: vec![1], values: vec![value] };
        let mut keys = no_keys(2);
        let tags = std::cell::Cell::new(Block::ZERO);
        let tagged = |tag: Block, position| {
            tags.set(tag);
            Tagged::whole(tag, position)
        };
        derive(list, tagged, &mut keys, &channel);
        let session = channel.session();
        let key = blake3::derive_key("vesica psi payload v1", session.as_bytes());
        let digest = blake3::keyed_hash(&key, &value.to_bytes());
        assert_eq!([tags.get().to_bytes(), keys[1].to_bytes()].concat(), digest.as_bytes());
        assert_eq!(keys[0], Block::ZERO);
    }

    /// An item of R's is found on the list of its label, and opened by the contents that are wrapped there.
    #[test]
    fn every_list_leads_to_the_payload() {
        let mut rng = StdRng::seed_from_u64(2);
        let lists = [(); 3].map(|()| values(0..ITEMS, &mut rng));
        let mut channel = sent(&lists, &payloads(ITEMS));
        let mine = lists.iter().enumerate().map(|(nth, list)| {
            let positions: Vec<u32> =
                (0..ITEMS as u32).filter(|i| *i as usize % 4 == nth).collect();
            let values = positions.iter().map(|i| list.values[*i as usize]).collect();
            (LABELS[nth], Values { positions, values })
        });
        let items = heads(ITEMS);
        let with = ReceiverInput { items: Items::from(&items[..]), payload_len: LEN };
        let opened = receive(Tags::whole(), ITEMS, mine, with, &mut channel).unwrap();
        let expected: Vec<u32> = (0..ITEMS as u32).filter(|i| i % 4 != 3).collect();
        assert_eq!(opened.positions(), expected);
        for (i, position) in expected.iter().enumerate() {
            assert_eq!(opened.payload(i), payload(*position as usize));
        }
    }

    /// A sender that puts one value on its list twice does not learn from R's behaviour whether R has it.
    #[test]
    fn the_first_of_equal_tags_counts() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut doubled = values(0..4, &mut rng);
        doubled.values[3] = doubled.values[1];
        for shared in [0, 1] {
            let mut channel = sent(&[copy(&doubled)], &payloads(4));
            let mine = Values { positions: vec![0], values: vec![doubled.values[shared]] };
            let items = heads(1);
            let with = ReceiverInput { items: Items::from(&items[..]), payload_len: LEN };
            let opened = receive_values(Tags::whole(), LABELS[0], 4, mine, with, &mut channel);
            let opened = opened.unwrap();
            assert_eq!(opened.positions(), [0]);
            let one_of = if shared == 0 { vec![payload(0)] } else { vec![payload(1), payload(3)] };
            assert!(one_of.iter().any(|payload| opened.payload(0) == payload));
        }
    }

    #[test]
    fn a_place_beyond_the_list_is_refused() {
        let mut rng = StdRng::seed_from_u64(4);
        let lists = [(); 2].map(|()| values(0..1, &mut rng));
        let (a, b) = memory::pair();
        let [first, second] = lists.each_ref().map(copy);
        thread::spawn(move || {
            let mut channel = Channel::new(a);
            let items = heads(1);
            let items = Items::from(&items[..]);
            let mut keys = no_keys(1);
            for (label, list) in LABELS.into_iter().zip([first, second]) {
                let tagged = derive(list, Tagged::whole, &mut keys, &channel);
                Tags::whole().send_in_order(label, tagged, items, &mut channel).unwrap();
            }
            let beyond = |_, out: &mut [u8]| out.copy_from_slice(&[1; WRAPPED_LEN]);
            send_sealed(WRAPPED, WRAPPED_LEN, &[0], &keys, beyond, &mut channel).unwrap();
            channel.flush().unwrap();
        });
        let mut channel = Channel::new(b);
        let none = Values { positions: vec![], values: vec![] };
        let [_, second] = lists;
        let mine = [(LABELS[0], none), (LABELS[1], second)].into_iter();
        let items = heads(1);
        let with = ReceiverInput { items: Items::from(&items[..]), payload_len: LEN };
        let error = receive(Tags::whole(), 1, mine, with, &mut channel).err().unwrap();
        assert!(error.to_string().contains("a place beyond the first list"), "{error}");
    }
}
