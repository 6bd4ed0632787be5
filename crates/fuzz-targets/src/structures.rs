//! Packed numbers, lists of tags, and filters, as received from the other side.

use vesica_params::{
    Adversary,
    filter::{BloomShape, CuckooShape, ListShape, Rate, Shape, SortedListShape, VacuumShape},
};
use vesica_primitives::{Block, packed};
use vesica_structures::{
    filter::{Bloom, Cuckoo, Filter, List, MobileCuckoo, SortedList, Vacuum},
    sort,
    tag_list::{Layout, MAX_BITS},
};

use crate::{Valid, bytes::Bytes};

/// Maximum number of items, so that an execution takes microseconds.
const MOST: usize = 64;

/// A list of tags is refused, or it is sorted and encodes to the bytes that were read.
pub fn tag_list(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (count, bits) = (bytes.below(MOST), 1 + u32::from(bytes.byte()) % MAX_BITS);
    let layout = Layout::new(count, bits);
    // A length that is sometimes wrong by a word, and otherwise right.
    let words = match bytes.byte() {
        0 => layout.encoded_words() + 1,
        1 => layout.encoded_words().saturating_sub(1),
        _ => layout.encoded_words(),
    };
    let words: Vec<u64> = (0..words).map(|_| u64::from_ne_bytes(bytes.array())).collect();
    let Ok(list) = layout.decode(words.clone()) else { return };
    let Ok(tags) = list.iter().collect::<Result<Vec<u128>, _>>() else { return };
    assert!(tags.is_sorted() && tags.len() == count);
    assert!(bits == MAX_BITS || tags.iter().all(|tag| tag >> bits == 0));
    assert_eq!(layout.encode(&tags, |tag| *tag), words, "one list has one encoding");
    valid.note("list");
}

/// A list of tags encoded by this side is decoded to the same list by the other side.
pub fn tag_list_made(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (count, bits) = (bytes.below(MOST), 1 + u32::from(bytes.byte()) % MAX_BITS);
    let mask = u128::MAX >> (MAX_BITS - bits);
    let mut tags: Vec<u128> =
        (0..count).map(|_| u128::from_le_bytes(bytes.array()) & mask).collect();
    let mut sorted = tags.clone();
    sorted.sort_unstable();
    sort::by_uniform_key(&mut tags, bits, |tag| *tag);
    assert_eq!(tags, sorted, "the fast sort against the standard library's");
    let layout = Layout::new(count, bits);
    let encoded = layout.encode(&tags, |tag| *tag);
    assert_eq!(encoded.len() * 8, layout.encoded_len());
    let decoded =
        layout.decode(encoded).and_then(|list| list.iter().collect::<Result<Vec<_>, _>>());
    assert_eq!(decoded, Ok(tags));
    valid.note("list");
}

/// Packed numbers of a fixed length unpack to the same numbers, and a truncated list is read as zeros.
pub fn packed_numbers(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (count, bits) = (bytes.below(MOST), 1 + u32::from(bytes.byte()) % 128);
    let content = bytes.take(usize::MAX);
    let numbers: Vec<u128> = packed::unpack(content, count, bits).collect();
    let bit = |at: usize| content.get(at / 8).map_or(0, |byte| u128::from(byte >> (at % 8) & 1));
    for (i, number) in numbers.iter().enumerate() {
        let slowly = (0..bits as usize).fold(0, |sum, j| sum | bit(i * bits as usize + j) << j);
        assert_eq!(*number, slowly, "number {i} of {bits} bits");
    }
    let mut again = Vec::new();
    packed::pack_into(&mut again, numbers.iter().copied(), bits);
    assert_eq!(again.len(), packed::packed_len(count, bits));
    assert!(packed::unpack(&again, count, bits).eq(numbers));
    valid.note("numbers");
}

/// A filter is refused, or it encodes to the bytes that were read.
pub fn filter(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (kind, items) = (bytes.byte() % 7, 1 + bytes.below(MOST));
    let Ok(rate) = Rate::sound(Adversary::SemiHonest, 1 + bytes.below(1 << 10), 40) else { return };
    let (name, is_read) = match kind {
        0 => ("list", shaped::<List>(bytes, ListShape::new(items, rate))),
        1 => ("sorted list", shaped::<SortedList>(bytes, SortedListShape::new(items, rate))),
        2 => ("Bloom filter", checked::<Bloom>(bytes, BloomShape::new(items, rate))),
        3 => ("Bloom filter", checked::<Bloom>(bytes, BloomShape::sparse(items))),
        4 => ("cuckoo filter", shaped::<Cuckoo>(bytes, CuckooShape::new(items, rate))),
        5 => (
            "mobile cuckoo filter",
            shaped::<MobileCuckoo>(bytes, CuckooShape::mobile(items, rate)),
        ),
        _ => ("vacuum filter", shaped::<Vacuum>(bytes, VacuumShape::new(items, rate))),
    };
    valid.note_if(is_read, name);
}

fn shaped<F: Filter>(bytes: Bytes<'_>, shape: Result<F::Shape, impl Sized>) -> bool {
    shape.is_ok_and(|shape| checked::<F>(bytes, shape))
}

/// Returns whether the filter in the input could be read.
fn checked<F: Filter>(mut bytes: Bytes<'_>, shape: F::Shape) -> bool {
    let query = Block::from_bytes(bytes.array());
    let whole = bytes.byte() != 0;
    let mut encoded = bytes.0.to_vec();
    if whole {
        encoded.resize(F::encoded_len(&shape), 0);
    }
    let decoded = F::decode(&encoded, shape);
    if let Ok(filter) = &decoded {
        assert_eq!(filter.encode(), encoded, "one filter has one encoding");
        let _ = filter.contains(query);
    }
    // A filter built by this side is read by the other side, and contains its items.
    let items: Vec<Block> = (0..shape.items() as u128)
        .map(|i| {
            Block(query.0.wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        })
        .collect();
    let Ok(built) = F::build(&items, shape) else { return decoded.is_ok() };
    let encoded = built.encode();
    assert_eq!(encoded.len(), F::encoded_len(&shape));
    let Ok(again) = F::decode(&encoded, shape) else { panic!("a filter is not read again") };
    assert!(items.iter().all(|item| again.contains(*item)));
    assert_eq!(again.encode(), encoded);
    decoded.is_ok()
}
