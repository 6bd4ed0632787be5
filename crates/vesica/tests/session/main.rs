//! Whole jobs between two threads: files in, files out, and the messages of both sides on errors.

#![allow(clippy::unwrap_used)]

mod formats;
mod joins;
mod keys;
mod queries;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use vesica::{
    Class, Error, Job, Learns, Normalize, Observer, Offer, Parties, Report, Role, Security,
    Shortfall, Source,
    files::{Delimiter, Duplicates, Formulas, Nulls, PlannerInputs},
    report::{Outcome, Progress},
};
use vesica_net::{AbortReason, CancelToken, Channel, transport::memory};
use vesica_planner::Run;

/// A directory with a difficult name, and jobs in it.
struct Bench {
    scratch: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { scratch: tempfile::Builder::new().prefix("it's a; \"b\" $x ").tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Returns a job on this text, with one verbatim key column `k`.
    fn job(&self, name: &str, text: impl AsRef<[u8]>, learns: Learns) -> Job {
        let input = self.path(&format!("{name} in.csv"));
        fs::write(&input, text).unwrap();
        Job {
            delimiter: Delimiter::Comma,
            nulls: Nulls::Skip,
            duplicates: Duplicates::First,
            output: Some(self.path(&format!("{name} out.csv")).into()),
            formulas: Formulas::default(),
            report: Some(self.path(&format!("{name} report.json"))),
            threads: 1,
            planner: PlannerInputs::default(),
            ..Job::new(Source::File(input), ["k"], Offer::new(vec![Normalize::NONE], learns))
        }
    }

    fn output(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.path(&format!("{name} out.csv"))).ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    fn report(&self, name: &str) -> serde_json::Value {
        let text = fs::read(self.path(&format!("{name} report.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn assert_clean(&self) {
        for entry in fs::read_dir(self.scratch.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(" in.csv"), "{name} was left behind");
        }
    }
}

#[derive(Default)]
struct Witness {
    seen: Mutex<Vec<String>>,
    cancel_at: Option<(&'static str, CancelToken)>,
}

impl Observer for Witness {
    fn phase(&self, name: &'static str) {
        self.seen.lock().unwrap().push(format!("phase {name}"));
        if let Some((phase, cancel)) = &self.cancel_at
            && *phase == name
        {
            cancel.cancel();
        }
    }

    fn progress(&self, progress: Progress) {
        self.seen.lock().unwrap().push(format!("{:?} {}", progress.unit, progress.done));
    }

    fn warning(&self, text: &str) {
        self.seen.lock().unwrap().push(format!("warning {text}"));
    }
}

fn parties(role: Role) -> Parties {
    let prints = ("print of a".to_owned(), "print of b".to_owned());
    let (me, peer) = if role == Role::A { prints } else { (prints.1, prints.0) };
    Parties { role, me, peer }
}

fn channel(transport: memory::Memory) -> Channel {
    Channel::new(transport).with_stall_timeout(Duration::from_secs(20))
}

fn side(job: Job, role: Role, channel: &mut Channel, observer: Arc<Witness>) -> Ended {
    let mut rng = StdRng::seed_from_u64(role as u64);
    let job = job.prepare()?;
    let mut report = Report::begin();
    let ended = vesica::run(job, &parties(role), channel, observer, &mut rng, &mut report);
    // The report of a failed run has the reason of the error, and no result.
    assert_eq!(report.failure.is_some(), ended.is_err());
    if let (Some(failure), Err(error)) = (&report.failure, &ended) {
        assert_eq!((failure.class, &failure.reason), (error.class(), &error.to_string()));
        assert!(report.outcome == Outcome::default() && report.learned.is_none());
    }
    ended.map(|shortfalls| {
        let unconfirmed = matches!(shortfalls[..], [Shortfall::Unconfirmed(_)]);
        assert_eq!(unconfirmed, report.unconfirmed.is_some(), "{shortfalls:?}");
        report
    })
}

type Ended = Result<Report, Error>;

/// Runs both jobs; the first connects.
fn both(a: Job, b: Job) -> (Ended, Ended) {
    let (left, right) = memory::pair();
    thread::scope(|scope| {
        let a = scope.spawn(|| side(a, Role::A, &mut channel(left), Arc::default()));
        let b = side(b, Role::B, &mut channel(right), Arc::default());
        (a.join().unwrap(), b)
    })
}

fn ok(ended: (Ended, Ended)) -> (Report, Report) {
    (ended.0.unwrap(), ended.1.unwrap())
}

const PEER_INPUT: &str =
    "the other side stopped while reading the table: its own input could not be used";

/// Runs with bad input on one side, which says why; the other side says that it was not its fault.
fn bad_input(text: impl AsRef<[u8]>, change: impl Fn(&mut Job)) -> String {
    let bench = Bench::new();
    let mut bad = bench.job("a", text, Learns::Both);
    change(&mut bad);
    let good = bench.job("b", "k\nx\n", Learns::Both);
    let (a, b) = both(bad, good);
    let (a, b) = (a.unwrap_err(), b.unwrap_err());
    assert_eq!(a.class(), Class::Input, "{a}");
    assert_eq!(b.class(), Class::Network, "{b}");
    assert_eq!(b.to_string(), PEER_INPUT);
    bench.assert_clean();
    a.to_string()
}

/// Runs with bad input on one side, which notices before it contacts the other side.
fn not_ready(text: impl AsRef<[u8]>, change: impl Fn(&mut Job)) -> String {
    let bench = Bench::new();
    let mut bad = bench.job("a", text, Learns::Both);
    change(&mut bad);
    let error = bad.prepare().err().unwrap();
    assert_eq!(error.class(), Class::Input, "{error}");
    error.to_string()
}

#[test]
fn both_learn_their_matched_rows_unchanged() {
    let bench = Bench::new();
    let a = "\u{feff}k,v\r\nx,\"1,\r\n\"\"a\"\"\"\r\n\r\ny,2\r\n\"x\",3\r\n,4\r\nz,5";
    let b = "n,k\n1,z\n2,w\n3,x\n";
    let (a, b) = ok(both(bench.job("a", a, Learns::Both), bench.job("b", b, Learns::Both)));
    assert_eq!(
        bench.output("a").unwrap(),
        "\u{feff}k,v\r\nx,\"1,\r\n\"\"a\"\"\"\r\n\"x\",3\r\nz,5\r\n"
    );
    assert_eq!(bench.output("b").unwrap(), "n,k\n1,z\n3,x\n");
    assert_eq!((a.outcome.rows_written, b.outcome.rows_written), (Some(3), Some(2)));
    assert_eq!((a.outcome.matches, b.outcome.matches), (Some(2), Some(2)));
    assert_eq!(a.terms_hash, b.terms_hash);
    assert_eq!((a.peer_items, b.peer_items), (Some(3), Some(3)));
    assert_eq!(a.bytes_sent, b.bytes_received);
}

#[test]
fn only_the_side_that_may_learn_does() {
    for (a_learns, b_learns) in [(Learns::Me, Learns::Peer), (Learns::Peer, Learns::Me)] {
        for protocol in vesica_psi::CATALOGUE {
            let bench = Bench::new();
            let rows = |range: std::ops::Range<u32>| {
                range.fold("k\n".to_owned(), |text, i| text + &format!("{i}\n"))
            };
            let [mut a, mut b] =
                [bench.job("a", rows(0..50), a_learns), bench.job("b", rows(40..120), b_learns)];
            for job in [&mut a, &mut b] {
                job.offer.protocol = Some(protocol.key.to_owned());
                job.offer.allow_research = true;
            }
            let (a, b) = ok(both(a, b));
            let learned = Some(rows(40..50));
            let (winner, loser, names) = match a_learns {
                Learns::Me => (a, b, ["a", "b"]),
                _ => (b, a, ["b", "a"]),
            };
            assert_eq!(bench.output(names[0]), learned, "{}", protocol.key);
            assert_eq!(bench.output(names[1]), None);
            assert_eq!((winner.outcome.matches, winner.outcome.rows_written), (Some(10), Some(10)));
            assert_eq!((loser.outcome.matches, loser.outcome.rows_written), (None, None));
            let learned = loser.learned.unwrap().me;
            assert!(!learned.contains("which of its keys"), "{learned}");
            assert!(bench.report(names[1])["matches"].is_null());
        }
    }
}

#[test]
fn the_report_has_exactly_its_fields() {
    let bench = Bench::new();
    let a = bench.job("a", "k\nx\nx\n\"\"\ny\n", Learns::Both);
    ok(both(a, bench.job("b", "k\nx\n", Learns::Both)));
    let report = bench.report("a");
    let fields = |value: &serde_json::Value| {
        let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        fields(&report),
        "agreement answer attempts bins_written bytes_received bytes_sent cells clamped disclosure ended failure false_matches filtered fingerprints formulas hints input learned ledger matches \
         matches_of_identifiers output partitions peak_memory_bytes peer_items phases program protocol record report_version role \
         rounds rows rows_found_again rows_of_rules rows_written rules seconds security started status terms terms_hash unconfirmed unreadable"
    );
    assert_eq!(fields(&report["phases"][0]), "bytes_received bytes_sent name seconds");
    assert_eq!(fields(&report["learned"]), "assuming me peer");
    assert_eq!(fields(&report["input"]), "algorithm bytes covers digest");
    assert_eq!(
        report["fingerprints"],
        serde_json::json!({"me": "print of a", "peer": "print of b"})
    );
    assert_eq!((&report["status"], &report["failure"]), (&"succeeded".into(), &().into()));
    let rows = serde_json::json!({"read": 4, "null": 1, "duplicate": 1, "used": 2});
    assert_eq!(report["rows"], rows);
    let security = serde_json::json!({"required": "semi-honest", "provided": "semi-honest"});
    assert_eq!(report["security"], security);
    let names: Vec<_> = report["phases"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    for name in ["terms", "read", "seed", "finish"] {
        assert!(names.iter().any(|n| *n == name), "{names:?}");
    }
}

#[test]
fn columns_of_composite_keys_stay_separate() {
    let bench = Bench::new();
    let [mut a, mut b] = [("a", "k,l,v\n\"a,b\",c,1\nx,y,2\n"), ("b", "k,l\na,\"b,c\"\nx,y\n")]
        .map(|(name, text)| bench.job(name, text, Learns::Both));
    for job in [&mut a, &mut b] {
        job.columns = vec!["k".into(), "l".into()];
        job.offer.keys = vec![Normalize::NONE; 2];
    }
    ok(both(a, b));
    assert_eq!(bench.output("a").unwrap(), "k,l,v\nx,y,2\n");
    assert_eq!(bench.output("b").unwrap(), "k,l\nx,y\n");
}

#[test]
fn normalised_keys_match() {
    let bench = Bench::new();
    let [mut a, mut b] =
        [("a", "k\n Ann@X.org\nbob@x.org\nunknown\n"), ("b", "k\nann@x.ORG \nunknown\n")]
            .map(|(name, text)| bench.job(name, text, Learns::Both));
    for job in [&mut a, &mut b] {
        job.offer.keys = vec![Normalize::EMAIL];
    }
    let (a, _) = ok(both(a, b));
    assert_eq!(a.rows.unwrap().null, 1);
    assert_eq!(bench.output("a").unwrap(), "k\n Ann@X.org\n");
    assert_eq!(bench.output("b").unwrap(), "k\nann@x.ORG \n");
}

#[test]
fn empty_sets_match_nothing() {
    for (text, left) in [("", ""), ("k,v\r\n", "k,v\r\n"), ("k\n\"\"\n", "k\n")] {
        let bench = Bench::new();
        let a = Job { allow_empty: true, ..bench.job("a", text, Learns::Both) };
        let (a, b) = ok(both(a, bench.job("b", "k\nx\n", Learns::Both)));
        assert_eq!((a.outcome.matches, b.outcome.matches), (Some(0), Some(0)));
        assert_eq!(bench.output("a").unwrap(), left);
        assert_eq!(bench.output("b").unwrap(), "k\n");
        assert_eq!(b.peer_items, Some(0));
    }
    let bench = Bench::new();
    let empty = |name| Job { allow_empty: true, ..bench.job(name, "", Learns::Both) };
    ok(both(empty("a"), empty("b")));
}

#[test]
fn a_file_without_a_header_causes_a_warning() {
    let bench = Bench::new();
    let (left, right) = memory::pair();
    let named = |mut job: Job| {
        job.allow_empty = true;
        job.offer.protocol = Some("dh".to_owned());
        job
    };
    let a = named(bench.job("a", "", Learns::Both));
    let b = named(bench.job("b", "k\nx\n", Learns::Both));
    let witness = Arc::new(Witness::default());
    thread::scope(|scope| {
        scope.spawn(|| side(b, Role::B, &mut channel(right), Arc::default()).unwrap());
        side(a, Role::A, &mut channel(left), witness.clone()).unwrap();
    });
    let seen = witness.seen.lock().unwrap().join("\n");
    assert!(seen.contains("is empty: it has no rows and not even a header"), "{seen}");
    assert!(seen.contains("\nRows ") && seen.contains("\nBytes "), "{seen}");
    let phases: Vec<_> = seen.lines().filter(|line| line.starts_with("phase ")).collect();
    let phases = phases.join("\n");
    assert!(phases.contains("phase terms\nphase read\n"), "{phases}");
    assert!(phases.contains("phase seed\nphase choice\nphase dh\nphase finish"), "{phases}");
}

#[test]
fn two_sides_that_name_no_protocol_choose_the_same() {
    for security in [Security::SemiHonest, Security::Malicious] {
        let bench = Bench::new();
        let rows =
            |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
        let mut a = bench.job("a", "k\n".to_owned() + &rows(0..60), Learns::Me);
        let b = bench.job("b", "k\n".to_owned() + &rows(50..900), Learns::Peer);
        a.offer.security = security;
        // The connecting side's figures count, and they may be arbitrary: only recommended protocols are chosen.
        let figures = [("kkrt16", 1e-12), ("dh", 1e-9), ("rr22", 1e9), ("prty20-malicious", 1e-12)];
        for (name, seconds) in figures {
            a.planner.figures.insert(name, Run { items: 256, seconds, memory_bytes: None });
        }
        a.planner.bits_per_second = Some(1 << 40);
        let (a, b) = ok(both(a, b));
        let chosen = match security {
            Security::SemiHonest => "dh",
            Security::Malicious => "rr22-malicious",
        };
        assert_eq!((a.protocol, b.protocol), (Some(chosen), Some(chosen)));
        assert_eq!(a.outcome.matches, Some(10));
    }
}

#[test]
fn bad_inputs_end_both_sides_with_a_reason() {
    let plain = |_: &mut Job| {};
    let message = bad_input("k,v\nx,1\nsec\u{0}ret,2,3\n", plain);
    assert!(
        message.ends_with("a in.csv: row 2 (line 3) has 3 fields, the header has 2"),
        "{message}"
    );
    let message = bad_input(b"k\nx\nsec\xffret\n", plain);
    assert!(message.contains("row 2 (line 3), column `k`: not valid UTF-8"), "{message}");
    let message = bad_input("k,v\n,1\n,2\n", plain);
    let said = "none of its 2 rows has a key: 2 with an empty or unsuitable value";
    assert!(message.contains(said), "{message}");
    let message = not_ready("id,v\nsecret,1\n", plain);
    assert!(
        message.contains("has no column `k`; its first line has 2 fields, not shown"),
        "{message}"
    );
    let message = not_ready("k,v\nsecret,1\n", |job| {
        job.values = Some("w".into());
        (job.offer.query, job.offer.brings_values) = (vesica::Query::SUM, true);
    });
    assert!(message.contains("has no column `w`; it has `k`, `v`"), "{message}");
    let message = not_ready("k,k\nsecret,1\n", plain);
    assert!(message.contains("has 2 columns named `k`"), "{message}");
    let message = bad_input("k\n\"secret\n", plain);
    assert!(message.contains("row 1 (line 2) opens a quoted field"), "{message}");
    let message = not_ready(b"\xff\xfek\0\n\0", plain);
    assert!(message.contains("seems to be UTF-16"), "{message}");
    let message = not_ready("", |job| job.input = Source::File("/no/such/file".into()));
    assert!(message.starts_with("/no/such/file: cannot be read: "), "{message}");
    let message = bad_input("k,v\nsecret,1\n,2\n", |job| job.nulls = Nulls::Error);
    assert!(message.contains("row 2 (line 3), column `k`: the key is empty"), "{message}");
    let message = bad_input("k\nsecret\nsecret\n", |job| job.duplicates = Duplicates::Error);
    assert!(message.contains("row 2 (line 3) has the same key as row 1 (line 2)"), "{message}");
}

#[test]
fn different_terms_end_both_sides_with_both_values() {
    let bench = Bench::new();
    let a = bench.job("a", "k\nx\n", Learns::Me);
    let mut b = bench.job("b", "k\nx\n", Learns::Both);
    b.offer.keys = vec![Normalize::EMAIL];
    let (a, b) = both(a, b);
    let (a, b) = (a.unwrap_err(), b.unwrap_err());
    assert_eq!((a.class(), b.class()), (Class::Terms, Class::Terms));
    let (a, b) = (a.to_string(), b.to_string());
    assert!(a.contains("(here: none; there: email)") && a.contains("(here: this side;"), "{a}");
    assert!(b.contains("(here: email; there: none)") && b.contains("(here: both sides;"), "{b}");
    bench.assert_clean();
}

#[test]
fn a_set_that_is_too_large_ends_both_sides() {
    let bench = Bench::new();
    let a = bench.job("a", "k\nx\ny\nz\n", Learns::Both);
    let mut b = bench.job("b", "k\nx\n", Learns::Both);
    b.offer.max_peer_rows = 2;
    let (a, b) = both(a, b);
    let (a, b) = (a.unwrap_err(), b.unwrap_err());
    assert_eq!((a.class(), b.class()), (Class::Terms, Class::Terms));
    assert!(a.to_string().contains("(here: 3 keys; there: accepts at most 2)"), "{a}");
    bench.assert_clean();
}

#[test]
fn a_job_that_cannot_succeed_does_not_start() {
    let bench = Bench::new();
    let good = bench.job("a", "k\nx\n", Learns::Both);
    let class = |change: &dyn Fn(&mut Job)| {
        let mut job = good.clone();
        change(&mut job);
        job.check().unwrap_err().class()
    };
    assert!(good.check().is_ok());
    assert_eq!(class(&|job| job.output = Some("/no/such/place/x".into())), Class::Input);
    assert_eq!(class(&|job| job.report = Some("/no/such/place/x".into())), Class::Input);
    assert_eq!(class(&|job| job.report = Some(bench.path("a out.csv"))), Class::Usage);
    assert_eq!(class(&|job| job.output = Some(bench.path("a in.csv").into())), Class::Usage);
    assert_eq!(class(&|job| job.offer.protocol = Some("rr99".into())), Class::Usage);
    let divide =
        |job: &mut Job| (job.offer.protocol, job.planner.partitions) = (Some("kkrt16".into()), 2);
    assert_eq!(class(&divide), Class::Usage);
    assert_eq!(class(&|job| job.columns = vec!["k".into(); 2]), Class::Usage);
    assert_eq!(
        class(&|job| {
            job.columns = vec!["k".into(); 2];
            job.offer.keys = vec![Normalize::NONE; 2];
        }),
        Class::Usage
    );
}

#[test]
fn a_side_that_is_cancelled_informs_the_other() {
    for phase in ["terms", "read", "seed", "rr22", "finish"] {
        let bench = Bench::new();
        let (left, right) = memory::pair();
        let [mut a, b] = ["a", "b"].map(|name| bench.job(name, "k\nx\n", Learns::Both));
        a.offer.protocol = Some("rr22".into());
        let mut left = channel(left);
        let witness =
            Witness { cancel_at: Some((phase, left.cancel_token())), ..Witness::default() };
        let (a, b) = thread::scope(|scope| {
            let a = scope.spawn(move || {
                let ended = side(a, Role::A, &mut left, Arc::new(witness));
                drop(left);
                ended
            });
            let b = side(b, Role::B, &mut channel(right), Arc::default());
            (a.join().unwrap(), b)
        });
        let (a, b) = (a.unwrap_err(), b.unwrap_err());
        assert_eq!((a.class(), b.class()), (Class::Cancelled, Class::Network), "{phase}: {a} {b}");
        let reason = AbortReason::Cancelled;
        assert!(
            matches!(&b, Error::Net(vesica_net::Error::Aborted { reason: r, .. }) if *r == reason),
            "{phase}: {b}"
        );
        bench.assert_clean();
    }
}

#[test]
fn a_peer_that_vanishes_at_the_end_leaves_no_result() {
    let bench = Bench::new();
    let (left, right) = memory::pair();
    let [a, b] = ["a", "b"].map(|name| bench.job(name, "k\nx\n", Learns::Both));
    struct Vanishing;
    impl Observer for Vanishing {
        fn phase(&self, name: &'static str) {
            assert!(name != "finish", "vanished on purpose");
        }
    }
    let b = thread::scope(|scope| {
        let a = scope.spawn(move || {
            let mut rng = StdRng::seed_from_u64(1);
            let mut left = channel(left);
            let a = a.prepare().unwrap();
            let observer = Arc::new(Vanishing);
            let mut report = Report::begin();
            vesica::run(a, &parties(Role::A), &mut left, observer, &mut rng, &mut report).is_ok()
        });
        let b = side(b, Role::B, &mut channel(right), Arc::default());
        assert!(a.join().is_err());
        b.unwrap_err()
    });
    assert_eq!(b.class(), Class::Network);
    assert!(b.to_string().contains("while writing the result"), "{b}");
    bench.assert_clean();
}

/// For any input of one side, no value of its table appears in a message of either side.
#[test]
fn values_are_never_shown() {
    const SENTINEL: &str = "Zq7SENTINEL";
    let s = SENTINEL;
    let texts: [Vec<u8>; 10] = [
        format!("k,v\n{s}@x.org,{s}\n").into(),
        format!("{s}1234@x.org,{s}\n{s},{s}\n").into(),
        format!("k,v\n{s}\n").into(),
        format!("k,v\n{s},{s},{s}\n").into(),
        format!("k,v\n\"{s},{s}\n").into(),
        [format!("k,v\n{s}").as_bytes(), b"\xff,1\n"].concat(),
        format!("k,v\n{s}\0,{s}\n").into(),
        format!("k,v\n{s},1\n{s},2\n").into(),
        format!("k,v\n,{s}\n").into(),
        format!("k;v\n{s};{s}\n").into(),
    ];
    for text in texts {
        let bench = Bench::new();
        let mut a = bench.job("a", text, Learns::Both);
        (a.duplicates, a.nulls) = (Duplicates::Error, Nulls::Error);
        let b = bench.job("b", format!("k\n{s}@x.org\n"), Learns::Both);
        let (left, right) = memory::pair();
        let witness = Arc::new(Witness::default());
        let (a, b) = thread::scope(|scope| {
            let b = scope.spawn(|| side(b, Role::B, &mut channel(right), witness.clone()));
            let a = side(a, Role::A, &mut channel(left), witness.clone());
            (a, b.join().unwrap())
        });
        let mut said = witness.seen.lock().unwrap().join("\n");
        for ended in [&a, &b] {
            said += &format!("\n{ended:?}");
            said += &ended.as_ref().err().map(ToString::to_string).unwrap_or_default();
            said += &ended.as_ref().map_or(String::new(), |report| report.to_json().unwrap());
        }
        for name in ["a", "b"] {
            let report: &Path = &bench.path(&format!("{name} report.json"));
            said += &fs::read_to_string(report).unwrap_or_default();
        }
        assert!(!said.contains(SENTINEL), "{said}");
        assert!(said.contains("phase terms"));
    }
}

/// A link that dies just before it sends that its result is in place.
struct DiesAtTheEnd(memory::Memory);

impl std::io::Read for DiesAtTheEnd {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf)
    }
}

impl std::io::Write for DiesAtTheEnd {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        if buf.windows(4).any(|bytes| bytes == b"\x03end") {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        self.0.write(buf)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_side_that_misses_the_last_message_keeps_its_result_and_says_so() {
    let bench = Bench::new();
    let job = |name| bench.job(name, "k\nx\n", Learns::Both);
    let (a, b) = (job("a"), job("b"));
    let (left, right) = memory::pair();
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| side(a, Role::A, &mut channel(left), Arc::default()));
        let transport = DiesAtTheEnd(right);
        let mut channel = Channel::new(transport).with_stall_timeout(Duration::from_secs(20));
        let b = side(b, Role::B, &mut channel, Arc::default());
        drop(channel);
        (a.join().unwrap(), b)
    });
    for (name, report) in [("a", a.unwrap()), ("b", b.unwrap())] {
        assert_eq!(bench.output(name).unwrap(), "k\nx\n");
        assert!(bench.report(name)["matches"] == 1 && report.unconfirmed.is_some());
    }
}
