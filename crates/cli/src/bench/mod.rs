//! `vesica bench`: protocols, or the parts they are made of, against each other, in one process.

mod link;
mod ot;
mod structures;

use std::{
    error::Error,
    io::{self, Write},
    str::FromStr,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use serde::Serialize;
use vesica::report::peak_memory;
use vesica_net::{Channel, Meter};
use vesica_ot::catalogue::Entry;
use vesica_primitives::{Block, aes::Prg, secret::Seed};
use vesica_psi::{CATALOGUE, Digest, Items, List, MAX_ITEMS, Protocol, Set, Sizes};

use link::Line;
use structures::{Case, Choice};

/// Times protocols, oblivious transfers or structures against each other, in one process, in turn.
#[derive(Args)]
pub struct Bench {
    /// Protocols to run, by their keys; with a filter in place of the sender's list as in
    /// `kkrt16+vacuum` (`bloom`, `cuckoo` or `vacuum`).
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present_any = ["ot", "structures"],
        value_parser = protocol
    )]
    protocols: Vec<Protocol>,

    /// Oblivious transfers to run instead, by their keys; sizes are then numbers of OTs.
    #[arg(long, value_delimiter = ',', conflicts_with = "protocols", value_parser = ot::entry)]
    ot: Vec<&'static Entry>,

    /// Hash bins, filters and OKVS to build and ask instead, by their keys, or `all`; sizes are then numbers
    /// of items.
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["protocols", "ot", "link"], value_parser = structures::choice)]
    structures: Vec<Choice>,

    /// Set sizes: `1000`, `2^20`, or `RECEIVERxSENDER` such as `2^10x2^20`.
    #[arg(long, value_delimiter = ',', required = true)]
    sizes: Vec<SetSizes>,

    /// Line between the parties: `memory`, `lan`, `liang-lan`, `liang-wan1` to `liang-wan3`, or a rate in
    /// Mbit/s and a round trip in milliseconds such as `100,80`. Give it again for more of them.
    #[arg(long, default_value = "memory")]
    link: Vec<Line>,

    /// Threads of each party.
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// How often to run each.
    #[arg(long, default_value_t = 1)]
    repeat: usize,

    /// One JSON object a run, instead of a table.
    #[arg(long)]
    json: bool,
}

/// Silence of the other party beyond which a run counts as hung.
const STALL: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, Copy)]
struct SetSizes(Sizes);

impl FromStr for SetSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (receiver, sender) = text.split_once('x').unwrap_or((text, text));
        Ok(Self(Sizes { receiver: count(receiver)?, sender: count(sender)? }))
    }
}

fn count(text: &str) -> Result<usize, String> {
    let parsed = match text.split_once('^') {
        Some((base, exponent)) => {
            let (base, exponent) = (base.parse::<usize>().ok(), exponent.parse().ok());
            base.zip(exponent).and_then(|(base, exponent)| base.checked_pow(exponent))
        }
        None => text.parse().ok(),
    };
    parsed
        .filter(|count| *count <= MAX_ITEMS)
        .ok_or_else(|| format!("`{text}` is no set size: write 1000 or 2^20, at most {MAX_ITEMS}"))
}

fn protocol(name: &str) -> Result<Protocol, String> {
    let (key, filter) = name.split_once('+').map_or((name, None), |(key, list)| (key, Some(list)));
    let entry = vesica_psi::find(key).ok_or_else(|| {
        let keys: Vec<&str> = CATALOGUE.iter().map(|protocol| protocol.key).collect();
        format!("no such protocol; there are {}", keys.join(", "))
    })?;
    let list = match filter {
        None => List::Sorted,
        Some(name) => {
            List::FILTERS.into_iter().find(|list| list.name() == name).ok_or_else(|| {
                let names = List::FILTERS.map(List::name);
                format!("no such filter; there are {}", names.join(", "))
            })?
        }
    };
    entry.with_list(list).ok_or_else(|| format!("`{key}` has no list that a filter may replace"))
}

/// One run, as printed with `--json`.
#[derive(Debug, Serialize)]
struct Record {
    protocol: String,
    sender_items: usize,
    receiver_items: usize,
    link: String,
    threads: usize,
    seconds: f64,
    /// The receiver's time until both were ready for items.
    offline_seconds: f64,
    /// The receiver's time from there on.
    online_seconds: f64,
    /// Processor time of both parties, in the program and in the system.
    cpu_seconds: Option<f64>,
    /// The most resident memory of the process during the run, both sets included.
    peak_memory_bytes: Option<u64>,
    bytes_to_receiver: u64,
    bytes_to_sender: u64,
    rounds: u64,
    correct: bool,
    phases: Vec<PhaseRecord>,
}

/// What one phase took each party.
#[derive(Debug, Serialize)]
struct PhaseRecord {
    party: &'static str,
    name: &'static str,
    seconds: f64,
}

