//! TLS 1.3 over any transport, with both parties known to each other by their fingerprints.
//!
//! There is no certificate authority: each party is given the other's [`Fingerprint`], and a peer that shows
//! a certificate with another one, or cannot sign with that certificate's key, is refused. There is no
//! resumption, no early data and no older version.
//!
//! In TLS 1.3 the client finishes before the server has verified the client's certificate. Each side's first
//! byte inside the tunnel is therefore a greeting, and a handshake has succeeded only when the other side's
//! greeting has arrived: a refusal is detected here and not in the middle of a run.

mod pin;

use std::{
    io::{self, BufReader, Read, Write},
    net::Ipv4Addr,
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection,
    client::{ResolvesClientCert, Resumption},
    pki_types::ServerName,
    server::{NoServerSessionStorage, ResolvesServerCert},
    sign::SingleCertAndKey,
    version::TLS13,
};

use self::pin::Pin;
use super::{TICK, Transport, is_blocked};
use crate::{CancelToken, Error, Fingerprint, Identity, Result, identity::provider};

/// Named in errors of the handshake.
const HANDSHAKE: &str = "tls handshake";

/// The first byte inside the tunnel: ASCII's acknowledgement.
const GREETING: u8 = 6;

/// Ciphertext read from the transport at once: four records.
const READ_AHEAD: usize = 1 << 16;

/// Plaintext that is encrypted at once, and the most that waits for the transport.
const BUFFER: usize = 1 << 16;

/// How long a party that refuses the other waits for it to hear so.
const REFUSAL: Duration = Duration::from_secs(1);

/// One end of a TLS connection.
pub struct Tls {
    connection: Connection,
    transport: BufReader<Box<dyn Transport>>,
}

/// Sets up TLS with a party that calls [`server`].
///
/// # Errors
/// [`Error::WrongPeer`] and [`Error::Refused`] where the two do not expect each other;
/// [`Error::Handshake`] where the other side speaks something else; [`Error::Closed`],
/// [`Error::Stalled`] after `patience`, [`Error::Cancelled`] and [`Error::Io`].
pub fn client(
    transport: impl Transport + 'static,
    me: &Identity,
    peer: &Fingerprint,
    patience: Duration,
    cancel: &CancelToken,
) -> Result<Tls> {
    let (pin, key) = prepare(me, peer)?;
    let config = client_config(&pin, key).map_err(unexpected)?;
    // TLS wants a name; the pin does not look at it, and it is not sent.
    let name = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
    let connection = ClientConnection::new(Arc::new(config), name).map_err(unexpected)?;
    Tls::new(connection.into(), transport).greet(me, &pin, patience, cancel)
}

/// Sets up TLS with a party that calls [`client`].
///
/// # Errors
/// As [`client`].
pub fn server(
    transport: impl Transport + 'static,
    me: &Identity,
    peer: &Fingerprint,
    patience: Duration,
    cancel: &CancelToken,
) -> Result<Tls> {
    let (pin, key) = prepare(me, peer)?;
    let config = server_config(&pin, key).map_err(unexpected)?;
    let connection = ServerConnection::new(Arc::new(config)).map_err(unexpected)?;
    Tls::new(connection.into(), transport).greet(me, &pin, patience, cancel)
}

/// The check of the other side, and what this side shows.
fn prepare(me: &Identity, peer: &Fingerprint) -> Result<(Arc<Pin>, Arc<SingleCertAndKey>)> {
    let provider = Arc::new(provider());
    let key = me.certified_key(&provider).map_err(unexpected)?;
    Ok((Arc::new(Pin::new(*peer, provider)), Arc::new(key.into())))
}

fn client_config(
    pin: &Arc<Pin>,
    key: Arc<dyn ResolvesClientCert>,
) -> std::result::Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(pin.provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pin.clone())
        .with_client_cert_resolver(key);
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

