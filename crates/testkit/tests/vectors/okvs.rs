//! `okvs.json`: rows, decoding and encoding of the store.

use serde_json::{Value, json};
use vesica_params::{
    LAMBDA,
    okvs::{DensePart, Shape},
};
use vesica_primitives::Block;
use vesica_structures::okvs::{Binary, Codec, Field, Free, rr22::Rr22};
use vesica_testkit::vectors::{Draws, blocks, check, digest};

use crate::parameters::{of_malicious, of_rr22};

#[test]
fn vectors() {
    let cases = [
        ("rr22", of_rr22 as fn(usize, u32) -> Shape, 3),
        ("rr22", of_rr22, 257),
        ("rr22", of_rr22, 60_000),
        ("rr22", of_rr22, 100_000),
        ("rr22-malicious", of_malicious, 1),
        ("rr22-malicious", of_malicious, 5),
        ("rr22-malicious", of_malicious, 100),
        ("rr22-malicious", of_malicious, 60_000),
    ];
    let decoded: Vec<Value> = cases
        .map(|(protocol, of, items)| match of(items, LAMBDA).dense_part {
            DensePart::Binary => decode::<Rr22<Binary>>(protocol, items, of(items, LAMBDA)),
            DensePart::Field => decode::<Rr22<Field>>(protocol, items, of(items, LAMBDA)),
        })
        .into();
    let encoded = [
        encode::<Rr22<Binary>>("rr22", 3, of_rr22(3, LAMBDA)),
        encode::<Rr22<Binary>>("rr22", 80, of_rr22(80, LAMBDA)),
        encode::<Rr22<Field>>("rr22-malicious", 5, of_malicious(5, LAMBDA)),
    ];
    check("okvs", &json!({ "decoded": decoded, "encoded": encoded }));
}

/// Decodes keys, some from random columns.
fn decode<O: Codec<Block>>(protocol: &str, items: usize, shape: Shape) -> Value {
    let name = format!("okvs/decoded/{protocol}/{items}");
    let mut draws = Draws::new(&name);
    let seed = draws.blocks(1)[0];
    let keys = draws.blocks(6);
    let columns = draws.blocks(shape.columns());
    let store = O::new(shape, seed);
    let placed = store.place(&keys);
    let mut values = vec![Block::ZERO; keys.len()];
    for (position, value) in placed.positions().iter().zip(store.decode(&placed, &columns)) {
        values[*position as usize] = value;
    }
    json!({
        "protocol": protocol, "n_R": items, "draws": name, "seed": blocks(&[seed]), "keys": blocks(&keys),
        "columns": digest(bytemuck::cast_slice(&columns)), "values": blocks(&values),
    })
}

fn encode<O: Codec<Block>>(protocol: &str, items: usize, shape: Shape) -> Value {
    let name = format!("okvs/encoded/{protocol}/{items}");
    let mut draws = Draws::new(&name);
    let seed = draws.blocks(1)[0];
    let (keys, values) = (draws.blocks(items), draws.blocks(items));
    let store = O::new(shape, seed);
    let placed = store.place(&keys);
    let value = |position: u32, _| values[position as usize];
    let columns = store.encode(&placed, value, Free::Random, &mut draws).unwrap();
    json!({
        "protocol": protocol, "n_R": items, "seed": blocks(&[seed]), "keys": blocks(&keys), "values": blocks(&values),
        "a_solution": blocks(&columns),
    })
}
