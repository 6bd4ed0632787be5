//! No file of another purpose is replaced: neither by what a partner proposes, nor by a second reply, nor by another
//! job.

use std::{collections::BTreeMap, fs, thread};

use crate::{
    harness::{Running, read_report},
    partners::{
        Projects,
        Side::{self, Accepter, Inviter},
        free_port, print_of,
    },
};

/// All files of a side, with what is in them.
fn files(projects: &Projects, side: Side) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(projects.path(side, "")).unwrap().map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

/// Another party's invitation of this name, which it gives to the accepting side as `evil.invite`.
fn invited_by_another(projects: &Projects, name: &str) -> Projects {
    let evil = Projects::new(10);
    evil.succeeds(Inviter, &["init"]);
    let invite = ["invite", name, "--key", "email", "--normalize", "email", "--learns", "both"];
    let address = format!("127.0.0.1:{}", free_port());
    evil.succeeds(Inviter, &[&invite[..], &["--address", &address]].concat());
    let invitation = evil.path(Inviter, &format!("{name}.invite"));
    fs::copy(invitation, projects.path(Accepter, "evil.invite")).unwrap();
    evil
}

const ACCEPT: [&str; 7] =
    ["accept", "evil.invite", "--yes", "--input", "members.csv", "--key", "mail"];

/// Names that a partner may propose, what there is of that name, and what is said. Each is one line.
#[test]
fn a_partner_chooses_no_file_of_this_side() {
    let projects = Projects::new(40);
    projects.agree(&[], &[]);
    // The honest partner's agreement is for a job that has a name of its own.
    let toml = projects.path(Accepter, "vesica.toml");
    let renamed = fs::read_to_string(&toml).unwrap().replace("[jobs.acme]", "[jobs.nightly]");
    fs::write(&toml, renamed).unwrap();
    fs::write(projects.path(Accepter, "leads.csv"), "mail\n").unwrap();
    fs::write(projects.path(Accepter, "old.reply"), "").unwrap();
    for (name, said) in [
        ("acme", "acme.agreement: already exists"),
        ("members", "members.csv: already exists"),
        ("leads", "leads.csv: already exists"),
        ("old", "old.reply: already exists"),
        ("nightly", "already has a job `nightly`"),
    ] {
        let _evil = invited_by_another(&projects, name);
        let before = files(&projects, Accepter);
        projects.ended(Accepter, &ACCEPT).assert(3, &[said, "--name"]);
        assert_eq!(files(&projects, Accepter), before, "{name}");
    }
    // Under a name of this side's own it is accepted, and its files are called like that.
    let _evil = invited_by_another(&projects, "acme");
    projects.succeeds(Accepter, &[&ACCEPT[..], &["--name", "other"]].concat());
    let toml = projects.read(Accepter, "vesica.toml");
    for text in ["[jobs.other]", "\"other.agreement\"", "\"other-{time}.record\"", "\"other.csv\""]
    {
        assert!(toml.contains(text), "{toml}");
    }
    let shown = projects.succeeds(Accepter, &["agreement", "other.agreement"]).out;
    assert!(shown.starts_with("agreement  acme\n"), "{shown}");
    // The honest partner's job is what it was.
    let honest = Running::start(projects.command(Inviter, &["run", "acme", "--wait", "30"]));
    projects.succeeds(Accepter, &["run", "nightly", "--wait", "30"]);
    honest.end().assert(0, &[]);
    for name in ["a/b", "", "../x", "a b"] {
        let refused = projects.ended(Accepter, &[&ACCEPT[..], &["--name", name]].concat());
        refused.assert(2, &["letters, digits"]);
    }
}

