//! The channels of one party to all others.

use vesica_net::{Channel, Result};

/// A party's channels to all others, one for each.
pub struct Mesh<'a> {
    me: usize,
    channels: &'a mut [Channel],
}

impl<'a> Mesh<'a> {
    /// Creates the mesh of party `me`, from channels to all others in the order of their numbers.
    ///
    /// # Panics
    /// If there are fewer channels than parties before this one.
    pub fn new(me: usize, channels: &'a mut [Channel]) -> Self {
        assert!(me <= channels.len(), "party {me} has a channel to each other party");
        Self { me, channels }
    }

    /// This party's number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// The channel to another party.
    ///
    /// # Panics
    /// If `party` is this party, or none.
    pub fn to(&mut self, party: usize) -> &mut Channel {
        assert!(party != self.me, "a party has no channel to itself");
        &mut self.channels[party - usize::from(party > self.me)]
    }

    /// Calls `talk` for each other party, in the order of their numbers.
    ///
    /// # Errors
    /// The first error of `talk`.
    pub fn with_each(
        &mut self,
        mut talk: impl FnMut(usize, &mut Channel) -> Result<()>,
    ) -> Result<()> {
        for (i, channel) in self.channels.iter_mut().enumerate() {
            talk(i + usize::from(i >= self.me), channel)?;
        }
        Ok(())
    }

    /// Shows all other parties that this one is still at work. Call it between long steps with one of them.
    ///
    /// # Errors
    /// Same as [`Channel::keep_alive`].
    pub fn keep_alive(&mut self) -> Result<()> {
        self.with_each(|_, channel| channel.keep_alive())
    }

    /// Bytes that this party has sent to all others, as the channels' meters count them.
    pub fn sent(&self) -> u64 {
        self.channels.iter().map(|channel| channel.meter().sent()).sum()
    }
}
