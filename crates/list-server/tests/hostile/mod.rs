//! Clients that are slow, take too much, or never finish.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use vesica_list_server::{Certificate, ClientLimits, Counts, Rate, Serving};

use crate::{PLENTY, World};

/// Starts a service with a short timeout, and returns its counters.
fn hasty(with_tls: bool, limits: ClientLimits) -> (World, Arc<Counts>) {
    let mut world = World::new();
    world.publish(0..100, false);
    let certificate = with_tls.then(|| Certificate::of_identity(&world.me).unwrap());
    let (patience, counts) = (Duration::from_millis(400), Arc::new(Counts::default()));
    let serving =
        Serving { certificate, limits, patience, counts: counts.clone(), ..world.serving() };
    world.serve(serving);
    (world, counts)
}

/// Checks that the service closes the connection, after a while, when bytes arrive one by one.
fn is_cut_off(world: &World, at_once: &[u8], slowly: &[u8]) {
    let mut stream = TcpStream::connect(world.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.write_all(at_once).unwrap();
    let mut bytes = slowly.iter().cycle();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(60), "the connection was not closed");
        let _ = stream.write_all(&[*bytes.next().unwrap()]);
        match stream.read(&mut [0; 1 << 12]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    assert!(began.elapsed() >= Duration::from_millis(300), "the connection was closed too early");
}

#[test]
fn a_client_that_sends_a_byte_at_a_time_is_cut_off() {
    let (world, _) = hasty(true, PLENTY);
    // A handshake that never ends.
    is_cut_off(&world, &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3], &[0]);
    let (world, counts) = hasty(false, PLENTY);
    // A request head, endless fields, an incomplete body, a body in small pieces, and idling after a request.
    let head = b"POST /v1/evaluate?epoch=1 HTTP/1.1\r\nhost: list\r\n";
    is_cut_off(&world, b"", b"GET");
    is_cut_off(&world, head, b"a: b\r\n");
    let body = [&head[..], b"content-length: 3200\r\n\r\n"].concat();
    is_cut_off(&world, &body, &[7]);
    let pieces = [&head[..], b"transfer-encoding: chunked\r\n\r\n"].concat();
    is_cut_off(&world, &pieces, b"1\r\n7\r\n");
    is_cut_off(&world, b"GET /v1/info HTTP/1.1\r\nhost: list\r\n\r\n", b"GET");
    // All connections are closed, and their questions are not counted.
    until(&counts, |counts| counts.connected.get() == 0);
    assert_eq!((counts.questions.get(), counts.waiting.get()), (0, 0));
}

/// Waits until the counters satisfy a condition.
fn until(counts: &Counts, so: impl Fn(&Counts) -> bool) {
    let began = Instant::now();
    while !so(counts) {
        assert!(began.elapsed() < Duration::from_secs(60), "{counts:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_does_not_receive_is_cut_off() {
    let mut world = World::new();
    // A part longer than the system's buffers on both sides.
    world.publish(0..16_000, false);
    let counts = Arc::new(Counts::default());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), vec![7; 1 << 25]).unwrap();
    let assets = vesica_list_server::Asset::of_folder(folder.path()).unwrap();
    let patience = Duration::from_millis(400);
    let serving = Serving { patience, counts: counts.clone(), assets, ..world.serving() };
    world.serve(serving);
    let mut stream = TcpStream::connect(world.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: list\r\n\r\n").unwrap();
    until(&counts, |counts| counts.connected.get() == 1);
    until(&counts, |counts| counts.connected.get() == 0);
}

#[test]
fn one_client_has_so_many_connections_and_no_more() {
    let (world, counts) = hasty(false, PLENTY);
    let connect = || TcpStream::connect(world.address()).unwrap();
    let kept: Vec<_> = (0..64).map(|_| connect()).collect();
    let beyond: Vec<_> = (0..20).map(|_| connect()).collect();
    until(&counts, |counts| counts.turned_away.get() == 20 && counts.connected.get() == 64);
    for mut stream in beyond {
        // Closed at once.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    drop(kept);
    until(&counts, |counts| counts.connected.get() == 0);
    let (head, _) = world.request("GET /v1/info", b"");
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

#[test]
fn a_flood_is_refused_slowly_and_before_its_questions_are_received() {
    let client = Rate { a_minute: 1, at_once: 5 };
    let (world, counts) = hasty(false, ClientLimits { client, ..PLENTY });
    let (began, address, connections) = (Instant::now(), world.address(), 8);
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                // The body is announced but never sent.
                let head = "POST /v1/evaluate?epoch=1 HTTP/1.1\r\nhost: list\r\ncontent-length: 192\r\n\r\n";
                stream.write_all(head.as_bytes()).unwrap();
                let mut response = Vec::new();
                let _ = stream.read_to_end(&mut response);
                assert!(response.starts_with(b"HTTP/1.1 429"), "{response:?}");
            });
        }
    });
    // No refusal was immediate, and refusals of one client do not wait for each other.
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(counts.refused("limit").get(), connections);
    assert_eq!((counts.questions.get(), counts.keys.get()), (0, 0));
}

#[test]
fn questions_are_counted() {
    let (world, counts) = hasty(false, PLENTY);
    let mut remote = world.remote("http", world.me.fingerprint(), None);
    world.look_up(&mut remote, &(0..250).collect::<Vec<_>>()).unwrap();
    assert_eq!((counts.questions.get(), counts.keys.get(), counts.waiting.get()), (3, 250, 0));
    assert!(counts.seconds.get() > 0.0 && counts.file_bytes.get() > 0);
    for (line, body, reason) in [
        ("POST /v1/evaluate?epoch=1", &[1; 33][..], "malformed"),
        ("POST /v1/evaluate?epoch=1", &[0; 32], "malformed"),
        ("POST /v1/evaluate?epoch=9", &[1; 32], "epoch"),
        ("POST /v1/evaluate?epoch=1", &[1; 32 * 4097], "too-many"),
    ] {
        let before = counts.refused(reason).get();
        world.request(line, body);
        assert_eq!(counts.refused(reason).get(), before + 1, "{line}");
    }
}
