//! The subcommands that need no peer, and the demo.

use std::fs;

use vesica_testkit::assurance;

use crate::harness::{Running, ended, vesica};

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn an_identity_is_private_and_never_overwritten() {
    let scratch = scratch();
    let file = scratch.path().join("it's me.identity");
    let path = file.to_str().unwrap();
    let made = ended(&["keygen", path]);
    made.assert(0, &["keep that file secret"]);
    assert_eq!(made.out.lines().count(), 1);
    assert_eq!(ended(&["fingerprint", path]).out, made.out);
    let before = fs::read(&file).unwrap();
    ended(&["keygen", path]).assert(3, &["already exists"]);
    assert_eq!(fs::read(&file).unwrap(), before);
    ended(&["keygen", "/no/such/place/x"]).assert(3, &["cannot be written"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        ended(&["fingerprint", path]).assert(0, &[]);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        ended(&["fingerprint", path]).assert(0, &["can be read by other users"]);
    }
}

#[test]
fn the_text_of_an_identity_is_no_argument() {
    let text = "-----BEGIN PRIVATE KEY-----\nzq7canary\n-----END PRIVATE KEY-----\n";
    let joined = format!("--identity={text}");
    for line in
        [&["fingerprint", text][..], &["run", "--identity", text], &["run", &joined], &[text]]
    {
        let said = ended(line);
        said.assert(2, &["the text of a key"]);
        assert!(!format!("{}{}", said.out, said.err).contains("zq7canary"), "{line:?}");
    }
}

#[test]
fn check_counts() {
    let scratch = scratch();
    let file = scratch.path().join("a b;c.csv");
    fs::write(&file, "k,v\nA@x.org,1\n a@x.org,2\n,3\n").unwrap();
    let path = file.to_str().unwrap();
    let found = ended(&["check", path, "--key", "k", "--normalize", "email", "--json"]);
    found.assert(0, &[]);
    let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    let rows = serde_json::json!({"read": 3, "null": 1, "duplicate": 1, "used": 1});
    assert_eq!(found["rows"], rows);
    assert_eq!(found["keys_merged"], 1);
    let text = ended(&["check", path, "--key", "k", "--normalize", "email"]);
    assert!(text.out.contains("distinct keys") && text.out.contains("warning: "), "{text:?}");
    assert!(!text.out.contains("x.org"));
    assert!(text.out.contains("key column `k`, --normalize email\n"), "{text:?}");
    assert_eq!(found["key_columns"][0]["changed"], 2);
    let rows = "+44 20 7946 0018\n(020) 7946-0018\n".repeat(10) + "7946\n";
    fs::write(&file, format!("k\n{rows}")).unwrap();
    let text = ended(&["check", path, "--key", "k"]);
    assert!(text.out.contains("the values look like --normalize phone:CC\n"), "{text:?}");
    let text = ended(&["check", path, "--key", "k", "--normalize", "phone:GB"]);
    assert!(text.out.contains("not of this kind, and so no key            1\n"), "{text:?}");
    ended(&["check", path, "--key", "k", "--normalize", "phone:XX"])
        .assert(2, &["`XX` is not a region"]);
    ended(&["check", path, "--key", "k", "--normalize", "postcode:XX"])
        .assert(2, &["no postcodes of `XX` are known; countries: AT, AU"]);
    ended(&["check", path, "--key", "nope"]).assert(3, &["has no column `nope`"]);
    ended(&["check", "/no/such/file", "--key", "k"]).assert(3, &["cannot be read"]);
    ended(&["check", path]).assert(2, &["--key"]);
}

#[test]
fn check_names_the_format() {
    let scratch = scratch();
    let file = scratch.path().join("a.txt");
    fs::write(&file, "{\"k\":\"x\",\"v\":1}\n{\"k\":null}\n").unwrap();
    let path = file.to_str().unwrap();
    let text = ended(&["check", path, "--key", "k"]);
    let has = |name: &str, value: &str| {
        let line = text.out.lines().find(|line| line.starts_with(name));
        line.is_some_and(|line| line.split_whitespace().last() == Some(value))
    };
    assert!(has("format", "ndjson") && has("rows", "2") && has("  without a key", "1"), "{text:?}");
    assert!(!text.out.contains("delimiter"), "{text:?}");
    assert_eq!(ended(&["check", path, "--columns"]).out, "   1  k\n   2  v\n");
    let as_csv = ended(&["check", path, "--columns", "--format", "csv"]);
    assert_eq!(as_csv.out.lines().count(), 2, "{as_csv:?}");
    assert!(as_csv.out.contains("{\"k\":\"x\""), "{as_csv:?}");
    ended(&["check", path, "--key", "k", "--format", "parquet"])
        .assert(3, &["cannot be read as Parquet"]);
    ended(&["check", path, "--key", "k", "--format", "excel"])
        .assert(2, &["possible values: csv,"]);
}

#[test]
fn a_check_ends_in_a_verdict() {
    let scratch = scratch();
    let file = scratch.path().join("t.csv");
    for (rows, verdict) in [
        ("a\nb\n\n \n", "2 keys ready; 2 rows have none"),
        ("a\n a\n\"\"\n", "1 key ready; 1 row has none"),
        ("a\nb\n", "2 keys ready"),
        ("NULL\n", "no key is ready: no row has one"),
    ] {
        fs::write(&file, format!("k,v\n{}", rows.replace('\n', ",1\n"))).unwrap();
        let found = ended(&["check", file.to_str().unwrap(), "--key", "k", "--normalize", "trim"]);
        assert_eq!(found.out.lines().last(), Some(verdict), "{found:?}");
    }
}

#[test]
fn a_check_takes_what_a_job_says() {
    let scratch = scratch();
    let check = |arguments: &[&str]| {
        let mut command = vesica();
        command.arg("check").args(arguments).current_dir(scratch.path());
        Running::start(command).end()
    };
    let toml = "[jobs.acme]\ninput = \"in.txt\"\ndelimiter = \"bar\"\nkey = [[\"mail\"], [\"born\"]]\n\
                normalize = [\"email\", \"date:%d.%m.%Y\"]\nnull-values = \"gone\"\n";
    fs::write(scratch.path().join("vesica.toml"), toml).unwrap();
    fs::write(scratch.path().join("in.txt"), "born|mail\n1.2.1990|A@x.org\ngone|gone\n").unwrap();
    let found = check(&["acme"]);
    found.assert(0, &[]);
    for said in ["`mail`, --normalize email\n", "`born`, --normalize date:%d.%m.%Y\n"] {
        assert!(found.out.contains(said), "{found:?}");
    }
    assert_eq!(found.out.lines().last(), Some("2 keys ready; 1 row has none"));
    assert_eq!(check(&["acme", "--columns"]).out, "   1  born\n   2  mail\n");
    // Flags come before what the job says.
    let found = check(&["acme", "--key", "born", "--normalize", "none"]);
    assert!(found.out.contains("`born`, --normalize none\n"), "{found:?}");
    // A file comes before a job, but for who names the project.
    fs::write(scratch.path().join("acme"), "k\nx\n").unwrap();
    check(&["acme"]).assert(2, &["name the key columns with --key"]);
    check(&["acme", "--project", "vesica.toml"]).assert(0, &[]);
    check(&["globex", "--project", "vesica.toml"])
        .assert(3, &["has no job `globex`; its jobs are acme"]);
    check(&["globex", "--key", "k"]).assert(3, &["globex: cannot be read"]);
}

#[test]
fn a_name_promises_a_delimiter() {
    let scratch = scratch();
    for (name, text) in
        [("a.tsv", "k\tv\nx,y\t1\n"), ("a.psv", "k|v\nx,y|1\n"), ("a.csv", "k,v\nx\ty,1\n")]
    {
        let file = scratch.path().join(name);
        fs::write(&file, text).unwrap();
        let shown = ended(&["check", file.to_str().unwrap(), "--columns"]);
        assert_eq!(shown.out, "   1  k\n   2  v\n", "{name}");
        let shown =
            ended(&["check", file.to_str().unwrap(), "--columns", "--delimiter", "semicolon"]);
        assert_eq!(shown.out.lines().count(), 1, "{name}");
    }
}

#[test]
fn guessable_keys_are_warned_of_however_they_are_written() {
    let scratch = scratch();
    let file = scratch.path().join("t.csv");
    let check = |value: fn(u32) -> String, normalize: &str| {
        let rows: String = (0..200).map(|number| value(number) + "\n").collect();
        fs::write(&file, format!("k\n{rows}")).unwrap();
        ended(&["check", file.to_str().unwrap(), "--key", "k", "--normalize", normalize]).out
    };
    let phone = |form: fn(u32) -> String| check(form, "phone:DE");
    for found in [
        phone(|number| format!("030 2345{number:03}")),
        phone(|number| format!("0049 30 2345{number:03}")),
        phone(|number| format!("+49 (0)30 2345-{number:03}")),
        check(|number| format!("0049 30 2345{number:03}"), "sha256:phone:DE"),
    ] {
        assert!(
            found.contains("low entropy: the keys are numbers or dates of at most 9 digits"),
            "{found}"
        );
    }
    let found = check(|number| format!("{number:03} 999 999 999 999"), "none");
    assert!(!found.contains("low entropy"), "{found}");
}

#[test]
fn advice_about_null_values_helps() {
    let scratch = scratch();
    let file = scratch.path().join("t.csv");
    let rows: String = (0..50).map(|number| format!("gone\nu{number}@x.org\n")).collect();
    fs::write(&file, format!("k\n{rows}")).unwrap();
    let check = |flags: &[&str]| {
        ended(&[&["check", file.to_str().unwrap(), "--key", "k"], flags].concat()).out
    };
    let nulls = ["--null-values", "gone"];
    let advice = "name it with --null-values, and normalise the column, as by --normalize trim";
    assert!(check(&[]).contains(advice) && check(&nulls).contains(advice));
    let trim = ["--normalize", "trim"];
    let found = check(&trim);
    assert!(found.contains("name it with --null-values\n"), "{found}");
    assert!(!check(&[&trim[..], &nulls].concat()).contains("have the same key"));
}

#[test]
fn the_version_is_that_of_the_program_and_of_the_wire() {
    let wire = vesica::WIRE_VERSION;
    let said = format!("vesica {} (wire version {wire})\n", env!("CARGO_PKG_VERSION"));
    for flag in ["--version", "-V"] {
        let ended = ended(&[flag]);
        ended.assert(0, &[]);
        assert_eq!(ended.out, said);
    }
}

#[test]
fn the_list_of_protocols_is_the_catalogue() {
    let json: serde_json::Value =
        serde_json::from_str(&ended(&["protocols", "--json"]).out).unwrap();
    let names: Vec<_> = json.as_array().unwrap().iter().map(|p| p["protocol"].clone()).collect();
    let mut keys: Vec<_> = vesica_psi::CATALOGUE.iter().map(|p| p.key).collect();
    keys.extend(vesica_psi::lookup::LOOKUPS.iter().map(|lookup| lookup.key));
    keys.sort_unstable();
    assert_eq!(names, keys);
    for flags in [&["protocols"][..], &["protocols", "--markdown"]] {
        let text = ended(flags).out;
        assert!(keys.iter().all(|key| text.contains(key)), "{text}");
    }
}

#[test]
fn oblivious_transfers_are_measured() {
    let keys = ["np01", "alsz13", "kk13"];
    let args = ["--ot", "np01,alsz13,kk13", "--sizes", "100", "--link", "lan", "--json"];
    let printed = ended(&[&["bench"][..], &args].concat()).out;
    let lines: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines.iter().map(|line| line["ot"].clone()).collect();
    assert_eq!(shown, keys);
    for line in lines {
        assert_eq!([&line["ots"], &line["link"]], [&serde_json::json!(100), &"lan".into()]);
        let sent = line["bytes_to_sender"].as_u64().zip(line["bytes_to_receiver"].as_u64());
        let sent = sent.map(|(sender, receiver)| sender + receiver);
        assert!(sent >= line["formula_bytes"].as_u64(), "framing comes on top: {line}");
    }
    for wrong in
        [&["--ot", "np02"][..], &["--protocols", "naive", "--link", "wan"], &["--parties", "1"]]
    {
        let ended = ended(&[&["bench", "--sizes", "5"][..], wrong].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
    }
}

#[test]
fn rows_among_several_parties_are_measured() {
    let args = ["bench", "--parties", "3", "--sizes", "50x100", "--separate-processes"];
    let printed = ended(&args).out;
    let line = printed.lines().last().unwrap();
    let figures: Vec<_> = line.split_whitespace().collect();
    assert_eq!(figures[..4], ["3", "memory", "50", "100"], "{printed}");
    assert!(!line.contains("WRONG"), "{line}");
}

#[test]
fn structures_are_measured() {
    // Thousands of tables and stores of 5,000 items take half a minute.
    let few = if assurance::is_in_full() { "100,5000" } else { "100" };
    let mut lines = Vec::new();
    for (keys, sizes) in [(["cuckoo-3", "band-5"], few), (["vacuum", "random-matrix"], "100,5000")]
    {
        let args = ["bench", "--structures", &keys.join(","), "--sizes", sizes, "--json"];
        let printed = ended(&args).out;
        let of_keys = printed.lines().map(|line| serde_json::from_str(line).unwrap());
        let of_keys: Vec<serde_json::Value> = of_keys.collect();
        let keys = keys.repeat(sizes.split(',').count());
        assert!(of_keys.iter().map(|line| &line["structure"]).eq(keys));
        lines.extend(of_keys);
    }
    let (left_out, measured) = lines.split_last().unwrap();
    assert!(left_out["left_out"].is_string() && left_out["items"] == 5000, "{left_out}");
    for line in measured {
        assert_eq!(line["correct"], true);
        let bits = |key: &str| line[key].as_f64().unwrap();
        let per_item = bits("bytes") * 8.0 / bits("items");
        assert!((per_item - bits("bits_per_item")).abs() < 1e-6 && per_item > 40.0, "{line}");
        assert!(bits("log2_risk") <= -39.999, "{line}");
        // Risks that can be seen keep to their bound, and a filter's is about as large.
        let trial = &line["trial"];
        let [seen, of, log2] = ["seen", "of", "log2_risk"].map(|key| trial[key].as_f64().unwrap());
        let mean = of * log2.exp2();
        assert!(seen <= mean + 5.0 * mean.sqrt(), "{line}");
        assert!(line["structure"] != "vacuum" || seen >= mean / 2.0, "{line}");
    }
    for wrong in [&["--structures", "cuckoo-9"][..], &["--structures", "list", "--ot", "np01"]] {
        let ended = ended(&[&["bench", "--sizes", "5"][..], wrong].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
    }
}

#[test]
fn serve_names_the_command_for_lists() {
    for list in
        [&["--list", "breached"][..], &["--list=breached"], &["--listen", "x:1", "--list", "y"]]
    {
        ended(&[&["serve"], list].concat()).assert(2, &["`vesica serve-list --list DIR`"]);
    }
    ended(&["serve", "--listen", "x:1", "--project", "/no/such/file"])
        .assert(3, &["cannot be read"]);
}

#[test]
fn help_documents_the_exit_codes() {
    for arguments in [&["--help"][..], &["run", "--help"]] {
        let help = ended(arguments);
        for code in [
            "\n    0  ",
            "\n    2  ",
            "\n    3  ",
            "\n    4  ",
            "\n    5  ",
            "\n    6  ",
            "\n   70  ",
            "\n  130  ",
        ] {
            assert!(help.out.contains(code), "no {code:?}");
        }
    }
}

#[test]
fn a_run_without_a_job_names_the_jobs_there_are() {
    let scratch = scratch();
    let run = |jobs: &str| {
        fs::write(scratch.path().join("vesica.toml"), jobs).unwrap();
        let mut command = vesica();
        command.arg("run").current_dir(scratch.path());
        Running::start(command).end()
    };
    let said = "as in `vesica run acme`; the jobs of vesica.toml are acme, globex";
    run("[jobs.globex]\n[jobs.acme]\n").assert(2, &[said]);
    run("").assert(2, &["vesica.toml has no job yet", "`vesica invite`", "--identity"]);
    fs::remove_file(scratch.path().join("vesica.toml")).unwrap();
    let mut command = vesica();
    command.arg("run").current_dir(scratch.path());
    let usages =
        ["vesica run <JOB> [OPTIONS]", "vesica run --identity <FILE> --input <FILE> --key"];
    Running::start(command).end().assert(2, &usages);
}

#[test]
fn the_demo_finds_what_it_must() {
    let scratch = scratch();
    let mut demo = vesica();
    demo.args(["demo", "--rows", "1234"]).env("TMPDIR", scratch.path());
    let ended = Running::start(demo).end();
    ended.assert(0, &["shop | ", "club | "]);
    assert_eq!(ended.out.matches("expected 370 matches = found 370").count(), 2, "{ended:#?}");
    assert_eq!(ended.out.matches(" of 1,234), how many keys the other side has").count(), 2);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn the_demo_keeps_files_where_asked() {
    let scratch = scratch();
    let out = scratch.path().join("kept here");
    ended(&["demo", "--rows", "7", "--out", out.to_str().unwrap()]).assert(0, &[]);
    let mut names: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "club matches.csv",
            "club members.csv",
            "club report.json",
            "shop customers.csv",
            "shop matches.csv",
            "shop report.json"
        ]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_demo_leaves_nothing() {
    let scratch = scratch();
    let mut demo = vesica();
    demo.args(["demo", "--rows", "2000000"]).env("TMPDIR", scratch.path());
    let mut demo = Running::start(demo);
    demo.until("| reading");
    demo.signal("TERM");
    demo.end().assert(130, &["stopped on request"]);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    let running = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let running = String::from_utf8_lossy(&running.stdout).into_owned();
    let mine: Vec<_> = running
        .lines()
        .filter(|line| {
            line.contains(".identity") && line.contains(scratch.path().to_str().unwrap())
        })
        .collect();
    assert!(mine.is_empty(), "{mine:?}");
}
