//! Signatures in the envelope of DSSE (Dead Simple Signing Envelope, version 1.0.2) with Ed25519.
//!
//! A publisher is identified by its certificate, which contains the public key. An envelope is refused unless encoding
//! it again gives the same bytes, so that every change is noticed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    error::{Error, Result},
    hex::Hex,
};

/// Maximum length of an envelope, in bytes.
pub const LONGEST: usize = 1 << 18;

/// Maximum length of a certificate, in bytes.
const LONGEST_CERTIFICATE: usize = 1 << 12;

/// The bytes that precede an Ed25519 key in a certificate: SubjectPublicKeyInfo of RFC 8410.
const BEFORE_KEY: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload_type: String,
    payload: String,
    signatures: [OneSignature; 1],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneSignature {
    keyid: Hex,
    sig: String,
}

/// Returns the bytes to sign: the pre-authentication encoding of DSSE.
pub fn message(media_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {media_type} {} ", media_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// Computes the SHA-256 hash of a certificate. Its first 160 bits are the fingerprint.
pub fn certificate_hash(certificate: &[u8]) -> [u8; 32] {
    Sha256::digest(certificate).into()
}

/// Builds the envelope of a payload from a signature by the key of this certificate.
pub fn seal(media_type: &str, payload: &[u8], certificate: &[u8], signature: &[u8]) -> String {
    let keyid = Hex(certificate_hash(certificate));
    let envelope = Envelope {
        payload_type: media_type.to_owned(),
        payload: STANDARD.encode(payload),
        signatures: [OneSignature { keyid, sig: STANDARD.encode(signature) }],
    };
    // Words always have a JSON form.
    serde_json::to_string_pretty(&envelope).unwrap_or_default() + "\n"
}

/// An envelope whose signature has not been checked yet.
pub struct Unverified {
    media_type: String,
    payload: Vec<u8>,
    keyid: [u8; 32],
    signature: Vec<u8>,
}

impl Unverified {
    /// Decodes an envelope.
    ///
    /// # Errors
    /// [`Error::NotAHead`].
    pub fn read(media_type: &str, text: &str) -> Result<Self> {
        let malformed = || Error::NotAHead("it is not a signed document");
        if text.len() > LONGEST {
            return Err(Error::NotAHead("it is too long"));
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|_| malformed())?;
        let canonical = serde_json::to_string_pretty(&envelope).unwrap_or_default() + "\n";
        if envelope.payload_type != media_type || canonical != text {
            return Err(malformed());
        }
        let [signature] = envelope.signatures;
        Ok(Self {
            media_type: envelope.payload_type,
            payload: STANDARD.decode(&envelope.payload).map_err(|_| malformed())?,
            keyid: signature.keyid.0,
            signature: STANDARD.decode(&signature.sig).map_err(|_| malformed())?,
        })
    }

    /// Returns the payload, whose signer is not known yet.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Checks the signature with the key of this certificate.
    ///
    /// # Errors
    /// [`Error::Signature`].
    pub fn verify(&self, certificate: &[u8]) -> Result<()> {
        let key = public_key(certificate).ok_or(Error::Signature)?;
        let signature = Signature::from_slice(&self.signature).map_err(|_| Error::Signature)?;
        if self.keyid != certificate_hash(certificate) {
            return Err(Error::Signature);
        }
        let message = message(&self.media_type, &self.payload);
        key.verify_strict(&message, &signature).map_err(|_| Error::Signature)
    }
}

/// Returns the key in a certificate, which must contain exactly one. The certificate is self-signed and identified by
/// its hash, so nothing else in it matters.
fn public_key(certificate: &[u8]) -> Option<VerifyingKey> {
    let bounded = Some(certificate).filter(|bytes| bytes.len() <= LONGEST_CERTIFICATE)?;
    let mut places = bounded.windows(44).filter(|window| window.starts_with(&BEFORE_KEY));
    let (place, None) = (places.next()?, places.next()) else { return None };
    VerifyingKey::from_bytes(place[12..].try_into().ok()?).ok()
}
