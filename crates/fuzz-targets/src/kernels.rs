//! Kernels for vector instructions, compared with the portable ones.

use vesica_primitives::{
    Block,
    arch::{AesKeys, Backend, HASH_IV, HASH_KEYED, HASH_LANES},
};

use crate::{Valid, bytes::Bytes};

/// Maximum number of blocks in a vector: more than any kernel processes at a time, plus an odd rest.
const MOST: usize = 67;

/// Every backend of this processor computes the same as the portable one, for vectors of any length and content.
pub fn kernels(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (kernel, len) = (bytes.byte() % 12, bytes.below(MOST));
    let slow = result(Backend::PORTABLE, kernel, len, bytes);
    for backend in Backend::available() {
        assert_eq!(result(backend, kernel, len, bytes), slow, "{backend:?}, kernel {kernel}");
    }
    valid.note("vectors");
}

/// Runs a kernel on the rest of the input, and returns its output as bytes.
fn result(backend: Backend, kernel: u8, len: usize, mut bytes: Bytes<'_>) -> Vec<u8> {
    let key = Block::from_bytes(bytes.array());
    let mut blocks =
        |len: usize| -> Vec<Block> { (0..len).map(|_| Block::from_bytes(bytes.array())).collect() };
    let bytes_of = |blocks: &[Block]| bytemuck::cast_slice(blocks).to_vec();
    match kernel {
        0 => {
            let keys = AesKeys::expand(backend, key);
            let mut values = blocks(len);
            keys.encrypt(&mut values);
            keys.feed_forward(&mut values);
            bytes_of(&values)
        }
        1 => {
            let mut values = vec![Block::ZERO; len];
            AesKeys::expand(backend, key).encrypt_counter(key.0 as u64 >> 8, &mut values);
            bytes_of(&values)
        }
        2 => {
            let (parents, other) = (blocks(len), blocks(1)[0]);
            let keys = [key, other].map(|key| AesKeys::expand(backend, key));
            let mut children = vec![[Block::ZERO; 2]; len];
            let sums = AesKeys::double([&keys[0], &keys[1]], &parents, &mut children);
            let doubled = [bytes_of(children.as_flattened()), bytes_of(&sums)].concat();
            let sum = keys[0].split(&parents, &mut children);
            [doubled, bytes_of(children.as_flattened()), bytes_of(&[sum])].concat()
        }
        3 => {
            let (mut sums, x) = (blocks(len), blocks(len));
            backend.add_products128(&mut sums, &x, key);
            bytes_of(&sums)
        }
        4 => {
            let mut sums = blocks(len);
            let x: Vec<u64> = blocks(len).iter().map(|block| block.0 as u64).collect();
            backend.add_products64(&mut sums, &x, key);
            bytes_of(&sums)
        }
        5 => {
            let [mut sums, x] =
                [(), ()].map(|()| blocks(len).iter().map(|b| b.0 as u64).collect::<Vec<_>>());
            backend.add_products_gf64(&mut sums, &x, key.0 as u64);
            backend.multiply_each64(&mut sums, &x);
            bytemuck::cast_slice(&sums).to_vec()
        }
        6 => {
            let (mut values, factors) = (blocks(len), blocks(len));
            backend.multiply_each128(&mut values, &factors);
            bytes_of(&values)
        }
        7 => {
            let (a, b) = (blocks(len), blocks(len));
            bytes_of(&[backend.inner_product128(&a, &b), backend.multiply128(key, key)])
        }
        8 => {
            let mut rows: Vec<[Block; 3]> = blocks(3 * len).as_chunks().0.to_vec();
            backend.rekeyed_hash(key, key.0 >> 8, &mut rows);
            bytes_of(rows.as_flattened())
        }
        9 => {
            let mut rows = [Block::ZERO; 128];
            blocks(128).iter().zip(&mut rows).for_each(|(from, to)| *to = *from);
            backend.transpose(&mut rows);
            bytes_of(&rows)
        }
        10 => backend.multiply64(key.0 as u64, (key.0 >> 64) as u64).to_le_bytes().to_vec(),
        _ => hash(backend, key, &blocks(4 * HASH_LANES)),
    }
}

fn hash(backend: Backend, key: Block, content: &[Block]) -> Vec<u8> {
    let words: Vec<u32> =
        content.iter().flat_map(|block| bytemuck::cast::<Block, [u32; 4]>(*block)).collect();
    let (mut inputs, mut lens) = ([[0; 16]; HASH_LANES], [0; HASH_LANES]);
    for (lane, input) in inputs.iter_mut().enumerate() {
        input.copy_from_slice(&words[16 * lane..][..16]);
        // Bytes beyond the length are 0.
        lens[lane] = (key.0 >> (8 * lane)) as u32 % 65;
        let text: &mut [u8] = bytemuck::cast_slice_mut(input);
        text[lens[lane] as usize..].fill(0);
    }
    let numbers = std::array::from_fn(|lane| (key.0 >> (4 * lane)) as u64);
    let mut secret = HASH_IV;
    let (key, mode) = match key.0 & 1 {
        0 => (&secret, 0),
        _ => {
            secret[0] ^= key.0 as u32;
            (&secret, HASH_KEYED)
        }
    };
    let hashes = backend.hash(key, mode, &inputs, &lens, &numbers);
    bytemuck::cast_slice(hashes.as_flattened()).to_vec()
}
