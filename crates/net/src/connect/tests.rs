use std::{
    collections::{BTreeSet, VecDeque},
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Instant,
};

use super::*;
use crate::{
    Clock, Pace, Result,
    places::PLACES,
    transport::{
        is_blocked,
        tls::{Credentials, NO_PLACE},
    },
};

const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(700);

struct Parties {
    dialling: Identity,
    listening: Identity,
    cancel: CancelToken,
}

impl Parties {
    fn new() -> Self {
        Self {
            dialling: Identity::generate().unwrap(),
            listening: Identity::generate().unwrap(),
            cancel: CancelToken::default(),
        }
    }

    fn dial(
        &self,
        address: &str,
        wait: Duration,
        observer: &dyn Fn(&Event<'_>),
    ) -> Result<Connection> {
        let (me, peer) = (&self.dialling, &self.listening.fingerprint());
        let cancel = &self.cancel;
        dial(address, &Meeting { me, peer, wait, stall: PATIENCE, proxy: None, cancel, observer })
    }

    /// Listens, and calls `meanwhile` with the address.
    fn listen<T: Send>(
        &self,
        observer: &(dyn Fn(&Event<'_>) + Sync),
        meanwhile: impl FnOnce(&str) -> T + Send,
    ) -> (Result<Connection>, T) {
        let (say, heard) = mpsc::channel::<String>();
        thread::scope(|scope| {
            let meanwhile = scope.spawn(move || meanwhile(&heard.recv().unwrap()));
            let watch = |event: &Event<'_>| match event {
                Event::Listening { address } => say.send(address.to_string()).unwrap(),
                event => observer(event),
            };
            let (me, peer) = (&self.listening, &self.dialling.fingerprint());
            let (cancel, observer) = (&self.cancel, &watch);
            let meeting = Meeting {
                me,
                peer,
                wait: PATIENCE,
                stall: PATIENCE,
                proxy: None,
                cancel,
                observer,
            };
            let listened = listen("127.0.0.1:0", &meeting);
            (listened, meanwhile.join().unwrap())
        })
    }
}

fn ignore(_: &Event<'_>) {}

fn call(address: &str, bytes: &[u8]) -> TcpStream {
    let mut caller = TcpStream::connect(address).unwrap();
    // The caller may be cut off in the middle of it.
    let _ = caller.write_all(bytes);
    caller
}

/// Whether a byte arrives from one end at the other.
#[track_caller]
fn assert_connected(mut one: Connection, mut other: Connection) {
    one.write_all(b"x").unwrap();
    one.flush().unwrap();
    let mut byte = [0];
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = other.read_exact(&mut byte) {
        assert!(is_blocked(&error) && Instant::now() < deadline, "{error}");
    }
    assert_eq!(&byte, b"x");
}

/// The bytes that a caller other than the other side sends before it falls silent.
const NONSENSE: [(&str, &[u8]); 3] =
    [("silent", b""), ("slow", &[22, 3, 1, 1, 0, 1]), ("garbage", b"GET / HTTP/1.1\r\n\r\n")];

#[test]
fn callers_who_say_nothing_or_nonsense_keep_nobody_out() {
    for (name, bytes) in NONSENSE {
        for count in [16, 200] {
            let parties = Parties::new();
            let started = Instant::now();
            let (listened, (dialled, _callers)) = parties.listen(&ignore, |address| {
                let callers: Vec<_> = (0..count).map(|_| call(address, bytes)).collect();
                (parties.dial(address, PATIENCE, &ignore), callers)
            });
            // Less than the ten seconds after which a caller is dropped.
            assert!(started.elapsed() < Duration::from_secs(8), "{count} {name} callers");
            assert_connected(listened.unwrap(), dialled.unwrap());
        }
    }
}

/// The first message of a party that means to connect.
fn first_message() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let dialling = thread::spawn(move || Parties::new().dial(&address, SHORT, &ignore).err());
    let mut message = [0; 1 << 12];
    let read = listener.accept().unwrap().0.read(&mut message).unwrap();
    drop(listener);
    dialling.join().unwrap().unwrap();
    message[..read].to_vec()
}

/// Callers keep arriving while the other side tries, some sending a byte at a time, others a first message that
/// is answered.
#[test]
fn a_flood_of_callers_keeps_nobody_out() {
    for first in [vec![22], first_message()] {
        let parties = Parties::new();
        let over = AtomicBool::new(false);
        let flood = |address: &str| {
            let mut callers = VecDeque::new();
            while !over.load(Ordering::Relaxed) {
                if let Ok(mut caller) = TcpStream::connect(address) {
                    let _ = caller.write(&first);
                    callers.push_back(caller);
                }
                for caller in &mut callers {
                    let _ = caller.write(&[22]);
                }
                callers.drain(..callers.len().saturating_sub(2 * PLACES));
            }
        };
        let (listened, dialled) = parties.listen(&ignore, |address| {
            thread::scope(|scope| {
                scope.spawn(|| flood(address));
                thread::sleep(SHORT);
                let dialled = parties.dial(address, PATIENCE, &ignore);
                over.store(true, Ordering::Relaxed);
                dialled
            })
        });
        assert_connected(listened.unwrap(), dialled.unwrap());
    }
}

#[test]
fn a_caller_that_loses_its_place_learns_why() {
    let parties = Parties::new();
    let crowded = AtomicUsize::new(0);
    let count = |event: &Event<'_>| {
        if matches!(event, Event::TurnedAway { why: Error::Crowded { .. } }) {
            crowded.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (listened, (first, dialled, _others)) = parties.listen(&count, |address| {
        let mut first = call(address, b"");
        let others: Vec<_> = (0..2 * PLACES).map(|_| call(address, b"")).collect();
        let mut said = Vec::new();
        first.read_to_end(&mut said).unwrap();
        (said, parties.dial(address, PATIENCE, &ignore), others)
    });
    assert_eq!(first, NO_PLACE);
    assert!(crowded.load(Ordering::Relaxed) > PLACES);
    assert_connected(listened.unwrap(), dialled.unwrap());
}

#[test]
fn a_second_process_of_the_other_side_hears_that_the_run_has_begun_and_tries_until_time_is_up() {
    let parties = Parties::new();
    let (listened, (address, dialled)) = parties
        .listen(&ignore, |address| (address.to_owned(), parties.dial(address, PATIENCE, &ignore)));
    let started = Instant::now();
    let said = Mutex::new(Vec::new());
    let second =
        parties.dial(&address, SHORT, &|event| said.lock().unwrap().push(format!("{event:?}")));
    assert!(matches!(second, Err(Error::InARun)), "{:?}", second.err());
    assert!(started.elapsed() >= SHORT);
    let said = said.into_inner().unwrap();
    assert!(said.len() == 1 && said[0].contains("why: Some(InARun)"), "{said:?}");
    // A caller with another identity gets this answer during a run too.
    let unknown = Parties { dialling: Identity::generate().unwrap(), ..parties };
    let started = Instant::now();
    let refused = unknown.dial(&address, PATIENCE, &ignore);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{:?}", refused.err());
    assert!(started.elapsed() < PATIENCE);
    assert_connected(listened.unwrap(), dialled.unwrap());
}

/// Copies bytes from one to the other until either ends.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// Accepts connections, and closes the first ones at once or in the middle of the handshake. Then it forwards.
fn forward(listener: &TcpListener, target: &str, failures: usize, in_the_middle: bool) {
    for (nth, near) in listener.incoming().map_while(std::result::Result::ok).enumerate() {
        if nth < failures && !in_the_middle {
            continue;
        }
        let far = TcpStream::connect(target).unwrap();
        if nth < failures {
            let mut hello = [0; 64];
            let read = (&near).read(&mut hello).unwrap();
            (&far).write_all(&hello[..read]).unwrap();
            // Closing with unread bytes resets the connection.
            continue;
        }
        let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
        thread::spawn(move || copy(near, far));
        let [near, far] = ends;
        thread::spawn(move || copy(far, near));
        return;
    }
}

#[test]
fn a_forwarder_that_takes_connections_and_closes_them_is_tried_again() {
    for in_the_middle in [false, true] {
        let parties = Parties::new();
        let forwarder = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = forwarder.local_addr().unwrap().to_string();
        let waited = AtomicUsize::new(0);
        let (listened, dialled) = parties.listen(&ignore, |address| {
            thread::scope(|scope| {
                scope.spawn(|| forward(&forwarder, address, 4, in_the_middle));
                parties.dial(&at, PATIENCE, &|event| {
                    if matches!(event, Event::Waiting { why: Some(Error::Closed { .. }), .. }) {
                        waited.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
        });
        assert_connected(listened.unwrap(), dialled.unwrap());
        assert_eq!(waited.load(Ordering::Relaxed), 1, "said once, tried four times");
    }
}

#[test]
fn a_forwarder_that_never_leads_anywhere_is_said_to_be_one() {
    let forwarder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = forwarder.local_addr().unwrap().to_string();
    thread::spawn(move || forwarder.incoming().for_each(drop));
    let started = Instant::now();
    let error = Parties::new().dial(&address, SHORT, &ignore).err().unwrap();
    assert!(started.elapsed() >= SHORT);
    assert!(matches!(error, Error::NotThrough { .. }), "{error}");
    assert!(error.to_string().contains(&address) && error.to_string().contains("0.7 s"), "{error}");
}

#[test]
fn a_listener_without_a_place_is_tried_again_and_one_that_is_somebody_else_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut caller in listener.incoming().map_while(std::result::Result::ok) {
            let _ = caller.read(&mut [0; 4096]);
            let _ = caller.write_all(&NO_PLACE);
        }
    });
    let error = Parties::new().dial(&address, SHORT, &ignore).err().unwrap();
    assert!(matches!(error, Error::NoPlace), "{error}");

    let parties = Parties::new();
    let cancel = &parties.cancel;
    let (_, error) = parties.listen(&ignore, |address| {
        let absent = Identity::generate().unwrap().fingerprint();
        let (me, peer, wait, stall) = (&parties.dialling, &absent, PATIENCE, PATIENCE);
        let wrong = Meeting { me, peer, wait, stall, proxy: None, cancel, observer: &ignore };
        let error = dial(address, &wrong).err().unwrap();
        cancel.cancel();
        error
    });
    assert!(matches!(error, Error::WrongPeer { .. }), "{error}");
}

#[test]
fn a_run_has_more_connections_to_the_same_party_alone() {
    let parties = Parties::new();
    let (listened, (address, dialled)) = parties
        .listen(&ignore, |address| (address.to_owned(), parties.dial(address, PATIENCE, &ignore)));
    let [mut one, mut other] =
        [listened, dialled].map(|connection| connection.unwrap().into_channel().unwrap());
    assert!(one.has_parallel() && other.has_parallel());
    // An unexpected connection gets this answer.
    let credentials =
        Credentials::new(&parties.dialling, &parties.listening.fingerprint()).unwrap();
    let unexpected = || {
        let tcp = tcp::connect(&address, PATIENCE, &parties.cancel).unwrap();
        credentials.calling(CallKind::Parallel, tcp).unwrap().complete(PATIENCE, &parties.cancel)
    };
    assert!(matches!(unexpected(), Err(Error::InARun)));
    // Both sides are bound to different exporters; the session must be the same.
    for channel in [&mut one, &mut other] {
        channel.bind("test", b"the same run");
    }
    let session = one.session();
    assert_eq!(session, other.session());
    let (ours, theirs) = thread::scope(|scope| {
        let theirs = scope.spawn(|| [1, 2].map(|number| other.parallel(number).unwrap()));
        ([1, 2].map(|number| one.parallel(number).unwrap()), theirs.join().unwrap())
    });
    assert!(matches!(unexpected(), Err(Error::InARun)));
    let mut sessions = vec![session];
    for (mut one, mut other) in ours.into_iter().zip(theirs) {
        one.send("test", &[7]).unwrap();
        one.flush().unwrap();
        let mut byte = [0];
        other.recv_into("test", &mut byte).unwrap();
        assert_eq!(byte, [7]);
        assert_eq!(one.session(), other.session());
        sessions.push(one.session());
    }
    assert!(sessions[0] != sessions[1] && sessions[1] != sessions[2] && sessions[0] != sessions[2]);
}

#[test]
fn a_connection_of_another_run_is_refused() {
    let parties = Parties::new();
    let (listened, dialled) =
        parties.listen(&ignore, |address| parties.dial(address, PATIENCE, &ignore));
    let [mut one, mut other] =
        [listened, dialled].map(|connection| connection.unwrap().into_channel().unwrap());
    one.bind("test", b"a run");
    other.bind("test", b"another");
    thread::scope(|scope| {
        let theirs = scope.spawn(move || other.parallel(1).map(drop));
        let refused = one.parallel(1).err().unwrap();
        assert!(refused.to_string().contains("a connection of another run"), "{refused}");
        theirs.join().unwrap().unwrap();
    });
}

/// Two tasks talk to each other through connections of their parties, which pass on bytes that they cannot read.
#[test]
fn joined_connections_pass_on_their_bytes() {
    let parties = &Parties::new();
    let (listened, dialled) =
        parties.listen(&ignore, |address| parties.dial(address, PATIENCE, &ignore));
    let mut one = dialled.unwrap().into_channel().unwrap();
    let mut other = listened.unwrap().into_channel().unwrap();
    let (ours, theirs) = thread::scope(|scope| {
        let theirs = scope.spawn(|| other.another(0).unwrap());
        (one.another(0).unwrap(), theirs.join().unwrap())
    });
    // Each party and its task have a connection of their own.
    let pair = || {
        let parties = Parties::new();
        let (listened, dialled) =
            parties.listen(&ignore, |address| parties.dial(address, PATIENCE, &ignore));
        (listened.unwrap(), dialled.unwrap())
    };
    let ((near, task), (far, its_task)) = (pair(), pair());
    let [me, it] = [(); 2].map(|()| Identity::generate().unwrap());
    let cancel = &CancelToken::default();
    let sent: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    let moved = &[(); 2].map(|()| AtomicU64::new(0));
    let count = move |there, back| {
        moved[0].fetch_add(there, Ordering::Relaxed);
        moved[1].fetch_add(back, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        let here = scope.spawn(move || near.join(ours, PATIENCE, cancel, count));
        let there = scope.spawn(move || far.join(theirs, PATIENCE, cancel, |_, _| {}));
        let (me_print, it_print) = (me.fingerprint(), it.fingerprint());
        let end = scope.spawn(move || {
            let inside = its_task.inside(&it, &me_print, false, PATIENCE, cancel).unwrap();
            let mut channel = inside.into_channel().unwrap();
            let received = channel.recv_len("all", 2_000_000).unwrap();
            channel.finish().unwrap();
            (received, channel.session())
        });
        let inside = task.inside(&me, &it_print, true, PATIENCE, cancel).unwrap();
        let mut channel = inside.into_channel().unwrap();
        channel.send("all", &sent).unwrap();
        channel.finish().unwrap();
        let session = channel.session();
        drop(channel);
        let (received, its_session) = end.join().unwrap();
        assert!(received == sent && session == its_session);
        here.join().unwrap().unwrap();
        let [sent, received] = [&moved[0], &moved[1]].map(|bytes| bytes.load(Ordering::Relaxed));
        assert!(sent > 1_000_000 && (1..100_000).contains(&received), "{sent} {received}");
        // The other end may see the connection end first.
        let _ = there.join().unwrap();
    });
}

#[test]
fn silence_and_a_request_end_what_is_passed_on() {
    let joined = |idle, cancelled| {
        let parties = Parties::new();
        let met = || {
            let (listened, dialled) =
                parties.listen(&ignore, |address| parties.dial(address, PATIENCE, &ignore));
            (listened.unwrap(), dialled.unwrap())
        };
        let ((one, _first), (other, _second)) = (met(), met());
        let cancel = CancelToken::default();
        if cancelled {
            cancel.cancel();
        }
        one.join(other, idle, &cancel, |_, _| {}).unwrap_err()
    };
    assert!(matches!(joined(SHORT, false), Error::Stalled { .. }));
    assert!(matches!(joined(PATIENCE, true), Error::Cancelled { .. }));
}

#[test]
fn a_party_may_have_many_connections_where_that_is_wanted() {
    let (me, task) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let peers = BTreeSet::from([task.fingerprint()]);
    for (many, expected) in [(true, 3), (false, 1)] {
        let bind = if many { Server::of_many_connections } else { Server::bind };
        let mut server = bind("127.0.0.1:0", &me, peers.clone(), PATIENCE).unwrap();
        let (address, cancel) = (server.address().to_string(), CancelToken::default());
        let peer = me.fingerprint();
        let dial = || {
            let meeting = Meeting {
                me: &task,
                peer: &peer,
                wait: SHORT,
                stall: PATIENCE,
                proxy: None,
                cancel: &cancel,
                observer: &ignore,
            };
            dial(&address, &meeting)
        };
        thread::scope(|scope| {
            let callers: Vec<_> = (0..3).map(|_| scope.spawn(dial)).collect();
            let (mut visits, until) = (Vec::new(), Instant::now() + 2 * SHORT);
            while Instant::now() < until {
                visits.extend(server.turn(&mut |_| ()));
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(visits.len(), expected);
            let in_a_run = callers.into_iter().filter_map(|caller| caller.join().unwrap().err());
            assert_eq!(in_a_run.count(), 3 - expected);
        });
    }
}

/// A party calls a service again and again: the service asks it to wait, and its program does.
#[test]
fn a_party_that_calls_too_often_is_heard_later() {
    let parties = Parties::new();
    let peers = BTreeSet::from([parties.dialling.fingerprint()]);
    let mut server = Server::bind("127.0.0.1:0", &parties.listening, peers, PATIENCE).unwrap();
    let (clock, interval) = (Clock::default(), Duration::from_secs(3600));
    server.set_pace(Pace { at_once: 2, interval }, clock.clone());
    let (address, over) = (server.address().to_string(), AtomicBool::new(false));
    let (visits, waited) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // A visit is over at once, and the next one may come.
                let came =
                    server.turn(&mut |why| assert!(matches!(why, Error::TooOften { .. }), "{why}"));
                visits.fetch_add(usize::from(came.is_some()), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..2 {
            parties.dial(&address, PATIENCE, &ignore).unwrap();
        }
        let error = parties.dial(&address, SHORT, &ignore).err();
        assert!(matches!(error, Some(Error::Later)), "{error:?}");
        parties
            .dial(&address, PATIENCE, &|event| {
                if matches!(event, Event::Waiting { why: Some(Error::Later), .. }) {
                    waited.fetch_add(1, Ordering::Relaxed);
                    clock.advance(interval);
                }
            })
            .unwrap();
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!((visits.into_inner(), waited.into_inner()), (3, 1));
}
