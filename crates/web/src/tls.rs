//! TLS of the service, and how a client knows it.

use std::{io, path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use vesica_list::signed::certificate_hash;
use vesica_net::{Fingerprint, Identity};

/// What a service shows its callers.
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Why there is no TLS.
#[derive(Debug)]
pub struct TlsError(String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn failed(what: impl std::fmt::Display) -> impl FnOnce(rustls::Error) -> TlsError {
    move |error| TlsError(format!("{what}: {error}"))
}

impl Certificate {
    /// That of an identity: clients who know the publisher's fingerprint accept it, and browsers do not.
    ///
    /// # Errors
    /// [`TlsError`] where the identity is unusable.
    pub fn of_identity(me: &Identity) -> Result<Self, TlsError> {
        let text = me.to_pem();
        let unusable = |error| TlsError(format!("the identity cannot be used: {error}"));
        Ok(Self {
            chain: vec![CertificateDer::from_pem_slice(text.as_bytes()).map_err(unusable)?],
            key: PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(unusable)?,
        })
    }

    /// A chain and a key in PEM files, as an authority gave them.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn from_files(chain: &Path, key: &Path) -> Result<Self, TlsError> {
        let failed = |path: &Path, error| TlsError(format!("{}: {error}", path.display()));
        let certificates = CertificateDer::pem_file_iter(chain).map_err(|e| failed(chain, e))?;
        Ok(Self {
            chain: certificates.collect::<Result<_, _>>().map_err(|error| failed(chain, error))?,
            key: PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error))?,
        })
    }

    pub(crate) fn server(self) -> Result<Arc<ServerConfig>, TlsError> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(failed("TLS"))?
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key);
        let mut config = config.map_err(failed("the certificate and its key do not fit"))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// For a client: the publisher's own certificate, or one that the system trusts for the name.
pub(crate) fn client(publisher: Fingerprint) -> io::Result<Arc<ClientConfig>> {
    let provider = provider();
    // Where the system has no certificates, the publisher's own is what is left.
    let others = rustls_platform_verifier::Verifier::new(provider.clone()).ok();
    let verifier = Arc::new(Known { publisher, others, provider: provider.clone() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let mut config = config;
    config.dangerous().set_certificate_verifier(verifier);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Known {
    publisher: Fingerprint,
    others: Option<rustls_platform_verifier::Verifier>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Known {
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
