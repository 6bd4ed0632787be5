//! What both sides must agree on before any data moves.
//!
//! Each side sends an [`Offer`] and receives the other's; both merge the two in the same way and get
//! the same [`Terms`], or the same list of [`Difference`]s. Where one side is stricter in what it
//! accepts (security, set size) the stricter wins; anything else must be equal.

use serde::Serialize;
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Protocol, Sizes, Status,
    aggregate::{self, Inquiry, Question, shares::Outline},
};

use crate::{
    agree::difference::Difference,
    agree::offer::{Offer, Parties, Role, Security, WIRE_VERSION, Wanted, Way, WireOffer},
    error::{Error, Result},
    keys::{key::Normalize, null_values::NullValues},
};

/// What the two sides agreed on; the same on both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terms {
    version: u32,
    protocol: Option<String>,
    security: Security,
    keys: Vec<Normalize>,
    a_learns: bool,
    b_learns: bool,
    wanted: Wanted,
    a_brings_values: bool,
    b_brings_values: bool,
    minimum: u64,
    null_values: Vec<String>,
    scale: u8,
    diagnose: bool,
    max_rows_of_a: u64,
    max_rows_of_b: u64,
    fingerprint_of_a: String,
    fingerprint_of_b: String,
}

impl Terms {
    /// Exchanges offers with the other side and merges them.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference, [`Error::Version`], and what any exchange can meet.
    pub fn agree(offer: &Offer, parties: &Parties, channel: &mut Channel) -> Result<Self> {
        offer.check()?;
        let ours = WireOffer::new(offer, parties.role);
        let theirs = ours.exchange(channel)?;
        let terms = Self::merge(&ours, &theirs, parties)?;
        channel.bind("vesica/terms", terms.hash().as_bytes());
        Ok(terms)
    }

    pub(crate) fn merge(ours: &WireOffer, theirs: &WireOffer, parties: &Parties) -> Result<Self> {
        let differences = differences(ours, theirs, parties.role);
        if !differences.is_empty() {
            return Err(Error::Terms(differences));
        }
        let (a, b, a_print, b_print) = match parties.role {
            Role::A => (ours, theirs, &parties.me, &parties.peer),
            Role::B => (theirs, ours, &parties.peer, &parties.me),
        };
        Ok(Self {
            version: WIRE_VERSION,
            protocol: a.protocol.clone().or_else(|| b.protocol.clone()),
            security: a.security.max(b.security),
            keys: a.keys.clone(),
            a_learns: a.a_learns,
            b_learns: a.b_learns,
            wanted: a.wanted,
            a_brings_values: a.brings_values,
            b_brings_values: b.brings_values,
            minimum: a.minimum.max(b.minimum),
            null_values: a.null_values.clone(),
            scale: a.scale,
            diagnose: a.diagnose && b.diagnose,
            max_rows_of_a: b.max_peer_rows,
            max_rows_of_b: a.max_peer_rows,
            fingerprint_of_a: a_print.clone(),
            fingerprint_of_b: b_print.clone(),
        })
    }

    /// BLAKE3 of the canonical terms and both fingerprints, as hexadecimal digits: the same on both
    /// sides, and different if anything agreed on differs.
    pub fn hash(&self) -> String {
        // A struct of numbers, words and lists of words always has a JSON form.
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        blake3::Hasher::new_derive_key("vesica 1 terms")
            .update(&canonical)
            .finalize()
            .to_hex()
            .to_string()
    }

