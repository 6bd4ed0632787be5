//! The types of columns that one side sends in a join, so that the other side's table can have them, too.
//!
//! Values travel as text. A type determines how the receiving side writes them in a typed output. Types that are not
//! listed here travel as text.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray,
    types::{
        Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;

/// The type of a column that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SentType {
    /// Text, and every type that has no entry of its own.
    #[default]
    Text,
    /// True or false.
    Bool,
    /// A signed integer of 8 bits.
    Int8,
    /// A signed integer of 16 bits.
    Int16,
    /// A signed integer of 32 bits.
    Int32,
    /// A signed integer of 64 bits.
    Int64,
    /// An unsigned integer of 8 bits.
    UInt8,
    /// An unsigned integer of 16 bits.
    UInt16,
    /// An unsigned integer of 32 bits.
    UInt32,
    /// An unsigned integer of 64 bits.
    UInt64,
    /// A floating-point number of 32 bits.
    Float32,
    /// A floating-point number of 64 bits.
    Float64,
    /// A day.
    Date,
}

/// The types, by the byte on the wire.
const ALL: [SentType; 13] = [
    SentType::Text,
    SentType::Bool,
    SentType::Int8,
    SentType::Int16,
    SentType::Int32,
    SentType::Int64,
    SentType::UInt8,
    SentType::UInt16,
    SentType::UInt32,
    SentType::UInt64,
    SentType::Float32,
    SentType::Float64,
    SentType::Date,
];

impl SentType {
    /// Returns the type in which a column of this type travels.
    pub(crate) fn of(column: &DataType) -> Self {
        match column {
            DataType::Boolean => Self::Bool,
            DataType::Int8 => Self::Int8,
            DataType::Int16 => Self::Int16,
            DataType::Int32 => Self::Int32,
            DataType::Int64 => Self::Int64,
            DataType::UInt8 => Self::UInt8,
            DataType::UInt16 => Self::UInt16,
            DataType::UInt32 => Self::UInt32,
            DataType::UInt64 => Self::UInt64,
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Date32 => Self::Date,
            DataType::Dictionary(_, values) => Self::of(values),
            _ => Self::Text,
        }
    }

    /// Returns the byte on the wire.
    pub fn byte(self) -> u8 {
        ALL.iter().position(|one| *one == self).unwrap_or_default() as u8
    }

    /// Reads a byte from the wire.
    pub fn from_byte(byte: u8) -> Option<Self> {
        ALL.get(usize::from(byte)).copied()
    }

    /// Returns the type of the output's column.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Bool => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt8 => DataType::UInt8,
            Self::UInt16 => DataType::UInt16,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Date => DataType::Date32,
        }
    }

    /// Makes a column of texts. A text that does not suit the type becomes a missing value: only a deviating side sends
    /// one.
    pub(crate) fn array(self, values: &[Option<Cow<'_, str>>]) -> ArrayRef {
        match self {
            Self::Text => Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref))),
            Self::Bool => Arc::new(BooleanArray::from_iter(read::<bool>(values))),
            Self::Int8 => numbers::<Int8Type>(values),
            Self::Int16 => numbers::<Int16Type>(values),
            Self::Int32 => numbers::<Int32Type>(values),
            Self::Int64 => numbers::<Int64Type>(values),
            Self::UInt8 => numbers::<UInt8Type>(values),
            Self::UInt16 => numbers::<UInt16Type>(values),
            Self::UInt32 => numbers::<UInt32Type>(values),
            Self::UInt64 => numbers::<UInt64Type>(values),
            Self::Float32 => numbers::<Float32Type>(values),
            Self::Float64 => numbers::<Float64Type>(values),
            Self::Date => {
                let days = values.iter().map(|value| day(value.as_deref()?));
                Arc::new(PrimitiveArray::<Date32Type>::from_iter(days))
            }
        }
    }
}

impl fmt::Display for SentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.data_type())
    }
}

fn read<'a, T: FromStr>(
    values: &'a [Option<Cow<'_, str>>],
) -> impl Iterator<Item = Option<T>> + 'a {
    values.iter().map(|value| value.as_deref()?.parse().ok())
}

fn numbers<T: ArrowPrimitiveType<Native: FromStr>>(values: &[Option<Cow<'_, str>>]) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(read::<T::Native>(values)))
}

/// Reads `2001-02-03` as days since the first of 1970.
pub(crate) fn day(text: &str) -> Option<i32> {
    let (year, rest) = text.rsplit_once('-').and_then(|(rest, day)| {
        let (year, month) = rest.rsplit_once('-')?;
        Some((year, (month, day)))
    })?;
    let (month, day) = (rest.0.parse::<u8>().ok()?, rest.1.parse().ok()?);
    let month = time::Month::try_from(month).ok()?;
    let date = time::Date::from_calendar_date(year.parse().ok()?, month, day).ok()?;
    let first = time::Date::from_ordinal_date(1970, 1).ok()?;
    i32::try_from((date - first).whole_days()).ok()
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Date32Array, DictionaryArray, Float32Array, Int64Array, UInt64Array};

    use super::*;
    use crate::typed::TextColumn;

    #[test]
    fn every_type_travels() {
        for kind in ALL {
            assert_eq!(SentType::from_byte(kind.byte()), Some(kind));
            let same = if kind == SentType::Text { DataType::Utf8 } else { kind.data_type() };
            assert_eq!(SentType::of(&same), kind);
        }
        assert_eq!(SentType::from_byte(ALL.len() as u8), None);
        assert_eq!(SentType::of(&DataType::Decimal128(10, 2)), SentType::Text);
    }

    /// Tests that a column that became text and a column again is the same, including extreme and missing values.
    #[test]
    fn columns_come_back_as_they_were() {
        let words = StringArray::from(vec![Some("a"), None, Some("")]);
        let columns: [ArrayRef; 8] = [
            Arc::new(words),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX), Some(-5)])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None])),
            Arc::new(Float32Array::from(vec![
                Some(f32::MIN_POSITIVE),
                Some(-0.1),
                None,
                Some(f32::INFINITY),
                Some(1e30),
            ])),
            Arc::new(arrow_array::Float64Array::from(vec![Some(0.1 + 0.2), None, Some(-1e-300)])),
            Arc::new(Date32Array::from(vec![Some(0), Some(-719_162), Some(2_932_896), None])),
            Arc::new(arrow_array::Int8Array::from(vec![Some(i8::MIN), None])),
        ];
        for column in columns {
            let text = TextColumn::new(&column, false).unwrap();
            let values: Vec<_> = (0..column.len())
                .map(|row| text.value(row).map(|text| std::str::from_utf8(text).unwrap().into()))
                .collect();
            let kind = SentType::of(column.data_type());
            assert_eq!(&kind.array(&values), &column, "{kind}");
        }
        let dictionary: DictionaryArray<Int32Type> = vec!["x", "y", "x"].into_iter().collect();
        assert_eq!(SentType::of(dictionary.data_type()), SentType::Text);
    }

    #[test]
    fn a_text_unsuitable_for_the_type_is_missing() {
        for (kind, text) in [
            (SentType::Int8, "128"),
            (SentType::UInt8, "-1"),
            (SentType::Bool, "yes"),
            (SentType::Date, "2001-02-30"),
            (SentType::Date, "today"),
            (SentType::Float64, "1,5"),
        ] {
            assert!(kind.array(&[Some(text.into())]).is_null(0), "{kind} {text}");
        }
    }
}
