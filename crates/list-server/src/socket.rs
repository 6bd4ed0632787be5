//! Questions over a WebSocket. Each is one binary message: the epoch in 8 bytes, little endian, and the elements. The
//! response is a byte 0 and the answer, or a byte 1 and the reason for the refusal, as JSON.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::{Request, State},
    http::{
        HeaderMap, Method, StatusCode,
        header::{
            CONNECTION, HOST, HeaderName, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
            SEC_WEBSOCKET_VERSION, UPGRADE,
        },
    },
    response::{IntoResponse, Response},
};
use futures_util::{SinkExt, StreamExt};
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
    asking::{AnswerContext, LONGEST},
    clients::Client,
    frames::FrameCounter,
    refused::Refused,
    service::{ServerState, Visit},
    visitors::{Holding, Taken},
};

/// Timeout after which an idle connection is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Bytes read from a socket at a time.
const READ: usize = 1 << 13;

/// Upgrades a request to a WebSocket. axum's own upgrade cannot wrap the connection, which is necessary to count
/// frames.
pub(crate) async fn upgrade(
    State(service): State<Arc<ServerState>>,
    Extension(Visit { address, .. }): Extension<Visit>,
    mut request: Request,
) -> Response {
    let fields = request.headers();
    let key = fields.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let is_one = request.method() == Method::GET
        && has(fields, UPGRADE, "websocket")
        && has(fields, CONNECTION, "upgrade")
        && has(fields, SEC_WEBSOCKET_VERSION, "13");
    let (Some(key), true) = (key, is_one) else {
        return StatusCode::UPGRADE_REQUIRED.into_response();
    };
    if !may_open(&service.asking, fields) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (client, place) = match room(&service.asking, fields, address) {
        Ok(room) => room,
        Err(refused) => return service.refusal(refused).await,
    };
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            let size = Some(LONGEST + 8);
            let config = WebSocketConfig::default().read_buffer_size(READ).write_buffer_size(READ);
            let config = config.max_message_size(size).max_frame_size(size);
            let io = FrameCounter::new(TokioIo::new(upgraded));
            let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            serve(&service.asking, socket, client, place).await;
        }
    });
    let fields =
        [(CONNECTION, "Upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_ACCEPT, key.as_str())];
    (StatusCode::SWITCHING_PROTOCOLS, fields).into_response()
}

/// Returns whether a field contains a word, in any case.
fn has(fields: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let text = fields.get(name).and_then(|value| value.to_str().ok());
    text.is_some_and(|text| text.to_ascii_lowercase().contains(word))
}

/// Returns whether a page may open a socket. Browsers let pages of any origin try, and name the origin.
fn may_open(asking: &AnswerContext, fields: &HeaderMap) -> bool {
    let Some(origin) = fields.get(ORIGIN) else { return true };
    let host = fields.get(HOST).and_then(|host| host.to_str().ok());
    let of = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
    host.is_some() && of == host || asking.allows(origin)
}

/// Takes a place for a socket.
///
/// # Errors
/// [`Refused::NoToken`] and [`Refused::Busy`].
fn room(
    asking: &AnswerContext,
    fields: &HeaderMap,
    address: IpAddr,
) -> Result<(Client, Taken), Refused> {
    let client = asking.client(fields, address)?;
    let place = asking.visitors.place(client, Holding::Socket, 1, Instant::now());
    Ok((client, place.ok_or(Refused::Busy)?))
}

async fn serve(
    service: &AnswerContext,
    mut socket: WebSocketStream<FrameCounter<TokioIo<hyper::upgrade::Upgraded>>>,
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
