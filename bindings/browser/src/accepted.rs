//! Accepted heads.

use serde_json::json;
use vesica_list::{
    head::{Expectation, Head},
    hex::Hex,
    part::Entry,
};
use vesica_normalize::{
    normalize::{Normalize, TravellingName},
    null_values::NullValues,
};
use vesica_primitives::fingerprint::Fingerprint;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{log::LogChecker, refusal::Refusal};

/// A head that meets the page's expectations, and the normalisation of keys for it.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct AcceptedHead {
    pub(crate) head: Head,
    pub(crate) profiles: Vec<Normalize>,
    pub(crate) null_values: NullValues,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl AcceptedHead {
    /// Accepts a head that this publisher signed, at this time in seconds since 1970, for a list of at most this many
    /// bytes. It must not be older than the head accepted before. `keys` names one profile for each column, or is empty
    /// for the list's own profiles. The page's `null_values` replace the usual ones, and a list with different ones is
    /// refused.
    ///
    /// # Errors
    /// A [`Refusal`], also if the fingerprint or the name of a profile is invalid.
    pub fn accept(
        text: &str,
        publisher: &str,
        now: f64,
        keys: Vec<String>,
        null_values: Option<Vec<String>>,
        budget: f64,
        known: Option<String>,
    ) -> Result<Self, Refusal> {
        let publisher: Fingerprint = publisher.parse().map_err(|error| {
            Refusal::new("fingerprint", format!("the publisher's fingerprint: {error}"))
        })?;
        let profiles: Vec<Normalize> =
            keys.iter().map(|name| parsed(name)).collect::<Result<_, _>>()?;
        let agreed: Vec<_> = profiles.iter().map(Normalize::agreed).collect();
        let null_values = null_values.map_or_else(|| Ok(NullValues::default()), NullValues::new);
        let null_values =
            null_values.map_err(|error| Refusal::new("null-values", error.to_string()))?;
        let known = known.map(|text| Head::read(&text)).transpose()?;
        // Null values apply if a column is normalised. The columns' profiles come from the page, or else from the head.
        let read = Head::read(text)?;
        let profiles = match profiles.is_empty() {
            true => read.keys.iter().map(|name| of_list(name)).collect::<Result<_, _>>()?,
            false => profiles,
        };
        let applied = null_values.applied_to(&profiles);
        let expected = Expectation {
            publisher: publisher.as_bytes(),
            now: now as u64,
            keys: (!agreed.is_empty()).then_some(&agreed[..]),
            null_values: applied.values(),
            budget: Some(budget as u64),
            known: known.as_ref(),
        };
        let head = Head::accept(text, &expected)?;
        Ok(Self { head, profiles, null_values })
    }

    /// Returns its contents as JSON.
    pub fn facts(&self) -> String {
        let head = &self.head;
        let part = |entry: &Entry| {
            json!({
                "file": entry.file_name(),
                "digest": entry.digest.to_string(),
                "bytes": entry.file_bytes(),
            })
        };
        json!({
            "name": head.name,
            "epoch": head.epoch,
            "version": head.sequence(),
            "items": head.items,
            "bytes": head.file_bytes(),
            "issued": head.issued,
            "expires": head.expires,
            "keys": head.keys,
            "labels": head.labels.as_ref().map(|labels| &labels.columns),
            "lambda": head.lambda,
            "queries": head.queries,
            "logEntries": head.log.entries,
            "state": Hex(head.computed_state()).to_string(),
            "parts": head.parts.iter().map(part).collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Returns the checker of the log, which the page must run before it uses the list. Returns `None` if `known`, the
    /// text accepted before, has the same state.
    ///
    /// # Errors
    /// A [`Refusal`] if `known` cannot be read.
    pub fn unread_log(&self, known: Option<String>) -> Result<Option<LogChecker>, Refusal> {
        let known = known.map(|text| Head::read(&text)).transpose()?;
        Ok(self.head.unread_log(known.as_ref()).map(|checker| LogChecker(Some(checker))))
    }
}

fn parsed(name: &str) -> Result<Normalize, Refusal> {
    name.parse().map_err(|error: String| {
        Refusal::new(
            "unknown-keys",
            format!("{} is not a normalisation: {error}", name.escape_debug()),
        )
    })
}

/// Parses a profile as a list names it, with the version of its rule.
fn of_list(name: &str) -> Result<Normalize, Refusal> {
    let travelling = TravellingName::try_from(name.to_owned()).ok();
    travelling.and_then(|name| name.known()).ok_or_else(|| {
        let message = format!(
            "the keys of the list are normalised as {}, which this release does not support",
            name.escape_debug()
        );
        Refusal::new("unknown-keys", message)
    })
}
