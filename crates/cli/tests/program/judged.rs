//! Rules before a run: the false matches to expect, and their quality on labelled tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;
use vesica::{Rules, files::NullValues};
use vesica_testkit::population::{Record, TwoTables, two_tables};

use crate::{
    harness::{Connecting, Lab, Listening, ended},
    linked::{flags, rules, text, values},
    partners::{
        Projects,
        Side::{Accepter, Inviter},
        free_port,
    },
};

/// Rules from strict to loose.
const RULES: [&str; 5] = [
    "first, last, dob",
    "first, last, postcode",
    "left(first, 1), dob, postcode",
    "dob, postcode",
    "first, last",
];

/// A row in the clear.
struct ClearRow {
    person: u32,
    keys: Vec<Option<Vec<u8>>>,
    fields: Vec<Option<String>>,
}

/// Returns the keys and the normalised fields of each row.
fn derived(rules: &Rules, table: &[Record]) -> Vec<ClearRow> {
    let row = |record: &Record| {
        let derived = rules.derive(&values(rules, record), &NullValues::default());
        ClearRow { person: record.person, keys: derived.keys, fields: derived.fields }
    };
    table.iter().map(row).collect()
}

/// The numbers of each rule are as counted in the clear, and predict the false matches of the two tables.
#[test]
fn a_check_predicts_false_matches() {
    let lab = Lab::new();
    let TwoTables { ours, theirs } = two_tables(20_000, 4);
    lab.write(Connecting, text(Connecting, &ours));
    let file = lab.file(Connecting, "in.csv");
    let table = file.to_str().unwrap();
    let check = [&["check", table][..], &flags(Connecting, &RULES)].concat();
    let found = ended(&[&check[..], &["--json", "--peer-rows", "20,000"]].concat());
    let found: Value = serde_json::from_str(&found.assert(0, &[]).out).unwrap();
    let rules = rules(&RULES);
    let (mine, theirs) = (derived(&rules, &ours), derived(&rules, &theirs));
    let mut judged = 0;
    for (at, rule) in found["rules"].as_array().unwrap().iter().enumerate() {
        assert_eq!(rule["rule"], RULES[at]);
        let mut people: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for row in mine.iter().filter(|row| row.keys[at].is_some()) {
            people.entry(&row.keys[at]).or_default().insert(&row.fields);
        }
        let pairs: usize =
            people.values().map(|people| people.len() * (people.len() - 1) / 2).sum();
        assert_eq!(rule["pairs"], pairs, "{rule}");
        let keyed = mine.iter().filter(|row| row.keys[at].is_some()).count();
        assert_eq!(rule["keyed"], keyed);
        let expected = rule["false_matches"].as_f64().unwrap();
        assert!((expected - 2.0 * pairs as f64).abs() < 1e-6, "{rule}");
        let mut there: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for row in theirs.iter().filter(|row| row.keys[at].is_some()) {
            there.entry(&row.keys[at]).or_default().push(row.person);
        }
        let others = |row: &ClearRow| {
            let found = there.get(&row.keys[at]).into_iter().flatten();
            found.filter(|person| **person != row.person).count()
        };
        let actual: usize = mine.iter().filter(|row| row.keys[at].is_some()).map(others).sum();
        if actual >= 20 {
            let ratio = expected / actual as f64;
            assert!((0.6..1.7).contains(&ratio), "{rule}: {actual} in truth");
            judged += 1;
        }
    }
    assert!(judged >= 2, "{found}");
    // The rules within the bound, by their false matches.
    let bounded = ended(&[&check[..], &["--json", "--max-false-per-rule", "0.02%"]].concat());
    let bounded: Value = serde_json::from_str(&bounded.assert(0, &[]).out).unwrap();
    let rule = |rule: &Value| (rule["false_matches"].as_f64().unwrap(), rule["rule"].clone());
    let mut within: Vec<_> = bounded["rules"].as_array().unwrap().iter().map(rule).collect();
    within.retain(|(expected, _)| *expected <= 0.0002 * 20_000.0);
    within.sort_by(|a, b| a.0.total_cmp(&b.0));
    let within: Vec<_> = within.into_iter().map(|(_, rule)| rule).collect();
    assert!((1..RULES.len()).contains(&within.len()), "{within:?}");
    assert_eq!(bounded["admitted"], Value::from(within));
    let shown = ended(&[&check[..], &["--max-false-per-rule", "0.02%"]].concat());
    let shown = &shown.assert(0, &[]).out;
    for said in [
        "false matches",
        "1 first, last, dob ",
        "all rules: ",
        "rules with few enough false matches: ",
        "  --match 'first, last, dob'\n",
        "warning: rule 4 (dob, postcode) would match about ",
        "mostly twins and others of one household",
        "warning: rule 5 (first, last) would match about ",
        "mostly people with the same frequent values",
    ] {
        assert!(shown.contains(said), "no {said:?} in {shown}");
    }
}

