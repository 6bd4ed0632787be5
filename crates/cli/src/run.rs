//! `run`: this party's side of an intersection.

mod among;
mod table;

use std::{
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use vesica::{
    Class, Parties, Report, Role, Shortfall, Way,
    files::{Destination, JournalSecret, Protected, Resume},
    joint,
    partnership::Partnership,
    report::QueryResult,
    spec::{self, Around, Stamp},
};
use vesica_net::{
    CancelToken, Channel, Fingerprint, Identity,
    connect::{Event, Meeting},
};

use crate::{
    agreed, cancel,
    dpia::Assessed,
    exit::{self, Failure},
    flags::Flags,
    help, keygen,
    meet::Teller,
    progress::Show,
    project::{self, Project},
};

pub use self::{among::AmongRun, table::JobTable};

#[derive(clap::Args)]
pub struct Args {
    /// The job of vesica.toml to run; options replace its keys
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// The project file that has the job
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE", requires = "job", help_heading = "Parties and agreement")]
    project: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags<spec::Job>,
}

#[derive(clap::Args)]
pub struct PreviewArgs {
    /// Print a template for a data protection impact assessment
    ///
    /// It is Markdown, filled from the agreement or from the options: roles, data, what each side sends, learns and
    /// keeps, limits, security measures, residual risks. Text in square brackets is left to fill in.
    #[arg(long, help_heading = "Reports and messages", conflicts_with = "json")]
    dpia: bool,
    #[command(flatten)]
    pub run: Args,
}

/// A job that can be carried out.
pub struct Run {
    pub job: spec::Job,
    /// Files of the project that no result may replace.
    protected: Vec<Protected>,
    /// Whether it is one of several runs in this process.
    is_served: bool,
}

impl Args {
    /// Returns the named job, in which flags replace keys, or else the job of the flags. `command` is the name of the
    /// command.
    pub fn run(&self, command: &str) -> Result<Run, Failure> {
        let (mut job, protected) = match &self.job {
            Some(name) => {
                let project = Project::open(self.project.as_deref())?;
                (project.specified(name, self.flags.given.clone())?, project.protected(name))
            }
            None => {
                let names_something = ["identity", "input", "key"].map(|name| self.flags.has(name));
                if !names_something.contains(&true) && Path::new(project::FILE).exists() {
                    return Err(Project::open(None)?.without_job(command));
                }
                (self.flags.value()?, Vec::new())
            }
        };
        if let Some(option) = project::missing(&job) {
            let usage = help::usage(command).unwrap_or_default();
            let message = format!("--{option} is required. Usage:\n       {usage}");
            return Err(Failure::usage(message));
        }
        if job.connection.proxy.is_none() {
            self.flags.fall_back(&mut job)?;
        }
        Ok(Run { job, protected, is_served: false })
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let run = args.run("run")?;
    let (report, ended) = run.carried_out(&cancel, &mut Outgoing { run: &run, cancel: &cancel });
    run.show(&report);
    ended.unwrap_or_else(|panicked| panic::resume_unwind(panicked))?;
    match report.outcome.answer {
        Some(QueryResult::TooFew) => Err(Failure::too_few()),
        _ => Ok(()),
    }
}

/// Prints the disclosure of such a run, without contacting anybody.
pub fn preview(args: &PreviewArgs) -> Result<(), Failure> {
    let run = args.run.run("preview")?;
    let partnership = run.job.partnership(|| run.identity())?;
    let partnership = partnership.as_ref();
    if let Some(seat) = run.seat(partnership)? {
        return run.preview_among(&seat, partnership, args.dpia);
    }
    let summary = run.job.summary(partnership)?;
    if args.dpia {
        let assessed = Assessed {
            job: &run.job,
            me: run.identity()?.fingerprint(),
            partnership,
            offer: &run.job.offer(partnership)?,
            summary: &summary,
        };
        return crate::print_lines(&assessed.markdown());
    }
    if run.job.messages.json {
        return crate::print(&(agreed::summary_as_json(&summary)? + "\n"));
    }
    crate::print_lines(&agreed::summary_as_text(&summary))
}

/// Two parties before they meet.
pub struct Met<'a> {
    me: &'a Identity,
    peer: Fingerprint,
    partnership: Option<&'a Partnership>,
}

/// A way to the other parties of a run.
pub trait Meet {
    /// Returns this side's role and a channel to the other side.
    fn two(&mut self, met: &Met<'_>) -> Result<(Role, Channel), Failure>;

    /// Returns channels to all other parties.
    fn several(&mut self, run: &AmongRun<'_>) -> Result<joint::Met, Failure>;
}

/// The way that the job or the agreement names.
struct Outgoing<'a> {
    run: &'a Run,
    cancel: &'a CancelToken,
}

impl Meet for Outgoing<'_> {
    fn two(&mut self, met: &Met<'_>) -> Result<(Role, Channel), Failure> {
        self.run.meet(met, self.cancel)
    }

    fn several(&mut self, run: &AmongRun<'_>) -> Result<joint::Met, Failure> {
        run.meet()
    }
}

impl Run {
    /// Makes a job of a project a run under the agreement of this hash, with files that no result may replace.
    pub fn served(mut job: spec::Job, protected: Vec<Protected>, agreement_hash: String) -> Self {
        job.parties.agreement_hash = Some(agreement_hash);
        job.messages.quiet = true;
        Self { job, protected, is_served: true }
    }

    pub fn identity(&self) -> Result<Arc<Identity>, Failure> {
        let file = self.job.parties.identity.as_deref();
        Ok(keygen::load(file.ok_or(Failure::bug("a run has an identity"))?)?.into())
    }

    /// Carries out the run and makes its report, which is written to its file, if it has one. A panic is the defect
    /// of one run.
    pub fn carried_out(
        &self,
        cancel: &CancelToken,
        meet: &mut dyn Meet,
    ) -> (Report, thread::Result<Result<(), Failure>>) {
        let mut report = Report::begin();
        let mut report_file = None;
        let attempt = || self.attempt(cancel, meet, &mut report, &mut report_file);
        let ended = panic::catch_unwind(AssertUnwindSafe(attempt));
        match &ended {
            // The result is in place, so the report is of a run that succeeded.
            Ok(Err(failure)) if failure.code != exit::UNCONFIRMED => {
                report.fail(failure.class(), failure.message.clone());
            }
            Ok(_) => {}
            Err(_) => report.fail(Class::Bug, "internal error".to_owned()),
        }
        // A run that succeeds has written it already.
        if let (Some(_), Some(path)) = (&report.failure, report_file)
            && let Err(error) = report.stage(&path).and_then(|staged| staged.commit())
        {
            crate::say(&format!("vesica: warning: the report cannot be written: {error}"));
        }
        (report, ended)
    }

    /// Carries out the run. `report_file` is set once a report may be written there.
    fn attempt(
        &self,
        cancel: &CancelToken,
        meet: &mut dyn Meet,
        report: &mut Report,
        report_file: &mut Option<PathBuf>,
    ) -> Result<(), Failure> {
        let mut spec = self.job.clone();
        spec.stamp(&Stamp::now()?);
        let journal = spec.resources.resume.take();
        let mut job = self.to_run(&spec)?;
        job.check_files()?;
        report_file.clone_from(&job.report);
        if job.partnership.is_none() {
            job.check()?;
        }
        let me = self.identity()?;
        job.resume = journal.map(|journal| Resume { journal, secret: JournalSecret::of(&me) });
        job.check_files()?;
        if let Some(seat) = job.seat.clone() {
            let partnership = job.partnership.clone();
            let run = AmongRun { spec: &spec, seat: &seat, me: &me, partnership, cancel };
            return run.attempt(job, meet, report);
        }
        let partnership = job.partnership.clone();
        let partnership = partnership.as_ref();
        let peer = spec.peer(me.fingerprint(), partnership)?;
        let met = Met { me: &me, peer, partnership };
        let (my_print, its_print) = (me.fingerprint().to_string(), peer.to_string());
        report.fingerprints.me = Some(my_print.clone());
        report.fingerprints.peer = Some(its_print.clone());
        let resume = job.resume.clone();
        let prints = job.output.as_ref().and_then(Destination::path) == Some(Path::new("-"));
        let job = job.prepare_unless(cancel)?;
        let rng = &mut vesica::system_rng()?;
        let (role, channel) = meet.two(&met)?;
        let parties = Parties { role, me: my_print, peer: its_print };
        let mut channel = limited(channel, &spec.connection, cancel);
        let quiet = spec.messages.quiet;
        let observer = Show::from(spec.messages.progress).observer(quiet, prints);
        let ended = vesica::run(job, &parties, &mut channel, observer, rng, report);
        confirmed(&ended.map_err(|error| interrupted(error, resume.filter(|_| !quiet)))?)
    }

    fn to_run(&self, spec: &spec::Job) -> Result<vesica::Job, Failure> {
        let json = spec.messages.json;
        let stdout = Some(Path::new("-"));
        if json
            && [spec.outputs.output.as_deref(), spec.messages.report.as_deref()].contains(&stdout)
        {
            let message = "--json prints the report on standard output: name a file for the other output, not -";
            return Err(Failure::usage(message));
        }
        let figures =
            vesica::files::figures_file().map(|path| Protected::new("the calibration", path));
        let identity =
            spec.parties.identity.as_ref().map(|path| Protected::new("the identity", path));
        let protected = identity.into_iter().chain(figures).chain(self.protected.iter().cloned());
        let partnership = spec.partnership(|| self.identity())?;
        let seat = self.seat(partnership.as_ref())?;
        let job = spec.to_run(Around {
            partnership,
            seat,
            figures: vesica::files::figures()?,
            protected: protected.collect(),
            shares_memory: self.is_served,
            // With --json it is in the report.
            number: (!json).then(|| Path::new("-").into()),
            ..Around::default()
        })?;
        if spec.outputs.output.is_some() && job.output.is_none() && !spec.messages.quiet {
            crate::say("vesica: note: this side does not learn the result; --output is not used");
        }
        Ok(job)
    }

    /// Returns a channel to the other side, by the way that the job or the agreement names.
    fn meet(&self, met: &Met<'_>, cancel: &CancelToken) -> Result<(Role, Channel), Failure> {
        let way = self.job.way(met.me.fingerprint(), met.partnership)?;
        let connection = &self.job.connection;
        let chosen_port = matches!(&way, Way::Listen(address) if address.ends_with(":0"));
        let teller = Teller::new(self.job.messages.quiet, chosen_port, connection.wait);
        let tell = |event: &Event<'_>| teller.tell(event);
        let meeting = meeting(met.me, &met.peer, connection, cancel, &tell);
        Ok(way.meet(&meeting, met.partnership)?)
    }

    /// Prints the outcome, in words or as JSON.
    fn show(&self, report: &Report) {
        if self.job.messages.json {
            let text = report.to_json().map_err(Failure::from);
            if let Err(failure) = text.and_then(|text| crate::print(&text)) {
                let message = failure.message;
                crate::say(&format!("vesica: warning: the report cannot be shown: {message}"));
            }
        } else if report.failure.is_none() && !self.job.messages.quiet {
            // Nobody needs to hear where a number goes if nobody named a file for it.
            let output = self.job.outputs.output.as_ref().and(report.output.as_deref());
            report.summary(output.map(Path::new)).iter().for_each(|line| crate::say(line));
        }
    }
}

/// Returns the way in which this side meets `peer`, with the limits of the connection.
pub fn meeting<'m>(
    me: &'m Identity,
    peer: &'m Fingerprint,
    connection: &'m spec::Connection,
    cancel: &'m CancelToken,
    observer: &'m dyn Fn(&Event<'_>),
) -> Meeting<'m> {
    Meeting {
        me,
        peer,
        wait: connection.wait,
        stall: connection.stall_timeout,
        proxy: connection.proxy.as_ref(),
        cancel,
        observer,
    }
}

/// Sets the limits of a connection on a channel.
pub fn limited(channel: Channel, connection: &spec::Connection, cancel: &CancelToken) -> Channel {
    channel
        .with_stall_timeout(connection.stall_timeout)
        .with_deadline(connection.deadline)
        .with_cancel_token(cancel.clone())
}

/// Makes a failure of the error of a run, with a hint if it can be resumed.
fn interrupted(error: vesica::Error, resume: Option<Resume>) -> Failure {
    let resume = resume.filter(|_| is_of_connection(&error));
    let hint = resume.and_then(|resume| resume.interrupted());
    Failure { hint: hint.map(|hint| hint.to_string()), ..error.into() }
}

/// Returns whether a connection ended the run.
fn is_of_connection(error: &vesica::Error) -> bool {
    match error {
        vesica::Error::Net(_) | vesica::Error::Lost { .. } => true,
        vesica::Error::Party { error, .. } => is_of_connection(error),
        _ => false,
    }
}

/// Fails if a run that has succeeded left something undone.
fn confirmed(shortfalls: &[Shortfall]) -> Result<(), Failure> {
    if shortfalls.is_empty() { Ok(()) } else { Err(Failure::unconfirmed(shortfalls)) }
}
