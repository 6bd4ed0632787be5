//! The public half of an identity, and its signatures.

use rustls::{SignatureScheme, pki_types::CertificateDer};
use webpki::{EndEntityCert, ring::ED25519};

use crate::{Fingerprint, Identity, IdentityError, identity::provider};

/// The longest certificate, in bytes; one of [`Identity::generate`] has about 300.
const LONGEST: usize = 1 << 12;

/// The certificate of a party: its public key, from which its [`Fingerprint`] is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate(CertificateDer<'static>);

impl Certificate {
    /// The certificate in this DER.
    ///
    /// # Errors
    /// [`IdentityError::Unusable`] if it is not a certificate.
    pub fn from_der(der: &[u8]) -> Result<Self, IdentityError> {
        let certificate = CertificateDer::from(der.to_vec());
        let is_one = der.len() <= LONGEST && EndEntityCert::try_from(&certificate).is_ok();
        if is_one { Ok(Self(certificate)) } else { Err(IdentityError::Unusable) }
    }

    /// The certificate as DER.
    pub fn as_der(&self) -> &[u8] {
        &self.0
    }

    /// The fingerprint by which others know the party.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }

    /// Whether the party [signed](Identity::sign) this message with this signature.
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        EndEntityCert::try_from(&self.0)
            .is_ok_and(|parsed| parsed.verify_signature(ED25519, message, signature).is_ok())
    }
}

impl Identity {
    /// The public half.
    pub fn certificate(&self) -> Certificate {
        Certificate(self.der())
    }

    /// Signs a message with Ed25519. The same key signs in TLS, whose messages begin with 64 blanks; every other
    /// message must begin differently.
    ///
    /// # Errors
    /// [`IdentityError::Unusable`] if the key cannot sign.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, IdentityError> {
        let unusable = |_| IdentityError::Unusable;
        let key = self.certified_key(&provider()).map_err(unusable)?;
        let signer = key.key.choose_scheme(&[SignatureScheme::ED25519]);
        signer.ok_or(IdentityError::Unusable)?.sign(message).map_err(unusable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_message_by_one_party() {
        let [one, other] = [(); 2].map(|()| Identity::generate().unwrap());
        let signature = one.sign(b"message").unwrap();
        let certificate = Certificate::from_der(one.certificate().as_der()).unwrap();
        assert_eq!(certificate.fingerprint(), one.fingerprint());
        assert!(certificate.has_signed(b"message", &signature));
        assert!(!certificate.has_signed(b"messages", &signature));
        assert!(!other.certificate().has_signed(b"message", &signature));
        for bit in 0..8 * signature.len() {
            let mut wrong = signature.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!certificate.has_signed(b"message", &wrong), "bit {bit}");
        }
    }

    #[test]
    fn an_invalid_certificate_is_refused() {
        let identity = Identity::generate().unwrap();
        let certificate = identity.certificate();
        let der = certificate.as_der();
        for wrong in [&[][..], b"certificate", &der[..der.len() - 1], &vec![0; LONGEST + 1]] {
            assert_eq!(Certificate::from_der(wrong), Err(IdentityError::Unusable));
        }
    }
}
