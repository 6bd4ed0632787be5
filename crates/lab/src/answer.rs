//! Runs of methods that answer a question about the intersection.

use std::time::Instant;

use vesica::report::peak_memory;
use vesica_psi::{
    Digest, Sizes,
    answer::{self, Answer, Inquiry, Method, Question},
};

use crate::{
    Line, Result,
    protocol::Sets,
    together::{together, usage},
};

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    /// The receiver's time from start to answer.
    pub seconds: f64,
    /// The most resident memory of the process during the run, both sets included.
    pub peak_memory_bytes: Option<u64>,
}

/// Counts the intersection of two sets of these sizes, or adds up the sender's values, which are all 1, where
/// the method does not count.
///
/// # Errors
/// Where a party fails, or the answer is wrong.
pub fn run(method: &Method, sizes: Sizes, line: &Line, threads: usize) -> Result<Took> {
    let sets = Sets::generate(sizes, Digest::Short);
    let shared = sets.shared() as u64;
    let (question, expected) = match (method.answers)(Question::Count, 0) {
        true => (Question::Count, Answer::Count(shared)),
        false => (Question::SumOfSender, Answer::Sum(shared as i64)),
    };
    let inquiry = Inquiry { sizes, question, minimum: 0 };
    let values = if question.takes_senders_values() { vec![1; sizes.sender] } else { Vec::new() };
    usage::reset_peak_memory();
    let ran = together(
        line,
        threads,
        |channel, rng| {
            let helper = answer::prepare_helper(method, inquiry, channel, rng)?;
            helper.help(sets.sender(), &values, channel, rng)?;
            vesica_psi::Result::Ok(channel.flush()?)
        },
        |channel, rng| {
            let started = Instant::now();
            let asker = answer::prepare_asker(method, inquiry, channel, rng)?;
            let answer = asker.ask(sets.receiver(), &[], channel, rng)?;
            vesica_psi::Result::Ok((answer, started.elapsed()))
        },
    )?;
    ran.sender?;
    let (answer, took) = ran.receiver?;
    if answer != expected {
        return Err(format!("{} answered wrongly", method.key).into());
    }
    Ok(Took { seconds: took.as_secs_f64(), peak_memory_bytes: peak_memory() })
}
