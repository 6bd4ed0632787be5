//! Lines between two parties of one process.

use std::{fmt, str::FromStr, time::Duration};

use vesica_net::{
    Channel,
    transport::{
        memory,
        shaper::{Link, Shaped},
    },
};

/// A line by its name, or by rate and round trip.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    name: String,
    /// None is memory, as fast as it gets.
    link: Option<Link>,
}

/// Lines that have names: bits a second and microseconds of a round trip, after the papers that use them
/// (KKRT16 §6; PSZ14 Table 7; CM20 Table 2, whose slower lines are `RATE,80`, and Table 3; RS21 §7;
/// Liang et al. §6). RS21 names no round trip: that of a data centre is taken.
const NAMED: &[(&str, u64, u64)] = &[
    ("lan", 10_000_000_000, 200),
    ("kkrt16-wan", 400_000_000, 96_000),
    ("psz14-gigabit", 1_000_000_000, 200),
    ("psz14-wifi", 54_000_000, 200),
    ("psz14-intra", 25_000_000, 10_000),
    ("psz14-inter", 10_000_000, 50_000),
    ("psz14-hsdpa", 3_600_000, 500_000),
    ("cm20-lan", 20_000_000_000, 100),
    ("cm20-ohio-virginia", 1_090_000_000, 12_000),
    ("cm20-oregon-virginia", 170_000_000, 74_000),
    ("cm20-paris-oregon", 75_600_000, 167_000),
    ("cm20-sydney-oregon", 85_000_000, 143_000),
    ("cm20-sydney-paris", 40_500_000, 286_000),
    ("rs21-lan", 5_000_000_000, 200),
    ("rs21-100m", 100_000_000, 200),
    ("rs21-10m", 10_000_000, 200),
    ("rs21-1m", 1_000_000, 200),
    ("liang-lan", 4_000_000_000, 100),
    ("liang-wan1", 100_000_000, 80_000),
    ("liang-wan2", 10_000_000, 80_000),
    ("liang-wan3", 1_000_000, 80_000),
];

const MEMORY: &str = "memory";

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = NAMED.iter().find(|(name, ..)| *name == text);
        let link = match named {
            _ if text == MEMORY => None,
            Some((_, rate, micros)) => Some(link(*rate, Duration::from_micros(*micros))),
            None => Some(by_figures(text).ok_or_else(|| {
                let names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
                format!(
                    "`{text}` is no line: write {MEMORY}, {}, or a rate in Mbit/s and a round trip in \
                     milliseconds such as 100,80",
                    names.join(", ")
                )
            })?),
        };
        Ok(Self { name: text.to_owned(), link })
    }
}

fn link(bits_per_second: u64, round_trip: Duration) -> Link {
    Link { bits_per_second, round_trip }
}

fn by_figures(text: &str) -> Option<Link> {
    let (rate, round_trip) = text.split_once(',')?;
    let positive = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
    let (rate, millis) = (positive(rate)?, positive(round_trip)?);
    // A minute each way is beyond any line.
    (rate <= 1e6 && millis <= 120_000.0)
        .then(|| link((rate * 1e6) as u64, Duration::from_secs_f64(millis / 1e3)))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Line {
    /// Memory, as fast as it gets.
    pub fn memory() -> Self {
        Self { name: MEMORY.to_owned(), link: None }
    }

    /// What it carries; none where it is memory, as fast as it gets.
    pub fn link(&self) -> Option<Link> {
        self.link
    }

    /// Both ends of it; parties that hear nothing for so long give up.
    pub fn channels(&self, stall: Duration) -> [Channel; 2] {
        let ends = match self.link {
            None => {
                let (left, right) = memory::pair();
                [Channel::new(left), Channel::new(right)]
            }
            Some(link) => {
                let (left, right) = memory::pair_of(on_the_way(link));
                [left, right].map(|end| Channel::new(Shaped::new(end, link)))
            }
        };
        ends.map(|channel| channel.with_stall_timeout(stall))
    }
}

/// Bytes that a line holds, and as much again.
fn on_the_way(link: Link) -> usize {
    let bits = link.bits_per_second as f64 * link.round_trip.as_secs_f64();
    (bits / 8.0) as usize + (1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_names_or_figures() {
        let wan: Line = "liang-wan2".parse().unwrap();
        let same: Line = "10,80".parse().unwrap();
        assert_eq!(wan.link, same.link);
        assert!("memory".parse::<Line>().unwrap().link.is_none());
        for bad in ["", "wan", "10", "10,", "0,80", "-1,80", "NaN,1", "inf,1", "1e9,1", "1,1e9"] {
            assert!(bad.parse::<Line>().unwrap_err().contains("is no line"), "{bad}");
        }
    }
}
