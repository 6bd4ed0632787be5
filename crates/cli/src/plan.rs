//! `plan`: the estimated cost of each protocol for given sizes and a link, and which one to choose.

mod among;

use std::{fmt, path::PathBuf, time::Duration};

use vesica::{
    Learns, Noise, Offer,
    files::PlannerInputs,
    planning::{ListPlan, MAX_ROWS, Plan, PredictedCost, Prospect, money},
    queries::{Declared, Keys, QueryTable, Side},
    report::grouped,
    spec::Planned,
};
use vesica_lab::{
    record::results::Measured,
    run::accuracy::{self, Case},
};
use vesica_planner::{
    Figures, Prices,
    prices::{self, Machines, Paid},
    unit::{Unit, percent},
};
use vesica_psi::Status;

use crate::{
    exit::Failure,
    flags::{Flags, required},
};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Flags<Planned>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let figures = vesica::files::figures()?;
    let planned = args.options.value()?;
    if !planned.shown.check.is_empty() {
        return check(&planned.shown.check, &figures);
    }
    if !planned.run.parties.is_empty() {
        return among::print(&planned, figures);
    }
    let plan = plan(&planned, figures)?;
    if planned.shown.json {
        let text = serde_json::to_string_pretty(&plan);
        return crate::print(&(text.map_err(|_| Failure::bug("a plan has no JSON"))? + "\n"));
    }
    crate::print(&PlanText { plan, all: planned.shown.all }.to_string())
}

fn plan(planned: &Planned, figures: Figures) -> Result<Plan, Failure> {
    let offer = offer(planned)?;
    let prospect = Prospect {
        peer_table: peer_table(planned, offer.table.as_ref())?,
        offer,
        mine: size(required(planned.run.mine, &["mine"], "how many keys this side has")?, "mine")?,
        theirs: size(
            required(planned.run.theirs, &["theirs"], "how many keys the other side has")?,
            "theirs",
        )?,
        runs: planned.run.runs,
        round_trip: Duration::from_secs_f64(planned.run.rtt / 1e3),
        prices: prices_of(planned),
        planner: PlannerInputs {
            figures,
            bits_per_second: planned.run.bandwidth,
            memory: planned.resources.memory,
            ..PlannerInputs::default()
        },
    };
    let prices = planned.prices.prices.map(machines);
    Ok(Plan { prices, ..vesica::plan(&prospect)? })
}

/// Returns the size of a set, which must be one that a run could compare.
fn size(keys: u64, option: &str) -> Result<usize, Failure> {
    let size = usize::try_from(keys).ok().filter(|_| keys < MAX_ROWS);
    let fewer = || {
        let most = grouped(MAX_ROWS);
        Failure::usage(format!("--{option}: a set has fewer than {most} keys"))
    };
    size.ok_or_else(fewer)
}

/// Returns the prices of the regions, but for those that are given as numbers.
fn prices_of(planned: &Planned) -> Prices {
    let mine_sends = planned.run.learns == Learns::Peer;
    let paid = planned.prices.prices.map(|Machines { mine, theirs }| match (theirs, mine_sends) {
        (None, true) => Paid::Sender(mine),
        (None, false) => Paid::Receiver(mine),
        (Some(theirs), true) => Paid::Both([mine, theirs]),
        (Some(theirs), false) => Paid::Both([theirs, mine]),
    });
    let of_regions = paid.map_or_else(Prices::default, |paid| paid.prices());
    let per_gb = planned.prices.price_per_gb;
    Prices {
        per_hour: planned.prices.price_per_hour.unwrap_or(of_regions.per_hour),
        per_gb_to_sender: per_gb.unwrap_or(of_regions.per_gb_to_sender),
        per_gb_to_receiver: per_gb.unwrap_or(of_regions.per_gb_to_receiver),
    }
}

/// Returns the offer that this side would make.
fn offer(planned: &Planned) -> Result<Offer, Failure> {
    let terms = &planned.terms;
    let mut offer = Offer::new(Vec::new(), planned.run.learns);
    offer.security = terms.security;
    offer.query = terms.answer.query.clone();
    offer.brings_values = terms.answer.column.is_some();
    offer.minimum = terms.minimum;
    offer.noise = terms.epsilon.map(|epsilon| Noise { epsilon, clamp: None });
    terms.ask(&mut offer, Some(Side::A))?;
    Ok(offer)
}

