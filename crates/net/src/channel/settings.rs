//! Settings of a channel: its limits, its observers, and the facts about its session.

use std::time::Duration;

use super::Channel;
use crate::{Activity, CancelToken, Clock, Error, Gate, Result, SessionId, Turns};

impl Channel {
    /// Gives up on a peer after this time without a byte moving.
    pub fn with_stall_timeout(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// The time without a byte after which the peer is given up.
    pub fn stall_timeout(&self) -> Duration {
        self.stall
    }

    /// Leaves this much of the time until now out of the time of the run, such as a wait before it begins.
    pub fn leave_out(&mut self, time: Duration) {
        self.meter.leave_out(time);
    }

    /// Uses this token for cancellation instead of one of its own.
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

    /// Ends the run with [`Error::TurnLost`] when others wait, as `is_wanted` says, and this party has waited for the
    /// peer for longer than `hold` and a second for every 10,000 bytes that have moved. Time that this party computes
    /// does not count.
    pub fn with_turn(
        mut self,
        hold: Duration,
        is_wanted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.ends.give_turn(hold, is_wanted);
        self
    }

    /// Gives away the turn of the thread that uses this channel, one of these turns, while bytes move or are awaited.
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

    /// Takes the part that an earlier protocol [kept](Self::keep) in this session for later ones, if it is a `T`.
    pub fn take_kept<T: Send + 'static>(&mut self) -> Option<T> {
        self.kept.take()?.downcast().ok().map(|kept| *kept)
    }

    /// Keeps this for later protocols of this session. Both parties keep their parts of the same, at the same time.
    pub fn keep<T: Send + 'static>(&mut self, part: T) {
        self.kept = Some(Box::new(part));
    }

    /// The identifier of this session, derived from everything that both parties have [bound](Self::bind) to
    /// it.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Binds the session to a fact that both parties agree on. Both must bind the same facts in the same order, or
    /// checks fail and seeds differ from here on.
    pub fn bind(&mut self, label: &'static str, fact: &[u8]) {
        self.session.bind(label, fact);
    }
}
