//! `primitives.json`: docs/spec/primitives.md, and the two hashes of `dh`.

use serde_json::{Value, json};
use vesica_primitives::{
    Block, Seed,
    aes::{Aes128, CircularRobust, CorrelationRobust, Doubling, Prg, TweakableCorrelationRobust},
    gf::multiply128,
    group::{Group, Ristretto},
    hash::{IndexedRow, RowHash, truncate},
    matrix::columns_to_rows,
    packed::pack_into,
};
use vesica_testkit::vectors::{Draws, blocks, check, hex};

#[test]
fn vectors() {
    let mut draws = Draws::new("primitives");
    let made = json!({
        "aes": ciphers(&mut draws),
        "gf128": field(&mut draws),
        "packing": packing(&mut draws),
        "transposition": transposition(&mut draws),
        "row_hash": row_hash(&mut draws),
        "blake3": blake3_modes(),
        "group": group(&mut draws),
        "dh": dh(&mut draws),
    });
    check("primitives", &made);
}

fn ciphers(draws: &mut Draws) -> Value {
    let cases = (0..3).map(|case| {
        let key = draws.blocks(1)[0];
        let other = draws.blocks(1)[0];
        let x = draws.blocks(1)[0];
        let first = [0u128, 5, 1 << 40][case];
        let mut stream = [Block::ZERO; 3];
        Prg::new(&Seed::new(key)).fill(&mut stream);
        let mut cr = [x];
        CorrelationRobust::new(key).apply(&mut cr);
        let mut ccr = [x];
        CircularRobust::new(key).apply(&mut ccr);
        let mut tcr = [x];
        TweakableCorrelationRobust::new(key).apply(first, &mut tcr);
        let mut children = [[Block::ZERO; 2]];
        Doubling::new([key, other]).double(&[x], &mut children);
        json!({
            "key": blocks(&[key]), "other_key": blocks(&[other]), "x": blocks(&[x]), "tweak": first as u64,
            "aes": blocks(&[Aes128::new(key).encrypt_block(x)]),
            "prg_3_blocks": blocks(&stream),
            "cr": blocks(&cr), "ccr": blocks(&ccr), "tcr": blocks(&tcr), "double": blocks(&children[0]),
        })
    });
    cases.collect()
}

fn field(draws: &mut Draws) -> Value {
    let mut pairs = vec![[Block(2), Block(1 << 127)], [Block(3), Block(3)], [Block(0), Block(7)]];
    pairs.extend((0..4).map(|_| [draws.blocks(1)[0], draws.blocks(1)[0]]));
    let show = |[a, b]: [Block; 2]| json!({ "a": blocks(&[a]), "b": blocks(&[b]), "product": blocks(&[multiply128(a, b)]) });
    pairs.into_iter().map(show).collect()
}

fn packing(draws: &mut Draws) -> Value {
    let cases = [(1, 9), (7, 5), (41, 4), (53, 3), (64, 2), (68, 3), (127, 2), (128, 2)].map(
        |(bits, count)| {
            let numbers: Vec<u128> =
                draws.blocks(count).iter().map(|block| block.0 >> (128 - bits)).collect();
            let mut packed = Vec::new();
            pack_into(&mut packed, numbers.iter().copied(), bits);
            let numbers: Vec<_> = numbers.iter().map(|n| format!("{n:x}")).collect();
            json!({ "bits": bits, "numbers": numbers, "packed": hex(packed) })
        },
    );
    cases.to_vec().into()
}

fn transposition(draws: &mut Draws) -> Value {
    let columns = draws.blocks(128);
    let mut rows = [Block::ZERO; 128];
    columns_to_rows(&columns, 128, &mut rows, 1);
    json!({ "columns": blocks(&columns), "rows": blocks(&rows) })
}

fn row_hash(draws: &mut Draws) -> Value {
    let cases = (0..2).map(|_| {
        let [key, u, y, z] = draws.blocks(4)[..] else { unreachable!("four were drawn") };
        let mut out = [Block::ZERO];
        RowHash::new(key).hash(&[IndexedRow::new(0, &[u, y, z, Block::ZERO])], &mut out);
        json!({ "k": blocks(&[key]), "u": blocks(&[u]), "y": blocks(&[y]), "z": blocks(&[z]), "row": blocks(&out) })
    });
    cases.collect()
}

fn blake3_modes() -> Value {
    let message = b"abc";
    let mut extended = [0; 64];
    blake3::Hasher::new_derive_key("vesica dh item v1")
        .update(message)
        .finalize_xof()
        .fill(&mut extended);
    json!({
        "message": hex(message),
        "hash": hex(blake3::hash(message).as_bytes()),
        "keyed_with_32_bytes_01": hex(blake3::keyed_hash(&[1; 32], message).as_bytes()),
        "derive_context": "vesica dh item v1",
        "derive_64_bytes": hex(extended),
    })
}

fn group(draws: &mut Draws) -> Value {
    let hashed = ["", "a", "abc"].map(|message| {
        let element = Ristretto::hash("vesica np01 constant v1", message.as_bytes());
        json!({ "context": "vesica np01 constant v1", "message": hex(message), "element": hex(Ristretto::encode(&element)) })
    });
    let products = [1, 2].map(|_| {
        let scalar = Ristretto::random_scalar(draws);
        json!({ "scalar": hex(scalar.to_bytes()), "times_generator": hex(Ristretto::encode(&Ristretto::mul_generator(&scalar))) })
    });
    // RFC 9496, A.3, and the identity.
    let refused = [
        ("the identity", [0; 32]),
        ("not canonical: above the prime", [255; 32]),
        ("negative", {
            let mut one = [0; 32];
            one[0] = 1;
            one
        }),
        ("no point", {
            let mut bytes = [0; 32];
            bytes[0] = 26;
            bytes[3] = 200;
            bytes
        }),
    ];
    let refused = refused.map(|(why, bytes)| {
        assert!(Ristretto::decode(&bytes).is_none(), "{why}");
        json!({ "bytes": hex(bytes), "why": why })
    });
    json!({ "hash_to_group": hashed, "products": products, "refused": refused })
}

fn dh(draws: &mut Draws) -> Value {
    let item = draws.blocks(1)[0];
    let point = Ristretto::encode(&Ristretto::hash("vesica dh item v1", &item.to_bytes()));
    let tag = blake3::Hasher::new_derive_key("vesica dh tag v1").update(&point).finalize();
    json!({ "item": blocks(&[item]), "h": hex(point), "t_of_h": blocks(&[truncate(&tag)]) })
}