fn server_config(
    pin: &Arc<Pin>,
    key: Arc<dyn ResolvesServerCert>,
) -> std::result::Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(pin.provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(pin.clone())
        .with_cert_resolver(key);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// A configuration that the TLS library does not take.
fn unexpected(error: rustls::Error) -> Error {
    Error::Handshake { what: error.to_string() }
}

impl Tls {
    fn new(mut connection: Connection, transport: impl Transport + 'static) -> Self {
        connection.set_buffer_limit(Some(BUFFER));
        let transport = BufReader::with_capacity(READ_AHEAD, Box::new(transport) as Box<_>);
        Self { connection, transport }
    }

    /// Drives the handshake to its end, and the greetings through.
    fn greet(
        mut self,
        me: &Identity,
        pin: &Pin,
        patience: Duration,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let deadline = Instant::now() + patience;
        let mut greeting = [0];
        let error = match self.try_greet(&mut greeting, deadline, cancel) {
            Ok(()) if greeting == [GREETING] => return Ok(self),
            Ok(()) => Error::Handshake { what: "it does not greet as we do".to_owned() },
            Err(_) if cancel.is_cancelled() => Error::Cancelled { phase: HANDSHAKE },
            Err(error) if is_blocked(&error) => {
                Error::Stalled { phase: HANDSHAKE, after: patience }
            }
            Err(error) => classify(error, me, pin),
        };
        self.say_no();
        Err(error)
    }

    /// Sends a greeting and waits for the other one. Whatever is blocked is tried again until the
    /// deadline.
    fn try_greet(
        &mut self,
        greeting: &mut [u8; 1],
        deadline: Instant,
        cancel: &CancelToken,
    ) -> io::Result<()> {
        let patiently = |operation: &mut dyn FnMut() -> io::Result<usize>| loop {
            match operation() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error)
                    if is_blocked(&error)
                        && Instant::now() < deadline
                        && !cancel.is_cancelled() => {}
                result => return result,
            }
        };
        patiently(&mut || self.write(&[GREETING]))?;
        // Each message of the handshake that is read may call for one to be sent.
        patiently(&mut || match self.flush() {
            Err(error) if !is_blocked(&error) => self.last_words(error, greeting),
            _ => self.read(greeting),
        })?;
        patiently(&mut || self.flush().map(|()| 1)).map(|_| ())
    }

    /// After a write failed: the other side may have said why it closed.
    fn last_words(&mut self, failed: io::Error, greeting: &mut [u8; 1]) -> io::Result<usize> {
        match self.read(greeting) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
            _ => Err(failed),
        }
    }

    /// Sees that an alert reaches the other side: where unread bytes are thrown away with the
    /// connection, the alert may be lost with them.
    fn say_no(&mut self) {
        let deadline = Instant::now() + REFUSAL;
        while Instant::now() < deadline {
            match self.push().and_then(|()| self.transport.get_mut().flush()) {
                Err(error) if is_blocked(&error) => continue,
                Err(_) => return,
                Ok(()) => break,
            }
        }
        let mut scratch = [0; 4096];
        while Instant::now() < deadline {
            match self.transport.read(&mut scratch) {
                Ok(0) => return,
                Err(error) if !is_blocked(&error) => return,
                _ => {}
            }
        }
    }

    /// Hands all ciphertext to the transport.
    fn push(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(self.transport.get_mut())? == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(())
    }

    /// Takes in what ciphertext there is.
    fn pull(&mut self) -> io::Result<()> {
        self.connection.read_tls(&mut self.transport)?;
        let state = self.connection.process_new_packets();
        state.map(|_| ()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Whose fault it is that a handshake failed.
fn classify(error: io::Error, me: &Identity, pin: &Pin) -> Error {
    if let Some(presented) = pin.refused() {
        return Error::WrongPeer { expected: pin.expected(), presented };
    }
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::AlertReceived(AlertDescription::AccessDenied)) => {
            Error::Refused { presented: me.fingerprint() }
        }
        Some(tls) => Error::Handshake { what: tls.to_string() },
        None => Error::from_io(error, HANDSHAKE),
    }
}

impl Read for Tls {
    /// Zero bytes say that the other side closed the tunnel; an end of the stream without its saying
    /// so is [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.connection.reader().read(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        // At most one read of the transport: a record that comes in crumbs must not keep the caller
        // from looking at its clock.
        self.pull()?;
        self.connection.reader().read(buf)
    }
}

impl Write for Tls {
    /// Takes at most 64 KiB, and nothing as long as earlier ciphertext waits for the transport.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.push()?;
        let taken = self.connection.writer().write(buf)?;
        match self.push() {
            Err(error) if !is_blocked(&error) => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()?;
        self.transport.get_mut().flush()
    }
}

impl Drop for Tls {
    /// Says that the stream ends here and was not cut off.
    fn drop(&mut self) {
        self.connection.send_close_notify();
        let deadline = Instant::now() + TICK;
        while Instant::now() < deadline {
            match self.flush() {
                Err(error) if is_blocked(&error) => {}
                // Told, or nobody is there to be told.
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
