//! Correlated OT by SoftSpokenOT (Roy, CRYPTO 2022): an extension that sends 128/k bits per OT where ALSZ13
//! sends 128, for 2^(k−1)/k times its work on generators.
//!
//! Δ is cut into ⌈128/k⌉ chunks of k bits, each an element of GF(2^k).
//!
//! 1. Once: for each chunk a tree of 2^k leaves, from k base OTs with the parties' roles exchanged. S lacks the leaf
//!    numbered by the chunk (see [`pprf`]).
//! 2. The leaves are seeds of streams r_x. R holds u = ⊕ r_x and, for each bit b of a chunk, v_b = ⊕ x_b·r_x;
//!    S, whose chunk is d, can compute w_b = ⊕ (x_b ⊕ d_b)·r_x = v_b ⊕ d_b·u without r_d. That is a VOLE over
//!    GF(2^k) of a vector over GF(2).
//! 3. R → S: for each chunk u ⊕ c, where c are R's choices: ⌈128/k⌉ bits per OT. S adds d_b times that to
//!    w_b, so that with column b of all chunks side by side row j is q_j = t_j ⊕ c_j·Δ.
//!
//! Two extensions are built from this, and differ in their types:
//!
//! - [`semi_honest`] is the above.
//! - [`malicious`] adds the check of the trees to step 1 and a check of the columns to step 3. Together they
//!   catch an R that uses trees, or choices, that differ between the chunks.
//!
//! Deviation from the paper: its subspace VOLE of a random u and the correction to chosen bits are sent as one
//! message; this makes no difference to the cost for choices that the receiver makes.

use vesica_primitives::{Block, Delta};

use crate::{Bytes, base::BaseOt, pprf};

pub mod malicious;
pub mod semi_honest;
pub(super) mod small_field;

/// GF(2^k) for k from 1 to 8: more bits mean fewer bytes sent and more work.
///
/// | k | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
/// |---|---|---|---|---|---|---|---|---|
/// | bits sent per OT | 128 | 64 | 43 | 32 | 26 | 22 | 19 | 16 |
/// | blocks of stream per OT, receiver | 2 | 2 | 2.7 | 4 | 6.5 | 11 | 19 | 32 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallField {
    bits: usize,
}

impl SmallField {
    /// The largest k.
    pub const MAX_BITS: usize = 8;

    /// GF(2^k), where k is `bits`.
    ///
    /// # Panics
    /// If k is not between 1 and [`SmallField::MAX_BITS`].
    pub const fn new(bits: usize) -> Self {
        assert!(1 <= bits && bits <= Self::MAX_BITS, "k is within 1 to 8");
        Self { bits }
    }

    /// k.
    pub const fn bits(self) -> usize {
        self.bits
    }

    /// Chunks of Δ, ⌈128/k⌉; also the bits that the receiver sends for each OT.
    pub const fn chunks(self) -> usize {
        128usize.div_ceil(self.bits)
    }

    /// Base OTs of the setup, k·⌈128/k⌉.
    pub const fn base_ots(self) -> usize {
        self.shape().ots()
    }

    /// Payload bytes of the trees over base OTs `B`, without a check, and of the session's key.
    fn setup_bytes<B: BaseOt>(self) -> Bytes {
        let setup = super::setup_bytes::<B>(self.base_ots());
        Bytes { to_sender: setup.to_sender + pprf::ggm::bytes(self.shape()), ..setup }
    }

    /// Payload bytes of `n` correlated or random OTs, all of them to the sender. Rows are padded to
    /// whole blocks.
    pub const fn bytes(self, n: usize) -> usize {
        self.chunks() * n.div_ceil(128) * size_of::<Block>()
    }

    /// The trees: one for each chunk, with a leaf for each element of the field.
    const fn shape(self) -> pprf::Shape {
        pprf::Shape::new(self.chunks(), 1 << self.bits)
    }

    /// The chunks of Δ, the last of them padded with zeros.
    fn split(self, delta: &Delta) -> Vec<u32> {
        let bit = |i: usize| if i < 128 { u32::from(delta.bit(i)) } else { 0 };
        let chunk = |i: usize| (0..self.bits).map(|b| bit(i * self.bits + b) << b).sum();
        (0..self.chunks()).map(chunk).collect()
    }
}
