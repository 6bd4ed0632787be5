//! Reports on the progress of a run.

use std::time::Duration;

/// An observer of a run. Threads other than the run's may call its methods, which should return quickly.
pub trait Observer: Send + Sync {
    /// Called when a phase begins.
    fn phase(&self, _name: &'static str) {}

    /// Reports the progress of the phase.
    fn progress(&self, _progress: Progress) {}

    /// Reports that the run has been waiting for the other side for this long. Called repeatedly while that lasts.
    fn waiting(&self, _phase: &'static str, _since: Duration) {}

    /// Reports something the user should know; the run goes on.
    fn warning(&self, _text: &str) {}

    /// Reports something the user may want to know.
    fn note(&self, _text: &str) {}
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Rows of this side's table.
    Rows,
    /// Bytes to and from the other side.
    Bytes,
    /// Partitions that tasks compare.
    Partitions,
}

/// The progress of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The amount done.
    pub done: u64,
    /// The unit of the amounts.
    pub unit: Unit,
    /// The amount expected, if known or predicted.
    pub total: Option<u64>,
    /// The part of the phase that is done, from 0 to 1, if known or predicted.
    pub fraction: Option<f64>,
}

impl Progress {
    /// Returns the progress `done` of `total`.
    pub fn of(done: u64, total: u64, unit: Unit) -> Self {
        let fraction = (done as f64 / total.max(1) as f64).min(1.0);
        Self { done, unit, total: Some(total), fraction: Some(fraction) }
    }

    /// Returns the time left at the rate since the phase began; `None` until enough is done for an estimate.
    pub fn time_left(&self, since: Duration) -> Option<Duration> {
        /// A smaller part says little about the whole.
        const ENOUGH: f64 = 0.02;
        let fraction = self.fraction.filter(|fraction| *fraction >= ENOUGH)?;
        Some(since.mul_f64((1.0 - fraction) / fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_goes_on_as_it_went() {
        let ten = Duration::from_secs(10);
        assert_eq!(Progress::of(25, 100, Unit::Rows).time_left(ten), Some(3 * ten));
        assert_eq!(Progress::of(100, 100, Unit::Rows).time_left(ten), Some(Duration::ZERO));
        assert_eq!(Progress::of(130, 100, Unit::Bytes).time_left(ten), Some(Duration::ZERO));
        assert_eq!(Progress::of(1, 100, Unit::Rows).time_left(ten), None);
        assert_eq!(Progress::of(0, 0, Unit::Rows).fraction, Some(0.0));
    }
}
