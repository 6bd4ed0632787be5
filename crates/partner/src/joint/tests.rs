use std::{collections::BTreeSet, thread};

use vesica_core::{error::Class, parties::Learns};
use vesica_net::{Channel, Identity, Mesh, transport::memory};
use vesica_normalize::normalize::Normalize;
use vesica_task::query::Query;

use super::{invitation::Inviting, *};
use crate::any_agreement::AnyAgreement;

const NAMES: [&str; 3] = ["shop", "club", "bank"];
const ADDRESS: &str = "shop.example.org:7788";

fn identities() -> [Identity; 3] {
    [(); 3].map(|()| Identity::generate().unwrap())
}

fn cast(leader: &str, pivot: &str) -> Cast {
    let party = |name: &str| NamedParty { name: name.to_owned(), fingerprint: name.to_owned() };
    Cast::new(NAMES.map(party).into(), leader, pivot).unwrap()
}

/// The invitation of the first party, which asks for a count.
fn invitation(me: &Identity, policy: Policy) -> Result<JointInvitation> {
    let offer = Offer { query: Query::COUNT, ..Offer::new(vec![Normalize::EMAIL], Learns::Me) };
    let inviting = Inviting {
        name: "study",
        cast: &cast("shop", "bank"),
        own_name: "shop",
        address: Some(ADDRESS.to_owned()),
        relay: None,
        policy,
    };
    JointInvitation::new(me, inviting, &offer)
}

fn reply(invitation: &JointInvitation, me: &Identity, name: &str) -> Signed<JointReply> {
    invitation.accept(me, name, &invitation.answer(name).unwrap(), None).unwrap()
}

/// The parts of these parties, each read back from its text.
fn gathered(parties: &[Identity; 3]) -> JointParts {
    let invitation = invitation(&parties[0], Policy::default()).unwrap();
    let invitation = JointInvitation::from_text(&invitation.to_text()).unwrap();
    let replies = [(2, "bank"), (1, "club")].map(|(party, name)| {
        let reply = reply(&invitation, &parties[party], name);
        Signed::<JointReply>::from_text(&reply.to_text()).unwrap()
    });
    let gathered = invitation.gather(replies.into()).unwrap();
    assert_eq!(JointParts::from_text(&gathered.to_text()).unwrap(), gathered);
    gathered
}

