//! Two processes find exactly what a plain intersection finds.

use std::collections::HashSet;

use crate::harness::{Connecting, Lab, Listening, Party, Running, ended, feed};
use vesica_testkit::assurance;

/// The keys of every protocol that runs, from the program itself.
fn protocols() -> Vec<String> {
    let list = ended(&["protocols", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    let names = list.as_array().unwrap().iter().filter(|entry| entry["kind"] == "run");
    names.map(|entry| entry["protocol"].as_str().unwrap().to_owned()).collect()
}

/// Names as package registries have them, some twice.
fn names(from: usize, to: usize) -> Vec<String> {
    let name = |i: usize| match i % 7 {
        0 => format!("@Scope{}/pkg.{i}", i % 11),
        1 => format!("Lib-{i}_core"),
        2 => format!("lib-{i}_core"),
        3 => format!("org.example.Artifact{i}"),
        4 => format!("\"quoted, {i}\""),
        5 => format!("päckage{i}"),
        _ => format!("x{}", i / 2),
    };
    (from..to).map(|i| name(i.wrapping_mul(7919) % 20_011)).collect()
}

fn csv(names: &[String]) -> String {
    let rows = names.iter().enumerate().map(|(i, name)| format!("{i},{name},\"a, b\"\n"));
    rows.fold("n,k,more\n".to_owned(), |text, row| text + &row)
}

/// The rows of `mine` whose name is among `theirs`.
fn oracle(mine: &[String], theirs: &[String]) -> String {
    let theirs: HashSet<_> = theirs.iter().collect();
    let text = csv(mine);
    let mut lines = text.split_inclusive('\n');
    let mut found = lines.next().unwrap().to_owned();
    lines.zip(mine).filter(|(_, name)| theirs.contains(name)).for_each(|(line, _)| found += line);
    found
}

#[test]
fn every_protocol_finds_the_plain_intersection_for_whoever_may_learn_it() {
    let (a, b) = (assurance::trials(601, 3001), assurance::trials(843, 4203));
    let many = (names(0, a), names(a / 3 * 2, b));
    // An operation on integers of thousands of bits takes milliseconds.
    let few = (names(0, 41), names(20, 51));
    for (place, protocol) in protocols().into_iter().enumerate() {
        let slow = ["blind-rsa", "dh-ffc", "hl08-ffc"].contains(&protocol.as_str());
        let (a, b) = if slow { &few } else { &many };
        let expected = [oracle(a, b), oracle(b, a)];
        assert!(expected.iter().all(|text| text.lines().count() > b.len() / 4));
        let learners = [("me", "peer"), ("peer", "me"), ("both", "both")].into_iter().enumerate();
        let learners = learners.filter(|(way, _)| assurance::tries(place, *way, 3));
        for (_, (a_learns, b_learns)) in learners {
            let lab = Lab::new();
            lab.write(Connecting, csv(a));
            lab.write(Listening, csv(b));
            let flags = |learns| ["--protocol", &protocol, "--allow-research", "--learns", learns];
            let [x, y] = lab.run(&flags(a_learns), &flags(b_learns));
            x.assert(0, &["The other side learned"]);
            y.assert(0, &["This side learned"]);
            for (party, learns) in [(Connecting, a_learns), (Listening, b_learns)] {
                let expected = (learns != "peer").then(|| expected[party as usize].clone());
                assert_eq!(lab.output(party), expected, "{protocol} {a_learns} {party:?}");
                assert_eq!(lab.report(party)["protocol"], *protocol);
                assert_eq!(lab.report(party)["matches"].is_null(), learns == "peer");
            }
            let hash = |party| lab.report(party)["terms_hash"].as_str().unwrap().to_owned();
            assert_eq!(hash(Connecting), hash(Listening));
        }
    }
}

#[test]
fn a_join_appends_the_columns_that_are_sent() {
    let lab = Lab::new();
    lab.write(Connecting, "k,n\na,1\nb,2\na,3\n");
    lab.write(Listening, "k,n,tier\na,9,\"gold, old\"\nc,8,silver\n");
    let send = ["--learns", "peer", "--send", "tier,n", "--send-bytes", "20"];
    let [x, y] = lab.run(&["--learns", "me", "--receive"], &send);
    x.assert(
        0,
        &["columns received: tier, n in 20 bytes a row", "the values of the columns tier and n"],
    );
    y.assert(0, &["columns sent: tier, n in 20 bytes a row"]);
    let joined = "k,n,tier,peer_n\na,1,\"gold, old\",9\na,3,\"gold, old\",9\n";
    assert_eq!(lab.output(Connecting).unwrap(), joined);
    assert_eq!(lab.output(Listening), None);
    for party in [Connecting, Listening] {
        assert_eq!(lab.report(party)["terms"]["b_sends"]["bytes"], 20);
    }
    // Both would send, and so neither would learn.
    let lab = Lab::new();
    lab.write(Connecting, "k,n\na,1\n");
    lab.write(Listening, "k,n\na,1\n");
    let [x, _] =
        lab.run(&["--learns", "peer", "--send", "n"], &["--learns", "peer", "--send", "n"]);
    x.assert(5, &["who learns the result"]);
    lab.assert_clean();
}

#[test]
fn rows_come_out_byte_for_byte() {
    let lab = Lab::new();
    lab.write(Connecting, "\u{feff}v,k\r\n\" a,\r\n\"\"b\"\" \",x\r\n2,\"y\"\r\n3,z\r\n4,x");
    lab.write(Listening, "k;v\nz;\"1;\"\ny;\n");
    let [a, b] = lab.run(&[], &["--delimiter", "auto", "--learns", "both"]);
    a.assert(0, &["2 of 3 keys match; 2 rows written", "4 rows read: 0 without a key, 1 rep"]);
    b.assert(0, &["2 of 2 keys match"]);
    assert_eq!(lab.output(Connecting).unwrap(), "\u{feff}v,k\r\n2,\"y\"\r\n3,z\r\n");
    assert_eq!(lab.output(Listening).unwrap(), "k;v\nz;\"1;\"\ny;\n");
}

#[test]
fn composite_keys_and_normalisation_by_column() {
    let lab = Lab::new();
    lab.write(Connecting, "k,l\n\"a,b\",c\n Ann@X.org ,ONE\nunknown,one\n");
    lab.write(Listening, "mail,word\na,\"b,c\"\nann@x.org,one\nunknown,one\n");
    let plain = ["--key", "k,l"];
    let [a, _] = lab.run(&plain, &["--key", "mail,word"]);
    a.assert(0, &["1 of 3 keys match"]);
    assert_eq!(lab.output(Connecting).unwrap(), "k,l\nunknown,one\n");
    let both = "email,lower";
    let [a, b] = lab
        .run(&["--key", "k,l", "--normalize", both], &["--key", "mail,word", "--normalize", both]);
    a.assert(0, &["1 of 1 key match", "3 rows read: 2 without a key"]);
    b.assert(0, &[]);
    assert_eq!(lab.output(Connecting).unwrap(), "k,l\n Ann@X.org ,ONE\n");
    assert_eq!(lab.output(Listening).unwrap(), "mail,word\nann@x.org,one\n");
}

#[test]
fn rows_match_by_any_identifier() {
    let lab = Lab::new();
    lab.write(
        Connecting,
        "mail,phone\nann@x.org,\n,030 123456\nbob@x.org,030 654321\ncid@x.org,+44 20 7946 0018\n,\n",
    );
    lab.write(Listening, "tel,k\n+4930123456,zed@x.org\n,ANN@x.org\n020 7946 0018,\n");
    let [a, b] = lab.run(
        &["--key", "mail", "--key", "phone", "--normalize", "email,phone:DE"],
        &["--key", "k", "--key", "tel", "--normalize", "email,phone:GB"],
    );
    let said = "3 of 6 keys match (1 of identifier 1, 2 of identifier 2); 3 rows written";
    a.assert(0, &[said, "5 rows read: 1 without a key, 0 repeating a key"]);
    assert!(a.err.contains("by which of its identifiers each row matches"), "{a:?}");
    b.assert(0, &[]);
    assert_eq!(
        lab.output(Connecting).unwrap(),
        "mail,phone\nann@x.org,\n,030 123456\ncid@x.org,+44 20 7946 0018\n"
    );
    let report = lab.report(Connecting);
    assert_eq!(report["matches_of_identifiers"], serde_json::json!([1, 2]));
    assert_eq!(report["terms"]["identifiers"], serde_json::json!([1, 1]));
    let agreed = |profile: &str| profile.parse::<vesica::Normalize>().unwrap().agreed();
    assert_eq!(report["terms"]["keys"], serde_json::json!([agreed("email"), agreed("phone")]));
}

#[test]
fn empty_and_tiny_sets() {
    for (case, (a, b, matches)) in [
        ("", "k\nx\n", 0),
        ("k\n", "k\nx\n", 0),
        ("k\n\"\"\n", "k\n\"\"\n", 0),
        ("", "", 0),
        ("k\nx\n", "k\nx\n", 1),
        ("k\nx\n", "k\ny\n", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let tried = |(place, _): &(usize, String)| assurance::tries(*place, case, 3);
        for (_, protocol) in protocols().into_iter().enumerate().filter(tried) {
            let lab = Lab::new();
            lab.write(Connecting, a);
            lab.write(Listening, b);
            let flags = ["--protocol", &protocol, "--allow-research", "--allow-empty"];
            let ended = lab.run(&flags, &flags);
            ended.iter().for_each(|ended| _ = ended.assert(0, &[]));
            assert_eq!(lab.report(Connecting)["matches"], matches, "{a:?} {b:?} {protocol}");
            assert_eq!(lab.report(Listening)["matches"], matches, "{a:?} {b:?} {protocol}");
            let nothing = if a.is_empty() { "" } else { "k\n" };
            let expected = if matches > 0 { a } else { nothing };
            assert_eq!(lab.output(Connecting).unwrap(), expected);
            let warned = ended[0].err.contains("is empty: it has no rows and not even a header");
            assert_eq!(warned, a.is_empty());
        }
    }
}

#[test]
fn one_row_against_a_million() {
    let million = (0..1_000_000).fold("k\n".to_owned(), |text, i| text + &format!("u{i}@x\n"));
    for large in [Connecting, Listening] {
        let lab = Lab::new();
        lab.write(large, &million);
        lab.write(large.other(), "k\nu777777@x\n");
        lab.run(&[], &[]).iter().for_each(|ended| _ = ended.assert(0, &["1 of "]));
        for party in [Connecting, Listening] {
            assert_eq!(lab.output(party).unwrap(), "k\nu777777@x\n");
        }
        assert_eq!(lab.report(large)["rows"]["used"], 1_000_000);
    }
}

#[test]
fn standard_input_and_output() {
    let lab = Lab::new();
    lab.write(Listening, "k\nx\ny\n");
    let [mut a, b] = lab.start(&["--input", "-", "--output", "-"], &[]);
    drop(feed(a.stdin(), "k,v\nx,1\nz,2\n"));
    let (a, b) = (a.end(), b.end());
    a.assert(0, &["1 row written to standard output"]);
    b.assert(0, &[]);
    assert_eq!(a.out, "k,v\nx,1\n");
}

#[test]
fn a_side_that_learns_nothing_writes_nothing() {
    let lab = Lab::new();
    for party in [Connecting, Listening] {
        lab.write(party, "k\nx\n");
    }
    let [a, b] = lab.run(&["--learns", "peer"], &["--learns", "me", "--quiet"]);
    a.assert(0, &["--output is not used"]);
    b.assert(0, &[]);
    assert!(b.err.starts_with("listening on ") && b.err.lines().count() == 1, "{b:?}");
}

#[test]
fn an_output_that_exists_is_replaced() {
    let lab = Lab::new();
    for party in [Connecting, Listening] {
        lab.write(party, "k\nx\n");
        std::fs::write(lab.file(party, "out.csv"), "something that was there before").unwrap();
    }
    lab.run(&[], &[]).iter().for_each(|ended| _ = ended.assert(0, &[]));
    let output = |party: Party| lab.output(party).unwrap();
    assert_eq!([output(Connecting), output(Listening)], ["k\nx\n"; 2]);
}

#[test]
fn files_in_a_directory_instead_of_a_connection() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\ny\n");
    lab.write(Listening, "k\ny\nz\n");
    let shared = tempfile::tempdir().unwrap();
    let directory = shared.path().to_str().unwrap();
    let start = |party, side| {
        let way = ["--exchange-dir", directory, "--side", side];
        Running::start(lab.command(party, &way, &[]))
    };
    let (a, b) = (start(Connecting, "a"), start(Listening, "b"));
    a.end().assert(0, &["1 of 2 keys match"]);
    b.end().assert(0, &["1 of 2 keys match"]);
    assert_eq!(lab.output(Connecting).unwrap(), "k\ny\n");
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
}

#[test]
fn the_two_sides_may_have_different_formats_and_select_columns() {
    let lab = Lab::new();
    lab.write(Connecting, "{\"k\":7,\"v\":[1]}\n{\"k\":8}\n{\"k\":null}\n");
    lab.write(Listening, "a,k,b\n1,8,\"x, y\"\n2,9,z\n3,7,\n");
    let out = lab.path("out.jsonl");
    let [a, b] = lab.run(&["--output", out.to_str().unwrap()], &["--select", "b,k"]);
    a.assert(0, &["2 of 2 keys match"]);
    b.assert(0, &["2 of 3 keys match"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "{\"k\":7,\"v\":[1]}\n{\"k\":8}\n");
    assert_eq!(lab.output(Listening).unwrap(), "b,k\n\"x, y\",8\n,7\n");
    // An output for which the input's format is not meant, and columns that are not there.
    let alone = |flags: &[&str]| {
        Running::start(lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags)).end()
    };
    alone(&[]).assert(2, &["out.csv is named like CSV, but the rows are NDJSON like the input"]);
    let number = ["--select", "v", "--answer", "count"];
    alone(&number).assert(2, &["--select requires a run for rows"]);
    alone(&["--select", "v,v"]).assert(2, &["selected column `v` is named twice"]);
    std::fs::remove_file(lab.file(Listening, "out.csv")).unwrap();
    lab.write(Connecting, "k,v\n1,2\n");
    alone(&["--select", "w"]).assert(3, &["has no column `w`; it has `k`, `v`"]);
}
