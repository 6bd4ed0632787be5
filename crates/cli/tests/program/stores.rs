//! Tables in an object store: two processes, and a server that speaks S3.
//!
//! The server, and the Parquet library that judges what comes out, are Python packages in an environment that the tests
//! make.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{LazyLock, mpsc},
    time::Duration,
};

use crate::harness::{Connecting, Ended, Lab, Listening, Running};

const PACKAGES: [&str; 3] = ["moto[server]==5.2.5", "boto3==1.44.5", "pyarrow==26.0.1"];

const PATIENCE: Duration = Duration::from_secs(120);

/// The Python environment, which lasts as long as the test program.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("stores-python");
    let python = place.join("bin/python");
    let made = Command::new("python3").arg("-m").arg("venv").arg(&place).status().unwrap();
    assert!(made.success());
    let installed =
        Command::new(&python).args(["-m", "pip", "install", "-q"]).args(PACKAGES).status();
    assert!(installed.unwrap().success());
    python
});

/// A server with the empty bucket `bucket`.
struct Store {
    server: Child,
    url: String,
}

impl Store {
    fn start() -> Self {
        let server = PYTHON.with_file_name("moto_server");
        let mut server = Command::new(server)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (say, lines) = mpsc::channel();
        let stderr = server.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some((_, url)) = line.split_once("Running on ") {
                    let _ = say.send(url.trim().to_owned());
                }
            }
        });
        let url = lines.recv_timeout(PATIENCE).unwrap();
        let store = Self { server, url };
        store.python("s3.create_bucket(Bucket='bucket')", b"");
        store
    }

    /// The environment of a user with access.
    fn environment(&self) -> [(&str, &str); 5] {
        [
            ("AWS_ENDPOINT_URL", &self.url),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "known"),
            ("AWS_SECRET_ACCESS_KEY", "Zq7SECRET"),
            ("AWS_REGION", "us-east-1"),
        ]
    }

    /// Runs a few lines of Python, with a client `s3`; what it printed.
    #[track_caller]
    fn python(&self, lines: &str, stdin: &[u8]) -> Vec<u8> {
        let head = "import boto3, io, os, sys, urllib.request\n\
                    import pyarrow as pa, pyarrow.parquet as pq\n\
                    s3 = boto3.client('s3', endpoint_url=os.environ['AWS_ENDPOINT_URL'])\n";
        let mut child = Command::new(&*PYTHON)
            .args(["-c", &format!("{head}{lines}")])
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        done.stdout
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        let lines =
            format!("s3.put_object(Bucket='bucket', Key='{key}', Body=sys.stdin.buffer.read())");
        self.python(&lines, bytes);
    }

    fn get(&self, key: &str) -> Vec<u8> {
        let lines = format!(
            "sys.stdout.buffer.write(s3.get_object(Bucket='bucket', Key='{key}')['Body'].read())"
        );
        self.python(&lines, b"")
    }

    /// A Parquet table of the keys 0 to 999, each with a value and a wide column beside it.
    fn put_parquet(&self, key: &str, factor: u32) {
        let lines = format!(
            "t = pa.table({{'k': pa.array(range(1000), pa.int32()), 'v': [{factor} * i for i in range(1000)],\n\
               'wide': [os.urandom(400) for _ in range(1000)]}})\n\
             out = io.BytesIO(); pq.write_table(t, out, row_group_size=300)\n\
             s3.put_object(Bucket='bucket', Key='{key}', Body=out.getvalue())"
        );
        self.python(&lines, b"");
    }

    /// There are these objects and no parts of others.
    #[track_caller]
    fn assert_holds(&self, keys: &[&str]) {
        let found = self.python(
            "print([o['Key'] for o in s3.list_objects_v2(Bucket='bucket').get('Contents', [])],\n\
               s3.list_multipart_uploads(Bucket='bucket').get('Uploads', []))",
            b"",
        );
        let keys: Vec<_> = keys.iter().map(|key| format!("'{key}'")).collect();
        let expected = format!("[{}] []", keys.join(", "));
        assert_eq!(String::from_utf8(found).unwrap().trim(), expected);
    }

    fn listener(&self, lab: &Lab, flags: &[&str]) -> Running {
        let mut command = lab.command(Listening, &["--listen", "127.0.0.1:0"], flags);
        command.envs(self.environment());
        Running::start(command)
    }

    /// Runs both parties; the listening one uses the store, and waits for the other `meanwhile`.
    #[track_caller]
    fn run(&self, lab: &Lab, x: &[&str], y: &[&str], meanwhile: impl FnOnce()) -> [Ended; 2] {
        let mut listener = self.listener(lab, y);
        let line = listener.until("listening on ");
        meanwhile();
        let address = line.trim_start_matches("listening on ");
        let connector = Running::start(lab.command(Connecting, &["--connect", address], x));
        let ended = [connector.end(), listener.end()];
        for ended in &ended {
            assert!(!format!("{ended:?}").contains("Zq7SECRET"));
        }
        ended
    }

    fn stop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}

