//! Lists whose publication is killed, and the log of a service of a list.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_testkit::assurance;

use crate::harness::{Ended, Running, vesica};

/// Secret seeds of epochs, with which two publications of the same table are the same, byte for byte.
const SEEDS: [u8; 2] = [3, 4];

/// A publisher, and a client of it.
struct World {
    scratch: tempfile::TempDir,
    fingerprint: String,
}

/// A version of the table, which is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Version {
    /// Keys that are not in the table: those below it.
    from: u32,
    /// The number of keys, and keys that are not in the list.
    to: u32,
    epoch: u64,
    sequence: u64,
}

/// The first publication, an update of few keys, and a new epoch.
fn versions(keys: u32) -> [Version; 3] {
    [
        Version { from: 0, to: keys, epoch: 1, sequence: 0 },
        Version { from: 5, to: keys + 9, epoch: 1, sequence: 1 },
        Version { from: 9, to: keys + 5, epoch: 2, sequence: 0 },
    ]
}

impl World {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let identity = scratch.path().join("identity");
        let made = Running::start(command(&["keygen", identity.to_str().unwrap()])).end();
        made.assert(0, &[]);
        let keys: String = (0..20).map(|key| format!("K{key}@example.org\n")).collect();
        fs::write(scratch.path().join("asked.csv"), format!("mail\n{keys}")).unwrap();
        Self { scratch, fingerprint: made.out.trim().to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes the table of a version.
    fn table(&self, version: Version) {
        let rows = (version.from..version.to)
            .map(|key| format!("k{key}@example.org,because of {}\n", key ^ version.from));
        let text: String = std::iter::once("mail,why\n".to_owned()).chain(rows).collect();
        fs::write(self.path("in.csv"), text).unwrap();
    }

    /// Begins to publish the table that was written. The epoch's seed is there, as after a publication that was killed.
    fn publish(&self, list: &str, version: Version, labels: bool) -> Running {
        let private = self.path(list).join("private");
        fs::create_dir_all(&private).unwrap();
        let seed = private.join(format!("epoch-{}.seed", version.epoch));
        if !seed.exists() {
            let digits = format!("{:02x}", SEEDS[version.epoch as usize - 1]).repeat(32);
            fs::write(seed, digits + "\n").unwrap();
        }
        let (input, list_path, identity) =
            (self.text("in.csv"), self.text(list), self.text("identity"));
        let mut flags = vec!["publish", "--input", &input, "--key", "mail", "--normalize", "email"];
        flags.extend(["--list", &list_path, "--identity", &identity, "--capacity", "4000000"]);
        if labels {
            flags.extend(["--labels", "why", "--label-bytes", "32"]);
        }
        if version.epoch == 2 && self.shown(list).is_none_or(|(epoch, _)| epoch == 1) {
            flags.push("--new-epoch");
        }
        Running::start(command(&flags))
    }

    /// Which version is shown: its epoch and number.
    fn shown(&self, list: &str) -> Option<(u64, u64)> {
        let text = fs::read_to_string(self.path(list).join("public/head.json")).ok()?;
        let head = vesica_list::head::Head::read(&text).expect("a head is never half written");
        Some((head.epoch, head.sequence()))
    }

    /// The published facts that do not depend on the time: parts, state, and files.
    fn content(&self, list: &str) -> (Vec<String>, String, Vec<Vec<u8>>) {
        let public = self.path(list).join("public");
        let text = fs::read_to_string(public.join("head.json")).unwrap();
        let head = vesica_list::head::Head::read(&text).unwrap();
        let names: Vec<_> = head.parts.iter().map(|entry| entry.file_name()).collect();
        let files = names.iter().map(|name| fs::read(public.join(name)).unwrap()).collect();
        (names, head.state.to_string(), files)
    }

    /// The keys that a client finds.
    fn look_up(&self, address: &str) -> Ended {
        self.asking(address, "asked.csv").end()
    }

    /// A client that looks a table up.
    fn asking(&self, address: &str, table: &str) -> Running {
        let (asked, cache) = (self.text(table), self.text("cache"));
        let place = format!("http://{address}/v1");
        let mut flags = vec!["lookup", "--list", &place, "--publisher", &self.fingerprint];
        flags.extend(["--input", &asked, "--key", "mail", "--normalize", "email", "--quiet"]);
        flags.extend(["--cache", &cache]);
        Running::start(command(&flags))
    }

    /// The bytes that are kept of answers to an unfinished lookup.
    fn kept(&self) -> u64 {
        let cache = self.path("cache").join(&self.fingerprint);
        let entries = fs::read_dir(cache).into_iter().flatten().flatten();
        let kept =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("lookup-"));
        kept.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    }
}

fn command(flags: &[&str]) -> Command {
    let mut command = vesica();
    command.args(flags);
    command
}

