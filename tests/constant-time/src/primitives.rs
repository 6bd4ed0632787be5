//! Kernels and structures of `primitives`. All of their inputs are secret, except lengths.

use std::hint::black_box;

use rand::{Rng, SeedableRng, rngs::StdRng};
use vesica_primitives::{
    Bits, Block, Seed,
    aes::{
        Aes128, CircularRobust, CorrelationRobust, Doubling, Prg, Rekeyed,
        TweakableCorrelationRobust,
    },
    arch::Backend,
    declassify, gf,
    group::{Batch, Scalars},
    hash::{ROW_BLOCKS, RowHash, ShortHash, ShortInput},
    matrix, paillier, rsa,
};

use crate::marks::{SecretRng, public, public_object, secret_object};

/// More than every kernel processes at a time, and not a multiple of that.
const BLOCKS: usize = 77;

fn blocks(n: usize, rng: &mut SecretRng) -> Vec<Block> {
    (0..n).map(|_| Block::random(rng)).collect()
}

/// Key expansion, encryption, generators, trees' nodes and hashes from AES.
pub fn aes() {
    let mut rng = SecretRng::new(1);
    let mut values = blocks(BLOCKS, &mut rng);
    let key = Block::random(&mut rng);
    Aes128::new(key).encrypt(&mut values);
    CorrelationRobust::new(key).apply(&mut values);
    TweakableCorrelationRobust::new(key).apply(5, &mut values);
    CircularRobust::new(key).apply(&mut values);
    Prg::new(&Seed::random(&mut rng)).fill(&mut values);
    let mut children = vec![[Block::ZERO; 2]; BLOCKS];
    let doubling = Doubling::new([Block::random(&mut rng), Block::random(&mut rng)]);
    black_box(doubling.double(&values, &mut children));
    black_box(CircularRobust::new(key).split(&values, &mut children));
    Rekeyed::new(key).apply(5, &mut children);
    black_box(children);
}

/// Products and inverses in GF(2^64) and GF(2^128).
pub fn fields() {
    let mut rng = SecretRng::new(2);
    let (x, mut sums) = (blocks(BLOCKS, &mut rng), blocks(BLOCKS, &mut rng));
    let words: Vec<u64> = (0..BLOCKS).map(|_| rng.next_u64()).collect();
    let mut word_sums = words.clone();
    let (factor, word) = (Block::random(&mut rng), rng.next_u64());
    black_box(gf::multiply64(word, words[0]));
    black_box(gf::invert128(gf::multiply128(factor, x[0])));
    gf::add_products128(&mut sums, &x, factor);
    gf::add_products64(&mut sums, &words, factor);
    black_box(gf::inner_product128(&x, &sums));
    let backend = Backend::current();
    backend.add_products_gf64(&mut word_sums, &words, word);
    backend.multiply_each64(&mut word_sums, &words);
    backend.multiply_each128(&mut sums, &x);
    black_box((sums, word_sums));
}

/// Transposition of bit matrices, and vectors of bits.
pub fn bits() {
    let mut rng = SecretRng::new(3);
    let rows = 3 * 128;
    let columns = blocks(128 * 3, &mut rng);
    let mut out = vec![Block::ZERO; rows];
    matrix::columns_to_rows(&columns, rows, &mut out, 1);
    let bits = Bits::random(rows, &mut rng);
    let kept: Vec<Block> =
        out.iter().zip(bits.iter()).map(|(row, bit)| *row & Block::mask(bit)).collect();
    black_box(kept);
}

/// BLAKE3 for rows, items and digests, with secret keys and inputs.
pub fn hashes() {
    let mut rng = SecretRng::new(4);
    let mut key = [0; 32];
    rng.fill_bytes(&mut key);
    let mut input = [0; 40];
    rng.fill_bytes(&mut input);
    let inputs = (0..BLOCKS).map(|_| ShortInput::new(&input).expect("short enough"));
    ShortHash::keyed(&key).hash(inputs, |digest| {
        black_box(digest);
    });
    black_box(blake3_of(&input));
    let rows: Vec<[Block; ROW_BLOCKS]> =
        (0..BLOCKS).map(|_| std::array::from_fn(|_| Block::random(&mut rng))).collect();
    let indices: Vec<u64> = (0..BLOCKS as u64).collect();
    let mut out = vec![Block::ZERO; BLOCKS];
    RowHash::new(Block::random(&mut rng)).hash_wide(&rows, &indices, &mut out);
    black_box(out);
}

fn blake3_of(input: &[u8]) -> Block {
    use vesica_primitives::group::{Group, Ristretto};
    // Hashing to the group runs the library's own BLAKE3, on inputs of any length.
    let encoded = Ristretto::encode(&Ristretto::hash("constant time", input));
    bytemuck::pod_read_unaligned(&encoded[..16])
}

/// Scalars, products by generator, element and table, hashing, encoding: with secret scalars and inputs.
pub fn group<G: Scalars>() {
    let mut rng = SecretRng::new(5);
    let (s, t) = (G::random_scalar(&mut rng), G::uniform_scalar(&mut rng));
    let p = G::mul_generator(&s);
    let mut input = [0; 33];
    rng.fill_bytes(&mut input);
    let q = G::hash("constant time", &input);
    let sum = G::sub(&G::add(&p, &q), &G::mul(&q, &t));
    let product = G::mul(&sum, &G::divide(&G::invert(&s)));
    let element = [G::encode(&q)];
    public(&element);
    let public_element = G::decode(&element[0]).expect("an element, as encoded");
    let by_table = G::mul_table(&G::table(&public_element), &s);
    for element in [product, by_table, sum] {
        let products = G::Batch::repeat(&element, 2).mul(&G::divide(&s));
        black_box(products.encode_multiples());
    }
    black_box(G::encode(&G::negate(&product)));
    let scalar = G::multiply_scalars(&s, &t);
    let bit = (rng.next_u32() & 1) as u8;
    black_box(G::encode_scalar(&G::select_scalar(&scalar, &s, bit.into())));
}

/// The signer's root, and blinding, with a secret key and secret inputs.
pub fn rsa() {
    let mut key = rsa::Key::generate(&mut StdRng::seed_from_u64(1));
    secret_object(&mut key);
    public_object(key.public());
    let mut rng = SecretRng::new(6);
    let public_key = key.public();
    let (x, blinding) = (public_key.random(&mut rng), public_key.random(&mut rng));
    let blinded = public_key.multiply(&x, &public_key.raise(&blinding));
    let root = key.root(&blinded);
    black_box(public_key.multiply(&root, &x).encode());
}

/// Encryption, decryption and arithmetic with a secret key, plaintexts and randomness.
pub fn paillier() {
    let mut key = paillier::Key::generate(&mut StdRng::seed_from_u64(2));
    secret_object(&mut key);
    public_object(key.public());
    let mut rng = SecretRng::new(7);
    let public_key = key.public();
    let integer = rng.next_u64() as i64;
    let plain = public_key.plain(integer);
    let own = key.encrypt(&plain, &paillier::Randomness::draw(&mut rng));
    let other = public_key.encrypt(&public_key.random(&mut rng), &mut rng);
    let opened = public_key.integer(&key.decrypt(&own)).expect("an integer, as encrypted");
    assert_eq!(declassify(opened), declassify(integer));
    let sum = key.decrypt(&public_key.add(&own, &other));
    let difference = public_key.subtract(&sum, &plain);
    black_box(difference.encode());
}
