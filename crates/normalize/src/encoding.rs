//! The encoding of a key, which its digest is computed from.
//!
//! An encoding has the number of the key's columns and, for each of them, a type, a length and the bytes, so that
//! `("a,b", "c")` and `("a", "b,c")` differ.

use crate::{digest::Digest, normalize::Normalize, null_values::NullValues};

/// Separates the digests of keys from all other digests, and from other versions.
const DOMAIN: &[u8] = b"vesica/key/1";

/// The domain if a row has several identifiers; the identifier's number follows.
const DOMAIN_OF_SEVERAL: &[u8] = b"vesica/key-of-several/1";

/// The type of a text column. Other types have other numbers.
const TEXT: u8 = 1;

/// The type of a column of digests.
const DIGEST: u8 = 2;

/// An encoder of keys, one after the other.
#[derive(Clone)]
pub struct Encoding {
    /// The beginning of every encoding.
    domain: Vec<u8>,
    encoded: Vec<u8>,
}

impl Default for Encoding {
    fn default() -> Self {
        Self { domain: DOMAIN.to_vec(), encoded: Vec::new() }
    }
}

impl Encoding {
    /// Encodes keys of the identifier with this number, counted from 0. They never equal a key of another identifier.
    pub fn of_identifier(number: u32) -> Self {
        Self { domain: [DOMAIN_OF_SEVERAL, &number.to_le_bytes()].concat(), encoded: Vec::new() }
    }

    /// Goes on with the keys of another identifier.
    pub fn turn_to_identifier(&mut self, number: u32) {
        self.domain.truncate(DOMAIN_OF_SEVERAL.len());
        self.domain.extend_from_slice(&number.to_le_bytes());
    }

    /// Begins a key of this many columns.
    pub fn begin(&mut self, columns: usize) {
        self.encoded.clear();
        self.encoded.extend_from_slice(&self.domain);
        self.encoded.extend_from_slice(&(columns as u32).to_le_bytes());
    }

    /// Adds a value that this profile has normalised and that is not empty. Returns whether it is encoded as a digest.
    pub fn add(&mut self, value: &str, normalize: &Normalize) -> bool {
        let digest = normalize.digest(value);
        let (kind, bytes) = match &digest {
            None => (TEXT, value.as_bytes()),
            Some(digest) => (DIGEST, &digest[..]),
        };
        self.encoded.push(kind);
        self.encoded.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.encoded.extend_from_slice(bytes);
        digest.is_some()
    }

    /// Returns the key that was begun last.
    pub fn bytes(&self) -> &[u8] {
        &self.encoded
    }
}

/// Returns the digest of the key with these raw values, one for each column; `None` if one is empty, is a null value or
/// does not suit its profile.
pub fn digest_of<'a>(
    values: impl ExactSizeIterator<Item = (&'a str, &'a Normalize)>,
    null_values: &NullValues,
) -> Option<Digest> {
    let mut encoding = Encoding::default();
    encoding.begin(values.len());
    for (raw, normalize) in values {
        let value = normalize.apply(raw);
        if null_values.hold(raw, &value, normalize) || value.is_empty() {
            return None;
        }
        encoding.add(&value, normalize);
    }
    Some(Digest::of(encoding.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(values: &[&str], profile: &str) -> Option<Digest> {
        let normalize: Normalize = profile.parse().unwrap();
        digest_of(values.iter().map(|value| (*value, &normalize)), &NullValues::default())
    }

    #[test]
    fn columns_do_not_run_together() {
        let [one, other, third] = [["a,b", "c"], ["a", "b,c"], ["ab", ",c"]];
        assert!(digest(&one, "none") != digest(&other, "none"));
        assert!(digest(&other, "none") != digest(&third, "none"));
        assert!(digest(&["a"], "none") != digest(&["a", "a"], "none"));
        assert!(digest(&["Ann@Example.org"], "email") == digest(&[" ann@example.org"], "email"));
        assert!(digest(&["a@b.c"], "email") == digest(&["a@b.c"], "lower"));
    }

    #[test]
    fn a_null_value_makes_no_key() {
        for (value, profile) in [("n/a", "trim"), ("", "none"), ("nobody", "email")] {
            assert!(digest(&[value], profile).is_none(), "{value} {profile}");
        }
        assert!(digest(&["n/a"], "none").is_some());
    }
}
