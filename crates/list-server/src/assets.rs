//! Files served beside a list, such as a page for lookups.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    path::Path,
};

use axum::{
    http::{
        HeaderMap,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
            CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
        },
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use vesica_net::files::open_regular;

/// The content security policy of a page: scripts, styles, images and requests of its own origin, WebAssembly, and
/// nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Media types by file extension. Files with other extensions are not served.
const TYPES: [(&str, &str); 8] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("wasm", "application/wasm"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("txt", "text/plain; charset=utf-8"),
];

/// Extension of a compressed file.
const BROTLI: &str = ".br";

/// Maximum total size of the files, which are kept in memory.
const MOST_BYTES: u64 = 1 << 26;

/// Maximum depth of folders.
const DEEPEST: usize = 8;

/// A file served beside the list.
#[derive(Debug, Clone)]
pub struct Asset {
    /// Its path, with the leading slash.
    pub(crate) path: String,
    media_type: &'static str,
    content: Bytes,
    /// The Brotli-compressed content, if there is any.
    brotli: Option<Bytes>,
}

/// The reason why files cannot be served.
#[derive(Debug)]
pub struct AssetError(String);

impl std::fmt::Display for AssetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Asset {
    /// Reads the files of a page from a folder and its subfolders. Files with unknown extensions, and files whose names
    /// begin with a dot, are left out. `index.html` is served at `/`. `NAME.br` is served instead of `NAME` to clients
    /// that accept Brotli.
    ///
    /// # Errors
    /// [`AssetError`] if a file cannot be read or is a link, if `index.html` is missing, and if the files are too
    /// large.
    pub fn of_folder(folder: &Path) -> Result<Vec<Self>, AssetError> {
        let mut assets = Vec::new();
        read(folder, "", DEEPEST, &mut MOST_BYTES.clone(), &mut assets)?;
        let (compressed, mut assets): (Vec<_>, Vec<_>) =
            assets.into_iter().partition(|asset: &Self| asset.path.ends_with(BROTLI));
        for asset in &mut assets {
            let of_it = |other: &&Self| other.path.strip_suffix(BROTLI) == Some(&asset.path);
            asset.brotli = compressed.iter().find(of_it).map(|other| other.content.clone());
        }
        let index = assets.iter().find(|asset| asset.path == "/index.html").cloned();
        let missing = || AssetError(format!("{} has no index.html", folder.display()));
        assets.push(Self { path: "/".to_owned(), ..index.ok_or_else(missing)? });
        Ok(assets)
    }

    /// Returns the response to a request with these headers.
    pub(crate) fn response(&self, headers: &HeaderMap) -> Response {
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let takes_brotli = accepted.is_some_and(|all| all.split(',').any(|one| one.trim() == "br"));
        let brotli = self.brotli.as_ref().filter(|_| takes_brotli);
        let fields = [
            (CONTENT_TYPE, self.media_type),
            (CACHE_CONTROL, "no-cache"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (
                HeaderName::from_static("permissions-policy"),
                "camera=(), geolocation=(), microphone=()",
            ),
        ];
        let mut response = (fields, brotli.unwrap_or(&self.content).clone()).into_response();
        if brotli.is_some() {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
        if self.brotli.is_some() {
            response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        response
    }
}

fn read(
    folder: &Path,
    below: &str,
    depth: usize,
    left: &mut u64,
    assets: &mut Vec<Asset>,
) -> Result<(), AssetError> {
    let failed = |error: io::Error| AssetError(format!("{}: {error}", folder.display()));
    if depth == 0 {
        return Err(AssetError(format!("{} is nested too deeply", folder.display())));
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (at, path) = (entry.path(), format!("{below}/{name}"));
        if name.starts_with('.') {
            continue;
        }
        // A link could refer to any file of this user.
        if fs::symlink_metadata(&at).map_err(failed)?.is_dir() {
            read(&at, &path, depth - 1, left, assets)?;
            continue;
        }
        let end = name.strip_suffix(BROTLI).unwrap_or(&name).rsplit('.').next();
        let known = TYPES.iter().find(|(known, _)| Some(*known) == end);
        let Some((_, media_type)) = known else { continue };
        let failed = |error: io::Error| AssetError(format!("{}: {error}", at.display()));
        let mut file = open_regular(&at, OpenOptions::new().read(true)).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        *left = left.checked_sub(about.len()).ok_or_else(|| {
            AssetError(format!(
                "the files to serve are larger than {} MiB in total",
                MOST_BYTES >> 20
            ))
        })?;
        let mut content = Vec::new();
        file.by_ref().take(about.len()).read_to_end(&mut content).map_err(failed)?;
        assets.push(Asset { path, media_type, content: content.into(), brotli: None });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_served_with_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        write("page.js");
        let error = Asset::of_folder(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("has no index.html"), "{error}");
        fs::create_dir(folder.path().join("wasm")).unwrap();
        let names = [
            "index.html",
            ".hidden",
            "wasm/a.wasm",
            "wasm/a.wasm.br",
            "wasm/notes",
            "vesica.identity",
            "customers.csv",
            "customers.csv.br",
        ];
        names.into_iter().for_each(write);
        let assets = Asset::of_folder(folder.path()).unwrap();
        let mut found: Vec<_> =
            assets.iter().map(|asset| (asset.path.as_str(), asset.media_type)).collect();
        found.sort_unstable();
        let (html, script) = (TYPES[0].1, TYPES[2].1);
        assert_eq!(
            found,
            [
                ("/", html),
                ("/index.html", html),
                ("/page.js", script),
                ("/wasm/a.wasm", "application/wasm"),
            ]
        );
        let module = assets.iter().find(|asset| asset.path == "/wasm/a.wasm").unwrap();
        for (accepted, coded) in [("gzip, br", true), ("gzip, brr", false)] {
            let headers =
                HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            let answer = module.response(&headers);
            let policy = answer.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none';"), "{policy}");
            assert_eq!(answer.headers().get(CONTENT_ENCODING).is_some(), coded, "{accepted}");
            assert_eq!(answer.headers()[VARY], "accept-encoding");
        }
        let missing = folder.path().join("missing");
        assert!(Asset::of_folder(&missing).is_err());
        // The target of a link is not part of the page.
        #[cfg(unix)]
        for (to, name) in [("vesica.identity", "notes.txt"), ("wasm", "more")] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(folder.path().join(to), &link).unwrap();
            let refused = Asset::of_folder(folder.path()).err().map(|error| error.to_string());
            let named = refused
                .as_ref()
                .is_some_and(|error| error.contains("notes.txt: it is not a regular file"));
            assert!(named || name == "more", "{refused:?}");
            let served = Asset::of_folder(folder.path()).unwrap_or_default();
            assert!(!served.iter().any(|asset| asset.path.starts_with("/more")), "{name}");
            fs::remove_file(&link).unwrap();
        }
    }
}
