//! The state of the service, and the reception of requests.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::{HttpBody, to_bytes},
    extract::Request,
    http::{
        HeaderMap,
        header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use serde_json::Value;

use crate::{
    asking::{AnswerContext, LONGEST},
    assets::Asset,
    clients::Client,
    limits::ClientLimits,
    refused::Refused,
};

/// The state that all requests share.
pub(crate) struct ServerState {
    pub(crate) asking: Arc<AnswerContext>,
    pub(crate) limits: ClientLimits,
    pub(crate) assets: Vec<Asset>,
}

/// The client that sends a request, and its address.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) client: Client,
    pub(crate) address: IpAddr,
}

impl ServerState {
    /// Waits for the turn of the client that sends a request.
    pub(crate) async fn turn(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Visit, Refused> {
        let address = self.asking.origin(headers, address)?;
        // Anybody may fetch files.
        let client = self.asking.client(headers, address).unwrap_or_else(|_| Client::at(address));
        self.asking.turn(client).await?;
        Ok(Visit { client, address })
    }

    /// Receives a question, and returns the answer.
    pub(crate) async fn evaluated(
        &self,
        request: Request,
        address: IpAddr,
    ) -> Result<Vec<u8>, Refused> {
        let client = self.asking.client(request.headers(), address)?;
        let epoch = request.uri().query().and_then(|query| query.strip_prefix("epoch="));
        let epoch = epoch.and_then(|epoch| epoch.parse().ok()).ok_or(Refused::Malformed)?;
        // A question that would be refused is not received.
        let bytes = request.body().size_hint().upper();
        let bytes = bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let _room = self.asking.expect(client, epoch, bytes)?;
        let body = to_bytes(request.into_body(), LONGEST);
        let question = tokio::time::timeout(self.asking.patience, body)
            .await
            .map_err(|_| Refused::Malformed)?
            .map_err(|_| Refused::TooMany)?;
        self.asking.ask(client, epoch, question.into()).await
    }

    /// Returns the response to a refused question, after the delay for it.
    pub(crate) async fn refusal(&self, refused: Refused) -> Response {
        self.asking.refuse(refused).await;
        let after = refused.retry_after().map(|seconds| [(RETRY_AFTER, seconds.to_string())]);
        (refused.status(), after, json_of(&refused.json())).into_response()
    }
}

/// Returns a JSON response that must not be cached.
pub(crate) fn json_of(value: &Value) -> Response {
    let fields = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (fields, format!("{value}\n")).into_response()
}
