//! `serve --list`: a published list, and answers to those who ask.

use std::{path::PathBuf, sync::Arc, thread};

use vesica_list_server::{Asset, Certificate, ClientLimits, Counts, Rate, SPACE, Serving, Tokens};
use vesica_net::CancelToken;

use super::{Log, metrics};
use crate::{exit::Failure, keygen, numbers};

#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// Serve the list in this directory, made by `vesica publish`, instead of jobs: its files, and answers to
    /// questions about keys
    #[arg(long, value_name = "DIR", conflicts_with_all = ["project", "runs", "memory"])]
    pub list: Option<PathBuf>,
    /// With --list: the publisher's identity, whose certificate the service shows. Clients who know the fingerprint
    /// accept it, browsers do not
    #[arg(long, value_name = "FILE", requires = "list")]
    identity: Option<PathBuf>,
    /// With --list: a certificate that browsers accept, with its chain, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["list", "tls_key"], conflicts_with = "identity")]
    tls_certificate: Option<PathBuf>,
    /// With --tls-certificate: its key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// With --list: no TLS, for a proxy on this machine that has it
    #[arg(long, requires = "list", conflicts_with_all = ["identity", "tls_certificate"])]
    no_tls: bool,
    /// With --list: a proxy says in X-Forwarded-For for whom it asks: the last address of the last
    /// such field is the client's
    #[arg(long, requires = "list")]
    proxied: bool,
    /// With --list: keys that one client may ask for in a minute
    #[arg(long, value_name = "N", default_value = "600", value_parser = numbers::number, requires = "list")]
    client_rate: u64,
    /// With --list: keys that one client may ask for at once, after a pause
    #[arg(long, value_name = "N", default_value = "4096", value_parser = numbers::number, requires = "list")]
    client_burst: u64,
    /// With --list: keys that all clients together may ask for in a minute
    #[arg(long, value_name = "N", default_value = "100000", value_parser = numbers::number, requires = "list")]
    rate: u64,
    /// With --list: keys that all clients together may ask for at once
    #[arg(long, value_name = "N", default_value = "100000", value_parser = numbers::number, requires = "list")]
    burst: u64,
    /// With --list: answer only clients with a token. The file has a line for each, with a name and the
    /// SHA-256 of the token; without a line it admits nobody [default: anybody; a client is an address]
    #[arg(long, value_name = "FILE", requires = "list")]
    clients: Option<PathBuf>,
    /// With --list: pages of this origin may ask, as in https://shop.example.org; * for all
    #[arg(long, value_name = "ORIGIN", requires = "list")]
    origin: Vec<String>,
    /// With --list: serve the files of a page in this directory too, such as those that `cargo xtask browser` builds;
    /// index.html is at /
    #[arg(long, value_name = "DIR", requires = "list")]
    demo: Option<PathBuf>,
}

/// Serves a list until it is asked to stop.
pub fn serve(
    args: &Args,
    (address, shown): (Option<&str>, Option<&str>),
    log: &Log,
    stop: &CancelToken,
) -> Result<(), Failure> {
    let Some(directory) = args.list.clone() else {
        return Err(Failure::bug("there is no list to serve"));
    };
    let failed = |error: vesica_list_server::TlsError| Failure::input(error.to_string());
    let certificate = match (&args.identity, &args.tls_certificate, &args.tls_key) {
        (Some(identity), _, _) => {
            let me = keygen::load(identity)?;
            Some(Certificate::of_identity(&me).map_err(failed)?)
        }
        (_, Some(chain), Some(key)) => Some(Certificate::from_files(chain, key).map_err(failed)?),
        _ if args.no_tls => None,
        _ => {
            let message = "say with --identity or --tls-certificate what the service shows, or --no-tls where a proxy does";
            return Err(Failure::usage(message));
        }
    };
    let address = address.ok_or_else(|| Failure::usage("say with --listen where to listen"))?;
    let limits = ClientLimits {
        client: Rate { a_minute: args.client_rate, at_once: args.client_burst },
        all: Rate { a_minute: args.rate, at_once: args.burst },
    };
    for (who, rate) in [("one client", limits.client), ("all clients together", limits.all)] {
        let days = time(rate.days(SPACE));
        let facts = [("who", who.into()), ("keys", SPACE.into()), ("time", days.into())];
        log.event("to ask for every key of a space takes", &facts);
    }
    let counts = Arc::new(Counts::default());
    let tokens = args.clients.as_ref().map(|path| Tokens::read(path)).transpose();
    let assets = args.demo.as_ref().map(|folder| Asset::of_folder(folder)).transpose();
    let assets = assets.map_err(|error| Failure::input(error.to_string()))?;
    let serving = Serving {
        directory,
        address: address.to_owned(),
        certificate,
        limits,
        tokens: tokens.map_err(|error| Failure::input(error.to_string()))?,
        origins: args.origin.clone(),
        is_proxied: args.proxied,
        threads: thread::available_parallelism().map_or(1, usize::from),
        patience: vesica_list_server::PATIENCE,
        assets: assets.unwrap_or_default(),
        counts: counts.clone(),
    };
    if let Some(place) = shown {
        let mut registry = metrics::registry();
        counts.register(&mut registry);
        metrics::publish(place, registry, || ())?;
    }
    let tell = |what: &'static str, facts: &[(&'static str, String)]| {
        let facts: Vec<_> = facts.iter().map(|(name, fact)| (*name, fact.clone().into())).collect();
        log.event(what, &facts);
    };
    vesica_list_server::serve(serving, stop, &tell)
        .map_err(|error| Failure::input(error.to_string()))
}

/// A time in plain words.
fn time(days: f64) -> String {
    match days {
        days if days >= 730.0 => format!("{:.0} years", days / 365.25),
        days if days >= 2.0 => format!("{days:.0} days"),
        days => format!("{:.1} hours", 24.0 * days),
    }
}
