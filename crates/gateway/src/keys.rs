//! Digests of rows, computed on the machines of a cluster.

use vesica_core::error::{Error, Misuse, Result};
use vesica_keyset::{
    key::{KeyColumn, Nulls},
    keyset::KeySet,
    reading::Reading,
    sketch::{Sketch, SketchSecret},
};
use vesica_normalize::{digest::Digest, normalize::Normalize, null_values::NullValues};
use vesica_table::{
    arrow::memory::ArrowTable,
    input::Columns,
    source::{Dialect, Source},
};

use super::message::KeysWanted;

/// The sketch of a set or of a part of it.
#[derive(Debug, Clone, Default)]
pub struct Sketched(Sketch);

impl Sketched {
    pub(super) fn into_inner(self) -> Sketch {
        self.0
    }

    /// Combines the sketches of parts of one set.
    ///
    /// # Errors
    /// [`Error::Usage`] for a text that is not a sketch.
    pub fn together<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut all = Sketch::default();
        for part in parts {
            let part = serde_json::from_str(part.as_ref());
            all.append(&part.map_err(|_| Error::usage(Misuse::Cluster, "not a sketch"))?);
        }
        Ok(Self(all))
    }

    /// Encodes the sketch as text.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

/// The key columns of a job and their normalisation.
#[derive(Debug, Clone)]
pub struct Keys {
    wanted: KeysWanted,
}

impl Keys {
    pub(super) fn new(wanted: KeysWanted) -> Self {
        Self { wanted }
    }

    /// Encodes the settings as text, for tasks.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.wanted).unwrap_or_default()
    }

    /// Decodes the settings from text.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn of_text(text: &str) -> Result<Self> {
        let wanted = serde_json::from_str(text);
        Ok(Self {
            wanted: wanted
                .map_err(|_| Error::usage(Misuse::Cluster, "not the text of a job's keys"))?,
        })
    }

    /// Returns the number of columns of a key.
    pub fn columns(&self) -> usize {
        self.wanted.normalize.len()
    }

    /// Returns whether this side learns the result.
    pub fn learns(&self) -> bool {
        self.wanted.learns
    }

    /// Returns the digest of each row's key in these columns, and `None` for a row without one.
    ///
    /// # Errors
    /// [`Error::Input`] and [`Error::Usage`].
    pub fn digests(&self, table: ArrowTable, columns: &[String]) -> Result<Vec<Option<[u8; 32]>>> {
        if columns.len() != self.columns() {
            let (wanted, given) = (self.columns(), columns.len());
            let message =
                format!("the agreement compares keys of {wanted} columns, and key names {given}");
            return Err(Error::usage(Misuse::Key, message));
        }
        let profiles = self.wanted.normalize.iter().map(|name| name.known());
        let profiles: Option<Vec<Normalize>> = profiles.collect();
        let unknown = || Error::usage(Misuse::Cluster, "a profile that this version does not have");
        let named = columns.iter().cloned().zip(profiles.ok_or_else(unknown)?);
        let mut all = vec![None; table.rows() as usize];
        if all.is_empty() {
            return Ok(all);
        }
        let reading = Reading {
            keys: named.map(|(name, normalize)| KeyColumn { name, normalize }).collect(),
            null_values: NullValues::new(&self.wanted.null_values)?,
            nulls: Nulls::Skip,
            ..Reading::default()
        };
        let name = "the table".to_owned();
        let input = Source::Arrow { name, table }.open(Dialect::default())?;
        let names: Vec<_> = columns.iter().map(String::as_str).collect();
        input.require(&names)?;
        let read = Columns { keys: &names, values: &[], sent: &[], select: &[] };
        let (_, set, _) = KeySet::read(input.read_columns(read)?, &reading, |_, _| {})?;
        let digests = set.digests();
        set.rows().rows_with_keys(|key, row, _| {
            all[row as usize] = Some(*digests[key.index()].as_bytes());
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the sketch of these distinct keys.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn sketch(&self, digests: &[[u8; 32]]) -> Result<Sketched> {
        let secret = self.wanted.sketch.bytes();
        let secret = secret.ok_or(Error::usage(Misuse::Cluster, "not the text of a job's keys"))?;
        let digests: Vec<_> = digests.iter().copied().map(Digest::from_bytes).collect();
        Ok(Sketched(Sketch::of(&SketchSecret::new(secret), &digests)))
    }
}
