//! Every combination of query, options, outcome and side, on every surface that describes what a run discloses: each
//! has the same facts. The test compares them with a table that is written independently of the code.

mod cases;

use std::{thread, time::Duration};

use vesica_agree::disclosed::Known;
use vesica_core::{
    moment::Moment,
    of_others::OfOthers,
    parties::{Learns, Role},
};
use vesica_keyset::counts::RowCounts;
use vesica_net::{Channel, Identity, transport::memory};
use vesica_partner::{
    entry::{Entry, LedgerEvent, LedgerHead},
    page,
    party::Party,
    record::{self, Facts, Statement},
    summary::Summary,
};
use vesica_run::report::Report;
use vesica_task::{
    disclosure::{
        words::{Names, Tense},
        *,
    },
    outcome::{Decimal, Outcome, QueryResult},
    query::Query,
};

use self::cases::{Case, case, cases};

/// Distinct keys of A and of B, and the number of shared ones.
const KEYS: [u64; 2] = [300, 1000];
const SHARED: u64 = 60;
const MINIMUM: u64 = 51;
const ROLES: [Role; 2] = [Role::A, Role::B];

/// Returns the assumptions of a case, in the words of this table.
fn assumed(case: &Case) -> Vec<&'static str> {
    let mut all = Vec::new();
    let (key, adversary) = case.method();
    all.push(match (key, adversary) {
        ("naive", _) => "insecure",
        (_, vesica_psi::Adversary::MaliciousSender) => "malicious-sender",
        (_, vesica_psi::Adversary::Malicious) => "malicious",
        _ => "semi-honest",
    });
    let query = case.query.name();
    let is_number = ["count", "sum", "products", "query"].contains(&query);
    for (assumption, is_one) in [
        ("shares", query == "shares"),
        ("sent-values", query == "join"),
        ("kept-back", case.rules.least > 0),
        ("digests", case.digests),
        ("few-keys", is_number && case.minimum == 0 && !case.noise),
        ("chosen-numbers", case.chooses(Role::A)),
        ("chosen-numbers", case.chooses(Role::B)),
        ("false-matches", case.by_rules > 0),
        ("single-rules", case.by_rules > 1 && query == "linked"),
        ("guessed-keys", true),
    ] {
        all.extend(is_one.then_some(assumption));
    }
    all
}

/// Returns the names of a disclosure's assumptions.
fn assumptions(account: &Disclosure) -> Vec<String> {
    let value = serde_json::to_value(&account.assuming).unwrap();
    let all = value.as_array().unwrap().iter();
    all.map(|assumption| assumption["assumption"].as_str().unwrap().to_owned()).collect()
}

/// Describes a fact in the words of the table.
fn worded(fact: &Fact, learner: Role) -> String {
    match fact {
        Fact::Matches { .. } => "matches".to_owned(),
        Fact::Identifiers => "identifiers".to_owned(),
        Fact::Rules { rules } => format!("{} rules", rules.len()),
        Fact::MatchingRows { .. } => "matching rows".to_owned(),
        Fact::SameRow => "same row".to_owned(),
        Fact::Columns { columns, rows } => format!("{}, {rows} rows", columns.join("+")),
        Fact::Number { of, minimum, noise, .. } => {
            let of = match of {
                Measure::Count => "count".to_owned(),
                Measure::Sum(owner) if *owner == learner => "sum of own".to_owned(),
                Measure::Sum(_) => "sum of other's".to_owned(),
                Measure::SumOfProducts => "products".to_owned(),
                Measure::AtLeast(keys) => format!("at least {keys}"),
            };
            let noise = noise.map_or("", |_| " with noise");
            format!("{of}{noise}{}", if *minimum > 0 { " unless too few" } else { "" })
        }
        Fact::Query { selection, .. } if selection.select().least() > 0 => {
            "query unless too few".to_owned()
        }
        Fact::Query { .. } => "query".to_owned(),
        Fact::ThresholdFirst { .. } => "threshold first".to_owned(),
        Fact::SharedKeys => "shared".to_owned(),
        Fact::Share => "share".to_owned(),
        Fact::SetSize { .. } => "size".to_owned(),
        Fact::KeyProfile => "profile".to_owned(),
    }
}

fn all_worded(disclosure: &Disclosure, role: Role) -> Vec<String> {
    disclosure.facts(role).iter().map(|fact| worded(fact, role)).collect()
}

