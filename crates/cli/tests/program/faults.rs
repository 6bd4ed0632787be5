//! Inputs, terms and peers that are not as they should be: the exit code and the message on both
//! sides.

use std::{fs, net::TcpListener, time::Instant};

use crate::harness::{Connecting, Ended, Lab, Listening, Running, ended, feed};

const PEER_INPUT: &str =
    "the other side stopped while reading the table: its own input could not be used";

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

/// A side's input is bad, which it says before it connects or listens.
#[track_caller]
fn not_ready(text: impl AsRef<[u8]>, flags: &[&str], said: &str) -> String {
    let lab = Lab::new();
    lab.write(Connecting, text);
    let mut all = String::new();
    for way in [["--listen", "127.0.0.1:0"], ["--connect", "127.0.0.1:1"]] {
        let ended = Running::start(lab.command(Connecting, &way, flags)).end();
        ended.assert(3, &[said]);
        assert!(!ended.err.contains("listening on"), "{ended:#?}");
        all += &ended.err;
    }
    lab.assert_clean();
    all
}

#[test]
fn missing_columns() {
    not_ready("K\nx\n", &[], "has no column `k`; there is `K`");
    not_ready("id;k\n1;x\n", &[], "is the delimiter right?");
    not_ready("k,k\n1,2\n", &[], "has 2 columns named `k`; rename all but one");
    not_ready("k,mail\n1,x\n", &["--key", "k,l"], "has no column `l`; it has `k`, `mail`");
    let sum = ["--answer", "sum:v", "--learns", "peer"];
    not_ready("k,mail\n1,x\n", &sum, "has no column `v`; it has `k`, `mail`");
}

#[test]
fn a_first_line_is_shown_only_where_it_is_known_to_be_a_header() {
    for first in ["Ann,Smith", "ann@x.org,1", "id,mail"] {
        let said =
            not_ready(format!("{first}\nx,y\n"), &[], "its first line has 2 fields, not shown");
        let shown = first.split(',').any(|field| said.contains(&format!("`{field}`")));
        assert!(!shown && said.contains("`vesica check FILE --columns`"), "{said}");
    }
    let lab = Lab::new();
    lab.write(Connecting, "Ann,Smith\nBob,Lee\n");
    let input = lab.file(Connecting, "in.csv");
    let input = input.to_str().unwrap();
    let check = ended(&["check", input, "--key", "email"]);
    check.assert(3, &["not shown"]);
    assert!(!format!("{check:?}").contains("Smith"));
    assert_eq!(ended(&["check", input, "--columns"]).out, "   1  Ann\n   2  Smith\n");
}

#[test]
fn empty_tables() {
    not_ready(
        "",
        &[],
        "is empty, without even a header; if that is intended, run with --allow-empty",
    );
    not_ready(
        "k,v\n",
        &[],
        "has a header but no rows; if that is intended, run with --allow-empty",
    );
    for (table, flags, said) in [
        (
            "k,v\n,1\n  ,2\n",
            &["--normalize", "trim"][..],
            "none of its 2 rows has a key: 2 with an empty or unsuitable value",
        ),
        (
            "k,v\nNULL,1\n,2\n",
            &["--normalize", "trim"],
            "and 1 with a null value such as NULL; `vesica check` says more",
        ),
        (
            "k,v\nx,1\n",
            &["--normalize", "email"],
            "with an empty or unsuitable value (see --normalize); `vesica check` says",
        ),
    ] {
        let lab = Lab::new();
        lab.write(Connecting, table);
        lab.write(Listening, "k\nx@y.org\n");
        let [a, b] = lab.run(flags, flags);
        a.assert(3, &[said]);
        b.assert(4, &[PEER_INPUT]);
        lab.assert_clean();
        let allowed = [flags, &["--allow-empty"]].concat();
        lab.run(&allowed, flags)[0].assert(0, &["0 of 0 keys match"]);
    }
    // A pipe shows that only when it ends, which may be after the other side is there.
    let lab = Lab::new();
    lab.write(Listening, "k\nx\n");
    let [mut a, b] = lab.start(&["--input", "-"], &[]);
    drop(feed(a.stdin(), "k\n"));
    a.end().assert(3, &["standard input: has a header but no rows"]);
    b.end().assert(4, &[PEER_INPUT]);
    lab.assert_clean();
}

