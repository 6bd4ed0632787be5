//! Columns that this program can read or write only in part, by the metadata of a file.
//!
//! What cannot be written has to be known before the other side is contacted. So each column is tried with the library's own
//! writer when the file is opened.

use std::{io, sync::Arc};

use parquet::{
    basic::Compression,
    file::{metadata::ParquetMetaData, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};

use crate::{
    error::InputFault,
    table::{guard::guarded, header::ColumnType},
};

/// Metadata that is newer than the library.
pub(super) const UNSUPPORTED: InputFault = InputFault::Unsupported {
    part: "metadata of a kind of Parquet that is newer than this program or rare",
    advice: "write it again with a common program, for example with DuckDB or pyarrow",
};

/// A group that has no columns, which no type of Arrow is.
pub(super) const EMPTY_GROUP: InputFault = InputFault::Unsupported {
    part: "a group without columns in its schema",
    advice: "write it again without the group, for example with DuckDB or pyarrow",
};

const LZO: &str = "its pages are packed with LZO; write the file again with another compression";
const UNKNOWN: &str =
    "its type is newer than this program, which cannot write it; name other columns with --select";

/// The type of a root column, with the reasons why it cannot be read or written.
pub(super) fn column_type(file: &ParquetMetaData, root: usize, found: ColumnType) -> ColumnType {
    let schema = file.file_metadata().schema_descr();
    let is_packed = |leaf: usize| {
        let mut groups = file.row_groups().iter();
        groups.any(|group| group.column(leaf).compression() == Compression::LZO)
    };
    let mut leaves =
        (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root);
    let is_lzo = leaves.any(is_packed).then_some(LZO);
    let is_unknown = || (!is_writable(&schema.root_schema().get_fields()[root])).then_some(UNKNOWN);
    ColumnType {
        unsuitable: found.unsuitable.or(is_lzo),
        unsent: found.unsent.or(is_lzo),
        unwritten: found.unwritten.or(is_lzo).or_else(is_unknown),
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
