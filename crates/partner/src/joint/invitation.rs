//! Invitations of several parties, from the proposal to the parts of all.

use vesica_agree::{
    joint::{self, Cast},
    offer::{Offer, WireOffer},
};
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
};
use vesica_net::Identity;

use super::{INVITATION, JointInvitation, JointParts, JointProposal, JointReply, Part, number_of};
use crate::{
    agreement::{check_address, check_name, nonce},
    armour,
    limits::{check_groups, limited},
    policy::Policy,
    signed::{Document, Signed, SignedError},
};

/// The content of an invitation besides the inviting party's offer.
pub struct Inviting<'a> {
    /// The name of the agreement.
    pub name: &'a str,
    /// All parties, by their names, and their places.
    pub cast: &'a Cast,
    /// The inviting party's name.
    pub own_name: &'a str,
    /// The address at which it listens, if it can. At a relay nobody needs one.
    pub address: Option<String>,
    /// The relay where the parties meet, if they do.
    pub relay: Option<String>,
    /// The limits on what runs reveal, and how often.
    pub policy: Policy,
}

impl JointInvitation {
    /// Creates an invitation to the other parties.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that could not run, or a policy that does not fit it.
    pub fn new(me: &Identity, inviting: Inviting<'_>, offer: &Offer) -> Result<Self> {
        let Inviting { name, cast, own_name, address, relay, policy } = inviting;
        check_name(name)?;
        check_policy(&policy, cast)?;
        policy.check_day(Moment::now())?;
        address.iter().chain(&relay).try_for_each(|address| check_address(address))?;
        let number = number_of(cast, own_name)?;
        let offer = limited(offer, &policy)?;
        joint::check(&offer, cast, number)?;
        let offer = WireOffer::new(&offer, cast.sides(number).role);
        let mut proposal = Signed::new(JointProposal {
            version: 1,
            name: name.to_owned(),
            made: Moment::now(),
            parties: cast.parties.iter().map(|party| party.name.clone()).collect(),
            leader: cast.leader,
            search: cast.search,
            learners: cast.learners.clone(),
            relay,
            policy,
            inviter: Part { name: own_name.to_owned(), party: me.into(), address, offer },
            nonce: nonce()?,
        });
        // An invitation that nobody can accept is not sent.
        proposal.document().summary()?;
        proposal.sign(me).map_err(|_| Error::bug("this side invites"))?;
        Ok(Self(proposal))
    }

    /// Invites the parties of an agreement to a new agreement with the same terms and places, under this policy. The
    /// others name again the addresses at which they listen.
    ///
    /// # Errors
    /// As [`JointInvitation::new`], and if this side is not a party of the agreement.
    pub fn renew(
        me: &Identity,
        name: &str,
        agreement: &JointParts,
        policy: Policy,
    ) -> Result<Self> {
        let number = agreement.number_of(me.fingerprint())?;
        let offer = agreement.offer_of(me.fingerprint())?;
        let parts = agreement.parts();
        let inviting = Inviting {
            name,
            cast: &agreement.proposal.cast()?,
            own_name: &parts[number].name,
            address: parts[number].address.clone(),
            relay: agreement.proposal.relay.clone(),
            policy,
        };
        Self::new(me, inviting, &Offer { agreement: None, ..offer })
    }

    /// Returns the proposal.
    pub fn proposal(&self) -> &JointProposal {
        self.0.document()
    }

    /// Returns the text to send to all other parties.
    pub fn to_text(&self) -> String {
        armour::wrap(INVITATION, &self.0)
    }

    /// Returns whether a text has an invitation of several parties.
    pub fn is_in(text: &str) -> bool {
        armour::is_in(INVITATION, text)
    }

