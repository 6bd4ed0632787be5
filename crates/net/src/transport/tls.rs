//! TLS 1.3 over any transport, between parties that know each other's fingerprints.
//!
//! It uses no certificate authority: each party is given the other's [`Fingerprint`], and refuses a peer that shows a
//! certificate with another one, or cannot sign with that certificate's key. Resumption, early data and older versions
//! are disabled.
//!
//! In TLS 1.3 the client finishes before the server has verified the client's certificate. Each side's first
//! byte inside the tunnel is therefore a greeting, and a handshake has succeeded only when the other side's
//! greeting has arrived: a refusal is detected here and not in the middle of a run.

mod handshake;
mod pin;

use std::{
    io::{self, BufReader, Read, Write},
    time::Instant,
};

use rustls::Connection;

use super::{POLL_INTERVAL, Transport, is_blocked};
use crate::{CancelToken, Error, Fingerprint, Identity, Patience, Result};

pub use handshake::CallKind;
pub(crate) use handshake::{Credentials, Greeting, HANDSHAKE, Handshake, NO_PLACE, REFUSAL};

/// Ciphertext read from the transport at once: four records.
const READ_AHEAD: usize = 1 << 16;

/// Plaintext that is encrypted at once, and the maximal amount that waits for the transport.
const BUFFER: usize = 1 << 16;

/// One end of a TLS connection.
pub struct Tls {
    connection: Connection,
    transport: BufReader<Box<dyn Transport>>,
    /// Whether any ciphertext has been passed to the transport.
    has_pushed: bool,
}

/// Sets up TLS with a party that calls [`server`].
///
/// # Errors
/// [`Error::WrongPeer`] and [`Error::Refused`] if the two do not expect each other; [`Error::InARun`] and
/// [`Error::NoPlace`] if the other side is engaged; [`Error::Handshake`] if it uses another protocol;
/// [`Error::Closed`], [`Error::Stalled`] after `patience`, [`Error::Cancelled`] and [`Error::Io`].
pub fn client(
    transport: impl Transport + 'static,
    me: &Identity,
    peer: &Fingerprint,
    patience: impl Into<Patience>,
    cancel: &CancelToken,
) -> Result<Tls> {
    Credentials::new(me, peer)?.client(transport)?.complete(patience, cancel)
}

/// Sets up TLS with a party that calls [`client`].
///
/// # Errors
/// Same as [`client`].
pub fn server(
    transport: impl Transport + 'static,
    me: &Identity,
    peer: &Fingerprint,
    patience: impl Into<Patience>,
    cancel: &CancelToken,
) -> Result<Tls> {
    Credentials::new(me, peer)?.server(transport)?.complete(patience, cancel)
}

impl Tls {
    fn new(mut connection: Connection, transport: impl Transport + 'static) -> Self {
        connection.set_buffer_limit(Some(BUFFER));
        let transport = BufReader::with_capacity(READ_AHEAD, Box::new(transport) as Box<_>);
        Self { connection, transport, has_pushed: false }
    }

    /// A value that only the two ends of this connection know (RFC 9266's exporter, under a label of our own).
    ///
    /// # Errors
    /// [`Error::Io`] before the handshake has ended.
    pub fn exporter(&self) -> Result<[u8; 32]> {
        let exported =
            self.connection.export_keying_material([0; 32], b"EXPORTER-vesica-session", None);
        exported.map_err(|e| Error::Io { phase: HANDSHAKE, source: io::Error::other(e) })
    }

    /// The party at the other end, by the certificate whose key it has proven to hold.
    ///
    /// # Errors
    /// [`Error::Io`] before the handshake has ended.
    pub fn peer(&self) -> Result<Fingerprint> {
        let certificate = self.connection.peer_certificates().and_then(|chain| chain.first());
        let none = || io::Error::other("the other side has not presented a certificate");
        let certificate =
            certificate.ok_or_else(|| Error::Io { phase: HANDSHAKE, source: none() })?;
        Ok(Fingerprint::of(certificate))
    }

    /// Encrypts a short text completely or not at all.
    fn write_all_or_nothing(&mut self, text: &[u8]) -> io::Result<()> {
        match self.write(text)? {
            taken if taken == text.len() => Ok(()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// One step towards delivering the last words, such as an alert: if unread bytes were discarded with the
    /// connection, the alert might be lost with them. Done when the other side has closed.
    ///
    /// # Errors
    /// [Blocked](is_blocked) if it must be called again.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        self.push()?;
        self.transport.get_mut().flush()?;
        match self.transport.read(&mut [0; 4096])? {
            0 => Ok(()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Announces the end of the stream.
    pub(crate) fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Passes all ciphertext to the transport.
    fn push(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(self.transport.get_mut())? == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.has_pushed = true;
        }
        Ok(())
    }

    /// Reads the available ciphertext.
    fn pull(&mut self) -> io::Result<()> {
        self.connection.read_tls(&mut self.transport)?;
        let state = self.connection.process_new_packets();
        state.map(|_| ()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

impl Read for Tls {
    /// Zero bytes mean that the other side closed the tunnel; an end of the stream without its announcement is
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.connection.reader().read(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        // At most one read of the transport: a record that arrives in small parts must not keep the caller from
        // checking its clock.
        self.pull()?;
        self.connection.reader().read(buf)
    }
}

impl Write for Tls {
    /// Takes at most 64 KiB, and nothing while earlier ciphertext waits for the transport.
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
    /// Announces that the stream ends here and was not cut off.
    fn drop(&mut self) {
        self.connection.send_close_notify();
        let deadline = Instant::now() + POLL_INTERVAL;
        while Instant::now() < deadline {
            match self.flush() {
                Err(error) if is_blocked(&error) => {}
                // Either the other side was notified, or it is gone.
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
