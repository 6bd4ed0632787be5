//! Links between the parties of one process.
//!
//! There are two ways to emulate a link. The shaper delays what is written into memory: only the protocol and
//! the link have an effect, without an operating system in between. With the prefix `tcp:`, the same link is
//! built for packets ([`sockets`]), and the parties use real TCP connections over it, with their headers, slow
//! start and losses. Both follow the same arithmetic, so that each checks the other. Among several parties, each has
//! a link to a switch, which only packets can share.

#[cfg(target_os = "linux")]
mod sockets;
mod wire;

use std::{fmt, str::FromStr, time::Duration};

use vesica_net::{
    Channel,
    transport::{
        memory,
        shaper::{Link, Shaped},
    },
};

use self::wire::PacketLink;
use crate::Result as Made;

/// A link, given by its name, or by rate and round trip.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    name: String,
    way: LinkWay,
}

/// The kind of emulation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LinkWay {
    /// None: as fast as possible.
    Memory,
    /// With the arithmetic of the shaper.
    Shaper(Link),
    /// Packet by packet, below real sockets.
    Sockets(PacketLink),
}

/// Named links: bits per second and microseconds of a round trip, from the papers that use them (KKRT16 §6; PSZ14 Table
/// 7; CM20 Table 2, whose slower links are `RATE,80`, and Table 3; RS21 §7; Liang et al. §6). RS21 does not state a
/// round trip, so this uses a data centre's.
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

/// The prefix of a link for real sockets.
const SOCKETS: &str = "tcp:";

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let way = match text.strip_prefix(SOCKETS) {
            _ if text == MEMORY => LinkWay::Memory,
            None => LinkWay::Shaper(by_name(text).ok_or_else(|| no_line(text))?),
            Some(rest) => LinkWay::Sockets(by_packets(rest).ok_or_else(|| no_line(text))?),
        };
        Ok(Self { name: text.to_owned(), way })
    }
}

fn no_line(text: &str) -> String {
    let names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
    format!(
        "`{text}` is not a link: write {MEMORY}, {}, or a rate in Mbit/s and a round trip in milliseconds such as \
         100,80; for real sockets, put {SOCKETS} before it and, optionally, losses and a queue in bytes after it, \
         as in {SOCKETS}100,80,loss=0.1%,queue=250000",
        names.join(", ")
    )
}

fn by_name(text: &str) -> Option<Link> {
    let named = NAMED.iter().find(|(name, ..)| *name == text);
    named
        .map(|(_, rate, micros)| link(*rate, Duration::from_micros(*micros)))
        .or_else(|| by_figures(text))
}

/// A link, followed by the additional properties of a link for packets.
fn by_packets(text: &str) -> Option<PacketLink> {
    let (line, mut rest) = match text.find('=') {
        None => (text, None),
        Some(_) => {
            let end = text.find(",loss=").into_iter().chain(text.find(",queue=")).min()?;
            (&text[..end], Some(&text[end + 1..]))
        }
    };
    let mut wire = PacketLink::new(by_name(line)?);
    while let Some(text) = rest {
        let (option, more) = text.split_once(',').map_or((text, None), |(x, y)| (x, Some(y)));
        match option.split_once('=')? {
            ("loss", percent) => {
                let percent: f64 = percent.strip_suffix('%')?.parse().ok()?;
                wire.loss = Some(percent / 100.0).filter(|part| (0.0..1.0).contains(part))?;
            }
            ("queue", bytes) => wire.queue = bytes.parse().ok()?,
            _ => return None,
        }
        rest = more;
    }
    Some(wire)
}

fn link(bits_per_second: u64, round_trip: Duration) -> Link {
    Link { bits_per_second, round_trip }
}

