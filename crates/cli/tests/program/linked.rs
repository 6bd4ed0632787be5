//! Rows that match by rules, against an evaluation of both tables in the clear.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use vesica::{Rules, files::NullValues, spec};
use vesica_testkit::population::{Record, TwoTables, two_tables};

use crate::{
    harness::{Connecting, Ended, Lab, Listening, Party, Running},
    partners::{
        Projects,
        Side::{Accepter, Inviter},
        free_port,
    },
};

/// The fields of each party, whose columns have other names.
const FIELDS: [[&str; 4]; 2] = [
    ["first=first:name", "last=last:name", "dob=birthday:date", "postcode=postcode:trim"],
    [
        "dob=Geburtstag:date:%d.%m.%Y",
        "first=Vorname:name",
        "last=Nachname:name",
        "postcode=PLZ:trim",
    ],
];

/// Rules of both parties.
const STRICT_FIRST: [&str; 4] = [
    "first, last, dob",
    "soundex(first), soundex(last), dob",
    "left(first, 1), dob, postcode",
    "first, last, postcode",
];

pub fn header(party: Party) -> &'static str {
    match party {
        Connecting => "first,last,birthday,postcode,person",
        Listening => "PLZ,Geburtstag,Nachname,Vorname,person",
    }
}

/// Returns a row as the party writes it.
pub fn line(party: Party, record: &Record) -> String {
    let Record { first, last, birthday, postcode, person, .. } = record;
    match party {
        Connecting => format!("{first},{last},{birthday},{postcode},{person}"),
        Listening => {
            let mut parts: Vec<_> = birthday.split('-').collect();
            parts.reverse();
            format!("{postcode},{},{last},{first},{person}", parts.join("."))
        }
    }
}

pub fn text(party: Party, table: &[Record]) -> String {
    table
        .iter()
        .fold(header(party).to_owned() + "\n", |text, record| text + &line(party, record) + "\n")
}

pub fn tables(rows: usize, seed: u64) -> (Lab, TwoTables) {
    let (lab, tables) = (Lab::new(), two_tables(rows, seed));
    lab.write(Connecting, text(Connecting, &tables.ours));
    lab.write(Listening, text(Listening, &tables.theirs));
    (lab, tables)
}

/// Returns the flags of a party with these rules.
pub fn flags<'a>(party: Party, rules: &[&'a str]) -> Vec<&'a str> {
    let fields = FIELDS[party as usize].into_iter().flat_map(|field| ["--field", field]);
    fields.chain(rules.iter().flat_map(|rule| ["--match", rule])).collect()
}

pub fn rules(texts: &[&str]) -> Rules {
    let field = FIELDS[0].map(|field| field.parse().unwrap()).to_vec();
    spec::Table { field, ..spec::Table::default() }.rules(texts).unwrap()
}

/// Returns the values of a row in the fields of rules.
pub fn values<'r>(rules: &Rules, record: &'r Record) -> Vec<&'r str> {
    let value = |name: &str| match name {
        "first" => record.first.as_str(),
        "last" => &record.last,
        "dob" => &record.birthday,
        _ => &record.postcode,
    };
    rules.fields().iter().map(|field| value(field.name())).collect()
}

/// Returns the keys of a table, each with the rows that have it, without ambiguous ones.
fn keys(rules: &Rules, table: &[Record]) -> BTreeMap<(usize, Vec<u8>), Vec<usize>> {
    let mut rows: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut fields = Vec::new();
    for (row, record) in table.iter().enumerate() {
        let derived = rules.derive(&values(rules, record), &NullValues::default());
        for (rule, key) in derived.keys.into_iter().enumerate() {
            rows.entry((rule, key.unwrap_or_default())).or_default().push(row);
        }
        fields.push(derived.fields);
    }
    rows.retain(|(rule, key), rows| {
        let people: BTreeSet<_> = rows.iter().map(|row| &fields[*row]).collect();
        !key.is_empty() && (*rule == 0 || people.len() == 1)
    });
    rows
}

/// Returns the rows of the first table that match, each with the first rule, counted from 1.
fn matched(texts: &[&str], mine: &[Record], theirs: &[Record]) -> BTreeMap<usize, usize> {
    let rules = rules(texts);
    let theirs = keys(&rules, theirs);
    let mut found = BTreeMap::new();
    for ((rule, key), rows) in keys(&rules, mine) {
        if theirs.contains_key(&(rule, key)) {
            rows.into_iter().for_each(|row| _ = found.entry(row).or_insert(rule + 1));
        }
    }
    found
}

