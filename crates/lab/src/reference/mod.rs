//! The tables of the papers; each figure names the run here with which it is compared.
//!
//! They are in `papers/*.tsv`, one line per figure: the table, the label of its row, the run here (`-` if there is no
//! counterpart, for a reason given in the note), items of each set or OTs, threads, link, quantity, the figure as
//! printed in seconds, bytes or USD, the intended figure if the printed one is a misprint, and a note.

use vesica_planner::unit::Unit;

use crate::{Job, Line, Record, Work};

use vesica_psi::Sizes;

/// A paper.
pub struct Paper {
    /// Its key on the command line.
    pub key: &'static str,
    /// Its authors, and where it appeared.
    pub citation: &'static str,
    text: &'static str,
}

/// Every paper whose tables are here.
pub static PAPERS: &[Paper] = &[
    Paper {
        key: "kkrt16",
        citation: "Kolesnikov, Kumaresan, Rosulek, Trieu (CCS 2016)",
        text: include_str!("kkrt16.tsv"),
    },
    Paper {
        key: "psz14",
        citation: "Pinkas, Schneider, Zohner (USENIX Security 2014)",
        text: include_str!("psz14.tsv"),
    },
    Paper { key: "cm20", citation: "Chase, Miao (CRYPTO 2020)", text: include_str!("cm20.tsv") },
    Paper {
        key: "rs21",
        citation: "Rindal, Schoppmann (EUROCRYPT 2021)",
        text: include_str!("rs21.tsv"),
    },
    Paper {
        key: "rr22",
        citation: "Raghuraman, Rindal (CCS 2022)",
        text: include_str!("rr22.tsv"),
    },
    Paper { key: "liang", citation: "Liang et al. (2022)", text: include_str!("liang.tsv") },
];

/// One figure of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The table's number in the paper.
    pub table: u32,
    /// The label of its row in the paper.
    pub row: &'static str,
    /// The corresponding work here, or `None` without a counterpart.
    pub work: Option<Work>,
    /// Items of each set, or OTs.
    pub size: usize,
    /// Threads of each party.
    pub threads: usize,
    /// The link between the parties.
    pub line: Line,
    /// The quantity of the figure.
    pub quantity: Quantity,
    /// As printed: seconds, bytes or USD.
    pub figure: f64,
    /// The intended figure, if the printed one is a misprint.
    pub corrected: Option<f64>,
    /// A remark, or the reason why there is no counterpart. May be empty.
    pub note: &'static str,
}

/// The quantity that a figure states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// From the start to the receiver's result.
    Seconds,
    /// Until both are ready for items.
    OfflineSeconds,
    /// From then on.
    OnlineSeconds,
    /// The sender's time.
    SenderSeconds,
    /// The receiver's time.
    ReceiverSeconds,
    /// The sum of both times, though the parties run at the same time.
    BothSeconds,
    /// Sent by both.
    Bytes,
    /// Sent by the sender.
    SenderBytes,
    /// Sent by the receiver.
    ReceiverBytes,
    /// Sent by both after they are ready for items.
    OnlineBytes,
    /// The part sent by the sender.
    OnlineSenderBytes,
    /// The part sent by the receiver.
    OnlineReceiverBytes,
    /// The price of 1000 runs, both parties in the cloud.
    UsdBoth,
    /// The price of 1000 runs, only the sender in the cloud.
    UsdOne,
    /// The time to build a structure.
    BuildSeconds,
    /// The time of one query for each item.
    QuerySeconds,
}

impl Quantity {
    const NAMED: [(&'static str, Self); 16] = [
        ("seconds", Self::Seconds),
        ("offline_seconds", Self::OfflineSeconds),
        ("online_seconds", Self::OnlineSeconds),
        ("sender_seconds", Self::SenderSeconds),
        ("receiver_seconds", Self::ReceiverSeconds),
        ("both_seconds", Self::BothSeconds),
        ("bytes", Self::Bytes),
        ("sender_bytes", Self::SenderBytes),
        ("receiver_bytes", Self::ReceiverBytes),
        ("online_bytes", Self::OnlineBytes),
        ("online_sender_bytes", Self::OnlineSenderBytes),
        ("online_receiver_bytes", Self::OnlineReceiverBytes),
        ("usd_both", Self::UsdBoth),
        ("usd_one", Self::UsdOne),
        ("build_seconds", Self::BuildSeconds),
        ("query_seconds", Self::QuerySeconds),
    ];

    /// Its name in the files.
    pub fn name(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(_, quantity)| *quantity == self);
        named.expect("every quantity has a name").0
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        let name = self.name();
        match () {
            () if name.ends_with("seconds") => Unit::Seconds,
            () if name.ends_with("bytes") => Unit::Bytes,
            () => Unit::Usd,
        }
    }

