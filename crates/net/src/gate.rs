//! The gate of a channel, called before its party reveals anything.

use std::io;

/// A function that decides whether a party may go on to reveal something about its items.
pub type Gate = Box<dyn FnMut() -> io::Result<()> + Send>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Error, transport::memory};

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
