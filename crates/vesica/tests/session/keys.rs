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
    let keys = [vesica::KeyColumn { name: "k".into(), normalize: Normalize::Trim }];
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

#[test]
fn each_side_writes_its_keys_in_its_own_way() {
    let bench = Bench::new();
    // SHA-256 of the address that the other side writes in another way, and of another; and a digest cut short.
    let digests = "k,v\nb4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514,1\n\
                   EObwtHBUqDNZR33LNSMdtt5cafsYFuGmuY4ZLenlue4=,2\nb4c9a289,3\n";
    let plain = "k\n USER@example.com\nnobody@example.com\nnobody\n";
    for (one, left, other, right, rows, nulls) in [
        ("hashed:email", digests, "sha256:email", plain, [1, 1], [1, 1]),
        (
            "date:%d.%m.%Y",
            "k\n1.2.2003\n29.02.2024\n29.02.2023\n",
            "date",
            "k\n2024-02-29\n2003-02-01\n2003-01-02\n",
            [2, 2],
            [1, 0],
        ),
        ("number", "k\n007\n7.0\n8\n", "number:none-comma", "k\n7,00\n8.0\n", [2, 1], [0, 1]),
        ("text", "k\nStraße\n", "text", "k\n STRASSE\n", [1, 1], [0, 0]),
        (
            "phone:GB",
            "k\n020 7946 0018\n1\n",
            "phone:US",
            "k\n011 44 20 7946 0018\n",
            [1, 1],
            [1, 0],
        ),
    ] {
        let [mut a, mut b] =
            [("a", left), ("b", right)].map(|(name, text)| bench.job(name, text, Learns::Both));
        a.offer.keys = vec![one.parse().unwrap()];
        b.offer.keys = vec![other.parse().unwrap()];
        let (a, b) = ok(both(a, b));
        assert_eq!([a.rows_written, b.rows_written], rows.map(Some), "{one}");
        assert_eq!([a.rows.unwrap().null, b.rows.unwrap().null], nulls, "{one}");
        let said = [&a, &b].map(|report| report.learned.as_ref().unwrap().assuming.clone());
        let hashed = one.starts_with("hashed");
        assert_eq!(said[0].contains("This side holds SHA-256 digests"), hashed, "{}", said[0]);
        assert_eq!(said[1].contains("The other side holds SHA-256 digests"), hashed, "{}", said[1]);
        let terms = serde_json::to_value(a.terms.as_ref().unwrap()).unwrap();
        assert_eq!(terms["keys_of_a"][0], format!("{one}@1"));
        assert_eq!(terms["keys_of_b"][0], format!("{other}@1"));
    }
}
