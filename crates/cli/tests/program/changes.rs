//! Changes during a run: of the input between its two readings, and of the directory of its files.

use std::fs;

use crate::{
    harness::{Connecting, Lab, Listening, feed},
    tables,
};

/// The second reading notices that a key has changed, also where the file has its size and its time as before.
#[test]
fn an_input_that_changes_between_its_two_readings() {
    let batch = tables::batch(0..20_000);
    let inputs = [
        ("csv", tables::csv(0..20_000)),
        ("ndjson", tables::ndjson(0..20_000)),
        ("parquet", tables::parquet(&batch)),
        ("arrow", tables::arrow(&batch, None)),
        ("arrows", tables::arrow_stream(&batch, None)),
    ];
    for (format, bytes) in inputs {
        let lab = Lab::new();
        let [input, output] = ["in", "out"].map(|name| lab.path(&format!("{name}.{format}")));
        fs::write(&input, &bytes).unwrap();
        lab.write(Listening, tables::csv(10_000..30_000));
        // So slow that there is time.
        let dh = ["--protocol", "dh"];
        let files = ["--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
        let [mut mine, other] = lab.start(&[&dh[..], &files].concat(), &dh);
        mine.until("intersecting (dh)");
        let file = fs::File::options().write(true).open(&input).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        let mut changed = bytes.clone();
        // All formats begin with the keys.
        let key = changed.iter().skip(2_000).position(|byte| *byte == b's').unwrap() + 2_000;
        changed[key] = b'S';
        fs::write(&input, &changed).unwrap();
        file.set_modified(modified).unwrap();
        mine.end().assert(3, &["changed while it was read", &format!("in.{format}")]);
        other.end().assert(4, &[]);
        assert!(!output.exists(), "{format}");
        assert_eq!(lab.output(Listening), None, "{format}");
    }
}

/// The files of a run are on disk in a directory that is removed before it needs all of them.
#[test]
fn a_directory_that_goes_away() {
    let lab = Lab::new();
    let rows = |rows: std::ops::Range<u32>| {
        rows.fold(String::new(), |text, row| text + &format!("key{row}\n"))
    };
    lab.write(Connecting, "k\n".to_owned() + &rows(0..400_000));
    let spill = lab.path("spill");
    fs::create_dir(&spill).unwrap();
    let partitions = ["--partitions", "4", "--memory", "136M"];
    let here = [&partitions[..], &["--spill", spill.to_str().unwrap()]].concat();
    let there = [&partitions[..], &["--input", "-"]].concat();
    let [mut mine, mut other] = lab.start(&here, &there);
    mine.until("reading the table");
    // The other side has to wait for its own table until the directory is gone.
    let open = feed(other.stdin(), &rows(300_000..300_010));
    fs::remove_dir(&spill).unwrap();
    drop(open);
    mine.end().assert(3, &[spill.to_str().unwrap()]);
    other.end().assert(4, &[]);
    assert_eq!([Connecting, Listening].map(|party| lab.output(party)), [None, None]);
}
