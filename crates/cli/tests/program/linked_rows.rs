//! Linked rows and shares of them, whose rules nobody learns, as an evaluation of both tables in the clear finds them.

use std::collections::BTreeSet;

use vesica_testkit::population::TwoTables;

use crate::{
    answers::{columns, combined},
    harness::{Connecting, Listening, Running},
    linked::{flags, tables},
    linked_join::RULES,
    linked_numbers::{People, answers, repeated},
    partners::{Projects, Side::Inviter},
};

fn linked(learns: &str) -> [&str; 4] {
    ["--answer", "linked", "--learns", learns]
}

#[test]
fn linked_rows_are_written_without_their_rule() {
    let (lab, TwoTables { ours, theirs }) = repeated(1_203, 8);
    for rules in [&RULES[..], &RULES[1..2], &["last, dob", "left(first, 1), last", "dob, postcode"]]
    {
        for (learner, mine, there) in [(Connecting, &ours, &theirs), (Listening, &theirs, &ours)] {
            let people = People::of(rules, mine, there);
            assert!(people.matching.len() > 300 && people.matching.len() < mine.len());
            let learns = match learner {
                Connecting => ["me", "peer"],
                Listening => ["peer", "me"],
            };
            let padded = if rules.len() == 1 { &["--pad-keys"][..] } else { &[] };
            let [one, other] = learns.map(|learns| [&linked(learns)[..], padded].concat());
            answers(&lab, rules, &one, &other);
            assert_eq!(lab.output(learner).unwrap(), people.lines(learner, mine));
            let report = lab.report(learner);
            let number = serde_json::json!({"kind": "count", "value": people.matching.len()});
            assert_eq!(report["answer"], number);
            assert!(report["matches"].is_null() && report["rows_of_rules"].is_null());
            let other = if learner == Connecting { Listening } else { Connecting };
            assert!(lab.report(other)["answer"].is_null());
        }
    }
}

/// The words of both sides are about rows, and nobody is said to learn a rule.
#[test]
fn everything_said_is_about_rows() {
    let (lab, TwoTables { ours, theirs }) = repeated(200, 2);
    let people = People::of(&RULES, &ours, &theirs);
    let [mine, theirs] = [(Connecting, "me"), (Listening, "peer")]
        .map(|(party, learns)| [&flags(party, &RULES)[..], &linked(learns)].concat());
    let [mine, theirs] = lab.run(&mine, &theirs);
    let number = people.matching.len();
    let rows = people.lines(Connecting, &ours).lines().count() - 1;
    assert!(number < rows);
    let found = format!("{number} different rows match; {rows} rows written");
    let learned = format!(
        "This side learned which of its rows match a row of the other side by one of the rules ({number} different ones)"
    );
    mine.assert(0, &[&found, &learned, "false matches to expect by all rules"]);
    theirs.assert(0, &["The other side learned which of its rows match a row of this side"]);
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    let preview = ["preview", "--identity", "vesica.identity", "--input", "nobody-reads-this.csv"];
    let flags = [&preview[..], &flags(Connecting, &RULES), &linked("me")].concat();
    let said = projects.succeeds(Inviter, &flags).out;
    for phrase in [
        "more about a row that matches than that one of its keys does",
        "This side can write a person in several such rows",
        "a row is shown without the rules",
    ] {
        assert!(said.contains(phrase), "{said}");
    }
    let assessed = projects.succeeds(Inviter, &[&flags[..], &["--dpia"]].concat()).out;
    assert!(assessed.contains("Membership: for each match"), "{assessed}");
}

