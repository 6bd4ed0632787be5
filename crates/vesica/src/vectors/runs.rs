//! `run.json`: whole runs from terms to the end.

use std::{fs, sync::Arc, thread};

use serde_json::{Value, json};
use vesica_agree::offer::Offer;
use vesica_core::{
    observe::NoObserver,
    parties::{Learns, Parties, Role},
};
use vesica_net::Channel;
use vesica_normalize::normalize::Normalize;
use vesica_run::job::run;
use vesica_table::source::Source;
use vesica_testkit::{
    transcript::{Transcript, record},
    two_party::{Link, PATIENCE, Wire},
    vectors::{Draws, check, messages},
};

use crate::{Job, Report};

const A: &str = "mail\nann@example.org\nBOB@example.org\ncarla+x@gmail.com\nnone\nann@example.org\neve@example.org\n";
const B: &str = "mail\ncarla@gmail.com\nbob@example.org\nzoe@example.org\n";

#[test]
fn vectors() {
    let runs: Vec<Value> =
        [("dh", Learns::Both, Learns::Both), ("rr22-malicious", Learns::Peer, Learns::Me)]
            .map(|(protocol, a, b)| whole(protocol, [a, b]))
            .into();
    check("run", &runs.into());
}

fn parties(role: Role) -> Parties {
    let [a, b] = ["a", "b"].map(|side| format!("vesica1-print-of-{side}"));
    let (me, peer) = if role == Role::A { (a, b) } else { (b, a) };
    Parties { role, me, peer }
}

/// Runs both sides and returns the messages that each sent, and the rows that it wrote.
fn whole(protocol: &str, learns: [Learns; 2]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let (left, right) = Link::Memory.connect();
    let ((left, of_a), (right, of_b)) = (record(left), record(right));
    let job = |side: &str, text: &str, learns| {
        let input = directory.path().join(format!("{side}.csv"));
        fs::write(&input, text).unwrap();
        let offer =
            Offer { protocol: Some(protocol.into()), ..Offer::new(vec![Normalize::EMAIL], learns) };
        let mut job = Job::new(Source::File(input), ["mail"], offer);
        job.output = Some(directory.path().join(format!("{side} out.csv")).into());
        job.threads = 1;
        job
    };
    let (a, b) = (job("a", A, learns[0]), job("b", B, learns[1]));
    thread::scope(|scope| {
        let other = scope.spawn(|| side(a, Role::A, protocol, left));
        side(b, Role::B, protocol, right);
        other.join().unwrap();
    });
    let written =
        |side: &str| fs::read_to_string(directory.path().join(format!("{side} out.csv"))).ok();
    let sent = |sent: &Transcript| messages(sent, 2048, "rs21/columns");
    json!({
        "protocol": protocol, "exporter": "02".repeat(32),
        "fingerprint_of_a": parties(Role::A).me, "fingerprint_of_b": parties(Role::A).peer,
        "draws_of_a": format!("run/{protocol}/A"), "draws_of_b": format!("run/{protocol}/B"),
        "table_of_a": A, "table_of_b": B, "result_of_a": written("a"), "result_of_b": written("b"),
        "sent_by_a": sent(&of_a.transcript()), "sent_by_b": sent(&of_b.transcript()),
    })
}

fn side(job: Job, role: Role, protocol: &str, Wire { transport, clock }: Wire) {
    let mut channel = Channel::new(transport).with_clock(clock).with_stall_timeout(PATIENCE);
    channel.bind("tls exporter", &[2; 32]);
    let name = if role == Role::A { "A" } else { "B" };
    let mut draws = Draws::new(&format!("run/{protocol}/{name}"));
    let mut report = Report::begin();
    let job = job.prepare().unwrap();
    run(job, &parties(role), &mut channel, Arc::new(NoObserver), &mut draws, &mut report).unwrap();
}
