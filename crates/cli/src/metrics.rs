//! Health and metrics, for this machine: `/health` and `/metrics`, in the text form of OpenMetrics 1.0.

use std::{io, sync::Arc, thread};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    routing::get,
    serve::Listener,
};
use prometheus_client::{encoding::text::encode, registry::Registry};
use tokio::runtime::{Builder, Runtime};

use crate::exit::{self, Failure};

/// The media type of the metrics.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns a registry of metrics with the prefix that all have.
pub fn registry() -> Registry {
    Registry::with_prefix("vesica")
}

/// Shows metrics until the program ends. Each time, `look` first sets the metrics that have no other source.
pub fn publish(
    place: &str,
    registry: Registry,
    look: impl Fn() + Clone + Send + Sync + 'static,
) -> Result<(), Failure> {
    let registry = Arc::new(registry);
    let metrics = async move || {
        look();
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        Ok::<_, StatusCode>(([(CONTENT_TYPE, TYPE)], text))
    };
    let routes = Router::new()
        .route("/health", get("ok\n"))
        .route("/metrics", get(metrics))
        .fallback((StatusCode::NOT_FOUND, "there are /health and /metrics\n"));
    let failed = |error: io::Error| {
        Failure::new(exit::NETWORK, format!("metrics cannot be served at {place}: {error}"))
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    if !place.contains('/') {
        let listener = runtime.block_on(tokio::net::TcpListener::bind(place)).map_err(failed)?;
        return serve(runtime, listener, routes).map_err(failed);
    }
    #[cfg(unix)]
    {
        // A service may have left its socket behind; a file of another kind stays.
        let is_socket = std::fs::metadata(place)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
        if is_socket {
            let _ = std::fs::remove_file(place);
        }
        let bound = runtime.block_on(async { tokio::net::UnixListener::bind(place) });
        serve(runtime, bound.map_err(failed)?, routes).map_err(failed)
    }
    #[cfg(not(unix))]
    Err(Failure::usage("only Unix has sockets with a path: name an address"))
}

fn serve<L>(runtime: Runtime, listener: L, routes: Router) -> io::Result<()>
where
    L: Listener<Addr: std::fmt::Debug>,
{
    let serve = move || runtime.block_on(async { axum::serve(listener, routes).await });
    thread::Builder::new().name("vesica-metrics".to_owned()).spawn(serve)?;
    Ok(())
}
