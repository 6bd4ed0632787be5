//! Floods: each sends as fast as possible until the time is over.

use std::{
    cell::Cell,
    net::{Ipv4Addr, SocketAddr},
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{io::AsyncWriteExt, task::LocalSet};

use crate::{
    BATCH, Failure,
    link::{Asked, Link, plain, secure},
};

/// Number of connections of a flooding client.
const CONNECTIONS: usize = 64;

/// Number of addresses of slow clients, each with that many connections: more than the service accepts.
const SLOW: u8 = 200;

/// A kind of flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Questions over open connections.
    Questions,
    /// Questions with the maximum number of items over open connections.
    Large,
    /// A new connection for each question.
    Connections,
    /// Connections without a handshake.
    Hellos,
    /// Questions over WebSockets.
    Sockets,
    /// Requests with a short answer.
    Requests,
    /// Downloads of the list.
    Downloads,
    /// Handshakes, heads and bodies sent one byte at a time, from many addresses.
    Slow,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Questions,
        Self::Large,
        Self::Connections,
        Self::Hellos,
        Self::Sockets,
        Self::Requests,
        Self::Downloads,
        Self::Slow,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Questions => "questions",
            Self::Large => "large-questions",
            Self::Connections => "a-connection-for-each",
            Self::Hellos => "connections-alone",
            Self::Sockets => "websockets",
            Self::Requests => "requests",
            Self::Downloads => "downloads",
            Self::Slow => "slow-ones",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A flood in progress.
struct Flood {
    kind: Kind,
    address: SocketAddr,
    epoch: u64,
    end: Instant,
    sent: Rc<Cell<u64>>,
}

/// Floods for this many seconds, and prints the number of requests per second.
pub(crate) fn flood(
    kind: Kind,
    address: SocketAddr,
    epoch: u64,
    seconds: u64,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = Rc::new(Cell::new(0));
    let end = Instant::now() + Duration::from_secs(seconds);
    let local = LocalSet::new();
    let addresses = if kind == Kind::Slow { SLOW } else { 1 };
    for (from, nth) in (1..=addresses).flat_map(|from| (0..CONNECTIONS).map(move |n| (from, n))) {
        let flood = Flood { kind, address, epoch, end, sent: sent.clone() };
        let from = Ipv4Addr::new(127, 9, kind as u8, from);
        local.spawn_local(async move {
            while Instant::now() < flood.end {
                // The flood continues even if the service refuses.
                let left = flood.end.saturating_duration_since(Instant::now());
                if let Ok(Err(_)) = tokio::time::timeout(left, flood.round(from, nth)).await {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    runtime.block_on(local);
    println!("{}", sent.get() / seconds);
    Ok(())
}

impl Flood {
    fn count(&self) {
        self.sent.set(self.sent.get() + 1);
    }

    /// Uses one connection until it fails.
    async fn round(&self, from: Ipv4Addr, nth: usize) -> Result<(), Failure> {
        let open = |asked| Link::open(from, self.address, asked);
        // The generator of the group is a valid element like any other.
        let element = BASE;
        let items = if self.kind == Kind::Large { 4096 } else { BATCH as usize };
        let question = element.repeat(items);
        match self.kind {
            Kind::Questions | Kind::Large | Kind::Sockets => {
                let is_socket = self.kind == Kind::Sockets;
                let mut link = open(if is_socket { Asked::Socket } else { Asked::Http }).await?;
                loop {
                    link.ask(self.epoch, &question).await?;
                    self.count();
                }
            }
            Kind::Connections => {
                self.count();
                open(Asked::Http).await?.ask(self.epoch, &question).await?;
                Ok(())
            }
            Kind::Hellos => {
                self.count();
                plain(from, self.address).await.map(drop)
            }
            Kind::Requests => {
                let mut link = open(Asked::Http).await?;
                loop {
                    link.fetch("/v1/info").await?;
                    self.count();
                }
            }
            Kind::Downloads => {
                let mut link = open(Asked::Http).await?;
                let head = link.fetch("/v1/head.json").await?.ok_or("no head")?;
                let text = String::from_utf8(head)?;
                let head = vesica_list::head::Head::read(&text)?;
                let part = format!("/v1/{}", head.parts[0].file_name());
                loop {
                    link.fetch(&part).await?;
                    self.count();
                }
            }
            Kind::Slow => {
                let mut stream = plain(from, self.address).await?;
                self.count();
                if nth.is_multiple_of(4) {
                    // The beginning of a handshake.
                    return slowly(&mut stream, &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).await;
                }
                let mut stream = secure(stream).await?;
                let head = format!(
                    "POST /v1/evaluate?epoch={} HTTP/1.1\r\nhost: list\r\ncontent-length: {}\r\n\r\n",
                    self.epoch,
                    question.len()
                );
                if nth % 4 == 1 {
                    return slowly(&mut stream, head.as_bytes()).await;
                }
                stream.write_all(head.as_bytes()).await?;
                slowly(&mut stream, &question).await
            }
        }
    }
}

/// The encoding of the generator of ristretto255.
const BASE: [u8; 32] = [
    0xe2, 0xf2, 0xae, 0x0a, 0x6a, 0xbc, 0x4e, 0x71, 0xa8, 0x84, 0xa9, 0x61, 0xc5, 0x00, 0x51, 0x5f,
    0x58, 0xe3, 0x0b, 0x6a, 0xa5, 0x82, 0xdd, 0x8d, 0xb6, 0xa6, 0x59, 0x45, 0xe0, 0x8d, 0x2d, 0x76,
];

/// Sends bytes one by one.
async fn slowly(stream: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8]) -> Result<(), Failure> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    Ok(())
}
