//! A run among several parties.

mod meet;

use std::{path::Path, sync::Arc};

use rand::CryptoRng;
use vesica_core::{
    error::{Class, Error, Result},
    observe::Observer,
};
use vesica_net::{AbortReason, Channel, Mesh};
use vesica_table::destination::Destination;

pub use self::meet::{Met, ServedParties, Venue};

use crate::{
    job::{self, Ready},
    report::Report,
    seat::Seat,
    session::Others,
    shortfall::Shortfall,
    standing::Standing,
};

/// Runs the job with all other parties, to which these channels lead in the order of their numbers. Otherwise as
/// [`job::run`].
///
/// # Errors
/// See [`Error`].
pub fn run(
    job: Ready,
    seat: &Seat,
    channels: &mut [Channel],
    observer: Arc<dyn Observer>,
    rng: &mut (dyn CryptoRng + Send),
    report: &mut Report,
) -> Result<Vec<Shortfall>> {
    let Seat { cast, me } = seat;
    let parties = cast.sides(*me);
    report.set_parties(&parties);
    report.set_seat(seat);
    report.output =
        job.output().and_then(Destination::path).map(|path: &Path| path.display().to_string());
    report.record = job.record().map(|path: &Path| path.display().to_string());
    let (standing, ended) = match Standing::new(job.partnership(), job.resume()) {
        Ok(standing) => {
            let others = Others::Circle(cast, Mesh::new(*me, &mut *channels));
            let observer = observer.clone();
            let ended = job::attempt(job, &parties, others, observer, rng, report, &standing);
            (Some(standing), ended)
        }
        Err(error) => (None, Err(error)),
    };
    let mut mesh = Mesh::new(*me, channels);
    let ended = ended.map_err(|error| leave(&mut mesh, error, seat));
    if let Err(error) = &ended {
        if let Some(Err(unnoted)) = standing.map(|standing| standing.failed(error)) {
            observer.warning(&unnoted.to_string());
        }
        report.set_costs(mesh.to(cast.partner(*me)).meter());
        report.fail(error.class(), error.to_string());
    }
    ended
}

/// Shows the parties that are left why this one stops, and attributes its error to the party that is gone.
fn leave(mesh: &mut Mesh<'_>, error: Error, seat: &Seat) -> Error {
    let gone = mesh.gone();
    if let Some(reason) = reason(&error, gone) {
        mesh.abort(reason);
    }
    named(error, gone, seat)
}

/// Returns the reason to give to the parties that are left.
fn reason(error: &Error, gone: Option<usize>) -> Option<AbortReason> {
    let is_lost = error.class() == Class::Network;
    let missing = gone.filter(|_| is_lost).and_then(|party| u8::try_from(party).ok());
    let of_party = missing.map(AbortReason::Missing);
    // The others wait for this party, too, if the one that is lost gave it a reason.
    error.abort_reason().or(of_party).or(is_lost.then_some(AbortReason::Internal))
}

/// Attributes an error of a connection to the party that is gone.
fn named(error: Error, gone: Option<usize>, Seat { cast, .. }: &Seat) -> Error {
    let Some(gone) = gone else { return error };
    match error {
        Error::Net(vesica_net::Error::Aborted { reason: AbortReason::Missing(party), .. })
            if usize::from(party) < cast.parties.len() =>
        {
            let party = cast.name(party.into()).to_owned();
            Error::Lost { by: cast.name(gone).to_owned(), party }
        }
        Error::Net(vesica_net::Error::Cancelled { .. }) => error,
        Error::Net(_) => error.of_party(cast.name(gone)),
        error => error,
    }
}

#[cfg(test)]
mod tests;