    /// The security agreed on.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Whether this side learns the result.
    pub fn learns(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_learns,
            Role::B => self.b_learns,
        }
    }

    /// The side that is the protocol's receiver: the one that learns, or the connecting one where
    /// both do or neither.
    pub fn receiver(&self) -> Role {
        if self.b_learns && !self.a_learns { Role::B } else { Role::A }
    }

    /// What the run is to find out.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// How many decimal places the values have.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Whether both sides want to compare what their keys look like.
    pub fn diagnoses(&self) -> bool {
        self.diagnose
    }

    /// Of fewer shared keys than this nothing else is told.
    pub fn minimum(&self) -> u64 {
        self.minimum
    }

    /// The least number of shared keys that the run asks about, if it asks for a threshold.
    pub fn threshold(&self) -> Option<u64> {
        match self.wanted {
            Wanted::AtLeast(least) => Some(least),
            _ => None,
        }
    }

    /// Whether a side brings values.
    fn brings_values(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_brings_values,
            Role::B => self.b_brings_values,
        }
    }

    /// What is asked of the intersection; `None` where its rows or shares are wanted.
    pub fn question(&self) -> Option<Question> {
        let receiver_brings = self.brings_values(self.receiver());
        Some(match self.wanted {
            Wanted::Rows | Wanted::Shares => return None,
            Wanted::Count => Question::Count,
            Wanted::Sum if receiver_brings => Question::SumOfReceiver,
            Wanted::Sum => Question::SumOfSender,
            Wanted::Products => Question::Products,
            Wanted::AtLeast(least) => Question::AtLeast(least),
        })
    }

    /// What is to be shared of sets of these sizes, where shares are wanted.
    pub fn outline(&self, sizes: Sizes) -> Option<Outline> {
        let receiver = self.receiver();
        (self.wanted == Wanted::Shares).then(|| Outline {
            sizes,
            of_sender: self.brings_values(receiver.other()),
            of_receiver: self.brings_values(receiver),
        })
    }

    /// Refuses sets that are larger than their other side accepts. Both sides find the same.
    ///
    /// # Errors
    /// [`Error::Terms`].
    pub fn check_sizes(&self, role: Role, mine: u64, peers: u64) -> Result<()> {
        let (max_mine, max_peers) = match role {
            Role::A => (self.max_rows_of_a, self.max_rows_of_b),
            Role::B => (self.max_rows_of_b, self.max_rows_of_a),
        };
        let mut differences = Vec::new();
        if mine > max_mine {
            let (here, there) = (format!("{mine} keys"), format!("accepts at most {max_mine}"));
            differences.push(Difference { what: "size of this side's set", here, there });
        }
        if peers > max_peers {
            let (here, there) = (format!("accepts at most {max_peers}"), format!("{peers} keys"));
            differences.push(Difference { what: "size of the other side's set", here, there });
        }
        if differences.is_empty() { Ok(()) } else { Err(Error::Terms(differences)) }
    }

    /// The protocols that may run for these sizes: the one named, or all recommended ones of that security. The same
    /// on both sides, and at least one.
    ///
    /// # Errors
    /// [`Error::Terms`] where the catalogue has nothing of that security, or the protocol named does not support these
    /// sizes.
    pub fn candidates(&self, sizes: Sizes) -> Result<Vec<Candidate>> {
        let candidates = match &self.protocol {
            Some(name) => match vesica_psi::find(name) {
                Some(protocol) => {
                    supported(protocol, sizes)?;
                    vec![Candidate::protocol(protocol, sizes)]
                }
                None => Vec::new(),
            },
            None => recommended(Candidate::protocols(sizes, self.security.adversary())),
        };
        if candidates.is_empty() {
            return Err(Error::Terms(vec![unmet(self.wanted, self.security)]));
        }
        Ok(candidates)
    }

    /// The inquiry to make of sets of these sizes, and the methods that may answer it: the one named, or all of
    /// that security that tell no more than the answer; `None` where nothing is asked.
    ///
    /// # Errors
    /// [`Error::Terms`] where no method of that security answers such a question, or not the one named.
    pub fn inquiry(&self, sizes: Sizes) -> Result<Option<(Inquiry, Vec<Candidate>)>> {
        let Some(question) = self.question() else { return Ok(None) };
        let inquiry = Inquiry { sizes, question, minimum: self.minimum };
        let candidates = match &self.protocol {
            Some(name) => {
                let named = aggregate::find(name);
                let able = named.filter(|method| (method.answers)(question, self.minimum));
                able.map(|method| Candidate::method(method, inquiry)).into_iter().collect()
            }
            None => recommended(Candidate::methods(inquiry, self.security.adversary())),
        };
        if !candidates.is_empty() {
            return Ok(Some((inquiry, candidates)));
        }
        let none = match &self.protocol {
            Some(name) => format!("`{name}` does not answer this with this minimum"),
            None => format!(
                "no method of this release that is secure against {} parties answers {}",
                self.security.name(),
                self.wanted.describe()
            ),
        };
        let (here, there) = (none.clone(), none);
        Err(Error::Terms(vec![Difference { what: "answer", here, there }]))
    }
}

/// Those that may be taken where no protocol is named.
fn recommended(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.retain(|candidate| candidate.status == Status::Recommended);
    candidates
}

/// Refuses sizes that a protocol is not made for.
fn supported(protocol: &Protocol, sizes: Sizes) -> Result<()> {
    (protocol.limits)(sizes).map_err(|limit| {
        let what = "sizes of the sets";
        let said = format!("`{}` takes {limit}", protocol.key);
        Error::Terms(vec![Difference { what, here: said.clone(), there: said }])
    })
}

