//! Objects, in builds with them.
//!
//! Credentials come from the environment or from the provider's service for the machine. The libraries' error messages
//! are not repeated, as an address in them may have a token: [`Fault`] describes the error instead.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use object_store::{
    GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig,
    aws::AmazonS3Builder,
    azure::MicrosoftAzureBuilder,
    client::{HttpError, HttpErrorKind},
    gcp::GoogleCloudStorageBuilder,
    path::Path,
};
use tokio::runtime::{Builder, Runtime};

/// The least number of bytes to request. Sequential reading requests more.
const LEAST_READ: u64 = 1 << 16;

/// The maximum number of bytes to read ahead.
const MOST_READ: u64 = 1 << 23;

/// The size of each part of an upload but the last. A store accepts 10 000 parts of one object, and none below 5 MiB.
const PART: usize = 1 << 24;

/// An error of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    Denied,
    Unauthenticated,
    Changed,
    Unreachable,
    Interrupted,
    Refused,
    Unidentified,
    Address,
    Settings,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the object or bucket does not exist",
            Self::Denied => "the store denies access with these credentials",
            Self::Unauthenticated => {
                "the store does not accept these credentials, or the environment has none"
            }
            Self::Changed => "the object changed while it was read; run again when nothing writes to it",
            Self::Unreachable => {
                "the store, or the service with this machine's credentials, cannot be reached; check the network, \
                 and the credentials and the endpoint in the environment"
            }
            Self::Interrupted => "the connection to the store was lost",
            Self::Refused => {
                "the store refused the request; check the credentials, the region and the endpoint in the environment"
            }
            Self::Unidentified => {
                "the store gives the object neither an ETag nor a version, so changes could go unnoticed"
            }
            Self::Address => "an address has the form s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY",
            Self::Settings => {
                "the settings of the store in the environment are missing or invalid"
            }
        })
    }
}

impl Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::other(fault)
    }
}

impl From<object_store::Error> for Fault {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        match &error {
            E::NotFound { .. } => Self::Missing,
            E::PermissionDenied { .. } => Self::Denied,
            E::Unauthenticated { .. } => Self::Unauthenticated,
            E::Precondition { .. } | E::NotModified { .. } => Self::Changed,
            _ => {
                let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
                while let Some(error) = cause {
                    match error.downcast_ref::<HttpError>().map(HttpError::kind) {
                        Some(HttpErrorKind::Connect) => return Self::Unreachable,
                        Some(_) => return Self::Interrupted,
                        None => cause = error.source(),
                    }
                }
                Self::Refused
            }
        }
    }
}

/// Whether a store is to blame for an error.
pub(crate) fn is_fault(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Fault>())
}

/// An object's location in its store.
pub(super) struct Place {
    pub(super) store: Box<dyn ObjectStore>,
    pub(super) path: Path,
    /// The runtime that waits for the store, on the calling thread.
    pub(super) waiting: Runtime,
}

