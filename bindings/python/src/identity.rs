//! Who this party is.

use std::{path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use vesica::files::{create_identity, is_shared, load_identity};

use crate::errors;

/// A party's identity: a secret key, and the fingerprint by which others know it.
#[pyclass(frozen, module = "vesica._native")]
pub struct Identity(pub Arc<vesica_net::Identity>);

#[pymethods]
impl Identity {
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let identity = create_identity(&path).map_err(|error| errors::of(py, &error))?;
        Ok(Self(Arc::new(identity)))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
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

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<vesica.Identity {}>", self.0.fingerprint())
    }
}