/// The header of a pipe is read before the program connects, and what was read is not lost.
#[test]
fn a_pipe_is_looked_at_before_anybody_is_called() {
    let lab = Lab::new();
    let way = ["--connect", "127.0.0.1:1"];
    let mut bad = Running::start(lab.command(Connecting, &way, &["--input", "-"]));
    let open = feed(bad.stdin(), "wrong\n");
    bad.end().assert(3, &["standard input: has no column `k`"]);
    drop(open);
    let mut stopped = Running::start(lab.command(Connecting, &way, &["--input", "-"]));
    stopped.write("k");
    std::thread::sleep(std::time::Duration::from_millis(500));
    stopped.signal("TERM");
    stopped.end().assert(130, &["stopped on request"]);
}

/// Two companies have different null values.
#[test]
fn null_values_match_nothing() {
    let table = |more: &str| format!("k,v\n{}{more}", "NULL,1\nn/a,1\n-,1\n".repeat(20));
    let lab = Lab::new();
    lab.write(Connecting, table("x,1\ny,2\n"));
    lab.write(Listening, table("y,3\n\u{a0}z,4\n"));
    let trim = ["--normalize", "trim"];
    let [a, b] = lab.run(&trim, &trim);
    a.assert(
        0,
        &[
            "1 of 2 keys match",
            "60 without a key",
            "null value such as NULL or n/a in place of a key: 60",
        ],
    );
    b.assert(0, &["1 of 2 keys match"]);
    assert_eq!(lab.output(Connecting).unwrap(), "k,v\ny,2\n");
    // As bytes they are values like others, and there is a word of warning.
    let [a, _] = lab.run(&[], &[]);
    a.assert(
        0,
        &[
            "4 of 5 keys match",
            "20 of 62 rows (32.3 %) have the same key, the first of them row 1 (line 2)",
        ],
    );
    assert!(!a.err.contains("`NULL`"));
    let own = [&trim[..], &["--null-values", "x,NULL"]].concat();
    let [a, b] = lab.run(&own, &own);
    a.assert(0, &["3 of 3 keys match"]);
    b.assert(0, &["3 of 4 keys match"]);
    different(
        &own,
        &trim,
        "values that count as empty (null values) (here: null, x; there: the default ones)",
        "(here: the default ones; there: null, x)",
    );
    different(
        &[&trim[..], &["--null-values", ""]].concat(),
        &trim,
        "(here: only empty ones; there: the default ones)",
        "(here: the default ones; there: only empty ones)",
    );
}

#[test]
fn a_key_column_may_have_a_comma_in_its_name() {
    let lab = Lab::new();
    lab.write(Connecting, "\"last, first\",\"say \"\"hi\"\"\"\n\"Lee, Ann\",1\n\"Lee, Bob\",2\n");
    lab.write(Listening, "k,l\n\"Lee, Bob\",2\n");
    let [a, b] = lab.run(&["--key", "\"last, first\",\"say \"\"hi\"\"\""], &["--key", "k,l"]);
    a.assert(0, &["1 of 2 keys match"]);
    b.assert(0, &[]);
    let alone = |flags: &[&str]| {
        Running::start(lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags)).end()
    };
    alone(&["--key", "\"last, first"]).assert(2, &["a quote is never closed"]);
    let count = ["--key", "k", "--key", "l", "--answer", "count"];
    alone(&count).assert(2, &["only a query for rows takes several identifiers"]);
}

