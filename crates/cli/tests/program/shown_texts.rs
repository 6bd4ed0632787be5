//! Texts of a partner act neither on a screen nor in a sheet, even if it signs them with a program of its own.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use vesica::files::load_identity;
use vesica_net::Identity;

use crate::{
    harness::{Connecting, Ended, Lab, Listening, Running},
    partners::{
        Projects,
        Side::{Accepter, Inviter},
        print_of,
    },
};

/// Texts that a terminal obeys, that look otherwise than they are, or that end a line. Each is one line.
const HOSTILE: [&str; 15] = [
    "\u{1b}[2K\u{1b}[1A",
    "\u{1b}]0;owned\u{7}",
    "a\nvesica: all is well",
    "a\rb",
    "a\tb",
    "\u{9b}2K",
    "a\u{85}b",
    "tier\u{202e}exe.vsc",
    "\u{2066}a\u{2069}",
    "a\u{2028}b",
    "a\u{2029}b",
    "ad\u{200b}min",
    "ad\u{ad}min",
    "\u{feff}a",
    "a\u{a0}b",
];

/// Each field with some text, and each text in some field.
fn cases(fields: &'static [&'static str]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = fields.len().max(HOSTILE.len());
    (0..all).map(|nth| (fields[nth % fields.len()], HOSTILE[nth % HOSTILE.len()]))
}

/// The process has refused its input, and said nothing that acts on a screen.
#[track_caller]
fn assert_refused(ended: &Ended, case: &(&str, &str)) {
    assert_eq!(ended.code, Some(3), "{case:?}: {ended:?}");
    let obeyed = |c: &char| HOSTILE.iter().any(|text| text.contains(*c)) && !c.is_ascii_graphic();
    let is_plain = |c: char| c == '\n' || c == ' ' || !(c.is_control() || obeyed(&c));
    let said = format!("{}{}", ended.out, ended.err);
    assert!(
        said.chars().all(is_plain) && !said.contains("\nvesica: all is well"),
        "{case:?}: {said:?}"
    );
}

/// The payload of a document in an envelope.
fn payload(envelope: &str) -> Value {
    let envelope: Value = serde_json::from_str(envelope).unwrap();
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}

/// An envelope with this payload, which these parties have signed.
fn signed(kind: &str, payload: &Value, signers: &[&Identity]) -> String {
    let (kind, payload) = (format!("application/vnd.vesica.{kind}+json"), payload.to_string());
    let message = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let signature = |me: &&Identity| {
        let sig = STANDARD.encode(me.sign(message.as_bytes()).unwrap());
        format!(
            "    {{\n      \"keyid\": \"{}\",\n      \"sig\": \"{sig}\"\n    }}",
            me.fingerprint()
        )
    };
    let mut signatures: Vec<_> = signers.iter().map(signature).collect();
    signatures.sort();
    format!(
        "{{\n  \"payloadType\": \"{kind}\",\n  \"payload\": \"{}\",\n  \"signatures\": [\n{}\n  ]\n}}\n",
        STANDARD.encode(payload),
        signatures.join(",\n")
    )
}

