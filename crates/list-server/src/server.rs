//! The service: accepts connections, and reloads the list when it changes.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant, SystemTime},
};

use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use vesica_list_store::serving::Served;
use vesica_net::CancelToken;

use crate::{
    answers::Answers,
    asking::AnswerContext,
    assets::Asset,
    clients::{Client, Tokens},
    counts::{Counts, Present},
    limits::ClientLimits,
    patient::Patient,
    routes::routes,
    service::ServerState,
    tls::Certificate,
    visitors::{Allowance, Holding, Visitors},
};

/// Default client timeout.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Length of the system's backlog of connections. With more at once, some connections wait for a second.
const WAITING: u32 = 1 << 12;

/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Interval between checks whether the list has changed.
const RELOAD: Duration = Duration::from_secs(1);

/// The configuration of a service.
pub struct Serving {
    /// Directory of the list.
    pub directory: PathBuf,
    /// Address to listen at.
    pub address: String,
    /// Certificate for TLS, or `None` without TLS, behind a proxy or for this machine only.
    pub certificate: Option<Certificate>,
    /// Limits on questions.
    pub limits: ClientLimits,
    /// The clients that may ask, or `None` if anybody may.
    pub tokens: Option<Tokens>,
    /// Origins whose pages may ask, or `*` for all.
    pub origins: Vec<String>,
    /// Whether a proxy forwards the clients' addresses.
    pub is_proxied: bool,
    /// Number of threads that answer.
    pub threads: usize,
    /// Time limit for a client's handshake, for the head of each request, for a question, and for receiving data sent
    /// to it.
    pub patience: Duration,
    /// Files served beside the list.
    pub assets: Vec<Asset>,
    /// The counters of the service.
    pub counts: Arc<Counts>,
}

/// Receives the service's events: a name, and the event's details as pairs of names and values.
pub type Tell<'a> = &'a (dyn Fn(&'static str, &[(&'static str, String)]) + Sync);

/// Serves a list until it is cancelled. Reports the address, each change of the list, and each failure to read it.
///
/// # Errors
/// If the list cannot be read, or the address cannot be bound.
pub fn serve(serving: Serving, cancel: &CancelToken, tell: Tell<'_>) -> io::Result<()> {
    let served = Served::open(&serving.directory).map_err(io::Error::other)?;
    let list = Arc::new(RwLock::new(Arc::new(served)));
    let tls = serving.certificate.map(Certificate::server).transpose();
    let tls = tls.map_err(|error| io::Error::other(error.to_string()))?.map(TlsAcceptor::from);
    let visitors = Visitors::new(serving.limits, serving.is_proxied, Instant::now());
    let (visitors, counts) = (Arc::new(visitors), serving.counts);
    let asking = Arc::new(AnswerContext {
        answers: Answers::new(serving.threads.max(1), &list),
        list,
        visitors: visitors.clone(),
        counts: counts.clone(),
        tokens: serving.tokens,
        origins: serving.origins,
        is_proxied: serving.is_proxied,
        patience: serving.patience,
    });
    let (limits, assets) = (serving.limits, serving.assets);
    let service = Arc::new(ServerState { asking: asking.clone(), limits, assets });
    let routes = routes(service.clone());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(16).enable_all().build()?;
    runtime.block_on(async {
        let listener = listen(&serving.address).await?;
        tell("listening", &[("address", listener.local_addr()?.to_string())]);
        let (mut looked, mut changed) = (Instant::now(), changed(&serving.directory));
        while !cancel.is_cancelled() {
            if looked.elapsed() >= RELOAD {
                looked = Instant::now();
                reload(&serving.directory, &mut changed, &asking, tell);
            }
            let accepted =
                tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
            let (stream, address) = match accepted {
                Ok(Ok(accepted)) => accepted,
                // The process has reached its limit of open files.
                Ok(Err(_)) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(_) => continue,
            };
            let (client, now) = (Client::at(address.ip()), Instant::now());
            let place = visitors.place(client, Holding::Connection, 1, now);
            let place = place.and_then(|place| {
                visitors.turn(client, Allowance::Arrival, 1, now).map(|wait| (place, wait))
            });
            let Some((place, wait)) = place else {
                counts.turned_away.inc();
                // Drops data that the system still buffers for it.
                let _ = stream.set_zero_linger();
                continue;
            };
            let (service, routes) = (service.clone(), routes.clone());
            let (tls, counts) = (tls.clone(), counts.clone());
            tokio::spawn(async move {
                let connected = Present::new(&counts.connected);
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                // An error of a connection concerns only its client.
                let _ = connection(service, routes, stream, address, tls).await;
                drop((place, connected));
            });
        }
        Ok::<_, io::Error>(())
    })?;
    tell("stopping", &[]);
    runtime.shutdown_timeout(Duration::from_secs(5));
    drop((service, routes));
    if let Some(asking) = Arc::into_inner(asking) {
        asking.answers.stop();
    }
    Ok(())
}

/// Listens at an address, which may be a name with several addresses.
async fn listen(address: &str) -> io::Result<TcpListener> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in tokio::net::lookup_host(address).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // The address may be reused although connections of an earlier instance have not expired.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        match socket.bind(address).and_then(|()| socket.listen(WAITING)) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn connection(
    service: Arc<ServerState>,
    routes: Router,
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let patience = service.asking.patience;
    let stream = Patient::new(stream, patience);
    match tls {
        None => http(service, routes, TokioIo::new(stream), address.ip()).await,
        Some(tls) => {
            let stream = tokio::time::timeout(patience, tls.accept(stream)).await;
            let stream = TokioIo::new(stream.map_err(io::Error::other)??);
            http(service, routes, stream, address.ip()).await
        }
    }
}

async fn http<I>(
    service: Arc<ServerState>,
    routes: Router,
    io: I,
    address: IpAddr,
) -> io::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let patience = service.asking.patience;
    let respond = service_fn(move |mut request: Request<Incoming>| {
        let (service, routes) = (service.clone(), routes.clone());
        async move {
            // Every request waits its turn, including unrouted ones and browsers' preflight requests.
            let turn = service.turn(request.headers(), address).await;
            request.extensions_mut().insert(turn);
            routes.oneshot(request).await
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(1 << 16);
    builder.serve_connection(io, respond).with_upgrades().await.map_err(io::Error::other)
}

/// Returns the time at which the head was changed.
fn changed(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory.join("public").join("head.json")).and_then(|found| found.modified()).ok()
}

/// Reloads the list if it changed. Keeps the present list if the new one is unusable.
fn reload(
    directory: &Path,
    known: &mut Option<SystemTime>,
    asking: &AnswerContext,
    tell: Tell<'_>,
) {
    let found = changed(directory);
    if found == *known {
        return;
    }
    *known = found;
    match Served::open(directory) {
        Ok(served) => {
            let head = served.head();
            tell(
                "reloaded",
                &[("epoch", head.epoch.to_string()), ("version", head.sequence().to_string())],
            );
            let served = Arc::new(served);
            *asking.list.write().unwrap_or_else(PoisonError::into_inner) = served;
        }
        Err(error) => tell("not reloaded", &[("why", error.to_string())]),
    }
}
