//! Adversary models, and the model that a composition of parts satisfies.

/// The adversary against which a protocol, or a part of one, is secure. Ordered from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adversary {
    /// None: the other party learns more than the intersection.
    None,
    /// A party that follows the protocol and analyses its view.
    SemiHonest,
    /// A sender that may deviate in any way; a receiver that follows the protocol and analyses its view.
    MaliciousSender,
    /// A party that may deviate in any way.
    Malicious,
}

impl Adversary {
    /// The model of a composition of these parts, which is the model of the weakest part.
    pub const fn weakest(parts: &[Self]) -> Self {
        let mut weakest = Self::Malicious;
        let mut i = 0;
        while i < parts.len() {
            if (parts[i] as u8) < (weakest as u8) {
                weakest = parts[i];
            }
            i += 1;
        }
        weakest
    }

    /// The word used in tables and terms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SemiHonest => "semi-honest",
            Self::MaliciousSender => "malicious-sender",
            Self::Malicious => "malicious",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Adversary::{self, Malicious, MaliciousSender, None, SemiHonest};

    #[test]
    fn a_chain_is_as_strong_as_its_weakest_part() {
        assert_eq!(Adversary::weakest(&[]), Malicious);
        assert_eq!(Adversary::weakest(&[Malicious, SemiHonest]), SemiHonest);
        assert_eq!(Adversary::weakest(&[Malicious, MaliciousSender]), MaliciousSender);
        assert_eq!(Adversary::weakest(&[SemiHonest, MaliciousSender]), SemiHonest);
        assert_eq!(Adversary::weakest(&[None, Malicious, SemiHonest]), None);
    }

    /// Terms and tables have these words.
    #[test]
    fn names_are_words_of_the_wire() {
        let names = [None, SemiHonest, MaliciousSender, Malicious].map(Adversary::name);
        assert_eq!(names, ["none", "semi-honest", "malicious-sender", "malicious"]);
    }
}
