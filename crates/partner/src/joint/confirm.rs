//! The meeting in which several parties sign their agreement.
//!
//! The check phrase protects the parties from the one that passes the parts on, which sees all of them and could invent
//! parties. Each party commits to a random number and opens it only when it holds the commitments of all others, and
//! the phrase is a hash of the parts and these numbers. Somebody who shows two parties different parts is left to
//! chance: the words of one are fixed before the number of the other is known. The numbers are new in each meeting.

use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    random::system_bytes,
};
use vesica_net::{Deviation, Identity, Mesh};

use super::{JointAgreement, JointParts};
use crate::signed::{Signed, hex};

const PARTS: &str = "joint/parts";
const COMMIT: &str = "joint/nonce-commitment";
const OPEN: &str = "joint/nonce";
const SIGNATURE: &str = "joint/signature";

/// The longest signature, in bytes; one of Ed25519 has 64.
const MAX_SIGNATURE: usize = 64;

/// Draws the numbers of the check phrase with all other parties, and returns the agreement, which nobody has signed.
///
/// # Errors
/// [`Error::Terms`] for a party that has other parts, a peer whose number does not match its commitment, and any error
/// of a connection.
pub fn draw(gathered: &JointParts, mesh: &mut Mesh<'_>) -> Result<Signed<JointAgreement>> {
    mesh.phase("agreement");
    let cast = gathered.cast()?;
    let hash = Signed::new(gathered.clone()).hash();
    let parts = *blake3::hash(hash.as_bytes()).as_bytes();
    let all = mesh.all(PARTS, parts)?;
    if let Some(party) = all.iter().position(|theirs| *theirs != parts) {
        let said = "other parts: send all parties the same text".to_owned();
        let difference = Difference::of_both("the parts of the agreement", said);
        return Err(Error::Terms(vec![difference]).of_party(cast.name(party)));
    }
    let mine = system_bytes::<16>()?;
    let commitments = mesh.all(COMMIT, commit(mesh.me(), &parts, &mine))?;
    // From here on this party holds all commitments.
    let nonces = mesh.all(OPEN, mine)?;
    let mut opened = commitments.iter().zip(&nonces).enumerate();
    let wrong = opened.find(|(party, (said, nonce))| commit(*party, &parts, nonce) != **said);
    if let Some((party, _)) = wrong {
        let check = Deviation::CheckFailed { check: "commitment to the check phrase" };
        return Err(Error::from(mesh.to(party).deviation(check)).of_party(cast.name(party)));
    }
    let nonces = nonces.iter().map(|nonce| hex(nonce)).collect();
    Ok(Signed::new(JointAgreement { version: 1, gathered: gathered.clone(), nonces }))
}

/// Signs the agreement together with all other parties.
///
/// # Errors
/// A party that sends no valid signature, and any error of a connection.
pub fn sign(
    mut agreement: Signed<JointAgreement>,
    me: &Identity,
    mesh: &mut Mesh<'_>,
) -> Result<Signed<JointAgreement>> {
    agreement.sign(me).map_err(|_| Error::bug("this side is a party of its agreement"))?;
    let mine = agreement.signature_of(me.fingerprint()).unwrap_or_default();
    let signatures = mesh.all_texts(SIGNATURE, &mine, MAX_SIGNATURE)?;
    let parts = agreement.document().gathered.parts();
    let named = parts.into_iter().map(|part| (part.name.clone(), part.party.fingerprint()));
    let parties: Vec<_> = named.collect();
    for (party, ((name, fingerprint), signature)) in parties.iter().zip(&signatures).enumerate() {
        if party != mesh.me() && agreement.add(*fingerprint, signature).is_err() {
            let error = mesh.to(party).malformed(SIGNATURE, "no signature of the agreement");
            return Err(Error::from(error).of_party(name));
        }
    }
    mesh.finish()?;
    Ok(agreement)
}

/// Returns a commitment to a number, which hides it since it is uniform. The party's number prevents others from
/// returning it as their own.
fn commit(party: usize, parts: &[u8; 32], nonce: &[u8; 16]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 joint check phrase");
    hasher.update(&(party as u64).to_le_bytes()).update(parts).update(nonce);
    *hasher.finalize().as_bytes()
}
