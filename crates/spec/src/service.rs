//! The specifications of services.

use std::time::Duration;

use crate::{
    form::basic::{Amount, File, Flag, Items, Maybe, Seconds, Text, Whole, Word, Words},
    options::{options, sections},
    selection::selection,
};

options! {
    /// A service that answers the partners of all jobs of a project, as `vesica serve` does.
    pub struct Service in "" {
        /// The project file, which is read again when it changes.
        ///
        /// [default: vesica.toml]
        "FILE" project: Maybe<File> = None;
        /// Listen at this address.
        ///
        /// [default: where the agreements say that this side listens]
        "ADDR" listen: Maybe<Text> = None;
        /// The maximum number of concurrent runs.
        ///
        /// Others wait for their turn, in order of arrival [default: one per processor].
        "N" runs: Maybe<Whole> = None;
        /// The maximum memory of all runs together, as in 2G.
        ///
        /// Each has an equal part [default: three quarters of what the machine, its control group or ulimit allow].
        "SIZE" memory: Maybe<Amount> = None;
        /// Show health and metrics at this address, as in 127.0.0.1:9788.
        ///
        /// The address is one of this machine, or the path of a Unix socket. The form of the metrics is OpenMetrics.
        "PLACE" metrics: Maybe<Text> = None;
        /// The form of the log on standard error: text or json.
        ///
        /// Each event has a line.
        "FORM" log: Word<LogForm> = LogForm::Text;
        /// When asked to stop, wait this long for runs to end.
        "SECONDS" grace: Seconds = Duration::from_secs(60);
        /// The longest wait for a silent partner while others wait.
        ///
        /// After that the partner loses its turn. It may take a second longer for every 10,000 bytes transferred, and
        /// time that this side spends computing does not count.
        "SECONDS" hold: Seconds = Duration::from_secs(60);
        /// Calls of one partner per minute, after as many at once.
        ///
        /// A partner that calls more often is asked to call again later, which its program does as long as its --wait
        /// allows.
        "N" partner_rate: Whole = 30;
    }
}

sections! {
    /// A service of a published list, as `vesica serve-list` is one.
    pub struct ListService {
        /// The list, and the pages beside it.
        list: ServedList,
        /// The certificate.
        certificate: ServedCertificate,
        /// The limits on clients.
        clients: ClientLimits,
        /// The service.
        service: ListServing,
    }
}

options! {
    /// The list that a service has, and the pages beside it.
    pub struct ServedList in "List" {
        /// The directory of the list, made by `vesica publish`.
        "DIR" list: Maybe<File> = None;
        /// Pages of this origin may ask, as in https://shop.example.org.
        ///
        /// * is for all. It may be given more than once.
        "ORIGIN" origin: Items<Text> = Vec::new();
        /// Serve the files of a page in this directory too.
        ///
        /// Such as those that `cargo xtask browser` builds; index.html is at /.
        "DIR" demo: Maybe<File> = None;
    }
}

options! {
    /// The certificate of a service.
    pub struct ServedCertificate in "Certificate" {
        /// The publisher's identity, whose certificate the service shows.
        ///
        /// Clients that know the fingerprint accept it; browsers do not.
        "FILE" identity: Maybe<File> = None;
        /// A certificate that browsers accept, with its chain, in PEM.
        "FILE" tls_certificate: Maybe<File> = None;
        /// The key of --tls-certificate, in PEM.
        "FILE" tls_key: Maybe<File> = None;
        /// No TLS, for a proxy on this machine that has it.
        "" no_tls: Flag = false;
        /// A proxy names the client in X-Forwarded-For.
        ///
        /// The last address of the last such field is the client's.
        "" proxied: Flag = false;
    }
}

options! {
    /// The limits on the clients of a list.
    pub struct ClientLimits in "Clients" {
        /// Keys that one client may ask for in a minute.
        "N" client_rate: Whole = 600;
        /// Keys that one client may ask for at once, after a pause.
        "N" client_burst: Whole = 4096;
        /// Keys that all clients together may ask for in a minute.
        "N" rate: Whole = 100_000;
        /// Keys that all clients together may ask for at once.
        "N" burst: Whole = 100_000;
        /// Answer only clients with a token of this file.
        ///
        /// The file has a line for each, with a name and the SHA-256 of the token; without a line it admits nobody
        /// [default: anybody; a client is an address].
        "FILE" clients: Maybe<File> = None;
    }
}

selection! {
    /// The options that both services have.
    pub struct ListServing of Service { "listen", "metrics", "log", "grace" }
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
