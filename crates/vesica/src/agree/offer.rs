//! What one side wants of a run, and the form in which it travels.

use serde::{Deserialize, Serialize};
use vesica_net::Channel;
use vesica_psi::{
    Adversary, Protocol, Status,
    aggregate::{
        self, Method,
        shares::{SHARING, Sharing},
    },
};

use crate::{
    error::{Error, Result},
    keys::{key::Normalize, null_values::NullValues, numbers::MAX_SCALE},
};

/// The version of everything that travels. Sides of different versions do not run.
pub const WIRE_VERSION: u32 = 3;

/// The most columns a key may have.
pub const MAX_KEY_COLUMNS: usize = 16;

/// The longest offer on the wire, in bytes.
const MAX_OFFER: usize = 1 << 12;

const TERMS: &str = "vesica/terms";

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
    /// Neither: for [`Wanted::Shares`], and only for these.
    Nobody,
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

    /// The other party that it means.
    pub fn adversary(self) -> Adversary {
        match self {
            Self::SemiHonest => Adversary::SemiHonest,
            Self::Malicious => Adversary::Malicious,
        }
    }

    /// Whether a way that may be gone at all is good enough. One that is for measurements only
    /// promises nothing, and whoever allows it asks for nothing.
    pub(crate) fn is_met_by(self, way: Way) -> bool {
        way.adversary >= self.adversary()
            || way.status == Status::Insecure && self == Self::SemiHonest
    }
}

/// What the run is to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// Which keys both sides have, and so which rows.
    #[default]
    Rows,
    /// How many keys both sides have.
    Count,
    /// What one side's values of the shared keys add up to.
    Sum,
    /// What the products of both sides' values of the shared keys add up to.
    Products,
    /// Whether at least so many keys are shared.
    AtLeast(u64),
    /// Nothing yet: each side gets its share of which keys both have, and of the values of these, for a later
    /// computation.
    Shares,
}

impl Wanted {
    /// What is told to a person who compares.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::Count => "count".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Products => "products".to_owned(),
            Self::AtLeast(least) => format!("threshold {least}"),
            Self::Shares => "shares".to_owned(),
        }
    }

    /// Whether a side may bring a column of values.
    fn takes_values(self) -> bool {
        matches!(self, Self::Sum | Self::Products | Self::Shares)
    }
}

/// A protocol or a method, as far as terms are concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) status: Status,
    pub(crate) adversary: Adversary,
    /// Whether it tells a side how many keys are shared, though that is not what is wanted.
    pub(crate) tells_size: bool,
}

impl Way {
    /// The way of this name to what is wanted.
    pub(crate) fn find(name: &str, wanted: Wanted) -> Option<Self> {
        match wanted {
            Wanted::Rows => vesica_psi::find(name).map(Self::from),
            Wanted::Shares => (name == SHARING.key).then(|| Self::from(&SHARING)),
            _ => aggregate::find(name).map(Self::from),
        }
    }

    /// All names that [`Way::find`] knows.
    fn names(wanted: Wanted) -> Vec<&'static str> {
        match wanted {
            Wanted::Rows => vesica_psi::CATALOGUE.iter().map(|p| p.key).collect(),
            Wanted::Shares => vec![SHARING.key],
            _ => aggregate::METHODS.iter().map(|method| method.key).collect(),
        }
    }

    /// All of them.
    pub(crate) fn all(wanted: Wanted) -> Vec<Self> {
        Self::names(wanted).into_iter().filter_map(|name| Self::find(name, wanted)).collect()
    }

    /// Whether it is refused unless both sides allow it.
    pub(crate) fn for_lab(self) -> bool {
        !self.status.is_for_use()
    }

    /// Whether it may be taken where none is named, or the other side alone names it.
    pub(crate) fn is_recommended(self) -> bool {
        self.status == Status::Recommended && !self.tells_size
    }

    /// Whether it may be taken where none is named.
    pub(crate) fn suits(self, security: Security) -> bool {
        self.is_recommended() && security.is_met_by(self)
    }
}

impl From<&Protocol> for Way {
    fn from(protocol: &Protocol) -> Self {
        Self { status: protocol.status, adversary: protocol.adversary, tells_size: false }
    }
}

impl From<&Method> for Way {
    fn from(method: &Method) -> Self {
        let Method { status, adversary, tells_size, .. } = *method;
        Self { status, adversary, tells_size }
    }
}

