//! Sets that are compared in partitions, and keys that go to the disk.

use std::{collections::BTreeSet, fs, process::Command};

use crate::harness::{Connecting, Ended, Lab, Listening, Party, Running};

/// Rows; some have no key, and some repeat the key of another row.
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
    for (protocol, partitions, threads) in
        [("rr22", "7", "1"), ("rr22", "7", "3"), ("rr22-malicious", "4", "2"), ("dh", "2", "2")]
    {
        let lab = Lab::new();
        lab.write(Connecting, &a);
        lab.write(Listening, &b);
        let flags =
            ["--protocol", protocol, "--threads", threads, "--learns", "both", "--partitions"];
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

/// The output of a side at the end, and the result in its report.
fn result(lab: &Lab, party: Party) -> (Option<String>, Vec<serde_json::Value>) {
    let report = lab.report(party);
    let facts = ["matches", "matches_of_identifiers", "rows_written", "answer", "learned", "hints"];
    (lab.output(party), facts.map(|fact| report[fact].clone()).to_vec())
}

/// Rows with two identifiers and two columns of numbers. Some identifiers are missing, and some are of several rows.
fn people(rows: std::ops::Range<i64>) -> String {
    rows.fold("email,phone,v,w\n".to_owned(), |text, n| {
        let email = if n % 5 == 0 { String::new() } else { format!("p{}@mail.example", n / 2) };
        let phone = if n % 7 == 0 { String::new() } else { format!("n{}", n / 3 * 11) };
        text + &format!("{email},{phone},{},{}\n", n - 700, n % 13)
    })
}

/// The sides learn the same as from whole sets, for all questions.
#[test]
fn every_query_can_be_run_in_partitions() {
    let email = ["--key", "email"];
    let both = ["--key", "email", "--key", "phone"];
    let sent = ["--send", "w,v", "--duplicates", "all:3", "--learns", "peer"];
    let queries: &[(&[&str], [&[&str]; 2])] = &[
        (&email, [&["--answer", "count", "--learns", "both"]; 2]),
        (&email, [&["--answer", "count", "--minimum", "5000", "--learns", "both"]; 2]),
        (
            &email,
            [&["--answer", "sum:v", "--learns", "me"], &["--answer", "sum", "--learns", "peer"]],
        ),
        (
            &email,
            [&["--answer", "sum:v", "--learns", "peer"], &["--answer", "sum", "--learns", "me"]],
        ),
        (&email, [&["--answer", "products:v", "--learns", "both", "--minimum", "2"]; 2]),
        (&email, [&["--answer", "threshold:100", "--learns", "both"]; 2]),
        (&both, [&["--learns", "both"]; 2]),
        (&email, [&["--learns", "both", "--diagnose"]; 2]),
        (&email, [&["--receive", "--learns", "me"], &sent]),
        (&email, [&["--receive", "--join", "left", "--learns", "me"], &sent]),
        (&email, [&["--receive", "--learns", "me"], &["--send", "w", "--learns", "peer"]]),
    ];
    for (keys, [here, there]) in queries {
        let results = [&[][..], &["--partitions", "2"]].map(|partitions| {
            let lab = Lab::new();
            lab.write(Connecting, people(0..4_500));
            lab.write(Listening, people(1_500..6_000));
            // Of those in partitions, two at a time.
            let threads = ["--threads", if partitions.is_empty() { "1" } else { "2" }];
            let flags = |own: &&[&'static str]| [&keys[..], own, partitions, &threads].concat();
            let ended = lab.run(&flags(here), &flags(there));
            let few = here.contains(&"5000");
            ended.iter().for_each(|ended| _ = ended.assert(if few { 9 } else { 0 }, &[]));
            let count = lab.report(Connecting)["partitions"].clone();
            assert_eq!(count, if partitions.is_empty() { 1 } else { 2 });
            [Connecting, Listening].map(|party| result(&lab, party))
        });
        assert_eq!(results[0], results[1], "{here:?} {there:?}");
    }
}

/// Shares of bins of all partitions are in one file, with one numbering.
#[test]
fn shares_of_partitions_are_the_intersection() {
    let lab = Lab::new();
    lab.write(Connecting, people(0..4_500));
    lab.write(Listening, people(1_500..6_000));
    let flags = ["--key", "email", "--answer", "shares:v", "--learns", "nobody"];
    let [x, y] = lab.run(&[&flags[..], &["--partitions", "2"]].concat(), &flags);
    x.assert(0, &["bins written to"]);
    y.assert(0, &["bins written to"]);
    let lines = |party| -> Vec<Vec<String>> {
        let text = lab.output(party).unwrap();
        let fields = |line: &str| line.split(',').map(str::to_owned).collect();
        text.lines().map(fields).collect()
    };
    let [mine, theirs] = [Connecting, Listening].map(lines);
    let [with_rows, without] = if mine[0].len() == 5 { [&mine, &theirs] } else { [&theirs, &mine] };
    assert_eq!(with_rows[0], ["bin", "row", "member", "value_a", "value_b"]);
    assert_eq!(without[0], ["bin", "member", "value_a", "value_b"]);
    let number = |cell: &str| u64::from_str_radix(cell, 16).unwrap();
    let mut found = BTreeSet::new();
    for (bin, (x, y)) in with_rows[1..].iter().zip(&without[1..]).enumerate() {
        assert!(x[0] == bin.to_string() && y[0] == x[0]);
        let [member, a, b] = [2, 3, 4].map(|column| number(&x[column]) ^ number(&y[column - 1]));
        assert!(member == 1 || (a, b) == (0, 0));
        if member == 1 {
            found.insert((x[1].parse::<u64>().unwrap(), a as i64, b as i64));
        }
    }
    assert_eq!(with_rows.len(), without.len());
    // By key: the first row, and the sum of the values.
    let by_key = |text: &str| {
        let mut sums = std::collections::BTreeMap::<String, (u64, i64)>::new();
        for (row, line) in (1..).zip(text.lines().skip(1)) {
            let fields: Vec<_> = line.split(',').collect();
            if !fields[0].is_empty() {
                sums.entry(fields[0].to_owned()).or_insert((row, 0)).1 +=
                    fields[2].parse::<i64>().unwrap();
            }
        }
        sums
    };
    let (a, b) = (by_key(&people(0..4_500)), by_key(&people(1_500..6_000)));
    let shared = a.iter().filter_map(|(key, a)| Some((a, b.get(key)?)));
    let expected: BTreeSet<_> = match mine[0].len() {
        5 => shared.map(|(a, b)| (a.0, a.1, b.1)).collect(),
        _ => shared.map(|(a, b)| (b.0, a.1, b.1)).collect(),
    };
    assert_eq!(found, expected);
}

/// The values of a join's rows go to the disk with their keys.
#[test]
fn a_join_larger_than_memory() {
    let rows = |rows: std::ops::Range<u32>, note: &str| {
        rows.fold("k,v\n".to_owned(), |text, n| text + &format!("key{n},{note}{n}\n"))
    };
    let lab = Lab::new();
    lab.write(Connecting, rows(0..400_000, "x"));
    lab.write(Listening, rows(150_000..600_000, "y"));
    let spill = lab.path("spill");
    fs::create_dir(&spill).unwrap();
    let flags = ["--memory", "130M", "--spill", spill.to_str().unwrap()];
    let here = [&flags[..], &["--receive", "--learns", "me"]].concat();
    let there = ["--send", "v", "--send-bytes", "16", "--learns", "peer"];
    let [x, y] = lab.run(&here, &[&flags[..], &there].concat());
    x.assert(0, &["250,000 of 400,000 keys match; 250,000 rows written"]);
    y.assert(0, &[]);
    let expected = (150_000..400_000)
        .fold("k,v,peer_v\n".to_owned(), |text, n| text + &format!("key{n},x{n},y{n}\n"));
    assert!(lab.output(Connecting).unwrap() == expected);
    let report = lab.report(Connecting);
    assert!(report["partitions"].as_u64().unwrap() > 1);
    // Another would take ten times as long.
    assert_eq!(report["protocol"], "rr22");
    assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
}

/// Keys go to the disk by the number of their rows, although so few different ones would be compared as a whole.
#[test]
fn a_few_keys_of_many_rows_meet_a_small_set() {
    let lab = Lab::new();
    let many = (0..600_000).fold("k\n".to_owned(), |text, n| text + &format!("key{}\n", n % 1_000));
    lab.write(Connecting, &many);
    lab.write(
        Listening,
        (500..1_500).fold("k\n".to_owned(), |text, n| text + &format!("key{n}\n")),
    );
    let here = ["--memory", "130M", "--learns", "me"];
    let [x, y] = lab.run(&here, &["--learns", "peer"]);
    x.assert(0, &["500 of 1,000 keys match"]);
    y.assert(0, &[]);
    assert_eq!(lab.report(Connecting)["partitions"], 2);
}

/// More keys than the memory that each side is allowed would hold as a whole.
#[test]
fn sets_larger_than_memory_are_compared_in_partitions() {
    let (a, b) = (table(0..800_000), table(400_000..1_200_000));
    let lab = Lab::new();
    lab.write(Connecting, &a);
    lab.write(Listening, &b);
    let spill = lab.path("spill");
    fs::create_dir(&spill).unwrap();
    let flags = ["--memory", "180M", "--spill", spill.to_str().unwrap()];
    let learns = |who| [&flags[..], &["--learns", who]].concat();
    let [x, y] = run(&lab, &learns("me"), &learns("peer"));
    x.assert(0, &["keys match"]);
    y.assert(0, &["learned"]);
    assert!(lab.output(Connecting).unwrap() == oracle(&a, &b));
    for party in [Connecting, Listening] {
        let report = lab.report(party);
        assert!(report["partitions"].as_u64().unwrap() > 1, "{report}");
        let peak = report["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak < 180_000_000, "{peak} bytes at most");
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
        let spill_here = ["--spill", spill.to_str().unwrap(), "--threads", "3"];
        let flags = [&["--memory", "128M", "--partitions", "64"], &spill_here[..]].concat();
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

/// A limit to the size of files stands for a full disk.
#[test]
fn a_full_disk_is_named() {
    let (a, b) = (table(0..450_000), table(300_000..400_000));
    for blocks in ["100", "8000"] {
        let lab = Lab::new();
        lab.write(Connecting, &a);
        lab.write(Listening, &b);
        let spill = lab.path("spill");
        fs::create_dir(&spill).unwrap();
        let flags = ["--memory", "150M", "--partitions", "4", "--threads", "2"];
        let flags = [&KEY, &flags[..], &["--spill", spill.to_str().unwrap()]].concat();
        let mut listening =
            Running::start(lab.command(Listening, &["--listen", "127.0.0.1:0"], &flags));
        let address = listening.until("listening on ");
        let address = address.trim_start_matches("listening on ");
        let command = lab.command(Connecting, &["--connect", address], &flags);
        // The signal of the limit is ignored, so that writing fails.
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f \"$0\" && exec \"$@\"", blocks]);
        limited.arg(command.get_program()).args(command.get_args());
        let said = format!("{}: ", spill.display());
        Running::start(limited).end().assert(3, &[&said]);
        listening.end().assert(4, &[]);
        assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
        assert!([Connecting, Listening].map(|party| lab.output(party)) == [None, None]);
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
