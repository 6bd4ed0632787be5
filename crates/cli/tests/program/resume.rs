//! Runs that are killed and go on.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::harness::{Connecting, Ended, Lab, Listening, Party, Running};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_testkit::assurance;

fn table(rows: std::ops::Range<u32>) -> String {
    rows.fold("n,k\n".to_owned(), |text, n| text + &format!("{n},key {n}\n"))
}

/// A pair of tables, and what either side is to get.
fn lab() -> (Lab, [String; 2]) {
    let lab = Lab::new();
    lab.write(Connecting, table(0..9_000));
    lab.write(Listening, table(5_000..15_000));
    (lab, [table(5_000..9_000), table(5_000..9_000)])
}

/// The directory for what does not fit into memory.
fn spill(lab: &Lab) -> PathBuf {
    lab.path("spill")
}

/// The flags of both sides, which keep journals.
fn flags(lab: &Lab) -> [Vec<String>; 2] {
    fs::create_dir_all(spill(lab)).unwrap();
    [Connecting, Listening].map(|party| {
        let [journal, spill] = [lab.file(party, "journal"), spill(lab)]
            .map(|path| path.into_os_string().into_string().unwrap());
        let flags = ["--partitions", "8", "--wait", "3", "--spill", &spill, "--resume", &journal];
        flags.map(str::to_owned).to_vec()
    })
}

fn start(lab: &Lab) -> [Running; 2] {
    start_with(lab, "1")
}

/// With this number of threads on each side, and as many connections.
fn start_with(lab: &Lab, threads: &str) -> [Running; 2] {
    let flags = flags(lab);
    let [a, b] = flags.each_ref().map(|flags| {
        let flags = flags.iter().map(String::as_str);
        flags.chain(["--threads", threads]).collect::<Vec<_>>()
    });
    lab.start(&a, &b)
}

fn run(lab: &Lab) -> [Ended; 2] {
    let [a, b] = start(lab);
    [a.end(), b.end()]
}

fn attempts(lab: &Lab, party: Party) -> u64 {
    lab.report(party)["attempts"].as_u64().unwrap()
}

fn has_journal(lab: &Lab, party: Party) -> bool {
    lab.file(party, "journal").exists()
}

/// The outcome of runs that were killed.
#[derive(Debug, Default)]
struct Toll {
    /// The number of times that a side or both were killed before they had ended.
    kills: usize,
    /// Runs that went on after some partition.
    resumed: usize,
    /// Runs that began again, because a partition had begun too often.
    anew: usize,
}

/// Runs again and again until both sides have their results. The first `kills` times, either side or both are
/// killed at any moment within the time that a run takes.
fn killed(
    (lab, expected): &(Lab, [String; 2]),
    times: usize,
    span: Duration,
    rng: &mut StdRng,
    toll: &mut Toll,
) {
    let patience = Duration::from_secs(60) + 10 * span;
    for attempt in 0.. {
        let [a, b] = start_with(lab, ["1", "3"][rng.random_range(0..2)]);
        if attempt < times {
            thread::sleep(span.mul_f64(rng.random_range(0.0..1.0)));
            let victims = rng.random_range(1..=3);
            if victims & 1 != 0 {
                a.signal("KILL");
            }
            if victims & 2 != 0 {
                b.signal("KILL");
            }
        }
        let ended = [a.end_within(patience), b.end_within(patience)];
        toll.kills += usize::from(ended.iter().any(|ended| ended.code.is_none()));
        assert_eq!(fs::read_dir(spill(lab)).unwrap().count(), 0, "{ended:#?}");
        if ended.iter().all(|ended| ended.code == Some(0)) {
            toll.resumed += usize::from(attempts(lab, Connecting) > 1);
            break;
        }
        // A side that was killed after it had its result and before it could say so leaves a journal that the other
        // side no longer has.
        let has = [Connecting, Listening].map(|party| has_journal(lab, party));
        let outputs = [Connecting, Listening].map(|party| lab.output(party).is_some());
        if has != [true; 2] && outputs == [true; 2] {
            break;
        }
        // A partition begins three times at most; then the run begins again, as the message says.
        if ended.iter().any(|ended| ended.err.contains("was begun 3 times")) {
            assert!(attempt > 2, "{ended:#?}");
            for party in [Connecting, Listening] {
                fs::remove_file(lab.file(party, "journal")).unwrap();
            }
            toll.anew += 1;
        }
        assert!(attempt < times + 16, "{ended:#?}");
    }
    for (party, expected) in [Connecting, Listening].into_iter().zip(expected) {
        assert!(lab.output(party).as_ref() == Some(expected), "another result");
    }
}