fn keys(range: std::ops::Range<u32>) -> String {
    range.fold("k\n".to_owned(), |text, key| text + &format!("{key}\n"))
}

const OUT: [&str; 2] = ["--output", "s3://bucket/out/matched.parquet"];

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn parquet_comes_from_a_bucket_and_goes_to_one() {
    let (lab, store) = (Lab::new(), Store::start());
    store.put_parquet("in/table.parquet", 3);
    lab.write(Connecting, keys(990..2000));
    let flags = [&["--input", "s3://bucket/in/table.parquet"], &OUT[..]].concat();
    let [x, y] = store.run(&lab, &[], &flags, || ());
    x.assert(0, &["10 of 1,010 keys match"]);
    y.assert(0, &["10 of 1,000 keys match", "s3://bucket/out/matched.parquet"]);
    let read = "b = s3.get_object(Bucket='bucket', Key='out/matched.parquet')['Body'].read()\n\
                t = pq.read_table(io.BytesIO(b))\n\
                print(t.schema.names, t.schema.field('k').type, t['k'].to_pylist(), t['v'].to_pylist())";
    let found = String::from_utf8(store.python(read, b"")).unwrap();
    let (k, v): (Vec<_>, Vec<_>) = (990..1000).map(|i| (i, 3 * i)).unzip();
    assert_eq!(found.trim(), format!("['k', 'v', 'wide'] int32 {k:?} {v:?}"));
    store.assert_holds(&["in/table.parquet", "out/matched.parquet"]);
    lab.report(Listening);
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn text_of_several_parts_comes_back_untouched() {
    let (lab, store) = (Lab::new(), Store::start());
    let row = |key: u32| format!("{key},{}\n", "x".repeat(200 + key as usize % 7));
    let table = (0..100_000).fold("k,v\n".to_owned(), |text, key| text + &row(key));
    assert!(table.len() > 1 << 24);
    store.put("in.csv", table.as_bytes());
    lab.write(Connecting, keys(0..100_000));
    let flags = ["--input", "s3://bucket/in.csv", "--output", "s3://bucket/out.csv"];
    let [x, y] = store.run(&lab, &[], &flags, || ());
    x.assert(0, &["100,000 of 100,000 keys match"]);
    y.assert(0, &["s3://bucket/out.csv"]);
    assert!(store.get("out.csv") == table.as_bytes());
    let etag = store.python("print(s3.head_object(Bucket='bucket', Key='out.csv')['ETag'])", b"");
    assert!(String::from_utf8(etag).unwrap().trim().ends_with("-2\""));
    store.assert_holds(&["in.csv", "out.csv"]);
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn an_upload_that_is_not_wanted_leaves_nothing() {
    let (lab, store) = (Lab::new(), Store::start());
    lab.write(Connecting, keys(0..100));
    lab.write(Listening, keys(50..100));
    let flags = ["--output", "s3://bucket/out.csv"];
    let [x, y] = store.run(&lab, &["--output", "/dev/full"], &flags, || ());
    x.assert(3, &["/dev/full"]);
    y.assert(4, &[]);
    store.assert_holds(&[]);
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn an_object_that_is_replaced_is_noticed() {
    let (lab, store) = (Lab::new(), Store::start());
    lab.write(Connecting, keys(990..2000));
    store.put_parquet("in.parquet", 3);
    let flags = [&["--input", "s3://bucket/in.parquet"], &OUT[..]].concat();
    let [x, y] = store.run(&lab, &[], &flags, || store.put_parquet("in.parquet", 5));
    y.assert(3, &["s3://bucket/in.parquet", "changed"]);
    assert_ne!(x.code, Some(0));
    store.assert_holds(&["in.parquet"]);
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn a_store_that_goes_away_is_named() {
    for name in ["in.parquet", "in.csv"] {
        let (lab, mut store) = (Lab::new(), Store::start());
        lab.write(Connecting, keys(990..2000));
        store.put_parquet("in.parquet", 3);
        store.put("in.csv", keys(0..100_000).as_bytes());
        let input = format!("s3://bucket/{name}");
        let output = lab.path(&name.replace("in", "out"));
        let flags = ["--input", &input, "--output", output.to_str().unwrap()];
        let mut listener = store.listener(&lab, &flags);
        let line = listener.until("listening on ");
        store.stop();
        let address = line.trim_start_matches("listening on ");
        let connector = lab.command(Connecting, &["--connect", address], &[]);
        let (x, y) = (Running::start(connector).end(), listener.end());
        y.assert(3, &[&input, "cannot be reached"]);
        assert_ne!(x.code, Some(0));
        lab.assert_clean();
    }
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn faults_of_a_place_are_reported_before_the_other_side_is_contacted() {
    let (lab, store) = (Lab::new(), Store::start());
    lab.write(Listening, keys(0..10));
    let refused = |flags: &[&str], said: &[&str]| {
        let ended = store.listener(&lab, flags).end();
        ended.assert(3, said);
        assert!(!format!("{ended:?}").contains("Zq7SECRET"));
    };
    let missing = "the object or bucket does not exist";
    refused(&["--input", "s3://bucket/none.csv"], &["s3://bucket/none.csv", missing]);
    refused(&["--output", "s3://none/out.csv"], &["s3://none/out.csv", missing]);
    refused(&["--output", "s3://bucket"], &["s3://BUCKET/KEY"]);
    // From here on, the server knows nobody.
    let demand = "urllib.request.urlopen(urllib.request.Request(\n\
                    os.environ['AWS_ENDPOINT_URL'] + '/moto-api/reset-auth', b'0', {'Content-Type': 'text/plain'}))";
    store.put("in.csv", b"k\n1\n");
    store.python(demand, b"");
    refused(&["--input", "s3://bucket/in.csv"], &["s3://bucket/in.csv", "credentials"]);
    refused(&["--output", "s3://bucket/out.csv"], &["s3://bucket/out.csv", "credentials"]);
}

/// As through a directory: either side first, nothing left behind, and one that was killed does not hinder the next.
#[test]
#[ignore = "assure: needs Python packages and a server"]
fn two_sides_meet_in_a_bucket() {
    let (lab, store) = (Lab::new(), Store::start());
    lab.write(Connecting, keys(0..1000));
    lab.write(Listening, keys(990..2000));
    let side = |party| {
        let mut command = lab.command(party, &["--exchange", "s3://bucket/with/acme"], &[]);
        command.envs(store.environment());
        Running::start(command)
    };
    for first in [Connecting, Listening] {
        let mut waiting = side(first);
        waiting.until("for the other side in s3://bucket/with/acme");
        let both = [waiting, side(first.other())];
        for side in both {
            side.end().assert(0, &["10 of "]);
        }
        store.assert_holds(&[]);
    }
    let mut killed = side(Connecting);
    killed.until("for the other side in ");
    killed.signal("KILL");
    drop(killed.end());
    let both = [side(Connecting), side(Listening)];
    for side in both {
        side.end().assert(0, &["10 of "]);
    }
    store.assert_holds(&[]);
    let mut none = lab.command(Connecting, &["--exchange", "s3://none/at/all"], &[]);
    none.envs(store.environment());
    Running::start(none).end().assert(4, &["s3://none/at/all cannot be used"]);
}
