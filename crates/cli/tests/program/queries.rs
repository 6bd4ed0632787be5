//! Queries over both tables: two processes find the numbers of each group, and nothing else.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    harness::{Connecting, Lab, Listening, Party, Running},
    partners::{Projects, Side},
};

/// The tables: a shopper of the connecting side has spent its number in cents, and the listening side has shown it one
/// of three campaigns. They share the keys from 200 to 299.
fn lab() -> Lab {
    let lab = Lab::new();
    let spent =
        |i: u32| format!("key {i},{}.{:02},{}\n", i / 100, i % 100, ["DE", "FR"][i as usize % 2]);
    lab.write(Connecting, (0..300).fold("k,spend,country\n".to_owned(), |t, i| t + &spent(i)));
    let shown = |i: u32| {
        format!("key {i},{},{}\n", campaign(i), if i.is_multiple_of(5) { "" } else { "7" })
    };
    lab.write(Listening, (200..450).fold("k,campaign,views\n".to_owned(), |t, i| t + &shown(i)));
    lab
}

/// The third campaign has ten of the shared keys.
fn campaign(i: u32) -> &'static str {
    if i % 10 == 9 { "rare" } else { ["blue", "green"][i as usize / 2 % 2] }
}

const FROM: &str = "FROM a JOIN b USING (key)";
const SPEND: [&str; 2] = ["--column", "spend:decimal(2)"];
const CAMPAIGN: [&str; 2] = ["--column", "campaign:label<=8"];

