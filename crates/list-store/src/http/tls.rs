//! TLS for clients of a list.

use std::{io, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use vesica_list::signed::certificate_hash;
use vesica_net::Fingerprint;

/// Returns a configuration that accepts the publisher's own certificate, and one that the system trusts for the name.
pub(super) fn config(publisher: Fingerprint) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    // If the system has no certificates, only the publisher's own is accepted.
    let others = rustls_platform_verifier::Verifier::new(provider.clone()).ok();
    let verifier = Arc::new(KnownCertificates { publisher, others, provider: provider.clone() });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    config.dangerous().set_certificate_verifier(verifier);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct KnownCertificates {
    publisher: Fingerprint,
    others: Option<rustls_platform_verifier::Verifier>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KnownCertificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if certificate_hash(certificate).starts_with(self.publisher.as_bytes()) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.others {
            Some(others) => others.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => Err(rustls::CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
