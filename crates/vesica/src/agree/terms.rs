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
mod tests {
    use super::*;
    use crate::{Class, Learns};

    fn parties(role: Role) -> Parties {
        let (me, peer) = match role {
            Role::A => ("print of a", "print of b"),
            Role::B => ("print of b", "print of a"),
        };
        Parties { role, me: me.into(), peer: peer.into() }
    }

    fn offer() -> Offer {
        Offer::new(vec![Normalize::Email], Learns::Both)
    }

    /// What both sides make of two offers.
    fn agreed(a: &Offer, b: &Offer) -> (Result<Terms>, Result<Terms>) {
        let merge = |role| {
            let (ours, theirs) = match role {
                Role::A => (a, b),
                Role::B => (b, a),
            };
            let ours = WireOffer::new(ours, role);
            let theirs = WireOffer::new(theirs, role.other());
            Terms::merge(&ours, &theirs, &parties(role))
        };
        (merge(Role::A), merge(Role::B))
    }

    fn refused(a: &Offer, b: &Offer) -> (String, String) {
        let (a, b) = agreed(a, b);
        let (a, b) = (a.unwrap_err(), b.unwrap_err());
        assert_eq!((a.class(), b.class()), (Class::Terms, Class::Terms));
        (a.to_string(), b.to_string())
    }

