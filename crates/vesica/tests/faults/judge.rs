//! The permitted endings of two parties when links and files fail.
//!
//! - Each ends within the deadline, with the right result or with an error that describes the fault; none panics.
//! - An error is neither a defect of the program nor the other side's fault, and contains no value of a table.
//! - If nothing failed, both succeed, even if the link is slow and splits everything.
//! - A side that fails has no result, a side that succeeds has all of it, and nothing else is left.
//! - If one side knows that both succeeded, both did. A side that does not know this says so.

use std::{collections::BTreeMap, fmt, time::Duration};

use vesica::{
    Class, Shortfall,
    report::{QueryResult, Status},
};

use crate::{
    bench::{Attempt, Before, Bench, End, Ended, STALL, is_right},
    case::{Faults, MARK, Target},
    disk::Kind,
};

/// The maximum duration of an attempt by the link's clock: each of several waits may last as long as the stall timeout,
/// and late pieces add their delays.
const DEADLINE: Duration = Duration::from_secs(10 * 60);

/// The number of times that each outcome occurred.
#[derive(Default)]
pub struct Tally {
    /// Attempts at a run.
    pub attempts: u64,
    counts: BTreeMap<String, u64>,
    /// The errors that ended runs, with their frequency.
    errors: BTreeMap<String, u64>,
    longest: Duration,
}

/// The verdict on an attempt.
pub struct Verdict {
    /// Whether the run is over.
    pub is_over: bool,
}

/// The ending of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Succeeded,
    /// It has its result, and does not know whether the other side has one.
    Unconfirmed,
    Failed,
}

/// Judges an attempt.
///
/// # Panics
/// If its outcome is not permitted.
pub fn judge(
    bench: &Bench,
    faults: &Faults,
    attempt: &Attempt,
    failures: &mut Vec<String>,
    tally: &mut Tally,
) -> Verdict {
    let told = |side: usize| {
        format!("{:?}, {} of {faults:?}", attempt.passed, words(&attempt.sides[side]))
    };
    let endings = [0, 1].map(|side| {
        let ended = &attempt.sides[side];
        alone(bench, side, ended).unwrap_or_else(|wrong| {
            panic!(
                "{wrong}: side {side}: {}; the other: {}",
                told(side),
                words(&attempt.sides[1 - side])
            )
        })
    });
    use Ending::{Failed, Succeeded, Unconfirmed};
    let both = || {
        format!(
            "{}; {}; {faults:?} {:?}",
            words(&attempt.sides[0]),
            words(&attempt.sides[1]),
            attempt.passed
        )
    };
    let has_failed = something_failed(faults, attempt);
    let may_fail = has_failed || attempt.is_spent();
    assert!(may_fail || endings == [Succeeded; 2], "an attempt without faults failed: {}", both());
    for (side, ended) in attempt.sides.iter().enumerate() {
        tally.longest = tally.longest.max(ended.took);
        if endings[side] == Failed {
            *tally.errors.entry(kind_of(ended)).or_insert(0) += 1;
        }
    }
    failures.push(both());
    tally.attempts += 1;
    for (side, ended) in attempt.sides.iter().enumerate() {
        let is_stream = bench.jobs.sides[side].target == Target::Stream;
        if is_stream && endings[side] == Failed && bench.result(side) != ended.before.result {
            tally.count("a stream was written to by a side that failed afterwards");
        }
    }
    let what = match endings {
        [Succeeded, Succeeded] if has_failed => "both succeeded in spite of failures",
        [Succeeded, Succeeded] => "both succeeded, and nothing failed",
        [Failed, Failed] => "both failed",
        [Succeeded, Unconfirmed] | [Unconfirmed, Succeeded] => {
            "both have their result, and one could not know that the other has"
        }
        [Unconfirmed, Unconfirmed] => {
            "both have their result, and neither could know that the other has"
        }
        [Unconfirmed, Failed] | [Failed, Unconfirmed] => {
            // In the final exchange, this side may have announced only that it is ready to end.
            let failed = usize::from(endings[1] == Failed);
            assert_eq!(attempt.sides[failed].phase, "finish", "one side has a result: {}", both());
            "the final exchange: one has its result and could not know that the other failed"
        }
        [Succeeded, Failed] | [Failed, Succeeded] => {
            panic!("one side was sure of the other, which failed: {}", both())
        }
    };
    tally.count(what);
    let is_over = endings.iter().all(|ending| *ending != Failed);
    Verdict { is_over }
}

