//! Set intersection among three and more parties, folded to two.
//!
//! N parties with sets X_i have a channel for each pair of them. The *leader* L learns, the *pivot* V ends the
//! computation with it, and the N − 2 others help. Everything on a channel stays between its two ends:
//!
//! 1. *Plan.* Each pair compares the [`JointPlan`]: roles, sizes, number of runs and context. It binds its
//!    session to it.
//! 2. *Keys.* Each pair without L agrees on a fresh key k_ij by Diffie–Hellman. The *zero shares* are z_i(x) = ⊕_j
//!    AES(k_ij, x): for every x they add up to zero over V and the helpers.
//! 3. *Reading.* Each helper i programs an OPPRF ([`vesica_oprf::opprf`]) with z_i(x) at its items x. L reads t_i(x) at
//!    its own, and adds up T(x) = ⊕_i t_i(x). V computes W(y) = z_V(y).
//! 4. *Derived items.* L has BLAKE3(x ‖ T(x)) for each x, V has BLAKE3(y ‖ W(y)) for each y, keyed by the plan. They
//!    are equal exactly for x = y in all N sets, because there T(x) = W(x).
//!
//! Positions are unchanged, so any two-party protocol, count or query runs between L and V on derived items:
//! [`JointRows`] does so for rows. Sources: zero shares of Kolesnikov, Matania, Pinkas, Rosulek and Trieu (CCS 2017),
//! with the OPPRF of Rindal and Schoppmann (EUROCRYPT 2021); that L and V end with a two-party protocol is from the
//! bicentric zero-sharing of CCS 2024, whose reading of shares is not used because leader and pivot can test any guess
//! in it.
//!
//! [`HoldersPlan`] is for items that at least k of the others have, and needs no pivot.
//!
//! Semi-honest, or with the parts of [`malicious`] against parties that deviate. `docs/protocols/joint.md` has the
//! argument, and what each coalition learns: without both L and V, no more than its members' results; with both, also
//! which items of L all honest helpers have, and nothing about other items.

#[cfg(test)]
mod coalitions;
mod cost;
mod derived;
#[cfg(test)]
mod false_matches;
mod fold;
mod holders;
pub mod malicious;
mod plan;
mod rows;
mod zero_shares;

pub use cost::JointCost;
pub use fold::{Helper, Leader, Pivot};
pub use holders::{HeldItem, Holders, HoldersPlan, MAX_HOLDERS};
pub use plan::{Folding, JointPlan, Place};
pub use rows::JointRows;
