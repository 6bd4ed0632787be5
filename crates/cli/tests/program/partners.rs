//! From two empty directories to both results, and everything that a policy, a ledger or a record refuses.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU16, Ordering},
};

use vesica_testkit::assurance;

use crate::harness::{Ended, Running, vesica};

/// Two projects, each in its directory.
pub struct Projects {
    scratch: tempfile::TempDir,
}

/// The inviting side, which listens, and the accepting one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Inviter,
    Accepter,
}

use Side::{Accepter, Inviter};

impl Projects {
    /// Two empty directories with tables of this number of keys; half are shared.
    pub fn new(keys: usize) -> Self {
        let projects = Self { scratch: tempfile::tempdir().unwrap() };
        for side in [Inviter, Accepter] {
            fs::create_dir(projects.directory(side)).unwrap();
        }
        projects.table(Inviter, "customers.csv", "email", 0..keys);
        projects.table(Accepter, "members.csv", "mail", keys / 2..keys / 2 + keys);
        projects
    }

    pub fn table(&self, side: Side, name: &str, column: &str, keys: std::ops::Range<usize>) {
        let rows: String = keys.map(|key| format!("u{key}@example.org,{key}\n")).collect();
        fs::write(self.path(side, name), format!("{column},n\n{rows}")).unwrap();
    }

    fn directory(&self, side: Side) -> PathBuf {
        self.scratch.path().join(if side == Inviter { "inviter" } else { "accepter" })
    }

    pub fn path(&self, side: Side, name: &str) -> PathBuf {
        self.directory(side).join(name)
    }

    pub fn read(&self, side: Side, name: &str) -> String {
        fs::read_to_string(self.path(side, name)).unwrap()
    }

    pub fn command(&self, side: Side, arguments: &[&str]) -> Command {
        let mut command = vesica();
        command.current_dir(self.directory(side)).args(arguments);
        command
    }

    pub fn ended(&self, side: Side, arguments: &[&str]) -> Ended {
        Running::start(self.command(side, arguments)).end()
    }

    #[track_caller]
    pub fn succeeds(&self, side: Side, arguments: &[&str]) -> Ended {
        let ended = self.ended(side, arguments);
        ended.assert(0, &[]);
        ended
    }

    /// Carries a file to the other side.
    pub fn send(&self, from: Side, name: &str) {
        let to = if from == Inviter { Accepter } else { Inviter };
        fs::copy(self.path(from, name), self.path(to, name)).unwrap();
    }

    /// Makes the agreement `acme`, with these flags of the invitation and of the acceptance.
    pub fn agree(&self, invite: &[&str], accept: &[&str]) -> String {
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        for side in [Inviter, Accepter] {
            self.succeeds(side, &["init"]);
        }
        let input = ["--input", "customers.csv", "--key", "email", "--address", &address];
        let learns: &[&str] =
            if invite.contains(&"--learns") { &[] } else { &["--learns", "both"] };
        let terms: &[&str] =
            if invite.contains(&"--normalize") { &[] } else { &["--normalize", "email"] };
        self.succeeds(Inviter, &[&["invite", "acme"], &input[..], learns, terms, invite].concat());
        self.send(Inviter, "acme.invite");
        let input = ["accept", "acme.invite", "--yes", "--input", "members.csv", "--key", "mail"];
        let said = self.succeeds(Accepter, &[&input, accept].concat()).err;
        let is_phrase = |line: &&str| {
            line.split(' ').count() == 6 && line.chars().all(|c| c == ' ' || c.is_ascii_lowercase())
        };
        let words = said.lines().map(str::trim).find(is_phrase);
        let words = words.unwrap().to_owned();
        self.send(Accepter, "acme.reply");
        self.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]).assert(0, &[&words]);
        // Tests look for the record of the newest run at one place.
        for side in [Inviter, Accepter] {
            let project = self.read(side, "vesica.toml");
            let project = project.replace("\"acme-{time}.record\"", "\"acme.record\"");
            fs::write(self.path(side, "vesica.toml"), project).unwrap();
        }
        words
    }

    /// Runs the job on both sides, with these flags.
    pub fn run(&self, inviter: &[&str], accepter: &[&str]) -> [Ended; 2] {
        let start = |side, flags: &[&str]| {
            let wait: &[&str] = if flags.contains(&"--wait") { &[] } else { &["--wait", "30"] };
            let all = [&["run", "acme", "--threads", "1"], wait, flags].concat();
            Running::start(self.command(side, &all))
        };
        let both = [start(Inviter, inviter), start(Accepter, accepter)];
        both.map(Running::end)
    }

    #[track_caller]
    pub fn run_well(&self) {
        for ended in self.run(&[], &[]) {
            ended.assert(0, &[]);
        }
    }

    /// Returns the ledger, a line for each entry.
    pub fn ledger(&self, side: Side) -> String {
        self.succeeds(side, &["ledger", "show"]).out
    }
}

