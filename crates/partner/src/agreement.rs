//! The agreement that two sides make before their first run.
//!
//! The inviting side signs a [`Proposal`], the accepting side adds its own offer and signs the [`Agreement`], and the
//! inviting side confirms it with its signature. The offers have the same form as those at the beginning of a run, so
//! conflicts are found when the invitation is accepted, and not in the run.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use vesica_agree::{
    offer::{Offer, WireOffer},
    pledge::Pledge,
    terms::Terms,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
    parties::{Parties, Role},
    random::system_bytes,
};
use vesica_net::{Fingerprint, Identity};
use vesica_normalize::shown::shown;
use vesica_psi::Status;
use vesica_task::{disclosure::words::Names, noise::Noise};

use super::{
    armour,
    limits::{check_groups, limited},
    party::Party,
    phrase,
    policy::Policy,
    signed::{Document, Signed, SignedError, hex},
    summary::Summary,
};

/// The first and last lines of texts that are sent.
const INVITATION: &str = "VESICA INVITATION";
const REPLY: &str = "VESICA REPLY";

/// The longest name of an agreement, in bytes.
const LONGEST_NAME: usize = 64;

/// The longest address, in bytes.
const LONGEST_ADDRESS: usize = 256;

/// The inviting side's proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    version: u32,
    /// The name of the agreement.
    pub name: String,
    /// The time at which it was made.
    pub made: Moment,
    /// The inviting party.
    pub inviter: Party,
    /// The address at which the inviting side listens; `None` if it connects to the other side, or both connect to a
    /// relay.
    pub address: Option<String>,
    /// The relay where the two sides meet, if neither listens.
    pub relay: Option<String>,
    /// The limits on what runs reveal, and how often.
    pub policy: Policy,
    /// The inviting side's part.
    offer: WireOffer,
    nonce: String,
}

/// The agreement of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    version: u32,
    /// The proposal.
    pub proposal: Proposal,
    /// The time at which it was accepted.
    pub accepted: Moment,
    /// The accepting party.
    pub accepter: Party,
    /// The address at which the accepting side listens, if the inviting one does not.
    pub address: Option<String>,
    /// The accepting side's part.
    offer: WireOffer,
    nonce: String,
}

/// The place where two sides meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeetingPlace {
    /// The address at which the inviting side listens.
    Here(String),
    /// The address at which the accepting side listens, which it names itself.
    There,
    /// At a relay.
    Relay(String),
}

/// A proposal that the inviting side signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation(Signed<Proposal>);

impl Document for Proposal {
    const TYPE: &'static str = "application/vnd.vesica.proposal+json";
    const NAME: &'static str = "an invitation";

    fn signers(&self) -> Vec<&Party> {
        vec![&self.inviter]
    }

    fn fault(&self) -> Option<&'static str> {
        let mut places = self.address.iter().chain(&self.relay);
        if self.version != 1 {
            Some("it is not of this version")
        } else if check_name(&self.name).is_err() {
            Some("its name has characters other than letters, digits, hyphens and underscores")
        } else if !places.all(|address| check_address(address).is_ok()) {
            Some("its address is not a host and a port")
        } else if self.address.is_some() && self.relay.is_some() {
            Some("it names two places to meet")
        } else {
            self.offer.fault()
        }
    }
}

impl Document for Agreement {
    const TYPE: &'static str = "application/vnd.vesica.agreement+json";
    const NAME: &'static str = "an agreement";

    fn signers(&self) -> Vec<&Party> {
        vec![&self.proposal.inviter, &self.accepter]
    }

    fn fault(&self) -> Option<&'static str> {
        let Self { proposal, address, .. } = self;
        let places = [&proposal.address, &proposal.relay, address].into_iter().flatten();
        if self.version != 1 {
            Some("it is not of this version")
        } else if !address.iter().all(|address| check_address(address).is_ok()) {
            Some("its address is not a host and a port")
        } else if places.count() != 1 {
            Some("it does not name one place to meet")
        } else if proposal.inviter == self.accepter {
            Some("its two parties are the same")
        } else {
            proposal.fault().or_else(|| self.offer.fault())
        }
    }
}

/// The inviting side has the role of the connecting one in the offers of an agreement, whichever side connects in a
/// run.
const INVITER: Role = Role::A;

