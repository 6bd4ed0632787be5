//! Peers that do not speak as they should: a clear error, never a panic, a hang or an allocation
//! beyond what was agreed.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::harness::{Connecting, Ended, Lab, Listening, Running};
use vesica::WIRE_VERSION;
use vesica_net::{
    CancelToken, Channel, Fingerprint, Identity,
    transport::{tcp, tls},
};
use vesica_testkit::claimant::commitment;

const PATIENCE: Duration = Duration::from_secs(30);

/// A listening process with this table, and its address.
fn listening(lab: &Lab, table: &str, flags: &[&str]) -> (Running, String) {
    lab.write(Listening, table);
    let mut flags = flags.to_vec();
    flags.extend(["--stall-timeout", "1"]);
    let mut process = Running::start(lab.command(Listening, &["--listen", "127.0.0.1:0"], &flags));
    let address = process.until("listening on ").trim_start_matches("listening on ").to_owned();
    (process, address)
}

/// A caller that is not the other side is rejected, and delays nobody.
#[test]
fn unauthenticated_callers() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    let (mut process, address) = listening(&lab, "k\nx\n", &[]);
    let call = || TcpStream::connect(&address).unwrap();
    let mut turned_away = |why: &str| {
        let line = process.until("rejected a caller");
        assert!(line.contains(why), "{line}");
    };
    drop(call());
    turned_away("closed by the other side while connecting");
    let noise: Vec<u8> = (0..100_000u64).map(|i| ((i * i) >> 7) as u8).collect();
    // It may be cut off in the middle of it.
    let _ = call().write_all(&noise);
    turned_away("no TLS 1.3 connection with the other side");
    let mut web = call();
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let _ = web.read_to_end(&mut Vec::new());
    turned_away("no TLS 1.3 connection with the other side");
    let somebody = impostor(&lab, &address);
    turned_away(&somebody);
    let _ = call().read_to_end(&mut Vec::new());
    turned_away("nothing moved to or from the other side for 1 s");

    let silent: Vec<TcpStream> = (0..5).map(|_| call()).collect();
    let peer = Running::start(lab.command(Connecting, &["--connect", &address], &[]));
    peer.end().assert(0, &[]);
    process.end().assert(0, &[]);
    drop(silent);
}

/// At the end of the time, the message depends on whether somebody called who expected another party.
#[test]
fn only_unauthenticated_callers() {
    let lab = Lab::new();
    let (process, address) = listening(&lab, "k\nx\n", &["--wait", "2"]);
    drop(TcpStream::connect(&address).unwrap());
    process.end().assert(4, &["rejected a caller", "nobody connected"]);
    let (process, address) = listening(&lab, "k\nx\n", &["--wait", "2"]);
    let somebody = impostor(&lab, &address);
    process.end().assert(4, &["\nvesica: the other side is not the expected one", &somebody]);
    lab.assert_clean();
}

/// Somebody with an identity of its own calls; returns its fingerprint.
fn impostor(lab: &Lab, address: &str) -> String {
    let somebody = Identity::generate().unwrap();
    let peer: Fingerprint = lab.prints[Connecting.other() as usize].parse().unwrap();
    let cancel = CancelToken::default();
    let tcp = tcp::connect(address, PATIENCE, &cancel).unwrap();
    assert!(tls::client(tcp, &somebody, &peer, PATIENCE, &cancel).is_err());
    somebody.fingerprint().to_string()
}

fn tls_to(lab: &Lab, address: &str) -> tls::Tls {
    let cancel = CancelToken::default();
    let pem = fs::read_to_string(lab.path("connecting.identity")).unwrap();
    let me = Identity::from_pem(&pem).unwrap();
    let peer: Fingerprint = lab.prints[1].parse().unwrap();
    let tcp = tcp::connect(address, PATIENCE, &cancel).unwrap();
    tls::client(tcp, &me, &peer, PATIENCE, &cancel).unwrap()
}

/// Returns the end of a process whose rightful peer sends these bytes and then listens.
fn peer_sends(bytes: &[u8]) -> Ended {
    let lab = Lab::new();
    let (process, address) = listening(&lab, "k\nx\n", &[]);
    let mut peer = tls_to(&lab, &address);
    let _ = peer.write_all(bytes).and_then(|()| peer.flush());
    let ended = process.end();
    drop(peer);
    lab.assert_clean();
    ended
}

/// A message of one segment, announced with this length.
fn message(label: &str, length: u64, payload: &[u8]) -> Vec<u8> {
    [&[label.len() as u8], label.as_bytes(), &length.to_le_bytes(), &[0], payload].concat()
}

const BROKE: &str = "the other side broke the protocol while agreeing on terms";

