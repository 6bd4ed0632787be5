//! A table that is not a file: rows of a program, here customers, that never touch a disk. Both sides learn how many
//! customers they share.
//!
//! `cargo run -p vesica --example table_source`

use std::thread;

use vesica::{Job, Learns, Normalize, Offer, Query, Role, Runner, Source};
use vesica_net::{
    Channel,
    transport::memory::{self, Memory},
};

/// A row of a program's data, which may also come from a database.
struct Customer {
    number: u32,
    name: String,
}

fn main() {
    let customers = |numbers: std::ops::Range<u32>| {
        numbers.map(|number| Customer { number, name: format!("Customer, No. {number}") })
    };
    let (left, right) = memory::pair();
    thread::scope(|scope| {
        scope.spawn(|| count(Role::B, source(customers(300..900)), right));
        println!("shared customers: {}", count(Role::A, source(customers(0..500)), left));
    });
}

/// Returns the table as text, with a header. Fields that may contain a comma are quoted, and quotes doubled.
fn source(customers: impl Iterator<Item = Customer>) -> Source {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let line = |c: Customer| format!("{},{}\n", c.number, quoted(&c.name));
    let text = "number,name\n".to_owned() + &customers.map(line).collect::<String>();
    Source::Memory { name: "the customers".to_owned(), bytes: text.into_bytes() }
}

fn count(role: Role, table: Source, end: Memory) -> u64 {
    let keys = vec![Normalize::TRIM, Normalize::LOWER];
    let offer = Offer { query: Query::COUNT, ..Offer::new(keys, Learns::Both) };
    let job = Job::new(table, ["number", "name"], offer);
    let finished = Runner::new(job, role).run(&mut Channel::new(end));
    match finished.expect("both sides offer the same").report.outcome.answer {
        Some(vesica::report::QueryResult::Count(count)) => count,
        other => panic!("expected a count, and not {other:?}"),
    }
}