impl Invitation {
    /// Creates an invitation for the party that receives the text, with the place where the two sides meet.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that could not run, or a policy that does not fit it.
    pub fn new(
        me: &Identity,
        name: &str,
        offer: &Offer,
        place: MeetingPlace,
        policy: Policy,
    ) -> Result<Self> {
        let offer = limited(offer, &policy)?;
        offer.check()?;
        check_name(name)?;
        policy.check_day(Moment::now())?;
        let (address, relay) = match place {
            MeetingPlace::Here(address) => (Some(address), None),
            MeetingPlace::Relay(relay) => (None, Some(relay)),
            MeetingPlace::There => (None, None),
        };
        address.iter().chain(&relay).try_for_each(|address| check_address(address))?;
        let mut proposal = Signed::new(Proposal {
            version: 1,
            name: name.to_owned(),
            made: Moment::now(),
            inviter: me.into(),
            address,
            relay,
            policy,
            offer: WireOffer::new(&offer, INVITER),
            nonce: nonce()?,
        });
        // An invitation that nobody can accept is not sent.
        proposal.document().summary()?;
        proposal.sign(me).map_err(|_| Error::bug("this side invites"))?;
        Ok(Self(proposal))
    }

    /// Invites the other party of an agreement to a new agreement with the same terms, under this policy. The meeting
    /// place stays the same, but a side that listened as the accepting one names its address again.
    ///
    /// # Errors
    /// As [`Invitation::new`], and if this side is not a party of the agreement.
    pub fn renew(me: &Identity, name: &str, agreement: &Agreement, policy: Policy) -> Result<Self> {
        let mut offer = agreement.offer_of(me.fingerprint())?;
        offer.agreement = None;
        let place = match (agreement.listens(me.fingerprint()), agreement.relay()) {
            (Some(address), _) => MeetingPlace::Here(address.to_owned()),
            (None, Some(relay)) => MeetingPlace::Relay(relay.to_owned()),
            (None, None) => MeetingPlace::There,
        };
        Self::new(me, name, &offer, place, policy)
    }

    /// Returns the proposal.
    pub fn proposal(&self) -> &Proposal {
        self.0.document()
    }

    /// Returns the text to send.
    pub fn to_text(&self) -> String {
        armour::wrap(INVITATION, &self.0)
    }

    /// Reads the invitation from a text that was sent.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_text(text: &str) -> std::result::Result<Self, SignedError> {
        let signed: Signed<Proposal> = armour::unwrap(INVITATION, text)?;
        signed.require_all()?;
        Ok(Self(signed))
    }

    /// Returns this side's offer if it accepts and has nothing to add: the mirror image of the proposal.
    ///
    /// # Errors
    /// [`Error::Usage`] for a proposal that this release cannot accept.
    pub fn answer(&self) -> Result<Offer> {
        self.proposal().offer.mirrored(INVITER.other())
    }

    /// Accepts the invitation with this offer. `address` is where this side listens, which is required if the inviting
    /// side does not listen.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference, [`Error::Usage`] for an offer that could not run, or for a missing or
    /// needless address, and [`Error::Policy`] for an invitation that has expired.
    pub fn accept(
        &self,
        me: &Identity,
        offer: &Offer,
        address: Option<String>,
    ) -> Result<Signed<Agreement>> {
        let proposal = self.proposal().clone();
        if proposal.inviter.fingerprint() == me.fingerprint() {
            return Err(Error::usage(Misuse::Agreement, "this invitation was made by this side"));
        }
        proposal.policy.check_day(Moment::now())?;
        let listens = proposal.address.as_ref().or(proposal.relay.as_ref());
        let message = match (listens, &address) {
            (Some(_), None) => None,
            (None, Some(address)) => {
                check_address(address)?;
                None
            }
            (Some(_), Some(_)) => {
                Some("the invitation says where the two sides meet; this side needs no address")
            }
            (None, None) => {
                Some("the inviting side does not listen: name the address at which this side does")
            }
        };
        if let Some(message) = message {
            return Err(Error::usage(Misuse::Agreement, message));
        }
        let offer = limited(offer, &proposal.policy)?;
        offer.check()?;
        let mut agreement = Signed::new(Agreement {
            version: 1,
            proposal,
            accepted: Moment::now(),
            accepter: me.into(),
            address,
            offer: WireOffer::new(&offer, INVITER.other()),
            nonce: nonce()?,
        });
        let terms = agreement.document().merge(me.fingerprint())?;
        check_groups(&terms, &agreement.document().proposal.policy)?;
        agreement.sign(me).map_err(|_| Error::bug("this side accepts"))?;
        Ok(agreement)
    }
}

