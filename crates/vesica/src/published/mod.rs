//! Published lists: making them from a table, and looking a table's keys up in them.

pub(crate) mod directory;
pub(crate) mod merge;
pub(crate) mod publish;
mod values;
mod whole;

#[cfg(test)]
mod tests;
