//! A service that waits for one partner and answers run after run on the same table. The partner learns the number of
//! shared keys, but only if it is at least 100; this side learns the size of the partner's set.
//!
//! `cargo run -p vesica --example service -- 0.0.0.0:7788 me.identity PEER-FINGERPRINT customers.csv reports`
//!
//! The partner runs `vesica run --connect … --answer count --learns me --normalize email`.

use std::{env, error::Error, fs, path::Path, time::Duration};

use vesica::{Job, Learns, Normalize, Offer, Query, Report, Role, Runner, Source};
use vesica_net::{
    CancelToken, Fingerprint, Identity,
    connect::{self, Meeting},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, identity, peer, table, reports] = &arguments[..] else {
        return Err("service ADDRESS IDENTITY PEER TABLE REPORTS".into());
    };
    let me = Identity::from_pem(&fs::read_to_string(identity)?)?;
    let (peer, cancel): (Fingerprint, _) = (peer.parse()?, CancelToken::default());
    let observer = |event: &connect::Event<'_>| eprintln!("{event:?}");
    for number in 1.. {
        let (wait, stall) = (Duration::from_secs(86_400), Duration::from_secs(60));
        let meeting = Meeting {
            me: &me,
            peer: &peer,
            wait,
            stall,
            proxy: None,
            cancel: &cancel,
            observer: &observer,
        };
        let mut channel = connect::listen(address, &meeting)?.into_channel()?;
        let query = Query::COUNT;
        let offer =
            Offer { query, minimum: 100, ..Offer::new(vec![Normalize::EMAIL], Learns::Peer) };
        let job = Job::new(Source::from_path(table), ["email"], offer);
        let runner =
            Runner::new(job, Role::B).between(me.fingerprint().to_string(), peer.to_string());
        // A failed run has a report too, and the service continues.
        let mut report = Report::begin();
        if let Err(error) = runner.run_into(&mut report, &mut channel) {
            report.fail(error.class(), error.to_string());
        }
        report.stage(&Path::new(reports).join(format!("{number}.json")))?.commit()?;
    }
    Ok(())
}
