//! Journals and their faults.

use vesica_core::{error::Class, of_others::OfOthers};

use super::*;

fn run() -> Run {
    let (program, terms) = ("1".to_owned(), "t".to_owned());
    Run { program, terms, input: Some("i".to_owned()), rows: 7, keys: 5 }
}

fn begun() -> Begun {
    Begun {
        peer_keys: OfOthers::One(9),
        method: "rr22".to_owned(),
        partitions: 4,
        seed: [3; 32],
        line: Some(8),
    }
}

fn resume(folder: &tempfile::TempDir) -> Resume {
    let journal = folder.path().join("journal");
    Resume { journal, secret: JournalSecret([1; 32]) }
}

fn refused(result: Result<impl Sized>) -> String {
    let error = result.err().unwrap();
    assert_eq!(error.class(), Class::Input);
    error.to_string()
}

fn begin(journal: &mut Journal, begun: Begun, done: u64) -> Result<Vec<Vec<u8>>> {
    let mut pieces = Vec::new();
    journal.begin(run(), begun, done, |piece| {
        pieces.push(piece.to_vec());
        Ok(())
    })?;
    Ok(pieces)
}

#[test]
fn pieces_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    let mut journal = Journal::open(&resume).unwrap();
    assert!(journal.begun(&run()).unwrap().is_none());
    assert!(begin(&mut journal, begun(), 0).unwrap().is_empty());
    for piece in [&b"first"[..], b"", b"third"] {
        journal.add(piece).unwrap();
    }
    assert!(refused(Journal::open(&resume)).contains("another run uses it"));
    drop(journal);
    let mut journal = Journal::open(&resume).unwrap();
    assert_eq!(journal.begun(&run()).unwrap(), Some(begun()));
    assert_eq!((journal.done(), journal.attempts()), (3, 1));
    assert_eq!(journal.found(), Some(&(run(), begun())));
    // The other side has done two.
    let pieces = begin(&mut journal, begun(), 2).unwrap();
    assert_eq!(pieces.iter().map(|piece| &piece[..]).collect::<Vec<_>>(), [&b"first"[..], b""]);
    assert_eq!((journal.done(), journal.attempts()), (2, 2));
    journal.add(b"third again").unwrap();
    drop(journal);
    let mut journal = Journal::open(&resume).unwrap();
    assert_eq!((journal.done(), journal.attempts()), (3, 2));
    let pieces = begin(&mut journal, begun(), 3).unwrap();
    assert_eq!(pieces[2], b"third again");
    drop(journal);
    // The run begins again, since the other side never knew of it.
    let again = Begun { seed: [4; 32], ..begun() };
    begin(&mut Journal::open(&resume).unwrap(), again.clone(), 0).unwrap();
    let journal = Journal::open(&resume).unwrap();
    assert_eq!(journal.begun(&run()).unwrap(), Some(again));
    assert_eq!((journal.done(), journal.attempts()), (0, 4));
    journal.remove();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The sessions of a run have the same tokens of rows, and another run has others.
#[test]
fn tokens_are_those_of_the_journal() {
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let token = |folder| Journal::open(&resume(folder)).unwrap().token_secret().token(5);
    let [first, other] = folders.each_ref().map(token);
    assert_eq!(token(&folders[0]), first);
    assert_ne!(first, other);
}

/// Commitments outlast everything except a run that starts over, regardless of the other side's progress.
#[test]
fn commitments_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    let all = BTreeMap::from([(0, [[1; 32], [2; 32]]), (3, [[3; 32], [4; 32]])]);
    let mut journal = Journal::open(&resume).unwrap();
    begin(&mut journal, begun(), 0).unwrap();
    let secret = |journal: &Journal, seed: [u8; 32]| *journal.secret_for("test", &seed);
    let first = secret(&journal, begun().seed);
    journal.begins(0, Some(all[&0])).unwrap();
    journal.add(b"first").unwrap();
    journal.begins(3, Some(all[&3])).unwrap();
    journal.begins(3, Some(all[&3])).unwrap();
    for done in [1, 0, 0] {
        drop(journal);
        journal = Journal::open(&resume).unwrap();
        assert_eq!(*journal.committed(), all);
        assert_eq!(begin(&mut journal, begun(), done).unwrap().len() as u64, done);
        assert_eq!(*journal.committed(), all);
    }
    assert_eq!(secret(&journal, begun().seed), first);
    assert_ne!(secret(&journal, [0; 32]), first);
    begin(&mut journal, Begun { seed: [4; 32], ..begun() }, 0).unwrap();
    assert!(journal.committed().is_empty());
    drop(journal);
    assert!(Journal::open(&resume).unwrap().committed().is_empty());
}

