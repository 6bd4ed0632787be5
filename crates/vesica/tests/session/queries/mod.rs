//! Random queries over random tables, by two sessions: each side that learns gets the answer that a computation in the
//! clear gives, and so does DuckDB.

mod case;
mod lengths;

#[path = "../../../../select/tests/language/clear.rs"]
mod clear;
#[path = "../../../../select/tests/language/duckdb.rs"]
mod duckdb;
#[path = "../../../../select/tests/language/random.rs"]
mod random;
#[path = "../../../../select/tests/language/tables.rs"]
mod tables;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use vesica::{
    Query,
    files::{JournalSecret, Resume},
    queries::{QueryTable, Side},
};
use vesica_net::Identity;
use vesica_select::{Formula, LabelShape, LabelValues, SelectItem, Summand};
use vesica_testkit::{
    tamper::{Tamper, tamper},
    transcript::{Transcript, record},
    two_party::{Link, PATIENCE, Wire},
};

use self::{
    case::Case,
    clear::{Asked, keys},
    duckdb::{agree, answers, decimal, statements},
};
use super::*;

/// Cases that always run, and all.
const FEW: u64 = 24;
const ALL: u64 = 2_000;

/// A row of an answer: its labels in the order of the query, its results, and whether it is shown.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    labels: Vec<Option<String>>,
    results: Vec<Option<vesica_select::FixedPoint>>,
    cell: String,
}

impl Line {
    /// The key by which lines are compared.
    fn place(&self) -> (String, Vec<Option<String>>) {
        (self.cell.clone(), self.labels.clone())
    }
}

