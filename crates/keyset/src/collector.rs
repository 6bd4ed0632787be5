//! The keys of rows in the order of reading.

use vesica_core::error::Result;
use vesica_normalize::digest::{Digest, Digester};

use crate::key_number::KeyNumber;

/// The keys of rows in the order of reading, with repetitions.
pub struct Collector {
    identifiers: usize,
    /// One digest for each identifier of a row.
    digests: Vec<Digest>,
    digester: Digester,
    /// `None` for a missing key, and any number for a key.
    keys_of_rows: Vec<Option<KeyNumber>>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Collector {
    /// Makes a collector for rows with this many identifiers.
    pub fn new(identifiers: usize) -> Self {
        let (digests, digester, keys_of_rows) = Default::default();
        Self { identifiers, digests, digester, keys_of_rows }
    }

    /// Takes the encoded key of the next identifier, which may be the first one of the next row.
    pub fn push(&mut self, key: Option<&[u8]>) {
        match key {
            Some(key) => self.digester.push(key, &mut self.digests),
            None => self.digests.push(Digest::BLANK),
        }
        self.keys_of_rows.push(key.map(|_| KeyNumber::FIRST));
    }

    /// Returns the least memory, in bytes, that the set of the keys so far takes.
    pub(super) fn bytes(&self) -> u64 {
        const OF_A_KEY: usize = size_of::<Digest>() + 2 * size_of::<KeyNumber>();
        (self.digests.len() * OF_A_KEY) as u64
    }

    /// Returns the place of the next key.
    pub(super) fn next(&self) -> u32 {
        self.digests.len() as u32
    }

    /// Returns the number of identifiers of a row.
    pub(super) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// Appends the keys of the rows that follow.
    pub(super) fn append(&mut self, mut other: Self) {
        other.digester.settle(&mut other.digests);
        self.digests.append(&mut other.digests);
        self.keys_of_rows.append(&mut other.keys_of_rows);
    }

    /// Shows the digest of each key so far, or `None` for a missing one, and removes them all.
    ///
    /// # Errors
    /// Any error of `show`.
    pub(super) fn drain(
        &mut self,
        mut show: impl FnMut(u32, Option<&Digest>) -> Result<()>,
    ) -> Result<()> {
        self.digester.settle(&mut self.digests);
        let keys = std::mem::take(&mut self.digests).into_iter();
        let mut keys = keys.zip(std::mem::take(&mut self.keys_of_rows)).zip(0..);
        keys.try_for_each(|((digest, key), place)| show(place, key.map(|_| &digest)))
    }

    /// Returns the digests, one for each identifier of a row; whether each is a key's, as `None` or any number; and the
    /// number of identifiers of a row.
    pub(super) fn finish(mut self) -> (Vec<Digest>, Vec<Option<KeyNumber>>, usize) {
        self.digester.settle(&mut self.digests);
        (self.digests, self.keys_of_rows, self.identifiers)
    }
}
