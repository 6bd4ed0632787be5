//! A party as documents name it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use vesica_net::{Certificate, Fingerprint, Identity};

/// A party: its certificate, with the fingerprint beside it for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Party(Certificate);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    fingerprint: String,
    certificate: String,
}

impl Party {
    /// Returns its certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.0
    }

    /// Returns the fingerprint by which others know it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint()
    }
}

impl From<&Identity> for Party {
    fn from(identity: &Identity) -> Self {
        Self(identity.certificate())
    }
}

impl From<Party> for Form {
    fn from(Party(certificate): Party) -> Self {
        Self {
            fingerprint: certificate.fingerprint().to_string(),
            certificate: STANDARD.encode(certificate.as_der()),
        }
    }
}

impl TryFrom<Form> for Party {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Self, &'static str> {
        const UNUSABLE: &str = "not the certificate of a party";
        let der = STANDARD.decode(form.certificate).map_err(|_| UNUSABLE)?;
        let certificate = Certificate::from_der(&der).map_err(|_| UNUSABLE)?;
        if certificate.fingerprint().to_string() != form.fingerprint {
            return Err("a fingerprint of another certificate");
        }
        Ok(Self(certificate))
    }
}
