//! `connection.json`: fingerprints, frames, and the chain of session identifiers.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use serde_json::{Value, json};
use vesica_net::{AbortReason, Certificate, Channel, Deviation, Error, Fingerprint};
use vesica_testkit::vectors::{check, hex};

/// A certificate of a throw-away identity.
const CERTIFICATE: &str = include_str!("certificate.hex");

#[test]
fn vectors() {
    check(
        "connection",
        &json!({ "fingerprints": fingerprints(), "frames": frames(), "session": session() }),
    );
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.trim().bytes().collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn fingerprints() -> Value {
    let der = unhex(CERTIFICATE);
    let fingerprint = Certificate::from_der(&der).unwrap().fingerprint();
    let text = fingerprint.to_string();
    let accepted = [
        text.to_uppercase(),
        text.replacen('-', "", 9).replacen("vesica1", "vesica1-", 1),
        format!(" {text}\n"),
    ];
    assert!(accepted.iter().all(|text| text.parse() == Ok(fingerprint)));
    let mut typo = text.clone().into_bytes();
    let last = typo.len() - 1;
    typo[last] = if typo[last] == b'7' { b'8' } else { b'7' };
    let refused = [
        ("checksum", String::from_utf8(typo).unwrap()),
        ("length", text[..text.len() - 1].to_owned()),
        ("prefix", text.replacen("vesica1", "vesica2", 1)),
        ("character", format!("{}u", &text[..text.len() - 1])),
    ];
    let refused = refused.map(|(why, text)| {
        assert!(text.parse::<Fingerprint>().is_err());
        json!({ "text": text, "why": why })
    });
    json!({ "certificate": hex(der), "text": text, "also_read": accepted, "refused": refused })
}

/// A stream that holds these bytes and takes any.
struct Bytes(io::Cursor<Vec<u8>>, std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn channel(bytes: &[u8]) -> (Channel, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
    let sent = std::sync::Arc::default();
    let stream = Bytes(io::Cursor::new(bytes.to_vec()), std::sync::Arc::clone(&sent));
    (Channel::new(stream).with_stall_timeout(Duration::from_secs(1)), sent)
}

fn frames() -> Value {
    let written = [("a", 0), ("vesica/ready", 8), ("rs21/columns", 16383), ("rs21/columns", 16384)];
    let written = written.map(|(label, len)| {
        let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let (mut out, sent) = channel(&[]);
        out.send(label, &payload).unwrap();
        out.flush().unwrap();
        let frame = sent.lock().unwrap().clone();
        let (mut back, _) = channel(&frame);
        let mut read = vec![0; len];
        back.recv_into(label, &mut read).unwrap();
        assert_eq!(read, payload);
        let (head, tail) = (&frame[..frame.len().min(64)], &frame[frame.len().saturating_sub(8)..]);
        json!({
            "label": label, "payload_byte_i": "i mod 251", "payload_bytes": len, "frame_bytes": frame.len(),
            "frame_begins": hex(head), "frame_ends": hex(tail), "frame_blake3": blake3::hash(&frame).to_hex().as_str(),
        })
    });
    json!({ "written": written, "received": received() })
}

/// Bytes where the message `step` of four bytes is due.
fn received() -> Value {
    let frame = |label: &[u8], len: u64, rest: &[u8]| {
        [&[label.len() as u8][..], label, &len.to_le_bytes(), rest].concat()
    };
    let good = frame(b"step", 4, &[0, 1, 2, 3, 4]);
    let busy = frame(b"busy", 0, &[]);
    let cases = [
        ("a message", good.clone()),
        ("a message after two keep-alives", [&busy[..], &busy, &good].concat()),
        ("another label", frame(b"stop", 4, &[0, 1, 2, 3, 4])),
        ("a longer message", frame(b"step", 5, &[0, 1, 2, 3, 4, 5])),
        ("a shorter message", frame(b"step", 3, &[0, 1, 2, 3])),
        ("an enormous message", frame(b"step", u64::MAX, &[])),
        ("a keep-alive with a payload", [frame(b"busy", 1, &[0, 0]), good.clone()].concat()),
        ("a label of no characters", vec![0, 1, 2, 3]),
        ("a label of 41 characters", frame(&[b'a'; 41], 4, &[0, 1, 2, 3, 4])),
        ("a character that labels do not have", frame(b"st*p", 4, &[0, 1, 2, 3, 4])),
        ("a segment that begins with 1", frame(b"step", 4, &[1, 1, 2, 3, 4])),
        ("an abort in place of a message", vec![255, 2]),
        ("an abort in place of a segment", frame(b"step", 4, &[255, 4])),
        ("an abort with an unknown code", vec![255, 200]),
        ("an end in the middle", good[..good.len() - 1].to_vec()),
    ];
    let cases = cases.map(|(what, bytes)| {
        let outcome = match channel(&bytes).0.recv_into("step", &mut [0; 4]) {
            Ok(()) => json!({ "payload": "01020304" }),
            Err(Error::Aborted { reason, .. }) => json!({ "aborted": aborted(reason) }),
            Err(Error::Closed { .. }) => json!({ "closed": true }),
            Err(Error::Peer { deviation, .. }) => json!({ "refused": refused(&deviation) }),
            Err(other) => panic!("{other}"),
        };
        json!({ "what": what, "bytes": hex(bytes), "outcome": outcome })
    });
    let many: Vec<u8> = [&busy[..]; 5401].concat();
    let endless = channel(&many).0.recv_into("step", &mut [0; 4]).unwrap_err();
    assert!(matches!(endless, Error::Peer { deviation: Deviation::EndlessKeepAlive { .. }, .. }));
    cases.to_vec().into()
}

fn aborted(reason: AbortReason) -> u8 {
    match reason {
        AbortReason::Terms => 2,
        AbortReason::Misbehaviour => 4,
        AbortReason::Internal => 5,
        other => panic!("{other}"),
    }
}

fn refused(deviation: &Deviation) -> &'static str {
    match deviation {
        Deviation::NotAMessage { .. } => "not a message",
        Deviation::UnexpectedLabel { .. } => "unexpected label",
        Deviation::WrongLength { .. } => "wrong length",
        Deviation::Malformed { .. } => "malformed",
        other => panic!("{other}"),
    }
}

fn session() -> Value {
    let (mut channel, _) = channel(&[]);
    let mut steps = vec![json!({ "sid": hex(channel.session().as_bytes()) })];
    let facts: [(&'static str, Vec<u8>); 4] = [
        ("tls exporter", (0..32).collect()),
        ("vesica/terms", [b'a'; 64].to_vec()),
        ("vesica/open", [7; 32].to_vec()),
        (
            "psi/size",
            [&blake3::hash(b"rr22").as_bytes()[..], &5u64.to_le_bytes(), &3u64.to_le_bytes()]
                .concat(),
        ),
    ];
    for (label, fact) in facts {
        channel.bind(label, &fact);
        let sid = hex(channel.session().as_bytes());
        steps.push(json!({ "label": label, "fact": hex(fact), "sid": sid }));
    }
    steps.into()
}
