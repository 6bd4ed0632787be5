//! What a run costs in a cloud, as CM20 reckons it (§5.2.1).
//!
//! A machine is paid for by the hour, and what it sends by the GiB. A price depends on the region of the
//! one that sends, and on whether the other one is in the cloud too.

/// When these prices held: those of on-demand machines as CM20 printed them.
pub const DATE: &str = "2020";

/// The machine that the prices are of: two virtual processors and 8 GB of memory.
pub const MACHINE: &str = "m5.large";

/// USD a GiB between two machines that have public addresses, on top of the transfer.
const PUBLIC_ADDRESS: f64 = 0.01;

const GIB: f64 = (1u64 << 30) as f64;

/// A place where machines are for hire. Prices are in USD.
#[derive(Debug, PartialEq)]
pub struct Region {
    /// Its name.
    pub name: &'static str,
    /// Of one machine for an hour.
    pub machine_per_hour: f64,
    /// Of a GiB to somebody who is not in the cloud.
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

/// The lines whose ends are in regions: first the one of the sender, then the one of the receiver.
pub static LINES: &[(&str, [&Region; 2])] = &[
    ("cm20-ohio-virginia", [&OHIO, &VIRGINIA]),
    ("cm20-oregon-virginia", [&OREGON, &VIRGINIA]),
    ("cm20-paris-oregon", [&PARIS, &OREGON]),
    ("cm20-sydney-oregon", [&SYDNEY, &OREGON]),
    ("cm20-sydney-paris", [&SYDNEY, &PARIS]),
];

/// The regions at the ends of a line.
pub fn regions(line: &str) -> Option<[&'static Region; 2]> {
    LINES.iter().find(|(name, _)| *name == line).map(|(_, ends)| *ends)
}

/// USD a GiB from a machine of the cloud to another one.
pub fn between(from: &Region, to: &Region) -> f64 {
    match (from.name, to.name) {
        (a, b) if a == b => 0.0,
        ("Ohio", "Virginia") | ("Virginia", "Ohio") => 0.01,
        _ if from.continent == Continent::Australia => 0.14,
        _ => 0.02,
    }
}

/// What the cloud is paid for a run.
#[derive(Debug, Clone, Copy)]
pub struct Bill {
    /// USD, where both parties' machines are in it: CM20's business to business.
    pub both: f64,
    /// USD, where only the sender's is, and the receiver is somewhere else on the Internet.
    pub one: f64,
}

/// The cost of a run of so many seconds in which the sender and the receiver sent so many bytes, with machines in
/// these regions, in the same order.
pub fn run_cost(seconds: f64, sent: [f64; 2], [sender, receiver]: [&Region; 2]) -> Bill {
    let machine = |region: &Region| region.machine_per_hour * seconds / 3600.0;
    let transfer = |bytes: f64, per_gib: f64| bytes / GIB * (per_gib + PUBLIC_ADDRESS);
    Bill {
        both: machine(sender)
            + machine(receiver)
            + transfer(sent[0], between(sender, receiver))
            + transfer(sent[1], between(receiver, sender)),
        one: machine(sender) + transfer(sent[0], sender.to_internet_per_gib),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::{Cell, PAPERS, Quantity};

    /// CM20's Table 3 follows from its own times and the bytes of its Table 2.
    #[test]
    fn the_papers_bills_are_reckoned_alike() {
        let cm20 = PAPERS.iter().find(|paper| paper.key == "cm20").unwrap();
        let cells = cm20.cells();
        let figure =
            |is: &dyn Fn(&Cell) -> bool| cells.iter().find(|cell| is(cell)).unwrap().figure;
        let mut bills = 0;
        for cell in cells.iter().filter(|cell| cell.table == 3) {
            let Some(protocol) = cell.row.split_whitespace().last() else { continue };
            let sent = [Quantity::SenderBytes, Quantity::ReceiverBytes].map(|quantity| {
                figure(&|c| {
                    (c.table, c.row, c.size, c.quantity) == (2, protocol, 1 << 20, quantity)
                })
            });
            let seconds =
                figure(&|c| (c.table, c.row, c.quantity) == (3, cell.row, Quantity::Seconds));
            let bill = run_cost(seconds, sent, regions(&cell.line.to_string()).unwrap());
            let ours = match cell.quantity {
                Quantity::UsdBoth => bill.both,
                Quantity::UsdOne => bill.one,
                _ => continue,
            };
            let (ours, theirs) = (ours * 1000.0, cell.figure);
            let near = (ours - theirs).abs() <= 0.025 * theirs + 0.005;
            assert!(near, "{} {:?}: {ours:.2} for {theirs}", cell.row, cell.quantity);
            bills += 1;
        }
        assert_eq!(bills, 40);
    }
}