    /// The value of this quantity for a run; `None` if runs of that kind do not have it.
    pub fn of(self, record: &Record) -> Option<f64> {
        let value = match record {
            Record::Protocol(run) => {
                let all = [run.bytes_to_receiver, run.bytes_to_sender].map(|bytes| bytes as f64);
                let offline = [run.offline_bytes_to_receiver, run.offline_bytes_to_sender];
                let online = [0, 1].map(|i| all[i] - offline[i] as f64);
                let bill = || {
                    let regions = vesica_planner::prices::regions(&run.link)?;
                    Some(vesica_planner::prices::run_cost(run.seconds, all, regions))
                };
                match self {
                    Self::Seconds | Self::ReceiverSeconds => run.seconds,
                    Self::OfflineSeconds => run.offline_seconds,
                    Self::OnlineSeconds => run.online_seconds,
                    Self::SenderSeconds => run.sender_seconds,
                    Self::BothSeconds => run.sender_seconds + run.seconds,
                    Self::Bytes => all[0] + all[1],
                    Self::SenderBytes => all[0],
                    Self::ReceiverBytes => all[1],
                    Self::OnlineBytes => online[0] + online[1],
                    Self::OnlineSenderBytes => online[0],
                    Self::OnlineReceiverBytes => online[1],
                    Self::UsdBoth => bill()?.both * 1000.0,
                    Self::UsdOne => bill()?.one * 1000.0,
                    Self::BuildSeconds | Self::QuerySeconds => return None,
                }
            }
            Record::Joint(run) => match self {
                Self::Seconds => run.seconds,
                Self::Bytes => run.bytes as f64,
                _ => return None,
            },
            Record::Ot(run) => match self {
                Self::Seconds => run.seconds,
                Self::SenderSeconds => run.sender_seconds,
                Self::ReceiverSeconds => run.receiver_seconds,
                Self::BothSeconds => run.sender_seconds + run.receiver_seconds,
                Self::Bytes => (run.bytes_to_receiver + run.bytes_to_sender) as f64,
                Self::SenderBytes => run.bytes_to_receiver as f64,
                Self::ReceiverBytes => run.bytes_to_sender as f64,
                _ => return None,
            },
            Record::Structure(run) => match self {
                Self::BuildSeconds => run.build_seconds,
                Self::QuerySeconds => run.query_nanoseconds * run.items as f64 / 1e9,
                _ => return None,
            },
            Record::Primitive(run) => match self {
                Self::Seconds => run.nanoseconds / 1e9,
                _ => return None,
            },
        };
        Some(value)
    }
}

impl Paper {
    /// The numbers of its tables that are included.
    pub fn tables(&self) -> Vec<u32> {
        let mut tables: Vec<_> = self.cells().iter().map(|cell| cell.table).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// Every figure, in the order of the file.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |line| Cell::parse(line).expect("a test reads every line of these files");
        self.text.lines().skip(1).map(cell).collect()
    }
}

