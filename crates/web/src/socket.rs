//! Questions over a WebSocket: one binary message each, the epoch in 8 bytes, little endian, and the elements. The answer is
//! a byte 0 and the answer, or a byte 1 and why there is none, as JSON.

use std::{net::IpAddr, sync::Arc, time::Duration};

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
use serde_json::json;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};
use vesica_list::exchange::MAX_QUESTION;

use crate::{
    asking::{Asking, Refused},
    clients::Client,
    files::{Body, insert, status},
};

/// A connection on which nothing is asked for so long is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Makes a WebSocket of a request.
pub(crate) fn upgrade(
    service: Arc<Asking>,
    mut request: Request<Incoming>,
    address: IpAddr,
) -> Response<Body> {
    let fields = request.headers();
    let is = |name, value: &str| {
        fields.get(name).is_some_and(|found: &HeaderValue| {
            found.to_str().is_ok_and(|found| found.to_ascii_lowercase().contains(value))
        })
    };
    let key = fields.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let is_one =
        is(UPGRADE, "websocket") && is(CONNECTION, "upgrade") && is(SEC_WEBSOCKET_VERSION, "13");
    let (Some(key), true) = (key, is_one) else { return status(StatusCode::UPGRADE_REQUIRED) };
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
        return status(StatusCode::FORBIDDEN);
    }
    let client = match service.client(fields, address) {
        Ok(client) => client,
        Err(_) => return status(StatusCode::UNAUTHORIZED),
    };
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            let size = Some(32 * MAX_QUESTION + 8);
            let config = WebSocketConfig::default().max_message_size(size).max_frame_size(size);
            let io = TokioIo::new(upgraded);
            let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            serve(&service, socket, client).await;
        }
    });
    let mut response = status(StatusCode::SWITCHING_PROTOCOLS);
    insert(&mut response, CONNECTION, "Upgrade".to_owned());
    insert(&mut response, UPGRADE, "websocket".to_owned());
    insert(&mut response, SEC_WEBSOCKET_ACCEPT, key);
    response
}

async fn serve(
    service: &Asking,
    mut socket: WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>,
    client: Client,
) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(IDLE, socket.next()).await {
        let message = match message {
            Message::Binary(message) => message,
            Message::Close(_) => break,
            Message::Text(_) => continue,
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
                let (_, error, message) = refused.said();
                let text = json!({ "error": error, "message": message }).to_string();
                [&[1][..], text.as_bytes()].concat()
            }
        };
        if socket.send(Message::binary(reply)).await.is_err() {
            break;
        }
    }
}
