//! The identity of a party: its own key pair, known to the other party by a short fingerprint.

use std::{fmt, str::FromStr};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519, date_time_ymd};
use rustls::{
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};
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

/// A text that is not an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// No PEM text, or a damaged one.
    #[error("the identity is not a PEM text, or a damaged one")]
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
    #[error("no identity could be made: the operating system gave no randomness")]
    NoRandomness,
}

/// Shows the fingerprint alone.
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

    /// 256 secret bits for a purpose of this party alone, which is named in full. They are the same whenever they are asked
    /// for, and say nothing of the key.
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

/// The fingerprint of a party: the first 160 bits of the SHA-256 of its certificate.
///
/// Printed as `vesica1-` and nine groups of four characters from an alphabet without `i`, `l`, `o` and `u`: 32
/// for the hash, and four for a checksum that tells a typo from another party.
///
/// 160 bits suffice: to impersonate a given party, an attacker must find a second certificate with that party's
/// fingerprint, which takes 2^160 hashes. Two certificates of *one's own* with the same fingerprint take 2^80,
/// and gain nothing, since their owner can use one key with everybody anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; Self::BYTES]);

/// A text that is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// It does not have a fingerprint's prefix.
    #[error("a fingerprint begins with `{}`", Fingerprint::PREFIX)]
    Prefix,
    /// It is too short or too long.
    #[error(
        "a fingerprint has {} characters after its prefix, this one {found}",
        Fingerprint::CHARS
    )]
    Length {
        /// The number found, without hyphens.
        found: usize,
    },
    /// It contains a character that is not allowed.
    #[error("`{0}` never occurs in a fingerprint")]
    Character(char),
    /// The checksum is wrong.
    #[error("the fingerprint has a typo in it: its last group does not fit the others")]
    Checksum,
}

impl Fingerprint {
    pub(crate) const BYTES: usize = 20;
    const PREFIX: &str = "vesica1-";

    /// Characters after the prefix, without hyphens: 160 bits and a checksum of 20, five each.
    const CHARS: usize = 36;

    /// Crockford's base32: the ten digits, and the letters except i, l, o and u.
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// The fingerprint of a certificate in DER.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let mut fingerprint = [0; Self::BYTES];
        fingerprint.copy_from_slice(&Sha256::digest(certificate)[..Self::BYTES]);
        Self(fingerprint)
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The fingerprint with this hash, if it has as many bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// 23 bytes whose first 36 groups of five bits are the fingerprint and its checksum.
    fn checked(self) -> [u8; 23] {
        let checksum = Sha256::new().chain_update(Self::PREFIX).chain_update(self.0).finalize();
        let mut bytes = [0; 23];
        bytes[..Self::BYTES].copy_from_slice(&self.0);
        bytes[Self::BYTES..].copy_from_slice(&checksum[..3]);
        bytes[22] &= 0xf0;
        bytes
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.checked();
        let mut text = String::from(Self::PREFIX);
        for i in 0..Self::CHARS {
            if i > 0 && i % 4 == 0 {
                text.push('-');
            }
            let value = (0..5).fold(0, |value, bit| value << 1 | bit_of(&bytes, 5 * i + bit));
            text.push(Self::ALPHABET[usize::from(value)].into());
        }
        f.pad(&text)
    }
}

/// A bit of a byte string, the most significant bit of each byte first.
fn bit_of(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 8] >> (7 - index % 8) & 1
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Tolerates errors of copying by hand: surrounding blanks, capitals, missing hyphens, the letter o for a
    /// zero, and i or l for a one.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let text = text.trim().to_ascii_lowercase();
        let body = text.strip_prefix(Self::PREFIX).ok_or(FingerprintError::Prefix)?;
        let mut values = Vec::with_capacity(Self::CHARS);
        for character in body.chars().filter(|c| *c != '-') {
            values.push(value_of(character)?);
        }
        if values.len() != Self::CHARS {
            return Err(FingerprintError::Length { found: values.len() });
        }
        let mut bytes = [0; 23];
        for (i, bit) in (0..5 * Self::CHARS).map(|i| (i, values[i / 5] >> (4 - i % 5) & 1)) {
            bytes[i / 8] |= bit << (7 - i % 8);
        }
        let mut fingerprint = Self([0; Self::BYTES]);
        fingerprint.0.copy_from_slice(&bytes[..Self::BYTES]);
        if fingerprint.checked() != bytes {
            return Err(FingerprintError::Checksum);
        }
        Ok(fingerprint)
    }
}

/// The five bits that a character represents.
fn value_of(character: char) -> Result<u8, FingerprintError> {
    let meant = match character {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    Fingerprint::ALPHABET
        .iter()
        .position(|c| char::from(*c) == meant)
        .map(|value| value as u8)
        .ok_or(FingerprintError::Character(character))
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
    fn what_is_no_identity_is_refused() {
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

    /// A printed fingerprint must remain valid for ever.
    #[test]
    fn the_printed_form_is_fixed() {
        let printed = "vesica1-q9w1-dfwf-077y-mga1-83f5-vbh2-4er0-6rd3-7p9z";
        assert_eq!(Fingerprint::of(b"abc").to_string(), printed);
    }

    #[test]
    fn a_fingerprint_survives_its_text_and_careless_copying() {
        for i in 0..200u32 {
            let fingerprint = Fingerprint::of(&i.to_le_bytes());
            let text = fingerprint.to_string();
            assert_eq!(text.parse(), Ok(fingerprint));
            let body = text.strip_prefix(Fingerprint::PREFIX).unwrap();
            let careless = body.replace('0', "O").replace('1', "l").replace('-', "");
            let careless = format!("  vesica1-{}\n", careless.to_uppercase());
            assert_eq!(careless.parse(), Ok(fingerprint));
        }
    }

    #[test]
    fn a_typo_is_told_from_another_party() {
        let text = Fingerprint::of(b"somebody").to_string();
        let parse = |text: &str| text.parse::<Fingerprint>().unwrap_err();
        for (at, c) in text.char_indices().skip(Fingerprint::PREFIX.len()).filter(|c| c.1 != '-') {
            let wrong = if c == '7' { "8" } else { "7" };
            let typo = format!("{}{wrong}{}", &text[..at], &text[at + 1..]);
            assert_eq!(parse(&typo), FingerprintError::Checksum, "{typo}");
        }
        assert_eq!(parse(&text[1..]), FingerprintError::Prefix);
        assert_eq!(parse(""), FingerprintError::Prefix);
        assert_eq!(parse(&text[..text.len() - 1]), FingerprintError::Length { found: 35 });
        assert_eq!(parse(&format!("{text}0")), FingerprintError::Length { found: 37 });
        assert_eq!(parse(&format!("vesica1-u{}", &text[9..])), FingerprintError::Character('u'));
        assert_eq!(parse("vesica1-ß"), FingerprintError::Character('ß'));
    }
}
