//! Gateways with clusters that are threads of the test: the driver and tasks of Spark, without Spark.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::TcpStream,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use vesica::{
    Class,
    cluster::{ClusterResult, Ended as RunEnded, Gateway, Here, Keys, Tasks, Token},
    files::ArrowTable,
};
use vesica_net::{CancelToken, Identity};

use crate::{
    harness::Running,
    partners::{
        Projects,
        Side::{self, Accepter, Inviter},
        free_port,
    },
};

pub const KEYS: usize = 6_000;
const WAIT: Duration = Duration::from_secs(30);

/// Two sides with an agreement, and a place for the cluster of each.
pub struct Sides {
    pub projects: Projects,
    pub clusters: [String; 2],
}

/// Asks as the driver until it hears how the run ended. A gateway waits for that before it ends.
pub fn until_told(driver: &Gateway) {
    while driver.here(true).is_ok() {}
}

impl Sides {
    pub fn new(invite: &[&str]) -> Self {
        let projects = Projects::new(KEYS);
        projects.agree(invite, &[]);
        let clusters = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
        Self { projects, clusters }
    }

    pub fn gateway(&self, side: Side, flags: &[&str]) -> Running {
        let cluster = &self.clusters[side as usize];
        let all = ["gateway", "--agreement", "acme.agreement", "--identity", "vesica.identity"];
        let own = ["--cluster", cluster, "--token", "token", "--journal", "journal"];
        let rest = ["--record", "acme.record", "--partitions", "4", "--report", "report.json"];
        let wait: &[&str] = if flags.contains(&"--wait") { &[] } else { &["--wait", "30"] };
        let all = [&all[..], &own, &rest, wait, flags].concat();
        let mut gateway = Running::start(self.projects.command(side, &all));
        gateway.until("serving");
        gateway
    }

    fn token(&self, side: Side) -> Arc<Token> {
        let text = self.projects.read(side, "token");
        Arc::new(text.parse().unwrap())
    }

    pub fn client(&self, side: Side, cancel: &CancelToken) -> Gateway {
        let address = self.clusters[side as usize].clone();
        Gateway::new(address, self.token(side), WAIT, cancel.clone())
    }

    /// Runs the cluster of a side, with this number of slots. `disturb` may cancel a task of a partition.
    fn cluster(&self, side: Side, slots: u32, disturb: &Disturb<'_>) -> ClusterResult<Found> {
        let gateway = self.client(side, &CancelToken::default());
        let (column, keys) = match side {
            Inviter => ("email", 0..KEYS),
            Accepter => ("mail", KEYS / 2..KEYS / 2 + KEYS),
        };
        let wanted = gateway.keys()?;
        let digests = digests(&wanted, column, keys);
        let distinct: Vec<_> =
            digests.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let counts = [digests.len() as u64, 0, distinct.len() as u64];
        let tasks = gateway.work(counts, wanted.sketch(&distinct)?)?;
        let mut partitions = vec![Vec::new(); tasks.partitions() as usize];
        for (partition, digest) in tasks.partitions_of(&distinct)?.into_iter().zip(distinct) {
            partitions[partition as usize].push(digest);
        }
        let matched = Mutex::new(vec![BTreeSet::new(); partitions.len()]);
        let busy = Mutex::new(BTreeMap::new());
        let serve = |slot| -> ClusterResult<()> {
            while let Some(partition) = gateway.next(slot)? {
                busy.lock().unwrap().insert(slot, partition);
                let keys = &partitions[partition as usize];
                let found = self.compare(side, (&tasks, partition), keys, disturb)?;
                let found = found.iter().map(|i| keys[*i as usize]).collect();
                matched.lock().unwrap()[partition as usize] = found;
                gateway.kept(slot, partition)?;
                busy.lock().unwrap().remove(&slot);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let slots = (0..slots).map(|slot| scope.spawn(move || serve(slot)));
            let slots: Vec<_> = slots.collect();
            while !slots.iter().all(thread::ScopedJoinHandle::is_finished) {
                if let Here::Again = gateway.here(false)? {
                    let busy: Vec<_> = busy.lock().unwrap().iter().map(|(s, p)| (*s, *p)).collect();
                    gateway.again(&busy)?;
                }
            }
            slots.into_iter().try_for_each(|slot| slot.join().unwrap())
        })?;
        let ended = loop {
            if let Here::Ended(ended) = gateway.here(true)? {
                break ended;
            }
        };
        let matched = matched.into_inner().unwrap().into_iter().flatten().collect();
        Ok(Found { matched, all: digests, ended })
    }

