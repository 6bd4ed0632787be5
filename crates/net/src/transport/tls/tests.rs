use std::{sync::Arc, thread, time::Duration};

use rustls::{
    SignatureScheme, client::ResolvesClientCert, server::ResolvesServerCert, sign::CertifiedKey,
};

use super::{
    handshake::{client_config, server_config},
    pin::Pin,
    *,
};
use crate::{
    Error,
    identity::provider,
    transport::{
        files::{Files, Side},
        memory::{self, Memory},
        tcp,
    },
};

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

/// Two parties that know each other.
struct Parties {
    client: Identity,
    server: Identity,
}

impl Parties {
    fn new() -> Self {
        Self { client: Identity::generate().unwrap(), server: Identity::generate().unwrap() }
    }

    /// Both sides of a handshake over these two ends.
    fn meet(
        &self,
        ends: (impl Transport + 'static, impl Transport + 'static),
    ) -> (Result<Tls>, Result<Tls>) {
        meet(
            ends,
            (&self.client, self.server.fingerprint()),
            (&self.server, self.client.fingerprint()),
        )
    }
}

type Party<'a> = (&'a Identity, Fingerprint);

fn meet(
    ends: (impl Transport + 'static, impl Transport + 'static),
    (client_id, client_expects): Party<'_>,
    (server_id, server_expects): Party<'_>,
) -> (Result<Tls>, Result<Tls>) {
    let cancel = CancelToken::default();
    thread::scope(|scope| {
        let other = scope.spawn(|| server(ends.1, server_id, &server_expects, PATIENCE, &cancel));
        let one = client(ends.0, client_id, &client_expects, PATIENCE, &cancel);
        (one, other.join().unwrap())
    })
}

fn over_tcp() -> (tcp::Tcp, tcp::Tcp) {
    let cancel = CancelToken::default();
    let listener = tcp::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().to_string();
    let one = tcp::connect(&address, PATIENCE, &cancel).unwrap();
    (one, listener.accept(PATIENCE, &cancel).unwrap())
}