    /// Reads the invitation from a text that was sent.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_text(text: &str) -> std::result::Result<Self, SignedError> {
        let signed: Signed<JointProposal> = armour::unwrap(INVITATION, text)?;
        signed.require_all()?;
        Ok(Self(signed))
    }

    /// Returns the offer of the party with this name if it accepts and has nothing to add.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that is not one of the parties, and for a proposal that this release cannot accept.
    pub fn answer(&self, name: &str) -> Result<Offer> {
        let proposal = self.proposal();
        let cast = proposal.cast()?;
        let (number, inviter) = (number_of(&cast, name)?, proposal.number(&cast)?);
        if number == inviter {
            let message = format!("`{name}` made the invitation; accept it as another party");
            return Err(Error::usage(Misuse::Agreement, message));
        }
        let offer = proposal.inviter.offer.offer(cast.sides(inviter).role)?;
        let Offer { max_peer_rows, .. } = Offer::new(Vec::new(), offer.learns);
        let answer = joint::answer(&offer, &cast, inviter, number)?;
        Ok(Offer { allow_research: false, max_peer_rows, sends: None, ..answer })
    }

    /// Accepts the invitation as the party with this name, with this offer.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference, [`Error::Usage`] for an offer that could not run, and [`Error::Policy`]
    /// for an invitation that has expired.
    pub fn accept(
        &self,
        me: &Identity,
        name: &str,
        offer: &Offer,
        address: Option<String>,
    ) -> Result<Signed<JointReply>> {
        let proposal = self.proposal();
        if proposal.inviter.party.fingerprint() == me.fingerprint() {
            return Err(Error::usage(Misuse::Agreement, "this invitation was made by this side"));
        }
        proposal.policy.check_day(Moment::now())?;
        address.iter().try_for_each(|address| check_address(address))?;
        if let (Some(_), Some(_)) = (&address, &proposal.relay) {
            let message = "the parties meet at a relay; this one needs no address";
            return Err(Error::usage(Misuse::Agreement, message));
        }
        let cast = proposal.cast()?;
        let number = number_of(&cast, name)?;
        let offer = limited(offer, &proposal.policy)?;
        joint::check(&offer, &cast, number)?;
        let offer = WireOffer::new(&offer, cast.sides(number).role);
        let part = Part { name: name.to_owned(), party: me.into(), address, offer };
        let mut reply = Signed::new(JointReply {
            version: 1,
            proposal: self.0.hash(),
            made: Moment::now(),
            part,
        });
        // A difference from the inviting party is found now, and one between others when all replies are gathered.
        let terms = proposal.terms_with(&cast, Some(reply.document()))?;
        check_groups(terms.of_party(cast.leader), &proposal.policy)?;
        reply.sign(me).map_err(|_| Error::bug("this side replies"))?;
        Ok(reply)
    }

    /// Gathers the replies of all other parties, in any order.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names of missing parties, for a reply to another invitation, and for two replies of
    /// one party; [`Error::Terms`] with every difference.
    pub fn gather(&self, replies: Vec<Signed<JointReply>>) -> Result<JointParts> {
        let refused = |message: String| Err(Error::usage(Misuse::Agreement, message));
        let proposal = self.proposal();
        let mut found: Vec<Option<JointReply>> = vec![None; proposal.parties.len()];
        for reply in &replies {
            let reply = reply.document();
            let name = &reply.part.name;
            if reply.proposal != self.0.hash() {
                return refused(format!("the reply of `{name}` is to another invitation"));
            }
            let number = proposal.parties.iter().position(|party| party == name);
            let place = number.filter(|_| *name != proposal.inviter.name);
            match place.map(|number| &mut found[number]) {
                None => return refused(format!("`{name}` is not one of the invited parties")),
                Some(Some(_)) => return refused(format!("there are two replies of `{name}`")),
                Some(empty) => *empty = Some(reply.clone()),
            }
        }
        let named = proposal.parties.iter().zip(&found);
        let missing =
            named.filter(|(name, reply)| reply.is_none() && **name != proposal.inviter.name);
        let missing: Vec<_> = missing.map(|(name, _)| name.as_str()).collect();
        if !missing.is_empty() {
            return refused(format!("the replies of {} are missing", missing.join(", ")));
        }
        let replies = found.into_iter().flatten().collect();
        let gathered = JointParts { version: 1, proposal: proposal.clone(), replies };
        let cast = gathered.cast()?;
        if let Some(fault) = gathered.fault() {
            return refused(format!("the parts cannot be used: {fault}"));
        }
        gathered.merge(proposal.number(&cast)?)?;
        Ok(gathered)
    }

    /// Returns whether this is the invitation of these parts.
    pub(super) fn is_of(&self, gathered: &JointParts) -> bool {
        *self.proposal() == gathered.proposal
    }
}

/// Refuses a policy that these parties cannot follow, or that requires more of them.
fn check_policy(policy: &Policy, cast: &Cast) -> Result<()> {
    policy.check_parties(cast.parties.len())?;
    match policy.threshold_first && cast.pivot().is_none() {
        false => Ok(()),
        true => {
            let message = "threshold-first is computed by leader and pivot, and a search for holders has no pivot; min-result \
                           withholds its result";
            Err(Error::usage(Misuse::Policy, message))
        }
    }
}
