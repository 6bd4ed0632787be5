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

use super::{Meet, Run, confirmed, interrupted, limited};
use crate::{agreed, exit::Failure, meet::Teller, progress::Show};

/// A run among several parties that is to be carried out.
pub struct AmongRun<'a> {
    pub spec: &'a spec::Job,
    pub seat: &'a Seat,
    pub me: &'a Identity,
    pub partnership: Option<Partnership>,
    pub cancel: &'a CancelToken,
}

impl AmongRun<'_> {
    /// Connects this party with all others, as the job or its agreement says.
    pub fn meet(&self) -> Result<joint::Met, Failure> {
        let Self { spec, seat, me, partnership, cancel } = self;
        let partnership = partnership.as_ref();
        let (connection, members) = (&spec.connection, spec.members(partnership));
        let chosen_port = connection.listen.as_ref().is_some_and(|at| at.ends_with(":0"));
        let teller = Teller::new(spec.messages.quiet, chosen_port, connection.wait);
        let tell = |event: &Event<'_>| teller.tell(event);
        let print = me.fingerprint();
        let meeting = super::meeting(me, &print, connection, cancel, &tell);
        Ok(spec.venue(partnership).meet(seat, &members, &meeting, partnership)?)
    }

    /// Carries out the run with all other parties.
    pub(super) fn attempt(
        &self,
        job: vesica::Job,
        meet: &mut dyn Meet,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let Self { spec, seat, me, cancel, .. } = self;
        report.fingerprints.me = Some(me.fingerprint().to_string());
        let prints = job.output.as_ref().and_then(Destination::path) == Some(Path::new("-"));
        let resume = job.resume.clone();
        let job = job.prepare_unless(cancel)?;
        let rng = &mut vesica::system_rng()?;
        let mut met = meet.several(self)?;
        let channels = met.channels.into_iter();
        met.channels = channels.map(|channel| limited(channel, &spec.connection, cancel)).collect();
        let quiet = spec.messages.quiet;
        let observer = Show::from(spec.messages.progress).observer(quiet, prints);
        let ended = joint::run(job, seat, &mut met.channels, observer, rng, report);
        met.part();
        confirmed(&ended.map_err(|error| interrupted(error, resume.filter(|_| !quiet)))?)
    }
}

impl Run {
    /// Returns this party's place, if the run is among several.
    pub(super) fn seat(&self, partnership: Option<&Partnership>) -> Result<Option<Seat>, Failure> {
        match self.job.parties.parties.is_empty() && partnership.is_none() {
            true => Ok(None),
            false => Ok(self.job.seat(self.identity()?.fingerprint(), partnership)?),
        }
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
