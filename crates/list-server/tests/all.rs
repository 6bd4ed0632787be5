//! A publisher's service and its clients, over real connections on this machine.

#![allow(clippy::unwrap_used)]

mod hostile;

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};
use vesica::{
    Class, NoObserver, Normalize, Observer, Source,
    files::{Delimiter, Dialect, Duplicates, Formulas, KeyColumn, NullValues, Nulls},
    lists::{
        Asked, Found, LookUp, Origin, Publication, Published, Remote, Subscription, look_up,
        publish,
    },
};
use vesica_list_server::{Asset, Certificate, ClientLimits, Rate, Serving, Tokens, serve};
use vesica_net::{CancelToken, Fingerprint, Identity};

/// A list, and the service that serves it.
struct World {
    directory: tempfile::TempDir,
    me: Identity,
    service: Option<Service>,
}

struct Service {
    address: String,
    cancel: CancelToken,
    thread: JoinHandle<()>,
    told: mpsc::Receiver<&'static str>,
}

const PLENTY: ClientLimits = ClientLimits {
    client: Rate { a_minute: 1 << 20, at_once: 1 << 20 },
    all: Rate { a_minute: 1 << 20, at_once: 1 << 20 },
};

impl World {
    fn new() -> Self {
        let (directory, me) = (tempfile::tempdir().unwrap(), Identity::generate().unwrap());
        Self { directory, me, service: None }
    }

    fn list(&self) -> PathBuf {
        self.directory.path().join("list")
    }

    fn publish(&self, keys: impl IntoIterator<Item = u32>, new_epoch: bool) -> Published {
        let rows = keys.into_iter().map(|key| format!("k{key}@example.org,because of {key}\n"));
        let text: String = std::iter::once("mail,why\n".to_owned()).chain(rows).collect();
        let job = Publication {
            input: Source::Memory { name: "t.csv".into(), bytes: text.into() },
            dialect: Dialect::from(Delimiter::Comma),
            columns: vec![KeyColumn { name: "mail".into(), normalize: Normalize::EMAIL }],
            null_values: NullValues::default(),
            nulls: Nulls::Skip,
            duplicates: Duplicates::First,
            allow_empty: false,
            labels: Some((vec!["why".to_owned()], 32)),
            directory: self.list(),
            name: "test".to_owned(),
            lambda: 40,
            queries: 1 << 12,
            capacity: Some(1 << 14),
            valid: Duration::from_secs(3600),
            new_epoch,
            memory: None,
        };
        let observer: Arc<dyn Observer> = Arc::new(NoObserver);
        let rng = &mut StdRng::seed_from_u64(1);
        publish(&job, &self.me, &observer, &CancelToken::default(), rng).unwrap()
    }

    fn serving(&self) -> Serving {
        Serving {
            directory: self.list(),
            address: "127.0.0.1:0".to_owned(),
            certificate: None,
            limits: PLENTY,
            tokens: None,
            origins: vec!["https://shop.example.org".to_owned()],
            is_proxied: false,
            threads: 2,
            patience: Duration::from_secs(10),
            assets: Vec::new(),
            counts: Arc::default(),
        }
    }

