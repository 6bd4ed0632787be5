//! Amounts of memory on the command line.

/// Reads `2G`, `1.5G`, `512M` or `800000K`: multiples of 1024, 1024² and 1024³ bytes, and T of 1024⁴.
pub fn amount(text: &str) -> Result<u64, String> {
    let scale = |unit| 1024f64.powi(unit);
    let (number, scale) = match text.trim_end_matches("iB").trim_end_matches('B') {
        text if text.ends_with(['K', 'k']) => (&text[..text.len() - 1], scale(1)),
        text if text.ends_with(['M', 'm']) => (&text[..text.len() - 1], scale(2)),
        text if text.ends_with(['G', 'g']) => (&text[..text.len() - 1], scale(3)),
        text if text.ends_with(['T', 't']) => (&text[..text.len() - 1], scale(4)),
        _ => return Err("an amount with its unit: 2G, 1.5G or 512M".to_owned()),
    };
    let bytes = number.parse().ok().map(|number: f64| number * scale);
    let within = bytes.filter(|bytes| (1.0..=1e18).contains(bytes));
    within
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("`{text}` is no amount; write 2G or 512M"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(amount(text), Ok(bytes), "{text}");
        }
        for text in ["", "2", "G", "-1G", "0G", "NaNG", "infG", "2X", "1e30T"] {
            assert!(amount(text).is_err(), "{text}");
        }
    }
}
