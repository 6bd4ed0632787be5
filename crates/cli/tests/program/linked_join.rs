//! Joins by rules: columns go to one row of each side at most, as an evaluation of both tables in the clear links them.

use std::collections::{BTreeMap, BTreeSet};

use vesica::files::NullValues;
use vesica_testkit::population::{Record, TwoTables, two_tables};

use crate::{
    harness::{Connecting, Lab, Listening, Running},
    linked::{flags, header, line, rules, text, values},
};

pub const RULES: [&str; 4] = [
    "first, last, dob",
    "soundex(first), soundex(last), dob",
    "left(first, 1), dob, postcode",
    "first, last, postcode",
];

/// The keys that belong to rows with equal fields only, each with the first of these rows.
pub fn keys(texts: &[&str], table: &[Record]) -> BTreeMap<(usize, Vec<u8>), usize> {
    let rules = rules(texts);
    let mut rows: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut fields = Vec::new();
    for (row, record) in table.iter().enumerate() {
        let derived = rules.derive(&values(&rules, record), &NullValues::default());
        for (rule, key) in derived.keys.into_iter().enumerate() {
            if let Some(key) = key {
                rows.entry((rule, key)).or_default().push(row);
            }
        }
        fields.push(derived.fields);
    }
    rows.retain(|_, rows| rows.iter().all(|row| fields[*row] == fields[rows[0]]));
    rows.into_iter().map(|(key, rows)| (key, rows[0])).collect()
}

/// Links rows of the receiver, each with the rule, counted from 1, and the row of the sender.
fn linked(texts: &[&str], mine: &[Record], theirs: &[Record]) -> BTreeMap<usize, (usize, usize)> {
    let theirs = keys(texts, theirs);
    let mut found = BTreeMap::new();
    let mut taken = BTreeSet::new();
    // Keys come in the order of the rules.
    for ((rule, key), row) in keys(texts, mine) {
        let Some(other) = theirs.get(&(rule, key)) else { continue };
        if !found.contains_key(&row) && taken.insert(*other) {
            found.insert(row, (rule + 1, *other));
        }
    }
    found
}

/// Returns the output of the connecting side, which receives `person` and `Vorname`.
fn output(
    mine: &[Record],
    theirs: &[Record],
    found: &BTreeMap<usize, (usize, usize)>,
    all: bool,
) -> String {
    let head = format!("match_rule,{},peer_person,Vorname\n", header(Connecting));
    let rows = mine.iter().enumerate().filter_map(|(row, record)| {
        let line = line(Connecting, record);
        match found.get(&row) {
            Some((rule, other)) => {
                let Record { person, first, .. } = &theirs[*other];
                Some(format!("{rule},{line},{person},{first}\n"))
            }
            None => all.then(|| format!("0,{line},,\n")),
        }
    });
    head + &rows.collect::<String>()
}

fn write(lab: &Lab, tables: &TwoTables) {
    lab.write(Connecting, text(Connecting, &tables.ours));
    lab.write(Listening, text(Listening, &tables.theirs));
}

/// Runs the join, with more options on the receiving side and on both.
#[track_caller]
fn join(lab: &Lab, rules: &[&str], mine: &[&str], both: &[&str]) {
    let receiver = [&flags(Connecting, rules)[..], &["--receive", "--learns", "me"], mine, both];
    let send = ["--send", "person,Vorname", "--learns", "peer"];
    let sender = [&flags(Listening, rules)[..], &send, both];
    let ended = lab.run(&receiver.concat(), &sender.concat());
    ended.iter().for_each(|ended| _ = ended.assert(0, &[]));
    assert!(lab.output(Listening).is_none(), "the sender learns nothing");
}

