//! An agreement between two parties or among several.

use vesica_agree::offer::Offer;
use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
    of_others::OfOthers,
};
use vesica_net::Fingerprint;
use vesica_task::noise::Noise;

use super::{
    agreement::Agreement,
    joint::{JointAgreement, JointParts},
    party::Party,
    policy::Policy,
    signed::{Document, Signed, SignedError},
    summary::Summary,
};

/// An agreement and its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnyAgreement {
    /// Between two parties.
    Pair(Box<Signed<Agreement>>),
    /// Among several.
    Joint(Box<Signed<JointAgreement>>),
}

/// Calls the method of the same name on the signed agreement.
macro_rules! either {
    ($self:ident, $signed:ident => $value:expr) => {
        match $self {
            Self::Pair($signed) => $value,
            Self::Joint($signed) => $value,
        }
    };
}

impl AnyAgreement {
    /// Reads the agreement from the text of a file.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_file(text: &str) -> std::result::Result<Self, SignedError> {
        match Self::is_joint(text) {
            true => Ok(Self::Joint(Box::new(Signed::<JointAgreement>::from_file(text)?))),
            false => Ok(Self::Pair(Box::new(Signed::<Agreement>::from_file(text)?))),
        }
    }

    /// Returns whether the text of a file is an agreement among several parties.
    pub fn is_joint(text: &str) -> bool {
        text.contains(JointAgreement::TYPE)
    }

    /// Returns the agreement between two parties, if it is one.
    pub fn pair(&self) -> Option<&Signed<Agreement>> {
        match self {
            Self::Pair(signed) => Some(signed),
            Self::Joint(_) => None,
        }
    }

    /// Returns the parts of an agreement among several parties, if it is one.
    pub fn joint(&self) -> Option<&JointParts> {
        match self {
            Self::Pair(_) => None,
            Self::Joint(signed) => Some(&signed.document().gathered),
        }
    }

    /// Returns the agreement between two parties, for a purpose that needs one.
    ///
    /// # Errors
    /// [`Error::Usage`] for an agreement among several.
    pub fn require_pair(&self, purpose: &str) -> Result<&Signed<Agreement>> {
        self.pair().ok_or_else(|| {
            let name = self.name();
            let message =
                format!("the agreement `{name}` is among several parties, and {purpose} two");
            Error::usage(Misuse::Agreement, message)
        })
    }

    /// Returns the SHA-256 of the document as it was signed, in hexadecimal.
    pub fn hash(&self) -> String {
        either!(self, signed => signed.hash())
    }

    /// Returns six words, the same on all sides, to compare in a call.
    pub fn check_phrase(&self) -> String {
        either!(self, signed => signed.check_phrase())
    }

    /// Returns the envelope as JSON, followed by a newline.
    pub fn to_json(&self) -> String {
        either!(self, signed => signed.to_json())
    }

    /// Returns whether this party has signed it.
    pub fn is_signed_by(&self, party: Fingerprint) -> bool {
        either!(self, signed => signed.is_signed_by(party))
    }

    /// Returns all parties: the inviting one and the accepting one, or several in the order of their numbers.
    pub fn parties(&self) -> Vec<&Party> {
        either!(self, signed => signed.document().signers())
    }

    /// Returns the time at which the invitation was made.
    pub fn made(&self) -> Moment {
        match self {
            Self::Pair(signed) => signed.document().proposal.made,
            Self::Joint(signed) => signed.document().gathered.proposal.made,
        }
    }

    /// Returns the parties that are not this one.
    ///
    /// # Errors
    /// [`Error::Usage`] if this is not one of the parties.
    pub fn others(&self, me: Fingerprint) -> Result<OfOthers<Party>> {
        match self {
            Self::Pair(signed) => Ok(OfOthers::One(signed.document().peer_of(me)?.clone())),
            Self::Joint(signed) => {
                signed.document().gathered.number_of(me)?;
                let others = self.parties().into_iter().filter(|party| party.fingerprint() != me);
                Ok(OfOthers::Several(others.cloned().collect()))
            }
        }
    }

    /// Returns the name of the agreement.
    pub fn name(&self) -> &str {
        match self {
            Self::Pair(signed) => &signed.document().proposal.name,
            Self::Joint(signed) => &signed.document().gathered.proposal.name,
        }
    }

    /// Returns the limits on what runs reveal, and how often.
    pub fn policy(&self) -> &Policy {
        match self {
            Self::Pair(signed) => &signed.document().proposal.policy,
            Self::Joint(signed) => &signed.document().gathered.proposal.policy,
        }
    }

    /// Returns the time at which the last party accepted.
    pub fn accepted(&self) -> Moment {
        match self {
            Self::Pair(signed) => signed.document().accepted,
            Self::Joint(signed) => signed.document().accepted(),
        }
    }

    /// Returns this party's offer in a run.
    ///
    /// # Errors
    /// [`Error::Usage`] if this is not one of the parties, and for an offer that this release cannot make.
    pub fn offer_of(&self, me: Fingerprint) -> Result<Offer> {
        match self {
            Self::Pair(signed) => signed.document().offer_of(me),
            Self::Joint(signed) => signed.document().gathered.offer_of(me),
        }
    }

    /// Returns the noise added to a number, which hides any single key.
    pub(crate) fn noise(&self) -> Option<Noise> {
        match self {
            Self::Pair(signed) => signed.document().noise(),
            Self::Joint(signed) => signed.document().gathered.proposed().noise,
        }
    }

    /// Refuses a query with more groups than this policy of a party permits, and fewer parties.
    ///
    /// # Errors
    /// [`Error::Usage`], and as [`AnyAgreement::summary`].
    pub(crate) fn check(&self, party: Fingerprint, policy: &Policy) -> Result<()> {
        policy.check_parties(self.parties().len())?;
        match self {
            Self::Pair(signed) => signed.document().check_groups(party, policy),
            Self::Joint(signed) => signed.document().gathered.check_groups(party, policy),
        }
    }

    /// Summarises the agreement as this party sees it, or a reader who is not one of the parties.
    ///
    /// # Errors
    /// [`Error::Terms`] for an agreement that this release cannot carry out.
    pub fn summary(&self, reader: Option<Fingerprint>) -> Result<Summary> {
        match self {
            Self::Pair(signed) => signed.document().summary(reader),
            Self::Joint(signed) => signed.document().gathered.summary(reader),
        }
    }
}

impl From<Signed<Agreement>> for AnyAgreement {
    fn from(signed: Signed<Agreement>) -> Self {
        Self::Pair(Box::new(signed))
    }
}

impl From<Signed<JointAgreement>> for AnyAgreement {
    fn from(signed: Signed<JointAgreement>) -> Self {
        Self::Joint(Box::new(signed))
    }
}
