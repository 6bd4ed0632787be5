//! A service and its runs among several parties.

use std::{fs, thread, time::Duration};

use crate::{
    harness::{Ended, Running},
    joint_agreement::Study,
};

/// The parties other than the service.
const CALLERS: [usize; 2] = [1, 2];

fn serve(study: &Study, flags: &[&str]) -> Running {
    let mut service =
        Running::start(study.command(0, &[&["serve", "--log", "json"], flags].concat()));
    service.until("\"event\":\"listening\"");
    service
}

fn start(study: &Study, party: usize, flags: &[&str]) -> Running {
    let wait: &[&str] = if flags.contains(&"--wait") { &[] } else { &["--wait", "60"] };
    let run = [&["run", "study", "--threads", "1"], wait].concat();
    Running::start(study.command(party, &[&run[..], flags].concat()))
}

fn both(study: &Study) -> [Ended; 2] {
    CALLERS.map(|party| start(study, party, &[])).map(Running::end)
}

/// The keys that all have, by the multiples that each has.
#[track_caller]
fn assert_right(study: &Study, step: usize) {
    let rows: String = (0..400).step_by(step).map(|key| format!("{key},{}\n", key % 7)).collect();
    assert_eq!(study.read(0, "study.csv"), format!("k,v\n{rows}"));
}

fn stop(service: Running) -> Ended {
    service.signal("TERM");
    let ended = service.end();
    ended.assert(0, &["\"event\":\"stopping\"", "\"event\":\"stopped\""]);
    ended
}

/// The others come in any order, and again; one that leaves before all are there does no harm.
#[test]
fn a_service_runs_with_several() {
    let study = Study::new();
    study.parts(&["--max-runs", "3"], [&[], &[]]);
    study.agree();
    let mut service = serve(&study, &["--runs", "1"]);
    for ended in both(&study) {
        ended.assert(0, &[]);
    }
    assert_right(&study, 30);
    let said = service.until("\"event\":\"succeeded\"");
    assert!(
        said.contains("\"parties\":\"club, bank\"") && said.contains("\"job\":\"study\""),
        "{said}"
    );

    // One comes, gives up, and its project changes the table; the service reads its own again.
    let gone = start(&study, 2, &[]);
    thread::sleep(Duration::from_millis(700));
    gone.signal("KILL");
    gone.end();
    study.table(0, 4);
    for ended in both(&study) {
        ended.assert(0, &[]);
    }
    assert_right(&study, 60);

    // Who waits stays in its place when the project is read again.
    let early = start(&study, 1, &[]);
    thread::sleep(Duration::from_millis(700));
    let toml = study.path(0, "vesica.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, format!("{text}\n# changed\n")).unwrap();
    service.until("\"event\":\"reloaded\",\"jobs\":1");
    study.table(0, 2);
    for run in [start(&study, 2, &[]), early] {
        run.end().assert(0, &[]);
    }
    assert_right(&study, 30);

    // The agreement is used up, and all hear so.
    for ended in both(&study) {
        ended.assert(8, &["the limit of 3 runs in all is reached"]);
    }
    for party in 0..3 {
        study.succeeds(party, &["ledger", "verify"]);
    }
    let ended = stop(service);
    assert!(!ended.err.contains("127.0.0.1,"), "{}", ended.err);
}

/// An agreement that the service does not have is refused at once, and who waits when it stops hears so.
#[test]
fn a_service_without_the_agreement_says_so() {
    let study = Study::new();
    study.parts(&[], [&[], &[]]);
    study.agree();
    let toml = study.path(0, "vesica.toml");
    let text = fs::read_to_string(&toml).unwrap();
    let mut service = serve(&study, &[]);
    let waiting = start(&study, 1, &["--wait", "8"]);
    thread::sleep(Duration::from_millis(700));
    fs::write(&toml, text.replace("study.agreement", "gone.agreement")).unwrap();
    service.until("\"event\":\"not served\"");
    let ended = start(&study, 2, &["--wait", "3"]).end();
    ended.assert(4, &[]);
    service.until("\"event\":\"turned away\"");
    stop(service);
    let ended = waiting.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
}
