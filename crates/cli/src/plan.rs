//! `plan`: what each protocol would take for one's sizes and line, and which one to choose.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use vesica::{Security, Wanted, report::grouped};
use vesica_lab::{
    accuracy::{self, Case},
    results::Measured,
    unit::{Unit, percent},
};
use vesica_psi::{
    Sizes,
    answer::{
        Inquiry, Question,
        shares::{Outline, SHARING},
    },
    plan::{Candidate, Figures, Planner, Prediction, Prices, assumed_link},
};

use crate::{
    bench::count,
    calibrate,
    exit::Failure,
    run::{self, Answer, Who},
};

#[derive(clap::Args)]
pub struct Args {
    /// Keys of this side: 1000 or 2^20
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    mine: Option<usize>,
    /// Keys of the other side
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    theirs: Option<usize>,
    /// What the line carries in each direction, in Mbit/s [default: 1000 where the round trip is below 2 ms,
    /// else 100]
    #[arg(long, value_name = "MBIT", value_parser = rate)]
    bandwidth: Option<u64>,
    /// Time there and back, in milliseconds
    #[arg(long, value_name = "MS", default_value = "20", value_parser = not_negative)]
    rtt: f64,
    /// The least security accepted
    #[arg(long, default_value = "semi-honest", value_parser = run::security, value_name = "LEVEL")]
    security: Security,
    /// Who learns the result
    #[arg(long, value_enum, default_value = "me")]
    learns: Who,
    /// What to find out, as in `run`
    #[arg(long, default_value = "rows", value_name = "WHAT", value_parser = run::answer)]
    answer: Answer,
    /// Unless rows are asked for: tell nothing of fewer shared keys than this
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    minimum: u64,
    /// What both parties' machines cost together, an hour, in any currency. With a price the cheapest
    /// protocol is chosen, not the fastest
    #[arg(long, default_value = "0", value_name = "PRICE", hide_default_value = true, value_parser = not_negative)]
    price_per_hour: f64,
    /// What 10^9 bytes between the parties cost
    #[arg(long, default_value = "0", value_name = "PRICE", hide_default_value = true, value_parser = not_negative)]
    price_per_gb: f64,
    /// Instead of planning, say how right the planner is of runs in files that `vesica bench --results` has kept
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["mine", "theirs", "json"])]
    check: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A plan, as printed with `--json`.
#[derive(Serialize)]
struct Plan {
    receiver_items: usize,
    sender_items: usize,
    bits_per_second: u64,
    round_trip_seconds: f64,
    /// Whether somebody has calibrated this machine.
    calibrated: bool,
    protocol: &'static str,
    why: String,
    /// The chosen one first, then as they rank.
    predictions: Vec<Row>,
}

/// What one protocol would take.
#[derive(Serialize)]
struct Row {
    protocol: &'static str,
    status: &'static str,
    secure_against: &'static str,
    seconds: f64,
    work_seconds: f64,
    bytes_to_receiver: u64,
    bytes_to_sender: u64,
    rounds: u32,
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<f64>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let figures = calibrate::load()?;
    if !args.check.is_empty() {
        return check(&args.check, &figures);
    }
    let plan = args.plan(figures)?;
    if args.json {
        let text = serde_json::to_string_pretty(&plan);
        return crate::print(&(text.map_err(|_| Failure::bug("a plan has no JSON"))? + "\n"));
    }
    crate::print(&plan.to_string())
}

