//! Published lists: making them from a table, and looking a table's keys up in them.

pub(crate) mod answered;
pub(crate) mod ask;
pub(crate) mod directory;
pub(crate) mod fetch;
pub(crate) mod look_up;
pub(crate) mod merge;
pub(crate) mod origin;
pub(crate) mod publish;
pub(crate) mod serving;
pub(crate) mod stored;
mod values;
mod whole;

#[cfg(test)]
mod lookups;
#[cfg(test)]
mod tests;
