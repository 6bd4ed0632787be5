//! One service and many partners, a third of them hostile.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use vesica::partnership::{Agreement, Signed};
use vesica_net::{AbortReason, CancelToken, Error, Identity, connect};
use vesica_testkit::assurance;

use crate::{
    harness::{Ended, Running, ended, vesica},
    partners::free_port,
};

/// The projects of a service and of its partners.
struct Town {
    scratch: tempfile::TempDir,
    address: String,
}

const KEYS: usize = 300;

/// The flags of each side about its own table.
const OWN: [&str; 4] = ["--input", "in.csv", "--key", "email"];

impl Town {
    /// Makes this number of partners, each with its own agreement: partner `i` shares `i + 1` keys with the service.
    fn new(partners: usize, invite: &[&str]) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let town = Self { scratch: tempfile::tempdir().unwrap(), address };
        let rows: String = (0..KEYS).map(|key| format!("u{key}@example.org\n")).collect();
        fs::create_dir(town.path("service", "")).unwrap();
        fs::write(town.path("service", "in.csv"), format!("email\n{rows}")).unwrap();
        town.succeeds("service", &["init"]);
        for number in 0..partners {
            town.settle(number, invite);
        }
        town
    }

    /// A new partner with an agreement.
    fn settle(&self, number: usize, invite: &[&str]) {
        self.invite(number, invite);
        self.agree(number);
    }

    /// The service's invitation to a new partner.
    fn invite(&self, number: usize, invite: &[&str]) {
        let partner = &format!("p{number}");
        fs::create_dir(self.path(partner, "")).unwrap();
        let keys = KEYS - 1 - number..KEYS - 1 - number + KEYS;
        let rows: String = keys.map(|key| format!("u{key}@example.org\n")).collect();
        fs::write(self.path(partner, "in.csv"), format!("email\n{rows}")).unwrap();
        self.succeeds(partner, &["init"]);
        let terms = ["--normalize", "email", "--learns", "both", "--address", &self.address];
        self.succeeds("service", &[&["invite", partner], &OWN[..], &terms, invite].concat());
    }

    /// Carries out the steps until both sides have the agreement.
    fn agree(&self, number: usize) {
        let partner = &format!("p{number}");
        let carry = |name: &str, from: &str, to: &str| {
            fs::copy(self.path(from, name), self.path(to, name)).unwrap();
        };
        let (invitation, reply) = (&format!("{partner}.invite"), &format!("{partner}.reply"));
        carry(invitation, "service", partner);
        self.succeeds(partner, &[&["accept", invitation, "--yes"], &OWN[..]].concat());
        carry(reply, partner, "service");
        self.succeeds("service", &["confirm", reply, "--yes"]);
    }

    fn path(&self, who: &str, name: &str) -> PathBuf {
        self.scratch.path().join(who).join(name)
    }

    fn command(&self, who: &str, arguments: &[&str]) -> Command {
        let mut command = vesica();
        command.current_dir(self.path(who, "")).args(arguments);
        command
    }

    #[track_caller]
    fn succeeds(&self, who: &str, arguments: &[&str]) -> Ended {
        let ended = Running::start(self.command(who, arguments)).end();
        ended.assert(0, &[]);
        ended
    }

    fn serve(&self, flags: &[&str]) -> Running {
        let all = [&["serve", "--log", "json", "--metrics", "metrics.socket"], flags].concat();
        // A path has a slash in it.
        let all: Vec<_> = all
            .into_iter()
            .map(|flag| if flag == "metrics.socket" { "./metrics.socket" } else { flag })
            .collect();
        let mut service = Running::start(self.command("service", &all));
        service.until("\"event\":\"listening\"");
        service
    }

    fn run(&self, partner: usize, flags: &[&str]) -> Running {
        let name = &format!("p{partner}");
        let wait: &[&str] = if flags.contains(&"--wait") { &[] } else { &["--wait", "60"] };
        let all = [&["run", name, "--threads", "1"], wait, flags].concat();
        Running::start(self.command(name, &all))
    }

    fn fingerprint(&self, who: &str) -> String {
        let identity = self.path(who, "vesica.identity");
        ended(&["fingerprint", identity.to_str().unwrap()]).out.trim().to_owned()
    }

    /// The keys that a partner shares, on this side.
    #[track_caller]
    fn assert_right(&self, partner: usize) {
        let rows: String =
            (KEYS - 1 - partner..KEYS).map(|key| format!("u{key}@example.org\n")).collect();
        let name = format!("p{partner}");
        for who in [&name, "service"] {
            let output = fs::read_to_string(self.path(who, &format!("{name}.csv"))).unwrap();
            assert_eq!(output, format!("email\n{rows}"), "{who}");
        }
    }

    /// Returns the metrics of the service.
    fn metrics(&self, url: &str) -> String {
        let socket = self.path("service", "metrics.socket");
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        write!(stream, "GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

/// A partner that names another partner's agreement, whose hash and signatures are not secret.
#[test]
fn a_partner_gets_nothing_by_the_agreement_of_another() {
    let town = Town::new(2, &[]);
    let mut service = town.serve(&[]);
    town.run(0, &[]).end().assert(0, &[]);
    let ledger = || fs::read_to_string(town.path("service", "vesica.ledger")).unwrap();
    let before = ledger();
    let of = |who: &str| {
        let text = fs::read_to_string(town.path(who, "vesica.identity")).unwrap();
        Identity::from_pem(&text).unwrap()
    };
    let (me, service_print, cancel) =
        (of("p1"), of("service").fingerprint(), CancelToken::default());
    let wait = Duration::from_secs(20);
    let observer = &|_: &connect::Event<'_>| {};
    let meeting = connect::Meeting {
        me: &me,
        peer: &service_print,
        wait,
        stall: wait,
        proxy: None,
        cancel: &cancel,
        observer,
    };
    let mut channel = connect::dial(&town.address, &meeting).unwrap().into_channel().unwrap();
    // What p0 says, but for who says it.
    let agreement = fs::read_to_string(town.path("p0", "p0.agreement")).unwrap();
    let agreement = Signed::<Agreement>::from_file(&agreement).unwrap();
    let envelope: serde_json::Value = serde_json::from_str(&agreement.to_json()).unwrap();
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let mut offer = serde_json::from_slice::<serde_json::Value>(&payload).unwrap()["offer"].take();
    offer["agreement"] = agreement.hash().into();
    channel.send("vesica/terms", offer.to_string().as_bytes()).unwrap();
    let answer = channel.recv_len("vesica/terms", 1 << 12).unwrap_err();
    let aborted = matches!(answer, Error::Aborted { reason: AbortReason::Agreement, .. });
    assert!(aborted, "{answer}");
    service.until("it names an agreement that it does not have with this side");
    // Nothing is booked on the other partner.
    assert_eq!(ledger(), before);
    town.run(1, &[]).end().assert(0, &[]);
    service.signal("TERM");
    service.end().assert(0, &[]);
}

/// Somebody who means no good, until the others are done.
fn hostile(address: &str, kind: usize, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        match kind % 4 {
            // Says nothing.
            0 => thread::sleep(Duration::from_millis(300)),
            // Says too little, slowly.
            1 => {
                for byte in [22, 3, 1, 2, 0, 1] {
                    let _ = stream.write_all(&[byte]);
                    thread::sleep(Duration::from_millis(50));
                }
            }
            // Says something else.
            2 => {
                let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
                let _ = stream.read(&mut [0; 64]);
            }
            // Floods.
            _ => {
                let more: Vec<_> =
                    (0..20).filter_map(|_| TcpStream::connect(address).ok()).collect();
                thread::sleep(Duration::from_millis(100));
                drop(more);
            }
        }
    }
}

/// Says that all is done, even if something failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// With every change a few partners, in full 64 callers at a time.
#[test]
fn every_honest_partner_is_served_whatever_others_do() {
    let callers = assurance::trials(9, 64);
    let honest = callers - callers / 3;
    // Two of the partners are cut off in the middle, and one names an agreement that there is not.
    let town = Town::new(honest + 3, &[]);
    let toml = fs::read_to_string(town.path("service", "vesica.toml")).unwrap();
    let gone = format!("[jobs.p{}]", honest + 2);
    let at = toml.find(&gone).unwrap();
    fs::write(town.path("service", "vesica.toml"), &toml[..at]).unwrap();

    let mut service = town.serve(&["--runs", "2", "--memory", "256M"]);
    let (began, done) = (Instant::now(), AtomicBool::new(false));
    let times = thread::scope(|scope| {
        for kind in 0..callers / 3 {
            let (address, done) = (&town.address, &done);
            scope.spawn(move || hostile(address, kind, done));
        }
        let done = Done(&done);
        let stranger = Town::new(0, &[]);
        stranger.settle(0, &[]);
        let connect = ["--connect", &town.address, "--wait", "3"];
        let stranger_run = ["run", "p0", "--threads", "1"];
        let stranger_run =
            Running::start(stranger.command("p0", &[&stranger_run[..], &connect].concat()));
        let cut: Vec<_> = [honest, honest + 1].map(|number| town.run(number, &[])).into();
        let runs: Vec<_> = (0..honest).map(|number| town.run(number, &[])).collect();
        let wrong = town.run(honest + 2, &["--wait", "3"]);
        for run in cut {
            run.signal("KILL");
        }
        // A partner of another service, which expects somebody else.
        stranger_run.end().assert(4, &[]);
        let ended = wrong.end();
        assert!(matches!(ended.code, Some(4 | 5)), "{ended:?}");
        let end = |run: Running| {
            run.end().assert(0, &[]);
            began.elapsed()
        };
        let times = runs.into_iter().map(end).collect::<Vec<_>>();
        drop(done);
        times
    });
    (0..honest).for_each(|partner| town.assert_right(partner));
    eprintln!("{honest} honest partners of {callers} served in {:?}", times.last().unwrap());
    let metrics = town.metrics("/metrics");
    assert!(metrics.contains("vesica_running 0\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    let succeeded = metrics.lines().filter(|line| line.contains("outcome=\"succeeded\"} 1"));
    assert!(succeeded.count() >= honest, "{metrics}");
    assert!(!metrics.contains("turned_away_total 0"), "{metrics}");
    assert!(town.metrics("/health").contains("ok"));
    assert!(town.metrics("/else").starts_with("HTTP/1.1 404"));
    service.until("\"event\":\"turned away\"");
    service.signal("TERM");
    let ended = service.end();
    ended.assert(0, &["\"event\":\"stopping\"", "\"event\":\"stopped\""]);
    assert!(!ended.err.contains("@example.org"));
    town.succeeds("service", &["ledger", "verify"]);
}

#[test]
fn a_service_takes_up_new_partners_and_ends_in_order() {
    let town = Town::new(1, &["--max-runs", "2"]);
    let mut service = town.serve(&["--runs", "1"]);
    town.run(0, &[]).end().assert(0, &[]);
    town.invite(1, &[]);
    service.until("\"event\":\"reloaded\",\"jobs\":1");
    town.agree(1);
    service.until("\"event\":\"reloaded\",\"jobs\":2");
    town.run(1, &[]).end().assert(0, &[]);
    town.run(0, &[]).end().assert(0, &[]);
    // The agreement is used up; each side finds out by itself.
    town.run(0, &[]).end().assert(8, &["the limit of 2 runs in all is reached"]);
    // A project that cannot be used changes nothing.
    let toml = town.path("service", "vesica.toml");
    let good = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, good.replace("[jobs.p1]", "[jobs.p1]\nnonsense = 1")).unwrap();
    let said = service.until("\"event\":\"not reloaded\"");
    assert!(said.contains("nonsense"), "{said}");
    town.run(1, &[]).end().assert(0, &[]);
    service.signal("TERM");
    service.end().assert(0, &[]);
}

