use std::{
    collections::BTreeMap,
    iter::repeat_with,
    net::TcpListener,
    sync::{
        Mutex,
        atomic::{AtomicU16, Ordering},
    },
    thread,
};

use super::*;
use crate::{AbortReason, CancelToken, Fingerprint, Identity, Mesh};

const NAME: GatheringName = [7; 32];
const LONG: Duration = Duration::from_secs(30);

/// Returns an address at which nobody listens. Its port is below the range that the system uses for outgoing
/// connections, which might take it first.
fn free() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 8_192 + (std::process::id() % 32) as u16 * 256;
    let ports = repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 256);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = ports.take(256).find(is_free).unwrap();
    format!("127.0.0.1:{port}")
}

/// Parties with identities; the marked ones listen.
fn parties(listening: &[bool]) -> (Vec<Identity>, Vec<Member>) {
    let identities: Vec<_> = listening.iter().map(|_| Identity::generate().unwrap()).collect();
    let member = |(number, (identity, listens)): (usize, (&Identity, &bool))| Member {
        name: format!("p{number}"),
        fingerprint: identity.fingerprint(),
        address: listens.then(free),
    };
    let members = identities.iter().zip(listening).enumerate().map(member).collect();
    (identities, members)
}

/// Gathers these parties, each in a thread of its own, and calls `act` in each with what came of it.
fn gathered<T: Send>(
    identities: &[Identity],
    members: &[Member],
    present: &[usize],
    wait: Duration,
    act: impl Fn(usize, Result<Assembled>) -> T + Sync,
) -> Vec<T> {
    let hub = members.iter().position(|member| member.address.is_some()).unwrap();
    thread::scope(|scope| {
        let act = &act;
        let started = present.iter().map(|&me| {
            scope.spawn(move || {
                let gathering = Gathering { name: NAME, members, me, hub, listen: None };
                let meeting = Meeting {
                    me: &identities[me],
                    peer: &members[me].fingerprint,
                    wait,
                    stall: LONG,
                    proxy: None,
                    cancel: &CancelToken::default(),
                    observer: &|_| {},
                };
                act(me, gathering.gather(&meeting))
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Every pair has a session of its own, regardless of the parties that can listen.
#[test]
fn all_pairs_connect_whoever_listens() {
    for listening in [
        &[true, false, false][..],
        &[false, false, true],
        &[true, true, true],
        &[false, true, false, false, true],
    ] {
        let (identities, members) = parties(listening);
        let all: Vec<_> = (0..members.len()).collect();
        let sessions = Mutex::new(BTreeMap::new());
        gathered(&identities, &members, &all, LONG, |me, gathered| {
            let Assembled { mut channels, host } = gathered.unwrap();
            let mut mesh = Mesh::new(me, &mut channels);
            for other in mesh.others() {
                let channel = mesh.to(other);
                assert_eq!(channel.peer(), Some(members[other].fingerprint));
                let mut sessions = sessions.lock().unwrap();
                let pair = [me.min(other), me.max(other)];
                let session = *channel.session().as_bytes();
                let known = *sessions.entry(pair).or_insert(session);
                assert_eq!(known, session, "{pair:?}");
            }
            let numbers = mesh.all("number", [me as u8]).unwrap();
            assert!(numbers.iter().enumerate().all(|(party, number)| number == &[party as u8]));
            let texts = mesh.all_texts("text", &vec![7; me], members.len()).unwrap();
            assert!(texts.iter().enumerate().all(|(party, text)| text.len() == party));
            mesh.tell("step", &[]).unwrap();
            mesh.hear("step").unwrap();
            mesh.finish().unwrap();
            host.into_iter().for_each(|host| host.close(LONG));
        });
        let sessions = sessions.into_inner().unwrap();
        let mut distinct: Vec<_> = sessions.values().collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len() * (all.len() - 1) / 2, "{listening:?}");
    }
}

/// The other parties' names are in the error of a party that waited for them.
#[test]
fn a_party_that_does_not_come_is_named() {
    let (identities, members) = parties(&[true, false, false]);
    let short = Duration::from_millis(300);
    let ended = gathered(&identities, &members, &[0, 1], short, |_, gathered| gathered.err());
    let [Some(shop), Some(club)] = &ended[..] else { panic!("all have come") };
    assert!(shop.to_string().starts_with("p2 did not connect within 0.3 s"), "{shop}");
    assert!(club.to_string().starts_with("p2 did not connect"), "{club}");
}

/// A party that stops informs all others, also parties that it reaches through another one.
#[test]
fn an_abort_reaches_all() {
    let (identities, members) = parties(&[true, false, false]);
    gathered(&identities, &members, &[0, 1, 2], LONG, |me, gathered| {
        let Assembled { mut channels, host } = gathered.unwrap();
        let mut mesh = Mesh::new(me, &mut channels);
        if me == 2 {
            mesh.abort(AbortReason::Missing(5));
        } else {
            let ended = mesh.to(2).recv_into("step", &mut []).unwrap_err();
            let reason = AbortReason::Missing(5);
            assert!(
                matches!(ended, Error::Aborted { reason: said, .. } if said == reason),
                "{ended}"
            );
            assert_eq!(mesh.gone(), Some(2));
        }
        drop(channels);
        host.into_iter().for_each(|host| host.close(LONG));
    });
}

/// Meets the other side as between two.
fn meeting<'a>(me: &'a Identity, peer: &'a Fingerprint, cancel: &'a CancelToken) -> Meeting<'a> {
    Meeting { me, peer, wait: LONG, stall: LONG, proxy: None, cancel, observer: &|_| {} }
}

/// A party that names another agreement hears so, and the others go on waiting for the one that they expect.
#[test]
fn a_party_of_another_gathering_is_refused() {
    let (identities, members) = parties(&[true, false, false]);
    let (members, cancel) = (&members, &CancelToken::default());
    let refused = Mutex::new(Vec::new());
    let gather = |me: usize, name: GatheringName| {
        let observer = &|event: &Event<'_>| {
            if let Event::TurnedAway { why } = event {
                refused.lock().unwrap().push(why.to_string());
            }
        };
        let gathering = Gathering { name, members, me, hub: 0, listen: None };
        let peer = &members[me].fingerprint;
        gathering.gather(&Meeting { observer, ..meeting(&identities[me], peer, cancel) })
    };
    thread::scope(|scope| {
        let gather = &gather;
        let [shop, club] = [0, 1].map(|me| scope.spawn(move || gather(me, NAME)));
        let address = members[0].address.as_deref().unwrap();
        let stray = meeting(&identities[2], &members[0].fingerprint, cancel);
        for (name, join) in [([8; 32], None), (NAME, Some(0)), (NAME, Some(2)), (NAME, Some(77))] {
            let mut connection = dial_for(CallKind::Gathering, address, &stray).unwrap();
            Hello { name, join }.send(&mut connection, LONG, cancel).unwrap();
            let said = connection.into_channel().unwrap().recv_into("step", &mut []).unwrap_err();
            match join {
                None => assert!(
                    matches!(said, Error::Aborted { reason: AbortReason::Agreement, .. }),
                    "{said}"
                ),
                Some(_) => assert!(matches!(said, Error::Closed { .. }), "{said}"),
            }
        }
        let bank = gather(2, NAME).unwrap();
        assert_eq!(bank.channels.len(), 2);
        for party in [shop, club] {
            assert_eq!(party.join().unwrap().unwrap().channels.len(), 2);
        }
    });
    let refused = refused.into_inner().unwrap();
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(refused.iter().all(|why| why.contains("another agreement")), "{refused:?}");
}

/// Two parties and several do not take each other for partners.
#[test]
fn runs_of_two_and_of_several_do_not_mix() {
    for call in [CallKind::Run, CallKind::Gathering] {
        let (identities, members) = parties(&[true, false, false]);
        let (address, cancel) = (members[0].address.as_deref().unwrap(), &CancelToken::default());
        let [host, caller] = [0, 1].map(|party| members[party].fingerprint);
        let (until, seen) = (&CancelToken::default(), &Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let (identities, members, caller) = (&identities, &members, &caller);
            let host_thread = scope.spawn(move || {
                let observer = &|event: &Event<'_>| {
                    if let Event::TurnedAway { why } = event {
                        seen.lock().unwrap().push(why.to_string());
                    }
                };
                let meeting = Meeting { observer, ..meeting(&identities[0], caller, until) };
                let gathering = Gathering { name: NAME, members, me: 0, hub: 0, listen: None };
                match call {
                    CallKind::Gathering => super::super::listen(address, &meeting).err(),
                    _ => gathering.gather(&meeting).err(),
                }
            });
            let ended = dial_for(call, address, &meeting(&identities[1], &host, cancel));
            assert!(matches!(ended, Err(Error::OtherKind)), "{call:?}");
            while seen.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            until.cancel();
            assert!(matches!(host_thread.join().unwrap(), Some(Error::Cancelled { .. })));
            let seen = seen.lock().unwrap();
            assert!(seen[0].contains("one of the two sides is in a run of two"), "{seen:?}");
        });
    }
}

/// A service has a lobby for each of its gatherings. A party that leaves before all are there may come again.
#[test]
fn a_service_gathers_each_of_its_runs() {
    let (identities, members) = parties(&[true, false, false]);
    let (members, cancel) = (&members, &CancelToken::default());
    let peers = members[1..].iter().map(|member| member.fingerprint).collect();
    let address = members[0].address.as_deref().unwrap();
    let mut server = Server::of_gatherings_too(address, &identities[0], peers, LONG).unwrap();
    let names = [NAME, [8; 32]];
    let lobbies = names.map(|name| Lobby::new(name, 0, members));
    let gather = |me: usize, name: GatheringName| {
        let gathering = Gathering { name, members, me, hub: 0, listen: None };
        let meeting = meeting(&identities[me], &members[me].fingerprint, cancel);
        let mut channels = match (me, names.iter().position(|of| *of == name)) {
            (0, Some(lobby)) => gathering.gather_at(&lobbies[lobby], &meeting).unwrap(),
            _ => gathering.gather(&meeting).unwrap().channels,
        };
        let mut mesh = Mesh::new(me, &mut channels);
        let names = mesh.all("name", name).unwrap();
        assert!(names.iter().all(|theirs| *theirs == name));
        mesh.finish().unwrap();
    };
    let over = CancelToken::default();
    thread::scope(|scope| {
        let desk = scope.spawn(|| {
            while !over.is_cancelled() {
                let Some(visit) = server.turn(&mut |why| panic!("{why}")) else {
                    thread::sleep(Duration::from_millis(2));
                    continue;
                };
                assert_eq!(visit.call(), CallKind::Gathering);
                let caller = visit.peer();
                let (mut connection, _) = visit.into_parts();
                let hello = Hello::receive(&mut connection, &over).unwrap();
                let lobby = &lobbies[names.iter().position(|name| *name == hello.name).unwrap()];
                lobby.place(caller, hello, connection).unwrap();
            }
        });
        // It calls and gives up.
        let calls = |me: usize| meeting(&identities[me], &members[0].fingerprint, cancel);
        let mut gone = dial_for(CallKind::Gathering, address, &calls(2)).unwrap();
        Hello { name: NAME, join: None }.send(&mut gone, LONG, cancel).unwrap();
        drop(gone);
        while !lobbies[0].is_called() {
            thread::sleep(Duration::from_millis(2));
        }
        let gather = &gather;
        let mut started: Vec<_> = names.map(|name| scope.spawn(move || gather(0, name))).into();
        // It notices at once that one is gone, even if the other one comes first.
        for me in [1, 2] {
            started.extend(names.map(|name| scope.spawn(move || gather(me, name))));
            thread::sleep(Duration::from_millis(100));
        }
        started.into_iter().for_each(|thread| thread.join().unwrap());
        over.cancel();
        desk.join().unwrap();
    });
}

/// A party that calls and does not say for whom keeps no other party out.
#[test]
fn silent_calls_of_a_party_are_few() {
    let (identities, members) = parties(&[true, false]);
    let (address, cancel) = (members[0].address.as_deref().unwrap(), &CancelToken::default());
    let peers = [members[1].fingerprint].into();
    let mut server = Server::of_gatherings_too(address, &identities[0], peers, LONG).unwrap();
    let (host, over) = (members[0].fingerprint, CancelToken::default());
    thread::scope(|scope| {
        let desk = scope.spawn(|| {
            let mut visits = Vec::new();
            while !over.is_cancelled() {
                visits.extend(server.turn(&mut |_| {}));
                thread::sleep(Duration::from_millis(2));
            }
            visits
        });
        let short =
            Meeting { wait: Duration::from_millis(300), ..meeting(&identities[1], &host, cancel) };
        let calls: Vec<_> =
            (0..6).map(|_| dial_for(CallKind::Gathering, address, &short)).collect();
        assert_eq!(calls.iter().filter(|call| call.is_ok()).count(), 4);
        assert!(
            calls.iter().flat_map(|call| call.as_ref().err()).all(|e| matches!(e, Error::InARun))
        );
        // A run of two has a place of its own.
        dial_for(CallKind::Run, address, &short).unwrap();
        over.cancel();
        assert_eq!(desk.join().unwrap().len(), 5);
    });
}
