//! The measured service: a separate process, with the limits of `vesica serve-list`.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use vesica::{
    NoObserver, Normalize, Source,
    files::{Delimiter, Dialect, Duplicates, KeyColumn, NullValues, Nulls},
    lists::{Publication, publish},
};
use vesica_list::head::Head;
use vesica_list_server::{Certificate, ClientLimits, Counts, Rate, Serving, serve as run};
use vesica_net::{CancelToken, Identity};

use crate::Failure;

/// Number of items of the list.
const ITEMS: u32 = 1 << 17;

const LIMITS: ClientLimits = ClientLimits {
    client: Rate { a_minute: 600, at_once: 4096 },
    all: Rate { a_minute: 150_000, at_once: 150_000 },
};

/// A running service, until it is dropped.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) head: Head,
    process: Child,
    _directory: tempfile::TempDir,
}

impl Service {
    pub(crate) fn start() -> Result<Self, Failure> {
        let (directory, me) = (tempfile::tempdir()?, Identity::generate()?);
        fs::write(directory.path().join("identity"), me.to_pem().as_bytes())?;
        let keys: String = (0..ITEMS).map(|key| format!("{key}\n")).collect();
        let job = Publication {
            input: Source::Memory { name: "t.csv".into(), bytes: format!("key\n{keys}").into() },
            dialect: Dialect::from(Delimiter::Comma),
            columns: vec![KeyColumn { name: "key".into(), normalize: Normalize::NONE }],
            null_values: NullValues::default(),
            nulls: Nulls::Skip,
            duplicates: Duplicates::First,
            allow_empty: false,
            labels: None,
            directory: directory.path().join("list"),
            name: "load".to_owned(),
            lambda: 40,
            queries: 1 << 12,
            capacity: None,
            valid: Duration::from_secs(86_400),
            new_epoch: false,
            memory: None,
        };
        let observer: Arc<dyn vesica::Observer> = Arc::new(NoObserver);
        let rng = &mut StdRng::seed_from_u64(1);
        let head = publish(&job, &me, &observer, &CancelToken::default(), rng)?.head;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg(directory.path()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { address: line.trim().parse()?, head, process, _directory: directory })
    }

    fn about(&self, file: &str) -> Result<String, Failure> {
        Ok(fs::read_to_string(format!("/proc/{}/{file}", self.process.id()))?)
    }

    /// Returns the processor time used so far.
    pub(crate) fn processor(&self) -> Result<Duration, Failure> {
        let text = self.about("stat")?;
        let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).ok_or("no times")?;
        // A tick is a hundredth of a second for every program.
        Ok(Duration::from_millis(10 * (user + system)))
    }

    /// Returns the peak memory since the last reset, in bytes.
    pub(crate) fn memory(&self) -> Result<u64, Failure> {
        let text = self.about("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = line.ok_or("no memory")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib << 10)
    }

    pub(crate) fn forget_memory(&self) -> Result<(), Failure> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5")?)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves the list in this directory, and prints its address.
pub(crate) fn serve(directory: &Path) -> Result<(), Failure> {
    let me = Identity::from_pem(&fs::read_to_string(directory.join("identity"))?)?;
    let serving = Serving {
        directory: directory.join("list"),
        address: "127.0.0.1:0".to_owned(),
        certificate: Some(Certificate::of_identity(&me).map_err(|error| error.to_string())?),
        limits: LIMITS,
        tokens: None,
        origins: Vec::new(),
        is_proxied: false,
        threads: std::thread::available_parallelism()?.get(),
        patience: vesica_list_server::PATIENCE,
        assets: Vec::new(),
        counts: Arc::new(Counts::default()),
    };
    run(serving, &CancelToken::default(), &|what, facts| {
        if let ("listening", [(_, address)]) = (what, facts) {
            println!("{address}");
        }
    })?;
    Ok(())
}
