//! The names of profiles on the wire.

use serde::{Deserialize, Serialize};

use super::Normalize;

/// The maximum length of a name, in bytes: two words, a parameter of up to 32 bytes, and a version.
const LONGEST: usize = 64;

/// A side's profile of a key column, with the version of the rule: `phone:DE@1`. The other side may name a profile that
/// this release does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TravellingName(String);

impl TravellingName {
    /// Returns the name that both sides must have in common.
    pub fn agreed(&self) -> String {
        self.known().map_or_else(|| self.0.clone(), |profile| profile.agreed())
    }

    /// Whether the side that sent it has digests in place of values.
    pub fn holds_digests(&self) -> bool {
        self.known().is_some_and(|profile| profile.holds_digests())
    }

    /// Returns the whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name without its version.
    pub fn unversioned(&self) -> &str {
        self.0.rsplit_once('@').map_or(&self.0, |(name, _)| name)
    }

    /// Returns the profile of this release with this name and version, if there is one.
    pub fn known(&self) -> Option<Normalize> {
        let (name, _) = self.0.rsplit_once('@')?;
        name.parse().ok().filter(|profile: &Normalize| profile.versioned() == self.0)
    }
}

impl From<&Normalize> for TravellingName {
    fn from(profile: &Normalize) -> Self {
        Self(profile.versioned())
    }
}

impl From<TravellingName> for String {
    fn from(name: TravellingName) -> Self {
        name.0
    }
}

impl TryFrom<String> for TravellingName {
    type Error = &'static str;

    /// Refuses a name that is too long or not safe to show.
    fn try_from(name: String) -> Result<Self, &'static str> {
        let plain = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if name.is_empty() || name.len() > LONGEST || !plain {
            return Err("not the name of a normalisation");
        }
        Ok(Self(name))
    }
}
