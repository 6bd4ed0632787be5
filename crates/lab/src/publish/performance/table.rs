//! The results as a table in text: a line for each job, with tab-separated fields.

use std::fmt::Write;

use vesica_planner::{
    Figures, Planner,
    unit::{number, typed_power},
};
use vesica_psi::Sizes;

use crate::{
    Job, Line, Record, Result, Work, median,
    record::results::Measured,
    reference::Quantity,
    run::{accuracy, calibrate},
};

use super::{LINES, Schedule};

/// The columns that name a job.
const JOB: [&str; 4] = ["work", "items", "link", "threads"];

/// The columns of figures; an empty field is an unknown figure. A job's figures are medians over its runs.
pub(super) mod column {
    /// From the start to the receiver's result; per call of a primitive.
    pub const SECONDS: &str = "seconds";
    /// The fastest run.
    pub const LEAST_SECONDS: &str = "least_seconds";
    /// The slowest run.
    pub const MOST_SECONDS: &str = "most_seconds";
    /// Processor time of both parties.
    pub const CPU_SECONDS: &str = "cpu_seconds";
    /// Received by the receiver, framing included.
    pub const BYTES_TO_RECEIVER: &str = "bytes_to_receiver";
    /// Received by the sender, framing included.
    pub const BYTES_TO_SENDER: &str = "bytes_to_sender";
    /// Both ways, framing included.
    pub const BYTES: &str = "bytes";
    /// Bytes that framing adds, relative to the payload.
    pub const FRAMING: &str = "framing";
    /// Flights of messages.
    pub const FLIGHTS: &str = "flights";
    /// Peak memory of the process, which holds both parties.
    pub const PEAK_MEGABYTES: &str = "peak_megabytes";
    /// The planner's prediction. For a job with measured seconds, it rests on the runs over memory; for one that was
    /// skipped, on the figures that decided to skip it.
    pub const PREDICTED_SECONDS: &str = "predicted_seconds";
    /// The planner's prediction, both ways.
    pub const PREDICTED_BYTES: &str = "predicted_bytes";
    /// All of them; those that are not named here have the names of quantities.
    pub const ALL: [&str; 16] = [
        SECONDS,
        LEAST_SECONDS,
        MOST_SECONDS,
        CPU_SECONDS,
        "offline_seconds",
        "online_seconds",
        "both_seconds",
        BYTES,
        BYTES_TO_RECEIVER,
        BYTES_TO_SENDER,
        "online_bytes",
        FRAMING,
        FLIGHTS,
        PEAK_MEGABYTES,
        PREDICTED_SECONDS,
        PREDICTED_BYTES,
    ];
}

/// Quantities that have a column with their name.
const QUANTITIES: [Quantity; 6] = [
    Quantity::Seconds,
    Quantity::OfflineSeconds,
    Quantity::OnlineSeconds,
    Quantity::BothSeconds,
    Quantity::Bytes,
    Quantity::OnlineBytes,
];

/// Keys of the facts above the table.
pub(super) mod fact {
    pub const COMMAND: &str = "command";
    pub const UP_TO: &str = "up to";
    pub const AT_MOST: &str = "at most";
    pub const MACHINE: &str = "machine";
    pub const VERSION: &str = "version";
    pub const DATE: &str = "date";
    pub const RUNS: &str = "runs";
    pub const WRONG: &str = "wrong";
    pub const CASES: &str = "predictions";
    pub const ACCURACY: &str = "accuracy";
    pub const SHIPPED: &str = "accuracy as shipped";
}

/// All results, with facts about their origin.
pub(super) struct ResultTable {
    facts: Vec<(String, String)>,
    pub(super) rows: Vec<JobRow>,
}

/// The figures of a job.
pub(super) struct JobRow {
    pub(super) work: String,
    /// Items of each set, OTs, or bits of a primitive's output.
    pub(super) items: usize,
    pub(super) link: String,
    pub(super) threads: usize,
    figures: [Option<f64>; column::ALL.len()],
}

