//! The multi-point OPRF of Rindal and Schoppmann (EUROCRYPT 2021), Figure 4, from a VOLE and any OKVS.
//!
//! The receiver has points x, the sender none yet. h maps points to elements of the VOLE's short side.
//!
//! - **O1.** Once, without input: a VOLE as long as the OKVS; R has a and c, S has Δ and b, c = a·Δ + b.
//! - **O2.** R draws the OKVS seed, now that its points are fixed, and solves for P with Decode(P, x) = h(x). R → S:
//!   the seed and a + P, cluster by cluster.
//! - **O3.** S takes k = b + Δ·(a + P) = c + Δ·P. As decoding is linear, Decode(k, y) + Δ·h(y) = Decode(c, y) +
//!   Δ·(Decode(P, y) + h(y)).
//! - **O4.** F(y) = H(Decode(k, y) + Δ·h(y)) for any y; R has F(x) = H(Decode(c, x)).
//!
//! At a y that is not a point of R, Δ is multiplied by something other than 0 unless Decode(P, y) happens to
//! be h(y). The definitions of h and H, and further messages, depend on the adversary: [`semi_honest`] and
//! [`malicious`].

pub mod malicious;
mod masked;
pub mod semi_honest;

pub use crate::Values;