/// The attempts and the other side's confirmations outlast everything except a run that starts over.
#[test]
fn attempts_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    let mut journal = Journal::open(&resume).unwrap();
    begin(&mut journal, begun(), 0).unwrap();
    journal.confirm(2, false).unwrap();
    journal.begins(1, None).unwrap();
    journal.confirm(3, false).unwrap();
    journal.reveals(1).unwrap();
    let found = |journal: &Journal| (journal.tried(1), journal.peer_done(), journal.repeated());
    assert_eq!(found(&journal), (Tried { begun: 1, revealed: 1 }, 3, 0));
    drop(journal);
    // Confirmations are on the disk with the next partition that begins, or at once.
    let mut journal = Journal::open(&resume).unwrap();
    assert_eq!(found(&journal), (Tried { begun: 1, revealed: 1 }, 2, 0));
    begin(&mut journal, begun(), 0).unwrap();
    journal.begins(1, None).unwrap();
    journal.reveals(1).unwrap();
    journal.confirm(4, true).unwrap();
    drop(journal);
    let mut journal = Journal::open(&resume).unwrap();
    assert_eq!(found(&journal), (Tried { begun: 2, revealed: 2 }, 4, 1));
    assert_eq!(journal.tried(0), Tried::default());
    // The same run may have another line in the ledger.
    begin(&mut journal, Begun { line: None, ..begun() }, 0).unwrap();
    assert_eq!(found(&journal), (Tried { begun: 2, revealed: 2 }, 4, 1));
    begin(&mut journal, Begun { seed: [4; 32], ..begun() }, 0).unwrap();
    drop(journal);
    assert_eq!(found(&Journal::open(&resume).unwrap()), (Tried::default(), 0, 0));
}

#[test]
fn the_line_of_the_ledger_is_read_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    assert_eq!(Journal::line(&resume).unwrap(), None);
    assert!(!resume.journal.exists());
    let mut journal = Journal::open(&resume).unwrap();
    begin(&mut journal, begun(), 0).unwrap();
    assert!(refused(Journal::line(&resume)).contains("another run uses it"));
    drop(journal);
    assert_eq!(Journal::line(&resume).unwrap(), Some(8));
}

#[test]
fn a_foreign_file_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    for text in [&b"k,n\na,1\n"[..], &[b'x'; 500]] {
        std::fs::write(&resume.journal, text).unwrap();
        assert!(refused(Journal::open(&resume)).contains("it is not a journal"));
        assert_eq!(std::fs::read(&resume.journal).unwrap(), text);
    }
}

#[test]
fn another_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    begin(&mut Journal::open(&resume).unwrap(), begun(), 0).unwrap();
    let journal = Journal::open(&resume).unwrap();
    for (other, said) in [
        (Run { program: "2".to_owned(), ..run() }, "the version of the program changed"),
        (Run { terms: "u".to_owned(), ..run() }, "the terms or the other side changed"),
        (Run { input: Some("j".to_owned()), ..run() }, "the input changed"),
        (Run { rows: 8, ..run() }, "the input changed"),
        (Run { keys: 4, ..run() }, "the keys changed"),
    ] {
        assert!(refused(journal.begun(&other)).contains(said));
    }
    drop(journal);
    let other = Resume { secret: JournalSecret([2; 32]), ..resume };
    assert!(refused(Journal::open(&other)).contains("belongs to another identity"));
}

/// If the file is cut at any length or any byte is changed, a journal is read up to a whole record or refused.
#[test]
fn cut_and_changed_journals() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    let mut journal = Journal::open(&resume).unwrap();
    begin(&mut journal, begun(), 0).unwrap();
    journal.add(b"first").unwrap();
    journal.add(b"second").unwrap();
    drop(journal);
    let whole = std::fs::read(&resume.journal).unwrap();
    for len in 0..whole.len() {
        std::fs::write(&resume.journal, &whole[..len]).unwrap();
        let mut journal = Journal::open(&resume).unwrap();
        let done = journal.done();
        assert!(done < 2);
        if journal.begun(&run()).unwrap().is_some() {
            assert_eq!(begin(&mut journal, begun(), done).unwrap().len() as u64, done);
        }
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&resume.journal, &changed).unwrap();
        let Ok(mut journal) = Journal::open(&resume) else { continue };
        let done = journal.done();
        let Ok(Some(_)) = journal.begun(&run()) else { continue };
        if let Ok(pieces) = begin(&mut journal, begun(), done) {
            let expected = [&b"first"[..], b"second"];
            assert!(pieces.iter().zip(expected).all(|(piece, expected)| piece[..] == *expected));
        }
    }
}