    fn serve(&mut self, serving: Serving) {
        let cancel = CancelToken::default();
        let (address, addresses) = mpsc::channel();
        let (event, told) = mpsc::channel();
        let asked = cancel.clone();
        let thread = thread::spawn(move || {
            let tell = move |what: &'static str, facts: &[(&'static str, String)]| {
                if what == "listening" {
                    address.send(facts[0].1.clone()).unwrap();
                }
                let _ = event.send(what);
            };
            let tell = std::sync::Mutex::new(tell);
            serve(serving, &asked, &|what, facts| tell.lock().unwrap()(what, facts)).unwrap();
        });
        let address = addresses.recv_timeout(Duration::from_secs(60)).unwrap();
        self.service = Some(Service { address, cancel, thread, told });
    }

    fn address(&self) -> &str {
        &self.service.as_ref().unwrap().address
    }

    fn remote(&self, scheme: &str, publisher: Fingerprint, token: Option<&str>) -> Remote {
        let place = format!("{scheme}://{}/v1", self.address());
        Remote::new(&place, None, publisher, token.map(str::to_owned)).unwrap()
    }

    /// Looks up keys, and returns the rows found.
    fn look_up(&self, origin: &mut dyn Origin, keys: &[u32]) -> vesica::Result<(Found, String)> {
        let rows = keys.iter().map(|key| format!("{key},K{key}@EXAMPLE.org\n"));
        let text: String = std::iter::once("id,address\n".to_owned()).chain(rows).collect();
        let output = self.directory.path().join("found.csv");
        let job = LookUp {
            input: Source::Memory { name: "mine.csv".into(), bytes: text.into() },
            dialect: Dialect::from(Delimiter::Comma),
            columns: vec![KeyColumn { name: "address".into(), normalize: Normalize::EMAIL }],
            null_values: NullValues::default(),
            nulls: Nulls::Skip,
            output: output.clone().into(),
            all: false,
            batch: 100,
            formulas: Formulas::default(),
        };
        let cache = self.directory.path().join("cache");
        let observer: Arc<dyn Observer> = Arc::new(NoObserver);
        let publisher = self.me.fingerprint();
        let subscription = Subscription { publisher, cache, budget: Some(1 << 30) };
        let found = look_up(&job, origin, &subscription, &observer, &mut StdRng::seed_from_u64(7))?;
        Ok((found, fs::read_to_string(output).unwrap()))
    }

    /// Sends a request, and returns the response's head and body.
    fn request(&self, head: &str, body: &[u8]) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "{head} HTTP/1.1\r\nhost: list\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let head = match head.split_once('|') {
            // Further fields come after a bar.
            Some((line, fields)) => {
                let (fields, rest) = fields.split_once(" HTTP/1.1\r\n").unwrap();
                format!("{line} HTTP/1.1\r\n{fields}\r\n{rest}")
            }
            None => head,
        };
        stream.write_all(head.as_bytes()).unwrap();
        // The server need not read a body that it refuses.
        let _ = stream.write_all(body);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let end = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        (
            String::from_utf8(response[..end].to_vec()).unwrap().to_lowercase(),
            response[end..].to_vec(),
        )
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            service.cancel.cancel();
            service.thread.join().unwrap();
        }
    }
}

#[test]
fn rows_are_found_with_their_labels_as_the_list_changes() {
    let mut world = World::new();
    world.publish((0..3000).map(|key| 2 * key), false);
    let certificate = Some(Certificate::of_identity(&world.me).unwrap());
    world.serve(Serving { certificate, ..world.serving() });
    let mut remote = world.remote("https", world.me.fingerprint(), None);
    let keys: Vec<u32> = (0..250).collect();
    let (found, rows) = world.look_up(&mut remote, &keys).unwrap();
    assert_eq!((found.keys, found.matches, found.rows), (250, 125, 125));
    let expected: String = keys
        .iter()
        .filter(|key| **key % 2 == 0)
        .map(|k| format!("{k},K{k}@EXAMPLE.org,because of {k}\n"))
        .collect();
    assert_eq!(rows, format!("id,address,why\n{expected}"));
    // The service notices that the list changed, and the next client fetches the missing parts.
    let renewed = |world: &World| loop {
        let told = world.service.as_ref().unwrap().told.recv_timeout(Duration::from_secs(60));
        match told.unwrap() {
            "reloaded" => break,
            told => assert_eq!(told, "listening"),
        }
    };
    let keys_now: Vec<u32> =
        (0..3000).map(|key| 2 * key).filter(|key| *key != 4).chain([5]).collect();
    world.publish(keys_now.clone(), false);
    renewed(&world);
    let (found, rows) = world.look_up(&mut remote, &[3, 4, 5, 6]).unwrap();
    assert_eq!((found.matches, rows.lines().count()), (2, 3));
    assert!(rows.contains("because of 5") && rows.contains("because of 6"));
    // A new epoch. The old connection stays usable.
    world.publish(keys_now, true);
    renewed(&world);
    let (found, _) = world.look_up(&mut remote, &[3, 4, 5, 6]).unwrap();
    assert_eq!(found.matches, 2);
}

