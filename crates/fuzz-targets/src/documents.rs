//! Files of a party and texts from its partner: identities, project files, invitations, agreements, records, ledgers,
//! policies and figures.

use std::{fmt::Display, str::FromStr, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Serialize, de::DeserializeOwned};
use vesica::{
    Normalize,
    cluster::Token,
    decoders,
    partnership::{
        Agreement, AnyAgreement, AnyRecord, Day, Document, Hours, Invitation, JointParts,
        JointProposal, JointRecord, JointReply, Moment, Policy, Proposal, Record, Signed,
    },
};
use vesica_cli::decoders as project;
use vesica_net::{Certificate, Fingerprint, Identity, Proxy};
use vesica_planner::Figures;

use crate::{
    Valid,
    bytes::{Bytes, tells_no_secret, with_secrets},
};

/// Keys for tests, which anybody can sign with.
pub(crate) static PARTIES: LazyLock<[Identity; 2]> = LazyLock::new(|| {
    [include_str!("identities/inviter.pem"), include_str!("identities/accepter.pem")]
        .map(|text| Identity::from_pem(text).expect("an identity"))
});

/// The identity file, a peer's certificate, and the texts of fingerprints, gateway tokens and proxies.
pub fn identity(data: &[u8], valid: &mut Valid) {
    if let Ok(certificate) = Certificate::from_der(data) {
        assert_eq!(certificate.as_der(), data);
        assert!(!certificate.has_signed(b"nothing", &data[..data.len().min(64)]));
        valid.note("certificate");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Identity::from_pem(&String::from_utf8_lossy(&with_secrets(data))) {
        Ok(identity) => {
            let again =
                Identity::from_pem(&identity.to_pem()).expect("an identity that was written");
            assert_eq!(again.fingerprint(), identity.fingerprint());
            valid.note("identity");
        }
        Err(error) => tells_no_secret(&error),
    }
    if let Ok(token) = text.parse::<Token>() {
        let again: Token = token.text().parse().expect("a token that was written");
        assert_eq!(*again.text(), *token.text());
        valid.note("token");
    }
    valid.note_if(same_again::<Fingerprint>(text).is_some(), "fingerprint");
    valid.note_if(text.parse::<Proxy>().is_ok(), "proxy");
}

/// Checks that a parsed value is displayed as a text that parses to the same value.
pub(crate) fn same_again<T: FromStr + Display + PartialEq>(text: &str) -> Option<T> {
    let value: T = text.parse().ok()?;
    let again = value.to_string().parse().ok();
    assert!(again.as_ref() == Some(&value), "`{value}` is another value");
    Some(value)
}

/// Words of policies, terms and options.
pub fn words(data: &[u8], valid: &mut Valid) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    valid.note_if(same_again::<Moment>(text).is_some(), "moment");
    valid.note_if(same_again::<Day>(text).is_some(), "day");
    valid.note_if(same_again::<Hours>(text).is_some(), "hours");
    valid.note_if(same_again::<Normalize>(text).is_some(), "profile");
    valid.note_if(json::<Policy>(text).is_some(), "policy");
    valid.note_if(json::<Moment>(text).is_some(), "moment");
}

/// Checks that a value from JSON is read from its own JSON form as the same value, and that its sentences can be
/// written.
fn json<T: Serialize + DeserializeOwned + PartialEq>(text: &str) -> Option<T> {
    let value: T = serde_json::from_str(text).ok()?;
    let form = serde_json::to_string(&value).expect("what was read has a form");
    assert!(serde_json::from_str::<T>(&form).is_ok_and(|again| again == value), "{form}");
    Some(value)
}

/// A profile of key columns normalises each value to one that it leaves unchanged.
pub fn normalize(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let len = usize::from(bytes.byte() % 40);
    let Ok(name) = std::str::from_utf8(bytes.take(len)) else { return };
    let Ok(value) = std::str::from_utf8(bytes.0) else { return };
    let Ok(profile) = name.parse::<Normalize>() else { return };
    let once = profile.apply(value).into_owned();
    // Remove the part that only describes the column, which has had its effect.
    let again = match &profile {
        Normalize::Hashed(_) => profile.clone(),
        Normalize::Sha256(inner) => inner.essence(),
        other => other.essence(),
    };
    assert_eq!(again.apply(&once), once, "{profile} of `{value}`");
    valid.note("value");
}