/// Judges a single side.
fn alone(bench: &Bench, side: usize, ended: &Ended) -> Result<Ending, String> {
    let jobs = &bench.jobs;
    let wrong = |what: &str| Err(what.to_owned());
    if ended.took > DEADLINE {
        return Err(format!("it took {:?}", ended.took));
    }
    let said = words(ended) + &ended.said.join("\n") + &ended.report.to_json().unwrap();
    if said.contains(MARK) {
        return wrong("a value of the table was shown");
    }
    let learns = jobs.learners()[side] && jobs.sides[side].target != Target::None;
    let (result, mut left) = (bench.result(side), bench.left(side));
    let mut take = |name: &str| {
        let found = left.iter().position(|found| found.starts_with(name));
        found.map(|found| left.remove(found)).is_some()
    };
    let is_stream = jobs.sides[side].target == Target::Stream;
    let (ending, has_report) = match &ended.end {
        End::Panicked(_) => return wrong("a panic"),
        End::Ran(Ok(shortfalls)) => {
            if ended.report.status != Status::Succeeded {
                return wrong("it succeeded, and its report does not say so");
            }
            let is_right = match (&result, learns) {
                // Nothing was written to it, or there was nothing to write.
                (None, true) => is_stream && is_right(jobs, side, &[]),
                (Some(bytes), true) => is_right(jobs, side, bytes),
                (result, false) => result.is_none(),
            };
            if !is_right {
                return wrong("another result");
            }
            if jobs.learners()[side] {
                let outcome = &ended.report.outcome;
                let count = match outcome.answer {
                    Some(QueryResult::Count(count)) => Some(count),
                    _ => outcome.matches,
                };
                if count != Some(jobs.shared as u64) {
                    return wrong("another number in the report");
                }
            }
            let unconfirmed = shortfalls.iter().any(|one| matches!(one, Shortfall::Unconfirmed(_)));
            let unreported = shortfalls.iter().any(|one| matches!(one, Shortfall::Report(_)));
            if unconfirmed != ended.report.unconfirmed.is_some() {
                return wrong("its report does not say whether the other side confirmed");
            }
            let ending = if unconfirmed { Ending::Unconfirmed } else { Ending::Succeeded };
            if learns && !is_stream && !take("out.") {
                return wrong("no result");
            }
            (ending, jobs.sides[side].report && !unreported)
        }
        End::Unmet(error) => {
            if error.is_peer_fault() || matches!(error, vesica_net::Error::Handshake { .. }) {
                return wrong("the other side was blamed, or taken for another program");
            }
            (Ending::Failed, false)
        }
        End::Unprepared(error) | End::Ran(Err(error)) => {
            match error.class() {
                Class::Input | Class::Network => {}
                class => return Err(format!("an error of the class {class:?}")),
            }
            if matches!(ended.end, End::Ran(_)) {
                let failure = ended.report.failure.as_ref();
                if failure.is_none_or(|failure| failure.reason != error.to_string()) {
                    return wrong("its report does not say why it failed");
                }
            }
            (Ending::Failed, false)
        }
    };
    let Before { result: before, report: had_report } = &ended.before;
    if ending == Ending::Failed {
        if result != *before && !(is_stream && ended.phase == "finish") {
            return wrong("it failed and has a result");
        }
        if before.is_some() {
            take("out.");
        }
    }
    if take("report.json") != (has_report || *had_report) {
        return wrong("a report without a result, or a result without its report");
    }
    let kept = take("journal");
    let may_be_kept =
        ending != Ending::Succeeded || ended.happened.failed.contains_key(&Kind::Remove);
    if kept && !(jobs.resume && may_be_kept) {
        return wrong("a journal was left");
    }
    match left.is_empty() {
        true => Ok(ending),
        false => Err(format!("left behind: {left:?}")),
    }
}

/// Returns whether a link broke at a point that a side reached, or a call on a file failed.
fn something_failed(faults: &Faults, attempt: &Attempt) -> bool {
    let broke = faults.courses.iter().zip(attempt.passed).any(|(course, [sent, received])| {
        course.breaks.is_some_and(|(at, _)| sent >= at || received >= at)
    });
    broke || attempt.sides.iter().any(|side| !side.happened.failed.is_empty())
}

/// Describes the ending of a side.
fn words(ended: &Ended) -> String {
    let Ended { end, phase, took, happened, .. } = ended;
    let end = match end {
        End::Unprepared(error) => format!("not prepared: {error}"),
        End::Unmet(error) => format!("not met: {error}"),
        End::Ran(Ok(shortfalls)) => format!("succeeded: {shortfalls:?}"),
        End::Ran(Err(error)) => format!("failed: {error} ({error:?})"),
        End::Panicked(message) => format!("panicked: {message}"),
    };
    format!("{end} in `{phase}` after {took:?}, {happened:?}")
}

/// Returns the kind of error, without the parts that differ between cases.
fn kind_of(ended: &Ended) -> String {
    let of = |error: &dyn fmt::Debug| {
        let text = format!("{error:?}");
        let end = text.find([' ', '(']).unwrap_or(text.len());
        let inner = text[end..].trim_start_matches(['(', ' ', '{']);
        let inner = inner.split([' ', '(', ',']).next().unwrap_or_default();
        match &text[..end] {
            "Net" => inner.to_owned(),
            outer => outer.to_owned(),
        }
    };
    match &ended.end {
        End::Unprepared(error) => format!("before: {}", of(error)),
        End::Unmet(error) => format!("handshake: {}", of(error)),
        End::Ran(Err(error)) => format!("run: {}", of(error)),
        End::Ran(Ok(_)) | End::Panicked(_) => String::new(),
    }
}

impl Tally {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_insert(0) += 1;
    }

    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.longest = self.longest.max(other.longest);
        for (mine, theirs) in [(&mut self.counts, other.counts), (&mut self.errors, other.errors)] {
            for (what, times) in theirs {
                *mine.entry(what).or_insert(0) += times;
            }
        }
    }

    /// Asserts that the tests reached everything that they are meant to test.
    pub fn assert_reached(&self) {
        for what in
            ["both succeeded, and nothing failed", "both failed", "run: Output", "run: Closed"]
        {
            let times = self.counts.get(what).or(self.errors.get(what));
            assert!(times.is_some(), "never: {what}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} attempts; the longest took {:?} by the link's clock",
            self.attempts, self.longest
        )?;
        for (what, times) in self.counts.iter().chain(&self.errors) {
            writeln!(f, "{times:9} × {what}")?;
        }
        Ok(())
    }
}

const _: () = assert!(DEADLINE.as_secs() > 3 * STALL.as_secs());
