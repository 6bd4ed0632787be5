//! Sets that are compared in partitions, and keys that go to the disk.

use std::{collections::BTreeSet, fs};

use crate::harness::{Connecting, Ended, Lab, Listening, Party};

/// Rows of which some have no key, and some that of another row.
fn table(rows: std::ops::Range<u32>) -> String {
    rows.fold("n,email\n".to_owned(), |text, n| {
        let key = match n % 9 {
            0 => String::new(),
            1 => format!("Person.{}@mail.example", n / 18),
            _ => format!("person.{n}@mail.example"),
        };
        text + &format!("{n},{key}\n")
    })
}

fn keys(text: &str) -> BTreeSet<String> {
    let keys = text.lines().skip(1).filter_map(|line| line.split_once(','));
    keys.map(|(_, key)| key.to_lowercase()).filter(|key| !key.is_empty()).collect()
}

/// The rows of `mine` whose key is among `theirs`.
fn oracle(mine: &str, theirs: &str) -> String {
    let theirs = keys(theirs);
    let mut lines = mine.split_inclusive('\n');
    let header = lines.next().unwrap().to_owned();
    let matches =
        |line: &&str| theirs.contains(&line.trim_end().split_once(',').unwrap().1.to_lowercase());
    header + &lines.filter(matches).collect::<String>()
}

const KEY: [&str; 4] = ["--key", "email", "--normalize", "email"];

fn run(lab: &Lab, connecting: &[&str], listening: &[&str]) -> [Ended; 2] {
    lab.run(&[&KEY, connecting].concat(), &[&KEY, listening].concat())
}

#[test]
fn partitions_change_nothing_in_the_result() {
    let (a, b) = (table(0..9_000), table(5_000..20_000));
    let expected = [oracle(&a, &b), oracle(&b, &a)];
    for (protocol, partitions) in [("rr22", "7"), ("rr22-malicious", "4"), ("dh", "2")] {
        let lab = Lab::new();
        lab.write(Connecting, &a);
        lab.write(Listening, &b);
        let flags = ["--protocol", protocol, "--learns", "both", "--partitions"];
        // The side that wants more of them has its way.
        let [x, y] =
            run(&lab, &[&flags[..], &[partitions]].concat(), &[&flags[..], &["1"]].concat());
        x.assert(0, &["keys match"]);
        y.assert(0, &["keys match"]);
        for party in [Connecting, Listening] {
            assert_eq!(lab.output(party).as_ref(), Some(&expected[party as usize]), "{protocol}");
            let report = lab.report(party);
            let rounded = partitions.parse::<u64>().unwrap().next_power_of_two();
            assert_eq!(report["partitions"], rounded);
            assert_eq!(report["matches"], keys(&expected[0]).len());
        }
    }
}

#[test]
fn rows_of_partitions_are_aligned() {
    let (a, b) = (table(0..6_000), table(5_000..9_000));
    let lab = Lab::new();
    lab.write(Connecting, &a);
    lab.write(Listening, &b);
    let flags = ["--learns", "both", "--align", "--partitions", "4"];
    let [x, y] = run(&lab, &flags, &flags);
    x.assert(0, &["keys match"]);
    y.assert(0, &["keys match"]);
    let ids = |party: Party| -> Vec<(u64, String)> {
        let text = lab.output(party).unwrap();
        let rows = text.lines().skip(1).map(|line| {
            let mut fields = line.split(',');
            let id = fields.next().unwrap().parse().unwrap();
            (id, fields.nth(1).unwrap().to_lowercase())
        });
        rows.collect()
    };
    let [mut ours, mut theirs] = [Connecting, Listening].map(ids);
    assert!(ours.is_sorted_by_key(|(id, _)| *id) && theirs.is_sorted_by_key(|(id, _)| *id));
    ours.dedup();
    theirs.dedup();
    assert!(ours == theirs && ours.len() == keys(&oracle(&a, &b)).len());
    assert!(ours.iter().map(|(id, _)| *id).eq(1..=ours.len() as u64));
}

/// More keys than the memory that each side is allowed would hold as a whole.
#[test]
fn sets_larger_than_memory_are_compared_in_partitions() {
    let (a, b) = (table(0..400_000), table(200_000..600_000));
    let lab = Lab::new();
    lab.write(Connecting, &a);
    lab.write(Listening, &b);
    let spill = lab.path("spill");
    fs::create_dir(&spill).unwrap();
    let flags = ["--memory", "100M", "--spill", spill.to_str().unwrap()];
    let learns = |who| [&flags[..], &["--learns", who]].concat();
    let [x, y] = run(&lab, &learns("me"), &learns("peer"));
    x.assert(0, &["keys match"]);
    y.assert(0, &["learned"]);
    assert!(lab.output(Connecting).unwrap() == oracle(&a, &b));
    for party in [Connecting, Listening] {
        let report = lab.report(party);
        assert!(report["partitions"].as_u64().unwrap() > 1, "{report}");
        let peak = report["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak < 100_000_000, "{peak} bytes at most");
    }
    assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
}

/// Whenever a side is killed, nothing of its keys is left on disk, and the other side ends and writes nothing.
#[test]
fn a_killed_run_leaves_nothing_on_disk() {
    let (a, b) = (table(0..300_000), table(200_000..500_000));
    for phase in ["reading the table", "sorting keys", "intersecting (rr22)"] {
        let lab = Lab::new();
        lab.write(Connecting, &a);
        lab.write(Listening, &b);
        let spill = lab.path("spill");
        fs::create_dir(&spill).unwrap();
        let flags = ["--memory", "100M", "--partitions", "64", "--spill", spill.to_str().unwrap()];
        let flags = [&KEY, &flags[..]].concat();
        let [x, mut y] = lab.start(&flags, &flags);
        y.until(phase);
        y.signal("KILL");
        assert_eq!(y.end().code, None);
        x.end().assert(4, &[]);
        assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
        assert_eq!(lab.output(Connecting), None);
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let lab = Lab::new();
    lab.write(Connecting, table(0..3_000));
    lab.write(Listening, table(0..3_000));
    let [x, y] = run(&lab, &["--partitions", "2", "--spill", "/nowhere/at/all"], &[]);
    x.assert(3, &["/nowhere/at/all"]);
    y.assert(4, &[]);
    lab.assert_clean();
}
