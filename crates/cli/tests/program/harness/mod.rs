//! Two real processes in a directory with a hard name, and what came of them.

pub mod schema;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Longer than anything here may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The program.
pub fn vesica() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vesica"))
}

/// The output and the end of a process.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The process ended with this code, and said all of this on standard error.
    #[track_caller]
    pub fn assert(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for text in said {
            assert!(self.err.contains(text), "no {text:?} in {self:#?}");
        }
        self
    }
}

/// Runs the program to its end.
pub fn ended(arguments: &[&str]) -> Ended {
    let output = vesica().args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A process that runs.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
    out: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (say, lines) = mpsc::channel();
        let stderr = child.stderr.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = say.send(line);
            }
        });
        let mut stdout = child.stdout.take().unwrap();
        let out = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, lines, seen: String::new(), out: Some(out) }
    }

    /// Waits until the process says this, and returns the line.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen += &format!("{line}\n");
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("never said {text:?}"),
            }
        }
    }

    /// Writes to the process's standard input, which stays open.
    pub fn write(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).unwrap();
    }

    /// The process's standard input; closed when dropped.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `KILL`.
    pub fn signal(&self, name: &str) {
        let pid = self.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    #[track_caller]
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// As [`Running::end`], for a process that may take longer than most.
    #[track_caller]
    pub fn end_within(mut self, patience: Duration) -> Ended {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < patience, "still running");
            thread::sleep(Duration::from_millis(5));
        };
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(5)) {
            self.seen += &format!("{line}\n");
        }
        let out = self.out.take().unwrap().join().unwrap();
        Ended { code: status.code(), out, err: std::mem::take(&mut self.seen) }
    }
}

impl Drop for Running {
    /// Ends the process. A test that fails shows what each of its processes said until then.
    fn drop(&mut self) {
        if thread::panicking() {
            self.seen.extend(self.lines.try_iter().map(|line| line + "\n"));
            eprintln!("process {} said:\n{}", self.id(), self.seen);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory and two identities.
pub struct Lab {
    scratch: tempfile::TempDir,
    pub prints: [String; 2],
}

/// Which of the two parties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    Connecting,
    Listening,
}

pub use Party::{Connecting, Listening};

impl Party {
    pub fn name(self) -> &'static str {
        match self {
            Connecting => "connecting",
            Listening => "listening",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Connecting => Listening,
            Listening => Connecting,
        }
    }
}

impl Lab {
    pub fn new() -> Self {
        let scratch = tempfile::Builder::new().prefix("it's; \"hard\" $HOME ").tempdir().unwrap();
        let prints = [Connecting, Listening].map(|party| {
            let identity = scratch.path().join(format!("{}.identity", party.name()));
            let made = ended(&["keygen", identity.to_str().unwrap()]);
            made.assert(0, &[]);
            made.out.trim().to_owned()
        });
        Self { scratch, prints }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Returns the path of a party's file of this kind: `in.csv`, `out.csv` or `report.json`.
    pub fn file(&self, party: Party, kind: &str) -> PathBuf {
        self.path(&format!("{}; {kind}", party.name()))
    }

    pub fn write(&self, party: Party, text: impl AsRef<[u8]>) {
        fs::write(self.file(party, "in.csv"), text).unwrap();
    }

    pub fn output(&self, party: Party) -> Option<String> {
        fs::read_to_string(self.file(party, "out.csv")).ok()
    }

    /// A party's report, which has the form that is promised.
    #[track_caller]
    pub fn report(&self, party: Party) -> serde_json::Value {
        read_report(&fs::read_to_string(self.file(party, "report.json")).unwrap())
    }

    /// A party's command: its files, key `k` unless rules make the keys, and these flags, which come last.
    pub fn command(&self, party: Party, way: &[&str], flags: &[&str]) -> Command {
        let mut command = vesica();
        let path = |kind| self.file(party, kind);
        let print = &self.prints[party.other() as usize];
        command
            .arg("run")
            .args(way)
            .arg("--identity")
            .arg(self.path(&format!("{}.identity", party.name())))
            .args(["--progress", "plain"]);
        let default = |flag: &str, value: &std::ffi::OsStr, command: &mut Command| {
            if !flags.contains(&flag) {
                command.arg(flag).arg(value);
            }
        };
        default("--threads", "1".as_ref(), &mut command);
        default("--wait", "60".as_ref(), &mut command);
        default("--peer", print.as_ref(), &mut command);
        default("--report", path("report.json").as_ref(), &mut command);
        default("--input", path("in.csv").as_ref(), &mut command);
        default("--output", path("out.csv").as_ref(), &mut command);
        if !flags.contains(&"--match") {
            default("--key", "k".as_ref(), &mut command);
        }
        default("--learns", "both".as_ref(), &mut command);
        command.args(flags);
        command
    }

    /// Starts both parties.
    pub fn start(&self, connecting: &[&str], listening: &[&str]) -> [Running; 2] {
        let way = ["--listen", "127.0.0.1:0"];
        let mut listener = Running::start(self.command(Listening, &way, listening));
        // It listens when it has seen the header.
        if listening.windows(2).any(|pair| pair == ["--input", "-"]) {
            listener.write("k\n");
        }
        let line = listener.until("listening on ");
        let address = line.trim_start_matches("listening on ");
        let connector = self.command(Connecting, &["--connect", address], connecting);
        [Running::start(connector), listener]
    }

    /// Runs both parties to their ends.
    #[track_caller]
    pub fn run(&self, connecting: &[&str], listening: &[&str]) -> [Ended; 2] {
        let [a, b] = self.start(connecting, listening);
        [a.end(), b.end()]
    }

    /// Nothing but inputs, identities and reports of failed runs is there.
    #[track_caller]
    pub fn assert_clean(&self) {
        for entry in fs::read_dir(self.scratch.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with("report.json") {
                let report = read_report(&fs::read_to_string(entry.path()).unwrap());
                assert_eq!(report["status"], "failed", "{report:#}");
            } else {
                assert!(name.ends_with("in.csv") || name.ends_with(".identity"), "{name} is left");
            }
        }
    }
}

/// A report as it was written, which has the form that is promised.
#[track_caller]
pub fn read_report(text: &str) -> serde_json::Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/report.schema.json");
    let schema = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let report = serde_json::from_str(text).unwrap();
    schema::check(&schema, &report).unwrap_or_else(|wrong| panic!("{wrong} in {report:#}"));
    report
}

/// Feeds a process's standard input.
pub fn feed(mut stdin: ChildStdin, text: &str) -> ChildStdin {
    stdin.write_all(text.as_bytes()).unwrap();
    stdin.flush().unwrap();
    stdin
}
