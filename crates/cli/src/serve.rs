//! `serve`: the jobs of a project, for many partners at one address.
//!
//! Each partner is known by its key, and names the agreement of its job. Runs wait for their turn in order of arrival;
//! a run that waits, reads or fails does not affect the others.

mod metrics;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::{Discriminant, discriminant},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use vesica::{
    Class, Report, Role, Source,
    partnership::{Agreement, Partnership, Signed},
    spec, to_bind,
};
use vesica_net::{
    AbortReason, CancelToken, Channel, Clock, Fingerprint, Pace, Turns,
    connect::{Server, Visit},
};

use self::metrics::Metrics;
use crate::{
    agreed, cancel,
    exit::{self, Failure},
    flags::Flags,
    keygen,
    log::{Counted, Fact, Facts, Log},
    project::Project,
    run::{self, Run},
};

/// The longest time from the handshake with a partner until it names its agreement.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval between two looks at callers.
const PAUSE: Duration = Duration::from_millis(10);

/// The interval between two looks at the project file.
const RELOAD: Duration = Duration::from_secs(1);

/// The maximum number of connected partners; others wait until one leaves.
const CONNECTIONS: usize = 64;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: Flags<spec::Service>,
}

/// A job with an agreement.
struct Job {
    name: String,
    /// The other party of its agreement.
    peer: Fingerprint,
    run: Run,
}

/// All jobs under agreements in which this side listens, by the hash of the agreement.
#[derive(Default)]
struct Jobs {
    jobs: BTreeMap<String, Arc<Job>>,
    partners: BTreeSet<Fingerprint>,
    addresses: BTreeSet<String>,
    /// The jobs that are not served, each with the reason.
    left_out: BTreeMap<String, String>,
    /// The first of these reasons that is a fault of a file.
    fault: Option<String>,
    /// The jobs whose input is missing, and the input.
    without_input: BTreeMap<String, String>,
}

/// The state that all runs share.
struct Service {
    log: Log,
    metrics: Metrics,
    turns: Turns,
    /// Asks waiting partners to leave, and runs to end.
    leave: CancelToken,
    stop: CancelToken,
    connected: AtomicUsize,
    /// The longest wait for a partner while others wait for their turn.
    hold: Duration,
}

