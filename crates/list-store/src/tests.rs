//! A list made from a table, as a client sees it, through updates, interruptions and new epochs.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use vesica_core::{
    error::{Class, Error},
    observe::{NoObserver, Observer, Progress},
};
use vesica_keyset::key::{Duplicates, KeyColumn, Nulls};
use vesica_list::{
    checker::Checker,
    exchange::{Question, answer},
    head::Head,
    lookup::List,
    value::item,
};
use vesica_net::{CancelToken, Identity};
use vesica_normalize::{encoding::digest_of, normalize::Normalize, null_values::NullValues};
use vesica_table::source::{Delimiter, Dialect, Source};

use super::{
    directory::{HEAD, LOG, ListDirectory},
    publish::{Publication, Published, publish},
};

/// A publisher in its own directory.
pub(super) struct Scratch {
    directory: tempfile::TempDir,
    pub(super) me: Identity,
    labels: bool,
    normalize: Normalize,
}

pub(super) type Table = BTreeMap<String, String>;

pub(super) fn table(keys: impl IntoIterator<Item = u32>) -> Table {
    keys.into_iter().map(|key| (format!("k{key}@example.org"), format!("label {key}"))).collect()
}

impl Scratch {
    pub(super) fn new(labels: bool) -> Self {
        let (directory, me) = (tempfile::tempdir().unwrap(), Identity::generate().unwrap());
        Self { directory, me, labels, normalize: Normalize::EMAIL }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("list")
    }

    pub(super) fn job(&self, table: &Table) -> Publication {
        let rows = table.iter().map(|(key, label)| format!(" {},{label}\n", key.to_uppercase()));
        let text: String = std::iter::once("mail,why\n".to_owned()).chain(rows).collect();
        Publication {
            input: Source::Memory { name: "t.csv".into(), bytes: text.into() },
            dialect: Dialect::from(Delimiter::Comma),
            columns: vec![KeyColumn { name: "mail".into(), normalize: self.normalize.clone() }],
            null_values: NullValues::default(),
            nulls: Nulls::Skip,
            duplicates: Duplicates::First,
            allow_empty: false,
            labels: self.labels.then(|| (vec!["why".to_owned()], 24)),
            directory: self.path(),
            name: "test".to_owned(),
            lambda: 40,
            queries: 1 << 10,
            capacity: Some(1 << 14),
            valid: Duration::from_secs(3600),
            new_epoch: false,
            memory: None,
        }
    }

    pub(super) fn publish(&self, job: &Publication) -> vesica_core::error::Result<Published> {
        let observer: Arc<dyn Observer> = Arc::new(NoObserver);
        let rng = &mut StdRng::seed_from_u64(1);
        publish(job, &self.me, &observer, &CancelToken::default(), rng)
    }

    pub(super) fn published(&self, table: &Table) -> Published {
        self.publish(&self.job(table)).unwrap()
    }

    pub(super) fn head(&self) -> Head {
        Head::read(&fs::read_to_string(self.path().join("public").join(HEAD)).unwrap()).unwrap()
    }

    /// Looks up these keys as a client that sees only published files and answers.
    fn ask(&self, keys: &[&str]) -> Vec<Option<Option<String>>> {
        let (head, rng) = (self.head(), &mut StdRng::seed_from_u64(2));
        let log = fs::read_to_string(self.path().join("public").join(LOG)).unwrap();
        vesica_list::log::check(&log, head.logged(), None).unwrap();
        let files = head.headers().map(|(entry, header)| {
            let file = fs::read(self.path().join("public").join(entry.file_name())).unwrap();
            let mut checker = Checker::new(entry, &header);
            checker.push(&file).unwrap();
            checker.finish().unwrap();
            file
        });
        let list = List::open(head.clone(), files.collect::<Vec<_>>()).unwrap();
        let (normalize, null_values) = (&self.normalize, NullValues::default());
        let digests =
            keys.iter().map(|key| digest_of([(*key, normalize)].into_iter(), &null_values));
        let items = digests.map(|digest| item(digest.unwrap().as_bytes(), &head.public_key.0));
        let question = Question::new(items.collect(), &head, rng).unwrap();
        let key = ListDirectory::open(&self.path()).key(head.epoch).unwrap();
        let answer = answer(&key, &question.bytes(), rng).unwrap();
        let values = question.finish(&answer).unwrap();
        let found = list.look_up(&values).unwrap();
        let text = |label: Vec<u8>| {
            let length = usize::from(label[0]) - 2;
            String::from_utf8(label[2..2 + length].to_vec()).unwrap()
        };
        found.into_iter().map(|found| found.map(|found| found.label.map(text))).collect()
    }

