//! Typed columns as text: the text that each value would have in a CSV file.
//!
//! Keys are compared as text. So a value has the same text for all widths, units and encodings of its type; the table
//! is in docs/guides/keys.md.

use std::{
    fmt::{Display, LowerExp},
    io::Write,
};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, LargeStringArray, PrimitiveArray, StringArray,
    StringViewArray,
    cast::AsArray,
    types::{
        Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, TimeUnit};
use vesica_normalize::shown::shown;

use crate::{header::ColumnType, sent_types::SentType};

/// The extension that marks a field as holding UUIDs.
const EXTENSION: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

const FLOAT: &str = "equal numbers may differ in their last bits, and so not match; store an integer, a decimal \
                     or text";
const NESTED: &str =
    "a key is a single value; store the part that identifies the row in a column of its own";
const NESTED_SENT: &str =
    "only single values can be sent; store the part that you need in a column of its own";
const SPAN: &str = "spans of time have no single written form; store a date, a number or text";
const RUNS: &str = "run-end encoding is not read here; store the column without it";

/// Whether a field is marked as holding UUIDs.
pub(crate) fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16)
        && field.metadata().get(EXTENSION.0).is_some_and(|name| name == EXTENSION.1)
}

/// Describes a column's type.
pub(crate) fn column_type(field: &Field, uuid: bool) -> ColumnType {
    const LONGEST: usize = 60;
    let name = if uuid { "UUID".to_owned() } else { field.data_type().to_string() };
    let name = shown(&name).chars().take(LONGEST).collect();
    let kind = field.data_type();
    ColumnType {
        name,
        unsuitable: unsuitable(kind),
        unsent: unsent(kind),
        unwritten: None,
        sent: SentType::of(kind),
    }
}

/// Returns the reason that values of a type cannot be sent as text, if they cannot.
fn unsent(kind: &DataType) -> Option<&'static str> {
    match kind {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => None,
        DataType::Dictionary(_, values) => unsent(values),
        kind if kind.is_nested() && unsuitable(kind) == Some(NESTED) => Some(NESTED_SENT),
        kind => unsuitable(kind),
    }
}

/// Returns the reason that values of a type can be neither keys nor added up, if they cannot.
fn unsuitable(kind: &DataType) -> Option<&'static str> {
    match kind {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(FLOAT),
        DataType::Duration(_) | DataType::Interval(_) => Some(SPAN),
        DataType::RunEndEncoded(..) => Some(RUNS),
        DataType::Dictionary(_, values) => unsuitable(values),
        kind if kind.is_nested() => Some(NESTED),
        _ => None,
    }
}

/// The values of a column in one batch, as text.
pub(crate) enum TextColumn {
    Strings(StringArray),
    LargeStrings(LargeStringArray),
    Views(StringViewArray),
    /// The texts one after the other, and the end of each.
    Rendered {
        text: Vec<u8>,
        ends: Vec<usize>,
        /// The present values, if some are missing.
        nulls: Option<NullBuffer>,
    },
    /// The number of each row's value; `None` if the value is missing.
    Dictionary {
        keys: Vec<Option<usize>>,
        values: Box<TextColumn>,
    },
}

