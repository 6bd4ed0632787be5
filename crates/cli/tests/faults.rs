//! Inputs, terms and peers that are not as they should be: the exit code and the message on both
//! sides.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{fs, net::TcpListener, time::Instant};

use harness::{Connecting, Ended, Lab, Listening, Running, ended};

const PEER_INPUT: &str =
    "the other side stopped during phase `read`: its own input could not be used";

/// One side's input is bad, at either end of the connection.
#[track_caller]
fn bad_input(text: impl AsRef<[u8]>, flags: &[&str], said: &str) {
    for bad in [Connecting, Listening] {
        let lab = Lab::new();
        lab.write(bad, &text);
        lab.write(bad.other(), "k\nx\n");
        let (good, other): ([&str; 0], _) = ([], flags);
        let [a, b] = if bad == Connecting { lab.run(other, &good) } else { lab.run(&good, other) };
        let (bad, good) = if bad == Connecting { (a, b) } else { (b, a) };
        bad.assert(3, &[said]);
        good.assert(4, &[PEER_INPUT]);
        lab.assert_clean();
    }
}

#[test]
fn missing_columns() {
    bad_input("id,mail\n1,x\n", &[], "has no column `k`; it has `id`, `mail`");
    bad_input("K\nx\n", &[], "has no column `k`; there is `K`");
    bad_input("id;k\n1;x\n", &[], "is the delimiter right?");
    bad_input("ann@x.org,1\n", &[], "does it have a header row");
    bad_input("k,k\n1,2\n", &[], "has 2 columns named `k`; rename all but one");
}

#[test]
fn rows_that_are_no_rows() {
    bad_input(b"k,v\nx,1\n\xff,2\n", &[], "row 2 (line 3), column `k`: not valid UTF-8");
    bad_input("k,v\nx,1\n\n\ny\n", &[], "row 2 (line 5) has 1 field, the header has 2");
    bad_input("k,v\nx,\"1\ny,2\n", &[], "row 1 (line 2) opens a quoted field that is never closed");
    bad_input("k\nx\0y\nlong enough not to be taken for UTF-16\n", &[], "holds a NUL character");
}

#[test]
fn files_that_are_no_tables() {
    let utf16: Vec<u8> = "\u{feff}k\nx\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bad_input(utf16, &[], "seems to be UTF-16, not UTF-8 text; convert it first");
    bad_input("", &["--input", "/no/such; file"], "/no/such; file: cannot be read: ");
    bad_input("", &["--input", "/"], "/: cannot be read: ");
}

#[test]
fn policies() {
    bad_input(
        "k\nx\n\"\"\n",
        &["--nulls", "error"],
        "row 2 (line 3), column `k`: the key is empty",
    );
    bad_input(
        "k,v\nx,1\ny,2\nx,3\nx,4\n",
        &["--duplicates", "error"],
        "row 3 (line 4) bears the same key as row 1 (line 2); rows that repeat an earlier row's key: 2",
    );
}

/// A side whose input is bad does not wait for the other's.
#[test]
fn bad_input_is_told_to_a_side_that_still_reads() {
    let lab = Lab::new();
    lab.write(Connecting, "wrong\nx\n");
    let [a, mut b] = lab.start(&[], &["--input", "-"]);
    let open = b.stdin();
    a.end().assert(3, &["has no column `k`"]);
    b.end().assert(4, &["the other side stopped during phase `read`"]);
    drop(open);
}

#[track_caller]
fn different(a: &[&str], b: &[&str], here: &str, there: &str) {
    let lab = Lab::new();
    lab.write(Connecting, "k,l\nx,y\n");
    lab.write(Listening, "k,l\nx,y\n");
    let [x, y] = lab.run(a, b);
    x.assert(5, &["the two sides do not agree: ", here]);
    y.assert(5, &["the two sides do not agree: ", there]);
    lab.assert_clean();
}

#[test]
fn terms_that_differ() {
    different(
        &["--normalize", "email"],
        &["--normalize", "lower"],
        "normalisation of the key (here: email; there: lower)",
        "normalisation of the key (here: lower; there: email)",
    );
    different(
        &["--key", "k,l"],
        &[],
        "number of key columns (here: 2 (none, none); there: 1 (none))",
        "number of key columns (here: 1 (none); there: 2 (none, none))",
    );
    different(
        &["--learns", "me"],
        &["--learns", "me"],
        "who learns the result (here: this side; there: the other side)",
        "who learns the result (here: this side; there: the other side)",
    );
    different(
        &["--learns", "both"],
        &["--learns", "me"],
        "who learns the result (here: both sides; there: the other side)",
        "who learns the result (here: this side; there: both sides)",
    );
    different(
        &["--protocol", "dh"],
        &["--protocol", "kkrt16"],
        "protocol (here: dh; there: kkrt16)",
        "protocol (here: kkrt16; there: dh)",
    );
    different(
        &["--protocol", "naive", "--allow-research"],
        &[],
        "not for real data (here: research protocols are allowed; there: research protocols are \
         not allowed)",
        "(here: research protocols are not allowed; there: research protocols are allowed)",
    );
    different(
        &["--protocol", "dh"],
        &["--security", "malicious"],
        "(here: dh, semi-honest wanted; there: auto, malicious wanted)",
        "(here: auto, malicious wanted; there: dh, semi-honest wanted)",
    );
}