impl JobRow {
    fn new(job: &Job) -> Self {
        Self {
            work: job.work.to_string(),
            items: job.sizes.sender,
            link: job.line.to_string(),
            threads: job.threads,
            figures: Default::default(),
        }
    }

    /// Returns whether the row is of this work and link, with one thread per party.
    pub(super) fn is(&self, work: &str, link: &str) -> bool {
        (&*self.work, &*self.link, self.threads) == (work, link, 1)
    }

    /// Returns whether the row is about a protocol, as opposed to an answer or a part of protocols.
    pub(super) fn is_protocol(&self) -> bool {
        !self.work.contains('/')
    }

    /// Returns the figure in a column.
    pub(super) fn figure(&self, column: &str) -> Option<f64> {
        column::ALL.iter().zip(self.figures).find(|(name, _)| **name == column)?.1
    }

    /// Returns the measured seconds, or else the predicted ones.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.figure(column::SECONDS).or(self.figure(column::PREDICTED_SECONDS))
    }

    fn set(&mut self, column: &str, figure: Option<f64>) {
        if let Some(at) = column::ALL.iter().position(|name| *name == column) {
            self.figures[at] = figure.or(self.figures[at]);
        }
    }

    /// Adds the figures of the runs of the job.
    fn measure(&mut self, runs: &[&Record]) {
        for quantity in QUANTITIES {
            let figures = runs.iter().filter_map(|run| quantity.of(run));
            self.set(quantity.name(), median(figures));
        }
        if runs.len() > 1 {
            let seconds = || runs.iter().filter_map(|run| Quantity::Seconds.of(run));
            self.set(column::LEAST_SECONDS, seconds().min_by(f64::total_cmp));
            self.set(column::MOST_SECONDS, seconds().max_by(f64::total_cmp));
        }
        let mut all = |column, figure: fn(&Record) -> Option<f64>| {
            self.set(column, median(runs.iter().filter_map(|run| figure(run))));
        };
        all(column::CPU_SECONDS, |run| match run {
            Record::Protocol(run) => run.cpu_seconds,
            Record::Ot(run) => run.cpu_seconds,
            _ => None,
        });
        all(column::BYTES_TO_RECEIVER, |run| Quantity::SenderBytes.of(run));
        all(column::BYTES_TO_SENDER, |run| Quantity::ReceiverBytes.of(run));
        all(column::FRAMING, |run| match run {
            Record::Ot(ot) => Some(Quantity::Bytes.of(run)? / ot.formula_bytes as f64 - 1.0),
            _ => None,
        });
        all(column::FLIGHTS, |run| match run {
            Record::Protocol(run) => Some(run.rounds as f64),
            Record::Ot(run) => Some(run.rounds as f64),
            _ => None,
        });
        all(column::PEAK_MEGABYTES, |run| match run {
            Record::Protocol(run) => Some(run.peak_memory_bytes? as f64 / 1e6),
            _ => None,
        });
    }

    /// Adds the predictions for a job from these figures. Over memory, the figures are the measured times themselves.
    fn predict(&mut self, job: &Job, figures: &Figures) {
        let planner = Planner { figures: figures.clone(), ..Planner::new(job.line.link()) };
        let Some(candidate) = job.candidate().filter(|_| job.threads == 1) else { return };
        let predicted = planner.predict(&candidate);
        if job.line != Line::memory() {
            self.set(column::PREDICTED_SECONDS, predicted.map(|predicted| predicted.seconds));
        }
        self.set(column::PREDICTED_BYTES, predicted.map(|_| candidate.cost.bytes()));
    }
}