/// Returns the other side's table in a query, if it declares columns.
fn peer_table(planned: &Planned, mine: Option<&QueryTable>) -> Result<Option<QueryTable>, Failure> {
    let columns = planned.run.their_column.clone();
    let Some(mine) = mine else {
        return match columns.is_empty() {
            true => Ok(None),
            false => Err(Failure::usage("--their-column requires --query")),
        };
    };
    let declared = Declared::new(columns, Keys::Unique);
    let declared = Some(declared.map_err(|error| Failure::usage(error.to_string()))?);
    Ok(Some(QueryTable { side: mine.side.other(), declared }))
}

/// Describes machines and the date of their prices.
fn machines(Machines { mine, theirs }: Machines) -> String {
    let theirs = match theirs {
        Some(theirs) => format!(" and {}", theirs.name),
        None => ", the other side somewhere else and not paid for".to_owned(),
    };
    format!("{} in {}{theirs}; USD of {}", prices::MACHINE, mine.name, prices::DATE)
}

/// A plan for people.
struct PlanText {
    plan: Plan,
    /// Whether to show every protocol that fits.
    all: bool,
}

impl PlanText {
    /// Returns the protocols that are shown: the recommended ones, and the one that would be chosen.
    fn rows(&self) -> impl Iterator<Item = &PredictedCost> {
        let is_shown = |row: &&PredictedCost| {
            self.all
                || row.protocol == self.plan.protocol
                || row.status == Status::Recommended.name()
        };
        self.plan.predictions.iter().filter(is_shown)
    }

    /// Writes the next steps.
    fn write_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, .. } = self;
        writeln!(f, "\n{}", plan.why)?;
        writeln!(f, "`vesica run` chooses it by itself: leave out --protocol on both sides.")?;
        let rest = plan.predictions.len() - self.rows().count();
        match rest {
            0 => Ok(()),
            1 => writeln!(
                f,
                "One other protocol fits; --all shows it. Both sides must name it with --protocol."
            ),
            _ => writeln!(
                f,
                "{rest} other protocols fit; --all shows them. Both sides must name such a protocol with --protocol."
            ),
        }
    }
}

impl fmt::Display for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, .. } = self;
        let uncalibrated = "; this machine is not calibrated (vesica calibrate)";
        writeln!(
            f,
            "{} keys of the receiver, {} of the sender; {} Mbit/s, round trip {} ms{}\n",
            grouped(plan.receiver_items as u64),
            grouped(plan.sender_items as u64),
            plan.bits_per_second as f64 / 1e6,
            plan.round_trip_seconds * 1e3,
            if plan.calibrated { "" } else { uncalibrated }
        )?;
        if let Some(prices) = &plan.prices {
            writeln!(f, "prices: {prices}\n")?;
        }
        let priced = plan.predictions.iter().any(|row| row.price.is_some());
        let in_parts = self.rows().any(|row| row.partitions > 1);
        let parts = |text: &str| if in_parts { format!(" {text:>10}") } else { String::new() };
        writeln!(
            f,
            "{:<22} {:<12} {:<17}{} {:>9} {:>11} {:>11} {:>7} {:>9}{}",
            "PROTOCOL",
            "STATUS",
            "SECURE AGAINST",
            parts("PARTITIONS"),
            "TIME",
            "TO RECEIVER",
            "TO SENDER",
            "FLIGHTS",
            "MEMORY",
            if priced { "      PRICE" } else { "" }
        )?;
        for row in self.rows() {
            writeln!(
                f,
                "{:<22} {:<12} {:<17}{} {:>9} {:>11} {:>11} {:>7} {:>9}{}",
                row.protocol,
                row.status,
                row.secure_against,
                parts(&row.partitions.to_string()),
                Unit::Seconds.text(row.seconds),
                Unit::Bytes.text(row.bytes_to_receiver as f64),
                Unit::Bytes.text(row.bytes_to_sender as f64),
                row.rounds,
                Unit::Bytes.text(row.memory_bytes as f64),
                row.price.map_or(String::new(), |price| format!(" {:>10}", money(price)))
            )?;
        }
        self.write_advice(f)?;
        plan.published_list.iter().try_for_each(|list| instead(f, list))
    }
}

/// Writes the cost of a published list in place of runs.
fn instead(f: &mut fmt::Formatter<'_>, list: &ListPlan) -> fmt::Result {
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
        let message = "the files have no run of a protocol for real data";
        return Err(Failure::input(message));
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
