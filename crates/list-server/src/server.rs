//! The service: connections, and the list as it changes.

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
    asking::Asking,
    assets::Asset,
    clients::{Client, Tokens},
    counts::{Counts, Present},
    limits::Limits,
    patient::Patient,
    routes::routes,
    service::Service,
    tls::Certificate,
    visitors::{Holding, Turn, Visitors},
};

/// How long clients may take that are not in haste.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that the system keeps until they are accepted. Of more at once, some wait for a second.
const WAITING: u32 = 1 << 12;

/// After a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// How often the list is looked at.
const RELOAD: Duration = Duration::from_secs(1);

/// How a list is served.
pub struct Serving {
    /// The directory of the list.
    pub directory: PathBuf,
    /// Where to listen.
    pub address: String,
    /// TLS; `None` for none, behind a proxy or for this machine alone.
    pub certificate: Option<Certificate>,
    /// What may be asked.
    pub limits: Limits,
    /// The clients that may ask; `None` if anybody may.
    pub tokens: Option<Tokens>,
    /// Origins whose pages may ask; `*` for all.
    pub origins: Vec<String>,
    /// Whether a proxy says for whom it asks.
    pub is_proxied: bool,
    /// Threads that answer.
    pub threads: usize,
    /// How long a client may take for a handshake, for the head of a request, also after another one, and for a question, or
    /// take nothing of what is sent to it.
    pub patience: Duration,
    /// What is served beside the list.
    pub assets: Vec<Asset>,
    /// What is counted.
    pub counts: Arc<Counts>,
}

/// Is told of what happens: its name, and numbers and names that belong to it.
pub type Tell<'a> = &'a (dyn Fn(&'static str, &[(&'static str, String)]) + Sync);

/// Serves a list until it is asked to stop. Tells where it listens, and when the list changed or could not be read.
///
/// # Errors
/// Where the list cannot be read, or the address not be bound.
pub fn serve(serving: Serving, cancel: &CancelToken, tell: Tell<'_>) -> io::Result<()> {
    let served = Served::open(&serving.directory).map_err(io::Error::other)?;
    let list = Arc::new(RwLock::new(Arc::new(served)));
    let tls = serving.certificate.map(Certificate::server).transpose();
    let tls = tls.map_err(|error| io::Error::other(error.to_string()))?.map(TlsAcceptor::from);
    let visitors = Visitors::new(serving.limits, serving.is_proxied, Instant::now());
    let (visitors, counts) = (Arc::new(visitors), serving.counts);
    let asking = Arc::new(Asking {
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
    let service = Arc::new(Service { asking: asking.clone(), limits, assets });
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
                // The process has as many files open as it may.
                Ok(Err(_)) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(_) => continue,
            };
            let (client, now) = (Client::at(address.ip()), Instant::now());
            let place = visitors.place(client, (Holding::Connection, 1), now);
            let place = place.and_then(|place| {
                visitors.turn(client, (Turn::Arrival, 1), now).map(|wait| (place, wait))
            });
            let Some((place, wait)) = place else {
                counts.turned_away.inc();
                // The system is to keep nothing of it.
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
                // What goes wrong with a connection concerns its client alone.
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

/// Listens at an address, of which a name may have several.
async fn listen(address: &str) -> io::Result<TcpListener> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in tokio::net::lookup_host(address).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Connections of an instance that was here before do not keep the address.
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
    service: Arc<Service>,
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

async fn http<I>(service: Arc<Service>, routes: Router, io: I, address: IpAddr) -> io::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let patience = service.asking.patience;
    let respond = service_fn(move |mut request: Request<Incoming>| {
        let (service, routes) = (service.clone(), routes.clone());
        async move {
            // Requests that no route takes, and those that browsers send before others, wait too.
            let turn = service.turn(request.headers(), address).await;
            request.extensions_mut().insert(turn);
            routes.oneshot(request).await
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(1 << 16);
    builder.serve_connection(io, respond).with_upgrades().await.map_err(io::Error::other)
}

/// When the head was changed.
fn changed(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory.join("public").join("head.json")).and_then(|found| found.modified()).ok()
}

/// Reads the list again if it changed. One that cannot be used changes nothing.
fn reload(directory: &Path, known: &mut Option<SystemTime>, asking: &Asking, tell: Tell<'_>) {
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
