//! The texts for consent and audit: every screen, page and file says what a run discloses, to the side that reads it.

use std::fs;

use crate::{
    harness::Running,
    partners::{
        Projects,
        Side::{Accepter, Inviter},
        free_port, print_of,
    },
};

/// Two projects whose inviting side has made the invitation `acme`, with these flags.
fn invited(keys: usize, flags: &[&str]) -> Projects {
    let projects = Projects::new(keys);
    for side in [Inviter, Accepter] {
        projects.succeeds(side, &["init"]);
    }
    let address = format!("127.0.0.1:{}", free_port());
    let table = ["invite", "acme", "--input", "customers.csv", "--key", "email"];
    let rest = ["--normalize", "email", "--address", &address];
    projects.succeeds(Inviter, &[&table[..], &rest, flags].concat());
    projects.send(Inviter, "acme.invite");
    projects
}

const ACCEPT: [&str; 7] =
    ["accept", "acme.invite", "--yes", "--input", "members.csv", "--key", "mail"];

#[test]
fn a_protocol_that_is_not_for_real_data_takes_both_sides_word() {
    for (protocol, status) in [
        ("naive", "the insecure protocol `naive`"),
        ("psz14-gbf-liang", "the research protocol `psz14-gbf-liang`"),
    ] {
        let flags = ["--learns", "both", "--protocol", protocol, "--allow-research"];
        let projects = invited(20, &flags);
        projects.ended(Accepter, &ACCEPT).assert(2, &[status, "--allow-research"]);
        assert!(!projects.path(Accepter, "acme.reply").exists());
        let allowed = [&ACCEPT[..], &["--allow-research"]].concat();
        let said = projects.succeeds(Accepter, &allowed).err;
        let warning = if protocol == "naive" {
            "`naive` is insecure and for measurements only. The other side can find out each key of this side"
        } else {
            "`psz14-gbf-liang` is a research protocol"
        };
        assert!(said.contains(warning), "{said}");
        assert_eq!(said.contains("This holds if both sides follow"), protocol != "naive", "{said}");
    }
    // That the inviting side would allow one says nothing of a sound one.
    let projects = invited(20, &["--learns", "both", "--protocol", "rr22", "--allow-research"]);
    projects.succeeds(Accepter, &ACCEPT);
}

/// Flags of the invitation and of the acceptance, and what each side learns besides the size of the other's set, as
/// itself reads it before a run and after it.
#[test]
fn each_side_reads_its_own_side_of_the_account() {
    let of_other = "the sum of the other side's values over the shared keys";
    let of_own = "the sum of its own values over the shared keys";
    type Line<'a> = (&'a [&'a str], &'a [&'a str], [Option<&'a str>; 2]);
    let noise = "how many keys the two sides share, with noise that hides any single key (ε = 0.5)";
    let few =
        "how many keys the two sides share (or only that the two sides share fewer than 51 keys)";
    let cases: [Line<'_>; 8] = [
        (&["--learns", "peer", "--answer", "sum:n"], &[], [None, Some(of_other)]),
        (&["--learns", "me", "--answer", "sum:n"], &[], [Some(of_own), None]),
        (
            &["--learns", "me", "--receive"],
            &["--send", "n"],
            [Some("the values of the column n of the other side for these keys"), None],
        ),
        (&["--learns", "both", "--answer", "count", "--epsilon", "0.5"], &[], [Some(noise); 2]),
        (&["--learns", "both", "--answer", "count", "--min-result", "51"], &[], [Some(few); 2]),
        (
            &["--learns", "me", "--answer", "threshold:30"],
            &[],
            [Some("whether the two sides share at least 30 keys"), None],
        ),
        (
            &["--learns", "both", "--diagnose"],
            &[],
            [Some("what share of the other side's keys have white space"); 2],
        ),
        (
            &["--learns", "me", "--answer", "sum", "--protocol", "dh-sum"],
            &["--values", "n"],
            [Some("how many keys the two sides share"), None],
        ),
    ];
    for (invite, accept, learned) in cases {
        let projects = invited(60, invite);
        let accepted = projects.succeeds(Accepter, &[&ACCEPT[..], accept].concat()).err;
        projects.send(Accepter, "acme.reply");
        let confirmed = projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]).err;
        for (side, said, fact) in
            [(Inviter, &confirmed, learned[0]), (Accepter, &accepted, learned[1])]
        {
            let own = said.lines().find(|line| line.contains("This side will learn")).unwrap();
            match fact {
                Some(fact) => assert!(own.contains(fact), "{invite:?}: {own}"),
                None => assert!(
                    own.ends_with("will learn how many keys the other side has and nothing else."),
                    "{invite:?}: {own}"
                ),
            }
            // All surfaces before a run are one text.
            let account = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| line.starts_with("  - "));
                lines.map(str::to_owned).collect()
            };
            let preview = projects.succeeds(side, &["preview", "acme"]).out;
            let shown = projects.succeeds(side, &["agreement", "acme"]).out;
            assert_eq!(account(&preview), account(said), "{invite:?}");
            assert_eq!(account(&preview), account(&shown), "{invite:?}");
            let json = projects.succeeds(side, &["preview", "acme", "--json"]).out;
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            let role = if side == Inviter { "a" } else { "b" };
            assert_eq!(json["role"], role);
            let sizes = json["disclosure"][role].as_array().unwrap();
            assert!(sizes.iter().any(|fact| fact["fact"] == "set-size"), "{json}");
        }
    }
}

