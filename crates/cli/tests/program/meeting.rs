//! The meeting of two processes: in spite of other callers, of forwarders in between, and of a
//! second process of the same party.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::harness::{Connecting, Lab, Listening, Party, Running, feed};

const HEADER: &str = "k\n";
const ROWS: &str = "x\ny\n";

fn lab() -> Lab {
    let lab = Lab::new();
    let table = [HEADER, ROWS].concat();
    lab.write(Connecting, &table);
    lab.write(Listening, &table);
    lab
}

fn listener(lab: &Lab, flags: &[&str]) -> (Running, String) {
    let process = Running::start(lab.command(Listening, &["--listen", "127.0.0.1:0"], flags));
    listening(process)
}

/// A listener whose table comes through a pipe that has only the header yet.
fn slow_listener(lab: &Lab) -> (Running, String) {
    let way = ["--listen", "127.0.0.1:0"];
    let mut process = Running::start(lab.command(Listening, &way, &["--input", "-"]));
    process.write(HEADER);
    listening(process)
}

fn listening(mut process: Running) -> (Running, String) {
    let address = process.until("listening on ").trim_start_matches("listening on ").to_owned();
    (process, address)
}

#[test]
fn silent_callers_keep_nobody_out() {
    for callers in [16, 200] {
        let lab = lab();
        let (process, address) = listener(&lab, &[]);
        let silent: Vec<_> = (0..callers).map(|_| TcpStream::connect(&address).unwrap()).collect();
        let started = Instant::now();
        let partner = Running::start(lab.command(Connecting, &["--connect", &address], &[])).end();
        partner.assert(0, &[]);
        process.end().assert(0, &[]);
        assert!(started.elapsed() < Duration::from_secs(9), "{callers} callers kept it waiting");
        drop(silent);
    }
}

#[test]
fn a_second_process_of_the_same_party_hears_that_a_run_goes_on() {
    let lab = lab();
    let (mut process, address) = slow_listener(&lab);
    let way = ["--connect", &address];
    let mut first = Running::start(lab.command(Connecting, &way, &[]));
    first.until("agreeing on terms");
    process.until("reading");
    let second = Running::start(lab.command(Connecting, &way, &["--wait", "1"])).end();
    second.assert(4, &["the other side is already in a run with this party's identity"]);
    drop(feed(process.stdin(), ROWS));
    process.end().assert(0, &[]);
    first.end().assert(0, &[]);
}

/// Takes connections at a port and carries them to another one, as `ssh -L` or a container's proxy does:
/// where nobody listens there, it closes.
fn forward(target: String) -> String {
    let near = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = near.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for near in near.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(&target) else { continue };
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far.try_clone().unwrap(), near.try_clone().unwrap()),
            ] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn the_side_that_connects_by_a_forwarder_may_come_first() {
    let lab = lab();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let by = forward(free.clone());
    let mut first = Running::start(lab.command(Connecting, &["--connect", &by], &[]));
    let line = first.until("takes connections, but the other side is not there yet");
    assert!(line.contains(&by) && line.contains("waiting up to "), "{line}");
    let second = Running::start(lab.command(Listening, &["--listen", &free], &[]));
    first.end().assert(0, &[]);
    second.end().assert(0, &[]);
}

#[test]
fn a_side_that_waits_says_for_what() {
    let lab = lab();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut first = Running::start(lab.command(Connecting, &["--connect", &free], &[]));
    first.until(&format!("nobody answers at {free} yet"));
    let second = Running::start(lab.command(Listening, &["--listen", &free], &[]));
    first.end().assert(0, &[]);
    second.end().assert(0, &[]);
}

fn exchange(lab: &Lab, party: Party, directory: &str, flags: &[&str]) -> Running {
    Running::start(lab.command(party, &["--exchange-dir", directory], flags))
}

/// As the README has it: the directory and no more, and either side first.
#[test]
fn a_directory_is_enough() {
    let lab = lab();
    let shared = tempfile::tempdir().unwrap();
    let directory = shared.path().to_str().unwrap();
    for party in [Connecting, Listening] {
        let mut first = exchange(&lab, party, directory, &[]);
        first.until("for the other side in ");
        let second = exchange(&lab, party.other(), directory, &[]);
        first.end().assert(0, &["2 of 2 keys match"]);
        second.end().assert(0, &["2 of 2 keys match"]);
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
    }
}

