//! Arrow tables, from Python and to Python.

use std::path::PathBuf;

use pyo3::{exceptions::PyException, prelude::*, types::PyCapsule};
use vesica::{Source, files::ArrowTable};

use crate::{capsule, errors};

/// Rows in Arrow format. Any package that supports Arrow's PyCapsule interface can read them.
#[pyclass(frozen, module = "vesica")]
pub struct Table(pub ArrowTable);

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.rows() as usize
    }

    fn __repr__(&self) -> String {
        let columns = self.0.schema().fields().len();
        format!("<vesica.Table: {} rows, {columns} columns>", self.0.rows())
    }

    /// The interface allows leaving a requested conversion to the reader.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        capsule::of_reader(py, self.0.reader())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let capsule = capsule::of_schema(py, &self.0.schema())?;
        capsule.ok_or_else(|| {
            errors::usage(py, "Arrow's C interface does not support the types of the columns")
        })
    }
}

/// Returns the table that a call names by a path, or passes as an object that exports its rows in a capsule.
///
/// # Errors
/// `UsageError` for any other object, and for one that fails to export its rows. The text of its exception is not
/// repeated, because it may contain values of the table.
pub fn source(table: &Bound<'_, PyAny>) -> PyResult<Source> {
    let py = table.py();
    if let Ok(path) = table.extract::<PathBuf>() {
        return Ok(Source::from_path(path));
    }
    let name = "the table".to_owned();
    if let Ok(table) = table.cast::<Table>() {
        return Ok(Source::Arrow { name, table: table.get().0.clone() });
    }
    if !table.hasattr("__arrow_c_stream__")? {
        let message = format!(
            "the table must be a path or an object with Arrow's PyCapsule interface, such as a frame of Polars or pandas, or a \
             table of PyArrow or DuckDB; {} does not have it",
            table.get_type().qualname()?
        );
        return Err(errors::usage(py, message));
    }
    let unread = |fault: &str| errors::usage(py, format!("the table cannot be read: {fault}"));
    let capsule = table.call_method0("__arrow_c_stream__");
    let capsule = match capsule {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            return Err(unread(&error.get_type(py).name()?.to_string()));
        }
        capsule => capsule?,
    };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        return Err(unread("`__arrow_c_stream__` does not return a capsule"));
    };
    let Some(reader) = capsule::reader_of(capsule)? else {
        return Err(unread("a column has a type that Arrow's interface does not support"));
    };
    let table = py.detach(|| ArrowTable::read(reader));
    match table {
        Ok(table) => Ok(Source::Arrow { name, table }),
        // The error's text comes from the source of the rows.
        Err(_) => {
            Err(unread("its rows cannot be read by Arrow's interface, or their source failed"))
        }
    }
}
