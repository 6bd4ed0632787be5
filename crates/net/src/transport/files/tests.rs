use std::fs;

use tempfile::TempDir;

use super::*;
use crate::transport::is_blocked;

const GRACE: Duration = Duration::from_millis(150);

fn folder(directory: &TempDir) -> Box<dyn Folder> {
    Box::new(Directory::new(directory.path()))
}

fn pair() -> (TempDir, Files, Files) {
    let directory = tempfile::tempdir().unwrap();
    let open = |side| Files::open(directory.path(), side).unwrap().with_grace(GRACE);
    let (mut a, mut b) = (open(Side::A), open(Side::B));
    meet(&mut a, &mut b);
    (directory, a, b)
}

/// Lets the two find each other.
fn meet(a: &mut Files, b: &mut Files) {
    for _ in 0..3 {
        a.try_join().unwrap();
        b.try_join().unwrap();
    }
    assert!(a.joined && b.joined);
}

/// The process is killed.
fn kill(mut files: Files) {
    files.claim.abandon();
    std::mem::forget(files);
}

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn send(files: &mut Files, bytes: &[u8]) {
    files.write_all(bytes).unwrap();
    files.flush().unwrap();
}

fn receive<const N: usize>(files: &mut Files) -> [u8; N] {
    let mut bytes = [0; N];
    files.read_exact(&mut bytes).unwrap();
    bytes
}

/// The error that reading ends with after the grace period.
fn failure(files: &mut Files) -> io::Error {
    loop {
        match files.read(&mut [0]) {
            Err(error) if is_blocked(&error) => {}
            result => return result.unwrap_err(),
        }
    }
}

#[test]
fn an_orderly_run_leaves_nothing_whoever_ends_first() {
    for a_first in [true, false] {
        let (directory, mut a, mut b) = pair();
        fs::write(directory.path().join("somebody-elses.txt"), "stays").unwrap();
        send(&mut a, b"to b");
        assert_eq!(&receive(&mut b), b"to b");
        send(&mut b, b"to a");
        assert_eq!(&receive(&mut a), b"to a");
        let (first, mut second) = if a_first { (a, b) } else { (b, a) };
        drop(first);
        assert_eq!(second.read(&mut [0]).unwrap(), 0);
        assert_eq!(second.flush().and_then(|()| second.write(b"x")).unwrap(), 1);
        assert_eq!(second.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(second);
        assert_eq!(names(&directory), ["somebody-elses.txt"]);
    }
}

#[test]
fn unread_files_are_removed_when_both_sides_have_ended() {
    let (directory, mut a, mut b) = pair();
    send(&mut a, b"never read");
    send(&mut b, b"never read");
    drop(a);
    drop(b);
    assert_eq!(names(&directory), [""; 0]);
}

#[test]
fn the_end_comes_after_the_last_byte() {
    let (_directory, mut a, mut b) = pair();
    send(&mut a, b"one");
    send(&mut a, b"two");
    drop(a);
    assert_eq!(&receive(&mut b), b"onetwo");
    assert_eq!(b.read(&mut [0]).unwrap(), 0);
}

/// New runs meet and leave nothing, whichever side starts first and whichever files killed runs left.
#[test]
fn files_of_killed_runs_are_removed_by_their_owner() {
    for a_first in [true, false] {
        for killed in [[true, true], [true, false], [false, true]] {
            let (directory, mut a, mut b) = pair();
            send(&mut a, b"for the b of that run");
            send(&mut b, b"for the a of that run");
            for (files, killed) in [a, b].into_iter().zip(killed) {
                if killed { kill(files) } else { drop(files) }
            }
            let open = |side| Files::open(directory.path(), side).unwrap();
            let (mut a, mut b) = if a_first {
                let mut a = open(Side::A);
                assert!(!a.try_join().unwrap(), "nobody of this run is there");
                (a, open(Side::B))
            } else {
                let mut b = open(Side::B);
                assert!(!b.try_join().unwrap(), "nobody of this run is there");
                (open(Side::A), b)
            };
            meet(&mut a, &mut b);
            send(&mut a, b"new");
            assert_eq!(&receive(&mut b), b"new");
            drop(a);
            drop(b);
            assert_eq!(names(&directory), [""; 0]);
        }
    }
}

#[test]
fn a_side_that_nobody_met_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut a = Files::open(directory.path(), Side::A).unwrap();
    assert!(is_blocked(&a.read(&mut [0]).unwrap_err()));
    drop(a);
    assert_eq!(names(&directory), [""; 0]);
}

