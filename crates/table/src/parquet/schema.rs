//! Columns that this program can read or write only in part, judged by the metadata of a file.
//!
//! A column that cannot be written must be known before the other side is contacted. So each column is tried with the
//! library's own writer when the file is opened.

use std::{io, sync::Arc};

use arrow_schema::{DataType, FieldRef, Schema};
use parquet::{
    arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
    basic::Compression,
    file::{metadata::ParquetMetaData, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};
use vesica_core::error::InputFault;

use crate::{guard::guarded, header::ColumnType};

/// Metadata with correct lengths that the library does not read: it is newer, or from an unusual program.
pub(super) const UNSUPPORTED: InputFault = InputFault::Unsupported {
    part: "metadata that is rare or newer than this program, or is damaged",
    advice: "write it again with a common program, for example with DuckDB or pyarrow",
};

/// A group without columns, which no Arrow type can represent.
pub(super) const EMPTY_GROUP: InputFault = InputFault::Unsupported {
    part: "a group without columns in its schema",
    advice: "write it again without the group, for example with DuckDB or pyarrow",
};

const LZO: &str = "its pages are packed with LZO; write the file again with another compression";
const UNKNOWN: &str =
    "its type is newer than this program, which cannot write it; name other columns with --select";

/// Returns the same metadata, with texts read as views of their pages. A value that a page has once, in its dictionary,
/// may belong to thousands of rows, and separate copies would not fit into memory.
pub(super) fn with_views(metadata: &ArrowReaderMetadata) -> ArrowReaderMetadata {
    let view = |field: &FieldRef| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => with_type(field, DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => with_type(field, DataType::BinaryView),
        _ => field.clone(),
    };
    let schema = metadata.schema();
    let fields: Vec<_> = schema.fields().iter().map(view).collect();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    let found = guarded(|| ArrowReaderMetadata::try_new(metadata.metadata().clone(), options));
    found.and_then(Result::ok).unwrap_or_else(|| metadata.clone())
}

fn with_type(field: &FieldRef, kind: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// Returns, for each root column, whether it has pages packed with LZO.
pub(super) fn packed_with_lzo(file: &ParquetMetaData) -> Vec<bool> {
    let schema = file.file_metadata().schema_descr();
    let mut roots = vec![false; schema.root_schema().get_fields().len()];
    for group in file.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            roots[schema.get_column_root_idx(leaf)] |= column.compression() == Compression::LZO;
        }
    }
    roots
}

/// Returns the type of a root column, with the reasons that it cannot be read or written.
pub(super) fn column_type(column: &TypePtr, is_lzo: bool, found: ColumnType) -> ColumnType {
    let lzo = is_lzo.then_some(LZO);
    let unknown = || (!is_writable(column)).then_some(UNKNOWN);
    ColumnType {
        unsuitable: found.unsuitable.or(lzo),
        unsent: found.unsent.or(lzo),
        unwritten: found.unwritten.or(lzo).or_else(unknown),
        ..found
    }
}

/// Whether the library writes a file with such a column.
fn is_writable(column: &TypePtr) -> bool {
    let write = || {
        let root = Type::group_type_builder("schema").with_fields(vec![column.clone()]).build()?;
        let properties = Arc::new(WriterProperties::new());
        SerializedFileWriter::new(io::sink(), Arc::new(root), properties)?.close().map(drop)
    };
    guarded(write).is_some_and(|written: parquet::errors::Result<()>| written.is_ok())
}
