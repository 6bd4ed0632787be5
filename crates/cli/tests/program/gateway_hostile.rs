//! Gateways whose other side, own tasks, or tasks of the other side do not do as they should: a clear error, never a
//! panic or a hang, and no more memory than otherwise.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vesica::cluster::{ClusterResult, Gateway, Tasks};
use vesica_net::{
    CancelToken, Channel, Fingerprint, Identity,
    connect::{self, Connection, Meeting},
};
use vesica_testkit::{assurance, claimant::commitment};

use crate::{
    gateway::{KEYS, Sides, both, digests, undisturbed, until_told},
    harness::{Ended, Running},
    partners::{
        Side::{self, Accepter, Inviter},
        free_port,
    },
};

const PATIENCE: Duration = Duration::from_secs(20);

/// The time that a gateway waits for a sign of life.
const STALL: Duration = Duration::from_secs(2);

/// The memory that a gateway may use in addition to its memory at the beginning, in KiB.
const MORE: u64 = 48 << 10;

/// A connection to this address, of this identity to this one.
fn dial(address: &str, me: &Identity, peer: &Fingerprint) -> Connection {
    let cancel = CancelToken::default();
    let (wait, stall) = (PATIENCE, PATIENCE);
    let meeting =
        Meeting { me, peer, wait, stall, proxy: None, cancel: &cancel, observer: &|_| {} };
    connect::dial(address, &meeting).unwrap()
}

/// The other side's gateway, which connects as the accepting side and then sends anything.
struct Peer {
    channel: Channel,
    step: usize,
    /// At which of its messages it deviates, and how.
    deviates: Option<(usize, Way)>,
}

/// A way to spoil a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It has another label.
    Relabel,
    /// It is announced as larger than anything.
    TooLong,
    /// Every bit of it is the other one.
    Invert,
    /// It is cut short.
    Shorten,
    /// Nothing comes.
    Stall,
    /// The connection is closed.
    Close,
    /// Nothing comes but signs of life.
    Busy,
}

const WAYS: [Way; 7] =
    [Way::Relabel, Way::TooLong, Way::Invert, Way::Shorten, Way::Stall, Way::Close, Way::Busy];

/// The messages of the connecting side up to the first turn.
const STEPS: [&str; 11] = [
    "vesica/terms",
    "vesica/agreement",
    "vesica/ledger",
    "vesica/ready",
    "vesica/resume",
    "vesica/commit",
    "vesica/open",
    "vesica/room",
    "vesica/echo",
    "vesica/choice",
    "vesica/connections",
];

/// The message without content, and the message whose content may be anything of at least the same length.
const EMPTY: [&str; 2] = ["vesica/echo", "vesica/ledger"];

/// The end of a peer's part, where it deviated before.
struct Deviated;

impl Peer {
    fn connect(sides: &Sides, address: &str, deviates: Option<(usize, Way)>) -> Self {
        let [me, peer] = [Accepter, Inviter].map(|side| identity(sides, side));
        let channel = dial(address, &me, &peer.fingerprint()).into_channel().unwrap();
        Self { channel, step: 0, deviates }
    }

    /// Sends the next message, or deviates.
    fn say(&mut self, honest: &[u8]) -> Result<(), Deviated> {
        let label = STEPS[self.step];
        let way = self.deviates.filter(|(at, _)| *at == self.step).map(|(_, way)| way);
        self.step += 1;
        let Some(way) = way else {
            self.channel.send(label, honest).unwrap();
            self.channel.flush().unwrap();
            return Ok(());
        };
        match way {
            Way::Relabel => drop(self.channel.send("another/step", honest)),
            Way::Invert => {
                let inverted: Vec<u8> = honest.iter().map(|byte| !byte).collect();
                drop(self.channel.send(label, &inverted));
            }
            Way::Shorten => drop(self.channel.send(label, &honest[..honest.len() - 1])),
            Way::TooLong => drop(self.channel.send(label, &vec![0; 1 << 21])),
            Way::Close => {}
            Way::Stall => thread::sleep(STALL + Duration::from_secs(1)),
            Way::Busy => {
                let began = Instant::now();
                while began.elapsed() < PATIENCE && self.channel.keep_alive().is_ok() {
                    thread::sleep(Duration::from_millis(200));
                }
            }
        }
        let _ = self.channel.flush();
        Err(Deviated)
    }

