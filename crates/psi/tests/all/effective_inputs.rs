//! The tables of how many items a deviating receiver can use: docs/security/adversaries.md and SECURITY.md match the
//! parameters.

use vesica_params::{LAMBDA, cut_and_choose, effective_inputs};
use vesica_psi::{
    Adversary, CATALOGUE, Protocol, Sizes,
    protocols::{rr16, rr17},
};
use vesica_testkit::adversary::{
    prty20,
    rs21::{ClusteredStore, Construction, PaxosStore, WithBands},
};

/// The numbers of items that are announced: those for which `Construction` states the OKVS.
const ANNOUNCED: [usize; 5] = [100, 1 << 10, 1 << 16, 1 << 20, 1 << 24];

/// log2 of the evaluations of a hash that the receiver has time for between the start of a run and its message.
const QUERIES: [u32; 2] = [64, 100];

/// The largest number of items that a receiver can use if it announces `items` and evaluates a hash 2^`queries` times;
/// `None` if the protocol does not take that many.
type Bound = fn(items: usize, queries: u32) -> Option<usize>;

/// Returns the bound on a receiver's items for each protocol that is secure against a malicious one.
fn bounds() -> Vec<(&'static str, Bound)> {
    fn of_okvs<M: Construction>(items: usize, queries: u32) -> Option<usize> {
        Some(effective_inputs(M::shape(items).columns(), queries))
    }
    fn of_prty20<V: prty20::Variant>(items: usize, queries: u32) -> Option<usize> {
        Some(effective_inputs(V::shape(items).columns(), queries))
    }
    vec![
        ("prty20-malicious", of_prty20::<prty20::Clustered>),
        ("prty20-malicious-paxos", of_prty20::<prty20::WithPaxos>),
        ("rr16", |items, queries| {
            let sizes = Sizes { sender: items, receiver: items };
            (rr16::PROTOCOL.limits)(sizes).ok()?;
            let shape = cut_and_choose::Shape::new(items, LAMBDA);
            Some(shape.effective_inputs(queries, LAMBDA))
        }),
        ("rr17-de", |items, _| {
            let sizes = Sizes { sender: items, receiver: items };
            Some(rr17::dual_execution::shape(sizes).receiver_slots())
        }),
        ("rr17-ec", |items, _| {
            let sizes = Sizes { sender: items, receiver: items };
            Some(rr17::encode_commit::shape(sizes).receiver_slots())
        }),
        ("rr22-malicious", of_okvs::<ClusteredStore>),
        ("rr22-malicious-low", of_okvs::<WithBands>),
        ("rs21-malicious", of_okvs::<PaxosStore>),
    ]
}

#[test]
fn every_protocol_that_holds_against_a_receiver_has_a_bound() {
    let holds = |protocol: &&&Protocol| protocol.adversary == Adversary::Malicious;
    let keys = CATALOGUE.iter().filter(holds).map(|protocol| protocol.key);
    assert!(keys.eq(bounds().into_iter().map(|(key, _)| key)));
}

/// Formats a number with separators between thousands.
fn number(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups = groups.map(|group| str::from_utf8(group).expect("digits"));
    groups.collect::<Vec<_>>().join(",")
}

/// The announced number as the tables have it.
fn announced(items: usize) -> String {
    match items.is_power_of_two() {
        true => format!("2^{}", items.ilog2()),
        false => items.to_string(),
    }
}

/// The table of all protocols.
fn of_all() -> String {
    let bounds = bounds();
    let head: Vec<String> = bounds.iter().map(|(key, _)| format!("`{key}`")).collect();
    let mut lines = vec![
        format!("| announced | {} |", head.join(" | ")),
        format!("|---|{}", "---|".repeat(head.len())),
    ];
    for items in ANNOUNCED {
        let cells: Vec<String> = bounds
            .iter()
            .map(|(_, bound)| match QUERIES.map(|queries| bound(items, queries)) {
                [Some(few), Some(many)] if few == many => number(few),
                [Some(few), Some(many)] => format!("{} / {}", number(few), number(many)),
                _ => "–".to_owned(),
            })
            .collect();
        lines.push(format!("| {} | {} |", announced(items), cells.join(" | ")));
    }
    lines.join("\n")
}

/// The rows of a table for one protocol: the announced number, the columns, and the largest numbers of items.
fn of_one<M: Construction>() -> String {
    let row = |items: usize| {
        let columns = M::shape(items).columns();
        let [few, many] = QUERIES.map(|queries| number(effective_inputs(columns, queries)));
        format!("| {} | {} | {few} | {many} |", announced(items), number(columns))
    };
    ANNOUNCED.map(row).join("\n")
}

#[test]
fn the_documents_state_the_bounds() {
    let documents = [
        (
            "docs/security/adversaries.md",
            include_str!("../../../../docs/security/adversaries.md"),
            of_all(),
        ),
        ("SECURITY.md", include_str!("../../../../SECURITY.md"), of_one::<ClusteredStore>()),
        (
            "docs/protocols/vole.md",
            include_str!("../../../../docs/protocols/vole.md"),
            of_one::<ClusteredStore>(),
        ),
        (
            "docs/protocols/vole.md",
            include_str!("../../../../docs/protocols/vole.md"),
            of_one::<PaxosStore>(),
        ),
    ];
    let missing = documents.into_iter().filter(|(_, document, table)| !document.contains(table));
    let missing = missing.map(|(path, _, table)| format!("{path} must contain\n{table}\n"));
    assert_eq!(missing.collect::<String>(), "");
}

/// SECURITY.md says which part of a number to announce, so that a receiver of `rr22-malicious` has no more items than
/// that: a third from a thousand on, and an eighth of less.
#[test]
fn a_part_of_a_number_keeps_a_receiver_below_it() {
    for announced in (65..1000).chain((1000..1 << 22).step_by(99_991)) {
        let part = if announced < 1000 { 8 } else { 3 };
        let inputs = effective_inputs(ClusteredStore::shape(announced).columns(), 64);
        assert!(inputs <= part * announced, "{announced}: {inputs}");
    }
}
