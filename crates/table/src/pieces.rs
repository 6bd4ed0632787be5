//! The results of one partition after the other, on disk until all are there.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use vesica_core::error::{Error, Result};
use zeroize::Zeroizing;

use crate::spill::{Spill, Spilled};

/// A growing sequence of pieces.
pub struct Adding {
    directory: PathBuf,
    spill: Spill,
    /// The end of each piece.
    ends: Vec<u64>,
}

/// A complete sequence of pieces.
pub struct Pieces {
    directory: PathBuf,
    spilled: Spilled,
    ends: Vec<u64>,
}

impl Adding {
    /// Makes an empty sequence, in a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn create(directory: &Path) -> Result<Self> {
        let spill = Spill::create(directory).map_err(|source| fault(directory, source))?;
        Ok(Self { directory: directory.to_owned(), spill, ends: Vec::new() })
    }

    /// Adds a piece at the end.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.spill.write_all(piece).map_err(|source| fault(&self.directory, source))?;
        self.ends.push(self.ends.last().unwrap_or(&0) + piece.len() as u64);
        Ok(())
    }

    /// Completes the sequence.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<Pieces> {
        let Self { directory, spill, ends } = self;
        let spilled = spill.finish().map_err(|source| fault(&directory, source))?;
        Ok(Pieces { directory, spilled, ends })
    }
}

impl Pieces {
    /// Returns the directory of the file.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns every piece, in order.
    ///
    /// # Errors
    /// [`Error::Output`] for each that cannot be read.
    pub fn iter(&self) -> impl Iterator<Item = Result<Zeroizing<Vec<u8>>>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| {
            let mut piece = Zeroizing::new(vec![0; (end - start) as usize]);
            let read = read_exact(&self.spilled, start, &mut piece);
            read.map(|()| piece).map_err(|source| fault(&self.directory, source))
        })
    }
}

/// Fills `to` with the bytes from this offset on.
pub fn read_exact(spilled: &Spilled, mut at: u64, mut to: &mut [u8]) -> io::Result<()> {
    while !to.is_empty() {
        match spilled.read_at(at, to)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (at, to) = (at + read as u64, &mut to[read..]),
        }
    }
    Ok(())
}

fn fault(directory: &Path, source: io::Error) -> Error {
    Error::Output { path: directory.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_come_back() {
        let piece = |len: usize| (0..len).map(|i| (i * 7 + len) as u8).collect::<Vec<_>>();
        let lengths = [3, 0, 200_000, 1, 65_536, 0];
        let mut adding = Adding::create(&std::env::temp_dir()).unwrap();
        lengths.iter().for_each(|len| adding.push(&piece(*len)).unwrap());
        let pieces = adding.finish().unwrap();
        let read: Vec<_> = pieces.iter().map(|piece| piece.unwrap().to_vec()).collect();
        assert_eq!(read, lengths.map(piece));
        let none = Adding::create(&std::env::temp_dir()).unwrap().finish().unwrap();
        assert_eq!(none.iter().count(), 0);
    }
}