/// The rule of the agreement holds before anything is revealed, on the side that predicts too many.
#[test]
fn an_agreement_bounds_the_false_matches_to_expect() {
    for (most, runs) in [("0.1%", false), ("90%", true)] {
        let projects = Projects::new(10);
        let TwoTables { ours, theirs } = two_tables(400, 2);
        fs::write(projects.path(Inviter, "a.csv"), text(Connecting, &ours)).unwrap();
        fs::write(projects.path(Accepter, "b.csv"), text(Listening, &theirs)).unwrap();
        for side in [Inviter, Accepter] {
            projects.succeeds(side, &["init"]);
        }
        let address = format!("127.0.0.1:{}", free_port());
        let invite = ["invite", "acme", "--input", "a.csv", "--learns", "both"];
        let invite = [&invite[..], &["--address", &address, "--max-false", most]].concat();
        let without = [&invite[..], &["--key", "first"]].concat();
        projects
            .ended(Inviter, &without)
            .assert(2, &["max-false is for runs whose rows match by rules"]);
        projects.succeeds(Inviter, &[&invite, &flags(Connecting, &RULES)[..]].concat());
        projects.send(Inviter, "acme.invite");
        let accept = ["accept", "acme.invite", "--yes", "--input", "b.csv"];
        let accepted = projects.succeeds(Accepter, &[&accept, &flags(Listening, &[])[..]].concat());
        let said = format!("at most {most} of the smaller table's rows");
        accepted.assert(0, &[&said]);
        projects.send(Accepter, "acme.reply");
        projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
        let both = projects.run(&[], &[]);
        if runs {
            let said = "false matches to expect by all rules: ";
            both.iter().for_each(|ended| _ = ended.assert(0, &[said]));
        } else {
            assert!(both.iter().any(|ended| ended.err.contains("max-false")), "{both:#?}");
            assert!(both.iter().all(|ended| ended.code == Some(8)), "{both:#?}");
            assert!(!projects.path(Inviter, "acme.csv").exists());
        }
    }
}

/// Recall and precision are as computed in the clear, for two tables and for the duplicates of one.
#[test]
fn quality_is_that_of_labelled_rows() {
    let lab = Lab::new();
    let TwoTables { ours, theirs } = two_tables(2_001, 6);
    lab.write(Connecting, text(Connecting, &ours));
    lab.write(Listening, text(Listening, &theirs));
    let files = [Connecting, Listening].map(|party| lab.file(party, "in.csv"));
    let [a, b] = files.each_ref().map(|file| file.to_str().unwrap());
    let other = [
        "--their-field=first=Vorname:name",
        "--their-field=last=Nachname:name",
        "--their-field=dob=Geburtstag:date:%d.%m.%Y",
        "--their-field=postcode=PLZ:trim",
    ];
    let given = flags(Connecting, &RULES[..4]);
    let command = [&["match-quality", a, b, "--truth", "person"][..], &given, &other].concat();
    let found = ended(&[&command[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&found.assert(0, &[]).out).unwrap();
    let people: BTreeSet<_> = theirs.iter().map(|record| record.person).collect();
    let linked = ours.iter().filter(|record| people.contains(&record.person)).count();
    assert_eq!(
        (&found["linked"], &found["rows"]),
        (&linked.into(), &serde_json::json!([2001, 2001]))
    );
    let rules = rules(&RULES[..4]);
    let (mine, theirs) = (derived(&rules, &ours), derived(&rules, &theirs));
    let (mut matched, mut right) = (BTreeSet::new(), BTreeSet::new());
    for (at, rule) in found["rules"].as_array().unwrap().iter().enumerate() {
        let unique = |table: &[ClearRow]| {
            let mut rows: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
            for (row, found) in table.iter().enumerate() {
                if let Some(key) = &found.keys[at] {
                    rows.entry(key.clone()).or_default().push(row);
                }
            }
            rows.retain(|_, rows| {
                at == 0 || rows.iter().all(|row| table[*row].fields == table[rows[0]].fields)
            });
            rows
        };
        let (here, there) = (unique(&mine), unique(&theirs));
        let (mut alone, mut right_alone) = (BTreeSet::new(), BTreeSet::new());
        for (key, rows) in here {
            for row in rows {
                let Some(others) = there.get(&key) else { continue };
                alone.insert(row);
                if others.iter().any(|other| theirs[*other].person == mine[row].person) {
                    right_alone.insert(row);
                }
            }
        }
        assert_eq!(
            (&rule["alone"]["matched"], &rule["alone"]["right"]),
            (&alone.len().into(), &right_alone.len().into())
        );
        matched.append(&mut alone);
        right.append(&mut right_alone);
        let so_far = &rule["so_far"];
        assert_eq!(
            (&so_far["matched"], &so_far["right"]),
            (&matched.len().into(), &right.len().into())
        );
        let recall = so_far["recall"]["share"].as_f64().unwrap();
        assert!((recall - right.len() as f64 / linked as f64).abs() < 1e-12);
        let [low, high] = ["low", "high"].map(|end| so_far["recall"][end].as_f64().unwrap());
        assert!(low < recall && recall < high);
    }
    let shown = ended(&command);
    let shown = &shown.assert(0, &[]).out;
    for said in [
        "each rule by itself",
        "with those before it",
        "in the order of most gain",
        "1 first, last, dob ",
    ] {
        assert!(shown.contains(said), "no {said:?} in {shown}");
    }
    let one = [&["match-quality", a, "--truth", "person"][..], &given].concat();
    ended(&one).assert(0, &[]);
    ended(&["match-quality", a]).assert(2, &["say which column names the person with --truth"]);
}
