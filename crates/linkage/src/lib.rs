//! Rules by which two rows are one person although they are written differently: keys derived from named fields.
//!
//! A [`MatchField`] is a column under a name that both sides use. A [`MatchRule`] lists fields and functions of
//! fields; two rows match by it if all its parts are equal. [`Rules`] derive one key a rule from the values of a row.
//! [`Preset`]s are lists of rules. All functions are pure and also run in a browser.
//!
//! ```
//! use vesica_linkage::{MatchField, Rules, rules_of};
//! use vesica_normalize::null_values::NullValues;
//!
//! let fields = ["first=Vorname:name", "last=Nachname:name", "dob=Geburtstag:date:%d.%m.%Y"];
//! let fields = fields.iter().map(|field| field.parse()).collect::<Result<Vec<MatchField>, _>>()?;
//! let rules = rules_of(&["first, last, dob", "soundex(first), soundex(last), dob"], &fields)?;
//! let rules = Rules::new(rules, fields)?;
//! let [mine, theirs] = ["Müller", "Mueller"]
//!     .map(|last| rules.keys(&["Jörg", last, "1.2.1990"], &NullValues::default()));
//! assert!(mine[0] != theirs[0] && mine[1] == theirs[1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Must never import** tables, files or messages: it sees the values of one row at a time.

mod derive;
mod error;
mod field;
mod function;
mod near;
mod parser;
mod preset;
mod rule;
mod rules;

pub use self::{
    derive::nickname_table_sha256,
    error::RuleError,
    field::{FieldKind, MAX_FIELDS, MatchField},
    function::{FUNCTIONS, KeyFunction},
    preset::{Preset, rules_of},
    rule::{MAX_BYTES, MAX_PARTS, MatchRule},
    rules::{DerivedKeys, MAX_RULES, Rules},
};