/// A port at which nobody listens. It is below those that the system chooses for outgoing connections, which might
/// take it before its listener does.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 16_384 + (std::process::id() % 64) as u16 * 256;
    let ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 256);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.take(256).find(is_free).unwrap()
}

/// The fingerprint in an identity.
pub fn print_of(identity: &Path) -> String {
    let identity = identity.to_str().unwrap();
    crate::harness::ended(&["fingerprint", identity]).out.trim().to_owned()
}

#[test]
fn four_commands_a_side_lead_to_both_results_and_a_record_that_both_signed() {
    let projects = Projects::new(200);
    projects.agree(&[], &[]);
    projects.run_well();
    for (side, column) in [(Inviter, "email"), (Accepter, "mail")] {
        let rows: String = (100..200).map(|key| format!("u{key}@example.org,{key}\n")).collect();
        assert_eq!(projects.read(side, "acme.csv"), format!("{column},n\n{rows}"));
        let ledger = projects.ledger(side);
        assert!(ledger.contains("began      200 keys here, 200 there"), "{ledger}");
        let learned = "succeeded  this side learned which of its keys the other side has too (100 of 200); the other";
        assert!(ledger.contains(learned), "{ledger}");
        projects.succeeds(side, &["ledger", "verify", "--record", "acme.record"]);
        // Both have all signatures after the first run.
        let shown = projects.succeeds(side, &["agreement", "acme.agreement"]).out;
        assert!(!shown.contains("has not signed"), "{shown}");
    }
    assert_eq!(projects.read(Inviter, "acme.record"), projects.read(Accepter, "acme.record"));
    let prints = [Inviter, Accepter].map(|side| print_of(&projects.path(side, "vesica.identity")));
    let [a, b] = &prints;
    let verify = ["verify", "acme.record", "--with", a, "--with"];
    projects.succeeds(Inviter, &[&verify[..], &[b]].concat());
    projects.ended(Inviter, &verify[..4]).assert(3, &["is a party, too"]);
    let page = projects.succeeds(Inviter, &["report", "acme.record", "--html", "-"]).out;
    let compared = format!(" compared 200 keys with 200 keys of {}", &a["vesica1-".len() - 8..17]);
    for text in [&compared, "They share 100 keys.", a, b] {
        assert!(page.contains(text), "{text}");
    }
}

/// Neither side listens; a stranger to the relay is not admitted, and one whom nobody wants to meet waits in vain.
#[test]
fn two_sides_that_cannot_listen_meet_at_a_relay() {
    let projects = Projects::new(200);
    for side in [Inviter, Accepter] {
        projects.succeeds(side, &["init"]);
    }
    let prints = [Inviter, Accepter].map(|side| print_of(&projects.path(side, "vesica.identity")));
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let terms = ["--normalize", "email", "--learns", "both", "--input", "customers.csv"];
    let invite = ["invite", "acme", "--key", "email", "--relay", &address];
    projects.succeeds(Inviter, &[&invite[..], &terms].concat());
    projects.send(Inviter, "acme.invite");
    let accept = ["accept", "acme.invite", "--yes", "--key", "mail", "--input", "members.csv"];
    let said = projects.succeeds(Accepter, &accept);
    assert!(said.err.contains("both sides connect to the relay"), "{said:?}");
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);

    let relay = |admitted: &[&str]| {
        let flags = ["relay", "--listen", &address, "--log", "json", "--admit"];
        let mut relay = Running::start(projects.command(Inviter, &[&flags[..], admitted].concat()));
        relay.until("listening");
        relay
    };
    let [inviter, accepter] = &prints;
    let strict = relay(&[inviter]);
    let [one, other] = projects.run(&["--wait", "2"], &["--wait", "2"]);
    one.assert(4, &["does not admit the other side", accepter]);
    other.assert(4, &["does not admit this side", accepter]);
    strict.signal("TERM");
    strict.end().assert(0, &["turned away"]);

    // A signature for one relay is of no use at another.
    let elsewhere = relay(&[inviter, accepter, "--address", "elsewhere.example.org:7799"]);
    for ended in projects.run(&["--wait", "2"], &["--wait", "2"]) {
        ended.assert(4, &["does not serve this address"]);
    }
    drop(elsewhere);
    let nameless = ["relay", "--listen", "0.0.0.0:0", "--admit", inviter];
    projects
        .ended(Inviter, &nameless)
        .assert(2, &["name the addresses by which parties reach the relay with --address"]);

    let mut relay = relay(&[inviter, accepter]);
    projects.run_well();
    let rows: String = (100..200).map(|key| format!("u{key}@example.org,{key}\n")).collect();
    assert_eq!(projects.read(Inviter, "acme.csv"), format!("email,n\n{rows}"));
    assert_eq!(projects.read(Accepter, "acme.csv"), format!("mail,n\n{rows}"));
    relay.until("\"event\":\"parted\"");
    // A caller that sends anything else is turned away.
    let mut stranger = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut stranger, &[0xff; 200]).unwrap();
    relay.until("\"event\":\"turned away\"");
    relay.signal("TERM");
    let said = relay.end();
    said.assert(0, &["stopped"]);
    assert!(!said.err.contains("example.org"), "{said:?}");
}

