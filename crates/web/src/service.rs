//! What the service answers.

use std::{convert::Infallible, net::IpAddr, path::PathBuf, sync::Arc};

use http_body_util::{BodyExt, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_TYPE,
        HeaderValue, ORIGIN, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};
use serde_json::json;
use vesica_list::{exchange::MAX_QUESTION, head::Head, hex::Hex};
use vesica_net::Fingerprint;

use crate::{
    asking::{Asking, LONGEST},
    assets::Asset,
    clients::Client,
    files::{About, Body, Sender, file, full, insert, status},
    limits::Limits,
    refused::Refused,
    socket,
};

/// The key space whose enumeration is told: all telephone numbers of a large country.
pub const SPACE: u64 = 1_000_000_000;

/// What the service has.
pub(crate) struct Service {
    pub(crate) asking: Arc<Asking>,
    pub(crate) limits: Limits,
    pub(crate) assets: Vec<Asset>,
}

impl Service {
    /// Answers a request from this address.
    pub(crate) async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        address: IpAddr,
    ) -> Result<Response<Body>, Infallible> {
        let origin = request.headers().get(ORIGIN).cloned();
        let mut response = match self.turn(request.headers(), address).await {
            Ok(from) => self.clone().route(request, from).await,
            Err(refused) => self.refusal(refused).await,
        };
        let fields = response.headers_mut();
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(origin) = origin.filter(|origin| self.asking.allows(origin)) {
            fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            fields.insert(VARY, HeaderValue::from_static("origin"));
            let exposed = "etag, content-range, content-length, retry-after";
            fields.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        }
        Ok(response)
    }

    /// Waits for the turn of the client that sends a request, and returns it with its address.
    async fn turn(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<(Client, IpAddr), Refused> {
        let origin = self.asking.origin(headers, address)?;
        // Files are for everybody.
        let client = self.asking.client(headers, origin).unwrap_or_else(|_| Client::at(origin));
        self.asking.turn(client).await?;
        Ok((client, origin))
    }

    async fn route(
        self: Arc<Self>,
        request: Request<Incoming>,
        (client, address): (Client, IpAddr),
    ) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match path.as_str() {
            _ if request.method() == Method::OPTIONS => preflight(),
            "/v1/evaluate" if request.method() == Method::POST => {
                self.evaluate(request, address).await
            }
            "/v1/socket" if request.method() == Method::GET => {
                match socket::upgrade(self.asking.clone(), request, address) {
                    Ok(response) => response,
                    Err(refused) => self.refusal(refused).await,
                }
            }
            "/v1/evaluate" | "/v1/socket" => status(StatusCode::METHOD_NOT_ALLOWED),
            _ if !is_read => status(StatusCode::METHOD_NOT_ALLOWED),
            "/v1/info" => self.info(),
            _ => self.static_file(&path, client, (request.method(), request.headers())).await,
        }
    }

    async fn static_file(
        &self,
        path: &str,
        client: Client,
        (method, headers): (&Method, &HeaderMap),
    ) -> Response<Body> {
        if let Some(asset) = self.assets.iter().find(|asset| asset.path == path) {
            return asset.response(method, headers);
        }
        let served = self.asking.served();
        let text = "text/plain; charset=utf-8";
        let head = served.head();
        let (file_name, about): (PathBuf, About) = match path.strip_prefix("/v1/") {
            Some(name @ "head.json") => {
                let etag = format!("\"{}-{}-{}\"", head.epoch, head.sequence(), head.issued);
                (name.into(), About { media_type: "application/json", etag, cache: "no-cache" })
            }
            Some(name @ "log.txt") => {
                let etag = format!("\"{}\"", head.log.digest);
                (name.into(), About { media_type: text, etag, cache: "no-cache" })
            }
            Some(name) => {
                let digest = name.strip_suffix(".part").map(|hex| Hex::try_from(hex.to_owned()));
                let Some(Ok(digest)) = digest else { return status(StatusCode::NOT_FOUND) };
                let cache = "public, max-age=31536000, immutable";
                let media_type = "application/octet-stream";
                (name.into(), About { media_type, etag: format!("\"{digest}\""), cache })
            }
            None => return status(StatusCode::NOT_FOUND),
        };
        let path = served.public().join(file_name);
        file(&path, about, (method, headers), Sender { asking: self.asking.clone(), client })
    }

    /// What may be asked, and what asking for everything would take.
    fn info(&self) -> Response<Body> {
        let served = self.asking.served();
        let head = served.head();
        let Limits { client, all } = self.limits;
        json_of(&json!({
            "name": head.name,
            "publisher": publisher(head).to_string(),
            "epoch": head.epoch,
            "sequence": head.sequence(),
            "items": head.items,
            "bytes": head.file_bytes(),
            "expires": head.expires,
            "mostItemsOfAQuestion": MAX_QUESTION,
            "needsToken": self.asking.tokens.is_some(),
            "limits": {
                "client": { "itemsAMinute": client.a_minute, "itemsAtOnce": client.at_once },
                "all": { "itemsAMinute": all.a_minute, "itemsAtOnce": all.at_once },
            },
            "enumeration": {
                "keys": SPACE,
                "daysOfOneClient": client.days(SPACE),
                "daysOfAll": all.days(SPACE),
            },
        }))
    }

    async fn evaluate(&self, request: Request<Incoming>, address: IpAddr) -> Response<Body> {
        match self.evaluated(request, address).await {
            Ok(answer) => {
                let mut response = Response::new(full(answer));
                let fields = response.headers_mut();
                fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
                fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
            Err(refused) => self.refusal(refused).await,
        }
    }

    async fn evaluated(
        &self,
        request: Request<Incoming>,
        address: IpAddr,
    ) -> Result<Vec<u8>, Refused> {
        let client = self.asking.client(request.headers(), address)?;
        let epoch = request.uri().query().and_then(|query| query.strip_prefix("epoch="));
        let epoch = epoch.and_then(|epoch| epoch.parse().ok()).ok_or(Refused::Malformed)?;
        // What would be refused is not received.
        let bytes = request.body().size_hint().upper();
        let bytes = bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let _room = self.asking.expect(client, epoch, bytes)?;
        let body = Limited::new(request.into_body(), LONGEST).collect();
        let body = tokio::time::timeout(self.asking.patience, body)
            .await
            .map_err(|_| Refused::Malformed)?;
        let question = body.map_err(|_| Refused::TooMany)?.to_bytes();
        self.asking.ask(client, epoch, question.to_vec()).await
    }

    /// Says why there is no answer.
    async fn refusal(&self, refused: Refused) -> Response<Body> {
        self.asking.refuse(refused).await;
        let mut response = json_of(&refused.json());
        *response.status_mut() = refused.status();
        if let Some(seconds) = refused.retry_after() {
            insert(&mut response, RETRY_AFTER, seconds.to_string());
        }
        response
    }
}

/// Who signed a list.
fn publisher(head: &Head) -> Fingerprint {
    Fingerprint::of(&head.certificate())
}

/// What a page of another origin may send, where its origin is allowed.
fn preflight() -> Response<Body> {
    let mut response = status(StatusCode::NO_CONTENT);
    let fields = response.headers_mut();
    fields.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    let allowed = "authorization, content-type, range, if-range, if-none-match";
    fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    fields.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

fn json_of(value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(full(format!("{value}\n")));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
