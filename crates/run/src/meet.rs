//! The connection to the other side.

use std::path::PathBuf;

use vesica_core::{error::Result, parties::Role};
use vesica_net::{
    Channel, Fingerprint,
    connect::{self, Meeting},
    files::Side,
};
use vesica_partner::{agreement::Agreement, partnership::Partnership};
use vesica_table::remote::exchange_folder;

/// The way in which this side reaches the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// This side connects to the other at this address, as in `partner.example.org:7788`.
    Connect(String),
    /// This side listens at this address, as in `0.0.0.0:7788`.
    Listen(String),
    /// Both connect to the relay at this address.
    Relay(String),
    /// Both exchange files in a folder.
    Exchange {
        /// The directory, or the beginning of the addresses of objects, as in `s3://bucket/prefix`.
        folder: PathBuf,
        /// This side's role; `None` to derive it from the two fingerprints.
        role: Option<Role>,
    },
}

impl Way {
    /// Returns the way that an agreement names for this party, if it names one.
    pub fn agreed(agreement: &Agreement, me: Fingerprint) -> Option<Self> {
        let relay = agreement.relay().map(|address| Self::Relay(address.to_owned()));
        relay
            .or_else(|| agreement.connects(me).map(|address| Self::Connect(address.to_owned())))
            .or_else(|| agreement.listens(me).map(|address| Self::Listen(to_bind(address))))
    }

    /// Connects to the other side, and returns this side's role. Under an agreement, a failure is recorded in the
    /// ledger.
    ///
    /// # Errors
    /// [`Error::Net`](vesica_core::error::Error::Net) if the other side cannot be reached or is not the expected one,
    /// [`Error::Usage`](vesica_core::error::Error::Usage) if the exchange folder is not a folder, and
    /// [`Error::Ledger`](vesica_core::error::Error::Ledger).
    pub fn meet(
        &self,
        meeting: &Meeting<'_>,
        partnership: Option<&Partnership>,
    ) -> Result<(Role, Channel)> {
        noted(self.reach(meeting), partnership)
    }

    fn reach(&self, meeting: &Meeting<'_>) -> Result<(Role, Channel)> {
        let (role, connection) = match self {
            Self::Connect(address) => (Role::A, connect::dial(address, meeting)?),
            Self::Listen(address) => (Role::B, connect::listen(address, meeting)?),
            Self::Relay(address) => {
                let (side, connection) = connect::relayed(address, meeting)?;
                (role_of(side), connection)
            }
            Self::Exchange { folder, role } => {
                let side = role.map(|role| if role == Role::A { Side::A } else { Side::B });
                let folder = exchange_folder(folder)?;
                let (side, connection) = connect::exchange(folder, side, meeting)?;
                (role_of(side), connection)
            }
        };
        Ok((role, connection.into_channel()?))
    }
}

/// Records a failure before a run in the ledger, under an agreement.
///
/// # Errors
/// That failure, or [`Error::Ledger`](vesica_core::error::Error::Ledger).
pub(crate) fn noted<T>(ended: Result<T>, partnership: Option<&Partnership>) -> Result<T> {
    if let (Err(error), Some(partnership)) = (&ended, partnership) {
        partnership.failed(None, error)?;
    }
    ended
}

fn role_of(side: Side) -> Role {
    match side {
        Side::A => Role::A,
        Side::B => Role::B,
    }
}

/// Returns the address to listen at, for an address at which others reach this side.
pub fn to_bind(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
    let is_here = host == "localhost" || host.starts_with("127.") || host == "[::1]";
    if is_here { address.to_owned() } else { format!("0.0.0.0:{port}") }
}
