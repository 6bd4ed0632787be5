//! Queries over rows that match by rules, as an evaluation of both tables in the clear answers them.

use std::collections::{BTreeMap, BTreeSet};

use vesica::files::NullValues;
use vesica_testkit::population::{Record, TwoTables};

use crate::{
    harness::{Connecting, Lab, Listening, Party, Running},
    linked::{flags, rules, tables, text, values},
    linked_join::{RULES, keys},
    linked_numbers::repeated,
};

/// A group of an answer: its rows, those with different fields, and the sum of their numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Group {
    rows: u64,
    people: u64,
    sum: u64,
}

/// Adds up this side's rows that pass and match a row of the other side that passes, by bucket of their number.
fn groups(
    mine: &[Record],
    passes: fn(u64) -> bool,
    theirs: &[Record],
    other_passes: fn(u64) -> bool,
) -> BTreeMap<usize, Group> {
    let of_rules = rules(&RULES);
    let fields = |table: &[Record]| -> Vec<_> {
        let of = |record| of_rules.derive(&values(&of_rules, record), &NullValues::default());
        table.iter().map(|record| of(record).fields).collect()
    };
    let (own, others) = (fields(mine), fields(theirs));
    let passing: BTreeSet<_> = others
        .iter()
        .zip(theirs)
        .filter(|(_, record)| other_passes(record.person.into()))
        .map(|(fields, _)| fields)
        .collect();
    let mut keys_there = keys(&RULES, theirs);
    keys_there.retain(|_, row| passing.contains(&others[*row]));
    let linked = keys(&RULES, mine).into_iter().filter(|(key, _)| keys_there.contains_key(key));
    let linked: BTreeSet<_> = linked.map(|(_, row)| &own[row]).collect();
    let (mut groups, mut seen) = (BTreeMap::<_, Group>::new(), BTreeSet::new());
    for (fields, record) in own.iter().zip(mine) {
        let number = u64::from(record.person);
        if linked.contains(fields) && passes(number) {
            let bucket = [300, 600].iter().filter(|edge| **edge <= number).count();
            let group = groups.entry(bucket).or_default();
            group.rows += 1;
            group.people += u64::from(seen.insert(fields));
            group.sum += number;
        }
    }
    groups
}

/// Runs a query by rules, with these columns and options of each party; returns the outputs and all bytes sent.
#[track_caller]
fn answers(lab: &Lab, query: &str, options: [&[&str]; 2]) -> ([Option<String>; 2], [u64; 2]) {
    let flags = [Connecting, Listening].map(|party| {
        let own = options[party as usize];
        [&flags(party, &RULES)[..], &["--query", query], own].concat()
    });
    for party in [Connecting, Listening] {
        _ = std::fs::remove_file(lab.file(party, "out.csv"));
    }
    lab.run(&flags[0], &flags[1]).iter().for_each(|ended| _ = ended.assert(0, &[]));
    let parties = [Connecting, Listening];
    let sent = |party| lab.report(party)["bytes_sent"].as_u64().unwrap();
    (parties.map(|party| lab.output(party)), parties.map(sent))
}

/// The total of equal rows is within the bounds too.
const NUMBER: [&str; 2] = ["--column", "person:integer[0..9000]"];
const ME: [&str; 2] = ["--learns", "me"];
const PEER: [&str; 2] = ["--learns", "peer"];
const BOTH: [&str; 2] = ["--learns", "both"];
const REPEATED: &str = "--repeated-keys";

/// Returns the lines of a grouped answer.
fn lines(groups: &BTreeMap<usize, Group>, least: u64) -> String {
    let shown = groups.iter().map(|(bucket, Group { rows, people, sum })| match *people >= least {
        true => format!("{bucket},{rows},{people},{sum},shown\n"),
        false => format!("{bucket},,,,suppressed\n"),
    });
    shown.collect()
}