#[test]
fn compressed_files_and_databases_are_named() {
    for (bytes, name) in [
        (&b"\x28\xb5\x2f\xfd\x04\x00"[..], "cannot be read as zstd: a part of its content"),
        (b"\x1f\x8b\x08\0", "cannot be read as gzip: a part of its content"),
        (b"PAR1\x15\x04PAR1", "cannot be read as Parquet: its metadata, at its end, is damaged"),
        (b"ARROW1\0\0\0\0\0\0ARROW1", "cannot be read as an Arrow file: its structure is damaged"),
        (b"\xff\xff\xff\xff\x10", "cannot be read as an Arrow stream: its structure is damaged"),
        (b"\xfd7zXZ\0\0\x04", "seems to be an xz file, not UTF-8 text; unpack it first"),
        (b"BZh91AY&SY\x94\x1b", "seems to be a bzip2 file"),
        (b"SQLite format 3\0\x10\0", "seems to be an SQLite database"),
        (b"\x9d\x12\x5a\xc7\xf0\x11\x2a\x03DUCK@\0\0\0\0\0\0\0", "seems to be a DuckDB database"),
    ] {
        not_ready(bytes, &[], name);
    }
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
    not_ready(utf16, &[], "seems to be UTF-16, not UTF-8 text; convert it first");
    not_ready("", &["--input", "/no/such; file"], "/no/such; file: cannot be read: ");
    not_ready("", &["--input", "/usr"], "/usr: ");
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
        "row 3 (line 4) has the same key as row 1 (line 2); 2 rows repeat the key of an earlier row",
    );
}

/// A side whose input is bad does not wait for the other's.
#[test]
fn bad_input_is_told_to_a_side_that_still_reads() {
    let lab = Lab::new();
    lab.write(Listening, "k,v\nx\n");
    let [mut a, b] = lab.start(&["--input", "-"], &[]);
    let open = feed(a.stdin(), "k\nx\n");
    b.end().assert(3, &["row 1 (line 2) has 1 field, the header has 2"]);
    a.end().assert(4, &["the other side stopped while reading the table"]);
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
        "(here: dh, semi-honest required; there: auto, malicious required)",
        "(here: auto, malicious required; there: dh, semi-honest required)",
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
    let other_identity = lab.path("other.identity");
    let other_identity = ended(&["keygen", other_identity.to_str().unwrap()]).out;
    let wrong = ["--peer", other_identity.trim()];
    let [a, b] = lab.run(&wrong, &["--wait", "5"]);
    a.assert(4, &[other_identity.trim(), &lab.prints[1]]);
    b.assert(4, &[&lab.prints[1]]);
    let [a, b] = lab.run(&[], &[&wrong[..], &["--wait", "5"]].concat());
    a.assert(4, &[&lab.prints[0]]);
    b.assert(4, &[other_identity.trim(), &lab.prints[0]]);
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
fn hopeless_runs_are_refused_before_anything_is_sent() {
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
    run(&["--protocol", "rr99"]).assert(2, &["no protocol for rows is named `rr99`; there are: "]);
    run(&["--protocol", "oprf-list"])
        .assert(2, &["`oprf-list` is not a protocol of a run", "vesica publish"]);
    run(&["--protocol", "naive"]).assert(2, &["insecure, not for real data"]);
    run(&["--protocol", "dh", "--security", "malicious"]).assert(2, &["not against malicious"]);
    run(&["--key", "k,k"]).assert(2, &["named twice"]);
    run(&["--normalize", "lower,lower"]).assert(2, &["one for all columns, or one for each"]);
    run(&["--normalize", "rot13"]).assert(2, &["none, trim, lower, text, email"]);
    run(&["--peer", "nonsense"]).assert(2, &["--peer"]);
    run(&["--output", input.to_str().unwrap()]).assert(2, &["would replace the input"]);
    run(&["--output", "/no/such/place/x"]).assert(
        3,
        &["/no/such/place/x: cannot be written: the directory /no/such/place does not exist\n"],
    );
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

/// No value of a table is in a message or report of either side, for all inputs.
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
            // Without a header it does not get as far as to need the other side.
            let both = if table.starts_with(b"k") {
                lab.run(flags, &[]).into()
            } else {
                let way = ["--connect", "127.0.0.1:1"];
                vec![Running::start(lab.command(Connecting, &way, flags)).end()]
            };
            for ended in both {
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
            let looked = said.contains("in.csv") || said.contains("reading the table");
            assert!(looked && said.len() > 300, "{said}");
            assert!(!said.contains(SENTINEL), "{said}");
        }
    }
}
