//! Documents that parties sign, in the envelope of DSSE (Dead Simple Signing Envelope, version 1.0.2) with Ed25519.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use vesica_net::{Fingerprint, Identity};

use super::party::Party;

/// The maximum length of a document, in bytes.
pub const LONGEST: usize = 1 << 16;

/// A document that can be signed.
pub trait Document: Serialize + DeserializeOwned {
    /// The media type of its payload.
    const TYPE: &'static str;

    /// Its name with an article: `an agreement`.
    const NAME: &'static str;

    /// The version of its form that this release reads and writes.
    const VERSION: u32 = 1;

    /// The parties who may sign it.
    fn signers(&self) -> Vec<&Party>;

    /// Finds a fault in a signed document: a content that would not be safe to use or to show.
    fn fault(&self) -> Option<&'static str> {
        None
    }
}

/// A document and its signatures, all of them valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<D> {
    document: D,
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

/// A signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    keyid: String,
    sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload_type: String,
    payload: String,
    signatures: Vec<Signature>,
}

/// The reason why a text is not a signed document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignedError {
    /// It is not an envelope with such a document.
    #[error("it is not {0}, or it is damaged")]
    Malformed(&'static str),
    /// Its content is not allowed in a document of its kind, although its parties signed it.
    #[error("it is {0} that cannot be used: {1}")]
    Unusable(&'static str, &'static str),
    /// It is a document of another version of the program.
    #[error("it is {0} of another version of the program; read it with the release that wrote it")]
    Version(&'static str),
    /// Someone who is not one of its parties signed it, or a party signed it twice.
    #[error("it has a signature of {0}, who may not sign it or did so twice")]
    Stranger(String),
    /// A signature is invalid.
    #[error("the signature of {0} is invalid: the document was changed after it was signed")]
    Signature(String),
    /// A party has not signed it.
    #[error("{0} has not signed it")]
    Unsigned(Fingerprint),
}

impl<D: Document> Signed<D> {
    /// Creates the document without a signature.
    pub(crate) fn new(document: D) -> Self {
        // The document consists of numbers, words, lists and maps of words, and always has a JSON form.
        let payload = serde_json::to_vec(&document).unwrap_or_default();
        Self { document, payload, signatures: Vec::new() }
    }

    /// Returns the document.
    pub fn document(&self) -> &D {
        &self.document
    }

    /// Returns the SHA-256 of the document as it was signed, in hexadecimal.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(&self.payload))
    }

    /// Adds the signature of this identity.
    ///
    /// # Errors
    /// [`SignedError::Stranger`] if it is not one of the document's parties.
    pub(crate) fn sign(&mut self, me: &Identity) -> Result<(), SignedError> {
        let stranger = || SignedError::Stranger(me.fingerprint().to_string());
        let signature = me.sign(&self.message()).map_err(|_| stranger())?;
        self.add(me.fingerprint(), &signature)
    }

    /// Adds a signature that was made elsewhere.
    ///
    /// # Errors
    /// [`SignedError::Stranger`] and [`SignedError::Signature`].
    pub(crate) fn add(&mut self, by: Fingerprint, signature: &[u8]) -> Result<(), SignedError> {
        self.check(by, signature)?;
        if !self.is_signed_by(by) {
            let keyid = by.to_string();
            self.signatures.push(Signature { keyid, sig: STANDARD.encode(signature) });
            self.signatures.sort_by(|a, b| a.keyid.cmp(&b.keyid));
        }
        Ok(())
    }

    fn check(&self, by: Fingerprint, signature: &[u8]) -> Result<(), SignedError> {
        let signers = self.document.signers();
        let signer = signers.iter().find(|party| party.fingerprint() == by);
        let signer = signer.ok_or_else(|| SignedError::Stranger(by.to_string()))?;
        match signer.certificate().has_signed(&self.message(), signature) {
            true => Ok(()),
            false => Err(SignedError::Signature(by.to_string())),
        }
    }

    /// Returns whether this party has signed it.
    pub fn is_signed_by(&self, party: Fingerprint) -> bool {
        self.signatures.iter().any(|signature| signature.keyid == party.to_string())
    }

    /// Returns this party's signature, if there is one.
    pub(crate) fn signature_of(&self, party: Fingerprint) -> Option<Vec<u8>> {
        let keyid = party.to_string();
        let found = self.signatures.iter().find(|signature| signature.keyid == keyid)?;
        STANDARD.decode(&found.sig).ok()
    }

    /// Requires the signatures of all parties.
    ///
    /// # Errors
    /// [`SignedError::Unsigned`].
    pub fn require_all(&self) -> Result<(), SignedError> {
        let signers = self.document.signers();
        let missing = signers.iter().map(|party| party.fingerprint());
        match missing.into_iter().find(|party| !self.is_signed_by(*party)) {
            None => Ok(()),
            Some(party) => Err(SignedError::Unsigned(party)),
        }
    }

    /// Returns the bytes that are signed.
    fn message(&self) -> Vec<u8> {
        vesica_list::signed::message(D::TYPE, &self.payload)
    }

    /// Returns the envelope as JSON, followed by a newline.
    pub fn to_json(&self) -> String {
        let envelope = Envelope {
            payload_type: D::TYPE.to_owned(),
            payload: STANDARD.encode(&self.payload),
            signatures: self.signatures.clone(),
        };
        serde_json::to_string_pretty(&envelope).unwrap_or_default() + "\n"
    }

    /// Reads an envelope, and checks every signature. A change of any byte is found.
    ///
    /// # Errors
    /// Any [`SignedError`] except [`SignedError::Unsigned`].
    pub fn from_json(text: &str) -> Result<Self, SignedError> {
        let malformed = || SignedError::Malformed(D::NAME);
        if text.len() > LONGEST {
            return Err(malformed());
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|_| malformed())?;
        if envelope.payload_type != D::TYPE {
            return Err(malformed());
        }
        let payload = STANDARD.decode(&envelope.payload).map_err(|_| malformed())?;
        let document: D = serde_json::from_slice(&payload).map_err(|_| {
            match is_of_version(D::VERSION, &payload) {
                true => malformed(),
                false => SignedError::Version(D::NAME),
            }
        })?;
        if let Some(fault) = document.fault() {
            return Err(SignedError::Unusable(D::NAME, fault));
        }
        let mut signed = Self { document, payload, signatures: Vec::new() };
        for signature in &envelope.signatures {
            let stranger = || SignedError::Stranger("somebody".to_owned());
            let by = signature.keyid.parse().map_err(|_| stranger())?;
            let bytes = STANDARD.decode(&signature.sig).map_err(|_| malformed())?;
            signed.add(by, &bytes)?;
        }
        // Each document has exactly one form.
        if signed.to_json() != text {
            return Err(malformed());
        }
        Ok(signed)
    }
}

