//! An input of the fuzzer as a source of small decisions and of content.

/// The rest of an input, followed by endless zeros, so that every input is long enough.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns the next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Returns the next bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        array[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        array
    }

    /// Returns a number below `end`, which is at most 2^16.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(u16::from_le_bytes(self.array())) % end
    }

    /// Returns the next bytes, at most `most`.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// A stand-in for personal data, which no error may show.
pub(crate) const SECRET: &str = "q7Zf3a91c2";

/// Replaces every tilde by [`SECRET`], so that the fuzzer can place it without having to guess it.
pub(crate) fn with_secrets(content: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(content.len());
    for byte in content {
        match byte {
            b'~' => all.extend_from_slice(SECRET.as_bytes()),
            byte => all.push(*byte),
        }
    }
    all
}

/// Checks that an error shows no content, in either of its forms.
pub(crate) fn tells_no_secret(error: &(impl std::error::Error + ?Sized)) {
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "an error shows content: {shown}");
}
