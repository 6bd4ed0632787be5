//! A TLS handshake in steps, so that one thread can conduct many.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::Ipv4Addr,
    sync::Arc,
    time::Duration,
};

use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection,
    client::{ResolvesClientCert, Resumption},
    pki_types::ServerName,
    server::{NoServerSessionStorage, ResolvesServerCert},
    sign::SingleCertAndKey,
    version::TLS13,
};

use super::{Tls, pin::Pin};
use crate::{
    CancelToken, Error, Fingerprint, Identity, Patience, Result,
    identity::provider,
    transport::{Transport, is_blocked},
};

/// Named in errors of the handshake.
pub(crate) const HANDSHAKE: &str = "tls handshake";

/// The time that a party waits for the other to receive its refusal.
pub(crate) const REFUSAL: Duration = Duration::from_secs(1);

/// A fatal alert in clear, as a server may send it before its first message: `internal_error`. The handshakes
/// of this module never cause one, so it can mean that a server has no place for a caller.
pub(crate) const NO_PLACE: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// The first byte inside the tunnel. The numbers are the codes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Greeting {
    /// The run may begin. ASCII's acknowledgement.
    Welcome = 6,
    /// The other side is expected, but another of its processes came first. ASCII's negative
    /// acknowledgement.
    InARun = 21,
    /// This is another connection of the run that has begun. ASCII's "synchronous idle".
    Parallel = 22,
    /// This is a connection of a party that gathers several others. ASCII's "device control 1", which starts a sender.
    Gathering = 17,
    /// The other side is expected, but for a run of another number of parties. ASCII's "cancel".
    OtherKind = 24,
    /// The other side is expected, but calls too often: it may call again later. ASCII's "device control 3", which
    /// stops a sender.
    Later = 19,
}

/// The kind of connection that a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// The first connection of a run between two parties.
    Run,
    /// Another connection of such a run.
    Parallel,
    /// A connection of one of several parties, which says next for whom it calls.
    Gathering,
}

impl CallKind {
    /// Returns the greeting of a caller.
    fn greeting(self) -> Greeting {
        match self {
            Self::Run => Greeting::Welcome,
            Self::Parallel => Greeting::Parallel,
            Self::Gathering => Greeting::Gathering,
        }
    }

    /// Returns the kind of connection that this greeting asks for.
    fn of(greeting: u8) -> Option<Self> {
        let all = [Self::Run, Self::Parallel, Self::Gathering];
        all.into_iter().find(|call| call.greeting() as u8 == greeting)
    }
}

/// The identity of this party and of the parties that it expects, for any number of handshakes.
#[derive(Clone)]
pub(crate) struct Credentials {
    me: Fingerprint,
    peers: Arc<BTreeSet<Fingerprint>>,
    key: Arc<SingleCertAndKey>,
}

impl Credentials {
    pub(crate) fn new(me: &Identity, peer: &Fingerprint) -> Result<Self> {
        Self::for_any(me, BTreeSet::from([*peer]))
    }

    /// Creates credentials that expect any of these parties.
    pub(crate) fn for_any(me: &Identity, peers: BTreeSet<Fingerprint>) -> Result<Self> {
        let key = me.certified_key(&provider()).map_err(unexpected)?;
        Ok(Self { me: me.fingerprint(), peers: Arc::new(peers), key: Arc::new(key.into()) })
    }

    /// Expects these parties from now on.
    pub(crate) fn expect(&mut self, peers: BTreeSet<Fingerprint>) {
        self.peers = Arc::new(peers);
    }

    fn pin(&self) -> Arc<Pin> {
        Arc::new(Pin::new(self.peers.clone(), Arc::new(provider())))
    }

    /// A handshake with a [`Credentials::server`], over this transport.
    pub(crate) fn client(&self, transport: impl Transport + 'static) -> Result<Handshake> {
        let pin = self.pin();
        let config = client_config(&pin, self.key.clone()).map_err(unexpected)?;
        Handshake::client(config, transport, self.me, pin)
    }

