//! Real TCP connections over an emulated link.
//!
//! Each party has its own network namespace with a TUN device, and a thread carries the packets from one device to
//! another at the times that a [`PacketLink`] determines. Between two parties there is one link. Among several, each
//! has a link to a switch, so all connections of a party share its rate. A namespace belongs to the threads in it and
//! to the sockets and devices made there. It has no name and no process, so nothing is left behind when the program
//! ends in any way, and nothing outside changes.
//!
//! A connection is made before it is returned, and it is new: the machine's congestion control starts without
//! knowledge of the link. Beyond about 600 Mbit/s, the thread is slower than the link.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sched::{CloneFlags, setns, unshare};
use rand::RngExt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tun_rs::{DeviceBuilder, SyncDevice};
use vesica_net::{
    CancelToken,
    transport::{
        POLL_INTERVAL,
        tcp::{self, Listener, Tcp},
    },
};

use super::wire::{Direction, PacketLink};
use crate::Result;

/// The length of the prefix that all addresses share.
const PREFIX: u8 = 24;

/// The longest packet, in bytes.
const MTU: usize = 1500;

/// Number of packets taken from one device before the other's turn.
const BURST: usize = 16;

/// A timeout that suffices for the longest link and a connection that loses its first packets.
const PATIENCE: Duration = Duration::from_secs(300);

/// The address of a party, in a private network.
fn address(party: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, party as u8 + 1)
}

/// Opens both ends of a connection over such a link.
pub fn pair(wire: PacketLink) -> Result<[End; 2]> {
    TunNetwork::start(2, |now| Lines { up: vec![Direction::new(wire, now); 2], down: Vec::new() })?
        .connect([0, 1])
}

/// Networks of several parties.
pub struct TunNetwork {
    namespaces: Vec<Namespace>,
    carrier: Arc<Carrier>,
}

/// The network of one party.
struct Namespace {
    file: File,
    listener: Listener,
}

impl TunNetwork {
    /// Starts a network in which each party has half of such a link to a switch, and so the whole between it and any
    /// other party.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn switched(parties: usize, wire: PacketLink) -> Result<Self> {
        let lines = |now| vec![Direction::new(wire.half(), now); parties];
        Self::start(parties, |now| Lines { up: lines(now), down: lines(now) })
    }

    fn start(parties: usize, lines: impl FnOnce(Instant) -> Lines) -> Result<Self> {
        let place = |party| {
            elsewhere(move || {
                let namespace = File::open("/proc/thread-self/ns/net")?;
                let device = device(address(party))?;
                let listener = Listener::bind(&format!("{}:0", address(party)))?;
                Ok((device, Namespace { file: namespace, listener }))
            })
        };
        let made = (0..parties).map(place).collect::<Result<Vec<_>>>()?;
        let (devices, namespaces) = made.into_iter().unzip();
        let carrier = Arc::new(Carrier::start(devices, lines(Instant::now()))?);
        Ok(Self { namespaces, carrier })
    }

    /// Opens both ends of a connection that the second of these parties makes to the first.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn connect(&self, [callee, caller]: [usize; 2]) -> Result<[End; 2]> {
        let (never, there) = (CancelToken::default(), &self.namespaces[caller]);
        let listener = &self.namespaces[callee].listener;
        let address = listener.local_addr().to_string();
        let caller = there.inside(|| Ok(tcp::connect(&address, PATIENCE, &never)?))?;
        let callee = listener.accept(PATIENCE, &never)?;
        Ok([callee, caller].map(|tcp| End { tcp, _carrier: Arc::clone(&self.carrier) }))
    }
}

impl Namespace {
    /// Runs `make` on a thread in this network.
    fn inside<T: Send>(&self, make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_a_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)?;
            make()
        })
    }
}

/// Runs `make` on a thread in a new network, where its results remain.
fn elsewhere<T: Send>(make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    on_a_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| denied(error.into()))?;
        make()
    })
}

fn on_a_thread<T: Send>(make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let made = thread::scope(|scope| scope.spawn(make).join());
    made.map_err(|_| "the thread of a network panicked")?
}

/// Creates a device with an address in this thread's network.
fn device(address: Ipv4Addr) -> Result<SyncDevice> {
    let device = DeviceBuilder::new().ipv4(address, PREFIX, None).mtu(MTU as u16).build_sync();
    let device = device.map_err(denied)?;
    device.set_nonblocking(true)?;
    Ok(device)
}

