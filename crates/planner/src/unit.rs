//! Figures with their units, in readable form.

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Items of a set.
    Items,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Rate,
    /// USD.
    Usd,
}

impl Unit {
    /// Formats a figure with its unit and at least three digits.
    pub fn text(self, figure: f64) -> String {
        match self {
            Self::Items => power(figure as usize),
            Self::Seconds if figure >= 7200.0 => scaled(figure, &[(3600.0, "h")]),
            Self::Seconds if figure >= 600.0 => scaled(figure, &[(60.0, "min")]),
            Self::Seconds => {
                scaled(figure, &[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")])
            }
            Self::Bytes => scaled(figure, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")]),
            Self::Rate => scaled(figure, &[(1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")]),
            Self::Usd => format!("{figure:.2} USD"),
        }
    }
}

/// Formats a figure in the largest unit for which it is at least 1.
fn scaled(figure: f64, steps: &[(f64, &str)]) -> String {
    let fits = steps.iter().rev().find(|(unit, _)| figure >= *unit * 0.9995);
    let (unit, name) = fits.unwrap_or(&steps[0]);
    format!("{} {name}", number(three_digits(figure / unit).parse().unwrap_or(figure / unit)))
}

/// Formats a figure with three digits, or with all digits before the point if there are more.
pub fn three_digits(figure: f64) -> String {
    let decimals = match figure {
        large if large >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        small if small >= 0.9995 || small == 0.0 => 2,
        small if small >= 0.00995 => 3,
        _ => 4,
    };
    format!("{figure:.decimals$}")
}

/// Formats a figure with at most three digits after the point and without trailing zeros.
pub fn number(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a fraction in percent.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Formats a size, as a power of two if it is one.
pub fn power(size: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if !size.is_power_of_two() || size < 16 {
        return size.to_string();
    }
    let exponent = size.ilog2() as usize;
    let tens = (exponent >= 10).then(|| DIGITS[exponent / 10]);
    "2".chars().chain(tens).chain([DIGITS[exponent % 10]]).collect()
}

/// Formats a size as it is typed.
pub fn typed_power(size: usize) -> String {
    if size.is_power_of_two() { format!("2^{}", size.ilog2()) } else { size.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        for (unit, figure, text) in [
            (Unit::Seconds, 2.5e-8, "25 ns"),
            (Unit::Seconds, 0.001, "1 ms"),
            (Unit::Seconds, 0.1, "100 ms"),
            (Unit::Seconds, 2.345, "2.35 s"),
            (Unit::Seconds, 599.0, "599 s"),
            (Unit::Seconds, 1204.0, "20.1 min"),
            (Unit::Seconds, 90_000.0, "25 h"),
            (Unit::Bytes, 20_200_000.0, "20.2 MB"),
            (Unit::Rate, 1e9, "1 Gbit/s"),
            (Unit::Rate, 54e6, "54 Mbit/s"),
            (Unit::Items, 65_536.0, "2¹⁶"),
            (Unit::Usd, 2.954, "2.95 USD"),
        ] {
            assert_eq!(unit.text(figure), text);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([number(0.2), number(80.0)], ["0.2", "80"]);
        assert_eq!([power(1000), power(1 << 20), power(256)], ["1000", "2²⁰", "2⁸"]);
        assert_eq!([typed_power(1000), typed_power(1 << 20)], ["1000", "2^20"]);
        assert_eq!(
            [0.0, 0.00123, 0.0123, 1.0, 12.34, 123.4].map(three_digits),
            ["0.00", "0.0012", "0.012", "1.00", "12.3", "123"]
        );
    }
}
