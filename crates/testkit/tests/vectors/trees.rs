//! `trees.json`: puncturable functions by trees, and their check. `half-trees.json`: those by half-trees.

use serde_json::{Value, json};
use vesica_net::{Channel, Result};
use vesica_ot::pprf::{
    Shape, consistency, ggm,
    half_tree::{Leaves, MaskedSums, Trees},
};
use vesica_primitives::Block;
use vesica_testkit::vectors::{Draws, blocks, check, messages, run};

#[test]
fn vectors() {
    let cases: Vec<Value> = [(1, 2), (3, 5), (2, 16), (2, 17)].map(trees).into();
    check("trees", &cases.into());
    let cases: Vec<Value> = [(1, 2), (3, 5), (2, 16), (2, 17), (3, 23)].map(half_trees).into();
    check("half-trees", &cases.into());
}

fn half_trees((count, leaves): (usize, usize)) -> Value {
    let name = format!("half-trees/{count}/{leaves}");
    let shape = Shape::new(count, leaves);
    let mut draws = Draws::new(&name);
    let delta = draws.blocks(1)[0];
    let q = draws.blocks(shape.ots());
    let points: Vec<u32> = (0..count).map(|i| ((i * 9 + 4) % leaves) as u32).collect();
    let choices = shape.choices(&points);
    let t = q.iter().zip(choices.iter()).map(|(q, c)| *q ^ (delta & Block::mask(c)));
    let t: Vec<Block> = t.collect();
    let give = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut leaves = vec![Block::ZERO; shape.total()];
        let trees = Trees::new(shape, Leaves::Hashed, delta, &q, rng);
        let (sums, _) = trees.grow(&mut leaves, |_, _| ());
        trees.send_sums(&sums, channel)?;
        Ok(leaves)
    };
    let choose = |channel: &mut Channel, _: &mut Draws| -> Result<_> {
        let mut leaves = vec![Block::ZERO; shape.total()];
        let sums = MaskedSums::receive(shape, Leaves::Hashed, channel)?;
        sums.grow(&points, &t, &mut leaves, |i, tree| tree[points[i] as usize] = Block::ZERO);
        Ok(leaves)
    };
    let (all, punctured, both) = run(&name, give, choose);
    json!({
        "T": count, "L": leaves, "D": shape.depth(), "points": points, "delta": blocks(&[delta]),
        "q": blocks(&q), "t": blocks(&t), "choices": choices.iter().collect::<Vec<u8>>(),
        "leaves": blocks(&all), "leaves_of_the_chooser": blocks(&punctured),
        "sent_by_the_giver": messages(&both.sender, 4096, ""),
    })
}

fn trees((count, leaves): (usize, usize)) -> Value {
    let name = format!("trees/{count}/{leaves}");
    let shape = Shape::new(count, leaves);
    let mut draws = Draws::new(&name);
    let keys: Vec<[Block; 2]> =
        (0..shape.ots()).map(|_| [draws.blocks(1)[0], draws.blocks(1)[0]]).collect();
    let points: Vec<u32> = (0..count).map(|i| ((i * 7 + 3) % leaves) as u32).collect();
    let choices = shape.choices(&points);
    let chosen: Vec<Block> =
        keys.iter().zip(choices.iter()).map(|(pair, c)| pair[usize::from(c)]).collect();
    let give = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut leaves = vec![Block::ZERO; shape.total()];
        ggm::send(shape, &keys, &mut leaves, channel, rng)?;
        let mut checked = leaves.clone();
        consistency::prove(shape, &mut checked, channel)?;
        Ok((leaves, checked))
    };
    let choose = |channel: &mut Channel, _: &mut Draws| -> Result<_> {
        let mut leaves = vec![Block::ZERO; shape.total()];
        ggm::receive(shape, &points, &chosen, &mut leaves, channel)?;
        let mut checked = leaves.clone();
        consistency::verify(shape, &points, &mut checked, channel)?;
        Ok((leaves, checked))
    };
    let ((all, checked), (punctured, checked_punctured), both) = run(&name, give, choose);
    json!({
        "T": count, "L": leaves, "D": shape.depth(), "points": points,
        "keys": blocks(keys.as_flattened()), "choices": choices.iter().collect::<Vec<u8>>(),
        "leaves": blocks(&all), "leaves_of_the_chooser": blocks(&punctured),
        "leaves_after_the_check": blocks(&checked), "leaves_of_the_chooser_after_the_check": blocks(&checked_punctured),
        "sid": "00".repeat(32), "sent_by_the_giver": messages(&both.sender, 4096, ""),
    })
}
