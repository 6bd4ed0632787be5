//! The report in a real browser: in light and dark mode, on a phone, and printed.
//!
//! The browser can only reach a server in this test: every name resolves to it, and it records the requests. It serves
//! the page, and around it a probe that inspects the page and reports its findings.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vesica_lab::{publish::report, record::results::Measured};

/// Longer than a browser takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A name that must stay text.
const HOSTILE: &str = "<img src=//elsewhere.test/x onerror=alert(1)>";

/// Inspects the page in a frame of some width, presses a heading, and writes its findings into its own
/// document.
const PROBE: &str = include_str!("probe.html");

/// A server that is all the browser can reach.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(pages: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, pages) = (Arc::clone(&asked), Arc::new(pages));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, pages) = (Arc::clone(&log), Arc::clone(&pages));
                // A browser that goes away is not a failure.
                thread::spawn(move || answer(stream, &log, &pages).ok());
            }
        });
        Self { port, asked }
    }

    /// The requests since the last call.
    fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().unwrap().drain(..).collect()
    }
}

fn answer(
    mut stream: TcpStream,
    log: &Mutex<Vec<String>>,
    pages: &[(&str, String)],
) -> std::io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut request)?;
    while reader.by_ref_line()? > 2 {}
    let asked = request.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let page = pages.iter().find(|(path, _)| {
        let rest = asked.strip_prefix("GET ").and_then(|target| target.strip_prefix(path));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
    });
    log.lock().unwrap().push(asked);
    let (status, body) = page.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", body.as_str()));
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: \
         close\r\n\r\n{body}"
    )
}

/// The length of the next line.
trait NextLine {
    fn by_ref_line(&mut self) -> std::io::Result<usize>;
}

impl<R: BufRead> NextLine for R {
    fn by_ref_line(&mut self) -> std::io::Result<usize> {
        self.read_line(&mut String::new())
    }
}

/// A browser that can reach only the server.
struct Browser<'a> {
    path: String,
    port: u16,
    profile: &'a Path,
}

