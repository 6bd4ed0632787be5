//! What both sides must agree on before any data moves.
//!
//! Each side sends an [`Offer`] and receives the other's; both merge the two in the same way and get
//! the same [`Terms`], or the same list of [`Difference`]s. Where one side is stricter in what it
//! accepts (security, set size) the stricter wins; anything else must be equal.

use std::fmt;

use serde::{Deserialize, Serialize};
use vesica_net::Channel;
use vesica_psi::{Adversary, Protocol, Sizes, Status};

use crate::{
    error::{Error, Result},
    key::Normalize,
};

/// The version of everything that travels. Sides of different versions do not run.
pub const WIRE_VERSION: u32 = 1;

/// The most columns a key may have.
pub const MAX_KEY_COLUMNS: usize = 16;

/// The longest offer on the wire, in bytes.
const MAX_OFFER: usize = 1 << 12;

const TERMS: &str = "vesica/terms";

/// A side of the run. Which is which has nothing to do with who learns the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The side that connects.
    A,
    /// The side that listens.
    B,
}

impl Role {
    /// The other side's.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Who learns which keys both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learns {
    /// This side alone.
    Me,
    /// The other side alone.
    Peer,
    /// Both.
    Both,
}

/// Against what kind of other side the run must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// One that follows the protocol and looks at what it received.
    #[default]
    SemiHonest,
    /// One that does anything at all.
    Malicious,
}

impl Security {
    /// The name in requests, terms and reports.
    pub fn name(self) -> &'static str {
        self.adversary().name()
    }

    fn adversary(self) -> Adversary {
        match self {
            Self::SemiHonest => Adversary::SemiHonest,
            Self::Malicious => Adversary::Malicious,
        }
    }

    /// Whether a protocol that may run at all is good enough. One that is for measurements only
    /// promises nothing, and whoever allows it asks for nothing.
    fn is_met_by(self, protocol: &Protocol) -> bool {
        protocol.adversary >= self.adversary()
            || protocol.status == Status::Insecure && self == Self::SemiHonest
    }
}

/// What one side wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The protocol's key, or `None` to take what the other side names, and failing that the one
    /// that suits the sizes.
    pub protocol: Option<String>,
    /// The least security accepted.
    pub security: Security,
    /// How each key column's values are normalised, in order.
    pub keys: Vec<Normalize>,
    /// Who learns the result.
    pub learns: Learns,
    /// The most distinct keys the other side may bring.
    pub max_peer_rows: u64,
    /// Whether protocols that are not for real data may run when named.
    pub allow_research: bool,
}

impl Offer {
    /// The offer with every other choice at its default: any protocol, semi-honest, a hundred
    /// million rows, nothing that is not for real data.
    pub fn new(keys: Vec<Normalize>, learns: Learns) -> Self {
        Self {
            protocol: None,
            security: Security::default(),
            keys,
            learns,
            max_peer_rows: 100_000_000,
            allow_research: false,
        }
    }

    /// Refuses what could not run whatever the other side wants.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(&self) -> Result<()> {
        if self.keys.is_empty() || self.keys.len() > MAX_KEY_COLUMNS {
            let given = self.keys.len();
            let message = format!("a key has 1 to {MAX_KEY_COLUMNS} columns, not {given}");
            return Err(Error::Usage(message));
        }
        let Some(name) = &self.protocol else { return Ok(()) };
        let Some(protocol) = vesica_psi::find(name) else {
            let known: Vec<_> = vesica_psi::CATALOGUE.iter().map(|p| p.key).collect();
            let known = known.join(", ");
            let message = format!("there is no protocol `{name}`; there are: {known}");
            return Err(Error::Usage(message));
        };
        if for_lab(protocol) && !self.allow_research {
            return Err(Error::Usage(format!(
                "protocol `{name}` is {}, not for real data; it runs only where both sides allow \
                 research protocols",
                protocol.status.name()
            )));
        }
        if !self.security.is_met_by(protocol) {
            return Err(Error::Usage(format!(
                "protocol `{name}` is secure against {} parties, not against {} ones",
                protocol.adversary.name(),
                self.security.name()
            )));
        }
        Ok(())
    }
}

/// Whether a protocol is refused unless both sides allow it.
fn for_lab(protocol: &Protocol) -> bool {
    matches!(protocol.status, Status::Research | Status::Insecure)
}

/// An offer as it travels. Who learns is named by role, so that both sides mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireOffer {
    version: u32,
    protocol: Option<String>,
    security: Security,
    keys: Vec<Normalize>,
    a_learns: bool,
    b_learns: bool,
    max_peer_rows: u64,
    allow_research: bool,
}

/// What every version's offer has.
#[derive(Deserialize)]
struct AnyOffer {
    version: u64,
}

impl WireOffer {
    fn new(offer: &Offer, role: Role) -> Self {
        let learns = |side| match offer.learns {
            Learns::Both => true,
            Learns::Me => side == role,
            Learns::Peer => side != role,
        };
        Self {
            version: WIRE_VERSION,
            protocol: offer.protocol.clone(),
            security: offer.security,
            keys: offer.keys.clone(),
            a_learns: learns(Role::A),
            b_learns: learns(Role::B),
            max_peer_rows: offer.max_peer_rows,
            allow_research: offer.allow_research,
        }
    }

