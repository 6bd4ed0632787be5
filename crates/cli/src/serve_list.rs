//! `serve-list`: a service of a published list, with answers to queries.

use std::{sync::Arc, thread};

use vesica::spec;
use vesica_list_server::{Asset, Certificate, ClientLimits, Counts, Rate, SPACE, Serving, Tokens};

use crate::{
    cancel,
    exit::Failure,
    flags::{Flags, required},
    keygen,
    log::Log,
    metrics,
};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: Flags<spec::ListService>,
}

/// Serves a list until it is asked to stop.
pub fn serve_list(args: &Args) -> Result<(), Failure> {
    let spec = args.service.value()?;
    let service = &*spec.service;
    let log = Log::new(service.log);
    let stop = cancel::on_signal_within(service.grace)?;
    let directory = required(spec.list.list, &["list"], "which list to serve")?;
    let failed = |error: vesica_list_server::TlsError| Failure::input(error.to_string());
    let shown = &spec.certificate;
    let certificate = match (&shown.identity, &shown.tls_certificate, &shown.tls_key) {
        (Some(identity), _, _) => {
            let me = keygen::load(identity)?;
            Some(Certificate::of_identity(&me).map_err(failed)?)
        }
        (_, Some(chain), Some(key)) => Some(Certificate::from_files(chain, key).map_err(failed)?),
        _ if shown.no_tls => None,
        _ => {
            let message = "name the certificate of the service with --identity or --tls-certificate, or say --no-tls \
                           if a proxy has one";
            return Err(Failure::usage(message));
        }
    };
    let address = required(service.listen.clone(), &["listen"], "where to listen")?;
    let clients = &spec.clients;
    let limits = ClientLimits {
        client: Rate { a_minute: clients.client_rate, at_once: clients.client_burst },
        all: Rate { a_minute: clients.rate, at_once: clients.burst },
    };
    for (who, rate) in [("one client", limits.client), ("all clients together", limits.all)] {
        let days = time(rate.days(SPACE));
        let facts = [("who", who.into()), ("keys", SPACE.into()), ("time", days.into())];
        log.event("to ask for every key of a space takes", &facts);
    }
    let counts = Arc::new(Counts::default());
    let tokens = clients.clients.as_ref().map(|path| Tokens::read(path)).transpose();
    let assets = spec.list.demo.as_ref().map(|folder| Asset::of_folder(folder)).transpose();
    let assets = assets.map_err(|error| Failure::input(error.to_string()))?;
    let serving = Serving {
        directory,
        address,
        certificate,
        limits,
        tokens: tokens.map_err(|error| Failure::input(error.to_string()))?,
        origins: spec.list.origin,
        is_proxied: shown.proxied,
        threads: thread::available_parallelism().map_or(1, usize::from),
        patience: vesica_list_server::PATIENCE,
        assets: assets.unwrap_or_default(),
        counts: counts.clone(),
    };
    if let Some(place) = &service.metrics {
        let mut registry = metrics::registry();
        counts.register(&mut registry);
        metrics::publish(place, registry, || ())?;
    }
    let tell = |what: &'static str, facts: &[(&'static str, String)]| {
        let facts: Vec<_> = facts.iter().map(|(name, fact)| (*name, fact.clone().into())).collect();
        log.event(what, &facts);
    };
    vesica_list_server::serve(serving, &stop, &tell)
        .map_err(|error| Failure::input(error.to_string()))
}

/// Returns a time in plain words.
fn time(days: f64) -> String {
    match days {
        days if days >= 730.0 => format!("{:.0} years", days / 365.25),
        days if days >= 2.0 => format!("{days:.0} days"),
        days => format!("{:.1} hours", 24.0 * days),
    }
}
