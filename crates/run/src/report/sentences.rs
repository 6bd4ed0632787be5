//! Every sentence of a report and its summary, in a file that a person can read.
//!
//! The test compares `tests/report_sentences.txt` with the sentences that the code produces. After a change, read the
//! output of the test, and renew the file with `VESICA_RENEW_SENTENCES=1 cargo test -p vesica-run --lib sentences`.

use std::{fmt::Write, path::Path};

use vesica_agree::{
    disclosed::MatchRules,
    offer::{Offer, WireOffer},
    terms::Terms,
};
use vesica_core::parties::{Learns, Parties, Role, Security};
use vesica_keyset::counts::RowCounts;
use vesica_net::AbortReason;
use vesica_normalize::normalize::Normalize;
use vesica_psi::{
    Adversary, Sizes,
    aggregate::{self, Aggregate, Method, Output, shares::SHARING},
};
use vesica_table::sent_columns::SentColumns;
use vesica_task::{
    aggregates::Number,
    disclosure::{Fact, Measure},
    outcome::Outcome,
    query::Query,
};

use super::Report;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report_sentences.txt");

/// Distinct keys of A and of B.
const KEYS: [u64; 2] = [300, 1000];

/// Keys that both have.
const SHARED: u64 = 10;

/// A run whose every outcome is put into words.
struct Run {
    query: Query,
    protocol: &'static str,
    adversary: Adversary,
    /// The sides that learn, from A's point of view.
    learns: Learns,
    required: Security,
    minimum: u64,
    /// Whether each side contributes values.
    brings: [bool; 2],
    /// The maximum number of rows per key sent in a join.
    pub rows: u32,
}

impl Run {
    fn new(query: Query, protocol: &'static str, adversary: Adversary, learns: Learns) -> Self {
        let required = Security::SemiHonest;
        Self {
            query,
            protocol,
            adversary,
            learns,
            required,
            minimum: 0,
            brings: [false; 2],
            rows: 1,
        }
    }

    fn offer(&self, role: Role) -> Offer {
        let learns = match (self.learns, role) {
            (Learns::Me, Role::B) => Learns::Peer,
            (learns, _) => learns,
        };
        Offer {
            query: self.query.clone(),
            protocol: Some(self.protocol.to_owned()),
            allow_research: true,
            security: self.required,
            minimum: self.minimum,
            brings_values: self.brings[role as usize],
            sends: (self.query == Query::JOIN && role == Role::B).then(|| sent(self.rows)),
            ..Offer::new(vec![Normalize::NONE], learns)
        }
    }

    fn terms(&self) -> Terms {
        let [a, b] = [Role::A, Role::B].map(|role| WireOffer::new(&self.offer(role), role));
        let parties = Parties { role: Role::A, me: "a".into(), peer: "b".into() };
        Terms::merge(&a, &b, &parties).unwrap()
    }

    fn title(&self, role: Role) -> String {
        let side = |role| if role == Role::A { "A" } else { "B" };
        let who = match self.learns {
            Learns::Me => "A learns",
            Learns::Both => "both learn",
            _ => "nobody learns",
        };
        let held = match self.minimum {
            0 => String::new(),
            n => format!(", minimum {n}"),
        };
        let values = match self.brings {
            [true, true] => ", values of both",
            [true, false] => ", values of A",
            [false, true] => ", values of B",
            [false, false] => "",
        };
        let query = self.query.describe();
        format!("{query}{held}{values}, {}, {who}; shown to {}", self.protocol, side(role))
    }

    /// Returns a report of this run as far as it does not depend on the outcome.
    fn report(&self, terms: &Terms, role: Role) -> Report {
        let (mine, peers) = match role {
            Role::A => (KEYS[0], KEYS[1]),
            Role::B => (KEYS[1], KEYS[0]),
        };
        let mut report = Report::begin();
        report.role = Some(role);
        report.set_terms(terms);
        report.set_protocol(self.protocol, self.adversary);
        let (null, duplicate) = (2, if role == Role::A { 5 } else { 0 });
        let read = mine + null + duplicate;
        report.rows = Some(RowCounts { read, null, duplicate, used: mine });
        (report.seconds, report.bytes_sent, report.bytes_received) = (1.5, 25_000, 1_230_000);
        report.items = Some(mine);
        report.peer_items = Some(peers);
        report
    }
}

