//! `parameters.json`: everything that both parties compute from the sizes of their sets.

use serde_json::{Value, json};
use vesica_ot::pcg::PcgDimensions;
use vesica_params::{
    LAMBDA,
    bins::simple::max_load,
    lpn::{Lpn, UNIFORM},
    okvs::{Shape, shape, shape_over_field},
    subfield, tag,
};
use vesica_testkit::vectors::check;

const SIZES: [usize; 24] = [
    0,
    1,
    2,
    3,
    5,
    10,
    63,
    64,
    65,
    100,
    257,
    1000,
    1024,
    5000,
    10_000,
    32_768,
    32_769,
    50_000,
    65_536,
    65_537,
    100_000,
    1_000_000,
    1 << 24,
    1 << 28,
];

/// In how many partitions, of all those sizes each.
const PARTITIONS: [u32; 2] = [1, 4096];

pub fn of_rr22(items: usize, lambda: u32) -> Shape {
    shape(items, 1 << 15, lambda)
}

pub fn of_malicious(items: usize, lambda: u32) -> Shape {
    match items {
        ..=64 => shape_over_field(items, 64, lambda),
        _ => shape(items, 1 << 16, lambda).one_way(),
    }
}

#[test]
fn vectors() {
    let stores = |of: fn(usize, u32) -> Shape, lpn: Lpn, full: bool| {
        PARTITIONS.map(|partitions| SIZES.map(|items| {
            let shape = of(items, LAMBDA + partitions.ilog2());
            json!({
                "n_R": items, "partitions": partitions, "clusters": shape.clusters, "capacity": shape.capacity, "sparse": shape.sparse,
                "dense": shape.dense, "columns": shape.columns(), "vole": noise(shape.columns(), lpn, full),
            })
        })).as_flattened().to_vec()
    };
    let pairs = [
        (0, 0),
        (1, 0),
        (1, 1),
        (3, 5),
        (257, 1),
        (257, 257),
        (1024, 1024),
        (10_000, 10_000),
        (1_000_000, 1000),
    ];
    let lengths = pairs.map(|(receiver, sender)| {
        let bits = tag::bits(receiver, sender, LAMBDA);
        json!({ "n_R": receiver, "n_S": sender, "l": subfield::bits(sender, LAMBDA), "t": bits,
                "rice": tag::rice_parameter(sender, bits), "list_bytes": list_len(sender, bits),
                "l_in_8_partitions": subfield::bits(sender, LAMBDA + 3),
                "t_in_8_partitions": tag::bits(receiver, sender, LAMBDA + 3) })
    });
    let loads = [(0, 8), (1000, 2), (5000, 4), (10_000, 8), (1_000_000, 31), (100_000_000, 64)];
    let loads = loads.map(|(n, c)| json!({ "n": n, "c": c, "maxload_40": max_load(n, c, 40), "maxload_41": max_load(n, c, 41) }));
    check(
        "parameters",
        &json!({
            "rr22": stores(of_rr22, UNIFORM, false),
            "rr22-malicious": stores(of_malicious, UNIFORM, true),
            "lengths": lengths,
            "loads": loads,
        }),
    );
}

fn list_len(count: usize, bits: u32) -> usize {
    vesica_structures::tag_list::Layout::new(count, bits).encoded_len()
}

fn noise(len: usize, lpn: Lpn, full: bool) -> Value {
    if lpn.is_short(len) {
        return json!("short");
    }
    let dimensions =
        if full { PcgDimensions::full(len, lpn) } else { PcgDimensions::new(len, lpn) };
    let pieces = lpn.pieces(len);
    json!({ "p": pieces, "t": dimensions.blocks / pieces, "B": dimensions.block, "tree_ots": dimensions.ots() })
}
