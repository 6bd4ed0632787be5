//! The specification of an evaluation of rules.

use crate::{
    check::MemoryLimit,
    form::{
        basic::{Flag, Maybe, Text},
        linked::FieldForm,
    },
    job::{Table, Terms},
    options::{options, sections},
    selection::selection,
};

sections! {
    /// An evaluation of rules on tables whose people are known, as `vesica match-quality` makes it.
    pub struct Judged {
        /// The tables.
        tables: JudgedTable,
        /// The people.
        people: JudgedPeople,
        /// The rules.
        rules: JudgedRules,
        /// The memory.
        resources: MemoryLimit,
        /// The form of the answer.
        shown: JudgedOutput,
    }
}

selection! {
    /// The form of the tables, and their fields.
    pub struct JudgedTable of Table { "format", "delimiter", "field" }
}

options! {
    /// The people of the tables.
    pub struct JudgedPeople in "Table" {
        /// The column that names the person of each row.
        "COL" truth: Maybe<Text> = None;
        /// A field of the second table, if its column differs.
        ///
        /// As --field; the other fields have the same columns in both tables.
        "NAME=COL:HOW" their_field: FieldForm = Vec::new();
        /// The column of the second table that names the person.
        ///
        /// [default: as in the first table]
        "COL" their_truth: Maybe<Text> = None;
    }
}

selection! {
    /// The rules.
    pub struct JudgedRules of Terms { "match", "null-values" }
}

options! {
    /// The form in which an evaluation is shown.
    pub struct JudgedOutput in "Output" {
        /// Print JSON.
        "" json: Flag = false;
    }
}
