//! Letters and words of a text.

/// Returns the first characters.
pub(crate) fn left(value: &str, count: usize) -> Option<String> {
    let found: String = value.chars().take(count).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the last characters.
pub(crate) fn right(value: &str, count: usize) -> Option<String> {
    let skipped = value.chars().count().saturating_sub(count);
    let found: String = value.chars().skip(skipped).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the text without white space: `van der berg` and `vanderberg` are the same.
pub(crate) fn letters(value: &str) -> Option<String> {
    let found: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the words of all values in order, with a space between them: it is the same for names in exchanged columns.
pub(crate) fn sorted_words(values: &[&str]) -> Option<String> {
    let mut words: Vec<_> = values.iter().flat_map(|value| value.split_whitespace()).collect();
    words.sort_unstable();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_table() {
        for (value, count, first, last) in [
            ("anna", 3, "ann", "nna"),
            ("li", 3, "li", "li"),
            ("ёлкин", 1, "ё", "н"),
            ("a\u{1f600}b", 2, "a\u{1f600}", "\u{1f600}b"),
        ] {
            assert_eq!(left(value, count).as_deref(), Some(first));
            assert_eq!(right(value, count).as_deref(), Some(last));
        }
        assert_eq!((left("", 1), right("", 1)), (None, None));
    }

    #[test]
    fn words_by_table() {
        assert_eq!(letters("van der\u{3000}berg").as_deref(), Some("vanderberg"));
        assert_eq!(letters(" \u{a0}"), None);
        assert_eq!(sorted_words(&["smith", "anna maria"]).as_deref(), Some("anna maria smith"));
        assert_eq!(sorted_words(&["maria anna", "smith"]).as_deref(), Some("anna maria smith"));
        assert_eq!(sorted_words(&["anna", "anna"]).as_deref(), Some("anna anna"));
        assert_eq!(sorted_words(&[" ", ""]), None);
    }
}