#[test]
fn bytes_that_are_not_messages_are_refused() {
    peer_sends(&[0xee; 5000]).assert(6, &[BROKE, "bytes that are not a message"]);
    peer_sends(b"GET / HTTP/1.1\r\n\r\n........").assert(6, &[BROKE]);
    let wrong = message("vesica/ready", 8, &[0; 8]);
    let said = "expected message `vesica/terms`, received `vesica/ready`";
    peer_sends(&wrong).assert(6, &[BROKE, said]);
    let huge = message("vesica/terms", 1 << 63, b"{}");
    let said = "may have at most 196608 bytes, announced 9223372036854775808";
    peer_sends(&huge).assert(6, &[BROKE, said]);
    peer_sends(&message("vesica/terms", 2, b"{}")).assert(6, &[BROKE, "malformed"]);
    let newer = WIRE_VERSION + 1;
    let said = format!("here wire version {WIRE_VERSION}, there {newer}");
    peer_sends(&message("vesica/terms", 14, format!("{{\"version\":{newer}}}").as_bytes()))
        .assert(5, &[&said]);
    peer_sends(&message("vesica/terms", 100, b"{"))
        .assert(4, &["nothing moved to or from the other side for 1 s"]);
    peer_sends(b"")
        .assert(4, &["nothing moved to or from the other side for 1 s while agreeing on terms"]);
}

/// A peer that has agreed on terms, over the channel that it then speaks on.
fn agreed(lab: &Lab, address: &str, protocol: &str) -> Channel {
    let mut channel = Channel::new(tls_to(lab, address));
    let offer = format!(
        "{{\"version\":{WIRE_VERSION},\"protocol\":\"{protocol}\",\"security\":\"semi-honest\",\
         \"keys\":[\"none@1\"],\"identifiers\":[],\"a_learns\":true,\"b_learns\":true,\"max_peer_rows\":100000000,\
         \"allow_research\":true,\"wanted\":\"rows\",\"brings_values\":false,\"minimum\":0,\
         \"null_values\":[],\"scale\":0,\"diagnose\":false,\"align\":false}}"
    );
    channel.send("vesica/terms", offer.as_bytes()).unwrap();
    channel.recv_len("vesica/terms", 4096).unwrap();
    channel
}

/// Returns the end of a process whose peer agrees on terms and then misbehaves.
fn peer_speaks(protocol: &str, table: &str, speak: impl FnOnce(&mut Channel)) -> Ended {
    let lab = Lab::new();
    let flags = ["--protocol", protocol, "--allow-research", "--max-peer-rows", "1000"];
    let (process, address) = listening(&lab, table, &flags);
    let mut channel = agreed(&lab, &address, protocol);
    speak(&mut channel);
    let _ = channel.flush();
    let ended = process.end();
    drop(channel);
    lab.assert_clean();
    ended
}

/// Says how many items it has, that it keeps no journal, and this for its commitment.
fn ready(channel: &mut Channel, items: u64, commitment: &[u8; 32]) {
    channel.send("vesica/ready", &items.to_le_bytes()).unwrap();
    channel.send("vesica/resume", &[0; 41]).unwrap();
    channel.send("vesica/commit", commitment).unwrap();
    channel.recv_into("vesica/ready", &mut [0; 8]).unwrap();
    channel.recv_into("vesica/resume", &mut [0; 41]).unwrap();
    channel.recv_into("vesica/commit", &mut [0; 32]).unwrap();
}

/// Comes to a seed after that, and has the memory for the only protocol that may run.
fn seeded(channel: &mut Channel, items: u64) {
    ready(channel, items, &commitment(&[7; 32]));
    channel.send("vesica/open", &[7; 32]).unwrap();
    channel.send("vesica/room", &[0]).unwrap();
    channel.recv_into("vesica/open", &mut [0; 32]).unwrap();
    channel.recv_into("vesica/room", &mut [0]).unwrap();
}

#[test]
fn sizes_that_cannot_be() {
    let claims = |items: u64| {
        peer_speaks("dh", "k\nx\n", |channel| {
            channel.send("vesica/ready", &items.to_le_bytes()).unwrap();
        })
    };
    claims(u64::MAX).assert(6, &["while reading the table", "more items than a set may have"]);
    claims(1001).assert(5, &["accepts at most 1000; there: 1001 keys"]);
}

#[test]
fn a_seed_that_was_not_committed_to() {
    peer_speaks("dh", "k\nx\n", |channel| {
        ready(channel, 1, &[1; 32]);
        channel.send("vesica/open", &[2; 32]).unwrap();
    })
    .assert(6, &["while choosing a protocol", "check `seed commitment` failed"]);
}

#[test]
fn a_peer_that_stops_reading() {
    let large = (0..1_500_000).fold("k\n".to_owned(), |text, i| text + &format!("u{i}\n"));
    peer_speaks("naive", &large, |channel| {
        seeded(channel, 1);
    })
    .assert(
        4,
        &["nothing moved to or from the other side for 1 s while comparing the tables (compare)"],
    );
}

#[test]
fn a_reply_that_no_honest_peer_sends() {
    for protocol in ["dh", "dh-classic", "kkrt16"] {
        let ended = peer_speaks(protocol, "k\nx\ny\n", |channel| {
            seeded(channel, 2);
            channel.send("psi/nonsense", &[0xff; 64]).unwrap();
        });
        ended.assert(6, &["received `psi/nonsense`"]);
    }
}
