//! TLS of the service.

use std::{path::Path, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use vesica_net::Identity;

/// The service's certificate chain and key.
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// The reason why TLS cannot be set up.
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
    /// Returns the certificate of an identity. Clients that know the publisher's fingerprint accept it; browsers do
    /// not.
    ///
    /// # Errors
    /// [`TlsError`] if the identity is unusable.
    pub fn of_identity(me: &Identity) -> Result<Self, TlsError> {
        let text = me.to_pem();
        let unusable = |error| TlsError(format!("the identity cannot be used: {error}"));
        Ok(Self {
            chain: vec![CertificateDer::from_pem_slice(text.as_bytes()).map_err(unusable)?],
            key: PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(unusable)?,
        })
    }

    /// Reads a certificate chain and a key, issued by an authority, from PEM files.
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
        let mut config = config.map_err(failed("the certificate and its key do not match"))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
