//! `plan`: the estimated cost of each protocol for given sizes and a link, and which one to choose.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use vesica::{
    Offer, Security,
    files::PlannerInputs,
    report::{bytes, grouped},
};
use vesica_lab::{
    record::{
        results::Measured,
        unit::{Unit, percent},
    },
    run::accuracy::{self, Case},
};
use vesica_planner::prices::{self, Paid, Region};
use vesica_planner::{Figures, Planner, Prediction, Prices, assumed_link};
use vesica_psi::Status;

use crate::{
    bench::count,
    exit::Failure,
    figures, memory, numbers,
    terms::{self, QueryArg, Who},
};

#[derive(clap::Args)]
pub struct Args {
    /// Keys of this side: 1000, 100,000, 2M or 2^20
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    mine: Option<usize>,
    /// Keys of the other side
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    theirs: Option<usize>,
    /// The bandwidth of the link in each direction, in Mbit/s [default: 1000 if the round trip is below 2 ms,
    /// else 100]
    #[arg(long, value_name = "MBIT", value_parser = numbers::rate)]
    bandwidth: Option<u64>,
    /// The round-trip time in milliseconds
    #[arg(long, value_name = "MS", default_value = "20", value_parser = not_negative)]
    rtt: f64,
    /// The least security accepted
    #[arg(long, default_value = "semi-honest", value_parser = terms::security, value_name = "LEVEL")]
    security: Security,
    /// Who learns the result
    #[arg(long, value_enum, default_value = "me")]
    learns: Who,
    /// What to find out, as in `run`
    #[arg(long, default_value = "rows", value_name = "WHAT", value_parser = terms::query)]
    answer: QueryArg,
    /// The minimum of a number, as in `run`
    #[arg(long, default_value = "0", value_name = "N", hide_default_value = true, value_parser = numbers::number)]
    minimum: u64,
    /// The cloud region of this side's machine, and after a comma that of the other side's, if it is to be paid for
    /// too: Virginia, Ohio, Oregon, Paris or Sydney, with the prices in USD that CM20 gives for m5.large machines in
    /// 2020. With prices, the cheapest protocol is chosen instead of the fastest
    #[arg(long, value_name = "REGION", value_parser = hired)]
    prices: Option<Hired>,
    /// The price of all machines together per hour, in any currency, instead of that of the regions
    #[arg(long, value_name = "PRICE", value_parser = not_negative)]
    price_per_hour: Option<f64>,
    /// The price of 10^9 bytes between the parties, in either direction, likewise
    #[arg(long, value_name = "PRICE", value_parser = not_negative)]
    price_per_gb: Option<f64>,
    /// Instead of planning, compare the planner's predictions with the runs in files that `vesica bench --results`
    /// has kept
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["mine", "theirs", "json"])]
    check: Vec<PathBuf>,
    /// Leave out protocols that would use more memory than this on either side, as in 2G or 512M [default: as in
    /// `run`]
    #[arg(long, value_name = "SIZE", value_parser = memory::amount)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The region of this side's machine, and of the other side's if it is paid for.
#[derive(Debug, Clone, Copy)]
struct Hired(&'static Region, Option<&'static Region>);

/// A plan, as printed with `--json`.
#[derive(Serialize)]
struct Plan {
    receiver_items: usize,
    sender_items: usize,
    bits_per_second: u64,
    round_trip_seconds: f64,
    /// Whether somebody has calibrated this machine.
    calibrated: bool,
    /// Whose prices they are, if of a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<String>,
    protocol: &'static str,
    why: String,
    /// The chosen one first, then as they rank.
    predictions: Vec<Row>,
}

