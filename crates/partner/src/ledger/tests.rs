//! Lines that a ledger does not read again, and events that it records once.

use vesica_core::error::Class;
use vesica_keyset::sketch::{Sketch, SketchSecret};
use vesica_net::Identity;
use vesica_normalize::digest::Digest;

use super::*;
use crate::entry::KeptSet;

struct Bench {
    folder: tempfile::TempDir,
    me: Identity,
    about: Subject,
}

impl Bench {
    fn new() -> Self {
        let me = Identity::generate().unwrap();
        let others = OfOthers::One(Identity::generate().unwrap().fingerprint().to_string());
        let about = Subject { agreement: "hash".to_owned(), name: "acme".to_owned(), others };
        Self { folder: tempfile::tempdir().unwrap(), me, about }
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.folder.path().join("vesica.ledger"))
    }

    fn checked(&self) -> PathBuf {
        self.folder.path().join("vesica.ledger.checked")
    }

    /// Begins a run on this set, and returns its line.
    fn begin(&self, set: u32) -> u64 {
        let keys = [Digest::of(&set.to_le_bytes())];
        let sketch = Sketch::of(&SketchSecret::new([7; 32]), &keys);
        let began = |runs: &Runs| {
            let sketch = runs.keep(sketch);
            let peer_keys = OfOthers::One(1);
            Ok(Some(LedgerEvent::Began { keys: 1, peer_keys, sketch, peer_ledger: None }))
        };
        self.ledger().add(&self.me, &self.about, began).unwrap().unwrap()
    }

    fn add(&self, event: LedgerEvent) -> Option<u64> {
        let add = |runs: &Runs| Ok((!runs.repeats(&event, Moment::now())).then_some(event));
        self.ledger().add(&self.me, &self.about, add).unwrap()
    }

    fn history(&self) -> Result<(History, LedgerHead)> {
        self.ledger().history(&self.me)
    }

    /// Returns the history from all lines.
    fn all(&self) -> (History, LedgerHead) {
        let (entries, head) = self.ledger().read(&self.me.certificate()).unwrap();
        let mut history = History::default();
        entries.iter().for_each(|entry| history.add(entry));
        (history, head)
    }
}

fn fault(result: Result<(History, LedgerHead)>) -> String {
    result.err().unwrap().to_string()
}

/// Enough lines that part of them is kept as checked, with some after it.
fn long() -> Bench {
    let bench = Bench::new();
    (0..20).for_each(|set| {
        bench.begin(set);
    });
    assert!(bench.checked().exists());
    bench
}

#[test]
fn lines_that_were_checked_are_not_read_again() {
    let bench = long();
    let all = bench.all();
    assert_eq!(bench.history().unwrap(), all);
    // A byte changes among the checked lines: the next run proceeds, and a reader of all lines finds the change.
    let path = bench.ledger().path().to_owned();
    let mut text = std::fs::read(&path).unwrap();
    text[300] ^= 1;
    std::fs::write(&path, &text).unwrap();
    assert_eq!(bench.history().unwrap(), all);
    assert!(bench.ledger().read(&bench.me.certificate()).is_err());
    // Without the file beside the ledger, or with a file made by somebody else, every line is read.
    let kept = std::fs::read_to_string(bench.checked()).unwrap();
    for content in [String::new(), kept.replacen("lines", "linea", 1), "x".to_owned()] {
        assert!(content != kept);
        std::fs::write(bench.checked(), content).unwrap();
        assert!(fault(bench.history()).contains("line 1 "));
    }
    let other = Bench { me: Identity::generate().unwrap(), ..bench };
    assert!(fault(other.history()).contains("line 1 "));
}

#[test]
fn a_ledger_that_was_cut_or_lost_is_noticed() {
    let bench = long();
    let path = bench.ledger().path().to_owned();
    let text = std::fs::read(&path).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(&path, &text[..first]).unwrap();
    assert!(fault(bench.history()).contains("missing or shorter than before"));
    std::fs::remove_file(&path).unwrap();
    assert!(fault(bench.history()).contains("missing or shorter than before"));
    std::fs::remove_file(bench.checked()).unwrap();
    assert_eq!(bench.history().unwrap().1, LedgerHead::default());
}

/// The same set is kept only once.
#[test]
fn a_set_that_is_compared_again_takes_no_room() {
    let bench = Bench::new();
    let first = bench.begin(1);
    let len = |bench: &Bench| std::fs::metadata(bench.ledger().path()).unwrap().len();
    let one = len(&bench);
    bench.begin(1);
    assert!(len(&bench) - one < 1000, "{one} {}", len(&bench));
    let (entries, _) = bench.ledger().read(&bench.me.certificate()).unwrap();
    let LedgerEvent::Began { sketch, .. } = &entries[1].event else { panic!("{entries:?}") };
    assert_eq!(*sketch, KeptSet::Line(first));
    assert_eq!(bench.history().unwrap().0.of("hash").past(None, None).sketches.len(), 1);
}

#[test]
fn a_call_that_fails_repeatedly_is_recorded_once() {
    let bench = Bench::new();
    let refused = |rule: &str| LedgerEvent::Refused {
        run: None,
        rule: rule.to_owned(),
        reason: format!("at {}", Moment::now()),
    };
    let failed = LedgerEvent::Failed { run: None, class: Class::Network, reason: "x".to_owned() };
    assert_eq!(bench.add(refused("max-runs")), Some(0));
    assert_eq!(bench.add(refused("max-runs")), None);
    assert_eq!(bench.add(refused("hours")), Some(1));
    assert_eq!(bench.add(failed.clone()), Some(2));
    assert_eq!(bench.add(failed.clone()), None);
    // Events in a run are always recorded, and so is the next call after it.
    let run = bench.begin(1);
    let in_run =
        LedgerEvent::Failed { run: Some(run), class: Class::Network, reason: "x".to_owned() };
    assert_eq!([bench.add(in_run.clone()), bench.add(in_run)], [Some(4), Some(5)]);
    assert_eq!(bench.add(failed), Some(6));
}

#[test]
fn a_head_travels() {
    let bench = long();
    let (_, head) = bench.history().unwrap();
    for head in [head, LedgerHead::default()] {
        assert_eq!(LedgerHead::from_bytes(&head.to_bytes()), head);
    }
}