/// Returns the columns that B sends in a join.
fn sent(rows: u32) -> SentColumns {
    SentColumns { columns: vec!["tier".to_owned(), "city".to_owned()], bytes: 64, rows }
}

fn disclose(report: &mut Report) {
    report.disclose([false; 2], MatchRules::default()).unwrap();
}

const ROLES: [Role; 2] = [Role::A, Role::B];

fn show(text: &mut String, title: &str, report: &Report) {
    let output = Path::new("out.csv");
    let lines = report.summary(Some(output)).join("\n    ");
    writeln!(text, "{title}\n    {lines}\n").unwrap();
}

/// Writes runs for rows, with a protocol of each kind.
fn queries_for_rows(text: &mut String) {
    let protocols =
        ["rr22", "cm20-malicious-sender", "rr22-malicious", "naive"].map(vesica_psi::find);
    for protocol in protocols.map(Option::unwrap) {
        for learns in [Learns::Me, Learns::Both] {
            for required in [Security::SemiHonest, Security::Malicious] {
                if protocol.adversary < required.adversary() && required == Security::Malicious {
                    continue;
                }
                let key = protocol.key;
                let run =
                    Run { required, ..Run::new(Query::ROWS, key, protocol.adversary, learns) };
                let terms = run.terms();
                for role in ROLES {
                    let mut report = run.report(&terms, role);
                    let matches = terms.learns(role).then_some(SHARED);
                    let rows_written = matches.map(|n| n + 1);
                    report.outcome = Outcome { matches, rows_written, ..Outcome::default() };
                    disclose(&mut report);
                    let title = format!("{}, {} required", run.title(role), required.name());
                    show(text, &title, &report);
                }
            }
        }
    }
}

/// Writes joins, with a protocol of each kind.
fn queries_for_joins(text: &mut String) {
    for (protocol, rows) in [("rr22", 1), ("rr22", 3), ("rr22-malicious", 1)] {
        let protocol = vesica_psi::find(protocol).unwrap();
        let run =
            Run { rows, ..Run::new(Query::JOIN, protocol.key, protocol.adversary, Learns::Me) };
        let terms = run.terms();
        for role in ROLES {
            for unreadable in if terms.learns(role) { vec![0, 1] } else { vec![0] } {
                let mut report = run.report(&terms, role);
                let matches = terms.learns(role).then_some(SHARED);
                let (rows_written, unreadable) =
                    (matches.map(|n| n + 1), matches.map(|_| unreadable));
                report.outcome =
                    Outcome { matches, rows_written, unreadable, ..Outcome::default() };
                disclose(&mut report);
                show(text, &run.title(role), &report);
            }
        }
    }
}

/// Returns every answer that a side can receive to a query.
fn answers(aggregate: Aggregate, minimum: u64) -> Vec<Output> {
    let told = match aggregate {
        Aggregate::Count => vec![Output::Count(SHARED)],
        Aggregate::AtLeast(_) => vec![Output::AtLeast(true), Output::AtLeast(false)],
        _ => vec![Output::Sum(-123456)],
    };
    let too_few = (minimum > 0).then_some(Output::TooFew);
    told.into_iter().chain(too_few).collect()
}