#[test]
fn an_invitation_survives_mail_and_nothing_that_changed_it() {
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    projects.succeeds(Accepter, &["init"]);
    let invite =
        ["invite", "acme", "--key", "email", "--learns", "both", "--address", "a.example:7788"];
    let text = projects.succeeds(Inviter, &invite).out;
    let accept = ["accept", "mail.txt", "--key", "mail", "--yes"];
    // Every character of the text that carries something.
    let start = text.find('\n').unwrap() + 1;
    let end = text.find("-----END").unwrap();
    for at in (start..end).step_by(97).filter(|at| text.as_bytes()[*at].is_ascii_alphanumeric()) {
        let mut changed = text.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        fs::write(projects.path(Accepter, "mail.txt"), changed).unwrap();
        projects.ended(Accepter, &accept).assert(3, &["mail.txt"]);
    }
    let quoted: String = text.lines().map(|line| format!("> {line}\r\n")).collect();
    fs::write(projects.path(Accepter, "mail.txt"), format!("Hello,\r\n\r\n{quoted}\r\nBye\r\n"))
        .unwrap();
    projects.succeeds(Accepter, &accept);
    // What was accepted once is not accepted again in the same project.
    projects.ended(Accepter, &accept).assert(3, &["already has a job `acme`"]);
    // A reply to another invitation does not answer this one.
    projects.send(Accepter, "acme.reply");
    fs::remove_file(projects.path(Inviter, "acme.invite")).unwrap();
    fs::write(projects.path(Inviter, "vesica.toml"), "").unwrap();
    projects.succeeds(Inviter, &invite);
    projects.ended(Inviter, &["confirm", "acme.reply", "--yes"]).assert(2, &["another invitation"]);
}

#[test]
fn contradictions_are_found_on_acceptance() {
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    projects.succeeds(Accepter, &["init"]);
    let invite = ["invite", "acme", "--key", "email", "--normalize", "email", "--learns", "peer"];
    projects.succeeds(Inviter, &invite);
    projects.send(Inviter, "acme.invite");
    let accept = ["accept", "acme.invite", "--yes", "--key"];
    let with = |more: &[&str]| projects.ended(Accepter, &[&accept[..], more].concat());
    with(&["mail"]).assert(2, &["name the address at which this side does"]);
    let address = ["--address", "127.0.0.1:7788"];
    with(&[&["mail,n"], &address[..]].concat())
        .assert(2, &["compares keys of 1 column, and --key names keys of 2 columns"]);
    let other = ["mail", "--normalize", "lower"];
    with(&[&other, &address[..]].concat()).assert(5, &["normalisation of the key"]);
    with(&[&["mail"], &address[..]].concat())
        .assert(0, &["This side will learn which of its keys the other side has too"]);
}

/// Rules count what the ledger says: a side that starts a new one is refused by its partner.
#[test]
fn a_partner_whose_ledger_was_replaced_is_refused() {
    let projects = Projects::new(200);
    projects.agree(&[], &[]);
    projects.run_well();
    let ledger = projects.path(Accepter, "vesica.ledger");
    let kept = fs::read(&ledger).unwrap();
    fs::remove_file(&ledger).unwrap();
    let [inviter, accepter] = projects.run(&[], &[]);
    inviter.assert(8, &["the ledger of the other side has 0 lines", "partner-ledger"]);
    accepter.assert(8, &["its policy refuses the run"]);
    fs::write(&ledger, kept).unwrap();
    projects.run_well();
}