#[test]
fn an_impostor_of_the_publisher_is_refused() {
    let mut world = World::new();
    world.publish(0..10, false);
    let stranger = Identity::generate().unwrap();
    let certificate = Some(Certificate::of_identity(&stranger).unwrap());
    world.serve(Serving { certificate, ..world.serving() });
    let mut remote = world.remote("https", world.me.fingerprint(), None);
    let error = world.look_up(&mut remote, &[1]).unwrap_err();
    assert_eq!(error.class(), Class::Network, "{error}");
    // A client that trusts the stranger's certificate still refuses a list signed by another identity.
    let mut remote = world.remote("https", stranger.fingerprint(), None);
    assert!(world.look_up(&mut remote, &[1]).is_ok());
    let me = std::mem::replace(&mut world.me, stranger);
    let mut remote = world.remote("https", world.me.fingerprint(), None);
    let error = world.look_up(&mut remote, &[1]).unwrap_err().to_string();
    assert!(error.contains("another publisher"), "{error}");
    world.me = me;
}

/// An origin that forges the responses of another.
struct Forged<'a> {
    of: Remote,
    text: &'a dyn Fn(&str, String) -> String,
    bytes: &'a dyn Fn(&str, &[u8]) -> Vec<u8>,
    answer: &'a dyn Fn(Vec<u8>) -> Vec<u8>,
}

impl Origin for Forged<'_> {
    fn text(&mut self, name: &str, longest: usize) -> vesica::Result<String> {
        Ok((self.text)(name, self.of.text(name, longest)?))
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> vesica::Result<()>,
    ) -> vesica::Result<()> {
        let mut all = Vec::new();
        self.of.bytes(name, from, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        take(&(self.bytes)(name, &all))
    }

    fn ask(&mut self, epoch: u64, question: &[u8], length: usize) -> vesica::Result<Asked> {
        Ok(match self.of.ask(epoch, question, length)? {
            Asked::Answer(answer) => Asked::Answer((self.answer)(answer)),
            refused => refused,
        })
    }
}

#[test]
fn forged_downloads_are_refused_with_their_error() {
    let mut world = World::new();
    world.publish(0..2000, false);
    world.serve(world.serving());
    let remote = |world: &World| world.remote("http", world.me.fingerprint(), None);
    let text = |_: &str, text: String| text;
    let bytes = |_: &str, bytes: &[u8]| bytes.to_vec();
    let answer = |answer: Vec<u8>| answer;
    let refused = |world: &World, mut origin: Forged<'_>| {
        let error = world.look_up(&mut origin, &[1, 2, 3]).unwrap_err();
        assert_eq!(error.class(), Class::Peer, "{error}");
        error.to_string()
    };
    let plain = || Forged { of: remote(&world), text: &text, bytes: &bytes, answer: &answer };
    let flipped = |name: &str, bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= u8::from(name.ends_with(".part"));
        bytes
    };
    let said = refused(&world, Forged { bytes: &flipped, ..plain() });
    assert!(said.contains("forged or damaged"), "{said}");
    let cut = |name: &str, bytes: &[u8]| {
        let few = if name.ends_with(".part") { 5 } else { 0 };
        bytes[..bytes.len() - few].to_vec()
    };
    let said = refused(&world, Forged { bytes: &cut, ..plain() });
    assert!(said.contains("truncated"), "{said}");
    let lost = |name: &str, bytes: &[u8]| match name {
        "log.txt" => Vec::new(),
        _ => bytes.to_vec(),
    };
    let said = refused(&world, Forged { bytes: &lost, ..plain() });
    assert!(said.contains("log"), "{said}");
    let swapped = |mut answer: Vec<u8>| {
        let (one, two) = answer[64..128].split_at_mut(32);
        one.swap_with_slice(two);
        answer
    };
    let said = refused(&world, Forged { answer: &swapped, ..plain() });
    assert!(said.contains("another key"), "{said}");
    let mut origin = plain();
    assert_eq!(world.look_up(&mut origin, &[1, 2, 3]).unwrap().0.matches, 3);
    // An old head after a new one.
    let old = fs::read_to_string(world.list().join("public/head.json")).unwrap();
    world.publish(0..2001, false);
    assert_eq!(world.look_up(&mut plain(), &[2000]).unwrap().0.matches, 1);
    let replayed = |_: &str, _: String| old.clone();
    let said = refused(&world, Forged { text: &replayed, ..plain() });
    assert!(said.contains("replayed"), "{said}");
}

