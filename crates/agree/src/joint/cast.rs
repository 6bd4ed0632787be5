//! The parties of a run among several, and their places.

use serde::{Deserialize, Serialize};
use vesica_core::{
    error::{Error, Misuse, Result},
    parties::{Learns, Parties, Role},
};
use vesica_psi::joint::{MAX_HOLDERS, Place};

/// The longest name of a party, in bytes.
pub const MAX_NAME: usize = 40;

/// The most parties of a run.
pub const MAX_PARTIES: usize = vesica_net::connect::MAX_PARTIES;

/// Returns whether a text is a name of a party: a short word.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

/// A party of a run among several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedParty {
    /// The name by which all of them know it.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: String,
}

/// The parties of a run among several, in the order of their numbers, and their places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    /// The parties.
    pub parties: Vec<NamedParty>,
    /// The leader's number.
    pub leader: usize,
    /// The keys that the leader learns about.
    pub search: Search,
    /// The numbers of the parties that learn the result beside the leader, ascending.
    pub learners: Vec<usize>,
}

/// The keys that the leader learns about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Search {
    /// Keys that all others have. The leader ends the run with the party of this number, the pivot.
    ByAll {
        /// The pivot's number.
        pivot: usize,
    },
    /// Keys that at least this number of others have. The leader learns who has them.
    ByEnough {
        /// The number of others.
        least: usize,
    },
}

/// The name of all parties in a list of learners.
const ALL: &str = "all";

impl Cast {
    /// Creates a cast. The leader learns the result; it ends the run with the pivot.
    ///
    /// # Errors
    /// [`Error::Usage`] for fewer than three parties or too many, for names that are not short words, for names or
    /// fingerprints that occur twice, and for a leader or pivot that is not one of the parties, or the same party.
    pub fn new(parties: Vec<NamedParty>, leader: &str, pivot: &str) -> Result<Self> {
        check_parties(&parties)?;
        let (leader, pivot) =
            (number(&parties, "leader", leader)?, number(&parties, "pivot", pivot)?);
        if leader == pivot {
            return Err(refused(
                "--leader and --pivot are two of the parties, not the same one".to_owned(),
            ));
        }
        Ok(Self { parties, leader, search: Search::ByAll { pivot }, learners: Vec::new() })
    }

    /// Creates a cast whose leader learns which of its keys at least this number of others have, and who has them.
    ///
    /// # Errors
    /// As [`Cast::new`], and for a number of parties or of holders that the search does not take.
    pub fn of_holders(parties: Vec<NamedParty>, leader: &str, least: usize) -> Result<Self> {
        check_parties(&parties)?;
        let leader = number(&parties, "leader", leader)?;
        let others = parties.len() - 1;
        if others > MAX_HOLDERS {
            let most = MAX_HOLDERS + 1;
            return Err(refused(format!("--at-least is for at most {most} parties")));
        }
        if !(2..=others).contains(&least) {
            let message = format!(
                "--at-least takes 2 to {others}, the number of parties beside the leader, not {least}"
            );
            return Err(refused(message));
        }
        Ok(Self { parties, leader, search: Search::ByEnough { least }, learners: Vec::new() })
    }

    /// Adds the parties that learn the result beside the leader: their names, or `all`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that is not one of the parties.
    pub fn with_learners(mut self, names: &[String]) -> Result<Self> {
        let number = |name: &String| number(&self.parties, "learners", name);
        self.learners = match names {
            [all] if all == ALL => (0..self.parties.len()).collect(),
            names => names.iter().map(number).collect::<Result<_>>()?,
        };
        // The leader learns in any case.
        self.learners.retain(|party| *party != self.leader);
        self.learners.sort_unstable();
        self.learners.dedup();
        Ok(self)
    }

    /// Returns whether a party learns the result.
    pub fn learns(&self, party: usize) -> bool {
        party == self.leader || self.learners.contains(&party)
    }

    /// Returns the sides that learn in the session of a party and its partner, as that party says it.
    pub fn learners_for(&self, party: usize) -> Learns {
        match self.learns(party) {
            _ if party == self.leader => Learns::Me,
            true => Learns::Both,
            false => Learns::Peer,
        }
    }

