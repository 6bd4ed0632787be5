//! Two processes find a number, and nothing else.

use crate::harness::{Connecting, Lab, Listening, Party, Running};

/// Keys from the first number to the one before the last, each with its number as value.
fn table(from: u32, to: u32) -> String {
    (from..to).fold("k,v\n".to_owned(), |text, i| text + &format!("key {i},{i}\n"))
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(Connecting, table(0, 300));
    lab.write(Listening, table(200, 450));
    lab
}

/// The answer in a party's report, which is of that kind.
fn answered(lab: &Lab, party: Party, kind: &str) -> serde_json::Value {
    let answer = lab.report(party)["answer"].clone();
    assert_eq!(answer["kind"], kind);
    answer["value"].clone()
}

#[test]
fn a_count() {
    for (a, b) in [("me", "peer"), ("peer", "me"), ("both", "both")] {
        let lab = lab();
        let flags = |learns| ["--answer", "count", "--learns", learns];
        let [x, y] = lab.run(&flags(a), &flags(b));
        x.assert(0, &["The other side learned"]);
        y.assert(0, &["This side learned"]);
        for (party, learns) in [(Connecting, a), (Listening, b)] {
            let report = lab.report(party);
            assert!(report["matches"].is_null());
            if learns == "peer" {
                assert!(report["answer"].is_null() && lab.output(party).is_none());
            } else {
                assert_eq!(answered(&lab, party, "count"), 100);
                assert_eq!(lab.output(party).unwrap(), "100\n");
            }
        }
    }
}

/// With the largest ε, the noise is larger than 8 with a probability below 2^-100.
#[test]
fn numbers_with_noise() {
    let near = |value: &serde_json::Value, right: f64| {
        let number: f64 = value.as_str().unwrap().parse().unwrap();
        assert!((number - right).abs() <= 8.0, "{number}, without noise {right}");
    };
    let lab = lab();
    let flags = ["--answer", "count", "--learns", "both", "--epsilon", "10"];
    let [x, y] = lab.run(&flags, &flags);
    x.assert(
        0,
        &[
            "shared keys, with noise (ε = 10; standard deviation 0.0095): ",
            "with noise that hides any single key",
        ],
    );
    y.assert(0, &["shared keys, with noise (ε = 10; standard deviation 0.0095): "]);
    for party in [Connecting, Listening] {
        near(&answered(&lab, party, "noisy"), 100.0);
        let report = lab.report(party);
        assert_eq!(report["terms"]["noise"], serde_json::json!({"epsilon": "10", "clamp": null}));
        assert!(report["matches"].is_null());
        assert_eq!(lab.output(party).unwrap().trim(), report["answer"]["value"].as_str().unwrap());
    }
    assert_eq!(answered(&lab, Connecting, "noisy"), answered(&lab, Listening, "noisy"));
    // Shared are 200 to 299, and numbers above 250 count as 250: 10,000 in all and 50 times 250, with a last decimal
    // place. A key changes it by at most 25,000.
    let clamped = ["--epsilon", "10", "--clamp", "250", "--scale", "2"];
    let mine = [&["--answer", "sum:v", "--learns", "me"], &clamped[..]].concat();
    let theirs = [&["--answer", "sum", "--learns", "peer"], &clamped[..]].concat();
    let [x, _] = lab.run(&mine, &theirs);
    x.assert(
        0,
        &["(ε = 10, values clamped to 250)", "the values of 49 keys of this side were clamped"],
    );
    let sum = answered(&lab, Connecting, "noisy");
    let number: f64 = sum.as_str().unwrap().parse().unwrap();
    let right = f64::from((200..300).map(|v: u32| v.min(250)).sum::<u32>());
    assert!((number - right).abs() <= 250.0 * 8.0, "{number}, without noise {right}");
    assert_eq!(lab.report(Connecting)["clamped"], 49);
}

