//! The client, which has the inputs.

use curve25519_dalek::{RistrettoPoint, Scalar};
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_primitives::group::{Group, Ristretto};
use zeroize::Zeroizing;

use super::{
    Error, FunctionValue, MAX_BATCH, Mode, Proof, TASK, WireElement,
    proof::Batch,
    server::{decode, hash_all},
    suite::finalize,
};

/// A batch of blinded inputs that awaits the server's answer.
pub struct Blinded<T> {
    inputs: Vec<T>,
    blinds: Zeroizing<Vec<Scalar>>,
    points: Vec<RistrettoPoint>,
    elements: Vec<WireElement>,
}

impl<T: AsRef<[u8]> + Sync> Blinded<T> {
    /// Blinds a batch (Blind of the RFC).
    ///
    /// # Errors
    /// [`Error::Count`] and [`Error::Input`].
    pub fn new(inputs: Vec<T>, mode: Mode, rng: &mut dyn CryptoRng) -> Result<Self, Error> {
        let blinds = inputs.iter().map(|_| Ristretto::random_scalar(rng)).collect();
        Self::with_blinds(inputs, mode, Zeroizing::new(blinds))
    }

    pub(super) fn with_blinds(
        inputs: Vec<T>,
        mode: Mode,
        blinds: Zeroizing<Vec<Scalar>>,
    ) -> Result<Self, Error> {
        if inputs.is_empty() || inputs.len() > MAX_BATCH {
            return Err(Error::Count);
        }
        let tasks = inputs.par_chunks(TASK).zip(blinds.par_chunks(TASK)).enumerate();
        let points = tasks.map(|(task, (inputs, blinds))| {
            let hashed = hash_all(inputs, mode, task * TASK)?;
            Ok(hashed.iter().zip(blinds).map(|(point, blind)| point * blind).collect())
        });
        let points = points.collect::<Result<Vec<Vec<_>>, _>>()?.concat();
        let elements = points.par_iter().with_min_len(TASK).map(Ristretto::encode).collect();
        Ok(Self { inputs, blinds, points, elements })
    }

    /// Returns the elements for the server.
    pub fn elements(&self) -> &[WireElement] {
        &self.elements
    }

    /// Checks the proof and returns the values (Finalize of the RFC, mode VOPRF).
    ///
    /// # Errors
    /// [`Error::Count`], [`Error::Element`] and [`Error::Proof`].
    pub fn finalize(
        mut self,
        public: &WireElement,
        evaluated: &[WireElement],
        proof: &Proof,
    ) -> Result<Vec<FunctionValue>, Error> {
        let points = self.decode(evaluated)?;
        let key = Ristretto::decode(public).ok_or(Error::Proof)?;
        let batch = Batch { public, blinded: (&self.elements, &self.points), evaluated };
        match batch.verify(&key, &points, proof) {
            true => Ok(self.unblind(&points)),
            false => Err(Error::Proof),
        }
    }

    /// Returns the values (Finalize of the RFC, mode OPRF). In this mode nothing shows which key the server used.
    ///
    /// # Errors
    /// [`Error::Count`] and [`Error::Element`].
    pub fn finalize_unproved(
        mut self,
        evaluated: &[WireElement],
    ) -> Result<Vec<FunctionValue>, Error> {
        let points = self.decode(evaluated)?;
        Ok(self.unblind(&points))
    }

    fn decode(&self, evaluated: &[WireElement]) -> Result<Vec<RistrettoPoint>, Error> {
        if evaluated.len() != self.inputs.len() {
            return Err(Error::Count);
        }
        decode(evaluated)
    }

    fn unblind(&mut self, points: &[RistrettoPoint]) -> Vec<FunctionValue> {
        // The product of all inverses is not needed.
        drop(Zeroizing::new(Scalar::invert_batch_alloc(&mut self.blinds)));
        // Encoding doubles of halves takes one square root for all.
        let tasks = self.inputs.par_chunks(TASK);
        let tasks = tasks.zip(self.blinds.par_chunks(TASK)).zip(points.par_chunks(TASK));
        let outputs = tasks.map(|((inputs, inverses), points)| -> Vec<FunctionValue> {
            let halves: Vec<_> = points
                .iter()
                .zip(inverses)
                .map(|(point, inverse)| Ristretto::mul(point, &Ristretto::divide(inverse)))
                .collect();
            let elements = Ristretto::encode_multiples(&halves);
            let pairs = inputs.iter().zip(&elements);
            pairs.map(|(input, element)| finalize(input.as_ref(), element)).collect()
        });
        outputs.collect::<Vec<_>>().concat()
    }
}
