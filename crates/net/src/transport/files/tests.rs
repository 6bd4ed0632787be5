use tempfile::TempDir;

use super::*;
use crate::transport::is_blocked;

const GRACE: Duration = Duration::from_millis(150);

fn pair() -> (TempDir, Files, Files) {
    let directory = tempfile::tempdir().unwrap();
    let open = |side| Files::open(directory.path(), side).unwrap().with_grace(GRACE);
    let (a, b) = (open(Side::A), open(Side::B));
    (directory, a, b)
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
fn what_was_never_read_is_removed_when_both_have_ended() {
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

#[test]
fn each_side_refuses_its_own_left_overs_and_those_meant_for_an_earlier_run() {
    let (directory, mut a, mut b) = pair();
    assert_eq!(receive::<0>(&mut b), []);
    assert!(is_blocked(&b.read(&mut [0]).unwrap_err()), "b has met a");
    send(&mut b, b"for the a of this run");
    // Killed: neither side says that it ends.
    std::mem::forget((b, a.flush()));
    std::mem::forget(a);
    for side in [Side::A, Side::B] {
        let error = Files::open(directory.path(), side).err().unwrap();
        assert!(matches!(&error, Error::LeftOver { .. }), "{error}");
        assert!(error.to_string().contains("b-000000000"), "{error}");
    }
}

#[test]
fn a_party_that_starts_again_is_not_taken_for_the_one_before() {
    let (directory, mut a, b) = pair();
    assert!(is_blocked(&a.read(&mut [0]).unwrap_err()));
    std::mem::forget(b);
    let mut again = Files::open(directory.path(), Side::B).unwrap();
    // By chance it is at the number that the other side waits for.
    send(&mut again, b"of another run");
    let error = failure(&mut a);
    assert!(error.to_string().ends_with("b-0000000001.vesica belongs to another run"), "{error}");
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
    std::mem::forget(a);
    assert!(matches!(Files::open(directory.path(), Side::A), Err(Error::LeftOver { .. })));
}

#[test]
fn garbage_in_the_place_of_a_file_is_named_after_the_grace_period() {
    let (directory, a, mut b) = pair();
    fs::write(directory.path().join("a-0000000001.vesica"), [7; 1000]).unwrap();
    let started = Instant::now();
    let error = failure(&mut b);
    assert!(started.elapsed() >= GRACE);
    assert!(error.to_string().contains("a-0000000001.vesica is no file"), "{error}");
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
    for _ in 1..MAX_UNREAD {
        send(&mut a, b"x");
    }
    a.write_all(b"x").unwrap();
    assert!(is_blocked(&a.flush().unwrap_err()));
    assert_eq!(&receive(&mut b), b"x");
    a.flush().unwrap();
    assert_eq!(receive::<31>(&mut b), [b'x'; 31]);
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