impl Browser<'_> {
    fn run(&self, flags: &[&str], url: &str) -> Output {
        let port = self.port;
        let mut command = Command::new("timeout");
        command.arg(PATIENCE.as_secs().to_string()).arg(&self.path);
        command
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-default-apps", "--disable-extensions"])
            .args(["--disable-domain-reliability", "--no-pings", "--hide-scrollbars"])
            .args(["--disable-features=OptimizationHints,MediaRouter,Translate,NetworkTimeServiceQuerying"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=4000"])
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .arg(format!("--host-resolver-rules=MAP * 127.0.0.1:{port}"))
            .args(flags)
            .arg(url)
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Returns the findings of the probe, and the browser's messages.
    fn probe(&self, width: u32, flags: &[&str]) -> (Value, String) {
        let url = format!("http://127.0.0.1:{}/probe?width={width}", self.port);
        let output = self.run(&[&["--dump-dom", "--window-size=1400,1000"], flags].concat(), &url);
        let (dom, said) =
            [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).into();
        let seen =
            dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let seen = seen.unwrap_or_else(|| panic!("{dom}\n{said}")).0;
        let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        (
            serde_json::from_str(&seen).unwrap_or_else(|error| panic!("{error}: {seen}\n{said}")),
            said,
        )
    }
}

/// Returns a browser, installed if necessary, or the reason why none is available. Programs are searched in `path`.
fn browser(path: Option<&Path>) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install-chromium.sh");
    let mut command = Command::new("/bin/sh");
    command.arg(script).envs(path.map(|path| ("PATH", path)));
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// A machine that has only these programs.
fn machine(programs: &[(&str, &str)]) -> tempfile::TempDir {
    let path = tempfile::tempdir().unwrap();
    for (name, text) in programs {
        let file = path.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    path
}

#[test]
fn the_browser_is_found_or_installed_or_missed_in_so_many_words() {
    let on = |programs: &[(&str, &str)]| {
        let path = machine(programs);
        browser(Some(path.path())).map(|found| {
            let here = found.strip_prefix(path.path().to_str().unwrap());
            here.unwrap_or_else(|| panic!("{found}")).to_owned()
        })
    };
    let (root, timeout) = (("id", "echo 0"), ("timeout", "shift; exec \"$@\""));
    assert_eq!(on(&[("google-chrome", "")]).unwrap(), "/google-chrome");
    assert!(on(&[]).unwrap_err().contains("no apt-get"));
    let said = on(&[("apt-get", ""), ("id", "echo 1000")]).unwrap_err();
    assert!(said.contains("only root"), "{said}");
    let said = on(&[("apt-get", "echo E: no way >&2; exit 100"), root, timeout]).unwrap_err();
    assert!(said.contains("E: no way") && said.contains("could not install it"), "{said}");
    let said = on(&[("apt-get", ""), root, timeout]).unwrap_err();
    assert!(said.contains("not where it is looked for"), "{said}");
    // A new machine finds the package only after updating the list.
    let apt = r#"case "$*" in
    *update*) : > "$0.list" ;;
    *chromium*) [ -e "$0.list" ] && : > "${0%/*}/chromium" && /bin/chmod +x "${0%/*}/chromium" ;;
    esac"#;
    assert_eq!(on(&[("apt-get", apt), root, timeout]).unwrap(), "/chromium");
}

/// Realistic results: nine protocols at four sizes over six links.
fn results() -> String {
    let machine = json!({"machine": {
        "processor": "A processor", "processors": 2, "memory_bytes": 25_000_000_000u64,
        "system": "An operating system", "version": "1.2.3", "date": "2026-01-31",
    }});
    let mut lines = vec![machine.to_string()];
    let protocols =
        ["rr22", "rr22-malicious", "kkrt16", "cm20", "prty19-fast", "rs21", "dh", "naive", HOSTILE];
    let links = ["memory", "cm20-ohio-virginia", "cm20-sydney-paris", "100,80", "10,80", "1,80"];
    for (weight, protocol) in (1u32..).zip(protocols) {
        for exponent in [8, 12, 16, 20] {
            for link in links {
                let items = 1u64 << exponent;
                let sent = items * (20 + 11 * u64::from(weight)) + 9000;
                let rate = match link.split_once(',') {
                    Some((rate, _)) => rate.parse::<f64>().unwrap() * 1e6,
                    None => 1e9,
                };
                let offline = 0.02 * f64::from(weight);
                let online = items as f64 * 4e-7 * f64::from(weight) + sent as f64 * 8.0 / rate;
                let phase = |party: &str, name: &str, seconds: f64| json!({"party": party, "name": name, "seconds": seconds});
                let phases = json!([
                    phase("receiver", "base OTs", offline * 0.7),
                    phase("receiver", "trees", offline * 0.3),
                    phase("receiver", "encode", online * 0.6),
                    phase("receiver", "compare", online * 0.4),
                    phase("sender", "all", online),
                ]);
                lines.push(json!({
                    "kind": "protocol", "protocol": protocol, "sender_items": items, "receiver_items": items,
                    "link": link, "threads": 1, "seconds": offline + online, "offline_seconds": offline,
                    "online_seconds": online, "sender_seconds": online, "cpu_seconds": online,
                    "peak_memory_bytes": items * 90 + 9_000_000, "bytes_to_receiver": sent / 4,
                    "bytes_to_sender": sent, "offline_bytes_to_receiver": 4000, "offline_bytes_to_sender": 5000,
                    "rounds": 6, "correct": true, "phases": phases,
                }).to_string());
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_report_looks_right_and_asks_for_nothing() {
    let path = match browser(None) {
        Ok(path) => path,
        Err(why) => {
            // Not by a macro, whose output is shown only for tests that fail.
            writeln!(
                std::io::stderr(),
                "SKIPPED: the report was not looked at in a browser: {why}"
            )
            .unwrap();
            return;
        }
    };
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("results.jsonl");
    fs::write(&file, results()).unwrap();
    let page = report::page(&[Measured::read(&file).unwrap()]);
    // For inspection by a person.
    let kept = std::env::var_os("VESICA_SCREENSHOTS").map(std::path::PathBuf::from);
    let pictures = kept.unwrap_or_else(|| scratch.path().to_owned());
    fs::write(pictures.join("report.html"), &page).unwrap();
    // A page that tries what the report must not do, to check that this test would notice.
    let leaky = "<!doctype html><img src=http://elsewhere.test/leak>".to_owned();
    let pages = vec![("/report", page), ("/probe", PROBE.to_owned()), ("/leaky", leaky)];
    let server = Server::start(pages);
    let profile = scratch.path().join("profile");
    let browser = Browser { path, port: server.port, profile: &profile };
    let started = Instant::now();

    let mut papers = BTreeSet::new();
    for (width, flags, dark) in [
        (1280, &[][..], false),
        (1280, &["--blink-settings=preferredColorScheme=0"], true),
        (360, &[], false),
    ] {
        let (seen, said) = browser.probe(width, flags);
        assert_eq!(seen["width"], width, "{seen}");
        assert!(
            seen["needs"].as_u64() <= Some(width.into()),
            "it is wider than its window: {seen}"
        );
        assert_eq!(seen["dark"], dark, "{seen}");
        papers.insert(seen["paper"].to_string());
        let sections = ["time", "bytes", "bandwidth", "cost", "split", "phases", "runs"];
        assert_eq!(seen["sections"], json!(sections), "{seen}");
        assert_eq!(seen["charts"], 6 + 1 + 1 + 2 + 1 + 9, "{seen}");
        assert_eq!((&seen["empty"], &seen["coloured"]), (&json!(0), &json!(8)), "{seen}");
        assert!(seen["smallest"].as_f64() > Some(9.0), "text too small to read: {seen}");
        assert_eq!((&seen["foreign"], &seen["hostile"]), (&json!(0), &json!(true)), "{seen}");
        let mut sorted: Vec<f64> = serde_json::from_value(seen["before"].clone()).unwrap();
        assert!(!sorted.is_sorted() && sorted.len() == 216);
        sorted.sort_by(f64::total_cmp);
        assert_eq!(seen["after"], json!(sorted), "a column pressed is sorted");
        // The server cannot read encrypted requests, but the page's own records show them.
        assert_eq!(seen["fetched"], 0);
        assert!(!said.contains("CONSOLE"), "{said}");
    }
    assert_eq!(papers.len(), 2, "dark is not light");

    let report = format!("http://127.0.0.1:{}/report", server.port);
    for (name, size, flags) in [
        ("light.png", "1280,5200", &[][..]),
        ("dark.png", "1280,5200", &["--blink-settings=preferredColorScheme=0"]),
        ("phone.png", "500,9000", &[]),
    ] {
        let picture = pictures.join(name);
        let screenshot = format!("--screenshot={}", picture.display());
        let size = format!("--window-size={size}");
        let output = browser.run(&[&[screenshot.as_str(), &size], flags].concat(), &report);
        let bytes = fs::read(&picture).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 50_000, "{name}: {}", bytes.len());
    }
    let print = pictures.join("print.pdf");
    browser
        .run(&["--no-pdf-header-footer", &format!("--print-to-pdf={}", print.display())], &report);
    assert!(fs::read(&print).unwrap().starts_with(b"%PDF"));

    // Requests that the browser makes by itself: it opens connections ahead of time, asks every server for an icon, and
    // looks for updates of itself.
    let mine = |asked: &String| {
        let own = ["GET /report", "GET /probe", "GET /favicon.ico", "POST /service/update2/"];
        asked.is_empty() || own.iter().any(|own| asked.starts_with(own))
    };
    let others: Vec<_> = server.asked().into_iter().filter(|asked| !mine(asked)).collect();
    assert!(others.is_empty(), "{others:?}");
    browser.run(&["--dump-dom"], &format!("http://127.0.0.1:{}/leaky", server.port));
    assert!(server.asked().contains("GET /leak"), "a request that leaves would be seen");
    println!("seen in {:.0} s", started.elapsed().as_secs_f64());
}
