//! Files of a list, whole or from a byte on.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Channel, Empty, Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    header::{
        ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
        HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE,
    },
};

use crate::{asking::Asking, clients::Client, visitors::Turn};

/// What a response bears.
pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// Bytes read of a file at a time.
const PIECE: usize = 1 << 18;

/// How long a client may take to take a piece.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes in memory.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// No bytes.
pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

/// What is known of a file besides its bytes.
pub(crate) struct About {
    pub(crate) media_type: &'static str,
    /// In quotation marks.
    pub(crate) etag: String,
    pub(crate) cache: &'static str,
}

/// Sends files to a client, at its pace.
pub(crate) struct Sender {
    pub(crate) asking: Arc<Asking>,
    pub(crate) client: Client,
}

impl Sender {
    /// Waits until the next bytes may go. All connections of a client have one pace.
    async fn turn(&self, bytes: u64) {
        let turns = bytes.div_ceil(1 << 10) as u32;
        loop {
            match self.asking.visitors.turn(self.client, (Turn::Kilobyte, turns), Instant::now()) {
                Some(Duration::ZERO) => return,
                Some(wait) => return tokio::time::sleep(wait).await,
                None => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }
}

/// A file, or the range that is asked for.
pub(crate) fn file(
    path: &Path,
    about: About,
    (method, headers): (&Method, &HeaderMap),
    sender: Sender,
) -> Response<Body> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let Ok((length, file)) = opened else { return status(StatusCode::NOT_FOUND) };
    let is =
        |name| headers.get(name).is_some_and(|value: &HeaderValue| value == about.etag.as_str());
    let mut response = status(StatusCode::OK);
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(about.media_type));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static(about.cache));
    fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(etag) = HeaderValue::from_str(&about.etag) {
        fields.insert(ETAG, etag);
    }
    if is(IF_NONE_MATCH) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    let wanted = headers.get(RANGE).filter(|_| !headers.contains_key(IF_RANGE) || is(IF_RANGE));
    let wanted = wanted.and_then(|value| value.to_str().ok()).and_then(|text| range(text, length));
    let range = match wanted {
        Some(range) if range.is_empty() => {
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            insert(&mut response, CONTENT_RANGE, format!("bytes */{length}"));
            return response;
        }
        Some(range) => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let Range { start, end } = range;
            insert(&mut response, CONTENT_RANGE, format!("bytes {start}-{}/{length}", end - 1));
            range
        }
        None => 0..length,
    };
    insert(&mut response, CONTENT_LENGTH, (range.end - range.start).to_string());
    if method == Method::GET {
        *response.body_mut() = pieces(file, range, sender);
    }
    response
}

/// Reads a file as fast as the client takes it.
fn pieces(mut file: File, range: Range<u64>, client: Sender) -> Body {
    let (mut sender, body) = Channel::<Bytes, io::Error>::new(1);
    tokio::spawn(async move {
        let mut at = range.start;
        while at < range.end {
            let length = (range.end - at).min(PIECE as u64) as usize;
            client.turn(length as u64).await;
            let read = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; length];
                file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut piece))?;
                Ok::<_, io::Error>((file, piece))
            });
            let piece = match read.await.map_err(io::Error::other).flatten() {
                Ok((same, piece)) => {
                    file = same;
                    piece
                }
                Err(error) => return sender.abort(error),
            };
            at += length as u64;
            match tokio::time::timeout(PATIENCE, sender.send_data(piece.into())).await {
                Ok(Ok(())) => client.asking.counts.sent(length as u64),
                _ => return sender.abort(io::ErrorKind::TimedOut.into()),
            }
        }
    });
    body.boxed()
}

/// A response without content.
pub(crate) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

/// Adds a header field.
pub(crate) fn insert(
    response: &mut Response<Body>,
    name: hyper::header::HeaderName,
    value: String,
) {
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(name, value);
    }
}

/// The one range that is asked for; an empty one where there is none in the file, and `None` where the whole file may be
/// sent, as for what is not understood.
fn range(text: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    match (first.trim(), last.trim()) {
        ("", last) => Some(length.saturating_sub(last.parse().ok()?)..length),
        (first, "") => Some(first.parse().ok().map(|first: u64| first.min(length))?..length),
        (first, last) => {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            let end = last.saturating_add(1).min(length);
            (first <= last).then_some(first.min(end)..end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("bytes=0-", Some(0..10)),
            ("bytes=4-", Some(4..10)),
            ("bytes=4-6", Some(4..7)),
            ("bytes=4-100", Some(4..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-30", Some(0..10)),
            ("bytes=10-", Some(10..10)),
            ("bytes=11-12", Some(10..10)),
            ("bytes=6-4", None),
            ("bytes=1-2,4-5", None),
            ("bytes=a-", None),
            ("lines=1-2", None),
            ("bytes=18446744073709551615-18446744073709551615", Some(10..10)),
        ] {
            assert_eq!(range(text, 10), expected, "{text}");
        }
    }
}
