//! Runs of methods that compute a number about the intersection.

use std::time::Instant;

use vesica_net::meter::peak_memory;
use vesica_psi::{
    DigestLength, Sizes,
    aggregate::{Aggregate, Method, Output, Query, Valued},
};

use crate::{
    Line, Result,
    run::{
        in_process::{self, Ran, usage},
        protocol::{Record, Sets, Took},
    },
};

/// Prefix of the name of a method, before its key.
pub const ANSWER: &str = "answer/";

/// Returns the query for a method: the size of the intersection of two sets of these sizes, or the sum of the sender's
/// values if it does not count.
pub fn query(method: &Method, sizes: Sizes) -> Query {
    let counts = (method.supports)(Aggregate::Count, 0);
    let aggregate = if counts { Aggregate::Count } else { Aggregate::SumOfSender };
    Query { sizes, aggregate, minimum: 0, noise: None, partitions: 1, people: None }
}

/// Runs a method once. All values are 1.
///
/// # Errors
/// If a party fails. A wrong answer is noted in the record.
pub fn run(method: &'static Method, sizes: Sizes, line: &Line, threads: usize) -> Result<Record> {
    let sets = Sets::generate(sizes, DigestLength::Short);
    let shared = sets.shared() as u64;
    let query = query(method, sizes);
    let expected = match query.aggregate {
        Aggregate::Count => Output::Count(shared),
        _ => Output::Sum(shared.into()),
    };
    let sums = query.aggregate.takes_senders_values();
    let values = if sums { vec![1; sizes.sender] } else { Vec::new() };
    usage::reset_peak_memory();
    let ran = in_process::run(
        line,
        threads,
        |channel, rng| {
            let inquiry = method.on(query);
            inquiry.agree(false, channel)?;
            let sender = inquiry.sender(channel, rng)?;
            sender.run(Valued::new(sets.sender(), &values), channel, rng)?;
            vesica_psi::Result::Ok(channel.flush()?)
        },
        |channel, rng| {
            let started = Instant::now();
            let inquiry = method.on(query);
            inquiry.agree(true, channel)?;
            let receiver = inquiry.receiver(channel, rng)?;
            let offline = started.elapsed();
            let offline_bytes = [channel.meter().sent(), channel.meter().received()];
            let answer = receiver.run(Valued::new(sets.receiver(), &[]), channel, rng)?;
            let online = started.elapsed() - offline;
            vesica_psi::Result::Ok((answer, Took { offline, online, offline_bytes }))
        },
    )?;
    let peak_memory_bytes = peak_memory();
    let Ran { sender, receiver, used } = ran;
    sender?;
    let (answer, took) = receiver?;
    let name = format!("{ANSWER}{}", method.key);
    let record = Record::new(name, sizes, line, threads, &used, took);
    Ok(Record { peak_memory_bytes, correct: answer == expected, ..record })
}
