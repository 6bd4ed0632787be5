//! The gain of a second thread for one side whose machine has two processors of its own:
//! `cargo bench -p vesica --bench threads -- [ROWS [PARTITIONS [REPEATS]]]`.
//!
//! Both sides run once, with reproducible randomness. Then each side runs repeatedly by itself on the recorded input,
//! alternating between one thread and two. The output has the seconds of each phase in the fastest of these runs, and
//! the speedup. Files are in the directory of temporary files, and keys are on disk as in a run with little memory.

#![allow(clippy::unwrap_used)]

use std::{
    env, fs,
    io::{BufWriter, Write},
    path::PathBuf,
    sync::Arc,
    thread,
};

use rand::{SeedableRng, rngs::StdRng};
use vesica::{
    Job, Learns, NoObserver, Normalize, Offer, Parties, Report, Role, Source, files::PlannerInputs,
};
use vesica_net::{Channel, Transport, transport::memory};
use vesica_testkit::replay::Tape;

/// Threads of a run, and of the run to compare it with.
const THREADS: [usize; 2] = [1, 2];

const PHASES: [&str; 5] = ["read", "sort", "compare", "write", "in all"];

struct Setting {
    folder: tempfile::TempDir,
    rows: u64,
    partitions: u32,
    protocol: &'static str,
}

impl Setting {
    fn table(&self, role: Role) -> PathBuf {
        self.folder.path().join(format!("{role:?}.csv"))
    }

    /// Half of the keys are shared.
    fn write_tables(&self) {
        for (role, first) in [(Role::A, 0), (Role::B, self.rows / 2)] {
            let mut file = BufWriter::new(fs::File::create(self.table(role)).unwrap());
            writeln!(file, "n,email").unwrap();
            for row in first..first + self.rows {
                writeln!(file, "{row},Person.{row}@mail.example").unwrap();
            }
            file.into_inner().unwrap().sync_all().unwrap();
        }
    }

    /// Runs one side over these connections, and returns the seconds of its phases.
    fn run(&self, role: Role, threads: usize, mut ends: Vec<Box<dyn Transport>>) -> [f64; 5] {
        let mut channel = Channel::new(ends.remove(0)).with_parallel(role == Role::A, ends);
        let offer = Offer {
            protocol: Some(self.protocol.to_owned()),
            max_peer_rows: u64::MAX >> 1,
            ..Offer::new(vec![Normalize::EMAIL], Learns::Both)
        };
        let output = self.folder.path().join(format!("{role:?} out.csv"));
        let planner = PlannerInputs {
            // Keys go to the disk, and there is memory for the maximum number of connections, even with both sides in
            // this process.
            memory: Some((self.rows * 300).max(1 << 30)),
            partitions: self.partitions,
            ..PlannerInputs::default()
        };
        let job = Job {
            output: Some(output.into()),
            threads,
            planner,
            ..Job::new(Source::File(self.table(role)), ["email"], offer)
        };
        let parties =
            Parties { role, me: format!("{role:?}"), peer: format!("{:?}", role.other()) };
        let (mut report, mut rng) = (Report::begin(), StdRng::seed_from_u64(role as u64));
        let (job, observer) = (job.prepare().unwrap(), Arc::new(NoObserver));
        let shortfalls =
            vesica::run(job, &parties, &mut channel, observer, &mut rng, &mut report).unwrap();
        assert!(shortfalls.is_empty(), "{shortfalls:?}");
        assert_eq!(report.outcome.matches, Some(self.rows - self.rows / 2));
        let of = |name| {
            let phases = report.phases.iter().filter(|phase| phase.name == name);
            phases.map(|phase| phase.seconds).sum::<f64>()
        };
        let [read, sort, write] = ["read", "partitions", "finish"].map(of);
        [read, sort, report.seconds - read - sort - write, write, report.seconds]
    }

    /// Runs both sides, and keeps the data that each received over each connection.
    fn record(&self, threads: usize) -> [Vec<Tape>; 2] {
        let (mut ends, mut tapes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        // The number of connections of a side with this many threads.
        for _ in 0..=threads {
            let (a, b) = memory::pair();
            for (side, end) in [a, b].into_iter().enumerate() {
                let (end, tape) = Tape::of(end);
                ends[side].push(Box::new(end) as Box<dyn Transport>);
                tapes[side].push(tape);
            }
        }
        let [a, b] = ends;
        thread::scope(|scope| {
            scope.spawn(|| self.run(Role::A, threads, a));
            self.run(Role::B, threads, b);
        });
        tapes
    }
}

fn main() {
    let numbers: Vec<u64> = env::args().filter_map(|argument| argument.parse().ok()).collect();
    let number = |place: usize, default| numbers.get(place).copied().unwrap_or(default);
    let (rows, partitions, repeats) = (number(0, 9_000_000), number(1, 8), number(2, 5));
    let folder = tempfile::tempdir().unwrap();
    // In a malicious protocol a side would notice that the replayed messages do not answer its own: keys on disk have
    // another order in each run.
    let protocol = "rr22";
    let setting = Setting { folder, rows, partitions: partitions as u32, protocol };
    setting.write_tables();
    println!("{rows} rows a side in {partitions} partitions; the fastest of {repeats} runs");
    let tapes = THREADS.map(|threads| setting.record(threads));
    for role in [Role::A, Role::B] {
        let mut seconds = [const { Vec::new() }; 2];
        for _ in 0..repeats {
            for (place, threads) in THREADS.into_iter().enumerate() {
                let heard = tapes[place][role as usize].iter();
                let ends = heard.map(|tape| Box::new(tape.replay()) as Box<dyn Transport>);
                seconds[place].push(setting.run(role, threads, ends.collect()));
            }
        }
        println!("\n{protocol}, side {role:?}");
        for (place, phase) in PHASES.into_iter().enumerate() {
            let of =
                |runs: &Vec<[f64; 5]>| runs.iter().map(|run| run[place]).fold(f64::MAX, f64::min);
            let [one, two] = seconds.each_ref().map(of);
            println!("  {phase:8} {one:7.2} s {two:7.2} s {:6.2}", one / two);
        }
    }
}
