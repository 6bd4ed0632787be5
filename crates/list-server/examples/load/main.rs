//! The load test of docs/guides/lists.md: a service with 10,000 clients a minute, first by themselves and then while
//! another client floods the service.
//!
//! `cargo run --release -p vesica-list-server --example load [SECONDS]`, on Linux. The service and the flood run in
//! separate processes. Each client has its own address in 127.0.0.0/8. Each kind of flood lasts SECONDS (20 by
//! default). The test prints how long clients wait for a batch of ten, over a new connection (including its handshake)
//! and over an open one. A flooding client has 64 connections and sends as fast as it can.

mod flood;
mod link;
mod service;

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{SeedableRng, rngs::StdRng};
use vesica_list::{
    exchange::Question,
    head::Head,
    value::{Value, item},
};

use flood::Kind;
use link::{Asked, Link};
use service::Service;

/// Any error.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Number of items in a question.
const BATCH: u32 = 10;

/// Number of clients per minute that open a new connection.
const CLIENTS: u64 = 10_000;

/// Number of clients that keep their connection and ask once a second, as often as a client may.
const REGULARS: u64 = 20;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", directory] => service::serve(directory.as_ref()),
        ["flood", kind, address, epoch, seconds] => {
            let kind = Kind::named(kind).ok_or("no such flood")?;
            flood::flood(kind, address.parse()?, epoch.parse()?, seconds.parse()?)
        }
        [] => measure(20),
        [seconds] => measure(seconds.parse()?),
        _ => Err("one number of seconds".into()),
    }
}

fn measure(seconds: u64) -> Result<(), Failure> {
    let service = Service::start()?;
    let questions = Arc::new(Questions::new(&service.head)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "| flood of one client | requests a second | own connection: median, 99th | ratio | open connection: median, \
         99th | ratio | service: processor | most memory |\n|---|---|---|---|---|---|---|---|"
    );
    let mut alone = None;
    for (nth, kind) in [None].into_iter().chain(Kind::ALL.map(Some)).enumerate() {
        let flood = kind.map(|kind| Flood::start(kind, &service, seconds)).transpose()?;
        // The flood uses up its burst before the measurement begins.
        std::thread::sleep(Duration::from_secs(2));
        let (began, spent) = (Instant::now(), service.processor()?);
        service.forget_memory()?;
        let clients = Clients { address: service.address, questions: questions.clone(), nth };
        let waits = runtime.block_on(clients.ask(Duration::from_secs(seconds)))?;
        let spent = (service.processor()? - spent).div_duration_f64(began.elapsed());
        let sent = flood.map_or(Ok(String::new()), Flood::end)?;
        let name = kind.map_or("none", Kind::name);
        let [own, open] = waits.map(Wait::of);
        let [of_own, of_open] = *alone.get_or_insert([own, open]);
        println!(
            "| {name} | {sent} | {own} | {} | {open} | {} | {:.0} % of one | {} MB |",
            own.ratio(of_own),
            open.ratio(of_open),
            100.0 * spent,
            service.memory()? / 1_000_000
        );
    }
    println!("answers checked: {} keys", check(&questions, &service.head)?);
    Ok(())
}

/// The waiting times of clients.
#[derive(Clone, Copy)]
struct Wait {
    median: Duration,
    most: Duration,
}

impl Wait {
    fn of(mut waits: Vec<Duration>) -> Self {
        waits.sort_unstable();
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize];
        Self { median: at(0.5), most: at(0.99) }
    }

    fn ratio(self, other: Self) -> String {
        let [median, most] = [(self.median, other.median), (self.most, other.most)]
            .map(|(now, before)| now.div_duration_f64(before));
        format!("{median:.2}, {most:.2}")
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, most] = [self.median, self.most].map(|wait| 1e3 * wait.as_secs_f64());
        write!(f, "{median:.1}, {most:.1} ms")
    }
}

/// Prepared questions, with the values that answer them.
struct Questions {
    epoch: u64,
    bytes: Vec<Vec<u8>>,
    /// The first answer to each, to be checked at the end.
    first: Vec<Mutex<Option<Vec<u8>>>>,
    asked: AtomicU64,
}

impl Questions {
    fn new(head: &Head) -> Result<Self, Failure> {
        let bytes: Vec<_> =
            (0..64).map(|nth| Ok(question(head, nth)?.bytes())).collect::<Result<_, Failure>>()?;
        let first = bytes.iter().map(|_| Mutex::new(None)).collect();
        Ok(Self { epoch: head.epoch, bytes, first, asked: AtomicU64::new(0) })
    }

