//! Two processes join their tables, or write their matches in one order.

use crate::harness::{Connecting, Ended, Lab, Listening, Running};

/// Runs only the connecting side, with nobody to connect to.
fn alone(lab: &Lab, flags: &[&str]) -> Ended {
    Running::start(lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags)).end()
}

#[test]
fn all_rows_of_a_key_come_to_a_left_join() {
    let lab = Lab::new();
    lab.write(Connecting, "k,order\nann,1\nbob,2\nann,3\n");
    let rows = ["ann\",\"tier\":\"gold", "ann\",\"tier\":\"", "eve\",\"tier\":\"silver"];
    let rows = rows.map(|row| format!("{{\"k\":\"{row}\",\"score\":0.5}}\n"));
    lab.write(Listening, rows.concat());
    let output = lab.path("joined.ndjson");
    let here = ["--receive", "--join", "left", "--learns", "me"];
    let there = ["--send", "tier,score", "--duplicates", "all:2", "--send-bytes", "13"];
    let there = [&there[..], &["--learns", "peer", "--output", output.to_str().unwrap()]].concat();
    let [x, y] = lab.run(&here, &there);
    let said = "1 of 2 keys match; 5 rows written to ";
    let columns = "columns received: tier, score in 13 bytes a row, up to 2 rows a key";
    x.assert(0, &[said, columns]);
    y.assert(0, &["columns sent: tier, score in 13 bytes a row, up to 2 rows a key"]);
    assert_eq!(
        lab.output(Connecting).unwrap(),
        "k,order,tier,score\nann,1,gold,0.5\nann,1,,0.5\nbob,2,,\nann,3,gold,0.5\nann,3,,0.5\n"
    );
    assert!(!output.exists());
    let report = lab.report(Connecting);
    let sent = serde_json::json!({"columns": ["tier", "score"], "bytes": 13, "rows": 2});
    assert_eq!((&report["terms"]["b_sends"], &report["rows_written"]), (&sent, &5.into()));

    let few: Vec<_> =
        there.iter().map(|flag| if *flag == "all:2" { "all:1" } else { flag }).collect();
    let [x, y] = lab.run(&here, &few);
    x.assert(4, &["its own input could not be used"]);
    y.assert(
        3,
        &["row 2 (line 2) has the same key as row 1 (line 1), and at most 1 row of one key"],
    );
}

#[test]
fn aligned_outputs_fit_line_by_line() {
    let lab = Lab::new();
    let table = |keys: &mut dyn Iterator<Item = u32>, note: &str| {
        keys.fold("k,v\n".to_owned(), |text, key| text + &format!("{key},{note}{key}\n"))
    };
    lab.write(Connecting, table(&mut (0..50), "x"));
    lab.write(Listening, table(&mut (20..80).rev(), "y"));
    let [x, y] = lab.run(&["--align"], &["--align"]);
    x.assert(0, &["30 of 50 keys match; 30 rows written to "]);
    y.assert(0, &["30 of 60 keys match; 30 rows written to "]);
    let outputs = [Connecting, Listening].map(|party| lab.output(party).unwrap());
    let [a, b] = outputs.each_ref().map(|text| text.lines().collect::<Vec<_>>());
    assert_eq!((a.len(), b.len(), a[0], b[0]), (31, 31, "match_id,k,v", "match_id,k,v"));
    let mut keys = Vec::new();
    for (id, (a, b)) in a.iter().zip(&b).enumerate().skip(1) {
        let key: u32 = a.split(',').nth(1).unwrap().parse().unwrap();
        assert_eq!((*a, *b), (&*format!("{id},{key},x{key}"), &*format!("{id},{key},y{key}")));
        keys.push(key);
    }
    keys.sort_unstable();
    assert!(keys.into_iter().eq(20..50));
    assert_eq!(lab.report(Listening)["terms"]["align"], true);
    let [x, y] = lab.run(&["--align"], &[]);
    x.assert(5, &["order of the matched rows (--align) (here: in one order; there: as they came)"]);
    y.assert(5, &["order of the matched rows (--align)"]);
}

#[test]
fn flags_that_do_not_fit_are_refused_at_once() {
    let lab = Lab::new();
    lab.write(Connecting, "k,c\nx,1\n");
    for (flags, said) in [
        (&["--join", "left"][..], "--receive"),
        (&["--receive", "--learns", "me", "--align"], "--align"),
        (&["--align", "--learns", "me"], "requires that both sides learn the matches"),
        (&["--duplicates", "all"], "name the maximum number of rows per key, as in all:3"),
        (&["--duplicates", "all:0"], "all:N requires a whole number"),
        (&["--duplicates", "some"], "possible values: first, error, all:N"),
        (&["--duplicates", "all:2"], "all rows of a key are for the side that sends columns"),
        (
            &["--send", "c", "--learns", "peer", "--duplicates", "all:2000"],
            "2000 rows of 64 bytes; send fewer rows per key",
        ),
    ] {
        alone(&lab, flags).assert(2, &[said]);
    }
}
