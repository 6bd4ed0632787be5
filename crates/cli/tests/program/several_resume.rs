//! Runs among three parties that are killed and go on.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_testkit::assurance;

use crate::{
    harness::{Ended, Running},
    resume::{done_of, revealed_of},
    several::{Circle, NAMES},
};

/// Three parties with sets that are compared in eight partitions; only the first listens.
fn circle() -> Circle {
    let keys = |step: usize| (0..9000).step_by(step).collect::<BTreeSet<_>>();
    Circle::new([1, 2, 3].map(keys).into(), &[true, false, false])
}

/// Starts all parties with journals, and with the flags that each of them has.
fn start(circle: &Circle, flags: &dyn Fn(usize) -> Vec<&'static str>) -> Vec<Running> {
    let start = |party: usize| {
        let journal = circle.file(party, "journal");
        let own = flags(party);
        let flags = [&["--partitions", "8", "--resume", &journal], &own[..]].concat();
        Running::start(match own.contains(&"--at-least") {
            true => circle.searching(party, &flags),
            false => circle.command(party, &flags),
        })
    };
    (0..3).map(start).collect()
}

/// Runs all parties to their ends.
fn ended(circle: &Circle, flags: &dyn Fn(usize) -> Vec<&'static str>) -> Vec<Ended> {
    start(circle, flags).into_iter().map(Running::end).collect()
}

fn journals(circle: &Circle) -> [String; 3] {
    [0, 1, 2].map(|party| circle.file(party, "journal"))
}

/// Kills a party once all have done some partitions, and returns how the others ended.
fn interrupted(
    circle: &Circle,
    flags: &dyn Fn(usize) -> Vec<&'static str>,
    killed: usize,
) -> Vec<Ended> {
    let started = start(circle, flags);
    let begun = Instant::now();
    while journals(circle).iter().any(|journal| done_of(Path::new(journal)) < 2) {
        if begun.elapsed() > Duration::from_secs(60) {
            panic!(
                "nothing is done: {:?}",
                started.into_iter().map(Running::end).collect::<Vec<_>>()
            );
        }
        thread::sleep(Duration::from_millis(1));
    }
    started[killed].signal("KILL");
    let ended: Vec<_> = started.into_iter().map(Running::end).collect();
    assert_eq!(ended[killed].code, None);
    ended
}

