//! Published lists: making them from a table, and looking a table's keys up in them.

pub(crate) mod directory;
pub(crate) mod fetch;
pub(crate) mod look_up;
pub(crate) mod merge;
pub(crate) mod publish;
pub(crate) mod serving;
mod values;
mod whole;

#[cfg(test)]
mod tests;
