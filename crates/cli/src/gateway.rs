//! `gateway`: this party's side of a run whose partitions tasks of a cluster compare.

use std::{
    mem::{Discriminant, discriminant},
    path::PathBuf,
    sync::Arc,
};

use vesica::{
    Observer, Report, Way,
    cluster::{GatewayEvent, Serving, Token},
    files::{PlannerInputs, Protected, check_results},
    partnership::Partnership,
    report::{Progress, Unit, described},
    spec::{self, LEDGER, LogForm},
};
use vesica_net::connect;

use crate::{
    agreed, cancel,
    exit::{self, Failure},
    flags::{Flags, required},
    keygen,
    log::{Counted, Log},
    serve::turned_away,
};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    gateway: Flags<spec::Gateway>,
}

/// An observer that logs a line for each event of a run.
struct Teller(LogForm);

impl Observer for Teller {
    fn phase(&self, name: &'static str) {
        Log::new(self.0).event("phase", &[("name", described(name).into())]);
    }

    fn progress(&self, progress: Progress) {
        if progress.unit == Unit::Partitions {
            let (done, total) = (progress.done, progress.total.unwrap_or_default());
            let facts = [("done", done.into()), ("of", total.into())];
            Log::new(self.0).event("partition", &facts);
        }
    }

    fn warning(&self, text: &str) {
        Log::new(self.0).event("warning", &[("text", text.into())]);
    }

    fn note(&self, text: &str) {
        Log::new(self.0).event("note", &[("text", text.into())]);
    }
}

pub fn gateway(args: &Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let mut spec = args.gateway.value()?;
    let parties = std::mem::take(&mut spec.parties.0);
    let file = |path: Option<PathBuf>, option, purpose| required(path, option, purpose);
    let agreement_file =
        file(parties.agreement, &["agreement"], "which agreement the run is under")?;
    let identity = file(parties.identity, &["identity"], "who this party is")?;
    let token = file(spec.cluster.token, &["token"], "which file has the token of the cluster")?;
    let journal = file(spec.cluster.journal, &["journal"], "where the journal is")?;
    let purpose = "where this side's cluster connects";
    let cluster = required(spec.cluster.cluster, &["cluster"], purpose)?;
    let report_file = spec.report.0.report;
    let agreement = agreed::agreement(&agreement_file)?;
    let agreement = agreement.require_pair("a gateway is for")?.clone();
    let me = Arc::new(keygen::load(&identity)?);
    let connection = spec.connection.0;
    let named = connection.connect.map(Way::Connect).or(connection.listen.map(Way::Listen));
    let agreed = || Way::agreed(agreement.document(), me.fingerprint());
    let options = &["listen", "connect"];
    let way = required(named.or_else(agreed), options, "how to reach the other side")?;
    let ledger = parties.ledger.unwrap_or_else(|| agreement_file.with_file_name(LEDGER));
    let file = |what, path: &PathBuf| Protected::new(what, path);
    let kept = [
        file("the agreement", &agreement_file),
        file("the identity", &identity),
        file("the ledger", &ledger),
        file("the token", &token),
    ];
    let others = [("the record", &parties.record), ("the report", &report_file)];
    let others = others.into_iter().filter_map(|(what, path)| Some(file(what, path.as_ref()?)));
    let results: Vec<_> = [file("the journal", &journal)].into_iter().chain(others).collect();
    check_results(&results, &kept, None)?;
    let mut partnership = Partnership::new(me.clone(), agreement, ledger, spec.limits.policy())?;
    partnership.file = Some(agreement_file);
    partnership.record = parties.record;
    let serving = Serving {
        token: Token::in_file(&token, me.fingerprint())?,
        me,
        partnership,
        way,
        cluster,
        journal,
        report: report_file.clone(),
        planner: PlannerInputs {
            figures: vesica::files::figures()?,
            bits_per_second: connection.bandwidth,
            memory: Some(spec.cluster.task_memory),
            is_part: true,
            partitions: spec.resources.partitions,
        },
        allow_empty: spec.table.allow_empty,
        wait: spec.patience.wait,
        stall: connection.stall_timeout,
        deadline: connection.deadline,
        proxy: connection.proxy,
    };
    let rng = &mut vesica::system_rng()?;
    let (form, mut report) = (spec.log.log, Report::begin());
    let strangers = Arc::new(Counted::new(Log::new(form)));
    let counted = strangers.clone();
    let tell = move |event: &GatewayEvent<'_>| tell(Log::new(form), &counted, event);
    let ended = serving.run(Arc::new(Teller(form)), tell, &cancel, rng, &mut report);
    strangers.end();
    match ended {
        Ok(shortfalls) => {
            let matches = report.outcome.matches.map(|matches| ("keys shared", matches.into()));
            let learned = report.brief().map(|learned| ("learned", learned.into()));
            let facts: Vec<_> = matches.into_iter().chain(learned).collect();
            Log::new(form).event("succeeded", &facts);
            if shortfalls.is_empty() { Ok(()) } else { Err(Failure::unconfirmed(&shortfalls)) }
        }
        Err(error) => {
            let failure = Failure::from(error);
            if failure.code != exit::USAGE
                && let Some(path) = &report_file
                && let Err(error) = report.stage(path).and_then(|staged| staged.commit())
            {
                crate::say(&format!("vesica: warning: the report cannot be written: {error}"));
            }
            Err(failure)
        }
    }
}

/// A caller that was turned away, by the address it called and the reason.
#[derive(PartialEq, Eq, Hash)]
enum Stranger {
    There(Discriminant<vesica_net::Error>),
    Here(Discriminant<vesica_net::Error>),
}

fn tell(log: Log, strangers: &Counted<Stranger>, event: &GatewayEvent<'_>) {
    strangers.look();
    match event {
        GatewayEvent::Serving { address } => {
            log.event("serving", &[("cluster", address.to_string().into())])
        }
        GatewayEvent::Meeting(connect::Event::Listening { address }) => {
            log.event("listening", &[("address", address.to_string().into())]);
        }
        GatewayEvent::Meeting(connect::Event::Waiting { place, left, .. }) => {
            let facts = [("at", (*place).into()), ("seconds", left.as_secs().into())];
            log.event("waiting for the other side", &facts);
        }
        GatewayEvent::Meeting(connect::Event::TurnedAway { why }) => {
            let facts = turned_away(why);
            strangers.event(Stranger::There(discriminant(*why)), "turned away", facts);
        }
        GatewayEvent::TurnedAway { why } => {
            let from = [("from", "the cluster".into())];
            let facts = from.into_iter().chain(turned_away(why)).collect();
            strangers.event(Stranger::Here(discriminant(*why)), "turned away", facts);
        }
        GatewayEvent::Lost { why } => {
            log.event("lost the other side", &[("why", why.to_string().into())])
        }
        _ => {}
    }
}
