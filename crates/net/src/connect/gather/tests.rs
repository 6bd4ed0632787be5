use std::{net::TcpListener, sync::Mutex};

use super::*;
use crate::{AbortReason, Channel, Mesh};

const LONG: Duration = Duration::from_secs(30);

fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
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
                let gathering = Gathering { members, me, hub, listen: None };
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
            let Assembled { connections, host } = gathered.unwrap();
            let channels = connections.into_iter().map(|one| one.into_channel().unwrap());
            let mut channels: Vec<Channel> = channels.collect();
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
        let Assembled { connections, host } = gathered.unwrap();
        let channels = connections.into_iter().map(|one| one.into_channel().unwrap());
        let mut channels: Vec<Channel> = channels.collect();
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
