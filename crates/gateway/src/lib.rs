//! A run whose partitions are compared by tasks of a cluster.
//!
//! The gateway is this side's party in an ordinary run: it agrees on terms, sizes, a seed and a protocol, checks the
//! policy, writes the ledger and signs the record. It has no table. The cluster's driver counts distinct keys, and
//! sorts them into partitions under the seed. A task compares each partition, and the gateway connects it with a task
//! of the other side ([`permits`](vesica_run::permits)). The gateway relays the bytes of an attempt and cannot read
//! them. The other side is another gateway, or a run whose table is on one machine.
//!
//! If the other side is lost, or this gateway is restarted, the run resumes from its journal.
//!
//! **Must never import** the command line or a table: a cluster holds the keys.

mod client;
mod cluster;
#[doc(hidden)]
pub mod decoders;
mod keys;
mod message;
mod state;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rand::CryptoRng;
use vesica_agree::{choice::PlannerInputs, offer::Offer};
use vesica_core::{
    error::{Error, InputFault, Misuse, Result},
    observe::Observer,
    parties::Parties,
};
use vesica_keyset::counts::RowCounts;
use vesica_net::{CancelToken, Fingerprint, Identity, Proxy, connect};
use vesica_partner::partnership::Partnership;
use vesica_run::{
    diagnosis::Diagnosis,
    job::finish,
    journal::{Journal, JournalSecret, Resume, Run},
    meet::Way,
    permits::Slots,
    report::Report,
    session::{Computed, Elsewhere, Session, Setting},
    shortfall::Shortfall,
    standing::Standing,
};
use vesica_task::query::Query;

pub use self::{
    client::{ClusterResult, Ended, Failed, Gateway, Here, Tasks},
    keys::{Keys, Sketched},
    message::Token,
};

use self::{
    cluster::Cluster,
    message::{KeysWanted, Secret, Work},
    state::End,
};

/// The pause before connecting to the other side again.
const PAUSE: Duration = Duration::from_secs(1);

/// The time that a gateway waits for its driver to ask how the run ended.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// The settings of a gateway.
pub struct Serving {
    /// This side.
    pub me: Arc<Identity>,
    /// The agreement.
    pub partnership: Partnership,
    /// The way to reach the other side; this side connects or listens.
    pub way: Way,
    /// The address at which the cluster reaches the gateway.
    pub cluster: String,
    /// The token that admits the cluster.
    pub token: Token,
    /// The journal from which an interrupted run resumes.
    pub journal: PathBuf,
    /// The file for the report.
    pub report: Option<PathBuf>,
    /// The planner's knowledge of the machine; its memory is a task's.
    pub planner: PlannerInputs,
    /// Whether a table without keys is accepted.
    pub allow_empty: bool,
    /// The time to wait for the other side to appear.
    pub wait: Duration,
    /// The longest silence of the other side.
    pub stall: Duration,
    /// The longest duration of a run.
    pub deadline: Duration,
    /// The proxy through which the other side is reached.
    pub proxy: Option<Proxy>,
}

/// An event at a gateway apart from the run.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayEvent<'a> {
    /// It listens for its cluster.
    Serving {
        /// The address.
        address: SocketAddr,
    },
    /// It connects to the other side.
    Meeting(&'a connect::Event<'a>),
    /// A caller that does not belong to the cluster was turned away.
    TurnedAway {
        /// The reason.
        why: &'a vesica_net::Error,
    },
    /// The other side was lost; the run resumes when it is back.
    Lost {
        /// The reason.
        why: &'a Error,
    },
}

type Tell = Arc<dyn Fn(&GatewayEvent<'_>) + Send + Sync>;

/// The offer of a run, and everything that lives as long as its gateway.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    offer: &'a Offer,
    observer: &'a Arc<dyn Observer>,
    tell: &'a Tell,
    cluster: &'a Arc<Cluster>,
    cancel: &'a CancelToken,
}