pub fn serve(args: &Args) -> Result<(), Failure> {
    let args = args.service.value()?;
    let log = Log::new(args.log);
    let asked_to_stop = cancel::on_signal_within(args.grace)?;
    let project = Project::open(args.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let runs = args.runs.map_or(processors, |runs| runs.clamp(1, CONNECTIONS as u64) as usize);
    let share = ServeShare {
        memory: args.memory.unwrap_or_else(vesica::files::memory_budget) / runs as u64,
        threads: (processors / runs).max(1),
    };
    let mut state = ServeState { written: project.written(), fault: None };
    let mut jobs = Jobs::read(&project, me.fingerprint(), share)?;
    jobs.tell_since(&Jobs::default(), log);
    let address = match (&args.listen, jobs.addresses.len()) {
        (Some(address), _) => address.clone(),
        (None, 1) => jobs.addresses.first().cloned().unwrap_or_default(),
        (None, 0) if jobs.fault.is_some() => {
            return Err(Failure::input(jobs.fault.unwrap_or_default()));
        }
        (None, 0) => {
            return Err(Failure::usage("no job has an agreement under which this side listens"));
        }
        (None, _) => {
            let all: Vec<_> = jobs.addresses.iter().map(String::as_str).collect();
            return Err(Failure::usage(format!(
                "the agreements name several addresses ({}): choose one with --listen",
                all.join(", ")
            )));
        }
    };
    let mut server = Server::bind(&address, &me, jobs.partners.clone(), PATIENCE)?;
    server.set_pace(pace(args.partner_rate), Clock::default());
    let service = Arc::new(Service {
        log,
        metrics: Metrics::default(),
        turns: Turns::new(runs),
        leave: CancelToken::default(),
        stop: CancelToken::default(),
        connected: AtomicUsize::new(0),
        hold: args.hold,
    });
    let strangers = Counted::new(log);
    if let Some(place) = &args.metrics {
        metrics::publish_runs(place, service.clone())?;
    }
    let listening = server.address().to_string();
    log.event("listening", &[("address", listening.into()), ("jobs", jobs.jobs.len().into())]);
    let mut looked = Instant::now();
    let mut threads = Vec::new();
    while !asked_to_stop.is_cancelled() {
        if looked.elapsed() >= RELOAD {
            looked = Instant::now();
            reload(&args, &mut state, &mut jobs, &mut server, (me.fingerprint(), share), log);
            threads.retain(|thread: &thread::JoinHandle<()>| !thread.is_finished());
            strangers.look();
        }
        let turned_away = &mut |why: vesica_net::Error| {
            service.metrics.turned_away.inc();
            strangers.event(kind(&why), "turned away", turned_away(&why));
        };
        let has_room = service.connected.load(Ordering::Relaxed) < CONNECTIONS;
        match has_room.then(|| server.turn(turned_away)).flatten() {
            Some(visit) => {
                service.connected.fetch_add(1, Ordering::Relaxed);
                let (service, jobs) = (service.clone(), jobs.jobs.clone());
                threads.push(thread::spawn(move || {
                    service.receive(visit, &jobs);
                    service.connected.fetch_sub(1, Ordering::Relaxed);
                }));
            }
            None => thread::sleep(PAUSE),
        }
    }
    strangers.end();
    service.log.event("stopping", &[("runs", service.turns.running().into())]);
    drop(server);
    service.leave.cancel();
    let asked = Instant::now();
    while threads.iter().any(|thread| !thread.is_finished()) {
        if asked.elapsed() > args.grace {
            service.stop.cancel();
        }
        thread::sleep(PAUSE);
    }
    service.log.event("stopped", &[]);
    Ok(())
}

/// Returns the pace of each partner.
fn pace(a_minute: u64) -> Pace {
    let a_minute = u32::try_from(a_minute).unwrap_or(u32::MAX).max(1);
    Pace { at_once: a_minute, interval: Duration::from_secs(60) / a_minute }
}

/// The part of the machine that each run has.
#[derive(Debug, Clone, Copy)]
struct ServeShare {
    memory: u64,
    threads: usize,
}

/// Returns the kind of reason for which a caller was turned away. Partners are few, and strangers may be many.
fn kind(why: &vesica_net::Error) -> (Discriminant<vesica_net::Error>, Option<Fingerprint>) {
    use vesica_net::Error::{Engaged, TooOften};
    let partner = why.caller().filter(|_| matches!(why, Engaged { .. } | TooOften { .. }));
    (discriminant(why), partner)
}

/// Returns the facts about a caller that was turned away.
pub fn turned_away(why: &vesica_net::Error) -> Facts {
    let caller = why.caller().map(|caller| ("partner", caller.to_string().into()));
    caller.into_iter().chain([("why", why.to_string().into())]).collect()
}

/// The state of the project when it was looked at last.
struct ServeState {
    /// The times of the last changes of its files.
    written: Vec<Option<SystemTime>>,
    /// The fault of the project file, if it could not be read.
    fault: Option<String>,
}

/// Reads the project again if its file or an agreement changed. One that cannot be used changes nothing.
fn reload(
    args: &spec::Service,
    state: &mut ServeState,
    jobs: &mut Jobs,
    server: &mut Server,
    (me, share): (Fingerprint, ServeShare),
    log: Log,
) {
    let project = match Project::open(args.project.as_deref()) {
        Ok(project) => project,
        Err(failure) => {
            if state.fault.as_ref() != Some(&failure.message) {
                log.event("not reloaded", &[("why", failure.message.as_str().into())]);
                state.fault = Some(failure.message);
            }
            return;
        }
    };
    state.fault = None;
    let now = project.written();
    if now == state.written {
        return;
    }
    state.written = now;
    match Jobs::read(&project, me, share) {
        Ok(found) => {
            server.expect(found.partners.clone());
            log.event("reloaded", &[("jobs", found.jobs.len().into())]);
            found.tell_since(jobs, log);
            *jobs = found;
        }
        Err(failure) => log.event("not reloaded", &[("why", failure.message.into())]),
    }
}

impl ServeShare {
    /// Lets a job use no more memory than this, and as many threads unless the job says otherwise.
    fn apply_to(self, job: &mut spec::Job) {
        let resources = &mut job.resources;
        resources.memory = Some(resources.memory.map_or(self.memory, |most| most.min(self.memory)));
        resources.threads = if resources.threads == 0 { self.threads } else { resources.threads };
    }
}

/// Returns the input of a job, if it is a missing file.
fn missing_input(job: &spec::Job) -> Option<&Path> {
    let input = job.table.input.as_deref()?;
    let is_file = matches!(Source::from_path(input), Source::File(_));
    (is_file && !input.exists()).then_some(input)
}

impl Jobs {
    fn read(project: &Project, me: Fingerprint, share: ServeShare) -> Result<Self, Failure> {
        let mut all = Self::default();
        project.check_files()?;
        for name in project.jobs() {
            let mut job = project.specified(&name, Vec::new())?;
            if let Some(input) = missing_input(&job) {
                all.without_input.insert(name.clone(), input.display().to_string());
            }
            let (agreement, address, peer) = match served(&job, me) {
                Ok(served) => served,
                Err(failure) => {
                    if failure.code == exit::INPUT {
                        all.fault.get_or_insert(failure.message.clone());
                    }
                    all.left_out.insert(name, failure.message);
                    continue;
                }
            };
            all.addresses.insert(address);
            all.partners.insert(peer);
            share.apply_to(&mut job);
            let run = Run::served(job, project.protected(&name), agreement.hash());
            all.jobs.insert(agreement.hash(), Arc::new(Job { name, peer, run }));
        }
        Ok(all)
    }

    /// Logs the jobs that are not served or would fail, unless they were in the same state in `before`.
    fn tell_since(&self, before: &Self, log: Log) {
        for (job, why) in &self.left_out {
            if before.left_out.get(job) != Some(why) {
                log.event(
                    "not served",
                    &[("job", job.as_str().into()), ("why", why.as_str().into())],
                );
            }
        }
        for (job, input) in &self.without_input {
            if before.without_input.get(job) != Some(input) {
                let facts = [("job", job.as_str().into()), ("input", input.as_str().into())];
                log.event("input missing", &facts);
            }
        }
    }
}

/// Returns the agreement of a job, the address at which this side listens, and the other party.
///
/// # Errors
/// The reason for which the job is not served.
fn served(
    job: &spec::Job,
    me: Fingerprint,
) -> Result<(Signed<Agreement>, String, Fingerprint), Failure> {
    let file = job.parties.agreement.as_ref();
    let file = file.ok_or_else(|| Failure::usage("it has no agreement"))?;
    let missing = || Failure::usage(format!("the agreement {} does not exist yet", file.display()));
    let agreement = agreed::of_job(job)?.ok_or_else(missing)?;
    let agreement = agreement.require_pair("the service is for")?.clone();
    let address = agreement.document().listens(me).map(to_bind);
    let there = || Failure::usage("this side does not listen under its agreement");
    let address = address.ok_or_else(there)?;
    let peer = agreement.document().peer_of(me)?.fingerprint();
    Ok((agreement, address, peer))
}

impl Service {
    /// Answers a partner who has called.
    fn receive(&self, visit: Visit, jobs: &BTreeMap<String, Arc<Job>>) {
        let caller = visit.peer();
        let partner = caller.to_string();
        let (connection, place) = visit.into_parts();
        let Ok(channel) = connection.into_channel() else { return };
        let stop = self.leave.clone();
        let mut channel = channel.with_stall_timeout(PATIENCE).with_cancel_token(stop);
        channel.phase("terms");
        let asked = Partnership::asked_for(&mut channel);
        let job = match &asked {
            // The hash of an agreement is not a secret: a partner gains nothing by another partner's hash.
            Ok(Some(hash)) => jobs
                .get(hash)
                .filter(|job| job.peer == caller)
                .cloned()
                .ok_or("it names an agreement that it does not have with this side"),
            Ok(None) => Err("it names no agreement"),
            Err(_) => Err("it does not say what it wants"),
        };
        let job = match job {
            Ok(job) => job,
            Err(why) => {
                let why = asked.err().map_or(why.to_owned(), |error| error.to_string());
                self.metrics.turned_away.inc();
                self.log.event("turned away", &[("partner", partner.into()), ("why", why.into())]);
                return channel.abort(AbortReason::Agreement);
            }
        };
        let waiting = Instant::now();
        let Some(turn) = self.turns.begin_while(|| stays(&mut channel)) else {
            self.log.event("left while waiting", &about(&job.name, &partner));
            return channel.abort(AbortReason::Cancelled);
        };
        let waited = waiting.elapsed();
        channel.leave_out(waited);
        self.log.event("began", &about(&job.name, &partner));
        let turns = self.turns.clone();
        let mut channel = Some(channel.with_turn(self.hold, move || turns.waiting() > 0));
        let mut meet = |_: &run::Met<'_>| {
            let channel = channel.take().ok_or(Failure::bug("a channel is used once"))?;
            Ok((Role::B, channel))
        };
        let (report, _) = job.run.carried_out(&self.stop, &mut meet);
        if let Some(mut channel) = channel {
            channel.abort(reason(&report));
        }
        drop((turn, place));
        self.ended(&job.name, &partner, &report, waited);
    }

    fn ended(&self, job: &str, partner: &str, report: &Report, waited: Duration) {
        let failure = report.failure.as_ref();
        self.metrics.ended(job, failure.map(|failure| failure.class), report);
        let seconds = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
        let mut facts = about(job, partner).to_vec();
        facts.extend(report.rows.map(|rows| ("keys", rows.used.into())));
        facts.extend(report.peer_items.map(|keys| ("peer keys", keys.into())));
        facts.extend([("seconds", seconds.into()), ("waited", waited.into())]);
        facts.extend(report.brief().map(|learned| ("learned", learned.as_str().into())));
        facts.extend(failure.map(|failure| ("why", failure.reason.as_str().into())));
        self.log.event(if failure.is_none() { "succeeded" } else { "failed" }, &facts);
    }
}

/// Returns the facts about a run.
fn about(job: &str, partner: &str) -> [(&'static str, Fact); 2] {
    [("job", job.into()), ("partner", partner.into())]
}

/// Returns the reason that a partner receives for a run that failed before it began.
fn reason(report: &Report) -> AbortReason {
    match report.failure.as_ref().map(|failure| failure.class) {
        Some(Class::Policy) => AbortReason::Policy,
        Some(Class::Input) => AbortReason::Input,
        _ => AbortReason::Internal,
    }
}

/// Keeps a partner from giving up, and returns whether it is still connected.
fn stays(channel: &mut Channel) -> bool {
    channel.keep_alive().is_ok()
}
