//! The reports of `vesica run`, about runs that succeed and runs that fail.
//!
//! Every test that reads a report holds it against `docs/reference/report.schema.json`, as the harness does.

use std::fs;

use crate::harness::{Connecting, Ended, Lab, Listening, Running, read_report, schema};
use serde_json::{Value, json};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(Connecting, "k,v\nx,1\nz,2\n");
    lab.write(Listening, "k,v\nx,5\ny,6\n");
    lab
}

/// Every answer, to each side that may learn it, has a report of the promised form.
#[test]
fn reports_of_every_answer() {
    let both = [("me", "peer"), ("peer", "me"), ("both", "both")];
    let cases = [
        ("rows", "rows", &[][..], json!(null)),
        ("count", "count", &[], json!({"kind": "count", "value": 1})),
        ("sum:v", "sum", &[], json!({"kind": "sum", "value": "1"})),
        ("products:v", "products:v", &[], json!({"kind": "sum_of_products", "value": "5"})),
        ("threshold:2", "threshold:2", &[], json!({"kind": "at_least", "value": false})),
        ("count", "count", &["--minimum", "2"], json!({"kind": "too_few"})),
    ];
    for (one, other, more, answer) in cases {
        for (a_learns, b_learns) in both {
            let lab = lab();
            let flags =
                |answer, learns| [&["--answer", answer, "--learns", learns][..], more].concat();
            let [x, y] = lab.run(&flags(one, a_learns), &flags(other, b_learns));
            for (ended, learns) in [(x, a_learns), (y, b_learns)] {
                let few = learns != "peer" && answer == json!({"kind": "too_few"});
                ended.assert(if few { 9 } else { 0 }, &[]);
            }
            for (party, learns) in [(Connecting, a_learns), (Listening, b_learns)] {
                let report = lab.report(party);
                let told = if learns == "peer" { json!(null) } else { answer.clone() };
                assert_eq!(report["answer"], told, "{one} {report:#}");
                assert_eq!(report["matches"].is_null(), learns == "peer" || one != "rows");
                assert_eq!(
                    (&report["status"], &report["failure"]),
                    (&json!("succeeded"), &json!(null))
                );
            }
        }
    }
    let lab = lab();
    let shares = ["--answer", "shares:v", "--learns", "nobody"];
    lab.run(&shares, &shares).iter().for_each(|ended| _ = ended.assert(0, &[]));
    assert!(lab.report(Connecting)["bins_written"].as_u64() > Some(0));
}

/// The report says which input it was, what was agreed and when, and both sides' say the same.
#[test]
fn a_report_can_be_checked_later() {
    let lab = lab();
    let malicious = ["--protocol", "rr22-malicious"];
    let [a, _] = lab.run(&malicious, &[]);
    a.assert(0, &["rr22-malicious (malicious; required: semi-honest), "]);
    let [x, y] = [Connecting, Listening].map(|party| lab.report(party));
    let digest = "df4b0dc12a90448ba0d769912ca319957a52a9a9db477848d45e532582e69f77";
    assert_eq!(
        x["input"],
        json!({"bytes": 12, "algorithm": "sha256", "digest": digest, "covers": "everything"})
    );
    assert_eq!(x["terms"], y["terms"]);
    assert_eq!(x["terms_hash"], y["terms_hash"]);
    assert_eq!(x["terms_hash"], hash_of(&x["terms"]), "the hash fits the terms");
    assert_eq!((&x["role"], &y["role"]), (&json!("a"), &json!("b")));
    let prints = &lab.prints;
    assert_eq!(x["fingerprints"], json!({"me": prints[0], "peer": prints[1]}));
    assert_eq!(y["fingerprints"], json!({"me": prints[1], "peer": prints[0]}));
    assert_eq!(x["security"], json!({"required": "semi-honest", "provided": "malicious"}));
    for moment in ["started", "ended"] {
        let text = x[moment].as_str().unwrap();
        assert!(text.starts_with("20") && text.ends_with('Z') && text.len() == 20, "{text}");
    }
    assert!(x["started"].as_str() <= x["ended"].as_str());
}

/// Computes the hash as the schema defines it.
fn hash_of(terms: &Value) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/report.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let names = schema["$defs"]["terms"]["required"].as_array().unwrap().iter();
    let fields: Vec<String> =
        names.map(|name| format!("{name}:{}", terms[name.as_str().unwrap()])).collect();
    let compact = format!("{{{}}}", fields.join(","));
    blake3::Hash::from(blake3::derive_key("vesica 1 terms", compact.as_bytes())).to_string().into()
}

/// A run that fails says why in its report, in the words that the user saw.
#[track_caller]
fn failed(lab: &Lab, ended: &Ended, class: &str) {
    let report = lab.report(Connecting);
    assert_eq!(report["status"], "failed");
    assert_eq!(report["failure"]["class"], class, "{report:#}");
    let reason = report["failure"]["reason"].as_str().unwrap();
    assert!(ended.err.contains(&format!("vesica: {reason}\n")), "{reason}: {ended:#?}");
    for none in ["matches", "answer", "learned", "rows_written", "bins_written"] {
        assert!(report[none].is_null(), "{report:#}");
    }
    assert!(!lab.file(Connecting, "out.csv").exists());
}