fn by_figures(text: &str) -> Option<Link> {
    let (rate, round_trip) = text.split_once(',')?;
    let positive = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
    let (rate, millis) = (positive(rate)?, positive(round_trip)?);
    // A minute in each direction exceeds any real link.
    (rate <= 1e6 && millis <= 120_000.0)
        .then(|| link((rate * 1e6) as u64, Duration::from_secs_f64(millis / 1e3)))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Line {
    /// Memory, as fast as possible.
    pub fn memory() -> Self {
        Self { name: MEMORY.to_owned(), way: LinkWay::Memory }
    }

    /// Returns its rate and round trip, or `None` for memory.
    pub fn link(&self) -> Option<Link> {
        match self.way {
            LinkWay::Memory => None,
            LinkWay::Shaper(link) | LinkWay::Sockets(PacketLink { link, .. }) => Some(link),
        }
    }

    /// Opens both ends of it. A party that receives nothing for the time `stall` gives up.
    ///
    /// # Errors
    /// If the system does not allow a link for sockets to be made.
    pub fn channels(&self, stall: Duration) -> Made<[Channel; 2]> {
        let ends = match self.way {
            LinkWay::Memory => {
                let (left, right) = memory::pair();
                [Channel::new(left), Channel::new(right)]
            }
            LinkWay::Shaper(link) => {
                let (left, right) = memory::pair_of(on_the_way(link));
                [left, right].map(|end| Channel::new(Shaped::new(end, link)))
            }
            LinkWay::Sockets(wire) => sockets::pair(wire)?.map(Channel::new),
        };
        Ok(ends.map(|channel| channel.with_stall_timeout(stall)))
    }

    /// Opens such a link between any two of several parties. Over real sockets, all connections of a party share its
    /// link to a switch. Each party gets its channels to all others, in their order.
    ///
    /// # Errors
    /// If it is neither memory nor for sockets, or the system does not allow it.
    pub fn meshes(&self, parties: usize, stall: Duration) -> Made<Vec<Vec<Channel>>> {
        let network = match self.way {
            LinkWay::Memory => None,
            LinkWay::Shaper(_) => {
                let needed = format!(
                    "several parties share their links only over real sockets: write {SOCKETS}{self}, or {MEMORY}"
                );
                return Err(needed.into());
            }
            LinkWay::Sockets(wire) => Some(sockets::TunNetwork::switched(parties, wire)?),
        };
        let pair = |ends| match &network {
            None => Self::memory().channels(stall),
            Some(network) => {
                let ends = network.connect(ends)?.map(Channel::new);
                Ok(ends.map(|channel| channel.with_stall_timeout(stall)))
            }
        };
        let mut meshes: Vec<Vec<Channel>> = (0..parties).map(|_| Vec::new()).collect();
        for lower in 0..parties {
            for higher in lower + 1..parties {
                let [of_lower, of_higher] = pair([lower, higher])?;
                meshes[lower].push(of_lower);
                meshes[higher].push(of_higher);
            }
        }
        Ok(meshes)
    }
}

/// Other systems do not have such networks.
#[cfg(not(target_os = "linux"))]
mod sockets {
    use vesica_net::transport::memory::Memory;

    use super::PacketLink;
    use crate::Result;

    pub fn pair(_: PacketLink) -> Result<[Memory; 2]> {
        Err("a link with real sockets requires Linux; use the same link without `tcp:`".into())
    }

    pub struct TunNetwork;

    impl TunNetwork {
        pub fn switched(_: usize, _: PacketLink) -> Result<Self> {
            Err("a link with real sockets requires Linux; use memory".into())
        }

        pub fn connect(&self, _: [usize; 2]) -> Result<[Memory; 2]> {
            unreachable!("only Linux makes such networks")
        }
    }
}

/// Returns twice the bytes in transit on a link in one direction, plus 1 MiB.
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
        assert_eq!(wan.link(), same.link());
        assert!("memory".parse::<Line>().unwrap().link().is_none());
        for bad in ["", "wan", "10", "10,", "0,80", "-1,80", "NaN,1", "inf,1", "1e9,1", "1,1e9"] {
            assert!(bad.parse::<Line>().unwrap_err().contains("is not a link"), "{bad}");
        }
    }

    #[test]
    fn lines_for_sockets_are_the_same_and_more() {
        let wire = |text: &str| match text.parse::<Line>().unwrap() {
            Line { name, way: LinkWay::Sockets(wire) } if name == text => wire,
            other => panic!("{other:?}"),
        };
        let plain = wire("tcp:liang-wan1");
        assert_eq!(plain, wire("tcp:100,80"));
        assert_eq!(Some(plain.link), "100,80".parse::<Line>().unwrap().link());
        assert_eq!((plain.loss, plain.queue), (0.0, 1_000_000));
        assert_eq!(wire("tcp:100,80,loss=0.5%"), PacketLink { loss: 0.005, ..plain });
        let both = PacketLink { loss: 0.25, queue: 9000, ..plain };
        assert_eq!(wire("tcp:100,80,loss=25%,queue=9000"), both);
        assert_eq!(wire("tcp:liang-wan1,queue=9000,loss=25%"), both);
        for bad in [
            "tcp:",
            "tcp:memory",
            "tcp:tcp:100,80",
            "tcp:100,80,",
            "tcp:100,80,5",
            "tcp:100,80,loss=5",
            "tcp:100,80,loss=100%",
            "tcp:100,80,loss=-1%",
            "tcp:100,80,loss=NaN%",
            "tcp:100,80,queue=-1",
            "tcp:100,80,queue=9000,",
            "tcp:100,80,delay=1",
            "100,80,loss=1%",
        ] {
            assert!(bad.parse::<Line>().unwrap_err().contains("is not a link"), "{bad}");
        }
    }
}
