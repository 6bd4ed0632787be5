//! Joins: matched rows with columns from the other side.

use vesica::{
    Query,
    files::{Duplicates, SentColumns},
};

use super::*;

/// Returns a job of the side that receives columns.
fn receiving(bench: &Bench, name: &str, text: impl AsRef<[u8]>) -> Job {
    let mut job = bench.job(name, text, Learns::Me);
    job.offer.query = Query::JOIN;
    job
}

/// Returns a job of the side that sends these columns.
fn sending(bench: &Bench, name: &str, text: impl AsRef<[u8]>, columns: &[&str], bytes: u32) -> Job {
    let mut job = bench.job(name, text, Learns::Peer);
    job.offer.query = Query::JOIN;
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    job.offer.sends = Some(SentColumns { columns, bytes, rows: 1 });
    job.output = None;
    job
}

#[test]
fn matched_rows_come_with_the_other_sides_columns() {
    let here = "k,v\r\nx,\"1,\r\n2\"\r\ny,2\r\nx,3\r\n,4\r\nz,5";
    let there =
        "tier,k,v,city\ngold,x,9,\"Paris, \"\"F\"\"\"\nsilver,x,8,Rome\n,z,7,\ngold,w,6,Oslo\n";
    for sender_connects in [false, true] {
        let bench = Bench::new();
        let receiver = receiving(&bench, "r", here);
        let sender = sending(&bench, "s", there, &["v", "city", "tier"], 40);
        let (sent, received) = match sender_connects {
            true => ok(both(sender, receiver)),
            false => {
                let (received, sent) = ok(both(receiver, sender));
                (sent, received)
            }
        };
        assert_eq!(
            bench.output("r").unwrap(),
            "k,v,peer_v,city,tier\r\nx,\"1,\r\n2\",9,\"Paris, \"\"F\"\"\",gold\r\n\
             x,3,9,\"Paris, \"\"F\"\"\",gold\r\nz,5,7,,\r\n"
        );
        assert_eq!(bench.output("s"), None);
        let outcome = (received.outcome.matches, received.outcome.rows_written);
        assert_eq!((outcome, received.outcome.unreadable), ((Some(2), Some(3)), Some(0)));
        assert_eq!((sent.outcome.matches, sent.outcome.unreadable), (None, None));
        assert_eq!(sent.terms_hash, received.terms_hash);
        let learned = received.learned.clone().unwrap();
        assert_eq!(
            learned.me,
            "This side learned which of its keys the other side has too (2 of 3); the values of the columns v, city and tier of \
             the other side for these keys; how many keys the other side has (3); and nothing else."
        );
        assert_eq!(
            sent.learned.clone().unwrap().me,
            "This side learned how many keys the other side has (3) and nothing else."
        );
        let columns = "v, city, tier in 40 bytes a row";
        assert!(received.summary(None).contains(&format!("columns received: {columns}")));
        assert!(sent.summary(None).contains(&format!("columns sent: {columns}")));
        let terms = &bench.report("r")["terms"];
        let named = serde_json::json!({"columns": ["v", "city", "tier"], "bytes": 40, "rows": 1});
        let sender = if sender_connects { "a_sends" } else { "b_sends" };
        assert_eq!((&terms[sender], &terms["wanted"]), (&named, &"join".into()));
    }
}

/// Tests every protocol that carries payloads, and one that is named and does not.
#[test]
fn every_carrier_joins() {
    let rows = |range: std::ops::Range<u32>| {
        range.fold("k,c\n".to_owned(), |text, i| text + &format!("{i},c{}\n", i * 7))
    };
    for protocol in vesica_psi::CATALOGUE {
        let bench = Bench::new();
        let (few, name) = (protocol.key == "dh-ffc", protocol.key.to_owned());
        let (from, to) = if few { (10, 14) } else { (290, 700) };
        let mut receiver = receiving(&bench, "r", rows(0..from + 3));
        let mut sender = sending(&bench, "s", rows(from..to), &["c"], 12);
        for job in [&mut receiver, &mut sender] {
            job.offer.protocol = Some(name.clone());
        }
        if !protocol.carries_payloads() {
            let message = receiver.prepare().err().unwrap().to_string();
            assert!(message.contains("no protocol for join is named `"), "{message}");
            continue;
        }
        let (received, _) = ok(both(receiver, sender));
        let joined = (from..from + 3).map(|i| format!("{i},c{0},c{0}\n", i * 7));
        let expected = joined.fold("k,c,peer_c\n".to_owned(), |text, row| text + &row);
        assert_eq!(bench.output("r").unwrap(), expected, "{name}");
        assert_eq!(received.protocol, Some(protocol.key));
    }
}

