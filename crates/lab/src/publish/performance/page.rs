//! The page, in Markdown: one to read, with the main figures of the table and the charts.

use std::fmt::Write;

use vesica_planner::unit::{Unit, three_digits, typed_power};
use vesica_psi::{CATALOGUE, Status};

use crate::{
    Result, Work,
    catalogue::{ot, primitives},
    median,
    publish::report::line_title,
    reference::{Cell, PAPERS, Paper, Quantity},
};

use super::{
    ANCHOR, LINES, MEMORY, OT_LINES, SIZES,
    table::{JobRow, ResultTable, column, fact},
};

/// Stands for a missing figure.
const DASH: &str = "–";

/// Protocols whose result other circuits can use, and whose figures are in a chart of their own.
pub(super) const CIRCUITS: [&str; 6] =
    ["rs21-circuit", "rs21-circuit-iknp", "psty19", "scs-gmw-vector", "scs-gmw", "scs-yao"];

/// Iterates over the keys of the recommended protocols.
pub(super) fn recommended() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().filter(|protocol| protocol.status == Status::Recommended).map(|p| p.key)
}

/// Returns the keys of the protocols that the table has over memory, each once.
pub(super) fn protocols(table: &ResultTable) -> Vec<&str> {
    let mut keys = Vec::new();
    for row in table.rows.iter().filter(|row| row.is(&row.work, MEMORY) && row.is_protocol()) {
        if !keys.contains(&&*row.work) {
            keys.push(&row.work);
        }
    }
    keys
}

/// Formats the page of these results.
///
/// # Errors
/// If a fact about them is missing.
pub(super) fn page(table: &ResultTable) -> Result<String> {
    Ok([
        head(table)?,
        main_protocols(table),
        circuits(table),
        all_protocols(table)?,
        planner(table)?,
        transfers(table),
        CHOICES.to_owned(),
        papers(table),
        data(),
    ]
    .concat())
}

fn head(table: &ResultTable) -> Result<String> {
    let fact = |key| table.fact(key);
    let links: Vec<_> = LINES.iter().map(|line| line_title(line)).collect();
    Ok(format!(
        "# Performance

*For users and performance reviewers: measured time, bytes and memory. [performance.tsv](performance.tsv) has every
figure, and [rooflines.md](rooflines.md) explains what bounds them.*

```console
{command}
```

This measures everything, and writes performance.tsv, its charts and this page. It keeps runs in performance.jsonl beside them,
and completed runs are skipped. On another machine the same command gives the same tables with other figures. `vesica
bench --report docs/reference/performance.jsonl --output performance.html` makes a page of all runs.

- Machine: {machine}.
- Program: vesica {version}. Started on {date}.
- {runs} runs, {wrong} with a wrong result. Each run has a process of its own, which holds both parties, with one thread
  each. The two sets have the same size, and half of the items are shared.
- Seconds are the receiver's, from start to result: the median of one to three runs, made in alternating order.
- In memory, the time is what the two parties compute. Links are emulated within the process:
  {links}.
- `≈`, a dashed line and a hollow mark are predictions: the run was skipped because it would take more than {at_most} s,
  and more than twice as long as the best protocol there.

[scale.md](../guides/scale.md) and [service.md](../guides/service.md) have figures of whole runs of the program, files
included: sets of 10^7 to 2^28 keys, and 64 partners at one service.
",
        command = fact(fact::COMMAND)?,
        at_most = fact(fact::AT_MOST)?,
        machine = fact(fact::MACHINE)?,
        version = fact(fact::VERSION)?,
        date = fact(fact::DATE)?,
        runs = fact(fact::RUNS)?,
        wrong = fact(fact::WRONG)?,
        links = links.join("; "),
    ))
}

