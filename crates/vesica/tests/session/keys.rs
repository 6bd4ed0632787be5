//! Messages about the keys of a table: warnings, empty tables, and why nothing matches.

use std::collections::HashSet;

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;

#[test]
fn both_sides_get_the_warnings_of_a_check() {
    let bench = Bench::new();
    let text = |from: u32| {
        let rows = (from..from + 200).map(|i| format!("n{i}\n")).collect::<String>();
        format!("k\n{rows}{}{}", "NULL\n".repeat(9), "x-1\n".repeat(5))
    };
    let [a, b] = [("a", 0), ("b", 1000)].map(|(name, from)| {
        let mut job = bench.job(name, text(from), Learns::Both);
        job.offer.keys = vec![Normalize::TRIM];
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
    let columns = vec![vesica::files::KeyColumn { name: "k".into(), normalize: Normalize::TRIM }];
    let keys = vesica::CheckedKeys { columns, ..Default::default() };
    let found = vesica::check(input, Delimiter::Comma, &keys).unwrap().findings;
    let seen = witness.seen.lock().unwrap();
    let warned: Vec<_> = seen.iter().filter_map(|line| line.strip_prefix("warning ")).collect();
    assert_eq!(warned, found.warnings);
    let all = warned.join("\n");
    assert!(
        all.contains("rows with a null value such as NULL or n/a in place of a key: 9"),
        "{all}"
    );
    assert!(
        all.contains("5 of 214 rows (2.3 %) have the same key, the first of them row 210"),
        "{all}"
    );
}

#[test]
fn a_diagnosis_and_the_report_say_what_differs() {
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
    let learned = |report: &Report| report.learned.as_ref().unwrap().me.contains("by --diagnose");
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
fn each_side_writes_its_keys_in_its_own_form() {
    let bench = Bench::new();
    // SHA-256 of the address that the other side writes in another form, and of another address; and a truncated
    // digest.
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
        ("number", "k\n007\n7.0\n8\n", "number:none-comma", "k\n\"7,00\"\n8.0\n", [2, 1], [0, 1]),
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
        assert_eq!([a.outcome.rows_written, b.outcome.rows_written], rows.map(Some), "{one}");
        assert_eq!([a.rows.unwrap().null, b.rows.unwrap().null], nulls, "{one}");
        let said = [&a, &b].map(|report| report.learned.as_ref().unwrap().assuming.clone());
        let hashed = one.starts_with("hashed");
        assert_eq!(said[0].contains("This side holds SHA-256 digests"), hashed, "{}", said[0]);
        assert_eq!(said[1].contains("The other side holds SHA-256 digests"), hashed, "{}", said[1]);
        let terms = serde_json::to_value(a.terms.as_ref().unwrap()).unwrap();
        for (side, profile) in [("keys_of_a", one), ("keys_of_b", other)] {
            let said = terms[side][0].as_str().unwrap();
            assert_eq!(said.rsplit_once('@').unwrap().0, profile);
        }
    }
}

#[test]
fn a_row_matches_by_any_of_its_identifiers() {
    /// A row's mail address, and its name and number; empty if absent.
    type Person = [String; 3];
    let table = |people: &[Person]| {
        let rows = people.iter().map(|person| person.join(",") + "\n");
        "mail,name,number\n".to_owned() + &rows.collect::<String>()
    };
    let mut rng = StdRng::seed_from_u64(7);
    let mut people = |rows: usize, mails: u32| -> Vec<Person> {
        let mut value = |prefix: &str, of: u32| match rng.random_range(0..of + 3) {
            0..3 => String::new(),
            number => format!("{prefix}{number}"),
        };
        // Words that are in both identifiers must not match each other.
        (0..rows).map(|_| [value("same@x", mails), value("same@x", 9), value("", 9)]).collect()
    };
    for (here, there) in [(0, 5), (1, 1), (37, 90), (150, 61)] {
        let (a, b) = (people(here, 60), people(there, 60));
        let bench = Bench::new();
        let [job_a, job_b] = [("a", &a), ("b", &b)].map(|(name, people)| {
            let mut job = bench.job(name, table(people), Learns::Both);
            job.columns = ["mail", "name", "number"].map(str::to_owned).to_vec();
            job.offer.keys = vec![Normalize::EMAIL, Normalize::LOWER, Normalize::LOWER];
            job.offer.identifiers = vec![1, 2];
            job.allow_empty = true;
            job
        });
        let (report_a, report_b) = ok(both(job_a, job_b));
        let identifiers = |person: &Person| {
            let [mail, name, number] = person.clone();
            let pair = (!name.is_empty() && !number.is_empty()).then_some((name, number));
            (Some(mail).filter(|mail| !mail.is_empty()), pair)
        };
        let expected = |mine: &[Person], theirs: &[Person]| {
            let theirs: Vec<_> = theirs.iter().map(identifiers).collect();
            let has_mail = |mail: &Option<_>| mail.is_some() && theirs.iter().any(|t| t.0 == *mail);
            let has_pair = |pair: &Option<_>| pair.is_some() && theirs.iter().any(|t| t.1 == *pair);
            let matching = |person: &&Person| {
                let (mail, pair) = identifiers(person);
                has_mail(&mail) || has_pair(&pair)
            };
            let rows: Vec<_> = mine.iter().filter(matching).cloned().collect();
            let mine: Vec<_> = mine.iter().map(identifiers).collect();
            let mails: HashSet<_> = mine.iter().map(|m| &m.0).filter(|m| has_mail(m)).collect();
            let pairs: HashSet<_> = mine.iter().map(|m| &m.1).filter(|m| has_pair(m)).collect();
            (table(&rows), vec![mails.len() as u64, pairs.len() as u64])
        };
        for (name, report, (text, counts)) in
            [("a", report_a, expected(&a, &b)), ("b", report_b, expected(&b, &a))]
        {
            assert_eq!(bench.output(name).unwrap(), text, "{here} {there} {name}");
            assert_eq!(report.outcome.matches, Some(counts.iter().sum()));
            assert_eq!(report.outcome.matches_of_identifiers, Some(counts));
            let learned = report.learned.unwrap().me;
            assert!(learned.contains("by which of its identifiers each row matches"), "{learned}");
            assert!(learned.contains(", of every kind together)"), "{learned}");
        }
    }
}

#[test]
fn a_different_order_of_identifiers_is_a_difference() {
    let bench = Bench::new();
    let [mut a, mut b] = ["a", "b"].map(|name| {
        let mut job = bench.job(name, "k,l\nx,y\n", Learns::Both);
        job.columns = vec!["k".into(), "l".into()];
        job.offer.identifiers = vec![1, 1];
        job
    });
    a.offer.keys = vec![Normalize::EMAIL, Normalize::TRIM];
    b.offer.keys = vec![Normalize::TRIM, Normalize::EMAIL];
    let (a, _) = both(a, b);
    let message = a.err().unwrap().to_string();
    assert!(message.contains("(here: email or trim; there: trim or email)"), "{message}");
    bench.assert_clean();
}

#[test]
fn a_column_may_be_in_several_identifiers_but_not_twice_in_one() {
    let bench = Bench::new();
    let job = |columns: [&str; 4]| {
        let mut job = bench.job("a", "k,l,m\n1,2,3\n", Learns::Both);
        job.columns = columns.map(str::to_owned).to_vec();
        job.offer.keys = vec![Normalize::NONE; 4];
        job.offer.identifiers = vec![2, 2];
        job
    };
    assert!(job(["k", "l", "k", "m"]).check().is_ok());
    let message = job(["k", "l", "m", "m"]).check().unwrap_err().to_string();
    assert!(message.contains("key column `m` is named twice"), "{message}");
}