    /// Compares a partition, by one task after the other where `disturb` ends them.
    fn compare(
        &self,
        side: Side,
        (tasks, partition): (&Tasks, u32),
        keys: &[[u8; 32]],
        disturb: &Disturb<'_>,
    ) -> ClusterResult<Vec<u32>> {
        loop {
            let cancel = CancelToken::default();
            let task = self.client(side, &cancel);
            let compared = thread::scope(|scope| {
                let running = scope.spawn(|| task.compare(tasks, partition, keys));
                disturb(partition, &cancel);
                running.join().unwrap()
            });
            match compared {
                Err(failed) if failed.class == Class::Cancelled => {}
                compared => return compared,
            }
        }
    }
}

pub type Disturb<'a> = dyn Fn(u32, &CancelToken) + Sync + 'a;

pub fn undisturbed(_: u32, _: &CancelToken) {}

pub struct Found {
    matched: BTreeSet<[u8; 32]>,
    all: Vec<[u8; 32]>,
    ended: RunEnded,
}

impl Found {
    /// Checks that the keys of the shared half matched, and no others.
    #[track_caller]
    pub fn assert(&self, side: Side) -> &Self {
        let shared = if side == Inviter { KEYS / 2..KEYS } else { 0..KEYS / 2 };
        let expected: BTreeSet<_> = self.all[shared].iter().copied().collect();
        assert_eq!(self.matched.len(), KEYS / 2);
        assert!(self.matched == expected);
        let report: serde_json::Value = serde_json::from_str(&self.ended.report).unwrap();
        assert_eq!(
            (&report["status"], &report["matches"]),
            (&"succeeded".into(), &(KEYS / 2).into())
        );
        self
    }

    /// Returns the number of times that partitions were begun, from the record.
    pub fn attempts(&self) -> u64 {
        let record = self.ended.record.as_ref().unwrap();
        let envelope: serde_json::Value = serde_json::from_str(record).unwrap();
        let payload = envelope["payload"].as_str().unwrap();
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let record: serde_json::Value =
            serde_json::from_slice(&STANDARD.decode(payload).unwrap()).unwrap();
        record["attempts"].as_u64().unwrap()
    }
}

pub fn digests(wanted: &Keys, column: &str, keys: Range<usize>) -> Vec<[u8; 32]> {
    let values: StringArray = keys.map(|key| Some(format!("U{key}@example.org"))).collect();
    let batch = RecordBatch::try_from_iter([(column, Arc::new(values) as ArrayRef)]).unwrap();
    let schema = batch.schema();
    let table = ArrowTable::read(RecordBatchIterator::new([Ok(batch)], schema)).unwrap();
    let digests = wanted.digests(table, &[column.to_owned()]).unwrap();
    digests.into_iter().map(Option::unwrap).collect()
}

pub fn both(sides: &Sides, slots: [u32; 2], disturb: &Disturb<'_>) -> [ClusterResult<Found>; 2] {
    thread::scope(|scope| {
        let there = scope.spawn(move || sides.cluster(Accepter, slots[1], disturb));
        let here = sides.cluster(Inviter, slots[0], disturb);
        [here, there.join().unwrap()]
    })
}

/// Asserts that each side counts the bytes of its tasks: one side receives as much as the other sends.
fn assert_bytes(sides: &Sides) {
    let bytes = [Inviter, Accepter].map(|side| {
        let report: serde_json::Value =
            serde_json::from_str(&sides.projects.read(side, "report.json")).unwrap();
        ["bytes_sent", "bytes_received"].map(|name| report[name].as_u64().unwrap() as f64)
    });
    for (sent, received) in [(bytes[0][0], bytes[1][1]), (bytes[1][0], bytes[0][1])] {
        // A gateway counts the encryption of tasks and of parallel connections as well.
        assert!((sent - received).abs() < 0.05 * sent + 20_000.0, "{bytes:?}");
    }
    assert!(bytes.iter().all(|[sent, received]| sent + received > 20.0 * KEYS as f64), "{bytes:?}");
}