/// A project file. A job only sets flags that have a key in the file. Adding a job gives it the given content, and
/// changes no other job.
pub fn project(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mut word = || {
        let len = usize::from(bytes.byte() % 8);
        String::from_utf8_lossy(bytes.take(len)).into_owned()
    };
    let columns = [word(), word(), word()]
        .map(|column| if column.is_empty() { "~".to_owned() } else { column });
    let key = match bytes.byte() % 3 {
        0 => vec![columns[..1].to_vec()],
        1 => vec![columns.to_vec()],
        _ => vec![columns[..2].to_vec(), columns[2..].to_vec()],
    };
    let Ok(text) = std::str::from_utf8(bytes.0) else { return };
    let Ok(before) = project::jobs(text) else { return };
    for job in &before {
        let Ok(flags) = &job.flags else { continue };
        let has_key = |flag: &String| flag == "identity" || job.keys.contains(flag);
        assert!(flags.names.iter().all(has_key), "{job:?} of `{text}`");
    }
    let Ok(after) = project::with_job(text, NEW_JOB, key.clone()) else { return };
    let after = project::jobs(&after).expect("a project file with another job");
    let (new, others): (Vec<_>, Vec<_>) = after.iter().partition(|job| job.name == NEW_JOB);
    assert!(others.into_iter().eq(&before), "another job changed in `{text}`");
    let flags = new[0].flags.as_ref().expect("a job that was added");
    assert_eq!(flags.key, key);
    assert_eq!(flags.names, ["identity", "agreement", "record", "key"]);
    valid.note("jobs");
}

const NEW_JOB: &str = "new-job_1";

/// The texts that a partner sends, and the files in which they are stored. Mode 0 takes any text. The other modes sign
/// the content of an envelope, which the fuzzer could not.
pub fn documents(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mode = bytes.byte() % 8;
    let Ok(text) = String::from_utf8(with_secrets(bytes.0)) else { return };
    match mode {
        0 => any_text(&text, valid),
        1 => {
            let Some(signed) = signed::<Proposal>(&text) else { return };
            let _ = signed.document().summary();
            valid.note("proposal");
        }
        2 => {
            let Some(signed) = signed::<Agreement>(&text) else { return };
            if let Ok(agreement) = Signed::<Agreement>::from_file(&signed.to_json()) {
                let again = Signed::<Agreement>::from_text(&agreement.to_text());
                assert_eq!(again.as_ref(), Ok(&agreement));
                valid.note("agreement");
            }
        }
        3 => valid.note_if(signed::<Record>(&text).is_some(), "record"),
        4 => {
            let Some(signed) = signed::<JointProposal>(&text) else { return };
            let _ = signed.document().summary();
            valid.note("joint proposal");
        }
        5 => {
            let Some(signed) = signed::<JointReply>(&text) else { return };
            let again = Signed::<JointReply>::from_text(&signed.to_text());
            assert_eq!(again.ok(), signed.require_all().is_ok().then_some(signed));
            valid.note("joint reply");
        }
        6 => {
            let Some(signed) = signed::<JointParts>(&text) else { return };
            let parts = signed.document();
            assert_eq!(JointParts::from_text(&parts.to_text()).as_ref(), Ok(parts));
            let _ = parts.summary(None);
            valid.note("joint parts");
        }
        _ => {
            let Some(signed) = signed::<JointRecord>(&text) else { return };
            let _ = signed.document().lines();
            valid.note("joint record");
        }
    }
}

