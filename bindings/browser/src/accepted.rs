//! Heads that were accepted.

use serde_json::json;
use vesica_fingerprint::Fingerprint;
use vesica_keys::{
    normalize::{Normalize, TravellingName},
    null_values::NullValues,
};
use vesica_list::{
    head::{Expectation, Head},
    hex::Hex,
    log,
    part::Entry,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::refusal::Refusal;

/// A head that is what the page expects, and how keys are read for it.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct AcceptedHead {
    pub(crate) head: Head,
    pub(crate) profiles: Vec<Normalize>,
    pub(crate) null_values: NullValues,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl AcceptedHead {
    /// Accepts a head that this publisher signed, at this time in seconds since 1970, of a list of at most so many bytes, which is
    /// not older than the one accepted before. Keys are written as `keys` says, one for each column; where it is empty, as
    /// the list has them.
    ///
    /// # Errors
    /// A [`Refusal`], also where the fingerprint or the name of a normalisation is none.
    pub fn accept(
        text: &str,
        publisher: &str,
        now: f64,
        keys: Vec<String>,
        budget: f64,
        known: Option<String>,
    ) -> Result<Self, Refusal> {
        let publisher: Fingerprint = publisher.parse().map_err(|error| {
            Refusal::new("fingerprint", format!("the publisher's fingerprint: {error}"))
        })?;
        let profiles: Vec<Normalize> =
            keys.iter().map(|name| parsed(name)).collect::<Result<_, _>>()?;
        let agreed: Vec<_> = profiles.iter().map(Normalize::agreed).collect();
        let known = known.map(|text| Head::read(&text)).transpose()?;
        let expected = Expectation {
            publisher: publisher.as_bytes(),
            now: now as u64,
            keys: (!agreed.is_empty()).then_some(&agreed[..]),
            budget: Some(budget as u64),
            known: known.as_ref(),
        };
        let head = Head::accept(text, &expected)?;
        let profiles = match profiles.is_empty() {
            true => head.keys.iter().map(|name| of_list(name)).collect::<Result<_, _>>()?,
            false => profiles,
        };
        let null_values = NullValues::new(&head.null_values)
            .map_err(|error| Refusal::new("not-a-list", error.to_string()))?;
        Ok(Self { head, profiles, null_values })
    }

    /// What it says, as JSON.
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

    /// Whether the log has to be checked, where this text was accepted before.
    pub fn needs_log(&self, known: Option<String>) -> bool {
        let known = known.and_then(|text| Head::read(&text).ok());
        known.is_none_or(|known| known.log != self.head.log)
    }

    /// Checks the log, where this text was accepted before.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn check_log(&self, lines: &str, known: Option<String>) -> Result<(), Refusal> {
        let known = known.map(|text| Head::read(&text)).transpose()?;
        let before = known.as_ref().map(|known| &known.log);
        Ok(log::check(lines, (self.head.log, self.head.state), before)?)
    }
}

fn parsed(name: &str) -> Result<Normalize, Refusal> {
    name.parse().map_err(|error: String| {
        Refusal::new(
            "unknown-keys",
            format!("{} is no normalisation: {error}", name.escape_debug()),
        )
    })
}

/// A profile as a list names it, with the version of its rule.
fn of_list(name: &str) -> Result<Normalize, Refusal> {
    let travelling = TravellingName::try_from(name.to_owned()).ok();
    travelling.and_then(|name| name.known()).ok_or_else(|| {
        let message = format!(
            "the keys of the list are normalised as {}, which this release does not know",
            name.escape_debug()
        );
        Refusal::new("unknown-keys", message)
    })
}