/// Returns the number of rows that match by the first rule and by a later one.
fn found_again(texts: &[&str], mine: &[Record], theirs: &[Record]) -> usize {
    let rules = rules(texts);
    let theirs = keys(&rules, theirs);
    let [mut first, mut later] = [BTreeSet::new(), BTreeSet::new()];
    for ((rule, key), rows) in keys(&rules, mine) {
        if theirs.contains_key(&(rule, key)) {
            if rule == 0 { &mut first } else { &mut later }.extend(rows);
        }
    }
    first.intersection(&later).count()
}

/// Returns the output of a party that finds these rows.
fn output(party: Party, table: &[Record], found: &BTreeMap<usize, usize>) -> String {
    let rows = found.iter().map(|(row, rule)| format!("{rule},{}\n", line(party, &table[*row])));
    format!("match_rule,{}\n", header(party)) + &rows.collect::<String>()
}

#[track_caller]
fn run_well(lab: &Lab, rules: &[&str], more: &[&str]) -> [Ended; 2] {
    let flags = [Connecting, Listening].map(|party| [&flags(party, rules)[..], more].concat());
    let ended = lab.run(&flags[0], &flags[1]);
    ended.iter().for_each(|ended| _ = ended.assert(0, &[]));
    ended
}

/// In memory and in partitions, and by rules in any order, each side gets the rows and the rules that the evaluation in
/// the clear finds.
#[test]
fn matched_rows_are_those_in_the_clear() {
    let (lab, TwoTables { ours, theirs }) = tables(3_001, 11);
    let reversed: Vec<_> = STRICT_FIRST.into_iter().rev().collect();
    let preset = ["person+address@1"];
    let mut outputs = BTreeSet::new();
    for (rules, more) in [
        (&STRICT_FIRST[..], &[][..]),
        (&STRICT_FIRST, &["--partitions", "3"]),
        (&reversed, &[]),
        (&preset, &["--pad-keys"]),
        (&STRICT_FIRST[1..2], &[]),
    ] {
        run_well(&lab, rules, more);
        let mine = matched(rules, &ours, &theirs);
        let expected = output(Connecting, &ours, &mine);
        assert_eq!(lab.output(Connecting).unwrap(), expected, "{rules:?}");
        let there = matched(rules, &theirs, &ours);
        assert_eq!(lab.output(Listening).unwrap(), output(Listening, &theirs, &there));
        let report = lab.report(Connecting);
        let count = self::rules(rules).rules().len();
        let by_first: Vec<_> =
            (1..=count).map(|rule| mine.values().filter(|first| **first == rule).count()).collect();
        assert_eq!(report["rows_of_rules"], serde_json::json!(by_first));
        outputs.insert(expected);
        // The estimate without labels: rows of the first rule that a later one finds too.
        let again = found_again(rules, &ours, &theirs);
        assert_eq!(report["rows_found_again"], again, "{rules:?}");
    }
    assert_eq!(outputs.len(), 4, "the order of rules counts");
}

#[test]
fn only_rows_of_the_first_rules_are_written() {
    let (lab, TwoTables { ours, theirs }) = tables(499, 3);
    run_well(&lab, &STRICT_FIRST, &["--min-rule", "2"]);
    let mut found = matched(&STRICT_FIRST, &ours, &theirs);
    let all = found.len();
    found.retain(|_, rule| *rule <= 2);
    assert!(found.len() < all);
    assert_eq!(lab.output(Connecting).unwrap(), output(Connecting, &ours, &found));
    assert_eq!(lab.report(Connecting)["rows_written"], found.len());
    let flags = [&flags(Connecting, &STRICT_FIRST)[..], &["--min-rule", "5"]].concat();
    let command = lab.command(Connecting, &["--connect", "127.0.0.1:1"], &flags);
    Running::start(command).end().assert(2, &["--min-rule 5: there are 4 rules"]);
}

/// The terms differ if rules, their order or their fields differ, and both texts are shown.
#[test]
fn both_sides_need_the_same_rules() {
    let (lab, _) = tables(50, 1);
    let [mine, theirs] = [Connecting, Listening].map(|party| flags(party, &STRICT_FIRST[..2]));
    let swapped = flags(Listening, &["soundex(first), soundex(last), dob", "first, last, dob"]);
    let [a, b] = lab.run(&mine, &swapped);
    for ended in [&a, &b] {
        ended.assert(
            5,
            &[
                "rules by which rows match (--match)",
                "1. first, last, dob; 2. soundex(first), soundex(last), dob",
                "1. soundex(first), soundex(last), dob; 2. first, last, dob",
            ],
        );
    }
    let other_profile: Vec<_> = theirs
        .iter()
        .map(|flag| if *flag == "last=Nachname:name" { "last=Nachname:lower" } else { flag })
        .collect();
    let [a, _] = lab.run(&mine, &other_profile);
    a.assert(5, &["normalisation of the key"]);
    lab.assert_clean();
}