#[test]
fn a_run_goes_on_after_any_party_was_killed() {
    let plain = |_: usize| Vec::new();
    let all = |_: usize| vec!["--learners", "all"];
    let sum = |party: usize| vec!["--answer", if party == 2 { "sum:v" } else { "sum" }];
    let holders = |_: usize| vec!["--at-least", "2"];
    let join = |party: usize| if party == 2 { vec!["--send", "v"] } else { vec!["--receive"] };
    let query = |party: usize| {
        let asked =
            "SELECT b.v, count(*) FROM a JOIN b USING (key) GROUP BY b.v HAVING count(*) >= 2";
        let declared: &[_] = if party == 2 { &["--column", "v:{0,1,2,3,4,5,6}"] } else { &[] };
        [&["--query", asked], declared].concat()
    };
    let scenarios: [&dyn Fn(usize) -> Vec<&'static str>; 6] =
        [&plain, &all, &sum, &holders, &join, &query];
    for (scenario, (flags, killed)) in scenarios.into_iter().zip([0, 1, 2, 1, 2, 1]).enumerate() {
        let circle = circle();
        for (party, ended) in interrupted(&circle, flags, killed).iter().enumerate() {
            if party != killed {
                let hint = "run the same command again to resume: this side has done ";
                ended.assert(4, &[hint, " of 8 partitions"]);
            }
            assert!(fs::metadata(circle.file(party, "out")).is_err(), "{scenario}");
        }
        let ended = ended(&circle, flags);
        for (party, ended) in ended.iter().enumerate() {
            ended.assert(0, &["the run resumes at partition ", "it was started 2 times"]);
            let report = circle.report(party);
            assert_eq!((&report["partitions"], &report["attempts"]), (&8.into(), &2.into()));
            assert!(fs::metadata(circle.file(party, "journal")).is_err());
        }
        let shared = circle.shared();
        let rows = shared.iter().map(|key| format!("{key},{}\n", key % 7)).collect::<String>();
        let output = |party: usize| fs::read_to_string(circle.file(party, "out")).unwrap();
        match scenario {
            0 => circle.assert_rows(&ended),
            1 => (0..3).for_each(|party| assert_eq!(output(party), format!("k,v\n{rows}"))),
            2 => {
                let sum: u32 = shared.iter().map(|key| key % 7).sum();
                assert_eq!(circle.report(0)["answer"]["value"], sum.to_string());
            }
            3 => {
                let rows = rows.replace('\n', ",club bank\n");
                assert_eq!(output(0), format!("k,v,holders\n{rows}"));
            }
            4 => {
                let joined = shared.iter().map(|key| format!("{key},{0},{0}\n", key % 7));
                let joined = joined.collect::<String>();
                assert_eq!(output(0), format!("k,v,peer_v\n{joined}"));
            }
            _ => {
                let count = |v: u32| shared.iter().filter(|key| **key % 7 == v).count();
                let cells = (0..7).map(|v| format!("{v},{},shown\n", count(v)));
                let cells = cells.collect::<String>();
                assert_eq!(output(0), format!("b.v,count(*),cell\n{cells}"));
            }
        }
    }
}

/// Any parties are killed at any moment, again and again; the run goes on each time, and in the end gives what an
/// undisturbed one gives.
#[test]
#[ignore = "assure: runs of three processes, again and again"]
fn a_run_among_several_goes_on_after_any_kills() {
    let rng = &mut StdRng::seed_from_u64(9);
    let flags = |_: usize| vec!["--learners", "all", "--wait", "3"];
    let undisturbed = circle();
    let started = Instant::now();
    ended(&undisturbed, &flags).iter().for_each(|ended| _ = ended.assert(0, &[]));
    let span = started.elapsed();
    let (mut kills, mut resumed, mut anew) = (0, 0, 0);
    while kills < assurance::trials(8, 200) {
        let circle = circle();
        let is_done = || (0..3).all(|party| fs::metadata(circle.file(party, "out")).is_ok());
        for attempt in 0.. {
            let started = start(&circle, &flags);
            if attempt < 4 {
                thread::sleep(span.mul_f64(rng.random_range(0.0..1.0)));
                let victims = rng.random_range(1..8);
                for (party, process) in started.iter().enumerate() {
                    if victims >> party & 1 == 1 {
                        process.signal("KILL");
                    }
                }
            }
            let patience = Duration::from_secs(60);
            let ended = started.into_iter().map(|party| party.end_within(patience));
            let ended: Vec<_> = ended.collect();
            kills += ended.iter().filter(|ended| ended.code.is_none()).count();
            // A party that was killed after all had their results leaves a journal.
            if is_done() {
                resumed += usize::from(circle.report(0)["attempts"] != 1);
                break;
            }
            // A partition begins three times at most; then the run begins again, as the message says.
            if ended.iter().any(|ended| ended.err.contains("was begun 3 times")) {
                journals(&circle).iter().for_each(|journal| fs::remove_file(journal).unwrap());
                anew += 1;
            }
            assert!(attempt < 20, "{ended:#?}");
        }
        let shared = circle.shared().into_iter().map(|key| format!("{key},{}\n", key % 7));
        let expected = format!("k,v\n{}", shared.collect::<String>());
        for party in 0..3 {
            assert_eq!(fs::read_to_string(circle.file(party, "out")).unwrap(), expected);
        }
    }
    println!("{kills} kills, {resumed} runs resumed, {anew} began again without journals");
    assert!(resumed > 0, "nothing was ever resumed");
}

#[test]
fn a_run_among_several_goes_on_with_the_same_tables_and_journals() {
    let circle = circle();
    let plain = |_: usize| Vec::new();
    interrupted(&circle, &plain, 2);
    // A party that shows the leader something counts it: the helper its hints, the pivot its part of the comparison.
    let [shop, club, bank] = journals(&circle).map(|journal| {
        let journal = Path::new(&journal).to_owned();
        (revealed_of(&journal), done_of(&journal))
    });
    assert_eq!(shop.0, 0);
    for (revealed, done) in [club, bank] {
        assert!((done..=done + 1).contains(&revealed), "{revealed} of {done}");
    }
    // Another table.
    let table = fs::read_to_string(circle.file(1, "csv")).unwrap();
    fs::write(circle.file(1, "csv"), table.replacen("\n4000,", "\n4001,", 1)).unwrap();
    let [shop, club, bank] = ended(&circle, &plain).try_into().unwrap();
    club.assert(3, &["journal: it cannot be resumed, because the input changed"]);
    shop.assert(4, &["club"]);
    bank.assert(4, &["club"]);
    fs::write(circle.file(1, "csv"), table).unwrap();
    // A party that has lost its journal, which all hear; then they begin again without journals.
    fs::remove_file(circle.file(1, "journal")).unwrap();
    for (party, ended) in ended(&circle, &plain).iter().enumerate() {
        let said = match party {
            1 => "the run to resume (here: a new run; there: a run that has begun",
            _ => "the run to resume (here: a run that has begun; remove its journal to start over",
        };
        ended.assert(5, &[if party == 1 { NAMES[0] } else { NAMES[1] }, said]);
    }
    for journal in journals(&circle) {
        let _ = fs::remove_file(journal);
    }
    circle.assert_rows(&ended(&circle, &plain));
    assert_eq!(circle.report(1)["attempts"], 1);
}
