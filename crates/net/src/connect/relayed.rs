//! Meeting the other side at a relay.

use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use super::{Connection, Event, Meeting, open, rest};
use crate::{
    Error, Result,
    meter::CONNECT,
    relay::{self, CHALLENGE, MAGIC, RELAY, RelayReply},
    transport::{files::Side, is_blocked, tcp::Tcp, tls::Credentials},
};

/// The pause after an attempt that failed.
const PAUSE: Duration = Duration::from_millis(500);

/// The pause after the relay said that it has no place.
const PAUSE_IF_FULL: Duration = Duration::from_secs(2);

/// A relay that is silent for this long is considered lost.
const SILENCE: Duration = Duration::from_secs(10);

/// Meets the other side at the relay at `host:port`. The two fingerprints determine the sides.
///
/// # Errors
/// [`Error::NotAdmitted`], [`Error::PeerNotAdmitted`], [`Error::OtherRelay`], and [`Error::Handshake`] if something
/// else answers; [`Error::RelayFull`], [`Error::NobodyCame`] and [`Error::Unreachable`] after the time has run out; the
/// errors of a handshake with the other side, as for [`dial`](super::dial()); and [`Error::Cancelled`].
pub fn relayed(address: &str, meeting: &Meeting<'_>) -> Result<(Side, Connection)> {
    let credentials = Credentials::new(meeting.me, meeting.peer)?;
    let side = if meeting.me.fingerprint() < *meeting.peer { Side::A } else { Side::B };
    let (started, mut told) = (Instant::now(), false);
    loop {
        let left = meeting.wait.saturating_sub(started.elapsed());
        match attempt(address, left, &mut told, meeting) {
            Ok(tcp) => {
                let handshake = match side {
                    Side::A => credentials.client(tcp)?,
                    Side::B => credentials.server(tcp)?,
                };
                let tls = handshake.complete(meeting.stall, meeting.cancel)?;
                return Ok((side, tls.into()));
            }
            Err(
                error @ (Error::Unreachable { .. }
                | Error::Proxy { .. }
                | Error::RelayFull { .. }
                | Error::Closed { .. }
                | Error::Stalled { .. }),
            ) if started.elapsed() < meeting.wait => {
                if !std::mem::replace(&mut told, true) {
                    (meeting.observer)(&Event::Waiting { place: address, left, why: Some(&error) });
                }
                let is_full = matches!(error, Error::RelayFull { .. });
                rest(if is_full { PAUSE_IF_FULL } else { PAUSE }.min(left), meeting)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A connection to the other side through the relay.
fn attempt(address: &str, left: Duration, told: &mut bool, meeting: &Meeting<'_>) -> Result<Tcp> {
    let mut tcp = open(address, meeting.proxy, left, meeting.cancel)?;
    let mut begins = [0; MAGIC.len() + CHALLENGE];
    let patience = meeting.stall.min(SILENCE);
    read(&mut tcp, &mut begins, patience, meeting)?;
    let (magic, challenge) = begins.split_at(MAGIC.len());
    if magic != MAGIC {
        let is_relay = magic.starts_with(RELAY);
        let what = if is_relay { "it is a relay of another version" } else { "it is not a relay" };
        return Err(Error::Handshake { what: what.to_owned() });
    }
    let answer = relay::answer(meeting.me, meeting.peer, address, challenge)?;
    tcp.write_all(&answer).map_err(|error| Error::from_io(error, CONNECT))?;
    let started = Instant::now();
    loop {
        let mut word = [0];
        read(&mut tcp, &mut word, patience, meeting)?;
        match word[0] {
            word if word == RelayReply::Met as u8 => return Ok(tcp),
            word if word == RelayReply::Wait as u8 => {}
            word => return Err(refused(word, address.to_owned(), meeting)),
        }
        let left = left.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(Error::NobodyCame { address: address.to_owned(), after: meeting.wait });
        }
        if !std::mem::replace(told, true) {
            (meeting.observer)(&Event::Waiting { place: address, left, why: None });
        }
    }
}

/// The error for the word with which the relay turns this party away.
fn refused(word: u8, address: String, meeting: &Meeting<'_>) -> Error {
    match word {
        word if word == RelayReply::Refused as u8 => {
            Error::NotAdmitted { address, presented: meeting.me.fingerprint() }
        }
        word if word == RelayReply::NoPlace as u8 => Error::RelayFull { address },
        word if word == RelayReply::OtherRelay as u8 => Error::OtherRelay { address },
        word if word == RelayReply::NobodyHere as u8 => {
            Error::PeerNotAdmitted { address, peer: *meeting.peer }
        }
        _ => Error::Handshake { what: "it is not a relay of this version".to_owned() },
    }
}

fn read(tcp: &mut Tcp, buf: &mut [u8], patience: Duration, meeting: &Meeting<'_>) -> Result<()> {
    let (started, mut done) = (Instant::now(), 0);
    while done < buf.len() {
        if meeting.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: CONNECT });
        }
        match tcp.read(&mut buf[done..]) {
            Ok(0) => return Err(Error::Closed { phase: CONNECT }),
            Ok(read) => done += read,
            Err(error) if !is_blocked(&error) => return Err(Error::from_io(error, CONNECT)),
            Err(_) if started.elapsed() < patience => {}
            Err(_) => return Err(Error::Stalled { phase: CONNECT, after: patience }),
        }
    }
    Ok(())
}
