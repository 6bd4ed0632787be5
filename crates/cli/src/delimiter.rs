//! The flag for the delimiter of a table, as all commands have it.

use std::path::Path;

use vesica::files::Delimiter;

use crate::terms;

/// The delimiter, where it is named.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct DelimiterArg {
    /// What separates the fields: comma, semicolon, tab, bar or auto [default: a tab where the name ends in .tsv or
    /// .tab, a bar where it ends in .psv, and else a comma]
    #[arg(id = "delimiter", long, value_name = "DELIMITER", value_parser = named)]
    pub named: Option<Delimiter>,
}

impl DelimiterArg {
    /// The delimiter of this table.
    pub fn of(&self, table: &Path) -> Delimiter {
        self.named.unwrap_or_else(|| Delimiter::of_name(table))
    }
}

fn named(name: &str) -> Result<Delimiter, String> {
    terms::choice(name, Delimiter::ALL, Delimiter::name)
}
