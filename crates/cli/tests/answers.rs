//! Two processes find a number, and nothing else.

#![allow(clippy::unwrap_used)]

mod harness;

use harness::{Connecting, Lab, Listening, Party};

/// Keys from the first number to the one before the last, each with its number as value.
fn table(from: u32, to: u32) -> String {
    (from..to).fold("k,v\n".to_owned(), |text, i| text + &format!("key {i},{i}\n"))
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(Connecting, table(0, 300));
    lab.write(Listening, table(200, 450));
    lab
}

fn answered(lab: &Lab, party: Party, name: &str) -> serde_json::Value {
    lab.report(party)["answer"][name].clone()
}

#[test]
fn a_count() {
    for (a, b) in [("me", "peer"), ("peer", "me"), ("both", "both")] {
        let lab = lab();
        let flags = |learns| ["--answer", "count", "--learns", learns];
        let [x, y] = lab.run(&flags(a), &flags(b));
        x.assert(0, &["The other side learned"]);
        y.assert(0, &["This side learned"]);
        for (party, learns) in [(Connecting, a), (Listening, b)] {
            let report = lab.report(party);
            assert!(report["matches"].is_null());
            if learns == "peer" {
                assert!(report["answer"].is_null() && lab.output(party).is_none());
            } else {
                assert_eq!(answered(&lab, party, "count"), 100);
                assert_eq!(lab.output(party).unwrap(), "100\n");
            }
        }
    }
}

#[test]
fn sides_that_want_different_things_do_not_run() {
    let lab = lab();
    let count = ["--answer", "count", "--learns", "both"];
    let rows = ["--learns", "both"];
    let [x, y] = lab.run(&count, &rows);
    x.assert(5, &["what is to be found out (here: count; there: rows)"]);
    y.assert(5, &["what is to be found out (here: rows; there: count)"]);
    let sum = ["--answer", "sum:v", "--learns", "both"];
    let [x, _] = lab.run(&sum, &sum);
    x.assert(5, &["who brings the values to add up"]);
}

#[test]
fn what_cannot_be_asked_is_refused_at_once() {
    let lab = lab();
    for (answer, said) in [
        ("mean", "possible values: rows, count, sum"),
        ("sum:", "possible values"),
        ("threshold:-1", "threshold:K takes a whole number"),
        ("products", "possible values"),
    ] {
        let command = lab.command(Connecting, &["--connect", "localhost:1"], &["--answer", answer]);
        harness::Running::start(command).end().assert(2, &[said]);
    }
    let minimum = ["--minimum", "3", "--learns", "me"];
    let command = lab.command(Connecting, &["--connect", "localhost:1"], &minimum);
    harness::Running::start(command).end().assert(2, &["rows cannot be held back"]);
}

/// Both sides' flags for a question, and the answer's name and value.
#[test]
fn every_question_is_answered_exactly() {
    let shared = || 200..300u64;
    let sum: u64 = shared().sum();
    let squares: u64 = shared().map(|i| i * i).sum();
    let cases = [
        ("sum:v", "sum", "sum", sum.into(), format!("{sum}\n")),
        ("sum", "sum:v", "sum", sum.into(), format!("{sum}\n")),
        ("products:v", "products:v", "sum", squares.into(), format!("{squares}\n")),
        ("threshold:100", "threshold:100", "at_least", true.into(), "yes\n".to_owned()),
        ("threshold:101", "threshold:101", "at_least", false.into(), "no\n".to_owned()),
    ];
    for (one, other, name, value, line) in cases {
        let lab = lab();
        let value: serde_json::Value = value;
        let minimum = ["--minimum", "100"];
        let flags = |answer, learns| ["--answer", answer, "--learns", learns];
        let [x, y] = lab.run(
            &[&flags(one, "me")[..], &minimum[..]].concat(),
            &[&flags(other, "peer")[..], &["--minimum", "7"][..]].concat(),
        );
        x.assert(0, &["nothing about which"]);
        y.assert(0, &[]);
        assert_eq!(answered(&lab, Connecting, name), value, "{one} {other}");
        assert_eq!(lab.output(Connecting).unwrap(), line);
        assert!(lab.output(Listening).is_none() && lab.report(Listening)["answer"].is_null());
        assert_eq!(lab.report(Connecting)["protocol"], "rs21-circuit");
    }
}

/// Of an intersection below the minimum, whichever side set it, nothing is told.
#[test]
fn too_few_are_not_told() {
    let lab = lab();
    let [x, y] = lab.run(
        &["--answer", "sum", "--learns", "both"],
        &["--answer", "sum:v", "--learns", "both", "--minimum", "101"],
    );
    x.assert(0, &["fewer shared keys than the minimum"]);
    y.assert(0, &[]);
    for party in [Connecting, Listening] {
        assert_eq!(lab.report(party)["answer"], "too_few");
        assert_eq!(lab.output(party).unwrap(), "too few\n");
    }
}

#[test]
fn values_that_are_no_numbers_end_the_run_with_their_place() {
    let lab = lab();
    lab.write(Connecting, "k,v\na,1\nb,12.50\n");
    let [x, y] =
        lab.run(&["--answer", "sum:v", "--learns", "peer"], &["--answer", "sum", "--learns", "me"]);
    x.assert(3, &["row 2 (line 3), column `v`: not a whole number"]);
    assert!(!x.err.contains("12.50"), "{x:#?}");
    assert_ne!(y.code, Some(0));
    lab.assert_clean();
}
