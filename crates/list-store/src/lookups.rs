//! Lookups against a publisher in memory: the questions it sees, and the resumption of interrupted lookups.

use std::{
    collections::VecDeque,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use vesica_core::{
    error::{Class, Error, Result},
    observe::Observer,
};
use vesica_keyset::key::{KeyColumn, Nulls};
use vesica_list::{exchange::answer, voprf::ServerKey};
use vesica_normalize::{normalize::Normalize, null_values::NullValues};
use vesica_table::source::{Delimiter, Dialect, Source};

use super::{
    directory::{LOG, ListDirectory},
    look_up::{Found, LookUp, Subscription, look_up},
    origin::{Asked, FromDirectory, Origin},
    tests::{Scratch, Table, table},
};

/// A reply other than an answer.
#[derive(Clone, Copy)]
enum Reply {
    Later(Duration),
    Lost,
}

/// A publisher, and everything it sees of a client.
struct Desk {
    files: FromDirectory,
    key: ServerKey,
    /// Maximum number of items in a question.
    most: usize,
    /// Replies to the next questions. Without one, it answers.
    replies: VecDeque<Option<Reply>>,
    named: Vec<String>,
    /// Number of items of each answered question.
    asked: Vec<usize>,
    paused: Duration,
}

fn lost(fault: &str) -> Error {
    Error::Origin { place: "desk".to_owned(), fault: fault.to_owned() }
}

impl Origin for Desk {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        self.named.push(name.to_owned());
        self.files.text(name, longest)
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.named.push(name.to_owned());
        self.files.bytes(name, from, take)
    }

    fn ask(&mut self, _: u64, question: &[u8], answer_bytes: usize) -> Result<Asked> {
        let items = question.len() / 32;
        if items > self.most {
            return Ok(Asked::Fewer(lost("too many")));
        }
        match self.replies.pop_front().flatten() {
            Some(Reply::Later(time)) => return Ok(Asked::Later(time, lost("too fast"))),
            Some(Reply::Lost) => return Err(lost("gone")),
            None => self.asked.push(items),
        }
        let answer = answer(&self.key, question, &mut StdRng::seed_from_u64(5))?;
        assert_eq!(answer.len(), answer_bytes);
        Ok(Asked::Answer(answer))
    }

    fn pause(&mut self, time: Duration) -> Result<()> {
        self.paused += time;
        Ok(())
    }
}

/// A client in its own directory.
struct Client {
    directory: tempfile::TempDir,
    warnings: Arc<Mutex<Vec<String>>>,
}

struct Warned(Arc<Mutex<Vec<String>>>);

impl Observer for Warned {
    fn warning(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn waiting(&self, phase: &'static str, _: Duration) {
        self.0.lock().unwrap().push(format!("waits to {phase}"));
    }
}

impl Client {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), warnings: Arc::default() }
    }

    fn look_up(
        &self,
        scratch: &Scratch,
        desk: &mut Desk,
        rows: &[&str],
    ) -> Result<(Found, String)> {
        let text: String =
            [&["address"], rows].concat().iter().map(|row| format!("\"{row}\"\n")).collect();
        let output = self.directory.path().join("found.csv");
        let job = LookUp {
            input: Source::Memory { name: "mine.csv".into(), bytes: text.into() },
            dialect: Dialect::from(Delimiter::Comma),
            columns: vec![KeyColumn { name: "address".into(), normalize: Normalize::EMAIL }],
            null_values: NullValues::default(),
            nulls: Nulls::Skip,
            output: output.clone().into(),
            all: false,
            batch: 50,
            formulas: Default::default(),
        };
        let (publisher, cache) = (scratch.me.fingerprint(), self.directory.path().join("cache"));
        let of = Subscription { publisher, cache, budget: None };
        let observer: Arc<dyn Observer> = Arc::new(Warned(self.warnings.clone()));
        let found = look_up(&job, desk, &of, &observer, &mut StdRng::seed_from_u64(7))?;
        Ok((found, fs::read_to_string(output).unwrap()))
    }

    /// Returns the stored files whose names contain `with`.
    fn kept(&self, scratch: &Scratch, with: &str) -> Vec<PathBuf> {
        let cache = self.directory.path().join("cache").join(scratch.me.fingerprint().to_string());
        let entries = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().contains(with)).collect()
    }
}