impl Args {
    fn plan(&self, figures: Figures) -> Result<Plan, Failure> {
        let (mine, theirs) = (self.mine.unwrap_or_default(), self.theirs.unwrap_or_default());
        let (receiver, sender) = match self.learns {
            Who::Peer => (theirs, mine),
            Who::Me | Who::Both | Who::Nobody => (mine, theirs),
        };
        let sizes = Sizes { sender, receiver };
        let round_trip = Duration::from_secs_f64(self.rtt / 1e3);
        let link = assumed_link(round_trip, self.bandwidth);
        let prices = Prices { per_hour: self.price_per_hour, per_gb: self.price_per_gb };
        let calibrated = figures != Figures::default();
        let planner = Planner { figures, link: Some(link), prices };

        let ranked = planner.rank(&self.candidates(sizes));
        let Some(first) = ranked.first() else {
            let security = self.security.name();
            return Err(Failure::usage(format!(
                "nothing of this release does that and is secure against {security} parties"
            )));
        };
        let priced = prices != Prices::default();
        Ok(Plan {
            receiver_items: receiver,
            sender_items: sender,
            bits_per_second: link.bits_per_second,
            round_trip_seconds: round_trip.as_secs_f64(),
            calibrated,
            protocol: first.candidate.key,
            why: why(&ranked, priced),
            predictions: ranked.iter().map(|p| Row::new(p, priced)).collect(),
        })
    }

    fn candidates(&self, sizes: Sizes) -> Vec<Candidate> {
        let adversary = self.security.adversary();
        let question = match self.answer.wanted {
            Wanted::Rows => return Candidate::protocols(sizes, adversary),
            Wanted::Count => Question::Count,
            Wanted::Sum if self.answer.column.is_some() == (self.learns != Who::Peer) => {
                Question::SumOfReceiver
            }
            Wanted::Sum => Question::SumOfSender,
            Wanted::Products => Question::Products,
            Wanted::Shares => {
                // Who else brings values is not known here; it makes no difference that is seen.
                let of_receiver = self.answer.column.is_some();
                let outline = Outline { sizes, of_receiver, of_sender: false };
                let fits = SHARING.adversary >= adversary;
                return fits.then(|| Candidate::sharing(outline)).into_iter().collect();
            }
            Wanted::AtLeast(least) => Question::AtLeast(least),
        };
        Candidate::methods(Inquiry { sizes, question, minimum: self.minimum }, adversary)
    }
}

/// The choice in a sentence.
fn why(ranked: &[Prediction], priced: bool) -> String {
    let (first, rest) = match ranked {
        [] => return String::new(),
        [first, rest @ ..] => (first, rest),
    };
    let takes = |p: &Prediction| {
        format!(
            "{} and {}",
            Unit::Seconds.text(p.seconds),
            Unit::Bytes.text(p.candidate.cost.bytes())
        )
    };
    let paid = |p: &Prediction| if priced { format!(", {:.4}", p.price) } else { String::new() };
    let best = if priced { "cheapest" } else { "fastest" };
    let of = rest.len() + 1;
    let Some(second) = rest.first() else {
        return format!("{}: {}; nothing else fits", first.candidate.key, takes(first));
    };
    let better = if priced { second.price < first.price } else { second.seconds < first.seconds };
    let how = match better {
        true => format!("about as good as the {best} of {of} that fit, and recommended"),
        false => format!("the {best} of {of} that fit"),
    };
    format!(
        "{} is {how}: {}{}; next is {} with {}{}",
        first.candidate.key,
        takes(first),
        paid(first),
        second.candidate.key,
        takes(second),
        paid(second)
    )
}