#[test]
fn groups_are_of_rows_that_count_once() {
    let (lab, TwoTables { ours, theirs }) = repeated(1_503, 3);
    let low: fn(u64) -> bool = |number| number < 1_100;
    let all: fn(u64) -> bool = |_| true;
    for (party, mine, other) in [(Connecting, &ours, &theirs), (Listening, &theirs, &ours)] {
        let side = ["a", "b"][party as usize];
        let expected = groups(mine, low, other, all);
        assert!(expected.len() == 3 && expected.values().all(|group| group.rows > group.people));
        let mut people: Vec<_> = expected.values().map(|group| group.people).collect();
        people.sort_unstable();
        // One group has too few rows.
        let least = people[0] + 1;
        let query = format!(
            "SELECT bucket({side}.person, 300, 600), count(*), count(DISTINCT key), sum({side}.person) FROM a JOIN b USING \
             (key) WHERE {side}.person < 1100 GROUP BY bucket({side}.person, 300, 600) HAVING count(*) >= {least}"
        );
        let columns = |learns: [[&'static str; 2]; 2]| {
            let own = |at: usize| match at == party as usize {
                true => [&NUMBER[..], &[REPEATED], &learns[at]].concat(),
                false => learns[at].to_vec(),
            };
            [own(0), own(1)]
        };
        for learns in [[ME, PEER], [PEER, ME], [BOTH, BOTH]] {
            let [mine, theirs] = columns(learns);
            let (outputs, _) = answers(&lab, &query, [&mine, &theirs]);
            for (output, learns) in outputs.into_iter().zip(learns) {
                let shown = output.map(|text| text.split_once('\n').unwrap().1.to_owned());
                let expected = (learns != PEER).then(|| lines(&expected, least));
                assert_eq!(shown, expected);
            }
        }
    }
}

/// A row matches if a row of the other side does that passes the other side's filter. Without numbers and labels, the
/// the learning side's rows are counted, and equal ones count as one.
#[test]
fn filters_of_both_sides_hold() {
    let (lab, TwoTables { ours, theirs }) = repeated(700, 4);
    let [low, even]: [fn(u64) -> bool; 2] = [|number| number < 500, |number| number >= 120];
    let query =
        "SELECT count(*) FROM a JOIN b USING (key) WHERE a.person < 500 AND b.person >= 120";
    let options =
        |learns: [&'static str; 2]| [&["--column", "person:integer"][..], &learns].concat();
    let (outputs, _) = answers(&lab, query, [&options(ME), &options(PEER)]);
    let people = |groups: BTreeMap<usize, Group>| groups.values().map(|group| group.people).sum();
    let expected: u64 = people(groups(&ours, low, &theirs, even));
    let unfiltered: u64 = people(groups(&ours, |_| true, &theirs, |_| true));
    assert!(expected > 100 && expected < unfiltered);
    assert_eq!(outputs, [Some(format!("count(*)\n{expected}\n")), None]);
    let expected: u64 = people(groups(&theirs, even, &ours, low));
    let (outputs, _) = answers(&lab, query, [&options(PEER), &options(ME)]);
    assert_eq!(outputs, [None, Some(format!("count(*)\n{expected}\n"))]);
}

/// Everything that is said is about rows.
#[test]
fn words_are_about_rows() {
    let (lab, _) = tables(200, 5);
    let query = "SELECT count(*), avg(a.person) FROM a JOIN b USING (key) HAVING count(*) >= 10";
    let flags = |party: Party, more: &[&'static str]| {
        [&flags(party, &RULES)[..], &["--query", query], more].concat()
    };
    let [mine, theirs] =
        lab.run(&flags(Connecting, &[&NUMBER[..], &ME].concat()), &flags(Listening, &PEER));
    mine.assert(
        0,
        &[
            "the number of rows and the mean of this side's `person` together with its sum and number of values, if there are \
             at least 10 rows, over this side's rows that match a row of the other side by one of the rules",
        ],
    );
    theirs.assert(0, &["The other side learned the number of rows and"]);
    let report = lab.report(Connecting).to_string();
    assert!(report.contains(r#""rows_of":"a""#), "{report}");
}

/// Lengths depend on the numbers of keys and on the query, and not on the rows that match, how many keys each has, or
/// which pass.
#[test]
fn lengths_do_not_show_matches() {
    let (lab, TwoTables { ours, mut theirs }) = tables(400, 6);
    let query = "SELECT bucket(a.person, 300, 600), sum(a.person) FROM a JOIN b USING (key) WHERE b.person < 300 GROUP BY \
                 bucket(a.person, 300, 600)";
    let pad = ["--pad-keys"];
    let options = [[&NUMBER[..], &ME, &pad].concat(), [&NUMBER[..], &PEER, &pad].concat()];
    let sent = || answers(&lab, query, [&options[0], &options[1]]).1;
    let with_matches = sent();
    for record in &mut theirs {
        record.birthday = "1900-01-01".to_owned();
        record.postcode.clear();
        record.person = 1_000;
    }
    lab.write(Listening, text(Listening, &theirs));
    assert!(groups(&ours, |_| true, &theirs, |_| true).is_empty());
    for (with, without) in with_matches.iter().zip(sent()) {
        assert!(with.abs_diff(without) < 200, "{with} and {without} bytes");
    }
}

#[test]
fn queries_that_would_mislead_are_refused() {
    let (lab, _) = repeated(40, 1);
    let label = ["--column", "person:label<=9"];
    let number = ["--column", "person:integer"];
    for (query, more, said) in [
        (
            "SELECT a.person, sum(b.person) FROM a JOIN b USING (key) GROUP BY a.person",
            &label[..],
            "use a.person and b.person in two",
        ),
        (
            "SELECT sum(a.person * b.person) FROM a JOIN b USING (key)",
            &number,
            "numbers and labels of one side only",
        ),
        (
            "SELECT count(*) FROM a ASOF JOIN b ON a.key = b.key AND a.person >= b.person WHERE a.person - b.person <= 9",
            &["--column", "person:date[2026-11-01..2026-11-30]"],
            "use JOIN in place of ASOF JOIN",
        ),
        (
            "SELECT count(*) FROM a JOIN b USING (key) WHERE a.person = 1",
            &["--column", "person:integer", REPEATED],
            "equal rows of side a count as one",
        ),
        (
            "SELECT sum(b.person) FROM a JOIN b USING (key)",
            &[REPEATED],
            "--repeated-keys is for the side whose numbers",
        ),
        (
            "SELECT sum(a.person) FROM a JOIN b USING (key)",
            &["--column", "person:integer[0..9]", "--epsilon", "1"],
            "noise hides a single key",
        ),
        (
            "SELECT sum(a.person) FROM a JOIN b USING (key)",
            &["--column", "person:integer", "--partitions", "2"],
            "whole sets",
        ),
    ] {
        let way = ["--connect", "127.0.0.1:1"];
        let options = [&flags(Connecting, &RULES)[..], &["--query", query], &ME, more].concat();
        let command = lab.command(Connecting, &way, &options);
        Running::start(command).end().assert(2, &[said]);
    }
    // Two rows with equal fields, which would have a sum in one row.
    let query = "SELECT sum(a.person) FROM a JOIN b USING (key)";
    let with = |party, more: &[&'static str]| {
        [&flags(party, &RULES)[..], &["--query", query], more].concat()
    };
    let [mine, _] =
        lab.run(&with(Connecting, &[&NUMBER[..], &ME].concat()), &with(Listening, &PEER));
    mine.assert(3, &["has the same key as row 1"]);
}