/// The estimated cost of one protocol.
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
    /// Of the party that takes more.
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<f64>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let figures = figures::load()?;
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
        let round_trip = Duration::from_secs_f64(self.rtt / 1e3);
        let link = assumed_link(round_trip, self.bandwidth);
        let prices = self.prices();
        let calibrated = figures != Figures::default();
        let planner = Planner { figures, link: Some(link), prices };

        let mut candidates = self.offer().candidates(mine, theirs);
        if candidates.is_empty() {
            let security = self.security.name();
            return Err(Failure::usage(format!(
                "nothing of this release does that and is secure against {security} parties"
            )));
        }
        let budget = self.memory.unwrap_or_else(PlannerInputs::default_memory);
        let least = candidates.iter().map(|c| c.memory.most()).fold(f64::INFINITY, f64::min);
        candidates.retain(|candidate| candidate.memory.most() <= budget as f64);
        let ranked = planner.rank(&candidates);
        let Some(first) = ranked.first() else {
            return Err(Failure::usage(format!(
                "nothing that does this fits into {}: it takes {} at least. Raise --memory, or plan for smaller sets",
                bytes(budget as f64),
                bytes(least)
            )));
        };
        let priced = prices != Prices::default();
        Ok(Plan {
            receiver_items: receiver,
            sender_items: sender,
            bits_per_second: link.bits_per_second,
            round_trip_seconds: round_trip.as_secs_f64(),
            calibrated,
            prices: self.prices.map(|hired| hired.to_string()),
            protocol: first.candidate.key,
            why: why(&ranked, priced),
            predictions: ranked.iter().map(|p| Row::new(p, priced)).collect(),
        })
    }

    /// The prices of the regions, except where a number is given.
    fn prices(&self) -> Prices {
        let mine_sends = self.learns == Who::Peer;
        let paid = self.prices.map(|Hired(mine, theirs)| match (theirs, mine_sends) {
            (None, true) => Paid::Sender(mine),
            (None, false) => Paid::Receiver(mine),
            (Some(theirs), true) => Paid::Both([mine, theirs]),
            (Some(theirs), false) => Paid::Both([theirs, mine]),
        });
        let of_regions = paid.map_or_else(Prices::default, |paid| paid.prices());
        Prices {
            per_hour: self.price_per_hour.unwrap_or(of_regions.per_hour),
            per_gb_to_sender: self.price_per_gb.unwrap_or(of_regions.per_gb_to_sender),
            per_gb_to_receiver: self.price_per_gb.unwrap_or(of_regions.per_gb_to_receiver),
        }
    }

    /// What this side would offer.
    fn offer(&self) -> Offer {
        let mut offer = Offer::new(Vec::new(), self.learns.into());
        offer.security = self.security;
        offer.query = self.answer.query;
        offer.brings_values = self.answer.column.is_some();
        offer.minimum = self.minimum;
        offer
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
    let paid =
        |p: &Prediction| if priced { format!(", {}", money(p.price)) } else { String::new() };
    let best = if priced { "cheapest" } else { "fastest" };
    let of = rest.len() + 1;
    let Some(second) = rest.first() else {
        return format!("{}: {}; nothing else fits", first.candidate.key, takes(first));
    };
    let better = if priced { second.price < first.price } else { second.seconds < first.seconds };
    let is_recommended = first.candidate.status == Status::Recommended;
    let how = match better && is_recommended {
        true => format!("the {best} recommended one of {of} that fit"),
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

impl std::fmt::Display for Hired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(mine, theirs) = self;
        write!(f, "{} in {}", prices::MACHINE, mine.name)?;
        match theirs {
            Some(theirs) => write!(f, " and {}", theirs.name)?,
            None => f.write_str(", the other side somewhere else and not paid for")?,
        }
        write!(f, "; USD of {}", prices::DATE)
    }
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
            memory_bytes: p.candidate.memory.most() as u64,
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
        if let Some(prices) = &self.prices {
            writeln!(f, "prices: {prices}\n")?;
        }
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
                Unit::Bytes.text(row.memory_bytes as f64),
                row.price.map_or(String::new(), |price| format!(" {:>10}", money(price)))
            )?;
        }
        writeln!(f, "\n{}", self.why)
    }
}

/// Compares the planner's predictions with the runs in these files.
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

/// An amount with three significant digits.
fn money(amount: f64) -> String {
    let decimals = 2.0 - amount.max(1e-9).log10().floor();
    format!("{amount:.*}", decimals.clamp(2.0, 9.0) as usize)
}

/// Reads one region or two.
fn hired(text: &str) -> Result<Hired, String> {
    let region = |name: &str| {
        prices::region(name).ok_or_else(|| {
            let names = prices::REGIONS.map(|region| region.name).join(", ");
            format!("`{name}` is no region; those with prices, of {}, are {names}", prices::DATE)
        })
    };
    Ok(match text.split_once(',') {
        None => Hired(region(text)?, None),
        Some((mine, theirs)) => Hired(region(mine)?, Some(region(theirs)?)),
    })
}

fn not_negative(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|x: &f64| (0.0..=1e6).contains(x));
    parsed.ok_or_else(|| "a number from 0 to 1000000".to_owned())
}
