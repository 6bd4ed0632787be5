//! A side that is killed, stopped or silenced in some phase: the other ends in time, says which
//! phase it was in, and nothing is left behind.

use crate::harness::{Connecting, Ended, Lab, Listening, Party, Running, feed};

/// Many enough that Diffie–Hellman takes seconds.
fn slow_table() -> String {
    (0..30_000).fold("k\n".to_owned(), |text, i| text + &format!("u{i}\n"))
}

/// Starts both parties on slow tables; the victim's comes through its standard input, and is there
/// up to `rows`, or whole. Returns the victim, at the moment when it says `line`, and the survivor.
fn caught(lab: &Lab, victim: Party, line: &str, whole: bool) -> (Running, Running) {
    lab.write(victim.other(), slow_table());
    let dh = ["--protocol", "dh", "--stall-timeout", "2"];
    let piped = [&dh[..], &["--input", "-"]].concat();
    let [a, b] = match victim {
        Connecting => lab.start(&piped, &dh),
        Listening => lab.start(&dh, &piped),
    };
    let (mut victim, survivor) = if victim == Connecting { (a, b) } else { (b, a) };
    let stdin = victim.stdin();
    if whole {
        drop(feed(stdin, &slow_table()));
        victim.until(line);
    } else {
        let open = feed(stdin, "k\nx\n");
        victim.until(line);
        // Held open for as long as the victim lives.
        std::mem::forget(open);
    }
    (victim, survivor)
}

/// Checks that the survivor reports the loss, and its phase.
#[track_caller]
fn assert_lost(lab: &Lab, ended: &Ended, phases: &[&str]) {
    ended.assert(4, &[]);
    let named =
        |phase: &&&str| ended.err.contains(&format!("while {}", vesica_net::phase::doing(phase)));
    assert!(phases.iter().any(|phase| named(&phase)), "none of {phases:?} in {ended:#?}");
    lab.assert_clean();
}

/// The place of the victim in its run, and the phases in which the survivor may notice.
const STAGES: [(&str, bool, &[&str]); 4] = [
    ("agreeing on terms", false, &["terms", "read"]),
    ("reading", false, &["read"]),
    ("getting ready to compare", true, &["choice", "seed", "sizes", "exponentiate", "own-items"]),
    ("intersecting (dh)", true, &["sizes", "exponentiate", "own-items", "compare"]),
];

#[test]
fn a_side_that_is_killed() {
    for victim in [Connecting, Listening] {
        for (line, whole, phases) in STAGES {
            let lab = Lab::new();
            let (killed, survivor) = caught(&lab, victim, line, whole);
            killed.signal("KILL");
            let survivor = survivor.end();
            assert_lost(&lab, &survivor, phases);
            assert!(survivor.err.contains("closed by the other side"), "{survivor:#?}");
            assert_eq!(killed.end().code, None);
        }
    }
}

#[test]
fn a_side_that_falls_silent() {
    for (line, whole, phases) in STAGES {
        let lab = Lab::new();
        let (frozen, survivor) = caught(&lab, Listening, line, whole);
        frozen.signal("STOP");
        let survivor = survivor.end();
        assert_lost(&lab, &survivor, phases);
        assert!(
            survivor.err.contains("nothing moved to or from the other side for 2 s"),
            "{survivor:#?}"
        );
    }
}

#[test]
fn a_side_that_is_asked_to_stop() {
    for signal in ["INT", "TERM"] {
        for (line, whole, phases) in STAGES {
            let lab = Lab::new();
            let (stopped, survivor) = caught(&lab, Connecting, line, whole);
            stopped.signal(signal);
            stopped.end().assert(130, &["stopped on request while "]);
            let survivor = survivor.end();
            assert_lost(&lab, &survivor, phases);
            assert!(survivor.err.contains("somebody asked it to stop"), "{survivor:#?}");
        }
    }
}

#[test]
fn a_side_that_waits_for_nobody_can_be_stopped() {
    let lab = Lab::new();
    lab.write(Listening, "k\nx\n");
    let mut waiting = Running::start(lab.command(Listening, &["--listen", "127.0.0.1:0"], &[]));
    waiting.until("listening on");
    waiting.signal("TERM");
    waiting.end().assert(130, &["stopped on request while connecting"]);
}

/// A side that is killed while it writes its result has not reported to the other side that it is done.
#[test]
fn a_side_that_is_killed_while_it_writes() {
    let table = (0..400_000).fold("k,v\n".to_owned(), |text, i| text + &format!("u{i},\"v w\"\n"));
    // The window is short on a fast disk; a victim that got through it is another try.
    let caught = (0..10).any(|_| {
        let lab = Lab::new();
        lab.write(Connecting, &table);
        lab.write(Listening, &table);
        let naive = ["--protocol", "naive", "--allow-research"];
        let me = [&naive[..], &["--learns", "me"]].concat();
        let peer = [&naive[..], &["--learns", "peer"]].concat();
        let [mut victim, survivor] = lab.start(&me, &peer);
        victim.until("writing");
        victim.signal("KILL");
        let (victim, survivor) = (victim.end(), survivor.end());
        if matches!(survivor.code, Some(0 | 7)) {
            return false;
        }
        assert_eq!(victim.code, None);
        assert_lost(&lab, &survivor, &["finish"]);
        true
    });
    assert!(caught, "never caught while it was writing");
}