fn read_patiently(tls: &mut Tls, mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        match tls.read(buf) {
            Ok(0) => return Err(io::ErrorKind::NotConnected.into()),
            Ok(read) => buf = &mut buf[read..],
            Err(error) if is_blocked(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_patiently(tls: &mut Tls, mut buf: &[u8]) -> io::Result<()> {
    while !buf.is_empty() {
        match tls.write(buf) {
            Ok(written) => buf = &buf[written..],
            Err(error) if is_blocked(&error) => {}
            Err(error) => return Err(error),
        }
    }
    while let Err(error) = tls.flush() {
        if !is_blocked(&error) {
            return Err(error);
        }
    }
    Ok(())
}

/// Whether the client's bytes all arrive, though the reader starts late and everything below has a small
/// capacity.
fn carries_a_lot((one, other): (Result<Tls>, Result<Tls>)) {
    let (mut one, mut other) = (one.unwrap(), other.unwrap());
    let sent: Vec<u8> =
        (0..3_000_001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut received = vec![0; sent.len()];
    thread::scope(|scope| {
        scope.spawn(|| write_patiently(&mut one, &sent).unwrap());
        thread::sleep(2 * POLL_INTERVAL);
        read_patiently(&mut other, &mut received).unwrap();
    });
    assert!(sent == received);
    drop(one);
    assert_eq!(other.read(&mut [0]).unwrap(), 0);
}

#[test]
fn two_who_expect_each_other_meet_over_tcp_memory_and_files() {
    let parties = Parties::new();
    carries_a_lot(parties.meet(over_tcp()));
    carries_a_lot(parties.meet(memory::pair_of(1000)));
    let directory = tempfile::tempdir().unwrap();
    let open = |side| Files::open(directory.path(), side).unwrap();
    carries_a_lot(parties.meet((open(Side::A), open(Side::B))));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_client_that_meets_somebody_else_says_whom_and_the_other_side_hears_it() {
    let Parties { client, server } = Parties::new();
    let absent = Identity::generate().unwrap().fingerprint();
    for tcp in [true, false] {
        let (one, other) = ((&client, absent), (&server, client.fingerprint()));
        let (one, other) =
            if tcp { meet(over_tcp(), one, other) } else { meet(memory::pair(), one, other) };
        let error = one.err().unwrap();
        assert!(
            matches!(error, Error::WrongPeer { expected, presented }
                if expected == absent && presented == server.fingerprint()),
            "{error}"
        );
        assert!(error.to_string().contains(&absent.to_string()));
        assert!(error.to_string().contains(&server.fingerprint().to_string()));
        let error = other.err().unwrap();
        assert!(
            matches!(error, Error::Refused { presented } if presented == server.fingerprint()),
            "{error}"
        );
    }
}

#[test]
fn a_server_that_meets_somebody_else_says_whom_and_the_other_side_hears_it() {
    let Parties { client, server } = Parties::new();
    let absent = Identity::generate().unwrap().fingerprint();
    for tcp in [true, false] {
        let (one, other) = ((&client, server.fingerprint()), (&server, absent));
        let (one, other) =
            if tcp { meet(over_tcp(), one, other) } else { meet(memory::pair(), one, other) };
        let error = other.err().unwrap();
        assert!(
            matches!(error, Error::WrongPeer { expected, presented }
                if expected == absent && presented == client.fingerprint()),
            "{error}"
        );
        let error = one.err().unwrap();
        assert!(
            matches!(error, Error::Refused { presented } if presented == client.fingerprint()),
            "{error}"
        );
    }
}

#[test]
fn a_man_in_the_middle_with_a_certificate_of_his_own_is_refused_by_both() {
    let Parties { client, server } = Parties::new();
    let middle = Identity::generate().unwrap();
    let (one, to_client) =
        meet(memory::pair(), (&client, server.fingerprint()), (&middle, client.fingerprint()));
    let (to_server, other) =
        meet(memory::pair(), (&middle, server.fingerprint()), (&server, client.fingerprint()));
    for refused in [one, other] {
        assert!(matches!(refused, Err(Error::WrongPeer { presented, .. })
            if presented == middle.fingerprint()));
    }
    for refused in [to_client, to_server] {
        assert!(matches!(refused, Err(Error::Refused { .. })));
    }
}

/// Presents any certificate, or none, and signs with any key.
#[derive(Debug)]
struct Rogue(Option<Arc<CertifiedKey>>);

impl Rogue {
    /// The certificate of one and the key of another.
    fn stolen(certificate: &Identity, key: &Identity) -> Arc<Self> {
        let shown = certificate.certified_key(&provider()).unwrap().cert;
        let key = key.certified_key(&provider()).unwrap().key;
        Arc::new(Self(Some(Arc::new(CertifiedKey::new(shown, key)))))
    }
}

impl ResolvesClientCert for Rogue {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

impl ResolvesServerCert for Rogue {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }
}

fn rogue_client(rogue: Arc<Rogue>, end: Memory, me: &Identity, peer: Fingerprint) -> Result<Tls> {
    let pin = Arc::new(Pin::new(Arc::new([peer].into()), Arc::new(provider())));
    let config = client_config(&pin, rogue).unwrap();
    let handshake = Handshake::client(config, end, me.fingerprint(), pin).unwrap();
    handshake.complete(PATIENCE, &CancelToken::default())
}

fn rogue_server(rogue: Arc<Rogue>, end: Memory, me: &Identity, peer: Fingerprint) -> Result<Tls> {
    let pin = Arc::new(Pin::new(Arc::new([peer].into()), Arc::new(provider())));
    let config = server_config(&pin, rogue).unwrap();
    let handshake = Handshake::server(config, end, me.fingerprint(), pin).unwrap();
    handshake.complete(PATIENCE, &CancelToken::default())
}

#[test]
fn a_client_without_a_certificate_or_without_its_key_gets_nowhere() {
    let Parties { client, server: me } = Parties::new();
    let thief = Identity::generate().unwrap();
    for (rogue, said) in [
        (Arc::new(Rogue(None)), "peer sent no certificates"),
        (Rogue::stolen(&client, &thief), "BadSignature"),
    ] {
        let (a, b) = memory::pair();
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| rogue_client(rogue, a, &thief, me.fingerprint()));
            let cancel = CancelToken::default();
            let other = server(b, &me, &client.fingerprint(), PATIENCE, &cancel);
            (one.join().unwrap(), other)
        });
        let error = other.err().unwrap();
        assert!(matches!(&error, Error::Handshake { what } if what.contains(said)), "{error}");
        assert!(matches!(one, Err(Error::Handshake { .. })));
    }
}

#[test]
fn a_server_without_the_key_of_its_certificate_gets_nowhere() {
    let Parties { client: me, server } = Parties::new();
    let thief = Identity::generate().unwrap();
    let (a, b) = memory::pair();
    let (one, other) = thread::scope(|scope| {
        let rogue = Rogue::stolen(&server, &thief);
        let other = scope.spawn(|| rogue_server(rogue, b, &thief, me.fingerprint()));
        let one = client(a, &me, &server.fingerprint(), PATIENCE, &CancelToken::default());
        (one, other.join().unwrap())
    });
    let error = one.err().unwrap();
    assert!(
        matches!(&error, Error::Handshake { what } if what.contains("BadSignature")),
        "{error}"
    );
    assert!(matches!(other, Err(Error::Handshake { .. })));
}

/// The errors of each side for a peer that sends these bytes and then waits.
fn against(bytes: &[u8], patience: Duration, cancel: &CancelToken) -> [Error; 2] {
    let Parties { client: me, server: absent } = Parties::new();
    let peer = absent.fingerprint();
    let (a, mut b) = memory::pair();
    b.write_all(bytes).unwrap();
    let one = client(a, &me, &peer, patience, cancel).err().unwrap();
    let (a, mut b) = memory::pair();
    b.write_all(bytes).unwrap();
    let other = server(a, &me, &peer, patience, cancel).err().unwrap();
    [one, other]
}

#[test]
fn a_peer_that_speaks_something_else_is_told_from_one_that_is_gone() {
    let noise: Vec<u8> = (1..500u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for bytes in [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(), &noise, &[0; 64], &[255; 64]] {
        for error in against(bytes, PATIENCE, &CancelToken::default()) {
            assert!(matches!(error, Error::Handshake { .. }), "{error}");
        }
    }
}

#[test]
fn a_peer_that_is_silent_is_given_up_and_a_cancelled_party_stops() {
    for error in against(b"", SHORT, &CancelToken::default()) {
        let expected = "nothing moved to or from the other side for 0.3 s while connecting";
        assert_eq!(error.to_string(), expected);
    }
    let cancel = CancelToken::default();
    cancel.cancel();
    for error in against(b"", PATIENCE, &cancel) {
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    }
}

#[test]
fn a_peer_that_closes_during_the_handshake_is_said_to_have_closed() {
    let Parties { client: me, server } = Parties::new();
    let (a, b) = memory::pair();
    drop(b);
    let error = client(a, &me, &server.fingerprint(), PATIENCE, &CancelToken::default());
    assert!(matches!(error, Err(Error::Closed { phase: HANDSHAKE })));
    let (a, b) = memory::pair();
    drop(b);
    let error = super::server(a, &me, &server.fingerprint(), PATIENCE, &CancelToken::default());
    assert!(matches!(error, Err(Error::Closed { phase: HANDSHAKE })));
}

/// The same holds if it is stopped in time to take leave; the dialling side may then try again.
#[test]
fn a_peer_that_takes_leave_during_the_handshake_is_said_to_have_closed() {
    let (parties, cancel) = (Parties::new(), CancelToken::default());
    for steps in 0..3 {
        let (left, right) = memory::pair();
        let one = thread::scope(|scope| {
            let one = scope.spawn(|| {
                client(left, &parties.client, &parties.server.fingerprint(), PATIENCE, &cancel)
            });
            let expected = parties.client.fingerprint();
            let credentials = Credentials::new(&parties.server, &expected).unwrap();
            let mut other = credentials.server(right).unwrap();
            for _ in 0..steps {
                // It may have to wait.
                let _ = other.advance();
            }
            drop(other);
            one.join().unwrap().err().unwrap()
        });
        assert!(matches!(one, Error::Closed { phase: HANDSHAKE }), "{one}");
    }
}

#[test]
fn a_stream_that_is_cut_off_is_no_end() {
    let (one, other) = Parties::new().meet(over_tcp());
    let (one, mut other) = (one.unwrap(), other.unwrap());
    // The process dies without announcing the end of the stream.
    let mut one = std::mem::ManuallyDrop::new(one);
    one.write_all(b"last").unwrap();
    one.flush().unwrap();
    one.transport = BufReader::new(Box::new(memory::pair().0));
    read_patiently(&mut other, &mut [0; 4]).unwrap();
    assert_eq!(other.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_tampered_record_is_noticed() {
    let Parties { client, server: me } = Parties::new();
    let (one, other) =
        meet(memory::pair(), (&client, me.fingerprint()), (&me, client.fingerprint()));
    let (mut one, mut other) = (one.unwrap(), other.unwrap());
    one.transport.get_mut().write_all(&[23, 3, 3, 0, 20]).unwrap();
    one.transport.get_mut().write_all(&[7; 20]).unwrap();
    assert_eq!(
        read_patiently(&mut other, &mut [0]).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}

/// A server welcomes a caller or gives one of the known reasons, and never greets as a caller.
#[test]
fn a_caller_accepts_only_greetings_of_a_server() {
    for (greeting, expected) in [
        (Greeting::Welcome, None),
        (Greeting::InARun, Some("already in a run")),
        (Greeting::Later, Some("called too often")),
        (Greeting::OtherKind, Some("one of the two sides is in a run of two parties")),
        (Greeting::Parallel, Some("it sends another greeting")),
        (Greeting::Gathering, Some("it sends another greeting")),
    ] {
        let Parties { client: caller, server: me } = Parties::new();
        let (a, b) = memory::pair();
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                let credentials = Credentials::new(&me, &caller.fingerprint()).unwrap();
                let mut handshake = credentials.server(b).unwrap();
                while !handshake.is_known() {
                    let _ = handshake.advance();
                }
                handshake.answer(greeting);
                while handshake.advance().is_err_and(|error| is_blocked(&error)) {}
            });
            client(a, &caller, &me.fingerprint(), PATIENCE, &CancelToken::default()).err()
        });
        let said = ended.map(|error| error.to_string());
        match (&said, expected) {
            (None, None) => {}
            (Some(said), Some(expected)) => assert!(said.contains(expected), "{said}"),
            _ => panic!("{greeting:?}: {said:?}"),
        }
    }
}
