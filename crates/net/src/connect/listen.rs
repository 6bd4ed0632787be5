//! Listening for the other side at an address that anyone may call.

use std::{thread, time::Instant};

use super::{
    Event, Meeting,
    connection::{Connection, Parallel},
    porter::Porter,
    reception::{Admitted, PAUSE, Reception},
};
use crate::{
    Error, Result,
    meter::CONNECT,
    transport::{tcp::Listener, tls::Credentials},
};

/// Listens at `host:port` until the other side has called and authenticated. With port 0 the operating system
/// chooses a port, which [`Event::Listening`] reports.
///
/// # Errors
/// [`Error::Resolve`] and [`Error::Bind`]. After the time has run out: the error of the last caller that was not the
/// other side, if it had a different identity or refused this one; otherwise [`Error::NobodyCame`].
/// [`Error::Cancelled`].
pub fn listen(address: &str, meeting: &Meeting<'_>) -> Result<Connection> {
    let listener = Listener::bind(address)?;
    let address = listener.local_addr();
    (meeting.observer)(&Event::Listening { address });
    let credentials = Credentials::new(meeting.me, meeting.peer)?;
    let mut reception = Reception::new(listener, credentials, meeting.stall);
    let (started, mut impostor) = (Instant::now(), None);
    loop {
        if meeting.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: CONNECT });
        }
        let time_is_up = started.elapsed() >= meeting.wait;
        if time_is_up && reception.is_empty() {
            let nobody = Error::NobodyCame { address: address.to_string(), after: meeting.wait };
            return Err(impostor.unwrap_or(nobody));
        }
        let admitted = reception.turn(!time_is_up, &mut |why| {
            (meeting.observer)(&Event::TurnedAway { why: &why });
            if matches!(why, Error::WrongPeer { .. } | Error::Refused { .. }) {
                impostor = Some(why);
            }
        });
        if let Some(Admitted { connection, .. }) = admitted {
            let parallel = Porter::start(reception).map(|porter| Parallel::of(false, porter));
            return Ok(Connection { parallel, ..connection });
        }
        thread::sleep(PAUSE);
    }
}
