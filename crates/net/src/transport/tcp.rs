//! TCP, for two processes on a network.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    thread,
    time::{Duration, Instant},
};

use super::POLL_INTERVAL;
use crate::{CancelToken, Error, Result, meter::CONNECT};

/// The longest time that one attempt to connect takes: enough for a second try by the operating system. A
/// cancelled party waits up to this long.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The interval between two checks for a peer.
const PAUSE: Duration = Duration::from_millis(20);

/// One end of a TCP connection. Not encrypted: see [`super::tls`].
#[derive(Debug)]
pub struct Tcp {
    stream: TcpStream,
}

impl Tcp {
    /// The channel gathers messages already, so TCP must not hold them back; and no operation may block for
    /// more than a poll interval.
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        Ok(Self { stream })
    }

    /// Another handle on the same connection.
    pub(crate) fn handle(&self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.try_clone()? })
    }

    /// Sets whether an operation, through any handle, waits for a [poll interval](POLL_INTERVAL) or not at all.
    pub(crate) fn set_waiting(&self, waits: bool) -> io::Result<()> {
        self.stream.set_nonblocking(!waits)
    }

    /// Whether there is something to read, including the end of the stream.
    ///
    /// # Errors
    /// [Blocked](super::is_blocked) if there is not.
    pub(crate) fn peek(&self) -> io::Result<()> {
        self.stream.peek(&mut [0]).map(|_| ())
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// The operating system's error if the connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl Read for Tcp {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buf)
    }
}

impl Write for Tcp {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Connects to a party that listens at `host:port`, or will listen within `patience`. All addresses
/// of the host are tried in turn.
///
/// # Errors
/// [`Error::Resolve`], [`Error::Unreachable`] and [`Error::Cancelled`].
pub fn connect(addr: &str, patience: Duration, cancel: &CancelToken) -> Result<Tcp> {
    let started = Instant::now();
    loop {
        let left = patience.saturating_sub(started.elapsed());
        match attempt(addr, left, cancel) {
            Err(Error::Unreachable { address, source, .. }) if started.elapsed() >= patience => {
                return Err(Error::Unreachable { address, after: patience, source });
            }
            Err(Error::Unreachable { .. }) => thread::sleep(PAUSE),
            ended => return ended,
        }
    }
}

/// Tries each address of the host once, for at most two seconds and no longer than `left`.
///
/// # Errors
/// Same as [`connect`].
pub(crate) fn attempt(addr: &str, left: Duration, cancel: &CancelToken) -> Result<Tcp> {
    let started = Instant::now();
    let mut last = io::ErrorKind::TimedOut.into();
    for address in resolve(addr)? {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: CONNECT });
        }
        match TcpStream::connect_timeout(&address, left.clamp(PAUSE, ATTEMPT))
            .and_then(not_to_itself)
        {
            Ok(stream) => return Tcp::new(stream).map_err(|e| Error::from_io(e, CONNECT)),
            Err(error) => last = error,
        }
    }
    Err(Error::Unreachable { address: addr.to_owned(), after: started.elapsed(), source: last })
}

/// Refuses a socket that is connected to itself. If nobody listens at a port of this machine yet, the operating system
/// may pick that very port as the near end.
fn not_to_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

fn resolve(addr: &str) -> Result<Vec<SocketAddr>> {
    let failed = |source| Error::Resolve { address: addr.to_owned(), source };
    let addresses: Vec<_> = addr.to_socket_addrs().map_err(failed)?.collect();
    if addresses.is_empty() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    Ok(addresses)
}