/// The operator reads in the log why a partner cannot come, or would come in vain.
#[test]
fn a_service_says_which_jobs_it_does_not_serve() {
    let town = Town::new(2, &[]);
    let toml = town.path("service", "vesica.toml");
    let good = fs::read_to_string(&toml).unwrap();
    let misspelt = good.replace("\"p0.agreement\"", "\"po.agreement\"");
    assert_ne!(misspelt, good);
    fs::write(&toml, misspelt).unwrap();
    let mut service = town.serve(&[]);
    // Of the second partner the input is gone, and then the agreement is damaged.
    let again = good.replacen("[jobs.p1]\n", "[jobs.p1]\ndelimiter = \"comma\"\n", 1);
    fs::rename(town.path("service", "in.csv"), town.path("service", "gone.csv")).unwrap();
    fs::write(&toml, again).unwrap();
    let said = service.until("\"event\":\"input missing\"");
    assert!(said.contains("\"input\":\"in.csv\",\"job\":\"p0\""), "{said}");
    fs::rename(town.path("service", "gone.csv"), town.path("service", "in.csv")).unwrap();
    let agreement = town.path("service", "p1.agreement");
    let signed = fs::read_to_string(&agreement).unwrap();
    fs::write(&agreement, "no agreement").unwrap();
    let said = service.until("\"event\":\"not served\",\"job\":\"p1\"");
    assert!(said.contains("p1.agreement: "), "{said}");
    town.run(0, &[]).end().assert(0, &[]);
    fs::write(&agreement, signed).unwrap();
    service.until("\"event\":\"reloaded\",\"jobs\":2");
    // A file that is not a project is reported once, and changes nothing.
    let whole = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, format!("garbage\n{whole}")).unwrap();
    let said = service.until("\"event\":\"not reloaded\"");
    assert!(said.contains("vesica.toml: line 1: "), "{said}");
    town.run(1, &[]).end().assert(0, &[]);
    thread::sleep(Duration::from_millis(1500));
    fs::write(&toml, whole).unwrap();
    service.until("\"event\":\"reloaded\"");
    service.signal("TERM");
    let ended = service.end();
    let why = "the agreement po.agreement does not exist yet";
    ended.assert(0, &["\"event\":\"not served\",\"job\":\"p0\"", why]);
    assert_eq!(ended.err.matches("not reloaded").count(), 1, "{ended:#?}");
}

