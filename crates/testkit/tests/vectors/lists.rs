//! `lists.json`: sorted lists of tags.

use serde_json::{Value, json};
use vesica_structures::tag_list::{Error, Layout};
use vesica_testkit::vectors::{Draws, check, hex};

#[test]
fn vectors() {
    let cases =
        [(0, 40), (1, 40), (1, 128), (2, 41), (3, 44), (5, 128), (17, 53), (100, 60), (257, 57)];
    let written: Vec<Value> = cases.map(written).into();
    check("lists", &json!({ "written": written, "refused": refused() }));
}

fn tags(count: usize, bits: u32) -> Vec<u128> {
    let mut draws = Draws::new(&format!("lists/{count}/{bits}"));
    let mut tags: Vec<u128> = draws.blocks(count).iter().map(|b| b.0 >> (128 - bits)).collect();
    tags.sort_unstable();
    tags
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn written((count, bits): (usize, u32)) -> Value {
    let tags = tags(count, bits);
    let layout = Layout::new(count, bits);
    let words = layout.encode(&tags, |tag| *tag);
    let read: Vec<u128> =
        layout.decode(words.clone()).unwrap().iter().map(|tag| tag.unwrap()).collect();
    assert_eq!(read, tags);
    let tags: Vec<_> = tags.iter().map(|tag| format!("{tag:x}")).collect();
    json!({ "n": count, "t": bits, "r": vesica_params::tag::rice_parameter(count, bits), "tags": tags, "list": hex(bytes(&words)) })
}

fn refused() -> Value {
    let layout = Layout::new(3, 44);
    let good = layout.encode(&tags(3, 44), |tag| *tag);
    let unary_bits = 3 + (1u64 << (44 - vesica_params::tag::rice_parameter(3, 44)));
    let with = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut words = good.clone();
        change(&mut words);
        words
    };
    let lowest = good[0] & good[0].wrapping_neg();
    let cases = [
        ("a word too many", with(&|w| w.push(0))),
        (
            "a word too few",
            with(&|w| {
                w.pop();
            }),
        ),
        ("a tag too few", with(&|w| w[0] ^= lowest)),
        ("padding of the unary field", with(&|w| w[0] = w[0] ^ lowest ^ 1 << unary_bits)),
        ("padding of the low field", with(&|w| *w.last_mut().unwrap() |= 1 << 63)),
        // All high parts equal, the low parts descending.
        (
            "tags that descend",
            with(&|w| {
                w[0] = 7;
                w[1] = u64::MAX;
                w[2] = 0;
            }),
        ),
    ];
    let cases = cases.map(|(what, words)| {
        let found = layout
            .decode(words.clone())
            .and_then(|list| list.iter().collect::<Result<Vec<_>, _>>());
        let error = match found.expect_err(what) {
            Error::Length => "wrong length of a tag list",
            Error::Count => "wrong number of tags in a list",
            Error::Order => "tags of a list are not sorted",
            Error::Padding => "padding of a tag list is not zero",
        };
        json!({ "what": what, "n": 3, "t": 44, "list": hex(bytes(&words)), "error": error })
    });
    cases.to_vec().into()
}
