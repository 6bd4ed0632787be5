//! Questions over a WebSocket: one binary message each, the epoch in 8 bytes, little endian, and the elements. The answer is
//! a byte 0 and the answer, or a byte 1 and why there is none, as JSON.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{
        CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
        UPGRADE,
    },
};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

use crate::{
    asking::{Asking, LONGEST},
    clients::Client,
    files::{Body, insert, status},
    frames::Counted,
    refused::Refused,
    visitors::{Holding, Taken},
};

/// A connection on which nothing is asked for so long is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Bytes that a socket is read by.
const READ: usize = 1 << 13;

/// Makes a WebSocket of a request.
///
/// # Errors
/// [`Refused::NoToken`] and [`Refused::Busy`].
pub(crate) fn upgrade(
    service: Arc<Asking>,
    mut request: Request<Incoming>,
    address: IpAddr,
) -> Result<Response<Body>, Refused> {
    let fields = request.headers();
    let is = |name, value: &str| {
        fields.get(name).is_some_and(|found: &HeaderValue| {
            found.to_str().is_ok_and(|found| found.to_ascii_lowercase().contains(value))
        })
    };
    let key = fields.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let is_one =
        is(UPGRADE, "websocket") && is(CONNECTION, "upgrade") && is(SEC_WEBSOCKET_VERSION, "13");
    let (Some(key), true) = (key, is_one) else {
        return Ok(status(StatusCode::UPGRADE_REQUIRED));
    };
    // Pages of any origin may open a WebSocket, and say of which they are.
    let is_foreign = fields.get(hyper::header::ORIGIN).is_some_and(|origin| {
        let host = fields.get(hyper::header::HOST).and_then(|host| host.to_str().ok());
        let own = host.is_some_and(|host| {
            origin
                .to_str()
                .is_ok_and(|origin| origin.split_once("://").is_some_and(|(_, of)| of == host))
        });
        !own && !service.allows(origin)
    });
    if is_foreign {
        return Ok(status(StatusCode::FORBIDDEN));
    }
    let client = service.client(fields, address)?;
    let place = service.visitors.place(client, (Holding::Socket, 1), Instant::now());
    let place = place.ok_or(Refused::Busy)?;
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            let size = Some(LONGEST + 8);
            let config = WebSocketConfig::default().read_buffer_size(READ).write_buffer_size(READ);
            let config = config.max_message_size(size).max_frame_size(size);
            let io = Counted::new(TokioIo::new(upgraded));
            let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            serve(&service, socket, client, place).await;
        }
    });
    let mut response = status(StatusCode::SWITCHING_PROTOCOLS);
    insert(&mut response, CONNECTION, "Upgrade".to_owned());
    insert(&mut response, UPGRADE, "websocket".to_owned());
    insert(&mut response, SEC_WEBSOCKET_ACCEPT, key);
    Ok(response)
}

async fn serve(
    service: &Asking,
    mut socket: WebSocketStream<Counted<TokioIo<hyper::upgrade::Upgraded>>>,
    client: Client,
    _place: Taken,
) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(IDLE, socket.next()).await {
        if let Err(refused) = service.turn(client).await {
            service.refuse(refused).await;
            break;
        }
        let message = match message {
            Message::Binary(message) => message,
            Message::Close(_) | Message::Text(_) => break,
            // The library answers these.
            _ => continue,
        };
        let answer = match message.split_first_chunk() {
            Some((epoch, question)) => {
                service.ask(client, u64::from_le_bytes(*epoch), question.to_vec()).await
            }
            None => Err(Refused::Malformed),
        };
        let reply = match answer {
            Ok(answer) => [&[0][..], &answer].concat(),
            Err(refused) => {
                service.refuse(refused).await;
                [&[1][..], refused.json().to_string().as_bytes()].concat()
            }
        };
        if socket.send(Message::binary(reply)).await.is_err() {
            break;
        }
    }
}
