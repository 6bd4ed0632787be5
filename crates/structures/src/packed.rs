//! Values of columns in a place of a fixed length.
//!
//! A value is encoded as 16 bits, little endian, and then its bytes, which are UTF-8. The 16 bits are 1 for a missing
//! value, and otherwise the number of bytes plus 2. The rest of the place is zeros.

/// Bytes of a value's length.
pub const LENGTH: usize = size_of::<u16>();

/// Replaces the length of a missing value.
pub const MISSING: u16 = 1;

/// The number that is added to the length of a value.
pub const PRESENT: u16 = 2;

/// Returns the values of this many columns that a place holds; `None` if it does not have this form.
pub fn read(place: &[u8], columns: usize) -> Option<Vec<Option<&str>>> {
    let mut rest = place;
    let values = (0..columns).map(|_| {
        let (length, after) = rest.split_first_chunk()?;
        rest = after;
        let length = match u16::from_le_bytes(*length) {
            MISSING => return Some(None),
            length => length.checked_sub(PRESENT)?,
        };
        let (value, after) = after.split_at_checked(length.into())?;
        rest = after;
        std::str::from_utf8(value).ok().map(Some)
    });
    let values = values.collect::<Option<Vec<_>>>()?;
    rest.iter().all(|byte| *byte == 0).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_only_in_its_form() {
        let place = [4, 0, b'a', b'b', 1, 0, 2, 0, 0, 0];
        assert_eq!(read(&place, 3), Some(vec![Some("ab"), None, Some("")]));
        assert_eq!(read(&place[..8], 3), Some(vec![Some("ab"), None, Some("")]));
        for (wrong, columns) in [
            (&place[..7], 3),
            (&place[..], 2),
            (&[0, 0], 1),
            (&[9, 0, b'a'], 1),
            (&[3, 0, 0xff], 1),
            (&[3, 0, b'a', 0, 1], 1),
        ] {
            assert_eq!(read(wrong, columns), None, "{wrong:?}");
        }
    }
}
