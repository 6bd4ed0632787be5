//! Measured runs over memory, and predictions from them for other sizes.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use vesica_psi::{CATALOGUE, MAX_ITEMS, Sizes, aggregate::METHODS};

/// The figures of this release: `vesica calibrate --full` on the machine described in docs/reference/performance.md.
static REFERENCE: LazyLock<Figures> = LazyLock::new(|| {
    let parsed = Figures::parse(include_str!("reference.tsv"));
    parsed.expect("a test reads the figures that are part of the program")
});

/// The first line of a file of figures.
const HEADER: &str = "protocol\titems\tseconds\tmegabytes";

/// The smallest values that are written and read: the last digit of each.
const LEAST_SECONDS: f64 = 1e-6;
const LEAST_MEGABYTES: f64 = 0.1;

/// Work of a published list, by its name in a table of figures: seconds grow with the number.
pub(crate) mod work {
    /// Evaluating items of the publisher, on a processor with AVX-512 IFMA.
    pub const PUBLISH: &str = "oprf-list-publish";
    /// The same on one without.
    pub const PUBLISH_PORTABLE: &str = "oprf-list-publish-portable";
    /// Blinding items of a client, answering, checking and unblinding.
    pub const ASK: &str = "oprf-list-ask";
    /// Reading tags of the list.
    pub const READ: &str = "oprf-list-read";

    /// All of it.
    pub const ALL: [&str; 4] = [PUBLISH, PUBLISH_PORTABLE, ASK, READ];
}

/// One measured run of two parties with sets of one size, one thread each, over memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Items of each party.
    pub items: usize,
    /// From start to result.
    pub seconds: f64,
    /// Peak memory of one party, if the system reports it.
    pub memory_bytes: Option<f64>,
}

/// Runs by the name of the protocol or method; empty by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// By items.
    runs: BTreeMap<&'static str, BTreeMap<usize, Run>>,
}

/// An error in a file of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFigures {
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The error.
    pub what: &'static str,
}

impl fmt::Display for BadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadFigures {}

