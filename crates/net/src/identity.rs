//! The identity of a party: its own key pair, known to the other party by a short fingerprint.

use std::fmt;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519, date_time_ymd};
use rustls::{
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};
pub use vesica_primitives::fingerprint::{Fingerprint, FingerprintError};
use zeroize::Zeroizing;

const CERTIFICATE: &str = "CERTIFICATE";
const PRIVATE_KEY: &str = "PRIVATE KEY";

/// The maximal length of a PEM text, in bytes; a real one has about 700.
const MAX_PEM: usize = 1 << 16;

/// A party's Ed25519 key pair, and the self-signed certificate that carries its public key. The certificate
/// names nobody and never expires: its meaning comes from the [`Fingerprint`] that the parties exchange.
pub struct Identity {
    certificate: CertificateDer<'static>,
    /// PKCS#8.
    key: Zeroizing<Vec<u8>>,
}

/// A failure to read or create an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// No PEM text, or a damaged one.
    #[error("the identity is not a PEM text, or is damaged")]
    NotPem,
    /// A section is missing, or there are several.
    #[error("the identity must have exactly one section `{section}`, but has {found}")]
    Sections {
        /// The section's name.
        section: &'static str,
        /// The number found.
        found: usize,
    },
    /// The key or the certificate is not one that TLS can use.
    #[error("the identity's key or certificate cannot be used, or the two do not belong together")]
    Unusable,
    /// The operating system or the cryptographic library failed to generate one.
    #[error("cannot create an identity: the operating system's random number generator failed")]
    NoRandomness,
}

/// Shows only the fingerprint.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint())
    }
}

impl Identity {
    /// A new identity, from the operating system's randomness.
    ///
    /// # Errors
    /// [`IdentityError::NoRandomness`].
    pub fn generate() -> Result<Self, IdentityError> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(|_| IdentityError::NoRandomness)?;
        let key = Zeroizing::new(key);
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "vesica");
        params.not_before = date_time_ymd(2000, 1, 1);
        // RFC 5280, section 4.1.2.5: the date that says "no expiry".
        params.not_after = date_time_ymd(9999, 12, 31);
        let certificate = params.self_signed(&*key).map_err(|_| IdentityError::NoRandomness)?;
        let key = Zeroizing::new(key.serialize_der());
        Ok(Self { certificate: certificate.der().clone(), key })
    }

    /// The identity as PEM text: the certificate, then the secret key in PKCS#8. Anyone who reads it can
    /// impersonate this party.
    pub fn to_pem(&self) -> Zeroizing<String> {
        let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        let encode = |tag: &str, der: &[u8]| {
            Zeroizing::new(pem::encode_config(&pem::Pem::new(tag, der), config))
        };
        let certificate = encode(CERTIFICATE, &self.certificate);
        let key = encode(PRIVATE_KEY, &self.key);
        let mut text = Zeroizing::new(String::with_capacity(certificate.len() + key.len()));
        text.push_str(&certificate);
        text.push_str(&key);
        text
    }

    /// The identity in a PEM text.
    ///
    /// # Errors
    /// Any [`IdentityError`] except [`IdentityError::NoRandomness`].
    pub fn from_pem(text: &str) -> Result<Self, IdentityError> {
        if text.len() > MAX_PEM {
            return Err(IdentityError::NotPem);
        }
        let mut sections = pem::parse_many(text).map_err(|_| IdentityError::NotPem)?;
        let certificate = take_section(&mut sections, CERTIFICATE)?.to_vec().into();
        let key = take_section(&mut sections, PRIVATE_KEY)?;
        let identity = Self { certificate, key };
        identity.certified_key(&provider()).map_err(|_| IdentityError::Unusable)?;
        Ok(identity)
    }

    /// Derives 256 secret bits for a purpose of this party, which is named in full. They are the same each time and
    /// reveal nothing about the key.
    pub fn derive(&self, purpose: &'static str) -> Zeroizing<[u8; 32]> {
        let mut hasher = Sha256::new_with_prefix(b"vesica 1 derived secret");
        hasher.update((purpose.len() as u64).to_le_bytes());
        hasher.update(purpose);
        hasher.update(&*self.key);
        Zeroizing::new(hasher.finalize().into())
    }

    /// The certificate.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// The fingerprint by which the other party knows this one.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// The identity in the form that TLS takes; fails if key and certificate do not belong together.
    pub(crate) fn certified_key(
        &self,
        provider: &CryptoProvider,
    ) -> Result<CertifiedKey, rustls::Error> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.as_slice())).clone_key();
        CertifiedKey::from_der(vec![self.certificate.clone()], key, provider)
    }
}

/// The contents of the one section of this name.
fn take_section(
    sections: &mut Vec<pem::Pem>,
    section: &'static str,
) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    let (mut named, others): (Vec<_>, Vec<_>) =
        std::mem::take(sections).into_iter().partition(|s| s.tag() == section);
    *sections = others;
    match (named.pop(), named.len()) {
        (Some(one), 0) => Ok(Zeroizing::new(one.into_contents())),
        (one, more) => {
            let found = more + usize::from(one.is_some());
            Err(IdentityError::Sections { section, found })
        }
    }
}

/// The cryptography of TLS. Passed explicitly wherever it is needed, instead of a process-wide default.
pub(crate) fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

/// 256 random bits of the operating system.
///
/// # Errors
/// [`IdentityError::NoRandomness`].
pub(crate) fn random() -> Result<[u8; 32], IdentityError> {
    let mut random = [0; 32];
    let filled = provider().secure_random.fill(&mut random);
    filled.map(|()| random).map_err(|_| IdentityError::NoRandomness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_its_text() {
        let identity = Identity::generate().unwrap();
        let text = identity.to_pem();
        let read = Identity::from_pem(&text).unwrap();
        assert_eq!(read.fingerprint(), identity.fingerprint());
        assert_eq!(read.to_pem(), text);
        assert_eq!(Identity::from_pem(&text.replace('\n', "\r\n")).unwrap().to_pem(), text);
        assert_ne!(identity.fingerprint(), Identity::generate().unwrap().fingerprint());
    }

    #[test]
    fn an_invalid_identity_is_refused() {
        let error = |text: &str| Identity::from_pem(text).err().unwrap();
        let one = Identity::generate().unwrap().to_pem();
        let other = Identity::generate().unwrap().to_pem();
        let (certificate, key) = one.split_at(one.find("-----BEGIN PRIVATE").unwrap());
        let (_, other_key) = other.split_at(other.find("-----BEGIN PRIVATE").unwrap());
        let missing = |section, found| IdentityError::Sections { section, found };

        assert_eq!(error(""), missing(CERTIFICATE, 0));
        assert_eq!(error(certificate), missing(PRIVATE_KEY, 0));
        assert_eq!(error(key), missing(CERTIFICATE, 0));
        assert_eq!(error(&format!("{}{}", *one, *other)), missing(CERTIFICATE, 2));
        assert_eq!(error(&format!("{certificate}{other_key}")), IdentityError::Unusable);
        let key = |base64: &str| {
            format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n")
        };
        assert_eq!(error(&format!("{certificate}{}", key("AAAA"))), IdentityError::Unusable);
        assert_eq!(error(&format!("{certificate}{}", key("A?AA"))), IdentityError::NotPem);
        assert_eq!(error(&one[..one.len() - 9]), missing(PRIVATE_KEY, 0));
        assert_eq!(error(&"x".repeat(MAX_PEM + 1)), IdentityError::NotPem);
    }
}