#[test]
fn two_clusters_find_what_both_have() {
    for slots in [[1, 1], [3, 2]] {
        let sides = Sides::new(&[]);
        let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
        for (found, side) in both(&sides, slots, &undisturbed).into_iter().zip([Inviter, Accepter])
        {
            assert_eq!(found.unwrap().assert(side).attempts(), 4);
            assert!(
                sides.projects.ledger(side).contains("3,000"),
                "{}",
                sides.projects.ledger(side)
            );
            assert!(!sides.projects.path(side, "journal").exists());
        }
        for gateway in gateways {
            gateway.end().assert(0, &["keys shared: 3000"]);
        }
        assert_bytes(&sides);
    }
}

/// Each side fills all its partitions up to the least size that suffices in all but one of 2^40 runs.
#[test]
fn partitions_are_filled_up_as_computed() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let numbers = [5000, 1009];
    let work = |side: Side| {
        let gateway = sides.client(side, &CancelToken::default());
        let keys = numbers[side as usize];
        let tasks = gateway.work([keys, 0, keys], Default::default()).unwrap();
        (gateway, serde_json::from_str::<serde_json::Value>(&tasks.text()).unwrap())
    };
    let works = thread::scope(|scope| {
        let there = scope.spawn(move || work(Accepter));
        [work(Inviter), there.join().unwrap()]
    });
    // The logarithm of the probability that one of four partitions has more keys.
    let overflow = |keys: u64, size: u64| {
        let choose = |k| (0..k).map(|i| ((keys - i) as f64 / (k - i) as f64).ln()).sum::<f64>();
        let exactly = |k| choose(k) + k as f64 * 0.25f64.ln() + (keys - k) as f64 * 0.75f64.ln();
        (4.0 * (size + 1..=keys).map(|k| exactly(k).exp()).sum::<f64>()).log2()
    };
    for (side, (_, work)) in [Inviter, Accepter].into_iter().zip(&works) {
        assert_eq!(work["partitions"], 4);
        let receives = work["receives"].as_bool().unwrap();
        let size = work["sizes"][usize::from(receives)].as_u64().unwrap();
        let keys = numbers[side as usize];
        assert!(overflow(keys, size) <= -40.0 && overflow(keys, size - 1) > -40.0, "{size}");
        assert_eq!(work["sizes"], works[1 - side as usize].1["sizes"]);
    }
    for (gateway, _) in works {
        let _ = gateway.stop("this was all");
        until_told(&gateway);
    }
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}

/// The command line compares the same partitions with the tasks of a cluster.
#[test]
fn one_side_may_be_the_command_line() {
    for cluster in [Inviter, Accepter] {
        let sides = Sides::new(&[]);
        let other = if cluster == Inviter { Accepter } else { Inviter };
        let gateway = sides.gateway(cluster, &[]);
        let run = ["run", "acme", "--threads", "2", "--resume", "journal", "--wait", "30"];
        let run = [&run[..], &["--report", "report.json"]].concat();
        let run = Running::start(sides.projects.command(other, &run));
        sides.cluster(cluster, 2, &undisturbed).unwrap().assert(cluster);
        run.end().assert(0, &[]);
        gateway.end().assert(0, &[]);
        assert_bytes(&sides);
        assert_eq!(sides.projects.read(other, "acme.csv").lines().count(), 1 + KEYS / 2);
    }
}

/// A task of either side may end at any moment; another one replaces it, and both begin the partition again.
#[test]
fn tasks_that_end_are_replaced() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let left = Mutex::new(3u64);
    let disturb = |partition: u32, cancel: &CancelToken| {
        thread::sleep(Duration::from_millis(40 * u64::from(partition % 2)));
        let mut left = left.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            cancel.cancel();
        }
    };
    for (found, side) in both(&sides, [2, 2], &disturb).into_iter().zip([Inviter, Accepter]) {
        let attempts = found.unwrap().assert(side).attempts();
        assert!((4..4 + 4 * 3).contains(&attempts), "{attempts}");
    }
    for gateway in gateways {
        gateway.end().assert(0, &[]);
    }
}

/// A gateway stays until its driver knows how the run ended, even if others have asked meanwhile.
#[test]
fn tasks_that_come_late_keep_nothing_from_the_driver() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let over = CancelToken::default();
    let found = thread::scope(|scope| {
        for side in [Inviter, Accepter] {
            let (late, over) = (sides.client(side, &over), &over);
            scope.spawn(move || {
                while !over.is_cancelled() {
                    // The outcome of the run is not an answer to this.
                    drop(late.keys());
                }
            });
        }
        let found = both(&sides, [1, 1], &undisturbed);
        over.cancel();
        found
    });
    for (found, side) in found.into_iter().zip([Inviter, Accepter]) {
        found.unwrap().assert(side);
    }
    for gateway in gateways {
        gateway.end().assert(0, &[]);
    }
}

