//! Tables in Arrow's form, from Python and to Python.

use std::path::PathBuf;

use pyo3::{prelude::*, types::PyCapsule};
use vesica::{Source, files::ArrowTable};

use crate::{capsule, errors};

/// Rows in Arrow's form. Any package that reads Arrow's PyCapsule interface can take it.
#[pyclass(frozen, module = "vesica._native")]
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

    /// A conversion that is asked for is left to the reader, as the interface allows.
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
        capsule.ok_or_else(|| errors::usage(py, "the types of the columns have no C interface"))
    }
}

/// The table that a call names: by a path, or as an object that gives its rows in a capsule.
///
/// # Errors
/// `UsageError` for what is neither, and what the object itself raises.
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
            "the table is a path, or what has Arrow's PyCapsule interface, as frames of Polars and pandas and tables of \
             PyArrow and DuckDB have; {} has not",
            table.get_type().qualname()?
        );
        return Err(errors::usage(py, message));
    }
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let reader = capsule::reader_of(capsule.cast::<PyCapsule>()?)?;
    let table = py.detach(|| reader.and_then(|reader| ArrowTable::read(reader).ok()));
    match table {
        Some(table) => Ok(Source::Arrow { name, table }),
        None => Err(errors::usage(py, "the table's rows cannot be read by Arrow's interface")),
    }
}