impl Figures {
    /// Returns the figures of this release.
    pub fn reference() -> &'static Self {
        &REFERENCE
    }

    /// Reads the output of [`Figures::to_text`]. Protocols of other releases are ignored.
    ///
    /// # Errors
    /// [`BadFigures`] at the first invalid line.
    pub fn parse(text: &str) -> Result<Self, BadFigures> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let bad = |i, what| BadFigures { line: i + 1, what };
        let header = lines.next().ok_or(bad(0, "the file is empty"))?;
        if header.1 != HEADER {
            return Err(bad(header.0, "not a file of figures"));
        }
        let mut figures = Self::default();
        for (i, line) in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, items, seconds, megabytes] = fields[..] else {
                return Err(bad(i, "a run has four fields"));
            };
            let items = items.parse().ok().filter(|items| (1..=MAX_ITEMS).contains(items));
            let number = |text: &str, least: f64| {
                text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= least)
            };
            let run = Run {
                items: items.ok_or(bad(i, "the number of items is invalid"))?,
                seconds: number(seconds, LEAST_SECONDS).ok_or(bad(i, "the seconds are invalid"))?,
                memory_bytes: match megabytes {
                    "-" => None,
                    text => {
                        let megabytes = number(text, LEAST_MEGABYTES);
                        Some(megabytes.ok_or(bad(i, "the megabytes are invalid"))? * 1e6)
                    }
                },
            };
            if let Some(name) = known(name) {
                figures.insert(name, run);
            }
        }
        Ok(figures)
    }

    /// Formats the figures as lines of tab-separated fields.
    pub fn to_text(&self) -> String {
        let mut text = HEADER.to_owned() + "\n";
        for (name, run) in self.iter() {
            let megabytes = run.memory_bytes.map(|bytes| (bytes / 1e6).max(LEAST_MEGABYTES));
            let megabytes = megabytes.map_or("-".to_owned(), |number| format!("{number:.1}"));
            let seconds = run.seconds.max(LEAST_SECONDS);
            text += &format!("{name}\t{}\t{seconds:.6}\t{megabytes}\n", run.items);
        }
        text
    }

    /// Adds a run, and replaces any earlier one of the same name and size.
    pub fn insert(&mut self, name: &'static str, run: Run) {
        self.runs.entry(name).or_default().insert(run.items, run);
    }

    /// Iterates over all runs by name and size.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Run)> + '_ {
        self.runs.iter().flat_map(|(name, runs)| runs.values().map(|run| (*name, *run)))
    }

    /// Predicts the time of both parties' work from these figures. Between two sizes of the reference, time follows a
    /// power of the size. Below the smallest size it is constant. Beyond the largest size it continues with the last
    /// power, at least linearly. These figures determine in the same way, between their sizes, how much faster or
    /// slower this machine is. Returns `None` if the reference does not have this protocol.
    pub fn seconds(&self, name: &str, sizes: Sizes) -> Option<f64> {
        let reference = REFERENCE.curve(name, |run| Some(run.seconds));
        let n = mean(sizes);
        let theirs = extrapolated(&reference, n)?;
        let ratios =
            self.curve(name, |run| Some(run.seconds / extrapolated(&reference, run.items as f64)?));
        Some(theirs * interpolated(&ratios, n).or_else(|| self.overall()).unwrap_or(1.0))
    }

    /// Returns the overall slowdown of this machine, for protocols that were not measured on it.
    fn overall(&self) -> Option<f64> {
        let logs = self.iter().filter_map(|(name, run)| {
            let reference = REFERENCE.curve(name, |run| Some(run.seconds));
            Some((run.seconds / extrapolated(&reference, run.items as f64)?).ln())
        });
        let logs: Vec<f64> = logs.collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    /// Returns the seconds per unit of this [`work`], from the reference and the overall speed of this machine.
    pub(crate) fn seconds_each(&self, work: &str) -> Option<f64> {
        let (number, run) = REFERENCE.runs.get(work)?.last_key_value()?;
        Some(run.seconds / *number as f64 * self.overall().unwrap_or(1.0))
    }

    /// Returns the sizes of its runs, each with one of their figures.
    fn curve(&self, name: &str, figure: impl Fn(&Run) -> Option<f64>) -> Vec<(f64, f64)> {
        let runs = self.runs.get(name).into_iter().flat_map(BTreeMap::values);
        runs.filter_map(|run| Some((run.items as f64, figure(run)?))).collect()
    }
}

/// Returns the name in the program, if this release has such a protocol, method or work.
fn known(name: &str) -> Option<&'static str> {
    let protocols = CATALOGUE.iter().map(|protocol| protocol.key);
    let methods = METHODS.iter().map(|method| method.key);
    protocols.chain(methods).chain(work::ALL).find(|key| *key == name)
}

/// Returns the size that represents two sizes. Items of either side cause about the same work.
fn mean(sizes: Sizes) -> f64 {
    ((sizes.sender as f64 + sizes.receiver as f64) / 2.0).max(1.0)
}

/// Interpolates linearly between the logarithms of the points. The value is constant beyond both ends.
fn interpolated(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let after = points.partition_point(|point| point.0 < x);
    Some(match after {
        0 => first.1,
        i if i == points.len() => last.1,
        i => {
            let ((x0, y0), (x1, y1)) = (points[i - 1], points[i]);
            y0 * (x / x0).powf((y1 / y0).ln() / (x1 / x0).ln())
        }
    })
}