/// Formats rows of protocols or answers at the largest size.
fn at_largest(table: &ResultTable, works: &[&str]) -> String {
    let items = table.largest();
    let mut columns = vec![typed_power(items), "against".to_owned(), "memory".to_owned()];
    columns.extend(LINES.map(str::to_owned));
    columns.extend(["bytes per item", "peak MB"].map(str::to_owned));
    let rows = works.iter().map(|work| {
        let row = |link: &str| table.row(work, items, link);
        let seconds = |link: &str| match row(link) {
            None => DASH.to_owned(),
            Some(row) => match (row.figure(column::SECONDS), row.seconds()) {
                (Some(seconds), _) => three_digits(seconds),
                (None, Some(predicted)) => format!("≈ {}", three_digits(predicted)),
                (None, None) => DASH.to_owned(),
            },
        };
        let memory = row(MEMORY);
        let bytes = memory.and_then(|row| {
            let measured = row.figure(column::BYTES);
            measured.or(row.figure(column::PREDICTED_BYTES))
        });
        let peak = memory.and_then(|row| row.figure(column::PEAK_MEGABYTES));
        let shown = |figure: Option<f64>| figure.map_or(DASH.to_owned(), three_digits);
        let mut cells = vec![format!("`{}`", work.rsplit('/').next().unwrap_or(work))];
        cells.push(against(work).to_owned());
        cells.extend([MEMORY].into_iter().chain(LINES).map(seconds));
        cells.extend([shown(bytes.map(|bytes| bytes / items as f64)), shown(peak)]);
        cells
    });
    markdown_table(&columns, rows)
}

/// Returns the name of the adversary.
fn against(work: &str) -> &'static str {
    match work.parse() {
        Ok(Work::Protocol(protocol)) => protocol.adversary.name(),
        Ok(Work::Answer(method)) => method.adversary.name(),
        _ => DASH,
    }
}

fn main_protocols(table: &ResultTable) -> String {
    let keys: Vec<_> = [ANCHOR].into_iter().chain(recommended()).collect();
    format!(
        "
## Recommended protocols

`{ANCHOR}`, an exchange of hashes, is insecure and included only for comparison. It ran only in memory.

![Time by size of the recommended protocols](performance-time.svg)

![Bytes and memory of the recommended protocols](performance-bytes.svg)

Seconds, bytes both ways per item of a set, and the peak memory of the process, which holds both parties:

{}",
        at_largest(table, &keys)
    )
}

fn circuits(table: &ResultTable) -> String {
    let answers = table.rows.iter().map(|row| row.work.as_str());
    let mut works: Vec<_> = answers.filter(|work| work.starts_with("answer/")).collect();
    works.dedup();
    works.sort_unstable();
    works.dedup();
    format!(
        "
## Circuits, counts and sums

The protocols in this chart compare items within a circuit, which can go on to compute with them.

![Time and bytes of the circuits](performance-circuits.svg)

Methods that compute the number of shared keys, or the sum of their values (`dh-sum`), without anybody learning which keys
they are:

{}",
        at_largest(table, &works)
    )
}

fn all_protocols(table: &ResultTable) -> Result<String> {
    Ok(format!(
        "
## All protocols

Time in memory, the fastest at {} first.

![Time of all protocols in memory](performance-protocols.svg)
",
        table.fact(fact::UP_TO)?
    ))
}

/// Protocols measured at one size on one link.
struct PlannerChoice<'a> {
    chosen: &'a JobRow,
    fastest: &'a JobRow,
}

impl<'a> PlannerChoice<'a> {
    /// Chooses as the planner does: the fastest recommended protocol, by prediction.
    fn new(table: &'a ResultTable, items: usize, link: &str) -> Option<Self> {
        let here =
            |row: &&JobRow| row.items == items && row.is(&row.work, link) && row.is_protocol();
        let least = |column: &'static str, only: fn(&str) -> bool| {
            let rows = table.rows.iter().filter(here).filter(|row| only(&row.work));
            let rows = rows.filter(|row| row.figure(column::SECONDS).is_some());
            let rows = rows.filter_map(move |row| Some((row, row.figure(column)?)));
            rows.min_by(|x, y| x.1.total_cmp(&y.1)).map(|(row, _)| row)
        };
        Some(Self {
            chosen: least(column::PREDICTED_SECONDS, |work| recommended().any(|key| key == work))?,
            fastest: least(column::SECONDS, |_| true)?,
        })
    }

    fn shown(&self) -> Option<String> {
        let ratio = self.chosen.seconds()? / self.fastest.seconds()?;
        let mut text = format!("`{}` {ratio:.2}", self.chosen.work);
        if self.chosen.work != self.fastest.work {
            let _ = write!(text, ", `{}`", self.fastest.work);
        }
        Some(text)
    }
}

