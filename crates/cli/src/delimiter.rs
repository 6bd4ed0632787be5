//! The flag for the delimiter of a table, as all commands have it.

use std::path::Path;

use vesica::files::Delimiter;

use crate::flags;

/// The delimiter, where it is named.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct DelimiterArg {
    /// The separator of the fields [default: a tab if the name ends in .tsv or .tab, a bar if it ends in .psv, and else a
    /// comma]
    #[arg(id = "delimiter", long, value_name = "DELIMITER", value_parser = flags::word::<Delimiter>())]
    pub named: Option<Delimiter>,
}

impl DelimiterArg {
    /// The delimiter of this table.
    pub fn of(&self, table: &Path) -> Delimiter {
        self.named.unwrap_or_else(|| Delimiter::of_name(table))
    }
}
