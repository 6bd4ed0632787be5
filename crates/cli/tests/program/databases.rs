//! Tables in databases: two processes, and SQLite, DuckDB and PostgreSQL.
//!
//! The drivers are Python packages in an environment that the tests make; PostgreSQL's server is the machine's.

use std::{
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
    time::Duration,
};

use crate::harness::{Connecting, Ended, Lab, Listening, Running, ended};

const PACKAGES: [&str; 3] =
    ["adbc-driver-sqlite==1.13.0", "adbc-driver-postgresql==1.13.0", "duckdb==2.0.0"];

const SECRET: &str = "Zq7SECRET";

/// The Python environment, which lasts as long as the test program.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("databases-python");
    let python = place.join("bin/python");
    run(Command::new("python3").arg("-m").arg("venv").arg(&place));
    run(Command::new(&python).args(["-m", "pip", "install", "-q"]).args(PACKAGES));
    python
});

/// The library of Python itself.
static PYTHON_LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let find = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'))";
    run(Command::new(&*PYTHON).args(["-c", find]))
});

/// Returns the output of a command.
#[track_caller]
fn run(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(done.status.success(), "{command:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A command as the superuser of PostgreSQL, whose server refuses to be run by root.
fn as_postgres(program: &str) -> Command {
    if run(Command::new("id").arg("-u")) != "0" {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", program]);
    command.current_dir("/");
    command
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sqlite,
    DuckDb,
    Postgres,
}

const ALL: [Kind; 3] = [Kind::Sqlite, Kind::DuckDb, Kind::Postgres];

/// A database with the table `people` of the keys 0 to 999.
struct Base {
    kind: Kind,
    directory: tempfile::TempDir,
    driver: String,
}

impl Base {
    fn new(kind: Kind) -> Self {
        let find = match kind {
            Kind::Sqlite => "import adbc_driver_sqlite as d; print(d._driver_path())",
            Kind::Postgres => "import adbc_driver_postgresql as d; print(d._driver_path())",
            Kind::DuckDb => "import _duckdb as d; print(d.__file__)",
        };
        let driver = run(Command::new(&*PYTHON).args(["-c", find]));
        let base = Self { kind, directory: tempfile::tempdir().unwrap(), driver };
        if kind == Kind::Postgres {
            base.start();
        }
        base.sql("CREATE TABLE people (k INTEGER, v TEXT, n BIGINT, d DATE)");
        let row =
            |k: u32| format!("({k}, 'v{k}', {}, '2024-02-{:02}')", u64::from(k) << 33, k % 28 + 1);
        let rows: Vec<_> = (0..1000).map(row).collect();
        base.sql(&format!("INSERT INTO people VALUES {}", rows.join(",")));
        base
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn start(&self) {
        let directory = self.directory.path();
        std::fs::write(directory.join("pw"), SECRET).unwrap();
        if run(Command::new("id").arg("-u")) == "0" {
            run(Command::new("chown").args(["-R", "postgres"]).arg(directory));
        }
        let data = self.data();
        let data = data.to_str().unwrap();
        let password = format!("--pwfile={}", directory.join("pw").display());
        let flags = ["-U", "postgres", "--auth=scram-sha-256", "--no-sync", &password, "-D", data];
        run(as_postgres("initdb").args(flags));
        let options = format!("-c listen_addresses= -k {}", directory.display());
        let log = directory.join("log").display().to_string();
        let flags = ["-w", "-t", "120", "-D", data, "-l", &log, "-o", &options, "start"];
        // The server keeps what it inherits open.
        let started = as_postgres("pg_ctl").args(flags).stdout(Stdio::null()).status();
        assert!(started.unwrap().success());
    }

    /// Ends the server as if its machine lost power.
    fn stop(&self) {
        if self.kind == Kind::Postgres {
            let _ = as_postgres("pg_ctl")
                .args(["-w", "-m", "immediate", "-D", self.data().to_str().unwrap(), "stop"])
                .output();
        }
    }

    fn uri(&self) -> String {
        let directory = self.directory.path().display();
        match self.kind {
            Kind::Postgres => format!("postgresql://postgres:{SECRET}@/postgres?host={directory}"),
            _ => format!("{directory}/base"),
        }
    }

    /// Returns the answer to a statement: a line for each row, with `|` between the values.
    #[track_caller]
    fn sql(&self, statement: &str) -> String {
        if self.kind == Kind::Postgres {
            return run(Command::new("psql").args(["-XAtq", "-c", statement, &self.uri()]));
        }
        let module = if self.kind == Kind::Sqlite { "sqlite3" } else { "duckdb" };
        let lines = format!(
            "import sys, {module} as m\nc = m.connect(sys.argv[1])\n\
             rows = c.execute(sys.argv[2]).fetchall()\nc.commit()\n\
             for r in rows: print('|'.join('' if x is None else str(x) for x in r))"
        );
        run(Command::new(&*PYTHON).args(["-c", &lines, &self.uri(), statement]))
    }

    #[track_caller]
    fn assert_tables(&self, tables: &str) {
        let names = match self.kind {
            Kind::Sqlite => "SELECT name FROM sqlite_master ORDER BY name",
            _ => {
                "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('main', 'public') ORDER BY 1"
            }
        };
        assert_eq!(self.sql(names).replace('\n', " "), tables);
    }

    fn table(&self, name: &str) -> String {
        format!("adbc:{}#{name}", self.driver)
    }

    fn query(&self) -> String {
        format!("adbc:{}", self.driver)
    }

    fn listener(&self, lab: &Lab, flags: &[&str]) -> Running {
        let mut command = lab.command(Listening, &["--listen", "127.0.0.1:0"], flags);
        command.env("VESICA_ADBC_URI", self.uri());
        if self.kind == Kind::DuckDb {
            // The library of the Python package has symbols that Python resolves.
            command.env("LD_PRELOAD", &*PYTHON_LIBRARY);
        }
        Running::start(command)
    }

    /// Runs both parties; the listening one uses the database.
    fn run(&self, lab: &Lab, x: &[&str], y: &[&str]) -> [Ended; 2] {
        let (listener, connector) = self.both(lab, x, y);
        let ended = [connector.end(), listener.end()];
        for ended in &ended {
            assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
        }
        ended
    }

    fn both(&self, lab: &Lab, x: &[&str], y: &[&str]) -> (Running, Running) {
        let mut listener = self.listener(lab, y);
        let line = listener.until("listening on ");
        let address = line.trim_start_matches("listening on ");
        let connector = Running::start(lab.command(Connecting, &["--connect", address], x));
        (listener, connector)
    }

    #[track_caller]
    fn refused(&self, lab: &Lab, flags: &[&str], code: i32, said: &[&str]) {
        let ended = self.listener(lab, flags).end();
        ended.assert(code, said);
        assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        self.stop();
    }
}

fn keys(range: std::ops::Range<u32>) -> String {
    range.fold("k\n".to_owned(), |text, key| text + &format!("{key}\n"))
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn a_query_becomes_a_table_in_each_database() {
    for kind in ALL {
        let (lab, base) = (Lab::new(), Base::new(kind));
        lab.write(Connecting, keys(900..2000));
        let (input, out) = (base.query(), base.table("matched"));
        let flags = ["--input", &input, "--input-query", "SELECT * FROM people WHERE k % 3 <> 0"];
        let flags = [&flags[..], &["--output", &out]].concat();
        let [x, y] = base.run(&lab, &[], &flags);
        x.assert(0, &["66 of 1,100 keys match"]);
        y.assert(0, &["66 of 666 keys match"]);
        let columns = "SELECT k, v, n, d FROM";
        let expected =
            base.sql(&format!("{columns} people WHERE k % 3 <> 0 AND k >= 900 ORDER BY k"));
        assert_eq!(base.sql(&format!("{columns} matched ORDER BY k")), expected, "{kind:?}");
        assert_eq!(expected.lines().count(), 66);
        base.assert_tables("matched people");
        // The table that is there now is in the way.
        base.refused(&lab, &flags, 3, &["#matched: cannot be written", "drop that one first"]);
        lab.report(Listening);
    }
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn tables_become_files_and_files_tables() {
    for kind in ALL {
        let (lab, base) = (Lab::new(), Base::new(kind));
        lab.write(Connecting, keys(990..2000));
        let file = lab.path("out.arrows");
        let input = base.table("people");
        let flags = ["--input", &input, "--output", file.to_str().unwrap()];
        let [_, y] = base.run(&lab, &[], &flags);
        y.assert(0, &["10 of 1,000 keys match"]);
        let listed = ended(&["check", "--columns", file.to_str().unwrap()]);
        assert!(listed.out.to_lowercase().contains("int"), "{kind:?} {listed:?}");
        lab.write(Listening, "k;a b;c\n999;x;\n1000;\"y;z\";3\n0;0;0\n");
        let out = base.table("from_text");
        let flags = ["--delimiter", "semicolon", "--output", &out];
        let [_, y] = base.run(&lab, &[], &flags);
        y.assert(0, &["2 of 3 keys match"]);
        let found = base.sql("SELECT k, \"a b\", coalesce(c, 'none') FROM from_text ORDER BY k");
        assert_eq!(found, "1000|y;z|3\n999|x|none", "{kind:?}");
    }
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn faults_of_a_place_are_reported_before_the_other_side_is_contacted() {
    for kind in ALL {
        let (lab, base) = (Lab::new(), Base::new(kind));
        lab.write(Listening, keys(0..10));
        let query = base.query();
        let input = |sql| ["--input", query.as_str(), "--input-query", sql];
        let refused = |flags: &[&str], said: &[&str]| base.refused(&lab, flags, 3, said);
        refused(&input("SELEC k"), &["adbc:", "query"]);
        refused(&input("SELECT 'Zq7SECRET' AS k FROM none"), &["adbc:", "query"]);
        refused(&input("SELECT 1.5 AS v"), &["no column `k`"]);
        refused(&["--input", &base.table("none")], &["#none: "]);
        refused(&["--output", &base.table("people")], &["people", "drop that one first"]);
        refused(&["--output", "adbc:/nowhere/libx.so#t"], &["driver cannot be loaded"]);
        base.refused(&lab, &["--input", &query], 2, &["--input-query"]);
        base.refused(&lab, &["--output", &query], 2, &["name the table"]);
        let address = format!("adbc:postgresql://me:{SECRET}@host/x");
        base.refused(&lab, &["--input", &address], 2, &["VESICA_ADBC_URI"]);
        base.refused(&lab, &["--output", &address], 2, &["VESICA_ADBC_URI"]);
        base.assert_tables("people");
        if kind == Kind::Postgres {
            refused(
                &input("SELECT 1 AS k FROM none"),
                &["the table does not exist; SQLSTATE 42P01"],
            );
            base.sql("CREATE ROLE poor LOGIN PASSWORD 'Zq7SECRET'");
            let poor = base.uri().replacen("postgres:Z", "poor:Z", 1);
            for (uri, flags, said) in [
                (&poor, vec!["--input", &base.table("people")], "permission is denied"),
                (&poor, vec!["--output", &base.table("t")], "permission is denied"),
                (
                    &poor.replace(SECRET, "Zq7SECRETX"),
                    vec!["--output", &base.table("t")],
                    "cannot be opened",
                ),
            ] {
                let mut command = lab.command(Listening, &["--listen", "127.0.0.1:0"], &flags);
                command.env("VESICA_ADBC_URI", uri);
                let ended = Running::start(command).end();
                ended.assert(3, &[said]);
                assert!(!format!("{ended:?}").contains(SECRET));
            }
        }
    }
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn a_run_that_fails_leaves_the_database_as_it_was() {
    for kind in ALL {
        let (lab, base) = (Lab::new(), Base::new(kind));
        lab.write(Connecting, keys(0..100));
        let (input, out) = (base.table("people"), base.table("matched"));
        let flags = ["--input", &input, "--output", &out];
        let [x, y] = base.run(&lab, &["--output", "/dev/full"], &flags);
        x.assert(3, &["/dev/full"]);
        y.assert(4, &[]);
        base.assert_tables("people");
    }
}

/// Runs up to where both results are staged, does something, and goes on.
fn staged(lab: &Lab, base: &Base, then: impl FnOnce(&Running)) -> [Ended; 2] {
    // More than a pipe holds, so that writing it waits for the reader.
    let wide = "x".repeat(4000);
    lab.write(Connecting, keys(0..100).replace('\n', &format!(",{wide}\n")));
    let pipe = lab.path("pipe");
    run(Command::new("mkfifo").arg(&pipe));
    let (input, out) = (base.table("people"), base.table("matched"));
    let flags = ["--input", &input, "--output", &out];
    let (y, x) = base.both(lab, &["--output", pipe.to_str().unwrap()], &flags);
    // It is opened for writing when both sides have said that they have their results.
    let mut reading = std::fs::File::open(&pipe).unwrap();
    then(&y);
    let mut text = Vec::new();
    reading.read_to_end(&mut text).unwrap();
    [x.end(), y.end()]
}

/// Waits for what happens in its own time, for a minute at most.
#[track_caller]
fn wait_until(happened: impl Fn() -> bool) {
    let seen = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(100));
        happened()
    });
    assert!(seen, "it did not happen");
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn a_killed_run_leaves_no_table() {
    for kind in ALL {
        let (lab, base) = (Lab::new(), Base::new(kind));
        let [x, y] = staged(&lab, &base, |y| y.signal("KILL"));
        assert!(x.code != Some(0) && y.code != Some(0));
        if kind == Kind::Postgres {
            // The server notices in its own time that nobody is there, and then rolls back.
            let open =
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
            wait_until(|| base.sql(open) == "0");
        }
        base.assert_tables("people");
    }
}

#[test]
#[ignore = "assure: needs Python packages and a server"]
fn a_server_that_goes_away_is_named() {
    let (lab, base) = (Lab::new(), Base::new(Kind::Postgres));
    let query = base.query();
    let slow = "SELECT k, pg_sleep(0.01)::text AS v FROM generate_series(1, 1000000) AS k";
    let reading = base.listener(&lab, &["--input", &query, "--input-query", slow]);
    let asked = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(0.01)%'";
    wait_until(|| base.sql(asked) == "2");
    base.stop();
    let ended = reading.end();
    ended.assert(3, &["adbc:", "query"]);
    assert!(!format!("{ended:?}").contains(SECRET));
    lab.assert_clean();

    let (lab, base) = (Lab::new(), Base::new(Kind::Postgres));
    let [x, y] = staged(&lab, &base, |_| base.stop());
    y.assert(3, &["#matched: cannot be written", "check whether the table exists"]);
    assert_ne!(x.code, Some(0));
    assert!(!format!("{y:?}").contains(SECRET));
}
