//! An input of the fuzzer as a source of small decisions and of content.

/// What is left of an input. It gives zeros where it has ended, so that every input is one.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        array[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        array
    }

    /// A number below `end`, which is at most 2^16.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(u16::from_le_bytes(self.array())) % end
    }

    /// The next bytes, at most so many.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Stands in the place of a person's data: no error may show it.
pub(crate) const SECRET: &str = "q7Zf3a91c2";

/// The content with [`SECRET`] for every tilde, so that the fuzzer places it without having to guess it.
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

/// Makes sure that an error shows nothing of the content, in either of its forms.
pub(crate) fn tells_no_secret(error: &(impl std::error::Error + ?Sized)) {
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "an error shows content: {shown}");
}
