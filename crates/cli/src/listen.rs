//! Waiting for the other side where anybody may call.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use vesica_net::{
    CancelToken, Error, Fingerprint, Identity, Result,
    transport::{
        tcp::{self, Tcp},
        tls::{self, Tls},
    },
};

/// The longest that one caller may take to say who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Callers that are asked at a time. More have to wait, and so cannot use up threads.
const AT_ONCE: usize = 16;

/// How long to wait between two looks for a caller.
const PAUSE: Duration = Duration::from_millis(20);

/// Callers that a line is said about; there may be any number of them.
const MOST_LINES: usize = 20;

/// How long a listening party waits, and for whom.
pub struct Wait<'a> {
    pub me: &'a Identity,
    pub peer: &'a Fingerprint,
    /// For the other side to appear.
    pub appear: Duration,
    /// Without a sign of life of a caller.
    pub stall: Duration,
}

impl Wait<'_> {
    /// Accepts callers until one of them is the other side. Each is asked on its own, so that none
    /// keeps others waiting; those that fail are turned away with a line on why.
    ///
    /// # Errors
    /// When time is up: who came last in place of the other side, if it showed another identity or
    /// refused this one; [`Error::NobodyCame`] otherwise. [`Error::Cancelled`] and [`Error::Io`].
    pub fn accept(&self, listener: &tcp::Listener, cancel: &CancelToken) -> Result<Tls> {
        // Who has been asked when the other side is found need not be heard to the end.
        let enough = CancelToken::default();
        thread::scope(|scope| {
            let (say, answers) = mpsc::channel();
            let ask = |caller: Tcp| {
                let (say, enough) = (say.clone(), enough.clone());
                let patience = self.stall.min(HANDSHAKE);
                scope.spawn(move || {
                    let answer = tls::server(caller, self.me, self.peer, patience, &enough);
                    // Nobody listens any more where another caller was the one.
                    let _ = say.send(answer);
                });
            };
            let found = self.choose(listener, cancel, &answers, ask);
            enough.cancel();
            found
        })
    }

    fn choose(
        &self,
        listener: &tcp::Listener,
        cancel: &CancelToken,
        answers: &mpsc::Receiver<Result<Tls>>,
        ask: impl Fn(Tcp),
    ) -> Result<Tls> {
        let started = Instant::now();
        let (mut asked, mut turned_away, mut impostor) = (0, 0, None);
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: "connect" });
            }
            let in_time = started.elapsed() < self.appear;
            if in_time && asked < AT_ONCE {
                match listener.accept(Duration::ZERO, cancel) {
                    Ok(caller) => {
                        ask(caller);
                        asked += 1;
                    }
                    Err(Error::NobodyCame { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if !in_time && asked == 0 {
                let address = listener.local_addr().to_string();
                let nobody = Error::NobodyCame { address, after: self.appear };
                return Err(impostor.unwrap_or(nobody));
            }
            match answers.recv_timeout(PAUSE) {
                Ok(Ok(tls)) => return Ok(tls),
                Ok(Err(error)) => {
                    asked -= 1;
                    turned_away += 1;
                    turn_away(&error, turned_away);
                    if matches!(error, Error::WrongPeer { .. } | Error::Refused { .. }) {
                        impostor = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

fn turn_away(error: &Error, count: usize) {
    if count <= MOST_LINES {
        crate::say(&format!("vesica: turned a caller away and still waiting: {error}"));
    }
    if count == MOST_LINES {
        crate::say("vesica: more callers like that are turned away without a word");
    }
}