fn desk(scratch: &Scratch) -> Desk {
    Desk {
        files: FromDirectory(scratch.path().join("public")),
        key: ListDirectory::open(&scratch.path()).key(scratch.head().epoch).unwrap(),
        most: 4096,
        replies: VecDeque::new(),
        named: Vec::new(),
        asked: Vec::new(),
        paused: Duration::ZERO,
    }
}

fn published(keys: &Table) -> Scratch {
    let scratch = Scratch::new(true);
    scratch.published(keys);
    scratch
}

fn addresses(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|key| format!("k{key}@example.org")).collect()
}

/// The publisher sees one element for each row, with or without a key.
#[test]
fn questions_say_how_many_rows_there_are_and_nothing_else() {
    let scratch = published(&table(0..300));
    let members = addresses(0..120);
    let strangers = addresses(1000..1120);
    let mixed: Vec<_> =
        members[..40].iter().chain(&members[..20]).chain(&strangers[..60]).cloned().collect();
    let with = |text: &str| {
        let mut rows = members.clone();
        rows[7..90].fill(text.to_owned());
        rows
    };
    for (rows, matches) in [
        (members.clone(), 120),
        (strangers.clone(), 0),
        (mixed, 40),
        (with("n/a"), 37),
        (with(""), 37),
        (with("no address"), 37),
        (with("k0@example.org"), 37),
        (vec!["n/a".to_owned(); 120], 0),
    ] {
        let (client, mut desk) = (Client::new(), desk(&scratch));
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        let (found, _) = client.look_up(&scratch, &mut desk, &rows).unwrap();
        assert_eq!((found.matches, &desk.asked[..]), (matches, &[50, 50, 20][..]));
    }
}

#[test]
fn the_log_is_read_where_the_list_is_another_than_before() {
    let (mut all, client) = (table(0..300), Client::new());
    let scratch = published(&all);
    let reads_log = || {
        let mut desk = desk(&scratch);
        client.look_up(&scratch, &mut desk, &["k1@example.org"]).unwrap();
        desk.named.iter().filter(|name| *name == LOG).count()
    };
    assert_eq!([reads_log(), reads_log()], [1, 0]);
    all.insert("new@example.org".to_owned(), "new".to_owned());
    scratch.published(&all);
    assert_eq!([reads_log(), reads_log()], [1, 0]);
    // The same list, signed again.
    scratch.published(&all);
    assert_eq!(reads_log(), 0);
}