#[test]
fn a_directory_is_waited_at_for_as_long_as_asked_and_left_clean() {
    let lab = lab();
    let shared = tempfile::tempdir().unwrap();
    let directory = shared.path().to_str().unwrap();
    let started = Instant::now();
    let alone = exchange(&lab, Connecting, directory, &["--wait", "1"]).end();
    alone.assert(4, &["the other side did not appear in ", directory, "within 1 s"]);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "the stall timeout is not what is waited for"
    );
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
    let missing = format!("{directory}/missing");
    exchange(&lab, Connecting, &missing, &[]).end().assert(4, &[&missing, "cannot be used"]);
}

#[test]
fn a_directory_that_killed_runs_left_is_used_again() {
    let lab = lab();
    let shared = tempfile::tempdir().unwrap();
    let directory = shared.path().to_str().unwrap();
    let mut killed = exchange(&lab, Connecting, directory, &["--input", "-"]);
    killed.write(HEADER);
    let other = exchange(&lab, Listening, directory, &["--stall-timeout", "1"]);
    killed.until("reading");
    killed.signal("KILL");
    other.end().assert(4, &["nothing moved to or from the other side for 1 s"]);
    assert!(std::fs::read_dir(directory).unwrap().count() > 0);
    let both = [Connecting, Listening].map(|party| exchange(&lab, party, directory, &[]));
    both.into_iter().for_each(|process| _ = process.end().assert(0, &["2 of 2 keys match"]));
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
}

#[test]
fn two_sides_of_one_letter_are_told_so() {
    let lab = lab();
    let shared = tempfile::tempdir().unwrap();
    let directory = shared.path().to_str().unwrap();
    let a = ["--side", "a"];
    let mut first = exchange(&lab, Connecting, directory, &a);
    first.until("for the other side in ");
    let second = exchange(&lab, Listening, directory, &a).end();
    second.assert(5, &["both sides are `--side a`"]);
    first.end().assert(5, &["both sides are `--side a`"]);
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
}

#[test]
fn a_side_that_waits_in_a_run_says_for_what() {
    let lab = lab();
    let (mut process, address) = slow_listener(&lab);
    let mut peer = Running::start(lab.command(Connecting, &["--connect", &address], &[]));
    let line = peer.until("waiting for the other side to read its table");
    assert!(line.starts_with("reading the table: "), "{line}");
    drop(feed(process.stdin(), ROWS));
    let ended = peer.end();
    ended.assert(0, &["agreeing on terms", "getting ready to compare", "writing the result"]);
    let ended = process.end();
    ended.assert(0, &["agreeing on terms", "read 2 rows", "intersecting ("]);
}

/// Another user of the directory puts a pipe in the place of a file, which keeps its reader waiting.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_a_directory_keeps_nobody_waiting() {
    let lab = lab();
    let plant = |name: &str| {
        let shared = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(shared.path().join(name)).status();
        assert!(made.unwrap().success());
        shared
    };
    let side = ["--side", "a", "--wait", "1"];
    let shared = plant("a.vesica-lock");
    let alone = exchange(&lab, Connecting, shared.path().to_str().unwrap(), &side).end();
    alone.assert(4, &["cannot be used: it is not a regular file"]);
    let shared = plant("b-0000000000.vesica");
    let directory = shared.path().to_str().unwrap();
    exchange(&lab, Connecting, directory, &side).end().assert(4, &["did not appear in"]);
    let mut waits = exchange(&lab, Connecting, directory, &["--side", "a"]);
    waits.until("for the other side in ");
    waits.signal("TERM");
    waits.end().assert(130, &["stopped on request"]);
}

#[test]
fn nobody_meets_itself() {
    let lab = lab();
    let own = &lab.prints[Connecting as usize];
    let way = ["--connect", "127.0.0.1:1"];
    let alone = Running::start(lab.command(Connecting, &way, &["--peer", own])).end();
    alone.assert(2, &["--peer is this side's own fingerprint"]);
}
