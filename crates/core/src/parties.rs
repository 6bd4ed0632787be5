//! The two sides of a run: which is which, who learns the result, and against whom the run has to be secure.

use serde::{Deserialize, Serialize};
use vesica_psi::{Adversary, Status};

/// Both sides of a run and how they know each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parties {
    /// Which side this is.
    pub role: Role,
    /// This side's fingerprint.
    pub me: String,
    /// The other side's fingerprint.
    pub peer: String,
}

/// A side of the run. The role does not determine who learns the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The side that connects.
    A,
    /// The side that listens.
    B,
}

impl Role {
    /// The other side's role.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Who learns the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learns {
    /// This side only.
    Me,
    /// The other side only.
    Peer,
    /// Both sides.
    Both,
    /// Neither side: for secret shares, and only for them.
    Nobody,
}

/// The behaviour of the other side against which a run has to be secure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// It follows the protocol and studies what it received.
    #[default]
    SemiHonest,
    /// It may do anything.
    Malicious,
}

impl Security {
    /// The name in requests, terms and reports.
    pub fn name(self) -> &'static str {
        self.adversary().name()
    }

    /// The adversary that it stands for.
    pub fn adversary(self) -> Adversary {
        match self {
            Self::SemiHonest => Adversary::SemiHonest,
            Self::Malicious => Adversary::Malicious,
        }
    }

    /// Whether a method with this adversary and status is secure enough. An insecure one promises nothing, and
    /// whoever allows it asks for nothing.
    pub fn is_met_by(self, adversary: Adversary, status: Status) -> bool {
        adversary >= self.adversary() || status == Status::Insecure && self == Self::SemiHonest
    }
}