    fn next(&self) -> usize {
        self.asked.fetch_add(1, Ordering::Relaxed) as usize % self.bytes.len()
    }

    fn keep(&self, nth: usize, answer: Vec<u8>) -> Result<(), Failure> {
        let mut first = self.first[nth].lock().map_err(|_| "a panic")?;
        match &*first {
            Some(known) if known.len() != answer.len() => {
                Err("an answer with a different length".into())
            }
            Some(_) => Ok(()),
            None => {
                *first = Some(answer);
                Ok(())
            }
        }
    }
}

/// Creates a question about ten items, which depend only on its number.
fn question(head: &Head, nth: u64) -> Result<Question, Failure> {
    let digest = |key: u32| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&nth.to_le_bytes());
        digest[8..12].copy_from_slice(&key.to_le_bytes());
        digest
    };
    let items = (0..BATCH).map(|key| item(&digest(key), &head.public_key.0)).collect();
    Ok(Question::new(items, head, &mut StdRng::seed_from_u64(nth))?)
}

/// The clients whose waiting times are measured.
struct Clients {
    address: SocketAddr,
    questions: Arc<Questions>,
    /// Number of the measurement. Each uses different clients.
    nth: usize,
}

impl Clients {
    /// Asks for the given time. Returns the time of each question over a new connection and over an open one.
    async fn ask(self, time: Duration) -> Result<[Vec<Duration>; 2], Failure> {
        let began = tokio::time::Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        let this = Arc::new(self);
        for regular in 0..REGULARS {
            let this = this.clone();
            tasks.spawn(async move {
                let from = Ipv4Addr::new(127, 3, this.nth as u8, regular as u8 + 1);
                let mut link = Link::open(from, this.address, Asked::Http).await?;
                let mut waits = Vec::new();
                let mut next = began + Duration::from_millis(1000 * regular / REGULARS);
                while next < began + time {
                    tokio::time::sleep_until(next).await;
                    waits.push(this.question(&mut link).await?);
                    next += Duration::from_secs(1);
                }
                Ok::<_, Failure>((1, waits))
            });
        }
        let count = CLIENTS * time.as_secs() / 60;
        for nth in 0..count {
            tokio::time::sleep_until(began + time.mul_f64(nth as f64 / count as f64)).await;
            let this = this.clone();
            tasks.spawn(async move {
                let from = [127, 16 + this.nth as u8, (nth >> 8) as u8, nth as u8];
                let began = Instant::now();
                let mut link = Link::open(from.into(), this.address, Asked::Http).await?;
                this.question(&mut link).await?;
                Ok::<_, Failure>((0, vec![began.elapsed()]))
            });
        }
        let mut waits = [Vec::new(), Vec::new()];
        while let Some(done) = tasks.join_next().await {
            let (which, more) = done??;
            waits[which].extend(more);
        }
        Ok(waits)
    }

    async fn question(&self, link: &mut Link) -> Result<Duration, Failure> {
        let nth = self.questions.next();
        let began = Instant::now();
        let bytes = &self.questions.bytes[nth];
        let answer = link.ask(self.questions.epoch, bytes).await?;
        let took = began.elapsed();
        self.questions.keep(nth, answer.ok_or("a client within its limits was refused")?)?;
        Ok(took)
    }
}

/// A process that floods.
struct Flood(Child);

impl Flood {
    fn start(kind: Kind, service: &Service, seconds: u64) -> Result<Self, Failure> {
        // Lowers its priority, so that it does not take the service's processor time.
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(std::env::current_exe()?);
        let [address, epoch] = [service.address.to_string(), service.head.epoch.to_string()];
        command.args(["flood", kind.name(), &address, &epoch, &(seconds + 3).to_string()]);
        Ok(Self(command.stdout(Stdio::piped()).spawn()?))
    }

    /// Waits for its end, and returns its output.
    fn end(self) -> Result<String, Failure> {
        let output = self.0.wait_with_output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// Checks that the first answers are right.
fn check(questions: &Questions, head: &Head) -> Result<usize, Failure> {
    let mut checked = 0;
    for (nth, first) in (0..).zip(&questions.first) {
        if let Some(answer) = first.lock().map_err(|_| "a panic")?.take() {
            let values: Vec<Value> = question(head, nth)?.finish(&answer)?;
            checked += values.len();
        }
    }
    Ok(checked)
}