impl Case {
    fn asked(&self) -> Asked<'_> {
        let Self { query, shape, tables, declared, .. } = self;
        Asked { query, shape, tables, declared }
    }

    fn has_cells(&self) -> bool {
        self.query.least() > 0 && !self.query.labels().is_empty()
    }

    fn is_private(&self) -> bool {
        let mut values = self.shape.labels.iter().map(|label| &label.values);
        values.any(|values| matches!(values, LabelValues::Private { .. }))
    }

    /// The answer.
    fn expected(&self) -> Vec<Line> {
        let asked = self.asked();
        let least = self.query.least();
        let (mut lines, mut few) = (Vec::new(), Vec::new());
        for (labels, rows) in asked.groups() {
            match keys(&rows) >= least {
                true => {
                    let (results, cell) = (asked.results(&rows), "shown".to_owned());
                    lines.push(Line { labels, results, cell });
                }
                false => few.extend(rows),
            }
        }
        let none = vec![None; self.shape.results.len()];
        if self.has_cells() && !self.is_private() {
            let shown: BTreeSet<_> = lines.iter().map(|line| line.labels.clone()).collect();
            let mut all = vec![Vec::new()];
            for label in &self.shape.labels {
                let LabelValues::Public(values) = &label.values else { unreachable!() };
                let null = label.is_nullable.then_some(None);
                let values: Vec<_> = values.iter().cloned().map(Some).chain(null).collect();
                let longer = |labels: Vec<_>| {
                    let with = |value| [labels.clone(), vec![value]].concat();
                    values.iter().cloned().map(with).collect::<Vec<_>>()
                };
                all = all.into_iter().flat_map(longer).collect();
            }
            let hidden = all.into_iter().filter(|labels| !shown.contains(labels));
            lines.extend(hidden.map(|labels| {
                let results = none.clone();
                Line { labels, results, cell: "suppressed".to_owned() }
            }));
        }
        if self.query.has_remainder() && keys(&few) >= least {
            let labels = vec![None; self.query.labels().len()];
            let (results, cell) = (asked.results(&few), "remainder".to_owned());
            lines.push(Line { labels, results, cell });
        }
        lines.sort_by_key(Line::place);
        lines
    }

    /// The number of keys of a side that its filter leaves out, and of those with a value beyond its bounds.
    fn left_out(&self, side: Side) -> [u64; 2] {
        let asked = self.asked();
        if self.query.as_of().is_some_and(|as_of| as_of.earlier() == side) {
            return [0, 0];
        }
        let counted = asked.counted(side);
        let mut by_key: HashMap<u32, Vec<_>> = HashMap::new();
        counted.iter().for_each(|row| by_key.entry(row.key).or_default().push(*row));
        let all: BTreeSet<_> = self.tables[side.index()].iter().map(|row| row.key).collect();
        let repeats = self.declared[side.index()].keys() == vesica::queries::Keys::Repeats;
        let mut bounded = BTreeSet::new();
        for sum in &self.shape.sums {
            let Summand::Product(factors) = &sum.summand else { continue };
            let own: Vec<_> = factors.iter().filter(|one| one.column.side == side).collect();
            if !(repeats && own.len() == 2) || self.query.as_of().is_some() {
                bounded.extend(own.into_iter().map(|factor| &factor.column));
            }
        }
        // Rows that are joined as of a day have bounds each.
        let by_row = self.query.as_of().is_some();
        let is_beyond = |rows: &&Vec<_>| {
            bounded.iter().any(|column| {
                let mut parts = rows.chunks(if by_row { 1 } else { rows.len() });
                parts.any(|rows| {
                    let [total, within] = asked.total(column, rows);
                    total != within
                })
            })
        };
        let clamped = by_key.values().filter(is_beyond).count();
        [(all.len() - by_key.len()) as u64, clamped as u64]
    }

    /// The place of a line in an answer: labels in the order of their list or of their texts, and null last.
    fn rank(&self, line: &Line) -> (bool, Vec<(bool, usize, String)>) {
        let rank = |(label, shape): (&Option<String>, &LabelShape)| {
            let text = label.clone().unwrap_or_default();
            let place = match &shape.values {
                LabelValues::Public(labels) => labels.iter().position(|known| *known == text),
                LabelValues::Private { .. } => None,
            };
            (label.is_none(), place.unwrap_or(0), text)
        };
        let labels = line.labels.iter().zip(&self.shape.labels).map(rank);
        (line.cell == "remainder", labels.collect())
    }

    /// Reads an answer as it was written.
    fn read(&self, text: &str) -> Vec<Line> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut header = self.query.headings();
        header.extend(self.has_cells().then(|| "cell".to_owned()));
        assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), header);
        let line = |record: csv::StringRecord| {
            let mut labels = vec![None; self.query.labels().len()];
            let (mut results, mut cell) = (Vec::new(), "shown".to_owned());
            for (i, field) in record.iter().enumerate() {
                match self.query.items().get(i) {
                    Some(SelectItem::Label { label, .. }) => {
                        labels[*label] = Some(field.to_owned()).filter(|text| !text.is_empty());
                    }
                    Some(SelectItem::Aggregate { .. }) => {
                        results.push((!field.is_empty()).then(|| decimal(field)));
                    }
                    None => field.clone_into(&mut cell),
                }
            }
            Line { labels, results, cell }
        };
        let mut lines: Vec<_> = reader.records().map(|record| line(record.unwrap())).collect();
        assert!(lines.is_sorted_by_key(|line| self.rank(line)), "{self:?}: {text}");
        lines.sort_by_key(Line::place);
        lines
    }

    /// The letter of the table of a side of the connection.
    fn letter(&self, role: Role) -> Side {
        if role == self.a { Side::A } else { Side::B }
    }

    fn job(&self, bench: &Bench, role: Role) -> Job {
        let side = self.letter(role);
        let name = ["a", "b"][role as usize];
        let learns = if role == Role::A { self.learns } else { opposite(self.learns) };
        let mut job = bench.job(name, self.csv(side), learns);
        let declared = self.declared[side.index()].clone();
        job.allow_empty = true;
        job.offer.query = Query::select(self.query.clone());
        job.offer.table = Some(QueryTable { side, declared: Some(declared) });
        job.planner.partitions = self.partitions;
        job.resume = self.keeps.then(|| {
            let journal = bench.path(&format!("{name} journal"));
            Resume { journal, secret: JournalSecret::of(&Identity::generate().unwrap()) }
        });
        job
    }

    /// Runs both sides, and returns how each ended and the messages that it sent.
    fn run(&self, jobs: [Job; 2], wires: [Wire; 2]) -> [(Ended, Transcript); 2] {
        let [(a, of_a), (b, of_b)] = wires.map(record);
        let party = |job: Job, role: Role, wire: Wire| {
            let channel = Channel::new(wire.transport).with_clock(wire.clock);
            side(job, role, &mut channel.with_stall_timeout(PATIENCE), Arc::default())
        };
        let [of_job_a, of_job_b] = jobs;
        let (a, b) = thread::scope(|scope| {
            let b = scope.spawn(|| party(of_job_b, Role::B, b));
            (party(of_job_a, Role::A, a), b.join().unwrap())
        });
        [(a, of_a.transcript()), (b, of_b.transcript())]
    }

    /// Runs both sides, the first time perhaps up to a message that is not sent any more.
    fn assert_right(&self) -> [Option<String>; 2] {
        let bench = Bench::new();
        let jobs = [Role::A, Role::B].map(|role| self.job(&bench, role));
        let connect = || <[Wire; 2]>::from(Link::Memory.connect());
        let mut reports = None;
        if let Some((by, message)) = self.breaks {
            let mut wires = connect();
            let [a, b] = wires;
            wires = match by {
                Role::A => [tamper(a, message, Tamper::Close), b],
                Role::B => [a, tamper(b, message, Tamper::Close)],
            };
            let [(a, _), (b, _)] = self.run(jobs.clone(), wires);
            if let (Ok(a), Ok(b)) = (a, b) {
                reports = Some([a, b]);
            }
        }
        let reports =
            reports.unwrap_or_else(|| match self.run(jobs, connect()).map(|(ended, _)| ended) {
                [Ok(a), Ok(b)] => [a, b],
                failed => panic!("{self:?}: {:?}", failed.map(Result::err)),
            });
        let expected = self.expected();
        let shown = expected.iter().filter(|line| line.cell != "suppressed").count() as u64;
        let suppressed = expected.len() as u64 - shown;
        let outputs = [Role::A, Role::B].map(|role| {
            let output = bench.output(["a", "b"][role as usize]);
            let outcome = &reports[role as usize].outcome;
            let cells = outcome.cells.map(|cells| [cells.shown, cells.suppressed]);
            let learns = if role == Role::A { self.learns } else { opposite(self.learns) };
            if learns == Learns::Peer {
                assert!(output.is_none() && cells.is_none(), "{self:?}");
            } else {
                let found = self.read(output.as_ref().unwrap());
                assert_eq!(found, expected, "{self:?}");
                let is_withheld = self.query.labels().is_empty() && expected.is_empty();
                let suppressed = if is_withheld { 1 } else { suppressed };
                assert_eq!(cells, Some([shown, suppressed]), "{self:?}");
            }
            let left = [outcome.filtered, outcome.clamped].map(Option::unwrap);
            assert_eq!(left, self.left_out(self.letter(role)), "{self:?}");
            output
        });
        if self.learns == Learns::Both {
            assert_eq!(outputs[0], outputs[1]);
        }
        outputs
    }
}

