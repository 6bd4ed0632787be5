//! Two parties in one process: their files, their identities, and one attempt at a run between them.

use std::{
    fs::{self, File},
    io::{Read, Seek},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    thread,
    time::Duration,
};

use arrow_array::{ArrayRef, RecordBatch, StringArray, cast::AsArray};
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
use rand::{SeedableRng, rngs::StdRng};
use vesica::{
    Error, Job, Learns, Normalize, Observer, Offer, Parties, Report, Role, Shortfall, Source,
    files::{JournalSecret, Resume},
    report::Progress,
};
use vesica_net::{CancelToken, Clock, Identity, connect::Connection, tls};
use vesica_testkit::pipe;

use crate::{
    case::{Extent, Faults, Form, Jobs, MARK, Side, Target},
    disk::{Disk, Happened},
};

/// The time that a party waits for a sign of life.
pub const STALL: Duration = Duration::from_secs(60);

/// The point at which a party's attempt ended.
pub enum End {
    /// Before the other side was contacted.
    Unprepared(Error),
    /// Before the two had recognised each other.
    Unmet(vesica_net::Error),
    /// In the run.
    Ran(Result<Vec<Shortfall>, Error>),
    /// In a panic, with this message.
    Panicked(String),
}

/// The result of a party's attempt.
pub struct Ended {
    pub end: End,
    pub report: Report,
    /// The phase in which it ended.
    pub phase: &'static str,
    /// All messages that it observed on the way.
    pub said: Vec<String>,
    /// The duration by the link's clock.
    pub took: Duration,
    pub happened: Happened,
    /// The leftovers of an earlier attempt on this side, if it ended in the final exchange.
    pub before: Before,
}

/// A side's files before an attempt.
#[derive(Default)]
pub struct Before {
    pub result: Option<Vec<u8>>,
    pub report: bool,
}

/// An attempt of both sides.
pub struct Attempt {
    pub sides: [Ended; 2],
    /// Bytes that each side sent, and the part of them that arrived.
    pub passed: [[u64; 2]; 2],
}

impl Attempt {
    /// Returns whether the run may not resume, because a partition was begun too often, or its result was sent in a
    /// protocol against malicious parties: it must start over.
    pub fn is_spent(&self) -> bool {
        self.sides.iter().any(|side| {
            let End::Ran(Err(error)) = &side.end else { return false };
            matches!(error, Error::TooManyAttempts { .. } | Error::AlreadyRevealed { .. })
        })
    }

    /// Returns how far it went.
    pub fn extent(&self) -> Extent {
        let calls = self.sides.each_ref().map(|side| side.happened.calls.clone());
        Extent { sent: self.passed.map(|[sent, _]| sent), calls }
    }
}

/// Both identities. Certificates rarely differ by a byte in length; these have the maximum length, so that positions in
/// a connection are the same in every process.
static IDENTITIES: LazyLock<[Identity; 2]> = LazyLock::new(|| {
    let longest = || {
        let several = (0..8).map(|_| Identity::generate().unwrap());
        several.max_by_key(|identity| identity.to_pem().len()).unwrap()
    };
    [longest(), longest()]
});

/// The files of both sides.
pub struct Bench {
    scratch: tempfile::TempDir,
    pub jobs: Jobs,
    /// The content written to each side's stream.
    streams: [File; 2],
}

const NAMES: [&str; 2] = ["a", "b"];

/// The earlier content of an output.
const OLD: &str = "an old result\n";

