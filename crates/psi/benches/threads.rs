//! The gain from a second thread for one party that has two processors to itself:
//! `cargo bench -p vesica-psi --bench threads -- [PROTOCOL [ITEMS [REPEATS]]]`.
//!
//! Both parties run once, with reproducible randomness. Then each repeats its run by itself on the messages that it
//! received, alternately with one thread and with two. Shown are the milliseconds of each phase in the fastest of these
//! runs, how often two threads go into one, and the part of the whole run that a phase spends where a second thread has
//! nothing to do, by Amdahl's law.

#![allow(clippy::unwrap_used)]

use std::{env, thread, time::Instant};

use rand::{Rng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Meter, Transport, transport::memory};
use vesica_primitives::Block;
use vesica_psi::{DigestLength, MAX_ITEMS, Protocol, Set};
use vesica_testkit::replay::Tape;

/// Threads of a run, and of the run that it is compared with.
const THREADS: [usize; 2] = [1, 2];

#[derive(Clone, Copy, PartialEq)]
enum Party {
    Sender,
    Receiver,
}

struct Setting {
    protocol: &'static Protocol,
    sender: Set,
    receiver: Set,
}

impl Setting {
    /// Half of the items are shared.
    fn new(protocol: &'static Protocol, items: usize) -> Self {
        let random = |seed| {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut blocks: Vec<Block> = Vec::new();
            blocks.resize_with(items + items / 2, || {
                Block(u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()))
            });
            (blocks[..items].to_vec(), blocks[items / 2..][..items].to_vec())
        };
        let low = random(1);
        let (sender, receiver) = match protocol.digest {
            DigestLength::Short => (Set::short(low.0), Set::short(low.1)),
            DigestLength::Long => {
                let high = random(2);
                (Set::long(low.0, high.0), Set::long(low.1, high.1))
            }
        };
        Self { protocol, sender, receiver }
    }

    /// Runs one party over this connection, and returns its cost.
    fn run(&self, party: Party, threads: usize, end: impl Transport + 'static) -> (f64, Meter) {
        let mut channel = Channel::new(end);
        let mut rng = StdRng::seed_from_u64(party as u64);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let started = Instant::now();
        pool.install(|| match party {
            Party::Sender => {
                let items = self.sender.items();
                vesica_psi::send(self.protocol, items, 0..=MAX_ITEMS, &mut channel, &mut rng)
                    .unwrap();
            }
            Party::Receiver => {
                let items = self.receiver.items();
                let found = vesica_psi::receive(
                    self.protocol,
                    items,
                    0..=MAX_ITEMS,
                    &mut channel,
                    &mut rng,
                );
                assert_eq!(found.unwrap().len(), items.len() - items.len() / 2);
            }
        });
        (started.elapsed().as_secs_f64(), channel.meter().clone())
    }

    /// Runs both parties, and records the data that each received.
    fn record(&self, threads: usize) -> [Tape; 2] {
        let (a, b) = memory::pair();
        let ((a, of_sender), (b, of_receiver)) = (Tape::of(a), Tape::of(b));
        thread::scope(|scope| {
            scope.spawn(|| self.run(Party::Sender, threads, a));
            self.run(Party::Receiver, threads, b);
        });
        [of_sender, of_receiver]
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let named =
        |place: usize, default: &str| arguments.get(place).cloned().unwrap_or(default.into());
    let protocol = vesica_psi::find(&named(0, "rr22")).expect("the key of a protocol");
    let items: usize = named(1, "4194304").parse().expect("a number of items");
    let repeats: usize = named(2, "5").parse().expect("a number of runs");
    let setting = Setting::new(protocol, items);
    println!("{}, {items} items a party; the fastest of {repeats} runs", protocol.key);
    let tapes = THREADS.map(|threads| setting.record(threads));
    for (party, name) in [(Party::Sender, "sender"), (Party::Receiver, "receiver")] {
        let mut runs = [const { Vec::new() }; 2];
        for _ in 0..repeats {
            for (place, threads) in THREADS.into_iter().enumerate() {
                let (seconds, meter) =
                    setting.run(party, threads, tapes[place][party as usize].replay());
                let mut phases = vec![("in all", seconds)];
                phases.extend(meter.phases().iter().map(|p| (p.name, p.time.as_secs_f64())));
                runs[place].push(phases);
            }
        }
        println!("\n{name:12} 1 thread  2 threads  ratio  for one thread only");
        let fastest = |place: usize, phase: usize| {
            runs[place].iter().map(|run| run[phase].1).fold(f64::MAX, f64::min)
        };
        let whole = fastest(0, 0);
        for (phase, (name, _)) in runs[0][0].iter().enumerate() {
            let (one, two) = (fastest(0, phase), fastest(1, phase));
            let alone = (2.0 * two - one).max(0.0) / whole;
            println!(
                "{name:12} {:8.1} {:10.1} {:6.2} {:10.1} %",
                one * 1e3,
                two * 1e3,
                one / two,
                alone * 100.0
            );
        }
    }
}