/// Runs a query with these flags of both sides, and returns the answer of each that learns.
#[track_caller]
fn asked(
    lab: &Lab,
    query: &str,
    learns: [&str; 2],
    mine: &[&str],
    theirs: &[&str],
) -> [Option<String>; 2] {
    let flags = |learns, more: &[&str]| {
        [&["--query", query, "--learns", learns], more]
            .concat()
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    let [a, b] = [flags(learns[0], mine), flags(learns[1], theirs)];
    let [a, b] = [&a, &b].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    let [x, y] = lab.run(&a, &b);
    x.assert(0, &[]);
    y.assert(0, &[]);
    [Connecting, Listening].map(|party| lab.output(party))
}

const LEARNERS: [[&str; 2]; 3] = [["me", "peer"], ["peer", "me"], ["both", "both"]];

#[test]
fn numbers_by_group_for_every_learner() {
    let mut groups: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for i in (200..300).filter(|i| i % 2 == 0) {
        let (count, sum) = groups.entry(campaign(i)).or_default();
        (*count, *sum) = (*count + 1, *sum + i);
    }
    let rows = groups.iter().map(|(label, (count, sum))| {
        format!("{label},{count},{}.{:02},shown\n", sum / 100, sum % 100)
    });
    let expected = rows.fold("campaign,n,revenue,cell\n".to_owned(), |text, row| text + &row);
    assert_eq!(groups.len(), 2, "the rare campaign has odd keys only");
    let query = format!(
        "SELECT b.campaign AS campaign, count(*) AS n, sum(a.spend) AS revenue {FROM} WHERE a.country = 'DE' \
         GROUP BY b.campaign HAVING count(*) >= 5"
    );
    let country = [&SPEND[..], &["--column", "country:text"]].concat();
    for learns in LEARNERS {
        let lab = lab();
        let answers = asked(&lab, &query, learns, &country, &CAMPAIGN);
        for (party, (answer, learns)) in
            [Connecting, Listening].into_iter().zip(answers.into_iter().zip(learns))
        {
            let report = lab.report(party);
            assert!(report["matches"].is_null() && report["answer"].is_null());
            match learns {
                "peer" => assert!(answer.is_none() && report["cells"].is_null()),
                _ => {
                    assert_eq!(answer.unwrap(), expected, "{party:?}");
                    assert_eq!(report["cells"], json!({ "shown": 2, "suppressed": 0 }));
                }
            }
            let filtered = if party == Connecting { 150 } else { 0 };
            assert_eq!(report["filtered"], filtered);
        }
    }
}

/// A query, its flags, and the answer; to try another one, add a line.
#[test]
fn answers_by_table() {
    let lab = lab();
    let having = "GROUP BY b.campaign HAVING count(*) >= 11";
    let public = ["--column", "campaign:{green,blue,rare,none}"];
    let sum = |wanted: &dyn Fn(u32) -> bool| (200..300).filter(|i| wanted(*i)).sum::<u32>();
    let cents = |n: u32| format!("{}.{:02}", n / 100, n % 100);
    let [blue, green] = ["blue", "green"].map(|label| sum(&|i| campaign(i) == label));
    let counts = ["blue", "green"].map(|l| (200..300).filter(|i| campaign(*i) == l).count());
    let nothing: [&str; 0] = [];
    for (query, mine, theirs, answer) in [
        (
            format!("SELECT count(*) {FROM}"),
            &nothing[..],
            &nothing[..],
            "count(*)\n100\n".to_owned(),
        ),
        (
            format!("SELECT sum(a.spend), avg(a.spend), count(*) {FROM}"),
            &SPEND,
            &nothing,
            format!(
                "sum(a.spend),avg(a.spend),count(*)\n{},2.49500000,100\n",
                cents(sum(&|_| true))
            ),
        ),
        // Suppressed groups of public labels are named, and an empty one looks like a small one.
        (
            format!("SELECT b.campaign, count(*), sum(a.spend) {FROM} {having}"),
            &SPEND,
            &public,
            format!(
                "b.campaign,count(*),sum(a.spend),cell\ngreen,{},{},shown\nblue,{},{},shown\nrare,,,suppressed\n\
                 none,,,suppressed\n",
                counts[1],
                cents(green),
                counts[0],
                cents(blue)
            ),
        ),
        // Private ones are absent.
        (
            format!("SELECT b.campaign, count(*) {FROM} {having}"),
            &nothing,
            &CAMPAIGN,
            format!(
                "b.campaign,count(*),cell\nblue,{},shown\ngreen,{},shown\n",
                counts[0], counts[1]
            ),
        ),
        // Too few to be a remainder.
        (
            format!("SELECT b.campaign, count(*) {FROM} {having} WITH REMAINDER"),
            &nothing,
            &CAMPAIGN,
            format!(
                "b.campaign,count(*),cell\nblue,{},shown\ngreen,{},shown\n",
                counts[0], counts[1]
            ),
        ),
        (
            format!(
                "SELECT b.campaign, count(*) {FROM} GROUP BY b.campaign HAVING count(*) >= 46 WITH REMAINDER"
            ),
            &nothing,
            &CAMPAIGN,
            "b.campaign,count(*),cell\n,100,remainder\n".to_owned(),
        ),
        // Without a minimum, groups without a key have no row.
        (
            format!("SELECT b.campaign, count(*) {FROM} WHERE a.spend < 2.10 GROUP BY b.campaign"),
            &SPEND,
            &public,
            "b.campaign,count(*)\ngreen,4\nblue,5\nrare,1\n".to_owned(),
        ),
        (
            format!("SELECT count(b.views), sum(b.views), count(*) {FROM}"),
            &nothing,
            &["--column", "views:integer?"],
            "count(b.views),sum(b.views),count(*)\n80,560,100\n".to_owned(),
        ),
        // Products of both sides, with a bound.
        (
            format!("SELECT sum(a.spend * b.views) {FROM} WHERE a.spend >= 2.98"),
            &["--column", "spend:decimal(2)[0..10]"],
            &["--column", "views:integer[0..100]?"],
            format!("sum(a.spend * b.views)\n{}\n", cents(7 * (298 + 299))),
        ),
        // Nothing is shared: a count of nothing is 0, and a sum of nothing is null.
        (
            format!("SELECT count(*), sum(a.spend) {FROM} WHERE a.country = 'IT'"),
            &[SPEND[0], SPEND[1], "--column", "country:text"],
            &nothing,
            "count(*),sum(a.spend)\n0,\n".to_owned(),
        ),
        (
            format!(
                "SELECT bucket(b.views, 5, 10), count(*) {FROM} GROUP BY bucket(b.views, 5, 10)"
            ),
            &nothing,
            &["--column", "views:integer?"],
            "\"bucket(b.views, 5, 10)\",count(*)\n1,80\n,20\n".to_owned(),
        ),
        // Labels of both sides, the private ones of one.
        (
            format!(
                "SELECT a.country, b.campaign, count(*), sum(a.spend) {FROM} GROUP BY a.country, b.campaign \
                 HAVING count(*) >= 11"
            ),
            &["--column", "spend:decimal(2)[0..5]", "--column", "country:{FR,DE}"],
            &CAMPAIGN,
            by_both(11),
        ),
    ] {
        for learns in LEARNERS {
            let answers = asked(&lab, &query, learns, mine, theirs);
            for (found, learns) in answers.into_iter().zip(learns).filter(|(_, one)| *one != "peer")
            {
                assert_eq!(found.unwrap(), answer, "{query}, {learns}");
            }
        }
    }
}

/// The answer by country and campaign, with this minimum.
fn by_both(least: usize) -> String {
    let mut text = "a.country,b.campaign,count(*),sum(a.spend),cell\n".to_owned();
    for (country, odd) in [("FR", 1), ("DE", 0)] {
        for label in ["blue", "green", "rare"] {
            let keys = (200..300).filter(|i| i % 2 == odd && campaign(*i) == label);
            let (count, sum) = (keys.clone().count(), keys.sum::<u32>());
            if count >= least {
                text +=
                    &format!("{country},{label},{count},{}.{:02},shown\n", sum / 100, sum % 100);
            }
        }
    }
    text
}

/// A side may have several rows with one key: sums and counts are of its rows, and a minimum is of keys.
#[test]
fn rows_of_a_key_add_up() {
    let lab = lab();
    let orders = (200..300).flat_map(|i| (0..i % 3).map(move |n| format!("key {i},{n}\n")));
    lab.write(Connecting, orders.fold("k,amount\n".to_owned(), |text, row| text + &row));
    let keys = (200..300).filter(|i| i % 3 > 0).count();
    let (rows, sum): (u32, u32) = (200..300)
        .map(|i| (i % 3, if i % 3 == 2 { 1 } else { 0 }))
        .fold((0, 0), |s, n| (s.0 + n.0, s.1 + n.1));
    let query = format!(
        "SELECT count(DISTINCT key), count(*), sum(a.amount) {FROM} HAVING count(*) >= {keys}"
    );
    let mine = ["--column", "amount:integer", "--repeated-keys"];
    let [found, _] = asked(&lab, &query, ["me", "peer"], &mine, &[]);
    let expected = format!("count(DISTINCT key),count(*),sum(a.amount)\n{keys},{rows},{sum}\n");
    assert_eq!(found.unwrap(), expected);
    let query = query.replace(&keys.to_string(), &(keys + 1).to_string());
    let [found, _] = asked(&lab, &query, ["me", "peer"], &mine, &[]);
    assert_eq!(found.unwrap(), "count(DISTINCT key),count(*),sum(a.amount)\n");
    // Without a word, each key has one row.
    let [x, _] = lab.run(&["--query", &query, "--column", "amount:integer"], &["--query", &query]);
    x.assert(3, &["has the same key as"]);
}

/// Tables with a fault, the declaration, and the words of the error; to try another one, add a line.
#[test]
fn faults_of_a_table_are_placed_and_not_shown() {
    let query = format!("SELECT a.x, count(*) {FROM} GROUP BY a.x");
    let number = format!("SELECT sum(a.x) {FROM}");
    let flag = format!("SELECT count(*) {FROM} WHERE a.x");
    for (table, column, query, words) in [
        (
            "k,x\n1,Zq7\n2,\n",
            "x:label<=8",
            &query,
            "row 2 (line 3), column `x`: the value is empty",
        ),
        ("k,x\n1,Zq7\n2,y\n3,z\n", "x:label<=2", &query, "more than the 2 labels"),
        ("k,x\n1,Zq7\n", "x:{y,z}", &query, "not one of the labels"),
        (
            "k,x\n1,y\n2,Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7\n",
            "x:label<=8",
            &query,
            "more than 64 bytes",
        ),
        ("k,x\n1,Zq7\n", "x:integer", &number, "not a whole number"),
        ("k,x\n1,\n", "x:integer", &number, "--column 'spend:decimal(2)?'"),
        ("k,x\n1,Zq7\n", "x:boolean", &flag, "neither true nor false"),
    ] {
        let lab = lab();
        lab.write(Connecting, table);
        let [x, y] = lab.run(&["--query", query, "--column", column], &["--query", query]);
        x.assert(3, &[words]);
        assert!(!x.err.contains("Zq7") && !y.err.contains("Zq7"), "{}", x.err);
        assert_ne!(y.code, Some(0));
        lab.assert_clean();
    }
    let lab = lab();
    lab.write(Connecting, "k,x\n1,y\n1,z\n");
    let mine = ["--query", &query, "--column", "x:label<=8", "--repeated-keys"];
    let [x, _] = lab.run(&mine, &["--query", &query]);
    x.assert(3, &["row 2 (line 3) has the same key as row 1 (line 2), and another label"]);
}

/// Flags that one side cannot use, and its words; to try another one, add a line.
#[test]
fn queries_that_cannot_run_are_refused_at_once() {
    let lab = lab();
    let query = format!("SELECT sum(a.spend) {FROM}");
    let query = query.as_str();
    for (flags, words) in [
        (&["--query", "SELECT max(a.x) FROM a JOIN b USING (key)"][..], "line 1, column 8"),
        (&["--query", query], "declare it, as in --column spend:integer"),
        (&["--query", query, "--column", "spend"], "write a colon"),
        (
            &["--query", query, "--column", "spend:integer", "--column", "x:text"],
            "declare only columns that it uses",
        ),
        (&["--query", query, "--column", "nowhere:integer"], "declare it"),
        (&["--column", "spend:integer"], "--column requires --query"),
        (&["--repeated-keys"], "--repeated-keys requires --query"),
        (&["--query", query, "--answer", "count"], "exclude each other"),
        (&["--query", query, "--minimum", "5"], "exclude each other"),
        (
            &["--query", query, "--learns", "nobody", "--column", "spend:integer"],
            "requires a side that learns",
        ),
        (&["--query-file", "/nowhere.sql"], "the query cannot be read"),
    ] {
        let command = lab.command(Connecting, &["--connect", "localhost:1"], flags);
        Running::start(command).end().assert(2, &[words]);
    }
    let no_column = [
        "--query",
        "SELECT sum(a.nowhere) FROM a JOIN b USING (key)",
        "--column",
        "nowhere:integer",
    ];
    let command = lab.command(Connecting, &["--connect", "localhost:1"], &no_column);
    Running::start(command).end().assert(3, &["has no column `nowhere`"]);
}

/// Two sides whose queries or columns do not fit; to try another pair, add a line.
#[test]
fn sides_that_disagree_do_not_run() {
    let lab = lab();
    let query = format!("SELECT b.campaign, sum(a.spend) {FROM} GROUP BY b.campaign");
    let count = format!("SELECT count(*) {FROM}");
    let both =
        format!("SELECT a.country, b.campaign, count(*) {FROM} GROUP BY a.country, b.campaign");
    let asks = |query: &str, more: &[&str]| -> Vec<String> {
        ["--query", query].iter().chain(more).map(|s| (*s).to_owned()).collect()
    };
    for (mine, theirs, words) in [
        (asks(&query, &SPEND), asks(&count, &[]), "query (here: SELECT b.campaign"),
        (asks(&query, &SPEND), vec!["--answer".to_owned(), "count".to_owned()], "there: count"),
        (
            asks(&count, &["--query-side", "b"]),
            asks(&count, &["--query-side", "b"]),
            "table of the query (here: `b`; there: `b`)",
        ),
        (
            asks(&query, &["--column", "spend:text"]),
            asks(&query, &CAMPAIGN),
            "which is declared as `spend:text`",
        ),
        (
            asks(&both, &["--column", "country:label<=4"]),
            asks(&both, &CAMPAIGN),
            "list the labels of one side",
        ),
    ] {
        let [a, b] = [&mine, &theirs].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        let [x, _] = lab.run(&a, &b);
        x.assert(5, &[words]);
    }
}

/// Partitions change nothing, and neither does a journal.
#[test]
fn partitions_add_up() {
    let query = format!("SELECT b.campaign, count(*), sum(a.spend) {FROM} GROUP BY b.campaign");
    for learns in LEARNERS {
        let lab = lab();
        let [whole, other] = asked(&lab, &query, learns, &SPEND, &CAMPAIGN);
        let journals = [Connecting, Listening]
            .map(|party: Party| lab.file(party, "journal").to_str().unwrap().to_owned());
        let more = |journal| ["--partitions", "4", "--resume", journal];
        let mine = [&SPEND[..], &more(&journals[0])].concat();
        let theirs = [&CAMPAIGN[..], &more(&journals[1])].concat();
        let [parted, also] = asked(&lab, &query, learns, &mine, &theirs);
        assert_eq!((whole, other), (parted, also));
    }
}

/// A label of the other side that a spreadsheet would evaluate is counted, and escaped on request.
#[test]
fn labels_that_look_like_formulas_are_reported() {
    let query = format!("SELECT b.campaign, count(*) {FROM} GROUP BY b.campaign");
    for (more, label) in [(&[][..], "=1+1"), (&["--formulas", "escape"], "'=1+1")] {
        let lab = lab();
        lab.write(Listening, "k,campaign\nkey 1,=1+1\nkey 2,=1+1\n");
        let [found, _] = asked(&lab, &query, ["me", "peer"], more, &CAMPAIGN);
        assert_eq!(found.unwrap(), format!("b.campaign,count(*)\n{label},2\n"));
        let formulas = &lab.report(Connecting)["formulas"][0];
        assert_eq!((&formulas["column"], &formulas["values"]), (&json!("b.campaign"), &json!(1)));
    }
}

/// The answer has the format that its name promises.
#[test]
fn answers_have_every_format() {
    let lab = lab();
    let query = format!(
        "SELECT b.campaign AS c, count(*) AS n {FROM} GROUP BY b.campaign HAVING count(*) >= 40"
    );
    for ending in ["csv", "csv.gz", "ndjson", "parquet", "arrow", "arrows"] {
        let path = lab.path(&format!("answer.{ending}"));
        let mine = ["--output", path.to_str().unwrap()];
        let [_, none] = asked(&lab, &query, ["me", "peer"], &mine, &CAMPAIGN);
        assert!(none.is_none());
        let source = vesica::Source::File(path);
        let scan = source.open(vesica::files::Dialect::default()).unwrap().read().unwrap();
        let mut rows = Vec::new();
        let read = scan.rows(|row| {
            rows.push([0, 1].map(|at| String::from_utf8(row.field(at).to_vec()).unwrap()));
            Ok(())
        });
        read.unwrap();
        assert_eq!(
            rows,
            [["blue", "45"], ["green", "45"]].map(|row| row.map(str::to_owned)),
            "{ending}"
        );
    }
}

/// An invitation to a query, but for the query.
const INVITE: [&str; 10] = [
    "invite",
    "acme",
    "--address",
    "127.0.0.1:7788",
    "--key",
    "email",
    "--input",
    "customers.csv",
    "--learns",
    "both",
];

/// Its acceptance.
const ACCEPT: [&str; 7] =
    ["accept", "acme.invite", "--key", "mail", "--input", "members.csv", "--yes"];

/// From an invitation to an answer: each side declares its columns, and both see the query in words.
#[test]
fn an_agreement_has_a_query() {
    let projects = Projects::new(200);
    projects.succeeds(Side::Inviter, &["init"]);
    projects.succeeds(Side::Accepter, &["init"]);
    let query = format!("SELECT count(*), sum(a.n), sum(b.n) {FROM} HAVING count(*) >= 50");
    let invite = [&INVITE[..], &["--query", &query, "--column", "n:integer"]].concat();
    projects.succeeds(Side::Inviter, &invite);
    projects.send(Side::Inviter, "acme.invite");
    projects.ended(Side::Accepter, &ACCEPT).assert(2, &["declare it, as in --column n:integer"]);
    let accepted = projects
        .succeeds(Side::Accepter, &[&ACCEPT[..], &["--column", "n:integer[0..1000]"]].concat());
    accepted.assert(
        0,
        &[
            "the sum of the other side's `n`",
            "if there are at least 50 shared keys",
            "n:integer[0..1000]",
        ],
    );
    assert!(!accepted.err.contains("reveals numbers"), "{}", accepted.err);
    // Two answers could be subtracted.
    let again = |text: &&str| match *text {
        "acme" => "again".to_owned(),
        text => text.replace("acme.invite", "again.invite"),
    };
    let more = invite.iter().map(again).collect::<Vec<_>>();
    projects.succeeds(Side::Inviter, &more.iter().map(String::as_str).collect::<Vec<_>>());
    projects.send(Side::Inviter, "again.invite");
    let accept = ACCEPT.iter().map(again).chain(["--column", "n:integer"].map(str::to_owned));
    let accept = accept.collect::<Vec<_>>();
    let accepted =
        projects.succeeds(Side::Accepter, &accept.iter().map(String::as_str).collect::<Vec<_>>());
    let note = "the agreement `acme` reveals numbers about keys shared with this partner, too";
    accepted.assert(0, &[note]);
    projects.send(Side::Accepter, "acme.reply");
    projects.succeeds(Side::Inviter, &["confirm", "acme.reply", "--yes"]);
    projects.send(Side::Accepter, "again.reply");
    projects.succeeds(Side::Inviter, &["confirm", "again.reply", "--yes"]).assert(0, &[note]);
}

/// With the largest ε, the noise is larger than 20 with a probability below 2^-100.
#[test]
fn noise_hides_a_key_in_every_group() {
    let lab = lab();
    let query = format!("SELECT b.campaign, count(*), sum(a.spend) {FROM} GROUP BY b.campaign");
    let epsilon = ["--epsilon", "10"];
    let mine = [&["--column", "spend:decimal(2)[0..4]"], &epsilon[..]].concat();
    let theirs = [&["--column", "campaign:{blue,green,none}"], &epsilon[..]].concat();
    lab.write(Listening, lab_without("rare"));
    let [found, other] = asked(&lab, &query, ["both", "both"], &mine, &theirs);
    assert_eq!(found, other);
    let found = found.unwrap();
    let rows: Vec<Vec<&str>> = found.lines().skip(1).map(|row| row.split(',').collect()).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["blue", "green", "none"]);
    for (row, (count, sum)) in rows.iter().zip([(45.0, 112.27), (45.0, 112.28), (0.0, 0.0)]) {
        let [n, s] = [1, 2].map(|at| row[at].parse::<f64>().unwrap());
        assert!((n - count).abs() <= 20.0 && (s - sum).abs() <= 80.0, "{row:?}");
    }
    let learned = lab.report(Connecting)["learned"]["me"].clone();
    assert!(
        learned.as_str().unwrap().contains("with noise that hides any single key (ε = 10 in all)")
    );
    for (more, others, words) in [
        (&[][..], &["--column", "campaign:label<=8"][..], "noise hides no label"),
        (&["--repeated-keys"], &["--column", "campaign:{blue,green}"], "each key has one row"),
    ] {
        let theirs = [&["--query", &query], &epsilon[..], others].concat();
        let mine = [&["--query", &query][..], &mine, more].concat();
        lab.run(&mine, &theirs)[0].assert(5, &[words]);
    }
    let unbounded = ["--query", &query, "--epsilon", "10", "--column", "spend:decimal(2)"];
    let theirs = [&["--query", &query], &theirs[..]].concat();
    lab.run(&unbounded, &theirs)[0].assert(5, &["a.spend needs bounds"]);
}