#[test]
fn two_processes_of_one_party_are_told_from_two_parties_on_one_side() {
    let directory = tempfile::tempdir().unwrap();
    let open = |side, me: &str, peer: &str| {
        let names = PartyNames { me: me.to_owned(), peer: peer.to_owned() };
        Files::open_as(folder(&directory), side, names)
    };
    let mut ann = open(Side::A, "ann", "bob").unwrap();
    let again = open(Side::A, "ann", "bob").err().unwrap();
    assert!(matches!(again, Error::SideInUse { side: 'a', .. }), "{again}");
    assert!(!ann.try_join().unwrap());
    let bob = open(Side::A, "bob", "ann").err().unwrap();
    for error in [bob, ann.try_join().unwrap_err()] {
        assert!(matches!(error, Error::SameSide { side: 'a', .. }), "{error}");
        assert!(error.to_string().starts_with("both sides are `--side a`"), "{error}");
    }
    drop(ann);
    assert_eq!(names(&directory), [""; 0]);
    // If no lock shows it, as in a synchronised folder, the side that was there first notices.
    let mut ann = open(Side::A, "ann", "bob").unwrap();
    fs::remove_file(directory.path().join("a-0000000000.vesica")).unwrap();
    fs::remove_file(directory.path().join("a.vesica-lock")).unwrap();
    let bob = open(Side::A, "bob", "ann").unwrap();
    assert!(matches!(ann.try_join(), Err(Error::SameSide { side: 'a', .. })));
    drop((ann, bob));
}

#[test]
fn a_party_that_changes_sides_removes_what_it_left_on_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let open = |side, me: &str, peer: &str| {
        let names = PartyNames { me: me.to_owned(), peer: peer.to_owned() };
        Files::open_as(folder(&directory), side, names).unwrap()
    };
    kill(open(Side::A, "ann", "bob"));
    let mut ann = open(Side::B, "ann", "bob");
    meet(&mut open(Side::A, "bob", "ann"), &mut ann);
}

#[test]
fn files_of_somebody_else_are_left_alone_and_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a-0000000007.vesica"), "of whom?").unwrap();
    let error = Files::open(directory.path(), Side::A).err().unwrap();
    assert!(matches!(&error, Error::LeftOver { .. }), "{error}");
    assert!(error.to_string().contains("a-0000000007.vesica"), "{error}");
    let names = |me: &str| PartyNames { me: me.to_owned(), peer: "bob".to_owned() };
    let directory = tempfile::tempdir().unwrap();
    let _eve = Files::open_as(folder(&directory), Side::A, names("eve")).unwrap();
    let mut ann = Files::open_as(folder(&directory), Side::B, names("ann")).unwrap();
    assert!(matches!(ann.try_join(), Err(Error::LeftOver { .. })));
}

#[test]
fn a_party_that_starts_again_is_not_taken_for_the_one_before() {
    let (directory, mut a, b) = pair();
    kill(b);
    let mut again = Files::open(directory.path(), Side::B).unwrap();
    assert!(!again.try_join().unwrap());
    let error = failure(&mut a);
    let said = "b-0000000000.vesica shows that the other side has begun another run";
    assert!(error.to_string().ends_with(said), "{error}");
    drop(a);
    let mut a = Files::open(directory.path(), Side::A).unwrap();
    meet(&mut a, &mut again);
}

#[test]
fn a_writer_killed_half_way_leaves_nothing_that_is_read() {
    let (directory, mut a, mut b) = pair();
    send(&mut a, b"whole");
    let half = directory.path().join("a-0000000002.vesica-part");
    fs::write(half, b"vesica-1 and then nothing").unwrap();
    assert_eq!(&receive(&mut b), b"whole");
    let started = Instant::now();
    while started.elapsed() < 2 * GRACE {
        assert!(is_blocked(&b.read(&mut [0]).unwrap_err()));
    }
    kill(a);
    drop(b);
    drop(Files::open(directory.path(), Side::A).unwrap());
    assert_eq!(names(&directory).iter().filter(|name| name.starts_with("a-")).count(), 0);
}

