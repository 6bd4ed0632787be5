//! The specification of a published list.

use std::time::Duration;

use serde_json::{Value, json};

use vesica_keyset::key::{Duplicates, KeyColumn, Nulls};
use vesica_list::head::{DEFAULT_LAMBDA, DEFAULT_QUERIES};
use vesica_list_store::publish::Publication;
use vesica_normalize::{normalize::Normalize, shown::shown};
use vesica_table::{
    format::Format,
    sent_columns::DEFAULT_BYTES,
    source::{Delimiter, Dialect, Source},
};

use crate::{
    Fault, Result,
    form::{
        Form,
        basic::{Amount, File, Flag, Maybe, Text, Whole, Word},
        domain::{Columns, NullValuesForm, Profiles, TableFile},
    },
    options::options,
    to_run::{profiles, queried},
};

options! {
    /// A list that others query, as `vesica publish` makes it.
    pub struct List in "" {
        /// The table with the items: a file, a database, or - for standard input.
        ///
        /// A file of text begins with a header row. A database is adbc:DRIVER or adbc:DRIVER#TABLE.
        "FILE" input: Maybe<TableFile> = None;
        /// The query for the rows, if the table is in a database.
        ///
        /// The input is then adbc:DRIVER.
        "SQL" input_query: Maybe<Text> = None;
        /// A file with that query.
        "FILE" input_query_file: Maybe<File> = None;
        /// The directory of the list, which is created if it is missing.
        ///
        /// DIR/public is for everyone and can be copied to any web server or store; DIR/private is secret.
        "DIR" list: Maybe<File> = None;
        /// The publisher's identity, created by `vesica keygen`.
        ///
        /// It signs the list.
        "FILE" identity: Maybe<File> = None;
        /// The columns that make up the key, separated by commas.
        ///
        /// A name with a comma is written in quotes: '"last, first",birthday'.
        "COLS" key: Maybe<Columns> = None;
        /// The normalisation of keys: one profile, or one per column.
        ///
        /// It takes the profiles of `run`.
        "HOW" normalize: Profiles = vec![Normalize::NONE];
        /// Values that count as empty in normalised key columns.
        ///
        /// They are written as in `run`.
        "VALUES" null_values: Maybe<NullValuesForm> = None;
        /// Return these columns to clients that look the key up.
        ///
        /// They are from the first row with the key.
        "COLS" labels: Maybe<Columns> = None;
        /// With --labels: bytes that a row's values are padded to.
        ///
        /// Each value takes its length plus 2. The list grows by this number of bytes for each item.
        "N" label_bytes: Whole<u32, 1> = DEFAULT_BYTES;
        /// The name of the list.
        "NAME" name: PlainName = String::new();
        /// Lookups of a client in an epoch that --lambda covers.
        "N" queries: Whole<u64, 1> = DEFAULT_QUERIES;
        /// Bound the chance of any false positive among them to 2^-BITS.
        "BITS" lambda: Whole<u32, 10, 80> = DEFAULT_LAMBDA;
        /// The maximum number of items before the next epoch.
        ///
        /// [default: the next power of two]
        "N" capacity: Maybe<Whole<u64, 1>> = None;
        /// The number of hours for which the list is valid.
        ///
        /// Publish it again before that, even if nothing has changed.
        "HOURS" valid: Validity = Duration::from_secs(7 * 24 * 3600);
        /// Begin a new epoch, with a new key.
        ///
        /// All items are evaluated again, and clients fetch the whole list.
        "" new_epoch: Flag = false;
        /// The format of the table.
        ///
        /// [default: recognised by the content, or else the name]
        "FORMAT" format: Maybe<Word<Format>> = None;
        /// The separator of the fields.
        ///
        /// `auto` takes the one that the first rows agree on [default: a tab if the name ends in .tsv or .tab, a bar if
        /// it ends in .psv, and else a comma].
        "DELIMITER" delimiter: Maybe<Word<Delimiter>> = None;
        /// Accept a table without rows, which is otherwise an error.
        "" allow_empty: Flag = false;
        /// The maximum memory to use, as in 2G or 512M.
        ///
        /// [default: three quarters of what the machine, its control group or ulimit allow]
        "SIZE" memory: Maybe<Amount> = None;
    }
}

/// The form of a name that clients accept.
pub struct PlainName;

impl Form for PlainName {
    type Value = String;

    fn schema() -> Value {
        Text::schema()
    }

    fn read(value: &Value) -> Result<String, String> {
        let name = Text::read(value)?;
        match shown(&name) == name {
            true => Ok(name),
            false => Err("a name without control and format characters, and without separators other than the space".to_owned()),
        }
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }
}

/// The form of the time for which a list is valid, in hours.
pub struct Validity;

/// A century, in hours.
const LONGEST: f64 = 24.0 * 36_525.0;

impl Form for Validity {
    type Value = Duration;

    fn schema() -> Value {
        json!({ "type": ["number", "string"], "minimum": 0, "maximum": LONGEST })
    }

    fn read(value: &Value) -> Result<Duration, String> {
        let hours = match value {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        };
        let within = hours.filter(|hours: &f64| (0.0..=LONGEST).contains(hours));
        let wanted = || "a number of hours, at most a century".to_owned();
        within.map(|hours| Duration::from_secs_f64(hours * 3600.0)).ok_or_else(wanted)
    }

    fn write(value: &Duration) -> Value {
        json!(value.as_secs_f64() / 3600.0)
    }

    fn text(value: &Duration) -> String {
        (value.as_secs_f64() / 3600.0).to_string()
    }
}

impl List {
    /// Turns the specification into a publication of this table, or else of the one that `input` names.
    ///
    /// # Errors
    /// A [`Fault`] for options that are missing or do not fit, and errors of the file with the query.
    pub fn to_publication(&self, source: Option<Source>) -> Result<Publication> {
        let missing = |option, purpose| Fault::Missing { options: option, purpose };
        let Some(key) = &self.key else {
            return Err(missing(&["key"], "which columns form the key").into());
        };
        let directory = self.list.clone();
        let profiles = profiles(key.len(), &self.normalize)?;
        let column = |(name, normalize): (&String, _)| KeyColumn { name: name.clone(), normalize };
        let of_name = || self.input.as_deref().map(Delimiter::of_name);
        Ok(Publication {
            input: queried(
                source,
                self.input.as_deref(),
                self.input_query.as_deref(),
                self.input_query_file.as_deref(),
            )?,
            dialect: Dialect {
                format: self.format,
                delimiter: self.delimiter.or_else(of_name).unwrap_or_default(),
                most_bytes: self.memory,
                spill: None,
            },
            columns: key.iter().zip(profiles).map(column).collect(),
            null_values: self.null_values.clone().unwrap_or_default(),
            nulls: Nulls::Skip,
            duplicates: Duplicates::First,
            allow_empty: self.allow_empty,
            labels: self.labels.clone().map(|columns| (columns, self.label_bytes)),
            directory: directory.ok_or(missing(&["list"], "where the list is"))?,
            name: self.name.clone(),
            lambda: self.lambda,
            queries: self.queries,
            capacity: self.capacity,
            valid: self.valid,
            new_epoch: self.new_epoch,
            memory: self.memory,
        })
    }
}