impl Bench {
    pub fn new(jobs: &Jobs) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let scratch = tempfile::Builder::new().prefix("vesica faults ").tempdir_in(place).unwrap();
        let streams = [0, 1].map(|_| tempfile::tempfile_in(scratch.path()).unwrap());
        let bench = Self { scratch, jobs: jobs.clone(), streams };
        for side in 0..2 {
            fs::create_dir_all(bench.directory(side).join("spill")).unwrap();
            fs::write(bench.input(side), content(jobs, side, &jobs.keys(side))).unwrap();
            if jobs.sides[side].target == Target::Old {
                fs::write(bench.output(side).unwrap(), OLD).unwrap();
            }
        }
        bench
    }

    pub fn directory(&self, side: usize) -> PathBuf {
        self.scratch.path().join(NAMES[side])
    }

    fn input(&self, side: usize) -> PathBuf {
        self.directory(side).join(format!("in.{}", self.jobs.sides[side].form.extension()))
    }

    /// Returns the file of a side's result.
    fn output(&self, side: usize) -> Option<PathBuf> {
        let Side { target, form, .. } = self.jobs.sides[side];
        let extension =
            if self.jobs.query == vesica::Query::COUNT { "txt" } else { form.extension() };
        match target {
            Target::New | Target::Old => {
                Some(self.directory(side).join(format!("out.{extension}")))
            }
            Target::Stream => {
                #[cfg(target_os = "linux")]
                let number = std::os::fd::AsRawFd::as_raw_fd(&self.streams[side]);
                #[cfg(not(target_os = "linux"))]
                let number = 0;
                Some(format!("/proc/self/fd/{number}").into())
            }
            Target::None => None,
        }
    }

    pub fn journal(&self, side: usize) -> PathBuf {
        self.directory(side).join("journal")
    }

    pub fn report(&self, side: usize) -> PathBuf {
        self.directory(side).join("report.json")
    }

    /// Returns a side's result, if there is one that differs from the earlier content.
    pub fn result(&self, side: usize) -> Option<Vec<u8>> {
        match self.jobs.sides[side].target {
            Target::Stream => {
                let (mut stream, mut bytes) = (&self.streams[side], Vec::new());
                stream.rewind().unwrap();
                stream.read_to_end(&mut bytes).unwrap();
                (!bytes.is_empty()).then_some(bytes)
            }
            _ => fs::read(self.output(side)?).ok().filter(|bytes| bytes != OLD.as_bytes()),
        }
    }

    /// Removes the journals of both sides, as the error of a run that may not resume advises.
    pub fn begin_anew(&self) {
        [0, 1].iter().for_each(|side| fs::remove_file(self.journal(*side)).unwrap_or_default());
    }

    /// Clears the content written to the streams.
    pub fn clear_streams(&self) {
        self.streams.iter().for_each(|stream| stream.set_len(0).unwrap());
    }

    /// Lists the files in a side's directory, except its input, and an output that was there before.
    pub fn left(&self, side: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (prefix, directory) in
            [("", self.directory(side)), ("spill/", self.directory(side).join("spill"))]
        {
            for entry in fs::read_dir(directory).unwrap() {
                names.push(format!("{prefix}{}", entry.unwrap().file_name().to_str().unwrap()));
            }
        }
        let is_old = self.result(side).is_none() && self.jobs.sides[side].target == Target::Old;
        let expected = |name: &String| {
            name == "spill" || name.starts_with("in.") || is_old && name.starts_with("out.")
        };
        names.retain(|name| !expected(name));
        names.sort();
        names
    }

    fn job(&self, side: usize) -> Job {
        let Jobs { query, protocol, security, learns, partitions, resume, diagnose, .. } =
            self.jobs.clone();
        let learns = match (side, learns) {
            (0, learns) => learns,
            (_, Learns::Me) => Learns::Peer,
            (_, Learns::Peer) => Learns::Me,
            (_, both) => both,
        };
        let offer = Offer {
            query,
            protocol: protocol.map(str::to_owned),
            security,
            allow_research: true,
            diagnose,
            ..Offer::new(vec![Normalize::NONE], learns)
        };
        let resume = resume.then(|| Resume {
            journal: self.journal(side),
            secret: JournalSecret::of(&IDENTITIES[side]),
        });
        let mut job = Job {
            allow_empty: true,
            output: self.output(side).map(Into::into),
            report: self.jobs.sides[side].report.then(|| self.report(side)),
            spill: Some(self.directory(side).join("spill")),
            resume,
            threads: 1,
            ..Job::new(Source::File(self.input(side)), ["k"], offer)
        };
        job.planner.partitions = partitions;
        job.planner.memory = Some(8 << 30);
        job
    }

    /// Makes one attempt on both sides.
    pub fn attempt(&self, attempt: u32, faults: &Faults) -> Attempt {
        let (left, right, clock, passed) = pipe::pair_over(faults.courses, Clock::default());
        let mut before = [0, 1].map(|side| {
            let report = self.report(side).exists();
            Some(Before { result: self.result(side), report })
        });
        let mut sides = thread::scope(|scope| {
            let start = |side: usize, end| {
                let (clock, plan) = (clock.clone(), faults.disks[side]);
                let name = format!("party {}", NAMES[side]);
                let run = move || {
                    let disk = Disk::new(&self.directory(side), plan);
                    if let (Target::Stream, Some(stream)) =
                        (self.jobs.sides[side].target, self.output(side))
                    {
                        disk.add_stream(&stream);
                    }
                    let ended = self.party(side, attempt, end, clock);
                    Ended { happened: disk.happened(), ..ended }
                };
                thread::Builder::new().name(name).spawn_scoped(scope, run).unwrap()
            };
            let parties = [start(0, left), start(1, right)];
            parties.map(|party| party.join().unwrap())
        });
        for (side, before) in sides.iter_mut().zip(&mut before) {
            side.before = before.take().unwrap();
        }
        Attempt { sides, passed: passed.bytes() }
    }

    fn party(&self, side: usize, attempt: u32, end: pipe::End, clock: Clock) -> Ended {
        let (witness, mut report) = (Arc::new(Witness::default()), Report::begin());
        let began = clock.now();
        let run = AssertUnwindSafe(|| {
            let mut rng =
                StdRng::seed_from_u64(self.jobs.seed * 64 + u64::from(attempt) * 2 + side as u64);
            self.talk(side, end, clock.clone(), witness.clone(), &mut rng, &mut report)
        });
        let end = catch_unwind(run).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            End::Panicked(text.unwrap_or_default())
        });
        let took = clock.since(began);
        let Seen { phase, said } = std::mem::take(&mut *witness.0.lock().unwrap());
        Ended {
            end,
            report,
            phase,
            said,
            took,
            happened: Happened::default(),
            before: Before::default(),
        }
    }

    /// Does everything that a party's process does, in the same order.
    fn talk(
        &self,
        side: usize,
        end: pipe::End,
        clock: Clock,
        witness: Arc<Witness>,
        rng: &mut StdRng,
        report: &mut Report,
    ) -> End {
        let job = match self.job(side).prepare() {
            Ok(job) => job,
            Err(error) => return End::Unprepared(error),
        };
        let [me, peer] = [side, 1 - side].map(|side| &IDENTITIES[side]);
        let patience = vesica_net::Patience { limit: STALL, clock: clock.clone() };
        let cancel = CancelToken::default();
        let tls = match side {
            0 => tls::client(end, me, &peer.fingerprint(), patience, &cancel),
            _ => tls::server(end, me, &peer.fingerprint(), patience, &cancel),
        };
        let channel = tls.and_then(|tls| Connection::from(tls).into_channel());
        let mut channel = match channel {
            Ok(channel) => channel.with_clock(clock).with_stall_timeout(STALL),
            Err(error) => return End::Unmet(error),
        };
        let parties = Parties {
            role: [Role::A, Role::B][side],
            me: me.fingerprint().to_string(),
            peer: peer.fingerprint().to_string(),
        };
        End::Ran(vesica::run(job, &parties, &mut channel, witness, rng, report))
    }
}