#[test]
fn failures_are_reported_with_their_reason() {
    let alone = |lab: &Lab, flags: &[&str]| {
        let command = lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags);
        Running::start(command).end()
    };
    let there = lab();
    let ended = alone(&there, &["--protocol", "rr99"]);
    failed(&there, ended.assert(2, &[]), "usage");
    let ended = alone(&there, &["--wait", "0.2"]);
    failed(&there, ended.assert(4, &[]), "network");
    let prints = there.report(Connecting)["fingerprints"].clone();
    assert_eq!(prints, json!({"me": there.prints[0], "peer": there.prints[1]}));

    let there = lab();
    let [a, _] = there.run(&["--normalize", "email"], &[]);
    failed(&there, a.assert(5, &[]), "terms");
    assert!(there.report(Connecting)["terms"].is_null());

    let there = lab();
    there.write(Connecting, "k,v\nx,1\nz\n");
    let [a, b] = there.run(&[], &[]);
    failed(&there, a.assert(3, &[]), "input");
    b.assert(4, &[]);
    let report = there.report(Connecting);
    assert_eq!(
        (&report["terms"]["security"], &report["rows"]),
        (&json!("semi-honest"), &json!(null))
    );
    assert_eq!(there.report(Listening)["failure"]["class"], "network");
}

#[test]
fn a_run_that_is_stopped_is_reported() {
    let lab = lab();
    let way = ["--listen", "127.0.0.1:0"];
    let mut waiting = Running::start(lab.command(Connecting, &way, &[]));
    waiting.until("listening on ");
    waiting.signal("INT");
    failed(&lab, waiting.end().assert(130, &[]), "cancelled");
}

/// The report of a failure does not replace protected files either.
#[test]
fn a_report_that_would_replace_a_file_is_not_written() {
    let lab = lab();
    for kind in ["in.csv", "out.csv"] {
        let file = lab.file(Connecting, kind);
        fs::write(&file, "k,v\nx,1\n").unwrap();
        let flags = ["--report", file.to_str().unwrap()];
        let command = lab.command(Connecting, &["--connect", "127.0.0.1:1"], &flags);
        Running::start(command).end().assert(2, &[]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "k,v\nx,1\n");
    }
}

/// With `--json` standard output has the report and nothing else, for all outcomes.
#[test]
fn the_report_on_standard_output() {
    let there = lab();
    let json = ["--answer", "sum", "--json", "--learns", "both"];
    let nobody = [&json[..], &["--wait", "0.2"]].concat();
    let command = there.command(Connecting, &["--connect", "127.0.0.1:1"], &nobody);
    let ended = Running::start(command).end();
    let report = read_report(&ended.assert(4, &["nobody answered"]).out);
    assert_eq!(report["failure"]["class"], "network");
    assert_eq!(there.report(Connecting), report);

    let taken = [&json[..], &["--output", "-"]].concat();
    let command = there.command(Connecting, &["--connect", "127.0.0.1:1"], &taken);
    let ended = Running::start(command).end();
    let report =
        read_report(&ended.assert(2, &["--json prints the report on standard output"]).out);
    assert_eq!(report["failure"]["class"], "usage");

    let [a, b] = there.run(&json, &["--answer", "sum:v", "--learns", "both"]);
    let report = read_report(&a.assert(0, &[]).out);
    assert_eq!(report["answer"], json!({"kind": "sum", "value": "5"}));
    assert_eq!(there.report(Connecting), report);
    assert!(!a.err.contains("learned") && b.err.contains("learned"), "{a:#?}");
}

/// The check of the form finds what is not of that form.
#[test]
fn another_form_is_refused() {
    let lab = lab();
    lab.run(&[], &[])[0].assert(0, &[]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/report.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let good = lab.report(Connecting);
    for (place, value) in [
        ("/report_version", json!(1)),
        ("/status", json!("running")),
        ("/matches", json!(-1)),
        ("/matches", json!("1")),
        ("/terms/wanted", json!("mean")),
        ("/input/digest", json!("00")),
        ("/phases/0/name", json!(1)),
        ("/answer", json!({"kind": "count", "value": "1"})),
        ("/learned", json!({"me": "", "peer": "", "assuming": "", "more": ""})),
        ("/disclosure/neither/0", json!("everything")),
        ("/disclosure/a", json!([{"matches": 1}])),
        ("/rows", json!({"read": 1, "null": 0, "used": 1})),
    ] {
        let mut other = good.clone();
        *other.pointer_mut(place).unwrap() = value;
        assert!(schema::check(&schema, &other).is_err(), "{place}");
    }
}