#[test]
fn a_lookup_that_was_stopped_goes_on() {
    let scratch = published(&table((0..400).step_by(2)));
    let members = addresses(0..230);
    let mut rows: Vec<_> = members.iter().map(String::as_str).collect();
    rows.extend(["n/a", "k4@example.org", "nobody"]);
    let undisturbed = Client::new().look_up(&scratch, &mut desk(&scratch), &rows).unwrap();
    assert_eq!(undisturbed.0.matches, 115);

    let client = Client::new();
    let mut first = desk(&scratch);
    first.replies = [None, None, Some(Reply::Lost)].into();
    let error = client.look_up(&scratch, &mut first, &rows).unwrap_err();
    assert_eq!((error.class(), &first.asked[..]), (Class::Network, &[50, 50][..]));
    let [kept] = &client.kept(&scratch, "lookup-")[..] else {
        panic!("the answers are not stored")
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let bytes = fs::read(kept).unwrap();
    // Another table does not use these answers.
    let mut other = desk(&scratch);
    client.look_up(&scratch, &mut other, &rows[1..]).unwrap();
    assert_eq!(other.asked.iter().sum::<usize>(), rows.len() - 1);
    // Damaged records are not used, and their items are asked for again.
    for (change, left) in [
        (bytes[..bytes.len() - 1].to_vec(), 183),
        (bytes[..40].to_vec(), 233),
        ([&bytes[..70], &[bytes[70] ^ 1], &bytes[71..]].concat(), 233),
        ([&bytes[bytes.len() / 2..], &bytes[..bytes.len() / 2]].concat(), 233),
        (vec![0xff; 100], 233),
    ] {
        fs::write(kept, change).unwrap();
        let mut desk = desk(&scratch);
        assert_eq!(client.look_up(&scratch, &mut desk, &rows).unwrap(), undisturbed);
        assert_eq!(desk.asked.iter().sum::<usize>(), left);
        assert!(client.kept(&scratch, "lookup-").is_empty());
    }
    fs::write(kept, &bytes).unwrap();
    let mut last = desk(&scratch);
    assert_eq!(client.look_up(&scratch, &mut last, &rows).unwrap(), undisturbed);
    assert_eq!(last.asked, [50, 50, 33]);
    assert!(client.kept(&scratch, "lookup-").is_empty());
    // The stored files contain neither values nor keys in the clear.
    let public = fs::read_dir(scratch.path().join("public")).unwrap().flatten();
    assert!(public.count() > 0 && !bytes.windows(11).any(|window| window == b"example.org"));
    let few = &rows[..63];
    let mut desk = desk(&scratch);
    desk.replies = [None, Some(Reply::Lost)].into();
    client.look_up(&scratch, &mut desk, few).unwrap_err();
    assert!(
        client.kept(&scratch, "lookup-").is_empty(),
        "few keys can be guessed, so nothing may be stored"
    );
}

#[test]
fn a_lookup_takes_what_it_may_ask_and_waits_for_the_rest() {
    let scratch = published(&table(0..300));
    let members = addresses(0..100);
    let rows: Vec<_> = members.iter().map(String::as_str).collect();
    let (client, mut desk) = (Client::new(), desk(&scratch));
    let later = |seconds| Some(Reply::Later(Duration::from_secs(seconds)));
    desk.most = 30;
    desk.replies = [None, later(3), later(0), None, None, later(40)].into();
    let (found, _) = client.look_up(&scratch, &mut desk, &rows).unwrap();
    assert_eq!((found.matches, &desk.asked[..]), (100, &[25, 25, 25, 25][..]));
    assert_eq!(desk.paused, Duration::from_secs(44));
    assert_eq!(*client.warnings.lock().unwrap(), vec!["waits to ask"; 44]);
    // A wait that would be too long ends the lookup with the reason. It resumes later from here.
    desk.replies = [None, later(3500), later(200)].into();
    let error = client.look_up(&scratch, &mut desk, &rows).unwrap_err().to_string();
    assert!(error.contains("too fast"), "{error}");
    desk.asked.clear();
    client.look_up(&scratch, &mut desk, &rows).unwrap();
    assert_eq!(desk.asked, [25; 3]);
    // The server accepts no question of any size.
    desk.most = 0;
    let error = client.look_up(&scratch, &mut desk, &rows).unwrap_err().to_string();
    assert!(error.contains("too many"), "{error}");
}

/// A disk may damage data after it was checked. Any flipped bit is noticed, and the part is fetched again.
#[test]
fn a_part_that_was_damaged_on_the_disk_is_noticed() {
    let scratch = published(&table(0..300));
    let members = addresses(0..300);
    let rows: Vec<_> = members.iter().map(String::as_str).collect();
    let client = Client::new();
    let look_up = || client.look_up(&scratch, &mut desk(&scratch), &rows);
    let clean = look_up().unwrap();
    assert_eq!(clean.0.matches, 300);
    let [part] = &client.kept(&scratch, ".part")[..] else { panic!("there is one part") };
    let good = fs::read(part).unwrap();
    let mut noticed = 0;
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        fs::write(part, bytes).unwrap();
        match look_up() {
            // The digests at its beginning are wrong, so the part is fetched again at once.
            Ok(found) => assert!(at < 32 && found == clean, "byte {at}"),
            Err(error) => {
                assert!(error.to_string().contains("damaged on this machine"), "{error}");
                assert_eq!(error.class(), Class::Input);
                noticed += 1;
            }
        }
        assert_eq!(look_up().unwrap(), clean, "byte {at}");
    }
    assert!(noticed > 35, "{noticed}");
}

#[test]
fn null_values_are_the_clients_own() {
    let scratch = Scratch::new(false);
    let job = super::publish::Publication {
        null_values: NullValues::new(["ann@example.org"]).unwrap(),
        ..scratch.job(&table(0..9))
    };
    scratch.publish(&job).unwrap();
    let mut desk = desk(&scratch);
    let error = Client::new().look_up(&scratch, &mut desk, &["ann@example.org"]).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("--null-values") && said.contains("ann@example.org"), "{said}");
    assert_eq!((error.class(), desk.asked.len()), (Class::Terms, 0));
}