impl ResultTable {
    /// Makes the table of these results, with predictions for the jobs that the plan leaves out.
    ///
    /// # Errors
    /// If a record names a link that this release does not know.
    pub(super) fn new(measured: &Measured, plan: &Schedule) -> Result<Self> {
        let figures = calibrate::figures(&measured.records);
        let mut groups: Vec<(Job, Vec<&Record>)> = Vec::new();
        for record in &measured.records {
            match groups.iter_mut().find(|(job, _)| job.gave(record)) {
                Some((_, runs)) => runs.push(record),
                None => groups.extend(job_of(record).map(|job| (job, vec![record]))),
            }
        }
        let measured_rows = groups.iter().map(|(job, runs)| {
            let mut row = JobRow::new(job);
            row.measure(runs);
            row.predict(job, &figures);
            row
        });
        let left_out = plan.left_out.iter().map(|(job, seconds)| {
            let mut row = JobRow::new(job);
            row.set(column::PREDICTED_SECONDS, Some(*seconds));
            row.set(column::PREDICTED_BYTES, job.candidate().map(|all| all.cost.bytes()));
            row
        });
        let rows = measured_rows.chain(left_out).collect();
        Ok(Self { facts: facts(measured, plan, &figures)?, rows })
    }

    /// Reads the output of [`ResultTable::to_text`].
    ///
    /// # Errors
    /// If a line is not of this form.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let is_comment = |line: &&str| line.starts_with('#');
        let facts = text.lines().take_while(is_comment);
        let facts = facts.filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
        let facts = facts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| is_comment(line));
        if lines.next().is_none_or(|(_, line)| line != header()) {
            return Err("not a table of results of this release".into());
        }
        let row = |(number, line)| {
            parse_row(line).ok_or_else(|| format!("line {number}: not a job and its figures"))
        };
        Ok(Self { facts, rows: lines.map(row).collect::<std::result::Result<_, _>>()? })
    }

    /// Formats the table.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.facts {
            let _ = writeln!(text, "# {key}: {value}");
        }
        text += &header();
        text.push('\n');
        for JobRow { work, items, link, threads, figures } in &self.rows {
            let _ = write!(text, "{work}\t{items}\t{link}\t{threads}");
            for figure in figures {
                let _ = write!(text, "\t{}", figure.map_or(String::new(), shown));
            }
            text.push('\n');
        }
        text
    }

    /// Returns a fact.
    ///
    /// # Errors
    /// If it is not there.
    pub(super) fn fact(&self, key: &str) -> Result<&str> {
        let fact = self.facts.iter().find(|(name, _)| name == key);
        Ok(fact.map(|(_, value)| value.as_str()).ok_or_else(|| format!("no line `# {key}: …`"))?)
    }

    /// Returns the row of a job with one thread per party.
    pub(super) fn row(&self, work: &str, items: usize, link: &str) -> Option<&JobRow> {
        self.rows.iter().find(|row| row.items == items && row.is(work, link))
    }

    /// Returns the largest number of items of a protocol.
    pub(super) fn largest(&self) -> usize {
        let protocols = self.rows.iter().filter(|row| row.is_protocol());
        protocols.map(|row| row.items).max().unwrap_or(0)
    }
}

/// Returns the job that a record belongs to, if the table has a line for it.
fn job_of(record: &Record) -> Option<Job> {
    let (work, items, line, threads) = match record {
        Record::Protocol(run) if run.sender_items == run.receiver_items => {
            (run.protocol.parse().ok()?, run.sender_items, run.link.parse().ok()?, run.threads)
        }
        Record::Ot(run) => (Work::ot(&run.ot).ok()?, run.ots, run.link.parse().ok()?, run.threads),
        Record::Primitive(run) => {
            (Work::primitive(&run.primitive).ok()?, run.bits, Line::memory(), 1)
        }
        Record::Protocol(_) | Record::Joint(_) | Record::Structure(_) => return None,
    };
    Some(Job { work, sizes: Sizes { sender: items, receiver: items }, line, threads })
}

