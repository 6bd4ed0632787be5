//! The agreement that several parties make before their first run.
//!
//! One party makes an [invitation](JointInvitation): it names all parties, the leader and the pivot, and holds its own
//! part. Each other party adds its part in a [reply](JointReply). The party that has all replies
//! [gathers](JointParts) them, and finds each difference. All parties then [meet](confirm), draw the check phrase
//! together, and sign the [agreement](JointAgreement).

pub mod confirm;
pub mod invitation;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use vesica_agree::{
    joint::{self, Cast, JointTerms, NamedParty, Search},
    offer::{Offer, WireOffer},
    pledge::Pledge,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
};
use vesica_net::{Fingerprint, connect::Member};

use super::{
    agreement::{check_address, check_name, unusual_protocol},
    armour,
    limits::check_groups,
    party::Party,
    phrase,
    policy::Policy,
    signed::{Document, Signed, SignedError},
    summary::Summary,
};

/// The first and last lines of texts that are sent.
const INVITATION: &str = "VESICA JOINT INVITATION";
const REPLY: &str = "VESICA JOINT REPLY";
const GATHERED: &str = "VESICA JOINT PARTS";

/// The part of a party in an agreement among several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name by which all parties know it.
    pub name: String,
    /// The party.
    pub party: Party,
    /// The address at which it listens, if it can.
    pub address: Option<String>,
    offer: WireOffer,
}

/// The proposal of the inviting party to all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointProposal {
    version: u32,
    /// The name of the agreement.
    pub name: String,
    /// The time at which it was made.
    pub made: Moment,
    /// The names of all parties, in the order of their numbers.
    pub parties: Vec<String>,
    /// The leader's number.
    leader: usize,
    /// The keys that the leader learns about.
    search: Search,
    /// The numbers of the parties that learn the result beside the leader.
    learners: Vec<usize>,
    /// The relay where the parties meet; `None` if those that can listen do.
    pub relay: Option<String>,
    /// The limits on what runs reveal, and how often.
    pub policy: Policy,
    /// The inviting party's part.
    pub inviter: Part,
    nonce: String,
}

/// The reply of another party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointReply {
    version: u32,
    /// The hash of the proposal.
    proposal: String,
    /// The time at which it was made.
    pub made: Moment,
    /// The party's part.
    pub part: Part,
}

/// A proposal and the replies of all other parties, which match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointParts {
    version: u32,
    /// The proposal.
    pub proposal: JointProposal,
    /// The replies, in the order of the parties' numbers.
    pub replies: Vec<JointReply>,
}

/// The agreement of several parties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointAgreement {
    version: u32,
    /// The proposal and the replies.
    pub gathered: JointParts,
    /// A random number of each party, opened when all were fixed.
    nonces: Vec<String>,
}

/// A proposal to several parties that the inviting one signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointInvitation(Signed<JointProposal>);

impl Part {
    fn fault(&self) -> Option<&'static str> {
        match self.address.iter().all(|address| check_address(address).is_ok()) {
            true => self.offer.fault(),
            false => Some("an address is not a host and a port"),
        }
    }
}

impl Document for JointProposal {
    const TYPE: &'static str = "application/vnd.vesica.joint-proposal+json";
    const NAME: &'static str = "an invitation of several parties";

    fn signers(&self) -> Vec<&Party> {
        vec![&self.inviter.party]
    }

    fn fault(&self) -> Option<&'static str> {
        if self.version != 1 {
            Some("it is not of this version")
        } else if check_name(&self.name).is_err() {
            Some("its name has characters other than letters, digits, hyphens and underscores")
        } else if self.cast().is_err() || !self.parties.contains(&self.inviter.name) {
            Some("its parties are not three or more, each in a place")
        } else if !self.relay.iter().all(|address| check_address(address).is_ok()) {
            Some("its relay is not a host and a port")
        } else {
            self.inviter.fault()
        }
    }
}

