//! A receiver of the malicious OPRF that tries to get the function at more points than it announced, by a P
//! that decodes to the same value everywhere: this fails, because h is a hash of the whole point.

use std::collections::HashMap;

use vesica_oprf::{
    Error,
    rs21::malicious::{Digests, Sender, Share},
};
use vesica_ot::{
    extension::softspoken::{SmallField, malicious},
    vole::silent,
};
use vesica_params::{lpn, okvs};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    block::add_to,
    hash::{IndexedRow, RowHash, truncate},
};
use vesica_structures::okvs::{Codec, Okvs, rr22::Rr22};
use vesica_testkit::two_party::{self, Link};

const FIELD: SmallField = SmallField::new(8);

/// Points that share one high half, at which the receiver wants the function.
const WANTED: u128 = 10_000;

#[test]
fn a_constant_decodes_to_the_hash_of_one_point_alone() {
    let shape = okvs::shape(100, 1 << 15, 40).one_way();
    let low_halves: Vec<Block> = (0..WANTED).map(Block).collect();
    let high_halves = vec![Block(7); low_halves.len()];
    let (sent, received) = two_party::run(
        Link::Memory,
        |channel, rng| {
            let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
            let own = Share::commit(channel, rng)?;
            let sender = Sender::<Rr22>::setup(own, shape, lpn::UNIFORM, &mut cot, channel, rng)?;
            let digests = Digests { low_halves: &low_halves, high_halves: &high_halves };
            let values = sender.evaluate(digests, channel)?;
            channel.flush()?;
            Ok::<_, Error>(values)
        },
        |channel, rng| {
            let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            // Same as the honest receiver, up to P.
            let mut commitment = [0; 32];
            channel.recv_into("rs21/commitment", &mut commitment)?;
            let share =
                silent::malicious::receive(shape.columns(), lpn::UNIFORM, &mut cot, channel, rng)?;
            let (seed, own) = (Block::random(rng), Block::random(rng));
            channel.send_slice("rs21/seed", &[seed, own])?;
            let mut hasher = blake3::Hasher::new_derive_key("vesica rs21 seed v1");
            hasher
                .update(channel.session().as_bytes())
                .update(&commitment)
                .update(&seed.to_bytes());
            let root = Aes128::new(truncate(&hasher.finalize()));
            let key = |purpose| root.encrypt_block(Block(purpose));
            let mut keys = high_halves.clone();
            CorrelationRobust::new(key(1)).apply(&mut keys);
            add_to(&mut keys, &low_halves);
            let rows = |values: &[Block], keys: &[Block]| -> Vec<IndexedRow> {
                let row = |(value, key): (&Block, &Block)| {
                    IndexedRow::new(0, &[*value, *key, high_halves[0], Block::ZERO])
                };
                values.iter().zip(keys).map(row).collect()
            };
            // h of the first point in every sparse column: three of them add up to it in every row.
            let mut h = [Block::ZERO];
            RowHash::new(key(2)).hash(&rows(&[Block::ZERO], &keys[..1]), &mut h);
            let (a, c): (Vec<Block>, Vec<Block>) = share.share().parts().unzip();
            for columns in a.chunks_exact(shape.cluster_columns()) {
                let p = |column: usize| if column < shape.sparse { h[0] } else { Block::ZERO };
                let masked = columns.iter().enumerate().map(|(i, a)| p(i) ^ *a);
                let masked: Vec<u8> = masked.flat_map(Block::to_bytes).collect();
                channel.send("rs21/columns", &masked)?;
            }
            channel.flush()?;
            share.verify(channel)?;
            let mut other = [Block::ZERO];
            channel.recv_slice("rs21/opening", &mut other)?;
            let okvs = <Rr22>::new(shape, key(0));
            let placed = okvs.place(&keys);
            let decoded = okvs.decode(&placed, &c);
            let mut values = vec![Block::ZERO; decoded.len()];
            RowHash::new(own ^ other[0]).hash(&rows(&decoded, placed.all()), &mut values);
            Ok::<_, Error>((placed.into_positions(), values))
        },
    );
    let theirs: HashMap<u32, Block> = sent.positions.into_iter().zip(sent.values).collect();
    let (positions, values) = received;
    let mut pairs = positions.iter().zip(&values);
    let learned: Vec<u32> =
        pairs.by_ref().filter(|(i, value)| theirs[i] == **value).map(|(i, _)| *i).collect();
    // The point for which P was made matches, so nothing else went wrong.
    assert_eq!(learned, [0]);
}