    fn decode(bytes: &[u8], channel: &Channel) -> Result<Self> {
        let malformed = |what| channel.malformed(TERMS, what);
        let any: AnyOffer =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of terms"))?;
        if any.version != u64::from(WIRE_VERSION) {
            return Err(Error::Version { ours: WIRE_VERSION, theirs: any.version });
        }
        let offer: Self =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of this version"))?;
        let named = offer.protocol.as_deref().unwrap_or("auto");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if named.len() > 32 || !named.chars().all(plain) {
            return Err(malformed("the protocol's name is no name").into());
        }
        if offer.keys.is_empty() || offer.keys.len() > MAX_KEY_COLUMNS {
            return Err(malformed("the number of key columns is out of bounds").into());
        }
        if !(offer.a_learns || offer.b_learns) {
            return Err(malformed("nobody learns anything").into());
        }
        Ok(offer)
    }
}

/// Something the two sides do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub what: &'static str,
    /// What this side says.
    pub here: String,
    /// What the other side says.
    pub there: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (here: {}; there: {})", self.what, self.here, self.there)
    }
}

/// What the two sides agreed on; the same on both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terms {
    version: u32,
    protocol: Option<String>,
    security: Security,
    keys: Vec<Normalize>,
    a_learns: bool,
    b_learns: bool,
    max_rows_of_a: u64,
    max_rows_of_b: u64,
    fingerprint_of_a: String,
    fingerprint_of_b: String,
}

/// How the two sides are known to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parties {
    /// Which side this is.
    pub role: Role,
    /// This side's fingerprint.
    pub me: String,
    /// The other side's.
    pub peer: String,
}

impl Terms {
    /// Exchanges offers with the other side and merges them.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference, [`Error::Version`], and what any exchange can meet.
    pub fn agree(offer: &Offer, parties: &Parties, channel: &mut Channel) -> Result<Self> {
        offer.check()?;
        let ours = WireOffer::new(offer, parties.role);
        let encoded = serde_json::to_vec(&ours).map_err(|_| Error::Bug("terms have no JSON"))?;
        channel.send(TERMS, &encoded)?;
        let received = channel.recv_len(TERMS, MAX_OFFER)?;
        let theirs = WireOffer::decode(&received, channel)?;
        Self::merge(&ours, &theirs, parties)
    }

    fn merge(ours: &WireOffer, theirs: &WireOffer, parties: &Parties) -> Result<Self> {
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
    /// both do.
    pub fn receiver(&self) -> Role {
        if self.a_learns { Role::A } else { Role::B }
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

    /// The protocol to run for these sizes: the one named, or the recommended one that is best.
    ///
    /// # Errors
    /// [`Error::Terms`] where the catalogue has nothing of that security.
    pub fn protocol(&self, sizes: Sizes) -> Result<&'static Protocol> {
        let chosen = match &self.protocol {
            Some(name) => vesica_psi::find(name),
            None => recommended(self.security, sizes),
        };
        chosen.ok_or_else(|| Error::Terms(vec![unmet(self.security)]))
    }
}

/// Up to this many items in both sets together, few flights and bytes count for more than work.
const TINY: usize = 2048;

/// The protocol for real data that suits these sizes. Both sides compute the same.
fn recommended(security: Security, sizes: Sizes) -> Option<&'static Protocol> {
    let fit = |p: &&&Protocol| !for_lab(p) && security.is_met_by(p);
    let tiny = sizes.sender.saturating_add(sizes.receiver) <= TINY;
    let dh = vesica_psi::CATALOGUE.iter().filter(fit).find(|p| tiny && p.key == "dh");
    let best = || {
        let bytes = |p: &&&Protocol| {
            let cost = (p.cost)(sizes);
            cost.bytes_to_sender + cost.bytes_to_receiver
        };
        let recommended = |p: &&&Protocol| p.status == Status::Recommended && p.key != "dh";
        let of = |wanted: &dyn Fn(&&&Protocol) -> bool| {
            let all = vesica_psi::CATALOGUE.iter().filter(fit).filter(|p| wanted(p));
            all.min_by(|x, y| bytes(x).total_cmp(&bytes(y)))
        };
        of(&recommended).or_else(|| of(&|_| true))
    };
    dh.or_else(best).copied()
}

/// Nothing in the catalogue is that secure.
fn unmet(security: Security) -> Difference {
    let none = format!("no protocol of this release is secure against {} parties", security.name());
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
            _ => "the other side",
        }
        .to_owned()
    };
    note("who learns the result", learner(ours), learner(theirs));
    if let Some(difference) = protocol_difference(ours, theirs) {
        found.push(difference);
    }
    found
}

/// What stands against the protocol that the two offers come to.
fn protocol_difference(ours: &WireOffer, theirs: &WireOffer) -> Option<Difference> {
    let said = |offer: &WireOffer| offer.protocol.clone().unwrap_or_else(|| "auto".to_owned());
    let (here, there) = (said(ours), said(theirs));
    let security = ours.security.max(theirs.security);
    let Some(name) = ours.protocol.as_ref().or(theirs.protocol.as_ref()) else {
        let any = vesica_psi::CATALOGUE.iter().any(|p| !for_lab(p) && security.is_met_by(p));
        return (!any).then(|| unmet(security));
    };
    if ours.protocol.is_some() && theirs.protocol.is_some() && here != there {
        return Some(Difference { what: "protocol", here, there });
    }
    let Some(protocol) = vesica_psi::find(name) else {
        let here = format!("{here}, and this release has no `{name}`");
        return Some(Difference { what: "protocol", here, there });
    };
    if for_lab(protocol) && !(ours.allow_research && theirs.allow_research) {
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
    (!security.is_met_by(protocol)).then(|| {
        let asks = |offer: &WireOffer, said| format!("{said}, {} wanted", offer.security.name());
        Difference {
            what: "security of the protocol",
            here: asks(ours, here),
            there: asks(theirs, there),
        }
    })
}