fn planner(table: &ResultTable) -> Result<String> {
    let accuracy = |key| {
        let mut parts = table.fact(key)?.split(", ");
        let mut part = || parts.next().ok_or_else(|| format!("`# {key}` has three parts"));
        Ok::<_, crate::Error>([part()?, part()?, part()?])
    };
    let [time, bytes, near] = accuracy(fact::ACCURACY)?;
    let [shipped_time, _, shipped_near] = accuracy(fact::SHIPPED)?;
    let rows = SIZES.into_iter().filter(|items| *items <= table.largest()).map(|items| {
        let shown = |link: &str| PlannerChoice::new(table, items, link)?.shown();
        let cells = LINES.map(|link| shown(link).unwrap_or(DASH.to_owned()));
        [typed_power(items)].into_iter().chain(cells).collect()
    });
    let columns: Vec<_> = ["n"].into_iter().chain(LINES).map(str::to_owned).collect();
    Ok(format!(
        "
## How right the planner is

Predictions for three links, calibrated with the runs in memory, were compared with {cases} measurements. The median error
is **{time} and {bytes}**, and the planner's choice is within 10 % of the fastest in **{near} cells**. With
the release's figures, as on a machine that is not calibrated, these are {shipped_time} and {shipped_near} cells. A cell
shows the choice, its time relative to the fastest protocol, and the fastest protocol if it is another.

{table}
`vesica plan --check performance.jsonl` prints the errors for any file of results, with the figures of `vesica calibrate`.
",
        cases = table.fact(fact::CASES)?,
        table = markdown_table(&columns, rows)
    ))
}

fn transfers(table: &ResultTable) -> String {
    let rows: Vec<_> = table.rows.iter().filter(|row| row.work.starts_with("ot/")).collect();
    let items = rows.iter().map(|row| row.items).max().unwrap_or(0);
    let keys = ot::CATALOGUE.iter().map(|entry| entry.key);
    let rows = keys.filter_map(|key| {
        let row = |link: &str| table.row(&format!("ot/{key}"), items, link);
        let bytes = OT_LINES.iter().find_map(|link| row(link)?.figure(column::BYTES))?;
        let seconds = OT_LINES.map(|link| {
            let seconds = row(link).and_then(|row| row.figure(column::SECONDS));
            seconds.map_or(DASH.to_owned(), three_digits)
        });
        let names = [format!("`{key}`"), Unit::Bytes.text(bytes)];
        Some(names.into_iter().chain(seconds).collect())
    });
    let columns: Vec<_> =
        ["OT", "both ways"].into_iter().chain(OT_LINES).map(str::to_owned).collect();
    format!(
        "
## Oblivious transfers

{} random OTs from scratch, setup and base OTs included; seconds from the start until both parties have finished, one run.

{}",
        typed_power(items),
        markdown_table(&columns, rows)
    )
}

/// The use of each primitive.
const CHOICES: &str = "
## Primitives

performance.tsv has the seconds per call, the minimum of five batches, by bits of output, from 128 bits of input, seed or
key. A hash whose digest is too short is called again with the input and a counter; generators are set up in each call,
ciphers and functions have their keys set up in advance. What Vesica uses, and why:

