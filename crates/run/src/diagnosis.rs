//! Why nothing matched: what can be said of the keys without showing any.

use vesica_core::{error::Result, words::counted};
use vesica_keyset::{findings::Findings, profile::Profile};
use vesica_net::Channel;
use vesica_task::outcome::Outcome;

const PROFILE: &str = "vesica/profile";

/// What this side knows of its keys in case none matches.
pub struct Diagnosis {
    profile: Option<Profile>,
    columns: usize,
    own: Vec<String>,
}

impl Diagnosis {
    /// For a table with this many key columns. There is a profile if this side is ready to tell it.
    pub(crate) fn new(findings: &Findings, columns: usize, profile: Option<Profile>) -> Self {
        let mut own = Vec::new();
        let mut note = |rows: u64, what: &str| {
            if rows > 0 {
                let rows = counted(rows, "row");
                own.push(format!(
                    "{rows} of this side have a key with {what}, which is compared as it is with the normalisation \
                     agreed on"
                ));
            }
        };
        note(findings.spaced, "white space at an end");
        note(findings.capitals, "capital letters");
        Self { profile, columns, own }
    }

    /// Of a side that has seen no key.
    pub fn none() -> Self {
        Self { profile: None, columns: 0, own: Vec::new() }
    }

    /// Exchanges profiles where both sides want that. Returns hints at the reason where nothing matched, and whether this side
    /// and the other showed a profile. Both sides do the same whatever the result is, so that it tells nothing of that.
    ///
    /// # Errors
    /// A peer that sends something else, and what any exchange can meet.
    pub(crate) fn conclude(
        mut self,
        agreed: bool,
        channel: &mut Channel,
        outcome: &Outcome,
    ) -> Result<(Vec<String>, [bool; 2])> {
        let mine = self.profile.take();
        let theirs = match &mine {
            Some(mine) if agreed => Some(exchange(mine, self.columns, channel)?),
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
            self.own.push(advice.to_owned());
        } else if hints.is_empty() {
            hints.push(
                match mine.zip(theirs).and_then(|(mine, theirs)| mine.differences(&theirs)) {
                    Some(_) => {
                        "the keys of both sides look alike; are they of the same kind?".to_owned()
                    }
                    None => {
                        "there are too few keys on a side to compare what they look like".to_owned()
                    }
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
