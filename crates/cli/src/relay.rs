//! `relay`: a meeting place for parties who can both only dial out.

use std::time::Duration;

use vesica_net::{
    Fingerprint,
    relay::{Event, Limits, Relay},
};

use crate::{
    cancel,
    exit::Failure,
    memory, numbers, run,
    serve::{Form, Log},
};

#[derive(clap::Args)]
pub struct Args {
    /// Listen at this address, as in 0.0.0.0:7799
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// The fingerprints of those who may use the relay
    #[arg(long, value_name = "FINGERPRINT", required = true, num_args = 1..)]
    admit: Vec<Fingerprint>,
    /// The most pairs at a time
    #[arg(long, value_name = "N", default_value = "64", value_parser = numbers::number)]
    pairs: u64,
    /// The most bytes of a pair, both ways together, as in 50G
    #[arg(long, value_name = "SIZE", default_value = "1T", value_parser = memory::amount)]
    quota: u64,
    /// How long a party may wait for another
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = run::seconds)]
    wait: Duration,
    /// How long a pair may be silent
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = run::seconds)]
    idle: Duration,
    /// How to write what happens to standard error: text or json, a line for each event
    #[arg(long, value_enum, default_value = "text")]
    log: Form,
}

pub fn relay(args: &Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let limits = Limits {
        admitted: args.admit.iter().copied().collect(),
        pairs: args.pairs.min(1 << 14) as usize,
        bytes: args.quota,
        wait: args.wait,
        idle: args.idle,
    };
    let form = args.log;
    let relay = Relay::bind(&args.listen, limits, move |event| tell(Log::new(form), event))?;
    let address = relay.address().map_err(|_| Failure::bug("a listener has an address"))?;
    Log::new(form).event("listening", &[("address", &address.to_string())]);
    relay.run(&cancel);
    Log::new(form).event("stopped", &[]);
    Ok(())
}

fn tell(log: Log, event: &Event) {
    match event {
        Event::Waits { party } => log.event("waits", &[("party", &party.to_string())]),
        Event::Met { parties: [one, other] } => {
            log.event("met", &[("party", &one.to_string()), ("other party", &other.to_string())]);
        }
        Event::Parted { parties: [one, other], bytes } => log.event(
            "parted",
            &[
                ("party", &one.to_string()),
                ("other party", &other.to_string()),
                ("bytes", &bytes.to_string()),
            ],
        ),
        Event::TurnedAway { why } => log.event("turned away", &[("why", why)]),
        _ => {}
    }
}