/// A run under flags can be looked at without the other side, too.
#[test]
fn a_preview_contacts_nobody() {
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    let flags = [
        "preview",
        "--identity",
        "vesica.identity",
        "--input",
        "nobody-reads-this.csv",
        "--key",
        "k",
    ];
    let learns = ["--learns", "me", "--answer", "count", "--minimum", "5"];
    let said = projects.succeeds(Inviter, &[&flags[..], &learns].concat()).out;
    assert!(
        said.contains("This side will learn how many keys the two sides share (or only"),
        "{said}"
    );
    let none = ["--learns", "me", "--answer", "count", "--security", "malicious"];
    projects
        .ended(Inviter, &[&flags[..], &none].concat())
        .assert(2, &["is secure against malicious"]);
}

/// Everything that the first run would refuse is refused before an invitation goes out, or an acceptance.
#[test]
fn an_agreement_is_not_made_that_could_not_be_kept() {
    let projects = invited(20, &["--learns", "both"]);
    let empty = "mail,n\nNULL,1\n,2\n";
    for side in [Inviter, Accepter] {
        fs::write(projects.path(side, "empty.csv"), empty).unwrap();
        fs::write(projects.path(side, "semicolons.csv"), "mail;email\na@x.org;b@x.org\n").unwrap();
    }
    let invite = |flags: &[&str]| {
        let all = ["invite", "other", "--normalize", "email", "--learns", "both"];
        projects.ended(Inviter, &[&all[..], flags].concat())
    };
    let table = ["--input", "customers.csv", "--key", "email"];
    let cases: [(&[&str], i32, &str); 11] = [
        (&["--input", "nosuch.csv", "--key", "email"], 3, "nosuch.csv"),
        (&["--input", "customers.csv", "--key", "nosuch"], 3, "has no column `nosuch`"),
        (&["--input", "empty.csv", "--key", "mail"], 3, "none of its 2 rows has a key"),
        (&["--input", "semicolons.csv", "--key", "mail"], 3, "has no column `mail`"),
        (&["--expires", "2020-01-01"], 8, "the last day for runs was 2020-01-01"),
        (&["--address", "http://x:1"], 2, "not an address to which the other side can connect"),
        (&["--address", "0.0.0.0:7788"], 2, "not an address to which the other side can connect"),
        (&["--address", "[::]:7788"], 2, "not an address to which the other side can connect"),
        (&["--address", "x"], 2, "not an address to which the other side can connect"),
        (
            &["--answer", "count", "--security", "malicious"],
            2,
            "is secure against malicious parties",
        ),
        (&["--output", "customers.csv"], 2, "would replace"),
    ];
    for (flags, code, said) in cases {
        let whole = flags.contains(&"--input");
        let ended = invite(&[if whole { &[][..] } else { &table }, flags].concat());
        ended.assert(code, &[said]);
        assert!(!projects.path(Inviter, "other.invite").exists(), "{flags:?}");
    }
    for (flags, said) in [
        (["--input", "nosuch.csv", "--key", "mail"], "nosuch.csv"),
        (["--input", "members.csv", "--key", "nosuch"], "has no column `nosuch`"),
        (["--input", "empty.csv", "--key", "mail"], "none of its 2 rows has a key"),
        (["--input", "semicolons.csv", "--key", "mail"], "has no column `mail`"),
    ] {
        projects.ended(Accepter, &[&ACCEPT[..3], &flags].concat()).assert(3, &[said]);
        assert!(!projects.path(Accepter, "acme.reply").exists(), "{flags:?}");
    }
    invite(&["--input", "semicolons.csv", "--key", "mail", "--delimiter", "semicolon"])
        .assert(0, &[]);
    assert!(projects.read(Inviter, "vesica.toml").contains("delimiter = \"semicolon\""));
}

