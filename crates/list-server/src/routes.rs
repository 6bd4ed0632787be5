//! The routes of the service.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{
        HeaderMap, Method, StatusCode, Uri,
        header::{
            AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
            HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
        },
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;
use tower_http::{
    cors::{AllowOrigin, CorsLayer},
    set_header::SetResponseHeaderLayer,
};
use vesica_list::{exchange::MAX_QUESTION, head::Head};
use vesica_net::Fingerprint;

use crate::{
    files::file,
    limits::ClientLimits,
    refused::Refused,
    service::{ServerState, Visit, json_of},
    socket::upgrade,
};

/// The size of the key space for which `info` reports the time of an enumeration: all telephone numbers of a large
/// country.
pub const SPACE: u64 = 1_000_000_000;

/// Time for which a browser caches the fields that pages of an origin may send.
const REMEMBERED: Duration = Duration::from_secs(86_400);

/// Returns the routes. Each request's extensions must contain the result of [`ServerState::turn`] for it.
pub(crate) fn routes(service: Arc<ServerState>) -> Router {
    let asking = service.asking.clone();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| asking.allows(origin)))
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, RANGE, IF_RANGE, IF_NONE_MATCH])
        .expose_headers([ETAG, CONTENT_RANGE, CONTENT_LENGTH, RETRY_AFTER])
        .max_age(REMEMBERED);
    let nosniff = HeaderValue::from_static("nosniff");
    Router::new()
        .route("/v1/info", get(info))
        .route("/v1/evaluate", post(evaluate))
        .route("/v1/socket", get(upgrade))
        .route("/v1/{name}", get(file))
        .fallback(get(asset))
        .layer(from_fn_with_state(service.clone(), admit))
        // Pages of other origins may read refusals too.
        .layer(cors)
        .layer(SetResponseHeaderLayer::overriding(X_CONTENT_TYPE_OPTIONS, nosniff))
        .with_state(service)
}

/// Forwards the request of an identified client, and refuses others.
async fn admit(
    State(service): State<Arc<ServerState>>,
    Extension(turn): Extension<Result<Visit, Refused>>,
    mut request: Request,
    next: Next,
) -> Response {
    match turn {
        Ok(visit) => {
            request.extensions_mut().insert(visit);
            next.run(request).await
        }
        Err(refused) => service.refusal(refused).await,
    }
}

/// Returns the limits, and the time that asking for every possible key would take.
async fn info(State(service): State<Arc<ServerState>>) -> Response {
    let served = service.asking.served();
    let head = served.head();
    let ClientLimits { client, all } = service.limits;
    json_of(&json!({
        "name": head.name,
        "publisher": publisher(head).to_string(),
        "epoch": head.epoch,
        "sequence": head.sequence(),
        "items": head.items,
        "bytes": head.file_bytes(),
        "expires": head.expires,
        "mostItemsOfAQuestion": MAX_QUESTION,
        "needsToken": service.asking.tokens.is_some(),
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

/// Returns the answer to a question.
async fn evaluate(
    State(service): State<Arc<ServerState>>,
    Extension(Visit { address, .. }): Extension<Visit>,
    request: Request,
) -> Response {
    match service.evaluated(request, address).await {
        Ok(answer) => {
            let fields = [(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, "no-store")];
            (fields, answer).into_response()
        }
        Err(refused) => service.refusal(refused).await,
    }
}

/// Returns the file at the requested path. All files are in memory, so replacing one by a link later has no effect.
async fn asset(State(service): State<Arc<ServerState>>, uri: Uri, headers: HeaderMap) -> Response {
    match service.assets.iter().find(|asset| asset.path == uri.path()) {
        Some(asset) => asset.response(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns the fingerprint of a list's signer.
fn publisher(head: &Head) -> Fingerprint {
    Fingerprint::of(&head.certificate())
}
