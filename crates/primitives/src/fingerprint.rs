//! The fingerprint by which others know a party: the hash of its certificate, in a form that people can read to each
//! other.
//!
//! A browser can run it as well.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// The fingerprint of a party: the first 160 bits of the SHA-256 of its certificate.
///
/// Printed as `vesica1-` and nine groups of four characters from an alphabet without `i`, `l`, `o` and `u`: 32
/// for the hash, and four for a checksum that distinguishes a typo from another party.
///
/// 160 bits suffice: to impersonate a given party, an attacker must find a second certificate with that party's
/// fingerprint, which takes 2^160 hashes. Two certificates of *one's own* with the same fingerprint take 2^80,
/// and gain nothing, since their owner can use one key with every partner anyway.
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
    /// Bytes of the hash.
    pub const BYTES: usize = 20;
    const PREFIX: &str = "vesica1-";

    /// Characters after the prefix, without hyphens: 160 bits and a checksum of 20, five each.
    const CHARS: usize = 36;

    /// Crockford's base32: the ten digits, and the letters except i, l, o and u.
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// The fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        let mut fingerprint = [0; Self::BYTES];
        fingerprint.copy_from_slice(&Sha256::digest(certificate)[..Self::BYTES]);
        Self(fingerprint)
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The fingerprint with this hash, if it has as many bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
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

    /// A printed fingerprint must remain valid forever.
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
