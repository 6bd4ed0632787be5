//! The end of a run: exit code 0 means that the results of both sides are in place, in spite of every obstacle
//! of one of them.

use std::process::Command;

use crate::harness::{Connecting, Ended, Lab, Listening, Party, Running};

const NO_RESULT: &str =
    "the other side stopped while writing the result: it could not write its result";

fn lab() -> Lab {
    let lab = Lab::new();
    let table = (0..2000).fold("k\n".to_owned(), |text, i| text + &format!("u{i}\n"));
    lab.write(Connecting, &table);
    lab.write(Listening, &table);
    lab
}

/// Runs both parties, one of them in a shell that does something first. Returns it and the other.
fn run_in_shell(lab: &Lab, party: Party, shell: &str, flags: &[&str], both: &[&str]) -> [Ended; 2] {
    let in_shell = |command: Command| {
        let mut wrapped = Command::new("sh");
        let script = shell.replace("VESICA", "\"$0\" \"$@\"");
        wrapped.args(["-c", &script]).arg(command.get_program()).args(command.get_args());
        wrapped
    };
    let command = |of: Party, way: &[&str]| match of == party {
        true => in_shell(lab.command(of, way, &[both, flags].concat())),
        false => lab.command(of, way, both),
    };
    let mut listener = Running::start(command(Listening, &["--listen", "127.0.0.1:0"]));
    let line = listener.until("listening on ");
    let address = line.trim_start_matches("listening on ");
    let connector = Running::start(command(Connecting, &["--connect", address])).end();
    let listener = listener.end();
    if party == Connecting { [connector, listener] } else { [listener, connector] }
}

#[test]
fn a_result_that_cannot_be_written_leaves_none_on_either_side() {
    for party in [Connecting, Listening] {
        let full = ["--output", "/dev/full"];
        let lab = lab();
        let [failed, other] = run_in_shell(&lab, party, "exec VESICA", &full, &[]);
        failed.assert(3, &["/dev/full: cannot be written: "]);
        other.assert(4, &[NO_RESULT]);
        lab.assert_clean();
        // The disk is full when half of the rows are there.
        let limited = "trap '' XFSZ; ulimit -f 2; exec VESICA";
        let [failed, other] = run_in_shell(&lab, party, limited, &[], &[]);
        failed.assert(3, &["out.csv: cannot be written: "]);
        other.assert(4, &[NO_RESULT]);
        lab.assert_clean();
    }
}

#[test]
fn an_answer_that_nobody_takes_is_a_failure_of_both_sides() {
    let lab = lab();
    // The reader of the pipe is gone before the program begins; a shell without pipefail says how `cat` ended.
    let closed = "exec 3>&1; { { sleep 1; VESICA 3>&-; echo $? >&3; } | true; } 3>&1";
    for (shell, code) in [("exec VESICA > /dev/full", Some("3")), (closed, None)] {
        let flags = ["--output", "-"];
        let [failed, other] = run_in_shell(&lab, Connecting, shell, &flags, &["--answer", "count"]);
        match code {
            Some(_) => failed.assert(3, &["-: cannot be written: "]),
            None => {
                assert_eq!(failed.out.trim(), "3", "{failed:#?}");
                failed.assert(0, &["-: cannot be written: "])
            }
        };
        other.assert(4, &[NO_RESULT]);
        lab.assert_clean();
    }
}

#[test]
fn a_report_that_cannot_be_written_undoes_nothing() {
    for party in [Connecting, Listening] {
        let lab = lab();
        let report = ["--report", "/dev/full"];
        let [failed, other] = run_in_shell(&lab, party, "exec VESICA", &report, &[]);
        failed.assert(
            7,
            &[
                "the result is complete and in place, but the report could not be written",
                "/dev/full",
            ],
        );
        other.assert(0, &[]);
        assert_eq!(lab.output(party), lab.output(party.other()));
        assert_eq!(lab.output(party).unwrap().lines().count(), 2001);
    }
}

#[test]
fn streams_get_the_whole_result() {
    let lab = lab();
    let output = ["--output", "-"];
    let [a, b] = lab.run(&output, &output);
    assert_eq!(a.assert(0, &[]).out.lines().count(), 2001);
    assert_eq!(a.out, b.assert(0, &[]).out);
}
