//! `vesica bench`: protocols, or the parts they are made of, against each other, in one process.

mod print;

use std::{
    io::{self, Write},
    str::FromStr,
};

use clap::Args;
use vesica_lab::{
    Line, ot,
    protocol::{self, Sets},
    structures::Case,
};
use vesica_ot::catalogue::Entry;
use vesica_psi::{CATALOGUE, Digest, List, MAX_ITEMS, Protocol, Sizes};
use vesica_structures::catalogue as structures;

use print::Print;

/// Times protocols, oblivious transfers or structures against each other, in one process, in turn.
#[derive(Args)]
pub struct Bench {
    /// Protocols to run, by their keys; with a filter in place of the sender's list as in
    /// `kkrt16+vacuum` (`bloom`, `cuckoo` or `vacuum`).
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present_any = ["ot", "structures"],
        value_parser = protocol_named
    )]
    protocols: Vec<Protocol>,

    /// Oblivious transfers to run instead, by their keys; sizes are then numbers of OTs.
    #[arg(long, value_delimiter = ',', conflicts_with = "protocols", value_parser = ot_named)]
    ot: Vec<&'static Entry>,

    /// Hash bins, filters and OKVS to build and ask instead, by their keys, or `all`; sizes are then numbers
    /// of items.
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["protocols", "ot", "link"], value_parser = structures_named)]
    structures: Vec<Structures>,

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

#[derive(Debug, Clone, Copy)]
struct SetSizes(Sizes);

impl FromStr for SetSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (receiver, sender) = text.split_once('x').unwrap_or((text, text));
        Ok(Self(Sizes { receiver: count(receiver)?, sender: count(sender)? }))
    }
}

/// Reads a number of items: `1000` or `2^20`.
pub fn count(text: &str) -> Result<usize, String> {
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

fn protocol_named(name: &str) -> Result<Protocol, String> {
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

/// The OT with this key.
fn ot_named(key: &str) -> Result<&'static Entry, String> {
    vesica_ot::catalogue::find(key).ok_or_else(|| {
        let all = vesica_ot::catalogue::CATALOGUE.iter();
        let keys: Vec<&str> = all.map(|entry| entry.key).collect();
        format!("no such oblivious transfer; there are {}", keys.join(", "))
    })
}

/// One structure or all of the catalogue.
#[derive(Clone, Copy)]
struct Structures(&'static [structures::Entry]);

/// The structure with this key, or `all`.
fn structures_named(key: &str) -> Result<Structures, String> {
    if key == "all" {
        return Ok(Structures(structures::CATALOGUE));
    }
    let entry = structures::find(key).ok_or_else(|| {
        let keys: Vec<&str> = structures::CATALOGUE.iter().map(|entry| entry.key).collect();
        format!("no such structure; there are {}, and `all`", keys.join(", "))
    })?;
    Ok(Structures(std::slice::from_ref(entry)))
}

impl Bench {
    /// Runs everything asked for and prints each run as it ends.
    ///
    /// # Errors
    /// Where a run fails or its result is wrong, after it was printed.
    pub fn run(&self) -> vesica_lab::Result<()> {
        let out = &mut io::stdout().lock();
        if !self.structures.is_empty() {
            self.run_structures(out)
        } else if !self.ot.is_empty() {
            self.run_ots(out)
        } else {
            self.run_protocols(out)
        }
    }

    fn run_structures(&self, out: &mut impl Write) -> vesica_lab::Result<()> {
        self.header::<vesica_lab::structures::Record>(out)?;
        let mut wrong = 0;
        for size in self.single_sizes("a structure")? {
            for entry in self.structures.iter().flat_map(|structures| structures.0) {
                let case = match Case::new(entry, size)? {
                    Ok(case) => case,
                    Err(left_out) => {
                        self.print(&left_out, out)?;
                        continue;
                    }
                };
                for _ in 0..self.repeat {
                    let record = case.run(self.threads)?;
                    wrong += usize::from(!record.correct);
                    self.print(&record, out)?;
                }
            }
        }
        none_wrong(wrong, "a wrong answer")
    }

    fn run_ots(&self, out: &mut impl Write) -> vesica_lab::Result<()> {
        self.header::<ot::Record>(out)?;
        for size in self.single_sizes("an oblivious transfer")? {
            for line in &self.link {
                for _ in 0..self.repeat {
                    for entry in &self.ot {
                        self.print(&ot::run(entry, size, line, self.threads)?, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn run_protocols(&self, out: &mut impl Write) -> vesica_lab::Result<()> {
        self.header::<protocol::Record>(out)?;
        let mut wrong = 0;
        for SetSizes(sizes) in &self.sizes {
            let long = self.protocols.iter().any(|protocol| protocol.digest == Digest::Long);
            let digest = if long { Digest::Long } else { Digest::Short };
            let sets = Sets::generate(*sizes, digest);
            for line in &self.link {
                for _ in 0..self.repeat {
                    for protocol in &self.protocols {
                        let record = protocol::run(protocol, &sets, line, self.threads)?;
                        wrong += usize::from(!record.correct);
                        self.print(&record, out)?;
                    }
                }
            }
        }
        none_wrong(wrong, "a wrong intersection")
    }

    /// The sizes, where there is but one party to have them.
    fn single_sizes(&self, what: &str) -> Result<Vec<usize>, String> {
        let single = |SetSizes(sizes): &SetSizes| {
            let one = (sizes.sender == sizes.receiver).then_some(sizes.sender);
            one.ok_or_else(|| format!("{what} has one size"))
        };
        self.sizes.iter().map(single).collect()
    }

    fn header<R: Print>(&self, out: &mut impl Write) -> io::Result<()> {
        if self.json { Ok(()) } else { R::header(out) }
    }

    fn print(&self, record: &impl Print, out: &mut impl Write) -> vesica_lab::Result<()> {
        if self.json {
            serde_json::to_writer(&mut *out, record)?;
            writeln!(out)?;
        } else {
            record.print(out)?;
        }
        Ok(out.flush()?)
    }
}

fn none_wrong(wrong: usize, what: &str) -> vesica_lab::Result<()> {
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} runs gave {what}").into()) }
}
