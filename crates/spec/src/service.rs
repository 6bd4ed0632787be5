//! The specification of a service.

use std::time::Duration;

use crate::{
    form::basic::{Amount, File, Maybe, Seconds, Text, Whole, Word, Words},
    options::options,
};

options! {
    /// A service that answers the partners of all jobs of a project, as `vesica serve` does.
    pub struct Service in "" {
        /// The project file, which is read again when it changes [default: vesica.toml].
        "FILE" project: Maybe<File> = None;
        /// Listen at this address [default: the address in the agreements at which this side listens].
        "ADDR" listen: Maybe<Text> = None;
        /// The maximum number of concurrent runs; others wait for their turn, in order of arrival [default: one per
        /// processor].
        "N" runs: Maybe<Whole> = None;
        /// The maximum memory of all runs together, in equal parts, as in 2G [default: three quarters of what the
        /// machine, its control group or ulimit allow].
        "SIZE" memory: Maybe<Amount> = None;
        /// Answer health checks and show metrics (OpenMetrics) at this address of this machine, as in 127.0.0.1:9788,
        /// or at this path of a Unix socket.
        "PLACE" metrics: Maybe<Text> = None;
        /// The form of the log on standard error: text or json, a line for each event.
        "FORM" log: Word<LogForm> = LogForm::Text;
        /// When asked to stop, wait this long for runs to end.
        "SECONDS" grace: Seconds = Duration::from_secs(60);
        /// The longest wait for a partner that sends nothing while others wait for their turn.
        ///
        /// After that the partner loses its turn. It may take a second longer for every 10,000 bytes transferred, and
        /// time that this side spends computing does not count.
        "SECONDS" hold: Seconds = Duration::from_secs(60);
        /// The number of calls per minute and partner, after an initial burst of the same number.
        ///
        /// A partner that calls more often is asked to call again later, which its program does as long as its --wait
        /// allows.
        "N" partner_rate: Whole = 30;
    }
}

/// The form of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogForm {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl Words for LogForm {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::Text, "text", ""), (Self::Json, "json", "")]
    }
}
