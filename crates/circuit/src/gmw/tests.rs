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

/// Every number of instances around a word.
const LANES: [usize; 6] = [0, 1, 63, 64, 65, 1000];

/// A circuit to be run on inputs of which the parties know half each.
struct Case {
    circuit: Circuit,
    known: [Lanes; 2],
}

impl Case {
    fn new(circuit: Circuit, lanes: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let first = circuit.inputs() / 2;
        let known = [first, circuit.inputs() - first];
        Self { known: known.map(|wires| Lanes::random(wires, lanes, &mut rng)), circuit }
    }

    fn random(seed: u64, lanes: usize) -> Self {
        let circuit = random::circuit(seed, 1 + seed as usize % 9, 30, 4);
        Self::new(circuit, lanes, seed)
    }

    fn lanes(&self) -> usize {
        self.known[0].lanes()
    }

    fn demand(&self, vectors: bool) -> Demand {
        match vectors {
            true => Demand::of_products(&self.circuit, self.lanes()),
            false => Demand::of_ands(&self.circuit, self.lanes()),
        }
    }

    /// One party's run, whose result the other one learns if `reveal` is it.
    fn run(&self, gmw: &mut Gmw<'_>, reveal: Role) -> Result<Option<Lanes>> {
        let mut inputs = Vec::new();
        for (owner, known) in [Role::First, Role::Second].into_iter().zip(&self.known) {
            let bits = (owner == gmw.role).then_some(known);
            inputs.push(gmw.input(owner, known.wires(), known.lanes(), bits)?);
        }
        let inputs = Lanes::stack(&[&inputs[0], &inputs[1]]);
        let outputs = gmw.run(&self.circuit, &inputs)?;
        gmw.reveal(&outputs, reveal)
    }

    fn expected(&self) -> Lanes {
        plain::run(&self.circuit, &Lanes::stack(&[&self.known[0], &self.known[1]]))
    }
}

/// Runs all cases with one stock of triples, of which nothing is left then, and compares with evaluation in
/// the clear.
fn assert_as_in_the_clear(cases: &[Case], vectors: bool, extension: Extension) {
    let demands = cases.iter().map(|case| case.demand(vectors));
    let demand = demands.fold(Demand::default(), |sum, demand| sum + demand);
    let ands: usize = cases.iter().map(|case| case.circuit.ands() * case.lanes()).sum();
    assert_eq!(demand.ands(), ands);
    let party = |role: Role| {
        let demand = &demand;
        move |channel: &mut Channel, rng: &mut StdRng| {
            let triples = extension.make(role, demand, channel, rng)?;
            let mut gmw = Gmw::new(role, triples, channel);
            let mut shown = Vec::with_capacity(cases.len());
            for (i, case) in cases.iter().enumerate() {
                let to = [Role::First, Role::Second][i % 2];
                shown.push(case.run(&mut gmw, to)?);
            }
            assert!(demand.counts().all(|(bits, _)| gmw.triples().left(bits) == 0));
            Ok::<_, Error>(shown)
        }
    };
    let (first, second) = two_party::run(Link::Memory, party(Role::First), party(Role::Second));
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
    let lanes = |seed: u64| {
        if seed.is_multiple_of(500) { 1000 } else { [0, 1, 2, 5, 63, 64, 65][seed as usize % 7] }
    };
    let case = |seed| Case::new(random::numbered(seed), lanes(seed), seed);
    let cases: Vec<_> = (0..10_000).map(case).collect();
    let (singles, vectors) = cases.split_at(2_000);
    assert_as_in_the_clear(singles, false, Extension::Alsz13);
    assert_as_in_the_clear(vectors, true, Extension::Alsz13);
}

