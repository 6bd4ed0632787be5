//! The server: it has the key.

use curve25519_dalek::{RistrettoPoint, Scalar, traits::IsIdentity};
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_primitives::group::{Batch as _, Group, Ristretto, RistrettoBatch};
use zeroize::Zeroizing;

use super::{
    ELEMENT_BYTES, Element, Error, MAX_BATCH, Mode, Output, Proof, TASK,
    proof::Batch,
    suite::{finalize, hash_to_scalar_under, uniform_bytes},
};

/// A key of the function, and its public key.
pub struct ServerKey {
    scalar: Zeroizing<Scalar>,
    public: Element,
    mode: Mode,
}

/// What the server sends for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// The evaluated elements, in the order of the blinded ones.
    pub elements: Vec<Element>,
    /// That they are evaluated with the key of the public key; absent in the mode OPRF.
    pub proof: Option<Proof>,
}

impl ServerKey {
    /// DeriveKeyPair of the RFC: the key of a secret seed and of public words about its purpose, at most 65,535 bytes.
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

    /// The public key.
    pub fn public(&self) -> &Element {
        &self.public
    }

    /// BlindEvaluate of the RFC, for a batch.
    ///
    /// # Errors
    /// [`Error::Count`] and [`Error::Element`].
    pub fn blind_evaluate(
        &self,
        blinded: &[Element],
        rng: &mut dyn CryptoRng,
    ) -> Result<Evaluated, Error> {
        self.blind_evaluate_with(blinded, &Zeroizing::new(Ristretto::random_scalar(rng)))
    }

    pub(super) fn blind_evaluate_with(
        &self,
        blinded: &[Element],
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

    /// Evaluate of the RFC, for a batch: the values of inputs that the server itself has.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn evaluate<T: AsRef<[u8]> + Sync>(&self, inputs: &[T]) -> Result<Vec<Output>, Error> {
        let parts = inputs.par_chunks(TASK).enumerate().map(|(part, inputs)| {
            let uniform = uniform_all(inputs, self.mode, part * TASK)?;
            let elements = RistrettoBatch::from_uniform(&uniform).mul(&self.scalar).encode();
            let pairs = inputs.iter().zip(&elements).enumerate();
            let value = |(i, (input, element)): (usize, (&T, &Element))| match *element {
                IDENTITY => Err(Error::Input(part * TASK + i)),
                _ => Ok(finalize(input.as_ref(), element)),
            };
            pairs.map(value).collect()
        });
        Ok(parts.collect::<Result<Vec<Vec<_>>, _>>()?.concat())
    }
}

/// The encoding of the identity.
const IDENTITY: Element = [0; ELEMENT_BYTES];

/// The uniform bytes that give inputs their places in the group; the first of them has this number in errors.
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

/// The places of inputs in the group; the first of them has this number in errors.
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

/// The elements of a batch.
pub(super) fn decode(elements: &[Element]) -> Result<Vec<RistrettoPoint>, Error> {
    if elements.is_empty() || elements.len() > MAX_BATCH {
        return Err(Error::Count);
    }
    let decoded = elements.par_iter().with_min_len(TASK).enumerate();
    decoded.map(|(i, element)| Ristretto::decode(element).ok_or(Error::Element(i))).collect()
}
