//! The gateway's side of its own cluster: the driver, its slots, and tasks.

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
        ANSWER, ASK, ASKS, Answer, Ask, Counted, JOINS, KeysWanted, LONGEST, TICKET, Token, Work,
    },
    state::{End, State, Task},
};

/// How long an answer may take that is only to ask again.
const ANSWERS: Duration = Duration::from_secs(3);

/// How long a caller may take for its handshake, and then for its question.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a question and its answer may take in all.
const EXCHANGE: Duration = Duration::from_secs(60);

/// The interval between two looks at callers.
const PAUSE: Duration = Duration::from_millis(5);

/// Connections at a time.
const CONNECTIONS: usize = 1 << 10;

/// A task that has not asked for so long is gone.
const GONE: Duration = Duration::from_secs(10);

/// A driver that has not asked for so long is gone.
const DRIVER_GONE: Duration = Duration::from_secs(120);

/// The longest text of a cluster that is shown, in bytes.
const LONGEST_REASON: usize = 300;

/// The cluster of this side.
pub(super) struct Cluster {
    wanted: KeysWanted,
    state: Mutex<State>,
    changed: Condvar,
    /// Ends connections that are passed on.
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

    /// Listens until somebody cancels; tells who was turned away.
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
                            // Who cannot be answered asks again.
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
            let reason = format!("nothing was heard of its driver for {} s", DRIVER_GONE.as_secs());
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

    /// Waits for what the driver counted.
    pub(super) fn counted(&self, cancel: &CancelToken) -> Result<Counted> {
        self.wait_for(cancel, |state| state.counted.clone())
    }

    /// Waits until the driver has everything where it stays.
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

