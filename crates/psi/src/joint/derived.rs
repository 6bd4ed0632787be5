//! Derived items, on which two parties go on for all.

use vesica_primitives::{
    Block,
    hash::{SHORT, ShortHash, ShortInput},
    threads,
};

use crate::{Items, Set};

/// Items at a time.
const CHUNK: usize = 1 << 12;

/// BLAKE3(item ‖ sum), keyed by the plan's name, for each item and its sum of `len` bytes: as many bits as items
/// have. The key separates plans and is public.
pub(super) fn derive(name: &blake3::Hash, items: Items<'_>, sums: &[u8], len: usize) -> Set {
    let hash = ShortHash::keyed(name.as_bytes());
    let mut low_halves = vec![Block::ZERO; items.len()];
    let mut high_halves = vec![Block::ZERO; items.high_halves().len()];
    let mut rest = &mut high_halves[..];
    let tasks = low_halves.chunks_mut(CHUNK).zip(sums.chunks(CHUNK * len)).enumerate();
    let tasks = tasks.map(|(chunk, (low_halves, sums))| {
        let count = low_halves.len().min(rest.len());
        let (high_halves, after) = std::mem::take(&mut rest).split_at_mut(count);
        rest = after;
        (chunk * CHUNK, low_halves, high_halves, sums)
    });
    let tasks: Vec<_> = tasks.collect();
    threads::for_each(tasks, |(first, low_halves, high_halves, sums)| {
        let inputs = (first..).zip(sums.chunks_exact(len)).map(|(i, sum)| {
            let mut input = [0; SHORT];
            let mut at = size_of::<Block>();
            input[..at].copy_from_slice(&items.low_halves()[i].to_bytes());
            if let Some(high) = items.high_halves().get(i) {
                input[at..2 * at].copy_from_slice(&high.to_bytes());
                at *= 2;
            }
            input[at..at + len].copy_from_slice(sum);
            at += len;
            ShortInput::new(&input[..at]).expect("three blocks are short")
        });
        let mut derived = low_halves.iter_mut().zip(0..);
        hash.hash(inputs, |digest| {
            let [low, high]: [Block; 2] = bytemuck::cast(digest);
            let (to, i) = derived.next().expect("a digest for each item");
            *to = low;
            high_halves.get_mut(i).into_iter().for_each(|to| *to = high);
        });
    });
    match items.high_halves() {
        [] => Set::short(low_halves),
        _ => Set::long(low_halves, high_halves),
    }
}

#[cfg(test)]
mod tests {
    use vesica_primitives::hash::truncate;

    use super::*;

    #[test]
    fn items_are_hashes_of_items_and_sums() {
        let name = blake3::hash(b"name");
        let items: Vec<Block> = (0..5000).map(Block).collect();
        for len in [5, 8, 16] {
            let sums: Vec<u8> = (0..5000 * len).map(|i| (i * i) as u8).collect();
            let short = derive(&name, Items::from(&items[..]), &sums, len);
            let long =
                Set::long(items.clone(), items.iter().map(|item| *item ^ Block(9)).collect());
            let long = derive(&name, long.items(), &sums, len);
            assert!(short.items().high_halves().is_empty());
            for (i, item) in items.iter().enumerate() {
                let mut hasher = blake3::Hasher::new_keyed(name.as_bytes());
                let mut whole = hasher.clone();
                hasher.update(&item.to_bytes()).update(&sums[i * len..][..len]);
                assert_eq!(short.items().low_halves()[i], truncate(&hasher.finalize()));
                whole.update(&item.to_bytes()).update(&(*item ^ Block(9)).to_bytes());
                let whole = whole.update(&sums[i * len..][..len]).finalize();
                let [low, high]: [Block; 2] = bytemuck::cast(*whole.as_bytes());
                assert_eq!(long.items().low_halves()[i], low);
                assert_eq!(long.items().high_halves()[i], high);
            }
        }
    }
}