fn any_text(text: &str, valid: &mut Valid) {
    match Invitation::from_text(text) {
        Ok(invitation) => {
            assert_eq!(Invitation::from_text(&invitation.to_text()).as_ref(), Ok(&invitation));
            valid.note("invitation");
            if let Err(error) = invitation.answer() {
                tells_no_secret(&error);
            }
        }
        Err(error) => tells_no_secret(&error),
    }
    let replies = [Signed::<Agreement>::from_text(text), Signed::<Agreement>::from_file(text)];
    replies.iter().filter_map(|reply| reply.as_ref().err()).for_each(tells_no_secret);
    if let Err(error) = AnyRecord::from_json(text) {
        tells_no_secret(&error);
    }
    if let Err(error) = AnyAgreement::from_file(text) {
        tells_no_secret(&error);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentEnvelope {
    payload_type: &'static str,
    payload: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize)]
struct Signature {
    keyid: String,
    sig: String,
}

/// Returns the document with this payload, signed by both parties if both must sign it, or by the first.
fn signed<D: Document + PartialEq>(payload: &str) -> Option<Signed<D>> {
    let document = json::<D>(payload)?;
    let message = format!("DSSEv1 {} {} {} {payload}", D::TYPE.len(), D::TYPE, payload.len());
    let signers: Vec<_> =
        document.signers().iter().map(|party| party.fingerprint().to_string()).collect();
    let mut signatures: Vec<_> = PARTIES
        .iter()
        .filter(|party| signers.contains(&party.fingerprint().to_string()))
        .filter_map(|party| {
            let sig = STANDARD.encode(party.sign(message.as_bytes()).ok()?);
            Some(Signature { keyid: party.fingerprint().to_string(), sig })
        })
        .collect();
    signatures.sort_by(|a, b| a.keyid.cmp(&b.keyid));
    let payload = STANDARD.encode(payload);
    let envelope = DocumentEnvelope { payload_type: D::TYPE, payload, signatures };
    let text = serde_json::to_string_pretty(&envelope).ok()? + "\n";
    match Signed::<D>::from_json(&text) {
        Ok(signed) => {
            assert_eq!(signed.to_json(), text, "one document has one form");
            let _ = signed.require_all();
            Some(signed)
        }
        Err(error) => {
            tells_no_secret(&error);
            None
        }
    }
}

/// A ledger: any lines, or one line for each event, signed and chained to the previous line, which the fuzzer could
/// not.
pub fn ledger(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mode = bytes.byte() % 2;
    let Ok(text) = String::from_utf8(with_secrets(bytes.0)) else { return };
    let me = &PARTIES[0];
    let lines = text.lines().count() as u64;
    let text = match mode {
        0 => text,
        _ => {
            let Some(text) = decoders::ledger_of(text.lines(), me) else { return };
            text
        }
    };
    match decoders::ledger(&text, &me.certificate()) {
        Ok(head) => {
            assert_eq!(head.lines, lines);
            valid.note("ledger");
        }
        Err(error) => {
            assert_eq!(mode, 0, "a ledger that this side wrote is refused: {error}");
            tells_no_secret(&error);
        }
    }
}

/// A journal: any content of a file, or records encrypted by this side, which the fuzzer could not.
pub fn journal(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let outcome = match bytes.byte() % 2 {
        0 => decoders::journal(bytes.0, &PARTIES[0]),
        _ => {
            let mut records = Vec::new();
            while !bytes.0.is_empty() && records.len() < 8 {
                let (kind, len) = (bytes.byte(), usize::from(bytes.byte()));
                records.push((kind, with_secrets(bytes.take(len))));
            }
            decoders::journal_of(&records, &PARTIES[0])
        }
    };
    match outcome {
        Ok(_) => valid.note("journal"),
        Err(error) => tells_no_secret(&error),
    }
}

/// The figures of a machine.
pub fn figures(data: &[u8], valid: &mut Valid) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(figures) = Figures::parse(text) else { return };
    let form = figures.to_text();
    match Figures::parse(&form) {
        Ok(again) => assert_eq!(again.to_text(), form),
        Err(error) => panic!("what was written is not read: {error}"),
    }
    valid.note("figures");
}