fn denied(error: io::Error) -> io::Error {
    let why = format!(
        "a link with real sockets requires network namespaces and TUN devices, and root to create them: {error}; use the \
         same link without `tcp:`"
    );
    io::Error::new(error.kind(), why)
}

/// One end of a connection over an emulated link.
pub struct End {
    tcp: Tcp,
    /// Keeps the link alive as long as one of its ends.
    _carrier: Arc<Carrier>,
}

impl Read for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.tcp.read(buf)
    }
}

impl Write for End {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.tcp.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

/// The thread that carries packets.
struct Carrier {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Carrier {
    fn start(devices: Vec<SyncDevice>, lines: Lines) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let work = move || carry(&devices, lines, &told);
        let thread = thread::Builder::new().name("line".to_owned()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // All ends are dropped, so it has nothing more to do.
        self.thread.take().map(JoinHandle::join);
    }
}

/// The directions of all links.
struct Lines {
    /// From each party, to the switch or the other party.
    up: Vec<Direction>,
    /// From the switch to each party; empty between two.
    down: Vec<Direction>,
}

/// A packet in flight.
struct InFlight {
    due: Instant,
    /// The party to which it goes.
    to: usize,
    packet: Vec<u8>,
}

/// Packets in flight in one direction, in the order of their arrival.
#[derive(Default)]
struct OnTheWay(VecDeque<InFlight>);

impl OnTheWay {
    /// Returns the next packet that has arrived.
    fn arrived(&mut self) -> Option<InFlight> {
        self.0.pop_front_if(|next| next.due <= Instant::now())
    }

    /// Returns the time at which the next packet arrives.
    fn due(&self) -> Option<Instant> {
        self.0.front().map(|next| next.due)
    }
}

/// Carries packets in all directions until `stop` is set.
fn carry(devices: &[SyncDevice], mut lines: Lines, stop: &AtomicBool) -> io::Result<()> {
    let way = || devices.iter().map(|_| OnTheWay::default()).collect::<Vec<_>>();
    let (mut upward, mut downward) = (way(), way());
    let mut rng = rand::rng();
    let mut packet = [0; MTU];
    while !stop.load(Ordering::Relaxed) {
        wait(devices, upward.iter().chain(&downward).filter_map(OnTheWay::due).min())?;
        for (from, device) in devices.iter().enumerate() {
            for _ in 0..BURST {
                let len = match device.recv(&mut packet) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    received => received?,
                };
                let packet = &packet[..len];
                let Some(to) = destination(packet).filter(|to| *to < devices.len()) else {
                    continue;
                };
                let due = lines.up[from].take(len, Instant::now(), rng.random());
                upward[from].0.extend(due.map(|due| InFlight { due, to, packet: packet.to_vec() }));
            }
            while let Some(InFlight { due, to, packet }) = upward[from].arrived() {
                let due = match lines.down.get_mut(to) {
                    Some(line) => line.take(packet.len(), due, rng.random()),
                    None => Some(due),
                };
                downward[to].0.extend(due.map(|due| InFlight { due, to, packet }));
            }
        }
        for (device, way) in devices.iter().zip(&mut downward) {
            while let Some(InFlight { packet, .. }) = way.arrived() {
                // Packets that a device does not take are lost, as on any link.
                drop(device.send(&packet));
            }
        }
    }
    Ok(())
}

/// Returns the party to which an IPv4 packet goes; `None` for any other packet.
fn destination(packet: &[u8]) -> Option<usize> {
    let to = packet.get(16..20).filter(|_| packet[0] >> 4 == 4)?;
    to.strip_prefix(&address(0).octets()[..3])?.first()?.checked_sub(1).map(usize::from)
}

/// Waits until there is a packet, or one is due, for at most a poll interval.
fn wait(devices: &[SyncDevice], due: Option<Instant>) -> io::Result<()> {
    let left = due.map_or(POLL_INTERVAL, |due| {
        due.saturating_duration_since(Instant::now()).min(POLL_INTERVAL)
    });
    let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
    let readable = devices.iter().map(|device| PollFd::new(device, PollFlags::IN));
    match poll(&mut readable.collect::<Vec<_>>(), Some(&timeout)) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use vesica_net::transport::{Transport, shaper::Link};

    use super::*;

    const LINK: Link = Link { bits_per_second: 20_000_000, round_trip: Duration::from_millis(60) };

    /// Opens the ends of such a link. Otherwise as [`unless_denied`].
    fn ends(wire: PacketLink) -> Option<[End; 2]> {
        unless_denied(pair(wire))
    }

    /// Returns `None`, after a message with the reason, if the system does not allow it.
    fn unless_denied<T>(made: Result<T>) -> Option<T> {
        match made {
            Ok(made) => Some(made),
            Err(error) => {
                let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
                let denied = [ErrorKind::PermissionDenied, ErrorKind::NotFound].map(Some);
                assert!(denied.contains(&kind), "{error}");
                // Not by a macro, whose output is shown only for tests that fail.
                writeln!(io::stderr(), "SKIPPED: no line for real sockets was tested: {error}")
                    .unwrap();
                None
            }
        }
    }

    fn read_patiently(end: &mut impl Transport, mut buf: &mut [u8]) {
        while !buf.is_empty() {
            match end.read(buf) {
                Ok(0) => panic!("closed"),
                Ok(read) => buf = &mut buf[read..],
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
    }

    fn write_patiently(end: &mut impl Transport, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match end.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
    }

    /// Sends `bytes` bytes across, checks that they arrive unchanged, and returns the time they took.
    fn bulk([mut left, mut right]: [End; 2], bytes: usize) -> Duration {
        let sent: Vec<u8> = (0..bytes).map(|i| ((i * i) >> 3) as u8).collect();
        let mut received = vec![0; bytes];
        let started = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| write_patiently(&mut left, &sent));
            read_patiently(&mut right, &mut received);
        });
        assert!(sent == received);
        started.elapsed()
    }