/// Returns whether a document that cannot be read has this version.
fn is_of_version(version: u32, payload: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Any {
        version: u32,
    }
    serde_json::from_slice(payload).is_ok_and(|any: Any| any.version == version)
}

/// Encodes bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a text is a hash of 256 bits, as in documents.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Letter {
        version: u32,
        text: String,
        parties: Vec<Party>,
    }

    impl Document for Letter {
        const TYPE: &'static str = "message";
        const NAME: &'static str = "a letter";

        fn signers(&self) -> Vec<&Party> {
            self.parties.iter().collect()
        }
    }

    fn parties() -> [Identity; 3] {
        [(); 3].map(|()| Identity::generate().unwrap())
    }

    /// Returns a letter of this many bytes from the first two of these parties, which nobody has signed.
    fn letter(parties: &[Identity; 3], len: usize) -> Signed<Letter> {
        let parties = parties[..2].iter().map(Party::from).collect();
        Signed::new(Letter { version: 1, text: "a".repeat(len), parties })
    }

    #[test]
    fn only_its_parties_sign_a_document() {
        let all = parties();
        let [one, other, stranger] = &all;
        let mut signed = letter(&all, 1);
        assert_eq!(signed.require_all(), Err(SignedError::Unsigned(one.fingerprint())));
        assert_eq!(signed.signature_of(one.fingerprint()), None);
        signed.sign(one).unwrap();
        assert_eq!(signed.require_all(), Err(SignedError::Unsigned(other.fingerprint())));
        let is_stranger =
            |ended: Result<(), SignedError>| matches!(ended, Err(SignedError::Stranger(_)));
        assert!(is_stranger(signed.sign(stranger)));
        let foreign = stranger.sign(&signed.message()).unwrap();
        assert!(is_stranger(signed.add(stranger.fingerprint(), &foreign)));
        let wrong = signed.add(other.fingerprint(), &foreign);
        assert_eq!(wrong, Err(SignedError::Signature(other.fingerprint().to_string())));
        signed.sign(other).unwrap();
        // Signing again changes nothing.
        signed.sign(other).unwrap();
        assert_eq!(signed.signatures.len(), 2);
        assert_eq!(signed.require_all(), Ok(()));
        let signature = signed.signature_of(other.fingerprint()).unwrap();
        assert_eq!(signature, other.sign(&signed.message()).unwrap());
        assert_eq!(
            signed.hash(),
            hex(&Sha256::digest(serde_json::to_vec(signed.document()).unwrap()))
        );
        assert_eq!(Signed::from_json(&signed.to_json()), Ok(signed));
    }

    #[test]
    fn the_signed_bytes_are_the_encoding_of_dsse() {
        let signed = letter(&parties(), 1);
        let payload = serde_json::to_string(signed.document()).unwrap();
        let wanted = format!("DSSEv1 7 message {} {payload}", payload.len());
        assert_eq!(signed.message(), wanted.as_bytes());
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn no_byte_can_be_changed() {
        let all = parties();
        let mut signed = letter(&all, 1);
        all[..2].iter().for_each(|me| signed.sign(me).unwrap());
        let text = signed.to_json();
        for place in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(Signed::<Letter>::from_json(&changed).is_err(), "byte {place}");
        }
        assert!(Signed::<Letter>::from_json(text.trim_end()).is_err());
    }

    #[test]
    fn an_envelope_of_something_else_is_named() {
        let all = parties();
        let mut signed = letter(&all, 1);
        signed.sign(&all[0]).unwrap();
        let text = signed.to_json();
        let with_payload = |payload: &str| {
            let envelope = Envelope {
                payload_type: Letter::TYPE.to_owned(),
                payload: STANDARD.encode(payload),
                signatures: Vec::new(),
            };
            Signed::<Letter>::from_json(&(serde_json::to_string_pretty(&envelope).unwrap() + "\n"))
        };
        let malformed = Err(SignedError::Malformed(Letter::NAME));
        let other_type = text.replace("\"message\"", "\"postcard\"");
        assert_eq!(Signed::from_json(&other_type), malformed);
        assert_eq!(with_payload("{\"version\":1}"), malformed);
        assert_eq!(with_payload("{\"version\":2}"), Err(SignedError::Version(Letter::NAME)));
        let unknown = text.replace(&all[0].fingerprint().to_string(), "somebody");
        let error = Signed::<Letter>::from_json(&unknown);
        assert_eq!(error, Err(SignedError::Stranger("somebody".to_owned())));
    }

    #[test]
    fn the_longest_document_is_read_and_a_longer_one_is_refused() {
        let all = parties();
        let len_of = |len| letter(&all, len).to_json().len();
        // Base64 has four bytes for three.
        let guess = (LONGEST - len_of(0)) / 4 * 3;
        let fits = (guess - 3..guess + 6).rev().find(|len| len_of(*len) == LONGEST).unwrap();
        assert!(Signed::<Letter>::from_json(&letter(&all, fits).to_json()).is_ok());
        let longer = letter(&all, fits + 3).to_json();
        assert_eq!(Signed::<Letter>::from_json(&longer), Err(SignedError::Malformed(Letter::NAME)));
    }
}
