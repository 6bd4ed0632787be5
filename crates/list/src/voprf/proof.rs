//! Proofs of equal discrete logarithms, one for a batch: RFC 9497 §2.2, with A the generator and B the public key.
//!
//! A batch is reduced to one pair (M, Z) by random coefficients, which are a hash of the whole batch. Only the key and
//! the random scalar of a proof are secret, so most products need not be computed in constant time.

use curve25519_dalek::{
    RistrettoPoint, Scalar,
    traits::{Identity, VartimeMultiscalarMul},
};
use rayon::prelude::*;
use sha2::{Digest, Sha512};

use super::{
    PROOF_BYTES, Proof, TASK, WireElement,
    suite::{Mode, hash_to_scalar, seed_domain},
};

/// A batch as sent: the blinded elements and the evaluated elements.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) public: &'a WireElement,
    pub(super) blinded: (&'a [WireElement], &'a [RistrettoPoint]),
    pub(super) evaluated: &'a [WireElement],
}

impl Batch<'_> {
    /// Computes the coefficients d_i of the pairs.
    fn coefficients(&self) -> Vec<Scalar> {
        let domain = seed_domain(Mode::Voprf);
        let mut hash = Sha512::new();
        for part in [&self.public[..], &domain] {
            hash.update((part.len() as u16).to_be_bytes());
            hash.update(part);
        }
        let seed: [u8; 64] = hash.finalize().into();
        let pairs = self.blinded.0.par_iter().zip(self.evaluated).with_min_len(TASK).enumerate();
        let coefficient = |(i, (blinded, evaluated)): (usize, (&WireElement, &WireElement))| {
            let parts: [&[u8]; 8] = [
                &64u16.to_be_bytes(),
                &seed,
                &(i as u16).to_be_bytes(),
                &32u16.to_be_bytes(),
                blinded,
                &32u16.to_be_bytes(),
                evaluated,
                b"Composite",
            ];
            hash_to_scalar(&parts, Mode::Voprf)
        };
        pairs.map(coefficient).collect()
    }

    /// Computes the challenge from the pair and the two commitments.
    fn challenge(&self, elements: [&RistrettoPoint; 4]) -> Scalar {
        let length = 32u16.to_be_bytes();
        let elements = elements.map(|element| element.compress().to_bytes());
        let mut parts: Vec<&[u8]> = vec![&length, self.public];
        elements.iter().for_each(|element| parts.extend([&length[..], element]));
        parts.push(b"Challenge");
        hash_to_scalar(&parts, Mode::Voprf)
    }

    /// Proves with the key, and with a random scalar that is used once.
    pub(super) fn prove(&self, key: &Scalar, random: &Scalar) -> Proof {
        let m = combine(&self.coefficients(), self.blinded.1);
        let z = m * key;
        let commitments = (RistrettoPoint::mul_base(random), m * random);
        let challenge = self.challenge([&m, &z, &commitments.0, &commitments.1]);
        let response = random - challenge * key;
        let mut proof = [0; PROOF_BYTES];
        proof[..32].copy_from_slice(challenge.as_bytes());
        proof[32..].copy_from_slice(response.as_bytes());
        proof
    }

    /// Returns whether a proof is valid. `public` and `evaluated` are the decoded elements.
    pub(super) fn verify(
        &self,
        public: &RistrettoPoint,
        evaluated: &[RistrettoPoint],
        proof: &Proof,
    ) -> bool {
        let (halves, _) = proof.as_chunks::<32>();
        let decode = |half: &[u8; 32]| Option::from(Scalar::from_canonical_bytes(*half));
        let (Some(challenge), Some(response)): (Option<Scalar>, Option<Scalar>) =
            (decode(&halves[0]), decode(&halves[1]))
        else {
            return false;
        };
        let coefficients = self.coefficients();
        let (m, z) = rayon::join(
            || combine(&coefficients, self.blinded.1),
            || combine(&coefficients, evaluated),
        );
        let first =
            RistrettoPoint::vartime_double_scalar_mul_basepoint(&challenge, public, &response);
        let second = RistrettoPoint::vartime_multiscalar_mul([response, challenge], [m, z]);
        self.challenge([&m, &z, &first, &second]) == challenge
    }
}

/// Sums the products of public scalars and elements.
fn combine(coefficients: &[Scalar], elements: &[RistrettoPoint]) -> RistrettoPoint {
    /// Larger parts gain little.
    const PART: usize = 512;
    let parts = coefficients.par_chunks(PART).zip(elements.par_chunks(PART));
    let sums = parts.map(|(scalars, points)| {
        RistrettoPoint::vartime_multiscalar_mul(scalars, points.iter().copied())
    });
    sums.reduce(RistrettoPoint::identity, |left, right| left + right)
}