impl From<&Sharing> for Way {
    fn from(sharing: &Sharing) -> Self {
        Self { status: sharing.status, adversary: sharing.adversary, tells_size: false }
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
    /// What the run is to find out.
    pub wanted: Wanted,
    /// Whether this side brings the values for a sum.
    pub brings_values: bool,
    /// Unless rows are wanted: of fewer shared keys than this nothing else is told. The larger
    /// minimum of the two sides counts.
    pub minimum: u64,
    /// Values of normalised key columns that count as empty.
    pub null_values: NullValues,
    /// How many decimal places the values of both sides have, at most [`MAX_SCALE`].
    pub scale: u8,
    /// Whether to compare, if the other side wants that too, what the keys of both sides look like.
    pub diagnose: bool,
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
            wanted: Wanted::Rows,
            brings_values: false,
            minimum: 0,
            null_values: NullValues::default(),
            scale: 0,
            diagnose: false,
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
        if self.brings_values && !self.wanted.takes_values() {
            let message = "only sums and shares take a column of values";
            return Err(Error::Usage(message.to_owned()));
        }
        if self.wanted == Wanted::Products && !self.brings_values {
            let message = "a sum of products takes a column of values from each side";
            return Err(Error::Usage(message.to_owned()));
        }
        if self.scale > MAX_SCALE || self.scale > 0 && !self.wanted.takes_values() {
            let message = format!("only sums and shares take a scale, and of at most {MAX_SCALE}");
            return Err(Error::Usage(message));
        }
        let defaults = [NullValues::none(), NullValues::default()];
        if self.null_values.applied_to(&self.keys) != self.null_values
            && !defaults.contains(&self.null_values)
        {
            let message =
                "null values are for key columns that are normalised; `none` compares all as bytes";
            return Err(Error::Usage(message.to_owned()));
        }
        if self.minimum > 0 && self.wanted == Wanted::Rows {
            let message = "rows cannot be held back by a minimum; it is for counts and sums";
            return Err(Error::Usage(message.to_owned()));
        }
        if self.minimum > 0 && self.wanted == Wanted::Shares {
            let message =
                "shares cannot be held back by a minimum: nobody knows how many keys match";
            return Err(Error::Usage(message.to_owned()));
        }
        if (self.learns == Learns::Nobody) != (self.wanted == Wanted::Shares) {
            let message = "of shares nobody learns anything, of all else somebody does";
            return Err(Error::Usage(message.to_owned()));
        }
        let Some(name) = &self.protocol else { return Ok(()) };
        let Some(way) = Way::find(name, self.wanted) else {
            let known = Way::names(self.wanted).join(", ");
            let message = format!(
                "there is no protocol `{name}` for {}; there are: {known}",
                self.wanted.describe()
            );
            return Err(Error::Usage(message));
        };
        if way.for_lab() && !self.allow_research {
            return Err(Error::Usage(format!(
                "protocol `{name}` is {}, not for real data; it runs only where both sides allow \
                 research protocols",
                way.status.name()
            )));
        }
        if !self.security.is_met_by(way) {
            return Err(Error::Usage(format!(
                "protocol `{name}` is secure against {} parties, not against {} ones",
                way.adversary.name(),
                self.security.name()
            )));
        }
        Ok(())
    }
}

/// An offer as it travels. Who learns is named by role, so that both sides mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireOffer {
    version: u32,
    pub(crate) protocol: Option<String>,
    pub(crate) security: Security,
    pub(crate) keys: Vec<Normalize>,
    pub(crate) a_learns: bool,
    pub(crate) b_learns: bool,
    pub(crate) max_peer_rows: u64,
    pub(crate) allow_research: bool,
    pub(crate) wanted: Wanted,
    pub(crate) brings_values: bool,
    pub(crate) minimum: u64,
    pub(crate) null_values: Vec<String>,
    pub(crate) scale: u8,
    pub(crate) diagnose: bool,
}

/// What every version's offer has.
#[derive(Deserialize)]
struct AnyOffer {
    version: u64,
}

