//! A peer that deviates at a message of a run with groups. The method is semi-honest: other content of a message may
//! make other numbers. These guarantees hold nevertheless: the honest party never panics, waits forever or takes the
//! memory that a message announces, and an answer has the form that the plan gives it. A message of another length,
//! label, order or number is refused with an error that names it.

use std::{collections::BTreeSet, sync::LazyLock};

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_psi::circuit_psi::rs21::SILENT;
use vesica_testkit::{
    assurance,
    conformance::psi::{Sets, transcripts},
    tamper,
};

use super::*;
use crate::shares::blame;

/// A sum of each side, and one of both.
fn terms() -> Vec<Term> {
    let [t, s] = [Owner::Table, Owner::Other].map(|owner| column(owner, 0));
    vec![
        term(t, Some(s), Width::Bits64),
        term(s, None, Width::Bits64),
        term(t, None, Width::Bits32),
    ]
}

/// The steps of a run of circuit PSI for rows, in which its own tests tamper with each message.
static OF_ROWS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let both = transcripts(&SILENT, &Sets::random(Sizes { sender: 9, receiver: 8 }, 5, 7));
    let messages = both.sender.messages.into_iter().chain(both.receiver.messages);
    messages.map(|message| message.label).collect()
});

/// Returns whether a party deviates in a step. With every change, [`OF_ROWS`] are left out, which come before any
/// column, label or text.
fn is_tried(step: &str) -> bool {
    assurance::is_in_full() || !OF_ROWS.contains(step)
}

/// Either party deviates at any message of the steps that are tried, in any way.
fn against_a_peer_that_deviates(plan: Plan, is_whole: bool) {
    let case = Case::new(plan, 5, 7);
    let party = |owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
        let side = if owner == Owner::Table { &case.table } else { &case.other };
        let columns: Vec<&[i64]> = side.columns.iter().map(|column| &column[..]).collect();
        let (plan, input) = (&case.plan, case.input(owner, &columns));
        let receives = owner == Owner::Table;
        if is_whole {
            let party = plan.on_sets().party(receives, channel, rng)?;
            return party.run(input, channel, rng);
        }
        let party = plan.on_partition().party(receives, channel, rng)?;
        let share = party.run(Input { texts: &[], ..input }, channel, rng)?;
        let mut noise = StdRng::from_rng(&mut *rng);
        plan.open(owner, &share, input.texts, channel, rng, &mut noise)
    };
    for owner in [Owner::Table, Owner::Other] {
        let peer = if owner == Owner::Table { Owner::Other } else { Owner::Table };
        tamper::against_at(
            is_tried,
            |channel, rng| party(peer, channel, rng).map_err(blame),
            |channel, rng| party(owner, channel, rng).map_err(blame),
            |deviation, opened| {
                let Some(OpenedCells { cells, remainder }) = opened else {
                    assert_ne!(case.plan.cells.learner, owner, "{deviation:?}: no answer");
                    return;
                };
                let Cells { learner, least, text_len, .. } = case.plan.cells;
                assert_eq!(learner, owner, "{deviation:?}: an answer");
                assert_eq!(cells.len(), cell_count(&case.plan), "{deviation:?}");
                assert!(least > 0 || cells.iter().all(Option::is_some), "{deviation:?}");
                for cell in cells.iter().flatten() {
                    assert_eq!(cell.text.len(), text_len, "{deviation:?}");
                }
                for cell in cells.iter().flatten().chain(&remainder) {
                    assert_eq!(cell.sums.len(), case.plan.terms.len(), "{deviation:?}");
                }
            },
        );
    }
}

fn small(learner: Owner, cells: Cells) -> Plan {
    let cells = Cells { learner, ..cells };
    Plan { groups: 3, terms: terms(), cells, ..plan(9, 8) }
}

#[test]
fn groups_without_a_minimum() {
    against_a_peer_that_deviates(small(Owner::Table, Cells::default()), true);
    against_a_peer_that_deviates(small(Owner::Other, Cells::default()), false);
}

#[test]
fn groups_with_a_minimum_and_a_remainder() {
    let cells = Cells { least: 2, remainder: true, ..Cells::default() };
    against_a_peer_that_deviates(small(Owner::Table, cells), true);
}

#[test]
fn groups_with_texts() {
    let cells = Cells { least: 2, text_len: 3, ..Cells::default() };
    against_a_peer_that_deviates(small(Owner::Other, cells), true);
}

#[test]
fn groups_of_both_parties() {
    let cells = Cells { least: 2, ..Cells::default() };
    let plan = Plan { other_groups: 2, ..small(Owner::Table, cells) };
    against_a_peer_that_deviates(plan, false);
}

#[test]
fn groups_with_a_look_up() {
    let lookup = Some(Lookup { positions: 4, labels: 2, rows: 1 });
    let cells = Cells { least: 2, ..Cells::default() };
    against_a_peer_that_deviates(Plan { lookup, ..small(Owner::Table, cells) }, true);
}

#[test]
#[ignore = "assure: as long as all others of its kind"]
fn partitions_with_a_look_up_of_two_rows() {
    let lookup = Some(Lookup { positions: 4, labels: 2, rows: 2 });
    against_a_peer_that_deviates(Plan { lookup, ..small(Owner::Other, Cells::default()) }, false);
}