#[test]
fn sets_that_are_too_large() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\ny\nz\n");
    lab.write(Listening, "k\nx\n");
    let [a, b] = lab.run(&[], &["--max-peer-rows", "2"]);
    a.assert(5, &["size of this side's set (here: 3 keys; there: accepts at most 2)"]);
    b.assert(5, &["size of the other side's set (here: accepts at most 2; there: 3 keys)"]);
    lab.assert_clean();
}

#[test]
fn the_wrong_peer() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    lab.write(Listening, "k\nx\n");
    let stranger = lab.path("stranger.identity");
    let stranger = ended(&["keygen", stranger.to_str().unwrap()]).out;
    let wrong = ["--peer", stranger.trim()];
    let [a, b] = lab.run(&wrong, &["--wait", "5"]);
    a.assert(4, &[stranger.trim(), &lab.prints[1]]);
    b.assert(4, &[&lab.prints[1]]);
    let [a, b] = lab.run(&[], &[&wrong[..], &["--wait", "5"]].concat());
    a.assert(4, &[&lab.prints[0]]);
    b.assert(4, &[stranger.trim(), &lab.prints[0]]);
    lab.assert_clean();
}

#[test]
fn nobody_there() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    let run = |way: [&str; 2]| {
        let command = lab.command(Connecting, &way, &["--wait", "0.5"]);
        Running::start(command).end()
    };
    run(["--listen", &address]).assert(4, &[&address]);
    drop(free);
    run(["--connect", &address]).assert(4, &["nobody answered at ", &address]);
    run(["--listen", "127.0.0.1:0"]).assert(4, &["nobody connected to 127.0.0.1:"]);
    run(["--connect", "localhost"]).assert(4, &["localhost"]);
    lab.assert_clean();
}

#[test]
fn what_cannot_succeed_is_refused_before_anything_moves() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    let run = |flags: &[&str]| -> Ended {
        let command = lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags);
        let started = Instant::now();
        let ended = Running::start(command).end();
        assert!(started.elapsed().as_secs() < 30, "it waited for the peer");
        ended
    };
    let input = lab.file(Connecting, "in.csv");
    run(&["--protocol", "rr99"]).assert(2, &["there is no protocol `rr99` for rows; there are: "]);
    run(&["--protocol", "naive"]).assert(2, &["insecure, not for real data"]);
    run(&["--protocol", "dh", "--security", "malicious"]).assert(2, &["not against malicious"]);
    run(&["--key", "k,k"]).assert(2, &["named twice"]);
    run(&["--normalize", "lower,lower"]).assert(2, &["one for all, or one each"]);
    run(&["--normalize", "rot13"]).assert(2, &["none, trim, lower, email"]);
    run(&["--peer", "nonsense"]).assert(2, &["--peer"]);
    run(&["--output", input.to_str().unwrap()]).assert(2, &["would replace the input"]);
    run(&["--output", "/no/such/place/x"]).assert(3, &["/no/such/place/x: cannot be written"]);
    run(&["--output", "/proc/x"]).assert(3, &["/proc/x: cannot be written"]);
    run(&["--stall-timeout", "0"]).assert(2, &["0.1 to 2592000"]);
    fs::write(lab.path("connecting.identity"), "no identity").unwrap();
    run(&[]).assert(3, &["connecting.identity: "]);
    fs::remove_file(lab.path("connecting.identity")).unwrap();
    run(&[]).assert(3, &["connecting.identity: cannot be read"]);
    lab.assert_clean();
    ended(&["run", "--learns", "both"]).assert(2, &["required"]);
    ended(&[]).assert(2, &["Usage"]);
}

/// Whatever the two sides are given, no value of a table is in anything they say or report.
#[test]
fn no_value_is_ever_shown() {
    const SENTINEL: &str = "Zq7SENTINEL";
    let s = SENTINEL;
    let tables: [Vec<u8>; 9] = [
        format!("k,v\n{s}@x.org,{s}\n{s}1@x.org,{s}\n").into(),
        format!("k,v\n{s},{s}\n{s},{s}\n").into(),
        format!("k,v\n{s},{s}\n{s}\n").into(),
        format!("k,v\n\"{s},{s}\n").into(),
        [format!("k,v\n{s}").as_bytes(), b"\xff,1\n"].concat(),
        format!("k,v\n{s}\0,{s}\n").into(),
        format!("k,v\n,{s}\n").into(),
        format!("{s}@x.org,{s}\n{s}2@x.org,{s}\n").into(),
        format!("k,v\n{}", format!("{s}@x.org,{s}\n").repeat(3)).into(),
    ];
    for table in &tables {
        for strict in [true, false] {
            let lab = Lab::new();
            lab.write(Connecting, table);
            lab.write(Listening, &tables[0]);
            let flags: &[&str] =
                if strict { &["--nulls", "error", "--duplicates", "error"] } else { &[] };
            let mut said = String::new();
            for ended in lab.run(flags, &[]) {
                assert!(matches!(ended.code, Some(0 | 3 | 4)), "{ended:#?}");
                said += &format!("{}{}", ended.out, ended.err);
            }
            let input = lab.file(Connecting, "in.csv");
            for flags in [&["--json"][..], &[]] {
                let check = ["check", input.to_str().unwrap(), "--key", "k"];
                let ended = ended(&[&check[..], flags].concat());
                said += &format!("{}{}", ended.out, ended.err);
            }
            for party in [Connecting, Listening] {
                let report = lab.file(party, "report.json");
                said += &fs::read_to_string(report).unwrap_or_default();
            }
            assert!(said.contains("reading") && said.len() > 300, "{said}");
            assert!(!said.contains(SENTINEL), "{said}");
        }
    }
}
