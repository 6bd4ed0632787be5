//! The example of a profile in `docs/developing/extending.md`: serial numbers, written with or without hyphens.

use std::borrow::Cow;

use super::{Normalize, ProfileRule};

impl Normalize {
    /// Serial numbers of ASCII letters and digits, in capitals and without hyphens.
    pub const SERIAL: Self = Self::Rule(&SERIAL);
}

pub(super) static SERIAL: ProfileRule = ProfileRule {
    name: "serial",
    tables: None, // ASCII has no versions
    is_mail: false,
    keeps_case: false, // `ab-1` and `AB1` are one key
    apply: serial,
};

fn serial(value: &str) -> Cow<'_, str> {
    let characters = value.trim_ascii().bytes().filter(|byte| *byte != b'-');
    let serial: String = characters.map(|byte| char::from(byte.to_ascii_uppercase())).collect();
    match serial.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => Cow::Owned(serial),
        false => Cow::Borrowed(""), // no serial number, so no key
    }
}

#[test]
fn serial_numbers_are_read() {
    for (value, expected) in [(" ab-12 ", "AB12"), ("AB12", "AB12"), ("ab_12", ""), ("\u{e4}b", "")]
    {
        assert_eq!(Normalize::SERIAL.apply(value), expected, "{value:?}");
    }
    assert_eq!(Normalize::SERIAL.to_string(), "serial");
    assert_eq!(super::rule(&SERIAL, 1).parse(None), Ok(Normalize::SERIAL));
}