/// The events that an observer has seen.
#[derive(Default)]
struct Seen {
    phase: &'static str,
    said: Vec<String>,
}

#[derive(Default)]
struct Witness(Mutex<Seen>);

impl Observer for Witness {
    fn phase(&self, name: &'static str) {
        self.0.lock().unwrap().phase = name;
    }

    fn progress(&self, _: Progress) {}

    fn warning(&self, text: &str) {
        self.0.lock().unwrap().said.push(text.to_owned());
    }
}

impl Form {
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }
}

fn key(number: usize) -> String {
    format!("{MARK}{number}")
}

/// Returns the value of a row.
fn value(side: usize, number: usize) -> String {
    format!("{} of {MARK}{number}", NAMES[side])
}

/// Returns a table of a side, with the rows of these keys.
fn content(jobs: &Jobs, side: usize, keys: &[usize]) -> Vec<u8> {
    let rows = keys.iter().map(|&number| (key(number), value(side, number)));
    match jobs.sides[side].form {
        Form::Csv => {
            let rows = rows.map(|(key, value)| format!("{key},{value}\n"));
            ["k,v\n".to_owned()].into_iter().chain(rows).collect::<String>().into()
        }
        Form::Ndjson => {
            let rows =
                rows.map(|(key, value)| format!("{{\"k\": \"{key}\", \"v\": \"{value}\"}}\n"));
            rows.collect::<String>().into()
        }
        Form::Parquet => {
            let (keys, values): (Vec<_>, Vec<_>) = rows.unzip();
            let column = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
            let batch =
                RecordBatch::try_from_iter([("k", column(keys)), ("v", column(values))]).unwrap();
            let mut bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            bytes
        }
    }
}

/// Returns whether these bytes are the expected result of a side that learns.
pub fn is_right(jobs: &Jobs, side: usize, bytes: &[u8]) -> bool {
    if jobs.query == vesica::Query::COUNT {
        return bytes == format!("{}\n", jobs.shared).as_bytes();
    }
    let shared: Vec<_> = jobs.keys(side).into_iter().filter(|key| *key < jobs.shared).collect();
    match jobs.sides[side].form {
        Form::Csv | Form::Ndjson => bytes == content(jobs, side, &shared),
        Form::Parquet => {
            let expected = shared.into_iter().map(|number| [key(number), value(side, number)]);
            parquet_rows(bytes).is_some_and(|rows| rows.into_iter().eq(expected))
        }
    }
}

fn parquet_rows(bytes: &[u8]) -> Option<Vec<[String; 2]>> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).ok()?.build().ok()?;
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.ok()?;
        let [keys, values] = [0, 1].map(|column| batch.column(column).as_string::<i32>().clone());
        let text = |column: &StringArray, row| column.value(row).to_owned();
        rows.extend((0..batch.num_rows()).map(|row| [text(&keys, row), text(&values, row)]));
    }
    Some(rows)
}
