//! Numbers on the command line, as people write them.

/// Reads `1000`, `100,000`, `2M`, `1.5k`, `3G` or `2^20`.
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
    // Fewer places than zeros, so that the number is whole.
    let zeros =
        u32::try_from(fraction.len()).ok().and_then(|places| u32::checked_sub(zeros, places))?;
    let digits = ungrouped(whole)? + fraction;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(zeros)?)).flatten()
}

/// Digits without the commas between groups of three.
fn ungrouped(text: &str) -> Option<String> {
    let mut groups = text.split(',');
    let first = groups.next()?;
    let rest: Vec<_> = groups.collect();
    let grouped = rest.is_empty() || (1..=3).contains(&first.len());
    (grouped && rest.iter().all(|group| group.len() == 3))
        .then(|| first.to_owned() + &rest.concat())
}

/// Reads a number of keys or rows.
pub fn number(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("`{text}` is no number: write 1000, 100,000, 2M or 2^20"))
}

/// Reads a number from 1 on.
pub fn positive(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("a number from 1 on".to_owned()),
        number => Ok(number),
    }
}

/// Reads a rate in Mbit/s; in bits a second.
pub fn rate(text: &str) -> Result<u64, String> {
    let parsed = text.parse().ok().filter(|x: &f64| (1e-3..=1e6).contains(x));
    parsed
        .map(|mbit| (mbit * 1e6) as u64)
        .ok_or_else(|| "a number from 0.001 to 1000000".to_owned())
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
}
