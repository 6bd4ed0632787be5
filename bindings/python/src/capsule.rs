//! Tables that pass between Python packages in capsules, as Arrow's PyCapsule interface has it.
//!
//! **The only place of this crate where `unsafe` may stand**: a capsule is a pointer to a structure of Arrow's C
//! interface, and its name says which.

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

/// Reads the stream in a capsule, which is empty from then on.
///
/// # Errors
/// Python's for a capsule that holds something else, and `None` in place of a reader for a stream that is none.
pub fn reader_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<RecordBatchStreamReader>> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream, says the interface, which stays where it is while the capsule
    // lives; the interface also has its consumer move the stream out, and mark the place as released, as this does.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    Ok(RecordBatchStreamReader::try_new(stream).ok())
}

/// Puts a stream into a capsule, for one consumer.
///
/// # Errors
/// Python's, when it has no memory.
pub fn of_reader(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    // If nobody takes it out, it is released when the capsule is dropped.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// Puts a schema into a capsule; nothing for types that the interface does not have.
///
/// # Errors
/// Python's, when it has no memory.
pub fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let Ok(schema) = FFI_ArrowSchema::try_from(schema) else { return Ok(None) };
    PyCapsule::new_with_value(py, schema, SCHEMA).map(Some)
}