/// A gateway that is killed and started again goes on, and its cluster and the other side with it.
#[test]
fn a_gateway_may_be_started_again() {
    let sides = Sides::new(&[]);
    let gateway = sides.gateway(Inviter, &[]);
    let other = sides.gateway(Accepter, &["--stall-timeout", "5"]);
    let was_killed = AtomicBool::new(false);
    let again = Mutex::new(Some(gateway));
    let kill = |partition: u32, _: &CancelToken| {
        if partition >= 2 && !was_killed.swap(true, Ordering::SeqCst) {
            let mut gateway = again.lock().unwrap();
            gateway.take().unwrap().signal("KILL");
            *gateway = Some(sides.gateway(Inviter, &[]));
        }
    };
    for (found, side) in both(&sides, [2, 2], &kill).into_iter().zip([Inviter, Accepter]) {
        found.unwrap().assert(side);
    }
    assert!(was_killed.into_inner());
    again.into_inner().unwrap().unwrap().end().assert(0, &[]);
    other.end().assert(0, &["lost the other side"]);
    assert_eq!(sides.projects.ledger(Inviter).matches("began").count(), 1);
}

#[test]
fn a_driver_that_stops_ends_the_run_on_both_sides() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let there = thread::scope(|scope| {
        let there = scope.spawn(|| sides.cluster(Accepter, 1, &undisturbed));
        let here = sides.client(Inviter, &CancelToken::default());
        here.stop("the cluster was switched off\nand more").unwrap();
        there.join().unwrap()
    });
    assert!(there.err().unwrap().report.is_some());
    let [here, there] = gateways.map(Running::end);
    here.assert(3, &["the cluster of this side stopped: the cluster was switched off"]);
    assert!(!here.err.contains("and more"));
    there.assert(4, &[]);
}

/// Callers without the token are rejected, and callers with it can only end the run of their own side.
#[test]
fn hostile_tasks_get_nowhere() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let text = sides.projects.read(Inviter, "token");
    let (print, _) = text.split_once('\n').unwrap();
    let stranger = format!("{print}\n{}", *Identity::generate().unwrap().to_pem());
    let stranger = Arc::new(stranger.parse::<Token>().unwrap());
    let address = &sides.clusters[Inviter as usize];
    let short = Duration::from_secs(2);
    let asked = Gateway::new(address.clone(), stranger, short, CancelToken::default()).keys();
    assert_eq!(asked.unwrap_err().class, Class::Network);
    // Silent, and gone.
    let silent: Vec<_> = (0..80).map(|_| TcpStream::connect(address).unwrap()).collect();
    let client = sides.client(Inviter, &CancelToken::default());
    let wanted = client.keys().unwrap();
    let refused = client.work([10, 5, 6], Default::default()).unwrap_err();
    assert!(refused.message.contains("more keys than rows"), "{refused}");
    assert!(wanted.digests(ArrowTable::read(no_rows()).unwrap(), &[]).is_err());
    drop(silent);
    for (found, side) in both(&sides, [1, 1], &undisturbed).into_iter().zip([Inviter, Accepter]) {
        found.unwrap().assert(side);
    }
    let [here, there] = gateways.map(Running::end);
    here.assert(0, &["turned away  from: the cluster"]);
    there.assert(0, &[]);
}

fn no_rows() -> impl arrow_array::RecordBatchReader {
    let none = Arc::new(StringArray::from(Vec::<&str>::new())) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("email", none)]).unwrap();
    let schema = batch.schema();
    RecordBatchIterator::new([Ok(batch)], schema)
}

