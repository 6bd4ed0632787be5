//! The head of a list: the signed description that a client reads before it downloads the list.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use vesica_normalize::shown::is_plain;
use vesica_params::{Adversary, tag};

use crate::{
    error::{Error, Result},
    hex::Hex,
    label,
    log::{self, Line, LogEnd, LoggedState},
    part::{self, Entry, HEADER_BYTES, Hash, Header},
    signed::{self, Unverified},
    table,
};

/// The media type of a head.
pub const MEDIA_TYPE: &str = "application/vnd.vesica.list+json";

/// The version of the format.
pub const VERSION: u64 = 2;

/// The only supported suite.
pub const SUITE: &str = "ristretto255-SHA512";

/// Maximum number of parts. A publisher merges all parts into one before it reaches this number.
pub const MAX_PARTS: usize = 1 << 10;

/// The adversary against which downloads are secure. The head is signed and contains the digests of all parts, and a
/// log shows whether other clients were shown the same list. The publisher chooses the content of its list, as a party
/// chooses its set.
pub const ADVERSARY: Adversary = Adversary::Malicious;

/// The default λ of a list.
pub const DEFAULT_LAMBDA: u32 = 40;

/// The default number of queries of a client in an epoch.
pub const DEFAULT_QUERIES: u64 = 1 << 12;

/// The signed description of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The version of the format: [`VERSION`].
    pub version: u64,
    /// Name of the list.
    pub name: String,
    /// The certificate of the publisher's identity: base64 of DER.
    pub publisher: String,
    /// The group and hash of the function.
    pub suite: String,
    /// Number of the key. Each key is used for one epoch.
    pub epoch: u64,
    /// Public key of the epoch.
    pub public_key: Hex,
    /// Time of signing, in seconds since 1970.
    pub issued: u64,
    /// Time of expiry, in seconds since 1970.
    pub expires: u64,
    /// Normalisation of the keys, with versions: one entry for each column of a key.
    pub keys: Vec<String>,
    /// Values of key columns that count as empty.
    pub null_values: Vec<String>,
    /// λ: the probability of any wrong answer, over all queries of a client in an epoch for items not in the list, is
    /// at most 2^-λ.
    pub lambda: u32,
    /// Number of queries of a client in an epoch for which this bound holds.
    pub queries: u64,
    /// Maximum number of items in this epoch.
    pub capacity: u64,
    /// Bits of a tag, which follow from the three numbers above.
    pub tag_bits: u32,
    /// Current number of items.
    pub items: u64,
    /// The labels, if items have labels.
    pub labels: Option<Labels>,
    /// The parts, in order.
    pub parts: Vec<Entry>,
    /// The state after the last part.
    pub state: Hex,
    /// The end of the log in which this state is the last entry.
    pub log: LogEnd,
}

/// The labels: columns of the publisher's table, with one row for each item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// Bytes to which labels are padded.
    pub bytes: u32,
}

/// A client's requirements of a head.
#[derive(Debug, Clone, Default)]
pub struct Expectation<'a> {
    /// The first bytes of the SHA-256 hash of the publisher's certificate: at least 20, or none to trust any publisher.
    pub publisher: &'a [u8],
    /// The current time, in seconds since 1970.
    pub now: u64,
    /// Normalisation of the client's keys, to compare with the list's.
    pub keys: Option<&'a [String]>,
    /// Values of key columns that the client counts as empty. The client names them, because a publisher that named
    /// them could see from the questions whether a key is one of them.
    pub null_values: &'a [String],
    /// Maximum size of the list in bytes, or `None` for no limit.
    pub budget: Option<u64>,
    /// The newest head accepted before.
    pub known: Option<&'a Head>,
}

impl Head {
    /// Returns the newest version number, which is the number of the last part.
    pub fn sequence(&self) -> u64 {
        self.parts.last().map_or(0, |entry| entry.sequence)
    }

    /// Returns the size of a sealed label, or 0 without labels.
    pub fn sealed_label(&self) -> u32 {
        self.labels.as_ref().map_or(0, |labels| labels.bytes.saturating_add(label::OVERHEAD as u32))
    }

    /// Returns the total size of all files.
    pub fn file_bytes(&self) -> u64 {
        self.parts.iter().map(Entry::file_bytes).sum()
    }

    /// Returns the publisher's certificate in DER.
    pub fn certificate(&self) -> Vec<u8> {
        STANDARD.decode(&self.publisher).unwrap_or_default()
    }

    /// Sets the publisher's certificate.
    pub fn set_certificate(&mut self, der: &[u8]) {
        self.publisher = STANDARD.encode(der);
    }

