//! The specification of a look at a table before a run.

use vesica_core::percentage::Percentage;

use crate::{
    form::basic::{Count, Flag, Maybe, Parsed},
    job::{Resources, Table, Terms},
    options::{options, sections},
    selection::selection,
};

sections! {
    /// A look at a table, as `vesica check` takes it. Options of its job are left out.
    pub struct Check {
        /// The table.
        table: CheckedTable,
        /// The normalisation of its keys.
        keys: CheckedTerms,
        /// The memory.
        resources: MemoryLimit,
        /// The form of the answer.
        shown: CheckOutput,
    }
}

selection! {
    /// The table that is checked, but for its file.
    pub struct CheckedTable of Table { "input-query", "input-query-file", "format", "delimiter", "key", "field" }
}

selection! {
    /// The normalisation of keys.
    pub struct KeyTerms of Terms { "normalize", "null-values" }
}

selection! {
    /// The rules or the normalisation of the keys of a table that is checked.
    pub struct CheckedTerms of Terms { "match", "normalize", "null-values" }
}

selection! {
    /// The limit on memory.
    pub struct MemoryLimit of Resources { "memory" }
}

options! {
    /// The form in which a look at a table is shown.
    pub struct CheckOutput in "Output" {
        /// With --match: the rows of the other table.
        ///
        /// False matches are predicted for it [default: the rows of this table].
        "N" peer_rows: Maybe<Count> = None;
        /// With --match: list the rules with few false matches, as in 0.5%.
        ///
        /// The share is of the smaller table's rows, for each rule by itself. They are listed as --match options,
        /// those with the fewest false matches first, for a table too large for all rules of a preset.
        "SHARE" max_false_per_rule: Maybe<Parsed<Percentage>> = None;
        /// List the columns with their types, and do nothing else.
        ///
        /// The names are the fields of the first line. If a CSV file has no header, they are data. Only some formats
        /// have types.
        "" columns: Flag = false;
        /// Print JSON.
        "" json: Flag = false;
    }
}