impl Cell {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[table, row, work, size, threads, line, quantity, figure, corrected, note] =
            &fields[..]
        else {
            return None;
        };
        let exponent: u32 = size.strip_prefix("2^")?.parse().ok()?;
        Some(Self {
            table: table.parse().ok()?,
            row,
            work: if work == "-" { None } else { Some(work.parse().ok()?) },
            size: 1usize.checked_shl(exponent)?,
            threads: threads.parse().ok()?,
            line: line.parse().ok()?,
            quantity: Quantity::NAMED.iter().find(|(name, _)| *name == quantity)?.1,
            figure: figure.parse().ok()?,
            corrected: if corrected.is_empty() { None } else { Some(corrected.parse().ok()?) },
            note,
        })
    }

    /// The job to run for it.
    pub fn job(&self) -> Option<Job> {
        let sizes = Sizes { sender: self.size, receiver: self.size };
        let job = |work| Job { work, sizes, line: self.line.clone(), threads: self.threads };
        self.work.map(job)
    }

    /// The figure to compare ours with.
    pub fn meant(&self) -> f64 {
        self.corrected.unwrap_or(self.figure)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use vesica_planner::prices::{regions, run_cost};

    use super::*;

    const MISPRINT: &str = "misprint";

    fn paper(key: &str) -> Vec<Cell> {
        PAPERS.iter().find(|paper| paper.key == key).unwrap().cells()
    }

    #[test]
    fn every_line_is_read() {
        for paper in PAPERS {
            for line in paper.text.lines().skip(1) {
                let cell = Cell::parse(line).unwrap_or_else(|| panic!("{}: {line}", paper.key));
                assert!(cell.figure > 0.0 || cell.quantity != Quantity::Seconds, "{line}");
                assert!(cell.work.is_some() || !cell.note.is_empty(), "no reason: {line}");
                assert_eq!(cell.corrected.is_some(), cell.note.contains(MISPRINT), "{line}");
            }
        }
    }

    #[test]
    fn no_row_of_the_tables_is_missing() {
        let tables = PAPERS.iter().flat_map(|paper| {
            let mut rows: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
            paper.cells().iter().for_each(|cell| {
                rows.entry(cell.table).or_default().insert(cell.row);
            });
            rows.into_iter().map(|(table, rows)| (paper.key, table, rows.len()))
        });
        // Settings or security parameters, for which the papers have columns, are separate rows here.
        let expected = [
            ("kkrt16", 3, 10),
            ("kkrt16", 4, 4),
            ("kkrt16", 5, 5),
            ("psz14", 5, 18),
            ("psz14", 6, 18),
            ("psz14", 7, 5),
            ("psz14", 8, 8),
            ("cm20", 2, 4),
            ("cm20", 3, 20),
            ("rs21", 2, 5),
            ("rs21", 3, 3),
            ("rs21", 4, 3),
            ("rr22", 1, 8),
            ("rr22", 2, 13),
            ("liang", 2, 18),
            ("liang", 3, 3),
            ("liang", 4, 11),
            ("liang", 5, 8),
            ("liang", 6, 5),
            ("liang", 7, 3),
            ("liang", 8, 3),
            ("liang", 9, 18),
        ];
        assert!(tables.eq(expected));
    }

    /// Liang et al. print each party's figure and the sum: if these are inconsistent, the note says which is
    /// wrong.
    #[test]
    fn totals_add_up_or_are_flagged() {
        let sums = [
            (Quantity::BothSeconds, Quantity::SenderSeconds, Quantity::ReceiverSeconds),
            (Quantity::Bytes, Quantity::SenderBytes, Quantity::ReceiverBytes),
            (Quantity::OnlineBytes, Quantity::OnlineSenderBytes, Quantity::OnlineReceiverBytes),
        ];
        let (mut added, mut flagged) = (0, 0);
        for key in ["liang", "cm20", "rs21"] {
            let cells = paper(key);
            for total in &cells {
                let Some((_, left, right)) = sums.iter().find(|sum| sum.0 == total.quantity) else {
                    continue;
                };
                let place = |cell: &Cell| (cell.table, cell.row, cell.size, cell.line.to_string());
                let part = |quantity| {
                    let mut same = cells.iter().filter(|cell| cell.quantity == quantity);
                    same.find(|cell| place(cell) == place(total))
                };
                let Some([left, right]) = part(*left).zip(part(*right)).map(<[_; 2]>::from) else {
                    continue;
                };
                let sum = left.meant() + right.meant();
                // Times are printed to 10 ms, or to 1 ms.
                let near = |x: f64, y: f64| (x - y).abs() <= (0.03 * x).max(0.0055);
                assert!(near(total.meant(), sum), "{key} {total:?}: {sum}");
                let misprint = [left, right, total].iter().any(|c| c.note.contains(MISPRINT));
                assert_eq!(!near(total.figure, left.figure + right.figure), misprint, "{total:?}");
                added += 1;
                flagged += usize::from(misprint);
            }
        }
        assert_eq!((added, flagged), (479, 10));
    }

    /// Known misprints are marked with the intended figure.
    #[test]
    fn known_misprints_are_flagged() {
        let cells = paper("liang");
        for (table, row, size, line, quantity, meant) in [
            (9, "HFH99(ECC) SH", 8, "liang-lan", Quantity::Bytes, 18.25 * 1024.0),
            (9, "KKRT16 SH", 12, "liang-lan", Quantity::SenderSeconds, 0.40),
            (9, "RR17(DE) M", 16, "liang-lan", Quantity::Bytes, 3.7e4 * 1024.0),
            (9, "PRTY20 M", 16, "liang-lan", Quantity::Bytes, 1.47e4 * 1024.0),
            (7, "IKNP03 SH", 8, "liang-lan", Quantity::BothSeconds, 0.04),
            (8, "KK13 SH", 16, "liang-wan2", Quantity::BothSeconds, 5.46),
        ] {
            let is = |cell: &&Cell| {
                (cell.table, cell.row, cell.size, cell.quantity)
                    == (table, row, 1 << size, quantity)
                    && cell.line.to_string() == line
            };
            let cell = cells.iter().find(is).unwrap();
            let off = cell.corrected.unwrap() / meant - 1.0;
            assert!(off.abs() < 0.001, "{cell:?}");
        }
        let suspect = cells
            .iter()
            .find(|cell| (cell.row, cell.size, cell.figure) == ("MR19(FFC)", 1 << 10, 0.322));
        assert!(suspect.unwrap().note.contains("suspect"));
    }

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
