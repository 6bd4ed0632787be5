//! The predicted memory of every entry's parties, compared with the memory of a process that runs one party.
//!
//! Each party has its own process: this program again, with a test that does nothing unless an environment variable
//! selects it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env,
    fmt::Write as _,
    io::{BufRead, BufReader, Lines},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use rayon::ThreadPoolBuilder;
use vesica_net::{CancelToken, Channel, transport::tcp};
use vesica_primitives::{Block, aes::Aes128};
use vesica_psi::{
    CATALOGUE, DigestLength, Memory, Protocol, Set, Setting, Sizes, Status,
    aggregate::{
        self, Aggregate, METHODS, Method, Query, Valued,
        shares::{Outline, SHARING},
    },
    payload::{self, Carrying, Payloads, SenderInput},
    select::{Cells, Column, Input, Lookup, Owner, Plan, Term, Width},
};
use vesica_testkit::assurance;

/// Threads of each party.
const THREADS: usize = 2;

/// Longer than any wait for the other party here.
const PATIENCE: Duration = Duration::from_secs(600);

/// The largest allowed ratio of a prediction to the measurement, beyond a constant.
const FACTOR: f64 = 3.0;
const CONSTANT: f64 = (40 << 20) as f64;

/// A computation of two parties.
#[derive(Clone, Copy)]
enum Work {
    Protocol(&'static Protocol),
    /// A partition of many.
    Partition(&'static Protocol),
    Payloads(&'static Protocol),
    Method(&'static Method, Aggregate, u64),
    /// A partition of many.
    Adding(&'static Method, Aggregate),
    Shares {
        of_sender: bool,
        of_receiver: bool,
        people: Option<usize>,
    },
    /// A sum by group over rows that are looked up.
    LookUp {
        labels: usize,
        rows: usize,
    },
}

const AGGREGATES: [(Aggregate, u64); 6] = [
    (Aggregate::Count, 0),
    (Aggregate::Count, 10),
    (Aggregate::SumOfSender, 0),
    (Aggregate::SumOfReceiver, 0),
    (Aggregate::Products, 0),
    (Aggregate::AtLeast(10), 0),
];

const SHARED: [(bool, bool, Option<usize>); 4] =
    [(false, false, None), (true, true, None), (false, true, Some(1)), (false, true, Some(8))];

impl Work {
    /// All work.
    fn all() -> Vec<Self> {
        let protocols = CATALOGUE.iter().map(|protocol| Self::Protocol(protocol));
        let carriers = CATALOGUE.iter().filter(|protocol| protocol.carries_payloads());
        let carriers = carriers.map(|protocol| Self::Payloads(protocol));
        let methods = METHODS.iter().flat_map(|method| {
            let answered = AGGREGATES.iter().filter(|(q, minimum)| (method.supports)(*q, *minimum));
            answered.map(|(aggregate, minimum)| Self::Method(method, *aggregate, *minimum))
        });
        let divided = CATALOGUE.iter().filter(|protocol| protocol.splits());
        let divided = divided.map(|protocol| Self::Partition(protocol));
        let adding = METHODS.iter().filter(|method| method.partitions.is_some());
        let adding = adding.map(|method| Self::Adding(method, Aggregate::Count));
        let shares = SHARED.map(|(of_sender, of_receiver, people)| Self::Shares {
            of_sender,
            of_receiver,
            people,
        });
        let look_ups = [(1, 1), (4, 1), (4, 4)];
        let look_ups = look_ups.map(|(labels, rows)| Self::LookUp { labels, rows });
        protocols
            .chain(carriers)
            .chain(methods)
            .chain(divided)
            .chain(adding)
            .chain(shares)
            .chain(look_ups)
            .collect()
    }

    fn name(self) -> String {
        match self {
            Self::Protocol(protocol) => protocol.key.to_owned(),
            Self::Payloads(protocol) => format!("{} payloads", protocol.key),
            Self::Partition(protocol) => format!("{} in partitions", protocol.key),
            Self::Adding(method, aggregate) => {
                format!("{} {aggregate:?} in partitions", method.key)
            }
            Self::Method(method, aggregate, minimum) => {
                format!("{} {aggregate:?} {minimum}", method.key)
            }
            Self::Shares { people: Some(most), .. } => {
                format!("{} shares of people with up to {most} items", SHARING.key)
            }
            Self::Shares { of_sender, .. } => {
                format!("{} shares {}", SHARING.key, if of_sender { "of values" } else { "" })
            }
            Self::LookUp { labels, rows } => format!("look-up of {labels} labels, {rows} rows"),
        }
    }

    fn predicted(self, sizes: Sizes) -> Memory {
        match self {
            Self::Protocol(protocol) => protocol.memory(sizes),
            Self::Partition(protocol) => protocol.memory(Setting::from(sizes).one_of(PARTITIONS)),
            Self::Adding(method, aggregate) => (method.memory)(partition_of(sizes, aggregate)),
            Self::Payloads(protocol) => carrying(protocol).memory(sizes),
            Self::Method(method, aggregate, minimum) => (method.memory)(Query {
                sizes,
                aggregate,
                minimum,
                noise: None,
                partitions: 1,
                people: None,
            }),
            Self::Shares { of_sender, of_receiver, people } => {
                Outline { sizes, partitions: 1, of_sender, of_receiver, people }.memory()
            }
            Self::LookUp { labels, rows } => looked_up(sizes, labels, rows).memory(),
        }
    }

    fn status(self) -> Status {
        match self {
            Self::Protocol(protocol) | Self::Payloads(protocol) | Self::Partition(protocol) => {
                protocol.status
            }
            Self::Method(method, ..) | Self::Adding(method, _) => method.status,
            Self::Shares { .. } | Self::LookUp { .. } => SHARING.status,
        }
    }

    /// Sizes that take at most seconds, as exponents of the sender's and the receiver's.
    fn exponents(self) -> &'static [(u32, u32)] {
        let key = match self {
            Self::Protocol(protocol) | Self::Payloads(protocol) | Self::Partition(protocol) => {
                protocol.key
            }
            Self::Method(method, ..) | Self::Adding(method, _) => method.key,
            Self::Shares { .. } | Self::LookUp { .. } => SHARING.key,
        };
        match key {
            "blind-rsa" | "hl08-ffc" | "dh-sum" => &[(5, 5)],
            "dh-ffc" => &[(7, 7)],
            "hl08" => &[(9, 9), (6, 10)],
            "dh" | "dh-classic" | "dh-count" => &[(12, 12), (8, 13)],
            "psz14-none" => &[(11, 11), (13, 9), (9, 13)],
            "rr16" => &[(12, 12), (15, 10)],
            key if key.starts_with("scs") => &[(11, 11), (8, 12), (12, 8)],
            key if key.contains("circuit") => &[(14, 14), (16, 12), (12, 16)],
            "psty19" => &[(13, 13), (14, 11), (11, 14)],
            _ => &[(16, 16), (17, 14), (14, 17)],
        }
    }

    /// Runs one party on its set.
    fn run(self, sends: bool, sizes: Sizes, channel: &mut Channel) -> vesica_psi::Result<()> {
        let rng = &mut StdRng::seed_from_u64(sends.into());
        let mine = if sends { sizes.sender } else { sizes.receiver };
        let set = random(mine, self.digest());
        let items = set.items();
        let most = sizes.sender.max(sizes.receiver);
        let values = |takes: bool| if takes { vec![1; mine] } else { Vec::new() };
        match self {
            Self::Protocol(p) if sends => vesica_psi::send(p, items, 0..=most, channel, rng),
            Self::Protocol(p) => vesica_psi::receive(p, items, 0..=most, channel, rng).map(drop),
            Self::Partition(p) => {
                let setting = Setting::from(sizes).one_of(PARTITIONS);
                let items = items.cut_for(p)?;
                if sends {
                    p.on(setting)?.sender(channel, rng)?.run(items, channel, rng)?;
                    return Ok(channel.flush()?);
                }
                p.on(setting)?.receiver(channel, rng)?.run(items, channel, rng).map(drop)
            }
            Self::Adding(method, aggregate) => {
                let query = partition_of(sizes, aggregate);
                let party = method.on_partition(query).party(!sends, channel, rng)?;
                party.run(Valued::new(items, &[]), channel, rng)?;
                Ok(channel.flush()?)
            }
            Self::Payloads(p) if sends => {
                let bytes = vec![1; PAYLOAD * mine];
                let with = SenderInput { items, payloads: Payloads::new(PAYLOAD, &bytes) };
                payload::send(&carrying(p), with, 0..=most, channel, rng)
            }
            Self::Payloads(p) => {
                payload::receive(&carrying(p), items, 0..=most, channel, rng).map(drop)
            }
            Self::Method(method, aggregate, minimum) => {
                let query =
                    Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
                if sends {
                    let values = values(aggregate.takes_senders_values());
                    aggregate::send(&method.on(query), Valued::new(items, &values), channel, rng)
                } else {
                    let values = values(aggregate.takes_receivers_values());
                    aggregate::receive(&method.on(query), Valued::new(items, &values), channel, rng)
                        .map(drop)
                }
            }
            Self::Shares { of_sender, of_receiver, people } => {
                let outline = Outline { sizes, partitions: 1, of_sender, of_receiver, people };
                let values = values(if sends { of_sender } else { of_receiver });
                let sharing = outline.functionality();
                sharing.agree(!sends, channel)?;
                let party = sharing.party(!sends, channel, rng)?;
                let persons: Vec<_> = match people {
                    Some(most) if !sends => {
                        (0..mine).map(|item| Some((item / most) as u32)).collect()
                    }
                    _ => Vec::new(),
                };
                let input = Valued { people: &persons, ..Valued::new(items, &values) };
                party.run(input, channel, rng).map(drop)
            }
            Self::LookUp { labels, rows } => {
                let plan = looked_up(sizes, labels, rows);
                let selection = plan.on_sets();
                selection.agree(!sends, channel)?;
                let party = selection.party(!sends, channel, rng)?;
                let of_rows = if sends { mine * rows } else { 0 };
                let (values, positions) = (vec![1; of_rows], vec![1; of_rows]);
                let of_table = if sends { 0 } else { mine };
                let choices = vec![1; of_table * POSITIONS];
                let labels = vec![1; of_table * labels];
                let columns = [&values[..]];
                let input = Input {
                    columns: if sends { &columns } else { &[] },
                    positions: &positions,
                    choices: &choices,
                    labels: &labels,
                    ..Input::new(items)
                };
                party.run(input, channel, rng)?;
                Ok(channel.flush()?)
            }
        }
    }

    fn digest(self) -> DigestLength {
        match self {
            Self::Protocol(protocol) | Self::Payloads(protocol) | Self::Partition(protocol) => {
                protocol.digest
            }
            _ => DigestLength::Short,
        }
    }
}

/// The most partitions there are: entries have more than 64 bits then.
const PARTITIONS: usize = 4096;

fn partition_of(sizes: Sizes, aggregate: Aggregate) -> Query {
    Query { sizes, aggregate, minimum: 0, noise: None, partitions: PARTITIONS, people: None }
}

/// Positions of a look-up.
const POSITIONS: usize = 64;

/// The count and a sum of the sender's, for 16 groups of the receiver's.
fn looked_up(sizes: Sizes, labels: usize, rows: usize) -> Plan {
    let column = Some(Column { owner: Owner::Other, index: 0 });
    let sum = Term { column, times: None, is_of_item: false, width: Width::Bits64, noise: None };
    Plan {
        sizes,
        partitions: 1,
        factor_bits: 16,
        terms: vec![sum],
        groups: 16,
        other_groups: 1,
        lookup: Some(Lookup { positions: POSITIONS, labels, rows }),
        people: None,
        cells: Cells::default(),
    }
}

/// Bytes of a payload.
const PAYLOAD: usize = 64;

fn carrying(protocol: &Protocol) -> Carrying {
    protocol.carrying(PAYLOAD).unwrap()
}

/// The first `items` items of a fixed sequence, so that the smaller set is part of the larger.
fn random(items: usize, digest: DigestLength) -> Set {
    let mut low_halves: Vec<Block> = (0..items as u128).map(Block).collect();
    Aes128::new(Block(1)).encrypt(&mut low_halves);
    match digest {
        DigestLength::Short => Set::short(low_halves),
        DigestLength::Long => Set::long(low_halves.clone(), low_halves),
    }
}

/// A line of `/proc/self/status`, in bytes.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    1024 * line.trim_start_matches(':').trim_end_matches("kB").trim().parse::<u64>().unwrap()
}

const TOLD: &str = "VESICA_MEMORY_PARTY";

#[test]
#[ignore = "started by recommended_parties_take_the_memory_that_is_predicted: one party, in a process of its own"]
fn one_party_in_a_process_of_its_own() {
    let told = env::var(TOLD).unwrap_or_default();
    let Some([work, sender, receiver, address]) =
        told.split(' ').collect::<Vec<_>>().first_chunk().copied()
    else {
        return;
    };
    let work = Work::all()[work.parse::<usize>().unwrap()];
    let sizes = Sizes { sender: sender.parse().unwrap(), receiver: receiver.parse().unwrap() };
    let cancel = CancelToken::default();
    let (sends, transport) = if address == "-" {
        let listener = tcp::Listener::bind("127.0.0.1:0").unwrap();
        println!("\nat {}", listener.local_addr());
        (true, listener.accept(PATIENCE, &cancel).unwrap())
    } else {
        (false, tcp::connect(address, PATIENCE, &cancel).unwrap())
    };
    let mut channel = Channel::new(transport).with_stall_timeout(PATIENCE);
    let before = status("VmRSS");
    work.run(sends, sizes, &mut channel).unwrap();
    println!("\ntook {}", status("VmHWM").saturating_sub(before));
    channel.finish().unwrap();
}

fn start(work: usize, Sizes { sender, receiver }: Sizes, address: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "one_party_in_a_process_of_its_own"]);
    command.env(TOLD, format!("{work} {sender} {receiver} {address}"));
    command.env("RAYON_NUM_THREADS", THREADS.to_string()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The output of a process: returns the rest of the next line that begins with a given word.
struct Said(Lines<BufReader<ChildStdout>>);

impl Said {
    fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()).lines())
    }

