//! Digests in place of values: one side has them already, the other computes them.

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use sha2::{Digest, Sha256};

use super::{Normalize, characters::bare};

/// Reads `sha256:PROFILE`, for a column with plain values.
pub(super) fn parse(profile: Option<&str>) -> Result<Normalize, String> {
    hashed_profile(profile).map(Box::new).map(Normalize::Sha256)
}

/// Reads `hashed:PROFILE`, for a column with digests.
pub(super) fn parse_hashed(profile: Option<&str>) -> Result<Normalize, String> {
    hashed_profile(profile).map(Box::new).map(Normalize::Hashed)
}

fn hashed_profile(name: Option<&str>) -> Result<Normalize, String> {
    let Some(name) = name else {
        return Err("name the normalisation before hashing, as in sha256:email on the side that \
                    has addresses and hashed:email on the side that has their digests"
            .to_owned());
    };
    match name.parse()? {
        Normalize::Sha256(_) | Normalize::Hashed(_) => {
            Err("digests of digests are not supported".to_owned())
        }
        profile => Ok(profile),
    }
}

/// Returns the digest of a value in UTF-8.
pub(super) fn of(value: &str) -> [u8; 32] {
    Sha256::digest(value.as_bytes()).into()
}

/// Reads 64 hexadecimal digits, with `0x` or `\x` before them if a database wrote them; or base64 in either alphabet,
/// padded or not; `None` for anything else.
pub(super) fn read(value: &str) -> Option<[u8; 32]> {
    const ANY_PADDING: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const PLUS: GeneralPurpose = GeneralPurpose::new(&STANDARD, ANY_PADDING);
    const DASH: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, ANY_PADDING);
    let value = bare(value);
    let marked = ["0x", "0X", "\\x", "\\X"].iter().find_map(|mark| value.strip_prefix(mark));
    let value = marked.filter(|digits| digits.len() == 64).unwrap_or(value);
    match value.len() {
        64 => read_hex(value.as_bytes()),
        43 | 44 => {
            let bytes = PLUS.decode(value).or_else(|_| DASH.decode(value)).ok()?;
            bytes.try_into().ok()
        }
        _ => None,
    }
}

fn read_hex(digits: &[u8]) -> Option<[u8; 32]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut digest = [0; 32];
    let (pairs, _) = digits.as_chunks::<2>();
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(digest)
}

/// Returns the digest in hexadecimal digits.
pub(super) fn hex(digest: &[u8; 32]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
