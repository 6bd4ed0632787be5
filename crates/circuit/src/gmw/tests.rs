use rand::{SeedableRng, rngs::StdRng};
use vesica_testkit::{
    tamper, transcript,
    two_party::{self, Link},
};

use super::*;
use crate::{
    Builder, Values, plain, random,
    triples::{Demand, Extension, tests::dealt},
};

/// Numbers of instances around the length of a word.
const INSTANCES: [usize; 6] = [0, 1, 63, 64, 65, 1000];

/// A circuit and its inputs; each party knows half of them.
struct Case {
    circuit: Circuit,
    known: [WireBits; 2],
}

impl Case {
    fn new(circuit: Circuit, instances: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let first = circuit.inputs() / 2;
        let known = [first, circuit.inputs() - first];
        Self { known: known.map(|wires| WireBits::random(wires, instances, &mut rng)), circuit }
    }

    fn random(seed: u64, instances: usize) -> Self {
        let circuit = random::circuit(seed, 1 + seed as usize % 9, 30, 4);
        Self::new(circuit, instances, seed)
    }

    fn instances(&self) -> usize {
        self.known[0].instances()
    }

    fn demand(&self, vectors: bool) -> Demand {
        match vectors {
            true => Demand::of_products(&self.circuit, self.instances()),
            false => Demand::of_ands(&self.circuit, self.instances()),
        }
    }

    /// One party's run; the result is revealed to `reveal`.
    fn run(&self, gmw: &mut Gmw<'_>, reveal: Party) -> Result<Option<WireBits>> {
        let mut inputs = Vec::new();
        for (owner, known) in [Party::First, Party::Second].into_iter().zip(&self.known) {
            let bits = (owner == gmw.role).then_some(known);
            inputs.push(gmw.input(owner, known.wires(), known.instances(), bits)?);
        }
        let inputs = WireBits::stack(&[&inputs[0], &inputs[1]]);
        let outputs = gmw.run(&self.circuit, &inputs)?;
        gmw.reveal(&outputs, reveal)
    }

    fn expected(&self) -> WireBits {
        plain::run(&self.circuit, &WireBits::stack(&[&self.known[0], &self.known[1]]))
    }
}

/// Runs all cases with one stock of triples, uses it up exactly, and compares with evaluation in the clear.
fn assert_as_in_the_clear(cases: &[Case], vectors: bool, extension: Extension) {
    let demands = cases.iter().map(|case| case.demand(vectors));
    let demand = demands.fold(Demand::default(), |sum, demand| sum + demand);
    let ands: usize = cases.iter().map(|case| case.circuit.ands() * case.instances()).sum();
    assert_eq!(demand.ands(), ands);
    let party = |role: Party| {
        let demand = &demand;
        move |channel: &mut Channel, rng: &mut StdRng| {
            let triples = extension.make(role, demand, channel, rng)?;
            let mut gmw = Gmw::new(role, triples, channel);
            let mut shown = Vec::with_capacity(cases.len());
            for (i, case) in cases.iter().enumerate() {
                let to = [Party::First, Party::Second][i % 2];
                shown.push(case.run(&mut gmw, to)?);
            }
            assert!(demand.counts().all(|(bits, _)| gmw.triples().left(bits) == 0));
            Ok::<_, Error>(shown)
        }
    };
    let (first, second) = two_party::run(Link::Memory, party(Party::First), party(Party::Second));
    for (i, (case, both)) in cases.iter().zip(first.iter().zip(&second)).enumerate() {
        let shown = match (i % 2, both) {
            (0, (Some(shown), None)) | (1, (None, Some(shown))) => shown,
            _ => panic!("only one party learns"),
        };
        assert!(*shown == case.expected(), "circuit {i}");
    }
}

#[test]
fn ten_thousand_random_circuits_are_computed_as_in_the_clear() {
    let instances = |seed: u64| {
        if seed.is_multiple_of(500) { 1000 } else { [0, 1, 2, 5, 63, 64, 65][seed as usize % 7] }
    };
    let case = |seed| Case::new(random::numbered(seed), instances(seed), seed);
    let cases: Vec<_> = (0..10_000).map(case).collect();
    let (singles, vectors) = cases.split_at(2_000);
    assert_as_in_the_clear(singles, false, Extension::Alsz13);
    assert_as_in_the_clear(vectors, true, Extension::Alsz13);
}

#[test]
fn any_number_of_instances_with_triples_of_any_kind() {
    for extension in [Extension::Alsz13, Extension::SILENT] {
        for vectors in [false, true] {
            let mut cases: Vec<_> =
                INSTANCES.map(|instances| Case::new(multiplexer(33), instances, 5)).into();
            cases.extend(INSTANCES.map(|instances| Case::random(instances as u64, instances)));
            assert_as_in_the_clear(&cases, vectors, extension);
        }
    }
}

