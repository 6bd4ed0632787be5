use std::sync::mpsc;

use super::{proof::message, *};
use crate::{
    Identity,
    connect::{self, Meeting},
    places::PLACES,
};

const SOON: Duration = Duration::from_secs(20);

/// An address of the relays of these tests.
const HERE: &str = "relay.example.org:7799";

fn limits(admitted: &[&Identity]) -> RelayLimits {
    let admitted = admitted.iter().map(|identity| identity.fingerprint()).collect();
    let (idle, addresses) = (SOON, vec![HERE.to_owned()]);
    RelayLimits { admitted, addresses, pairs: 1, of_one: 4, bytes: 1 << 16, wait: SOON, idle }
}

/// Runs a relay with these limits while `used` calls its address, and returns its events.
fn with_relay(mut limits: RelayLimits, used: impl FnOnce(&str)) -> Vec<String> {
    let (say, said) = mpsc::channel();
    let say = Mutex::new(say);
    let observe = move |event: &Event| match event {
        Event::Second => {}
        event => drop(say.lock().unwrap().send(format!("{event:?}"))),
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    limits.addresses.push(free.clone());
    let relay = Relay::bind(&free, limits, observe).unwrap();
    let cancel = CancelToken::default();
    thread::scope(|scope| {
        scope.spawn(|| relay.run(&cancel));
        // Also if something fails.
        let _end = End(&cancel);
        used(&free);
    });
    let until = Instant::now() + SOON;
    let mut all = Vec::new();
    while let Ok(event) = said.recv_timeout(until.saturating_duration_since(Instant::now())) {
        all.push(event);
    }
    all
}

/// The end of a relay, when it is dropped.
struct End<'a>(&'a CancelToken);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn meet(address: &str, me: &Identity, peer: &Identity, wait: Duration) -> Result<crate::Channel> {
    let (cancel, peer) = (CancelToken::default(), peer.fingerprint());
    let (stall, observer) = (SOON, &|_: &connect::Event<'_>| {});
    let meeting = Meeting { me, peer: &peer, wait, stall, proxy: None, cancel: &cancel, observer };
    connect::relayed(address, &meeting)?.1.into_channel()
}

/// Both sides, at the same time.
fn both(address: &str, [one, other]: [&Identity; 2]) -> [Result<crate::Channel>; 2] {
    thread::scope(|scope| {
        let a = scope.spawn(|| meet(address, one, other, SOON));
        let b = scope.spawn(|| meet(address, other, one, SOON));
        [a.join().unwrap(), b.join().unwrap()]
    })
}

fn identities<const N: usize>() -> [Identity; N] {
    [(); N].map(|()| Identity::generate().unwrap())
}

/// A caller that speaks to the relay by hand.
struct Caller {
    stream: TcpStream,
    challenge: Vec<u8>,
}

impl Caller {
    fn new(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut begins = [0; MAGIC.len() + CHALLENGE];
        stream.read_exact(&mut begins).unwrap();
        Self { stream, challenge: begins[MAGIC.len()..].to_vec() }
    }

    fn say(&mut self, proof: &[u8]) {
        self.stream.write_all(proof).unwrap();
    }

    /// Proves to be a party that wants to meet another, at the relay of this address.
    fn call(address: &str, me: &Identity, peer: &Identity, named: &str) -> Self {
        let mut caller = Self::new(address);
        let proof = answer(me, &peer.fingerprint(), named, &caller.challenge).unwrap();
        caller.say(&proof);
        caller
    }

    /// The first word after the signs of life.
    fn hears(&mut self) -> u8 {
        let mut word = [0];
        while word[0] == RelayReply::Wait as u8 {
            self.stream.read_exact(&mut word).unwrap();
        }
        word[0]
    }