/// Works like [`interpolated`], except that the slope beyond the last point is the last one, and at least 1.
fn extrapolated(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let last = points.last()?;
    if x <= last.0 {
        return interpolated(points, x);
    }
    let slope = match points {
        [.., (x0, y0), (x1, y1)] => ((y1 / y0).ln() / (x1 / x0).ln()).max(1.0),
        _ => 1.0,
    };
    Some(last.1 * (x / last.0).powf(slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_psi::aggregate::{self, Aggregate, Query};

    fn square(items: usize) -> Sizes {
        Sizes { sender: items, receiver: items }
    }

    #[test]
    fn every_protocol_for_real_data_has_figures() {
        for protocol in CATALOGUE {
            if protocol.status.is_for_use() {
                let sizes = REFERENCE.curve(protocol.key, |run| Some(run.seconds));
                assert!(!sizes.is_empty(), "{}", protocol.key);
            }
        }
        for method in METHODS {
            assert!(REFERENCE.seconds(method.key, square(1000)).is_some(), "{}", method.key);
        }
    }

    #[test]
    fn every_work_of_a_list_has_a_figure() {
        for name in work::ALL {
            assert!(Figures::default().seconds_each(name).is_some(), "{name}");
        }
        assert_eq!(Figures::default().seconds_each("oprf-list"), None);
    }

    /// The memory of both parties in one process is at most the sum of the two predictions, and not many times less.
    #[test]
    fn memory_is_predicted_as_it_was_measured() {
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        one_thread.install(memory_is_as_measured);
    }

    fn memory_is_as_measured() {
        for (name, run) in REFERENCE.iter() {
            let Some(measured) = run.memory_bytes else { continue };
            let sizes = square(run.items);
            let predicted = match (vesica_psi::find(name), aggregate::find(name)) {
                (Some(protocol), _) => protocol.memory(sizes),
                (None, Some(method)) => {
                    let aggregate = match (method.supports)(Aggregate::Count, 0) {
                        true => Aggregate::Count,
                        false => Aggregate::SumOfSender,
                    };
                    (method.memory)(Query {
                        sizes,
                        aggregate,
                        minimum: 0,
                        noise: None,
                        partitions: 1,
                        people: None,
                    })
                }
                (None, None) => panic!("{name} is in the catalogue"),
            };
            let predicted = (predicted.sender + predicted.receiver) / 2.0;
            let bounds = measured..=3.0 * measured + 40e6;
            assert!(bounds.contains(&predicted), "{name} {}: {predicted} {measured}", run.items);
        }
    }

    #[test]
    fn a_file_of_figures_is_read_as_it_was_written() {
        let text = REFERENCE.to_text();
        assert_eq!(Figures::parse(&text).unwrap().to_text(), text);
        for (bad, line) in [
            ("", 1),
            ("x\n", 1),
            ("# a note\nx\n", 2),
            (&format!("{HEADER}\nrr22\t1\n"), 2),
            (&format!("{HEADER}\nrr22\t0\t1\t-\n"), 2),
            (&format!("{HEADER}\nrr22\t10\t1\t-\nrr22\t20\t-1\t-\n"), 3),
            (&format!("{HEADER}\nrr22\t10\tNaN\t-\n"), 2),
            (&format!("{HEADER}\nrr22\t10\t1\tmuch\n"), 2),
        ] {
            assert_eq!(Figures::parse(bad).unwrap_err().line, line, "{bad:?}");
        }
        let later = format!("{HEADER}\nrr99\t10\t1\t-\n");
        assert_eq!(Figures::parse(&later).unwrap(), Figures::default());
    }

    #[test]
    fn time_goes_with_a_power_between_sizes_and_beyond() {
        let points = [(10.0, 2.0), (1000.0, 20.0)];
        let close = |x: f64, y: f64| (x / y - 1.0).abs() < 1e-9;
        assert!(close(extrapolated(&points, 1.0).unwrap(), 2.0));
        assert!(close(extrapolated(&points, 100.0).unwrap(), 40f64.sqrt()));
        assert!(
            close(extrapolated(&points, 2000.0).unwrap(), 40.0),
            "time grows at least linearly"
        );
        assert!(close(interpolated(&points, 2000.0).unwrap(), 20.0));
        assert_eq!(extrapolated(&[], 1.0), None);
    }

    #[test]
    fn a_machine_twice_as_slow_takes_twice_as_long_for_what_it_has_not_run_too() {
        let mut slow = Figures::default();
        for (name, run) in REFERENCE.iter().filter(|(name, _)| name.starts_with("rr22")) {
            slow.insert(name, Run { seconds: run.seconds * 2.0, ..run });
        }
        for name in ["rr22", "kkrt16"] {
            for items in [300, 5000, 1 << 17, 1 << 24] {
                let here = slow.seconds(name, square(items)).unwrap();
                let there = REFERENCE.seconds(name, square(items)).unwrap();
                assert!((here / there - 2.0).abs() < 1e-9, "{name} {items}");
            }
        }
    }
}
