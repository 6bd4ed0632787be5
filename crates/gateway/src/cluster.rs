//! The gateway's interface to its own cluster: the driver, its slots, and tasks.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use vesica_agree::offer::WIRE_VERSION;
use vesica_core::error::{Error, Result};
use vesica_net::{
    CancelToken, Identity, Meter,
    connect::{Connection, Server, Visit},
};
use vesica_normalize::shown::shown;
use vesica_run::{
    permits::{Begun, MOST_ATTEMPTS, MOST_IDLE, Prepared, Slots, TASK_PHASE, Waited},
    standing::Standing,
};
use vesica_task::piece::{Piece, RowsPiece};
use zeroize::Zeroizing;

use super::{
    message::{
        ANSWER, ASK, ASKS, Ask, Counted, GatewayReply, JOINS, KeysWanted, LONGEST, TICKET, Token,
        Work,
    },
    state::{End, State, Task},
};

/// The longest delay of an answer that only asks to repeat the request.
const ANSWERS: Duration = Duration::from_secs(3);

/// The time limit of a caller's handshake, and then of its request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time limit of a whole exchange.
const EXCHANGE: Duration = Duration::from_secs(60);

/// The interval between two checks for callers.
const PAUSE: Duration = Duration::from_millis(5);

/// The maximum number of concurrent connections.
const CONNECTIONS: usize = 1 << 10;

/// A task is gone after this long without a request.
const GONE: Duration = Duration::from_secs(10);

/// A driver is gone after this long without a request.
const DRIVER_GONE: Duration = Duration::from_secs(120);

/// The maximum length of a cluster's message that is shown, in bytes.
const LONGEST_REASON: usize = 300;

/// The cluster of this side.
pub(super) struct Cluster {
    wanted: KeysWanted,
    state: Mutex<State>,
    changed: Condvar,
    /// The token that ends relayed connections.
    stop: CancelToken,
    stall: Duration,
    connections: AtomicUsize,
}

