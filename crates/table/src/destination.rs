//! The destination of a run's result.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::arrow::memory::ArrowTable;

/// A file or another target of a path, or memory.
#[derive(Debug, Clone)]
pub enum Destination {
    /// A file, or another target of its path: an object in a store, a table of a database, or standard output.
    Path(PathBuf),
    /// Memory, for matched rows.
    Memory(MatchedTable),
}

impl Destination {
    /// Returns the path, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Memory(_) => None,
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Destination {
    fn from(path: P) -> Self {
        Self::Path(path.into())
    }
}

/// A place in memory for matched rows. It is empty until a run has succeeded. Clones are the same place.
#[derive(Clone, Default)]
pub struct MatchedTable(Arc<Mutex<Option<ArrowTable>>>);

impl MatchedTable {
    /// Removes and returns the rows, if there are any yet.
    pub fn take(&self) -> Option<ArrowTable> {
        // Each change is one assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn put(&self, table: ArrowTable) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(table);
    }
}

/// Shows nothing of the rows.
impl fmt::Debug for MatchedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MatchedTable")
    }
}