    /// Refuses a cast of a document that [`Cast::new`] and its siblings would not make.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(&self) -> Result<()> {
        let name = |party: usize| {
            let party = self.parties.get(party);
            party
                .map(|party| party.name.clone())
                .ok_or_else(|| refused("a number of no party".to_owned()))
        };
        let (parties, leader) = (self.parties.clone(), name(self.leader)?);
        let made = match self.search {
            Search::ByAll { pivot } => Self::new(parties, &leader, &name(pivot)?),
            Search::ByEnough { least } => Self::of_holders(parties, &leader, least),
        };
        let learners =
            self.learners.iter().map(|party| name(*party)).collect::<Result<Vec<_>>>()?;
        match made?.with_learners(&learners)? == *self {
            true => Ok(()),
            false => Err(refused("the learners are not in their order".to_owned())),
        }
    }

    /// Returns the number of the party with this fingerprint.
    ///
    /// # Errors
    /// [`Error::Usage`] if no party has it.
    pub fn number_of(&self, fingerprint: &str) -> Result<usize> {
        let number = self.parties.iter().position(|party| party.fingerprint == fingerprint);
        number.ok_or_else(|| {
            let message = format!("--parties does not have this side's fingerprint, {fingerprint}");
            Error::usage(Misuse::Parties, message)
        })
    }

    /// Returns the pivot's number; `None` for a search for holders.
    pub fn pivot(&self) -> Option<usize> {
        match self.search {
            Search::ByAll { pivot } => Some(pivot),
            Search::ByEnough { .. } => None,
        }
    }

    /// Returns the least number of holders, in a search for them.
    pub fn least(&self) -> Option<usize> {
        match self.search {
            Search::ByAll { .. } => None,
            Search::ByEnough { least } => Some(least),
        }
    }

    /// Returns the place of a party. In a search for holders, all but the leader help.
    pub fn place(&self, party: usize) -> Place {
        Place::of(party, self.leader, self.pivot().unwrap_or(usize::MAX))
    }

    /// Returns the name of a party.
    pub fn name(&self, party: usize) -> &str {
        &self.parties[party].name
    }

    /// Returns the party with which this one has a session of two: of the leader the pivot, or the first other party in
    /// a search for holders, and otherwise the leader.
    pub fn partner(&self, party: usize) -> usize {
        match party == self.leader {
            true => self.pivot().unwrap_or(usize::from(self.leader == 0)),
            false => self.leader,
        }
    }

    /// Returns the helpers' numbers, ascending.
    pub fn helpers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parties.len()).filter(|party| self.place(*party) == Place::Helper)
    }

    /// Returns the two sides of a session: the leader with another party.
    pub fn sides(&self, me: usize) -> Parties {
        let role = if me == self.leader { Role::A } else { Role::B };
        let [me, peer] =
            [me, self.partner(me)].map(|party| self.parties[party].fingerprint.clone());
        Parties { role, me, peer }
    }

    /// Describes it for people.
    pub(super) fn describe(&self) -> String {
        let parties = self
            .parties
            .iter()
            .map(|NamedParty { name, fingerprint }| format!("{name}={fingerprint}"));
        let parties: Vec<_> = parties.collect();
        let name =
            |party| self.parties.get(party).map_or("nobody", |party: &NamedParty| &party.name);
        let search = match self.search {
            Search::ByAll { pivot } => format!("pivot {}", name(pivot)),
            Search::ByEnough { least } => format!("at least {least}"),
        };
        let learners = self.learners.iter().map(|party| format!(", learner {}", name(*party)));
        format!(
            "{}, leader {}, {search}{}",
            parties.join(", "),
            name(self.leader),
            learners.collect::<String>()
        )
    }
}

/// Refuses parties between which no run is possible.
fn check_parties(parties: &[NamedParty]) -> Result<()> {
    if !(3..=MAX_PARTIES).contains(&parties.len()) {
        let given = parties.len();
        let message = format!(
            "--parties takes 3 to {MAX_PARTIES} parties, not {given}; a run of two names its --peer"
        );
        return Err(refused(message));
    }
    for (number, NamedParty { name, fingerprint }) in parties.iter().enumerate() {
        if !is_name(name) {
            return Err(refused(format!(
                "party {} of --parties needs a name of at most {MAX_NAME} letters, digits, and any of -_.",
                number + 1
            )));
        }
        let others = &parties[..number];
        if others.iter().any(|other| other.name == *name) {
            return Err(refused(format!("--parties names `{name}` twice")));
        }
        if let Some(other) = others.iter().find(|other| other.fingerprint == *fingerprint) {
            let other = &other.name;
            return Err(refused(format!("`{other}` and `{name}` have the same fingerprint")));
        }
    }
    Ok(())
}

/// Returns the number of the party that an option names.
fn number(parties: &[NamedParty], option: &str, name: &str) -> Result<usize> {
    let number = parties.iter().position(|party| party.name == name);
    number
        .ok_or_else(|| refused(format!("--{option} names `{name}`, which is not one of --parties")))
}

fn refused(message: String) -> Error {
    Error::usage(Misuse::Parties, message)
}