    #[test]
    fn a_byte_takes_the_round_trip() {
        let Some([mut near, mut far]) = ends(PacketLink::new(LINK)) else { return };
        for _ in 0..3 {
            let mut byte = [7];
            let started = Instant::now();
            write_patiently(&mut near, &byte);
            read_patiently(&mut far, &mut byte);
            write_patiently(&mut far, &byte);
            read_patiently(&mut near, &mut byte);
            assert!(started.elapsed() >= LINK.round_trip);
        }
    }

    #[test]
    fn no_more_passes_than_the_line_carries() {
        let Some(line) = ends(PacketLink::new(LINK)) else { return };
        let bytes = 1_000_000;
        let least = LINK.occupied_by(bytes) + LINK.round_trip / 2;
        let took = bulk(line, bytes);
        assert!(took >= least, "{took:?} for {least:?}");
    }

    #[test]
    fn all_connections_of_a_party_share_its_link() {
        let Some(network) = unless_denied(TunNetwork::switched(3, PacketLink::new(LINK))) else {
            return;
        };
        let lines = [[0, 1], [0, 2]].map(|ends| network.connect(ends).unwrap());
        let bytes = 1_000_000;
        let started = Instant::now();
        thread::scope(|scope| {
            for line in lines {
                scope.spawn(move || bulk(line, bytes));
            }
        });
        let (took, least) = (started.elapsed(), LINK.occupied_by(2 * bytes) + LINK.round_trip / 2);
        assert!(took >= least, "{took:?} for {least:?}");
        let [mut near, mut far] = network.connect([1, 2]).unwrap();
        let started = Instant::now();
        write_patiently(&mut near, &[7]);
        read_patiently(&mut far, &mut [0]);
        assert!(started.elapsed() >= LINK.round_trip / 2);
    }

    #[test]
    fn lost_packets_are_sent_again() {
        let wire = PacketLink { loss: 0.02, queue: 20_000, ..PacketLink::new(LINK) };
        let Some(line) = ends(wire) else { return };
        bulk(line, 300_000);
    }

    #[test]
    fn networks_are_apart_from_each_other_and_from_ours() {
        // The two links have the same addresses, and neither has a route to the other.
        let (Some(one), Some(other)) = (ends(PacketLink::new(LINK)), ends(PacketLink::new(LINK)))
        else {
            return;
        };
        let peer = one[1].tcp.peer_addr().unwrap();
        assert_eq!(peer.ip(), address(0));
        assert_eq!(other[1].tcp.peer_addr().unwrap().ip(), address(0));
        let outside = std::net::TcpStream::connect_timeout(&peer, Duration::from_millis(300));
        assert!(outside.is_err());
    }
}