    fn after(&mut self, word: &str) -> String {
        let lines = self.0.by_ref().map_while(Result::ok);
        let mut rests = lines.filter_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
        rests.next().unwrap_or_else(|| panic!("the process never said `{word}`"))
    }
}

/// The memory of the sender and of the receiver.
fn measured(work: usize, sizes: Sizes) -> [f64; 2] {
    let mut sender = start(work, sizes, "-");
    let mut sent = Said::of(&mut sender);
    let mut receiver = start(work, sizes, &sent.after("at "));
    // Both are read until they have ended, because nobody can write to a closed pipe.
    let mut received = Said::of(&mut receiver);
    let took = [&mut sent, &mut received].map(|said| said.after("took "));
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
    took.map(|bytes| bytes.parse().unwrap())
}

/// The environment variable that selects work by a part of its name.
const ONLY: &str = "VESICA_MEMORY_OF";

/// Measures all work that satisfies `of`.
#[track_caller]
fn compare(of: impl Fn(Work) -> bool) {
    let mut wrong = String::new();
    let only = env::var(ONLY).unwrap_or_default();
    let of = |work: Work| of(work) && work.name().contains(&only);
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap();
    for (i, work) in Work::all().into_iter().enumerate().filter(|(_, work)| of(*work)) {
        let sizes = work.exponents();
        for (sender, receiver) in &sizes[..assurance::trials(1, sizes.len())] {
            let sizes = Sizes { sender: 1 << sender, receiver: 1 << receiver };
            let [sent, received] = measured(i, sizes);
            let Memory { sender: of_sender, receiver: of_receiver } =
                pool.install(|| work.predicted(sizes));
            let line = format!(
                "{:<40} 2^{sender:<2} 2^{receiver:<2} sender {:8.1} of {:8.1} MB, receiver {:8.1} of {:8.1} MB",
                work.name(),
                sent / 1e6,
                of_sender / 1e6,
                received / 1e6,
                of_receiver / 1e6,
            );
            println!("{line}");
            let good = |took: f64, predicted: f64| {
                took <= predicted && predicted <= FACTOR * took + CONSTANT
            };
            if !(good(sent, of_sender) && good(received, of_receiver)) {
                writeln!(wrong, "{line}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "predicted too little, or far too much:\n{wrong}");
}

#[test]
fn recommended_parties_take_the_memory_that_is_predicted() {
    let is_look_up = |work| matches!(work, Work::LookUp { .. });
    compare(|work| work.status() == Status::Recommended && !is_look_up(work));
}

#[test]
#[ignore = "assure: two processes for each entry and size take minutes"]
fn every_party_takes_the_memory_that_is_predicted() {
    compare(|_| true);
}
