//! Real TCP connections over an emulated link.
//!
//! Each end has its own network namespace with a TUN device, and a thread carries the packets from one device to the
//! other at the times that the [`PacketLink`] determines. A namespace belongs to the thread that made it and to the
//! sockets and devices made there. It has no name and no process, so nothing is left behind when the program ends in
//! any way, and nothing outside changes.
//!
//! The connection is made before the link is returned, and it is new: the machine's congestion control starts without
//! knowledge of the link. Beyond about 600 Mbit/s, the thread is slower than the link.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sched::{CloneFlags, unshare};
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

/// The addresses of the two ends, in a private network.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// The length of the prefix that the two addresses share.
const PREFIX: u8 = 30;

/// The longest packet, in bytes.
const MTU: usize = 1500;

/// Number of packets taken from one device before the other's turn.
const BURST: usize = 16;

/// A timeout that suffices for the longest link and a connection that loses its first packets.
const PATIENCE: Duration = Duration::from_secs(300);

/// Opens both ends of a connection over such a link.
pub fn pair(wire: PacketLink) -> Result<[End; 2]> {
    let (near, listener) = elsewhere(|| {
        let device = device(ENDS[0])?;
        Ok((device, Listener::bind(&format!("{}:0", ENDS[0]))?))
    })?;
    let (carrier, caller) = elsewhere(|| {
        let carrier = Arc::new(Carrier::start([near, device(ENDS[1])?], wire)?);
        let address = listener.local_addr().to_string();
        Ok((carrier, tcp::connect(&address, PATIENCE, &CancelToken::default())?))
    })?;
    let callee = listener.accept(PATIENCE, &CancelToken::default())?;
    Ok([callee, caller].map(|tcp| End { tcp, _carrier: Arc::clone(&carrier) }))
}

/// Runs `make` on a thread in a new network, where its results remain.
fn elsewhere<T: Send>(make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let there = || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| denied(error.into()))?;
        make()
    };
    let made = thread::scope(|scope| scope.spawn(there).join());
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
    fn start(devices: [SyncDevice; 2], wire: PacketLink) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let work = move || carry(&devices, wire, &told);
        let thread = thread::Builder::new().name("line".to_owned()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Both ends are dropped, so it has nothing more to do.
        self.thread.take().map(JoinHandle::join);
    }
}

/// Packets in flight, each with its time of arrival.
type OnTheWay = VecDeque<(Instant, Vec<u8>)>;

/// Carries packets in both directions until `stop` is set.
fn carry(devices: &[SyncDevice; 2], wire: PacketLink, stop: &AtomicBool) -> io::Result<()> {
    let now = Instant::now();
    let mut directions = [(); 2].map(|()| (Direction::new(wire, now), OnTheWay::new()));
    let mut rng = rand::rng();
    let mut packet = [0; MTU];
    while !stop.load(Ordering::Relaxed) {
        wait(devices, directions.iter().filter_map(|(_, way)| Some(way.front()?.0)).min())?;
        for (from, (line, on_the_way)) in directions.iter_mut().enumerate() {
            for _ in 0..BURST {
                let len = match devices[from].recv(&mut packet) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    received => received?,
                };
                let due = line.take(len, Instant::now(), rng.random());
                on_the_way.extend(due.map(|due| (due, packet[..len].to_vec())));
            }
            while let Some((_, packet)) = on_the_way.pop_front_if(|(due, _)| *due <= Instant::now())
            {
                // Packets that a device does not take are lost, as on any link.
                drop(devices[1 - from].send(&packet));
            }
        }
    }
    Ok(())
}

/// Waits until there is a packet, or one is due, for at most a poll interval.
fn wait([near, far]: &[SyncDevice; 2], due: Option<Instant>) -> io::Result<()> {
    let left = due.map_or(POLL_INTERVAL, |due| {
        due.saturating_duration_since(Instant::now()).min(POLL_INTERVAL)
    });
    let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
    let mut readable = [near, far].map(|device| PollFd::new(device, PollFlags::IN));
    match poll(&mut readable, Some(&timeout)) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use vesica_net::transport::{Transport, shaper::Link};

    use super::*;

    const LINK: Link = Link { bits_per_second: 20_000_000, round_trip: Duration::from_millis(60) };

    /// Opens the ends of such a link. Returns `None`, after a message with the reason, if the system does not allow it.
    fn ends(wire: PacketLink) -> Option<[End; 2]> {
        match pair(wire) {
            Ok(ends) => Some(ends),
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
        assert_eq!(peer.ip(), ENDS[0]);
        assert_eq!(other[1].tcp.peer_addr().unwrap().ip(), ENDS[0]);
        let outside = std::net::TcpStream::connect_timeout(&peer, Duration::from_millis(300));
        assert!(outside.is_err());
    }
}
