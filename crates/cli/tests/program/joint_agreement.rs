//! From three empty directories to an agreement among several parties, and runs under it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
#[cfg(unix)]
use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

#[cfg(unix)]
use crate::resume::done_of;
use crate::{
    harness::{Ended, Running, vesica},
    partners::free_port,
};

const NAMES: [&str; 3] = ["shop", "club", "bank"];

const RUN: [&str; 8] =
    ["run", "study", "--wait", "60", "--threads", "1", "--report", "report.json"];

/// The projects of three parties, each in its directory. The first one listens.
pub struct Study {
    scratch: tempfile::TempDir,
    port: u16,
}

impl Study {
    /// Creates projects with tables whose keys are the multiples of 2, 3 and 5 below 400.
    pub fn new() -> Self {
        let study = Self { scratch: tempfile::tempdir().unwrap(), port: free_port() };
        for (party, step) in [2, 3, 5].into_iter().enumerate() {
            study.succeeds_in(study.scratch.path(), &["init", NAMES[party]]);
            study.table(party, step);
        }
        study
    }

    pub fn table(&self, party: usize, step: usize) {
        self.table_below(400, party, step);
    }

    fn table_below(&self, most: u32, party: usize, step: usize) {
        let rows: String =
            (0..most).step_by(step).map(|key| format!("{key},{}\n", key % 7)).collect();
        fs::write(self.path(party, "table.csv"), format!("k,v\n{rows}")).unwrap();
    }

    pub fn path(&self, party: usize, name: &str) -> PathBuf {
        self.scratch.path().join(NAMES[party]).join(name)
    }

    pub fn read(&self, party: usize, name: &str) -> String {
        fs::read_to_string(self.path(party, name)).unwrap()
    }

    fn succeeds_in(&self, directory: &Path, arguments: &[&str]) -> Ended {
        let mut command = vesica();
        command.current_dir(directory).args(arguments);
        let ended = Running::start(command).end();
        ended.assert(0, &[]);
        ended
    }

    pub fn command(&self, party: usize, arguments: &[&str]) -> Command {
        let mut command = vesica();
        command.current_dir(self.path(party, "")).args(arguments);
        command
    }

    pub fn ended(&self, party: usize, arguments: &[&str]) -> Ended {
        Running::start(self.command(party, arguments)).end()
    }

    #[track_caller]
    pub fn succeeds(&self, party: usize, arguments: &[&str]) -> Ended {
        let ended = self.ended(party, arguments);
        ended.assert(0, &[]);
        ended
    }

    /// Carries a file from one party to another.
    fn send(&self, from: usize, to: usize, name: &str, new: &str) {
        fs::copy(self.path(from, name), self.path(to, new)).unwrap();
    }

    /// Invites the others with these options, who accept with theirs, and gathers the replies.
    pub fn parts(&self, invite: &[&str], accept: [&[&str]; 2]) {
        self.parts_for(&["--pivot", "bank"], invite, accept);
    }

    fn parts_for(&self, search: &[&str], invite: &[&str], accept: [&[&str]; 2]) {
        let address = format!("127.0.0.1:{}", self.port);
        let parties = ["--parties", "shop,club,bank", "--me", "shop"];
        let places = ["--leader", "shop", "--address", &address];
        let table = ["--input", "table.csv", "--key", "k"];
        let invited = [&["invite", "study"][..], &parties, &places, search, &table, invite];
        let invited = invited.concat();
        self.succeeds(0, &invited).assert(0, &["`vesica accept study.invite --me club`"]);
        for party in [1, 2] {
            self.send(0, party, "study.invite", "study.invite");
            let own = ["accept", "study.invite", "--me", NAMES[party], "--yes"];
            self.succeeds(party, &[&own[..], &table, accept[party - 1]].concat());
            self.send(party, 0, "study.reply", &format!("{}.reply", NAMES[party]));
        }
        self.succeeds(0, &["gather", "study.invite", "bank.reply", "club.reply"]);
        for party in [1, 2] {
            self.send(0, party, "study.parts", "study.parts");
        }
    }