#[test]
fn garbage_in_the_place_of_a_file_is_named_after_the_grace_period() {
    let (directory, a, mut b) = pair();
    fs::write(directory.path().join("a-0000000001.vesica"), [7; 1000]).unwrap();
    let started = Instant::now();
    let error = failure(&mut b);
    assert!(started.elapsed() >= GRACE);
    assert!(error.to_string().contains("a-0000000001.vesica is not a file"), "{error}");
    drop(a);
}

#[test]
fn a_file_that_comes_piecemeal_or_late_is_waited_for() {
    let (directory, mut a, b) = pair();
    let mut b = b.with_grace(Duration::from_secs(3600));
    send(&mut a, b"first");
    send(&mut a, b"second");
    let path = directory.path().join("a-0000000001.vesica");
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(is_blocked(&b.read(&mut [0]).unwrap_err()));
    for piece in [0, 20, whole.len() - 1] {
        fs::write(&path, &whole[..piece]).unwrap();
        assert!(is_blocked(&b.read(&mut [0]).unwrap_err()));
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(&receive(&mut b), b"firstsecond");
}

#[test]
fn a_missing_number_is_named() {
    for ended in [false, true] {
        let (directory, mut a, mut b) = pair();
        for bytes in [b"1", b"2", b"3"] {
            send(&mut a, bytes);
        }
        fs::remove_file(directory.path().join("a-0000000002.vesica")).unwrap();
        match ended {
            true => drop(a),
            false => std::mem::forget(a),
        }
        assert_eq!(&receive(&mut b), b"1");
        let error = failure(&mut b);
        assert!(error.to_string().contains("a-0000000002.vesica is missing"), "{error}");
    }
}

#[test]
fn a_writer_waits_for_a_reader_that_falls_behind() {
    let (_directory, mut a, mut b) = pair();
    for _ in 0..MAX_UNREAD {
        send(&mut a, b"x");
    }
    a.write_all(b"x").unwrap();
    assert!(is_blocked(&a.flush().unwrap_err()));
    assert_eq!(&receive(&mut b), b"x");
    a.flush().unwrap();
    assert_eq!(receive::<32>(&mut b), [b'x'; 32]);
}

#[test]
fn a_large_write_becomes_files_of_bounded_size() {
    let (directory, mut a, mut b) = pair();
    let sent: Vec<u8> = (0..2 * MAX_PAYLOAD + 5).map(|i| i as u8).collect();
    send(&mut a, &sent);
    assert_eq!(names(&directory).iter().filter(|n| n.starts_with("a-")).count(), 4);
    let mut received = vec![0; sent.len()];
    b.read_exact(&mut received).unwrap();
    assert!(sent == received);
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let error = Files::open("/nowhere/at/all", Side::A).err().unwrap();
    assert!(error.to_string().starts_with("the directory /nowhere/at/all cannot be used"));
}

/// Another user of the directory puts a pipe or a link in the place of each file: it is refused at once, and nothing
/// is written where a link leads.
#[cfg(target_os = "linux")]
#[test]
fn links_and_pipes_are_neither_followed_nor_waited_for() {
    use std::{os::unix::fs::symlink, process::Command};
    type Plant = fn(&Path, &Path);
    let plant_pipe: Plant = |at, _| {
        assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
    };
    let plant_link: Plant = |at, to| symlink(to, at).unwrap();
    let plants: [(&str, Plant); 2] = [("pipe", plant_pipe), ("link", plant_link)];
    for name in
        ["a.vesica-lock", "b-0000000000.vesica", "a-0000000000.vesica", "a-0000000000.vesica-part"]
    {
        for (kind, plant) in plants {
            let (directory, elsewhere) =
                (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let created = elsewhere.path().join("created");
            plant(&directory.path().join(name), &created);
            let opened = Files::open(directory.path(), Side::A);
            // The other side may still write its hello.
            match opened {
                Ok(mut files) => {
                    assert!(name.starts_with("b-") && !files.try_join().unwrap(), "{name}: {kind}")
                }
                Err(error) => {
                    let known = matches!(error, Error::Directory { .. } | Error::LeftOver { .. });
                    assert!(known && !name.starts_with("b-"), "{name}: {kind}: {error}");
                }
            }
            assert!(!created.exists(), "{name}: {kind}");
        }
    }
}
