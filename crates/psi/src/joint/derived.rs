//! Derived items, on which two parties go on for all.

use vesica_primitives::{
    Block,
    hash::{ShortHash, ShortInput},
    threads,
};

/// Items at a time.
const CHUNK: usize = 1 << 12;

/// The first 128 bits of BLAKE3(item ‖ sum), keyed by the plan's name, for each item and its sum of `len` bytes. The
/// key separates plans and is public.
pub(super) fn derive(name: &blake3::Hash, items: &[Block], sums: &[u8], len: usize) -> Vec<Block> {
    let hash = ShortHash::keyed(name.as_bytes());
    let mut derived = vec![Block::ZERO; items.len()];
    let inputs = items.chunks(CHUNK).zip(sums.chunks(CHUNK * len));
    threads::for_each(inputs.zip(derived.chunks_mut(CHUNK)), |((items, sums), derived)| {
        let inputs = items.iter().zip(sums.chunks_exact(len)).map(|(item, sum)| {
            let mut input = [0; 2 * size_of::<Block>()];
            input[..16].copy_from_slice(&item.to_bytes());
            input[16..][..len].copy_from_slice(sum);
            ShortInput::new(&input[..16 + len]).expect("two blocks are short")
        });
        let mut derived = derived.iter_mut();
        hash.hash(inputs, |digest| {
            let [low, _]: [Block; 2] = bytemuck::cast(digest);
            *derived.next().expect("a digest for each item") = low;
        });
    });
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_hashes_of_items_and_sums() {
        let name = blake3::hash(b"name");
        let items: Vec<Block> = (0..5000).map(Block).collect();
        for len in [5, 8, 16] {
            let sums: Vec<u8> = (0..5000 * len).map(|i| (i * i) as u8).collect();
            let derived = derive(&name, &items, &sums, len);
            for (i, derived) in derived.iter().enumerate() {
                let mut hasher = blake3::Hasher::new_keyed(name.as_bytes());
                hasher.update(&items[i].to_bytes()).update(&sums[i * len..][..len]);
                assert_eq!(*derived, vesica_primitives::hash::truncate(&hasher.finalize()));
            }
        }
    }
}