/// In memory, in partitions and with keys on disk, rows are linked as in the clear.
#[test]
fn rows_are_linked_as_in_the_clear() {
    let lab = Lab::new();
    let tables = two_tables(2_003, 12);
    write(&lab, &tables);
    let TwoTables { ours, theirs } = &tables;
    let reversed: Vec<_> = RULES.into_iter().rev().collect();
    let mut outputs = BTreeSet::new();
    for (rules, mine, both) in [
        (&RULES[..], &[][..], &[][..]),
        (&RULES, &["--join", "left"], &["--partitions", "3"]),
        (&RULES, &[], &["--pad-keys", "--protocol", "rr22"]),
        (&reversed, &["--join", "left"], &["--protocol", "kkrt16"]),
        (&RULES[1..2], &[], &["--partitions", "2"]),
    ] {
        join(&lab, rules, mine, both);
        let found = linked(rules, ours, theirs);
        let expected = output(ours, theirs, &found, !mine.is_empty());
        assert_eq!(lab.output(Connecting).unwrap(), expected, "{rules:?} {mine:?} {both:?}");
        let report = lab.report(Connecting);
        let of_rule = |rule| found.values().filter(|(by, _)| *by == rule).count();
        let by_rule: Vec<_> = (1..=rules.len()).map(of_rule).collect();
        assert_eq!(report["rows_of_rules"], serde_json::json!(by_rule));
        outputs.insert(expected);
    }
    assert_eq!(outputs.len(), 4, "{} different results", outputs.len());
    for both in [&[][..], &["--partitions", "2"]] {
        join(&lab, &RULES, &["--min-rule", "2", "--join", "left"], both);
        let mut found = linked(&RULES, ours, theirs);
        found.retain(|_, (rule, _)| *rule <= 2);
        assert_eq!(lab.output(Connecting).unwrap(), output(ours, theirs, &found, true));
    }
}

fn record(person: u32, fields: [&str; 4]) -> Record {
    let [first, last, birthday, postcode] = fields.map(str::to_owned);
    let (house, street) = (String::new(), String::new());
    Record { person, first, last, birthday, house, street, postcode }
}

/// Twins, people who are in a table twice, and chains in which each row matches two others: no row gets the columns of
/// a person who matches another one by an earlier rule.
#[test]
fn no_row_gets_the_columns_of_two_people() {
    let lab = Lab::new();
    let mut tables = TwoTables { ours: Vec::new(), theirs: Vec::new() };
    for (side, person, fields) in [
        // Twins: the third rule would give Hannah the columns of Harriet.
        (0, 1, ["Hannah", "Lee", "2001-04-17", "02139"]),
        (1, 1, ["Hanna", "Lee", "2001-04-17", "02139"]),
        (1, 2, ["Harriet", "Lee", "2001-04-17", "02139"]),
        // A chain: Jon matches John by the second rule and Joan by the third, and Joanna matches John by the third.
        (0, 3, ["Jon", "Smith", "1975-01-30", "02134"]),
        (0, 4, ["Joanna", "Fox", "1975-01-30", "02150"]),
        (1, 3, ["John", "Smith", "1975-01-30", "02150"]),
        (1, 4, ["Joan", "Hill", "1975-01-30", "02134"]),
        // Twice in one table with the same name and birthday, and in the other once: the address decides.
        (0, 5, ["Ann", "Kay", "1960-06-06", "02111"]),
        (0, 5, ["Ann", "Kay", "1960-06-06", "02112"]),
        (1, 5, ["Ann", "Kay", "1960-06-06", "02112"]),
        (1, 6, ["Bea", "Kay", "1961-07-07", "02113"]),
        (1, 6, ["Bea", "Kay", "1961-07-07", "02114"]),
        (0, 6, ["Bea", "Kay", "1961-07-07", "02115"]),
        // The same row twice: the first one gets the columns.
        (0, 7, ["Cleo", "Ray", "1950-05-05", ""]),
        (0, 7, ["cleo", "RAY", "1950-05-05", ""]),
        (1, 7, ["Cleo", "Ray", "1950-05-05", "02116"]),
        (1, 7, ["Cleo", "Ray", "1950-05-05", "02116"]),
    ] {
        let table = if side == 0 { &mut tables.ours } else { &mut tables.theirs };
        table.push(record(person, fields));
    }
    write(&lab, &tables);
    let TwoTables { ours, theirs } = &tables;
    let found = linked(&RULES, ours, theirs);
    let others: Vec<_> = found.iter().map(|(row, (rule, other))| (*row, *rule, *other)).collect();
    assert_eq!(others, [(0, 2, 0), (1, 2, 2), (4, 3, 4), (6, 1, 7)]);
    for both in [&[][..], &["--partitions", "2"]] {
        join(&lab, &RULES, &[], both);
        assert_eq!(lab.output(Connecting).unwrap(), output(ours, theirs, &found, false));
    }
}

/// Several rows of a key could not be linked one to one.
#[test]
fn one_row_per_key_is_sent() {
    let lab = Lab::new();
    write(&lab, &two_tables(20, 1));
    let way = ["--connect", "127.0.0.1:1"];
    let send = ["--send", "person", "--learns", "peer", "--duplicates", "all:2"];
    let command = lab.command(Connecting, &way, &[&flags(Connecting, &RULES)[..], &send].concat());
    Running::start(command).end().assert(2, &["send one row per key"]);
}