impl Proposal {
    /// Summarises the proposal as the inviting side sees it, when nothing is known about the accepting side's part yet.
    ///
    /// # Errors
    /// [`Error::Terms`] if no other offer matches.
    pub fn summary(&self) -> Result<Summary> {
        let offer = self.offer.offer(INVITER)?;
        let me = self.inviter.fingerprint().to_string();
        let parties = Parties { role: INVITER, me, peer: "the accepting side".to_owned() };
        let terms = Terms::expected(&offer, &parties)?;
        let summary = Summary::new(terms, vec![self.policy.clone()], INVITER);
        let names = Names::of_reader(INVITER);
        Ok(summary.at(self.place(None, &names)))
    }

    /// Describes the protocol that the invitation names and its status, if it is not for real data.
    pub fn unusual_protocol(&self) -> Option<String> {
        unusual_protocol(&self.offer)
    }

    /// Describes where the sides meet if the accepting side listens at this address, if any.
    fn place(&self, accepter: Option<&str>, names: &Names) -> String {
        let [inviter, other] = [INVITER, INVITER.other()].map(|role| names.of(role));
        match (&self.address, &self.relay, accepter) {
            (Some(address), ..) => format!("{inviter} listens at {address}"),
            (None, Some(relay), _) => format!("both sides connect to the relay at {relay}"),
            (None, None, Some(address)) => format!("{other} listens at {address}"),
            (None, None, None) => format!("{inviter} connects to {other}"),
        }
    }
}

impl Signed<Agreement> {
    /// Returns the reply to send to the inviting side.
    pub fn to_text(&self) -> String {
        armour::wrap(REPLY, self)
    }

    /// Reads the agreement from a reply that was sent.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_text(text: &str) -> std::result::Result<Self, SignedError> {
        let signed: Self = armour::unwrap(REPLY, text)?;
        signed.signed_by_accepter()
    }

    /// Reads the agreement from the text of a file.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_file(text: &str) -> std::result::Result<Self, SignedError> {
        Self::from_json(text)?.signed_by_accepter()
    }

    fn signed_by_accepter(self) -> std::result::Result<Self, SignedError> {
        let accepter = self.document().accepter.fingerprint();
        match self.is_signed_by(accepter) {
            true => Ok(self),
            false => Err(SignedError::Unsigned(accepter)),
        }
    }

    /// Confirms a reply to this invitation of this side.
    ///
    /// # Errors
    /// [`Error::Usage`] if it answers another invitation, or changed it.
    pub fn confirm(mut self, me: &Identity, invitation: &Invitation) -> Result<Self> {
        if self.document().proposal != *invitation.proposal() {
            let message = "the reply is to another invitation, or changed the proposal";
            return Err(Error::usage(Misuse::Agreement, message));
        }
        let terms = self.document().merge(me.fingerprint())?;
        check_groups(&terms, &self.document().proposal.policy)?;
        let stranger = |_| {
            Error::usage(Misuse::Agreement, "another identity of this side made the invitation")
        };
        self.sign(me).map_err(stranger)?;
        Ok(self)
    }

    /// Returns six words, the same on both sides, to compare on the phone.
    pub fn check_phrase(&self) -> String {
        phrase::of(&self.hash())
    }
}

impl Agreement {
    /// Returns the party that is not this one.
    ///
    /// # Errors
    /// [`Error::Usage`] if this is not one of the two parties.
    pub fn peer_of(&self, me: Fingerprint) -> Result<&Party> {
        let (inviter, accepter) = (&self.proposal.inviter, &self.accepter);
        if inviter.fingerprint() == me {
            Ok(accepter)
        } else if accepter.fingerprint() == me {
            Ok(inviter)
        } else {
            Err(Error::usage(
                Misuse::Agreement,
                format!("{me} is not a party of the agreement `{}`", self.proposal.name),
            ))
        }
    }

    /// Summarises the agreement as this party sees it, or a reader who is neither party.
    ///
    /// # Errors
    /// [`Error::Terms`] for an agreement that this release cannot carry out.
    pub fn summary(&self, reader: Option<Fingerprint>) -> Result<Summary> {
        let inviter = self.proposal.inviter.fingerprint();
        let party = reader.filter(|reader| self.peer_of(*reader).is_ok());
        let terms = self.merge(party.unwrap_or(inviter))?;
        let rules = vec![self.proposal.policy.clone()];
        let role =
            if party.is_none_or(|party| party == inviter) { INVITER } else { INVITER.other() };
        let names = match party {
            Some(_) => Names::of_reader(role),
            None => Names::new("the inviting side", "the accepting side"),
        };
        let place = self.proposal.place(self.address.as_deref(), &names);
        Ok(Summary::new(terms, rules, role).between(names).at(place))
    }

