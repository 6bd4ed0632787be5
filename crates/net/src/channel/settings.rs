//! Settings of a channel: its limits, its observers, and the facts about its session.

use std::time::Duration;

use super::Channel;
use crate::{Activity, CancelToken, Clock, Error, Gate, Result, SessionId, Turns};

impl Channel {
    /// Sets the time without any traffic after which the peer is considered lost.
    pub fn with_stall_timeout(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// The time without any traffic after which the peer is considered lost.
    pub fn stall_timeout(&self) -> Duration {
        self.stall
    }

    /// Excludes this much of the past time from the run's time, such as a wait before the run.
    pub fn leave_out(&mut self, time: Duration) {
        self.meter.leave_out(time);
    }

    /// Uses this token for cancellation.
    pub fn with_cancel_token(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// A handle that stops this channel from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Measures timeouts by this clock instead of the system's.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.last_send = clock.now();
        self.clock = clock;
        self
    }

    /// Ends the run with [`Error::Deadline`] if it is not over after this long, counted from now.
    pub fn with_deadline(mut self, after: Duration) -> Self {
        self.ends.run_after(after, self.clock.now());
        self
    }

    /// Ends the run with [`Error::TurnLost`] if `is_wanted` says that others wait and this party has waited for the
    /// peer for longer than `hold` plus a second for every 10,000 bytes that have moved. Time that this party computes
    /// does not count.
    pub fn with_turn(
        mut self,
        hold: Duration,
        is_wanted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.ends.give_turn(hold, is_wanted);
        self
    }

    /// Releases this thread's turn, one of `turns`, while the channel moves bytes or waits for them.
    pub fn share(&mut self, turns: Turns) {
        self.turns = turns;
    }

    /// Has [`Channel::reveal`] ask this gate once, or nothing.
    pub fn set_gate(&mut self, gate: Option<Gate>) {
        self.gate = gate;
    }

    /// Asks the gate, if there is one and it has not been passed yet. A party calls this before the first message
    /// from which the other party can learn something about this party's items.
    ///
    /// # Errors
    /// [`Error::Io`] with the gate's error; then nothing may be revealed.
    pub fn reveal(&mut self) -> Result<()> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        gate().map_err(|source| {
            self.gate = Some(gate);
            Error::Io { phase: self.meter.phase(), source }
        })
    }

    /// Calls `watcher` now and then while bytes are moved or awaited: at most five times a second, and not at
    /// all while this party computes. It replaces any previous watcher, and should return quickly.
    pub fn set_watcher(&mut self, watcher: impl FnMut(Activity) + Send + 'static) {
        self.watch.call(watcher);
    }

    /// Takes the state that an earlier protocol of this session [kept](Self::keep) for later ones, if it is a `T`.
    pub fn take_kept<T: Send + 'static>(&mut self) -> Option<T> {
        self.kept.take()?.downcast().ok().map(|kept| *kept)
    }

    /// Keeps this state for later protocols of this session. Both parties keep their parts of it at the same step.
    pub fn keep<T: Send + 'static>(&mut self, part: T) {
        self.kept = Some(Box::new(part));
    }

    /// The identifier of this session, derived from everything that both parties have [bound](Self::bind) to
    /// it.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns whether the peer is known to have stopped or closed the connection.
    pub fn is_gone(&self) -> bool {
        self.alone
    }

    /// Binds the session to a fact that both parties agree on. Both must bind the same facts in the same order, or
    /// checks fail and seeds differ from here on.
    pub fn bind(&mut self, label: &'static str, fact: &[u8]) {
        self.session.bind(label, fact);
    }
}
