//! `serve`: the jobs of a project, for many partners at one address.
//!
//! Each partner is known by its key, and names the agreement of its job, which may be among several parties. Runs wait
//! for their turn in order of arrival; a run that waits, reads or fails does not affect the others.

mod hall;
mod jobs;
mod metrics;
mod several;

use std::{
    mem::{Discriminant, discriminant},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use vesica::{Class, Report, Role, joint, partnership::Partnership, spec};
use vesica_net::{
    AbortReason, CancelToken, Channel, Clock, Fingerprint, Pace, Turns,
    connect::{CallKind, Server, Visit},
};

use self::{
    jobs::{Jobs, ServeShare},
    metrics::Metrics,
};
use crate::{
    cancel,
    exit::Failure,
    flags::Flags,
    keygen,
    log::{Counted, Fact, Facts, Log},
    project::Project,
    run::{self, AmongRun, Meet},
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
    let mut jobs = Arc::new(Jobs::read(&project, me.fingerprint(), share, &Jobs::default())?);
    jobs.tell_since(&Jobs::default(), log);
    let address = match (&args.listen, jobs.addresses.len()) {
        (Some(address), _) => address.clone(),
        (None, 1) => jobs.addresses.first().cloned().unwrap_or_default(),
        (None, 0) if jobs.fault.is_some() => {
            return Err(Failure::input(jobs.fault.clone().unwrap_or_default()));
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
    let mut server = Server::of_gatherings_too(&address, &me, jobs.partners.clone(), PATIENCE)?;
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
    log.event("listening", &[("address", listening.into()), ("jobs", jobs.len().into())]);
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
        let has_room = || service.connected.load(Ordering::Relaxed) < CONNECTIONS;
        for job in jobs.joint.values() {
            if let Some(busy) = has_room().then(|| job.begin()).flatten() {
                let (service, job) = (service.clone(), job.clone());
                threads.push(service.clone().connected(move || service.run_among(&job, busy)));
            }
        }
        match has_room().then(|| server.turn(turned_away)).flatten() {
            Some(visit) => {
                let (service, jobs) = (service.clone(), jobs.clone());
                threads.push(service.clone().connected(move || service.receive(visit, &jobs)));
            }
            None => thread::sleep(PAUSE),
        }
    }
    strangers.end();
    service.log.event("stopping", &[("runs", service.turns.running().into())]);
    drop(server);
    service.leave.cancel();
    let asked = Instant::now();
    let joins = || jobs.joint.values().any(|job| job.joins()) && asked.elapsed() < args.grace;
    while threads.iter().any(|thread| !thread.is_finished()) || joins() {
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
    jobs: &mut Arc<Jobs>,
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
    match Jobs::read(&project, me, share, jobs) {
        Ok(found) => {
            server.expect(found.partners.clone());
            log.event("reloaded", &[("jobs", found.len().into())]);
            found.tell_since(jobs, log);
            *jobs = Arc::new(found);
        }
        Err(failure) => log.event("not reloaded", &[("why", failure.message.into())]),
    }
}

/// A partner that has called.
struct Called(Option<Channel>);

impl Meet for Called {
    fn two(&mut self, _: &run::Met<'_>) -> Result<(Role, Channel), Failure> {
        Ok((Role::B, self.0.take().ok_or(Failure::bug("a channel is used once"))?))
    }

    fn several(&mut self, _: &AmongRun<'_>) -> Result<joint::Met, Failure> {
        Err(Failure::bug("this is one partner"))
    }
}

impl Service {
    /// Does something in a thread that counts as connected.
    fn connected(self: Arc<Self>, act: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
        self.connected.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            act();
            self.connected.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// Lets a partner lose its turn if it keeps this side waiting while others wait.
    fn with_turn(&self, channel: Channel) -> Channel {
        let turns = self.turns.clone();
        channel.with_turn(self.hold, move || turns.waiting() > 0)
    }

    fn turned_away(&self, caller: Fingerprint, why: String) {
        self.metrics.turned_away.inc();
        let partner = caller.to_string();
        self.log.event("turned away", &[("partner", partner.into()), ("why", why.into())]);
    }

    /// Answers a party that has called.
    fn receive(&self, visit: Visit, jobs: &Jobs) {
        let (caller, call) = (visit.peer(), visit.call());
        let partner = caller.to_string();
        let (connection, place) = visit.into_parts();
        if call == CallKind::Gathering {
            return self.seat(caller, connection, jobs);
        }
        let Ok(channel) = connection.into_channel() else { return };
        let stop = self.leave.clone();
        let mut channel = channel.with_stall_timeout(PATIENCE).with_cancel_token(stop);
        channel.phase("terms");
        let asked = Partnership::asked_for(&mut channel);
        let job = match &asked {
            // The hash of an agreement is not a secret: a partner gains nothing by another partner's hash.
            Ok(Some(hash)) => jobs
                .jobs
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
                self.turned_away(caller, why);
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
        let mut called = Called(Some(self.with_turn(channel)));
        let (report, _) = job.run.carried_out(&self.stop, &mut called);
        if let Some(mut channel) = called.0 {
            channel.abort(reason(&report));
        }
        drop((turn, place));
        self.ended(&job.name, about(&job.name, &partner).into(), &report, waited);
    }

    fn ended(&self, job: &str, mut facts: Facts, report: &Report, waited: Duration) {
        let failure = report.failure.as_ref();
        self.metrics.ended(job, failure.map(|failure| failure.class), report);
        let seconds = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
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
