//! What is said of the keys of a table: warnings, emptiness, and why nothing matches.

use super::*;

#[test]
fn both_sides_are_warned_as_by_a_check() {
    let bench = Bench::new();
    let text = |from: u32| {
        let rows = (from..from + 200).map(|i| format!("n{i}\n")).collect::<String>();
        format!("k\n{rows}{}{}", "NULL\n".repeat(9), "x-1\n".repeat(5))
    };
    let [a, b] = [("a", 0), ("b", 1000)].map(|(name, from)| {
        let mut job = bench.job(name, text(from), Learns::Both);
        job.offer.keys = vec![Normalize::Trim];
        job
    });
    let (witness, input) = (Arc::new(Witness::default()), a.input.clone());
    let (left, right) = memory::pair();
    let (a, b) = thread::scope(|scope| {
        let b = scope.spawn(|| side(b, Role::B, &mut channel(right), Arc::default()).unwrap());
        (side(a, Role::A, &mut channel(left), witness.clone()).unwrap(), b.join().unwrap())
    });
    // `x-1`, and not `NULL`.
    assert_eq!((a.outcome.matches, b.outcome.matches), (Some(1), Some(1)));
    assert_eq!(a.rows.unwrap().null, 9);
    let keys = [vesica::files::KeyColumn { name: "k".into(), normalize: Normalize::Trim }];
    let found =
        vesica::check(input, Delimiter::Comma, &keys, &Default::default()).unwrap().findings;
    let seen = witness.seen.lock().unwrap();
    let warned: Vec<_> = seen.iter().filter_map(|line| line.strip_prefix("warning ")).collect();
    assert_eq!(warned, found.warnings);
    let all = warned.join("\n");
    assert!(
        all.contains("rows with a null value such as NULL or n/a in place of a key: 9"),
        "{all}"
    );
    assert!(
        all.contains("5 of 214 rows (2.3 %) bear the same key, the first of them row 210"),
        "{all}"
    );
}

#[test]
fn a_diagnosis_says_what_differs_and_the_report_says_so() {
    let rows = |name: &str| (0..150).map(|i| format!("{name}{i}@x.ORG \n")).collect::<String>();
    let (upper, lower) = ("k\n".to_owned() + &rows("ANN"), "k\n".to_owned() + &rows("ann"));
    let lower = lower.replace("ORG ", "org");
    let run = |a: &str, b: &str, diagnose: [bool; 2]| {
        let bench = Bench::new();
        let [mut a, mut b] =
            [("a", a), ("b", b)].map(|(name, text)| bench.job(name, text, Learns::Both));
        [a.offer.diagnose, b.offer.diagnose] = diagnose;
        ok(both(a, b))
    };
    let (a, b) = run(&lower, &upper, [true, true]);
    assert_eq!(a.outcome.matches, Some(0));
    let hints = a.hints.join("\n");
    assert!(
        hints.contains("0 % of the keys here and 100 % of the other side's have capital"),
        "{hints}"
    );
    assert!(hints.contains("have white space at an end"), "{hints}");
    assert!(b.hints.join("\n").contains("150 rows of this side have a key with capital letters"));
    let learned = |report: &Report| report.learned.as_ref().unwrap().me.contains("By --diagnose");
    assert!(learned(&a) && learned(&b));

    for diagnose in [[true, false], [false, false]] {
        let (a, b) = run(&lower, &upper, diagnose);
        assert!(!learned(&a) && !learned(&b));
        let said = if diagnose[0] { "did not ask for --diagnose" } else { "with --diagnose on" };
        assert!(a.hints.join("\n").contains(said), "{:?}", a.hints);
    }
    let (a, b) = run(&lower, "k\nX \n", [true, true]);
    assert!(a.hints.join("\n").contains("too few keys"), "{:?}", a.hints);
    assert!(!learned(&a) && learned(&b));
    assert_eq!(run(&lower, &lower, [true, true]).0.hints, [""; 0]);
}

#[test]
fn an_empty_table_is_an_error_unless_it_is_allowed() {
    for text in ["", "\u{feff}", "\n\n"] {
        assert!(not_ready(text, |_| ()).contains("is empty, without even a header; if that"));
    }
    assert!(not_ready("k,v\r\n\r\n", |_| ()).contains("has a header but no rows; if that"));
    assert!(not_ready("id\n", |job| job.allow_empty = true).contains("has no column `k`"));
}