impl TextColumn {
    /// Returns the texts of an array; `None` for a type that cannot be sent according to [`column_type`].
    pub(crate) fn new(array: &ArrayRef, uuid: bool) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Strings(array.as_string().clone()),
            DataType::LargeUtf8 => Self::LargeStrings(array.as_string().clone()),
            DataType::Utf8View => Self::Views(array.as_string_view().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let (values, nulls) = (dictionary.values(), dictionary.keys().nulls());
                let is_there = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
                let keys = match values.is_empty() {
                    true => vec![None; array.len()],
                    false => {
                        let keys = dictionary.normalized_keys().into_iter().enumerate();
                        keys.map(|(row, key)| is_there(row).then_some(key)).collect()
                    }
                };
                Self::Dictionary { keys, values: Box::new(Self::new(values, uuid)?) }
            }
            _ => rendered(array, uuid)?,
        })
    }

    /// Returns the text of a row's value, if there is one.
    pub(crate) fn value(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Strings(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::LargeStrings(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Views(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Rendered { text, ends, nulls } => {
                let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                let is_there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                is_there.then_some(&text[start..ends[row]])
            }
            Self::Dictionary { keys, values } => values.value(keys[row]?),
        }
    }
}

/// Returns the texts of an array that holds no strings.
fn rendered(array: &ArrayRef, uuid: bool) -> Option<TextColumn> {
    let array = array.as_ref();
    Some(match array.data_type() {
        DataType::Null => texts(array, |_, _| {}),
        DataType::Boolean => {
            let values = array.as_boolean();
            texts(array, |row, to| put(to, values.value(row)))
        }
        DataType::Int8 => displayed::<Int8Type>(array),
        DataType::Int16 => displayed::<Int16Type>(array),
        DataType::Int32 => displayed::<Int32Type>(array),
        DataType::Int64 => displayed::<Int64Type>(array),
        DataType::UInt8 => displayed::<UInt8Type>(array),
        DataType::UInt16 => displayed::<UInt16Type>(array),
        DataType::UInt32 => displayed::<UInt32Type>(array),
        DataType::UInt64 => displayed::<UInt64Type>(array),
        DataType::Float16 => each::<Float16Type>(array, |value, to| put_half(to, value)),
        DataType::Float32 => {
            each::<Float32Type>(array, |value, to| put_float(to, value, value.abs().into()))
        }
        DataType::Float64 => {
            each::<Float64Type>(array, |value, to| put_float(to, value, value.abs()))
        }
        DataType::Decimal32(_, scale) => {
            each::<Decimal32Type>(array, |value, to| put_decimal(to, &value.to_string(), *scale))
        }
        DataType::Decimal64(_, scale) => {
            each::<Decimal64Type>(array, |value, to| put_decimal(to, &value.to_string(), *scale))
        }
        DataType::Decimal128(_, scale) => {
            each::<Decimal128Type>(array, |value, to| put_decimal(to, &value.to_string(), *scale))
        }
        DataType::Decimal256(_, scale) => {
            each::<Decimal256Type>(array, |value, to| put_decimal(to, &value.to_string(), *scale))
        }
        DataType::Date32 => each::<Date32Type>(array, |days, to| put_date(to, days.into())),
        DataType::Date64 => {
            each::<Date64Type>(array, |time, to| put_date(to, time.div_euclid(86_400_000)))
        }
        DataType::Time32(TimeUnit::Second) => {
            each::<Time32SecondType>(array, |time, to| put_time(to, time.into(), 0))
        }
        DataType::Time32(_) => {
            each::<Time32MillisecondType>(array, |time, to| put_time(to, time.into(), 3))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            each::<Time64NanosecondType>(array, |time, to| put_time(to, time, 9))
        }
        DataType::Time64(_) => {
            each::<Time64MicrosecondType>(array, |time, to| put_time(to, time, 6))
        }
        DataType::Timestamp(unit, zone) => {
            let utc = zone.is_some();
            match unit {
                TimeUnit::Second => instants::<TimestampSecondType>(array, 0, utc),
                TimeUnit::Millisecond => instants::<TimestampMillisecondType>(array, 3, utc),
                TimeUnit::Microsecond => instants::<TimestampMicrosecondType>(array, 6, utc),
                TimeUnit::Nanosecond => instants::<TimestampNanosecondType>(array, 9, utc),
            }
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            texts(array, |row, to| put_hex(to, values.value(row)))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            texts(array, |row, to| put_hex(to, values.value(row)))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            texts(array, |row, to| put_hex(to, values.value(row)))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            texts(array, |row, to| match uuid {
                true => put_uuid(to, values.value(row)),
                false => put_hex(to, values.value(row)),
            })
        }
        _ => return None,
    })
}

/// Collects the texts that `write` appends for each row that has a value.
fn texts(array: &dyn Array, write: impl Fn(usize, &mut Vec<u8>)) -> TextColumn {
    // An array whose values are all missing by its type has no bitmap for that.
    let nulls = array.logical_nulls();
    let mut text = Vec::new();
    let ends = (0..array.len()).map(|row| {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            write(row, &mut text);
        }
        text.len()
    });
    let ends = ends.collect();
    TextColumn::Rendered { text, ends, nulls }
}

fn each<T: ArrowPrimitiveType>(
    array: &dyn Array,
    write: impl Fn(T::Native, &mut Vec<u8>),
) -> TextColumn {
    let values: &PrimitiveArray<T> = array.as_primitive();
    texts(array, |row, to| write(values.value(row), to))
}