impl WireOffer {
    pub(crate) fn new(offer: &Offer, role: Role) -> Self {
        let learns = |side| match offer.learns {
            Learns::Both => true,
            Learns::Nobody => false,
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
            wanted: offer.wanted,
            brings_values: offer.brings_values,
            minimum: offer.minimum,
            null_values: offer.null_values.applied_to(&offer.keys).values().to_vec(),
            scale: offer.scale,
            diagnose: offer.diagnose,
        }
    }

    /// Sends this offer and receives the other side's.
    ///
    /// # Errors
    /// [`Error::Version`], a malformed offer, and what any exchange can meet.
    pub(crate) fn exchange(&self, channel: &mut Channel) -> Result<Self> {
        let encoded = serde_json::to_vec(self).map_err(|_| Error::Bug("terms have no JSON"))?;
        channel.send(TERMS, &encoded)?;
        let received = channel.recv_len(TERMS, MAX_OFFER)?;
        Self::decode(&received, channel)
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
        if offer.scale > MAX_SCALE {
            return Err(malformed("the scale is out of bounds").into());
        }
        // So they are in the form that can be compared, and safe to show.
        if NullValues::new(&offer.null_values).ok().as_ref().map(NullValues::values)
            != Some(&offer.null_values)
        {
            return Err(malformed("the null values are not in order or too many").into());
        }
        if !(offer.a_learns || offer.b_learns) && offer.wanted != Wanted::Shares {
            return Err(malformed("nobody learns anything").into());
        }
        Ok(offer)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vesica_net::transport::memory;

    use super::*;
    use crate::Class;

    fn offer() -> Offer {
        Offer::new(vec![Normalize::Email], Learns::Both)
    }

    /// What one side makes of these bytes in the place of an offer.
    fn answer(bytes: &[u8]) -> Error {
        let (a, b) = memory::pair();
        let mut peer = Channel::new(b);
        peer.send(TERMS, bytes).unwrap();
        peer.flush().unwrap();
        let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(5));
        WireOffer::new(&offer(), Role::A).exchange(&mut channel).unwrap_err()
    }

    #[test]
    fn offers_are_read_with_suspicion() {
        let good = serde_json::to_string(&WireOffer::new(&offer(), Role::B)).unwrap();
        let unread = |from: &str, to: &str| answer(good.replace(from, to).as_bytes());
        for (from, to) in [
            ("\"keys\"", "\"extra\":1,\"keys\""),
            ("[\"email\"]", "[]"),
            ("[\"email\"]", "[\"rot13\"]"),
            (":null", ":\"a\\u001b[31m\""),
            ("true,\"b_learns\":true", "false,\"b_learns\":false"),
            ("\"scale\":0", "\"scale\":19"),
            ("\"null\"", "\"NULL\""),
            ("\"null\"", "\"null\",\"null\""),
            ("\"null\"", "\"nu\\u001bll\""),
            ("{", "["),
        ] {
            assert!(good.contains(from));
            let error = unread(from, to);
            assert_eq!(error.class(), Class::Peer, "{error}");
        }
        let keys = format!("[{}]", vec!["\"none\""; MAX_KEY_COLUMNS + 1].join(","));
        assert_eq!(unread("[\"email\"]", &keys).class(), Class::Peer);
        assert_eq!(answer(&vec![b' '; MAX_OFFER + 1]).class(), Class::Peer);
        assert_eq!(answer(b"").class(), Class::Peer);
    }

    #[test]
    fn another_version_is_named_whatever_else_it_says() {
        let error = answer(b"{\"version\":7,\"sets\":[1,2]}");
        assert_eq!(error.class(), Class::Terms);
        let message = error.to_string();
        let said = format!("here wire version {WIRE_VERSION}, there 7");
        assert!(message.contains(&said), "{message}");
    }

    #[test]
    fn what_cannot_run_is_not_offered() {
        let refused = |offer: Offer| offer.check().unwrap_err().to_string();
        assert!(offer().check().is_ok());
        assert!(refused(Offer { keys: vec![], ..offer() }).contains("1 to 16 columns"));
        let named = |name: &str| Offer { protocol: Some(name.into()), ..offer() };
        let first = format!("there are: {}, ", vesica_psi::CATALOGUE[0].key);
        assert!(refused(named("rr99")).contains(&first));
        assert!(refused(named("naive")).contains("insecure, not for real data"));
        let strict = Offer { security: Security::Malicious, ..named("dh") };
        assert!(refused(strict).contains("not against malicious ones"));
    }
}
