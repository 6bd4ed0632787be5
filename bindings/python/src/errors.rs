//! Faults as exceptions of the package.

use pyo3::prelude::*;
use vesica::{Class, spec};

/// The exception of the package for a fault of this class, with the words of the command line and, where there is one, the
/// report of the run.
pub fn exception(py: Python<'_>, class: Class, message: &str, report: Option<String>) -> PyErr {
    let name = match class {
        Class::Usage => "UsageError",
        Class::Input => "InputError",
        Class::Network => "NetworkError",
        Class::Terms => "TermsError",
        Class::Policy => "PolicyError",
        Class::Peer => "PeerError",
        Class::Cancelled => "CancelledError",
        Class::Bug => "BugError",
    };
    let make = || py.import("vesica._errors")?.getattr("of")?.call1((name, message, report));
    match make() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A fault of the façade, without a report.
pub fn of(py: Python<'_>, error: &vesica::Error) -> PyErr {
    exception(py, error.class(), &error.to_string(), None)
}

/// A fault of a specification.
pub fn of_spec(py: Python<'_>, error: &spec::Error) -> PyErr {
    exception(py, error.class(), &error.to_string(), None)
}

/// A request that makes no sense.
pub fn usage(py: Python<'_>, message: impl AsRef<str>) -> PyErr {
    exception(py, Class::Usage, message.as_ref(), None)
}
