//! Lists in a text, written as a line of CSV: a name with a comma is in quotes.

/// Reads `first,last` or `"last, first",birthday`; a quote within quotes is doubled.
///
/// # Errors
/// A sentence about the quotes.
pub fn names(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        names.push(name);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(names),
            None => return Err("a closing quote must be followed by a comma or the end".to_owned()),
        }
    }
}

/// Returns the name up to the closing quote, and the rest of the text.
fn quoted_name(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"').ok_or("a quote is never closed")?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Ok((name, rest)),
        }
    }
}

/// Reads names of columns; an empty one is written in quotes.
pub(crate) fn columns(text: &str) -> Result<Vec<String>, String> {
    let names = names(text)?;
    // An empty name without quotes usually means that a comma was doubled or a variable was empty.
    let quoted = text.split(',').filter(|name| *name == "\"\"").count();
    match names.iter().filter(|name| name.is_empty()).count() > quoted {
        true => Err("a column's name is empty; for a column without a name, write \"\"".to_owned()),
        false => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_table() {
        for (text, expected) in [
            ("email", &["email"][..]),
            ("first,last", &["first", "last"]),
            ("\"last, first\",birthday", &["last, first", "birthday"]),
            ("a,\"say \"\"hi\"\"\"", &["a", "say \"hi\""]),
            ("\"\"", &[""]),
            ("5\" disk, b", &["5\" disk", " b"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
        for text in ["\"a", "\"a\"b", "\"a\"\""] {
            assert!(names(text).is_err(), "{text}");
        }
        for (text, is_good) in [
            ("a,", false),
            ("", false),
            ("a,b", true),
            ("\"\"", true),
            ("a,\"\"", true),
            ("\"\",", false),
        ] {
            assert_eq!(columns(text).is_ok(), is_good, "{text}");
        }
    }
}
