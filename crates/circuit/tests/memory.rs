//! Garbling streams: its memory does not depend on the number of gates. This test has its own process, because it reads
//! the process's peak memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand::{SeedableRng, rngs::StdRng};
use vesica_circuit::{
    Builder, Circuit, Engine, Party, Values, WireBits,
    garbling::{Evaluator, Garbler, table_bytes},
    plain,
};
use vesica_net::{Channel, Error};
use vesica_testkit::{
    ideal, transcript,
    two_party::{self, Link},
};

const WIDTH: usize = 4;

/// The number of instances that go through a circuit together.
const INSTANCES: usize = 1 << 12;

/// AND gates of the smaller circuit: in all instances their tables fill four messages.
const ANDS: usize = 128;

/// The size of the larger circuit, relative to the smaller one.
const LARGER: usize = 8;

/// A chain of gates that each read the one before: depth equals size, and few wires are in use at a time.
fn chain(ands: usize) -> Circuit {
    let mut builder = Builder::new(WIDTH);
    let mut wire = 0;
    for i in 0..ands {
        let other = (1 + i % (WIDTH - 1)) as u32;
        let product = builder.and(wire, other);
        wire = builder.xor(product, other);
        wire = builder.not(wire);
    }
    builder.finish(vec![wire])
}

/// A program that runs one circuit repeatedly on the same bits and adds the results.
fn run<E: Engine>(
    engine: &mut E,
    circuit: &Circuit,
    times: usize,
    bits: Option<&WireBits>,
) -> Result<Option<WireBits>, E::Error> {
    let mut values = engine.input(Party::First, WIDTH, INSTANCES, bits)?;
    for _ in 0..times {
        let first = engine.run(circuit, &values)?;
        values = E::Values::stack(&[&values.rows(1..WIDTH), &first]);
    }
    engine.reveal(&values, Party::Second)
}

/// Both parties compute over a link that `run_both` creates; the result revealed to the evaluator is checked.
fn garble_and_evaluate(circuit: &Circuit, times: usize, run_both: impl FnOnce(&Run<'_>, &Run<'_>)) {
    let bits = WireBits::random(WIDTH, INSTANCES, &mut StdRng::seed_from_u64(1));
    let expected = run(&mut plain::Plain, circuit, times, Some(&bits)).unwrap();
    run_both(
        &|channel, rng| {
            run(&mut Garbler::new(ideal::ot(1).0, channel, rng)?, circuit, times, Some(&bits))?;
            channel.flush()
        },
        &|channel, _| {
            let mut evaluator = Evaluator::new(ideal::ot(1).1, channel)?;
            assert!(run(&mut evaluator, circuit, times, None)? == expected);
            Ok(())
        },
    );
}

type Run<'a> = dyn Fn(&mut Channel, &mut StdRng) -> Result<(), Error> + Sync + 'a;

/// The peak memory of this process.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
}

/// Bytes of the tables of `ands` AND gates in all instances.
fn tables(ands: usize) -> u64 {
    table_bytes((ands * INSTANCES) as u64)
}

#[test]
fn memory_does_not_depend_on_the_number_of_gates() {
    let (small, large) = (chain(ANDS), chain(LARGER * ANDS));
    assert_eq!(large.ands(), LARGER * small.ands());
    let over_memory = |first: &Run<'_>, second: &Run<'_>| {
        two_party::run(Link::Memory, first, second);
    };
    // Warm-up: memory that the allocator retains between runs is present after a few.
    (0..3).for_each(|_| garble_and_evaluate(&small, 1, over_memory));
    let before = peak();
    // A larger circuit, and the small one several times.
    for (circuit, times) in [(&large, 1), (&small, LARGER)] {
        garble_and_evaluate(circuit, times, over_memory);
        let grown = peak() - before;
        let all = tables(LARGER * ANDS);
        assert!(grown < all / 8, "{grown} bytes more for tables of {all}");
    }
    // A check of this test: it would notice an implementation that keeps its messages.
    garble_and_evaluate(&large, 1, |first, second| drop(transcript::of(first, second)));
    assert!(peak() - before > tables(LARGER * ANDS));
}
