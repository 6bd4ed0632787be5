//! Numbers about rows that match by rules, as an evaluation of both tables in the clear finds them.

use std::collections::{BTreeMap, BTreeSet};

use vesica::files::NullValues;
use vesica_testkit::population::{Record, TwoTables};

use crate::{
    harness::{Connecting, Lab, Listening, Party, Running},
    linked::{flags, header, line, rules, tables, text, values},
    linked_join::{RULES, keys},
};

/// A side's matching rows in the clear: their number, where equal rows are one, and the sum of the numbers of all.
struct Matching {
    rows: usize,
    sum: u64,
}

impl Matching {
    fn of(texts: &[&str], mine: &[Record], theirs: &[Record]) -> Self {
        let People { first, matching } = People::of(texts, mine, theirs);
        let of_rows = first.iter().zip(mine).filter(|(first, _)| matching.contains(first));
        let sum = of_rows.map(|(_, record)| u64::from(record.person)).sum();
        Self { rows: matching.len(), sum }
    }
}

/// A table in the clear: the rows with equal fields are one person.
pub struct People {
    /// The first row of each row's person.
    pub first: Vec<usize>,
    /// The first rows of the people that match.
    pub matching: BTreeSet<usize>,
}

impl People {
    pub fn of(texts: &[&str], mine: &[Record], theirs: &[Record]) -> Self {
        let theirs = keys(texts, theirs);
        let linked = keys(texts, mine).into_iter().filter(|(key, _)| theirs.contains_key(key));
        let matching = linked.map(|(_, row)| row).collect();
        let rules = rules(texts);
        let mut seen = BTreeMap::new();
        let first = |(row, record): (usize, &Record)| {
            let fields = rules.derive(&values(&rules, record), &NullValues::default()).fields;
            *seen.entry(fields).or_insert(row)
        };
        Self { first: mine.iter().enumerate().map(first).collect(), matching }
    }

    /// The lines of all rows that match, with a header.
    pub fn lines(&self, party: Party, table: &[Record]) -> String {
        let matches = |(row, _): &(usize, &Record)| self.matching.contains(&self.first[*row]);
        let rows = table.iter().enumerate().filter(matches);
        rows.fold(header(party).to_owned() + "\n", |text, (_, record)| {
            text + &line(party, record) + "\n"
        })
    }
}

/// Runs a query by rules; returns the answers in both reports.
#[track_caller]
pub fn answers(
    lab: &Lab,
    rules: &[&str],
    mine: &[&str],
    theirs: &[&str],
) -> [serde_json::Value; 2] {
    let mine = [&flags(Connecting, rules)[..], mine].concat();
    let theirs = [&flags(Listening, rules)[..], theirs].concat();
    lab.run(&mine, &theirs).iter().for_each(|ended| _ = ended.assert(0, &[]));
    [Connecting, Listening].map(|party| {
        let report = lab.report(party);
        assert!(report["matches"].is_null() && report["rows_of_rules"].is_null());
        report["answer"]["value"].clone()
    })
}

/// Some people are twice in a table, with equal and with different fields.
pub fn repeated(rows: usize, seed: u64) -> (Lab, TwoTables) {
    let (lab, mut tables) = tables(rows, seed);
    for table in [&mut tables.ours, &mut tables.theirs] {
        let again: Vec<_> = table.iter().step_by(7).cloned().collect();
        table.extend(again);
        let mut moved: Vec<_> = table.iter().step_by(11).cloned().collect();
        moved.iter_mut().for_each(|record| record.postcode = "99999".to_owned());
        table.extend(moved);
    }
    lab.write(Connecting, text(Connecting, &tables.ours));
    lab.write(Listening, text(Listening, &tables.theirs));
    (lab, tables)
}