fn displayed<T: ArrowPrimitiveType<Native: Display>>(array: &dyn Array) -> TextColumn {
    each::<T>(array, |value, to| put(to, value))
}

/// Returns the texts of instants in units of 10^−places seconds; those in UTC are marked.
fn instants<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    places: u32,
    utc: bool,
) -> TextColumn {
    each::<T>(array, |time, to| {
        let day = 86_400 * 10i64.pow(places);
        put_date(to, time.div_euclid(day));
        to.push(b'T');
        put_time(to, time.rem_euclid(day), places);
        if utc {
            to.push(b'Z');
        }
    })
}

/// Returns the text of an instant without a time zone, given the days since the first of 1970 and the nanoseconds of
/// the day.
pub(crate) fn instant(days: i64, nanoseconds: i64) -> Vec<u8> {
    let mut text = Vec::new();
    put_date(&mut text, days);
    text.push(b'T');
    put_time(&mut text, nanoseconds, 9);
    text
}

fn put(to: &mut Vec<u8>, value: impl Display) {
    // Writing to memory does not fail.
    let _ = write!(to, "{value}");
}

/// Writes a floating-point number of this size in the shortest form that reads back as the same number, with an
/// exponent if there would be many zeros.
fn put_float<T: Display + LowerExp>(to: &mut Vec<u8>, value: T, size: f64) {
    // The limits that many languages use.
    let is_plain = size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size);
    match is_plain {
        true => put(to, value),
        false => put(to, format_args!("{value:e}")),
    }
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Writes a number like [`put_float`]: the shortest form for 32 bits is longer than 16 bits need.
fn put_half(to: &mut Vec<u8>, value: Half) {
    let wide = value.to_f32();
    let reads_back = |digits: &usize| {
        let shorter = format!("{wide:.digits$e}").parse::<f32>().unwrap_or(f32::NAN);
        (Half::from_f32(shorter) == value).then_some(shorter)
    };
    // Five digits distinguish all values of 16 bits. NaN equals nothing.
    let shortest = (0..5).find_map(|digits| reads_back(&digits)).unwrap_or(wide);
    put_float(to, shortest, shortest.abs().into());
}

/// Writes a decimal of these digits, the last `scale` of them after the point.
fn put_decimal(to: &mut Vec<u8>, digits: &str, scale: i8) {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    match usize::try_from(scale) {
        Ok(0) => put(to, format_args!("{sign}{digits}")),
        Ok(scale) => {
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            put(to, format_args!("{sign}{whole}.{fraction}"));
        }
        // The zeros before the point are not stored. Zero has none.
        Err(_) if digits == "0" => to.push(b'0'),
        Err(_) => {
            put(to, format_args!("{sign}{digits}"));
            to.extend(std::iter::repeat_n(b'0', scale.unsigned_abs().into()));
        }
    }
}

/// Writes the date this many days after the first of 1970, in the proleptic Gregorian calendar, as in `2024-01-31`.
fn put_date(to: &mut Vec<u8>, days: i64) {
    // Eras of 400 years begin with a March, so that a leap day is the last day of its year.
    const DAYS_OF_ERA: i64 = 146_097;
    let since_march_of_0 = days.saturating_add(719_468);
    let era = since_march_of_0.div_euclid(DAYS_OF_ERA);
    let day_of_era = since_march_of_0.rem_euclid(DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_is_0 = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_is_0 + 2) / 5 + 1;
    let (month, later) = if march_is_0 < 10 { (march_is_0 + 3, 0) } else { (march_is_0 - 9, 1) };
    let year = era * 400 + year_of_era + later;
    let sign = if year < 0 { "-" } else { "" };
    put(to, format_args!("{sign}{:04}-{month:02}-{day:02}", year.abs()));
}

/// Writes a time of day in units of 10^−places seconds, as in `23:59:59` or `23:59:59.5`.
fn put_time(to: &mut Vec<u8>, time: i64, places: u32) {
    let unit = 10i64.pow(places);
    let (seconds, fraction) = (time.div_euclid(unit), time.rem_euclid(unit));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    put(to, format_args!("{hours:02}:{minutes:02}:{seconds:02}"));
    if fraction != 0 {
        put(to, format_args!(".{fraction:0>width$}", width = places as usize));
        while to.ends_with(b"0") {
            to.pop();
        }
    }
}

