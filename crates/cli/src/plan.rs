//! `plan`: the estimated cost of each protocol for given sizes and a link, and which one to choose.

use std::{path::PathBuf, time::Duration};

use vesica::{
    Learns, Offer, Security,
    files::PlannerInputs,
    planning::{ListPlan, Plan, Prospect, money},
    report::grouped,
    spec::{Answer, AnswerForm},
};
use vesica_lab::{
    record::results::Measured,
    run::accuracy::{self, Case},
};
use vesica_planner::{
    Figures, Prices,
    prices::{self, Paid, Region},
    unit::{Unit, percent},
};

use crate::{bench::count, exit::Failure, flags, numbers};

#[derive(clap::Args)]
pub struct Args {
    /// Keys of this side: 1000, 100,000, 2M or 2^20
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    mine: Option<usize>,
    /// Keys of the other side
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "check")]
    theirs: Option<usize>,
    /// How often this is asked while the larger set hardly changes. Each run takes as long as the first; a published list,
    /// with which plans for unequal sizes are compared, is made and downloaded once
    #[arg(long, value_name = "N", default_value = "1", value_parser = numbers::positive)]
    runs: u64,
    /// The bandwidth of the link in each direction, in Mbit/s [default: 1000 if the round trip is below 2 ms,
    /// else 100]
    #[arg(long, value_name = "MBIT", value_parser = numbers::rate)]
    bandwidth: Option<u64>,
    /// The round-trip time in milliseconds
    #[arg(long, value_name = "MS", default_value = "20", value_parser = not_negative)]
    rtt: f64,
    /// The least security accepted
    #[arg(long, default_value = "semi-honest", value_parser = flags::word::<Security>(), value_name = "LEVEL")]
    security: Security,
    /// Who learns the result
    #[arg(long, value_name = "WHO", default_value = "me", value_parser = flags::word::<Learns>())]
    learns: Learns,
    /// What to find out, as in `run`
    #[arg(long, default_value = "rows", value_name = "WHAT", value_parser = flags::read::<AnswerForm>)]
    answer: Answer,
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
    #[arg(long, value_name = "SIZE", value_parser = numbers::amount)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The region of this side's machine, and of the other side's if it is paid for.
#[derive(Debug, Clone, Copy)]
struct Hired(&'static Region, Option<&'static Region>);

pub fn run(args: &Args) -> Result<(), Failure> {
    let figures = vesica::files::figures()?;
    if !args.check.is_empty() {
        return check(&args.check, &figures);
    }
    let plan = args.plan(figures)?;
    if args.json {
        let text = serde_json::to_string_pretty(&plan);
        return crate::print(&(text.map_err(|_| Failure::bug("a plan has no JSON"))? + "\n"));
    }
    crate::print(&Table(plan).to_string())
}

impl Args {
    fn plan(&self, figures: Figures) -> Result<Plan, Failure> {
        let prospect = Prospect {
            offer: self.offer(),
            mine: self.mine.unwrap_or_default(),
            theirs: self.theirs.unwrap_or_default(),
            runs: self.runs,
            round_trip: Duration::from_secs_f64(self.rtt / 1e3),
            prices: self.prices(),
            planner: PlannerInputs {
                figures,
                bits_per_second: self.bandwidth,
                memory: self.memory,
                ..PlannerInputs::default()
            },
        };
        let prices = self.prices.map(|hired| hired.to_string());
        Ok(Plan { prices, ..vesica::plan(&prospect)? })
    }

    /// The prices of the regions, except where a number is given.
    fn prices(&self) -> Prices {
        let mine_sends = self.learns == Learns::Peer;
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
        let mut offer = Offer::new(Vec::new(), self.learns);
        offer.security = self.security;
        offer.query = self.answer.query;
        offer.brings_values = self.answer.column.is_some();
        offer.minimum = self.minimum;
        offer
    }
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

/// A plan as a table.
struct Table(Plan);

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(plan) = self;
        writeln!(
            f,
            "{} keys of the receiver, {} of the sender; {} Mbit/s, {} ms there and back{}\n",
            grouped(plan.receiver_items as u64),
            grouped(plan.sender_items as u64),
            plan.bits_per_second as f64 / 1e6,
            plan.round_trip_seconds * 1e3,
            if plan.calibrated {
                ""
            } else {
                "; this machine is not calibrated (vesica calibrate)"
            }
        )?;
        if let Some(prices) = &plan.prices {
            writeln!(f, "prices: {prices}\n")?;
        }
        let priced = plan.predictions.iter().any(|row| row.price.is_some());
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
        for row in &plan.predictions {
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
        writeln!(f, "\n{}", plan.why)?;
        plan.published_list.iter().try_for_each(|list| instead(f, list))
    }
}

/// What a published list takes instead.
fn instead(f: &mut std::fmt::Formatter<'_>, list: &ListPlan) -> std::fmt::Result {
    let bytes = |bytes: u64| Unit::Bytes.text(bytes as f64);
    let seconds = |seconds| Unit::Seconds.text(seconds);
    let none = String::new;
    writeln!(
        f,
        "\n{:<22} {:<12} {:<17} {:>9} {:>11} {:>12}",
        "INSTEAD OF RUNS", "STATUS", "SECURE AGAINST", "TIME", "TO CLIENT", "TO PUBLISHER"
    )?;
    writeln!(f, "{:<22} {:<12} {:<17}", list.protocol, list.status, list.secure_against)?;
    let lines = [
        ("  make the list, once", seconds(list.publish_seconds), none(), none()),
        ("  download it, once", seconds(list.fetch_seconds), bytes(list.list_bytes), none()),
        (
            "  ask, each time",
            seconds(list.ask_seconds),
            bytes(list.bytes_to_client),
            bytes(list.bytes_to_publisher),
        ),
    ];
    for (what, time, to_client, to_publisher) in lines {
        writeln!(f, "{what:<53} {time:>9} {to_client:>11} {to_publisher:>12}")?;
    }
    writeln!(
        f,
        "tags of {} bits, for {} queries a client and 2^-{} wrong answers; making the list takes {} without AVX-512 IFMA\n",
        list.tag_bits,
        grouped(list.queries),
        list.lambda,
        seconds(list.publish_seconds_without_ifma),
    )?;
    writeln!(f, "{}", list.why)
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
