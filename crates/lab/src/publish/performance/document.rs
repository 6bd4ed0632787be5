//! The document, in Markdown.

use std::{collections::BTreeMap, fmt::Write};

use vesica_planner::{
    Figures,
    unit::{number, percent, three_digits, typed_power},
};

use crate::{
    Job, Line, Record, Result, Work, median,
    publish::report::line_title,
    record::results::Measured,
    run::{accuracy, calibrate, protocol},
};

use super::{ANCHOR, LINES, SIZES, Schedule, job, works};

/// Stands for a missing figure.
pub(super) const DASH: &str = "–";

/// Formats the document for these results, with a dash in place of missing figures. It depends only on them and on the
/// plan.
///
/// # Errors
/// If a record names a link that this release does not know.
pub fn document(measured: &Measured, plan: &Schedule) -> Result<String> {
    let sheet = Sheet { records: &measured.records, plan };
    let mut out = head(measured, plan);
    out += &sheet.summary();
    out += &sheet.by_size();
    out += &sheet.answers();
    out += &sheet.planner()?;
    out += &sheet.ots();
    out += &sheet.primitives();
    out += &sheet.papers();
    Ok(out)
}

fn head(measured: &Measured, plan: &Schedule) -> String {
    let host = &measured.host;
    let memory = host.memory_bytes.map_or(String::new(), |bytes| {
        format!(", {} GiB of memory", number((bytes as f64 / f64::from(1 << 30)).round()))
    });
    let lines: Vec<_> = LINES.iter().map(|line| line_title(line)).collect();
    let wrong = measured.records.iter().filter(|record| !record.correct()).count();
    format!(
        "# Performance

*For users and performance reviewers: what was measured. [rooflines.md](rooflines.md) explains what bounds the figures,
and what was tried.*

```console
vesica bench --performance docs/reference --up-to {up_to} --at-most {at_most}
```

runs all of this and generates this page and performance.html, a report of the same runs with charts. Figures are kept
in performance.jsonl beside it, and completed runs are skipped. On another machine the same command gives the same
tables with other figures.

- Machine: {processor}, {processors} processors{memory}, {system}.
- Program: vesica {version}. Started on {date}.
- {runs} runs, {wrong} with a wrong result. Each run has a process of its own, which holds both parties, with one thread
  each. The two sets have the same size, and half of the items are shared.
- Seconds are the receiver's, from start to result: the median of one to three runs, made in alternating order.
- Links are emulated within the process: {lines}.
- `≈` is a prediction: the run was skipped because it would take more than {at_most} s, and more than twice as long as
  the best protocol there.

Figures of whole runs of the program, files included, are with what they are of: sets of 10^7 to 2^28 keys in
[scale.md](../guides/scale.md), 64 partners at one service in [service.md](../guides/service.md).
",
        up_to = typed_power(plan.bounds.up_to),
        at_most = number(plan.bounds.at_most),
        processor = host.processor,
        processors = host.processors,
        system = host.system,
        version = host.version,
        date = host.date,
        runs = measured.records.len(),
        lines = lines.join("; "),
    )
}

/// The results in which figures are looked up.
pub(super) struct Sheet<'a> {
    pub(super) records: &'a [Record],
    plan: &'a Schedule,
}

/// The runs of one job.
struct DocumentRuns<'a>(Vec<&'a protocol::Record>);

impl DocumentRuns<'_> {
    fn median(&self, figure: impl Fn(&protocol::Record) -> Option<f64>) -> Option<f64> {
        median(self.0.iter().filter_map(|run| figure(run)))
    }

    fn seconds(&self) -> Option<f64> {
        self.median(|run| Some(run.seconds))
    }

    /// Minimum and maximum, if there are several.
    fn spread(&self) -> String {
        let seconds = || self.0.iter().map(|run| run.seconds);
        let (least, most) =
            (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
        match self.0.len() {
            0 | 1 => String::new(),
            _ => format!(" ({}–{})", three_digits(least), three_digits(most)),
        }
    }

    fn bits_an_item(&self) -> Option<f64> {
        self.median(|run| {
            let bytes = run.bytes_to_receiver + run.bytes_to_sender;
            Some(bytes as f64 * 8.0 / run.sender_items.max(1) as f64)
        })
    }
}