#[test]
fn a_row_that_does_not_fit_ends_the_run_on_its_own_side() {
    let bench = Bench::new();
    let text = "k,c\nx,1\n,much too long without a key\ny,12345678\n";
    let sender = sending(&bench, "s", text, &["c"], 9);
    let (sent, received) = both(sender, receiving(&bench, "r", "k\nx\n"));
    let (sent, received) = (sent.unwrap_err(), received.unwrap_err());
    assert_eq!((sent.class(), received.class()), (Class::Input, Class::Network));
    let message = sent.to_string();
    assert!(message.contains("row 3 (line 4), column `c`: "), "{message}");
    assert!(message.contains("9 bytes") && !message.contains("12345678"), "{message}");
    assert_eq!(received.to_string(), PEER_INPUT);
    bench.assert_clean();
}

#[test]
fn sides_that_do_not_match_report_it() {
    let bench = Bench::new();
    let (a, b) = both(receiving(&bench, "r", "k\nx\n"), bench.job("b", "k\nx\n", Learns::Peer));
    for error in [a.unwrap_err(), b.unwrap_err()] {
        assert_eq!(error.class(), Class::Terms, "{error}");
        assert!(error.to_string().contains("query (here: "), "{error}");
    }
    let usage = |change: &dyn Fn(&mut Job), said: &str| {
        let mut job = sending(&bench, "s", "k,c\nx,1\n", &["c"], 64);
        change(&mut job);
        let error = job.prepare().err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    };
    usage(&|job| job.offer.learns = Learns::Both, "must not learn");
    usage(&|job| job.offer.sends = None, "must be the only one that learns");
    usage(&|job| job.offer.query = Query::ROWS, "only a join sends columns");
    usage(&|job| job.offer.sends.as_mut().unwrap().bytes = 2, "take 3 to 65536 bytes");
    usage(&|job| job.offer.sends.as_mut().unwrap().columns.push("c".into()), "sent only once");
    usage(&|job| job.offer.sends.as_mut().unwrap().columns = vec!["d".into()], "no column `d`");
    usage(&|job| job.offer.minimum = 3, "takes no minimum");
    usage(
        &|job| job.offer.protocol = Some("naive".into()),
        "no protocol for join is named `naive`",
    );
}

#[test]
fn empty_tables_join_to_nothing() {
    for (here, there, expected) in
        [("", "k,c\nx,1\n", ""), ("k\nx\n", "", "k,c\n"), ("k\nx\n", "k,c\ny,1\n", "k,c\n")]
    {
        let bench = Bench::new();
        let receiver = Job { allow_empty: true, ..receiving(&bench, "r", here) };
        let sender = Job { allow_empty: true, ..sending(&bench, "s", there, &["c"], 64) };
        let (received, _) = ok(both(receiver, sender));
        assert_eq!(bench.output("r").unwrap(), expected);
        assert_eq!(received.outcome.rows_written, Some(0));
    }
}

/// Returns a job of the side that sends all rows of a key.
fn sending_all(bench: &Bench, text: &str, columns: &[&str], rows: u32) -> Job {
    let mut job = sending(bench, "s", text, columns, 12);
    job.duplicates = Duplicates::All;
    job.offer.sends.as_mut().unwrap().rows = rows;
    job
}

#[test]
fn all_rows_of_a_key_are_sent() {
    let here = "k,v\nx,1\ny,2\nx,3\nz,4\n";
    let there = "k,c\nx,p\nw,q\nx,r\nz,s\nx,t\n";
    for sender_connects in [false, true] {
        let bench = Bench::new();
        let (receiver, sender) =
            (receiving(&bench, "r", here), sending_all(&bench, there, &["c"], 3));
        let (sent, received) = match sender_connects {
            true => ok(both(sender, receiver)),
            false => {
                let (received, sent) = ok(both(receiver, sender));
                (sent, received)
            }
        };
        let expected = "k,v,c\nx,1,p\nx,1,r\nx,1,t\nx,3,p\nx,3,r\nx,3,t\nz,4,s\n";
        assert_eq!(bench.output("r").unwrap(), expected);
        let outcome = (received.outcome.matches, received.outcome.rows_written);
        assert_eq!(outcome, (Some(2), Some(7)));
        let learned = received.learned.clone().unwrap().me;
        let said = "the values of the column c of the other side in all its rows with these keys (up to 3 a key)";
        assert!(learned.contains(said), "{learned}");
        let columns = "columns sent: c in 12 bytes a row, up to 3 rows a key";
        assert!(sent.summary(None).contains(&columns.to_owned()));
    }
}

