//! The channels of one party to all others.
//!
//! Parties have numbers, which all of them know. Everything on a channel stays between its two ends; a mesh adds steps
//! that all parties take together.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{AbortReason, Channel, Deviation, Result};

/// The interval at which the other parties are kept from giving up.
const PULSE: Duration = Duration::from_millis(200);

/// A party's channels to all others, one for each.
pub struct Mesh<'a> {
    me: usize,
    channels: Vec<&'a mut Channel>,
}

/// A mesh without the channel to one party, which somebody else uses.
pub struct PartialMesh<'a> {
    rest: Mesh<'a>,
    without: usize,
}

impl<'a> Mesh<'a> {
    /// Creates the mesh of party `me`, from channels to all others in the order of their numbers.
    ///
    /// # Panics
    /// If there are fewer channels than parties before this one.
    pub fn new(me: usize, channels: impl IntoIterator<Item = &'a mut Channel>) -> Self {
        let channels: Vec<_> = channels.into_iter().collect();
        assert!(me <= channels.len(), "party {me} has a channel to each other party");
        Self { me, channels }
    }

    /// Takes the channel to a party out of the mesh.
    ///
    /// # Panics
    /// If `party` is this party, or none.
    pub fn without(mut self, party: usize) -> (&'a mut Channel, PartialMesh<'a>) {
        let channel = self.channels.remove(self.place(party));
        (channel, PartialMesh { rest: self, without: party })
    }

    /// Returns this party's number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns the number of parties.
    pub fn parties(&self) -> usize {
        self.channels.len() + 1
    }

    /// Returns the numbers of the other parties, ascending.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.parties()).filter(move |party| *party != me)
    }

    /// Returns the channel to another party.
    ///
    /// # Panics
    /// If `party` is this party, or none.
    pub fn to(&mut self, party: usize) -> &mut Channel {
        let place = self.place(party);
        self.channels[place]
    }

    /// Returns the place of another party's channel.
    fn place(&self, party: usize) -> usize {
        assert!(party != self.me, "a party has no channel to itself");
        party - usize::from(party > self.me)
    }

    /// Calls `talk` for each other party, in the order of their numbers.
    ///
    /// # Errors
    /// The first error of `talk`.
    pub fn with_each(
        &mut self,
        mut talk: impl FnMut(usize, &mut Channel) -> Result<()>,
    ) -> Result<()> {
        for party in self.others() {
            talk(party, self.to(party))?;
        }
        Ok(())
    }

    /// Calls `talk` with the channel to one party, and meanwhile shows the others that this party is still at work.
    /// If one of them is gone, the next step with that party says so.
    pub fn talk<T>(&mut self, party: usize, talk: impl FnOnce(&mut Channel) -> T) -> T {
        let place = self.place(party);
        let (before, rest) = self.channels.split_at_mut(place);
        let Some((channel, after)) = rest.split_first_mut() else {
            unreachable!("each other party has a channel");
        };
        let others = before.iter_mut().chain(after).map(|other| &mut **other).collect();
        pulsed(others, || talk(channel))
    }

    /// Calls `work`, and meanwhile shows all other parties that this one is still at work. If one of them is gone, the
    /// next step with that party says so.
    pub fn meanwhile<T>(&mut self, work: impl FnOnce() -> T) -> T {
        pulsed(self.channels.iter_mut().map(|other| &mut **other).collect(), work)
    }

    /// Sends a message to all other parties, and receives one of the same length from each. The result has a place for
    /// each party, with this party's own message at its number.
    ///
    /// # Errors
    /// As [`Channel::send`] and [`Channel::recv_into`].
    pub fn all<const N: usize>(
        &mut self,
        label: &'static str,
        mine: [u8; N],
    ) -> Result<Vec<[u8; N]>> {
        self.tell(label, &mine)?;
        let mut all = vec![mine; self.parties()];
        for party in self.others() {
            self.talk(party, |channel| channel.recv_into(label, &mut all[party]))?;
        }
        Ok(all)
    }

    /// Compares a value with all other parties, and binds the session with each of them to it.
    ///
    /// # Errors
    /// As [`Mesh::all`], and a `deviation` of the first party with another value.
    pub fn agree<const N: usize>(
        &mut self,
        label: &'static str,
        mine: [u8; N],
        deviation: Deviation,
    ) -> Result<()> {
        let all = self.all(label, mine)?;
        if let Some(party) = all.iter().position(|theirs| *theirs != mine) {
            return Err(self.to(party).deviation(deviation));
        }
        self.bind(label, &mine);
        Ok(())
    }

    /// As [`Mesh::all`], for messages of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Channel::send`] and [`Channel::recv_len`].
    pub fn all_texts(
        &mut self,
        label: &'static str,
        mine: &[u8],
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        self.tell(label, mine)?;
        let mut all = vec![mine.to_vec(); self.parties()];
        for party in self.others() {
            all[party] = self.talk(party, |channel| channel.recv_len(label, most))?;
        }
        Ok(all)
    }

    /// Sends a message to all other parties.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn tell(&mut self, label: &'static str, message: &[u8]) -> Result<()> {
        self.with_each(|_, channel| {
            channel.send(label, message)?;
            channel.flush()
        })
    }

    /// Waits until all other parties have sent an empty message of this label.
    ///
    /// # Errors
    /// As [`Channel::recv_into`].
    pub fn hear(&mut self, label: &'static str) -> Result<()> {
        for party in self.others() {
            self.talk(party, |channel| channel.recv_into(label, &mut []))?;
        }
        Ok(())
    }

    /// Enters a phase on all channels.
    pub fn phase(&mut self, name: &'static str) {
        self.channels.iter_mut().for_each(|channel| channel.phase(name));
    }

    /// Binds the session with each other party to a fact that all know, and to the two parties' numbers.
    pub fn bind(&mut self, label: &'static str, fact: &[u8]) {
        for party in self.others() {
            let pair =
                [self.me.min(party), self.me.max(party)].map(|end| (end as u64).to_le_bytes());
            self.to(party).bind(label, &[fact, &pair[0], &pair[1]].concat());
        }
    }

    /// Shows all other parties that this one is still at work. Call it during long steps.
    ///
    /// # Errors
    /// As [`Channel::keep_alive`].
    pub fn keep_alive(&mut self) -> Result<()> {
        self.with_each(|_, channel| channel.keep_alive())
    }

    /// Ends the run in order, as [`Channel::finish`] does, with all parties.
    ///
    /// # Errors
    /// As [`Channel::finish`].
    pub fn finish(&mut self) -> Result<()> {
        self.with_each(|_, channel| channel.finish())
    }

    /// Gives all other parties the reason why this one stops, as [`Channel::abort`] does.
    pub fn abort(&mut self, reason: AbortReason) {
        thread::scope(|scope| {
            for channel in &mut self.channels {
                scope.spawn(move || channel.abort(reason));
            }
        });
    }

    /// Returns the number of the first party that has stopped or closed its connection, if one has.
    pub fn gone(&self) -> Option<usize> {
        self.others().find(|party| self.channels[self.place(*party)].is_gone())
    }

    /// Returns the bytes that this party has sent to all others, as the channels' meters count them.
    pub fn sent(&self) -> u64 {
        self.channels.iter().map(|channel| channel.meter().sent()).sum()
    }
}

