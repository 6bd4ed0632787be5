//! A client's connection to the server of a list.

use std::{
    io,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    header::{AUTHORIZATION, HOST, RANGE, RETRY_AFTER, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, runtime::Runtime};
use tokio_rustls::TlsConnector;
use vesica_core::error::{Error, Misuse, Result};
use vesica_net::Fingerprint;

use super::{rate::LeastRate, tls};
use crate::origin::{Asked, Origin};

/// Timeout for a connection, and for the next bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Number of attempts for an interrupted download.
const ATTEMPTS: u32 = 5;

/// A list at an address such as `https://lists.example.org/v1`.
pub struct Remote {
    runtime: Runtime,
    files: Endpoint,
    questions: Endpoint,
    publisher: Fingerprint,
    token: Option<String>,
}

/// A server, a path on it, and the connection to it.
struct Endpoint {
    uri: Uri,
    connection: Option<SendRequest<Full<Bytes>>>,
}

fn failed(uri: &Uri, what: impl std::fmt::Display) -> Error {
    Error::Origin { place: uri.to_string(), fault: advised(what.to_string()) }
}

/// Messages of libraries, each with advice for the user.
const ADVICE: [(&str, &str); 3] = [
    (
        "invalid peer certificate",
        "the server's certificate is neither the publisher's nor trusted by this system for the name: compare the publisher's \
         fingerprint and the address",
    ),
    (
        "invalid HTTP version",
        "the server does not speak HTTP at this address; should the address begin with https?",
    ),
    (
        "InvalidContentType",
        "the server does not speak TLS at this address; should the address begin with http?",
    ),
];

/// Adds advice to an error, if there is any for it.
fn advised(fault: String) -> String {
    match ADVICE.iter().find(|(said, _)| fault.contains(said)) {
        Some((_, advice)) => format!("{fault}; {advice}"),
        None => fault,
    }
}

impl Endpoint {
    fn new(address: &str) -> Result<Self> {
        let uri = address.trim_end_matches('/').parse::<Uri>().ok();
        let uri = uri.filter(|uri| {
            let is_local = uri.host().is_some_and(|host| {
                host == "localhost"
                    || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
            });
            match uri.scheme_str() {
                Some("https") => uri.host().is_some(),
                Some("http") => is_local,
                _ => false,
            }
        });
        let uri = uri.ok_or_else(|| {
            Error::usage(Misuse::Address, format!("{address} is not the address of a list; use https://, or http:// on this machine"))
        })?;
        Ok(Self { uri, connection: None })
    }

    async fn connect(
        &mut self,
        publisher: Fingerprint,
    ) -> io::Result<&mut SendRequest<Full<Bytes>>> {
        if self.connection.as_ref().is_none_or(SendRequest::is_closed) {
            let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            let is_tls = self.uri.scheme_str() == Some("https");
            let port = self.uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            self.connection = Some(if is_tls {
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let stream =
                    TlsConnector::from(tls::config(publisher)?).connect(name, stream).await?;
                spawned(TokioIo::new(stream)).await?
            } else {
                spawned(TokioIo::new(stream)).await?
            });
        }
        self.connection.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

async fn spawned<I>(io: I) -> io::Result<SendRequest<Full<Bytes>>>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(io).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

impl Remote {
    /// Connects to a list whose files are at one address, and whose questions are answered at the same or another. The
    /// server must present the publisher's certificate, or one that the system trusts.
    ///
    /// # Errors
    /// [`Error::Usage`] for an invalid address.
    pub fn new(
        files: &str,
        questions: Option<&str>,
        publisher: Fingerprint,
        token: Option<String>,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|_| Error::bug("no runtime for connections"))?;
        let (files, questions) =
            (Endpoint::new(files)?, Endpoint::new(questions.unwrap_or(files))?);
        Ok(Self { runtime, files, questions, publisher, token })
    }

    /// Sends a request. Opens a new connection if the old one has been closed.
    fn send(
        &mut self,
        is_question: bool,
        method: Method,
        path: &str,
        from: u64,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let Self { runtime, files, questions, publisher, token } = self;
        let place = if is_question { questions } else { files };
        let base = place.uri.path().trim_end_matches('/').to_owned();
        let authority = place.uri.authority().map(ToString::to_string).unwrap_or_default();
        let request = || {
            let mut request =
                Request::builder().method(method.clone()).uri(format!("{base}/{path}"));
            request = request.header(HOST, &authority).header(USER_AGENT, "vesica");
            if from > 0 {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            if let Some(token) = token.as_ref().filter(|_| is_question) {
                request = request.header(AUTHORIZATION, format!("Bearer {token}"));
            }
            request.body(Full::new(body.clone())).map_err(io::Error::other)
        };
        let attempt = async |place: &mut Endpoint| {
            let connection = place.connect(*publisher).await?;
            connection.ready().await.map_err(io::Error::other)?;
            connection.send_request(request()?).await.map_err(io::Error::other)
        };
        let sent = runtime.block_on(async {
            let had_one = place.connection.is_some();
            match tokio::time::timeout(PATIENCE, attempt(place)).await {
                Ok(Ok(response)) => Ok(response),
                _ if had_one => {
                    place.connection = None;
                    tokio::time::timeout(PATIENCE, attempt(place)).await?
                }
                Ok(failed) => failed,
                Err(elapsed) => Err(elapsed.into()),
            }
        });
        sent.map_err(|error| {
            place.connection = None;
            failed(&place.uri, error)
        })
    }

    /// Returns the next bytes of a body, or `None` at its end.
    fn next(&mut self, body: &mut Incoming, rate: &mut LeastRate) -> io::Result<Option<Bytes>> {
        let frame = async { tokio::time::timeout(PATIENCE, body.frame()).await };
        let Some(frame) = self.runtime.block_on(frame)? else { return Ok(None) };
        let data = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
        rate.take(data.len(), Instant::now())?;
        Ok(Some(data))
    }

    fn collected(&mut self, response: Response<Incoming>, longest: usize) -> io::Result<Vec<u8>> {
        let (mut body, mut rate) = (response.into_body(), LeastRate::new(Instant::now()));
        let mut bytes = Vec::new();
        while let Some(data) = self.next(&mut body, &mut rate)? {
            if bytes.len() + data.len() > longest {
                return Err(io::Error::other(format!("more than {longest} bytes came")));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }

    /// Converts a response that is not an answer.
    fn refusal(&mut self, response: Response<Incoming>, expected: u64) -> Result<Asked> {
        let code = response.status();
        let after = response.headers().get(RETRY_AFTER);
        let after = after.and_then(|after| after.to_str().ok()?.parse().ok());
        let error = self.refused(response, expected);
        match (code, after.map(Duration::from_secs)) {
            (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, Some(after)) => {
                Ok(Asked::Later(after, error))
            }
            (StatusCode::TOO_MANY_REQUESTS, None) => Ok(Asked::Fewer(error)),
            _ => Err(error),
        }
    }

    fn refused(&mut self, response: Response<Incoming>, expected: u64) -> Error {
        let code = response.status();
        let uri = self.questions.uri.clone();
        let text = self.collected(response, 1 << 12).unwrap_or_default();
        let said: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        let message = said["message"].as_str().unwrap_or_default();
        // The server's message is shown only if it is plain text.
        let message: String =
            message.chars().filter(|c| (' '..='~').contains(c)).take(200).collect();
        match (code, said["epoch"].as_u64()) {
            (StatusCode::CONFLICT, Some(found)) => {
                vesica_list::Error::Epoch { found, expected }.into()
            }
            _ if message.is_empty() => failed(&uri, code),
            _ => failed(&uri, format!("{code}: {message}")),
        }
    }
}

impl Origin for Remote {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        let response = self.send(false, Method::GET, name, 0, Bytes::new())?;
        let uri = self.files.uri.clone();
        if response.status() != StatusCode::OK {
            return Err(failed(&uri, format!("{name}: {}", response.status())));
        }
        let bytes = self.collected(response, longest).map_err(|error| failed(&uri, error))?;
        String::from_utf8(bytes).map_err(|_| failed(&uri, format!("{name}: no text")))
    }

    fn bytes(
        &mut self,
        name: &str,
        mut from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let uri = self.files.uri.clone();
        let mut attempts = 0;
        loop {
            let interrupted = match self.send(false, Method::GET, name, from, Bytes::new()) {
                Ok(response) => {
                    let status = response.status();
                    let mut body = response.into_body();
                    // The server may not support ranges.
                    let mut skip = match status {
                        StatusCode::PARTIAL_CONTENT => 0,
                        StatusCode::OK => from,
                        _ => return Err(failed(&uri, format!("{name}: {status}"))),
                    };
                    let mut rate = LeastRate::new(Instant::now());
                    loop {
                        match self.next(&mut body, &mut rate) {
                            Ok(None) => return Ok(()),
                            Ok(Some(data)) => {
                                let skipped = skip.min(data.len() as u64);
                                skip -= skipped;
                                let data = &data[skipped as usize..];
                                take(data)?;
                                from += data.len() as u64;
                            }
                            Err(error) => break failed(&uri, error),
                        }
                    }
                }
                Err(error) => error,
            };
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(interrupted);
            }
            self.files.connection = None;
            std::thread::sleep(Duration::from_millis(200) * attempts);
        }
    }

    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> Result<Asked> {
        let path = format!("evaluate?epoch={epoch}");
        let question = Bytes::copy_from_slice(question);
        let response = self.send(true, Method::POST, &path, 0, question)?;
        if response.status() != StatusCode::OK {
            return self.refusal(response, epoch);
        }
        let uri = self.questions.uri.clone();
        let answer = self.collected(response, answer_bytes);
        Ok(Asked::Answer(answer.map_err(|error| failed(&uri, error))?))
    }
}