/// Returns the keys that a client finds in a version.
fn expected(version: Version, labels: bool) -> String {
    let label = |key: u32| match labels {
        true => format!(",because of {}", key ^ version.from),
        false => String::new(),
    };
    let rows = (version.from.min(20)..20).map(|key| format!("K{key}@example.org{}\n", label(key)));
    let header = if labels { "mail,why\n" } else { "mail\n" };
    std::iter::once(header.to_owned()).chain(rows).collect()
}

/// A service of a list without TLS, and its address.
fn serve(list: &str, flags: &[&str]) -> (Running, String) {
    let plenty = ["--client-rate", "1000000000", "--rate", "1000000000"];
    serve_so_many(list, &[&plenty, flags].concat())
}

/// A service with limits.
fn serve_so_many(list: &str, flags: &[&str]) -> (Running, String) {
    let all =
        ["serve-list", "--list", list, "--no-tls", "--listen", "127.0.0.1:0", "--log", "json"];
    let mut service = Running::start(command(&[&all[..], flags].concat()));
    let line = service.until("\"event\":\"listening\"");
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = said["address"].as_str().unwrap().to_owned();
    (service, address)
}

/// When a publication is killed.
enum Moment {
    /// After this time.
    After(Duration),
    /// When a file with this in its name is there that was not there before, or is another.
    Seen(&'static str),
}

/// Files and when they were changed.
fn files(list: &Path, with: &str) -> Vec<(PathBuf, Option<std::time::SystemTime>)> {
    let in_both = ["public", "private"].map(|of| fs::read_dir(list.join(of)).into_iter().flatten());
    let found = in_both.into_iter().flatten().flatten().map(|entry| entry.path());
    let found = found.filter(|path| path.to_string_lossy().contains(with));
    let mut all: Vec<_> = found
        .map(|path| {
            let changed = fs::metadata(&path).and_then(|data| data.modified()).ok();
            (path, changed)
        })
        .collect();
    all.sort();
    all
}

/// Kills a publication at a moment, unless it ends before. Returns whether it was killed.
fn kill(
    running: Running,
    list: &Path,
    moment: &Moment,
    before: &[(PathBuf, Option<std::time::SystemTime>)],
) -> bool {
    let began = Instant::now();
    match moment {
        Moment::After(time) => thread::sleep(*time),
        Moment::Seen(name) => {
            // A publication in which nothing changes makes no part.
            while files(list, name) == before && began.elapsed() < Duration::from_secs(3) {
                thread::yield_now();
            }
        }
    }
    running.signal("KILL");
    let ended = running.end();
    assert!(matches!(ended.code, None | Some(0)), "{ended:#?}");
    ended.code.is_none()
}

/// The visible steps of a publication, in order: its records, the part, the log, and the head.
const SEEN: [&str; 5] = ["values-", ".draft-", ".part", "log.txt", "head.json"];

/// Publishes a version, after killing this number of attempts.
fn survive(
    world: &World,
    (version, before): (Version, Option<Version>),
    (labels, times, span): (bool, usize, Duration),
    service: Option<&str>,
    rng: &mut StdRng,
) -> usize {
    world.table(version);
    let list = world.path("list");
    let mut kills = 0;
    for _ in 0..times {
        let moment = match rng.random_range(0..2 * SEEN.len()) {
            nth if nth < SEEN.len() => Moment::Seen(SEEN[nth]),
            _ => Moment::After(span.mul_f64(rng.random_range(0.0..1.0))),
        };
        let name = if let Moment::Seen(name) = moment { name } else { "" };
        let known = files(&list, name);
        kills += usize::from(kill(world.publish("list", version, labels), &list, &moment, &known));
        // What is shown is the version before or this one, and whole.
        let shown = world.shown("list");
        let is_new = shown == Some((version.epoch, version.sequence));
        assert!(is_new || shown == before.map(|before| (before.epoch, before.sequence)));
        if let (Some(address), Some(before)) = (service, before) {
            let found = world.look_up(address);
            // A service needs a moment to see a new epoch.
            if !(is_new && version.epoch != before.epoch) {
                found.assert(0, &[]);
                assert_eq!(found.out, expected(if is_new { version } else { before }, labels));
            }
        }
    }
    let ended = world.publish("list", version, labels).end();
    ended.assert(0, &[]);
    kills
}

/// Publications are killed at any moment, the first one, an update and a new epoch; the next call goes on, clients find
/// the old list meanwhile, and in the end everything is as if nothing had happened.
#[test]
fn a_publication_that_is_killed_changes_nothing() {
    let keys = assurance::trials(3_000, 60_000) as u32;
    let rng = &mut StdRng::seed_from_u64(11);
    let mut kills = 0;
    while kills < assurance::trials(12, 300) {
        for labels in [true, false] {
            let world = World::new();
            let [first, second, third] = versions(keys);
            let mut service = None;
            let mut before = None;
            for version in [first, second, third] {
                world.table(version);
                let began = Instant::now();
                world.publish("undisturbed", version, labels).end().assert(0, &[]);
                let span = began.elapsed();
                let address = service.as_ref().map(|(_, address): &(Running, String)| &address[..]);
                kills += survive(&world, (version, before), (labels, 4, span), address, rng);
                assert!(world.content("list") == world.content("undisturbed"), "{version:?}");
                clean(&world, version);
                before = Some(version);
                if service.is_none() {
                    service = Some(serve(&world.text("list"), &[]));
                }
            }
            let (_, address) = service.as_ref().unwrap();
            let began = Instant::now();
            loop {
                let found = world.look_up(address);
                if found.code == Some(0) && found.out == expected(third, labels) {
                    break;
                }
                assert!(began.elapsed() < Duration::from_secs(60), "{found:#?}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
    println!("{kills} publications were killed");
}

/// Nothing is left of attempts that were killed.
#[track_caller]
fn clean(world: &World, version: Version) {
    let names = |of: &str| {
        let entries = fs::read_dir(world.path("list").join(of)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let private = names("private");
    let values = format!("values-{}-{}", version.epoch, version.sequence);
    assert_eq!(private.len(), 3, "{private:?}");
    assert_eq!(private[..2], [format!("epoch-{}.seed", version.epoch), "lock".to_owned()]);
    assert!(private[2].starts_with(&values), "{private:?}");
    let parts = world.content("list").0;
    let public = names("public");
    let others = public.iter().filter(|name| !parts.contains(name));
    // Parts of the version before are there for who is downloading them.
    let others: Vec<_> = others.filter(|name| !name.ends_with(".part")).collect();
    assert_eq!(others, ["head.json", "log.txt"]);
    assert!(public.len() <= 2 + parts.len() + 2, "{public:?}");
    let log = fs::read_to_string(world.path("list/public/log.txt")).unwrap();
    let lines = version.sequence + version.epoch + u64::from(version.epoch == 2);
    assert_eq!(log.lines().count() as u64, lines.max(version.sequence + 1));
}

/// A list of several partitions goes on from those that are done.
#[test]
#[ignore = "assure: three million keys, again and again"]
fn three_million_keys_go_on_after_they_were_killed() {
    const KEYS: u32 = 3_200_000;
    let rng = &mut StdRng::seed_from_u64(12);
    let world = World::new();
    let version = versions(KEYS)[0];
    world.table(version);
    let began = Instant::now();
    let patience = Duration::from_secs(1200);
    world.publish("undisturbed", version, true).end_within(patience).assert(0, &[]);
    let span = began.elapsed();
    for _ in 0..5 {
        let running = world.publish("list", version, true);
        thread::sleep(span.mul_f64(rng.random_range(0.3..0.9)));
        running.signal("KILL");
        running.end();
    }
    let ended = world.publish("list", version, true).end_within(patience);
    ended.assert(0, &[]);
    assert!(world.content("list") == world.content("undisturbed"));
    let line = ended.out.lines().find(|line| line.starts_with("evaluated")).unwrap().to_owned();
    let evaluated: u32 = line.split_whitespace().last().unwrap().replace(',', "").parse().unwrap();
    println!("{evaluated} of {KEYS} keys were evaluated in the end");
    assert!(evaluated < KEYS, "nothing was kept");
}

/// Reads a page of a service's metrics.
fn metrics(socket: &str, url: &str) -> String {
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    write!(stream, "GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// A client asks for more keys than the service answers at once, and is killed while it waits. The next
/// one asks only for the rest.
#[test]
fn a_lookup_that_is_killed_goes_on() {
    let world = World::new();
    let version = versions(300)[0];
    world.table(version);
    world.publish("list", version, false).end().assert(0, &[]);
    // Rows without a key, or with one that another row has, are asked for as all are.
    let keys: String = (0..150).map(|row| format!("K{}@example.org\n", row % 100)).collect();
    fs::write(world.path("many.csv"), format!("mail\n{keys}n/a\n")).unwrap();
    let limits = ["--client-burst", "100", "--client-rate", "1"];
    let (_service, address) = serve_so_many(&world.text("list"), &limits);
    let waiting = world.asking(&address, "many.csv");
    let began = Instant::now();
    while world.kept() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is kept");
        thread::sleep(Duration::from_millis(20));
    }
    waiting.signal("KILL");
    assert_eq!(waiting.end().code, None);
    let socket = world.text("metrics.socket");
    let (_service, address) = serve(&world.text("list"), &["--metrics", &socket]);
    let ended = world.asking(&address, "many.csv").end();
    ended.assert(0, &[]);
    assert_eq!(ended.out.lines().count(), 151);
    assert_eq!(world.kept(), 0);
    // Of 151 rows, 76 were answered before.
    let text = metrics(&socket, "/metrics");
    assert!(text.lines().any(|line| line == "vesica_list_keys_total 75"), "{text}");
}

/// A service of a list counts what it does, and says nothing of who asks and what about.
/// A publication that fails leaves nothing, and a lookup of the wrong directory names the right one.
#[test]
fn mistakes_leave_nothing_and_are_named() {
    let world = World::new();
    let [version, ..] = versions(30);
    world.table(version);
    let (input, list, identity) = (world.text("in.csv"), world.text("new"), world.text("identity"));
    let publish = |input: &str, key: &str| {
        let table = ["publish", "--input", input, "--key", key, "--normalize", "email"];
        Running::start(command(&[&table[..], &["--list", &list, "--identity", &identity]].concat()))
            .end()
    };
    fs::write(world.path("empty.csv"), "mail\nNULL\n").unwrap();
    for (table, key) in [("nosuch.csv", "mail"), ("in.csv", "nosuch"), ("empty.csv", "mail")] {
        publish(&world.text(table), key).assert(3, &[]);
        assert!(!world.path("new").exists(), "{table} {key}");
    }
    publish(&input, "mail").assert(0, &[]);
    let asked = world.text("asked.csv");
    let look_up = ["lookup", "--input", &asked, "--key", "mail", "--normalize", "email"];
    let of = ["--list", &list, "--publisher", &world.fingerprint];
    let ended = Running::start(command(&[&look_up[..], &of].concat())).end();
    ended.assert(4, &["there is no published list here", "did you mean ", "/public?"]);
}

/// Of all rows, a column says which are in the list; a row without a key was not looked up.
#[test]
fn all_rows_say_whether_they_are_in_the_list() {
    let world = World::new();
    let [version, ..] = versions(30);
    for labels in [false, true] {
        let list = world.text(if labels { "labelled" } else { "plain" });
        world.table(version);
        world.publish(&list, version, labels).end().assert(0, &[]);
        let asked = world.path("some.csv");
        fs::write(&asked, "mail\nk25@example.org\nnobody@example.org\nNULL\n").unwrap();
        let copy = format!("{list}/public");
        let (service, address) = serve(&list, &[]);
        let place = format!("http://{address}/v1");
        let table = ["lookup", "--all", "--input", asked.to_str().unwrap(), "--key", "mail"];
        let rest = ["--normalize", "email", "--list", &copy, "--ask", &place];
        let who = ["--publisher", &world.fingerprint, "--cache", &format!("{list}-cache")];
        let found = Running::start(command(&[&table[..], &rest, &who].concat())).end();
        found.assert(0, &[]);
        let expected = match labels {
            true => {
                let label = 25 ^ version.from;
                format!(
                    "mail,in_list,why\nk25@example.org,true,because of {label}\nnobody@example.org,false,\nNULL,,\n"
                )
            }
            false => {
                "mail,in_list\nk25@example.org,true\nnobody@example.org,false\nNULL,\n".to_owned()
            }
        };
        assert_eq!(found.out, expected);
        drop(service);
    }
}

#[test]
fn a_service_of_a_list_shows_what_it_counts() {
    let world = World::new();
    let version = versions(300)[0];
    world.table(version);
    world.publish("list", version, true).end().assert(0, &[]);
    let socket = world.text("metrics.socket");
    let (service, address) = serve(&world.text("list"), &["--metrics", &socket]);
    let shown = |url: &str| metrics(&socket, url);
    assert!(shown("/health").ends_with("ok\n"));
    let text = shown("/metrics");
    assert!(text.contains("vesica_list_questions_total 0") && text.contains("\n# EOF\n"), "{text}");
    world.look_up(&address).assert(0, &[]);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let wrong = "POST /v1/evaluate?epoch=7 HTTP/1.1\r\nhost: x\r\ncontent-length: 32\r\nconnection: close\r\n\r\n";
    stream.write_all(&[wrong.as_bytes(), &[0; 32]].concat()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let text = shown("/metrics");
    for line in [
        "vesica_list_questions_total 1",
        "vesica_list_keys_total 20",
        "vesica_list_refused_total{reason=\"epoch\"} 1",
        "vesica_list_refused_total{reason=\"limit\"} 0",
        "vesica_list_turned_away_total 0",
        "vesica_list_waiting 0",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in {text}");
    }
    assert!(text.contains("vesica_list_question_seconds_total 0."), "{text}");
    service.signal("TERM");
    let ended = service.end();
    ended.assert(0, &["stopping"]);
    for said in [&text, &ended.err] {
        assert!(!said.contains("example.org") && !said.contains("127.0.0.1 "), "{said}");
    }
}