    fn compare(&self, table: &Table) {
        let keys: Vec<_> = (0..1200).step_by(7).map(|key| format!("k{key}@example.org")).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        let expected: Vec<_> = keys
            .iter()
            .map(|key| table.get(*key).map(|label| self.labels.then(|| label.clone())))
            .collect();
        assert!(self.ask(&keys) == expected);
        assert!(expected.iter().flatten().next().is_some());
        assert_eq!(self.head().items, table.len() as u64);
    }

    fn files(&self, of: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path().join(of)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_list_follows_its_table() {
    for labels in [false, true] {
        let scratch = Scratch::new(labels);
        let mut all = table((0..1000).filter(|key| key % 3 == 0));
        let first = scratch.published(&all);
        assert!(first.is_whole);
        assert_eq!((first.changes.added, first.changes.evaluated), (334, 334));
        scratch.compare(&all);
        // Small changes: a delta, for which the function is evaluated only for new items.
        all.retain(|key, _| key != "k21@example.org");
        all.extend(table([7, 14]));
        let second = scratch.published(&all);
        assert!(!second.is_whole);
        let changes = second.changes;
        assert_eq!((changes.added, changes.removed, changes.evaluated), (2, 1, 2));
        assert_eq!(second.head.parts.len(), 2);
        scratch.compare(&all);
        // Only the expiry changes.
        let third = scratch.published(&all);
        assert_eq!(third.head.state, second.head.state);
        assert_eq!(third.changes.evaluated, 0);
        scratch.compare(&all);
        // In a list with labels, a changed label counts as another item.
        all.insert("k42@example.org".to_owned(), "another".to_owned());
        let fourth = scratch.published(&all);
        let expected = u64::from(labels);
        assert_eq!((fourth.changes.added, fourth.changes.removed), (expected, expected));
        assert_eq!(fourth.changes.evaluated, 0);
        scratch.compare(&all);
        // Many new items: one part with all items, in the same epoch.
        all.extend(table(1000..1200));
        let fifth = scratch.published(&all);
        assert!(fifth.is_whole && fifth.head.parts.len() == 1 && fifth.head.epoch == 1);
        assert_eq!(fifth.changes.evaluated, 200);
        scratch.compare(&all);
        let log = fs::read_to_string(scratch.path().join("public").join(LOG)).unwrap();
        assert_eq!(log.lines().count() as u64, fifth.head.log.entries);
    }
}

#[test]
fn a_new_epoch_has_a_new_key() {
    let scratch = Scratch::new(true);
    let all = table(0..600);
    let first = scratch.published(&all);
    let job = Publication { new_epoch: true, queries: 1 << 12, ..scratch.job(&all) };
    let second = scratch.publish(&job).unwrap();
    assert_eq!((second.head.epoch, second.changes.evaluated), (2, 600));
    assert_ne!(second.head.public_key, first.head.public_key);
    assert_eq!(second.head.log.entries, 2);
    scratch.compare(&all);
    // The old epoch's secrets are removed. Its parts remain for clients that are still downloading them.
    assert_eq!(scratch.files("private"), ["epoch-2.seed", "lock", "values-2-0-labelled"]);
    let parts = [&first.head, &second.head].map(|head| head.parts[0].file_name());
    assert!(parts.iter().all(|part| scratch.files("public").contains(part)));
    scratch.publish(&Publication { new_epoch: true, ..job }).unwrap();
    assert!(!scratch.files("public").contains(&parts[0]));
}

#[test]
fn changes_that_need_a_new_epoch_are_refused_by_name() {
    let scratch = Scratch::new(false);
    let all = table(0..300);
    scratch.published(&all);
    let job = scratch.job(&all);
    let column = KeyColumn { name: "mail".into(), normalize: Normalize::LOWER };
    for (job, what) in [
        (Publication { columns: vec![column], ..job.clone() }, "normalisation"),
        (Publication { labels: Some((vec!["why".into()], 24)), ..job.clone() }, "labels"),
        (Publication { lambda: 30, ..job.clone() }, "wrong answers"),
        (Publication { queries: 1 << 12, ..job.clone() }, "queries"),
        (Publication { capacity: Some(1 << 20), ..job.clone() }, "maximum number"),
        (Publication { capacity: None, new_epoch: true, lambda: 128, ..job.clone() }, "128 bits"),
        (Publication { capacity: Some(10), new_epoch: true, ..job.clone() }, "300 distinct keys"),
    ] {
        let error = scratch.publish(&job).unwrap_err();
        assert_eq!(error.class(), Class::Usage);
        assert!(error.to_string().contains(what), "{error}");
    }
    // No refused publication changed the list.
    scratch.compare(&all);
    let stranger = Scratch { me: Identity::generate().unwrap(), ..scratch };
    assert!(matches!(stranger.publish(&job), Err(Error::List(vesica_list::Error::Publisher))));
}

/// Cancels once this many items have been evaluated.
struct Stop(AtomicU64, CancelToken);

impl Observer for Stop {
    fn progress(&self, progress: Progress) {
        if progress.total.is_some() && progress.done >= self.0.load(Ordering::Relaxed) {
            self.1.cancel();
        }
    }
}

#[test]
fn a_publication_that_was_stopped_goes_on() {
    let scratch = Scratch::new(true);
    let all = table(0..1200);
    let mut known = 0;
    for stop in [400, 100, 800] {
        let cancel = CancelToken::default();
        let observer: Arc<dyn Observer> = Arc::new(Stop(AtomicU64::new(stop), cancel.clone()));
        let rng = &mut StdRng::seed_from_u64(stop);
        let error = publish(&scratch.job(&all), &scratch.me, &observer, &cancel, rng).unwrap_err();
        assert_eq!(error.class(), Class::Cancelled);
        assert!(!scratch.path().join("public").join(HEAD).exists());
        known = stop;
    }
    let published = scratch.published(&all);
    // Five partitions of 240 items: three were stored before the cancellation at 800.
    let evaluated = published.changes.evaluated;
    assert!(evaluated < 1200 - known / 2, "{evaluated}");
    scratch.compare(&all);
    // An interrupted update changes nothing.
    let more = table(0..1300);
    let cancel = CancelToken::default();
    cancel.cancel();
    let observer: Arc<dyn Observer> = Arc::new(NoObserver);
    let job = scratch.job(&more);
    assert!(publish(&job, &scratch.me, &observer, &cancel, &mut StdRng::seed_from_u64(3)).is_err());
    scratch.compare(&all);
    scratch.published(&more);
    scratch.compare(&more);
}

/// An attempt may be killed while it sets aside an earlier attempt's values, or while these files are removed.
#[test]
fn records_that_are_not_where_a_note_says_do_not_stop_a_publication() {
    let all = table(0..1200);
    let names = ["values-1-0-labelled", "values-1-0-labelled.begun"];
    type Change = fn(&Path, [&str; 2]) -> io::Result<()>;
    let renamed: Change = |at, [last, begun]| fs::rename(at.join(last), at.join(begun));
    let removed: Change = |at, [last, _]| fs::remove_file(at.join(last));
    let cut: Change = |at, [last, _]| fs::write(at.join(last), [0; 64]);
    for (change, goes_on) in [(renamed, true), (removed, false), (cut, false)] {
        let scratch = Scratch::new(true);
        let cancel = CancelToken::default();
        let observer: Arc<dyn Observer> = Arc::new(Stop(AtomicU64::new(800), cancel.clone()));
        let rng = &mut StdRng::seed_from_u64(1);
        publish(&scratch.job(&all), &scratch.me, &observer, &cancel, rng).unwrap_err();
        change(&scratch.path().join("private"), names).unwrap();
        let published = scratch.published(&all);
        assert_eq!(published.changes.evaluated < 1200, goes_on);
        scratch.compare(&all);
    }
}

#[test]
fn keys_may_be_too_many_for_memory_and_none() {
    let scratch = Scratch::new(true);
    let all = table(0..30_000);
    let job = Publication { memory: Some(1 << 21), capacity: None, ..scratch.job(&all) };
    let published = scratch.publish(&job).unwrap();
    assert_eq!(published.head.capacity, 1 << 15);
    scratch.compare(&all);
    let empty = Scratch::new(false);
    assert_eq!(empty.publish(&empty.job(&table([]))).unwrap_err().class(), Class::Input);
    let job = Publication { allow_empty: true, ..empty.job(&table([])) };
    assert_eq!(empty.publish(&job).unwrap().head.items, 0);
    assert_eq!(empty.ask(&["a@b.c"]), [None]);
    let lock = ListDirectory::create(&empty.path()).unwrap();
    let error = empty.publish(&job).unwrap_err().to_string();
    assert!(error.contains("another process"), "{error}");
    drop(lock);
}

#[cfg(unix)]
#[test]
fn secrets_are_the_owners() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new(false);
    scratch.published(&table(0..10));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let private = scratch.path().join("private");
    assert_eq!((mode(&private), mode(&private.join("epoch-1.seed"))), (0o700, 0o600));
    for name in scratch.files("public") {
        assert_eq!(mode(&scratch.path().join("public").join(name)), 0o644);
    }
    // Nobody may read unpublished files.
    let directory = ListDirectory::open(&scratch.path());
    let draft = directory.draft().unwrap();
    assert_eq!((draft.path().parent().unwrap(), mode(draft.path())), (&*private, 0o600));
    directory.show(draft, "shown").unwrap();
    assert_eq!(mode(&scratch.path().join("public/shown")), 0o644);
}

/// Looks up every kind of key, with the specification's values. A value is found if and only if its normalised form is
/// published, regardless of spelling.
#[test]
fn answers_are_those_of_a_plain_search_for_every_normalisation() {
    let vectors =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/keys.json"));
    let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
    let (mut members, mut strangers) = (0, 0);
    for profile in vectors["profiles"].as_array().unwrap() {
        let name = profile["offered"].as_str().unwrap().rsplit_once('@').unwrap().0;
        let scratch = Scratch { normalize: name.parse().unwrap(), ..Scratch::new(false) };
        let is_key = |value: &&str| {
            let key = [(*value, &scratch.normalize)].into_iter();
            digest_of(key, &NullValues::default()).is_some()
        };
        let values = profile["values"].as_array().unwrap().iter();
        let values = values.map(|value| (&value["value"], &value["normalised"]));
        let values = values.map(|(value, normal)| (value.as_str().unwrap(), normal));
        let values: Vec<_> = values.filter(|(value, _)| is_key(value)).collect();
        // Every third value is published, and all are looked up.
        let published: Vec<_> = values.iter().step_by(3).collect();
        let rows =
            published.iter().map(|(value, _)| format!("\"{}\"\n", value.replace('"', "\"\"")));
        let text: String = std::iter::once("mail\n".to_owned()).chain(rows).collect();
        let input = Source::Memory { name: "t.csv".into(), bytes: text.into() };
        scratch.publish(&Publication { input, ..scratch.job(&Table::new()) }).unwrap();
        let asked: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        for ((value, normal), found) in values.iter().zip(scratch.ask(&asked)) {
            let expected = published.iter().any(|(_, other)| other == normal);
            assert_eq!(found.is_some(), expected, "{name}: {value:?}");
            *if expected { &mut members } else { &mut strangers } += 1;
        }
    }
    assert!(members > 30 && strangers > 20, "{members} members, {strangers} strangers");
}