/// The time that a run takes which nobody disturbs. Its results are as expected.
fn undisturbed((lab, expected): &(Lab, [String; 2])) -> Duration {
    let started = Instant::now();
    let patience = Duration::from_secs(600);
    let ended = start_with(lab, "1").map(|running| running.end_within(patience));
    ended.iter().for_each(|ended| _ = ended.assert(0, &[]));
    for (party, expected) in [Connecting, Listening].into_iter().zip(expected) {
        assert!(lab.output(party).as_ref() == Some(expected), "another result");
    }
    started.elapsed()
}

/// Either side or both are killed at any moment, again and again; the run goes on each time, and in the end gives what
/// an undisturbed one gives. Nothing is left but that.
#[test]
fn a_run_goes_on_after_it_was_killed() {
    let rng = &mut StdRng::seed_from_u64(7);
    let span = undisturbed(&lab());
    let mut toll = Toll::default();
    // On a busy machine, the first kills may all come before a partition is done.
    while toll.kills < assurance::trials(8, 200) || toll.resumed == 0 && toll.kills < 100 {
        killed(&lab(), 4, span, rng, &mut toll);
    }
    println!("{toll:?}");
    assert!(toll.resumed > 0, "nothing was ever resumed");
}

#[test]
#[ignore = "assure: ten million rows a side, again and again"]
fn ten_million_rows_go_on_after_they_were_killed() {
    const ROWS: u32 = 10_000_000;
    let rng = &mut StdRng::seed_from_u64(8);
    let shared = ROWS / 2..ROWS;
    let lab = Lab::new();
    lab.write(Connecting, table(0..ROWS));
    lab.write(Listening, table(ROWS / 2..ROWS / 2 + ROWS));
    let lab = (lab, [table(shared.clone()), table(shared)]);
    let span = undisturbed(&lab);
    let mut toll = Toll::default();
    while toll.kills < 5 {
        for party in [Connecting, Listening] {
            fs::remove_file(lab.0.file(party, "out.csv")).unwrap();
        }
        let left = 5 - toll.kills;
        killed(&lab, left, span, rng, &mut toll);
    }
    println!("{toll:?}");
}

fn done(lab: &Lab, party: Party) -> usize {
    done_of(&lab.file(party, "journal"))
}

/// Counts the partitions that a side has done: the pieces among the records of its journal.
pub fn done_of(journal: &Path) -> usize {
    records_of(journal, 2)
}

/// Counts the partitions whose result a side was about to send, among the records of its journal.
pub fn revealed_of(journal: &Path) -> usize {
    records_of(journal, 4)
}

/// Counts the records of a kind in a journal. Each begins with its length and its kind.
fn records_of(journal: &Path, wanted: u8) -> usize {
    /// Bytes before the first record, and of a record besides what it holds.
    const SIZES: [usize; 2] = [16 + 32, 4 + 1 + 12 + 16];
    let [start, frame] = SIZES;
    let journal = fs::read(journal).unwrap_or_default();
    let (mut at, mut found) = (start, 0);
    while let Some((head, _)) = journal.get(at..).and_then(|rest| rest.split_first_chunk::<5>()) {
        let [len @ .., kind] = *head;
        at += frame + u32::from_le_bytes(len) as usize;
        found += usize::from(kind == wanted && at <= journal.len());
    }
    found
}