/// Returns the report of a side after a run with this outcome.
fn report(case: &Case, role: Role, outcome: &Outcome) -> Report {
    let mut report = Report::begin();
    let (mine, peers) = (KEYS[role as usize], KEYS[role.other() as usize]);
    let terms = case.terms();
    report.role = Some(role);
    report.set_terms(&terms);
    let (key, adversary) = case.method();
    report.set_protocol(key, adversary);
    report.rows = Some(RowCounts { read: mine, null: 0, duplicate: 0, used: mine });
    report.items = Some(mine);
    report.peer_items = Some(peers);
    let is_known = case.learns(role) || case.query == Query::SHARES;
    report.outcome = if is_known { outcome.clone() } else { Outcome::default() };
    report.disclose([case.diagnose; 2], case.rules).unwrap();
    report
}

/// Asserts that this text contains every phrase of the disclosure.
#[track_caller]
fn says(text: &str, disclosure: &Disclosure, names: &Names, surface: &str) {
    let phrases = ROLES.map(|role| disclosure.learned(role, names)).concat();
    for phrase in phrases {
        assert!(text.contains(&phrase), "{surface} lacks `{phrase}`:\n{text}");
    }
}

#[test]
fn every_surface_has_the_facts_of_every_run() {
    let identities = [(); 2].map(|()| Identity::generate().unwrap());
    let cases = cases();
    assert!(cases.len() > 90);
    for case in cases {
        let terms = case.terms();
        // Before a run: invitations, agreements and previews.
        for reader in ROLES {
            let summary = Summary::new(terms.clone(), vec![case.policy()], reader);
            let before = summary.disclosure();
            for role in ROLES {
                assert_eq!(all_worded(&before, role), case.expected(role), "{case:?}");
            }
            let text = summary.disclosed().join("\n");
            says(&text, &before, &Names::of_reader(reader), "the agreement");
            assert_eq!(text.matches(" will learn ").count(), 3, "{text}");
        }
        for outcome in case.outcomes() {
            // After a run: the report in JSON and in words, and the ledger.
            let reports = ROLES.map(|role| report(&case, role, &outcome));
            for (role, report) in ROLES.into_iter().zip(&reports) {
                let account = report.disclosure.clone().unwrap();
                assert_eq!(assumptions(&account), assumed(&case), "{case:?}");
                let hides_keys = account.neither.contains(&Secret::KeysOfRules);
                assert_eq!(hides_keys, case.by_rules > 1, "{case:?}");
                for role in ROLES {
                    assert_eq!(all_worded(&account, role), case.expected(role), "{case:?}");
                }
                let json: serde_json::Value =
                    serde_json::from_str(&report.to_json().unwrap()).unwrap();
                assert_eq!(
                    serde_json::from_value::<Disclosure>(json["disclosure"].clone()).unwrap(),
                    account
                );
                let summary = report.summary(None).join("\n");
                says(&summary, &account, &Names::of_reader(role), "the summary");
                in_ledger(&account, role);
            }
            recorded(&case, &outcome, &reports, &identities);
        }
    }
}

fn in_ledger(account: &Disclosure, role: Role) {
    let event = LedgerEvent::Succeeded {
        run: 0,
        matches: None,
        disclosure: Some(Box::new(account.clone())),
        role: Some(role),
        learned: None,
        record: String::new(),
        peer_ledger: None,
    };
    let entry = Entry {
        number: 1,
        previous: String::new(),
        time: Moment::now(),
        agreement: String::new(),
        name: String::new(),
        peer: OfOthers::One(String::new()),
        owner: None,
        event,
    };
    let read: Entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
    assert_eq!(read, entry);
    // A line contains everything except the sizes, which are in the line of the beginning.
    let line = account.brief(role, &Names::of_reader(role));
    for learner in ROLES {
        for fact in account.facts(learner) {
            let is_size = matches!(fact, Fact::SetSize { .. });
            let phrase = fact.phrase(learner, &Names::of_reader(role));
            assert_eq!(line.contains(&phrase), !is_size, "{phrase}: {line}");
        }
    }
}

