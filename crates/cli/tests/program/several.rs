//! Runs among three and more parties, each a process of its own with real sockets.

use std::{collections::BTreeSet, fmt::Write as _, fs, process::Command};

use serde_json::{Value, json};

use crate::{
    harness::{Ended, Running, ended, read_report, vesica},
    partners::free_port,
};

pub const NAMES: [&str; 4] = ["shop", "club", "bank", "mall"];

/// A directory with the identities and tables of some parties.
pub struct Circle {
    pub scratch: tempfile::TempDir,
    /// The value of `--parties`.
    parties: String,
    keys: Vec<BTreeSet<u32>>,
}

impl Circle {
    /// Creates parties with these keys; the marked ones listen.
    pub fn new(keys: Vec<BTreeSet<u32>>, listening: &[bool]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut parties = Vec::new();
        for (party, keys) in keys.iter().enumerate() {
            let path = |kind: &str| scratch.path().join(format!("{}.{kind}", NAMES[party]));
            let made = ended(&["keygen", path("identity").to_str().unwrap()]);
            made.assert(0, &[]);
            let mut member = format!("{}={}", NAMES[party], made.out.trim());
            if listening[party] {
                write!(member, "@127.0.0.1:{}", free_port()).unwrap();
            }
            parties.push(member);
            let rows: String = keys.iter().map(|key| format!("{key},{}\n", key % 7)).collect();
            fs::write(path("csv"), format!("k,v\n{rows}")).unwrap();
        }
        Self { scratch, parties: parties.join(","), keys }
    }

    /// Three parties whose sets overlap; only the first listens.
    fn three() -> Self {
        let keys = |step: usize| (0..400).step_by(step).collect();
        Self::new([2, 3, 5].map(keys).into(), &[true, false, false])
    }

    pub fn file(&self, party: usize, kind: &str) -> String {
        let path = self.scratch.path().join(format!("{}.{kind}", NAMES[party]));
        path.to_str().unwrap().to_owned()
    }

    /// A party's command, with these flags last.
    pub fn command(&self, party: usize, flags: &[&str]) -> Command {
        let pivot = ["--pivot", NAMES[self.keys.len() - 1]];
        match flags.contains(&"--pivot") {
            true => self.searching(party, flags),
            false => self.searching(party, &[&pivot, flags].concat()),
        }
    }

    /// A party's command without a pivot, with these flags last.
    pub fn searching(&self, party: usize, flags: &[&str]) -> Command {
        let mut command = vesica();
        command.args(["run", "--parties", &self.parties, "--progress", "plain"]);
        command.args(["--threads", "1", "--key", "k"]);
        for (flag, value) in [
            ("--wait", "60".to_owned()),
            ("--identity", self.file(party, "identity")),
            ("--report", self.file(party, "json")),
            ("--leader", NAMES[0].to_owned()),
            ("--input", self.file(party, "csv")),
            ("--output", self.file(party, "out")),
        ] {
            if !flags.contains(&flag) {
                command.args([flag, &value]);
            }
        }
        command.args(flags);
        command
    }

    /// Runs all parties to their ends, with these flags each.
    fn run(&self, flags: &[&[&str]]) -> Vec<Ended> {
        self.ended(|party| self.command(party, of_party(flags, party)))
    }

    /// Runs all parties without a pivot, with these flags each.
    fn search(&self, flags: &[&[&str]]) -> Vec<Ended> {
        self.ended(|party| self.searching(party, of_party(flags, party)))
    }

