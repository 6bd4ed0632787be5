//! Garbling is streaming: what a circuit takes does not depend on how many gates it has. This is alone in its
//! process, whose most memory so far it looks at.

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

/// As many instances as go through a circuit together.
const INSTANCES: usize = 1 << 12;

/// AND gates of the smaller circuit: in all instances their tables fill four messages.
const ANDS: usize = 128;

/// How many times as many the larger one has.
const LARGER: usize = 8;

/// Gates one after another, of which each reads the one before it: as deep as large, with a few wires at a time.
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

/// A program that runs one circuit after another on the same bits, and adds what comes of them.
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

/// Both parties compute over a link that `run_both` makes of them; the evaluator, who sees what comes out, sees
/// what is right.
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

/// The most memory that this process has held.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
}

/// Bytes of the tables of so many AND gates in all instances.
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
    // What an allocator leaves lying about between runs is there after a few.
    (0..3).for_each(|_| garble_and_evaluate(&small, 1, over_memory));
    let before = peak();
    // A larger circuit, and a small one more often.
    for (circuit, times) in [(&large, 1), (&small, LARGER)] {
        garble_and_evaluate(circuit, times, over_memory);
        let grown = peak() - before;
        let all = tables(LARGER * ANDS);
        assert!(grown < all / 8, "{grown} bytes more for tables of {all}");
    }
    // Whoever keeps what travels is found out.
    garble_and_evaluate(&large, 1, |first, second| drop(transcript::of(first, second)));
    assert!(peak() - before > tables(LARGER * ANDS));
}
