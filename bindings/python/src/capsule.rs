//! Exchanges tables with other Python packages through Arrow's PyCapsule interface.
//!
//! **The only place in this crate where `unsafe` is allowed**: a capsule is a pointer to a structure of Arrow's C
//! interface, and the capsule's name says which.

#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::{
    RecordBatchReader,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use arrow_schema::{Schema, ffi::FFI_ArrowSchema};
use pyo3::{prelude::*, types::PyCapsule};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// Reads the stream in a capsule, which is empty afterwards.
///
/// # Errors
/// Python's exception for a capsule that contains something else. Returns `None` if the stream is unusable.
pub fn reader_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<RecordBatchStreamReader>> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the interface, a capsule of this name points to a stream, which stays in place while the capsule
    // lives. The consumer must move the stream out and mark the original as released, as this does.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    Ok(RecordBatchStreamReader::try_new(stream).ok())
}

/// Puts a stream into a capsule, for one consumer.
///
/// # Errors
/// Python's exception if it is out of memory.
pub fn of_reader(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    // If nobody takes the stream out, it is released when the capsule is dropped.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// Puts a schema into a capsule. Returns `None` for types that the interface does not support.
///
/// # Errors
/// Python's exception if it is out of memory.
pub fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let Ok(schema) = FFI_ArrowSchema::try_from(schema) else { return Ok(None) };
    PyCapsule::new_with_value(py, schema, SCHEMA).map(Some)
}
