//! The check of the other side's certificate: its fingerprint, and that the other side signs with its key.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use crate::Fingerprint;

/// Accepts the certificates of some parties, mostly of one.
#[derive(Debug)]
pub(super) struct Pin {
    expected: Arc<BTreeSet<Fingerprint>>,
    /// The fingerprint that was presented.
    presented: OnceLock<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl Pin {
    pub(super) fn new(expected: Arc<BTreeSet<Fingerprint>>, provider: Arc<CryptoProvider>) -> Self {
        Self { expected, presented: OnceLock::new(), provider }
    }

    pub(super) fn provider(&self) -> Arc<CryptoProvider> {
        self.provider.clone()
    }

    /// The only party that is expected, if there is one.
    pub(super) fn only(&self) -> Option<Fingerprint> {
        self.expected.first().copied().filter(|_| self.expected.len() == 1)
    }

    /// The fingerprint of the certificate that was presented, and whether it was accepted.
    pub(super) fn presented(&self) -> Option<(Fingerprint, bool)> {
        let presented = self.presented.get().copied()?;
        Some((presented, self.expected.contains(&presented)))
    }

    fn check_fingerprint(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let presented = Fingerprint::of(certificate);
        self.presented.get_or_init(|| presented);
        if self.expected.contains(&presented) {
            return Ok(());
        }
        // The one alert that the other side understands as "I expected somebody else".
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    /// The certificate is public; this proves that the other side holds its key.
    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS 1.2 is not offered, so its signatures cannot be requested.
fn no_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled))
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check_fingerprint(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pin {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check_fingerprint(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}
