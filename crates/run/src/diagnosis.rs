//! Hints at why nothing matched, which show none of the keys.

use vesica_core::{error::Result, words::counted};
use vesica_keyset::{findings::Findings, profile::Profile};
use vesica_net::Channel;
use vesica_task::outcome::Outcome;

const PROFILE: &str = "vesica/profile";

/// This side's knowledge of its keys, for the case that none matches.
pub struct Diagnosis {
    profile: Option<Profile>,
    columns: usize,
    own: Vec<String>,
}

impl Diagnosis {
    /// Creates the diagnosis of a table with this many key columns. `profile` is present if this side agrees to show
    /// it.
    pub(crate) fn new(findings: &Findings, columns: usize, profile: Option<Profile>) -> Self {
        let mut own = Vec::new();
        let mut note = |rows: u64, what: &str| {
            if rows > 0 {
                let rows = counted(rows, "row");
                own.push(format!(
                    "{rows} of this side have a key with {what}, which the agreed normalisation leaves \
                     unchanged"
                ));
            }
        };
        note(findings.spaced, "white space at an end");
        note(findings.capitals, "capital letters");
        Self { profile, columns, own }
    }

    /// Creates the diagnosis of a side that has seen no key.
    pub fn none() -> Self {
        Self { profile: None, columns: 0, own: Vec::new() }
    }

    /// Exchanges profiles if both sides want that; `agreed` is `None` among several parties, which cannot. Returns
    /// hints at why keys do not match, and whether this side and the other showed a profile. Both sides do the same for
    /// every result, so the exchange reveals nothing about it.
    ///
    /// # Errors
    /// A peer that sends something else, and every error of an exchange.
    pub(crate) fn conclude(
        mut self,
        agreed: Option<bool>,
        channel: &mut Channel,
        outcome: &Outcome,
    ) -> Result<(Vec<String>, [bool; 2])> {
        let mine = self.profile.take();
        let theirs = match &mine {
            Some(mine) if agreed == Some(true) => Some(exchange(mine, self.columns, channel)?),
            _ => None,
        };
        let shown = match (&mine, &theirs) {
            (Some(mine), Some(theirs)) => [mine.is_told(), theirs.is_told()],
            _ => [false; 2],
        };
        let mut hints = Vec::new();
        if let (Some(mine), Some(theirs)) = (&mine, &theirs) {
            hints = mine.differences(theirs).unwrap_or_default();
        }
        if !outcome.is_nothing() {
            return Ok((hints, shown));
        }
        let nothing_to_compare = mine.is_some() && theirs.is_none();
        if nothing_to_compare {
            hints.push(
                "the other side did not ask for --diagnose, so nothing was compared".to_owned(),
            );
        } else if mine.is_none() {
            let advice = "with --diagnose on both sides, they also compare what their keys look like, in coarse \
                          shares: white space, case, length";
            self.own.extend(agreed.map(|_| advice.to_owned()));
        } else if hints.is_empty() {
            hints.push(
                match mine.zip(theirs).and_then(|(mine, theirs)| mine.differences(&theirs)) {
                    Some(_) => "the keys of both sides look alike; are they the same kind of key?"
                        .to_owned(),
                    None => "a side has too few keys to compare what they look like".to_owned(),
                },
            );
        }
        hints.append(&mut self.own);
        hints.insert(0, "nothing matched".to_owned());
        Ok((hints, shown))
    }
}

fn exchange(mine: &Profile, columns: usize, channel: &mut Channel) -> Result<Profile> {
    let mut theirs = vec![0; Profile::encoded_len(columns)];
    channel.exchange(PROFILE, &mine.encode(), &mut theirs)?;
    Profile::decode(&theirs, columns)
        .ok_or_else(|| channel.malformed(PROFILE, "not a profile of keys").into())
}
