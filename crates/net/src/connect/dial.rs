//! Dialling the other side, which may not be available yet.

use std::{
    mem::discriminant,
    thread,
    time::{Duration, Instant},
};

use super::{
    Event, LAST_CHANCE, Meeting,
    connection::{Connection, Connections, Parallel},
    open, rest,
};
use crate::{
    CancelToken, Error, Proxy, Result,
    transport::tls::{CallKind, Credentials},
};

/// The pause after the first failed attempt; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pause between two calls for another connection.
const PARALLEL_PAUSE: Duration = Duration::from_millis(10);

/// Connects to a party that [listens](super::listen()) at `host:port`, or will listen in time. Retries until both have
/// authenticated: a forwarder or a proxy in between may accept connections before the other side does, and close them.
///
/// # Errors
/// At once: [`Error::WrongPeer`], [`Error::Refused`], [`Error::OtherKind`], [`Error::Resolve`] and
/// [`Error::Cancelled`], and [`Error::Handshake`] if something else answers. After the time has run out:
/// [`Error::Unreachable`], [`Error::Proxy`], [`Error::NotThrough`], [`Error::InARun`], [`Error::Later`] or
/// [`Error::NoPlace`], depending on the last attempt.
pub fn dial(address: &str, meeting: &Meeting<'_>) -> Result<Connection> {
    dial_for(CallKind::Run, address, meeting)
}

/// Dials for this kind of connection. Otherwise as [`dial`].
pub(super) fn dial_for(call: CallKind, address: &str, meeting: &Meeting<'_>) -> Result<Connection> {
    let credentials = Credentials::new(meeting.me, meeting.peer)?;
    let started = Instant::now();
    let (mut pause, mut told) = (FIRST_PAUSE, None);
    loop {
        let left = meeting.wait.saturating_sub(started.elapsed());
        let why = match attempt(call, address, &credentials, left, meeting) {
            Err(error) if may_pass(&error) => error,
            ended => return ended,
        };
        let left = meeting.wait.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(given_up(why, address, meeting.wait));
        }
        if told.replace(discriminant(&why)) != Some(discriminant(&why)) {
            (meeting.observer)(&Event::Waiting { place: address, left, why: Some(&why) });
        }
        rest(pause.min(left), meeting)?;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

fn attempt(
    call: CallKind,
    address: &str,
    credentials: &Credentials,
    left: Duration,
    meeting: &Meeting<'_>,
) -> Result<Connection> {
    let tcp = open(address, meeting.proxy, left, meeting.cancel)?;
    let patience = meeting.stall.min(left.max(LAST_CHANCE));
    let socket = tcp.handle().ok();
    let tls = credentials.calling(call, tcp)?.complete(patience, meeting.cancel)?;
    let (address, proxy) = (address.to_owned(), meeting.proxy.cloned());
    let caller = Redial { address, proxy, credentials: credentials.clone() };
    Ok(Connection { tls, parallel: Some(Parallel::of(true, caller)), socket })
}

/// Calls the same party again.
struct Redial {
    /// The address at which the other side listens.
    address: String,
    /// The proxy to dial through.
    proxy: Option<Proxy>,
    /// The credentials of the handshake.
    credentials: Credentials,
}

impl Connections for Redial {
    fn next(
        &mut self,
        patience: Duration,
        cancel: &CancelToken,
        is_there: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Connection> {
        let started = Instant::now();
        loop {
            let tcp = open(&self.address, self.proxy.as_ref(), patience, cancel)?;
            let socket = tcp.handle().ok();
            match self.credentials.calling(CallKind::Parallel, tcp)?.complete(patience, cancel) {
                // The other side is not expecting it yet.
                Err(Error::InARun) if started.elapsed() < patience => {
                    is_there()?;
                    thread::sleep(PARALLEL_PAUSE);
                }
                ended => return Ok(Connection { tls: ended?, parallel: None, socket }),
            }
        }
    }
}

/// Whether another attempt may succeed.
fn may_pass(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. }
            | Error::Proxy { .. }
            | Error::Closed { .. }
            | Error::Stalled { .. }
            | Error::Io { .. }
            | Error::InARun
            | Error::Later
            | Error::NoPlace
    )
}

/// The error after the time has run out.
fn given_up(last: Error, address: &str, after: Duration) -> Error {
    let address = address.to_owned();
    match last {
        Error::Unreachable { source, .. } => Error::Unreachable { address, after, source },
        Error::InARun | Error::Later | Error::NoPlace | Error::Proxy { .. } => last,
        last => Error::NotThrough { address, after, last: Box::new(last) },
    }
}
