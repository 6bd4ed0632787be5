//! `plan` and `calibrate`, and a run that chooses its protocol.

use std::fs;

use crate::harness::{Ended, vesica};

/// Runs the program in surroundings where this file, if any, has the figures.
fn with_figures(figures: &str, arguments: &[&str]) -> Ended {
    let output = vesica().env("VESICA_FIGURES", figures).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn plan(arguments: &[&str]) -> serde_json::Value {
    let all = [&["plan", "--json"], arguments].concat();
    let ended = with_figures("/no/such/file", &all);
    ended.assert(0, &[]);
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn the_plan_ranks_what_fits_and_says_why() {
    let million = ["--mine", "2^20", "--theirs", "1048576"];
    let ended = with_figures("/no/such/file", &[&["plan"], &million[..]].concat());
    ended.assert(0, &[]);
    assert!(ended.out.contains("PROTOCOL") && ended.out.contains("not calibrated"), "{ended:?}");
    assert!(ended.out.contains("rr22 is the fastest recommended protocol"), "{ended:?}");
    assert!(ended.out.contains("--all shows them") && !ended.out.contains("kkrt16"), "{ended:?}");
    let all = with_figures("/no/such/file", &[&["plan", "--all"], &million[..]].concat());
    assert!(all.out.contains("kkrt16") && !all.out.contains("--all"), "{all:?}");

    let plan = plan(&million);
    let rows = plan["predictions"].as_array().unwrap();
    assert_eq!(plan["protocol"], rows[0]["protocol"]);
    assert!(rows.len() > 20 && rows.iter().all(|row| row["status"] != "insecure"));
    let seconds: Vec<f64> = rows.iter().map(|row| row["seconds"].as_f64().unwrap()).collect();
    assert!(seconds[1..].is_sorted(), "{seconds:?}");
    assert_eq!(plan["calibrated"], false);
}

#[test]
fn a_plan_among_parties_compares_leaders_and_pivots() {
    let ended = with_figures("/no/such/file", &["plan", "--parties", "1M,100k,10k"]);
    ended.assert(0, &[]);
    let leaders = ended.out.lines().filter(|line| line.contains(" rr22 ")).count();
    assert!(ended.out.contains("3 (10,000)") && leaders == 3, "{ended:?}");
    let plan = plan(&["--parties", "1M,100k,10k", "--answer", "count"]);
    let choices = plan["choices"].as_array().unwrap();
    assert!(choices.len() == 6 && choices.iter().all(|one| one["protocol"] == "rs21-circuit"));
    for (arguments, said) in [
        (&["--parties", "1M,100k"][..], "three or more parties"),
        (&["--parties", "1M,2M,3M", "--mine", "1M"], "--parties and --mine exclude each other"),
        (&["--parties", "1M,many,3M"], "a whole number"),
    ] {
        let ended = with_figures("/no/such/file", &[&["plan"], arguments].concat());
        ended.assert(2, &[said]);
    }
}

#[test]
fn conditions_change_the_plan() {
    let sizes = ["--mine", "2^20", "--theirs", "2^20"];
    let of = |more: &[&str]| plan(&[&sizes, more].concat());
    let strict = of(&["--security", "malicious"]);
    for row in strict["predictions"].as_array().unwrap() {
        assert_eq!(row["secure_against"], "malicious");
    }
    let count = of(&["--answer", "count", "--minimum", "10"]);
    assert_eq!(count["protocol"], "rs21-circuit");

    let seconds = |plan: &serde_json::Value| plan["predictions"][0]["seconds"].as_f64().unwrap();
    let (near, far) = (of(&["--rtt", "0.2"]), of(&["--rtt", "200", "--bandwidth", "10"]));
    assert!(seconds(&far) > 5.0 * seconds(&near));
    let bytes = |row: &serde_json::Value| {
        row["bytes_to_sender"].as_u64().unwrap() + row["bytes_to_receiver"].as_u64().unwrap()
    };
    // Where only bytes cost anything, the fewest bytes are the cheapest: of the recommended protocols.
    let dear = of(&["--price-per-gb", "100000"]);
    let rows = dear["predictions"].as_array().unwrap();
    let recommended = rows.iter().filter(|row| row["status"] == "recommended");
    assert_eq!(recommended.map(bytes).min().unwrap(), bytes(&rows[0]));
    assert_eq!(rows[1..].iter().map(bytes).min().unwrap(), bytes(&rows[1]));
    assert!(dear["predictions"][0]["price"].as_f64().unwrap() > 0.0);
}

#[test]
fn regions_have_prices() {
    let sizes = ["--mine", "2^20", "--theirs", "2^20", "--rtt", "143", "--bandwidth", "85"];
    let of = |more: &[&str]| plan(&[&sizes, more].concat());
    let row = |plan: &serde_json::Value, key: &str| {
        let rows = plan["predictions"].as_array().unwrap();
        rows.iter().find(|row| row["protocol"] == key).unwrap().clone()
    };
    let number = |row: &serde_json::Value, field: &str| row[field].as_f64().unwrap();
    // This side is the receiver, and pays for what it sends and for its machine.
    let alone = row(&of(&["--prices", "sydney"]), "rr22");
    let gib = (1u64 << 30) as f64;
    let expected = 0.12 * number(&alone, "seconds") / 3600.0
        + (0.114 + 0.01) * number(&alone, "bytes_to_sender") / gib;
    let price = number(&alone, "price");
    assert!((price / expected - 1.0).abs() < 1e-6, "{price} for {expected}");
    let peer = row(&of(&["--prices", "sydney", "--learns", "peer"]), "rr22");
    assert!(number(&peer, "price") != price);
    // Both are paid for, on either end.
    let both = row(&of(&["--prices", "Sydney,Oregon"]), "rr22");
    let turned = row(&of(&["--prices", "Oregon,Sydney", "--learns", "peer"]), "rr22");
    assert_eq!(both["price"], turned["price"]);
    // A number takes the place of its part.
    let free =
        row(&of(&["--prices", "Sydney", "--price-per-hour", "0", "--price-per-gb", "0"]), "rr22");
    assert!(free.get("price").is_none());
    let hours = row(&of(&["--prices", "Sydney", "--price-per-gb", "0"]), "rr22");
    let expected = 0.12 * number(&hours, "seconds") / 3600.0;
    assert!((number(&hours, "price") / expected - 1.0).abs() < 1e-6);

    let shown = with_figures(
        "/no/such/file",
        &["plan", "--mine", "99", "--theirs", "99", "--prices", "paris,oregon"],
    );
    shown.assert(0, &[]);
    assert!(shown.out.contains("m5.large in Paris and Oregon; USD of 2020"), "{shown:?}");
    let all = [&["plan"], &sizes[..], &["--prices", "Atlantis"]].concat();
    with_figures("/no/such/file", &all).assert(2, &["2020", "Virginia", "Ohio", "Sydney"]);
}

#[test]
fn sets_that_exceed_memory_are_planned_in_partitions() {
    let sizes = ["--mine", "2^20", "--theirs", "2^20"];
    let of = |more: &[&str]| plan(&[&sizes, more].concat());
    let roomy = of(&["--memory", "1T"]);
    let tight = of(&["--memory", "256M"]);
    let rows = |plan: &serde_json::Value| plan["predictions"].as_array().unwrap().clone();
    assert!(rows(&roomy).iter().all(|row| row["partitions"] == 1));
    assert!(rows(&tight).iter().any(|row| row["partitions"].as_u64().unwrap() > 1));
    let most = rows(&tight).iter().map(|row| row["memory_bytes"].as_u64().unwrap()).max();
    assert!(most.unwrap() <= 256 << 20);
    // As a run does: a set of this size is divided even if there is enough memory.
    let large = plan(&["--mine", "1000M", "--theirs", "100M"]);
    assert!(rows(&large).iter().all(|row| row["partitions"] == 512));
    let all = ["plan", "--mine", "1000M", "--theirs", "100M"];
    let shown = with_figures("/no/such/file", &all);
    shown.assert(0, &[]);
    assert!(shown.out.contains("PARTITIONS") && shown.out.contains("rr22"), "{shown:?}");
    let several = ["plan", "--parties", "100M,10k,10k", "--memory", "2G", "--json"];
    let several: serde_json::Value =
        serde_json::from_str(&with_figures("/no/such/file", &several).out).unwrap();
    for choice in several["choices"].as_array().unwrap() {
        assert!(choice["partitions"].as_u64().unwrap() > 1, "{choice}");
        assert!(choice["memory_bytes"].as_u64().unwrap() <= 2 << 30, "{choice}");
    }
    let all = [&["plan"], &sizes[..], &["--memory", "32M"]].concat();
    with_figures("/no/such/file", &all).assert(2, &["fits into 32.0 MiB", "Raise --memory"]);
}

#[test]
fn roles_follow_from_who_learns() {
    let of = |learns| plan(&["--mine", "1000", "--theirs", "50000", "--learns", learns]);
    for (learns, receiver) in [("me", 1000), ("both", 1000), ("peer", 50000)] {
        assert_eq!(of(learns)["receiver_items"], receiver, "{learns}");
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (written, items) in
        [("2M", 2_000_000), ("100,000", 100_000), ("1.5k", 1500), ("2^10", 1024)]
    {
        assert_eq!(plan(&["--mine", written, "--theirs", "1000"])["receiver_items"], items);
    }
    let wrong = ["plan", "--mine", "1,00", "--theirs", "9"];
    with_figures("/no/such/file", &wrong).assert(2, &["such as 1000, 100,000, 2M or 2^20"]);
}

#[test]
fn impossible_plans_are_refused() {
    let ask = |more: &[&str]| {
        let all = [&["plan", "--mine", "100", "--theirs", "100"], more].concat();
        with_figures("/no/such/file", &all)
    };
    ask(&["--answer", "sum", "--security", "malicious"])
        .assert(2, &["no protocol of this release"]);
    ask(&["--bandwidth", "0"]).assert(2, &["0.001"]);
    ask(&["--rtt", "-1"]).assert(2, &[]);
    with_figures("/no/such/file", &["plan", "--mine", "2^40", "--theirs", "1"])
        .assert(2, &["a set has fewer than"]);
}

#[test]
fn figures_of_this_machine_count() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("figures.tsv");
    let path = file.to_str().unwrap();
    let sizes = ["--mine", "2^16", "--theirs", "2^16"];
    let line = ["--bandwidth", "1000000", "--rtt", "0.01"];
    let plan = |path: &str| with_figures(path, &[&["plan", "--json"], &sizes[..], &line].concat());
    // A machine that is slow but for dh, which is done in no time, and a line that takes none.
    let slow = "rr22\t65536\t100\t-\n";
    let figures = "protocol\titems\tseconds\tmegabytes\ndh\t65536\t0.000001\t-\n".to_owned() + slow;
    fs::write(&file, figures).unwrap();
    let here: serde_json::Value = serde_json::from_str(&plan(path).out).unwrap();
    assert_eq!((&here["calibrated"], &here["protocol"]), (&true.into(), &"dh".into()));

    // Only a recommended protocol is chosen, for all figures.
    let figures =
        "protocol\titems\tseconds\tmegabytes\nkkrt16\t65536\t0.000001\t-\n".to_owned() + slow;
    fs::write(&file, figures).unwrap();
    let here: serde_json::Value = serde_json::from_str(&plan(path).out).unwrap();
    assert_eq!(here["predictions"][0]["status"], "recommended");
    assert_eq!(here["predictions"][1]["protocol"], "kkrt16");

    fs::write(&file, "nonsense\n").unwrap();
    plan(path).assert(3, &["figures.tsv: line 1: not a file of figures", "vesica calibrate"]);
}

#[test]
fn a_published_list_is_compared_where_one_side_has_more_keys() {
    let of = |more: &[&str]| plan(&[&["--mine", "1000", "--theirs", "2^24"], more].concat());
    let once = of(&[]);
    let list = &once["published_list"];
    assert_eq!((&list["protocol"], &list["runs"]), (&"oprf-list".into(), &1.into()));
    assert_eq!((&list["items"], &list["keys"]), (&(1 << 24).into(), &1000.into()));
    // 40 + log 4096 + log 2^24 bits; of a tag an item takes 54.02, as docs/guides/lists.md has measured.
    assert_eq!((&list["tag_bits"], &list["queries"]), (&76.into(), &4096.into()));
    let an_item = list["list_bytes"].as_f64().unwrap() * 8.0 / f64::from(1 << 24);
    assert!((54.0..54.04).contains(&an_item), "{an_item}");
    assert_eq!(
        (&list["bytes_to_publisher"], &list["bytes_to_client"], &list["rounds"]),
        (&32_000.into(), &32_064.into(), &4.into())
    );
    assert_eq!(list["is_better"], false);
    let from = list["better_from"].as_u64().unwrap();
    assert!(from > 1 && from < 100, "{from}");

    // From this number of runs on the list is better; the plan for the run does not change.
    for (runs, better) in [(from - 1, false), (from, true), (from + 1, true)] {
        let runs = runs.to_string();
        let plan = of(&["--runs", &runs]);
        assert_eq!(plan["published_list"]["is_better"], better, "{runs}");
        assert_eq!(plan["protocol"], once["protocol"]);
        let list = &plan["published_list"];
        let seconds = |field: &str| list[field].as_f64().unwrap();
        assert_eq!(better, seconds("total_seconds") < seconds("runs_seconds"));
    }
    // More queries take longer tags: 2^10 times as many.
    let often = of(&["--runs", "4195"]);
    assert_eq!(often["published_list"]["tag_bits"], 87);
}

#[test]
fn lists_are_offered_only_for_what_they_can_do() {
    let unequal = ["--mine", "1000", "--theirs", "2^20"];
    let of = |more: &[&str]| plan(&[&unequal, more].concat());
    for without in [
        plan(&["--mine", "2^20", "--theirs", "2^20"]),
        plan(&["--mine", "2^20", "--theirs", "1000"]),
        of(&["--learns", "both"]),
        of(&["--learns", "peer"]),
        of(&["--answer", "count"]),
    ] {
        assert!(without.get("published_list").is_none(), "{without}");
    }
    let peer = plan(&["--mine", "2^20", "--theirs", "1000", "--learns", "peer"]);
    assert_eq!(peer["published_list"]["keys"], 1000);
    let strict = of(&["--security", "malicious"]);
    assert_eq!(strict["published_list"]["secure_against"], "malicious");
    let priced = of(&["--price-per-gb", "1", "--runs", "1000"]);
    let list = &priced["published_list"];
    assert!(list["total_price"].as_f64().unwrap() < list["runs_price"].as_f64().unwrap());
    assert!(list["why"].as_str().unwrap().contains("costs less"));
    with_figures("/no/such/file", &[&["plan"], &unequal[..], &["--runs", "0"]].concat())
        .assert(2, &["a whole number from 1 on"]);
}

#[test]
fn the_table_shows_the_list_and_says_what_differs() {
    let show = |runs| {
        let arguments = ["plan", "--mine", "1000", "--theirs", "2^24", "--runs", runs];
        let ended = with_figures("/no/such/file", &arguments);
        ended.assert(0, &[]);
        ended.out
    };
    let once = show("1");
    for said in
        ["INSTEAD OF RUNS", "oprf-list", "download it, once", "113 MB", "76 bits", "threat model"]
    {
        assert!(once.contains(said), "{said}: {once}");
    }
    assert!(!once.contains("better choice"), "{once}");
    assert!(show("1000").contains("A published list is the better choice"));
}
