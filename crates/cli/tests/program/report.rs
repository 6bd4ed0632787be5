//! `vesica bench`: tables of papers, files of results, and the page made of them.

use std::{fs, path::Path};

use crate::harness::{Ended, ended};

fn bench(arguments: &[&str]) -> Ended {
    ended(&[&["bench"], arguments].concat())
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn results_are_kept_and_make_a_page() {
    let scratch = tempfile::tempdir().unwrap();
    let [results, page] = ["results.jsonl", "report.html"].map(|name| scratch.path().join(name));
    let [file, output] = [&results, &page].map(|path| path.to_str().unwrap());
    let run = |repeat: &str| {
        let what =
            ["--protocols", "naive,kkrt16", "--sizes", "50,2^8", "--link", "cm20-ohio-virginia"];
        bench(&[&what[..], &["--repeat", repeat, "--results", file, "--json"]].concat())
            .assert(0, &[]);
    };
    run("1");
    assert_eq!(lines(&results), 1 + 4);
    run("1");
    assert_eq!(lines(&results), 1 + 4, "nothing is run again");
    run("2");
    assert_eq!(lines(&results), 1 + 8);

    bench(&["--report", file, "--output", output]).assert(0, &[]);
    let html = fs::read_to_string(&page).unwrap();
    for part in ["default-src 'none'", "id=\"time\"", "id=\"cost\"", "kkrt16", "sender in Ohio"] {
        assert!(html.contains(part), "no {part}");
    }
    let absent = scratch.path().join("absent.jsonl");
    let absent = absent.to_str().unwrap();
    bench(&["--report", absent, "--output", output]).assert(3, &["absent.jsonl"]);
    for wrong in [
        &["--report", file][..],
        &["--report", file, "--output", output, "--sizes", "5"],
        &["--report", file, "--output", output, "--protocols", "naive"],
        &["--sizes", "5"],
    ] {
        assert_eq!(bench(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn figures_of_a_paper_stand_beside_ours() {
    let scratch = tempfile::tempdir().unwrap();
    let results = scratch.path().join("results.jsonl");
    let file = results.to_str().unwrap();
    let table = ["--paper", "kkrt16", "--table", "5", "--up-to", "2^8", "--results", file];
    let text = bench(&table).assert(0, &[]).out.clone();
    assert!(text.contains("BaRK-OPRF-PSI") && text.contains("larger than --up-to 2^8"), "{text}");
    // Five rows; three are of one protocol.
    assert_eq!(lines(&results), 1 + 3, "each job is run once");

    let json = bench(&[&table[..], &["--json"]].concat()).assert(0, &[]).out.clone();
    assert_eq!(lines(&results), 1 + 3);
    let cells: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cells.len(), 25);
    for cell in cells {
        assert_eq!(cell["ours"].is_null(), cell["size"] != 256, "{cell}");
        assert_eq!(cell["left_out"].is_null(), cell["size"] == 256, "{cell}");
        if let Some(ours) = cell["ours"].as_f64() {
            let ratio = cell["figure"].as_f64().unwrap() / ours;
            assert!((cell["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{cell}");
        }
    }
    bench(&["--paper", "kkrt16", "--table", "9"]).assert(2, &["there are the tables 3, 4, 5"]);
    for wrong in [&["--paper", "kkrt17", "--table", "1"][..], &["--paper", "kkrt16"]] {
        assert_eq!(bench(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn everything_is_measured_once_and_makes_a_table_and_a_page() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("docs");
    let arguments =
        ["--performance", folder.to_str().unwrap(), "--up-to", "2^8", "--at-most", "0.02"];
    let run = || {
        bench(&arguments).assert(0, &["performance.md written", "performance-time.svg written"]);
        ["performance.md", "performance.tsv", "performance.jsonl"]
            .map(|name| fs::read_to_string(folder.join(name)).unwrap())
    };
    let [document, table, results] = run();
    for part in [
        "--up-to 2^8 --at-most 0.02",
        "`rr22`",
        "`dh-count`",
        "`kos15`",
        "liang-wan2",
        "≈ ",
        "runs, 0 with a wrong result",
        "in time and",
        "Liang et al. (2022)",
    ] {
        assert!(document.contains(part), "no {part} in {document}");
    }
    // A table has as many cells in each line.
    let mut columns = 0;
    for line in document.lines() {
        let cells = line.strip_prefix('|').map_or(0, |line| line.matches('|').count());
        assert!(cells == columns || cells == 0 || columns == 0, "{line}");
        columns = cells;
    }
    for line in ["rr22\t256\tmemory\t1\t", "ot/np01\t128\t", "primitive/blake3\t1\t"] {
        assert!(table.contains(line), "no {line} in {table}");
    }

    // As a run leaves it that was killed: what is there is not measured again.
    assert_eq!(run(), [document, table, results.clone()]);
    let path = folder.join("performance.jsonl");
    let (kept, _) = results.trim_end().rsplit_once('\n').unwrap();
    fs::write(&path, format!("{kept}\n")).unwrap();
    let [_, _, again] = run();
    assert!(again.starts_with(kept) && again.lines().count() == results.lines().count());

    // The repeats of a machine on which nothing else runs: this one may be busy, whose figures are refused.
    let steady = scratch.path().join("steady.jsonl");
    fs::write(&steady, again.lines().map(as_if_steady).collect::<String>()).unwrap();
    let figures = scratch.path().join("figures.tsv");
    let [file, to] = [&steady, &figures].map(|path| path.to_str().unwrap());
    ended(&["calibrate", "--from", file, "--output", to]).assert(0, &["figures written"]);
    let figures = fs::read_to_string(&figures).unwrap();
    assert!(figures.contains("psz14\t256\t") && !figures.contains("naive"), "{figures}");
    ended(&["plan", "--check", file]).assert(0, &[]);
    for wrong in [&["--sizes", "5"][..], &["--json"], &["--separate-processes"]] {
        assert_eq!(bench(&[&arguments[..], wrong].concat()).code, Some(2), "{wrong:?}");
    }
    bench(&["--protocols", "naive", "--sizes", "5", "--up-to", "2^8"]).assert(2, &[]);
}

/// A line of results whose run took a tenth of a second.
fn as_if_steady(line: &str) -> String {
    let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
    if let Some(seconds) = record.get_mut("seconds") {
        *seconds = 0.1.into();
    }
    format!("{record}\n")
}

#[test]
fn each_run_may_have_a_process_of_its_own() {
    let what = ["--sizes", "20x30", "--repeat", "2", "--separate-processes", "--json"];
    let run = |more: &[&str]| bench(&[more, &what].concat()).assert(0, &[]).out.clone();
    for (flag, keys) in [("--protocols", "rr22,kkrt16+vacuum"), ("--answers", "dh-count,dh-sum")] {
        let records: Vec<serde_json::Value> =
            run(&[flag, keys]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(records.len(), 4);
        for record in records {
            assert_eq!((&record["receiver_items"], &record["correct"]), (&20.into(), &true.into()));
        }
    }
    bench(&["--answers", "dh", "--sizes", "5"]).assert(2, &["dh-count"]);
    let text = bench(&["--primitives", "all", "--sizes", "1,2^8"]).assert(0, &[]).out.clone();
    assert!(text.contains("ns") && text.lines().count() > 40, "{text}");
}