fn opposite(learns: Learns) -> Learns {
    match learns {
        Learns::Me => Learns::Peer,
        Learns::Peer => Learns::Me,
        other => other,
    }
}

/// Runs cases, two at a time, and returns those that DuckDB can answer with the answers.
fn run_all(cases: std::ops::Range<u64>) -> Vec<(Case, Vec<Line>)> {
    let next = AtomicU64::new(cases.start);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases.end {
                        return;
                    }
                    let case = Case::random(number);
                    let outputs = case.assert_right();
                    let answer = outputs.iter().flatten().next().unwrap();
                    let lines = case.read(answer);
                    done.lock().unwrap().push((case, lines));
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// The environment variable that selects other cases: `FIRST..END`, counted from 0. A case is the same each time, so
/// one that fails can be repeated.
const RANGE: &str = "VESICA_QUERIES";

fn range(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(range) = std::env::var(RANGE) else { return usual };
    let numbers = range.split_once("..").map(|(first, end)| (first.parse(), end.parse()));
    match numbers {
        Some((Ok(first), Ok(end))) if first < end => first..end,
        _ => panic!("{RANGE}={range} is not a range such as 0..{ALL}"),
    }
}

#[test]
fn answers_are_as_in_the_clear() {
    let done = run_all(range(0..FEW));
    let count = |is: &dyn Fn(&Case) -> bool| done.iter().filter(|(case, _)| is(case)).count();
    println!(
        "{} cases: {} with groups, {} as of a day, {} of several rows, {} in partitions, {} broken off",
        done.len(),
        count(&|case| !case.query.labels().is_empty()),
        count(&|case| case.query.as_of().is_some()),
        count(&|case| case.shape.latest.is_some_and(|latest| latest.rows > 1)),
        count(&|case| case.partitions > 1),
        count(&|case| case.breaks.is_some()),
    );
    let lines: usize = done.iter().map(|(_, lines)| lines.len()).sum();
    assert!(done.len() < FEW as usize || lines > done.len(), "{lines}");
}

#[test]
#[ignore = "assure: thousands of runs, and a package for Python from the network"]
fn answers_are_as_in_duckdb() {
    let done = run_all(range(0..ALL));
    let fits = |(case, _): &&(Case, Vec<Line>)| {
        let is_clamped = Side::BOTH.iter().any(|side| case.left_out(*side)[1] > 0);
        !is_clamped && !case.query.has_remainder()
    };
    let done: Vec<_> = done.iter().filter(fits).collect();
    let asked = done.iter().map(|(case, _)| {
        let of_side = |side: &Side| {
            let at = side.index();
            statements(*side, &case.columns[at], &case.tables[at])
        };
        let setup: Vec<_> = Side::BOTH.iter().flat_map(of_side).collect();
        json!({ "setup": setup, "queries": [[case.text, case.query.to_string()]] })
    });
    let scratch = tempfile::tempdir().unwrap();
    let answered = answers(asked.collect(), scratch.path());
    assert_eq!(answered.len(), done.len());
    let mut groups = 0;
    for (rows, (case, lines)) in answered.iter().zip(&done) {
        let shown: Vec<_> = lines.iter().filter(|line| line.cell == "shown").collect();
        assert_eq!(rows.len(), shown.len(), "{case:?}: {rows:?}");
        groups += rows.len();
        for row in rows {
            let mut labels = vec![None; case.query.labels().len()];
            let mut theirs: Vec<&Value> = Vec::new();
            for (item, value) in case.query.items().iter().zip(row) {
                match item {
                    SelectItem::Label { label, .. } => {
                        labels[*label] = value.as_str().map(str::to_owned);
                    }
                    SelectItem::Aggregate { .. } => theirs.push(value),
                }
            }
            let ours = shown.iter().find(|line| line.labels == labels);
            let ours = ours.unwrap_or_else(|| panic!("{case:?}: no group {labels:?}"));
            for ((ours, theirs), formula) in
                ours.results.iter().zip(theirs).zip(&case.shape.results)
            {
                let is_exact = matches!(formula, Formula::Count { .. } | Formula::Sum { .. });
                // A variance of the largest numbers has no decimal.
                let is_too_large = case.is_extreme && !is_exact && ours.is_none();
                assert!(
                    is_too_large || agree(*ours, theirs, is_exact),
                    "{case:?}, {labels:?}: {ours:?} and {theirs}"
                );
            }
        }
    }
    println!("{} queries with {groups} groups", done.len());
    // Many queries have an empty table or a minimum that no group reaches.
    assert!(groups > done.len() / 3, "{groups}");
}