/// Starts a run, and waits until both sides have done some of its partitions.
///
/// Until then, a side without a journal may begin again.
fn halfway(lab: &Lab) -> [Running; 2] {
    let sides = start(lab);
    let started = Instant::now();
    while [Connecting, Listening].iter().any(|party| done(lab, *party) < 2) {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is done");
        thread::sleep(Duration::from_millis(1));
    }
    sides
}

/// Interrupts a run when some of its partitions are done.
fn interrupted() -> (Lab, [String; 2]) {
    let (lab, expected) = lab();
    let [a, b] = halfway(&lab);
    a.signal("KILL");
    b.signal("KILL");
    // The second may have noticed that the first is gone.
    assert_ne!(a.end().code, Some(0));
    assert_ne!(b.end().code, Some(0));
    (lab, expected)
}

/// Both sides say so, when they stop and when they go on, but for one that wants quiet.
#[test]
fn a_run_says_where_it_goes_on() {
    let (lab, expected) = lab();
    let [a, b] = halfway(&lab);
    a.signal("TERM");
    let there = "run the same command again to resume: this side has done ";
    a.end().assert(130, &["stopped on request while ", there, " of 8 partitions\n"]);
    b.end().assert(4, &["the other side stopped while ", there]);
    let flags = flags(&lab);
    let [x, y] = flags.each_ref().map(|flags| flags.iter().map(String::as_str).collect::<Vec<_>>());
    let quiet = [&y[..], &["--quiet"]].concat();
    let [a, b] = lab.run(&x, &quiet);
    a.assert(0, &["the run resumes at partition ", " of 8; it was started 2 times\n"]);
    b.assert(0, &[]);
    assert!(!b.err.contains("resumes"), "{b:?}");
    assert_eq!([Connecting, Listening].map(|party| lab.output(party).unwrap()), expected);
}

#[test]
fn a_journal_is_of_one_run_alone() {
    let (lab, expected) = interrupted();
    // Nothing of the table can be read in it.
    let journal = fs::read(lab.file(Listening, "journal")).unwrap();
    assert!(!journal.windows(8).any(|bytes| bytes == b"peer_key"));
    // Another input.
    let table = fs::read_to_string(lab.file(Listening, "in.csv")).unwrap();
    lab.write(Listening, table.replacen("key 7777\n", "key 7778x\n", 1));
    let [a, b] = run(&lab);
    b.assert(3, &["journal: it cannot be resumed, because the input changed"]);
    a.assert(4, &[]);
    lab.write(Listening, &table);
    // Other terms.
    let flags = flags(&lab);
    let [x, y] = [0, 1].map(|i| {
        let mut flags: Vec<_> = flags[i].iter().map(String::as_str).collect();
        flags.extend(["--learns", if i == 0 { "me" } else { "peer" }]);
        flags
    });
    let [a, b] = lab.run(&x, &y);
    let changed = "because the terms or the other side changed";
    assert!(a.err.contains(changed) || b.err.contains(changed), "{a:?} {b:?}");
    // A side that has lost its journal.
    let kept = fs::read(lab.file(Connecting, "journal")).unwrap();
    fs::remove_file(lab.file(Connecting, "journal")).unwrap();
    let [a, b] = run(&lab);
    a.assert(5, &["the run to resume (here: a new run; there: a run that has begun"]);
    b.assert(5, &["here: a run that has begun; remove its journal to start over"]);
    // A side that names none.
    let listening: Vec<_> = flags[1].iter().map(String::as_str).collect();
    let [a, _] = lab.run(&["--partitions", "8"], &listening);
    a.assert(5, &["here: none; name a journal with --resume on both sides or on neither"]);
    fs::write(lab.file(Connecting, "journal"), kept).unwrap();
    // And then it goes on.
    let [a, b] = run(&lab);
    a.assert(0, &["4,000 of 9,000 keys match"]);
    b.assert(0, &[]);
    assert_eq!(attempts(&lab, Connecting), 2);
    for (party, expected) in [Connecting, Listening].into_iter().zip(&expected) {
        assert_eq!(lab.output(party).as_ref(), Some(expected));
        assert!(!has_journal(&lab, party));
    }
}