#[test]
fn noise_that_is_none_is_refused() {
    let lab = lab();
    let count = |epsilon| ["--answer", "count", "--learns", "both", "--epsilon", epsilon];
    let [x, y] = lab.run(&count("1"), &count("0.5"));
    x.assert(5, &["noise of the number (--epsilon, --clamp) (here: ε = 1; there: ε = 0.5)"]);
    y.assert(5, &["here: ε = 0.5; there: ε = 1"]);
    for (flags, words) in [
        (&["--epsilon", "1"][..], "only counts, sums and queries over both tables take noise"),
        (
            &["--answer", "threshold:3", "--epsilon", "1"],
            "only counts, sums and queries over both tables take noise",
        ),
        (&["--answer", "count", "--epsilon", "0"], "a decimal number above 0"),
        (&["--answer", "count", "--epsilon", "11"], "hides nothing"),
        (&["--answer", "count", "--clamp", "1", "--epsilon", "1"], "no values to clamp"),
        (&["--answer", "sum:v", "--epsilon", "1"], "add --clamp"),
        (&["--answer", "count", "--epsilon", "1", "--minimum", "3"], "exclude each other"),
        (
            &["--answer", "count", "--epsilon", "1", "--diagnose"],
            "run it separately, without --epsilon",
        ),
    ] {
        let all = [flags, &["--learns", "both"]].concat();
        let command = lab.command(Connecting, &["--connect", "localhost:1"], &all);
        Running::start(command).end().assert(2, &[words]);
    }
}

#[test]
fn sides_that_want_different_things_do_not_run() {
    let lab = lab();
    let count = ["--answer", "count", "--learns", "both"];
    let rows = ["--learns", "both"];
    let [x, y] = lab.run(&count, &rows);
    x.assert(5, &["query (here: count; there: rows)"]);
    y.assert(5, &["query (here: rows; there: count)"]);
    let sum = ["--answer", "sum:v", "--learns", "both"];
    let [x, _] = lab.run(&sum, &sum);
    x.assert(
        5,
        &["source of the values to add up (here: this side provides a column; there: the other side provides a column)"],
    );
    let none = ["--answer", "sum", "--learns", "both"];
    let [x, y] = lab.run(&none, &none);
    for side in [x, y] {
        side.assert(5, &["(here: this side provides none; there: the other side provides none)"]);
    }
}

#[test]
fn impossible_questions_are_refused_at_once() {
    let lab = lab();
    for (answer, said) in [
        ("mean", "possible values: rows, linked, count, sum"),
        ("sum:", "possible values"),
        ("threshold:-1", "threshold:K takes a whole number"),
        ("products", "possible values"),
    ] {
        let command = lab.command(Connecting, &["--connect", "localhost:1"], &["--answer", answer]);
        Running::start(command).end().assert(2, &[said]);
    }
    let minimum = ["--minimum", "3", "--learns", "me"];
    let command = lab.command(Connecting, &["--connect", "localhost:1"], &minimum);
    Running::start(command).end().assert(2, &["a query for rows takes no minimum"]);
}

/// Both sides' flags for a question, and the answer's name and value.
#[test]
fn every_question_is_answered_exactly() {
    let shared = || 200..300u64;
    let sum: u64 = shared().sum();
    let squares: u64 = shared().map(|i| i * i).sum();
    let cases = [
        ("sum:v", "sum", "sum", sum.to_string().into(), format!("{sum}\n")),
        ("sum", "sum:v", "sum", sum.to_string().into(), format!("{sum}\n")),
        (
            "products:v",
            "products:v",
            "sum_of_products",
            squares.to_string().into(),
            format!("{squares}\n"),
        ),
        ("threshold:100", "threshold:100", "at_least", true.into(), "yes\n".to_owned()),
        ("threshold:101", "threshold:101", "at_least", false.into(), "no\n".to_owned()),
    ];
    for (one, other, name, value, line) in cases {
        let lab = lab();
        let value: serde_json::Value = value;
        let minimum = ["--minimum", "100"];
        let flags = |answer, learns| ["--answer", answer, "--learns", learns];
        let [x, y] = lab.run(
            &[&flags(one, "me")[..], &minimum[..]].concat(),
            &[&flags(other, "peer")[..], &["--minimum", "7"][..]].concat(),
        );
        x.assert(0, &["This side learned ", ", and nothing else."]);
        y.assert(0, &[]);
        assert_eq!(answered(&lab, Connecting, name), value, "{one} {other}");
        assert_eq!(lab.output(Connecting).unwrap(), line);
        assert!(lab.output(Listening).is_none() && lab.report(Listening)["answer"].is_null());
        assert_eq!(lab.report(Connecting)["protocol"], "rs21-circuit");
    }
}

/// An intersection below the minimum of either side reveals nothing.
#[test]
fn too_few_are_not_told() {
    let lab = lab();
    let [x, y] = lab.run(
        &["--answer", "sum", "--learns", "both"],
        &["--answer", "sum:v", "--learns", "both", "--minimum", "101"],
    );
    for (ended, party) in [(x, Connecting), (y, Listening)] {
        ended.assert(9, &["no answer: fewer shared keys than the minimum, 101"]);
        assert_eq!(lab.report(party)["answer"]["kind"], "too_few");
        assert!(lab.output(party).is_none(), "an output has a number or is not there");
    }
}