#[test]
fn shares_are_of_rows_that_match() {
    let (lab, TwoTables { ours, theirs }) = repeated(601, 4);
    for [one, other] in
        [["shares", "shares"], ["shares:person", "shares"], ["shares", "shares:person"]]
    {
        let share = |answer| ["--answer", answer, "--learns", "nobody"];
        answers(&lab, &RULES, &share(one), &share(other));
        // The side with values has the rows, and otherwise the one that connects.
        let (owner, mine, there) = match other {
            "shares" => (Connecting, &ours, &theirs),
            _ => (Listening, &theirs, &ours),
        };
        let people = People::of(&RULES, mine, there);
        let of_bins = columns(&lab, owner);
        let name = if owner == Connecting { "value_a" } else { "value_b" };
        let has_values = [one, other].iter().any(|answer| answer.contains(':'));
        assert_eq!(of_bins.len(), 3 + usize::from(has_values));
        let members = combined(&lab, "member");
        let values = has_values.then(|| combined(&lab, name));
        let mut found = BTreeSet::new();
        for (bin, row) in of_bins["row"].iter().enumerate() {
            let row = row.parse::<usize>().ok().map(|row| row - 1);
            let matching = row.filter(|row| people.matching.contains(row));
            assert_eq!(members[bin], u64::from(matching.is_some()), "{one}, {other}: {row:?}");
            let sum = |row: usize| -> u64 {
                let rows = mine.iter().zip(&people.first).filter(|(_, first)| **first == row);
                rows.map(|(record, _)| u64::from(record.person)).sum()
            };
            let value = matching.map_or(0, sum);
            assert!(values.as_ref().is_none_or(|values| values[bin] == value));
            assert!(row.is_none_or(|row| found.insert(row)), "a row is at one position");
        }
        assert!(people.matching.is_subset(&found));
        for party in [Connecting, Listening] {
            let report = lab.report(party);
            assert!(report["matches"].is_null() && report["answer"].is_null());
        }
    }
    let share = ["--answer", "shares:person", "--learns", "nobody"];
    let [mine, theirs] =
        [Connecting, Listening].map(|party| [&flags(party, &RULES)[..], &share].concat());
    for ended in lab.run(&mine, &theirs) {
        ended.assert(5, &["name a column on one side only"]);
    }
}

#[test]
fn linked_rows_are_refused_where_a_rule_would_show() {
    let (lab, _) = tables(20, 1);
    let of_rules = flags(Connecting, &RULES);
    let key = vec!["--key", "first"];
    for (keys, more, said) in [
        (&key, &["--learns", "me"][..], "name rules with --match, or ask for rows"),
        (&of_rules, &["--learns", "both"], "only one side learns linked rows"),
        (&of_rules, &["--learns", "me", "--minimum", "3"], "takes no minimum"),
        (
            &of_rules,
            &["--learns", "me", "--min-rule", "2"],
            "this query hides it: name fewer rules",
        ),
        (
            &of_rules,
            &["--learns", "me", "--partitions", "2"],
            "linked rows by rules compare whole sets",
        ),
        (
            &of_rules,
            &["--learns", "me", "--resume", "j"],
            "linked rows by rules compare whole sets",
        ),
        (
            &of_rules,
            &["--learns", "me", "--protocol", "rr22"],
            "is named `rr22`; there are: rs21-circuit",
        ),
        (&of_rules, &["--learns", "me", "--epsilon", "1"], "noise hides a single key"),
        (
            &of_rules,
            &["--learns", "me", "--send", "person"],
            "--send and --answer exclude each other",
        ),
    ] {
        let way = ["--connect", "127.0.0.1:1"];
        let flags = [&keys[..], &["--answer", "linked"], more].concat();
        Running::start(lab.command(Connecting, &way, &flags)).end().assert(2, &[said]);
    }
}

/// Sets too large for the memory of a side are refused before anything is compared.
#[test]
fn sets_beyond_memory_are_refused() {
    let (lab, _) = tables(60_000, 3);
    for answer in [
        &linked("me")[..],
        &["--answer", "count", "--learns", "me"],
        &["--answer", "shares", "--learns", "nobody"],
    ] {
        let theirs: Vec<_> =
            answer.iter().map(|word| if *word == "me" { "peer" } else { *word }).collect();
        let small = ["--memory", "80M"];
        let mine = [&flags(Connecting, &RULES)[..], answer, &small].concat();
        let [one, other] = lab.run(&mine, &[&flags(Listening, &RULES)[..], &theirs].concat());
        one.assert(5, &["memory (here: `rs21-circuit` needs about", "raise --memory"]);
        other.assert(5, &["there: not enough for `rs21-circuit`"]);
        lab.assert_clean();
    }
}
