//! The skeleton of a method on one partition of two sets after the other.
//!
//! A task implements [`ByPartitions`]: how a party is prepared, the piece that it leaves of a partition, and how the
//! pieces add up to the result. The rest is the same for all tasks.

use std::path::Path;

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::partitions::{Partition, Partitions};
use vesica_net::Channel;
use vesica_table::pieces;
use zeroize::Zeroizing;

use crate::{
    interface::{Gather, PartitionParty, Randomness, Reveal, Unrevealed},
    piece::Piece,
};

/// A method with the facts of a run, on sets in partitions.
pub(crate) trait ByPartitions: Clone + Send + Sync + 'static {
    /// A party that is prepared for a partition.
    type Party: Send;

    /// The findings in a partition.
    type Piece: Piece;

    /// Returns the facts on which the layout of pieces depends.
    fn layout(&self) -> <Self::Piece as Piece>::Layout;

    /// Prepares this side's party for a partition.
    ///
    /// # Errors
    /// As [`Gather::prepare`].
    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Self::Party>;

    /// Runs a party. Returns `None` if this side finds nothing.
    ///
    /// # Errors
    /// As [`PartitionParty::run`].
    fn run(
        &self,
        party: Self::Party,
        partition: &Partition,
        reveal: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<Self::Piece>>;

    /// Adds up the pieces.
    ///
    /// # Errors
    /// As [`Gather::finish`].
    fn add_up<'a>(
        self,
        pieces: FoundPieces<Self::Piece>,
        partitions: Option<&'a Partitions>,
        channel: &mut Channel,
        randomness: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>>;
}

/// A party at one end of a protocol.
pub(crate) enum End<Sender, Receiver> {
    Sender(Sender),
    Receiver(Receiver),
}

/// A prepared party with its method.
pub(crate) struct PreparedMethod<M: ByPartitions> {
    pub(crate) method: M,
    pub(crate) party: M::Party,
}

impl<M: ByPartitions> PreparedMethod<M> {
    pub(crate) fn new(
        method: M,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Self> {
        let party = method.prepare(channel, rng)?;
        Ok(Self { method, party })
    }
}

impl<M: ByPartitions> PartitionParty for PreparedMethod<M> {
    fn run(
        self: Box<Self>,
        partition: &Partition,
        reveal: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Zeroizing<Vec<u8>>> {
        let Self { method, party } = *self;
        let piece = method.run(party, partition, reveal, channel, rng)?;
        Ok(piece.map(Piece::encode).unwrap_or_default())
    }
}

impl<M: ByPartitions> Gather for M {
    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn PartitionParty>> {
        Ok(Box::new(PreparedMethod::new(self.clone(), channel, rng)?))
    }

    fn finish<'a>(
        self: Box<Self>,
        pieces: pieces::Pieces,
        partitions: Option<&'a Partitions>,
        channel: &mut Channel,
        randomness: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let pieces = FoundPieces { layout: self.layout(), pieces };
        self.add_up(pieces, partitions, channel, randomness)
    }
}

/// The pieces of all partitions, on disk.
pub(crate) struct FoundPieces<P: Piece> {
    layout: P::Layout,
    pieces: pieces::Pieces,
}

impl<P: Piece> FoundPieces<P> {
    /// Returns the directory of the pieces.
    pub(crate) fn directory(&self) -> &Path {
        self.pieces.directory()
    }

    /// Reads the pieces in the order of the partitions; `None` if this side has found nothing.
    ///
    /// # Errors
    /// [`Error::Output`] for each that cannot be read, and [`Error::Bug`] for each that is malformed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Option<P>>> {
        self.pieces.iter().map(|piece| P::read(&piece?, &self.layout))
    }

    /// Reads the pieces on a side that finds something in each partition.
    ///
    /// # Errors
    /// As [`FoundPieces::iter`], and [`Error::Bug`] for each missing piece.
    pub(crate) fn of_all(&self) -> impl Iterator<Item = Result<P>> {
        self.iter().map(|piece| piece?.ok_or(Error::bug("a partition without a piece")))
    }
}