- *BLAKE3* for items (keyed with the run's seed), OPRF outputs and rows of OT extensions. Inputs are short and numerous, so
  several are hashed at once (`blake3-lanes`, `prf-blake3-lanes`): compare its 2^18 bits, 1024 digests, with 1024 calls at
  2^8 bits.
- *AES-128 under a public key* (`fixed-key-aes`) where a random permutation is enough: to break correlations of OTs, and in
  the trees of silent OT. Nothing else is as fast on a processor with AES instructions.
- *AES-128 in counter mode* (`prg-aes`) wherever a seed is expanded: columns of OT extensions, masks, random sets.
- *SHA-256* for fingerprints of certificates and checksums of files, where it is the familiar choice and speed does not
  matter.
- *ChaCha12* as the parties' own source of randomness, as the crate `rand` provides it: it needs no special instructions,
  and little is drawn from it.
- SHA-3, BLAKE2 and SipHash are not used: they are slower, or (SipHash) have at most 128 bits and no analysis for this use.
";

fn papers(table: &ResultTable) -> String {
    let rows = PAPERS.iter().filter_map(|paper| compared(table, paper));
    let columns = ["paper", "figures compared", "their time by ours", "their bytes by ours"];
    format!(
        "
## The papers' tables

Medians of the ratios between the papers' figures and ours, for runs that are part of the above or take no longer than a
tenth of the longest run allowed; totals only. `vesica bench --paper KEY --table N` runs a whole table, shows each figure
beside the paper's, and says why a figure has no counterpart. Machines differ, bytes do not.

{}",
        markdown_table(&columns.map(str::to_owned), rows)
    )
}

/// Compares a paper's figures with the table's. Returns `None` if no run of the paper is there.
fn compared(table: &ResultTable, paper: &Paper) -> Option<Vec<String>> {
    let is_of_primitives =
        |number| primitives::Kind::ALL.iter().any(|(.., table)| *table == number);
    let cells = paper.cells().into_iter().filter(|cell| is_total(cell.quantity));
    let cells: Vec<Cell> =
        cells.filter(|cell| paper.key != "liang" || !is_of_primitives(cell.table)).collect();
    let ratio = |cell: &Cell| {
        let work = cell.work?.to_string();
        let row = table.rows.iter().find(|row| {
            row.work == work
                && row.items == cell.size
                && row.link == cell.line.to_string()
                && row.threads == cell.threads
        })?;
        let ours = row.figure(cell.quantity.name()).filter(|ours| *ours > 0.0)?;
        Some((cell.quantity.unit(), cell.meant() / ours))
    };
    let ratios: Vec<_> = cells.iter().filter_map(ratio).collect();
    let of = |unit| {
        let ratios = ratios.iter().filter(|(of, _)| *of == unit).map(|(_, ratio)| *ratio);
        median(ratios).map_or(DASH.to_owned(), three_digits)
    };
    (!ratios.is_empty()).then(|| {
        let count = format!("{} of {}", ratios.len(), cells.len());
        vec![paper.citation.to_owned(), count, of(Unit::Seconds), of(Unit::Bytes)]
    })
}

/// Returns whether a quantity covers more than the time or bytes of one party.
fn is_total(quantity: Quantity) -> bool {
    use Quantity::{
        OnlineReceiverBytes, OnlineSenderBytes, ReceiverBytes, ReceiverSeconds, SenderBytes,
        SenderSeconds,
    };
    !matches!(
        quantity,
        SenderSeconds
            | ReceiverSeconds
            | SenderBytes
            | ReceiverBytes
            | OnlineSenderBytes
            | OnlineReceiverBytes
    )
}

fn data() -> String {
    "
## The data

performance.tsv has comments with the facts of the measurement, a header, and a line for each job; an empty field is an
unknown figure. Its columns:

- `work`, `items`, `link`, `threads`: the protocol, or `answer/`, `ot/` or `primitive/` and a key; items of each set, OTs, or
  bits of a primitive's output; the link; threads of each party.
- `seconds`, `least_seconds`, `most_seconds`: median, minimum and maximum over the runs.
- `cpu_seconds`: processor time of both parties. `both_seconds`: the times of both parties together.
- `offline_seconds`, `online_seconds`: until both are ready for items, and after that. `online_bytes`: sent after that.
- `bytes`, `bytes_to_receiver`, `bytes_to_sender`: framing included. `framing`: what it adds, relative to the payload.
- `flights`: flights of messages. `peak_megabytes`: the peak memory of the process.
- `predicted_seconds`, `predicted_bytes`: the planner's predictions, from the runs in memory. If `seconds` is empty, the run
  was skipped because of this prediction, which was made before.
"
    .to_owned()
}

/// Formats a table in Markdown.
fn markdown_table(columns: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(columns.len()));
    let rows: String = rows.map(|row| line(&row)).collect();
    line(columns) + &rule + &rows
}
