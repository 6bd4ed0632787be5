//! A client's connection from its own address: TLS, and then HTTP/1.1 or a WebSocket.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode,
    client::conn::http1::{SendRequest, handshake},
    header::HOST,
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

use crate::Failure;

/// The protocol for questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Http,
    Socket,
}

/// A connection for questions.
pub(crate) enum Link {
    Http(SendRequest<Full<Bytes>>),
    Socket(Box<WebSocketStream<TlsStream<TcpStream>>>),
}

impl Link {
    /// Connects from this address.
    pub(crate) async fn open(
        from: Ipv4Addr,
        to: SocketAddr,
        asked: Asked,
    ) -> Result<Self, Failure> {
        let stream = secure(plain(from, to).await?).await?;
        Ok(match asked {
            Asked::Http => {
                let (sender, connection) = handshake(TokioIo::new(stream)).await?;
                tokio::spawn(connection);
                Self::Http(sender)
            }
            Asked::Socket => {
                let url = format!("ws://{to}/v1/socket");
                Self::Socket(Box::new(tokio_tungstenite::client_async(url, stream).await?.0))
            }
        })
    }

    /// Asks a question. Returns `None` if it is refused.
    pub(crate) async fn ask(
        &mut self,
        epoch: u64,
        question: &[u8],
    ) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Http(sender) => {
                let place = format!("/v1/evaluate?epoch={epoch}");
                let body = Bytes::copy_from_slice(question);
                send(sender, Method::POST, &place, body).await
            }
            Self::Socket(socket) => {
                let message = [&epoch.to_le_bytes()[..], question].concat();
                socket.send(Message::binary(message)).await?;
                let reply = socket.next().await.ok_or("closed")??.into_data();
                Ok(reply.strip_prefix(&[0][..]).map(<[u8]>::to_vec))
            }
        }
    }

    /// Fetches a file.
    pub(crate) async fn fetch(&mut self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Http(sender) => send(sender, Method::GET, name, Bytes::new()).await,
            Self::Socket(_) => Err("files are fetched over HTTP".into()),
        }
    }
}

async fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    method: Method,
    place: &str,
    body: Bytes,
) -> Result<Option<Vec<u8>>, Failure> {
    sender.ready().await?;
    let request =
        Request::builder().method(method).uri(place).header(HOST, "list").body(Full::new(body))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status == StatusCode::OK).then(|| body.to_vec()))
}

/// Opens a plain TCP connection.
pub(crate) async fn plain(from: Ipv4Addr, to: SocketAddr) -> Result<TcpStream, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Opens TLS over a connection.
pub(crate) async fn secure(stream: TcpStream) -> Result<TlsStream<TcpStream>, Failure> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring has them");
        let mut config = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        // Never resume a session, so that every handshake is complete.
        config.resumption = rustls::client::Resumption::disabled();
        Arc::new(config)
    });
    let name = ServerName::try_from("list")?;
    Ok(TlsConnector::from(config.clone()).connect(name, stream).await?)
}

/// Accepts every certificate, because only the service is measured.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
