//! A record as a page for people who were not there: what was compared, and what each side learned and did not.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use vesica_keys::shown::shown;

use super::{
    record::{Record, Statement, word},
    signed::Signed,
};
use crate::words::{counted, grouped};

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
border-bottom:1px solid var(--line)}th{font-weight:600;width:14rem}td{overflow-wrap:anywhere}\
code{font:.85rem/1.5 ui-monospace,monospace}ul{padding-left:1.2rem}\
@media print{body{max-width:none;padding:0}h2{break-after:avoid}table,svg{break-inside:avoid}}\
@media(max-width:34rem){th,td{display:block;width:auto;border:0;padding:.1rem 0}td{border-bottom:1px solid var(--line);\
padding-bottom:.4rem}}";

/// The page of this record, whose signatures hold.
pub fn of(record: &Signed<Record>) -> String {
    let hash = record.hash();
    let record = record.document();
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    let [a, b] = [name(&record.a), name(&record.b)];
    let day = record.a.started.to_string();
    let day = day.split('T').next().unwrap_or_default();
    let title = format!("What two parties compared on {day}");
    let rows = [
        (
            "Agreement",
            format!("{} <code>{}</code>", escaped(&record.name), escaped(&record.agreement)),
        ),
        ("Side A", side(&record.a)),
        ("Side B", side(&record.b)),
        ("Question", escaped(&question(record))),
        ("Protocol", protocol(record)),
        ("Terms", format!("<code>{}</code>", escaped(&record.terms))),
        ("Session", format!("<code>{}</code>", escaped(&record.session))),
        ("This record", format!("SHA-256 <code>{hash}</code>")),
    ];
    let rows: String = rows
        .iter()
        .map(|(head, cell)| format!("<tr><th scope=\"row\">{head}</th><td>{cell}</td></tr>\n"))
        .collect();
    let list = |items: Vec<String>| -> String {
        items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect()
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"soft\">Both parties signed this record, and both signatures hold.</p>\n\
         <p>{summary}</p>\n{picture}\n\
         <h2>Side A learned</h2>\n<ul>\n{a_learned}</ul>\n<h2>Side B learned</h2>\n<ul>\n{b_learned}</ul>\n\
         <h2>Neither side learned</h2>\n<ul>\n{not_learned}</ul>\n\
         <h2>What this rests on</h2>\n<p>{assuming}</p>\n\
         <h2>Details</h2>\n<table>\n<tbody>\n{rows}</tbody>\n</table>\n\
         <h2>How to check it</h2>\n<p>The record is a file that this page was made from. Whoever has it and the two \
         fingerprints can check the signatures with <code>vesica verify RECORD --with {a} --with {b}</code>.</p>\n\
         </main>\n</body>\n</html>\n",
        summary = escaped(&summary(record)),
        picture = picture(record),
        a_learned = list(learned(record, record.a_learned, &record.b, "B")),
        b_learned = list(learned(record, record.b_learned, &record.a, "A")),
        not_learned = list(not_learned(record)),
        assuming = escaped(&assuming(record)),
    )
}

/// Text as HTML shows it.
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

fn name(side: &Statement) -> String {
    side.party.fingerprint().to_string()
}

fn side(side: &Statement) -> String {
    format!(
        "<code>{}</code><br>{} distinct keys; program version {}; from {} to {}; its ledger had {}, the newest \
         <code>{}</code>",
        name(side),
        grouped(side.keys),
        escaped(&side.program),
        side.started,
        side.ended,
        counted(side.ledger.lines, "line"),
        escaped(&side.ledger.hash),
    )
}

/// What was to be found out, as a noun.
fn question(record: &Record) -> String {
    match word(&record.query).unwrap_or_default() {
        "rows" => "which keys both sides have".to_owned(),
        "join" => format!(
            "which keys both sides have, and for these the columns {}",
            record.columns_sent.join(", ")
        ),
        "count" => "how many keys both sides have".to_owned(),
        "sum" => "the sum of a column over the keys that both sides have".to_owned(),
        "products" => {
            "the sum of products of two columns over the keys that both sides have".to_owned()
        }
        "at-least" => {
            "whether both sides have at least an agreed number of keys in common".to_owned()
        }
        "shares" => "secret shares, for a later computation; they tell nobody anything".to_owned(),
        other => other.to_owned(),
    }
}

fn summary(record: &Record) -> String {
    let shared = match record.matches {
        Some(matches) => format!(" They share {}.", grouped(matches)),
        None => String::new(),
    };
    format!(
        "Side A compared {} keys with {} keys of side B. Neither showed the other its table. The question was {}.{shared}",
        grouped(record.a.keys),
        grouped(record.b.keys),
        question(record),
    )
}

/// What a side learned.
fn learned(record: &Record, result: bool, other: &Statement, of: &str) -> Vec<String> {
    let size = format!("how many distinct keys side {of} has: {}", grouped(other.keys));
    match result {
        true => vec![question(record), size],
        false => vec![size],
    }
}

fn not_learned(record: &Record) -> Vec<String> {
    let is_rows = !record.columns_sent.is_empty() || record.query == "rows";
    let mut said = vec!["any key of the other side that it does not have itself".to_owned()];
    if is_rows {
        let what = match record.columns_sent.is_empty() {
            true => "any other column of the other side's table",
            false => "any column of the other side's table but those named above",
        };
        said.push(what.to_owned());
    } else {
        said.push("which of its keys the other side has".to_owned());
    }
    said
}

fn assuming(record: &Record) -> String {
    match record.security.as_str() {
        "malicious" => {
            "This holds even if one side deviates from the protocol in any way. A side may put guessed keys into its \
             table, and learns the result for those too."
        }
        _ => {
            "This holds if both sides followed the protocol. A side may put guessed keys into its table, and learns \
             the result for those too."
        }
    }
    .to_owned()
}

fn protocol(record: &Record) -> String {
    let partitions = match record.partitions {
        1 => String::new(),
        partitions => format!(", in {} partitions", grouped(partitions)),
    };
    format!(
        "{}, secure against {} parties{partitions}; wire version {}",
        escaped(&record.protocol),
        escaped(&record.security),
        record.wire_version
    )
}

/// Two overlapping circles, one for each set. It is a picture of the idea, not to scale.
fn picture(record: &Record) -> String {
    let [a, b] = [grouped(record.a.keys), grouped(record.b.keys)];
    let (shared, spoken) = match record.matches {
        Some(matches) => (grouped(matches), format!("{} shared", grouped(matches))),
        None => ("shared".to_owned(), "the shared keys".to_owned()),
    };
    format!(
        "<svg viewBox=\"0 0 640 260\" role=\"img\" aria-label=\"Two overlapping circles: {a} keys of side A, {b} keys \
         of side B, {spoken}\">\n\
         <circle cx=\"250\" cy=\"130\" r=\"115\" fill=\"none\" stroke=\"var(--a)\" stroke-width=\"3\"/>\n\
         <circle cx=\"390\" cy=\"130\" r=\"115\" fill=\"none\" stroke=\"var(--b)\" stroke-width=\"3\"/>\n\
         <text x=\"205\" y=\"127\" text-anchor=\"middle\">{a}</text>\n\
         <text class=\"small\" x=\"205\" y=\"147\" text-anchor=\"middle\">side A</text>\n\
         <text x=\"435\" y=\"127\" text-anchor=\"middle\">{b}</text>\n\
         <text class=\"small\" x=\"435\" y=\"147\" text-anchor=\"middle\">side B</text>\n\
         <text x=\"320\" y=\"136\" text-anchor=\"middle\">{shared}</text>\n</svg>"
    )
}
