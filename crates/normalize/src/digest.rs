//! The digests of keys, computed as rows are read.

use vesica_primitives::hash::{ShortHash, ShortInput};

/// BLAKE3 of an encoded key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The placeholder of a row that has no key.
    pub const BLANK: Self = Self([0; 32]);

    /// Restores a digest from [`Digest::as_bytes`], or takes 256 bits that are as good as random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 64 bits, which are as good as random.
    pub fn prefix(&self) -> u64 {
        let mut prefix = [0; 8];
        prefix.copy_from_slice(&self.0[..8]);
        u64::from_be_bytes(prefix)
    }
}

// A digest of a guessable key is as good as the key, so it is not shown either.
impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// A hasher of keys in the order of rows, several at a time.
#[derive(Default)]
pub struct Digester {
    waiting: Vec<ShortInput>,
    /// The places of the pending digests.
    places: Vec<u32>,
}

impl Digester {
    /// Appends the digest of `bytes` to `digests`. It is there after the next [`Digester::settle`] at the latest.
    pub fn push(&mut self, bytes: &[u8], digests: &mut Vec<Digest>) {
        const BATCH: usize = 16 * ShortHash::LANES;
        if !ShortInput::append(&mut self.waiting, bytes) {
            digests.push(Digest::of(bytes));
            return;
        }
        self.places.push(digests.len() as u32);
        digests.push(Digest::BLANK);
        if self.waiting.len() == BATCH {
            self.settle(digests);
        }
    }

    /// Hashes the pending keys.
    pub fn settle(&mut self, digests: &mut [Digest]) {
        let mut places = self.places.drain(..);
        ShortHash::plain().hash(self.waiting.drain(..), |digest| {
            if let Some(place) = places.next() {
                digests[place as usize] = Digest(digest);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_digest_in_any_batch() {
        let bytes: Vec<u8> = (0..200u8).collect();
        for count in [0, 1, 63, 127, 128, 129, 200] {
            let (mut digester, mut digests) = (Digester::default(), Vec::new());
            (0..count).for_each(|len| digester.push(&bytes[..len], &mut digests));
            digester.settle(&mut digests);
            let expected: Vec<_> = (0..count).map(|len| Digest::of(&bytes[..len])).collect();
            assert!(digests == expected, "{count} keys");
        }
    }
}