/// Each rule, broken on each side by its own policy; with every change, on one of the two.
#[test]
fn every_rule_refuses_on_each_side_and_leaves_a_line() {
    let rules = [
        ("--min-set", "201", "a set must have at least 201"),
        ("--min-result", "101", "there are fewer than 101 matches"),
        ("--max-result", "99", "there are more than 99 matches"),
        ("--max-result-total", "99", "all runs together may reveal 99 matches"),
        ("--hours", &never(), "runs may begin at"),
        ("--expires", "2020-01-01", "the last day for runs was 2020-01-01"),
        // These refuse a second run.
        ("--max-runs", "1", "the limit of 1 run in all is reached"),
        ("--max-runs-per-day", "1", "the limit of 1 run within 24 hours is reached"),
        ("--min-change", "20", "differs by about 1 key"),
    ];
    for (number, (flag, value, words)) in rules.into_iter().enumerate() {
        for strict in
            [Inviter, Accepter].into_iter().filter(|s| assurance::tries(number, *s as usize, 2))
        {
            let projects = Projects::new(200);
            projects.agree(&[], &[]);
            if ["--max-runs", "--max-runs-per-day", "--min-change"].contains(&flag) {
                projects.run_well();
                projects.table(Inviter, "customers.csv", "email", 0..201);
                projects.table(Accepter, "members.csv", "mail", 100..301);
                for side in [Inviter, Accepter] {
                    fs::remove_file(projects.path(side, "acme.csv")).unwrap();
                    fs::remove_file(projects.path(side, "acme.record")).unwrap();
                }
            }
            let own = [flag, value];
            let early =
                ["--hours", "--expires", "--max-runs", "--max-runs-per-day"].contains(&flag);
            let wait = if early { "1" } else { "30" };
            let patient = ["--wait", wait];
            let flags = |side| if side == strict { &own[..] } else { &patient[..] };
            let ended = projects.run(flags(Inviter), flags(Accepter));
            let (mine, theirs) = (strict as usize, 1 - strict as usize);
            let code = if flag == "--min-result" { 9 } else { 8 };
            ended[mine].assert(code, &["the policy refuses this run", words, &flag[2..]]);
            // The other side hears of it, unless it was not called at all.
            match early {
                true => ended[theirs].assert(4, &[]),
                false => ended[theirs].assert(8, &["its policy refuses the run"]),
            };
            let ledger = projects.ledger(strict);
            assert!(ledger.contains("refused") && ledger.contains(&flag[2..]), "{ledger}");
            for side in [Inviter, Accepter] {
                assert!(!projects.path(side, "acme.csv").exists());
                assert!(!projects.path(side, "acme.record").exists());
            }
        }
    }
}

#[test]
fn a_rule_of_the_agreement_is_enforced_by_both_sides() {
    for (rule, value) in [("--min-set", "201"), ("--min-result", "101"), ("--max-result", "99")] {
        let projects = Projects::new(200);
        projects.agree(&[rule, value], &[]);
        // The side that finds out that too few are shared says so.
        let finds = if rule == "--min-result" { 9 } else { 8 };
        let [inviter, accepter] = projects.run(&[], &[]);
        inviter.assert(finds, &["policy refuses"]);
        accepter.assert(8, &["policy refuses"]);
        for side in [Inviter, Accepter] {
            let ledger = projects.ledger(side);
            assert!(!ledger.contains("succeeded"), "{ledger}");
        }
    }
}

/// Rows are compared only if a computation beforehand says that enough keys are shared.
#[test]
fn a_threshold_comes_before_rows() {
    for (least, keys) in [(100, 200), (101, 200)] {
        let flags = &["--report", "report.json"];
        let projects = Projects::new(keys);
        projects.agree(&["--min-result", &least.to_string(), "--threshold-first"], &[]);
        let ended = projects.run(flags, flags);
        let enough = least <= keys / 2;
        for (side, ended) in [Inviter, Accepter].into_iter().zip(&ended) {
            let report: serde_json::Value =
                serde_json::from_str(&projects.read(side, "report.json")).unwrap();
            let phases: Vec<_> = report["phases"]
                .as_array()
                .unwrap()
                .iter()
                .map(|phase| phase["name"].clone())
                .collect();
            assert!(phases.contains(&"rs21-circuit".into()), "{phases:?}");
            assert_eq!(phases.contains(&"finish".into()), enough, "{phases:?}");
            assert_eq!(projects.path(side, "acme.csv").exists(), enough);
            match enough {
                true => ended.assert(0, &[]),
                false => ended.assert(9, &["fewer than", "min-result"]),
            };
        }
    }
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    let invite = ["invite", "acme", "--key", "email", "--learns", "both", "--threshold-first"];
    projects
        .ended(Inviter, &invite)
        .assert(2, &["threshold-first requires a query for rows, and min-result"]);
    let strict = [&invite[..], &["--min-result", "5", "--security", "malicious"]].concat();
    projects.ended(Inviter, &strict).assert(2, &["only against semi-honest parties"]);
}

