//! A minimal frontend: it reads a job in JSON, runs it, and answers with a report or a fault in JSON. A service over
//! HTTP or a binding to another language is a wrapper around the function `answer`. docs/guides/embedding.md describes
//! it.
//!
//! `cargo run -p vesica --example json_job < job.json`

use std::{
    io::{self, Read},
    sync::Arc,
};

use serde_json::{Value, json};
use vesica::{
    Class, NoObserver, Parties, Report,
    files::{figures, load_identity},
    spec::{Around, Error, Fault, Job, Result, Stamp},
};
use vesica_net::{CancelToken, connect::Meeting};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    println!("{}", answer(&text, &CancelToken::default()));
    Ok(())
}

/// Runs a job in JSON, and returns the report or the fault in JSON.
fn answer(text: &str, cancel: &CancelToken) -> Value {
    let job: Job = match serde_json::from_str(text) {
        Ok(job) => job,
        Err(fault) => return json!({ "class": Class::Usage, "fault": fault.to_string() }),
    };
    let mut report = Report::begin();
    match run(job, cancel, &mut report) {
        Ok(shortfalls) => json!({ "report": report, "shortfalls": shortfalls }),
        // A program matches the options, and a person reads the message.
        Err(Error::Fault(fault)) => {
            let words = fault.words(|option| format!("`{option}`"));
            json!({ "class": Class::Usage, "fault": words, "options": fault.options() })
        }
        Err(error) => {
            report.fail(error.class(), error.to_string());
            json!({ "class": error.class(), "fault": error.to_string(), "report": report })
        }
    }
}

/// Runs a job, and returns the faults that occurred after the result was complete.
fn run(mut job: Job, cancel: &CancelToken, report: &mut Report) -> Result<Vec<String>> {
    job.stamp(&Stamp::now()?);
    let file = job.parties.identity.as_deref();
    let file =
        file.ok_or(Fault::Missing { options: &["identity"], purpose: "who this side is" })?;
    let me = Arc::new(load_identity(file)?);
    let partnership = job.partnership(|| Ok::<_, Error>(me.clone()))?;
    let peer = job.peer(me.fingerprint(), partnership.as_ref())?;
    let way = job.way(me.fingerprint(), partnership.as_ref())?;
    let ready = job
        .to_run(Around {
            identity: Some(me.clone()),
            partnership: partnership.clone(),
            figures: figures()?,
            ..Around::default()
        })?
        .prepare_unless(cancel)?;
    let connection = &job.connection;
    let meeting = Meeting {
        me: &me,
        peer: &peer,
        wait: connection.wait,
        stall: connection.stall_timeout,
        proxy: connection.proxy.as_ref(),
        cancel,
        observer: &|_| {},
    };
    let (role, channel) = way.meet(&meeting, partnership.as_ref())?;
    let mut channel = channel
        .with_stall_timeout(connection.stall_timeout)
        .with_deadline(connection.deadline)
        .with_cancel_token(cancel.clone());
    let parties = Parties { role, me: me.fingerprint().to_string(), peer: peer.to_string() };
    let mut rng = vesica::system_rng()?;
    let observer = Arc::new(NoObserver);
    let shortfalls = vesica::run(ready, &parties, &mut channel, observer, &mut rng, report)?;
    Ok(shortfalls.iter().map(ToString::to_string).collect())
}
