//! The part of a party among several that listens during a run.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{Hello, Lobby, Server, reception::PAUSE, serve::Visit};
use crate::{CancelToken, Error, Result, meter::CONNECT};

/// The part of a party that listens: it answers the others, and joins those that cannot reach each other. When it is
/// dropped, it stops to listen at once, and to join parties after a short time.
pub struct Host {
    lobby: Arc<Lobby>,
    stop: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    /// Lets the callers of this server into the lobby.
    pub(super) fn start(server: Server, lobby: Lobby) -> Result<Self> {
        let (lobby, stop) = (Arc::new(lobby), CancelToken::default());
        let (callers, stopped) = (lobby.clone(), stop.clone());
        let thread = thread::Builder::new().name("vesica-host".to_owned());
        let thread = thread
            .spawn(move || receive(server, &callers, &stopped))
            .map_err(|source| Error::Io { phase: CONNECT, source })?;
        Ok(Self { lobby, stop, thread: Some(thread) })
    }

    pub(super) fn lobby(&self) -> &Lobby {
        &self.lobby
    }

    /// Waits until the parties that were joined have parted, up to this time.
    pub fn close(self, patience: Duration) {
        let started = Instant::now();
        let is_serving = || self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        self.stop.cancel();
        while is_serving() && started.elapsed() < patience {
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.cancel();
        // The thread ends by itself when the last pair has parted; nothing of it outlives the process.
        drop(self.thread.take());
    }
}

/// Answers callers until it is stopped, and then waits for the pairs that are joined.
fn receive(mut server: Server, lobby: &Arc<Lobby>, stop: &CancelToken) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !stop.is_cancelled() {
        let visit = server.turn(&mut |why| lobby.turn_away(why));
        threads.retain(|thread| !thread.is_finished());
        match visit {
            // Callers have authenticated; more than these at a time are not of parties that follow the protocol.
            Some(visit) if threads.len() < lobby.most_callers() => {
                let (lobby, stop) = (lobby.clone(), stop.clone());
                let hear = move || {
                    hear(visit, &lobby, &stop).unwrap_or_else(|why| lobby.turn_away(why));
                };
                // Without a thread, the caller finds its connection closed.
                threads.extend(thread::Builder::new().name("vesica-caller".to_owned()).spawn(hear));
            }
            Some(_) => {}
            None => thread::sleep(PAUSE),
        }
    }
    drop(server);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    lobby.close();
}

/// Hears for whom a party calls, and lets it into the lobby. One that does not say so leaves without a word.
fn hear(visit: Visit, lobby: &Lobby, stop: &CancelToken) -> Result<()> {
    let caller = visit.peer();
    let (mut connection, _heard) = visit.into_parts();
    match Hello::receive(&mut connection, stop) {
        Ok(hello) => lobby.place(caller, hello, connection),
        Err(_) => Ok(()),
    }
}
