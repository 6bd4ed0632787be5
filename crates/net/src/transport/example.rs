//! The transport that `docs/developing/extending.md` shows: a socket between two processes of one machine.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
};

use super::POLL_INTERVAL;

/// A local socket.
pub struct Local(UnixStream);

impl Local {
    /// Returns the transport over a connected socket.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        // So a call returns `WouldBlock` when nothing can be moved.
        socket.set_read_timeout(Some(POLL_INTERVAL))?;
        socket.set_write_timeout(Some(POLL_INTERVAL))?;
        Ok(Self(socket))
    }
}

impl Read for Local {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Local {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_channel_runs_over_a_local_socket() {
    let (a, b) = UnixStream::pair().unwrap();
    let [mut a, mut b] = [a, b].map(|socket| crate::Channel::new(Local::new(socket).unwrap()));
    a.send("example/greeting", b"hello").unwrap();
    a.flush().unwrap();
    let mut greeting = [0; 5];
    b.recv_into("example/greeting", &mut greeting).unwrap();
    assert_eq!(&greeting, b"hello");
}
