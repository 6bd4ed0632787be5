//! Flags and tables in combination, and their faults.

use std::path::Path;

use vesica_spec::{Fault, Job, Options, Project};

fn job(json: &str) -> Result<Job, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn faults_name_the_option() {
    for (json, said) in [
        (r#"{"colour": 1}"#, "unknown option `colour`"),
        (r#"{"send_bytes": 1}"#, "unknown option `send_bytes`"),
        (r#"{"quiet": 3}"#, "`quiet`: true or false"),
        (r#"{"memory": "2X"}"#, "`memory`: an amount with its unit"),
        (r#"{"learns": "all"}"#, "`learns`: possible values: me, peer, both, nobody"),
        (r#"{"agreement": "a", "scale": 0}"#, "the agreement settles `scale`: leave it out"),
        (r#"{"receive": true, "send": "a"}"#, "`send` and `receive` exclude each other"),
        (r#"{"clamp": 1}"#, "`clamp` requires `epsilon`"),
        (r#"{"key": {}}"#, "`key`: the name of a column"),
        (r#"{"key": []}"#, "`key`: the name of a column"),
    ] {
        let fault = job(json).unwrap_err();
        assert!(fault.starts_with(said), "{json}: {fault}");
    }
    // An option that is not set is absent.
    assert_eq!(
        job(r#"{"receive": false, "send": "a", "clamp": null}"#).unwrap().terms.send.unwrap(),
        ["a"]
    );
}

#[test]
fn a_job_made_by_hand_is_checked_too() {
    let mut job = Job::default();
    job.terms.clamp = Some(1);
    assert_eq!(job.check(), Err(Fault::Requires { option: "clamp", other: "epsilon" }));
    job.terms.epsilon = "1".parse().ok();
    assert_eq!(job.check(), Ok(()));
}

#[test]
fn flags_replace_keys_of_a_project_and_its_paths_are_its_own() {
    let project =
        "[jobs.a]\nlisten = \"x:1\"\ninput = \"in.csv\"\noutput = \"-\"\nlearns = \"me\"\n";
    let project: Project = toml::from_str(project).unwrap();
    let flag = |name: &str, text: &str| (name.to_owned(), vec![text.into()]);
    let flags = vec![flag("connect", "y:1"), flag("report", "r.json"), flag("learns", "both")];
    let job = project.job("a", Path::new("dir"), flags).unwrap();
    assert_eq!((job.connection.listen, job.connection.connect), (None, Some("y:1".to_owned())));
    assert_eq!(job.parties.identity.as_deref(), Some(Path::new("dir/vesica.identity")));
    assert_eq!(job.table.input.as_deref(), Some(Path::new("dir/in.csv")));
    assert_eq!(job.outputs.output.as_deref(), Some(Path::new("-")));
    assert_eq!(job.messages.report.as_deref(), Some(Path::new("r.json")));
    assert_eq!(job.terms.learns, Some(vesica_core::parties::Learns::Both));
    let unknown = project.job("b", Path::new(""), Vec::new()).unwrap_err();
    assert_eq!(unknown, Fault::Unknown { option: "jobs.b".to_owned() });
}

#[test]
fn a_faulty_job_does_not_affect_the_others() {
    let project: Project = toml::from_str("[jobs.a]\nkey = \"k\"\n[jobs.b]\nkeys = 1\n").unwrap();
    let job = |name| project.job(name, Path::new(""), Vec::new());
    assert!(job("a").is_ok() && job("b").is_err());
    let wrong = toml::from_str::<Project>("jobs = 5").unwrap_err().to_string();
    assert!(wrong.contains("`jobs`: a table for each job"), "{wrong}");
}

#[test]
fn keys_have_three_notations() {
    let key = |json: &str| job(&format!("{{\"key\": {json}}}")).unwrap().table.key;
    assert_eq!(key(r#""a,b""#), [["a", "b"]]);
    assert_eq!(key(r#"["a", "b"]"#), [["a", "b"]]);
    assert_eq!(key(r#"["a,b"]"#), [["a,b"]]);
    assert_eq!(key(r#"[["a"], ["b", "c"]]"#), [vec!["a"], vec!["b", "c"]]);
    assert_eq!(key(r#"["a", ["b", "c"]]"#), [vec!["a"], vec!["b", "c"]]);
}

#[test]
fn the_job_of_the_documentation_is_valid() {
    let page = include_str!("../../../docs/guides/embedding.md");
    let block = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(job(block).unwrap().table.key, [["first", "last"]]);
}
