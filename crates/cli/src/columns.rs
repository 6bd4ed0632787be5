//! Lists on the command line, written as a line of CSV: a name that holds a comma stands in quotes.

use std::str::FromStr;

/// Names in order, such as the columns of a composite key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    /// Reads `first,last` or `"last, first",birthday`; a quote within quotes is doubled.
    fn from_str(text: &str) -> Result<Self, String> {
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
                None if after.is_empty() => return Ok(Self(names)),
                None => return Err("after a closing quote comes a comma or the end".to_owned()),
            }
        }
    }
}

/// The name up to the closing quote, and what comes after it.
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

/// The columns of all identifiers, and how many each has; the numbers are empty where there is one identifier.
pub fn identifiers(keys: &[Names]) -> (Vec<String>, Vec<u8>) {
    let names = keys.iter().flat_map(|Names(names)| names.iter().cloned()).collect();
    // A key with more columns than this is refused for their number.
    let columns = keys.iter().map(|Names(names)| names.len().min(u8::MAX.into()) as u8);
    (names, if keys.len() > 1 { columns.collect() } else { Vec::new() })
}

/// Reads column names; an empty one is written in quotes.
pub fn key(text: &str) -> Result<Names, String> {
    let names: Names = text.parse()?;
    // Those that are not in quotes are left out or written twice over.
    let quoted = text.split(',').filter(|name| *name == "\"\"").count();
    match names.0.iter().filter(|name| name.is_empty()).count() > quoted {
        true => Err("a column's name is empty; if it has none, write \"\"".to_owned()),
        false => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_table() {
        for (text, names) in [
            ("email", &["email"][..]),
            ("first,last", &["first", "last"]),
            ("\"last, first\",birthday", &["last, first", "birthday"]),
            ("a,\"say \"\"hi\"\"\"", &["a", "say \"hi\""]),
            ("\"\"", &[""]),
            ("5\" disk, b", &["5\" disk", " b"]),
        ] {
            assert_eq!(text.parse::<Names>().unwrap().0, names, "{text}");
        }
        for text in ["\"a", "\"a\"b", "\"a\"\""] {
            assert!(text.parse::<Names>().is_err(), "{text}");
        }
        let keys = ["a,b", "c"].map(|text| key(text).unwrap());
        assert_eq!(identifiers(&keys), (["a", "b", "c"].map(str::to_owned).to_vec(), vec![2, 1]));
        assert_eq!(identifiers(&keys[1..]), (vec!["c".to_owned()], vec![]));
        assert!(key("a,").is_err() && key("").is_err() && key("a,b").is_ok());
        assert!(key("\"\"").is_ok() && key("a,\"\"").is_ok() && key("\"\",").is_err());
    }
}
