//! Agreements on runs in which rules make the keys.

use std::fs;

use crate::{
    harness::Ended,
    partners::{
        Projects,
        Side::{self, Accepter, Inviter},
        free_port,
    },
};

const RULES: [&str; 4] = ["--match", "first, last", "--match", "first, dob"];

/// The rows of the inviting side, and of the accepting one. Ann matches by her name, and Ann Fox by her birthday.
const ROWS: [&str; 2] = [
    "1,Ann,Lee,1985-05-05\n2,Ann,Fox,1990-01-01\n3,Bob,Ray,\n5,Xu,Li,1970-01-01\n",
    "1,Ann,Lee,1990-01-01\n9,Zed,Zoo,\n",
];

/// Two projects with an agreement by rules, with these flags of the invitation; the inviting side listens.
fn agreed(invite: &[&str]) -> Projects {
    let projects = Projects::new(1);
    let address = format!("127.0.0.1:{}", free_port());
    let field =
        |field: &str, profile: &str| ["--field".to_owned(), format!("{field}={field}{profile}")];
    let fields = |profiles: [&str; 3]| {
        let named = ["first", "last", "dob"].into_iter().zip(profiles);
        named.flat_map(|(name, profile)| field(name, profile)).collect::<Vec<_>>()
    };
    for (side, rows) in [Inviter, Accepter].into_iter().zip(ROWS) {
        projects.succeeds(side, &["init"]);
        fs::write(projects.path(side, "t.csv"), format!("id,first,last,dob\n{rows}")).unwrap();
    }
    let own = fields([":name", ":name", ":date"]);
    let own: Vec<_> = own.iter().map(String::as_str).collect();
    let table = ["--input", "t.csv"];
    let invited = [&["invite", "acme", "--address", &address][..], &table, &own, &RULES, invite];
    projects.succeeds(Inviter, &invited.concat());
    projects.send(Inviter, "acme.invite");
    let theirs = fields(["", "", ""]);
    let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
    let accepted = [&["accept", "acme.invite", "--yes"][..], &table, &theirs].concat();
    projects.succeeds(Accepter, &accepted);
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    projects
}

#[track_caller]
fn run(projects: &Projects, flags: &[&str]) -> [Ended; 2] {
    projects.run(flags, flags)
}

/// Random keys are keys of the set for the other side, so both sign the same number.
#[test]
fn padded_sets_have_one_size_in_a_record() {
    for (invite, flags) in [
        (&["--learns", "both"][..], &["--pad-keys"][..]),
        (&["--learns", "both", "--answer", "count"], &["--pad-keys", "--output", "-"]),
    ] {
        let projects = agreed(invite);
        let record = ["--record", "acme.record"];
        for ended in run(&projects, &[flags, &record].concat()) {
            ended.assert(0, &[]);
        }
        let ledgers = [Inviter, Accepter].map(|side| projects.ledger(side));
        assert!(ledgers[0].contains("8 keys here, 4 there"), "{ledgers:?}");
        assert!(ledgers[1].contains("4 keys here, 8 there"), "{ledgers:?}");
    }
}

/// The number is about the rows that the agreement names, also if the inviting side listens in the runs.
#[test]
fn a_number_is_of_the_rows_that_the_agreement_names() {
    let projects = agreed(&["--learns", "both", "--answer", "count"]);
    let preview = projects.succeeds(Inviter, &["preview", "acme"]).out;
    assert!(preview.contains("how many of its rows match a row of the other side"), "{preview}");
    for ended in run(&projects, &["--output", "-"]) {
        ended.assert(0, &[]);
        assert_eq!(ended.out, "2\n");
    }
}

/// A row that matches by several rules counts once.
#[test]
fn limits_on_results_count_rows() {
    for (least, code) in [("2", 0), ("3", 9)] {
        let projects = agreed(&["--learns", "me", "--min-result", least]);
        let [inviter, _] = run(&projects, &[]);
        assert_eq!(inviter.code, Some(code), "{inviter:#?}");
    }
    // Both rows of one key, in partitions.
    let projects = agreed(&["--learns", "me", "--max-result", "1"]);
    let [inviter, _] = run(&projects, &["--partitions", "2"]);
    inviter.assert(8, &[]);
}

/// Nobody learns shares, and yet they have a file.
#[test]
fn an_invitation_may_be_for_shares() {
    let projects = Projects::new(8);
    projects.agree(&["--answer", "shares", "--learns", "nobody", "--output", "acme.csv"], &[]);
    projects.run_well();
    for side in [Inviter, Accepter] {
        assert!(lines(&projects, side) > 1);
    }
}

fn lines(projects: &Projects, side: Side) -> usize {
    projects.read(side, "acme.csv").lines().count()
}