/// A job reads its table as the invitation did: by the file's name, or by the delimiter that was named.
#[test]
fn invitations_and_their_jobs_have_one_delimiter() {
    let projects = invited(20, &["--learns", "both"]);
    for (job, table, flags) in [
        ("tabs", "mail\tn\nann@x.org\t1\n", &[][..]),
        ("commas", "mail,n\nann@x.org,1\n", &["--delimiter", "comma"]),
    ] {
        let file = format!("in-{job}.tsv");
        fs::write(projects.path(Inviter, &file), table).unwrap();
        let invite = ["invite", job, "--input", &file, "--key", "mail", "--learns", "both"];
        projects.ended(Inviter, &[&invite[..], flags].concat()).assert(0, &[]);
        projects.ended(Inviter, &["check", job, "--normalize", "email"]).assert(0, &[]);
    }
}

#[test]
fn hours_are_for_runs_and_bounds_may_differ() {
    let now = print_hour();
    let later = |hours: u32| format!("{:02}:00", (now + hours) % 24);
    let hours = format!("{}-{}", later(3), later(4));
    let projects = invited(20, &["--learns", "both", "--hours", &hours, "--max-peer-rows", "30"]);
    let said =
        projects.succeeds(Accepter, &[&ACCEPT[..], &["--max-peer-rows", "5000"]].concat()).err;
    assert!(
        said.contains("the other side may have at most 5,000 keys, and this side at most 30"),
        "{said}"
    );
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    let [inviter, _] = projects.run(&["--wait", "1"], &["--wait", "1"]);
    inviter.assert(8, &["runs may begin at"]);
    let jobs = projects.succeeds(Inviter, &["jobs"]).out;
    assert!(jobs.contains(&format!("T{}:00Z", later(3))), "{jobs}");
}

/// The hour of the day, in UTC.
fn print_hour() -> u32 {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    (seconds.as_secs() / 3600 % 24) as u32
}

