//! A run among several parties.

use std::path::Path;

use vesica::{
    Report,
    files::Destination,
    joint::{self, Seat},
    partnership::Partnership,
    spec,
};
use vesica_net::{CancelToken, Identity, connect::Event};

use super::{Run, confirmed, interrupted, limited};
use crate::{agreed, exit::Failure, meet::Teller, progress::Show};

impl Run {
    /// Returns this party's place, if the run is among several.
    pub(super) fn seat(&self, partnership: Option<&Partnership>) -> Result<Option<Seat>, Failure> {
        match self.job.parties.parties.is_empty() && partnership.is_none() {
            true => Ok(None),
            false => Ok(self.job.seat(self.identity()?.fingerprint(), partnership)?),
        }
    }

    /// Carries out the run with all other parties.
    pub(super) fn attempt_among(
        &self,
        spec: &spec::Job,
        job: vesica::Job,
        seat: &Seat,
        me: &Identity,
        cancel: &CancelToken,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let print = me.fingerprint();
        report.fingerprints.me = Some(print.to_string());
        let prints = job.output.as_ref().and_then(Destination::path) == Some(Path::new("-"));
        let partnership = job.partnership.clone();
        let partnership = partnership.as_ref();
        let resume = job.resume.clone();
        let job = job.prepare_unless(cancel)?;
        let rng = &mut vesica::system_rng()?;
        let (connection, members) = (&spec.connection, spec.members(partnership));
        let chosen_port = connection.listen.as_ref().is_some_and(|at| at.ends_with(":0"));
        let quiet = spec.messages.quiet;
        let teller = Teller::new(quiet, chosen_port, connection.wait);
        let tell = |event: &Event<'_>| teller.tell(event);
        let meeting = super::meeting(me, &print, connection, cancel, &tell);
        let mut met = spec.venue(partnership).meet(seat, &members, &meeting, partnership)?;
        let channels = met.channels.into_iter();
        met.channels = channels.map(|channel| limited(channel, connection, cancel)).collect();
        let observer = Show::from(spec.messages.progress).observer(quiet, prints);
        let ended = joint::run(job, seat, &mut met.channels, observer, rng, report);
        met.part();
        confirmed(&ended.map_err(|error| interrupted(error, resume.filter(|_| !quiet)))?)
    }

    /// Prints the disclosure of such a run among several parties, without contacting anybody.
    pub(super) fn preview_among(
        &self,
        seat: &Seat,
        partnership: Option<&Partnership>,
        dpia: bool,
    ) -> Result<(), Failure> {
        if dpia {
            let message = "--dpia is for runs of two parties; without it, vesica preview says what each party learns";
            return Err(Failure::usage(message));
        }
        if partnership.is_some() {
            let summary = self.job.summary(partnership)?;
            if self.job.messages.json {
                return crate::print(&(agreed::summary_as_json(&summary)? + "\n"));
            }
            return crate::print_lines(&agreed::summary_as_text(&summary));
        }
        let learned = self.job.said_among(seat)?;
        if self.job.messages.json {
            let text = serde_json::to_string_pretty(&learned);
            let text = text.map_err(|_| Failure::bug("a disclosure has JSON"))?;
            return crate::print(&(text + "\n"));
        }
        crate::print_lines(&[learned.me, learned.peer, learned.assuming].join("\n"))
    }
}
