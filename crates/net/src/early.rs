//! Messages that are inspected before they are received.

use crate::{Channel, Result};

impl Channel {
    /// Waits for a message and shows it, before this party sends anything that depends on it. The next
    /// [`Channel::recv_len`] with this label receives it.
    ///
    /// # Errors
    /// Same as [`Channel::recv_len`].
    pub fn await_message(&mut self, label: &'static str, max: usize) -> Result<&[u8]> {
        let message = self.recv_len(label, max)?;
        Ok(&self.early.insert((label, message)).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::memory;

    #[test]
    fn a_message_is_shown_and_then_received_once() {
        let (here, there) = memory::pair();
        let (mut here, mut there) = (Channel::new(here), Channel::new(there));
        there.send("first", b"1").unwrap();
        there.send("second", b"2").unwrap();
        there.flush().unwrap();
        assert_eq!(here.await_message("first", 10).unwrap(), b"1");
        assert_eq!(here.recv_len("first", 10).unwrap(), b"1");
        assert_eq!(here.recv_len("second", 10).unwrap(), b"2");
    }
}