    fn hear(&mut self, most: usize) -> Result<Vec<u8>, Deviated> {
        self.hear_of(STEPS[self.step - 1], most)
    }

    fn hear_of(&mut self, label: &'static str, most: usize) -> Result<Vec<u8>, Deviated> {
        self.channel.recv_len(label, most).map_err(|_| Deviated)
    }

    /// Everything up to the first turn. Returns the run's seed.
    fn open(&mut self, sides: &Sides, hash: &str) -> Result<[u8; 32], Deviated> {
        let mut begins = [0; 41];
        begins[0] = 1;
        self.agree(sides, hash, &begins)?;
        self.say(&[7; 32])?;
        let theirs = self.hear(32)?;
        let room = self.hear_of("vesica/room", 64)?;
        self.say(&room)?;
        self.say(&[])?;
        self.hear(0)?;
        self.say(b"rr22")?;
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 item seed");
        let seed = *hasher.update(&[7; 32]).update(&theirs).finalize().as_bytes();
        self.go_on(&seed)?;
        Ok(seed)
    }

    /// The same for a run of this seed, in which no partition is done.
    fn open_again(&mut self, sides: &Sides, hash: &str, seed: &[u8; 32]) -> Result<(), Deviated> {
        let mut run = blake3::Hasher::new_derive_key("vesica 1 resumed run");
        run.update(seed).update(&4u64.to_le_bytes()).update(b"rr22");
        let resumes = [&[2], &run.finalize().as_bytes()[..], &[0; 8]].concat();
        self.agree(sides, hash, &resumes)?;
        self.step = STEPS.len() - 1;
        self.go_on(seed)
    }

    fn agree(&mut self, sides: &Sides, hash: &str, resumption: &[u8]) -> Result<(), Deviated> {
        // Both sides' offers say the same.
        let offer = self.channel.recv_len(STEPS[0], 4096).map_err(|_| Deviated)?;
        self.say(&offer)?;
        self.channel.bind(STEPS[0], hash.as_bytes());
        self.say(&signature(sides))?;
        self.say(&[5; 40])?;
        self.hear_of("vesica/agreement", 64)?;
        self.hear(40)?;
        self.say(&(KEYS as u64).to_le_bytes())?;
        self.say(resumption)?;
        self.say(&commitment(&[7; 32]))?;
        self.hear_of("vesica/ready", 8)?;
        self.hear_of("vesica/resume", 41)?;
        self.hear(32).map(drop)
    }

    fn go_on(&mut self, seed: &[u8; 32]) -> Result<(), Deviated> {
        self.channel.bind("vesica/open", seed);
        self.say(&[0])?;
        self.hear(1).map(drop)
    }

    /// Takes a turn, and returns what the other side has said in its own.
    fn turn(&mut self, said: &[u8]) -> Option<Value> {
        self.channel.send("vesica/turn", said).ok()?;
        let theirs = self.channel.recv_len("vesica/turn", 1 << 15).ok()?;
        serde_json::from_slice(&theirs).ok()
    }

    /// Takes turns until the other side has a task for partition 0; says whose.
    fn until_ready(&mut self) -> Option<Fingerprint> {
        loop {
            let turn = self.turn(&turn(json!([])))?;
            for change in turn["changes"].as_array()? {
                if let Some(print) = change["ready"]["task"]["fingerprint"].as_str() {
                    return print.parse().ok();
                }
            }
        }
    }

