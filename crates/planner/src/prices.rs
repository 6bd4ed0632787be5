//! The cost of a run in a cloud, calculated as in CM20 (§5.2.1), for the papers' tables, the report and the planner.
//!
//! A machine is paid for by the hour, and its outgoing traffic by the GiB. The price of traffic depends on the
//! sender's region, and on whether the other machine is in the cloud too.

use std::{fmt, str::FromStr};

use crate::Prices;

/// The date of these prices, which CM20 printed for on-demand machines.
pub const DATE: &str = "2020";

/// The machine with these prices: two virtual processors and 8 GB of memory.
pub const MACHINE: &str = "m5.large";

/// USD per GiB between two machines with public addresses, in addition to the transfer.
const PUBLIC_ADDRESS: f64 = 0.01;

const GIB: f64 = (1u64 << 30) as f64;

/// A cloud region. Prices are in USD.
#[derive(Debug, PartialEq)]
pub struct Region {
    /// Its name.
    pub name: &'static str,
    /// One machine for an hour.
    pub machine_per_hour: f64,
    /// One GiB sent to the Internet.
    pub to_internet_per_gib: f64,
    continent: Continent,
}

#[derive(Debug, PartialEq)]
enum Continent {
    America,
    Europe,
    Australia,
}

const fn american(name: &'static str) -> Region {
    let continent = Continent::America;
    Region { name, machine_per_hour: 0.096, to_internet_per_gib: 0.09, continent }
}

static VIRGINIA: Region = american("Virginia");
static OHIO: Region = american("Ohio");
static OREGON: Region = american("Oregon");
static PARIS: Region = Region {
    name: "Paris",
    machine_per_hour: 0.112,
    to_internet_per_gib: 0.09,
    continent: Continent::Europe,
};
static SYDNEY: Region = Region {
    name: "Sydney",
    machine_per_hour: 0.12,
    to_internet_per_gib: 0.114,
    continent: Continent::Australia,
};

/// Links between regions: the sender's region and the receiver's region.
pub static LINES: &[(&str, [&Region; 2])] = &[
    ("cm20-ohio-virginia", [&OHIO, &VIRGINIA]),
    ("cm20-oregon-virginia", [&OREGON, &VIRGINIA]),
    ("cm20-paris-oregon", [&PARIS, &OREGON]),
    ("cm20-sydney-oregon", [&SYDNEY, &OREGON]),
    ("cm20-sydney-paris", [&SYDNEY, &PARIS]),
];

/// Every region with known prices.
pub static REGIONS: [&Region; 5] = [&VIRGINIA, &OHIO, &OREGON, &PARIS, &SYDNEY];

/// Returns the region with this name, in upper or lower case.
pub fn region(name: &str) -> Option<&'static Region> {
    REGIONS.into_iter().find(|region| region.name.eq_ignore_ascii_case(name))
}

/// The machine of one side in a region, and the other side's if it is paid for too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machines {
    /// The region of this side's machine.
    pub mine: &'static Region,
    /// The region of the other side's machine, if it is paid for.
    pub theirs: Option<&'static Region>,
}

impl FromStr for Machines {
    type Err = String;

    /// Reads one region, or two with a comma between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let region = |name: &str| {
            region(name).ok_or_else(|| {
                let names = REGIONS.map(|region| region.name).join(", ");
                format!("no prices are known for `{name}`; the regions with prices, of {DATE}, are {names}")
            })
        };
        Ok(match text.split_once(',') {
            None => Self { mine: region(text)?, theirs: None },
            Some((mine, theirs)) => Self { mine: region(mine)?, theirs: Some(region(theirs)?) },
        })
    }
}

impl fmt::Display for Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mine.name)?;
        self.theirs.map_or(Ok(()), |theirs| write!(f, ",{}", theirs.name))
    }
}