/// A record is bound to its position: two pieces of one length cannot be exchanged unnoticed.
#[test]
fn pieces_do_not_change_places() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    let mut journal = Journal::open(&resume).unwrap();
    begin(&mut journal, begun(), 0).unwrap();
    journal.add(b"first").unwrap();
    let middle = journal.end as usize;
    journal.add(b"other").unwrap();
    drop(journal);
    let whole = std::fs::read(&resume.journal).unwrap();
    let len = whole.len() - middle;
    let (before, pieces) = whole.split_at(middle - len);
    let exchanged = [before, &pieces[len..], &pieces[..len]].concat();
    assert_eq!((exchanged.len(), len), (whole.len(), FRAME + 5));
    std::fs::write(&resume.journal, exchanged).unwrap();
    let mut journal = Journal::open(&resume).unwrap();
    assert_eq!(journal.done(), 2);
    assert!(refused(begin(&mut journal, begun(), 2)).contains("it was changed"));
}

#[test]
fn a_journal_is_a_regular_file_of_one_identity() {
    let one = Identity::generate().unwrap();
    let secrets = [&one, &one, &Identity::generate().unwrap()].map(JournalSecret::of);
    assert_eq!(secrets[0].0, secrets[1].0);
    assert_ne!(secrets[0].0, secrets[2].0);
    assert_eq!(format!("{:?}", secrets[0]), "JournalSecret(..)");
    #[cfg(unix)]
    {
        let nothing = Resume { journal: "/dev/null".into(), secret: JournalSecret([1; 32]) };
        assert!(refused(Journal::open(&nothing)).contains("it is not a regular file"));
    }
}

/// Another user may have put something in its place, in a directory that both can write to.
#[cfg(unix)]
#[test]
fn a_journal_is_not_written_through_a_link_nor_into_the_file_of_another_user() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (resume, other) = (resume(&folder), folder.path().join("other"));
    for is_there in [false, true] {
        if is_there {
            std::fs::write(&other, "").unwrap();
        }
        symlink(&other, &resume.journal).unwrap();
        assert!(refused(Journal::open(&resume)).contains("it is not a regular file"));
        assert_eq!(std::fs::read(&other).unwrap_or_default(), b"");
        std::fs::remove_file(&resume.journal).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(&resume.journal).status().unwrap().success());
    assert!(refused(Journal::open(&resume)).contains("it is not a regular file"));
    std::fs::remove_file(&resume.journal).unwrap();
    std::fs::write(&resume.journal, "").unwrap();
    // Only the superuser can make a file of somebody else.
    if std::fs::metadata(&other).unwrap().uid() == 0 {
        chown(&resume.journal, Some(12345), None).unwrap();
        assert!(refused(Journal::open(&resume)).contains("it belongs to another user"));
        assert_eq!(std::fs::read(&resume.journal).unwrap(), b"");
    }
}

#[test]
fn the_number_of_attempts_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let resume = resume(&folder);
    for _ in 0..MOST_ATTEMPTS {
        let mut journal = Journal::open(&resume).unwrap();
        journal.begun(&run()).unwrap();
        begin(&mut journal, begun(), 0).unwrap();
    }
    let journal = Journal::open(&resume).unwrap();
    assert!(refused(journal.begun(&run())).contains("attempted 100 times"));
}

/// A journal of two parties is as it was before several could keep one.
#[test]
fn facts_of_two_parties_have_one_number_of_keys() {
    let seed = ["3"; 32].join(",");
    let text =
        format!(r#"{{"peer_keys":9,"method":"rr22","partitions":4,"seed":[{seed}],"line":8}}"#);
    assert_eq!(serde_json::to_string(&begun()).unwrap(), text);
    assert_eq!(serde_json::from_str::<Begun>(&text).unwrap(), begun());
    let several = Begun { peer_keys: OfOthers::Several(vec![9, 7]), ..begun() };
    let text = serde_json::to_string(&several).unwrap();
    assert_eq!(serde_json::from_str::<Begun>(&text).unwrap(), several);
}