/// Writes runs for an answer, with every method that gives it.
fn queries_for_numbers(text: &mut String) {
    let none = [false, false];
    let queries = [
        (Query::COUNT, Number::Count, none),
        (Query::SUM, Number::Sum, [true, false]),
        (Query::SUM, Number::Sum, [false, true]),
        (Query::PRODUCTS, Number::Products, [true, true]),
        (Query::at_least(5), Number::AtLeast, none),
        (Query::at_least(1), Number::AtLeast, none),
    ];
    for (query, number, brings) in queries {
        for (method, minimum) in aggregate::METHODS.iter().copied().flat_map(|m| [(m, 0), (m, 3)]) {
            for learns in [Learns::Me, Learns::Both] {
                let run = Run {
                    minimum,
                    brings,
                    ..Run::new(query.clone(), method.key, method.adversary, learns)
                };
                let terms = run.terms();
                let sizes = Sizes { sender: 0, receiver: 0 };
                let asked = number.query(&terms.request(sizes));
                if (method.supports)(asked.aggregate, minimum) {
                    let computed = (number, method, asked);
                    ROLES.iter().for_each(|role| outcomes(text, &run, computed, &terms, *role));
                }
            }
        }
    }
}

fn outcomes(
    text: &mut String,
    run: &Run,
    (number, method, query): (Number, &Method, aggregate::Query),
    terms: &Terms,
    role: Role,
) {
    let aggregate = query.aggregate;
    let told = match terms.learns(role) {
        true => answers(aggregate, run.minimum).into_iter().map(Some).collect(),
        false => vec![None],
    };
    for answer in told {
        let mut report = run.report(terms, role);
        // Products have twice as many decimal places as their factors.
        let scale = if number == Number::Products { 1 } else { 2 };
        let result = answer.map(|answer| number.result(answer, scale));
        report.outcome = Outcome { answer: result, ..Outcome::default() };
        disclose(&mut report);
        is_as_the_method_says(&report, method, aggregate, terms.receiver() == role);
        show(text, &run.title(role), &report);
    }
}

/// Asserts that if a method shows a party a size besides the answer, this size is among that party's facts only.
fn is_as_the_method_says(report: &Report, method: &Method, aggregate: Aggregate, receives: bool) {
    let said = (method.learns)(aggregate);
    let (mine, peers) =
        if receives { (said.receiver, said.sender) } else { (said.sender, said.receiver) };
    if method.key != "dh-count" {
        let (role, disclosure) = (report.role.unwrap(), report.disclosure.as_ref().unwrap());
        for (facts, said) in [(role, mine), (role.other(), peers)] {
            let facts = disclosure.facts(facts);
            let shows = said.contains("the size of the intersection");
            let is_answer = |fact: &Fact| matches!(fact, Fact::Number { of: Measure::Count, .. });
            let is_among = facts.contains(&Fact::SharedKeys) || facts.iter().any(is_answer);
            assert!(is_among || !shows, "{said}: {facts:?}");
            assert!(shows || !facts.contains(&Fact::SharedKeys), "{said}: {facts:?}");
        }
    }
}

fn queries_for_shares(text: &mut String) {
    for brings in [[false, false], [true, true]] {
        let run = Run {
            brings,
            ..Run::new(Query::SHARES, SHARING.key, SHARING.adversary, Learns::Nobody)
        };
        let terms = run.terms();
        for role in ROLES {
            let mut report = run.report(&terms, role);
            report.outcome = Outcome { bins_written: Some(397), ..Outcome::default() };
            disclose(&mut report);
            show(text, &run.title(role), &report);
        }
    }
}

/// Writes this side's messages after the other one stopped.
fn reasons(text: &mut String) {
    use AbortReason::{
        Agreement, Busy, Cancelled, Input, Internal, Misbehaviour, Output, Policy, Terms,
    };
    text.push_str("the other side stopped\n");
    for reason in [Input, Output, Terms, Policy, Busy, Cancelled, Misbehaviour, Internal, Agreement]
    {
        writeln!(text, "    {}", vesica_net::Error::Aborted { phase: "read", reason }).unwrap();
    }
}

#[test]
fn sentences_are_those_that_were_read() {
    let mut text = String::new();
    queries_for_rows(&mut text);
    queries_for_joins(&mut text);
    queries_for_numbers(&mut text);
    queries_for_shares(&mut text);
    reasons(&mut text);
    if std::env::var_os("VESICA_RENEW_SENTENCES").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let read = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut both = read.lines().zip(text.lines()).enumerate();
    let changed = both.find(|(_, (read, now))| read != now);
    assert!(read == text, "the sentences have changed, first here: {changed:#?}");
}