impl Serving {
    /// Refuses a run that a gateway cannot do, before anybody is contacted.
    fn check(&self, offer: &Offer) -> Result<()> {
        offer.check()?;
        let policy = &self.partnership.agreement().policy();
        let message = if offer.query != Query::ROWS
            || !offer.identifiers.is_empty()
            || offer.rules.is_some()
            || offer.align
        {
            "a gateway only compares rows by one key, in no common order; use another agreement"
        } else if policy.threshold_first {
            "threshold-first requires whole sets in memory, which a gateway does not have; use another agreement"
        } else if offer.diagnose {
            "a gateway has no keys, so it cannot run with --diagnose; use another agreement"
        } else if !matches!(self.way, Way::Connect(_) | Way::Listen(_)) {
            "each partition needs its own connection, which a relay or a folder cannot provide: connect or listen"
        } else if offer.learns == vesica_core::parties::Learns::Both
            && self.partnership.limits_results()
        {
            "tasks reveal their results one by one, and a rule limits results: let one side learn, or leave out min-result, \
             max-result and max-result-total"
        } else {
            return self.partnership.check(Journal::line(&self.resume())?);
        };
        Err(Error::usage(Misuse::Agreement, message))
    }

    fn resume(&self) -> Resume {
        Resume { journal: self.journal.clone(), secret: JournalSecret::of(&self.me) }
    }

    /// Serves the cluster until its run has ended, and fills in `report`. Returns the faults that occur after the
    /// result is complete.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(
        self,
        observer: Arc<dyn Observer>,
        tell: impl Fn(&GatewayEvent<'_>) + Send + Sync + 'static,
        cancel: &CancelToken,
        rng: &mut (dyn CryptoRng + Send),
        report: &mut Report,
    ) -> Result<Vec<Shortfall>> {
        let tell: Tell = Arc::new(tell);
        let offer = self.partnership.offer()?;
        self.check(&offer)?;
        let learns = offer.learns != vesica_core::parties::Learns::Peer;
        let wanted = KeysWanted {
            normalize: offer.keys.iter().map(Into::into).collect(),
            null_values: offer.null_values.applied_to(&offer.keys).values().to_vec(),
            sketch: Secret::new(self.partnership.sketch_secret().as_bytes()),
            learns,
        };
        let cluster = Cluster::new(wanted, self.stall);
        let until = CancelToken::default();
        let said = tell.clone();
        let turned_away = move |why: &vesica_net::Error| said(&GatewayEvent::TurnedAway { why });
        let (address, serving) =
            cluster.serve(&self.cluster, &self.me, &self.token, turned_away, until.clone())?;
        tell(&GatewayEvent::Serving { address });
        let run = Surroundings {
            offer: &offer,
            observer: &observer,
            tell: &tell,
            cluster: &cluster,
            cancel,
        };
        let ended = self.attempts(&run, rng, report);
        let record = self.partnership.record.as_ref();
        let end = match &ended {
            Ok(shortfalls) => End::Succeeded {
                report: report.to_json().unwrap_or_default(),
                record: record.and_then(|path| std::fs::read_to_string(path).ok()),
                shortfalls: shortfalls.iter().map(ToString::to_string).collect(),
            },
            Err(error) => {
                report.fail(error.class(), error.to_string());
                End::Failed {
                    class: error.class(),
                    reason: error.to_string(),
                    report: report.to_json().unwrap_or_default(),
                }
            }
        };
        let patience = if cluster.has_driver() { LAST_WORDS } else { Duration::ZERO };
        cluster.end(end, patience);
        // Slots and tasks that ask at this moment are answered too.
        thread::sleep(if cluster.has_driver() { PAUSE } else { Duration::ZERO });
        until.cancel();
        drop(serving.join());
        ended
    }