impl Document for JointReply {
    const TYPE: &'static str = "application/vnd.vesica.joint-reply+json";
    const NAME: &'static str = "a reply of one of several parties";

    fn signers(&self) -> Vec<&Party> {
        vec![&self.part.party]
    }

    fn fault(&self) -> Option<&'static str> {
        match self.version {
            1 => self.part.fault(),
            _ => Some("it is not of this version"),
        }
    }
}

impl Document for JointParts {
    const TYPE: &'static str = "application/vnd.vesica.joint-parts+json";
    const NAME: &'static str = "the parts of an agreement among several parties";

    fn signers(&self) -> Vec<&Party> {
        Vec::new()
    }

    fn fault(&self) -> Option<&'static str> {
        let Self { version, proposal, replies } = self;
        let names = replies.iter().map(|reply| &reply.part.name);
        let others = proposal.parties.iter().filter(|name| **name != proposal.inviter.name);
        let is_listening = |part: &&Part| part.address.is_some();
        if *version != 1 {
            Some("it is not of this version")
        } else if let Some(fault) = proposal.fault() {
            Some(fault)
        } else if !names.eq(others) {
            Some("its replies are not in the order of the other parties")
        } else if let Some(fault) = replies.iter().find_map(Document::fault) {
            Some(fault)
        } else if self.cast().is_err() {
            Some("two of its parties are the same")
        } else if proposal.relay.is_none() && !self.parts().iter().any(is_listening) {
            Some("none of its parties can be reached")
        } else {
            None
        }
    }
}

impl Document for JointAgreement {
    const TYPE: &'static str = "application/vnd.vesica.joint-agreement+json";
    const NAME: &'static str = "an agreement among several parties";

    fn signers(&self) -> Vec<&Party> {
        self.gathered.parts().into_iter().map(|part| &part.party).collect()
    }

    fn fault(&self) -> Option<&'static str> {
        if self.version != 1 {
            Some("it is not of this version")
        } else if self.nonces.len() != self.gathered.proposal.parties.len() {
            Some("it has no random number of each party")
        } else {
            self.gathered.fault()
        }
    }
}

/// Returns the number of the party with this name.
fn number_of(cast: &Cast, name: &str) -> Result<usize> {
    let number = cast.parties.iter().position(|party| party.name == name);
    number.ok_or_else(|| {
        let names: Vec<_> = cast.parties.iter().map(|party| party.name.as_str()).collect();
        let names = names.join(", ");
        let message = format!("`{name}` is not one of the parties, which are {names}");
        Error::usage(Misuse::Agreement, message)
    })
}

impl JointProposal {
    /// Returns the parties and their places. Nothing but names is known of most of them.
    ///
    /// # Errors
    /// As [`Cast::new`].
    pub fn cast(&self) -> Result<Cast> {
        let party = |name: &String| NamedParty { name: name.clone(), fingerprint: name.clone() };
        self.cast_of(self.parties.iter().map(party).collect())
    }

    /// Returns these parties in the places of the proposal.
    fn cast_of(&self, parties: Vec<NamedParty>) -> Result<Cast> {
        let Self { leader, search, learners, .. } = self;
        let cast = Cast { parties, leader: *leader, search: *search, learners: learners.clone() };
        cast.check()?;
        Ok(cast)
    }

    fn number(&self, cast: &Cast) -> Result<usize> {
        number_of(cast, &self.inviter.name)
    }

    /// Returns the terms if all parties but the one that replies, if any, have nothing to add to the proposal.
    fn terms_with(&self, cast: &Cast, reply: Option<&JointReply>) -> Result<JointTerms> {
        let inviter = self.number(cast)?;
        let offer = self.inviter.offer.offer(cast.sides(inviter).role)?;
        let replier = reply.map(|reply| number_of(cast, &reply.part.name)).transpose()?;
        let of_party = |party: usize| match reply.filter(|_| replier == Some(party)) {
            Some(reply) => Ok(reply.part.offer.clone()),
            None if party == inviter => Ok(self.inviter.offer.clone()),
            None => {
                let answer = joint::answer(&offer, cast, inviter, party)?;
                Ok(WireOffer::new(&answer, cast.sides(party).role))
            }
        };
        let offers = (0..cast.parties.len()).map(of_party).collect::<Result<Vec<_>>>()?;
        JointTerms::merge(cast, replier.unwrap_or(inviter), &offers)
    }

