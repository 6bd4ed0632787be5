//! A relay between parties who can both only dial out.
//!
//! Each party dials the relay, proves who it is, and says whom it wants to meet. When two parties want to meet each other,
//! the relay says so to both and from then on copies bytes both ways. The two set up TLS with each other through it, so the
//! relay, and whoever pretends to be it, sees who meets whom, when and how much, and nothing else.
//!
//! The relay begins with a fixed text of 16 bytes and a random challenge of 32. A party answers with the length of its certificate in two bytes
//! (little endian), the certificate in DER, the fingerprint of the party that it wants to meet, and its signature of the challenge
//! and that fingerprint. The relay answers with bytes, each of which is a word, until one ends the wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{CancelToken, Certificate, Error, Fingerprint, Identity, Result, identity::random};

/// How a relay begins.
pub(crate) const MAGIC: &[u8; 16] = b"vesica relay 1\r\n";

/// Bytes of the challenge.
#[doc(hidden)]
pub const CHALLENGE: usize = 32;

/// Bytes of a signature.
const SIGNATURE: usize = 64;

/// The longest certificate that is read.
const LONGEST: usize = 1 << 12;

/// How long a party may take to prove who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Parties that are proving who they are.
const PLACES: usize = 64;

/// The interval between two signs of life to a party that waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// The interval between two looks for callers.
const PAUSE: Duration = Duration::from_millis(10);

/// What a relay says to a party that has proved who it is. The numbers are the codes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Word {
    /// The other party is not there yet.
    Wait = 0,
    /// The other party is there: what follows comes from it.
    Met = 1,
    /// This party is not admitted, or did not prove who it is.
    Refused = 2,
    /// There is no place for another pair.
    NoPlace = 3,
}

/// What a party signs to prove who it is.
fn message(challenge: &[u8], peer: &Fingerprint) -> Vec<u8> {
    [b"vesica 1 relay\n", challenge, peer.as_bytes()].concat()
}

/// What a party answers to the challenge.
pub(crate) fn answer(me: &Identity, peer: &Fingerprint, challenge: &[u8]) -> Result<Vec<u8>> {
    let unusable = |_| Error::Handshake { what: "this side's key cannot sign".to_owned() };
    let signature = me.sign(&message(challenge, peer)).map_err(unusable)?;
    let certificate = me.certificate();
    let der = certificate.as_der();
    Ok([&(der.len() as u16).to_le_bytes(), der, peer.as_bytes(), &signature].concat())
}

/// What a relay allows.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Who may use it.
    pub admitted: BTreeSet<Fingerprint>,
    /// The most pairs at a time.
    pub pairs: usize,
    /// The most bytes of a pair, both ways together.
    pub bytes: u64,
    /// How long a party may wait for another.
    pub wait: Duration,
    /// How long a pair may be silent.
    pub idle: Duration,
}

/// What happens at a relay.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A party waits for another.
    Waits {
        /// Who.
        party: Fingerprint,
    },
    /// Two parties met.
    Met {
        /// Who.
        parties: [Fingerprint; 2],
    },
    /// They parted.
    Parted {
        /// Who.
        parties: [Fingerprint; 2],
        /// Bytes both ways.
        bytes: u64,
    },
    /// A caller was turned away.
    TurnedAway {
        /// Why.
        why: &'static str,
    },
}

/// A relay.
pub struct Relay {
    listener: TcpListener,
    state: Arc<State>,
}

type Observe = dyn Fn(&Event) + Send + Sync;

struct State {
    limits: Limits,
    observe: Box<Observe>,
    waiting: Mutex<BTreeMap<[Fingerprint; 2], Waiting>>,
    proving: AtomicUsize,
    pairs: AtomicUsize,
}

/// A party that waits.
struct Waiting {
    stream: TcpStream,
    since: Instant,
}