/// The text in which an envelope travels.
fn mailed(label: &str, envelope: &str) -> String {
    let packed = zstd::bulk::compress(envelope.as_bytes(), 3).unwrap();
    let text = STANDARD.encode(packed);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The payload with this text in the place of what is there.
fn with(payload: &Value, field: &str, text: &str) -> Value {
    let mut changed = payload.clone();
    *changed.pointer_mut(field).unwrap() = json!(text);
    changed
}

/// Two projects that have run a join, in which the accepting side sends a column, and their identities.
fn joined() -> (Projects, [Identity; 2]) {
    let projects = Projects::new(20);
    let null_values = ["--null-values", "gone,none"];
    projects
        .agree(&[&["--receive", "--learns", "me"], &null_values[..]].concat(), &["--send", "n"]);
    projects.run_well();
    let identity = |side| load_identity(&projects.path(side, "vesica.identity")).unwrap();
    let identities = [Inviter, Accepter].map(identity);
    (projects, identities)
}

#[test]
fn a_record_with_such_a_text_is_refused() {
    const FIELDS: [&str; 11] = [
        "/name",
        "/agreement",
        "/columns_sent/0",
        "/disclosure/b/1/columns/0",
        "/protocol",
        "/security",
        "/query",
        "/terms",
        "/session",
        "/a/program",
        "/b/ledger/hash",
    ];
    let (projects, [a, b]) = joined();
    let prints = [Inviter, Accepter].map(|side| print_of(&projects.path(side, "vesica.identity")));
    let record = payload(&projects.read(Inviter, "acme.record"));
    let read = |record: &Value| {
        fs::write(projects.path(Inviter, "forged"), signed("record", record, &[&a, &b])).unwrap();
        let verify = ["verify", "forged", "--with", &prints[0], "--with", &prints[1]];
        let page = ["report", "forged", "--html", "-"];
        [&verify[..], &page].map(|command| projects.ended(Inviter, command))
    };
    for harmless in [record.clone(), with(&record, "/columns_sent/0", "Größe, in cm")] {
        read(&harmless).iter().for_each(|ended| _ = ended.assert(0, &[]));
    }
    for case in cases(&FIELDS) {
        read(&with(&record, case.0, case.1)).iter().for_each(|ended| assert_refused(ended, &case));
    }
    let mut alone = record.clone();
    alone["b"]["party"] = alone["a"]["party"].clone();
    read(&alone)[1].assert(3, &["its two parties are the same"]);
    // The newest line of a ledger is a hash and a number.
    for (field, value) in [
        ("/a/ledger/hash", json!("f".repeat(63))),
        ("/a/ledger/hash", json!("F".repeat(64))),
        ("/b/ledger/lines", json!(u64::MAX)),
    ] {
        let mut forged = record.clone();
        *forged.pointer_mut(field).unwrap() = value;
        read(&forged)[0].assert(3, &["the newest line of a ledger is not a number and a hash"]);
    }
}

#[test]
fn an_agreement_or_a_reply_with_such_a_text_is_refused() {
    const FIELDS: [&str; 5] = [
        "/proposal/name",
        "/proposal/address",
        "/proposal/offer/null_values/0",
        "/proposal/offer/keys/0",
        "/offer/sends/columns/0",
    ];
    let (projects, [inviter, accepter]) = joined();
    let agreement = payload(&projects.read(Inviter, "acme.agreement"));
    let read = |agreement: &Value| {
        let envelope = signed("agreement", agreement, &[&inviter, &accepter]);
        fs::write(projects.path(Inviter, "forged"), &envelope).unwrap();
        let reply = signed("agreement", agreement, &[&accepter]);
        fs::write(projects.path(Inviter, "reply"), mailed("VESICA REPLY", &reply)).unwrap();
        let commands = [&["agreement", "forged"][..], &["confirm", "reply", "--yes"]];
        commands.map(|command| projects.ended(Inviter, command))
    };
    let [shown, confirmed] = read(&agreement);
    shown.assert(0, &[]);
    assert!(shown.out.contains("and not as keys: gone, none"), "{shown:?}");
    // It can be read. Its members have another order, and so it has another hash.
    confirmed.assert(3, &["this is another reply to the same invitation"]);
    let [shown, _] = read(&with(&agreement, "/offer/sends/columns/0", "Größe, in cm"));
    shown.assert(0, &[]);
    for case in cases(&FIELDS) {
        for ended in read(&with(&agreement, case.0, case.1)) {
            assert_refused(&ended, &case);
        }
    }
}

#[test]
fn an_invitation_with_such_a_text_is_refused() {
    const FIELDS: [&str; 4] =
        ["/name", "/address", "/offer/null_values/0", "/offer/sends/columns/0"];
    let projects = Projects::new(10);
    projects.succeeds(Inviter, &["init"]);
    projects.succeeds(Accepter, &["init"]);
    let invite = ["invite", "acme", "--key", "email", "--normalize", "email", "--learns", "peer"];
    let terms = ["--send", "n", "--null-values", "gone", "--address", "a.example:7788"];
    projects.succeeds(Inviter, &[&invite[..], &terms].concat());
    let text = projects.read(Inviter, "acme.invite");
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let envelope = zstd::decode_all(&STANDARD.decode(body).unwrap()[..]).unwrap();
    let invitation = payload(str::from_utf8(&envelope).unwrap());
    let inviter = load_identity(&projects.path(Inviter, "vesica.identity")).unwrap();
    let accepted = |invitation: &Value| {
        let envelope = signed("proposal", invitation, &[&inviter]);
        let text = mailed("VESICA INVITATION", &envelope);
        fs::write(projects.path(Accepter, "forged"), text).unwrap();
        projects.ended(Accepter, &["accept", "forged", "--key", "mail", "--yes"])
    };
    for case in cases(&FIELDS) {
        assert_refused(&accepted(&with(&invitation, case.0, case.1)), &case);
    }
    let said = accepted(&with(&invitation, "/offer/sends/columns/0", "Größe, in cm"));
    said.assert(
        0,
        &["values that count as empty and not as keys: gone", "Größe, in cm in 64 bytes"],
    );
    // Nor does this program write such a name into an invitation.
    for text in HOSTILE {
        let named = format!("\"{text}\"");
        let refused = projects
            .ended(Inviter, &[&["invite", "b"], &invite[2..], &["--send", &named]].concat());
        assert_eq!(refused.code, Some(2), "{text:?}: {refused:?}");
        projects
            .ended(Inviter, &["publish", "--name", text])
            .assert(2, &["a name without control"]);
    }
}

/// Texts of the other side that a spreadsheet would compute.
#[test]
fn received_formulas_are_named_and_escaped_on_request() {
    let lab = Lab::new();
    lab.write(Connecting, "k,v\na,=1+1\nb,2\nc,3\n");
    lab.write(
        Listening,
        "k,note,=cmd\na,\"=HYPERLINK(\"\"http://a.example\"\",\"\"b\"\")\",-5\nb,@SUM(1),plain\nc,+49 30 1234,-2+3\n",
    );
    let sends = ["--send", "note,=cmd", "--learns", "peer"];
    let receives = ["--receive", "--learns", "me"];
    let [x, _] = lab.run(&receives, &sends);
    let note = "2 values in the received column `note` begin like a spreadsheet formula";
    let both =
        "the name of the received column `=cmd` and 1 value in it begin like a spreadsheet formula";
    x.assert(0, &[note, both, "--formulas escape"]);
    let kept = "k,v,note,=cmd\na,=1+1,\"=HYPERLINK(\"\"http://a.example\"\",\"\"b\"\")\",-5\nb,2,@SUM(1),plain\n\
                c,3,+49 30 1234,-2+3\n";
    assert_eq!(lab.output(Connecting).unwrap(), kept);
    let found = |escaped| {
        json!([
            {"column": "note", "name": false, "values": 2, "escaped": escaped},
            {"column": "=cmd", "name": true, "values": 1, "escaped": escaped}
        ])
    };
    assert_eq!(lab.report(Connecting)["formulas"], found(false));
    assert_eq!(lab.report(Listening)["formulas"], json!([]));

    let escapes = [&receives[..], &["--formulas", "escape"]].concat();
    // In partitions, rows come another way.
    for more in [&[][..], &["--partitions", "2"]] {
        let [x, _] = lab.run(&[&escapes[..], more].concat(), &[&sends[..], more].concat());
        x.assert(0, &[note, both, "an apostrophe stands before each"]);
        let escaped = kept
            .replace(",=cmd", ",'=cmd")
            .replace("\"=HYPER", "\"'=HYPER")
            .replace("@SUM", "'@SUM")
            .replace("-2+3", "'-2+3");
        assert_eq!(lab.output(Connecting).unwrap(), escaped);
        assert_eq!(lab.report(Connecting)["formulas"], found(true));
    }
    let alone = |party, flags: &[&str]| {
        Running::start(lab.command(party, &["--connect", "127.0.0.1:1"], flags)).end()
    };
    let sender = [&sends[..], &["--formulas", "escape"]].concat();
    alone(Listening, &sender).assert(2, &["only a side that receives columns"]);
    lab.write(Connecting, "{\"k\":\"a\"}\n");
    let output = lab.path("joined.ndjson");
    let escapes = [&escapes[..], &["--output", output.to_str().unwrap()]].concat();
    alone(Connecting, &escapes).assert(2, &["formulas are escaped in CSV"]);
}