    /// Begins partition 0, with its keys committed to like this; returns what leads to the other side's task.
    fn begin(
        &mut self,
        number: u8,
        task: &Identity,
        commitment: u8,
    ) -> Option<(Connection, Fingerprint)> {
        let theirs = self.until_ready()?;
        self.turn(&turn(json!([ready(0, task, commitment)])))?;
        Some((self.channel.another(number).ok()?, theirs))
    }
}

fn turn(changes: Value) -> Vec<u8> {
    json!({"idle": 0, "done": 0, "changes": changes}).to_string().into_bytes()
}

fn ready(partition: u32, task: &Identity, commitment: u8) -> Value {
    let task =
        json!({"fingerprint": task.fingerprint().to_string(), "commitment": vec![commitment; 32]});
    json!({"ready": {"partition": partition, "task": task}})
}

fn identity(sides: &Sides, side: Side) -> Identity {
    Identity::from_pem(&sides.projects.read(side, "vesica.identity")).unwrap()
}

/// The accepting side's signature of the agreement.
fn signature(sides: &Sides) -> Vec<u8> {
    let signed = sides.projects.read(Accepter, "acme.agreement");
    let signed: Value = serde_json::from_str(&signed).unwrap();
    let me = identity(sides, Accepter).fingerprint().to_string();
    let mut all = signed["signatures"].as_array().unwrap().iter();
    let mine = all.find(|signature| signature["keyid"] == me[..]).unwrap();
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.decode(mine["sig"].as_str().unwrap()).unwrap()
}

/// The inviting side's gateway at this address.
fn gateway(sides: &Sides, address: &str) -> Running {
    let stall = STALL.as_secs().to_string();
    let flags = ["--listen", address, "--wait", "2", "--stall-timeout", &stall, "--deadline", "9"];
    sides.gateway(Inviter, &flags)
}

/// Runs that gateway, with a cluster that has a task for partition 0, while a peer does this. Returns how the gateway
/// ended, and what its cluster heard.
fn against(sides: &Sides, peer: impl FnOnce(&str) + Send) -> (Ended, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let gateway = gateway(sides, &address);
    let before = memory_of(&gateway);
    let heard = thread::scope(|scope| {
        let cluster = scope.spawn(|| heard_of_partition_0(sides));
        peer(&address);
        cluster.join().unwrap()
    });
    let ended = gateway.end();
    let peak = report(sides)["peak_memory_bytes"].as_u64().unwrap() >> 10;
    assert!(peak < before + MORE, "{peak} KiB, and {before} before");
    let _ = fs::remove_file(sides.projects.path(Inviter, "journal"));
    assert!(!ended.err.contains("panicked") && !ended.err.contains("example.org"), "{ended:?}");
    (ended, heard)
}

/// Why the inviting side's cluster, which has a task for partition 0, came to nothing.
fn heard_of_partition_0(sides: &Sides) -> String {
    match told(sides, Inviter) {
        Ok((client, tasks, keys)) => {
            let failed = client.compare(&tasks, 0, &keys).unwrap_err();
            until_told(&client);
            failed.message
        }
        Err(failed) => failed.message,
    }
}

/// The hash of the terms, from the report of a run that came to nothing.
fn terms_hash(sides: &Sides) -> String {
    let (ended, _) = against(sides, |address| {
        let mut peer = Peer::connect(sides, address, Some((3, Way::Relabel)));
        assert!(peer.agree(sides, "", &[]).is_err());
    });
    ended.assert(6, &[]);
    report(sides)["terms_hash"].as_str().unwrap().to_owned()
}

/// Returns the last lines of the inviting side's gateway.
fn report(sides: &Sides) -> Value {
    serde_json::from_str(&sides.projects.read(Inviter, "report.json")).unwrap()
}