    /// A session begins to compare partitions.
    pub(super) fn start(&self, work: Work, slots: Arc<Slots>, standing: Standing) {
        let mut state = self.state();
        if let Some(reason) = &state.stopped {
            slots.fail(Error::Cluster { reason: reason.clone() });
        }
        // What is done was kept, although the slot may not have heard of that.
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

    /// All partitions are done.
    pub(super) fn compared(&self) {
        self.state().compared = true;
    }

    /// A session was lost, and another one may come.
    pub(super) fn pause(&self) {
        let mut state = self.state();
        (state.slots, state.standing) = (None, None);
        state.tasks.clear();
        state.tickets.clear();
    }

    /// Tells the driver how the run ended, if it asks within this time.
    pub(super) fn end(&self, end: End, patience: Duration) {
        self.state().ended = Some((end, false));
        let until = Instant::now() + patience;
        while Instant::now() < until && !self.state().ended.as_ref().is_some_and(|(_, told)| *told)
        {
            thread::sleep(PAUSE);
        }
    }

    /// Whether a driver has ever asked.
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
            return Err(channel.malformed(ASK, "neither a question nor an attempt").into());
        }
        let asked = channel.recv_len(ASK, LONGEST)?;
        let ask = serde_json::from_slice::<Ask>(&asked);
        let is_driver =
            ask.as_ref().is_ok_and(|ask| !matches!(ask, Ask::Ready { .. } | Ask::Found { .. }));
        let is_last = matches!(ask, Ok(Ask::Here { .. }));
        let answer = match ask {
            Ok(ask) => self.answer(ask),
            Err(_) => refused("it is no question of this version of the program"),
        };
        let encoded = serde_json::to_vec(&answer).map_err(|_| Error::bug("an answer has JSON"))?;
        let encoded = Zeroizing::new(encoded);
        channel.send(ANSWER, &encoded)?;
        channel.finish()?;
        // Tasks are told how the run ended too, and a task that Spark began twice may ask before the driver does. A slot of
        // the driver takes success for the end of its work, and the driver then asks for the report with `Here`.
        let is_told = match answer {
            Answer::Ended { .. } => is_last,
            Answer::Failed { .. } => is_driver,
            _ => false,
        };
        if is_told && let Some((_, told)) = &mut self.state().ended {
            *told = true;
        }
        Ok(())
    }

    /// Passes on the bytes of an attempt.
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

    fn answer(&self, ask: Ask) -> Answer {
        match ask {
            Ask::Keys { version } if version != WIRE_VERSION => refused(
                "the gateway and the package in the cluster are of different versions: install the same",
            ),
            Ask::Keys { .. } => self.ended().unwrap_or_else(|| Answer::Keys(self.wanted.clone())),
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
                Answer::Good
            }
        }
    }

    /// How the run ended, if it has.
    fn ended(&self) -> Option<Answer> {
        let state = self.state();
        let (end, _) = state.ended.as_ref()?;
        Some(match end {
            End::Succeeded { report, record, shortfalls } => Answer::Ended {
                report: report.clone(),
                record: record.clone(),
                shortfalls: shortfalls.clone(),
            },
            End::Failed { class, reason, report } => {
                Answer::Failed { class: *class, reason: reason.clone(), report: report.clone() }
            }
        })
    }

    fn slots(&self) -> Option<Arc<Slots>> {
        self.state().slots.clone()
    }

    /// The slots of the session in which this partition may be compared, or what is answered at once.
    fn slots_for(&self, partition: u32) -> std::result::Result<Arc<Slots>, Answer> {
        if let Some(ended) = self.ended() {
            return Err(ended);
        }
        let Some(slots) = self.slots() else {
            self.patiently(|state| state.slots.as_ref().map(drop));
            return Err(Answer::Wait);
        };
        let count = self.state().work.as_ref().map_or(0, |work| work.partitions);
        if partition < count { Ok(slots) } else { Err(refused("there is no such partition")) }
    }

    fn work(&self, counted: Counted, busy: Vec<(u32, u32)>) -> Answer {
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
                        "the driver counted something else before: start the gateway again",
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
            .map_or(Answer::Wait, |work| Answer::Work(Box::new(work)))
    }

    /// Looks again and again for as long as an answer may take; the end of the run answers everything.
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

    fn next(&self, slot: u32) -> Answer {
        if let Some(ended) = self.ended() {
            return ended;
        }
        let slots = {
            let mut state = self.state();
            state.heard = Some(Instant::now());
            // An answer may have been lost.
            if let Some(partition) = state.assigned.get(&slot) {
                return Answer::Partition(*partition);
            }
            if state.compared {
                return Answer::Over;
            }
            state.slots.clone()
        };
        let Some(slots) = slots else {
            self.patiently(|state| state.slots.as_ref().map(drop));
            return Answer::Wait;
        };
        match slots.next(ANSWERS) {
            Waited::Here(partition) => {
                self.state().assigned.insert(slot, partition);
                Answer::Partition(partition)
            }
            Waited::NotYet => Answer::Wait,
            Waited::Never if self.state().compared => Answer::Over,
            Waited::Never => {
                thread::sleep(PAUSE);
                Answer::Wait
            }
        }
    }

    fn kept(&self, slot: u32, partition: u32) -> Answer {
        let slots = match self.slots_for(partition) {
            Ok(slots) => slots,
            Err(answer) => return answer,
        };
        let mut state = self.state();
        if state.assigned.get(&slot) == Some(&partition) {
            state.assigned.remove(&slot);
            slots.kept(partition);
        }
        Answer::Good
    }

    fn ready(&self, partition: u32, prepared: Prepared) -> Answer {
        let slots = match self.slots_for(partition) {
            Ok(slots) => slots,
            Err(answer) => return answer,
        };
        if slots.is_done(partition) {
            return Answer::Over;
        }
        {
            let mut state = self.state();
            match state.tasks.get_mut(&partition) {
                Some(task) if task.prepared.fingerprint == prepared.fingerprint => {
                    task.asked = Instant::now();
                    if let Some((attempt, peer, ticket)) = task.begun {
                        return Answer::Begin { attempt, peer, ticket };
                    }
                }
                // A second task for the same partition waits until the first one is gone.
                Some(task)
                    if task.joined
                        || (task.begun.is_none() || task.found) && task.asked.elapsed() < GONE =>
                {
                    drop(state);
                    thread::sleep(Duration::from_millis(500));
                    return Answer::Wait;
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
            Waited::NotYet => return Answer::Wait,
            Waited::Never if slots.is_done(partition) => return Answer::Over,
            Waited::Never => {
                thread::sleep(PAUSE);
                return Answer::Wait;
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
        Answer::Begin { attempt, peer, ticket }
    }

    /// Lets an attempt reveal what it found, if the run may; otherwise the run ends. A question that is asked twice, because
    /// its answer was lost, counts once.
    fn reveals(&self, partition: u32, attempt: u8) -> Answer {
        let mut state = self.state();
        let (Some(slots), Some(standing)) = (state.slots.clone(), state.standing.clone()) else {
            return Answer::Wait;
        };
        let task = state.tasks.get_mut(&partition);
        let Some(task) = task.filter(|task| task.begun.is_some_and(|(begun, ..)| begun == attempt))
        else {
            return Answer::Again;
        };
        if !task.reveals {
            if let Err(error) = standing.reveal_partition(partition) {
                slots.fail(error);
                return refused("the run may not reveal this partition again");
            }
            task.reveals = true;
        }
        Answer::Good
    }

    fn found(&self, partition: u32, attempt: u8, matches: Option<u64>) -> Answer {
        let Some(slots) = self.slots() else { return Answer::Wait };
        let mut state = self.state();
        let most = state.work.as_ref().map_or(0, |work| work.sizes[usize::from(work.receives)]);
        if matches.is_some() != self.wanted.learns
            || matches.is_some_and(|matches| matches > most)
            || attempt == 0
            || attempt > MOST_ATTEMPTS
        {
            return refused("not what an attempt finds");
        }
        let Some(task) = state.tasks.get_mut(&partition) else { return Answer::Again };
        if task.begun.is_none_or(|(begun, ..)| begun != attempt) {
            return Answer::Again;
        }
        (task.found, task.asked) = (true, Instant::now());
        // The gateway sees no rows.
        let piece = matches.map(|matches| RowsPiece::counted(matches).encode());
        slots.found(partition, attempt, piece.unwrap_or_default());
        Answer::Good
    }

    fn here(&self, is_staged: bool) -> Answer {
        {
            let mut state = self.state();
            state.heard = Some(Instant::now());
            if state.counted.is_none() && state.ended.is_none() {
                // This gateway was started again.
                return Answer::Again;
            }
            if is_staged && state.compared {
                state.staged = true;
                self.changed.notify_all();
            }
        }
        self.patiently(|_| None::<()>);
        self.ended().unwrap_or(Answer::Wait)
    }
}

fn refused(reason: &str) -> Answer {
    Answer::Refused { reason: reason.to_owned() }
}

/// The first line of what a cluster says, safe to show.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    shown(line).chars().take(LONGEST_REASON).collect()
}
