//! Databases as inputs and outputs: `adbc:DRIVER`.
//!
//! The rows of a query come in as an Arrow stream, as from a pipe. A result becomes a table in a transaction, which is
//! committed at the point where a file would get its name.

use std::path::{Path, PathBuf};

use vesica_core::error::{Error, Misuse, Result};

#[cfg(not(feature = "databases"))]
mod absent;
#[cfg(feature = "databases")]
mod adbc;

#[cfg(not(feature = "databases"))]
pub(crate) use absent::{Rows, Transaction};
#[cfg(feature = "databases")]
pub(crate) use adbc::{Rows, Transaction};

/// The beginning of addresses in databases.
const SCHEME: &str = "adbc:";

/// Returns the address in a database, if this is one and not the path of a file.
pub fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| path.starts_with(SCHEME))
}

/// Returns a path for messages. It leaves out anything that might be a password in a malformed database address.
pub(crate) fn shown(path: &Path) -> PathBuf {
    match address(path).map(Place::parse) {
        Some(Err(_)) => PathBuf::from(SCHEME),
        _ => path.to_owned(),
    }
}

/// The parts of an address in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The name of a driver, or the path of its library.
    pub(crate) driver: String,
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
}

impl Place {
    /// Reads `adbc:DRIVER`, `adbc:DRIVER#TABLE` or `adbc:DRIVER#SCHEMA.TABLE`.
    ///
    /// # Errors
    /// [`Error::Usage`], which does not repeat the address.
    pub(crate) fn parse(address: &str) -> Result<Self> {
        let refused = |why: &str| Err(Error::usage(Misuse::Database, why));
        let rest = address.strip_prefix(SCHEME).unwrap_or_default();
        let (driver, table) = match rest.split_once('#') {
            Some((driver, table)) => (driver, Some(table)),
            None => (rest, None),
        };
        let settings = ["://", "@", "?", "password"];
        if settings.iter().any(|sign| rest.to_lowercase().contains(sign)) {
            return refused(
                "after adbc: write the name of a driver or the path of its library; the place of the database, the user \
                 and the password come only from the environment: VESICA_ADBC_URI, VESICA_ADBC_USERNAME and \
                 VESICA_ADBC_PASSWORD",
            );
        }
        let (schema, table) = match table.map(|table| table.split_once('.').ok_or(table)) {
            Some(Ok((schema, table))) => (Some(schema.to_owned()), Some(table.to_owned())),
            Some(Err(table)) => (None, Some(table.to_owned())),
            None => (None, None),
        };
        let named = [Some(driver), schema.as_deref(), table.as_deref()];
        if named.into_iter().flatten().any(|name| name.is_empty() || name.contains('\0')) {
            return refused(
                "an address in a database has the form adbc:DRIVER, adbc:DRIVER#TABLE or adbc:DRIVER#SCHEMA.TABLE",
            );
        }
        Ok(Self { driver: driver.to_owned(), schema, table })
    }

    /// Returns the query for the rows of an input: the given one, or one for the whole table.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are both or neither.
    pub(crate) fn query(&self, given: Option<&str>) -> Result<String> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match (given, &self.table) {
            (Some(query), None) => Ok(query.to_owned()),
            (None, Some(table)) => {
                let names: Vec<_> =
                    self.schema.iter().chain([table]).map(|name| quoted(name)).collect();
                Ok(format!("SELECT * FROM {}", names.join(".")))
            }
            (None, None) => Err(Error::usage(
                Misuse::Database,
                "name the rows of the input with --input-query, or a table as in adbc:DRIVER#TABLE",
            )),
            (Some(_), Some(_)) => Err(Error::usage(
                Misuse::Database,
                "the input is either a query or a table: leave out --input-query, or the # and what follows it in the address",
            )),
        }
    }

    /// Returns the table for an output.
    ///
    /// # Errors
    /// [`Error::Usage`] if the address has none.
    pub(crate) fn table(&self) -> Result<&str> {
        self.table.as_deref().ok_or_else(|| {
            Error::usage(Misuse::Database, "name the table for the output, as in adbc:DRIVER#TABLE")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_by_table() {
        let place = |driver: &str, schema: Option<&str>, table: Option<&str>| Place {
            driver: driver.to_owned(),
            schema: schema.map(str::to_owned),
            table: table.map(str::to_owned),
        };
        for (text, expected) in [
            ("adbc:sqlite", place("sqlite", None, None)),
            ("adbc:sqlite#people", place("sqlite", None, Some("people"))),
            ("adbc:/lib/libx.so#s.t", place("/lib/libx.so", Some("s"), Some("t"))),
        ] {
            assert_eq!(Place::parse(text).unwrap(), expected, "{text}");
            assert_eq!(shown(Path::new(text)), Path::new(text));
        }
        for text in ["adbc:", "adbc:#t", "adbc:x#", "adbc:x#.t", "adbc:x#s."] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
        assert_eq!(address(Path::new("./adbc:sqlite")), None);
        assert_eq!(address(Path::new("adbc:sqlite")), Some("adbc:sqlite"));
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for text in
            ["adbc:postgresql://me:Zq7@host/db", "adbc:x?password=Zq7", "adbc:x#PASSWORD=Zq7"]
        {
            let error = Place::parse(text).unwrap_err().to_string();
            assert!(error.contains("VESICA_ADBC_URI") && !error.contains("Zq7"), "{error}");
            assert_eq!(shown(Path::new(text)), Path::new("adbc:"));
        }
    }

    #[test]
    fn an_input_is_a_query_or_a_table() {
        let query = |text: &str, given| Place::parse(text).unwrap().query(given);
        assert_eq!(query("adbc:x", Some("SELECT 1")).unwrap(), "SELECT 1");
        assert_eq!(query("adbc:x#s.a\"b", None).unwrap(), "SELECT * FROM \"s\".\"a\"\"b\"");
        assert!(query("adbc:x", None).is_err() && query("adbc:x#t", Some("SELECT 1")).is_err());
        assert!(Place::parse("adbc:x").unwrap().table().is_err());
    }

    #[cfg(not(feature = "databases"))]
    #[test]
    fn a_build_without_databases_says_so() {
        let place = Place::parse("adbc:sqlite#t").unwrap();
        for error in [Rows::of(&place, "", 1).err(), Transaction::probe(&place, "t").err()] {
            assert!(error.unwrap().to_string().contains("--features databases"));
        }
    }
}
