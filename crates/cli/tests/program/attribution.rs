//! Conversions within some days of a view: two processes credit each purchase to the last view before it.

use std::collections::BTreeMap;

use crate::harness::{Connecting, Lab, Listening};

const QUERY: &str = "SELECT b.campaign, count(*), sum(a.amount) FROM a ASOF JOIN b ON a.key = b.key AND \
                     a.ordered_at >= b.shown_at WHERE a.ordered_at - b.shown_at <= 3 GROUP BY b.campaign";
const ORDERS: [&str; 4] =
    ["--column", "ordered_at:date[2026-10-01..2026-10-20]", "--column", "amount:integer"];
/// The flags of a side whose customers order several times.
const SEVERAL_ORDERS: [&str; 5] = [
    "--repeated-keys",
    "--column",
    "ordered_at:date[2026-10-01..2026-10-20]/4",
    "--column",
    "amount:integer",
];
const VIEWS: [&str; 5] =
    ["--repeated-keys", "--column", "shown_at:date", "--column", "campaign:label<=4/3"];

/// The orders of a person: the day, counted from the last one of September, and the amount.
fn orders(key: u32, several: bool) -> Vec<(u32, u32)> {
    let count = if several { 1 + key % 4 } else { 1 };
    (0..count).map(|i| (1 + (key * 7 + i * 3 * (key % 3)) % 20, key % 50 + i)).collect()
}

/// The views of a person in the order of the table: the day, and the campaign.
fn views(key: u32) -> Vec<(u32, &'static str)> {
    let campaign = |i: u32| ["blue", "green", "red"][(key + i) as usize % 3];
    (0..key % 6).map(|i| (1 + (key * 3 + i * 5) % 24, campaign(i * i))).collect()
}

fn lab(several: bool) -> Lab {
    let lab = Lab::new();
    let mut table = "k,ordered_at,amount\n".to_owned();
    for key in 0..200 {
        for (day, amount) in orders(key, several) {
            table += &format!("p{key},2026-10-{day:02},{amount}\n");
        }
    }
    lab.write(Connecting, table);
    let mut table = "k,shown_at,campaign\n".to_owned();
    for key in 100..300 {
        for (day, campaign) in views(key) {
            table += &format!("p{key},2026-10-{day:02}T09:30:00,{campaign}\n");
        }
    }
    lab.write(Listening, table);
    lab
}

fn expected(several: bool) -> String {
    let mut groups: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let keys = (100..200).flat_map(|key| orders(key, several).into_iter().map(move |o| (key, o)));
    for (key, (on, amount)) in keys {
        let near = views(key).into_iter().filter(|(day, _)| *day <= on && on - day <= 3);
        // Of the views of one day, the last one in the table counts.
        let mut last: Option<(u32, &str)> = None;
        for view in near {
            if last.is_none_or(|last| view.0 >= last.0) {
                last = Some(view);
            }
        }
        let Some((_, campaign)) = last else { continue };
        let (count, sum) = groups.entry(campaign).or_default();
        (*count, *sum) = (*count + 1, *sum + amount);
    }
    assert_eq!(groups.len(), 3);
    let rows = groups.iter().map(|(campaign, (count, sum))| format!("{campaign},{count},{sum}\n"));
    rows.fold("b.campaign,count(*),sum(a.amount)\n".to_owned(), |text, row| text + &row)
}

fn flags<'a>(learns: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["--query", QUERY, "--learns", learns], more].concat()
}

#[test]
fn an_order_counts_for_the_last_view_before_it() {
    let expected = expected(false);
    for (x, y) in [("me", "peer"), ("peer", "me"), ("both", "both")] {
        let lab = lab(false);
        let ended = lab.run(&flags(x, &ORDERS), &flags(y, &VIEWS));
        for side in &ended {
            side.assert(0, &[]);
        }
        for (party, learns) in [(Connecting, x), (Listening, y)] {
            let answer = lab.output(party);
            assert_eq!(answer.as_deref(), (learns != "peer").then_some(&*expected), "{party:?}");
        }
        let said = "where a key counts by the other side's latest `shown_at` up to 3 days before this side's `ordered_at`";
        assert!(x == "peer" || ended[0].err.contains(said), "{}", ended[0].err);
    }
}