#[test]
fn a_download_goes_on_where_it_was_interrupted() {
    let mut world = World::new();
    world.publish(0..12_000, false);
    world.serve(world.serving());
    let mut remote = world.remote("http", world.me.fingerprint(), None);
    let text = |_: &str, text: String| text;
    let answer = |answer: Vec<u8>| answer;
    // The first attempt is cut short. The second must fetch only the rest.
    let cut = |name: &str, bytes: &[u8]| {
        let few = usize::from(name.ends_with(".part"));
        bytes[..bytes.len() - few].to_vec()
    };
    let of = world.remote("http", world.me.fingerprint(), None);
    let mut origin = Forged { of, text: &text, bytes: &cut, answer: &answer };
    assert!(world.look_up(&mut origin, &[1]).is_err());
    let (found, _) = world.look_up(&mut remote, &[1, 11_999, 12_000]).unwrap();
    assert_eq!(found.matches, 2);
    let list = world.list().join("public");
    let part = fs::read_dir(list).unwrap().map(|entry| entry.unwrap().path());
    let part =
        part.filter(|path| path.extension().is_some_and(|end| end == "part")).last().unwrap();
    let (name, whole) = (part.file_name().unwrap().to_str().unwrap(), fs::read(&part).unwrap());
    let (head, body) = world.request(&format!("GET /v1/{name}"), b"");
    assert!(head.starts_with("http/1.1 200") && body == whole, "{head}");
    assert!(head.contains("immutable") && head.contains("accept-ranges: bytes"), "{head}");
    let (head, body) = world.request(&format!("GET /v1/{name}|range: bytes=1000-"), b"");
    assert!(head.starts_with("http/1.1 206") && body == whole[1000..], "{head}");
    let (head, _) = world.request(&format!("GET /v1/{name}|range: bytes=99999999-"), b"");
    assert!(head.starts_with("http/1.1 416"), "{head}");
    let (head, body) = world.request(&format!("GET /v1/{name}|range: bytes=-10"), b"");
    assert!(head.starts_with("http/1.1 206") && body == whole[whole.len() - 10..], "{head}");
    let etag = format!("\"{}\"", name.trim_end_matches(".part"));
    // A range continues the file that it began with, or the whole file is sent.
    for (tag, status) in [(etag.as_str(), "206"), ("\"another\"", "200")] {
        let line = format!("GET /v1/{name}|range: bytes=1000-\r\nif-range: {tag}");
        let (head, _) = world.request(&line, b"");
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{tag}: {head}");
    }
    let (head, body) = world.request(&format!("GET /v1/{name}|if-none-match: {etag}"), b"");
    assert!(head.starts_with("http/1.1 304") && body.is_empty(), "{head}");
    let (head, body) = world.request(&format!("HEAD /v1/{name}"), b"");
    assert!(
        head.contains(&format!("content-length: {}", whole.len())) && body.is_empty(),
        "{head}"
    );
}