    fn ended(&self, command: impl Fn(usize) -> Command) -> Vec<Ended> {
        let started = (0..self.keys.len()).map(|party| Running::start(command(party)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(Running::end).collect()
    }

    /// The keys that all have.
    pub fn shared(&self) -> BTreeSet<u32> {
        let shared = |one: BTreeSet<u32>, other: &BTreeSet<u32>| &one & other;
        self.keys.iter().fold(self.keys[0].clone(), shared)
    }

    pub fn report(&self, party: usize) -> Value {
        read_report(&fs::read_to_string(self.file(party, "json")).unwrap())
    }

    /// The leader has the rows of an oracle, and nobody else has any.
    #[track_caller]
    pub fn assert_rows(&self, ended: &[Ended]) {
        for (party, ended) in ended.iter().enumerate() {
            ended.assert(0, &[]);
            let report = self.report(party);
            assert_eq!(report["parties"]["me"], NAMES[party]);
            assert_eq!(report["parties"]["terms_hash"], self.report(0)["parties"]["terms_hash"]);
            assert!(party == 0 || fs::metadata(self.file(party, "out")).is_err());
        }
        let rows = self.shared().into_iter().map(|key| format!("{key},{}\n", key % 7));
        let expected = format!("k,v\n{}", rows.collect::<String>());
        assert_eq!(fs::read_to_string(self.file(0, "out")).unwrap(), expected);
    }
}

/// The flags of a party; the last ones are for all further parties.
fn of_party<'a>(flags: &[&'a [&'a str]], party: usize) -> &'a [&'a str] {
    flags.get(party).or(flags.last()).copied().unwrap_or_default()
}

#[test]
fn three_parties_of_which_two_cannot_listen() {
    let circle = Circle::three();
    let ended = circle.run(&[]);
    circle.assert_rows(&ended);
    let said = "This side learned which of its keys every other party has too (14 of 200); how many keys every other \
                party has (club 134, bank 80); and nothing else.";
    ended[0].assert(0, &[said, "14 of 200 keys match"]);
    ended[1].assert(
        0,
        &["If shop and bank pool what they received, they learn which of shop's keys club has."],
    );
    // The hub passes on what the other two say, and both have the same session with it.
    assert_eq!(circle.report(1)["parties"]["all"][2]["keys"], 80);
}

#[test]
fn four_parties_in_partitions_and_a_sum() {
    let keys = |step: usize| (0..9000).step_by(step).collect();
    let circle = Circle::new([2, 1, 3, 4].map(keys).into(), &[false, false, true, true]);
    circle.assert_rows(&circle.run(&[&[], &["--partitions", "2"], &[]]));
    assert_eq!(circle.report(3)["partitions"], 2);
    let sum = ["--answer", "sum"];
    let ended = circle.run(&[&sum, &sum, &sum, &["--answer", "sum:v"]]);
    for ended in &ended {
        ended.assert(0, &[]);
    }
    let expected: u32 = circle.shared().into_iter().map(|key| key % 7).sum();
    let answer = &circle.report(0)["answer"];
    assert_eq!(answer["value"], expected.to_string(), "{answer}");
    assert_eq!(circle.report(3)["answer"], Value::Null);
}

/// Against malicious parties the rows are the same, and all say that this is research.
#[test]
fn four_parties_that_may_deviate() {
    let keys = |step: usize| (0..9000).step_by(step).collect();
    let circle = Circle::new([2, 1, 3, 4].map(keys).into(), &[true, false, false, true]);
    let distrust = ["--security", "malicious", "--allow-research"];
    let partitioned = [&distrust[..], &["--partitions", "2"]].concat();
    for (flags, partitions) in [([&distrust[..]; 2], 1), ([&distrust, &partitioned], 2)] {
        let ended = circle.run(&[flags[0], flags[1], &distrust]);
        circle.assert_rows(&ended);
        for (party, ended) in ended.iter().enumerate() {
            let said = ["rr22-malicious (malicious)", "by an argument that nobody has reviewed"];
            ended.assert(0, &said);
            assert_eq!(circle.report(party)["partitions"], partitions);
        }
    }
    for ended in circle.run(&[&distrust, &distrust, &[], &distrust]) {
        ended.assert(5, &["security (--security)"]);
    }
}

/// A query has the tables of leader and pivot, and the keys of all.
#[test]
fn three_parties_answer_a_query() {
    let circle = Circle::three();
    let query = "SELECT b.v, count(*), sum(a.v) FROM a JOIN b USING (key) GROUP BY b.v HAVING count(*) >= 2";
    let asked = ["--query", query];
    let table = |column: &'static str| [&asked[..], &["--column", column]].concat();
    let (leader, pivot) = (table("v:integer"), table("v:{0,1,2,3,4,5,6}"));
    for ended in circle.run(&[&leader, &asked, &pivot]) {
        ended.assert(0, &[]);
    }
    let shared = circle.shared();
    let rows = (0..7).map(|v| (v, shared.iter().filter(|key| **key % 7 == v).count() as u32));
    let rows = rows.map(|(v, count)| match count {
        0 | 1 => format!("{v},,,suppressed\n"),
        count => format!("{v},{count},{},shown\n", count * v),
    });
    let expected = format!("b.v,count(*),sum(a.v),cell\n{}", rows.collect::<String>());
    assert!(expected.contains("suppressed") || shared.len() >= 14, "{expected}");
    assert_eq!(fs::read_to_string(circle.file(0, "out")).unwrap(), expected);
    let said = circle.report(1)["learned"]["peer"].as_str().unwrap().to_owned();
    assert!(said.starts_with("shop learned the number of shared keys"), "{said}");
    let helper = table("v:integer");
    let refused = Running::start(circle.command(1, &helper)).end();
    refused.assert(2, &["--column declares a table of the query"]);
}

#[test]
fn all_parties_learn_their_rows() {
    let circle = Circle::three();
    for ended in circle.run(&[&["--learners", "all"]]) {
        ended.assert(0, &["have the result from shop"]);
    }
    let shared = circle.shared();
    let rows = shared.iter().map(|key| format!("{key},{}\n", key % 7));
    let expected = format!("k,v\n{}", rows.collect::<String>());
    for party in 0..3 {
        assert_eq!(fs::read_to_string(circle.file(party, "out")).unwrap(), expected);
        assert_eq!(circle.report(party)["matches"], shared.len());
        assert_eq!(circle.report(party)["parties"]["learners"], json!(["club", "bank"]));
    }
    let answer = ["--learners", "club", "--answer", "count"];
    for (party, ended) in circle.run(&[&answer]).into_iter().enumerate() {
        ended.assert(0, &["club has the result from shop"]);
        let count = &circle.report(party)["answer"];
        let expected = json!({ "kind": "count", "value": shared.len() });
        assert_eq!(*count, if party == 2 { Value::Null } else { expected });
    }
    for ended in circle.run(&[&["--learners", "all"], &[], &["--learners", "all"]]) {
        ended.assert(5, &["parties and their places"]);
    }
}

#[test]
fn parties_meet_in_a_directory() {
    let circle = Circle::new(Circle::three().keys, &[false; 3]);
    let folder = circle.scratch.path().join("exchange");
    fs::create_dir(&folder).unwrap();
    let flags: &[&str] = &["--exchange-dir", folder.to_str().unwrap()];
    circle.assert_rows(&circle.run(&[flags]));
}

/// Nobody listens: each pair meets at the relay.
#[test]
fn parties_meet_at_a_relay() {
    let circle = Circle::new(Circle::three().keys, &[false; 3]);
    let address = &*format!("127.0.0.1:{}", free_port());
    let prints = circle.parties.split(',').map(|party| party.split_once('=').unwrap().1);
    let mut command = vesica();
    command.args(["relay", "--listen", address, "--log", "json", "--admit"]).args(prints);
    let mut relay = Running::start(command);
    relay.until("listening");
    let at_relay: &[&str] = &["--relay", address, "--learners", "bank"];
    for ended in circle.run(&[at_relay]) {
        ended.assert(0, &[]);
    }
    let rows = circle.shared().into_iter().map(|key| format!("{key},{}\n", key % 7));
    let expected = format!("k,v\n{}", rows.collect::<String>());
    for party in [0, 2] {
        assert_eq!(fs::read_to_string(circle.file(party, "out")).unwrap(), expected);
    }
    relay.signal("TERM");
    relay.end().assert(0, &[]);
}

/// The leader learns who has its keys, in five processes and in partitions.
#[test]
fn a_leader_finds_the_holders_of_its_keys() {
    let keys = |step: usize| (0..3000).step_by(step).collect();
    let circle = Circle::new([1, 2, 3, 5].map(keys).into(), &[true, false, false, false]);
    let flags = ["--at-least", "2"];
    let partitions = ["--at-least", "2", "--partitions", "2"];
    let ended = circle.search(&[&flags, &partitions, &flags]);
    for ended in &ended {
        ended.assert(0, &["at least 1 of the parties that remain"]);
    }
    ended[0].assert(0, &["at least 2 other parties have 800 of 3,000 keys; 800 rows written to"]);
    let rows = (0u32..3000).filter_map(|key| {
        let held = [("club", 2), ("bank", 3), ("mall", 5)].into_iter();
        let names: Vec<_> =
            held.filter(|(_, step)| key.is_multiple_of(*step)).map(|(name, _)| name).collect();
        (names.len() >= 2).then(|| format!("{key},{},{}\n", key % 7, names.join(" ")))
    });
    let expected = format!("k,v,holders\n{}", rows.collect::<String>());
    assert_eq!(fs::read_to_string(circle.file(0, "out")).unwrap(), expected);
    let report = circle.report(0);
    assert_eq!((&report["protocol"], &report["partitions"]), (&json!("joint-holders"), &json!(2)));
    assert_eq!(
        (&report["parties"]["at_least"], &report["parties"]["pivot"]),
        (&json!(2), &json!(null))
    );
    let refused = Running::start(circle.searching(0, &["--at-least", "4"])).end();
    refused.assert(2, &["--at-least takes 2 to 3"]);
    let refused =
        Running::start(circle.searching(0, &["--at-least", "2", "--answer", "count"])).end();
    refused.assert(2, &["--at-least is for rows of the leader"]);
}

#[test]
fn a_party_that_is_killed_is_named_and_nobody_has_a_result() {
    for killed in [1, 2] {
        let circle = Circle::three();
        let mut started: Vec<_> = (0..3)
            .map(|party| {
                let flags: &[&str] = if party == killed { &["--input", "-"] } else { &[] };
                let mut process = Running::start(circle.command(party, flags));
                if party == killed {
                    process.write("k,v\n");
                }
                process
            })
            .collect();
        for (party, process) in started.iter_mut().enumerate() {
            process.until(if party == killed { "reading" } else { "agreeing on terms" });
        }
        started[killed].signal("KILL");
        for (party, process) in started.into_iter().enumerate() {
            let ended = process.end();
            assert!(fs::metadata(circle.file(party, "out")).is_err());
            if party != killed {
                ended.assert(4, &[NAMES[killed]]);
                assert_eq!(circle.report(party)["status"], "failed");
            }
        }
    }
}

#[test]
fn parties_that_disagree_hear_what_differs() {
    let circle = Circle::three();
    for ended in circle.run(&[&[], &["--pivot", "club"], &[]]) {
        ended.assert(5, &["parties and their places", "pivot club", "pivot bank"]);
    }
    let ended = circle.run(&[&[], &["--normalize", "lower"], &[]]);
    ended[0].assert(5, &["club: ", "normalisation of the key (here: none; there: lower)"]);
    ended[1].assert(5, &["shop: ", "normalisation of the key (here: lower; there: none)"]);
    ended[2].assert(5, &["shop (here) and club (there): ", "(here: none; there: lower)"]);
}

#[test]
fn options_that_do_not_fit_are_refused_before_anybody_is_contacted() {
    let circle = Circle::three();
    let one = |party: usize, flags: &[&str]| Running::start(circle.command(party, flags)).end();
    one(0, &["--leader", "bank"]).assert(2, &["--leader and --pivot are two of the parties"]);
    one(1, &["--leader", "mall"]).assert(2, &["--leader names `mall`"]);
    let malicious = ["--security", "malicious"];
    for (more, said) in [
        (&[][..], "all parties add --allow-research"),
        (&["--allow-research", "--answer", "count"], "is for rows of the leader"),
        (&["--allow-research", "--learners", "all"], "leave out --learners"),
        (&["--allow-research", "--resume", "journal"], "cannot be resumed: leave out --resume"),
        (&["--allow-research", "--protocol", "rr22"], "ends in `rr22-malicious`"),
    ] {
        one(0, &[&malicious[..], more].concat()).assert(2, &[said]);
    }
    one(1, &["--answer", "linked"]).assert(2, &["linked rows are for two parties"]);
    one(0, &["--learns", "me"]).assert(2, &["--parties and --learns exclude each other"]);
    one(0, &["--learners", "mall"]).assert(2, &["--learners names `mall`"]);
    one(0, &["--learners", "all", "--receive"]).assert(2, &["leave out --learners"]);
    one(1, &["--answer", "sum:v"]).assert(2, &["only the leader and the pivot provide values"]);
    one(1, &["--listen", "127.0.0.1:0"]).assert(2, &["--listen requires an address of this party"]);
    let other = ended(&["keygen", &circle.file(3, "identity")]).out;
    let stranger = one(0, &["--identity", &circle.file(3, "identity")]);
    stranger.assert(2, &["--parties does not have this side's fingerprint", other.trim()]);
}

#[test]
fn a_preview_says_what_each_party_will_learn() {
    let circle = Circle::three();
    let mut command = vesica();
    command.args(["preview", "--parties", &circle.parties, "--leader", "shop", "--pivot", "bank"]);
    command.args(["--identity", &circle.file(1, "identity"), "--key", "k"]);
    command.args(["--input", &circle.file(1, "csv"), "--answer", "count"]);
    let ended = Running::start(command).end();
    ended.assert(0, &[]);
    for said in [
        "This side will learn how many keys every other party has and nothing else.",
        "shop will learn how many keys all parties share",
        "If shop and bank pool what they received",
    ] {
        assert!(ended.out.contains(said), "{said}: {}", ended.out);
    }
}
