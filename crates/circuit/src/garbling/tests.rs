use std::thread;

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::transport::memory;
use vesica_ot::extension::softspoken::{SmallField, semi_honest};

use super::*;
use crate::{Builder, Engine, Party, Values, gadgets::add, plain, random};

type Garbling<'c> = Garbler<'c, semi_honest::Sender>;
type Evaluating<'c> = Evaluator<'c, semi_honest::Receiver>;

const FIELD: SmallField = SmallField::new(4);

/// Runs both parties over memory.
fn two_parties<A: Send, B: Send>(
    garbler: impl FnOnce(&mut Garbling) -> A + Send,
    evaluator: impl FnOnce(&mut Evaluating) -> B + Send,
) -> (A, B) {
    let (left, right) = memory::pair();
    thread::scope(|scope| {
        let left = scope.spawn(move || {
            let (mut channel, mut rng) = (Channel::new(left), StdRng::seed_from_u64(1));
            let cot = semi_honest::Sender::setup(FIELD, &mut channel, &mut rng).unwrap();
            let result = garbler(&mut Garbler::new(cot, &mut channel, &mut rng).unwrap());
            channel.finish().unwrap();
            result
        });
        let (mut channel, mut rng) = (Channel::new(right), StdRng::seed_from_u64(2));
        let cot = semi_honest::Receiver::setup(FIELD, &mut channel, &mut rng).unwrap();
        let result = evaluator(&mut Evaluator::new(cot, &mut channel).unwrap());
        channel.finish().unwrap();
        (left.join().unwrap(), result)
    })
}

/// Runs circuits on the inputs of the two parties, the first party's first, and reveals the outputs to
/// both.
fn run_all<E: Engine>(
    engine: &mut E,
    cases: &[(Circuit, usize)],
    own: [Option<&WireBits>; 2],
    shape: (usize, usize),
) -> [Option<WireBits>; 2]
where
    E::Error: std::fmt::Debug,
{
    let (wires, instances) = shape;
    let first = engine.input(Party::First, wires, instances, own[0]).unwrap();
    let second = engine.input(Party::Second, wires, instances, own[1]).unwrap();
    let both = E::Values::stack(&[&first, &second]);
    let mut start = 0;
    let mut outputs = Vec::new();
    for (circuit, instances) in cases {
        let instances: Vec<u32> = (start..start + *instances as u32).collect();
        start += instances.len() as u32;
        outputs.push(engine.run(circuit, &both.gather(&instances)).unwrap());
    }
    let outputs = E::Values::join(&outputs.iter().collect::<Vec<_>>());
    [Party::First, Party::Second].map(|role| engine.reveal(&outputs, role).unwrap())
}

fn assert_agreement(cases: &[(Circuit, usize)], wires: usize) {
    let instances = cases.iter().map(|(_, instances)| instances).sum();
    let mut rng = StdRng::seed_from_u64(3);
    let [x, y] = [0, 1].map(|_| WireBits::random(wires, instances, &mut rng));
    let expected = run_all(&mut plain::Plain, cases, [Some(&x), Some(&y)], (wires, instances));
    let (first, second) = two_parties(
        |garbler| run_all(garbler, cases, [Some(&x), None], (wires, instances)),
        |evaluator| run_all(evaluator, cases, [None, Some(&y)], (wires, instances)),
    );
    assert!(first[0] == expected[0] && first[1].is_none());
    assert!(second[1] == expected[1] && second[0].is_none());
}

#[test]
fn ten_thousand_random_circuits_are_computed_as_in_the_clear() {
    let case = |seed: u64| {
        let instances = [1, 1, 2, 3, 5, 8, 9, 17][seed as usize % 8];
        (random::numbered(seed), instances)
    };
    let cases: Vec<_> = (0..10_000).map(case).collect();
    assert_agreement(&cases, 5);
}

/// More instances and more gates than fit in one piece.
#[test]
fn pieces_fit_together() {
    for (gates, instances) in [(200, 256), (200, 257), (300, 4096), (300, 4097), (150, 10_000)] {
        assert_agreement(&[(random::circuit(gates as u64, 8, gates, 20), instances)], 4);
    }
    assert_agreement(&[(random::circuit(1, 6, 400_000, 2000), 1)], 3);
    assert_agreement(&[(add::adder(3, false), 0)], 3);
}

#[test]
fn outputs_may_be_inputs_and_gates_may_read_a_wire_twice() {
    let mut builder = Builder::new(4);
    let nothing = builder.xor(1, 1);
    let one = builder.not(nothing);
    let itself = builder.and(2, 2);
    let copy = builder.and(one, itself);
    let none = builder.and(nothing, 3);
    let outputs = vec![0, nothing, one, itself, copy, none, 0, 3];
    assert_agreement(&[(builder.finish(outputs), 100)], 2);
}

#[test]
fn labels_move_as_bits_do() {
    let mut rng = StdRng::seed_from_u64(5);
    let bits = WireBits::random(5, 100, &mut rng);
    fn moved<V: Values>(values: &V) -> V {
        let picked = values.gather(&[99, 3, 3, 0]);
        let joined = V::join(&[&values.rows(1..3), &picked.rows(2..4), &values.rows(0..2)]);
        V::stack(&[&joined, &joined.rows(1..2)])
    }
    let (_, shown) = two_parties(
        |garbler| {
            let values = garbler.input(Party::First, 5, 100, Some(&bits)).unwrap();
            garbler.reveal(&moved(&values), Party::Second).unwrap()
        },
        |evaluator| {
            let values = evaluator.input(Party::First, 5, 100, None).unwrap();
            evaluator.reveal(&moved(&values), Party::Second).unwrap()
        },
    );
    assert!(shown == Some(moved(&bits)));
}

/// The evaluator's labels do not reveal the garbler's input: in all bits of all labels, 0 and 1 are equally frequent
/// for any input.
#[test]
fn labels_look_random() {
    for bit in [false, true] {
        let mut ones = WireBits::zeros(1, 6400);
        (0..6400).for_each(|instance| ones.set(0, instance, bit));
        let (_, labels) = two_parties(
            |garbler| {
                let x = garbler.input(Party::First, 1, 6400, Some(&ones)).unwrap();
                let product = garbler.run(&add::adder(1, true), &Values::stack(&[&x, &x])).unwrap();
                garbler.reveal(&product, Party::First).unwrap();
            },
            |evaluator| {
                let x = evaluator.input(Party::First, 1, 6400, None).unwrap();
                let sum = evaluator.run(&add::adder(1, true), &Values::stack(&[&x, &x])).unwrap();
                evaluator.reveal(&sum, Party::First).unwrap();
                sum.rows(1..2)
            },
        );
        for position in 0..128 {
            let ones = labels.row(0).iter().filter(|label| label.0 >> position & 1 == 1).count();
            assert!(ones.abs_diff(3200) < 240, "bit {position}: {ones}");
        }
    }
}