    /// Like [`Credentials::client`], for this kind of connection.
    pub(crate) fn calling(
        &self,
        call: CallKind,
        transport: impl Transport + 'static,
    ) -> Result<Handshake> {
        let mut handshake = self.client(transport)?;
        handshake.to_say = Some(call.greeting());
        Ok(handshake)
    }

    /// A handshake with a [`Credentials::client`], over this transport.
    pub(crate) fn server(&self, transport: impl Transport + 'static) -> Result<Handshake> {
        let pin = self.pin();
        let config = server_config(&pin, self.key.clone()).map_err(unexpected)?;
        Handshake::server(config, transport, self.me, pin)
    }
}

pub(super) fn client_config(
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

pub(super) fn server_config(
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

/// A configuration that the TLS library does not accept.
fn unexpected(error: rustls::Error) -> Error {
    Error::Handshake { what: error.to_string() }
}

/// A tunnel under construction. The client greets at once; the server, when it knows the caller.
pub(crate) struct Handshake {
    tls: Tls,
    me: Fingerprint,
    pin: Arc<Pin>,
    /// The greeting still to be sent.
    to_say: Option<Greeting>,
    /// The other side's greeting.
    heard: Option<u8>,
    /// This side's greeting, once it is decided.
    decided: Option<Greeting>,
    /// Whether this side calls, so that the other one may only welcome it.
    is_caller: bool,
}

impl Handshake {
    pub(super) fn client(
        config: ClientConfig,
        transport: impl Transport + 'static,
        me: Fingerprint,
        pin: Arc<Pin>,
    ) -> Result<Self> {
        // TLS requires a name; the pin ignores it, and it is not sent.
        let name = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
        let connection = ClientConnection::new(Arc::new(config), name).map_err(unexpected)?;
        let mut handshake = Self::new(connection.into(), transport, me, pin);
        handshake.is_caller = true;
        handshake.answer(Greeting::Welcome);
        Ok(handshake)
    }

    pub(super) fn server(
        config: ServerConfig,
        transport: impl Transport + 'static,
        me: Fingerprint,
        pin: Arc<Pin>,
    ) -> Result<Self> {
        let connection = ServerConnection::new(Arc::new(config)).map_err(unexpected)?;
        Ok(Self::new(connection.into(), transport, me, pin))
    }

    fn new(
        connection: Connection,
        transport: impl Transport + 'static,
        me: Fingerprint,
        pin: Arc<Pin>,
    ) -> Self {
        let tls = Tls::new(connection, transport);
        Self { tls, me, pin, to_say: None, heard: None, decided: None, is_caller: false }
    }

    /// Decides the greeting to the other side.
    pub(crate) fn answer(&mut self, greeting: Greeting) {
        self.to_say = Some(greeting);
        self.decided = Some(greeting);
    }

    /// Whether the other side has authenticated, and waits for [`Handshake::answer`].
    pub(crate) fn is_known(&self) -> bool {
        self.call().is_some() && self.decided.is_none()
    }

    /// Returns the other side's fingerprint, once it is [known](Handshake::is_known).
    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        self.pin.presented().map(|(presented, _)| presented)
    }

    /// Returns the kind of connection that the other side asks for, if it is a caller and has greeted.
    pub(crate) fn call(&self) -> Option<CallKind> {
        self.heard.and_then(CallKind::of)
    }

    /// This side's greeting, once it is decided.
    pub(crate) fn answered(&self) -> Option<Greeting> {
        self.decided
    }

    /// Whether this side has sent anything yet: a server that has not may still say in clear that it has [no
    /// place](NO_PLACE).
    pub(crate) fn has_spoken(&self) -> bool {
        self.tls.has_pushed
    }

    /// One step, which takes no longer than an operation of the transport. When it has succeeded, the other
    /// side has greeted, and this side too unless it [has to decide](Handshake::is_known).
    ///
    /// # Errors
    /// [Blocked](is_blocked) if it must be called again.
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        if let Some(greeting) = self.to_say {
            self.tls.write_all_or_nothing(&[greeting as u8])?;
            self.to_say = None;
        }
        if self.heard.is_none() {
            // Each message of the handshake that is read may require one to be sent.
            let mut greeting = [0];
            let read = match self.tls.flush() {
                Err(error) if !is_blocked(&error) => self.last_words(error, &mut greeting),
                _ => self.tls.read(&mut greeting),
            };
            if read? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.heard = Some(greeting[0]);
        }
        self.tls.flush()
    }

    /// After a write failed: the other side may have said why it closed.
    fn last_words(&mut self, failed: io::Error, greeting: &mut [u8; 1]) -> io::Result<usize> {
        match self.tls.read(greeting) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
            _ => Err(failed),
        }
    }

    /// The error for a failed step, by whose fault it is.
    pub(crate) fn classify(&self, error: io::Error) -> Error {
        if let Some((presented, false)) = self.pin.presented() {
            return match self.pin.only() {
                Some(expected) => Error::WrongPeer { expected, presented },
                None => Error::Stranger { presented },
            };
        }
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match tls {
            Some(rustls::Error::AlertReceived(AlertDescription::AccessDenied)) => {
                Error::Refused { presented: self.me }
            }
            Some(rustls::Error::AlertReceived(AlertDescription::InternalError)) => Error::NoPlace,
            Some(rustls::Error::AlertReceived(AlertDescription::CloseNotify)) => {
                Error::Closed { phase: HANDSHAKE }
            }
            Some(tls) => Error::Handshake { what: tls.to_string() },
            None => Error::from_io(error, HANDSHAKE),
        }
    }

    /// Whether the other side's greeting, once every step has succeeded, is a welcome.
    ///
    /// # Errors
    /// The reason it gives instead.
    pub(crate) fn verdict(&self) -> Result<()> {
        match self.heard {
            Some(byte) if byte == Greeting::Welcome as u8 => Ok(()),
            Some(byte) if !self.is_caller && CallKind::of(byte).is_some() => Ok(()),
            Some(byte) if byte == Greeting::InARun as u8 => Err(Error::InARun),
            Some(byte) if byte == Greeting::Later as u8 => Err(Error::Later),
            Some(byte) if byte == Greeting::OtherKind as u8 => Err(Error::OtherKind),
            _ => Err(Error::Handshake { what: "it sends another greeting".to_owned() }),
        }
    }

    /// The tunnel; after an error, to [leave](Tls::leave).
    pub(crate) fn into_tls(self) -> Tls {
        self.tls
    }

    /// Completes the handshake on this thread, with any identity of the other side.
    ///
    /// # Errors
    /// Same as [`client`](super::client).
    pub(crate) fn complete(
        mut self,
        patience: impl Into<Patience>,
        cancel: &CancelToken,
    ) -> Result<Tls> {
        let Patience { limit, clock } = patience.into();
        let deadline = clock.now() + limit;
        let ended = loop {
            match self.advance() {
                Ok(()) if self.is_known() => self.answer(Greeting::Welcome),
                Ok(()) => break self.verdict(),
                Err(_) if cancel.is_cancelled() => {
                    break Err(Error::Cancelled { phase: HANDSHAKE });
                }
                Err(error) if is_blocked(&error) && clock.now() < deadline => {}
                Err(error) if is_blocked(&error) => {
                    break Err(Error::Stalled { phase: HANDSHAKE, after: limit });
                }
                Err(error) => break Err(self.classify(error)),
            }
        };
        let mut tls = self.into_tls();
        // A refused caller sends nothing.
        if !matches!(
            ended,
            Ok(())
                | Err(Error::InARun
                    | Error::Later
                    | Error::NoPlace
                    | Error::OtherKind
                    | Error::Refused { .. })
        ) {
            let deadline = clock.now() + REFUSAL;
            while clock.now() < deadline && tls.leave().is_err_and(|e| is_blocked(&e)) {}
        }
        ended.map(|()| tls)
    }
}
