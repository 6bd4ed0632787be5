//! The gate of a channel, which is asked before its party reveals anything.

use std::io;

use crate::{Channel, Error, Result};

/// A function that decides whether a party may reveal what it is about to.
pub type Gate = Box<dyn FnMut() -> io::Result<()> + Send>;

impl Channel {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::memory;

    #[test]
    fn a_gate_is_asked_until_it_opens() {
        let (one, _other) = memory::pair();
        let mut channel = Channel::new(one);
        channel.reveal().unwrap();
        let mut asked = 0;
        channel.set_gate(Some(Box::new(move || {
            asked += 1;
            if asked == 2 { Ok(()) } else { Err(io::Error::other(format!("asked {asked}"))) }
        })));
        let refused = channel.reveal().unwrap_err();
        assert!(matches!(refused, Error::Io { source, .. } if source.to_string() == "asked 1"));
        channel.reveal().unwrap();
        channel.reveal().unwrap();
    }
}
