//! `relay`: a meeting place for parties who can both only dial out.

use std::{net::IpAddr, sync::Arc, time::Duration};

use vesica::spec::LogForm;
use vesica_net::{
    Fingerprint,
    relay::{Event, Relay, RelayLimits, RelayRefusal},
};

use crate::{
    cancel,
    exit::Failure,
    flags,
    log::{Counted, Log},
    numbers,
};

#[derive(clap::Args)]
pub struct Args {
    /// Listen at this address, as in 0.0.0.0:7799
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// The addresses by which parties reach the relay
    ///
    /// As in relay.example.org:7799. A party that names another one is turned away [default: the address of --listen,
    /// which then names a host].
    #[arg(long, value_name = "ADDR", num_args = 1..)]
    address: Vec<String>,
    /// The fingerprints of the parties that may use the relay
    #[arg(long, value_name = "FINGERPRINT", required = true, num_args = 1..)]
    admit: Vec<Fingerprint>,
    /// The most pairs at a time
    #[arg(long, value_name = "N", default_value = "64", value_parser = numbers::number)]
    pairs: u64,
    /// The most pairs of one party at a time
    ///
    /// It is also the most other parties for which one may wait.
    #[arg(long, value_name = "N", default_value = "8", value_parser = numbers::number)]
    party_pairs: u64,
    /// The most bytes of a pair, both ways together, as in 50G
    #[arg(long, value_name = "SIZE", default_value = "1T", value_parser = numbers::amount)]
    quota: u64,
    /// The longest wait of a party for another
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = numbers::seconds)]
    wait: Duration,
    /// The longest silence of a pair
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = numbers::seconds)]
    idle: Duration,
    /// The form of the log on standard error: text or json
    ///
    /// Each event has a line.
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true, value_parser = flags::word::<LogForm>())]
    log: LogForm,
}

pub fn relay(args: &Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let most = |number: u64| number.min(1 << 14) as usize;
    let limits = RelayLimits {
        admitted: args.admit.iter().copied().collect(),
        addresses: addresses(args)?,
        pairs: most(args.pairs),
        of_one: most(args.party_pairs),
        bytes: args.quota,
        wait: args.wait,
        idle: args.idle,
    };
    let log = Log::new(args.log);
    let counted = Arc::new(Counted::new(log));
    let events = counted.clone();
    let relay = Relay::bind(&args.listen, limits, move |event| tell(&events, event))?;
    let address = relay.address().map_err(|_| Failure::bug("a listener has an address"))?;
    log.event("listening", &[("address", address.to_string().into())]);
    relay.run(&cancel);
    counted.end();
    log.event("stopped", &[]);
    Ok(())
}

/// Returns the addresses by which parties reach the relay.
fn addresses(args: &Args) -> Result<Vec<String>, Failure> {
    if !args.address.is_empty() {
        return Ok(args.address.clone());
    }
    let host = args.listen.rsplit_once(':').map_or("", |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_any = host.parse().is_ok_and(|host: IpAddr| host.is_unspecified());
    if host.is_empty() || is_any {
        let message = "name the addresses by which parties reach the relay with --address, as in relay.example.org:7799";
        return Err(Failure::usage(message));
    }
    Ok(vec![args.listen.clone()])
}

/// An event, without its numbers.
#[derive(PartialEq, Eq, Hash)]
enum Kind {
    Waits(Fingerprint),
    Met([Fingerprint; 2]),
    Parted([Fingerprint; 2]),
    TurnedAway(RelayRefusal),
}

fn tell(log: &Counted<Kind>, event: &Event) {
    let party = |name, party: &Fingerprint| (name, party.to_string().into());
    let parties =
        |[one, other]: &[Fingerprint; 2]| vec![party("party", one), party("other party", other)];
    match event {
        Event::Waits { party: who } => {
            log.event(Kind::Waits(*who), "waits", vec![party("party", who)]);
        }
        Event::Met { parties: who } => log.event(Kind::Met(*who), "met", parties(who)),
        Event::Parted { parties: who, bytes } => {
            let mut facts = parties(who);
            facts.push(("bytes", (*bytes).into()));
            log.event(Kind::Parted(*who), "parted", facts);
        }
        Event::TurnedAway { why } => {
            log.event(Kind::TurnedAway(*why), "turned away", vec![("why", why.to_string().into())]);
        }
        Event::Second => log.look(),
        _ => {}
    }
}