    /// Summarises the proposal as the inviting party sees it, when nothing is known about the other parties' parts.
    ///
    /// # Errors
    /// [`Error::Terms`] if no other offers match.
    pub fn summary(&self) -> Result<Summary> {
        self.summary_with(None)
    }

    /// Summarises the proposal as the party that makes this reply sees it.
    ///
    /// # Errors
    /// As [`JointProposal::summary`].
    pub fn summary_for(&self, reply: &JointReply) -> Result<Summary> {
        self.summary_with(Some(reply))
    }

    fn summary_with(&self, reply: Option<&JointReply>) -> Result<Summary> {
        let cast = self.cast()?;
        let terms = self.terms_with(&cast, reply)?;
        let me = number_of(&cast, &reply.map_or(&self.inviter, |reply| &reply.part).name)?;
        let place = self.relay.as_ref().map(|relay| format!("all connect to the relay at {relay}"));
        Ok(Summary::among(terms, vec![self.policy.clone()], Some(me)).at_if(place))
    }

    /// Describes the protocol that the invitation names and its status, if it is not for real data.
    pub fn unusual_protocol(&self) -> Option<String> {
        unusual_protocol(&self.inviter.offer)
    }
}

impl Signed<JointReply> {
    /// Returns the text to send to the party that gathers.
    pub fn to_text(&self) -> String {
        armour::wrap(REPLY, self)
    }

    /// Reads the reply from a text that was sent.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_text(text: &str) -> std::result::Result<Self, SignedError> {
        let signed: Self = armour::unwrap(REPLY, text)?;
        signed.require_all()?;
        Ok(signed)
    }
}

impl JointParts {
    /// Returns the text to send to all parties.
    pub fn to_text(&self) -> String {
        armour::wrap(GATHERED, &Signed::new(self.clone()))
    }

    /// Returns whether a text has the parts of an agreement.
    pub fn is_in(text: &str) -> bool {
        armour::is_in(GATHERED, text)
    }

