//! Errors as exceptions of the package.

use pyo3::prelude::*;
use vesica::{Class, spec};

/// Returns the exception for an error of this class, with the command line's message and the run's report, if there is
/// one.
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

/// Converts an error of the façade, without a report.
pub fn of(py: Python<'_>, error: &vesica::Error) -> PyErr {
    exception(py, error.class(), &error.to_string(), None)
}

/// Converts an error of a specification.
pub fn of_spec(py: Python<'_>, error: &spec::Error) -> PyErr {
    exception(py, error.class(), &error.to_string(), None)
}

/// Returns the exception for invalid arguments.
pub fn usage(py: Python<'_>, message: impl AsRef<str>) -> PyErr {
    exception(py, Class::Usage, message.as_ref(), None)
}