#[test]
fn numbers_are_those_of_matching_rows() {
    let (lab, TwoTables { ours, theirs }) = repeated(1_503, 3);
    for rules in [&RULES[..], &RULES[1..2], &["last, dob", "left(first, 1), last", "dob, postcode"]]
    {
        let Matching { rows, sum } = Matching::of(rules, &ours, &theirs);
        let of_other = Matching::of(rules, &theirs, &ours);
        assert!(rows > 300 && rows < ours.len() && sum > 0);
        let run = |mine: &[&str], theirs: &[&str]| answers(&lab, rules, mine, theirs);
        let me = |answer| ["--answer", answer, "--learns", "me"];
        let peer = |answer| ["--answer", answer, "--learns", "peer"];
        let [count, none] = run(&me("count"), &peer("count"));
        assert!(count == rows && none.is_null(), "{count}, {rows}");
        let padded = ["--answer", "count", "--learns", "both", "--pad-keys"];
        let both = run(&padded, &padded);
        assert!(both == [rows, rows] || both == [of_other.rows, of_other.rows], "{both:?}");
        let [mine, _] = run(&me("sum:person"), &peer("sum"));
        assert_eq!(mine, sum.to_string());
        let [theirs, _] = run(&me("sum"), &peer("sum:person"));
        assert_eq!(theirs, of_other.sum.to_string());
        for (threshold, reached) in [(rows, true), (rows + 1, false)] {
            let threshold = format!("threshold:{threshold}");
            let [answer, _] = answers(
                &lab,
                rules,
                &["--answer", &threshold, "--learns", "me"],
                &["--answer", &threshold, "--learns", "peer"],
            );
            assert_eq!(answer, reached);
        }
    }
}

/// A minimum is one of rows, and everything that is said is about rows.
#[test]
fn minimums_and_words_are_about_rows() {
    let (lab, TwoTables { ours, theirs }) = repeated(300, 5);
    let Matching { rows, .. } = Matching::of(&RULES, &ours, &theirs);
    let (enough, more) = (rows.to_string(), (rows + 1).to_string());
    for (minimum, code, said) in [
        (&enough, 0, format!("rows that match: {rows}")),
        (&more, 9, format!("no answer: fewer rows that match than the minimum, {more}")),
    ] {
        let flags = |party: Party, learns| {
            let more = ["--answer", "count", "--minimum", minimum, "--learns", learns];
            [&flags(party, &RULES)[..], &more].concat()
        };
        let [mine, theirs] = lab.run(&flags(Connecting, "me"), &flags(Listening, "peer"));
        mine.assert(
            code,
            &[&said, "of its rows match a row of the other side by one of the rules"],
        );
        theirs.assert(0, &["The other side learned"]);
    }
    let report = lab.report(Connecting).to_string();
    assert!(report.contains(r#""rows_of":"a""#), "{report}");
}

/// Lengths depend on the numbers of keys, and not on how they belong to rows or which of them match.
#[test]
fn lengths_do_not_show_matches() {
    let (lab, TwoTables { ours, mut theirs }) = tables(400, 6);
    let sent = || {
        ["count", "linked"].map(|answer| {
            let asked = |learns| ["--answer", answer, "--learns", learns, "--pad-keys"];
            answers(&lab, &RULES, &asked("me"), &asked("peer"));
            [Connecting, Listening].map(|party| lab.report(party)["bytes_sent"].as_u64().unwrap())
        })
    };
    let with_matches = sent();
    theirs.iter_mut().for_each(|record| record.birthday = "1900-01-01".to_owned());
    theirs.iter_mut().for_each(|record| record.postcode.clear());
    lab.write(Listening, text(Listening, &theirs));
    assert_eq!(Matching::of(&RULES, &ours, &theirs).rows, 0);
    let without = sent();
    for (with, without) in with_matches.into_iter().flatten().zip(without.into_iter().flatten()) {
        assert!(with.abs_diff(without) < 200, "{with} and {without} bytes");
    }
}

#[test]
fn rules_are_refused_where_numbers_would_mislead() {
    let (lab, _) = tables(20, 1);
    for (more, said) in [
        (&["--answer", "count", "--epsilon", "1"][..], "noise hides a single key"),
        (&["--answer", "count", "--partitions", "2"], "whole sets"),
        (&["--answer", "products:person"], "a sum of products takes no rules"),
        (&["--answer", "count", "--min-rule", "1"], "this query hides it"),
        (&["--answer", "count", "--protocol", "dh-count"], "`dh-count` counts keys"),
    ] {
        let way = ["--connect", "127.0.0.1:1"];
        let command =
            lab.command(Connecting, &way, &[&flags(Connecting, &RULES)[..], more].concat());
        Running::start(command).end().assert(2, &[said]);
    }
}
