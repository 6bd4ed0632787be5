//! Names that somebody may have meant.

/// The maximum length of a name that is compared, in bytes. A slip of the keyboard is not longer.
const LONGEST: usize = 40;

/// Returns the name within two changes of `given`, and within a third of its letters, that is nearest to it.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let most = 2.min(given.len() / 3);
    let near = names.map(|name| Near { name, changes: changes(given, name) });
    near.filter(|near| near.changes <= most).min_by_key(|near| near.changes).map(|near| near.name)
}

/// A name, and the number of changes that lead to it.
struct Near<'a> {
    name: &'a str,
    changes: usize,
}

/// Returns the number of bytes to insert, delete or replace, or of neighbours to exchange.
fn changes(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let names = ["soundex", "left", "year_month", "year"];
        for (given, expected) in [
            ("sondex", Some("soundex")),
            ("soudnex", Some("soundex")),
            ("letf", Some("left")),
            ("yearmonth", Some("year_month")),
            ("yeer", Some("year")),
            ("x", None),
            ("", None),
            ("metaphone", None),
        ] {
            assert_eq!(nearest(given, names.into_iter()), expected, "{given}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names.into_iter()), None);
    }
}