    /// Connects to the other side, and again whenever it is lost, until the run has ended.
    fn attempts(
        &self,
        run: &Surroundings<'_>,
        rng: &mut (dyn CryptoRng + Send),
        report: &mut Report,
    ) -> Result<Vec<Shortfall>> {
        let Surroundings { observer, tell, cluster, cancel, .. } = *run;
        let peer: Fingerprint = self.partnership.peer("a gateway is for")?.fingerprint();
        let (me, its) = (self.me.fingerprint().to_string(), peer.to_string());
        let began = Instant::now();
        loop {
            let meeting = connect::Meeting {
                me: &self.me,
                peer: &peer,
                wait: self.wait,
                stall: self.stall,
                proxy: self.proxy.as_ref(),
                cancel,
                observer: &|event| tell(&GatewayEvent::Meeting(event)),
            };
            let (role, channel) = self.way.meet(&meeting, Some(&self.partnership))?;
            let parties = Parties { role, me: me.clone(), peer: its.clone() };
            report.set_parties(&parties);
            let mut channel = channel
                .with_stall_timeout(self.stall)
                .with_deadline(self.deadline.saturating_sub(began.elapsed()))
                .with_cancel_token(cancel.clone());
            let standing = Standing::new(Some(self.partnership.clone()), Some(&self.resume()))?;
            let ended = self.session(run, &parties, &mut channel, rng, report, &standing);
            cluster.pause();
            let Err(error) = ended else { return ended };
            if let Err(unnoted) = standing.failed(&error) {
                observer.warning(&unnoted.to_string());
            }
            if let Some(reason) = error.abort_reason() {
                channel.abort(reason);
            }
            report.set_costs(channel.meter());
            drop(channel);
            if !is_lost(&error) || began.elapsed() >= self.deadline {
                return Err(error);
            }
            tell(&GatewayEvent::Lost { why: &error });
            thread::sleep(PAUSE);
        }
    }

    /// Runs one session with the other side.
    fn session(
        &self,
        run: &Surroundings<'_>,
        parties: &Parties,
        channel: &mut vesica_net::Channel,
        rng: &mut (dyn CryptoRng + Send),
        report: &mut Report,
        standing: &Standing,
    ) -> Result<Vec<Shortfall>> {
        let Surroundings { offer, observer, cluster, cancel, .. } = *run;
        let setting = Setting {
            offer,
            standing: standing.clone(),
            parties,
            inputs: &self.planner,
            threads: 1,
            observer: observer.clone(),
        };
        let mut session = Session::open(setting, channel)?;
        report.set_terms(session.terms());
        report.agreement = session.agreement();
        session.phase("read");
        let (waits, stops) = (cluster.clone(), cancel.clone());
        let counted = session.meanwhile(move || waits.counted(&stops))?;
        if counted.keys == 0 && !self.allow_empty {
            let fault = match counted.rows {
                0 => InputFault::Empty { header: true },
                rows => InputFault::NoKeys { rows, null_values: 0 },
            };
            return Err(Error::Input { file: "the cluster's table".to_owned(), fault });
        }
        let counts = RowCounts {
            read: counted.rows,
            null: counted.null,
            duplicate: counted.rows - counted.null - counted.keys,
            used: counted.keys,
        };
        report.rows = Some(counts);
        report.items = Some(counts.used);
        let run = Run {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            terms: session.terms().hash(),
            input: None,
            rows: counts.read,
            keys: counts.used,
        };
        standing.describe(run, Some(counted.sketch));
        let mut start = |elsewhere: Elsewhere<'_>, slots: Arc<Slots>| {
            cluster.start(Work::new(&elsewhere, self.stall), slots, standing.clone());
        };
        let spill = std::env::temp_dir();
        let Computed { protocol, adversary, peer_items, partitions, attempts, found, .. } =
            session.compute_elsewhere(counts, &spill, &mut start, rng)?;
        cluster.compared();
        report.attempts = standing.sessions();
        report.partitions = Some(partitions);
        report.set_protocol(protocol, adversary);
        report.peer_items = Some(peer_items);
        report.outcome = found.outcome;
        // The rows are in the cluster, which does not report their number.
        report.outcome.rows_written = None;
        session.phase("finish");
        let (waits, stops) = (cluster.clone(), cancel.clone());
        session.meanwhile(move || waits.staged(&stops))?;
        finish(session, self.report.clone(), report, Diagnosis::none(), None, attempts)
    }
}

/// Returns whether the connection to the other side was lost, so that the run may resume when it is back.
fn is_lost(error: &Error) -> bool {
    use vesica_net::Error::{Closed, Io, Stalled};
    matches!(error, Error::Net(Closed { .. } | Io { .. } | Stalled { .. }))
}