    /// Whether it waits.
    fn waits(&mut self) -> bool {
        let mut word = [0xff];
        self.stream.read_exact(&mut word).unwrap();
        word[0] == RelayReply::Wait as u8
    }
}

#[test]
fn two_parties_meet_and_no_more_bytes_pass_than_are_allowed() {
    let [one, other, third] = identities();
    let all = with_relay(limits(&[&one, &other, &third]), |address| {
        let [mut a, mut b] = both(address, [&one, &other]).map(Result::unwrap);
        a.send("hello", &[7; 1000]).unwrap();
        a.flush().unwrap();
        assert_eq!(b.recv_len("hello", 1000).unwrap(), [7; 1000]);
        // There is one place for a pair.
        let mut waits = Caller::call(address, &one, &third, HERE);
        assert!(waits.waits());
        let mut comes = Caller::call(address, &third, &one, HERE);
        let full = RelayReply::NoPlace as u8;
        assert_eq!((waits.hears(), comes.hears()), (full, full));
        let too_much = vec![0; 1 << 17];
        let sent = a.send("more", &too_much).and_then(|()| a.flush());
        let received = b.recv_len("more", 1 << 17);
        assert!(received.is_err(), "{sent:?}");
    });
    assert!(all.iter().any(|event| event.starts_with("Parted")), "{all:?}");
}

#[test]
fn a_side_that_finds_no_place_tries_again_until_time_is_up() {
    let [one, other] = identities();
    let none = RelayLimits { pairs: 0, ..limits(&[&one, &other]) };
    with_relay(none, |address| {
        let short = Duration::from_millis(300);
        let errors = thread::scope(|scope| {
            let a = scope.spawn(|| meet(address, &one, &other, SOON / 8).err());
            let b = scope.spawn(|| meet(address, &other, &one, short).err());
            [a.join().unwrap(), b.join().unwrap()]
        });
        let is_full = |error: &Option<Error>| {
            matches!(error, Some(Error::RelayFull { .. } | Error::NobodyCame { .. }))
        };
        assert!(errors.iter().all(is_full), "{errors:?}");
    });
}

#[test]
fn nobody_pretends_to_be_admitted() {
    let [one, other, third] = identities();
    let all = with_relay(limits(&[&one, &third]), |address| {
        let error = meet(address, &other, &one, SOON).err();
        assert!(matches!(error, Some(Error::NotAdmitted { .. })), "{error:?}");
        // With an admitted certificate, and the signature of another party, of another challenge, at another address,
        // or for another peer.
        for wrong in 0..4 {
            let mut caller = Caller::new(address);
            let (peer, honest) = (third.fingerprint(), one.certificate());
            let (challenge, here) = (&caller.challenge, HERE.as_bytes());
            let signature = match wrong {
                0 => other.sign(&message(challenge, here, &peer)),
                1 => one.sign(&message(&[0; CHALLENGE], here, &peer)),
                2 => one.sign(&message(challenge, b"elsewhere:1", &peer)),
                _ => one.sign(&message(challenge, here, &other.fingerprint())),
            };
            let der = honest.as_der();
            let (len, address) = ((der.len() as u16).to_le_bytes(), [here.len() as u8]);
            let proof = [&len[..], der, &address, here, peer.as_bytes(), &signature.unwrap()];
            caller.say(&proof.concat());
            assert_eq!(caller.hears(), RelayReply::Refused as u8, "{wrong}");
        }
        // A party whose peer does not come gives up.
        let error = meet(address, &one, &third, Duration::from_millis(1200)).err();
        assert!(matches!(error, Some(Error::NobodyCame { .. })), "{error:?}");
    });
    let refused = all.iter().filter(|event| event.contains("NotProved"));
    assert_eq!(refused.count(), 4, "{all:?}");
}

/// Parties that prove their identity, and may not meet.
#[test]
fn parties_that_may_not_meet_hear_why() {
    let [one, other, stranger] = identities();
    let all = with_relay(limits(&[&one, &other]), |address| {
        let word = |me, peer, named| Caller::call(address, me, peer, named).hears();
        assert_eq!(word(&one, &one, HERE), RelayReply::Refused as u8);
        assert_eq!(word(&one, &stranger, HERE), RelayReply::NobodyHere as u8);
        assert_eq!(word(&one, &other, "evil.example.org:7799"), RelayReply::OtherRelay as u8);
        assert_eq!(word(&stranger, &other, HERE), RelayReply::Refused as u8);
        // Names of hosts have no case.
        assert!(Caller::call(address, &one, &other, "RELAY.example.org:7799").waits());
        let error = meet(address, &one, &stranger, SOON).err();
        assert!(matches!(error, Some(Error::PeerNotAdmitted { .. })), "{error:?}");
    });
    for why in ["Itself", "PeerNotAdmitted", "OtherRelay", "NotAdmitted"] {
        assert!(all.iter().any(|event| event.contains(why)), "{why}: {all:?}");
    }
}

/// A hostile relay forwards the challenge of another one to a party that calls it, and the answer back.
#[test]
fn a_relay_cannot_go_to_another_one_in_the_name_of_a_party() {
    let [one, other] = identities();
    let all = with_relay(limits(&[&one, &other]), |address| {
        let hostile = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = hostile.local_addr().unwrap().to_string();
        let word = thread::scope(|scope| {
            let (one, other) = (&one, &other);
            let victim = scope.spawn(move || meet(&at, one, other, Duration::from_millis(300)));
            let mut called = hostile.accept().unwrap().0;
            let mut caller = Caller::new(address);
            called.write_all(&[&MAGIC[..], &caller.challenge].concat()).unwrap();
            let mut said = Vec::new();
            while proof::length(&said).unwrap() > said.len() {
                let mut bytes = vec![0; proof::length(&said).unwrap() - said.len()];
                called.read_exact(&mut bytes).unwrap();
                said.extend_from_slice(&bytes);
            }
            caller.say(&said);
            let word = caller.hears();
            drop((called, hostile));
            assert!(victim.join().unwrap().is_err());
            word
        });
        assert_eq!(word, RelayReply::OtherRelay as u8);
    });
    assert!(!all.iter().any(|event| event.contains("Waits")), "{all:?}");
}

/// One party takes as many places as it can get, and two others meet nevertheless.
#[test]
fn a_party_has_no_more_places_than_one_may_have() {
    let parties: [Identity; 8] = identities();
    let admitted: Vec<_> = parties.iter().collect();
    let [greedy, friend, one, other, ..] = &parties;
    let rules = RelayLimits { pairs: 3, of_one: 2, ..limits(&admitted) };
    with_relay(rules, |address| {
        // Two pairs, and no third one.
        let mut pairs: Vec<_> = (0..3)
            .map(|_| {
                let mut waits = Caller::call(address, greedy, friend, HERE);
                assert!(waits.waits());
                [waits, Caller::call(address, friend, greedy, HERE)]
            })
            .collect();
        let words: Vec<_> = pairs.iter_mut().map(|[a, b]| (a.hears(), b.hears())).collect();
        let (met, full) = (RelayReply::Met as u8, RelayReply::NoPlace as u8);
        assert_eq!(words, [(met, met), (met, met), (full, full)]);
        // It waits for two others, and for no third one.
        let mut waits: Vec<_> =
            parties[2..5].iter().map(|peer| Caller::call(address, greedy, peer, HERE)).collect();
        assert!(waits[0].waits() && waits[1].waits());
        assert_eq!(waits[2].hears(), full);
        let _met = both(address, [one, other]).map(Result::unwrap);
    });
}

/// Many parties wait for others; the one that waits for the most loses a place to one that comes.
#[test]
fn parties_that_wait_leave_a_place_for_others() {
    let parties: [Identity; 6] = identities();
    let admitted: Vec<_> = parties.iter().collect();
    let rules = RelayLimits { pairs: 2, of_one: 4, ..limits(&admitted) };
    with_relay(rules, |address| {
        let mut greedy: Vec<_> =
            (1..5).map(|peer| Caller::call(address, &parties[0], &parties[peer], HERE)).collect();
        assert!(greedy.iter_mut().all(Caller::waits));
        assert!(Caller::call(address, &parties[5], &parties[4], HERE).waits());
        let mut words: Vec<_> = greedy.iter_mut().map(|caller| caller.waits()).collect();
        words.sort_unstable();
        assert_eq!(words, [false, true, true, true]);
    });
}

#[test]
fn strangers_who_say_nothing_keep_nobody_out() {
    let [one, other] = identities();
    let all = with_relay(limits(&[&one, &other]), |address| {
        let silent: Vec<_> =
            (0..2 * PLACES).map(|_| TcpStream::connect(address).unwrap()).collect();
        let started = Instant::now();
        let _met = both(address, [&one, &other]).map(Result::unwrap);
        // They could stay for longer than that.
        assert!(started.elapsed() < PATIENCE);
        drop(silent);
    });
    assert!(all.iter().any(|event| event.contains("Displaced")), "{all:?}");
}

#[test]
fn a_party_that_calls_too_often_is_asked_to_wait() {
    let [one, other] = identities();
    with_relay(limits(&[&one, &other]), |address| {
        let full = RelayReply::NoPlace as u8;
        let call = || Caller::call(address, &one, &other, HERE);
        let mut calls: Vec<_> = (0..2 * PACE.at_once).map(|_| call()).collect();
        let last = calls.last_mut().unwrap();
        let mut word = [0];
        last.stream.read_exact(&mut word).unwrap();
        assert_eq!(word[0], full);
    });
}