impl Place {
    pub(super) fn of(address: &str) -> Result<Self, Fault> {
        let (scheme, rest) = address.split_once("://").ok_or(Fault::Address)?;
        let (bucket, key) = rest.split_once('/').ok_or(Fault::Address)?;
        let path = Path::parse(key).map_err(|_| Fault::Address)?;
        if bucket.is_empty() || path.as_ref().is_empty() {
            return Err(Fault::Address);
        }
        // The embedding program may have chosen another already, which also works.
        static CRYPTOGRAPHY: Once = Once::new();
        CRYPTOGRAPHY.call_once(|| {
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let retry = RetryConfig {
            max_retries: 4,
            retry_timeout: Duration::from_secs(60),
            ..RetryConfig::default()
        };
        let store: Result<Box<dyn ObjectStore>, object_store::Error> = match scheme {
            "s3" => {
                let s3 = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
                s3.build().map(|store| Box::new(store) as _)
            }
            "gs" => {
                let gs = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                gs.with_retry(retry).build().map(|store| Box::new(store) as _)
            }
            "az" => {
                let az = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                az.with_retry(retry).build().map(|store| Box::new(store) as _)
            }
            _ => return Err(Fault::Address),
        };
        let store = store.map_err(|_| Fault::Settings)?;
        Self::within(store, path)
    }

    fn within(store: Box<dyn ObjectStore>, path: Path) -> Result<Self, Fault> {
        let waiting = Builder::new_current_thread().enable_all().build();
        Ok(Self { store, path, waiting: waiting.map_err(|_| Fault::Interrupted)? })
    }
}

/// An object to read.
#[derive(Clone)]
pub(crate) struct Object {
    place: Arc<Place>,
    len: u64,
    etag: Option<String>,
    version: Option<String>,
    state: Arc<Mutex<StoreState>>,
}

#[derive(Default)]
struct StoreState {
    /// The bytes that were read last, with their offset.
    window: (u64, Bytes),
    failure: Option<Fault>,
}

impl Object {
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        Ok(Self::at(Place::of(address)?)?)
    }

    fn at(place: Place) -> Result<Self, Fault> {
        let found = place.waiting.block_on(place.store.head(&place.path))?;
        if found.e_tag.is_none() && found.version.is_none() {
            return Err(Fault::Unidentified);
        }
        let (len, etag, version) = (found.size, found.e_tag, found.version);
        Ok(Self { place: Arc::new(place), len, etag, version, state: Arc::default() })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        // Each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<usize> {
        if at >= self.len || to.is_empty() {
            return Ok(0);
        }
        let mut state = self.state();
        let (start, window) = &state.window;
        let end = start + window.len() as u64;
        if !(*start..end).contains(&at) {
            // Sequential reading doubles the window each time. Reading one part of a file does not fetch much of it.
            let ahead = if at == end { 2 * window.len() as u64 } else { 0 };
            let wanted = ahead.clamp(LEAST_READ, MOST_READ).max(to.len() as u64);
            match self.fetch(at, wanted) {
                Ok(bytes) => state.window = (at, bytes),
                Err(fault) => {
                    state.failure = Some(fault);
                    return Err(fault.into());
                }
            }
        }
        let (start, window) = &state.window;
        let rest = &window[(at - start) as usize..];
        let read = rest.len().min(to.len());
        to[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    /// Fetches up to this many bytes from an offset on, only from the object that was opened.
    fn fetch(&self, at: u64, wanted: u64) -> Result<Bytes, Fault> {
        let end = at.saturating_add(wanted).min(self.len);
        let options = GetOptions {
            if_match: self.etag.clone(),
            range: Some(GetRange::Bounded(at..end)),
            ..GetOptions::default()
        };
        let bytes = self.place.waiting.block_on(async {
            let found = self.place.store.get_opts(&self.place.path, options).await?;
            if found.meta.size != self.len || found.meta.version != self.version {
                return Err(Fault::Changed);
            }
            Ok(found.bytes().await?)
        })?;
        if bytes.len() as u64 == end - at { Ok(bytes) } else { Err(Fault::Interrupted) }
    }

    /// Whether the object is still the one that was opened.
    pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
        let found = self.place.waiting.block_on(self.place.store.head(&self.place.path));
        let found = found.map_err(Fault::from)?;
        Ok((found.size, found.e_tag, found.version)
            == (self.len, self.etag.clone(), self.version.clone()))
    }

    /// Returns the reason that a read failed, if one did.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.state().failure.map(io::Error::from)
    }
}

/// An object being written, invisible until it is complete. Dropped, it leaves nothing in the store.
pub(crate) struct Upload {
    place: Place,
    /// `None` once it is complete.
    parts: Option<Box<dyn MultipartUpload>>,
    buffer: Vec<u8>,
}

impl Upload {
    /// Makes sure, by trying, that an object can be written there.
    pub(crate) fn probe(address: &str) -> io::Result<()> {
        let mut upload = Self::begin(address)?;
        Ok(upload.abort()?)
    }

    pub(crate) fn begin(address: &str) -> io::Result<Self> {
        Ok(Self::at(Place::of(address)?)?)
    }

    fn at(place: Place) -> Result<Self, Fault> {
        let parts = place.waiting.block_on(place.store.put_multipart(&place.path))?;
        Ok(Self { place, parts: Some(parts), buffer: Vec::new() })
    }

    fn send(&mut self) -> io::Result<()> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        let part = parts.put_part(std::mem::take(&mut self.buffer).into());
        Ok(self.place.waiting.block_on(part).map_err(Fault::from)?)
    }

    /// Sends the last part.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { self.send() }
    }

    /// Shows the object, once all its parts have been sent.
    pub(crate) fn complete(mut self) -> io::Result<()> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        self.place.waiting.block_on(parts.complete()).map_err(Fault::from)?;
        self.parts = None;
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Fault> {
        let Some(mut parts) = self.parts.take() else { return Ok(()) };
        Ok(self.place.waiting.block_on(parts.abort())?)
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == PART {
            self.send()?;
        }
        let taken = bytes.len().min(PART - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // The caller already has an error to report.
        let _ = self.abort();
    }
}