/// The lengths of messages depend on the sizes of the sets and on the terms, and not on which rows match, how many of
/// them have the same key, or their content.
#[test]
fn lengths_reveal_nothing_about_rows() {
    let here = "k,v\na,1\nb,2\nc,3\nd,4\n";
    let lengths = |there: &str| {
        let bench = Bench::new();
        let (sent, _) =
            ok(both(sending_all(&bench, there, &["c"], 3), receiving(&bench, "r", here)));
        let phases = sent.phases.iter().filter(|phase| phase.name != "terms");
        let lengths = phases.map(|phase| (phase.name, phase.bytes_sent, phase.bytes_received));
        lengths.collect::<Vec<_>>()
    };
    let none = lengths("k,c\nv,\nw,\nx,\ny,\nz,\n");
    assert!(none.iter().any(|(_, sent, _)| *sent > 5 * 36), "payloads are on the line: {none:?}");
    for there in [
        "k,c\na,\nb,\nc,\nd,\nz,\n",
        "k,c\na,ten bytes!\nb,ten bytes!\nx,ten bytes!\ny,ten bytes!\nz,ten bytes!\n",
        "k,c\na,p\na,q\na,r\nb,s\nc,t\nx,u\nz,v\nz,w\n",
    ] {
        assert_eq!(lengths(there), none, "{there}");
    }
}

#[test]
fn a_key_with_too_many_rows_ends_the_run() {
    let bench = Bench::new();
    let text = "k,c\nx,1\n,9\ny,2\nx,3\nx,4\n";
    let (sent, received) =
        both(sending_all(&bench, text, &["c"], 2), receiving(&bench, "r", "k\nx\n"));
    let (sent, received) = (sent.unwrap_err(), received.unwrap_err());
    assert_eq!((sent.class(), received.class()), (Class::Input, Class::Network));
    let message = sent.to_string();
    assert!(
        message.contains("row 5 (line 6) has the same key as row 1 (line 2), and at most 2 rows"),
        "{message}"
    );
    assert_eq!(received.to_string(), PEER_INPUT);
    bench.assert_clean();
}

#[test]
fn a_left_join_keeps_every_row_of_the_receiver() {
    let bench = Bench::new();
    let receiver = Job { unmatched: true, ..receiving(&bench, "r", "k,v\nx,1\n,2\ny,3\nx,4\n") };
    let sender = sending(&bench, "s", "k,c,d\nx,gold,\nz,silver,1\n", &["c", "d"], 20);
    let (received, _) = ok(both(receiver, sender));
    assert_eq!(bench.output("r").unwrap(), "k,v,c,d\nx,1,gold,\n,2,,\ny,3,,\nx,4,gold,\n");
    let outcome = (received.outcome.matches, received.outcome.rows_written);
    assert_eq!(outcome, (Some(1), Some(4)));
}

#[test]
fn options_of_joins_are_refused_elsewhere() {
    let bench = Bench::new();
    let usage = |job: Job, said: &str| {
        let error = job.prepare().err().unwrap();
        assert_eq!(error.class(), Class::Usage);
        assert!(error.to_string().contains(said), "{error}");
    };
    let sender = || sending(&bench, "s", "k,c\nx,1\n", &["c"], 64);
    let receiver = || receiving(&bench, "r", "k\nx\n");
    let rows = || bench.job("a", "k\nx\n", Learns::Both);
    usage(Job { unmatched: true, ..sender() }, "only the side that receives");
    usage(Job { unmatched: true, ..rows() }, "only the side that receives");
    usage(Job { duplicates: Duplicates::All, ..receiver() }, "for the side that sends");
    usage(Job { duplicates: Duplicates::All, ..rows() }, "for the side that sends");
    let mut many = sender();
    many.offer.sends.as_mut().unwrap().rows = 2;
    usage(many, "that all duplicates are sent");
    let mut many = sending_all(&bench, "k,c\nx,1\n", &["c"], 2000);
    many.offer.sends.as_mut().unwrap().bytes = 64;
    usage(many, "2000 rows of 64 bytes");
    let mut aligned = receiver();
    aligned.offer.align = true;
    usage(aligned, "only rows are written in a common order");
}