/// The regions at the ends of a link.
pub fn regions(line: &str) -> Option<[&'static Region; 2]> {
    LINES.iter().find(|(name, _)| *name == line).map(|(_, ends)| *ends)
}

/// Returns the USD per GiB from one machine of the cloud to another.
pub fn between(from: &Region, to: &Region) -> f64 {
    match (from.name, to.name) {
        (a, b) if a == b => 0.0,
        ("Ohio", "Virginia") | ("Virginia", "Ohio") => 0.01,
        _ if from.continent == Continent::Australia => 0.14,
        _ => 0.02,
    }
}

/// Converts a price per GiB to USD per 10^9 bytes.
fn per_gb(per_gib: f64) -> f64 {
    (per_gib + PUBLIC_ADDRESS) * 1e9 / GIB
}

/// The machines of a run that are paid for, and their regions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Paid {
    /// Both parties' machines, the sender's first: CM20's business-to-business setting.
    Both([&'static Region; 2]),
    /// The sender's machine. The receiver is elsewhere on the Internet.
    Sender(&'static Region),
    /// The receiver's machine. The sender is elsewhere on the Internet.
    Receiver(&'static Region),
}

impl Paid {
    /// Returns the prices in these regions, in USD.
    pub fn prices(&self) -> Prices {
        match *self {
            Self::Both([sender, receiver]) => Prices {
                per_hour: sender.machine_per_hour + receiver.machine_per_hour,
                per_gb_to_sender: per_gb(between(receiver, sender)),
                per_gb_to_receiver: per_gb(between(sender, receiver)),
            },
            Self::Sender(region) => Prices {
                per_hour: region.machine_per_hour,
                per_gb_to_sender: 0.0,
                per_gb_to_receiver: per_gb(region.to_internet_per_gib),
            },
            Self::Receiver(region) => Prices {
                per_hour: region.machine_per_hour,
                per_gb_to_sender: per_gb(region.to_internet_per_gib),
                per_gb_to_receiver: 0.0,
            },
        }
    }
}

/// The cloud costs of a run.
#[derive(Debug, Clone, Copy)]
pub struct Bill {
    /// USD if both parties' machines are in the cloud.
    pub both: f64,
    /// USD if only the sender's machine is.
    pub one: f64,
}

/// Returns the cost of a run of the given duration and traffic, with machines in these regions. Both lists start with
/// the sender.
pub fn run_cost(
    seconds: f64,
    [by_sender, by_receiver]: [f64; 2],
    regions: [&'static Region; 2],
) -> Bill {
    let of = |paid: Paid| paid.prices().of_run(seconds, by_receiver, by_sender);
    Bill { both: of(Paid::Both(regions)), one: of(Paid::Sender(regions[0])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_names_and_the_one_that_sends_pays() {
        assert_eq!(region("SYDNEY").unwrap().name, "Sydney");
        assert!(region("Atlantis").is_none() && region("").is_none());
        for (_, ends) in LINES {
            assert!(ends.iter().all(|end| region(end.name) == Some(*end)));
        }
        // Traffic out of Sydney far exceeds traffic into it.
        let prices = Paid::Both([&SYDNEY, &PARIS]).prices();
        assert!(prices.per_gb_to_receiver > 4.0 * prices.per_gb_to_sender);
        let turned = Paid::Both([&PARIS, &SYDNEY]).prices();
        assert_eq!(turned.per_gb_to_sender, prices.per_gb_to_receiver);
        assert_eq!(turned.per_hour, prices.per_hour);
        // 2^30 bytes and an hour. The other side pays its own share.
        let gib = (1u64 << 30) as f64;
        let cost = Paid::Receiver(&OHIO).prices().of_run(3600.0, gib, 5.0 * gib);
        assert!((cost - (0.096 + 0.09 + 0.01)).abs() < 1e-9, "{cost}");
        assert_eq!(Paid::Sender(&OHIO).prices().of_run(3600.0, 5.0 * gib, gib), cost);
    }
}
