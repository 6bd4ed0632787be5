//! The service: connections, and the list as it changes.

use std::{
    collections::HashMap,
    fs, io,
    net::{IpAddr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant, SystemTime},
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::Semaphore};
use tokio_rustls::TlsAcceptor;
use vesica::lists::Served;
use vesica_net::CancelToken;

use crate::{
    answers::Answers,
    asking::Asking,
    assets::Asset,
    clients::{Client, Tokens},
    limits::{Limiter, Limits},
    service::Service,
    tls::Certificate,
};

/// Connections at a time.
const CONNECTIONS: usize = 1 << 13;

/// Connections of one address.
const OF_ONE: usize = 1 << 9;

/// How long a client may take for a handshake, or for the head of a request, between two of them too.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// The clients with tokens; none if anybody may ask.
    pub tokens: Tokens,
    /// Origins whose pages may ask; `*` for all.
    pub origins: Vec<String>,
    /// Whether a proxy says for whom it asks.
    pub is_proxied: bool,
    /// Threads that answer.
    pub threads: usize,
    /// What is served beside the list.
    pub assets: Vec<Asset>,
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
    let asking = Arc::new(Asking {
        answers: Answers::new(serving.threads.max(1), &list),
        limiter: Mutex::new(Limiter::new(serving.limits, Instant::now())),
        list,
        tokens: serving.tokens,
        origins: serving.origins,
        is_proxied: serving.is_proxied,
    });
    let (limits, assets) = (serving.limits, serving.assets);
    let service = Arc::new(Service { asking: asking.clone(), limits, assets });
    let listener = TcpListener::bind(&serving.address)?;
    listener.set_nonblocking(true)?;
    tell("listening", &[("address", listener.local_addr()?.to_string())]);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(16).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (places, addresses) = (Arc::new(Semaphore::new(CONNECTIONS)), Addresses::default());
        let (mut looked, mut changed) = (Instant::now(), changed(&serving.directory));
        while !cancel.is_cancelled() {
            if looked.elapsed() >= RELOAD {
                looked = Instant::now();
                reload(&serving.directory, &mut changed, &asking, tell);
            }
            let accepted =
                tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
            let Ok(Ok((stream, address))) = accepted else { continue };
            let place = places.clone().try_acquire_owned();
            let of_one = addresses.enter(address.ip());
            let (Ok(place), Some(of_one)) = (place, of_one) else { continue };
            let (service, tls) = (service.clone(), tls.clone());
            tokio::spawn(async move {
                // What goes wrong with a connection concerns its client alone.
                let _ = connection(service, stream, address, tls).await;
                drop((place, of_one));
            });
        }
        Ok::<_, io::Error>(())
    })?;
    tell("stopping", &[]);
    runtime.shutdown_timeout(Duration::from_secs(5));
    drop(service);
    if let Some(asking) = Arc::into_inner(asking) {
        asking.answers.stop();
    }
    Ok(())
}

async fn connection(
    service: Arc<Service>,
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match tls {
        None => http(service, TokioIo::new(stream), address.ip()).await,
        Some(tls) => {
            let stream = tokio::time::timeout(PATIENCE, tls.accept(stream)).await;
            http(service, TokioIo::new(stream.map_err(io::Error::other)??), address.ip()).await
        }
    }
}

async fn http<I>(service: Arc<Service>, io: I, address: IpAddr) -> io::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let respond = service_fn(move |request| service.clone().respond(request, address));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(1 << 16);
    builder.serve_connection(io, respond).with_upgrades().await.map_err(io::Error::other)
}

/// Connections by address.
#[derive(Default, Clone)]
struct Addresses(Arc<Mutex<HashMap<Client, usize>>>);

/// A connection of an address, until it is dropped.
struct OfOne(Addresses, Client);

impl Addresses {
    fn enter(&self, address: IpAddr) -> Option<OfOne> {
        let client = Client::at(address);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(client).or_default();
        (*count < OF_ONE).then(|| {
            *count += 1;
            OfOne(self.clone(), client)
        })
    }
}

impl Drop for OfOne {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.1);
            }
        }
    }
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