impl Bench {
    /// Runs everything asked for and prints each run as it ends.
    ///
    /// # Errors
    /// Where a run fails or its result is wrong, after it was printed.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let out = &mut io::stdout().lock();
        if !self.structures.is_empty() {
            self.run_structures(out)
        } else if !self.ot.is_empty() {
            self.run_ots(out)
        } else {
            self.run_protocols(out)
        }
    }

    fn run_structures(&self, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        if !self.json {
            structures::print_header(out)?;
        }
        let mut wrong = 0;
        for SetSizes(sizes) in &self.sizes {
            if sizes.sender != sizes.receiver {
                return Err("a structure has one size".into());
            }
            for entry in self.structures.iter().flat_map(|choice| choice.0) {
                let Some(case) = Case::new(entry, sizes.sender, self.json, out)? else { continue };
                for _ in 0..self.repeat {
                    let record = case.run(self.threads)?;
                    wrong += usize::from(!record.correct());
                    match self.json {
                        true => print_json(&record, out)?,
                        false => record.print(out)?,
                    }
                    out.flush()?;
                }
            }
        }
        if wrong > 0 {
            return Err(format!("{wrong} runs gave a wrong answer").into());
        }
        Ok(())
    }

    fn run_ots(&self, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        if !self.json {
            ot::print_header(out)?;
        }
        for SetSizes(sizes) in &self.sizes {
            if sizes.sender != sizes.receiver {
                return Err("an oblivious transfer has one size".into());
            }
            for line in &self.link {
                for _ in 0..self.repeat {
                    for entry in &self.ot {
                        let record = ot::run_once(entry, sizes.sender, line, self.threads)?;
                        match self.json {
                            true => print_json(&record, out)?,
                            false => record.print(out)?,
                        }
                        out.flush()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn run_protocols(&self, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        if !self.json {
            writeln!(
                out,
                "{:<20} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>14} {:>14} {:>7}",
                "protocol",
                "receiver",
                "sender",
                "seconds",
                "offline",
                "online",
                "CPU s",
                "peak MB",
                "B to receiver",
                "B to sender",
                "rounds"
            )?;
        }
        let mut wrong = 0;
        for SetSizes(sizes) in &self.sizes {
            let long = self.protocols.iter().any(|protocol| protocol.digest == Digest::Long);
            let digest = if long { Digest::Long } else { Digest::Short };
            let sets = Sets::generate(*sizes, digest);
            for line in &self.link {
                for _ in 0..self.repeat {
                    for protocol in &self.protocols {
                        let record = run_once(protocol, &sets, line, self.threads)?;
                        wrong += usize::from(!record.correct);
                        self.print(&record, out)?;
                    }
                }
            }
        }
        if wrong > 0 {
            return Err(format!("{wrong} runs gave a wrong intersection").into());
        }
        Ok(())
    }

    fn print(&self, record: &Record, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        if self.json {
            print_json(record, out)?;
        } else {
            writeln!(
                out,
                "{:<20} {:>10} {:>10} {:>9.3} {:>9.3} {:>9.3} {:>9} {:>8} {:>14} {:>14} {:>7}{}",
                record.protocol,
                record.receiver_items,
                record.sender_items,
                record.seconds,
                record.offline_seconds,
                record.online_seconds,
                shown(record.cpu_seconds, 3),
                shown(record.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6), 0),
                record.bytes_to_receiver,
                record.bytes_to_sender,
                record.rounds,
                if record.correct { "" } else { "  WRONG" },
            )?;
        }
        Ok(out.flush()?)
    }
}

fn print_json(record: &impl Serialize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    serde_json::to_writer(&mut *out, record)?;
    Ok(writeln!(out)?)
}

/// A figure that not every system gives.
fn shown(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"))
}

/// Two sets of which half of the smaller is shared, and what the receiver should find.
struct Sets {
    sizes: Sizes,
    receiver: Set,
    sender: Set,
    expected: Vec<u32>,
}

impl Sets {
    fn generate(sizes: Sizes, digest: Digest) -> Self {
        let shared = sizes.sender.min(sizes.receiver) / 2;
        let random = || {
            let mut blocks = vec![Block::ZERO; sizes.sender + sizes.receiver - shared];
            Prg::new(&Seed::random(&mut rand::rng())).fill(&mut blocks);
            // The shared items are the receiver's last and the sender's first.
            let receiver = blocks[..sizes.receiver].to_vec();
            (receiver, blocks.split_off(sizes.receiver - shared))
        };
        let heads = random();
        let (receiver, sender) = match digest {
            Digest::Short => (Set::short(heads.0), Set::short(heads.1)),
            Digest::Long => {
                let tails = random();
                (Set::long(heads.0, tails.0), Set::long(heads.1, tails.1))
            }
        };
        let expected = (sizes.receiver - shared..sizes.receiver).map(|i| i as u32).collect();
        Self { sizes, receiver, sender, expected }
    }
}

fn run_once(
    protocol: &Protocol,
    sets: &Sets,
    line: &Line,
    threads: usize,
) -> Result<Record, Box<dyn Error>> {
    usage::reset_peak_memory();
    let ran = together(
        line,
        threads,
        |channel, rng| vesica_psi::send(protocol, sets.sender.items(), 0..=MAX_ITEMS, channel, rng),
        |channel, rng| receive(protocol, sets.receiver.items(), channel, rng),
    )?;
    let peak_memory_bytes = peak_memory();
    let Ran { sender, receiver, to_sender, to_receiver, cpu_seconds, .. } = ran;
    sender?;
    let Received { matches, offline, online } = receiver?;

    let phases = |party, meter: &Meter| {
        let record = move |phase: vesica_net::Phase| PhaseRecord {
            party,
            name: phase.name,
            seconds: phase.time.as_secs_f64(),
        };
        meter.phases().into_iter().map(record).collect::<Vec<_>>()
    };
    let mut by_phase = phases("receiver", to_sender.meter());
    by_phase.extend(phases("sender", to_receiver.meter()));
    Ok(Record {
        protocol: protocol.name().into_owned(),
        sender_items: sets.sizes.sender,
        receiver_items: sets.sizes.receiver,
        link: line.to_string(),
        threads,
        seconds: (offline + online).as_secs_f64(),
        offline_seconds: offline.as_secs_f64(),
        online_seconds: online.as_secs_f64(),
        cpu_seconds,
        peak_memory_bytes,
        bytes_to_receiver: to_receiver.meter().sent(),
        bytes_to_sender: to_sender.meter().sent(),
        rounds: to_sender.meter().rounds(),
        correct: matches == sets.expected,
        phases: by_phase,
    })
}

/// What came of both parties' work, and what it took.
struct Ran<S, R> {
    sender: S,
    receiver: R,
    to_sender: Channel,
    to_receiver: Channel,
    /// From the start to the end of both.
    seconds: f64,
    cpu_seconds: Option<f64>,
}

/// Runs both parties at once, each with so many threads of its own.
fn together<S: Send, R: Send>(
    line: &Line,
    threads: usize,
    send: impl FnOnce(&mut Channel, &mut StdRng) -> S + Send,
    receive: impl FnOnce(&mut Channel, &mut StdRng) -> R + Send,
) -> Result<Ran<S, R>, Box<dyn Error>> {
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (sender_pool, receiver_pool) = (pool()?, pool()?);
    let [mut to_receiver, mut to_sender] = line.channels(STALL);
    let barrier = Barrier::new(2);
    let cpu_before = usage::cpu_seconds();
    let (sender, (receiver, started)) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            sender_pool.install(|| {
                let mut rng = StdRng::from_rng(&mut rand::rng());
                barrier.wait();
                send(&mut to_receiver, &mut rng)
            })
        });
        let received = receiver_pool.install(|| {
            let mut rng = StdRng::from_rng(&mut rand::rng());
            barrier.wait();
            let started = Instant::now();
            (receive(&mut to_sender, &mut rng), started)
        });
        (sender.join(), received)
    });
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = usage::cpu_seconds().zip(cpu_before).map(|(after, before)| after - before);
    let sender = sender.map_err(|_| "the sender panicked")?;
    Ok(Ran { sender, receiver, to_sender, to_receiver, seconds, cpu_seconds })
}

/// What came of the receiver's side, and how long its two parts took.
struct Received {
    matches: Vec<u32>,
    offline: Duration,
    online: Duration,
}

/// As [`vesica_psi::receive`], with a look at the clock between its parts.
fn receive(
    protocol: &Protocol,
    items: Items<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> vesica_psi::Result<Received> {
    let started = Instant::now();
    let items = items.cut_for(protocol)?;
    let party = vesica_psi::prepare_receiver(protocol, items.len(), 0..=MAX_ITEMS, channel, rng)?;
    let offline = started.elapsed();
    let matches = party.receive(items, channel, rng)?;
    Ok(Received { matches, offline, online: started.elapsed() - offline })
}

/// What the system says the process has used.
#[cfg(target_os = "linux")]
mod usage {
    use rustix::time::{ClockId, clock_gettime};

    pub fn cpu_seconds() -> Option<f64> {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Some(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9)
    }

    /// Makes the peak of memory the present. Where that is not allowed, the peak is that of all runs so
    /// far.
    pub fn reset_peak_memory() {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
mod usage {
    pub fn cpu_seconds() -> Option<f64> {
        None
    }

    pub fn reset_peak_memory() {}
}