    /// Reads the parts from a text that was sent. Nobody has signed them as a whole.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_text(text: &str) -> std::result::Result<Self, SignedError> {
        Ok(armour::unwrap::<Self>(GATHERED, text)?.document().clone())
    }

    /// Refuses parts in which this party's own part is not the one of its invitation.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn require_invitation(&self, invitation: &JointInvitation) -> Result<()> {
        match invitation.is_of(self) {
            true => Ok(()),
            false => {
                let message = "the parts are of another invitation, or changed the proposal";
                Err(Error::usage(Misuse::Agreement, message))
            }
        }
    }

    /// Returns whether these parts have this reply.
    pub fn has(&self, reply: &Signed<JointReply>) -> bool {
        self.replies.contains(reply.document())
    }

    /// Returns the parts of all parties, in the order of their numbers.
    pub fn parts(&self) -> Vec<&Part> {
        let of = |name: &String| match *name == self.proposal.inviter.name {
            true => Some(&self.proposal.inviter),
            false => Some(&self.replies.iter().find(|reply| reply.part.name == *name)?.part),
        };
        self.proposal.parties.iter().filter_map(of).collect()
    }

    /// Returns the parties and their places.
    ///
    /// # Errors
    /// As [`Cast::new`].
    pub fn cast(&self) -> Result<Cast> {
        let party = |part: &Part| NamedParty {
            name: part.name.clone(),
            fingerprint: part.party.fingerprint().to_string(),
        };
        self.proposal.cast_of(self.parts().into_iter().map(party).collect())
    }

    /// Returns the parties as the network knows them.
    pub fn members(&self) -> Vec<Member> {
        let member = |part: &Part| Member {
            name: part.name.clone(),
            fingerprint: part.party.fingerprint(),
            address: part.address.clone(),
        };
        self.parts().into_iter().map(member).collect()
    }

    /// Summarises runs under the agreement as this party sees them, or a reader who is not one of the parties.
    ///
    /// # Errors
    /// [`Error::Terms`] for an agreement that this release cannot carry out.
    pub fn summary(&self, reader: Option<Fingerprint>) -> Result<Summary> {
        let me = reader.and_then(|me| self.number_of(me).ok());
        let terms = self.merge(me.unwrap_or_default())?;
        let listening = self.parts().into_iter().filter_map(|part| {
            let address = part.address.as_ref()?;
            Some(format!("{} listens at {address}", part.name))
        });
        let place = match &self.proposal.relay {
            Some(relay) => format!("all connect to the relay at {relay}"),
            None => listening.collect::<Vec<_>>().join(", "),
        };
        let rules = vec![self.proposal.policy.clone()];
        Ok(Summary::among(terms, rules, me).at_if(Some(place)))
    }

    /// Returns the number of the party with this fingerprint.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is not one of the parties.
    pub fn number_of(&self, me: Fingerprint) -> Result<usize> {
        let number = self.parts().iter().position(|part| part.party.fingerprint() == me);
        number.ok_or_else(|| {
            let name = &self.proposal.name;
            let message = format!("{me} is not a party of the agreement `{name}`");
            Error::usage(Misuse::Agreement, message)
        })
    }

    /// Returns this party's offer in a run.
    ///
    /// # Errors
    /// As [`JointParts::number_of`], and for an offer that this release cannot make.
    pub fn offer_of(&self, me: Fingerprint) -> Result<Offer> {
        let number = self.number_of(me)?;
        let role = self.cast()?.sides(number).role;
        self.parts()[number].offer.offer(role)
    }

    /// Returns the offers that the parties have signed, in the order of their numbers.
    pub(crate) fn pledges(&self) -> Vec<Pledge> {
        // A party has the same role in each run.
        self.parts().into_iter().map(|part| Pledge::of(&part.offer)).collect()
    }

    /// Returns the inviting party's offer.
    pub(crate) fn proposed(&self) -> &WireOffer {
        &self.proposal.inviter.offer
    }

    /// Refuses a query with more groups than this policy of a party permits.
    pub(crate) fn check_groups(&self, party: Fingerprint, policy: &Policy) -> Result<()> {
        let terms = self.merge(self.number_of(party)?)?;
        check_groups(terms.of_party(terms.cast().leader), policy)
    }

    /// Merges the offers of all parties, as the party of this number sees it.
    pub(crate) fn merge(&self, me: usize) -> Result<JointTerms> {
        let offers: Vec<_> = self.parts().into_iter().map(|part| part.offer.clone()).collect();
        let cast = self.cast()?;
        let terms = JointTerms::merge(&cast, me, &offers)?;
        check_groups(terms.of_party(cast.leader), &self.proposal.policy)?;
        Ok(terms)
    }
}

impl JointAgreement {
    /// Returns the time of the last reply.
    pub fn accepted(&self) -> Moment {
        let times = self.gathered.replies.iter().map(|reply| reply.made);
        times.max().unwrap_or(self.gathered.proposal.made)
    }
}

impl Signed<JointAgreement> {
    /// Reads the agreement from the text of a file, with the signatures of all parties.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_file(text: &str) -> std::result::Result<Self, SignedError> {
        let signed = Self::from_json(text)?;
        signed.require_all()?;
        Ok(signed)
    }

    /// Returns six words, the same on all sides, to compare in a call.
    pub fn check_phrase(&self) -> String {
        phrase::of(&self.hash())
    }
}
