//! HTML pages for readers who did not take part: of a record, with what was compared and what each side learned and did
//! not learn, and of a whole ledger.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use vesica_core::{
    moment::Moment,
    parties::Role,
    words::{counted, grouped},
};
use vesica_normalize::{normalize::TravellingName, shown::shown};
use vesica_task::disclosure::{
    Fact,
    words::{Names, Tense},
};

use super::{
    entry::Entry,
    policy::Policy,
    record::{Record, Statement, joint::JointRecord},
    signed::Signed,
};

/// The page's style. Colours have a contrast of at least 4.5 : 1 on their ground, light and dark.
const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--ink:#1c2330;--soft:#4d586b;--line:#c9d0db;--a:#1f5fbf;--b:#b3541e}\
@media(prefers-color-scheme:dark){:root{--ground:#12161d;--ink:#e8ecf2;--soft:#a9b4c4;--line:#3a4454;--a:#7db0ff;--b:#ffa873}}\
body{margin:0 auto;max-width:46rem;padding:2rem 1.25rem 4rem;background:var(--ground);color:var(--ink);\
font:1rem/1.55 system-ui,sans-serif}\
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2.2rem 0 .5rem}\
p{margin:.5rem 0}.soft{color:var(--soft)}svg{display:block;width:100%;height:auto;margin:1.5rem 0}\
text{fill:var(--ink);font:600 15px system-ui,sans-serif}text.small{fill:var(--soft);font-weight:400;font-size:13px}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;\
border-bottom:1px solid var(--line)}th{font-weight:600;width:14rem}.wide th{width:auto}.wide td{overflow-wrap:normal}.wide td:nth-child(4){white-space:nowrap}td{overflow-wrap:anywhere}\
code{font:.85rem/1.5 ui-monospace,monospace}ul{padding-left:1.2rem}\
@media print{body{max-width:none;padding:0}h2{break-after:avoid}table,svg{break-inside:avoid}}\
@media(max-width:34rem){th,td{display:block;width:auto;border:0;padding:.1rem 0}td{border-bottom:1px solid var(--line);\
padding-bottom:.4rem}}";

/// Returns the page of this record, whose signatures are valid. The sides have these names, the connecting one first.
pub fn of(record: &Signed<Record>, names: [&str; 2]) -> String {
    let hash = record.hash();
    let record = record.document();
    let [a, b] = names;
    let names = Names::new(a, b);
    let sides = [Role::A, Role::B].map(|role| (escaped(&names.capital(role)), role));
    let day = record.a.started.to_string();
    let day = day.split('T').next().unwrap_or_default();
    let title = format!("What {} and {} compared on {day}", escaped(a), escaped(b));
    let learned: String = sides
        .iter()
        .map(|(name, role)| {
            let facts = record.disclosure.learned(*role, &names);
            format!("<h2>{name} learned</h2>\n{}", list(facts.iter().map(String::as_str)))
        })
        .collect();
    let assumptions = record.disclosure.assumptions(&names, Tense::Past);
    let keys = keys(record, &names);
    let [of_a, of_b] = sides.map(|(name, role)| (name, side(statement(record, role))));
    let rows = [
        ("Agreement".to_owned(), agreement(&record.name, record.agreed, &record.agreement)),
        of_a,
        of_b,
        ("Keys".to_owned(), escaped(&keys)),
        ("Rules".to_owned(), rules(&record.rules)),
        ("Protocol".to_owned(), protocol(record)),
        ("Terms".to_owned(), format!("<code>{}</code>", escaped(&record.terms))),
        ("Session".to_owned(), format!("<code>{}</code>", escaped(&record.session))),
        ("This record".to_owned(), format!("SHA-256 <code>{hash}</code>")),
    ];
    let rows = table_rows(&rows);
    let body = format!(
        "<p class=\"soft\">Both parties signed this record, and both signatures are valid.</p>\n\
         <p>{summary}</p>\n{picture}\n{learned}\
         <h2>Neither side learned</h2>\n{not_learned}\
         <h2>Assumptions</h2>\n{assuming}\
         <h2>Details</h2>\n<table>\n<tbody>\n{rows}</tbody>\n</table>\n\
         <h2>How to check it</h2>\n<p>This page was made from the file of the record. With this file and the two \
         fingerprints, anyone can check the signatures with <code>vesica verify RECORD --with {print_a} --with {print_b}</code>.</p>\n",
        summary = escaped(&summary(record, &names)),
        picture = picture(record, &names),
        not_learned = list(record.disclosure.secrets().into_iter()),
        assuming = list(assumptions.iter().map(String::as_str)),
        print_a = fingerprint(&record.a),
        print_b = fingerprint(&record.b),
    );
    document(&title, &body)
}