/// The method that reveals the size of the intersection to one side runs only if both sides name it, and both are
/// warned.
#[test]
fn an_encrypted_sum() {
    // Each value is encrypted by itself, which takes long.
    let lab = || {
        let lab = Lab::new();
        lab.write(Connecting, table(0, 60));
        lab.write(Listening, table(40, 90));
        lab
    };
    let sum: u64 = (40..60).sum();
    let named = ["--protocol", "dh-sum"];
    let flags = |answer, learns| [&["--answer", answer, "--learns", learns][..], &named].concat();
    let of_intersection = "how many keys the two sides share";
    for (one, other, learns, peer, told) in [
        ("sum:v", "sum", "me", "peer", Listening),
        ("sum", "sum:v", "me", "peer", Connecting),
        ("sum:v", "sum", "both", "both", Listening),
    ] {
        let lab = lab();
        let [x, y] = lab.run(&flags(one, learns), &flags(other, peer));
        x.assert(0, &[of_intersection]);
        y.assert(0, &[of_intersection]);
        assert_eq!(answered(&lab, Connecting, "sum"), sum.to_string());
        assert_eq!(lab.output(Listening).is_some(), learns == "both");
        for party in [Connecting, Listening] {
            let report = lab.report(party);
            assert_eq!(report["protocol"], "dh-sum");
            let [of_told, of_other] = if party == told { ["me", "peer"] } else { ["peer", "me"] };
            let learned = |who| report["learned"][who].as_str().unwrap().contains(of_intersection);
            assert!(learned(of_told) && !learned(of_other), "{report:#}");
        }
    }
    let lab = lab();
    let [x, y] = lab.run(&flags("sum:v", "me"), &["--answer", "sum", "--learns", "peer"]);
    x.assert(5, &["reveals the number of shared keys", "(here: dh-sum; there: auto)"]);
    y.assert(
        5,
        &[
            "reveals the number of shared keys",
            "(here: auto; to allow it, name `dh-sum` here too; there: dh-sum)",
        ],
    );
    let few = |answer, learns| [&flags(answer, learns)[..], &["--minimum", "101"]].concat();
    let [x, y] = lab.run(&few("sum:v", "me"), &few("sum", "peer"));
    x.assert(9, &["no answer: fewer shared keys than the minimum, 101"]);
    y.assert(0, &[]);
    assert!(lab.output(Connecting).is_none());
    let [x, y] = lab.run(&few("sum", "me"), &few("sum:v", "peer"));
    x.assert(5, &["`dh-sum` does not answer this with this minimum"]);
    y.assert(5, &["`dh-sum` does not answer this with this minimum"]);
}

/// Negative values, empty ones, keys that repeat, and the largest numbers there are.
#[test]
fn values_of_all_kinds_are_added_up() {
    let most = i64::MAX;
    let cases = [
        ("k,v\nkey 1,-5\nkey 2,\nkey 3,3\nkey 3,-4\nelse,9\n,7\n".to_owned(), -6),
        ("k,v\nkey 1,\nkey 2,\n".to_owned(), 0),
        (format!("k,v\nkey 1,{}\nkey 2,7\nelse,0\n", most - 7), most),
        (format!("k,v\nkey 1,-{most}\n"), -most),
    ];
    for (text, sum) in cases {
        let lab = Lab::new();
        lab.write(Connecting, &text);
        lab.write(Listening, table(0, 10));
        let [x, y] = lab.run(
            &["--answer", "sum:v", "--learns", "peer"],
            &["--answer", "sum", "--learns", "me"],
        );
        x.assert(0, &[]);
        y.assert(0, &[]);
        assert_eq!(lab.output(Listening).unwrap(), format!("{sum}\n"), "{text}");
    }
}