/// The ledger keeps account of what noise was spent, of runs that failed too.
#[test]
fn a_budget_of_noise_is_kept() {
    let projects = Projects::new(200);
    let terms = ["--answer", "count", "--epsilon", "0.4", "--epsilon-total", "1"];
    projects.agree(&terms, &[]);
    for run in 0..2 {
        for ended in projects.run(&[], &[]) {
            ended.assert(0, &["shared keys, with noise (ε = 0.4; standard deviation 3.5)"]);
        }
        for side in [Inviter, Accepter] {
            fs::rename(projects.path(side, "acme.csv"), projects.path(side, &format!("{run}.txt")))
                .unwrap();
            fs::remove_file(projects.path(side, "acme.record")).unwrap();
        }
    }
    for ended in projects.run(&["--wait", "1"], &["--wait", "1"]) {
        ended.assert(
            8,
            &["all runs together may have an ε of 1; one has 0.4, and 2 have begun before"],
        );
    }
    let fresh = Projects::new(10);
    fresh.succeeds(Inviter, &["init"]);
    let invite = ["invite", "acme", "--key", "email", "--learns", "both", "--answer", "count"];
    for (flags, words) in [
        (&["--epsilon-total", "1"][..], "epsilon-total requires a number with noise"),
        (&["--epsilon", "1", "--min-result", "5"], "which noise is meant to hide"),
        (&["--epsilon", "1", "--max-result", "5"], "max-result requires a query that reveals"),
    ] {
        fresh.ended(Inviter, &[&invite[..], flags].concat()).assert(2, &[words]);
    }
}

/// The hour half a day from now.
fn never() -> String {
    let seconds =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let hour = (seconds / 3600 + 12) % 24;
    format!("{hour:02}:00-{hour:02}:59")
}

#[test]
fn a_set_that_differs_by_few_keys_is_warned_of() {
    let projects = Projects::new(200);
    projects.agree(&[], &[]);
    projects.run_well();
    projects.table(Inviter, "customers.csv", "email", 0..203);
    let [inviter, accepter] = projects.run(&[], &[]);
    inviter.assert(0, &["this side's set differs by about 3 keys", "--min-change"]);
    assert!(!accepter.assert(0, &[]).err.contains("differs"));
}

#[test]
fn runs_are_counted_and_sets_that_differ_by_few_keys_are_refused() {
    let projects = Projects::new(200);
    projects.agree(&["--max-runs", "3", "--max-result-total", "250"], &[]);
    let strict = ["--min-change", "20"];
    projects.run_well();
    // The same set says nothing new.
    projects.run_well();
    projects.table(Inviter, "customers.csv", "email", 0..201);
    let [inviter, accepter] = projects.run(&strict, &[]);
    inviter.assert(8, &["differs by about 1 key", "min-change"]);
    accepter.assert(8, &["its policy refuses the run"]);
    // The accepting side had begun: for it, that was the third run.
    let [_, accepter] = projects.run(&["--wait", "3"], &["--wait", "3"]);
    accepter.assert(8, &["the limit of 3 runs in all is reached", "max-runs"]);
}

