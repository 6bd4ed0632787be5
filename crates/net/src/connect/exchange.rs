//! Connecting through a directory, or other file storage, that both sides share.

use std::{thread, time::Instant};

use super::{Connection, Event, Meeting};
use crate::{
    Error, Result,
    meter::CONNECT,
    transport::{
        POLL_INTERVAL,
        files::{Files, Folder, PartyNames, Side},
        tls::Credentials,
    },
};

/// Meets the other side in file storage that both can read and write. If no side is given, the two fingerprints
/// determine the sides.
///
/// # Errors
/// [`Error::Directory`], [`Error::SameSide`], [`Error::SideInUse`] and [`Error::LeftOver`];
/// [`Error::NobodyJoined`] after the time has run out; the errors of a handshake, as for [`dial`](super::dial()); and
/// [`Error::Cancelled`].
pub fn exchange(
    folder: Box<dyn Folder>,
    side: Option<Side>,
    meeting: &Meeting<'_>,
) -> Result<(Side, Connection)> {
    let (me, peer) = (meeting.me.fingerprint(), *meeting.peer);
    let side = side.unwrap_or(if me < peer { Side::A } else { Side::B });
    let credentials = Credentials::new(meeting.me, meeting.peer)?;
    let names = PartyNames { me: me.to_string(), peer: peer.to_string() };
    let mut files = Files::open_as(folder, side, names)?;
    join(&mut files, meeting)?;
    let handshake = match side {
        Side::A => credentials.client(files)?,
        Side::B => credentials.server(files)?,
    };
    Ok((side, handshake.complete(meeting.stall, meeting.cancel)?.into()))
}

/// Waits for the other side to appear.
fn join(files: &mut Files, meeting: &Meeting<'_>) -> Result<()> {
    let started = Instant::now();
    let mut told = false;
    while !files.try_join()? {
        if meeting.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: CONNECT });
        }
        let left = meeting.wait.saturating_sub(started.elapsed());
        if left.is_zero() {
            let directory = files.folder().name().to_owned();
            return Err(Error::NobodyJoined { directory, after: meeting.wait });
        }
        if !std::mem::replace(&mut told, true) {
            let place = &files.folder().name().display().to_string();
            (meeting.observer)(&Event::Waiting { place, left, why: None });
        }
        thread::sleep(POLL_INTERVAL.max(files.folder().poll()).min(left));
    }
    Ok(())
}