/// Values that could overflow, and empty values that are errors, end the run before it asks anything.
#[test]
fn values_that_do_not_fit_are_refused() {
    let most = i64::MAX;
    for (text, flags, said) in [
        (format!("k,v\na,{most}\nb,1\n"), &[][..], "signs aside, add up to more than 2^63 - 1"),
        (format!("k,v\na,{}\n", i64::MIN), &[], "signs aside, add up to more than 2^63 - 1"),
        (format!("k,v\na,{most}0\n"), &[], "row 1 (line 2), column `v`: not a whole number"),
        ("k,v\na,\n".to_owned(), &["--nulls", "error"], "column `v`: the value is empty"),
    ] {
        let lab = Lab::new();
        lab.write(Connecting, &text);
        lab.write(Listening, table(0, 3));
        let sum = [&["--answer", "sum:v", "--learns", "peer"], flags].concat();
        let [x, y] = lab.run(&sum, &["--answer", "sum", "--learns", "me"]);
        x.assert(3, &[said]);
        assert_ne!(y.code, Some(0));
        lab.assert_clean();
    }
}

/// Values with decimal places, whose number both sides know.
#[test]
fn decimals_are_added_up() {
    let lab = Lab::new();
    lab.write(Connecting, "k,v\nkey 1,0.10\nkey 2,-12.5\nkey 3,3\nelse,0.01\n");
    lab.write(Listening, "k,w\nkey 1,2\nkey 2,0.5\nkey 3,\n");
    let sum = ["--answer", "sum:v", "--learns", "both", "--scale", "2"];
    let [x, y] = lab.run(&sum, &["--answer", "sum", "--learns", "both", "--scale", "2"]);
    x.assert(0, &["sum of the values over the shared keys: -9.40"]);
    y.assert(0, &["sum of the values over the shared keys: -9.40"]);
    assert_eq!(lab.output(Listening).unwrap(), "-9.40\n");
    let products = |column| ["--answer", column, "--learns", "both", "--scale", "2"];
    let [x, y] = lab.run(&products("products:v"), &products("products:w"));
    x.assert(0, &["-6.0500"]);
    y.assert(0, &["-6.0500"]);
    let [x, y] = lab.run(&sum, &["--answer", "sum", "--learns", "both"]);
    x.assert(5, &["decimal places of values (scale) (here: 2; there: 0)"]);
    y.assert(5, &["decimal places of values (scale) (here: 0; there: 2)"]);
    lab.write(Connecting, "k,v\nkey 1,0.105\n");
    let [x, y] = lab.run(&sum, &["--answer", "sum", "--learns", "both", "--scale", "2"]);
    x.assert(3, &["row 1 (line 2), column `v`: not a number with at most 2 decimal places"]);
    y.assert(4, &["its own input could not be used"]);
}

/// A threshold that no set can reach, one that every set does, and one of 0.
#[test]
fn thresholds_at_the_edges() {
    for (least, line) in
        [("0", "yes\n"), ("1", "yes\n"), ("251", "no\n"), ("18446744073709551615", "no\n")]
    {
        let lab = lab();
        let answer = format!("threshold:{least}");
        let flags = ["--answer", &answer, "--learns", "both"];
        let [x, y] = lab.run(&flags, &flags);
        x.assert(0, &[]);
        y.assert(0, &[]);
        assert_eq!(lab.output(Connecting).unwrap(), line, "{least}");
        assert_eq!(lab.output(Listening).unwrap(), line, "{least}");
    }
    let lab = lab();
    let [x, _] = lab.run(
        &["--answer", "threshold:3", "--learns", "both"],
        &["--answer", "threshold:4", "--learns", "both"],
    );
    x.assert(5, &["(here: threshold 3; there: threshold 4)"]);
}

/// A share file: what is in its columns, by their names.
pub fn columns(lab: &Lab, party: Party) -> std::collections::HashMap<String, Vec<String>> {
    let text = lab.output(party).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().unwrap().collect();
    let rows: Vec<Vec<String>> = lines.map(Iterator::collect).collect();
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let column = |i: usize| rows.iter().map(|row| row[i].clone()).collect();
    header.into_iter().enumerate().map(|(i, name)| (name, column(i))).collect()
}

/// The XOR of a column of both sides, whose cells are hexadecimal.
pub fn combined(lab: &Lab, name: &str) -> Vec<u64> {
    let [one, other] = [Connecting, Listening].map(|party| columns(lab, party)[name].clone());
    assert_eq!(one.len(), other.len());
    let number = |cell: &String| u64::from_str_radix(cell, 16).unwrap();
    one.iter().zip(&other).map(|(x, y)| number(x) ^ number(y)).collect()
}

