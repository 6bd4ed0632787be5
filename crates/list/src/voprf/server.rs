//! The server, which has the key.

use curve25519_dalek::{RistrettoPoint, Scalar, traits::IsIdentity};
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_primitives::group::{Batch as _, Group, Ristretto, RistrettoBatch};
use zeroize::Zeroizing;

use super::{
    ELEMENT_BYTES, Error, FunctionValue, MAX_BATCH, Mode, Proof, TASK, WireElement,
    proof::Batch,
    suite::{finalize, hash_to_scalar_under, uniform_bytes},
};

/// A key of the function, and its public key.
pub struct ServerKey {
    scalar: Zeroizing<Scalar>,
    public: WireElement,
    mode: Mode,
}

/// The server's answer for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// The evaluated elements, in the order of the blinded ones.
    pub elements: Vec<WireElement>,
    /// Proof that the public key's secret key was used; absent in the mode OPRF.
    pub proof: Option<Proof>,
}

impl ServerKey {
    /// Derives a key from a secret seed and a public info string of at most 65,535 bytes (DeriveKeyPair of the RFC).
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn derive(seed: &[u8; 32], info: &[u8], mode: Mode) -> Result<Self, Error> {
        let length = u16::try_from(info.len()).map_err(|_| Error::Key)?.to_be_bytes();
        let candidate = |counter: u8| {
            let parts: [&[u8]; 4] = [seed, &length, info, &[counter]];
            Zeroizing::new(hash_to_scalar_under(&parts, b"DeriveKeyPair", mode))
        };
        let scalar = (0..=u8::MAX).map(candidate).find(|scalar| **scalar != Scalar::ZERO);
        let scalar = scalar.ok_or(Error::Key)?;
        let public = RistrettoPoint::mul_base(&scalar).compress().to_bytes();
        Ok(Self { scalar, public, mode })
    }

    /// Returns the public key.
    pub fn public(&self) -> &WireElement {
        &self.public
    }

    /// Evaluates a batch of blinded elements (BlindEvaluate of the RFC).
    ///
    /// # Errors
    /// [`Error::Count`] and [`Error::Element`].
    pub fn blind_evaluate(
        &self,
        blinded: &[WireElement],
        rng: &mut dyn CryptoRng,
    ) -> Result<Evaluated, Error> {
        self.blind_evaluate_with(blinded, &Zeroizing::new(Ristretto::random_scalar(rng)))
    }

    pub(super) fn blind_evaluate_with(
        &self,
        blinded: &[WireElement],
        random: &Scalar,
    ) -> Result<Evaluated, Error> {
        let points = decode(blinded)?;
        let parts = blinded.par_chunks(TASK).map(|blinded| {
            let points = RistrettoBatch::decode(blinded).expect("they were decoded before");
            points.mul(&self.scalar).encode()
        });
        let elements = parts.collect::<Vec<_>>().concat();
        let proof = (self.mode == Mode::Voprf).then(|| {
            let batch =
                Batch { public: &self.public, blinded: (blinded, &points), evaluated: &elements };
            batch.prove(&self.scalar, random)
        });
        Ok(Evaluated { elements, proof })
    }

    /// Evaluates a batch of the server's own inputs (Evaluate of the RFC).
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn evaluate<T: AsRef<[u8]> + Sync>(
        &self,
        inputs: &[T],
    ) -> Result<Vec<FunctionValue>, Error> {
        let parts = inputs.par_chunks(TASK).enumerate().map(|(part, inputs)| {
            let uniform = uniform_all(inputs, self.mode, part * TASK)?;
            let elements = RistrettoBatch::from_uniform(&uniform).mul(&self.scalar).encode();
            let pairs = inputs.iter().zip(&elements).enumerate();
            let value = |(i, (input, element)): (usize, (&T, &WireElement))| match *element {
                IDENTITY => Err(Error::Input(part * TASK + i)),
                _ => Ok(finalize(input.as_ref(), element)),
            };
            pairs.map(value).collect()
        });
        Ok(parts.collect::<Result<Vec<Vec<_>>, _>>()?.concat())
    }
}

/// The encoding of the identity.
const IDENTITY: WireElement = [0; ELEMENT_BYTES];

/// Computes the uniform bytes from which inputs are mapped to the group. `first` is the number of the first input in
/// errors.
fn uniform_all<T: AsRef<[u8]>>(
    inputs: &[T],
    mode: Mode,
    first: usize,
) -> Result<Vec<[u8; 64]>, Error> {
    let uniform = inputs.iter().enumerate().map(|(i, input)| {
        let input = Some(input.as_ref()).filter(|input| input.len() <= usize::from(u16::MAX));
        input.map(|input| uniform_bytes(input, mode)).ok_or(Error::Input(first + i))
    });
    uniform.collect()
}

/// Hashes inputs to the group. `first` is the number of the first input in errors.
pub(super) fn hash_all<T: AsRef<[u8]>>(
    inputs: &[T],
    mode: Mode,
    first: usize,
) -> Result<Vec<RistrettoPoint>, Error> {
    let hashed = uniform_all(inputs, mode, first)?.into_iter().enumerate().map(|(i, uniform)| {
        let point = RistrettoPoint::from_uniform_bytes(&uniform);
        Some(point).filter(|point| !point.is_identity()).ok_or(Error::Input(first + i))
    });
    hashed.collect()
}

/// Decodes the elements of a batch.
pub(super) fn decode(elements: &[WireElement]) -> Result<Vec<RistrettoPoint>, Error> {
    if elements.is_empty() || elements.len() > MAX_BATCH {
        return Err(Error::Count);
    }
    let decoded = elements.par_iter().with_min_len(TASK).enumerate();
    decoded.map(|(i, element)| Ristretto::decode(element).ok_or(Error::Element(i))).collect()
}