    /// Hashes everything that a client relies on and that stays the same in an epoch. The result is the state before
    /// the first part. Each state, and so each line of the log, therefore also identifies these terms.
    pub fn terms(&self) -> Hash {
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list terms");
        let Self { epoch, queries, capacity, .. } = *self;
        let label = self.labels.as_ref().map_or(0, |labels| labels.bytes);
        for number in
            [epoch, self.lambda.into(), queries, capacity, self.tag_bits.into(), label.into()]
        {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&self.public_key.0);
        let columns = self.labels.as_ref().map_or(&[][..], |labels| &labels.columns);
        let suite = [self.suite.clone()];
        for texts in [&suite[..], &self.keys, &self.null_values, columns] {
            hasher.update(&(texts.len() as u64).to_le_bytes());
            for text in texts {
                hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }

    /// Iterates over the entries of the parts in order, each with the header that its part must have.
    pub fn headers(&self) -> impl Iterator<Item = (&Entry, Header)> {
        self.parts.iter().scan(self.terms(), |state, entry| {
            let header = self.header(entry, *state);
            *state = part::state(state, &entry.digest.0, self.version(entry));
            Some((entry, header))
        })
    }

    /// Returns the header that the part of this entry must have if it continues the state `previous`.
    pub fn header(&self, entry: &Entry, previous: Hash) -> Header {
        Header {
            epoch: self.epoch,
            sequence: entry.sequence,
            removed: entry.removed,
            added: entry.added,
            tag_bits: self.tag_bits,
            label: self.sealed_label(),
            previous,
        }
    }

    /// Returns the end of the log and the state.
    pub fn logged(&self) -> LoggedState {
        LoggedState { end: self.log, state: self.state }
    }

    /// Returns the line of this head in the log.
    pub fn line(&self) -> Line {
        let Self { epoch, issued, state, .. } = *self;
        Line { epoch, sequence: self.sequence(), issued, state }
    }

    /// Returns the version of the list after a part.
    fn version(&self, entry: &Entry) -> part::Version {
        part::Version { epoch: self.epoch, sequence: entry.sequence }
    }

    /// Computes the state after the listed parts.
    pub fn computed_state(&self) -> Hash {
        self.parts.iter().fold(self.terms(), |state, entry| {
            part::state(&state, &entry.digest.0, self.version(entry))
        })
    }

    /// Returns the bytes to sign.
    pub fn payload(&self) -> Vec<u8> {
        // Numbers, strings and lists of them can always be encoded as JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the signed head, from a signature of [`message`](signed::message)([`MEDIA_TYPE`],
    /// [`payload`](Self::payload)) by the key of the publisher's certificate.
    pub fn sealed(&self, signature: &[u8]) -> String {
        signed::seal(MEDIA_TYPE, &self.payload(), &self.certificate(), signature)
    }

    /// Reads a signed head, and checks it as far as possible without the parts and without an [`Expectation`].
    ///
    /// # Errors
    /// [`Error::NotAHead`], [`Error::Version`], [`Error::Signature`], [`Error::TagBits`] and [`Error::OutOfOrder`].
    pub fn read(text: &str) -> Result<Self> {
        let envelope = Unverified::read(MEDIA_TYPE, text)?;
        let head: Self = serde_json::from_slice(envelope.payload()).map_err(|_| {
            match version(envelope.payload()) {
                Some(version) if version != VERSION => Error::Version(version),
                _ => Error::NotAHead("it is not a document of this kind"),
            }
        })?;
        if head.version != VERSION {
            return Err(Error::Version(head.version));
        }
        envelope.verify(&head.certificate())?;
        head.check()?;
        Ok(head)
    }

    fn check(&self) -> Result<()> {
        let wrong = |what| Err(Error::NotAHead(what));
        let texts = self.keys.iter().chain(&self.null_values).chain([&self.name]);
        let mut texts = texts.chain(self.labels.iter().flat_map(|labels| &labels.columns));
        if !texts.all(|text| is_plain(text)) {
            return wrong(
                "a name holds a control or format character, or a separator other than the space",
            );
        }
        if self.suite != SUITE {
            return wrong("its group or hash is not known");
        }
        if self.keys.is_empty() || self.parts.is_empty() || self.parts.len() > MAX_PARTS {
            return wrong("it has no keys or no parts, or too many");
        }
        let bounded = self.lambda <= 128 && self.items <= self.capacity;
        let counts = self.capacity.max(self.queries) <= table::MAX_TAGS;
        let label = self.labels.as_ref().is_none_or(|labels| labels.bytes > 0);
        if !bounded || !counts || !label || self.sealed_label() > table::MAX_LABEL {
            return wrong("its numbers contradict each other");
        }
        let needed = tag_bits(self.lambda, self.queries, self.capacity);
        if self.tag_bits < needed || self.tag_bits > 128 {
            return Err(Error::TagBits { found: self.tag_bits, needed });
        }
        for pair in self.parts.windows(2) {
            if pair[0].sequence.checked_add(1) != Some(pair[1].sequence) {
                let [after, found] = [pair[0].sequence, pair[1].sequence];
                return Err(Error::OutOfOrder { after, found });
            }
        }
        let mut items = 0u64;
        for (nth, entry) in self.parts.iter().enumerate() {
            let most = entry.added.max(entry.removed) <= table::MAX_TAGS && entry.bytes < 1 << 48;
            let left = items.checked_sub(entry.removed).filter(|_| nth > 0 || entry.removed == 0);
            let (Some(left), true) = (left, most && entry.bytes >= HEADER_BYTES as u64) else {
                return wrong("its numbers contradict each other");
            };
            items = left + entry.added;
        }
        if items != self.items || self.computed_state() != self.state.0 {
            return wrong("its parts are not what it says they are");
        }
        Ok(())
    }

    /// Reads a signed head that must meet the client's expectations.
    ///
    /// # Errors
    /// As [`Head::read`], and [`Error::Publisher`], [`Error::Expired`], [`Error::Replayed`], [`Error::Forked`],
    /// [`Error::Profile`], [`Error::NullValues`] and [`Error::TooLarge`].
    pub fn accept(text: &str, expected: &Expectation<'_>) -> Result<Self> {
        let head = Self::read(text)?;
        let publisher = signed::certificate_hash(&head.certificate());
        let trusted = publisher.starts_with(expected.publisher)
            && (expected.publisher.is_empty() || expected.publisher.len() >= 20);
        if !trusted {
            return Err(Error::Publisher);
        }
        if head.expires <= expected.now {
            return Err(Error::Expired(expected.now - head.expires));
        }
        if let Some(known) = expected.known {
            head.follows(known)?;
        }
        if let Some(asked) = expected.keys
            && asked != head.keys
        {
            let [list, asked] = [&head.keys[..], asked].map(|keys| keys.join(", "));
            return Err(Error::Profile { list, asked });
        }
        if head.null_values != expected.null_values {
            let only = |these: &[String], others: &[String]| -> String {
                let only = these.iter().filter(|value| !others.contains(value));
                format!("{:?}", only.collect::<Vec<_>>())
            };
            let (list, here) = (&head.null_values[..], expected.null_values);
            return Err(Error::NullValues { list: only(list, here), here: only(here, list) });
        }
        let bytes = head.file_bytes();
        match expected.budget {
            Some(budget) if bytes > budget => Err(Error::TooLarge { bytes, budget }),
            _ => Ok(head),
        }
    }

    /// Refuses a head that is older than a known one of the same publisher, or that contradicts it. The terms of an
    /// epoch must stay the same, a version has one state, and each state has its own line in the log.
    fn follows(&self, known: &Self) -> Result<()> {
        let version = |head: &Self| (head.epoch, head.sequence());
        let (epoch, found) = version(self);
        if version(self) < version(known) || self.log.entries < known.log.entries {
            let (known_epoch, known) = version(known);
            return Err(Error::Replayed { epoch, found, known_epoch, known });
        }
        let is_version = version(self) == version(known);
        let is_state = self.state == known.state;
        let has_right_line = match is_state {
            true => self.log == known.log,
            false => self.log.entries > known.log.entries,
        };
        let keeps_terms = epoch != known.epoch || self.terms() == known.terms();
        match is_version == is_state && has_right_line && keeps_terms {
            true => Ok(()),
            false => Err(Error::Forked { epoch, version: found }),
        }
    }

    /// Returns the checker of the log, which a client must run before it uses this head. Returns `None` if the known
    /// head, which it accepted last, has the same state and therefore the same line.
    pub fn unread_log(&self, known: Option<&Self>) -> Option<log::Checker> {
        let is_known =
            known.is_some_and(|known| (known.state, known.log) == (self.state, self.log));
        (!is_known).then(|| log::Checker::new(self.logged(), known.map(|known| known.log)))
    }
}

/// Returns the number of bits of a tag such that, with this many queries and items, the probability that any query for
/// an item not in the list matches a tag is at most 2^-λ.
pub fn tag_bits(lambda: u32, queries: u64, capacity: u64) -> u32 {
    // `usize` has 32 bits in a browser. The maximum list size is one more than it can hold.
    let [queries, capacity] = [queries, capacity].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    tag::bits(queries, capacity, lambda).max(32)
}

fn version(payload: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Any {
        version: u64,
    }
    serde_json::from_slice(payload).ok().map(|any: Any| any.version)
}