#[test]
fn rules_are_refused_where_they_would_mislead() {
    let (lab, _) = tables(50, 1);
    let mine = flags(Connecting, &STRICT_FIRST[..2]);
    for (more, said) in [
        (
            &["--answer", "products:person"][..],
            "a row may match several rows of the other side, each with a value; name one --key",
        ),
        (
            &["--send", "person", "--learns", "peer", "--duplicates", "all:2"],
            "send one row per key",
        ),
        (&["--align"], "leave out --align"),
        (&["--key", "first"], "--key and --field exclude each other"),
        (&["--diagnose"], "--diagnose compares one key at a time"),
        (
            &["--match", "frist, last"],
            "rule 3, `frist`: no field has this name: did you mean `first`?",
        ),
        (&["--match", "sondex(last)"], "did you mean `soundex`?"),
    ] {
        let way = ["--connect", "127.0.0.1:1"];
        let command = lab.command(Connecting, &way, &[&mine[..], more].concat());
        Running::start(command).end().assert(2, &[said]);
    }
}

/// With random keys, messages have the same lengths for a complete table and for one that lacks fields.
#[test]
fn lengths_do_not_show_missing_fields() {
    let (lab, TwoTables { ours, theirs }) = tables(700, 5);
    let mut lacking = ours.clone();
    // Only rows of people that the other side does not have, so that the same rows match.
    let there: BTreeSet<_> = theirs.iter().map(|record| record.person).collect();
    for record in lacking.iter_mut().filter(|record| !there.contains(&record.person)) {
        record.postcode.clear();
    }
    let bytes = |table: &[Record], more: &[&str]| {
        lab.write(Connecting, text(Connecting, table));
        let [mine, there] = [(Connecting, "me"), (Listening, "peer")].map(|(party, learns)| {
            [&flags(party, &STRICT_FIRST)[..], &["--learns", learns], more].concat()
        });
        lab.run(&mine, &there).iter().for_each(|ended| _ = ended.assert(0, &[]));
        let report = lab.report(Connecting);
        [&report["bytes_sent"], &report["bytes_received"]].map(|bytes| bytes.as_u64().unwrap())
    };
    assert_eq!(bytes(&ours, &["--pad-keys"]), bytes(&lacking, &["--pad-keys"]));
    assert_ne!(bytes(&ours, &[]), bytes(&lacking, &[]));
}

/// The invitation has the rules; each side names the columns of their fields.
#[test]
fn an_agreement_has_the_rules() {
    let projects = Projects::new(10);
    let TwoTables { ours, theirs } = two_tables(301, 2);
    fs::write(projects.path(Inviter, "a.csv"), text(Connecting, &ours)).unwrap();
    fs::write(projects.path(Accepter, "b.csv"), text(Listening, &theirs)).unwrap();
    for side in [Inviter, Accepter] {
        projects.succeeds(side, &["init"]);
    }
    let address = format!("127.0.0.1:{}", free_port());
    let invite = ["invite", "acme", "--input", "a.csv", "--learns", "both", "--address", &address];
    projects.succeeds(Inviter, &[&invite, &flags(Connecting, &STRICT_FIRST)[..]].concat());
    projects.send(Inviter, "acme.invite");
    let accept = ["accept", "acme.invite", "--yes", "--input", "b.csv"];
    projects.ended(Accepter, &accept).assert(2, &["--field first=COLUMN --field last=COLUMN"]);
    let accepted = projects.succeeds(Accepter, &[&accept, &flags(Listening, &[])[..]].concat());
    accepted.assert(0, &["rows match by any of these rules: 1. first, last, dob; 2. "]);
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    for ended in projects.run(&[], &[]) {
        ended.assert(0, &["by which of the rules each row matches"]);
    }
    let found = matched(&STRICT_FIRST, &ours, &theirs);
    assert_eq!(projects.read(Inviter, "acme.csv"), output(Connecting, &ours, &found));
    let found = matched(&STRICT_FIRST, &theirs, &ours);
    assert_eq!(projects.read(Accepter, "acme.csv"), output(Listening, &theirs, &found));
    projects.succeeds(Inviter, &["check", "acme"]);
}
