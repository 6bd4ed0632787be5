//! The exchange between a party and a relay before two parties meet.
//!
//! The relay begins with a fixed text of 16 bytes and a random challenge of 32. A party answers with the length of
//! its certificate in two bytes (little endian), the certificate in DER, the length of the relay's address in one
//! byte, that address as the party dialled it, the fingerprint of the party that it wants to meet, and its signature
//! of the challenge, the address and that fingerprint. The relay answers with words of one byte, until one ends the
//! wait.
//!
//! A relay accepts only signatures that name one of its own addresses. So a hostile relay cannot forward another
//! relay's challenge to a party that calls it, and impersonate that party there.

use std::{collections::BTreeSet, fmt};

use crate::{Certificate, Error, Fingerprint, Identity, Result};

/// The first bytes of a relay of any version.
pub(crate) const RELAY: &[u8] = b"vesica relay ";

/// The first bytes of a relay of this version.
pub(crate) const MAGIC: &[u8; 16] = b"vesica relay 2\r\n";

/// Bytes of the challenge.
#[doc(hidden)]
pub const CHALLENGE: usize = 32;

/// Bytes of a signature.
const SIGNATURE: usize = 64;

/// The longest certificate that is read.
const LONGEST: usize = 1 << 12;

/// A word of a relay to a party that has authenticated. The numbers are the codes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RelayReply {
    /// The other party is not there yet.
    Wait = 0,
    /// The other party is there: the following bytes come from it.
    Met = 1,
    /// This party is not admitted, or did not prove its identity.
    Refused = 2,
    /// The relay is full, or this party has reached its limit of places.
    NoPlace = 3,
    /// This party means another relay.
    OtherRelay = 4,
    /// This relay does not admit the party that this one wants to meet.
    NobodyHere = 5,
}

/// Why a relay turns away a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelayRefusal {
    /// It sent nothing, or too little.
    Silent,
    /// It does not speak the relay protocol.
    Foreign,
    /// It did not prove its identity.
    NotProved,
    /// It is not admitted.
    NotAdmitted,
    /// It means another relay.
    OtherRelay,
    /// The party that it wants to meet is not admitted.
    PeerNotAdmitted,
    /// It wants to meet itself.
    Itself,
    /// It made room for another caller.
    Displaced,
    /// It has reached the limit of one party, or calls too often.
    TooMuch,
    /// The relay has reached its limit of pairs.
    NoPlace,
}

impl fmt::Display for RelayRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "it did not send its identity",
            Self::Foreign => "it does not speak the relay protocol",
            Self::NotProved => "it did not prove its identity",
            Self::NotAdmitted => "it is not admitted",
            Self::OtherRelay => "it dialled a relay of another address",
            Self::PeerNotAdmitted => "it wants to meet a party that is not admitted",
            Self::Itself => "it wants to meet itself",
            Self::Displaced => "its place was given to another caller",
            Self::TooMuch => "it has reached the limit of one party, or calls too often",
            Self::NoPlace => "the relay has reached its limit of pairs",
        })
    }
}

impl RelayRefusal {
    /// The word that is sent to the caller, if any.
    pub(super) fn word(self) -> Option<RelayReply> {
        Some(match self {
            Self::Silent | Self::Foreign | Self::Displaced => return None,
            Self::NotProved | Self::NotAdmitted | Self::Itself => RelayReply::Refused,
            Self::OtherRelay => RelayReply::OtherRelay,
            Self::PeerNotAdmitted => RelayReply::NobodyHere,
            Self::TooMuch | Self::NoPlace => RelayReply::NoPlace,
        })
    }
}

/// The text that a party signs to prove its identity.
pub(super) fn message(challenge: &[u8], address: &[u8], peer: &Fingerprint) -> Vec<u8> {
    [b"vesica 2 relay\n", challenge, &[address.len() as u8], address, peer.as_bytes()].concat()
}

/// The answer of a party to the challenge of the relay at this address.
pub(crate) fn answer(
    me: &Identity,
    peer: &Fingerprint,
    address: &str,
    challenge: &[u8],
) -> Result<Vec<u8>> {
    let address = address.as_bytes();
    let Ok(length) = u8::try_from(address.len()) else {
        return Err(Error::Handshake {
            what: "the address of a relay has at most 255 bytes".to_owned(),
        });
    };
    let unusable = |_| Error::Handshake { what: "this side's key cannot sign".to_owned() };
    let signature = me.sign(&message(challenge, address, peer)).map_err(unusable)?;
    let certificate = me.certificate();
    let der = certificate.as_der();
    let proof =
        [&(der.len() as u16).to_le_bytes(), der, &[length], address, peer.as_bytes(), &signature];
    Ok(proof.concat())
}

/// The length of an answer, as far as its first bytes show it.
pub(super) fn length(said: &[u8]) -> std::result::Result<usize, RelayRefusal> {
    let Some(der) = said.first_chunk() else { return Ok(2) };
    let der = usize::from(u16::from_le_bytes(*der));
    if der > LONGEST {
        return Err(RelayRefusal::Foreign);
    }
    let rest = 2 + der + 1;
    let address = said.get(rest - 1).map_or(0, |length| usize::from(*length));
    let is_known = said.len() >= rest;
    Ok(if is_known { rest + address + Fingerprint::BYTES + SIGNATURE } else { rest })
}

/// Checks a whole answer, and returns the party that the caller proves to be and the one that it wants to meet: both
/// are `admitted`, and the answer names one of these addresses.
///
/// # Errors
/// The reason why it is turned away.
#[doc(hidden)]
pub fn hear(
    said: &[u8],
    challenge: &[u8; CHALLENGE],
    addresses: &[String],
    admitted: &BTreeSet<Fingerprint>,
) -> std::result::Result<[Fingerprint; 2], RelayRefusal> {
    if said.len() != length(said)? {
        return Err(RelayRefusal::Silent);
    }
    // It has the length that it declares.
    let (der, rest) = said[2..].split_at(usize::from(u16::from_le_bytes([said[0], said[1]])));
    let (address, rest) = rest[1..].split_at(usize::from(rest[0]));
    let (peer, signature) = rest.split_at(Fingerprint::BYTES);
    let certificate = Certificate::from_der(der).map_err(|_| RelayRefusal::NotProved)?;
    let peer = Fingerprint::from_bytes(peer).ok_or(RelayRefusal::Silent)?;
    let me = certificate.fingerprint();
    let is_mine = |mine: &String| mine.as_bytes().eq_ignore_ascii_case(address);
    if !certificate.has_signed(&message(challenge, address, &peer), signature) {
        Err(RelayRefusal::NotProved)
    } else if !admitted.contains(&me) {
        Err(RelayRefusal::NotAdmitted)
    } else if !addresses.iter().any(is_mine) {
        Err(RelayRefusal::OtherRelay)
    } else if me == peer {
        Err(RelayRefusal::Itself)
    } else if !admitted.contains(&peer) {
        Err(RelayRefusal::PeerNotAdmitted)
    } else {
        Ok([me, peer])
    }
}