/// The work that a driver gets after it counted this side's keys, and the keys of partition 0.
fn told(sides: &Sides, side: Side) -> ClusterResult<(Gateway, Tasks, Vec<[u8; 32]>)> {
    let client = sides.client(side, &CancelToken::default());
    let wanted = client.keys()?;
    let (column, keys) = match side {
        Inviter => ("email", 0..KEYS),
        Accepter => ("mail", KEYS / 2..KEYS / 2 + KEYS),
    };
    let mut keys = digests(&wanted, column, keys);
    keys.sort_unstable();
    let count = keys.len() as u64;
    let tasks = client.work([count, 0, count], wanted.sketch(&keys)?)?;
    let of = tasks.partitions_of(&keys)?;
    let keys = keys.into_iter().zip(of).filter(|(_, p)| *p == 0).map(|(key, _)| key).collect();
    Ok((client, tasks, keys))
}

/// The largest resident memory that a process has had, in KiB.
fn memory_of(process: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// If anything replaces a message up to the first turn, the gateway reports the fault and ends.
#[test]
fn a_peer_that_deviates_before_partitions() {
    let deviates = |sides: &Sides, step: usize, way: Way| {
        let (ended, heard) = against(sides, |address| {
            let mut peer = Peer::connect(sides, address, Some((step, way)));
            assert!(peer.open(sides, "").is_err());
        });
        let (code, said) = match way {
            Way::Stall | Way::Close => (4, "lost the other side"),
            Way::Busy => (4, "the run was not over after"),
            // A commitment may be anything.
            Way::Invert if STEPS[step] == "vesica/commit" => (4, "lost"),
            _ => (6, "the other side broke the protocol while "),
        };
        assert_eq!(ended.code, Some(code), "{} {way:?}: {ended:?}", STEPS[step]);
        ended.assert(code, &[said]);
        assert!(!heard.is_empty());
    };
    // They wait most of the time.
    thread::scope(|scope| {
        for (nth, way) in WAYS.into_iter().enumerate() {
            scope.spawn(move || {
                let sides = Sides::new(&[]);
                let needs_content = [Way::Invert, Way::Shorten].contains(&way);
                let steps = 0..STEPS.len();
                let steps = steps.filter(|step| !needs_content || !EMPTY.contains(&STEPS[*step]));
                let tried = steps.filter(|step| assurance::tries(*step, nth, WAYS.len()));
                tried.for_each(|step| deviates(&sides, step, way));
            });
        }
    });
}

/// Turns that cannot be.
#[test]
fn a_peer_that_takes_impossible_turns() {
    let sides = Sides::new(&[]);
    let hash = terms_hash(&sides);
    let task = Identity::generate().unwrap();
    let kept =
        |partition: u32, attempt: u8| json!({"kept": {"partition": partition, "attempt": attempt}});
    let twice = json!([kept(0, 1), kept(0, 1)]);
    let cannot = "an impossible turn";
    let cases = [
        (b"\xff\xfe".to_vec(), "not a turn of this version"),
        (vec![b' '; 1 << 16], "may have at most 32768 bytes, announced 65536"),
        (json!({"idle": 5000, "done": 0, "changes": []}).to_string().into_bytes(), cannot),
        (turn(json!([ready(4, &task, 1)])), cannot),
        (turn(json!([kept(0, 1)])), cannot),
        (turn(twice), cannot),
        (turn(vec![kept(9, 1); 65].into()), cannot),
        (turn(json!([ready(0, &task, 1), ready(0, &task, 2)])), "the keys of a partition changed"),
    ];
    for (nth, (said, why)) in cases.into_iter().enumerate() {
        if assurance::tries(nth, 0, 3) {
            let (ended, heard) = against(&sides, |address| {
                let mut peer = Peer::connect(&sides, address, None);
                assert!(peer.open(&sides, &hash).is_ok());
                peer.until_ready().unwrap();
                assert!((0..3).any(|_| peer.turn(&said).is_none()));
            });
            ended.assert(6, &[why, "while comparing the tables (rr22)"]);
            assert!(heard.contains(why), "{heard}");
        }
    }
}

/// A peer whose part of an attempt fails each time: nobody tries forever.
#[test]
fn a_peer_that_spoils_attempts() {
    let sides = Sides::new(&[]);
    let hash = terms_hash(&sides);
    let (task, cancel) = (Identity::generate().unwrap(), CancelToken::default());
    let (ended, heard) = against(&sides, |address| {
        let mut peer = Peer::connect(&sides, address, None);
        assert!(peer.open(&sides, &hash).is_ok());
        let mut begun = 0;
        while let Some((mut connection, _)) = peer.begin(begun, &task, 1) {
            let rubbish =
                [&[0x16, 3, 3, 0xff, 0xff][..], &[0xee; 100], &[]][usize::from(begun % 3)];
            connection.put(rubbish, PATIENCE, &cancel).unwrap();
            begun += 1;
        }
        assert_eq!(begun, 3);
    });
    ended.assert(4, &["the comparison of partition 0 was begun 3 times", "--max-attempts"]);
    assert!(heard.contains("was begun 3 times"), "{heard}");

    // One that is a task of the other side and breaks the protocol.
    let (ended, heard) = against(&sides, |address| {
        let mut peer = Peer::connect(&sides, address, None);
        assert!(peer.open(&sides, &hash).is_ok());
        let (connection, theirs) = peer.begin(0, &task, 1).unwrap();
        let inside = connection.inside(&task, &theirs, true, PATIENCE, &cancel).unwrap();
        let mut channel = inside.into_channel().unwrap();
        channel.send("psi/nonsense", &[0xff; 64]).and_then(|()| channel.flush()).unwrap();
        while peer.turn(&turn(json!([]))).is_some() {}
    });
    ended.assert(3, &["the cluster of this side stopped", "received `psi/nonsense`"]);
    assert!(heard.contains("received `psi/nonsense`"), "{heard}");

    // One who begins an attempt and does not come, or comes with another number than its own.
    for (number, code, why) in
        [(None, 4, "lost the other side"), (Some(7), 6, "a connection of another run")]
    {
        let (ended, _) = against(&sides, |address| {
            let mut peer = Peer::connect(&sides, address, None);
            assert!(peer.open(&sides, &hash).is_ok());
            peer.until_ready().unwrap();
            peer.turn(&turn(json!([ready(0, &task, 1)]))).unwrap();
            match number {
                Some(number) => drop(peer.channel.another(number).unwrap()),
                None => thread::sleep(STALL + Duration::from_secs(1)),
            }
            while peer.turn(&turn(json!([]))).is_some() {}
        });
        ended.assert(code, &[why]);
    }
}

/// A peer whose gateway has forgotten what it committed to, or says so: this side's has not, although it was killed.
#[test]
fn a_peer_that_comes_with_other_keys_after_a_restart() {
    let sides = Sides::new(&[]);
    let hash = terms_hash(&sides);
    let task = Identity::generate().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let first = gateway(&sides, &address);
    let compare = || heard_of_partition_0(&sides);
    let (ended, heard) = thread::scope(|scope| {
        let cluster = scope.spawn(compare);
        let mut peer = Peer::connect(&sides, &address, None);
        let seed = peer.open(&sides, &hash).ok().unwrap();
        drop(peer.begin(0, &task, 1).unwrap());
        first.signal("KILL");
        drop(peer);
        let again = gateway(&sides, &address);
        let driver = scope.spawn(compare);
        let mut peer = Peer::connect(&sides, &address, None);
        assert!(peer.open_again(&sides, &hash, &seed).is_ok());
        // The same keys would do.
        drop(peer.begin(0, &task, 1).unwrap());
        let other = turn(json!([ready(0, &task, 2)]));
        assert!((0..3).any(|_| peer.turn(&other).is_none()));
        let heard = [cluster, driver].map(|heard| heard.join().unwrap());
        (again.end(), heard)
    });
    ended.assert(6, &["the keys of a partition changed between attempts"]);
    assert!(heard.iter().all(|heard| heard.contains("changed between attempts")), "{heard:?}");
}

/// A connection of the inviting side's cluster to its gateway.
fn of_the_cluster(sides: &Sides) -> Connection {
    let text = sides.projects.read(Inviter, "token");
    let (print, key) = text.split_once('\n').unwrap();
    let key = Identity::from_pem(key).unwrap();
    dial(&sides.clusters[Inviter as usize], &key, &print.parse().unwrap())
}

/// Returns the answer of a gateway to this question of its own cluster; `None` if it hangs up.
fn ask(sides: &Sides, kind: u8, question: &[u8]) -> Option<String> {
    let (mut connection, cancel) = (of_the_cluster(sides), CancelToken::default());
    connection.put(&[&[kind][..], &[3; 16]].concat(), PATIENCE, &cancel).unwrap();
    let mut channel = connection.into_channel().unwrap().with_stall_timeout(PATIENCE);
    channel.send("gateway/ask", question).ok()?;
    let answer = channel.recv_len("gateway/answer", 1 << 20).ok()?;
    let _ = channel.finish();
    String::from_utf8(answer).ok()
}

/// A caller with the token can end the run, and do nothing else that it should not.
#[test]
fn hostile_tasks_of_the_own_side() {
    let sides = Sides::new(&[]);
    let gateways = [Inviter, Accepter].map(|side| sides.gateway(side, &[]));
    let before = memory_of(&gateways[0]);
    thread::scope(|scope| {
        scope.spawn(|| told(&sides, Accepter).map(drop));
        told(&sides, Inviter).map(drop).unwrap();
    });
    let task = Identity::generate().unwrap();
    let found = |attempt: u8, matches: Value| json!({"found": {"partition": 0, "attempt": attempt, "matches": matches}});
    let refused = |question: Value, why: &str| {
        let answer = ask(&sides, 1, question.to_string().as_bytes()).unwrap();
        assert!(answer.contains("refused") && answer.contains(why), "{question}: {answer}");
    };
    let unknown = "it is not a request of this version";
    refused(json!({"open": {}}), unknown);
    refused(json!({"next": {"slot": -1}}), unknown);
    refused(
        json!({"ready": {"partition": 0, "task": {"fingerprint": "x", "commitment": []}}}),
        unknown,
    );
    refused(ready(4, &task, 1), "the partition does not exist");
    refused(json!({"kept": {"slot": 0, "partition": 4}}), "the partition does not exist");
    refused(found(0, json!(1)), "not a valid result of an attempt");
    refused(found(17, json!(1)), "not a valid result of an attempt");
    refused(found(1, json!(u64::MAX)), "not a valid result of an attempt");
    refused(found(1, Value::Null), "not a valid result of an attempt");
    refused(json!({"keys": {"version": 1}}), "have different versions");
    let answer = ask(&sides, 1, found(1, json!(1)).to_string().as_bytes());
    assert_eq!(answer.as_deref(), Some("\"again\""));
    // Slots that have nothing have nothing to keep.
    let kept = json!({"kept": {"slot": 5, "partition": 0}});
    assert_eq!(ask(&sides, 1, kept.to_string().as_bytes()).as_deref(), Some("\"good\""));
    assert!(ask(&sides, 1, b"\xff").is_some_and(|answer| answer.contains(unknown)));
    assert_eq!(ask(&sides, 1, &vec![b' '; (1 << 20) + 1]), None);
    // Neither a question nor an attempt, and a ticket that nobody was given.
    assert_eq!(ask(&sides, 7, b"{}"), None);
    assert_eq!(ask(&sides, 2, b"{}"), None);
    // Who keeps a connection open is in nobody's way.
    let silent: Vec<_> = (0..assurance::trials(40, 400)).map(|_| of_the_cluster(&sides)).collect();
    assert!(memory_of(&gateways[0]) < before + MORE + 256 * silent.len() as u64);
    for (found, side) in both(&sides, [2, 2], &undisturbed).into_iter().zip([Inviter, Accepter]) {
        found.unwrap().assert(side);
    }
    drop(silent);
    for gateway in gateways {
        gateway.end().assert(0, &[]);
    }
}
