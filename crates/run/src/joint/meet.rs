//! The connections to several other parties.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use vesica_core::error::{Error, Misuse, Result};
use vesica_net::{
    Channel,
    connect::{
        self, Assembled, Connection, Gathering, GatheringName, Host, Lobby, Meeting, Member,
    },
};
use vesica_partner::partnership::Partnership;
use vesica_table::remote::exchange_folder;

use crate::{
    meet::{noted, to_bind},
    seat::Seat,
};

/// The way in which several parties reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Venue {
    /// Parties with an address listen, and the others meet at one of them.
    Addresses {
        /// The address at which this party listens; `None` for the port of its address.
        listen: Option<String>,
    },
    /// All connect to the relay at this address.
    Relay(String),
    /// All exchange files in a folder, each pair in one of its own below it.
    Exchange(PathBuf),
}

/// The time for which a party that joins others waits until they have parted.
const PARTING: Duration = Duration::from_secs(10);

/// The channels to several other parties, in the order of their numbers.
pub struct Met {
    /// The channels.
    pub channels: Vec<Channel>,
    host: Option<Host>,
}

/// Several parties that meet at their addresses under an agreement, at a party that always listens.
#[derive(Debug, Clone)]
pub struct ServedParties {
    /// The place of the party that listens.
    pub seat: Seat,
    /// All parties as the network knows them.
    pub members: Vec<Member>,
    /// The name that their calls say first.
    pub name: GatheringName,
}

impl Venue {
    /// Connects this party with all others. The peer of `meeting` does not matter. Under an agreement, a failure is
    /// recorded in the ledger.
    ///
    /// # Errors
    /// [`Error::Net`] if a party cannot be reached or is not the expected one, [`Error::Usage`] if nobody listens, and
    /// [`Error::Ledger`].
    pub fn meet(
        &self,
        seat: &Seat,
        members: &[Member],
        meeting: &Meeting<'_>,
        partnership: Option<&Partnership>,
    ) -> Result<Met> {
        noted(self.reach(seat, members, meeting, partnership), partnership)
    }

    fn reach(
        &self,
        seat: &Seat,
        members: &[Member],
        meeting: &Meeting<'_>,
        partnership: Option<&Partnership>,
    ) -> Result<Met> {
        let started = Instant::now();
        let others = (0..members.len()).filter(|party| *party != seat.me);
        let each = |reach: &dyn Fn(usize, &Meeting<'_>) -> Result<Connection>| {
            // All have the same order of pairs, so none waits for a party that waits for it.
            let connections = others.map(|party| {
                let wait = meeting.wait.saturating_sub(started.elapsed());
                let peer = &members[party].fingerprint;
                let met = reach(party, &Meeting { peer, wait, ..*meeting });
                met.map_err(|error| error.of_party(seat.cast.name(party)))
            });
            let channels = connections.map(|met| Ok(met?.into_channel()?));
            Ok::<_, Error>(Assembled { channels: channels.collect::<Result<_>>()?, host: None })
        };
        let Assembled { channels, host } = match self {
            Self::Addresses { listen } => {
                let agreement = partnership.map(|under| under.agreement().hash());
                let name = name_of(members, agreement.as_deref());
                let own = members[seat.me].address.as_deref().map(to_bind);
                let gathering = gathering(name, seat, members, listen.as_deref())?;
                let listen = listen.as_deref().or(own.as_deref());
                Gathering { listen, ..gathering }.gather(meeting)?
            }
            Self::Relay(address) => each(&|_, meeting| Ok(connect::relayed(address, meeting)?.1))?,
            Self::Exchange(folder) => each(&|party, meeting| {
                let folder = folder_of(folder, seat, party)?;
                let folder = exchange_folder(&folder)?;
                Ok(connect::exchange(folder, None, meeting)?.1)
            })?,
        };
        Ok(Met { channels, host })
    }
}

impl Met {
    /// Waits until the parties that this one joins have parted.
    pub fn part(self) {
        let Self { channels, host } = self;
        drop(channels);
        host.into_iter().for_each(|host| host.close(PARTING));
    }
}

impl ServedParties {
    /// Returns the parties under the agreement of this hash, for the party in this place.
    ///
    /// # Errors
    /// [`Error::Usage`] if this party has no address, or no other party calls it.
    pub fn new(seat: Seat, members: Vec<Member>, agreement: &str) -> Result<Self> {
        let unserved = |message: &str| Err(Error::usage(Misuse::Address, message));
        if members[seat.me].address.is_none() {
            return unserved("this side does not listen under its agreement");
        }
        let name = name_of(&members, Some(agreement));
        if !gathering(name, &seat, &members, None)?.is_called() {
            return unserved(
                "no party calls this side under its agreement, because each listens and comes before it: use vesica run",
            );
        }
        Ok(Self { seat, members, name })
    }

    /// Returns a lobby for the calls of the other parties.
    pub fn lobby(&self) -> Lobby {
        Lobby::new(self.name, self.seat.me, &self.members)
    }

    /// Connects this party with all others, after one has come to the lobby. Otherwise as [`Venue::meet`].
    ///
    /// # Errors
    /// As [`Venue::meet`].
    pub fn meet(
        &self,
        lobby: &Lobby,
        meeting: &Meeting<'_>,
        partnership: &Partnership,
    ) -> Result<Met> {
        let gathering = gathering(self.name, &self.seat, &self.members, None)?;
        let met = gathering.gather_at(lobby, meeting).map_err(Error::from);
        let channels = noted(met, Some(partnership))?;
        Ok(Met { channels, host: None })
    }
}

/// Returns the name of the gathering of these parties under the agreement of this hash, or without an agreement.
fn name_of(members: &[Member], agreement: Option<&str>) -> GatheringName {
    let mut name = blake3::Hasher::new_derive_key("vesica 1 gathering");
    match agreement {
        Some(hash) => {
            name.update(hash.as_bytes());
        }
        None => members.iter().for_each(|member| {
            name.update(member.fingerprint.to_string().as_bytes());
        }),
    }
    name.finalize().into()
}

/// Returns the gathering of these parties at their addresses.
fn gathering<'a>(
    name: GatheringName,
    seat: &Seat,
    members: &'a [Member],
    listen: Option<&'a str>,
) -> Result<Gathering<'a>> {
    let has_address = |party: &usize| members[*party].address.is_some();
    // The leader carries the most, so others need not.
    let hub = [seat.cast.leader].into_iter().chain(0..members.len()).find(has_address);
    let hub = hub.ok_or_else(|| {
        let message = "no party has an address: write it after the fingerprint, as in shop=FINGERPRINT@HOST:PORT, or \
                       use --relay or --exchange-dir";
        Error::usage(Misuse::Address, message)
    })?;
    if members[seat.me].address.is_none() && listen.is_some() {
        let message =
            "--listen requires an address of this party in --parties, at which the others reach it";
        return Err(Error::usage(Misuse::Address, message));
    }
    Ok(Gathering { name, members, me: seat.me, hub, listen })
}

/// Returns the folder of this party with another one, and makes it if it is a directory.
fn folder_of(folder: &Path, seat: &Seat, party: usize) -> Result<PathBuf> {
    let [first, second] = [seat.me.min(party), seat.me.max(party)].map(|end| seat.cast.name(end));
    let of_pair = folder.join(format!("{first}+{second}"));
    if folder.is_dir() {
        let is_there = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        match fs::create_dir(&of_pair) {
            Err(source) if !is_there(&source) => {
                let directory = of_pair;
                return Err(vesica_net::Error::Directory { directory, source }.into());
            }
            _ => {}
        }
    }
    Ok(of_pair)
}