/// Returns the page of the record of a run among several parties, whose signatures are valid.
pub fn of_joint(record: &Signed<JointRecord>) -> String {
    let hash = record.hash();
    let record = record.document();
    let parties = || record.cast.parties.iter().map(|party| party.name.as_str());
    let all = parties().collect::<Vec<_>>().join(", ");
    let day = record.statements.first().map(|first| first.started.to_string()).unwrap_or_default();
    let day = day.split('T').next().unwrap_or_default();
    let title = format!("What {} compared on {day}", escaped(&all));
    let lines = record.lines();
    let agreement = agreement(&record.name, record.agreed, &record.agreement);
    let mut rows = vec![("Agreement".to_owned(), agreement)];
    let of_parties = parties().zip(&record.statements);
    rows.extend(of_parties.map(|(name, statement)| (escaped(name), side(statement))));
    rows.extend([
        ("Rules".to_owned(), rules(&record.rules)),
        (
            "Protocol".to_owned(),
            format!(
                "<code>{}</code>, security {}, {}",
                escaped(&record.protocol),
                escaped(&record.security),
                counted(record.partitions, "partition")
            ),
        ),
        ("Terms".to_owned(), format!("<code>{}</code>", escaped(&record.terms))),
        ("Session".to_owned(), format!("<code>{}</code>", escaped(&record.session))),
        ("This record".to_owned(), format!("SHA-256 <code>{hash}</code>")),
    ]);
    let rows = table_rows(&rows);
    let with: String =
        record.statements.iter().map(|side| format!(" --with {}", fingerprint(side))).collect();
    let body = format!(
        "<p class=\"soft\">All parties signed this record, and all signatures are valid.</p>\n\
         <h2>What the parties learned</h2>\n{learned}\
         <h2>Details</h2>\n<table>\n<tbody>\n{rows}</tbody>\n</table>\n\
         <h2>How to check it</h2>\n<p>This page was made from the file of the record. With this file and the fingerprints, \
         anyone can check the signatures with <code>vesica verify RECORD{with}</code>.</p>\n",
        learned = list(lines.iter().map(String::as_str)),
    );
    document(&title, &body)
}

/// Describes an agreement of this name and hash.
fn agreement(name: &str, accepted: Moment, hash: &str) -> String {
    format!("{}, accepted {accepted} <code>{}</code>", escaped(name), escaped(hash))
}

/// Describes the rules of an agreement.
fn rules(policy: &Policy) -> String {
    match policy.sentences() {
        said if said.is_empty() => "none".to_owned(),
        said => escaped(&said.join("; ")),
    }
}

/// Returns rows with a head and a cell each, which are escaped already.
fn table_rows(rows: &[(String, String)]) -> String {
    let row = |(head, cell): &(String, String)| {
        format!("<tr><th scope=\"row\">{head}</th><td>{cell}</td></tr>\n")
    };
    rows.iter().map(row).collect()
}

/// Returns a whole page with this title, which is escaped already, and this content.
fn document(title: &str, body: &str) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// Returns the page of a ledger whose lines are all its owner's: a row for each run, and for each other event. `name`
/// returns the name of a party for its fingerprint.
pub fn of_ledger(entries: &[Entry], owner: &str, name: &dyn Fn(&str) -> String) -> String {
    let title = format!("Runs of {}", escaped(owner));
    // Entries ascend, so the last one of a run remains.
    let ends: HashMap<u64, &Entry> =
        entries.iter().filter_map(|entry| Some((entry.event.run()?, entry))).collect();
    let rows: String = entries
        .iter()
        .filter(|entry| entry.event.run().is_none())
        .map(|first| {
            let last = ends.get(&first.number).copied().unwrap_or(first);
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                first.time.to_string().replace('T', " "),
                escaped(&first.name),
                escaped(&first.peer.iter().map(|peer| name(peer)).collect::<Vec<_>>().join(", ")),
                escaped(last.event.word()),
                escaped(&[first, last].map(|entry| entry.event.sentence()).join("; "))
            )
        })
        .collect();
    let lines = counted(entries.len() as u64, "line");
    let body = format!(
        "<p class=\"soft\">Made from a ledger of {lines}, whose signatures and order are valid.</p>\n\
         <table class=\"wide\">\n<thead>\n<tr><th scope=\"col\">Began</th><th scope=\"col\">Agreement</th>\
         <th scope=\"col\">Partner</th><th scope=\"col\">Ended</th><th scope=\"col\">What happened</th></tr>\n</thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n"
    );
    document(&title, &body)
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: String = items.map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

