//! The native part of the Python package `vesica`.
//!
//! The package's Python code handles arguments, conversions of tables, and progress. This crate converts the arguments
//! into a [`vesica::Job`], and runs it on a separate thread without the GIL.
//!
//! **Must never import** protocols: everything goes through the façade and the command line.

#![deny(unsafe_code)]

mod agreements;
mod asked;
mod capsule;
mod cluster;
mod errors;
mod identity;
mod lists;
mod local;
mod request;
mod run;
mod table;

use pyo3::prelude::*;

/// The module that the package's Python code imports.
#[pymodule]
#[pyo3(name = "_native")]
mod native {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        agreements::{agreement, preview, verify},
        asked::{check, match_quality, plan},
        cluster::{ClusterGateway, cluster_digests, cluster_partitions, cluster_sketch},
        identity::Identity,
        lists::{LookedUp, lookup, publish},
        local::{LocalEnd, local_pair},
        request::{job_schema, written},
        run::{Cancel, Ended, run},
        table::Table,
    };

    /// Version of the package, and of its wire protocol.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        vesica_cli::hide_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("WIRE_VERSION", vesica::WIRE_VERSION)
    }

    /// Runs the program `vesica` and returns its exit code. `python` is the interpreter that restarts it as a module.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>, python: OsString) -> u8 {
        vesica_cli::started_by(python, vec!["-m".into(), "vesica".into()]);
        py.detach(|| vesica_cli::main(arguments))
    }
}