impl Sheet<'_> {
    /// The records of a job.
    pub(super) fn of(&self, job: &Job) -> Vec<&Record> {
        self.records.iter().filter(|record| job.gave(record)).collect()
    }

    fn runs(&self, work: Work, items: usize, line: &Line) -> DocumentRuns<'_> {
        let records = self.of(&job(work, items, line.clone()));
        DocumentRuns(
            records
                .into_iter()
                .filter_map(|record| match record {
                    Record::Protocol(run) => Some(run),
                    _ => None,
                })
                .collect(),
        )
    }

    /// Formats the seconds of a run, or the prediction, or nothing, if there is no run.
    fn seconds(&self, work: Work, items: usize, line: &Line) -> String {
        if let Some(seconds) = self.runs(work, items, line).seconds() {
            return three_digits(seconds);
        }
        let wanted = job(work, items, line.clone());
        let left_out = self.plan.left_out.iter().find(|(job, _)| *job == wanted);
        left_out.map_or(DASH.to_owned(), |(_, seconds)| format!("≈ {}", three_digits(*seconds)))
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        let up_to = self.plan.bounds.up_to;
        SIZES.into_iter().filter(move |items| *items <= up_to)
    }

    fn summary(&self) -> String {
        let memory = Line::memory();
        let columns = ["protocol".to_owned(), "against".to_owned()];
        let columns = columns.into_iter().chain(self.sizes().map(typed_power)).collect();
        let rows = protocols().map(|work| {
            let against = job(work, 1, memory.clone()).candidate();
            let against = against.map_or(DASH, |candidate| candidate.adversary.name());
            let cells = self.sizes().map(|items| self.seconds(work, items, &memory));
            [format!("`{work}`"), against.to_owned()].into_iter().chain(cells).collect()
        });
        format!(
            "
## All protocols by size

Seconds over an in-memory transport, that is, the time the two parties compute. `{ANCHOR}` is insecure and included only
for comparison.

{}",
            table(columns, rows.collect())
        )
    }

    fn by_size(&self) -> String {
        let mut out = "
## Each size

Over an in-memory transport: seconds (minimum–maximum), processor time of both parties, time relative to `naive`, all
bytes in both directions in bits per item, the offline part (which needs no items) + the online part, flights of
messages, and the peak memory of the process, which holds both parties and their sets. Then seconds over three links.
"
        .to_owned();
        for items in self.sizes() {
            let works: Vec<_> = protocols().collect();
            let _ = write!(
                out,
                "\n### {}\n\n{}",
                typed_power(items),
                self.details(&works, items, true)
            );
        }
        out
    }

    fn answers(&self) -> String {
        let works: Vec<_> = works().filter(|work| matches!(work, Work::Answer(_))).collect();
        let mut out = "
## Answers

The number of shared keys, or the sum of their values (`dh-sum`), without anybody learning which keys they are. Columns
as above.
"
        .to_owned();
        for items in self.sizes() {
            let _ =
                write!(out, "\n{}:\n\n{}", typed_power(items), self.details(&works, items, false));
        }
        out
    }

    fn details(&self, works: &[Work], items: usize, with_anchor: bool) -> String {
        let memory = Line::memory();
        let anchor = Work::protocol(ANCHOR).ok();
        let anchor = anchor.and_then(|work| self.runs(work, items, &memory).seconds());
        let mut columns = vec!["", "seconds", "CPU"];
        columns.extend(with_anchor.then_some("× naive"));
        columns.extend(["bits per item", "offline + online", "flights", "peak MB"]);
        columns.extend(LINES);
        let rows = works.iter().map(|work| {
            let runs = self.runs(*work, items, &memory);
            let shown = |figure: Option<f64>| figure.map_or(DASH.to_owned(), three_digits);
            let mut row = vec![
                format!("`{}`", work.key()),
                self.seconds(*work, items, &memory) + &runs.spread(),
                shown(runs.median(|run| run.cpu_seconds)),
            ];
            if with_anchor {
                let ratio = runs.seconds().zip(anchor).map(|(seconds, anchor)| seconds / anchor);
                row.push(shown(ratio));
            }
            let offline = runs.median(|run| Some(run.offline_seconds));
            let parts = offline.zip(runs.median(|run| Some(run.online_seconds)));
            let parts = parts.map(|parts| <[f64; 2]>::from(parts).map(three_digits).join(" + "));
            row.extend([
                shown(runs.bits_an_item()),
                parts.unwrap_or(DASH.to_owned()),
                runs.0.first().map_or(DASH.to_owned(), |run| run.rounds.to_string()),
                shown(runs.median(|run| Some(run.peak_memory_bytes? as f64 / 1e6))),
            ]);
            let lines = LINES.map(|line| line.parse().expect("a test reads these names"));
            row.extend(lines.map(|line| self.seconds(*work, items, &line)));
            row
        });
        let rows = rows.collect();
        table(columns.into_iter().map(str::to_owned).collect(), rows)
    }

    fn planner(&self) -> Result<String> {
        let figures = calibrate::figures(self.records);
        let on_lines = || {
            self.records.iter().filter(|record| match record {
                Record::Protocol(run) => LINES.contains(&run.link.as_str()),
                _ => false,
            })
        };
        let cells = accuracy::compare(on_lines(), &figures)?;
        let order = |cell: &accuracy::Cell| LINES.iter().position(|line| *line == cell.line);
        let mut ordered: Vec<_> = cells.iter().collect();
        ordered.sort_by_key(|cell| (order(cell), cell.sizes.receiver));
        let left_out = |cell: &accuracy::Cell| {
            let here = |job: &Job| job.line.to_string() == cell.line && job.sizes == cell.sizes;
            let protocol = |job: &Job| matches!(job.work, Work::Protocol(_));
            self.plan.left_out.iter().filter(|(job, _)| here(job) && protocol(job)).count()
        };
        let rows = ordered.iter().map(|cell| {
            vec![
                cell.line.clone(),
                typed_power(cell.sizes.receiver),
                cell.cases.len().to_string(),
                left_out(cell).to_string(),
                percent(cell.error_of_time()),
                percent(cell.error_of_bytes()),
                format!("`{}`", cell.chosen),
                format!("`{}`", cell.fastest),
                format!("{:.2}", cell.regret),
            ]
        });
        let columns = "link|n|protocols|skipped|time off|bytes off|chosen|fastest|ratio";
        let by_cell = table(split(columns), rows.collect());

        let mut by_protocol: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for case in cells.iter().flat_map(|cell| &cell.cases) {
            let ratio = case.predicted.seconds / case.seconds;
            by_protocol.entry(case.predicted.candidate.key).or_default().push(ratio);
        }
        let rows = by_protocol.into_iter().map(|(key, ratios)| {
            let off = median(ratios.iter().map(|ratio| (ratio - 1.0).abs())).unwrap_or(0.0);
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            let cells = ratios.len().to_string();
            vec![format!("`{key}`"), cells, percent(off), format!("{least:.2}–{most:.2}")]
        });
        let by_protocol =
            table(split("protocol|cells|time off|predicted by measured"), rows.collect());

        let shown = |cells: &[accuracy::Cell], error| {
            accuracy::overall(cells, error).map_or(DASH.to_owned(), percent)
        };
        let shipped = accuracy::compare(on_lines(), &Figures::default())?;
        Ok(format!(
            "
## How right the planner is

Predictions for three links, calibrated with the in-memory runs above, compared with measurements. \"Off\" is the median
relative error of the predictions over the protocols of a cell; \"ratio\" is the time of the planner's choice relative to
the fastest protocol. Protocols that were skipped are too slow to be chosen.

{by_cell}
Over all cases the median error is **{time} of time and {bytes} of bytes**, and the choice is within 10 % of the fastest in
**{near} of {all} cells**. With the figures that ship with the release, as on a machine that is not calibrated, it is
{uncalibrated} in time, and {near_shipped} of {all} cells. `vesica plan --check performance.jsonl` prints such a table for
any file of results, with the figures of `vesica calibrate`.

{by_protocol}",
            time = shown(&cells, accuracy::Case::error_of_time),
            bytes = shown(&cells, accuracy::Case::error_of_bytes),
            near = accuracy::near(&cells),
            all = cells.len(),
            uncalibrated = shown(&shipped, accuracy::Case::error_of_time),
            near_shipped = accuracy::near(&shipped),
        ))
    }
}

fn protocols() -> impl Iterator<Item = Work> {
    works().filter(|work| matches!(work, Work::Protocol(_)))
}

/// Columns, given by their names.
pub(super) fn split(columns: &str) -> Vec<String> {
    columns.split('|').map(str::to_owned).collect()
}

/// A table in Markdown.
pub(super) fn table(columns: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(columns.len()));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&columns) + &rule + &rows
}