/// One of two vectors by a bit.
fn multiplexer(bits: u32) -> Circuit {
    let mut builder = Builder::new(1 + 2 * bits as usize);
    let outputs = (1..=bits).map(|i| {
        let sum = builder.xor(i, bits + i);
        let part = builder.and(0, sum);
        builder.xor(part, i)
    });
    let outputs = outputs.collect();
    builder.finish(outputs)
}

/// Runs a party with triples from a dealer.
fn with_dealt<'a>(
    case: &'a Case,
    vectors: bool,
    role: Party,
    reveal: Party,
) -> impl Fn(&mut Channel, &mut StdRng) -> Result<Option<WireBits>> + Sync + 'a {
    move |channel, _| {
        let triples = dealt(&case.demand(vectors));
        let [first, second] = triples;
        let triples = match role {
            Party::First => first,
            Party::Second => second,
        };
        case.run(&mut Gmw::new(role, triples, channel), reveal)
    }
}

#[test]
fn messages_depend_only_on_shapes() {
    for (vectors, instances) in [(false, 1), (true, 65), (false, 5000), (true, 5000)] {
        for seed in [3, 4, 14] {
            let cases =
                [1, 2].map(|inputs| Case::new(random::circuit(seed, 9, 60, 7), instances, inputs));
            let shapes = cases.each_ref().map(|case| {
                let both = transcript::of(
                    with_dealt(case, vectors, Party::First, Party::First),
                    with_dealt(case, vectors, Party::Second, Party::First),
                );
                let sent = [&both.sender, &both.receiver].map(|sent| sent.payload_bytes());
                let expected = bytes(&case.circuit, instances, vectors);
                let revealed = reveal_bytes(case.circuit.outputs().len(), instances);
                assert_eq!(sent, [expected, expected + revealed]);
                let exchanges = both.sender.messages.len();
                assert_eq!(exchanges, case.circuit.depth(), "one message a level");
                both.shape().map(|shape| format!("{shape:?}"))
            });
            assert_eq!(shapes[0], shapes[1]);
        }
    }
}

/// PSZ14 §3.2: 2σ + 2 bits online instead of 4σ, and two OTs instead of 2σ.
#[test]
fn vector_triples_save_what_the_paper_says() {
    const INSTANCES: usize = 1 << 16;
    for bits in [8, 32, 128] {
        let circuit = multiplexer(bits);
        let ands = (bits as usize * INSTANCES) as f64;
        let online = [false, true].map(|vectors| {
            2.0 * 8.0 * bytes(&circuit, INSTANCES, vectors) as f64 / INSTANCES as f64
        });
        assert_eq!(online, [f64::from(4 * bits), f64::from(2 * bits + 2)]);
        let ots = [Demand::of_ands(&circuit, INSTANCES), Demand::of_products(&circuit, INSTANCES)];
        assert_eq!(ots.each_ref().map(Demand::triples), [bits as usize * INSTANCES, INSTANCES]);
        let offline =
            ots.map(|demand| 2.0 * 8.0 * Extension::Alsz13.bytes(&demand, Party::First) as f64);
        assert!((offline[0] / ands / 256.0 - 1.0).abs() < 0.03);
        assert!((offline[1] / INSTANCES as f64 / 256.0 - 1.0).abs() < 0.03);
    }
}

#[test]
fn too_few_triples_are_an_error() {
    let case = Case::new(multiplexer(5), 70, 1);
    let party = |role: Party| {
        let case = &case;
        move |channel: &mut Channel, _: &mut StdRng| {
            let [first, second] = dealt(&Demand::singles(5 * 70 - 1));
            let triples = if role == Party::First { first } else { second };
            let error = case.run(&mut Gmw::new(role, triples, channel), Party::First).err();
            Ok::<_, Error>(error)
        }
    };
    let both = two_party::run(Link::Memory, party(Party::First), party(Party::Second));
    for error in [both.0, both.1] {
        let expected = OutOfTriples { bits: 1, needed: 70, left: 69 };
        assert!(matches!(error, Some(Error::OutOfTriples(error)) if error == expected));
    }
}

#[test]
fn a_deviating_peer_is_an_error_or_another_result() {
    let case = Case::random(9, 100);
    assert!(case.circuit.depth() > 1);
    for role in [Party::First, Party::Second] {
        let party = |role| {
            let party = with_dealt(&case, true, role, Party::First);
            move |channel: &mut Channel, rng: &mut StdRng| match party(channel, rng) {
                Ok(shown) => Ok(shown),
                Err(Error::Net(error)) => Err(error),
                Err(error) => panic!("{error}"),
            }
        };
        let judge = |_: &tamper::Case, shown: Option<WireBits>| {
            assert_eq!(
                shown.is_some(),
                role == Party::Second,
                "the malicious party is the other one"
            );
        };
        tamper::against(party(role), party(role.other()), judge);
    }
}
