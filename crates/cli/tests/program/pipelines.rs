//! The examples for schedulers: shell scripts run, with two parties, and Python files compile.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    harness::{Running, vesica},
    partners::{
        Projects,
        Side::{Accepter, Inviter},
    },
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pipelines")
}

/// A script of the examples in the inviting side's project, with the program in its path.
fn script(projects: &Projects, name: &str, arguments: &[&str]) -> Command {
    let program = vesica();
    let directory = Path::new(program.get_program()).parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(examples().join(name).canonicalize().unwrap());
    command.args(arguments).current_dir(projects.path(Inviter, "."));
    command.env("PATH", format!("{}:{path}", directory.display())).env("RETRY_AFTER", "1");
    command
}

#[test]
fn a_nightly_script_runs_a_job_and_returns_its_code() {
    let projects = Projects::new(20);
    projects.agree(&["--min-result", "5"], &[]);
    let nightly = Running::start(script(&projects, "nightly.sh", &["acme"]));
    projects.succeeds(Accepter, &["run", "acme", "--wait", "30"]);
    nightly.end().assert(0, &[]);
    assert!(projects.read(Inviter, "acme.csv").contains("u15@example.org"));
    // The pipeline tries again if a partner is absent, but not if a rule refuses the run.
    projects.succeeds(Inviter, &["agreement", "revoke", "acme"]);
    Running::start(script(&projects, "nightly.sh", &["acme"])).end().assert(8, &["revoked"]);
}

#[test]
fn a_nightly_script_tries_again() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    let toml = projects.read(Inviter, "vesica.toml") + "wait = 1\n";
    fs::write(projects.path(Inviter, "vesica.toml"), toml).unwrap();
    let ended = Running::start(script(&projects, "nightly.sh", &["acme"])).end();
    ended.assert(4, &[]);
    assert_eq!(ended.err.matches("vesica: ").count(), 3, "{ended:?}");
}

#[test]
fn models_are_built_after_a_run_and_only_then() {
    let projects = Projects::new(20);
    projects.agree(&[], &[]);
    let dbt = |command: &mut Command| _ = command.env("DBT", "echo");
    let mut build = script(&projects, "before_dbt.sh", &["acme", "--select", "matches"]);
    dbt(&mut build);
    let running = Running::start(build);
    projects.succeeds(Accepter, &["run", "acme", "--wait", "30"]);
    let ended = running.end();
    ended.assert(0, &[]);
    assert_eq!(ended.out, "build --select matches\n");
    let mut refused = script(&projects, "before_dbt.sh", &["nosuch"]);
    dbt(&mut refused);
    let ended = Running::start(refused).end();
    ended.assert(3, &["has no job `nosuch`"]);
    assert_eq!(ended.out, "");
}

#[test]
fn python_files_compile_and_units_name_what_there_is() {
    let mut found = 0;
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let is = |end: &str| path.extension().is_some_and(|extension| extension == end);
        if is("py") {
            let code = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
            let ended = Command::new("python3").args(["-c", code]).arg(&path).output().unwrap();
            assert!(ended.status.success(), "{path:?}: {ended:?}");
        } else if is("service") {
            assert!(text.contains("vesica run %i") && text.contains("SuccessExitStatus=9"));
        } else if is("timer") {
            assert!(text.contains("OnCalendar="));
        } else {
            assert!(text.starts_with("#!/bin/sh\n"), "{path:?}");
        }
        found += 1;
    }
    assert_eq!(found, 6);
}
