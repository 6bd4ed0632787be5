//! Columns that are not copied from the input: numbers of matches, and received columns.

use std::{borrow::Cow, io::Write, sync::Arc};

use arrow_array::{
    Array, ArrowPrimitiveType,
    cast::AsArray,
    types::{
        Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type as Arrow32,
        Int64Type as Arrow64, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use parquet::{
    basic::{LogicalType, Repetition, Type as PhysicalType},
    data_type::{BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type},
    file::writer::{SerializedColumnWriter, SerializedRowGroupWriter},
    schema::types::{Type, TypePtr},
};
use vesica_core::error::Error;

use super::unwritten;
use crate::{
    sent_types::SentType,
    written::{AddedNames, Unwritten},
};

/// Returns the columns that are added: numbers of matches, and received ones, whose values may be missing.
pub(super) fn columns(
    names: AddedNames,
    kind: impl Fn(usize) -> SentType,
) -> parquet::errors::Result<(Option<TypePtr>, Vec<TypePtr>)> {
    let id = |name: String| {
        let id = Type::primitive_type_builder(&name, PhysicalType::INT64);
        id.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let received = |(nth, name): (usize, String)| {
        let (physical, logical) = types(kind(nth));
        let column = Type::primitive_type_builder(&name, physical);
        let column = column.with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let received = names.received.into_iter().enumerate().map(received);
    let received = received.collect::<Result<_, _>>()?;
    Ok((names.id.map(id).transpose()?, received))
}

/// Returns the physical and the logical type of a received column.
fn types(kind: SentType) -> (PhysicalType, Option<LogicalType>) {
    let integer = |bit_width, is_signed| Some(LogicalType::integer(bit_width, is_signed));
    match kind {
        SentType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        SentType::Bool => (PhysicalType::BOOLEAN, None),
        SentType::Int8 => (PhysicalType::INT32, integer(8, true)),
        SentType::Int16 => (PhysicalType::INT32, integer(16, true)),
        SentType::Int32 => (PhysicalType::INT32, integer(32, true)),
        SentType::Int64 => (PhysicalType::INT64, integer(64, true)),
        SentType::UInt8 => (PhysicalType::INT32, integer(8, false)),
        SentType::UInt16 => (PhysicalType::INT32, integer(16, false)),
        SentType::UInt32 => (PhysicalType::INT32, integer(32, false)),
        SentType::UInt64 => (PhysicalType::INT64, integer(64, false)),
        SentType::Float32 => (PhysicalType::FLOAT, None),
        SentType::Float64 => (PhysicalType::DOUBLE, None),
        SentType::Date => (PhysicalType::INT32, Some(LogicalType::Date)),
    }
}

/// Writes a received column.
pub(super) fn write<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: SentType,
    values: &[Option<Cow<'_, str>>],
) -> Result<(), Unwritten> {
    let array = kind.array(values);
    let levels: Vec<_> = (0..array.len()).map(|row| i16::from(array.is_valid(row))).collect();
    let (array, levels) = (&*array, Some(&levels[..]));
    match kind {
        SentType::Text => {
            let texts = values.iter().flatten();
            let texts: Vec<_> = texts.map(|text| text.as_bytes().to_vec().into()).collect();
            write_values::<ByteArrayType, _>(group, &texts, levels)
        }
        SentType::Bool => {
            let values: Vec<_> = array.as_boolean().iter().flatten().collect();
            write_values::<BoolType, _>(group, &values, levels)
        }
        SentType::Int8 => numbers::<Int8Type, Int32Type, _>(group, array, levels, i32::from),
        SentType::Int16 => numbers::<Int16Type, Int32Type, _>(group, array, levels, i32::from),
        SentType::Int32 => numbers::<Arrow32, Int32Type, _>(group, array, levels, |n| n),
        SentType::Int64 => numbers::<Arrow64, Int64Type, _>(group, array, levels, |n| n),
        SentType::UInt8 => numbers::<UInt8Type, Int32Type, _>(group, array, levels, i32::from),
        SentType::UInt16 => numbers::<UInt16Type, Int32Type, _>(group, array, levels, i32::from),
        SentType::UInt32 => {
            numbers::<UInt32Type, Int32Type, _>(group, array, levels, u32::cast_signed)
        }
        SentType::UInt64 => {
            numbers::<UInt64Type, Int64Type, _>(group, array, levels, u64::cast_signed)
        }
        SentType::Float32 => numbers::<Float32Type, FloatType, _>(group, array, levels, |n| n),
        SentType::Float64 => numbers::<Float64Type, DoubleType, _>(group, array, levels, |n| n),
        SentType::Date => numbers::<Date32Type, Int32Type, _>(group, array, levels, |n| n),
    }
}

fn numbers<A: ArrowPrimitiveType, T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    array: &dyn Array,
    levels: Option<&[i16]>,
    number: impl Fn(A::Native) -> T::T,
) -> Result<(), Unwritten> {
    let values: Vec<_> = array.as_primitive::<A>().iter().flatten().map(number).collect();
    write_values::<T, _>(group, &values, levels)
}

/// Writes the values of a column. Levels say for each row whether there is a value.
pub(super) fn write_values<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), Unwritten> {
    let mut to = next_column(group)?;
    to.typed::<T>().write_batch(values, levels, None).map_err(unwritten)?;
    to.close().map_err(unwritten)
}

fn next_column<'a, W: Write + Send>(
    group: &'a mut SerializedRowGroupWriter<'_, W>,
) -> Result<SerializedColumnWriter<'a>, Unwritten> {
    let to = group.next_column().map_err(unwritten)?;
    Ok(to.ok_or(Error::bug("the output has fewer columns than were selected"))?)
}
