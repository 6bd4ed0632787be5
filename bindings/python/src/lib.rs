//! The native part of the Python package `vesica`: what its functions do, without their manners.
//!
//! The package's Python code names arguments, converts tables and shows progress; this crate makes a
//! [`vesica::Job`] of what it is given, and runs it on a thread of its own while Python is free.
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

/// What the package's Python code imports.
#[pymodule]
#[pyo3(name = "_native")]
mod native {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        agreements::{agreement, preview, verify},
        asked::{check, plan},
        cluster::{ClusterGateway, cluster_digests, cluster_partitions, cluster_sketch},
        identity::Identity,
        lists::{LookedUp, lookup, publish},
        local::{LocalEnd, local_pair},
        request::{job_schema, written},
        run::{Cancel, Ended, run},
        table::Table,
    };

    /// The version of the package, and what it speaks on the wire.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        vesica_cli::hide_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("WIRE_VERSION", vesica::WIRE_VERSION)
    }

    /// The program `vesica`; returns its exit code. `python` is what starts it again, as the module that it is there.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>, python: OsString) -> u8 {
        vesica_cli::started_by(python, vec!["-m".into(), "vesica".into()]);
        py.detach(|| vesica_cli::main(arguments))
    }
}