impl Row {
    fn new(p: &Prediction, priced: bool) -> Self {
        Self {
            protocol: p.candidate.key,
            status: p.candidate.status.name(),
            secure_against: p.candidate.adversary.name(),
            seconds: p.seconds,
            work_seconds: p.work_seconds,
            bytes_to_receiver: p.candidate.cost.bytes_to_receiver as u64,
            bytes_to_sender: p.candidate.cost.bytes_to_sender as u64,
            rounds: p.candidate.cost.rounds,
            memory_bytes: p.memory_bytes.map(|bytes| bytes as u64),
            price: priced.then_some(p.price),
        }
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} keys of the receiver, {} of the sender; {} Mbit/s, {} ms there and back{}\n",
            grouped(self.receiver_items as u64),
            grouped(self.sender_items as u64),
            self.bits_per_second as f64 / 1e6,
            self.round_trip_seconds * 1e3,
            if self.calibrated {
                ""
            } else {
                "; this machine is not calibrated (vesica calibrate)"
            }
        )?;
        let priced = self.predictions.iter().any(|row| row.price.is_some());
        writeln!(
            f,
            "{:<22} {:<12} {:<17} {:>9} {:>11} {:>11} {:>7} {:>9}{}",
            "PROTOCOL",
            "STATUS",
            "SECURE AGAINST",
            "TIME",
            "TO RECEIVER",
            "TO SENDER",
            "FLIGHTS",
            "MEMORY",
            if priced { "      PRICE" } else { "" }
        )?;
        for row in &self.predictions {
            writeln!(
                f,
                "{:<22} {:<12} {:<17} {:>9} {:>11} {:>11} {:>7} {:>9}{}",
                row.protocol,
                row.status,
                row.secure_against,
                Unit::Seconds.text(row.seconds),
                Unit::Bytes.text(row.bytes_to_receiver as f64),
                Unit::Bytes.text(row.bytes_to_sender as f64),
                row.rounds,
                row.memory_bytes.map_or("-".to_owned(), |memory| Unit::Bytes.text(memory as f64)),
                row.price.map_or(String::new(), |price| format!(" {price:>10.4}"))
            )?;
        }
        writeln!(f, "\n{}", self.why)
    }
}

/// How right the planner is of the runs in these files.
fn check(files: &[PathBuf], figures: &Figures) -> Result<(), Failure> {
    let input = |error: vesica_lab::Error| Failure::input(error.to_string());
    let mut records = Vec::new();
    for path in files {
        records.extend(Measured::read(path).map_err(input)?.records);
    }
    let unused = records.iter().filter(|record| !accuracy::counts(record)).count();
    let cells = accuracy::compare(&records, figures).map_err(input)?;
    if cells.is_empty() {
        return Err(Failure::input("there is no run of a protocol for real data in it".to_owned()));
    }
    let mut text = format!(
        "{:<14} {:>10} {:>10} {:>9} {:>8} {:>9}  {:<22} {:<22} {:>6}\n",
        "LINE",
        "RECEIVER",
        "SENDER",
        "PROTOCOLS",
        "TIME OFF",
        "BYTES OFF",
        "CHOSEN",
        "FASTEST",
        "RATIO"
    );
    for cell in &cells {
        text += &format!(
            "{:<14} {:>10} {:>10} {:>9} {:>8} {:>9}  {:<22} {:<22} {:>6.2}\n",
            cell.line,
            cell.sizes.receiver,
            cell.sizes.sender,
            cell.cases.len(),
            percent(cell.error_of_time()),
            percent(cell.error_of_bytes()),
            cell.chosen,
            cell.fastest,
            cell.regret
        );
    }
    let of = |error: fn(&Case) -> f64| accuracy::overall(&cells, error).map_or(0.0, |x| x);
    let good = accuracy::near(&cells);
    text += &format!(
        "\nmedian error: {} of time, {} of bytes; the choice is within 10 % of the fastest in {good} of {} \
         cells\n",
        percent(of(Case::error_of_time)),
        percent(of(Case::error_of_bytes)),
        cells.len()
    );
    if unused > 0 {
        text += &format!(
            "{unused} of {} runs were not used: not of a protocol for real data, with a filter, or of more than one \
             thread a party\n",
            records.len()
        );
    }
    crate::print(&text)
}

/// Reads a rate in Mbit/s; in bits a second.
pub fn rate(text: &str) -> Result<u64, String> {
    let parsed = text.parse().ok().filter(|x: &f64| (1e-3..=1e6).contains(x));
    parsed
        .map(|mbit| (mbit * 1e6) as u64)
        .ok_or_else(|| "a number from 0.001 to 1000000".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|x: &f64| (0.0..=1e6).contains(x));
    parsed.ok_or_else(|| "a number from 0 to 1000000".to_owned())
}