#[test]
fn an_invitation_replaces_nothing_and_its_result_is_no_input() {
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    let invite = |name: &str, more: &[&str]| {
        let flags = ["invite", name, "--key", "email", "--learns", "both"];
        projects.ended(Inviter, &[&flags[..], more].concat())
    };
    for taken in ["a.invite", "a.agreement", "a.csv"] {
        fs::write(projects.path(Inviter, taken), "").unwrap();
        let before = files(&projects, Inviter);
        invite("a", &[]).assert(3, &[taken, "already exists"]);
        assert_eq!(files(&projects, Inviter), before, "{taken}");
        fs::remove_file(projects.path(Inviter, taken)).unwrap();
    }
    // A table called like the agreement, whether it is there or not.
    invite("customers", &["--input", "customers.csv"]).assert(3, &["customers.csv", "--output"]);
    invite("media", &["--input", "media.csv"]).assert(2, &["replace the input of job `media`"]);
    let apart = ["--input", "customers.csv", "--output", "found.csv"];
    invite("customers", &apart).assert(0, &[]);
    let onto = ["--output", "customers.csv"];
    invite("b", &onto).assert(2, &["replace the input of job `customers`"]);
}

/// An invitation makes one agreement, also if a second party answers it.
#[test]
fn a_second_reply_is_refused_and_the_first_stands() {
    let projects = Projects::new(40);
    projects.agree(&[], &[]);
    let second = Projects::new(40);
    second.succeeds(Accepter, &["init"]);
    fs::copy(projects.path(Inviter, "acme.invite"), second.path(Accepter, "evil.invite")).unwrap();
    second.succeeds(Accepter, &ACCEPT);
    fs::copy(second.path(Accepter, "acme.reply"), projects.path(Inviter, "second.reply")).unwrap();
    let prints = [&projects, &second].map(|all| print_of(&all.path(Accepter, "vesica.identity")));
    let before = files(&projects, Inviter);
    projects
        .ended(Inviter, &["confirm", "second.reply", "--yes"])
        .assert(3, &["acme.agreement: already exists, with", &prints[0], &prints[1]]);
    // The reply that was confirmed can be confirmed again.
    projects
        .succeeds(Inviter, &["confirm", "acme.reply", "--yes"])
        .assert(0, &["is confirmed already"]);
    assert_eq!(files(&projects, Inviter), before);
    // Without the agreement, the job still says which one it is for.
    fs::remove_file(projects.path(Inviter, "acme.agreement")).unwrap();
    projects
        .ended(Inviter, &["confirm", "second.reply", "--yes"])
        .assert(3, &["job `acme` is for another agreement"]);
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    assert_eq!(files(&projects, Inviter), before);
    projects.run_well();
}

/// The normalisation is in the agreement.
#[test]
fn a_check_takes_what_was_agreed() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    for (side, column) in [(Inviter, "email"), (Accepter, "mail")] {
        let found = projects.succeeds(side, &["check", "acme"]).out;
        assert!(found.contains(&format!("key column `{column}`, --normalize email\n")), "{found}");
        assert!(found.ends_with("\n20 keys ready\n"), "{found}");
    }
    fs::remove_file(projects.path(Inviter, "acme.agreement")).unwrap();
    let check = |flags: &[&str]| projects.ended(Inviter, &[&["check", "acme"], flags].concat());
    check(&[]).assert(3, &["this job has no agreement yet: say with --normalize"]);
    check(&["--normalize", "email"]).assert(0, &[]);
}

#[test]
fn another_agreement_in_the_file_is_noticed() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    let others = Projects::new(20);
    others.agree(&[], &[]);
    for side in [Inviter, Accepter] {
        fs::copy(others.path(side, "acme.agreement"), projects.path(side, "acme.agreement"))
            .unwrap();
        let said = ["acme.agreement: the job is for a different agreement"];
        projects.ended(side, &["run", "acme", "--wait", "1"]).assert(3, &said);
        projects.ended(side, &["serve"]).assert(3, &said);
    }
}