#[test]
fn requests_that_are_none_have_their_status() {
    let mut world = World::new();
    world.publish(0..100, false);
    let demo = tempfile::tempdir().unwrap();
    fs::write(demo.path().join("index.html"), "page").unwrap();
    let assets = Asset::of_folder(demo.path()).unwrap();
    world.serve(Serving { assets, ..world.serving() });
    for (line, body, expected) in [
        ("GET /v1/info", &[][..], "200"),
        ("GET /", b"", "200"),
        ("GET /v1/nothing", b"", "404"),
        ("GET /v1/../private/epoch-1.seed", b"", "404"),
        ("GET /v1/..%2fprivate%2fepoch-1.seed", b"", "404"),
        ("GET /private/epoch-1.seed", b"", "404"),
        ("PUT /v1/head.json", b"", "405"),
        ("GET /v1/evaluate?epoch=1", b"", "405"),
        ("POST /v1/evaluate?epoch=1", b"", "400"),
        ("POST /v1/evaluate?epoch=1", &[1; 33], "400"),
        ("POST /v1/evaluate?epoch=1", &[0; 32], "400"),
        ("POST /v1/evaluate?epoch=x", &[1; 32], "400"),
        ("POST /v1/evaluate", &[1; 32], "400"),
        ("POST /v1/evaluate?epoch=2", &[1; 32], "409"),
        ("POST /v1/evaluate?epoch=1", &[1; 32 * 4097], "413"),
        ("GET /v1/socket", b"", "426"),
    ] {
        let (head, _) = world.request(line, body);
        assert!(head.starts_with(&format!("http/1.1 {expected}")), "{line}: {head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{line}: {head}");
    }
    let (head, body) = world.request("GET /", b"");
    assert!(head.contains("content-security-policy: default-src 'none'") && body == b"page");
    assert!(head.contains("referrer-policy: no-referrer"), "{head}");
    // Pages of one origin may ask, and pages of others may not.
    for (origin, allowed) in [("https://shop.example.org", true), ("https://example.org", false)] {
        let (head, _) = world.request(&format!("GET /v1/info|origin: {origin}"), b"");
        assert_eq!(head.contains("access-control-allow-origin"), allowed, "{head}");
        let (head, _) = world.request(&format!("OPTIONS /v1/evaluate|origin: {origin}"), b"");
        assert_eq!(head.contains("access-control-allow-origin"), allowed, "{head}");
    }
}

#[test]
fn clients_have_limits_and_tokens() {
    let mut world = World::new();
    world.publish(0..100, false);
    let rate = Rate { a_minute: 1, at_once: 150 };
    let clients = world.directory.path().join("clients");
    // SHA-256 of `secret` and of `other`.
    let text = "# who may ask\nann 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n\
                bob d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa\n";
    fs::write(&clients, text).unwrap();
    let tokens = Some(Tokens::read(&clients).unwrap());
    world.serve(Serving {
        limits: ClientLimits { client: rate, ..PLENTY },
        tokens,
        ..world.serving()
    });
    let ask = |token: Option<&str>, keys: std::ops::Range<u32>| {
        let mut remote = world.remote("http", world.me.fingerprint(), token);
        world.look_up(&mut remote, &keys.collect::<Vec<_>>()).map(|(found, _)| found.matches)
    };
    assert_eq!(ask(Some("secret"), 0..120).unwrap(), 100);
    let error = ask(Some("secret"), 0..120).unwrap_err().to_string();
    assert!(error.contains("429") && error.contains("try again in"), "{error}");
    assert_eq!(ask(Some("other"), 0..120).unwrap(), 100);
    for token in [None, Some("wrong")] {
        let error = ask(token, 0..1).unwrap_err().to_string();
        assert!(error.contains("401"), "{error}");
    }
    fs::write(&clients, "ann\n").unwrap();
    assert!(Tokens::read(&clients).unwrap_err().to_string().contains("line 1"));
}

/// The last client was removed from the file.
#[test]
fn a_file_without_tokens_admits_nobody() {
    let mut world = World::new();
    world.publish(0..10, false);
    let clients = world.directory.path().join("clients");
    fs::write(&clients, "# ann may ask no longer\n\n").unwrap();
    let tokens = Some(Tokens::read(&clients).unwrap());
    world.serve(Serving { tokens, ..world.serving() });
    for token in [None, Some(""), Some("secret")] {
        let mut remote = world.remote("http", world.me.fingerprint(), token);
        let error = world.look_up(&mut remote, &[1]).unwrap_err().to_string();
        assert!(error.contains("401"), "{error}");
    }
    let (_, info) = world.request("GET /v1/info", b"");
    assert!(String::from_utf8(info).unwrap().contains("\"needsToken\":true"));
}