fn facts(measured: &Measured, plan: &Schedule, figures: &Figures) -> Result<Vec<(String, String)>> {
    let host = &measured.host;
    let memory = host.memory_bytes.map_or(String::new(), |bytes| {
        format!(", {:.0} GiB of memory", bytes as f64 / f64::from(1 << 30))
    });
    let wrong = measured.records.iter().filter(|record| !record.correct()).count();
    let on_lines = || {
        measured.records.iter().filter(|record| match record {
            Record::Protocol(run) => LINES.contains(&run.link.as_str()),
            _ => false,
        })
    };
    let cells = accuracy::compare(on_lines(), figures)?;
    let shipped = accuracy::compare(on_lines(), &Figures::default())?;
    let percent = |cells: &[accuracy::Cell], error| {
        let error = accuracy::overall(cells, error).unwrap_or(0.0);
        format!("{:.1} %", error * 100.0)
    };
    let accurate = |cells: &[accuracy::Cell]| {
        format!(
            "{} in time, {} in bytes, {} of {}",
            percent(cells, accuracy::Case::error_of_time),
            percent(cells, accuracy::Case::error_of_bytes),
            accuracy::near(cells),
            cells.len()
        )
    };
    let [up_to, at_most] = [typed_power(plan.bounds.up_to), number(plan.bounds.at_most)];
    let command =
        format!("vesica bench --performance docs/reference --up-to {up_to} --at-most {at_most}");
    let facts = [
        (fact::COMMAND, command),
        (fact::UP_TO, up_to),
        (fact::AT_MOST, at_most),
        (
            fact::MACHINE,
            format!("{}, {} processors{memory}, {}", host.processor, host.processors, host.system),
        ),
        (fact::VERSION, host.version.clone()),
        (fact::DATE, host.date.clone()),
        (fact::RUNS, measured.records.len().to_string()),
        (fact::WRONG, wrong.to_string()),
        (fact::CASES, cells.iter().map(|cell| cell.cases.len()).sum::<usize>().to_string()),
        (fact::ACCURACY, accurate(&cells)),
        (fact::SHIPPED, accurate(&shipped)),
    ];
    Ok(facts.map(|(key, value)| (key.to_owned(), value)).into())
}

fn header() -> String {
    [&JOB[..], &column::ALL].concat().join("\t")
}

fn parse_row(line: &str) -> Option<JobRow> {
    let fields: Vec<&str> = line.split('\t').collect();
    let ([work, items, link, threads], figures) = fields.split_first_chunk()?;
    let figure = |field: &&str| match *field {
        "" => Some(None),
        field => field.parse().ok().filter(|figure: &f64| figure.is_finite()).map(Some),
    };
    let figures: Vec<Option<f64>> = figures.iter().map(figure).collect::<Option<_>>()?;
    Some(JobRow {
        work: (*work).to_owned(),
        items: items.parse().ok()?,
        link: (*link).to_owned(),
        threads: threads.parse().ok()?,
        figures: figures.try_into().ok()?,
    })
}

/// Formats a figure with four digits, and a whole number in full.
fn shown(figure: f64) -> String {
    let rounded = match figure.fract() == 0.0 {
        true => figure,
        false => format!("{figure:.3e}").parse().unwrap_or(figure),
    };
    if rounded != 0.0 && rounded.abs() < 1e-4 {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let head = format!("# date: 2026-11-26\n{}\n", header());
        let figures = |figures: &str| format!("{figures}{}", "\t".repeat(16 - 3));
        let text = format!(
            "{head}rr22\t256\tmemory\t1\t{}\nprimitive/blake3\t1\tmemory\t1\t{}\n",
            figures("0.0075\t\t1.5e-8"),
            figures("8.125e-8\t3\t1234567"),
        );
        let table = ResultTable::parse(&text).unwrap();
        assert_eq!(table.to_text(), text);
        assert_eq!(table.fact(fact::DATE).unwrap(), "2026-11-26");
        assert!(table.fact(fact::RUNS).unwrap_err().to_string().contains("runs"));
        let row = table.row("rr22", 256, "memory").unwrap();
        assert_eq!((row.seconds(), row.figure(column::BYTES)), (Some(0.0075), None));
        assert_eq!(shown(0.123_456), "0.1235");
        for (wrong, said) in [
            ("", "of this release"),
            (&*text.replace("256", "many"), "line 3"),
            (&text.replace("1234567", "inf"), "line 4"),
            (&text.replace("0.0075\t", ""), "line 3"),
        ] {
            let error = ResultTable::parse(wrong).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn every_quantity_of_the_table_has_a_column() {
        assert!(QUANTITIES.iter().all(|quantity| column::ALL.contains(&quantity.name())));
    }
}
