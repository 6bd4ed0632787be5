//! Numbers and amounts of memory, as people write them.

/// Reads `1000`, `100,000`, `2M`, `1.5k`, `3G` or `2^20`; `None` for anything else.
pub fn whole(text: &str) -> Option<u64> {
    if let Some((base, exponent)) = text.split_once('^') {
        return base.parse::<u64>().ok()?.checked_pow(exponent.parse().ok()?);
    }
    let (digits, zeros) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 3),
        b'm' | b'M' => (&text[..text.len() - 1], 6),
        b'g' | b'G' => (&text[..text.len() - 1], 9),
        _ => (text, 0),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (digits, ""),
    };
    // There are fewer places than zeros, so the number is whole.
    let zeros =
        u32::try_from(fraction.len()).ok().and_then(|places| u32::checked_sub(zeros, places))?;
    let digits = ungrouped(whole)? + fraction;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(zeros)?)).flatten()
}

/// Returns digits without the commas between groups of three.
fn ungrouped(text: &str) -> Option<String> {
    let mut groups = text.split(',');
    let first = groups.next()?;
    let rest: Vec<_> = groups.collect();
    let grouped = rest.is_empty() || (1..=3).contains(&first.len());
    (grouped && rest.iter().all(|group| group.len() == 3))
        .then(|| first.to_owned() + &rest.concat())
}

/// Reads `2G`, `1.5G`, `512M` or `800000K`, multiples of 1024, 1024² and 1024³ bytes, and `T` for 1024⁴; `None` for
/// anything else.
pub fn amount(text: &str) -> Option<u64> {
    let scale = |unit| 1024f64.powi(unit);
    let (number, scale) = match text.trim_end_matches("iB").trim_end_matches('B') {
        text if text.ends_with(['K', 'k']) => (&text[..text.len() - 1], scale(1)),
        text if text.ends_with(['M', 'm']) => (&text[..text.len() - 1], scale(2)),
        text if text.ends_with(['G', 'g']) => (&text[..text.len() - 1], scale(3)),
        text if text.ends_with(['T', 't']) => (&text[..text.len() - 1], scale(4)),
        _ => return None,
    };
    let bytes = number.parse().ok().map(|number: f64| number * scale);
    bytes.filter(|bytes| (1.0..=1e18).contains(bytes)).map(|bytes| bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_table() {
        for (text, number) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("100,000", Some(100_000)),
            ("1,234,567", Some(1_234_567)),
            ("2M", Some(2_000_000)),
            ("2m", Some(2_000_000)),
            ("1.5M", Some(1_500_000)),
            ("0.25k", Some(250)),
            ("3G", Some(3_000_000_000)),
            ("2^20", Some(1 << 20)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1,00", None),
            ("1000,000", None),
            (",000", None),
            ("1.5", None),
            ("1.0005k", None),
            ("1.M", None),
            ("M", None),
            ("-1", None),
            ("+1", None),
            ("", None),
            ("2^99", None),
            ("99999999999G", None),
            ("\u{e9}", None),
        ] {
            assert_eq!(whole(text), number, "{text}");
        }
    }

    #[test]
    fn amounts_have_units() {
        for (text, bytes) in [
            ("2G", 2 << 30),
            ("1.5g", 3 << 29),
            ("512M", 512 << 20),
            ("1T", 1 << 40),
            ("64KiB", 1 << 16),
            ("3GB", 3 << 30),
        ] {
            assert_eq!(amount(text), Some(bytes), "{text}");
        }
        for text in ["", "2", "G", "-1G", "0G", "NaNG", "infG", "2X", "1e30T"] {
            assert!(amount(text).is_none(), "{text}");
        }
    }
}
