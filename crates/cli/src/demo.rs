//! `demo`: both parties on this machine, with made-up customers.
//!
//! Two processes of this program run over mutual TLS on loopback, each with its own identity. The rows that they must
//! find are known from how the files were made, and are compared at the end.

mod customers;

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use vesica::report::grouped;
use vesica_net::CancelToken;

use self::customers::{CLUB, Files, SHOP};
use crate::{
    cancel,
    exit::{self, Failure},
    itself, keygen,
};

#[derive(clap::Args)]
pub struct Args {
    /// Customers per side
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000_000))]
    rows: u32,
    /// Keep the files here
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let scratch = tempfile::Builder::new().prefix("vesica-demo-").tempdir();
    let scratch = scratch
        .map_err(|e| Failure::input(format!("a temporary directory cannot be created: {e}")))?;
    let directory = match &args.out {
        Some(out) => {
            fs::create_dir_all(out).map_err(|e| {
                Failure::input(format!("{}: cannot be created: {e}", out.display()))
            })?;
            out.as_path()
        }
        None => scratch.path(),
    };
    let rows = grouped(args.rows.into());
    crate::say(&format!("making two files of {rows} customers, and an identity for each side"));
    let expected = customers::make(directory, args.rows)
        .map_err(|e| Failure::input(format!("{}: cannot be written: {e}", directory.display())))?;
    // Secrets stay in the temporary directory, even if the other files are kept.
    let sides = [Side::new(SHOP, scratch.path())?, Side::new(CLUB, scratch.path())?];
    run_both(&sides, directory, &cancel)?;
    conclude(directory, &expected)?;
    crate::print(&match args.out {
        Some(_) => format!("\nInputs, outputs and reports are in {}\n", directory.display()),
        None => "\nThe files are gone; keep them with `--out DIR`.\n".to_owned(),
    })
}

/// One party.
struct Side {
    files: Files,
    identity: PathBuf,
    fingerprint: String,
}

impl Side {
    fn new(files: Files, secrets: &Path) -> Result<Self, Failure> {
        let identity = secrets.join(format!("{}.identity", files.name));
        let fingerprint = keygen::generate(&identity)?.fingerprint().to_string();
        Ok(Self { files, identity, fingerprint })
    }

    /// Starts the process of this party.
    fn start(&self, way: [&str; 2], peer: &Self, directory: &Path) -> Result<Process, Failure> {
        let child = itself::again()
            .map_err(|e| Failure::bug(format!("this program cannot find itself: {e}")))?
            .arg("run")
            .args(way)
            .arg("--identity")
            .arg(&self.identity)
            .args(["--peer", &peer.fingerprint, "--key", self.files.key, "--normalize", "email"])
            .arg("--input")
            .arg(self.files.input)
            .arg("--output")
            .arg(self.files.output)
            .arg("--report")
            .arg(self.files.report)
            .current_dir(directory)
            .args(["--learns", "both", "--progress", "plain", "--wait", "60"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::bug(format!("this program cannot start itself: {e}")))?;
        Ok(Process { name: self.files.name, child })
    }
}

/// A running party, which ends when this is dropped.
struct Process {
    name: &'static str,
    child: Child,
}

impl Process {
    /// Shows what the party prints until it listens, and returns its address.
    fn listening(&mut self) -> Result<String, Failure> {
        let (said, heard) = mpsc::channel();
        self.relay(Some(said));
        let failed = || Failure::bug("the listening side did not start; see its message above");
        heard.recv_timeout(Duration::from_secs(30)).map_err(|_| failed())
    }

    /// Shows what the party prints, in the background.
    fn relay(&mut self, address: Option<mpsc::Sender<String>>) {
        let Some(stderr) = self.child.stderr.take() else { return };
        let name = self.name;
        thread::spawn(move || {
            let mut address = address;
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(at) = line.strip_prefix("listening on ")
                    && let Some(address) = address.take()
                {
                    // The demo may have ended by now.
                    let _ = address.send(at.to_owned());
                }
                crate::say(&format!("{name:>6} | {line}"));
            }
        });
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.child.try_wait().map_err(|e| Failure::bug(format!("a side was lost: {e}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls do nothing to a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run_both(sides: &[Side; 2], directory: &Path, cancel: &CancelToken) -> Result<(), Failure> {
    let [shop, club] = sides;
    let mut listening = club.start(["--listen", "127.0.0.1:0"], shop, directory)?;
    let address = listening.listening()?;
    let mut connecting = shop.start(["--connect", &address], club, directory)?;
    connecting.relay(None);
    let mut both = [listening, connecting];
    let mut stopping = None;
    loop {
        let ended = [both[0].ended()?, both[1].ended()?];
        if let [Some(a), Some(b)] = ended {
            // Their last lines may still be on their way to the terminal.
            thread::sleep(Duration::from_millis(50));
            if stopping.is_some() {
                return Err(Failure::cancelled());
            }
            let Some(failed) = [a, b].into_iter().find(|status| !status.success()) else {
                return Ok(());
            };
            let code = failed.code().and_then(|code| u8::try_from(code).ok());
            let message = "a side of the demo failed; see its message above".to_owned();
            return Err(Failure::new(code.unwrap_or(exit::BUG), message));
        }
        if cancel.is_cancelled() {
            // Ctrl-C on a terminal reaches both sides too, and they end in order.
            let since: Instant = *stopping.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_secs(1) {
                return Err(Failure::cancelled());
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Compares what was found with what was expected, and prints what the run cost.
fn conclude(directory: &Path, expected: &customers::Expected) -> Result<(), Failure> {
    let lost = |what: &str| Failure::bug(format!("{what} of the demo cannot be read back"));
    let mut text = String::new();
    for (files, digest) in [(SHOP, &expected.shop), (CLUB, &expected.club)] {
        let report = fs::read(directory.join(files.report)).map_err(|_| lost("a report"))?;
        let report: Value = serde_json::from_slice(&report).map_err(|_| lost("a report"))?;
        let mut output = Vec::new();
        fs::File::open(directory.join(files.output))
            .and_then(|mut file| file.read_to_end(&mut output))
            .map_err(|_| lost("an output"))?;
        let number = |field: &str| report[field].as_f64().unwrap_or(f64::NAN);
        let found = report["matches"].as_u64().unwrap_or(u64::MAX);
        if found != expected.matches || *digest != output {
            return Err(Failure::bug(format!(
                "{}: expected {} matches, found {found}: WRONG. Please report this",
                files.name,
                grouped(expected.matches),
            )));
        }
        // Some systems do not report it.
        let memory = report["peak_memory_bytes"].as_f64();
        let memory = memory.map(|bytes| format!(", {:.0} MB of memory at most", bytes / 1e6));
        text += &format!(
            "\n{}: expected {} matches = found {}, every row in its place\n  {:.2} s, {:.2} MB \
             sent, {:.2} MB received{}\n  {}\n",
            files.name,
            grouped(expected.matches),
            grouped(found),
            number("seconds"),
            number("bytes_sent") / 1e6,
            number("bytes_received") / 1e6,
            memory.unwrap_or_default(),
            report["learned"]["me"].as_str().unwrap_or_default(),
        );
    }
    crate::print(&text)
}
