//! A job is the same value in flags, in TOML and in JSON.
//!
//! `samples.jsonl` has a line for each option: the texts of the flag, the value in TOML, the value in JSON as a job
//! writes it, other options that it requires, and how a call in Python has it if that differs from JSON. The tests of
//! the command line and of the Python package read the same file.

use serde_json::{Map, Value};
use vesica_spec::{Given, Job, Options};

/// A value of one option, in all notations.
#[derive(serde::Deserialize)]
struct Sample {
    option: String,
    flags: Vec<String>,
    toml: String,
    json: Value,
    #[serde(default)]
    with: Map<String, Value>,
    python: Option<Value>,
}

fn samples() -> Vec<Sample> {
    let lines = include_str!("samples.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn every_option_has_a_sample() {
    let options: Vec<_> = Job::described().into_iter().map(|known| known.name).collect();
    let samples: Vec<_> = samples().into_iter().map(|sample| sample.option).collect();
    assert_eq!(samples, options);
}

#[test]
fn a_job_is_one_value_in_all_notations() {
    for Sample { option, flags, toml, json, with, python } in samples() {
        let flags = vec![(option.clone(), flags.iter().map(Into::into).collect())];
        let in_flags = Job::of(Given { table: with.clone(), flags, ..Given::default() });
        let in_flags = in_flags.unwrap_or_else(|fault| panic!("{option}: {fault}"));
        assert_ne!(in_flags, Job::default(), "{option}: a sample is not the default");

        let with_toml = toml::to_string(&with).unwrap();
        let in_toml: Job =
            toml::from_str(&format!("{with_toml}{option} = {toml}\n")).expect(&option);
        assert_eq!(in_toml, in_flags, "{option}");

        let mut table = with.clone();
        table.insert(option.clone(), python.unwrap_or(json.clone()));
        let in_json: Job = serde_json::from_value(table.into()).expect(&option);
        assert_eq!(in_json, in_flags, "{option}");

        let written = in_json.written();
        assert_eq!(written.get(&option).unwrap_or(&Value::Null), &json, "{option}");
        if !json.is_null() {
            let read: Job = serde_json::from_value(written.into()).expect(&option);
            assert_eq!(read, in_json, "{option}: a job that was written is read again");
        }
    }
}

/// A proxy may hold a password.
#[test]
fn no_password_is_written_or_repeated() {
    let job: Job = serde_json::from_str(r#"{"proxy": "http://n:SENTINEL@h:1"}"#).unwrap();
    let json = serde_json::to_string(&job).unwrap();
    let fault = serde_json::from_str::<Job>(r#"{"proxy": "ftp://n:SENTINEL@h:1"}"#).unwrap_err();
    assert!(![json, format!("{job:?}"), fault.to_string()].concat().contains("SENTINEL"));
}

#[test]
fn a_default_is_read_as_it_is_written_in_the_schema() {
    for known in Job::described() {
        let Some(default) = known.schema.get("default") else { continue };
        let mut job = Job::default();
        job.set(known.name, default).unwrap();
        assert_eq!(job, Job::default(), "{}", known.name);
        if let Some(text) = known.default {
            job.set_texts(known.name, &[text.as_ref()]).unwrap();
            assert_eq!(job, Job::default(), "{}", known.name);
        }
    }
}