/// Each order of a person is credited by itself.
#[test]
fn several_orders_of_a_person_count_each_by_itself() {
    let lab = lab(true);
    let ended = lab.run(&flags("both", &SEVERAL_ORDERS), &flags("both", &VIEWS));
    for (side, party) in ended.iter().zip([Connecting, Listening]) {
        side.assert(0, &[]);
        assert_eq!(lab.output(party).unwrap(), expected(true));
    }
    let said = "where each of at most 4 rows of a key counts by the other side's latest `shown_at`";
    assert!(ended[0].err.contains(said), "{}", ended[0].err);
}

/// Partitions and keys on disk hold the same views and orders.
#[test]
fn parts_of_the_tables_give_the_same_answer() {
    let lab = lab(true);
    let journals = [Connecting, Listening]
        .map(|party| lab.file(party, "journal").to_str().unwrap().to_owned());
    let more = |journal| ["--partitions", "4", "--resume", journal];
    let mine = [&SEVERAL_ORDERS[..], &more(&journals[0])].concat();
    let theirs = [&VIEWS[..], &more(&journals[1])].concat();
    let ended = lab.run(&flags("both", &mine), &flags("both", &theirs));
    for side in &ended {
        side.assert(0, &[]);
    }
    assert_eq!(lab.output(Connecting).unwrap(), expected(true));
}

/// Tables with a fault, and the words of the error; to try another one, add a line.
#[test]
fn faults_of_dates_are_placed_and_not_shown() {
    for (orders, views, words) in [
        (
            "k,ordered_at,amount\np1,2026-10-32,1\n",
            None,
            "row 1 (line 2), column `ordered_at`: not a date",
        ),
        ("k,ordered_at,amount\np1,20.10.2026,1\n", None, "write dates as YYYY-MM-DD"),
        (
            "k,ordered_at,amount\np1,2026-10-21,1\n",
            None,
            "the day is not from 2026-10-01 to 2026-10-20",
        ),
        ("k,ordered_at,amount\np1,,1\n", None, "the value is empty"),
        ("k,ordered_at,amount\np1,2026-10-02,1\np1,2026-10-03,1\n", None, "has the same key as"),
        (
            "k,ordered_at,amount\np1,2026-10-02,1\n",
            Some(
                "k,shown_at,campaign\np1,2026-10-01,a\np2,2026-10-01,b\np1,2026-10-02,b\np1,2026-10-03,c\np1,2026-10-04,d\n",
            ),
            "row 5 (line 6) has the same key as row 1 (line 2), and a label too many: within the days that count, a key \
             has at most 3",
        ),
    ] {
        let lab = lab(false);
        lab.write(Connecting, orders);
        if let Some(views) = views {
            lab.write(Listening, views);
        }
        let [x, y] = lab.run(&flags("me", &ORDERS), &flags("peer", &VIEWS));
        let faulty = if views.is_some() { &y } else { &x };
        faulty.assert(3, &[words]);
        lab.assert_clean();
    }
}

/// A person has more orders than both sides agreed on.
#[test]
fn an_order_too_many_is_placed() {
    let lab = lab(false);
    let order = |day: u32| format!("p7,2026-10-{day:02},1\n");
    lab.write(Connecting, (1..=5).fold("k,ordered_at,amount\n".to_owned(), |t, d| t + &order(d)));
    let [x, _] = lab.run(&flags("me", &SEVERAL_ORDERS), &flags("peer", &VIEWS));
    let words = "row 5 (line 6) has the same key as row 1 (line 2), and is one row too many: a key has at most 4 that count";
    x.assert(3, &[words]);
    lab.assert_clean();
}

/// Labels that only the side with the orders knows could not be shown to the other.
#[test]
fn labels_of_orders_are_known_to_both() {
    let lab = lab(false);
    let query = QUERY.replace("b.campaign", "a.amount").replace(", sum(a.amount)", "");
    let mine =
        ["--query", &query, "--learns", "me", ORDERS[0], ORDERS[1], "--column", "amount:label<=60"];
    let theirs =
        ["--query", &query, "--learns", "peer", "--column", "shown_at:date", "--repeated-keys"];
    let [x, _] = lab.run(&mine, &theirs);
    x.assert(5, &["with ASOF JOIN, labels of side a must be known to both: list them"]);
}