/// Both files together are the plain intersection with its values; and neither report says how large it is.
#[test]
fn shares_of_both_sides_are_the_intersection() {
    for [one, other] in [["shares:v", "shares:v"], ["shares", "shares:v"], ["shares", "shares"]] {
        let lab = Lab::new();
        // Rows that repeat a key, that have none, and values that are negative or empty.
        let negative = |i: i64| format!("key {i},{}\n", -i);
        let listening: String = (200..450).map(negative).collect();
        lab.write(Connecting, table(0, 300) + "key 7,1000\n,5\nkey 300,\n");
        lab.write(Listening, "k,v\n".to_owned() + &listening);
        let flags = |answer| ["--answer", answer, "--learns", "nobody"];
        let [x, y] = lab.run(&flags(one), &flags(other));
        x.assert(0, &["bins written to", "A single side's share reveals nothing about the result"]);
        y.assert(0, &["bins written to", "A single side's share reveals nothing about the result"]);
        let of_bins = columns(&lab, Connecting);
        let names = |brings: [&str; 2]| {
            let [a, b] = brings.map(|answer| answer.contains(':'));
            3 + usize::from(a) + usize::from(b)
        };
        assert_eq!(of_bins.len(), names([one, other]));
        assert_eq!(columns(&lab, Listening).len(), of_bins.len() - 1);
        let members = combined(&lab, "member");
        let values = |name: &str, answer: &str| answer.contains(':').then(|| combined(&lab, name));
        let of_a = values("value_a", one);
        let of_b = values("value_b", other);
        let mut found = Vec::new();
        for (bin, row) in of_bins["row"].iter().enumerate() {
            assert_eq!(of_bins["bin"][bin], bin.to_string());
            // Row n has key n − 1; but for the last one, after one that repeats a key and one without.
            let key = match row.parse::<u64>() {
                Ok(303) => Some(300),
                Ok(row) => Some(row - 1),
                Err(_) => None,
            };
            let shared = key.filter(|key| (200..=300).contains(key));
            assert_eq!(members[bin], u64::from(shared.is_some()));
            let value = shared.filter(|key| *key < 300).unwrap_or(0);
            assert!(of_a.as_ref().is_none_or(|values| values[bin] == value));
            let value = shared.map_or(0, |key| key as i64).wrapping_neg() as u64;
            assert!(of_b.as_ref().is_none_or(|values| values[bin] == value));
            found.extend(key);
        }
        found.sort_unstable();
        assert_eq!(found, (0..=300).collect::<Vec<_>>(), "each key is in one bin");
        for party in [Connecting, Listening] {
            let report = lab.report(party);
            assert!(report["matches"].is_null() && report["answer"].is_null());
            assert!(!report["learned"].to_string().contains("101"));
        }
    }
}

#[test]
fn shares_are_for_nobody_to_see() {
    let lab = lab();
    for (flags, code, said) in [
        (
            ["--answer", "shares", "--learns", "both"],
            2,
            "`--answer shares` requires `--learns nobody`",
        ),
        (
            ["--answer", "count", "--learns", "nobody"],
            2,
            "every other answer requires a side that learns",
        ),
    ] {
        let command = lab.command(Connecting, &["--connect", "localhost:1"], &flags);
        Running::start(command).end().assert(code, &[said]);
    }
    let shares = ["--answer", "shares", "--learns", "nobody"];
    let held_back = [&shares[..], &["--minimum", "3"]].concat();
    let command = lab.command(Connecting, &["--connect", "localhost:1"], &held_back);
    Running::start(command).end().assert(2, &["shares take no minimum"]);
    let count = ["--answer", "count", "--learns", "me"];
    let [x, y] = lab.run(&shares, &count);
    x.assert(5, &["query (here: shares; there: count)"]);
    y.assert(5, &["who learns the result (here: this side; there: nobody)"]);
    let strict = [&shares[..], &["--security", "malicious"]].concat();
    let command = lab.command(Connecting, &["--connect", "localhost:1"], &strict);
    Running::start(command).end().assert(2, &["secure against malicious parties"]);
    lab.assert_clean();
}

#[test]
fn values_that_are_no_numbers_end_the_run_with_their_place() {
    let lab = lab();
    lab.write(Connecting, "k,v\na,1\nb,12.50\n");
    let [x, y] =
        lab.run(&["--answer", "sum:v", "--learns", "peer"], &["--answer", "sum", "--learns", "me"]);
    x.assert(3, &["row 2 (line 3), column `v`: not a whole number"]);
    assert!(!x.err.contains("12.50"), "{x:#?}");
    assert_ne!(y.code, Some(0));
    lab.assert_clean();
}