fn put_hex(to: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    to.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|d| DIGITS[usize::from(d)]));
}

/// Writes groups of 8, 4, 4, 4 and 12 digits.
fn put_uuid(to: &mut Vec<u8>, bytes: &[u8]) {
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            to.push(b'-');
        }
        put_hex(to, &[*byte]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Float16Array, Float32Array, Float64Array, Int8Array};

    use super::*;

    fn said(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        write(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn dates_by_table() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (-719_468, "0000-03-01"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "10000-01-01"),
        ] {
            assert_eq!(said(|to| put_date(to, days)), text);
        }
        // A damaged file may hold any number.
        for days in [i64::MIN, i64::MAX] {
            assert!(!said(|to| put_date(to, days)).is_empty());
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut before = said(|to| put_date(to, -800_000));
        for days in -799_999..800_000 {
            let next = said(|to| put_date(to, days));
            let day = |text: &str| text[text.len() - 2..].parse::<u32>().unwrap();
            let follows = day(&next) == day(&before) + 1 || day(&next) == 1 && day(&before) >= 28;
            assert!(follows, "{before} {next}");
            before = next;
        }
    }

    #[test]
    fn decimals_and_times_by_table() {
        for (digits, scale, text) in [
            ("0", 0, "0"),
            ("0", 2, "0.00"),
            ("-5", 2, "-0.05"),
            ("-12345", 2, "-123.45"),
            ("7", 3, "0.007"),
            ("12", -2, "1200"),
            ("0", -2, "0"),
        ] {
            assert_eq!(said(|to| put_decimal(to, digits, scale)), text);
        }
        for (time, places, text) in [
            (0, 0, "00:00:00"),
            (86_399_999, 3, "23:59:59.999"),
            (1_500_000_000, 9, "00:00:01.5"),
            (1, 9, "00:00:00.000000001"),
            (10, 6, "00:00:00.00001"),
        ] {
            assert_eq!(said(|to| put_time(to, time, places)), text);
        }
    }

    #[test]
    fn a_dictionary_without_values_has_none() {
        let keys = Int8Array::from(vec![None, None]);
        let empty = StringArray::from(Vec::<&str>::new());
        let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(empty)));
        let text = TextColumn::new(&array, false).unwrap();
        assert_eq!([text.value(0), text.value(1)], [None, None]);
    }

    #[test]
    fn floating_point_numbers_read_back_as_they_were() {
        let texts = |array: ArrayRef| {
            let text = TextColumn::new(&array, false).unwrap();
            let text = (0..array.len()).map(|row| text.value(row).map(<[u8]>::to_vec));
            text.map(|text| text.map(|text| String::from_utf8(text).unwrap())).collect::<Vec<_>>()
        };
        let mut numbers = vec![0.0, -0.0, 1.0, 0.1, -2.5, 1e15, 1e16, 1e-5, 1e-6, 1e300];
        numbers.extend([f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
        let written = texts(Arc::new(Float64Array::from(numbers.clone())));
        let expected = [
            "0",
            "-0",
            "1",
            "0.1",
            "-2.5",
            "1000000000000000",
            "1e16",
            "0.00001",
            "1e-6",
            "1e300",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "inf",
            "-inf",
            "NaN",
        ];
        assert_eq!(written, expected.map(|text| Some(text.to_owned())));
        for (number, text) in numbers.iter().zip(&written) {
            let read: f64 = text.as_ref().unwrap().parse().unwrap();
            assert!(read.to_bits() == number.to_bits() || number.is_nan() && read.is_nan());
        }
        let array = Float32Array::from(vec![Some(0.1), None, Some(16_777_216.0)]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(Arc::new(array)), [some("0.1"), None, some("16777216")]);
        // All numbers of 16 bits.
        let all = (0..=u16::MAX).map(Half::from_bits);
        let array = Float16Array::from_iter_values(all.clone());
        for (number, text) in all.zip(texts(Arc::new(array))) {
            let text = text.unwrap();
            let read = Half::from_f32(text.parse().unwrap());
            assert!(read == number || number.is_nan() && read.is_nan(), "{text}");
            assert!(text.len() <= 12, "{text}");
        }
        let tenth = Float16Array::from_iter_values([Half::from_f32(0.1), Half::from_f32(65504.0)]);
        assert_eq!(texts(Arc::new(tenth)), [some("0.1"), some("65500")]);
    }
}