    /// All parties at once, each with these arguments.
    fn all(&self, arguments: &[&str]) -> Vec<Ended> {
        let started = (0..3).map(|party| Running::start(self.command(party, arguments)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(Running::end).collect()
    }

    pub fn agree(&self) {
        for ended in self.all(&["confirm", "study.parts", "--yes", "--wait", "60"]) {
            ended.assert(0, &["Runs: `vesica run study`"]);
        }
    }

    pub fn run(&self, flags: &[&str]) -> Vec<Ended> {
        self.all(&[&RUN[..], flags].concat())
    }

    pub fn report(&self, party: usize) -> Value {
        serde_json::from_str(&self.read(party, "report.json")).unwrap()
    }
}

/// Returns the six words that a party is asked to compare.
fn words(ended: &Ended) -> String {
    let is_phrase = |line: &&str| {
        line.split(' ').count() == 6 && line.chars().all(|c| c == ' ' || c.is_ascii_lowercase())
    };
    ended.err.lines().map(str::trim).find(is_phrase).unwrap().to_owned()
}

#[test]
fn three_parties_agree_run_and_keep_one_record() {
    let study = Study::new();
    study.parts(&["--max-runs", "2", "--min-set", "50"], [&[], &[]]);
    let confirmed = study.all(&["confirm", "study.parts", "--yes", "--wait", "60"]);
    let all: Vec<_> = confirmed.iter().map(words).collect();
    assert!(all.iter().all(|words| *words == all[0]), "{all:?}");
    confirmed[1].assert(0, &["If shop and bank pool what they received", "at most 2 runs in all"]);
    let agreements = [0, 1, 2].map(|party| study.read(party, "study.agreement"));
    assert!(agreements.iter().all(|agreement| *agreement == agreements[0]));
    study.succeeds(1, &["agreement", "study"]);
    let preview = study.succeeds(2, &["preview", "study"]).out;
    assert!(
        preview.contains("shop will learn which of its keys every other party has"),
        "{preview}"
    );

    for (party, ended) in study.run(&["--record", "study.record"]).into_iter().enumerate() {
        ended.assert(0, &[]);
        assert_eq!(study.report(party)["parties"]["me"], NAMES[party]);
    }
    let rows: String = (0..400).step_by(30).map(|key| format!("{key},{}\n", key % 7)).collect();
    assert_eq!(study.read(0, "study.csv"), format!("k,v\n{rows}"));
    let records = [0, 1, 2].map(|party| study.read(party, "study.record"));
    assert!(records.iter().all(|record| *record == records[0]));
    let prints: Vec<_> = (0..3)
        .map(|party| study.succeeds(party, &["fingerprint", "vesica.identity"]).out)
        .collect();
    let with: Vec<_> = prints.iter().flat_map(|print| ["--with", print.trim()]).collect();
    let verified = study.succeeds(1, &[&["verify", "study.record"][..], &with].concat()).out;
    for said in ["signed by all parties", "200 keys of", "134 keys of", "80 keys of"] {
        assert!(verified.contains(said), "{verified}");
    }
    study.ended(1, &[&["verify", "study.record"][..], &with[2..]].concat()).assert(3, &[]);
    study.succeeds(2, &["report", "study.record", "--html", "page.html"]);
    assert!(study.read(2, "page.html").contains("shop, club, bank"));
    for party in 0..3 {
        study.succeeds(party, &["ledger", "verify", "--record", "study.record"]);
    }
    assert!(study.succeeds(1, &["ledger", "show"]).out.contains("134 keys here, 200 and 80 there"));
    study
        .ended(1, &["serve"])
        .assert(2, &["this side does not listen under its agreement", "no job has an agreement"]);

    // The rules count, and a revoked agreement permits no run.
    for ended in study.run(&[]) {
        ended.assert(0, &[]);
    }
    for ended in study.run(&[]) {
        ended.assert(8, &["the limit of 2 runs in all is reached"]);
    }
}

/// A ledger says what each party learned, with the keys of the one that keeps it.
#[test]
fn ledgers_say_what_each_party_learned() {
    for (learners, learning) in [("all", &[0, 1, 2][..]), ("club", &[0, 1])] {
        let study = Study::new();
        study.parts_for(&["--pivot", "bank", "--learners", learners], &[], [&[], &[]]);
        study.agree();
        for ended in study.run(&[]) {
            ended.assert(0, &[]);
        }
        for (party, keys) in [200, 134, 80].into_iter().enumerate() {
            let ledger = study.succeeds(party, &["ledger", "show"]).out;
            let said = ledger.lines().find(|line| line.contains("succeeded")).unwrap();
            let own = match learning.contains(&party) {
                true => format!("which of its keys every other party has too (14 of {keys});"),
                false => "how many keys every other party has (".to_owned(),
            };
            assert!(said.contains(&format!("succeeded  This side learned {own}")), "{said}");
            for other in learning.iter().filter(|other| **other != party) {
                assert!(said.contains(NAMES[*other]), "{said}");
            }
        }
    }
}

#[test]
fn a_party_keeps_to_the_offer_that_it_signed() {
    let study = Study::new();
    study.parts(&["--answer", "count", "--min-set", "50"], [&[], &[]]);
    study.agree();
    let ended = study.run(&[]);
    for ended in &ended {
        ended.assert(0, &[]);
    }
    assert_eq!(study.report(0)["outcome"]["answer"]["count"], Value::Null);
    // A set that the agreement does not permit ends the run of all.
    study.table(1, 40);
    for (party, ended) in study.run(&[]).into_iter().enumerate() {
        match party {
            1 => ended.assert(8, &["this side has 10 keys, and a set must have at least 50"]),
            _ => ended.assert(8, &["another party has 10 keys, and a set must have at least 50"]),
        };
    }
    // A ledger is gone: the other parties notice.
    study.table(1, 3);
    fs::remove_file(study.path(1, "vesica.ledger")).unwrap();
    let ended = study.run(&[]);
    ended[0].assert(8, &["the ledger of club has 0 lines"]);
    ended[2].assert(8, &["the ledger of club has 0 lines"]);
}

#[test]
fn parts_that_do_not_fit_are_named() {
    let study = Study::new();
    study.parts(&[], [&[], &[]]);
    let gather =
        |replies: &[&str]| study.ended(0, &[&["gather", "study.invite"], replies].concat());
    gather(&["club.reply"]).assert(2, &["the replies of bank are missing"]);
    gather(&["club.reply", "club.reply"]).assert(2, &["there are two replies of `club`"]);
    let accept = ["accept", "study.invite", "--yes", "--input", "table.csv", "--key", "k"];
    let again =
        |flags: &[&str]| study.ended(1, &[&accept[..], &["--name", "again"], flags].concat());
    again(&[]).assert(2, &["say with --me which of them this is: club, bank"]);
    again(&["--me", "mall"]).assert(2, &["`mall` is not one of the parties"]);
    again(&["--me", "shop"]).assert(2, &["`shop` made the invitation"]);
    again(&["--me", "club", "--normalize", "lower"]).assert(5, &["normalisation of the key"]);
    // A reply that another project made does not count.
    fs::remove_file(study.path(1, "study.reply")).unwrap();
    let ended = study.ended(1, &["confirm", "study.parts", "--yes", "--wait", "1"]);
    ended.assert(3, &["do not have a reply that this project made"]);
    let few = ["--parties", "shop,club", "--me", "shop", "--leader", "shop", "--pivot", "club"];
    let invite = ["invite", "pair", "--input", "table.csv", "--key", "k"];
    study.ended(0, &[&invite[..], &few].concat()).assert(2, &["takes 3 to 32 parties, not 2"]);
    let all =
        ["--parties", "shop,club,bank", "--me", "shop", "--leader", "shop", "--pivot", "bank"];
    let strict = ["--min-parties", "4", "--address", "127.0.0.1:7788"];
    study
        .ended(0, &[&invite[..], &all, &strict].concat())
        .assert(8, &["a run must have at least 4 parties, and it has 3"]);
}

/// A party that does not answer yes has no agreement, and nobody else has one.
#[test]
fn a_party_that_declines_ends_the_meeting_of_all() {
    let study = Study::new();
    study.parts(&[], [&[], &[]]);
    let started: Vec<_> = (0..3)
        .map(|party| {
            let yes: &[&str] = if party == 2 { &[] } else { &["--yes"] };
            let confirm = ["confirm", "study.parts", "--wait", "60"];
            let mut process = Running::start(study.command(party, &[&confirm[..], yes].concat()));
            if party == 2 {
                process.until("Compare these words");
                process.write("n\n");
            }
            process
        })
        .collect();
    for process in started {
        assert_ne!(process.end().code, Some(0));
    }
    for party in 0..3 {
        assert!(fs::metadata(study.path(party, "study.agreement")).is_err());
    }
    // All can meet again, and one takes the agreement over from another.
    study.agree();
    fs::rename(study.path(1, "study.agreement"), study.path(1, "lost.agreement")).unwrap();
    study.send(0, 1, "study.agreement", "copy.agreement");
    study.succeeds(1, &["confirm", "copy.agreement"]);
    for ended in study.run(&[]) {
        ended.assert(0, &[]);
    }
}

/// The places of an agreement are the places of its runs: who learns, and which keys.
#[test]
fn agreements_name_learners_and_holders() {
    let study = Study::new();
    let learners = ["--pivot", "bank", "--learners", "bank"];
    study.parts_for(&learners, &["--answer", "count"], [&[], &[]]);
    study.agree();
    for ended in study.run(&[]) {
        ended.assert(0, &[]);
    }
    for (party, learns) in [(0, true), (1, false), (2, true)] {
        let answer = study.report(party)["answer"]["value"].clone();
        assert_eq!(answer == 14, learns, "{party}: {answer}");
    }
    let study = Study::new();
    study.parts_for(&["--at-least", "2"], &["--max-result", "14"], [&[], &[]]);
    study.agree();
    for ended in study.run(&["--record", "study.record"]) {
        ended.assert(0, &[]);
    }
    let rows = study.read(0, "study.csv");
    assert_eq!(rows.lines().next(), Some("k,v,holders"), "{rows}");
    assert_eq!(rows.lines().count(), 15);
    let page = study.succeeds(1, &["report", "study.record", "--html", "-"]).out;
    assert!(page.contains("at least 2 other parties have, and which parties have each"), "{page}");
    // One key more is one too many, and nobody has a result.
    fs::write(study.path(1, "table.csv"), study.read(0, "table.csv")).unwrap();
    fs::write(study.path(2, "table.csv"), study.read(0, "table.csv")).unwrap();
    fs::remove_file(study.path(0, "study.csv")).unwrap();
    for ended in study.run(&[]) {
        ended.assert(8, &[]);
    }
    assert!(fs::metadata(study.path(0, "study.csv")).is_err());
}

/// Each party says itself that research may run, and all sign that it did.
#[test]
fn an_agreement_against_malicious_parties() {
    let study = Study::new();
    let distrust = ["--security", "malicious", "--allow-research"];
    study.parts(&distrust, [&["--allow-research"], &["--allow-research"]]);
    let refused = study.ended(
        1,
        &["accept", "study.invite", "--me", "club", "--yes", "--input", "table.csv", "--key", "k"],
    );
    refused.assert(2, &["all parties add --allow-research"]);
    study.agree();
    let preview = study.succeeds(2, &["preview", "study", "--json"]).out;
    for said in ["joint-malicious", "sets are folded by", "nobody has reviewed"] {
        assert!(preview.contains(said), "{preview}");
    }
    for ended in study.run(&["--record", "study.record"]) {
        ended.assert(0, &["rr22-malicious (malicious)"]);
    }
    let rows: String = (0..400).step_by(30).map(|key| format!("{key},{}\n", key % 7)).collect();
    assert_eq!(study.read(0, "study.csv"), format!("k,v\n{rows}"));
    let page = study.succeeds(1, &["report", "study.record", "--html", "-"]).out;
    assert!(page.contains("nobody has reviewed") && !page.contains("semi-honest"), "{page}");
}

/// A run that was interrupted goes on at its line of each ledger, and counts as one.
#[cfg(unix)]
#[test]
fn a_run_that_goes_on_counts_as_one() {
    let study = Study::new();
    (0..3).for_each(|party| study.table_below(9000, party, party + 1));
    let first = ["--min-result", "5", "--threshold-first"];
    study.parts(&[&["--max-runs", "1"], &first[..]].concat(), [&[], &[]]);
    study.agree();
    let flags = ["--partitions", "8", "--resume", "journal"];
    let run = [&RUN[..], &flags].concat();
    let started = [0, 1, 2].map(|party| Running::start(study.command(party, &run)));
    let begun = Instant::now();
    while (0..3).any(|party| done_of(&study.path(party, "journal")) < 2) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is done");
        thread::sleep(Duration::from_millis(1));
    }
    started[2].signal("KILL");
    for (party, process) in started.into_iter().enumerate() {
        let ended = process.end();
        if party < 2 {
            ended.assert(4, &["bank", "run the same command again to resume"]);
        }
    }
    for ended in study.run(&flags) {
        ended.assert(0, &["it was started 2 times"]);
    }
    // It has passed the threshold.
    let phases = study.report(0)["phases"].to_string();
    assert!(phases.contains("finish") && !phases.contains("rs21-circuit"), "{phases}");
    let rows: String = (0..9000).step_by(6).map(|key| format!("{key},{}\n", key % 7)).collect();
    assert_eq!(study.read(0, "study.csv"), format!("k,v\n{rows}"));
    let ledger = study.succeeds(2, &["ledger", "show"]).out;
    assert!(ledger.contains("resumed; it was started 2 times"), "{ledger}");
    for ended in study.run(&flags) {
        ended.assert(8, &["the limit of 1 run in all is reached"]);
    }
}

/// A query has the tables of leader and pivot, under an agreement as well.
#[test]
fn an_agreement_on_a_query() {
    let study = Study::new();
    let query = "SELECT b.v, count(*), sum(a.v) FROM a JOIN b USING (key) GROUP BY b.v HAVING count(*) >= 2";
    let invite = ["--query", query, "--column", "v:integer", "--max-cells", "7"];
    study.parts(&invite, [&[], &["--column", "v:{0,1,2,3,4,5,6}"]]);
    study.agree();
    let preview = study.succeeds(1, &["preview", "study"]).out;
    assert!(preview.contains("shop will learn the number of shared keys"), "{preview}");
    for ended in study.run(&["--record", "study.record"]) {
        ended.assert(0, &[]);
    }
    let count = |v: u32| (0..400).step_by(30).filter(|key| key % 7 == v).count() as u32;
    let rows = (0..7).map(|v| match count(v) {
        0 | 1 => format!("{v},,,suppressed\n"),
        count => format!("{v},{count},{},shown\n", count * v),
    });
    let expected = format!("b.v,count(*),sum(a.v),cell\n{}", rows.collect::<String>());
    assert_eq!(study.read(0, "study.csv"), expected);
    for party in 0..3 {
        assert!(party == 0 || !study.path(party, "study.csv").exists());
        study.succeeds(party, &["ledger", "verify", "--record", "study.record"]);
    }
    let page = study.succeeds(1, &["report", "study.record", "--html", "-"]).out;
    assert!(page.contains("the number of shared keys"), "{page}");
    // A helper has no table of the query.
    let accept = ["accept", "study.invite", "--me", "club", "--yes", "--name", "again"];
    let table = ["--input", "table.csv", "--key", "k", "--column", "v:integer"];
    study.ended(1, &[&accept[..], &table].concat()).assert(2, &["--column"]);
}

/// Circuit PSI comes before rows, and all parties hear whether enough keys are shared.
#[test]
fn a_threshold_comes_before_rows_among_several() {
    for least in ["14", "15"] {
        let study = Study::new();
        let learners = ["--pivot", "bank", "--learners", "club"];
        let invite = ["--min-result", least, "--threshold-first"];
        study.parts_for(&learners, &invite, [&[], &[]]);
        study.agree();
        let preview = study.succeeds(2, &["preview", "study"]).out;
        assert!(preview.contains("before anything else, whether all parties share"), "{preview}");
        let is_reached = least == "14";
        for (party, ended) in study.run(&[]).into_iter().enumerate() {
            match is_reached {
                true => ended.assert(0, &[]),
                false => ended.assert(9, &["there are fewer than 15 matches", "min-result"]),
            };
            let report = study.report(party);
            let phases = report["phases"].as_array().unwrap().iter();
            let phases: Vec<_> = phases.map(|phase| phase["name"].clone()).collect();
            assert_eq!(phases.contains(&"rs21-circuit".into()), party != 1, "{phases:?}");
            assert_eq!(phases.contains(&"finish".into()), is_reached, "{phases:?}");
            assert_eq!(study.path(party, "study.csv").exists(), is_reached && party < 2);
        }
        if is_reached {
            let rows = (0..400).step_by(30).map(|key| format!("{key},{}\n", key % 7));
            let expected = format!("k,v\n{}", rows.collect::<String>());
            assert_eq!([0, 1].map(|party| study.read(party, "study.csv")), [&expected[..]; 2]);
            let learned = study.report(2)["learned"].clone();
            let said = "before anything else, whether all parties share at least 14 keys";
            for side in ["me", "peer"] {
                assert!(learned[side].as_str().unwrap().contains(said), "{learned}");
            }
        }
    }
    let study = Study::new();
    let few = ["--parties", "shop,club,bank", "--me", "shop", "--leader", "shop"];
    let invite = ["invite", "held", "--input", "table.csv", "--key", "k", "--at-least", "2"];
    let first = ["--min-result", "5", "--threshold-first", "--address", "127.0.0.1:7788"];
    study
        .ended(0, &[&invite[..], &few, &first].concat())
        .assert(2, &["a search for holders has no pivot"]);
}

/// Any party can invite the others to another agreement with the same terms.
#[test]
fn an_agreement_of_several_is_renewed() {
    let study = Study::new();
    let old = ["--min-set", "50", "--expires", "2100-01-01"];
    study.parts_for(&["--pivot", "bank", "--learners", "club"], &old, [&[], &[]]);
    study.agree();
    let renew = ["agreement", "renew", "study", "--name", "again"];
    let said = "They answer with `vesica accept again.invite --me shop` and `vesica accept again.invite --me bank`";
    study.succeeds(1, &renew).assert(0, &[said, "at least 50 keys"]);
    study.ended(1, &renew).assert(3, &["already"]);
    let address = format!("127.0.0.1:{}", study.port);
    for (party, flags) in [(0, &["--address", &address][..]), (2, &[])] {
        study.send(1, party, "again.invite", "again.invite");
        let accept = ["accept", "again.invite", "--me", NAMES[party], "--yes"];
        let table = ["--input", "table.csv", "--key", "k"];
        study.succeeds(party, &[&accept[..], &table, flags].concat());
        study.send(party, 1, "again.reply", &format!("{}.reply", NAMES[party]));
    }
    study.succeeds(1, &["gather", "again.invite", "shop.reply", "bank.reply"]);
    study.send(1, 0, "again.parts", "again.parts");
    study.send(1, 2, "again.parts", "again.parts");
    for ended in study.all(&["confirm", "again.parts", "--yes", "--wait", "60"]) {
        ended.assert(0, &["Runs: `vesica run again`"]);
    }
    for ended in study.all(&["run", "again", "--wait", "60", "--threads", "1"]) {
        ended.assert(0, &[]);
    }
    let rows = (0..400).step_by(30).map(|key| format!("{key},{}\n", key % 7));
    let expected = format!("k,v\n{}", rows.collect::<String>());
    assert_eq!([0, 1].map(|party| study.read(party, "again.csv")), [&expected[..]; 2]);
    assert!(!study.path(2, "again.csv").exists());
}
