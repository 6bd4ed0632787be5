//! Replays the corpus of every target, so that faults found by the fuzzer stay fixed.

use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use vesica::{WIRE_VERSION, decoders};
use vesica_fuzz_targets::TARGETS;
use vesica_net::Identity;

fn fuzz() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

/// Returns the names in a folder of `fuzz/`.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns an input of the corpus.
fn input(of: &str) -> Vec<u8> {
    fs::read(fuzz().join("corpus").join(of)).expect("an input")
}

#[test]
fn every_input_of_the_corpus_keeps_the_promises() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let inputs = names(&format!("corpus/{}", target.name));
        assert!(!inputs.is_empty(), "{} has no corpus", target.name);
        for name in inputs.iter().map(|name| format!("{}/{name}", target.name)) {
            let content = input(&name);
            // Also its beginnings, because most data is read in steps.
            for cut in [content.len(), content.len() / 2, content.len().saturating_sub(1)] {
                let ran = catch_unwind(AssertUnwindSafe(|| target.run(&content[..cut])));
                if ran.is_err() {
                    broken.push(format!("fuzz/corpus/{name}, its first {cut} bytes"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "broken by {broken:#?}");
}

/// The initial inputs of a fuzzer are not all refused, for instance because they have an older version.
#[test]
fn all_that_a_target_can_read_is_in_its_corpus() {
    let mut missing = Vec::new();
    for target in TARGETS {
        let inputs = names(&format!("corpus/{}", target.name));
        let inputs = inputs.iter().map(|name| input(&format!("{}/{name}", target.name)));
        let valid: BTreeSet<_> = inputs.flat_map(|input| target.valid(&input)).collect();
        let wanted: BTreeSet<_> = target.reads.iter().copied().collect();
        if valid != wanted {
            missing.push(format!("{}: {valid:?}, and not {wanted:?}", target.name));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn written_inputs_are_in_canonical_form() {
    let read = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json).expect("JSON");
    let mut offer = read(&input("offer/a-good-one"));
    offer["version"] = WIRE_VERSION.into();
    let form = decoders::offer(offer.to_string().as_bytes()).expect("an offer");
    assert_eq!(read(&form), offer);
    let profile = input("key_profile/two-columns");
    assert_eq!(decoders::profile(&profile[1..], 2).as_deref(), Some(&profile[1..]));
    let messages = names("corpus/gateway_messages");
    let mut questions = BTreeSet::new();
    for name in &messages {
        let message = input(&format!("gateway_messages/{name}"));
        match (decoders::gateway_question(&message), decoders::gateway_answer(&message)) {
            (Some(form), None) => {
                assert_eq!(form, message, "{name}");
                questions.insert(&**name);
            }
            (None, Some(form)) => assert_eq!(form, message, "{name}"),
            both => panic!("{name} is {both:?}"),
        }
    }
    let asked = ["found", "here", "kept", "keys", "next", "reveals", "stopped"];
    assert_eq!(questions, asked.into());
}

#[test]
fn a_journal_is_read_to_the_last_of_its_records() {
    let me = Identity::generate().expect("a key");
    let seed = input("journal/records");
    let (mut records, mut rest) = (Vec::new(), &seed[1..]);
    while let [kind, len, others @ ..] = rest {
        let (content, others) = others.split_at(usize::from(*len));
        records.push((*kind, content.to_vec()));
        rest = others;
    }
    // Its second attempt continues after one of two partitions, and compares that one and another.
    let piece = records[2].clone();
    assert_eq!(piece.0, 2);
    records.extend([piece.clone(), piece]);
    assert_eq!(decoders::journal_of(&records, &me).ok(), Some(3));
    assert!(decoders::journal(&input("journal/one-record")[1..], &me).is_err());
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
