//! `code.json`: the permutations and the code of the silent VOLE.

use serde_json::{Value, json};
use vesica_primitives::{
    Block,
    code::{BlockAccumulate, permutation::permutation},
};
use vesica_testkit::vectors::{Draws, blocks, check, digest};

#[test]
fn vectors() {
    let permutations = [24, 48, 384, 12_288, 40_008, 786_432].map(|length| {
        let rounds = [0, 1, 2].map(|round| {
            let places = permutation(length, round);
            let shown = &places[..length.min(48)];
            let all: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
            json!({ "rho": round, "first": shown, "all_as_u32": digest(all) })
        });
        json!({ "N": length, "permutations": rounds })
    });
    let codes: Vec<Value> = [(24, 1), (24, 16), (768, 16), (768, 512)].map(compress).into();
    check("code", &json!({ "permutations": permutations, "compress": codes }));
}

fn compress((t, b): (usize, usize)) -> Value {
    let length = t * b;
    let name = format!("code/{length}");
    let mut noise = Draws::new(&name).blocks(length);
    let input = noise.clone();
    let (mut scratch, mut out) = (vec![Block::ZERO; length], vec![Block::ZERO; length / 2]);
    BlockAccumulate::new(length, 3).compress(t, &mut noise, &mut scratch, &mut out);
    let mut made = json!({ "t": t, "B": b, "z": name, "first_of_z": blocks(&input[..2]), "first": blocks(&out[..12]),
        "all": digest(bytemuck::cast_slice(&out)) });
    if length <= 384 {
        made["whole"] = blocks(&out).into();
    }
    made
}
