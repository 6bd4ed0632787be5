//! The corpus of every target, replayed: what a fuzzer found once stays mended.

use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use vesica_fuzz_targets::TARGETS;

fn fuzz() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

/// The names of what is in a folder of `fuzz/`.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_input_of_the_corpus_keeps_the_promises() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let inputs = names(&format!("corpus/{}", target.name));
        assert!(!inputs.is_empty(), "{} has no corpus", target.name);
        for input in inputs.iter().map(|name| format!("corpus/{}/{name}", target.name)) {
            let content = fs::read(fuzz().join(&input)).expect("an input");
            // And its beginnings: most of what is read is read in steps.
            for cut in [content.len(), content.len() / 2, content.len().saturating_sub(1)] {
                let ran = catch_unwind(AssertUnwindSafe(|| target.run(&content[..cut])));
                if ran.is_err() {
                    broken.push(format!("fuzz/{input}, its first {cut} bytes"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "broken by {broken:#?}");
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "names are different");
    assert_eq!(names("corpus"), targets);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    let programs: BTreeSet<String> = manifest
        .lines()
        .filter_map(|line| {
            Some(line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\"")?.to_owned())
        })
        .collect();
    assert_eq!(programs, targets);
    for name in &targets {
        let program =
            fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).expect("a program");
        assert!(program.contains(&format!("named(\"{name}\")")), "{name} runs another target");
    }
}