impl PartialMesh<'_> {
    /// Returns the number of the party whose channel is elsewhere.
    pub fn missing(&self) -> usize {
        self.without
    }

    /// Returns the channels that are there.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.rest.channels.iter().map(|channel| &**channel)
    }

    /// Returns the whole mesh again, with the channel to the missing party.
    pub fn with<'b>(&'b mut self, channel: &'b mut Channel) -> Mesh<'b> {
        let Self { rest, without } = self;
        let me = rest.me;
        let mut channels: Vec<_> = rest.channels.iter_mut().map(|other| &mut **other).collect();
        channels.insert(*without - usize::from(*without > me), channel);
        Mesh { me, channels }
    }
}

/// Calls `work`, and meanwhile keeps the parties at the ends of these channels from giving up.
fn pulsed<T>(mut others: Vec<&mut Channel>, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let pulse = || {
            while !is_over.load(Ordering::Relaxed) {
                // A channel that fails is not used any more here.
                others.retain_mut(|other| other.keep_alive().is_ok());
                thread::park_timeout(PULSE);
            }
        };
        // Without a thread the others wait as long as they are willing to.
        let started = thread::Builder::new().name("vesica-pulse".to_owned());
        let pulse = started.spawn_scoped(scope, pulse).ok();
        let _over = OnDrop(|| {
            is_over.store(true, Ordering::Relaxed);
            pulse.iter().for_each(|pulse| pulse.thread().unpark());
        });
        work()
    })
}

/// Calls a function when it is dropped, even by a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::memory;

    #[test]
    fn parties_that_wait_do_not_give_up_during_long_work() {
        const PATIENCE: Duration = Duration::from_secs(2);
        let (mine, theirs) = memory::pair();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut channel = Channel::new(theirs).with_stall_timeout(PATIENCE);
                channel.recv_into("late", &mut []).unwrap();
            });
            let mut channel = Channel::new(mine);
            let mut mesh = Mesh::new(0, [&mut channel]);
            mesh.meanwhile(|| thread::sleep(PATIENCE * 3 / 2));
            mesh.tell("late", &[]).unwrap();
        });
    }
}
