//! The specification of a lookup in a published list.

use std::path::PathBuf;

use vesica_keyset::key::{KeyColumn, Nulls};
use vesica_list::exchange::{DEFAULT_QUESTION, MAX_QUESTION};
use vesica_list_store::{
    fetch::lists_cache,
    look_up::{LookUp, Subscription},
};
use vesica_net::Fingerprint;
use vesica_table::{
    destination::Destination,
    source::{Delimiter, Dialect, Source},
};

use crate::{
    Fault, Result,
    check::KeyTerms,
    form::{
        basic::{AmountFrom, File, Flag, Items, Maybe, Parsed, Text, Whole},
        domain::Columns,
    },
    job::{Messages, Outputs, Table},
    options::{options, sections},
    selection::selection,
    to_run::{profiles, queried},
};

sections! {
    /// A lookup of keys in a published list, as `vesica lookup` makes it.
    pub struct Lookup {
        /// The list, and its publisher.
        list: AskedList,
        /// The table with the keys.
        table: AskedTable,
        /// The columns of the key, or keys in place of a table.
        keys: AskedKeys,
        /// The normalisation of the keys.
        terms: KeyTerms,
        /// The rows that are found.
        result: FoundRows,
        /// The texts in the labels.
        labels: FoundLabels,
        /// Messages about the lookup.
        messages: LookupMessages,
    }
}

options! {
    /// The list, and its publisher.
    pub struct AskedList in "List" {
        /// The list: an address such as https://lists.example.org/v1, or a copy.
        ///
        /// A copy is a directory with the published files of the list.
        "PLACE" list: Maybe<Text> = None;
        /// The address that answers, if it differs from the list's.
        "URL" ask: Maybe<Text> = None;
        /// The fingerprint of the publisher, who must have signed the list.
        "FINGERPRINT" publisher: Maybe<Parsed<Fingerprint>> = None;
        /// A file with the token that the publisher gave this client.
        "FILE" token: Maybe<File> = None;
        /// The directory that keeps lists between lookups.
        ///
        /// [default: vesica/lists below $XDG_CACHE_HOME or ~/.cache]
        "DIR" cache: Maybe<File> = None;
        /// Refuse a list of more bytes than this, as in 2G.
        "SIZE" budget: AmountFrom<1> = 4 << 30;
        /// Keys in a question.
        "N" batch: Whole<usize, 1, { MAX_QUESTION as u64 }> = DEFAULT_QUESTION;
    }
}

selection! {
    /// The table with the keys.
    pub struct AskedTable of Table { "input", "input-query", "input-query-file", "format", "delimiter" }
}

options! {
    /// The columns of the key, or keys in place of a table.
    pub struct AskedKeys in "Table" {
        /// The columns that make up the key, separated by commas.
        ///
        /// A name with a comma is written in quotes: '"last, first",birthday'.
        "COLS" key: Maybe<Columns> = None;
        /// Look this key up; may be given more than once.
        ///
        /// Other users of the machine can see the arguments of programs.
        "KEY" value: Items<Text> = Vec::new();
    }
}

options! {
    /// The rows that are found.
    pub struct FoundRows in "Result" {
        /// The file for the rows that are in the list; - for standard output.
        ///
        /// The labels of the list are in further columns.
        "FILE" output: File = "-".into();
        /// Write all rows, with a column `in_list`.
        ///
        /// Rows that are not in the list have no labels.
        "" all: Flag = false;
    }
}

selection! {
    /// The texts in the labels.
    pub struct FoundLabels of Outputs { "formulas" }
}

selection! {
    /// Messages about a lookup.
    pub struct LookupMessages of Messages { "progress", "quiet" }
}

selection! {
    /// Messages about a publication.
    pub struct PublishMessages of Messages { "progress" }
}

impl Lookup {
    /// Returns the lookup of the keys in `source`, or else in the table that `input` names, with rows for `output`.
    ///
    /// # Errors
    /// A [`Fault`] for options that are missing or do not fit, and errors of the file with the query.
    pub fn to_look_up(&self, source: Option<Source>, output: Destination) -> Result<LookUp> {
        let table = &*self.table;
        let values = &self.keys.value;
        let source = source.or_else(|| (!values.is_empty()).then(|| given(values)));
        let names = match (&self.keys.key, values.is_empty()) {
            (Some(names), _) => names.clone(),
            (None, false) => vec!["key".to_owned()],
            (None, true) => {
                let options = &["key", "value"];
                let purpose = "which columns make up the key, or the key itself,";
                return Err(Fault::Missing { options, purpose }.into());
            }
        };
        let profiles = profiles(names.len(), &self.terms.normalize)?;
        let column = |(name, normalize)| KeyColumn { name, normalize };
        let of_name = || table.input.as_deref().map(Delimiter::of_name);
        Ok(LookUp {
            input: queried(
                source,
                table.input.as_deref(),
                table.input_query.as_deref(),
                table.input_query_file.as_deref(),
            )?,
            dialect: Dialect {
                format: table.format,
                delimiter: table.delimiter.or_else(of_name).unwrap_or_default(),
                ..Dialect::default()
            },
            columns: names.into_iter().zip(profiles).map(column).collect(),
            null_values: self.terms.null_values.clone().unwrap_or_default(),
            nulls: Nulls::Skip,
            output,
            all: self.result.all,
            formulas: self.labels.formulas,
            batch: self.list.batch,
        })
    }

    /// Returns the publisher, and the place of this side's copy of the list.
    ///
    /// # Errors
    /// A [`Fault`] for options that are missing.
    pub fn subscription(&self) -> Result<Subscription> {
        let publisher = self.publisher()?;
        let missing = Fault::Missing { options: &["cache"], purpose: "where lists are kept" };
        let cache: PathBuf = self.list.cache.clone().or_else(lists_cache).ok_or(missing)?;
        Ok(Subscription { publisher, cache, budget: Some(self.list.budget) })
    }

    /// Returns the place of the list.
    ///
    /// # Errors
    /// A [`Fault`] if it is missing.
    pub fn place(&self) -> Result<&str> {
        let missing = Fault::Missing { options: &["list"], purpose: "where the list is" };
        Ok(self.list.list.as_deref().ok_or(missing)?)
    }

    /// Returns the publisher of the list.
    ///
    /// # Errors
    /// A [`Fault`] if it is missing.
    pub fn publisher(&self) -> Result<Fingerprint> {
        let purpose = "who publishes the list";
        Ok(self.list.publisher.ok_or(Fault::Missing { options: &["publisher"], purpose })?)
    }
}

/// Returns a table of these keys.
fn given(values: &[String]) -> Source {
    let quoted = values.iter().map(|value| format!("\"{}\"\n", value.replace('"', "\"\"")));
    let text: String = std::iter::once("key\n".to_owned()).chain(quoted).collect();
    Source::Memory { name: "--value".into(), bytes: text.into() }
}