#[test]
fn a_ledger_or_record_that_was_changed_anywhere_is_found() {
    let projects = Projects::new(40);
    projects.agree(&[], &[]);
    projects.run_well();
    projects.run_well();
    let ledger = projects.path(Inviter, "vesica.ledger");
    let good = fs::read(&ledger).unwrap();
    let verify = ["ledger", "verify", "--record", "acme.record"];
    let lines: Vec<_> = good.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 6);
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut changed = good.clone();
        changed[at] ^= 1;
        fs::write(&ledger, changed).unwrap();
        projects.ended(Inviter, &verify).assert(3, &["vesica.ledger"]);
    }
    for (wrong, said) in [
        (lines[1..].concat(), "does not continue"),
        ([lines[0], lines[2], lines[1], lines[3]].concat(), "does not continue"),
        ([lines[0], lines[0]].concat(), "does not continue"),
        (lines[..5].concat(), "lines are missing at the end"),
        (good[..good.len() - 1].to_vec(), "is not complete"),
    ] {
        fs::write(&ledger, wrong).unwrap();
        projects.ended(Inviter, &verify).assert(3, &[said]);
    }
    // A run does not go on with such a ledger.
    projects.ended(Inviter, &["run", "acme", "--wait", "1"]).assert(3, &["is not complete"]);
    fs::write(&ledger, &good).unwrap();
    projects.succeeds(Inviter, &verify);

    for name in ["acme.record", "acme.agreement"] {
        let file = projects.path(Inviter, name);
        let good = fs::read(&file).unwrap();
        for at in (0..good.len()).step_by(good.len() / 60) {
            let mut changed = good.clone();
            changed[at] ^= 1;
            fs::write(&file, changed).unwrap();
            let arguments: &[&str] = match name {
                "acme.record" => &["report", "acme.record", "--html", "page.html"],
                _ => &["agreement", "acme.agreement"],
            };
            projects.ended(Inviter, arguments).assert(3, &[name]);
        }
        fs::write(&file, &good).unwrap();
    }
}

/// Numbers have their minimum inside the protocol, and a join its columns in the agreement.
#[test]
fn agreements_are_for_every_query() {
    let projects = Projects::new(60);
    projects.agree(&["--answer", "count", "--min-result", "10"], &[]);
    for ended in projects.run(&["--output", "-"], &["--output", "-"]) {
        ended.assert(0, &[]);
        assert_eq!(ended.out, "30\n");
    }
    let projects = Projects::new(60);
    let ended = projects.agree(&["--answer", "sum:n", "--learns", "peer"], &[]);
    assert_eq!(ended.split(' ').count(), 6);
    let [inviter, accepter] = projects.run(&[], &["--output", "-"]);
    inviter.assert(0, &[]);
    accepter.assert(0, &[]);
    assert_eq!(accepter.out, format!("{}\n", (30..60).sum::<usize>()));
    let learned =
        "succeeded  the other side learned the sum of this side's values over the shared keys\n";
    assert!(projects.ledger(Inviter).contains(learned));

    let projects = Projects::new(60);
    projects.agree(&["--receive", "--learns", "me"], &["--send", "n"]);
    projects.run_well();
    assert!(projects.read(Inviter, "acme.csv").contains("u45@example.org,45,45\n"));
    let record = projects.succeeds(Accepter, &["report", "acme.record", "--html", "-"]).out;
    assert!(record.contains("the values of the column n of vesica1-"), "{record}");
}

#[test]
fn a_project_file_that_is_wrong_is_named_with_the_place() {
    let projects = Projects::new(10);
    projects.agree(&[], &[]);
    let good = projects.read(Inviter, "vesica.toml");
    for (from, to, said) in [
        (
            "\nkey = \"email\"",
            "\nkeys = \"email\"",
            "job `acme`, key `keys`: not an option of `vesica run`",
        ),
        ("\nkey = \"email\"", "\nkey = 1.5.2", "vesica.toml: line"),
        ("\nkey = \"email\"", "\nkey = \"email\"\nquiet = 3", "key `quiet`: true or false"),
        ("[jobs.acme]", "[jobs.other]", "has no job `acme`; its jobs are other"),
        ("identity =", "identities =", "unknown key `identities`"),
    ] {
        fs::write(projects.path(Inviter, "vesica.toml"), good.replace(from, to)).unwrap();
        projects.ended(Inviter, &["run", "acme"]).assert(3, &[said]);
    }
    fs::write(projects.path(Inviter, "vesica.toml"), &good).unwrap();
    // What an agreement settles, no flag changes.
    projects
        .ended(Inviter, &["run", "acme", "--learns", "me"])
        .assert(2, &["the agreement settles --learns: leave it out"]);
    projects
        .ended(Inviter, &["run", "acme", "--answer", "count"])
        .assert(2, &["the answer is rows"]);
    // Flags come before what the file says.
    let elsewhere = ["--key", "n,email"];
    projects
        .ended(Inviter, &[&["run", "acme"], &elsewhere[..]].concat())
        .assert(2, &["--key names 2"]);
}