/// A party that waits for a connection.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at `host:port`; port 0 lets the operating system choose one.
    ///
    /// # Errors
    /// [`Error::Resolve`], and [`Error::Bind`] if the address is taken or does not belong to this machine.
    pub fn bind(addr: &str) -> Result<Self> {
        let bind = |addresses: &[SocketAddr]| {
            let listener = TcpListener::bind(addresses)?;
            // `accept` has no timeout, so it is polled.
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        bind(&resolve(addr)?).map_err(|source| Error::Bind { address: addr.to_owned(), source })
    }

    /// The address it listens at, including the chosen port.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A new connection, if there is one; it [does not wait](Tcp::set_waiting).
    pub(crate) fn next(&self) -> io::Result<Option<(Tcp, SocketAddr)>> {
        match self.listener.accept() {
            Ok((stream, from)) => {
                let tcp = Tcp::new(stream)?;
                tcp.set_waiting(false)?;
                Ok(Some((tcp, from)))
            }
            Err(error)
                if super::is_blocked(&error)
                    || error.kind() == io::ErrorKind::ConnectionAborted =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for a connection from anyone; [`super::tls`] authenticates it.
    ///
    /// # Errors
    /// [`Error::NobodyCame`] within `patience`, [`Error::Cancelled`], and [`Error::Io`].
    pub fn accept(&self, patience: Duration, cancel: &CancelToken) -> Result<Tcp> {
        let started = Instant::now();
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: CONNECT });
            }
            let next = self.next().and_then(|next| {
                next.map(|(tcp, _)| tcp.set_waiting(true).map(|()| tcp)).transpose()
            });
            if let Some(tcp) = next.map_err(|e| Error::from_io(e, CONNECT))? {
                return Ok(tcp);
            }
            if started.elapsed() >= patience {
                let address = self.address.to_string();
                return Err(Error::NobodyCame { address, after: patience });
            }
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn an_address_without_a_port_or_with_an_unknown_host_is_named() {
        for addr in ["localhost", "", "localhost:notaport", "host.invalid:80"] {
            let error = connect(addr, SHORT, &CancelToken::default()).unwrap_err();
            assert!(matches!(&error, Error::Resolve { address, .. } if address == addr), "{error}");
            assert!(matches!(Listener::bind(addr), Err(Error::Resolve { .. })));
        }
    }

    #[test]
    fn nobody_there_is_said_with_the_address_and_the_time() {
        let free = Listener::bind("127.0.0.1:0").unwrap().local_addr().to_string();
        let started = Instant::now();
        let error = connect(&free, SHORT, &CancelToken::default()).unwrap_err();
        assert!(started.elapsed() >= SHORT);
        assert!(error.to_string().starts_with(&format!("nobody answered at {free} within 0.2 s")));
    }

    #[test]
    fn nobody_coming_is_said_with_the_address_and_the_time() {
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let error = listener.accept(SHORT, &CancelToken::default()).unwrap_err();
        let expected = format!("nobody connected to {} within 0.2 s", listener.local_addr());
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_address_in_use_cannot_be_bound() {
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let again = Listener::bind(&listener.local_addr().to_string());
        assert!(matches!(again, Err(Error::Bind { .. })));
    }

    #[test]
    fn a_cancelled_party_neither_connects_nor_waits() {
        let cancel = CancelToken::default();
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().to_string();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| listener.accept(Duration::from_secs(60), &cancel));
            cancel.cancel();
            assert!(matches!(waiting.join().unwrap(), Err(Error::Cancelled { .. })));
        });
        let connected = connect(&addr, Duration::from_secs(60), &cancel);
        assert!(matches!(connected, Err(Error::Cancelled { .. })));
    }

    #[test]
    fn a_listener_that_comes_late_is_found_by_name_and_by_address() {
        for host in ["localhost", "127.0.0.1"] {
            let port = Listener::bind("localhost:0").unwrap().local_addr().port();
            let addr = format!("{host}:{port}");
            let patience = Duration::from_secs(20);
            thread::scope(|scope| {
                let connecting = scope.spawn(|| connect(&addr, patience, &CancelToken::default()));
                thread::sleep(SHORT);
                let bind = format!("127.0.0.1:{port}");
                let listener = Listener::bind(&bind).unwrap();
                let mut accepted = listener.accept(patience, &CancelToken::default()).unwrap();
                let mut connected = connecting.join().unwrap().unwrap();
                connected.write_all(b"hello").unwrap();
                let mut hello = [0; 5];
                accepted.read_exact(&mut hello).unwrap();
                assert_eq!(&hello, b"hello");
            });
        }
    }

    #[test]
    fn an_idle_connection_blocks_for_a_tick_only() {
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().to_string();
        let mut connected = connect(&addr, SHORT, &CancelToken::default()).unwrap();
        let error = connected.read(&mut [0]).unwrap_err();
        assert!(super::super::is_blocked(&error), "{error}");
    }
}
