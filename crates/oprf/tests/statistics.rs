//! False positives at a tag length at which there are some.

use vesica_oprf::kkrt16::{Receiver, Sender};
use vesica_primitives::Block;
use vesica_testkit::two_party::{self, Link};

/// Instances, and points that the sender evaluates in each; none is the receiver's.
const INSTANCES: usize = 4000;
const POINTS: usize = 25;

/// Bits that are kept of each value.
const TAG_BITS: u32 = 8;

/// With pseudo-random values, each of the pairs that a receiver compares agrees with probability
/// 2^-bits and no more: that is what the length of tags is computed from. Whatever the points: here
/// they are neighbours of the receiver's word.
#[test]
fn truncated_values_agree_as_often_as_random_ones() {
    let starts: Vec<u32> = (0..=INSTANCES).map(|j| (j * POINTS) as u32).collect();
    let words: Vec<Block> = (0..INSTANCES).map(|j| Block(j as u128 * 64)).collect();
    let point = |i: usize| words[i / POINTS] ^ Block((i % POINTS) as u128 + 1);
    let (values, received) = two_party::run(
        Link::Memory,
        |channel, rng| Sender::setup(440, channel, rng)?.evaluate(&starts, point, channel, rng),
        |channel, rng| Receiver::setup(440, channel, rng)?.evaluate(&words, channel),
    );
    let tag = |value: &Block| value.0 >> (128 - TAG_BITS);
    let agree = |(i, value): &(usize, &Block)| tag(value) == tag(&received[i / POINTS]);
    let agreeing = values.iter().enumerate().filter(agree).count() as f64;
    let pairs = (INSTANCES * POINTS) as f64;
    let expected = pairs / f64::from(1 << TAG_BITS);
    // Expected 390.6 with a standard deviation of 19.7: four of them either way.
    assert!((agreeing - expected).abs() < 4.0 * expected.sqrt(), "{agreeing} of {expected}");
}