/// Shares of partitions that are done are kept, and only the total is opened.
#[test]
fn a_sum_goes_on() {
    let lab = Lab::new();
    let table = |rows: std::ops::Range<i64>| {
        rows.fold("k,v\n".to_owned(), |text, n| text + &format!("key {n},{n}\n"))
    };
    lab.write(Connecting, table(0..9_000));
    lab.write(Listening, table(6_000..12_000));
    let flags = [Connecting, Listening].map(|party| {
        let journal = lab.file(party, "journal").display().to_string();
        let flags = ["--partitions", "8", "--wait", "3", "--resume", &journal];
        let (answer, learns) = if party == Connecting { ("sum:v", "me") } else { ("sum", "peer") };
        let flags = [&flags[..], &["--answer", answer, "--learns", learns]].concat();
        flags.into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let flags = flags.each_ref().map(|flags| flags.iter().map(String::as_str).collect::<Vec<_>>());
    let [a, b] = lab.start(&flags[0], &flags[1]);
    // The side that has the matches first.
    let size = || fs::metadata(lab.file(Connecting, "journal")).map_or(0, |found| found.len());
    // The header, and a share or two.
    let started = Instant::now();
    while size() < 600 {
        assert!(started.elapsed() < Duration::from_secs(60), "{} bytes of a journal", size());
        thread::sleep(Duration::from_millis(1));
    }
    b.signal("KILL");
    assert_eq!(b.end().code, None);
    a.end().assert(4, &[]);
    let [a, b] = lab.run(&flags[0], &flags[1]);
    let sum: i64 = (6_000..9_000).sum();
    a.assert(0, &["sum of the values over the shared keys"]);
    b.assert(0, &[]);
    assert_eq!(lab.output(Connecting), Some(format!("{sum}\n")));
    assert_eq!(attempts(&lab, Connecting), 2);
    assert!(!has_journal(&lab, Connecting) && !has_journal(&lab, Listening));
}

#[test]
fn two_runs_do_not_share_a_journal() {
    let (lab, _) = interrupted();
    let journal = lab.file(Listening, "journal");
    let held = fs::File::open(&journal).unwrap();
    held.lock().unwrap();
    let [a, b] = run(&lab);
    b.assert(3, &["another run uses it at the moment"]);
    a.assert(4, &[]);
    drop(held);
    let [a, b] = run(&lab);
    a.assert(0, &[]);
    b.assert(0, &[]);
}

/// The quickest protocols for so few keys cannot be resumed, so others are chosen.
#[test]
fn small_sets_are_resumed_too() {
    let answers: [&[&str]; 3] = [&[], &["--answer", "count"], &["--answer", "threshold:5"]];
    for answer in answers {
        let lab = Lab::new();
        lab.write(Connecting, table(0..50));
        lab.write(Listening, table(25..75));
        let journals = [Connecting, Listening].map(|party| lab.file(party, "journal"));
        let [x, y] = journals
            .each_ref()
            .map(|journal| [answer, &["--resume", journal.to_str().unwrap()]].concat());
        for ended in lab.run(&x, &y) {
            ended.assert(0, &[]);
        }
    }
}

#[test]
fn runs_that_cannot_be_resumed_say_so() {
    let lab = Lab::new();
    lab.write(Connecting, table(0..10));
    let journal = lab.file(Connecting, "journal");
    let journal = journal.to_str().unwrap();
    let refused = |flags: &[&str]| {
        let way = ["--connect", "127.0.0.1:1"];
        let flags = [flags, &["--resume", journal]].concat();
        Running::start(lab.command(Connecting, &way, &flags)).end()
    };
    refused(&["--protocol", "kkrt16"]).assert(2, &["runs of `kkrt16` cannot be resumed"]);
    let telling = ["--answer", "count", "--protocol", "dh-count"];
    refused(&telling).assert(2, &["runs of `dh-count` cannot be resumed"]);
    refused(&["--output", journal]).assert(2, &["the journal"]);
}