/// Checks the record that both sides sign, and its page.
fn recorded(case: &Case, outcome: &Outcome, reports: &[Report; 2], identities: &[Identity; 2]) {
    let both = case.learns == Learns::Both;
    let accounts = ROLES.map(|role| {
        let outcome = Some(outcome).filter(|_| both);
        reports[role as usize].disclosure_of([case.diagnose; 2], case.rules, outcome).unwrap()
    });
    assert_eq!(accounts[0], accounts[1], "both sides sign one account: {case:?}");
    let account = &accounts[0];
    for role in ROLES {
        assert_eq!(all_worded(account, role), case.expected(role), "{case:?}");
    }
    let (ends, agreed) = (memory::pair(), Moment::now());
    let records = thread::scope(|scope| {
        let ends = [ends.0, ends.1];
        let sides = ROLES.into_iter().zip(ends).map(|(role, end)| {
            let (me, peer) = (&identities[role as usize], &identities[role.other() as usize]);
            let facts = Facts {
                name: "acme".to_owned(),
                agreement: "0".repeat(64),
                terms: reports[0].terms.as_ref().unwrap(),
                matches: outcome.shared().filter(|_| both),
                disclosure: account.clone(),
                rules: case.policy(),
                agreed,
                protocol: case.method().0,
                security: case.method().1.name(),
                partitions: 1,
                attempts: None,
                peer_keys: KEYS[role.other() as usize],
            };
            let statement = Statement {
                party: me.into(),
                program: "1".to_owned(),
                keys: KEYS[role as usize],
                started: Moment::now(),
                ended: Moment::now(),
                ledger: LedgerHead::default(),
            };
            scope.spawn(move || {
                let mut channel = Channel::new(end).with_stall_timeout(Duration::from_secs(20));
                record::agree(facts, statement, me, &Party::from(peer), role, &mut channel)
            })
        });
        let sides: Vec<_> = sides.collect();
        sides.into_iter().map(|side| side.join().unwrap().unwrap()).collect::<Vec<_>>()
    });
    let read = vesica_partner::signed::Signed::<record::Record>::from_json(&records[0].to_json());
    assert_eq!(read.as_ref(), Ok(&records[1]));
    assert_eq!(read.unwrap().document().disclosure, *account);
    let page = page::of(&records[0], ["Acme", "Müller & Söhne"]);
    let names = Names::new("Acme", "Müller &amp; Söhne");
    says(&page.replace("&#39;", "'"), account, &names, "the page");
    for secret in account.secrets() {
        assert!(page.replace("&#39;", "'").contains(secret), "{secret}");
    }
    assert!(!page.contains("Side A") && !page.contains("this side"), "{page}");
    let exact = page.contains("<text x=\"320\" y=\"127\" text-anchor=\"middle\">60</text>");
    let shown = outcome.shared() == Some(SHARED);
    assert_eq!(
        exact,
        both && shown && !case.is_of_rows(),
        "the picture has the shared keys where both know them"
    );
    if both && shown && case.is_of_rows() {
        assert!(page.contains(" Rows that match: 60."), "{page}");
    }
    if exact {
        assert!(page.contains(">240</text>") && page.contains(">940</text>"), "{page}");
    }
    if case.protocol == Some("naive") {
        assert!(page.contains("Nothing enforces this") && !page.contains("none parties"), "{page}");
    }
}

/// An outcome that only one side knows is not in the disclosure that both sign.
#[test]
fn a_private_outcome_stays_private() {
    let case = Case { minimum: MINIMUM, ..case(Query::COUNT, Learns::Me) };
    for outcome in case.outcomes() {
        let known = Known { outcome: Some(&outcome), ..Known::default() };
        let told = case.terms().disclosure(known).sentence(
            Role::A,
            &Names::of_reader(Role::A),
            Tense::Past,
        );
        let report = report(&case, Role::A, &outcome);
        let shared = report.disclosure_of([false; 2], case.rules, None).unwrap();
        let other = report.disclosure_of([false; 2], case.rules, None).unwrap();
        assert_eq!(shared, other);
        let said = shared.sentence(Role::A, &Names::of_reader(Role::A), Tense::Past);
        assert_ne!(told, said);
        assert!(said.contains("(or only that the two sides share fewer than 51 keys)"), "{said}");
    }
}

#[test]
fn sentences_stay_clear_with_commas_inside() {
    let case = Case { noise: true, ..case(Query::COUNT, Learns::Me) };
    let noisy = Outcome {
        answer: Some(QueryResult::Noisy(Decimal { number: 55, scale: 0 })),
        ..Outcome::default()
    };
    let learned = report(&case, Role::A, &noisy).learned.unwrap();
    assert_eq!(
        learned.me,
        "This side learned how many keys the two sides share, with noise that hides any single key (ε = 0.5); how many \
         keys the other side has (1,000); and nothing else."
    );
    assert_eq!(
        learned.peer,
        "The other side learned how many keys this side has (300) and nothing else."
    );
}