impl Cluster {
    pub(super) fn new(wanted: KeysWanted, stall: Duration) -> Arc<Self> {
        Arc::new(Self {
            wanted,
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: CancelToken::default(),
            stall,
            connections: AtomicUsize::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens until `until` is cancelled, and reports callers that were turned away.
    pub(super) fn serve(
        self: &Arc<Self>,
        address: &str,
        me: &Identity,
        token: &Token,
        turned_away: impl Fn(&vesica_net::Error) + Send + 'static,
        until: CancelToken,
    ) -> Result<(std::net::SocketAddr, thread::JoinHandle<()>)> {
        let expected = BTreeSet::from([token.key.fingerprint()]);
        let mut server = Server::of_many_connections(address, me, expected, PATIENCE)?;
        let (address, cluster) = (server.address(), self.clone());
        let accept = move || {
            while !until.is_cancelled() {
                cluster.look_for_driver();
                match server.turn(&mut |why| turned_away(&why)) {
                    Some(visit) if cluster.connections.load(Ordering::Relaxed) < CONNECTIONS => {
                        cluster.connections.fetch_add(1, Ordering::Relaxed);
                        let cluster = cluster.clone();
                        thread::spawn(move || {
                            // A caller that gets no answer asks again.
                            let _ = cluster.receive(visit);
                            cluster.connections.fetch_sub(1, Ordering::Relaxed);
                        });
                    }
                    Some(_) => {}
                    None => thread::sleep(PAUSE),
                }
            }
            cluster.stop.cancel();
        };
        let thread = thread::Builder::new().name("vesica-cluster".to_owned()).spawn(accept);
        Ok((address, thread.map_err(|_| Error::bug("no thread could be started"))?))
    }

    fn look_for_driver(&self) {
        let mut state = self.state();
        let is_gone = state.heard.is_some_and(|heard| heard.elapsed() > DRIVER_GONE);
        if is_gone && state.work.is_some() && state.ended.is_none() {
            state.heard = None;
            let reason = format!("its driver has not called for {} s", DRIVER_GONE.as_secs());
            self.stop_run(&mut state, reason);
        }
    }

    fn stop_run(&self, state: &mut State, reason: String) {
        if let Some(slots) = &state.slots {
            slots.fail(Error::Cluster { reason: reason.clone() });
        }
        state.stopped.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Waits for the driver's counts.
    pub(super) fn counted(&self, cancel: &CancelToken) -> Result<Counted> {
        self.wait_for(cancel, |state| state.counted.clone())
    }

    /// Waits until the driver has stored all results.
    pub(super) fn staged(&self, cancel: &CancelToken) -> Result<()> {
        self.wait_for(cancel, |state| state.staged.then_some(()))
    }

    fn wait_for<T>(
        &self,
        cancel: &CancelToken,
        mut found: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T> {
        const POLL: Duration = Duration::from_millis(100);
        let mut state = self.state();
        loop {
            if let Some(reason) = &state.stopped {
                return Err(Error::Cluster { reason: reason.clone() });
            }
            if let Some(found) = found(&mut state) {
                return Ok(found);
            }
            if cancel.is_cancelled() {
                return Err(vesica_net::Error::Cancelled { phase: "read" }.into());
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Starts a session, in which partitions are compared.
    pub(super) fn start(&self, work: Work, slots: Arc<Slots>, standing: Standing) {
        let mut state = self.state();
        if let Some(reason) = &state.stopped {
            slots.fail(Error::Cluster { reason: reason.clone() });
        }
        // Partitions that are done were stored, although the slot may not know that.
        let is_open = |partition: u32| partition < work.partitions && !slots.is_done(partition);
        state.assigned.retain(|_, partition| is_open(*partition));
        state.assigned.values().for_each(|partition| slots.claim(*partition));
        (state.work, state.slots, state.standing) = (Some(work), Some(slots), Some(standing));
        (state.compared, state.staged) = (false, false);
        state.heard = Some(Instant::now());
        state.tasks.clear();
        state.tickets.clear();
        self.changed.notify_all();
    }

    /// Marks all partitions as done.
    pub(super) fn compared(&self) {
        self.state().compared = true;
    }

    /// Ends a session that was lost; another one may follow.
    pub(super) fn pause(&self) {
        let mut state = self.state();
        (state.slots, state.standing) = (None, None);
        state.tasks.clear();
        state.tickets.clear();
    }

    /// Reports the end of the run to the driver, if it asks within this time.
    pub(super) fn end(&self, end: End, patience: Duration) {
        self.state().ended = Some((end, false));
        let until = Instant::now() + patience;
        while Instant::now() < until && !self.state().ended.as_ref().is_some_and(|(_, told)| *told)
        {
            thread::sleep(PAUSE);
        }
    }

    /// Returns whether a driver has ever called.
    pub(super) fn has_driver(&self) -> bool {
        self.state().heard.is_some()
    }

    fn receive(&self, visit: Visit) -> Result<()> {
        let (mut connection, _place) = visit.into_parts();
        let mut head = [0; 1 + TICKET];
        connection.get(&mut head, PATIENCE, &self.stop)?;
        let [kind, ticket @ ..] = head;
        if kind == JOINS {
            return self.join(connection, ticket);
        }
        let mut channel = connection
            .into_channel()?
            .with_stall_timeout(PATIENCE)
            .with_deadline(EXCHANGE)
            .with_cancel_token(self.stop.clone());
        if kind != ASKS {
            return Err(channel.malformed(ASK, "neither a request nor an attempt").into());
        }
        let asked = channel.recv_len(ASK, LONGEST)?;
        let ask = serde_json::from_slice::<Ask>(&asked);
        let is_driver =
            ask.as_ref().is_ok_and(|ask| !matches!(ask, Ask::Ready { .. } | Ask::Found { .. }));
        let is_last = matches!(ask, Ok(Ask::Here { .. }));
        let answer = match ask {
            Ok(ask) => self.answer(ask),
            Err(_) => refused("it is not a request of this version of the program"),
        };
        let encoded = serde_json::to_vec(&answer).map_err(|_| Error::bug("an answer has JSON"))?;
        let encoded = Zeroizing::new(encoded);
        channel.send(ANSWER, &encoded)?;
        channel.finish()?;
        // Tasks also receive the end of the run, and a task that Spark began twice may ask before the driver does. A
        // slot of the driver takes success for the end of its work, and the driver then asks for the report with
        // `Here`.
        let is_told = match answer {
            GatewayReply::Ended { .. } => is_last,
            GatewayReply::Failed { .. } => is_driver,
            _ => false,
        };
        if is_told && let Some((_, told)) = &mut self.state().ended {
            *told = true;
        }
        Ok(())
    }

    /// Relays the bytes of an attempt.
    fn join(&self, connection: Connection, ticket: [u8; TICKET]) -> Result<()> {
        let other = {
            let mut state = self.state();
            let other = state.tickets.remove(&ticket);
            for task in state.tasks.values_mut() {
                if task.begun.is_some_and(|(.., of)| of == ticket) {
                    task.joined = true;
                }
            }
            other
        };
        let Some(other) = other else { return Ok(()) };
        let slots = self.slots();
        let joined = connection.join(other, self.stall, &self.stop, |sent, received| {
            let cost = Meter::of_phase(TASK_PHASE, sent, received);
            slots.iter().for_each(|slots| slots.add_cost(&cost));
        });
        for task in self.state().tasks.values_mut() {
            if task.begun.is_some_and(|(.., of)| of == ticket) {
                (task.joined, task.asked) = (false, Instant::now());
            }
        }
        joined.map_err(Error::from)
    }

    fn answer(&self, ask: Ask) -> GatewayReply {
        match ask {
            Ask::Keys { version } if version != WIRE_VERSION => refused(
                "the gateway and the package in the cluster have different versions: install the same version",
            ),
            Ask::Keys { .. } => {
                self.ended().unwrap_or_else(|| GatewayReply::Keys(self.wanted.clone()))
            }
            Ask::Work { counted, busy } => self.work(counted, busy),
            Ask::Next { slot } => self.next(slot),
            Ask::Kept { slot, partition } => self.kept(slot, partition),
            Ask::Ready { partition, task } => self.ready(partition, task),
            Ask::Reveals { partition, attempt } => self.reveals(partition, attempt),
            Ask::Found { partition, attempt, matches } => self.found(partition, attempt, matches),
            Ask::Here { is_staged } => self.here(is_staged),
            Ask::Stopped { reason } => {
                let reason = first_line(&reason);
                let mut state = self.state();
                self.stop_run(&mut state, reason);
                GatewayReply::Good
            }
        }
    }

    /// Returns the end of the run, if it has ended.
    fn ended(&self) -> Option<GatewayReply> {
        let state = self.state();
        let (end, _) = state.ended.as_ref()?;
        Some(match end {
            End::Succeeded { report, record, shortfalls } => GatewayReply::Ended {
                report: report.clone(),
                record: record.clone(),
                shortfalls: shortfalls.clone(),
            },
            End::Failed { class, reason, report } => GatewayReply::Failed {
                class: *class,
                reason: reason.clone(),
                report: report.clone(),
            },
        })
    }

    fn slots(&self) -> Option<Arc<Slots>> {
        self.state().slots.clone()
    }

    /// Returns the slots of the session in which this partition may be compared, or an immediate answer.
    fn slots_for(&self, partition: u32) -> std::result::Result<Arc<Slots>, GatewayReply> {
        if let Some(ended) = self.ended() {
            return Err(ended);
        }
        let Some(slots) = self.slots() else {
            self.patiently(|state| state.slots.as_ref().map(drop));
            return Err(GatewayReply::Wait);
        };
        let count = self.state().work.as_ref().map_or(0, |work| work.partitions);
        if partition < count { Ok(slots) } else { Err(refused("the partition does not exist")) }
    }

    fn work(&self, counted: Counted, busy: Vec<(u32, u32)>) -> GatewayReply {
        if let Some(ended) = self.ended() {
            return ended;
        }
        {
            let mut state = self.state();
            if counted.null > counted.rows || counted.keys > counted.rows - counted.null {
                return refused("more keys than rows");
            }
            if busy.len() > MOST_IDLE as usize {
                return refused("more slots than there may be");
            }
            match &state.counted {
                Some(before) if *before != counted => {
                    return refused(
                        "the driver's counts differ from earlier ones: restart the gateway",
                    );
                }
                Some(_) => {}
                None => {
                    state.counted = Some(counted);
                    state.assigned.extend(busy);
                }
            }
            state.heard = Some(Instant::now());
            self.changed.notify_all();
        }
        self.patiently(|state| state.slots.is_some().then(|| state.work.clone()).flatten())
            .map_or(GatewayReply::Wait, |work| GatewayReply::Work(Box::new(work)))
    }

    /// Checks repeatedly for as long as an answer may take; the end of the run answers everything.
    fn patiently<T>(&self, mut found: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let until = Instant::now() + ANSWERS;
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.ended.is_some() || self.stop.is_cancelled() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn next(&self, slot: u32) -> GatewayReply {
        if let Some(ended) = self.ended() {
            return ended;
        }
        let slots = {
            let mut state = self.state();
            state.heard = Some(Instant::now());
            // An earlier answer may have been lost.
            if let Some(partition) = state.assigned.get(&slot) {
                return GatewayReply::Partition(*partition);
            }
            if state.compared {
                return GatewayReply::Over;
            }
            state.slots.clone()
        };
        let Some(slots) = slots else {
            self.patiently(|state| state.slots.as_ref().map(drop));
            return GatewayReply::Wait;
        };
        match slots.next(ANSWERS) {
            Waited::Here(partition) => {
                self.state().assigned.insert(slot, partition);
                GatewayReply::Partition(partition)
            }
            Waited::NotYet => GatewayReply::Wait,
            Waited::Never if self.state().compared => GatewayReply::Over,
            Waited::Never => {
                thread::sleep(PAUSE);
                GatewayReply::Wait
            }
        }
    }

    fn kept(&self, slot: u32, partition: u32) -> GatewayReply {
        let slots = match self.slots_for(partition) {
            Ok(slots) => slots,
            Err(answer) => return answer,
        };
        let mut state = self.state();
        if state.assigned.get(&slot) == Some(&partition) {
            state.assigned.remove(&slot);
            slots.kept(partition);
        }
        GatewayReply::Good
    }

    fn ready(&self, partition: u32, prepared: Prepared) -> GatewayReply {
        let slots = match self.slots_for(partition) {
            Ok(slots) => slots,
            Err(answer) => return answer,
        };
        if slots.is_done(partition) {
            return GatewayReply::Over;
        }
        {
            let mut state = self.state();
            match state.tasks.get_mut(&partition) {
                Some(task) if task.prepared.fingerprint == prepared.fingerprint => {
                    task.asked = Instant::now();
                    if let Some((attempt, peer, ticket)) = task.begun {
                        return GatewayReply::Begin { attempt, peer, ticket };
                    }
                }
                // A second task for the same partition waits until the first one is gone.
                Some(task)
                    if task.joined
                        || (task.begun.is_none() || task.found) && task.asked.elapsed() < GONE =>
                {
                    drop(state);
                    thread::sleep(Duration::from_millis(500));
                    return GatewayReply::Wait;
                }
                _ => {
                    let asked = Instant::now();
                    let task = Task {
                        prepared,
                        asked,
                        begun: None,
                        joined: false,
                        reveals: false,
                        found: false,
                    };
                    state.tasks.insert(partition, task);
                    slots.ready(partition, prepared);
                }
            }
        }
        let begun = match slots.begun(partition, ANSWERS) {
            Waited::Here(begun) => begun,
            Waited::NotYet => return GatewayReply::Wait,
            Waited::Never if slots.is_done(partition) => return GatewayReply::Over,
            Waited::Never => {
                thread::sleep(PAUSE);
                return GatewayReply::Wait;
            }
        };
        let Begun { attempt, peer, connection } = begun;
        let mut ticket = [0; TICKET];
        if rand::TryRng::try_fill_bytes(&mut rand::rngs::SysRng, &mut ticket).is_err() {
            return refused("the operating system gives no randomness");
        }
        let mut state = self.state();
        if let Some(task) = state.tasks.get_mut(&partition) {
            task.reveals = false;
            if let Some((.., old)) = task.begun.replace((attempt, peer, ticket)) {
                state.tickets.remove(&old);
            }
            state.tickets.insert(ticket, connection);
        }
        GatewayReply::Begin { attempt, peer, ticket }
    }

    /// Lets an attempt reveal its result, if the run permits it; otherwise the run ends. A request that is repeated
    /// because its answer was lost counts once.
    fn reveals(&self, partition: u32, attempt: u8) -> GatewayReply {
        let mut state = self.state();
        let (Some(slots), Some(standing)) = (state.slots.clone(), state.standing.clone()) else {
            return GatewayReply::Wait;
        };
        let task = state.tasks.get_mut(&partition);
        let Some(task) = task.filter(|task| task.begun.is_some_and(|(begun, ..)| begun == attempt))
        else {
            return GatewayReply::Again;
        };
        if !task.reveals {
            if let Err(error) = standing.reveal_partition(partition) {
                slots.fail(error);
                return refused("the run may not reveal this partition again");
            }
            task.reveals = true;
        }
        GatewayReply::Good
    }

    fn found(&self, partition: u32, attempt: u8, matches: Option<u64>) -> GatewayReply {
        let Some(slots) = self.slots() else { return GatewayReply::Wait };
        let mut state = self.state();
        let most = state.work.as_ref().map_or(0, |work| work.sizes[usize::from(work.receives)]);
        if matches.is_some() != self.wanted.learns
            || matches.is_some_and(|matches| matches > most)
            || attempt == 0
            || attempt > MOST_ATTEMPTS
        {
            return refused("not a valid result of an attempt");
        }
        let Some(task) = state.tasks.get_mut(&partition) else { return GatewayReply::Again };
        if task.begun.is_none_or(|(begun, ..)| begun != attempt) {
            return GatewayReply::Again;
        }
        (task.found, task.asked) = (true, Instant::now());
        // The gateway sees no rows.
        let piece = matches.map(|matches| RowsPiece::counted(matches).encode());
        slots.found(partition, attempt, piece.unwrap_or_default());
        GatewayReply::Good
    }

    fn here(&self, is_staged: bool) -> GatewayReply {
        {
            let mut state = self.state();
            state.heard = Some(Instant::now());
            if state.counted.is_none() && state.ended.is_none() {
                // This gateway was restarted.
                return GatewayReply::Again;
            }
            if is_staged && state.compared {
                state.staged = true;
                self.changed.notify_all();
            }
        }
        self.patiently(|_| None::<()>);
        self.ended().unwrap_or(GatewayReply::Wait)
    }
}

fn refused(reason: &str) -> GatewayReply {
    GatewayReply::Refused { reason: reason.to_owned() }
}

/// Returns the first line of a cluster's message, safe to show.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    shown(line).chars().take(LONGEST_REASON).collect()
}