/// In the project file or on the command line.
#[test]
fn no_job_replaces_a_file_of_another() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    let good = projects.read(Inviter, "vesica.toml");
    let other =
        "\n[jobs.other]\ninput = \"other.csv\"\noutput = \"found.csv\"\nresume = \"other.run\"\n";
    fs::write(projects.path(Inviter, "vesica.toml"), good.clone() + other).unwrap();
    for (flag, file, what) in [
        ("--output", "other.csv", "the input of job `other`"),
        ("--output", "found.csv", "the output of job `other`"),
        ("--record", "other.run", "the journal of job `other`"),
        ("--report", "acme.invite", "the invitation of job `acme`"),
        ("--resume", "vesica.toml", "the project file"),
    ] {
        let refused = projects.ended(Inviter, &["run", "acme", "--wait", "1", flag, file]);
        refused.assert(2, &["would replace", what]);
    }
    let clash = "\n[jobs.other]\noutput = \"acme.record\"\n";
    fs::write(projects.path(Inviter, "vesica.toml"), good + clash).unwrap();
    projects.ended(Inviter, &["serve"]).assert(2, &["would replace", "record"]);
}

/// Commands beside `run` whose results have a file of this side's own.
#[test]
fn no_command_replaces_what_it_reads() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    let print = print_of(&projects.path(Inviter, "vesica.identity"));
    let gateway = ["gateway", "--agreement", "acme.agreement", "--identity", "vesica.identity"];
    let cluster = ["--cluster", "127.0.0.1:0", "--token", "my.token", "--journal"];
    let gateway = [&gateway[..], &cluster].concat();
    let lookup = ["lookup", "--list", ".", "--publisher", &print, "--key", "email", "--input"];
    let before = files(&projects, Inviter);
    for (command, more, said) in [
        (&gateway[..], &["vesica.ledger"][..], "replace the ledger"),
        (&gateway, &["j", "--record", "acme.agreement"], "replace the agreement"),
        (&gateway, &["j", "--report", "my.token"], "replace the token"),
        (&gateway, &["j", "--report", "j"], "replace the journal"),
        (&lookup, &["customers.csv", "--output", "customers.csv"], "replace the input"),
    ] {
        let refused = projects.ended(Inviter, &[command, more].concat());
        refused.assert(2, &[said]);
        assert_eq!(files(&projects, Inviter), before, "{more:?}");
    }
    projects.run_well();
    let record = projects.read(Inviter, "acme.record");
    let page = ["report", "acme.record", "--html", "./acme.record"];
    projects.ended(Inviter, &page).assert(2, &["replace the record"]);
    assert_eq!(projects.read(Inviter, "acme.record"), record);
}

/// Runs of one moment, two at a time, whose results, records and reports go to one place each.
#[test]
fn no_run_replaces_the_results_of_another() {
    const RUNS: usize = 4;
    let all: Vec<_> = (0..2).map(|_| Projects::new(20)).collect();
    let shared = tempfile::tempdir().unwrap();
    let pattern = |kind: &str| shared.path().join(format!("{{time}}.{kind}"));
    let [output, record, report] = ["csv", "record", "json"].map(pattern);
    let [output, record, report] = [&output, &record, &report].map(|path| path.to_str().unwrap());
    let flags = ["--output", output, "--record", record, "--report", report];
    thread::scope(|scope| {
        for projects in &all {
            projects.agree(&[], &[]);
            scope.spawn(move || {
                for _ in 0..RUNS {
                    for ended in projects.run(&flags, &[]) {
                        ended.assert(0, &[]);
                    }
                }
            });
        }
    });
    let names = fs::read_dir(shared.path()).unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<_> = names.collect();
    assert_eq!(names.len(), 3 * 2 * RUNS, "{names:?}");
    for name in names.iter().filter(|name| name.extension().is_some_and(|kind| kind == "json")) {
        // A run's files have one name, which its report has too.
        let report = read_report(&fs::read_to_string(name).unwrap());
        for kind in ["output", "record"] {
            let path = report[kind].as_str().unwrap();
            let extension = if kind == "output" { "csv" } else { "record" };
            assert_eq!(path, name.with_extension(extension).to_str().unwrap());
            assert!(fs::metadata(path).is_ok(), "{path}");
        }
    }
    // The summary names the file, and not its pattern.
    let [inviter, _] = all[0].run(&flags, &[]);
    assert!(inviter.err.contains(shared.path().to_str().unwrap()), "{inviter:?}");
    assert!(!inviter.err.contains("{time}"), "{inviter:?}");
}