/// A table whose rows change between attempts is refused: an attempt with another set could reveal more.
#[test]
fn keys_that_change_between_attempts_end_the_run() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    // Neither side has slots: the tasks of one come by themselves.
    let work = |side, column, keys| {
        let gateway = sides.client(side, &CancelToken::default());
        let wanted = gateway.keys().unwrap();
        let keys = digests(&wanted, column, keys);
        let count = keys.len() as u64;
        let tasks = gateway.work([count, 0, count], wanted.sketch(&keys).unwrap()).unwrap();
        (gateway, tasks, keys)
    };
    let (other, (gateway, tasks, keys)) = thread::scope(|scope| {
        let there = scope.spawn(|| work(Accepter, "mail", KEYS / 2..KEYS / 2 + KEYS).0);
        let here = work(Inviter, "email", 0..KEYS);
        (there.join().unwrap(), here)
    });
    let of = tasks.partitions_of(&keys).unwrap();
    let mine: Vec<_> = keys.iter().zip(of).filter(|(_, p)| *p == 0).map(|(key, _)| *key).collect();
    let cancel = CancelToken::default();
    let first = sides.client(Inviter, &cancel);
    let ended = thread::scope(|scope| {
        let first = scope.spawn(|| first.compare(&tasks, 0, &mine));
        thread::sleep(Duration::from_secs(2));
        cancel.cancel();
        assert_eq!(first.join().unwrap().unwrap_err().class, Class::Cancelled);
        gateway.compare(&tasks, 0, &mine[1..]).unwrap_err()
    });
    assert!(ended.message.contains("differ from those in an earlier attempt"), "{ended}");
    [gateway, other].iter().for_each(until_told);
    let [here, there] = gateways.map(Running::end);
    here.assert(3, &["differ from those in an earlier attempt"]);
    assert!([4, 6].contains(&there.code.unwrap()), "{there:?}");
}

/// Nor do they change when a gateway is started again in between: it remembers what both sides committed to.
#[test]
fn keys_that_change_while_a_gateway_is_away_end_the_run() {
    let sides = Sides::new(&[]);
    let first = sides.gateway(Inviter, &[]);
    let other = sides.gateway(Accepter, &["--stall-timeout", "5"]);
    // What one side counts and then finds in partition 0, which it does not keep, as no slot has it.
    let compare = |side, but: usize| {
        let gateway = sides.client(side, &CancelToken::default());
        let wanted = gateway.keys()?;
        let (column, keys) = match side {
            Inviter => ("email", 0..KEYS),
            Accepter => ("mail", KEYS / 2..KEYS / 2 + KEYS),
        };
        let keys = digests(&wanted, column, keys);
        let count = keys.len() as u64;
        let tasks = gateway.work([count, 0, count], wanted.sketch(&keys)?)?;
        let of = tasks.partitions_of(&keys)?;
        let mine = keys.into_iter().zip(of).filter(|(_, p)| *p == 0).map(|(key, _)| key);
        let mine: Vec<_> = mine.skip(but).collect();
        let found = gateway.compare(&tasks, 0, &mine);
        found.inspect_err(|_| until_told(&gateway))
    };
    thread::scope(|scope| {
        let there = scope.spawn(|| compare(Accepter, 0));
        compare(Inviter, 0).unwrap();
        there.join().unwrap().unwrap();
    });
    first.signal("KILL");
    drop(first);
    let again = sides.gateway(Inviter, &[]);
    let ended = compare(Inviter, 1).unwrap_err();
    assert!(
        ended.message.contains("the keys of partition 0 differ from those in an earlier attempt")
    );
    again.end().assert(3, &["the keys of partition 0 differ from those in an earlier attempt"]);
    until_told(&sides.client(Accepter, &CancelToken::default()));
    let there = other.end();
    assert!([4, 6].contains(&there.code.unwrap()), "{there:?}");
}

#[test]
fn unsupported_agreements_are_refused_by_a_gateway_at_once() {
    let refused = |invite: &[&str], flags: &[&str], why: &str| {
        let sides = Sides::new(invite);
        let cluster = &sides.clusters[0];
        let all = ["gateway", "--agreement", "acme.agreement", "--identity", "vesica.identity"];
        let own = ["--cluster", cluster, "--token", "token", "--journal", "journal"];
        let command = sides.projects.command(Inviter, &[&all[..], &own, flags].concat());
        Running::start(command).end().assert(2, &[why]);
    };
    refused(&["--align"], &[], "a gateway only compares rows by one key");
    refused(&["--min-result", "5", "--threshold-first"], &[], "requires whole sets in memory");
    let sides = Sides::new(&[]);
    fs::write(sides.projects.path(Inviter, "token"), "anything").unwrap();
    let all = ["gateway", "--agreement", "acme.agreement", "--identity", "vesica.identity"];
    let own = ["--cluster", "127.0.0.1:0", "--token", "token", "--journal", "journal"];
    let command = sides.projects.command(Inviter, &[&all[..], &own].concat());
    Running::start(command).end().assert(2, &["does not contain a token of a gateway"]);
}