/// Nothing in the catalogue is that secure.
fn unmet(wanted: Wanted, security: Security) -> Difference {
    let none = format!(
        "no protocol of this release for {} is secure against {} parties",
        wanted.describe(),
        security.name()
    );
    Difference { what: "security", here: none.clone(), there: none }
}

fn differences(ours: &WireOffer, theirs: &WireOffer, role: Role) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |what, here: String, there: String| {
        if here != there {
            found.push(Difference { what, here, there });
        }
    };
    let names = |keys: &[Normalize]| keys.iter().map(|k| k.name()).collect::<Vec<_>>().join(", ");
    if ours.keys.len() == theirs.keys.len() {
        note("normalisation of the key", names(&ours.keys), names(&theirs.keys));
        if ours.keys == theirs.keys {
            // What travelled was in this form already.
            let said = |offer: &WireOffer| {
                NullValues::new(&offer.null_values).map(|all| all.describe()).unwrap_or_default()
            };
            note("values that count as empty (null values)", said(ours), said(theirs));
        }
    } else {
        let columns = |keys: &[Normalize]| format!("{} ({})", keys.len(), names(keys));
        note("number of key columns", columns(&ours.keys), columns(&theirs.keys));
    }
    let learner = |offer: &WireOffer| {
        let (here, there) = match role {
            Role::A => (offer.a_learns, offer.b_learns),
            Role::B => (offer.b_learns, offer.a_learns),
        };
        match (here, there) {
            (true, true) => "both sides",
            (true, false) => "this side",
            (false, true) => "the other side",
            (false, false) => "nobody",
        }
        .to_owned()
    };
    note("who learns the result", learner(ours), learner(theirs));
    note("what is to be found out", ours.wanted.describe(), theirs.wanted.describe());
    note("decimal places of values (scale)", ours.scale.to_string(), theirs.scale.to_string());
    if ours.wanted == theirs.wanted {
        found.extend(values_difference(ours, theirs));
        found.extend(protocol_difference(ours, theirs));
    }
    found
}

/// Who brings the values of a sum, where that is not one side.
fn values_difference(ours: &WireOffer, theirs: &WireOffer) -> Option<Difference> {
    let wrong = ours.wanted == Wanted::Sum && ours.brings_values == theirs.brings_values;
    let said = |this_side: bool| {
        let word = if this_side { "this side does" } else { "the other side does" };
        word.to_owned()
    };
    wrong.then(|| Difference {
        what: "who brings the values to add up",
        here: said(ours.brings_values),
        there: said(!theirs.brings_values),
    })
}

/// What stands against the protocol that the two offers come to.
fn protocol_difference(ours: &WireOffer, theirs: &WireOffer) -> Option<Difference> {
    let said = |offer: &WireOffer| offer.protocol.clone().unwrap_or_else(|| "auto".to_owned());
    let (here, there) = (said(ours), said(theirs));
    let security = ours.security.max(theirs.security);
    let Some(name) = ours.protocol.as_ref().or(theirs.protocol.as_ref()) else {
        let ways = Way::all(ours.wanted);
        let any = ways.into_iter().any(|way| way.suits(security));
        return (!any).then(|| unmet(ours.wanted, security));
    };
    if ours.protocol.is_some() && theirs.protocol.is_some() && here != there {
        return Some(Difference { what: "protocol", here, there });
    }
    let Some(way) = Way::find(name, ours.wanted) else {
        let here = format!("{here}, and this release has no `{name}`");
        return Some(Difference { what: "protocol", here, there });
    };
    if way.for_lab() && !(ours.allow_research && theirs.allow_research) {
        let permits = |offer: &WireOffer| {
            let word = if offer.allow_research { "allowed" } else { "not allowed" };
            format!("research protocols are {word}")
        };
        return Some(Difference {
            what: "use of a protocol that is not for real data",
            here: permits(ours),
            there: permits(theirs),
        });
    }
    if !security.is_met_by(way) {
        let asks = |offer: &WireOffer, said| format!("{said}, {} wanted", offer.security.name());
        return Some(Difference {
            what: "security of the protocol",
            here: asks(ours, here),
            there: asks(theirs, there),
        });
    }
    (!way.is_recommended() && ours.protocol != theirs.protocol).then(|| {
        let what = match way.tells_size {
            true => {
                "use of a method that tells how many keys are shared, which both sides must name"
            }
            false => "use of a protocol that is not a recommended one, which both sides must name",
        };
        let advice = match ours.protocol {
            Some(_) => here,
            None => format!("{here}; to allow it, name `{name}` here too"),
        };
        Difference { what, here: advice, there }
    })
}

#[cfg(test)]
mod tests;
