//! Numbers as messages and reports show them.

/// Formats a number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number of things: `1 key`, `2,000 keys`.
pub fn counted(number: u64, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", grouped(number))
}

/// Formats an amount of memory in a unit that suits it: `1.5 GiB`.
pub fn bytes(amount: f64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let scale = |unit: usize| 1024f64.powi(unit as i32 + 1);
    let unit = (1..units.len()).take_while(|unit| amount >= scale(*unit)).last().unwrap_or(0);
    format!("{:.1} {}", amount / scale(unit), units[unit])
}

/// Formats a number in units of 10^−scale as a decimal with that many places.
pub fn decimal(number: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", number.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if number < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit_that_suits_them() {
        let said = [0.0, 1024.0, 1.5e6, 2147483648.0, 7.5e10, 1e16].map(bytes);
        assert_eq!(said, ["0.0 KiB", "1.0 KiB", "1.4 MiB", "2.0 GiB", "69.8 GiB", "8.9 PiB"]);
    }

    #[test]
    fn things_are_counted_by_table() {
        for (number, thing, expected) in [
            (0, "key", "0 keys"),
            (1, "match", "1 match"),
            (2000, "match", "2,000 matches"),
            (3, "decimal place", "3 decimal places"),
        ] {
            assert_eq!(counted(number, thing), expected);
        }
    }

    #[test]
    fn digits_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
    }
}
