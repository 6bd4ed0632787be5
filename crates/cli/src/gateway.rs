//! `gateway`: this party's side of a run whose partitions are compared by tasks of a cluster.

use std::{
    mem::{Discriminant, discriminant},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Observer, Report, Way,
    cluster::{GatewayEvent, Serving, Token},
    files::{PlannerInputs, Protected, check_results},
    partnership::Partnership,
    report::{Progress, Unit, described},
    spec::{self, LEDGER},
};
use vesica_net::{Proxy, connect};

use crate::{
    agreed, cancel,
    exit::{self, Failure},
    flags::{self, Flags},
    heading, keygen, numbers,
    serve::{Counted, Form, Log, turned_away},
};

#[derive(clap::Args)]
#[command(mut_args = heading::placed)]
pub struct Args {
    /// The agreement with the other party: it says who the other party is, and settles the terms
    #[arg(long, value_name = "FILE")]
    agreement: PathBuf,
    /// This party's identity
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// Listen for this side's cluster at this address, as in 0.0.0.0:7790
    #[arg(long, value_name = "ADDR")]
    cluster: String,
    /// The file of the token that admits the cluster, which is created if it does not exist. Whoever has it can take
    /// part in the run for this side
    #[arg(long, value_name = "FILE")]
    token: PathBuf,
    /// Note in this file how far the run is, encrypted for this identity: after an interruption the same command goes
    /// on there. The other side keeps a journal as well (`vesica run --resume`). The file is removed when both have
    /// their results
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// Listen for the other side at this address [default: where the agreement says]
    #[arg(long, value_name = "ADDR", conflicts_with = "connect")]
    listen: Option<String>,
    /// Connect to the other side at this address [default: where the agreement says]
    #[arg(long, value_name = "ADDR")]
    connect: Option<String>,
    /// The ledger of all runs [default: vesica.ledger beside the agreement]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// The file for the record that both sides sign
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write a report in JSON, also of a run that fails
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    policy: Flags<spec::Limits>,
    /// The memory that a task of the cluster may use, as in 1G: the sets are compared in so many partitions that each
    /// fits
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = numbers::amount)]
    task_memory: u64,
    /// Compare the sets in at least so many partitions, rounded up to a power of two: each is a task
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    partitions: u32,
    /// The bandwidth of the link in Mbit/s, for choosing a protocol; the connecting side's value applies
    #[arg(long, value_name = "MBIT", value_parser = numbers::rate)]
    bandwidth: Option<u64>,
    /// Accept a table without keys, which is otherwise an error
    #[arg(long)]
    allow_empty: bool,
    /// Wait this long for the other side to appear, also after it was lost
    #[arg(long, default_value = "3600", value_name = "SECONDS", value_parser = numbers::seconds)]
    wait: Duration,
    /// Give up on the other side after this long without a sign of life
    #[arg(long, default_value = flags::default::<spec::Connection>("stall-timeout"), value_name = "SECONDS", value_parser = numbers::seconds)]
    stall_timeout: Duration,
    /// Stop if the run lasts longer than this; the default is a day
    #[arg(long, default_value = flags::default::<spec::Connection>("deadline"), value_name = "SECONDS", value_parser = numbers::seconds)]
    deadline: Duration,
    /// Reach the other side through this proxy: http://HOST:PORT (CONNECT) or socks5://HOST:PORT
    #[arg(long, value_name = "URL", env = "VESICA_PROXY", hide_env_values = true)]
    proxy: Option<Proxy>,
    /// How to write what happens to standard error: text or json, a line for each event
    #[arg(long, value_enum, default_value = "text")]
    log: Form,
}

/// Says what a run does, a line for each event.
struct Teller(Form);

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

pub fn gateway(args: Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let agreement = agreed::agreement(&args.agreement)?;
    let me = Arc::new(keygen::load(&args.identity)?);
    let way = args
        .connect
        .map(Way::Connect)
        .or(args.listen.map(Way::Listen))
        .or_else(|| Way::agreed(agreement.document(), me.fingerprint()));
    let way = way
        .ok_or_else(|| Failure::usage("say how to reach the other side: --listen or --connect"))?;
    let beside = || args.agreement.with_file_name(LEDGER);
    let ledger = args.ledger.clone().unwrap_or_else(beside);
    let file = |what, path: &PathBuf| Protected::new(what, path);
    let kept = [
        file("the agreement", &args.agreement),
        file("the identity", &args.identity),
        file("the ledger", &ledger),
        file("the token", &args.token),
    ];
    let others = [("the record", &args.record), ("the report", &args.report)];
    let others = others.into_iter().filter_map(|(what, path)| Some(file(what, path.as_ref()?)));
    let results: Vec<_> = [file("the journal", &args.journal)].into_iter().chain(others).collect();
    check_results(&results, &kept, None)?;
    let mut partnership =
        Partnership::new(me.clone(), agreement, ledger, args.policy.value()?.policy())?;
    partnership.file = Some(args.agreement.clone());
    partnership.record = args.record;
    let serving = Serving {
        token: Token::in_file(&args.token, me.fingerprint())?,
        me,
        partnership,
        way,
        cluster: args.cluster,
        journal: args.journal,
        report: args.report.clone(),
        planner: PlannerInputs {
            figures: vesica::files::figures()?,
            bits_per_second: args.bandwidth,
            memory: Some(args.task_memory),
            partitions: args.partitions,
        },
        allow_empty: args.allow_empty,
        wait: args.wait,
        stall: args.stall_timeout,
        deadline: args.deadline,
        proxy: args.proxy,
    };
    let rng = &mut StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
    let (form, mut report) = (args.log, Report::begin());
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
                && let Some(path) = &args.report
                && let Err(error) = report.stage(path).and_then(|staged| staged.commit())
            {
                crate::say(&format!("vesica: warning: the report cannot be written: {error}"));
            }
            Err(failure)
        }
    }
}

/// A caller that was turned away, by where it called and why.
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
