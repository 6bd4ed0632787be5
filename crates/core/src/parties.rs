//! The two sides of a run: their roles, who learns the result, and the adversary the run must withstand.

use serde::{Deserialize, Serialize};
use vesica_psi::{Adversary, Status};

/// Both sides of a run and their fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parties {
    /// This side's role.
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
    /// Returns the other side's role.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The sides that learn the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learns {
    /// This side only.
    Me,
    /// The other side only.
    Peer,
    /// Both sides.
    Both,
    /// Neither side: the answer is in secret shares.
    Nobody,
}

/// The behaviour of the other side that a run must withstand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// It follows the protocol and studies the messages it receives.
    #[default]
    SemiHonest,
    /// It may do anything.
    Malicious,
}

impl Security {
    /// Returns the name in requests, terms and reports.
    pub fn name(self) -> &'static str {
        self.adversary().name()
    }

    /// Returns the adversary that it stands for.
    pub fn adversary(self) -> Adversary {
        match self {
            Self::SemiHonest => Adversary::SemiHonest,
            Self::Malicious => Adversary::Malicious,
        }
    }

    /// Whether a method with this adversary and status is secure enough. An insecure method runs only if both sides
    /// allow it, so [`Security::SemiHonest`] accepts it.
    pub fn is_met_by(self, adversary: Adversary, status: Status) -> bool {
        adversary >= self.adversary() || status == Status::Insecure && self == Self::SemiHonest
    }
}
