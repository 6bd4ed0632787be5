//! This party's identity.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::prelude::*;
use vesica::files::{create_identity, generate_identity, is_shared, load_identity};

use crate::errors;

/// A party's identity: a secret key and its fingerprint.
#[pyclass(frozen, module = "vesica")]
pub struct Identity(pub Arc<vesica_net::Identity>);

/// Refuses the text of an identity in place of its path, without repeating it.
fn not_text(py: Python<'_>, path: &Path) -> PyResult<()> {
    match path.to_string_lossy().contains("-----BEGIN") {
        true => Err(errors::usage(
            py,
            "the path of the identity contains the identity's text; read it with Identity.from_pem",
        )),
        false => Ok(()),
    }
}

#[pymethods]
impl Identity {
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        not_text(py, &path)?;
        let identity = create_identity(&path).map_err(|error| errors::of(py, &error))?;
        Ok(Self(Arc::new(identity)))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        not_text(py, &path)?;
        let identity = load_identity(&path).map_err(|error| errors::of(py, &error))?;
        if is_shared(&path) {
            let message = format!(
                "{0} can be read by other users; protect it with `chmod 600 {0}`",
                path.display()
            );
            let log = py.import("logging")?.call_method1("getLogger", ("vesica",))?;
            log.call_method1("warning", (message,))?;
        }
        Ok(Self(Arc::new(identity)))
    }

    #[staticmethod]
    fn load_or_create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        match path.exists() {
            true => Self::load(py, path),
            false => Self::create(py, path),
        }
    }

    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        let identity = generate_identity().map_err(|error| errors::of(py, &error))?;
        Ok(Self(Arc::new(identity)))
    }

    #[staticmethod]
    fn from_pem(py: Python<'_>, text: &str) -> PyResult<Self> {
        let identity = vesica_net::Identity::from_pem(text);
        let identity = identity.map_err(|error| errors::usage(py, error.to_string()))?;
        Ok(Self(Arc::new(identity)))
    }

    fn to_pem(&self) -> String {
        self.0.to_pem().to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let mine = self.0.fingerprint();
        other.cast::<Self>().is_ok_and(|other| other.get().0.fingerprint() == mine)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.fingerprint().to_string().hash(&mut hasher);
        hasher.finish()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<vesica.Identity {}>", self.0.fingerprint())
    }
}