fn statement(record: &Record, role: Role) -> &Statement {
    match role {
        Role::A => &record.a,
        Role::B => &record.b,
    }
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn fingerprint(side: &Statement) -> String {
    side.party.fingerprint().to_string()
}

fn side(side: &Statement) -> String {
    format!(
        "<code>{}</code><br>{} distinct keys; program version {}; from {} to {}; its ledger had {}, the newest \
         <code>{}</code>",
        fingerprint(side),
        grouped(side.keys),
        escaped(&side.program),
        side.started,
        side.ended,
        counted(side.ledger.lines, "line"),
        escaped(&side.ledger.hash),
    )
}

/// Describes the profiles of the keys of both sides.
fn keys(record: &Record, names: &Names) -> String {
    let of = |profiles: &[TravellingName]| {
        profiles.iter().map(TravellingName::as_str).collect::<Vec<_>>().join(", ")
    };
    let [a, b] = [of(&record.keys_of_a), of(&record.keys_of_b)];
    let said = match a == b {
        true => a,
        false => format!("{a} at {}, {b} at {}", names.of(Role::A), names.of(Role::B)),
    };
    match record.identifiers.len() {
        0 => said,
        several => format!("{said}; {several} identifiers, and any of them may match"),
    }
}

fn summary(record: &Record, names: &Names) -> String {
    let shared = match record.matches {
        Some(rows) if counts_rows(record) => {
            format!(" Rows that match: {}.", grouped(rows))
        }
        Some(matches)
            if record.identifiers.is_empty()
                && !has_fact(record, |fact| matches!(fact, Fact::Rules { .. })) =>
        {
            format!(" They share {}.", counted(matches, "key"))
        }
        Some(matches) => {
            format!(" They share {}; a row may have several of them.", counted(matches, "key"))
        }
        None => String::new(),
    };
    format!(
        "{} compared {} with {} of {}. Neither showed the other its table.{shared}",
        names.capital(Role::A),
        counted(record.a.keys, "key"),
        counted(record.b.keys, "key"),
        names.of(Role::B)
    )
}

/// Returns whether the number of matches is one of rows, because rules make the keys.
fn counts_rows(record: &Record) -> bool {
    has_fact(record, |fact| matches!(fact, Fact::Number { rows_of: Some(_), .. }))
}

fn has_fact(record: &Record, is_one: fn(&Fact) -> bool) -> bool {
    record.disclosure.facts(Role::A).iter().any(is_one)
}

fn protocol(record: &Record) -> String {
    let partitions = match record.partitions {
        1 => String::new(),
        partitions => format!(", in {} partitions", grouped(partitions)),
    };
    let security = match record.security.as_str() {
        "none" => "insecure".to_owned(),
        adversary => format!("secure against {adversary} parties"),
    };
    format!(
        "{}, {}{partitions}; wire version {}",
        escaped(&record.protocol),
        escaped(&security),
        record.wire_version
    )
}

/// Draws two overlapping circles, one for each set. The picture shows the idea and is not to scale. Its parts have
/// numbers if both sides know how many keys are shared.
fn picture(record: &Record, names: &Names) -> String {
    let sides = [(Role::A, 135, "end"), (Role::B, 505, "start")];
    let keys = |role| counted(statement(record, role).keys, "key");
    let mut text = String::new();
    for (role, x, anchor) in sides {
        text += &format!(
            "<text x=\"{x}\" y=\"40\" text-anchor=\"{anchor}\">{}</text>\n\
             <text class=\"small\" x=\"{x}\" y=\"60\" text-anchor=\"{anchor}\">{}</text>\n",
            escaped(&shortened(&names.capital(role))),
            keys(role)
        );
    }
    let spoken = match record.matches.filter(|_| !counts_rows(record)) {
        None => {
            for (y, words) in [(127, "not known"), (147, "to both")] {
                text += &format!(
                    "<text class=\"small\" x=\"320\" y=\"{y}\" text-anchor=\"middle\">{words}</text>\n"
                );
            }
            "the number of shared keys is not known to both".to_owned()
        }
        Some(shared) => {
            let only = |role| grouped(statement(record, role).keys.saturating_sub(shared));
            for (x, number, what) in [
                (205, only(Role::A), "only here"),
                (320, grouped(shared), "shared"),
                (435, only(Role::B), "only here"),
            ] {
                text += &format!(
                    "<text x=\"{x}\" y=\"127\" text-anchor=\"middle\">{number}</text>\n\
                     <text class=\"small\" x=\"{x}\" y=\"147\" text-anchor=\"middle\">{what}</text>\n"
                );
            }
            format!("{} shared", grouped(shared))
        }
    };
    format!(
        "<svg viewBox=\"0 0 640 260\" role=\"img\" aria-label=\"Two overlapping circles: {a} of {name_a}, {b} of {name_b}, \
         {spoken}\">\n\
         <circle cx=\"250\" cy=\"130\" r=\"115\" fill=\"none\" stroke=\"var(--a)\" stroke-width=\"3\"/>\n\
         <circle cx=\"390\" cy=\"130\" r=\"115\" fill=\"none\" stroke=\"var(--b)\" stroke-width=\"3\"/>\n{text}</svg>",
        a = keys(Role::A),
        b = keys(Role::B),
        name_a = escaped(names.of(Role::A)),
        name_b = escaped(names.of(Role::B)),
    )
}

/// Shortens a name to fit into the picture.
fn shortened(name: &str) -> String {
    const ROOM: usize = 16;
    match name.char_indices().nth(ROOM) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}