/// Behind a proxy that adds its own field, a client cannot choose its address, not even for files.
#[test]
fn a_client_behind_a_proxy_is_who_the_proxy_says() {
    let mut world = World::new();
    let published = world.publish(0..10, false);
    let limits = ClientLimits { client: Rate { a_minute: 1, at_once: 100 }, ..PLENTY };
    world.serve(Serving { is_proxied: true, limits, ..world.serving() });
    let item = vesica_list::value::item(&[7; 32], &published.head.public_key.0);
    let rng = &mut StdRng::seed_from_u64(1);
    let question = vesica_list::exchange::Question::new(vec![item; 60], &published.head, rng);
    let question = question.unwrap().bytes();
    let status = |fields: &str| {
        let head = format!("POST /v1/evaluate?epoch=1|{fields}");
        let (head, _) = world.request(&head, &question);
        head.split(' ').nth(1).unwrap().to_owned()
    };
    let invented =
        |nth: u32| format!("x-forwarded-for: 10.0.0.{nth}\r\nx-forwarded-for: 203.0.113.7:{nth}");
    let statuses: Vec<_> = (1..5).map(|nth| status(&invented(nth))).collect();
    assert_eq!(statuses, ["200", "429", "429", "429"]);
    assert_eq!(status("x-forwarded-for: 203.0.113.8"), "200");
    assert_eq!(status("x-forwarded-for: 203.0.113.9, me"), "400");
    let (head, _) = world.request("GET /v1/head.json|x-forwarded-for: me", b"");
    assert!(head.starts_with("http/1.1 400"), "{head}");
}

#[test]
fn questions_come_over_a_websocket_too() {
    let mut world = World::new();
    let published = world.publish(0..100, false);
    world.serve(world.serving());
    let stream = TcpStream::connect(world.address()).unwrap();
    let address = format!("ws://{}/v1/socket", world.address());
    let (mut socket, _) = tokio_tungstenite::tungstenite::client(address, stream).unwrap();
    let head = &published.head;
    let item = vesica_list::value::item(&[7; 32], &head.public_key.0);
    let question = || {
        let rng = &mut StdRng::seed_from_u64(1);
        vesica_list::exchange::Question::new(vec![item; 3], head, rng).unwrap()
    };
    let mut ask = |epoch: u64, question: &[u8]| {
        let message = [&epoch.to_le_bytes()[..], question].concat();
        socket.send(Message::binary(message)).unwrap();
        socket.read().unwrap().into_data().to_vec()
    };
    for _ in 0..3 {
        let answer = ask(head.epoch, &question().bytes());
        assert_eq!(answer[0], 0);
        assert!(question().finish(&answer[1..]).is_ok());
    }
    let mut refused = BTreeMap::new();
    for (epoch, question) in [(2, &question().bytes()[..]), (1, &[0; 32]), (1, b"short"), (1, b"")]
    {
        let answer = ask(epoch, question);
        assert_eq!(answer[0], 1);
        let said: serde_json::Value = serde_json::from_slice(&answer[1..]).unwrap();
        *refused.entry(said["epoch"].as_u64()).or_insert(0) += 1;
    }
    assert_eq!(refused, BTreeMap::from([(Some(1), 1), (None, 3)]));
    // A message may have several frames, but not an unlimited number.
    let message = [&head.epoch.to_le_bytes()[..], &question().bytes()].concat();
    let frame = |bytes: &[u8], nth: usize, is_last| {
        let data = if nth == 0 { Data::Binary } else { Data::Continue };
        Message::Frame(Frame::message(bytes.to_vec(), OpCode::Data(data), is_last))
    };
    let pieces: Vec<_> = message.chunks(2).collect();
    assert!((40..64).contains(&pieces.len()));
    for (nth, piece) in pieces.iter().enumerate() {
        socket.write(frame(piece, nth, nth + 1 == pieces.len())).unwrap();
    }
    socket.flush().unwrap();
    assert_eq!(socket.read().unwrap().into_data()[0], 0);
    for nth in 0..65 {
        if socket.send(frame(&[], nth, false)).is_err() {
            break;
        }
    }
    assert!(socket.read().is_err(), "the service waits for the end of an endless message");
}
