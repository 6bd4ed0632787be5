//! Messages until the two sides have connected.

use std::{cell::Cell, time::Duration};

use vesica_net::{Error, connect::Event};

/// Callers about which a line is printed; there may be any number of callers.
const MOST_LINES: usize = 20;

/// A printer of events until the two sides have connected.
pub struct Teller {
    quiet: bool,
    /// Whether to print this side's address even if quiet: if the system chose the port, the user needs it for the
    /// other side.
    says_address: bool,
    /// The time for which this side waits for the other.
    wait: Duration,
    turned_away: Cell<usize>,
}

impl Teller {
    pub fn new(quiet: bool, says_address: bool, wait: Duration) -> Self {
        Self { quiet, says_address, wait, turned_away: Cell::new(0) }
    }

    pub fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Listening { address } if self.says_address || !self.quiet => {
                // Programs read the address from a line of its own.
                crate::say(&format!("listening on {address}"));
                if !self.quiet {
                    crate::say(&waits(self.wait));
                }
            }
            Event::Waiting { place, left, why } if !self.quiet => {
                crate::say(&waiting(place, *left, *why));
            }
            Event::TurnedAway { why } => self.turned_away(why),
            _ => {}
        }
    }

    fn turned_away(&self, why: &Error) {
        let count = self.turned_away.get() + 1;
        self.turned_away.set(count);
        if count <= MOST_LINES {
            crate::say(&format!("vesica: rejected a caller, and still waiting: {why}"));
        }
        if count == MOST_LINES {
            crate::say("vesica: further callers like this are rejected without a message");
        }
    }
}

/// Returns the event that this side waits for, and the time.
fn waiting(place: &str, left: Duration, why: Option<&Error>) -> String {
    let why = match why {
        None => return format!("{} in {place}", waits(left)),
        Some(Error::Unreachable { source, .. }) => {
            format!("nobody answers at {place} yet ({source})")
        }
        Some(Error::InARun) => {
            let other = "another process of this party may still be running";
            format!("the other side is already in a run with this party's identity ({other})")
        }
        Some(engaged @ (Error::Later | Error::NoPlace)) => engaged.to_string(),
        Some(error) => {
            format!("{place} takes connections, but the other side is not there yet ({error})")
        }
    };
    format!("{why}; {}", waits(left))
}

/// Returns the time for which this side still waits.
fn waits(left: Duration) -> String {
    format!("waiting up to {} s for the other side", left.as_secs_f64().ceil())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn waiting_names_the_place_and_the_time() {
        let said =
            |why: Option<Error>| waiting("x:1", Duration::from_millis(299_001), why.as_ref());
        assert_eq!(said(None), "waiting up to 300 s for the other side in x:1");
        let (address, source) = ("x:1".to_owned(), io::ErrorKind::ConnectionRefused.into());
        let nobody = Error::Unreachable { address, after: Duration::ZERO, source };
        let expected = "nobody answers at x:1 yet (connection refused); waiting up to 300 s for the other side";
        assert_eq!(said(Some(nobody)), expected);
        let in_a_run = said(Some(Error::InARun));
        assert!(in_a_run.starts_with("the other side is already in a run"), "{in_a_run}");
        assert!(
            in_a_run.ends_with("running); waiting up to 300 s for the other side"),
            "{in_a_run}"
        );
        let closed = Error::Closed { phase: "tls handshake" };
        assert!(
            said(Some(closed))
                .starts_with("x:1 takes connections, but the other side is not there")
        );
    }
}