/// A partner over time: jobs, records of each run, a name, a renewed agreement, a revoked one.
#[test]
fn a_partner_is_lived_with() {
    let projects = invited(20, &["--learns", "both", "--max-runs", "3", "--partner", "Shop AG"]);
    let waits = projects.succeeds(Inviter, &["jobs"]).out;
    assert!(waits.contains("acme  Shop AG") && waits.contains("waits for the reply"), "{waits}");
    projects.succeeds(Accepter, &[&ACCEPT[..], &["--partner", "Acme"]].concat());
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    for _ in 0..2 {
        for (ended, side) in projects.run(&[], &[]).into_iter().zip([Inviter, Accepter]) {
            ended.assert(0, &["the signed record is in ", "vesica.ledger names it"]);
            let record = ended.err.split("the signed record is in ").nth(1).unwrap();
            let record = record.split(';').next().unwrap();
            assert!(projects.path(side, record).exists(), "{record}");
        }
    }
    let records = fs::read_dir(projects.path(Inviter, ".")).unwrap();
    let records = records.filter(|file| {
        file.as_ref().unwrap().path().extension().is_some_and(|end| end == "record")
    });
    assert_eq!(records.count(), 2, "each run has its record");
    let jobs = projects.succeeds(Inviter, &["jobs"]).out;
    assert!(jobs.contains("acme  Shop AG  2     20") && jobs.contains("1 of 3 runs"), "{jobs}");
    let json: serde_json::Value =
        serde_json::from_str(&projects.succeeds(Inviter, &["jobs", "--json"]).out).unwrap();
    assert_eq!((&json["runs"], &json["next"]), (&2.into(), &"now".into()));

    // Renewed by the side that accepted, while the old agreement still holds.
    projects
        .succeeds(Accepter, &["agreement", "renew", "acme", "--name", "acme2", "--max-runs", "9"]);
    projects.send(Accepter, "acme2.invite");
    let address = format!("127.0.0.1:{}", free_port());
    let accept = ["accept", "acme2.invite", "--yes", "--input", "customers.csv", "--key", "email"];
    let said = projects.succeeds(Inviter, &[&accept[..], &["--address", &address]].concat()).err;
    assert!(said.contains("which of its keys") && said.contains("at most 9 runs in all"), "{said}");
    projects.send(Inviter, "acme2.reply");
    projects.succeeds(Accepter, &["confirm", "acme2.reply", "--yes"]);
    let start = |side| {
        let run = ["run", "acme2", "--threads", "1", "--wait", "30"];
        Running::start(projects.command(side, &run))
    };
    for running in [Inviter, Accepter].map(start) {
        running.end().assert(0, &[]);
    }
    assert!(projects.read(Accepter, "acme2.csv").contains("u15@example.org"));

    projects.succeeds(Accepter, &["agreement", "revoke", "acme"]).assert(0, &["is revoked"]);
    projects.ended(Accepter, &["run", "acme", "--wait", "1"]).assert(8, &["this side revoked"]);
    let jobs = projects.succeeds(Accepter, &["jobs"]).out;
    assert!(jobs.contains("never: this side revoked the agreement"), "{jobs}");
    let ledger = projects.ledger(Accepter);
    assert!(ledger.contains("revoked    this side revoked the agreement"), "{ledger}");
    // The columns stay aligned for all names.
    let places: Vec<_> = ledger.lines().filter_map(|line| line.find("began ")).collect();
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "{ledger}");
}

/// An auditor has the ledger and a fingerprint, and no secret.
#[test]
fn a_ledger_is_read_without_the_identity() {
    let projects = Projects::new(20);
    projects.agree(&["--answer", "count", "--epsilon", "0.5"], &[]);
    let [inviter, _] = projects.run(&[], &[]);
    inviter.assert(0, &["with noise (ε = 0.5; standard deviation 2.8): "]);
    let print = print_of(&projects.path(Inviter, "vesica.identity"));
    fs::copy(projects.path(Inviter, "vesica.ledger"), projects.path(Accepter, "theirs")).unwrap();
    let with = ["theirs", "--fingerprint", &print];
    projects.succeeds(Accepter, &[&["ledger", "verify"], &with[..]].concat());
    let json =
        projects.succeeds(Accepter, &[&["ledger", "show", "--json"], &with[..]].concat()).out;
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let facts = &last["event"]["succeeded"]["disclosure"]["a"];
    assert_eq!(facts[0]["noise"]["epsilon"], "0.5", "{last}");
    let own = print_of(&projects.path(Accepter, "vesica.identity"));
    let other = ["ledger", "verify", "theirs", "--fingerprint", &own];
    projects.ended(Accepter, &other).assert(3, &["it is the ledger of", "and not of"]);
    let page = [&["ledger", "page"], &with[..], &["--html", "-"]].concat();
    let name = format!("{print}=Acme");
    let page = projects.succeeds(Accepter, &[&page[..], &["--name", &name]].concat()).out;
    for said in [
        "Runs of Acme",
        "both sides learned how many keys the two sides share, with noise",
        "succeeded",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

/// All questions have one exit code for too few shared keys.
#[test]
fn too_few_has_one_exit_code() {
    // Of rows, the inviting side finds out, and the other is refused.
    for (answer, codes) in [("rows", [9, 8]), ("count", [9, 9])] {
        let projects = Projects::new(20);
        projects.agree(&["--answer", answer, "--min-result", "11"], &[]);
        let ended = projects.run(&[], &[]);
        ended.iter().zip(codes).for_each(|(ended, code)| _ = ended.assert(code, &[]));
        for side in [Inviter, Accepter] {
            assert!(!projects.path(side, "acme.csv").exists());
        }
    }
}