    /// Returns this party's offer in a run.
    ///
    /// # Errors
    /// As [`Agreement::peer_of`], and for an offer that this release cannot make.
    pub fn offer_of(&self, me: Fingerprint) -> Result<Offer> {
        self.peer_of(me)?;
        match self.is_inviter(me) {
            true => self.proposal.offer.offer(INVITER),
            false => self.offer.offer(INVITER.other()),
        }
    }

    /// Returns the offer that this party has signed, for a run in which it has this role.
    ///
    /// # Errors
    /// As [`Agreement::peer_of`].
    pub(crate) fn pledge_of(&self, party: Fingerprint, role: Role) -> Result<Pledge> {
        self.peer_of(party)?;
        Ok(match self.is_inviter(party) {
            true => Pledge::new(&self.proposal.offer, INVITER, role),
            false => Pledge::new(&self.offer, INVITER.other(), role),
        })
    }

    /// Returns the noise added to a number, which hides any single key.
    pub(crate) fn noise(&self) -> Option<Noise> {
        self.proposal.offer.noise
    }

    /// Returns the relay where the two sides meet, if any.
    pub fn relay(&self) -> Option<&str> {
        self.proposal.relay.as_deref()
    }

    /// Returns the address at which this party listens; `None` if it connects.
    pub fn listens(&self, me: Fingerprint) -> Option<&str> {
        let address = if self.is_inviter(me) { &self.proposal.address } else { &self.address };
        address.as_deref()
    }

    /// Returns the address to which this party connects; `None` if it listens.
    pub fn connects(&self, me: Fingerprint) -> Option<&str> {
        let address = if self.is_inviter(me) { &self.address } else { &self.proposal.address };
        address.as_deref()
    }

    fn is_inviter(&self, party: Fingerprint) -> bool {
        self.proposal.inviter.fingerprint() == party
    }

    /// Refuses a query with more groups than this policy of a party permits.
    ///
    /// # Errors
    /// [`Error::Usage`], and as [`Agreement::summary`].
    pub(crate) fn check_groups(&self, party: Fingerprint, policy: &Policy) -> Result<()> {
        check_groups(&self.merge(party)?, policy)
    }

    /// Merges the two offers from the point of view of this party, or finds their differences.
    fn merge(&self, me: Fingerprint) -> Result<Terms> {
        let (inviter, accepter) = (&self.proposal.inviter, &self.accepter);
        let [inviter, accepter] = [inviter, accepter].map(|party| party.fingerprint().to_string());
        let (mine, theirs) = (&self.proposal.offer, &self.offer);
        match self.is_inviter(me) {
            true => {
                let parties = Parties { role: INVITER, me: inviter, peer: accepter };
                Terms::merge(mine, theirs, &parties)
            }
            false => {
                let parties = Parties { role: INVITER.other(), me: accepter, peer: inviter };
                Terms::merge(theirs, mine, &parties)
            }
        }
    }
}

/// Describes the protocol that an offer names and its status, if it is not for real data.
pub(crate) fn unusual_protocol(offer: &WireOffer) -> Option<String> {
    let name = offer.protocol.as_ref()?;
    let methods = offer.query.kind.task.methods();
    let method = methods.iter().find(|method| method.key() == name)?;
    match method.status() {
        Status::Recommended | Status::Sound => None,
        Status::Research => Some(format!(
            "the research protocol `{name}`, which reproduces its paper and is not for real data"
        )),
        Status::Insecure => Some(format!(
            "the insecure protocol `{name}`, by which the other side can find out each key of this side that it can guess"
        )),
    }
}

/// Returns 128 random bits, as hexadecimal digits.
pub(crate) fn nonce() -> Result<String> {
    Ok(hex(&system_bytes::<16>()?))
}

/// Refuses a name that an agreement, its job and its files cannot have.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(Error::usage(
            Misuse::Name,
            format!("a name has 1 to {LONGEST_NAME} letters, digits, hyphens and underscores"),
        )),
    }
}

pub(crate) fn check_address(address: &str) -> Result<()> {
    let is_host = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        match inner.unwrap_or(host).parse::<IpAddr>() {
            Ok(ip) => ip.is_ipv4() == inner.is_none() && !ip.is_unspecified(),
            Err(_) => {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                !host.is_empty() && host.bytes().all(plain)
            }
        }
    };
    let port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let parts = address.rsplit_once(':').filter(|_| address.len() <= LONGEST_ADDRESS);
    match parts.is_some_and(|(host, number)| is_host(host) && port(number)) {
        true => Ok(()),
        false => {
            let message = format!(
                "`{}` is not an address to which the other side can connect: give a host and a port, as in \
                 partner.example.org:7788 or [2001:db8::1]:7788",
                shown(address)
            );
            Err(Error::usage(Misuse::Address, message))
        }
    }
}