impl Relay {
    /// Listens at `host:port`, and tells an observer what happens.
    ///
    /// # Errors
    /// [`Error::Resolve`] and [`Error::Bind`].
    pub fn bind(
        address: &str,
        limits: Limits,
        observe: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Self> {
        let resolved = address.to_socket_addrs();
        let failed = |source| Error::Resolve { address: address.to_owned(), source };
        let addresses: Vec<SocketAddr> = resolved.map_err(failed)?.collect();
        let bound = TcpListener::bind(&addresses[..]).and_then(|listener| {
            // `accept` has no timeout, so it is polled.
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let failed = |source| Error::Bind { address: address.to_owned(), source };
        let state = State {
            limits,
            observe: Box::new(observe),
            waiting: Mutex::default(),
            proving: AtomicUsize::new(0),
            pairs: AtomicUsize::new(0),
        };
        Ok(Self { listener: bound.map_err(failed)?, state: Arc::new(state) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is cancelled. Pairs who have met then go on until they part.
    pub fn run(&self, cancel: &CancelToken) {
        let mut looked = Instant::now();
        while !cancel.is_cancelled() {
            if looked.elapsed() >= SIGN_OF_LIFE {
                looked = Instant::now();
                self.state.look_after_waiting();
            }
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            if self.state.proving.load(Ordering::Relaxed) >= PLACES {
                (self.state.observe)(&Event::TurnedAway { why: "too many callers at a time" });
                continue;
            }
            self.state.proving.fetch_add(1, Ordering::Relaxed);
            let state = self.state.clone();
            thread::spawn(move || {
                let admitted = state.hear(&stream);
                state.proving.fetch_sub(1, Ordering::Relaxed);
                match admitted {
                    Ok(parties) => state.introduce(stream, parties),
                    Err(why) => (state.observe)(&Event::TurnedAway { why }),
                }
            });
        }
    }
}

impl State {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<[Fingerprint; 2], Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who called, and whom it wants to meet.
    fn hear(&self, stream: &TcpStream) -> std::result::Result<[Fingerprint; 2], &'static str> {
        let set_up = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
        set_up.map_err(|_| SILENT)?;
        let challenge = random().map_err(|_| "there is no randomness")?;
        let timed = Timed { stream, until: Instant::now() + PATIENCE };
        hear(timed, &challenge, &self.limits.admitted)
    }

    /// Lets a party wait, or meet the one that waits for it.
    fn introduce(&self, stream: TcpStream, [me, peer]: [Fingerprint; 2]) {
        let other = {
            let mut waiting = self.waiting();
            let Some(other) = waiting.remove(&[peer, me]) else {
                // One that called before, and is gone or calls anew, has no place any more.
                waiting.insert([me, peer], Waiting { stream, since: Instant::now() });
                return (self.observe)(&Event::Waits { party: me });
            };
            other.stream
        };
        let has_place = self.pairs.fetch_add(1, Ordering::Relaxed) < self.limits.pairs;
        let word = if has_place { Word::Met } else { Word::NoPlace };
        for mut stream in [&stream, &other] {
            let _ = stream.write_all(&[word as u8]);
        }
        if has_place {
            let parties = [me, peer];
            (self.observe)(&Event::Met { parties });
            let bytes = self.join(&stream, &other);
            (self.observe)(&Event::Parted { parties, bytes });
        } else {
            (self.observe)(&Event::TurnedAway { why: "no place for another pair" });
        }
        self.pairs.fetch_sub(1, Ordering::Relaxed);
    }

    /// Copies both ways until both have ended, and returns how many bytes there were.
    fn join(&self, one: &TcpStream, other: &TcpStream) -> u64 {
        let bytes = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| self.copy(one, other, &bytes));
            self.copy(other, one, &bytes);
        });
        bytes.into_inner()
    }

    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream, bytes: &AtomicU64) {
        let mut buffer = vec![0; 1 << 16];
        let timeout = Some(self.limits.idle);
        let mut attempt = || -> io::Result<()> {
            from.set_read_timeout(timeout)?;
            to.set_write_timeout(timeout)?;
            loop {
                let read = from.read(&mut buffer)?;
                if read == 0 {
                    return to.shutdown(Shutdown::Write);
                }
                let all = bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
                if all > self.limits.bytes {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                to.write_all(&buffer[..read])?;
            }
        };
        if attempt().is_err() {
            for stream in [from, to] {
                // It may be gone.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Gives those who wait a sign of life, and forgets those who have gone or have waited too long.
    fn look_after_waiting(&self) {
        self.waiting().retain(|_, Waiting { stream, since }| {
            let told = stream
                .set_write_timeout(Some(PAUSE))
                .and_then(|()| stream.write_all(&[Word::Wait as u8]));
            // A party says nothing while it waits.
            let is_there = stream.set_nonblocking(true).is_ok()
                && matches!(stream.peek(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
                && stream.set_nonblocking(false).is_ok();
            told.is_ok() && is_there && since.elapsed() < self.limits.wait
        });
    }
}

/// Why a caller that goes or says too little is turned away.
const SILENT: &str = "it did not say who it is";

/// Challenges a caller: who it proves to be, and whom it wants to meet. One that proves to be nobody who is `admitted` is
/// told so.
///
/// # Errors
/// Why it is turned away.
#[doc(hidden)]
pub fn hear(
    mut stream: impl Read + Write,
    challenge: &[u8; CHALLENGE],
    admitted: &BTreeSet<Fingerprint>,
) -> std::result::Result<[Fingerprint; 2], &'static str> {
    stream.write_all(&[&MAGIC[..], challenge].concat()).map_err(|_| SILENT)?;
    let mut read = |len: usize| {
        let mut bytes = vec![0; len];
        stream.read_exact(&mut bytes).map(|()| bytes).map_err(|_| SILENT)
    };
    let len = read(2)?;
    let len = usize::from(u16::from_le_bytes([len[0], len[1]]));
    if len > LONGEST {
        return Err("it does not speak to a relay");
    }
    let certificate = Certificate::from_der(&read(len)?).map_err(|_| "it has no certificate")?;
    let peer = Fingerprint::from_bytes(&read(Fingerprint::BYTES)?).ok_or(SILENT)?;
    let signature = read(SIGNATURE)?;
    let me = certificate.fingerprint();
    let is_proved = certificate.has_signed(&message(challenge, &peer), &signature);
    if !is_proved || !admitted.contains(&me) {
        let _ = stream.write_all(&[Word::Refused as u8]);
        return Err(if is_proved { "it is not admitted" } else { "it did not prove who it is" });
    }
    Ok([me, peer])
}

/// A stream on which all operations together have a limited time.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buf)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::connect::{self, Meeting};

    const SOON: Duration = Duration::from_secs(20);

    fn limits(admitted: &[&Identity]) -> Limits {
        let admitted = admitted.iter().map(|identity| identity.fingerprint()).collect();
        let idle = Duration::from_millis(500);
        Limits { admitted, pairs: 1, bytes: 1 << 16, wait: SOON, idle }
    }

    /// Runs a relay with these limits while somebody uses it at its address, and returns what happened there.
    fn with_relay(limits: Limits, used: impl FnOnce(&str)) -> Vec<String> {
        let (say, said) = mpsc::channel();
        let say = Mutex::new(say);
        let observe = move |event: &Event| drop(say.lock().unwrap().send(format!("{event:?}")));
        let relay = Relay::bind("127.0.0.1:0", limits, observe).unwrap();
        let (cancel, address) = (CancelToken::default(), relay.address().unwrap().to_string());
        thread::scope(|scope| {
            scope.spawn(|| relay.run(&cancel));
            used(&address);
            cancel.cancel();
        });
        drop(relay);
        let until = Instant::now() + SOON;
        let mut all = Vec::new();
        while let Ok(event) = said.recv_timeout(until.saturating_duration_since(Instant::now())) {
            all.push(event);
        }
        all
    }

    fn meet(
        address: &str,
        me: &Identity,
        peer: &Identity,
        wait: Duration,
    ) -> Result<crate::Channel> {
        let (cancel, peer) = (CancelToken::default(), peer.fingerprint());
        let meeting = Meeting {
            me,
            peer: &peer,
            wait,
            stall: SOON,
            proxy: None,
            cancel: &cancel,
            observer: &|_| {},
        };
        connect::relayed(address, &meeting)?.1.into_channel()
    }

    fn identities<const N: usize>() -> [Identity; N] {
        [(); N].map(|()| Identity::generate().unwrap())
    }

    #[test]
    fn two_parties_meet_and_no_more_bytes_pass_than_are_allowed() {
        let [one, other, third] = identities();
        let all = with_relay(limits(&[&one, &other, &third]), |address| {
            let (mut a, mut b) = thread::scope(|scope| {
                let a = scope.spawn(|| meet(address, &one, &other, SOON).unwrap());
                let b = scope.spawn(|| meet(address, &other, &one, SOON).unwrap());
                (a.join().unwrap(), b.join().unwrap())
            });
            a.send("hello", &[7; 1000]).unwrap();
            a.flush().unwrap();
            assert_eq!(b.recv_len("hello", 1000).unwrap(), [7; 1000]);
            // There is a place for one pair alone.
            let refused = thread::scope(|scope| {
                let waits = scope.spawn(|| meet(address, &one, &third, SOON).err());
                let comes = scope.spawn(|| meet(address, &third, &one, SOON).err());
                [waits.join().unwrap(), comes.join().unwrap()]
            });
            assert!(
                refused.iter().all(|error| matches!(error, Some(Error::NoPlace))),
                "{refused:?}"
            );
            let too_much = vec![0; 1 << 17];
            let sent = a.send("more", &too_much).and_then(|()| a.flush());
            let received = b.recv_len("more", 1 << 17);
            assert!(received.is_err(), "{sent:?}");
        });
        assert!(all.iter().any(|event| event.starts_with("Parted")), "{all:?}");
    }

    #[test]
    fn nobody_pretends_to_be_admitted() {
        let [one, other, third] = identities();
        let all = with_relay(limits(&[&one]), |address| {
            let error = meet(address, &other, &one, SOON).err();
            assert!(matches!(error, Some(Error::NotAdmitted { .. })), "{error:?}");
            // With the certificate of one who is, and the signature of another, of another challenge, or for another peer.
            for wrong in 0..3 {
                let mut stream = TcpStream::connect(address).unwrap();
                let mut begins = [0; MAGIC.len() + CHALLENGE];
                stream.read_exact(&mut begins).unwrap();
                let challenge = &begins[MAGIC.len()..];
                let (peer, honest) = (third.fingerprint(), one.certificate());
                let signature = match wrong {
                    0 => other.sign(&message(challenge, &peer)),
                    1 => one.sign(&message(&[0; CHALLENGE], &peer)),
                    _ => one.sign(&message(challenge, &other.fingerprint())),
                };
                let der = honest.as_der();
                let len = (der.len() as u16).to_le_bytes();
                let answer = [&len[..], der, peer.as_bytes(), &signature.unwrap()].concat();
                stream.write_all(&answer).unwrap();
                let mut word = [0];
                stream.read_exact(&mut word).unwrap();
                assert_eq!(word[0], Word::Refused as u8, "{wrong}");
            }
            // One who waits for somebody who does not come gives up by itself.
            let error = meet(address, &one, &third, Duration::from_millis(1200)).err();
            assert!(matches!(error, Some(Error::NobodyCame { .. })), "{error:?}");
        });
        let refused = all.iter().filter(|event| event.contains("did not prove who it is"));
        assert_eq!(refused.count(), 3, "{all:?}");
    }
}