/// Runs three parties, each in a thread of its own.
fn three<T: Send>(party: impl Fn(usize, &mut Mesh<'_>) -> T + Sync) -> Vec<T> {
    let mut ends: [Vec<Channel>; 3] = Default::default();
    for (left, right) in [(0, 1), (0, 2), (1, 2)] {
        let (one, other) = memory::pair();
        ends[left].push(Channel::new(one));
        ends[right].push(Channel::new(other));
    }
    let party = &party;
    thread::scope(|scope| {
        let started = ends.into_iter().enumerate().map(|(me, mut channels)| {
            scope.spawn(move || party(me, &mut Mesh::new(me, &mut channels)))
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The agreements that three parties make, each from these parts.
fn agreements(
    parties: &[Identity; 3],
    parts: [&JointParts; 3],
) -> Vec<Result<Signed<JointAgreement>>> {
    three(|me, mesh| confirm::sign(confirm::draw(parts[me], mesh)?, &parties[me], mesh))
}

#[test]
fn all_parties_have_one_agreement_that_all_signed() {
    let parties = identities();
    let parts = gathered(&parties);
    let all: Vec<_> =
        agreements(&parties, [&parts; 3]).into_iter().map(std::result::Result::unwrap).collect();
    assert!(all.iter().all(|agreement| *agreement == all[0]));
    let read = AnyAgreement::from_file(&all[0].to_json()).unwrap();
    assert_eq!(read.check_phrase(), all[1].check_phrase());
    assert_eq!(read.parties().len(), 3);
    for (number, me) in parties.iter().enumerate() {
        assert!(read.is_signed_by(me.fingerprint()));
        let offer = read.offer_of(me.fingerprint()).unwrap();
        assert_eq!(offer.learns, if number == 0 { Learns::Me } else { Learns::Peer });
        assert_eq!(read.others(me.fingerprint()).unwrap().as_slice().len(), 2);
        let said = read.summary(Some(me.fingerprint())).unwrap().disclosed().concat();
        let learns =
            if number == 0 { "This side will learn how many keys all" } else { "shop will learn" };
        assert!(said.contains(learns), "{said}");
    }
    let stranger = Identity::generate().unwrap();
    assert!(read.offer_of(stranger.fingerprint()).is_err());
    assert!(read.summary(None).unwrap().disclosed().concat().contains("shop will learn"));
    // An agreement lacks a signature.
    let unsigned = Signed::new(all[0].document().clone());
    assert!(AnyAgreement::from_file(&unsigned.to_json()).is_err());
}

#[test]
fn words_are_new_in_each_meeting() {
    let parties = identities();
    let parts = gathered(&parties);
    let words = |_| three(|_, mesh| confirm::draw(&parts, mesh).unwrap().check_phrase());
    let words: Vec<BTreeSet<_>> =
        (0..2).map(|meeting| words(meeting).into_iter().collect()).collect();
    assert!(words.iter().all(|words| words.len() == 1));
    assert_ne!(words[0], words[1]);
}

#[test]
fn other_parts_are_found_by_each_party() {
    let parties = identities();
    let (parts, others) = (gathered(&parties), gathered(&parties));
    for ended in agreements(&parties, [&parts, &parts, &others]) {
        assert_eq!(ended.unwrap_err().class(), Class::Terms);
    }
}

/// A party that opens another number than it committed to, as one would that searches for words, is caught.
#[test]
fn a_number_that_was_not_committed_to_is_refused() {
    let parties = identities();
    let parts = gathered(&parties);
    let hash = Signed::new(parts.clone()).hash();
    let parts_hash = *blake3::hash(hash.as_bytes()).as_bytes();
    let ended = three(|me, mesh| {
        if me < 2 {
            return confirm::draw(&parts, mesh).map(drop).map_err(|error| error.class());
        }
        mesh.all("joint/parts", parts_hash).unwrap();
        mesh.all("joint/nonce-commitment", [7; 32]).unwrap();
        mesh.all("joint/nonce", [7; 16]).unwrap();
        Ok(())
    });
    assert_eq!(ended, [Err(Class::Peer), Err(Class::Peer), Ok(())]);
}

#[test]
fn a_party_that_signs_something_else_is_refused() {
    let parties = identities();
    let parts = gathered(&parties);
    let ended = three(|me, mesh| {
        let agreement = confirm::draw(&parts, mesh).unwrap();
        if me < 2 {
            let signed = confirm::sign(agreement, &parties[me], mesh);
            return signed.map(drop).map_err(|error| error.class());
        }
        let wrong = parties[2].sign(b"another agreement").unwrap();
        mesh.all_texts("joint/signature", &wrong, 64).unwrap();
        Ok(())
    });
    assert_eq!(ended, [Err(Class::Peer), Err(Class::Peer), Ok(())]);
}

#[test]
fn replies_that_do_not_fit_are_refused() {
    let parties = identities();
    let [shop, club, bank] = &parties;
    let first = invitation(shop, Policy::default()).unwrap();
    let other = invitation(shop, Policy::default()).unwrap();
    let gather = |replies: Vec<Signed<JointReply>>| first.gather(replies).unwrap_err().to_string();
    let of = |me, name| reply(&first, me, name);
    assert!(gather(vec![of(club, "club")]).contains("the replies of bank are missing"));
    assert!(gather(vec![of(club, "club"), of(bank, "club")]).contains("two replies of `club`"));
    let foreign = vec![of(club, "club"), reply(&other, bank, "bank")];
    assert!(gather(foreign).contains("the reply of `bank` is to another invitation"));
    assert!(gather(vec![of(club, "club"), of(club, "bank")]).contains("same fingerprint"));
    assert!(first.accept(shop, "club", &first.answer("club").unwrap(), None).is_err());
    assert!(first.answer("mall").is_err() && first.answer("shop").is_err());
    let lower = Offer { keys: vec![Normalize::LOWER], ..first.answer("club").unwrap() };
    assert_eq!(first.accept(club, "club", &lower, None).unwrap_err().class(), Class::Terms);
}

#[test]
fn policies_that_do_not_fit_several_parties_are_refused() {
    let me = Identity::generate().unwrap();
    for (policy, said) in [
        (Policy { min_parties: Some(4), ..Policy::default() }, "at least 4 parties"),
        (Policy { threshold_first: true, ..Policy::default() }, "threshold-first"),
        (Policy { min_cell: Some(5), ..Policy::default() }, "min-cell"),
    ] {
        let refused = invitation(&me, policy).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    assert!(invitation(&me, Policy { min_parties: Some(3), ..Policy::default() }).is_ok());
}

#[test]
fn documents_with_faults_are_refused() {
    type Change = fn(&mut JointParts);
    let parties = identities();
    let changes: [(Change, &str); 8] = [
        (|parts| parts.version = 2, "not of this version"),
        (|parts| parts.proposal.version = 2, "not of this version"),
        (|parts| parts.proposal.name = "a b".to_owned(), "its name has characters"),
        (|parts| parts.proposal.leader = 3, "three or more, each in a place"),
        (|parts| parts.replies.reverse(), "not in the order of the other parties"),
        (|parts| parts.proposal.inviter.address = None, "none of its parties can be reached"),
        (
            |parts| parts.replies[0].part.address = Some("club".to_owned()),
            "an address is not a host and a port",
        ),
        (
            |parts| parts.replies[0].part.party = parts.replies[1].part.party.clone(),
            "two of its parties are the same",
        ),
    ];
    for (change, said) in changes {
        let mut parts = gathered(&parties);
        assert_eq!(parts.fault(), None);
        change(&mut parts);
        assert!(parts.fault().unwrap().contains(said), "{said}: {:?}", parts.fault());
        let nonces = vec![String::new(); 3];
        assert!(JointAgreement { version: 1, gathered: parts, nonces }.fault().is_some());
    }
    let parts = gathered(&parties);
    assert!(JointAgreement { version: 1, gathered: parts, nonces: Vec::new() }.fault().is_some());
}