    #[test]
    fn equal_offers_agree_on_equal_terms() {
        let (a, b) = agreed(&offer(), &offer());
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a, b);
        assert_eq!(a.hash(), b.hash());
        assert_eq!(a.hash().len(), 64);
    }

    #[test]
    fn my_me_is_your_peer() {
        let me = Offer { learns: Learns::Me, ..offer() };
        let peer = Offer { learns: Learns::Peer, ..offer() };
        let terms = agreed(&me, &peer).0.unwrap();
        assert!(terms.learns(Role::A) && !terms.learns(Role::B));
        assert_eq!(terms.receiver(), Role::A);
        let terms = agreed(&peer, &me).1.unwrap();
        assert!(terms.learns(Role::B) && !terms.learns(Role::A));
        assert_eq!(terms.receiver(), Role::B);
        let (a, b) = refused(&me, &me);
        assert!(
            a.contains("who learns the result (here: this side; there: the other side)"),
            "{a}"
        );
        assert_eq!(a, b);
    }

    #[test]
    fn every_difference_is_named_with_both_values() {
        let a = Offer { protocol: Some("dh".into()), ..offer() };
        let b = Offer {
            protocol: Some("kkrt16".into()),
            keys: vec![Normalize::Lower],
            learns: Learns::Me,
            ..offer()
        };
        assert_eq!(
            refused(&a, &b).0,
            "the two sides do not agree: normalisation of the key (here: email; there: lower); who \
             learns the result (here: both sides; there: the other side); protocol (here: dh; \
             there: kkrt16)"
        );
        let two = Offer { keys: vec![Normalize::Email, Normalize::None], ..offer() };
        let message = refused(&offer(), &two).0;
        assert!(message.contains("(here: 1 (email); there: 2 (email, none))"), "{message}");
    }

    #[test]
    fn whoever_names_a_protocol_decides() {
        let named = Offer { protocol: Some("dh".into()), ..offer() };
        let sizes = Sizes { sender: 1 << 20, receiver: 1 << 20 };
        let (a, b) = agreed(&named, &offer());
        let keys = |terms: Result<Terms>| {
            let candidates = terms.unwrap().candidates(sizes).unwrap();
            candidates.into_iter().map(|candidate| candidate.key).collect::<Vec<_>>()
        };
        assert_eq!((keys(a), keys(b)), (vec!["dh"], vec!["dh"]));
        let (open, same) = agreed(&offer(), &offer());
        let open = keys(open);
        assert_eq!(open, keys(same));
        assert!(open.contains(&"rr22") && open.contains(&"dh") && !open.contains(&"naive"));
        let strict = Offer { security: Security::Malicious, ..offer() };
        let strict = keys(agreed(&offer(), &strict).0);
        assert!(strict.contains(&"rr22-malicious") && !strict.contains(&"rr22"));
    }

    #[test]
    fn what_is_not_recommended_runs_only_where_both_name_it() {
        let named = Offer { protocol: Some("kkrt16".into()), ..offer() };
        let (named_it, did_not) = refused(&named, &offer());
        assert!(named_it.ends_with("must name (here: kkrt16; there: auto)"), "{named_it}");
        let advice = "(here: auto; to allow it, name `kkrt16` here too; there: kkrt16)";
        assert!(did_not.ends_with(advice), "{did_not}");
        assert!(agreed(&named, &named).0.is_ok());
        let candidates = agreed(&offer(), &offer()).0.unwrap();
        let candidates = candidates.candidates(Sizes { sender: 1000, receiver: 1000 }).unwrap();
        assert!(candidates.iter().all(|candidate| candidate.status == Status::Recommended));
    }

    #[test]
    fn a_limit_of_a_protocol_is_a_difference_of_terms() {
        let named = Offer { protocol: Some("psz14-none".into()), ..offer() };
        let (a, b) = agreed(&named, &named);
        for terms in [a.unwrap(), b.unwrap()] {
            let sizes = |n| Sizes { sender: n, receiver: n };
            assert!(terms.candidates(sizes(8000)).is_ok());
            let error = terms.candidates(sizes(9000)).unwrap_err();
            assert_eq!(error.class(), Class::Terms);
            let message = error.to_string();
            let limit = "`psz14-none` takes at most 7456 items of the sender";
            assert!(message.contains(limit) && message.contains("there are 9000"), "{message}");
        }
    }

    /// What tells more than the answer runs where both ask for it by name, and is never chosen.
    #[test]
    fn a_size_is_told_only_where_both_name_the_method() {
        let sum =
            |offer: Offer, brings_values| Offer { wanted: Wanted::Sum, brings_values, ..offer };
        let named = |name: &str| Offer { protocol: Some(name.into()), ..offer() };
        let message = refused(&sum(named("dh-sum"), true), &sum(offer(), false)).0;
        assert!(message.contains("tells how many keys are shared"), "{message}");
        assert!(message.contains("(here: dh-sum; there: auto)"), "{message}");
        let sizes = Sizes { sender: 10, receiver: 20 };
        let key = |a: &Offer, b: &Offer| {
            let (a, b) = agreed(a, b);
            let [a, b] =
                [a, b].map(|terms| terms.unwrap().inquiry(sizes).map(|m| m.unwrap().1[0].key));
            assert_eq!(a.as_ref().ok(), b.as_ref().ok());
            a
        };
        let both = [true, false].map(|brings| sum(named("dh-sum"), brings));
        assert_eq!(key(&both[0], &both[1]).unwrap(), "dh-sum");
        assert_eq!(key(&sum(offer(), true), &sum(offer(), false)).unwrap(), "rs21-circuit");
        // With both learning the connecting side is the receiver, from which a size cannot be hidden.
        let held = |offer: &Offer| Offer { minimum: 3, ..offer.clone() };
        assert_eq!(key(&held(&both[0]), &both[1]).unwrap(), "dh-sum");
        let error = key(&both[1], &held(&both[0])).unwrap_err().to_string();
        assert!(error.contains("`dh-sum` does not answer this with this minimum"), "{error}");
    }

    #[test]
    fn shares_are_for_nobody() {
        let shares =
            Offer { wanted: Wanted::Shares, ..Offer::new(vec![Normalize::Email], Learns::Nobody) };
        shares.check().unwrap();
        let values = Offer { brings_values: true, ..shares.clone() };
        let sizes = Sizes { sender: 10, receiver: 20 };
        let (a, b) = agreed(&values, &shares);
        for terms in [a.unwrap(), b.unwrap()] {
            assert_eq!(terms.receiver(), Role::A);
            let outline = terms.outline(sizes).unwrap();
            assert!(outline.of_receiver && !outline.of_sender && outline.sizes == sizes);
            assert!(terms.question().is_none() && terms.inquiry(sizes).unwrap().is_none());
            assert!(!terms.learns(Role::A) && !terms.learns(Role::B));
        }
        let refused_alone = |offer: Offer| offer.check().unwrap_err().class();
        for learns in [Learns::Me, Learns::Peer, Learns::Both] {
            assert_eq!(refused_alone(Offer { learns, ..shares.clone() }), Class::Usage);
        }
        assert_eq!(refused_alone(Offer { learns: Learns::Nobody, ..offer() }), Class::Usage);
        assert_eq!(refused_alone(Offer { minimum: 1, ..shares.clone() }), Class::Usage);
        let named = Offer { protocol: Some("dh".into()), ..shares };
        assert!(named.check().unwrap_err().to_string().contains("there are: rs21-circuit"));
    }

    #[test]
    fn the_stricter_security_wins() {
        let strict = Offer { security: Security::Malicious, ..offer() };
        let named = Offer { protocol: Some("kkrt16".into()), ..offer() };
        let message = refused(&named, &strict).1;
        assert!(message.contains("security of the protocol"), "{message}");
        assert!(message.contains("malicious wanted"), "{message}");
        assert!(strict.check().is_ok());
        assert!(Offer { protocol: Some("dh".into()), ..strict }.check().is_err());
    }

    #[test]
    fn what_is_not_for_real_data_needs_both() {
        let lab = Offer { protocol: Some("naive".into()), allow_research: true, ..offer() };
        let message = refused(&lab, &offer()).0;
        assert!(message.contains("here: research protocols are allowed; there: "), "{message}");
        assert!(agreed(&lab, &lab).0.is_ok());
        let yes = Offer { allow_research: true, ..offer() };
        assert!(refused(&lab, &yes).1.contains("which both sides must name"));
        let strict = Offer { security: Security::Malicious, ..yes };
        assert!(refused(&lab, &strict).0.contains("security of the protocol"));
        let error = Offer { allow_research: false, ..lab }.check().unwrap_err();
        assert_eq!(error.class(), Class::Usage);
    }

    #[test]
    fn the_hash_covers_everything() {
        let base = agreed(&offer(), &offer()).0.unwrap();
        let others = [
            Terms { version: 1, ..base.clone() },
            Terms { protocol: Some("dh".into()), ..base.clone() },
            Terms { security: Security::Malicious, ..base.clone() },
            Terms { keys: vec![Normalize::Trim], ..base.clone() },
            Terms { a_learns: false, ..base.clone() },
            Terms { b_learns: false, ..base.clone() },
            Terms { wanted: Wanted::Count, ..base.clone() },
            Terms { a_brings_values: true, ..base.clone() },
            Terms { b_brings_values: true, ..base.clone() },
            Terms { minimum: 1, ..base.clone() },
            Terms { null_values: vec![], ..base.clone() },
            Terms { scale: 1, ..base.clone() },
            Terms { diagnose: true, ..base.clone() },
            Terms { max_rows_of_a: 1, ..base.clone() },
            Terms { max_rows_of_b: 1, ..base.clone() },
            Terms { fingerprint_of_a: "other".into(), ..base.clone() },
            Terms { fingerprint_of_b: "other".into(), ..base.clone() },
        ];
        assert!(others.iter().all(|other| other.hash() != base.hash()));
    }

    #[test]
    fn null_values_and_scales_must_be_equal() {
        let own = Offer { null_values: NullValues::new(["x", "NULL"]).unwrap(), ..offer() };
        let (a, _) = refused(&offer(), &own);
        assert!(a.ends_with("(null values) (here: the default ones; there: null, x)"), "{a}");
        let none = Offer { null_values: NullValues::none(), ..offer() };
        assert!(refused(&none, &offer()).0.contains("(here: only empty ones; there: the default"));
        // As bytes, nothing counts as empty but the empty value, whatever is named.
        let bytes = |offer: &Offer| Offer { keys: vec![Normalize::None], ..offer.clone() };
        assert!(agreed(&bytes(&none), &bytes(&offer())).0.is_ok());
        assert_eq!(bytes(&own).check().unwrap_err().class(), Class::Usage);

        let sum =
            |scale, brings_values| Offer { wanted: Wanted::Sum, scale, brings_values, ..offer() };
        assert_eq!(agreed(&sum(2, true), &sum(2, false)).1.unwrap().scale(), 2);
        let message = refused(&sum(2, true), &sum(0, false)).0;
        assert!(message.contains("(scale) (here: 2; there: 0)"), "{message}");
        assert!(Offer { scale: 1, ..offer() }.check().is_err());
        assert_eq!(sum(19, true).check().unwrap_err().class(), Class::Usage);
    }

    #[test]
    fn a_diagnosis_needs_both() {
        let diagnose = Offer { diagnose: true, ..offer() };
        assert!(agreed(&diagnose, &diagnose).0.unwrap().diagnoses());
        assert!(!agreed(&diagnose, &offer()).0.unwrap().diagnoses());
    }

    #[test]
    fn a_set_may_be_too_large_for_the_other_side() {
        let small = Offer { max_peer_rows: 10, ..offer() };
        let (a, b) = agreed(&small, &offer());
        let (a, b) = (a.unwrap(), b.unwrap());
        assert!(a.check_sizes(Role::A, 1000, 10).is_ok());
        let here = a.check_sizes(Role::A, 1000, 11).unwrap_err().to_string();
        let there = b.check_sizes(Role::B, 11, 1000).unwrap_err().to_string();
        assert!(here.contains("(here: accepts at most 10; there: 11 keys)"), "{here}");
        assert!(there.contains("(here: 11 keys; there: accepts at most 10)"), "{there}");
    }

    #[test]
    fn a_protocol_of_a_later_release_is_a_difference() {
        let later = Offer { protocol: Some("rr99".into()), ..offer() };
        let message = refused(&offer(), &later).0;
        assert!(message.contains("this release has no `rr99`; there: rr99"), "{message}");
    }
}