#[test]
fn a_place_that_is_taken_is_a_fault_of_the_network() {
    let town = Town::new(1, &[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for flag in ["--metrics", "--listen"] {
        let serve = town.command("service", &["serve", flag, &taken]);
        Running::start(serve).end().assert(4, &[&taken]);
    }
}

/// The operator reads who was turned away and why, and not the partner's message.
#[test]
fn a_partner_that_is_in_a_run_is_named_in_the_log() {
    let town = Town::new(1, &[]);
    let mut service = town.serve(&["--runs", "1"]);
    let mut slow = town.run(0, &["--input", "-", "--progress", "plain"]);
    slow.write("email\n");
    service.until("\"event\":\"began\",\"job\":\"p0\"");
    town.run(0, &["--wait", "1"]).end().assert(4, &["already in a run"]);
    let said = service.until("\"event\":\"turned away\"");
    let why = "it is in a run with this side already, and can call again when that is over";
    assert!(said.contains(why) && said.contains(&town.fingerprint("p0")), "{said}");
    drop(slow.stdin());
    slow.end().assert(3, &[]);
    service.signal("TERM");
    service.end().assert(0, &[]);
}

#[test]
fn waiting_for_a_turn_is_no_part_of_a_run() {
    let town = Town::new(2, &[]);
    let mut service = town.serve(&["--runs", "1"]);
    let mut slow = town.run(0, &["--input", "-", "--progress", "plain"]);
    slow.write("email\n");
    service.until("\"event\":\"began\",\"job\":\"p0\"");
    let waits = town.run(1, &[]);
    thread::sleep(Duration::from_secs(3));
    let rows = fs::read_to_string(town.path("p0", "in.csv")).unwrap();
    drop(crate::harness::feed(slow.stdin(), rows.trim_start_matches("email\n")));
    slow.end().assert(0, &[]);
    waits.end().assert(0, &[]);
    let line = service.until("\"event\":\"succeeded\",\"job\":\"p1\"");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let [seconds, waited, keys] =
        ["seconds", "waited", "keys"].map(|name| line[name].as_f64().unwrap());
    assert!(waited > 2.0 && seconds < waited && keys == KEYS as f64, "{line}");
    let learned = line["learned"].as_str().unwrap();
    assert!(learned.contains("learned which of its keys"), "{line}");
    let taken = town.metrics("/metrics");
    let taken = taken.lines().find_map(|line| line.strip_prefix("vesica_run_seconds_total "));
    assert!(taken.unwrap().parse::<f64>().unwrap() > seconds);
}

/// A partner whose table does not come has its turn for as long as nobody else wants it.
#[test]
fn a_partner_that_keeps_a_service_waiting_loses_its_turn_to_others() {
    let town = Town::new(2, &[]);
    let mut service = town.serve(&["--runs", "1", "--hold", "0.1"]);
    let slow = |service: &mut Running| {
        let mut slow = town.run(0, &["--input", "-", "--progress", "plain"]);
        slow.write("email\n");
        service.until("\"event\":\"began\",\"job\":\"p0\"");
        slow.until("reading");
        thread::sleep(Duration::from_millis(300));
        slow
    };
    let mut patient = slow(&mut service);
    let rows = fs::read_to_string(town.path("p0", "in.csv")).unwrap();
    drop(crate::harness::feed(patient.stdin(), rows.trim_start_matches("email\n")));
    patient.end().assert(0, &[]);
    town.assert_right(0);

    let slow = slow(&mut service);
    town.run(1, &[]).end().assert(0, &[]);
    town.assert_right(1);
    slow.end()
        .assert(4, &["others are waiting for it, and this side kept it waiting; try again later"]);
    let said = service.until("\"event\":\"failed\",\"job\":\"p0\"");
    assert!(said.contains("the other side lost its turn"), "{said}");
}

/// Its program tries again as long as it may wait, and another partner does not notice.
#[test]
fn a_partner_that_calls_again_and_again_is_asked_to_call_later() {
    let town = Town::new(2, &[]);
    let mut service = town.serve(&["--partner-rate", "1"]);
    town.run(0, &[]).end().assert(0, &[]);
    town.run(0, &["--wait", "1"]).end().assert(4, &["called too often", "waiting up to 1 s"]);
    let said = service.until("it calls more often than it may, and was asked to call again later");
    assert!(said.contains(&town.fingerprint("p0")), "{said}");
    town.run(1, &[]).end().assert(0, &[]);
}

/// However often strangers call, the log grows by a few lines a minute.
#[test]
fn strangers_are_counted_and_not_listed() {
    let town = Town::new(1, &[]);
    let mut service = town.serve(&[]);
    for _ in 0..100 {
        let mut stream = TcpStream::connect(&town.address).unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        // An alert comes back.
        let _ = stream.read(&mut [0; 64]);
    }
    town.run(0, &[]).end().assert(0, &[]);
    service.until("\"event\":\"turned away\"");
    service.signal("TERM");
    let ended = service.end();
    ended.assert(0, &["\"more\":", "\"event\":\"stopped\""]);
    let lines = ended.err.lines().filter(|line| line.contains("turned away")).count();
    assert!(lines <= 6, "{ended:#?}");
}