/// The listening side's table without one of its campaigns.
fn lab_without(rare: &str) -> String {
    let lab = lab();
    let text = std::fs::read_to_string(lab.file(Listening, "in.csv")).unwrap();
    text.lines().filter(|line| !line.contains(rare)).map(|line| format!("{line}\n")).collect()
}

/// Rules about groups; to try another one, add a line.
#[test]
fn rules_limit_groups() {
    let projects = Projects::new(200);
    projects.succeeds(Side::Inviter, &["init"]);
    let query = format!("SELECT a.n, count(*) {FROM} GROUP BY a.n HAVING count(*) >= 50");
    let invite = [&INVITE[..], &["--query", &query, "--column", "n:label<=64"]].concat();
    for (rule, words) in [
        (["--min-cell", "51"], "min-cell requires that the query ends in HAVING count(*) >= 51"),
        (
            ["--min-result", "5"],
            "min-result requires a query that reveals the number of shared keys",
        ),
    ] {
        let ended = projects.ended(Side::Inviter, &[&invite[..], &rule].concat());
        ended.assert(2, &[words]);
    }
    let rules = ["--min-cell", "50", "--max-cells", "63"];
    projects.succeeds(Side::Inviter, &[&invite[..], &rules].concat());
    projects.succeeds(Side::Accepter, &["init"]);
    projects.send(Side::Inviter, "acme.invite");
    let ended = projects.ended(Side::Accepter, &ACCEPT);
    ended.assert(2, &["max-cells permits 63 groups, and the query has up to 64"]);
}

#[test]
fn a_plan_needs_the_columns_of_both_sides() {
    let query = format!("SELECT b.c, count(*), sum(a.v) {FROM} GROUP BY b.c HAVING count(*) >= 50");
    let mine = [
        "plan",
        "--mine",
        "2^20",
        "--theirs",
        "2^20",
        "--query",
        &query,
        "--column",
        "v:integer[0..9]",
    ];
    let planned = crate::harness::ended(&[&mine[..], &["--their-column", "c:label<=16"]].concat());
    planned.assert(0, &[]);
    assert!(planned.out.contains("rs21-circuit"), "{}", planned.out);
    crate::harness::ended(&mine).assert(2, &["does not declare b.c"]);
}
