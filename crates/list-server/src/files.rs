//! Files of a list, sent whole or from an offset.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::{Path, Request, State},
    http::{
        HeaderName, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
            IF_RANGE, LAST_MODIFIED, RANGE,
        },
    },
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use tower::ServiceExt;
use tower_http::services::ServeFile;
use vesica_list::{head::Head, hex::Hex};

use crate::service::{ServerState, Visit};

/// Bytes read from a file at a time.
const PIECE: usize = 1 << 18;

/// The headers of a file's response.
struct FileDetails {
    media_type: &'static str,
    /// The ETag, in quotation marks.
    etag: String,
    cache: &'static str,
}

impl FileDetails {
    /// Returns the headers of the file with this name, or `None` if a list has no such file.
    fn of(name: &str, head: &Head) -> Option<Self> {
        let (media_type, tag, cache) = match name {
            "head.json" => {
                let tag = format!("{}-{}-{}", head.epoch, head.sequence(), head.issued);
                ("application/json", tag, "no-cache")
            }
            "log.txt" => ("text/plain; charset=utf-8", head.log.digest.to_string(), "no-cache"),
            part => {
                let digest = Hex::try_from(part.strip_suffix(".part")?.to_owned()).ok()?;
                let cache = "public, max-age=31536000, immutable";
                ("application/octet-stream", digest.to_string(), cache)
            }
        };
        Some(Self { media_type, etag: format!("\"{tag}\""), cache })
    }

    fn fields(&self) -> [(HeaderName, &str); 3] {
        [(CONTENT_TYPE, self.media_type), (CACHE_CONTROL, self.cache), (ETAG, &self.etag)]
    }
}

/// Sends a file, or the requested range, no faster than its client's pace allows.
pub(crate) async fn file(
    State(service): State<Arc<ServerState>>,
    Extension(Visit { client, .. }): Extension<Visit>,
    Path(name): Path<String>,
    mut request: Request,
) -> Response {
    let served = service.asking.served();
    let Some(about) = FileDetails::of(&name, served.head()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let fields = request.headers_mut();
    let tag = |value: &HeaderValue| value == about.etag.as_str();
    if fields.get(IF_NONE_MATCH).is_some_and(tag) {
        return (StatusCode::NOT_MODIFIED, about.fields()).into_response();
    }
    if fields.get(IF_RANGE).is_some_and(|value| !tag(value)) {
        fields.remove(RANGE);
    }
    // A file may be replaced more than once in a second, so only its ETag identifies it.
    fields.remove(IF_MODIFIED_SINCE);
    let file = ServeFile::new(served.public().join(name)).with_buf_chunk_size(PIECE);
    let Ok(mut response) = file.oneshot(request).await;
    if !response.status().is_success() {
        return response.into_response();
    }
    response.headers_mut().remove(LAST_MODIFIED);
    let pieces = response.map(|body| {
        let pieces = Body::new(body).into_data_stream().then(move |piece| {
            let service = service.clone();
            async move {
                let piece = piece?;
                service.asking.pace(client, piece.len()).await;
                service.asking.counts.file_bytes.inc_by(piece.len() as u64);
                Ok::<_, axum::Error>(piece)
            }
        });
        Body::from_stream(pieces)
    });
    (about.fields(), pieces).into_response()
}