#[test]
fn any_number_of_instances_with_triples_of_any_kind() {
    for extension in [Extension::Alsz13, Extension::SILENT] {
        for vectors in [false, true] {
            let mut cases: Vec<_> = LANES.map(|lanes| Case::new(multiplexer(33), lanes, 5)).into();
            cases.extend(LANES.map(|lanes| Case::random(lanes as u64, lanes)));
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

/// What a party does with triples of a dealer.
fn with_dealt<'a>(
    case: &'a Case,
    vectors: bool,
    role: Role,
    reveal: Role,
) -> impl Fn(&mut Channel, &mut StdRng) -> Result<Option<Lanes>> + Sync + 'a {
    move |channel, _| {
        let triples = dealt(&case.demand(vectors));
        let [first, second] = triples;
        let triples = match role {
            Role::First => first,
            Role::Second => second,
        };
        case.run(&mut Gmw::new(role, triples, channel), reveal)
    }
}

#[test]
fn what_is_sent_depends_on_shapes_alone() {
    for (vectors, lanes) in [(false, 1), (true, 65), (false, 5000), (true, 5000)] {
        for seed in [3, 4, 14] {
            let cases =
                [1, 2].map(|inputs| Case::new(random::circuit(seed, 9, 60, 7), lanes, inputs));
            let shapes = cases.each_ref().map(|case| {
                let both = transcript::of(
                    with_dealt(case, vectors, Role::First, Role::First),
                    with_dealt(case, vectors, Role::Second, Role::First),
                );
                let sent = [&both.sender, &both.receiver].map(|sent| sent.payload_bytes());
                let expected = bytes(&case.circuit, lanes, vectors);
                let revealed = reveal_bytes(case.circuit.outputs().len(), lanes);
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
    const LANES: usize = 1 << 16;
    for bits in [8, 32, 128] {
        let circuit = multiplexer(bits);
        let ands = (bits as usize * LANES) as f64;
        let online = [false, true]
            .map(|vectors| 2.0 * 8.0 * bytes(&circuit, LANES, vectors) as f64 / LANES as f64);
        assert_eq!(online, [f64::from(4 * bits), f64::from(2 * bits + 2)]);
        let ots = [Demand::of_ands(&circuit, LANES), Demand::of_products(&circuit, LANES)];
        assert_eq!(ots.each_ref().map(Demand::triples), [bits as usize * LANES, LANES]);
        let offline =
            ots.map(|demand| 2.0 * 8.0 * Extension::Alsz13.bytes(&demand, Role::First) as f64);
        assert!((offline[0] / ands / 256.0 - 1.0).abs() < 0.03);
        assert!((offline[1] / LANES as f64 / 256.0 - 1.0).abs() < 0.03);
    }
}

#[test]
fn too_few_triples_are_an_error() {
    let case = Case::new(multiplexer(5), 70, 1);
    let party = |role: Role| {
        let case = &case;
        move |channel: &mut Channel, _: &mut StdRng| {
            let [first, second] = dealt(&Demand::singles(5 * 70 - 1));
            let triples = if role == Role::First { first } else { second };
            let error = case.run(&mut Gmw::new(role, triples, channel), Role::First).err();
            Ok::<_, Error>(error)
        }
    };
    let both = two_party::run(Link::Memory, party(Role::First), party(Role::Second));
    for error in [both.0, both.1] {
        let expected = OutOfTriples { bits: 1, needed: 70, left: 69 };
        assert!(matches!(error, Some(Error::OutOfTriples(error)) if error == expected));
    }
}

#[test]
fn a_deviating_peer_is_an_error_or_another_result() {
    let case = Case::random(9, 100);
    assert!(case.circuit.depth() > 1);
    for role in [Role::First, Role::Second] {
        let party = |role| {
            let party = with_dealt(&case, true, role, Role::First);
            move |channel: &mut Channel, rng: &mut StdRng| match party(channel, rng) {
                Ok(shown) => Ok(shown),
                Err(Error::Net(error)) => Err(error),
                Err(error) => panic!("{error}"),
            }
        };
        let judge = |_: &tamper::Case, shown: Option<Lanes>| {
            assert_eq!(shown.is_some(), role == Role::Second, "the deviant is the other one");
        };
        tamper::against(party(role), party(role.other()), judge);
    }
}
