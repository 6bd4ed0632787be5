//! The files that results may replace, and the permissions of results.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::Path,
};

use crate::harness::{Connecting, Ended, Lab, Listening, Running, ended};

/// Runs only the connecting side, with nobody to connect to.
fn alone(lab: &Lab, flags: &[&str]) -> Ended {
    Running::start(lab.command(Connecting, &["--connect", "127.0.0.1:1"], flags)).end()
}

#[test]
fn nothing_replaces_an_identity_an_input_or_another_result() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    let identity = lab.path("connecting.identity");
    let input = lab.file(Connecting, "in.csv");
    let names = [lab.path("hard in.csv"), lab.path("soft in.csv")];
    let before = [&identity, &input].map(|path| fs::read(path).unwrap());
    for (file, what) in [(&identity, "replace the identity"), (&input, "replace the input")] {
        fs::hard_link(file, &names[0]).unwrap();
        symlink(file, &names[1]).unwrap();
        for name in [file, &names[0], &names[1]] {
            for flag in ["--output", "--report"] {
                alone(&lab, &[flag, name.to_str().unwrap()]).assert(2, &[what]);
            }
        }
        names.iter().for_each(|name| fs::remove_file(name).unwrap());
    }
    let new = lab.path("New");
    let same = lab.path("new");
    let [new, same] = [&new, &same].map(|path| path.to_str().unwrap());
    alone(&lab, &["--output", new, "--report", new]).assert(2, &["would replace the output"]);
    alone(&lab, &["--output", new, "--report", same]).assert(2, &["would replace the output"]);
    // An identity that this run does not use.
    let other = lab.path("listening.identity");
    alone(&lab, &["--output", other.to_str().unwrap()]).assert(3, &["holds a private key"]);
    let calibrated = ["calibrate", "--output", other.to_str().unwrap()];
    ended(&calibrated).assert(3, &["holds a private key"]);
    assert_eq!([&identity, &input].map(|path| fs::read(path).unwrap()), before);
    lab.assert_clean();
}

#[test]
fn nothing_but_files_and_sinks_is_written_to() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    lab.write(Listening, "k\nx\n");
    let socket = lab.path("socket in.csv");
    let held = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    alone(&lab, &["--output", socket.to_str().unwrap()]).assert(3, &["neither a regular file nor"]);
    drop(held);
    alone(&lab, &["--report", "/dev/zero"]).assert(3, &["neither a regular file nor"]);
    let null = ["--output", "/dev/null", "--report", "/dev/null"];
    let [a, b] = lab.run(&null, &["--output", "/dev/stdout", "--report", "/dev/stderr"]);
    a.assert(0, &["1 row written to /dev/null"]);
    b.assert(0, &["\"protocol\": "]);
    assert_eq!(b.out, "k\nx\n");
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    lab.assert_clean();
}

#[test]
fn a_named_pipe_gets_the_rows() {
    let lab = Lab::new();
    lab.write(Connecting, "k\nx\n");
    lab.write(Listening, "k\nx\n");
    let pipe = lab.path("pipe in.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let [a, b] = lab.run(&["--output", pipe.to_str().unwrap()], &[]);
    a.assert(0, &[]);
    b.assert(0, &[]);
    assert_eq!(reader.join().unwrap(), "k\nx\n");
    assert!(!pipe.metadata().unwrap().is_file());
}

#[test]
fn results_have_the_permissions_of_what_they_replace() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let owner = |path: &Path| fs::metadata(path).map(|m| (m.uid(), m.gid())).unwrap();
    let lab = Lab::new();
    for party in [Connecting, Listening] {
        lab.write(party, "k\nx\n");
    }
    let [kept, usual] = ["out.csv", "report.json"].map(|kind| lab.file(Connecting, kind));
    fs::write(&kept, "old").unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    let mine = owner(&kept);
    // Only the superuser can give a file away, and would then write what its owner may read.
    if mine.0 == 0 {
        chown(&kept, Some(1234), Some(4321)).unwrap();
        let [refused, _] = lab.run(&["--wait", "1"], &["--wait", "1"]);
        refused.assert(3, &["the file there belongs to another user or group"]);
        assert_eq!((fs::read(&kept).unwrap(), owner(&kept)), (b"old".to_vec(), (1234, 4321)));
        chown(&kept, Some(mine.0), Some(mine.1)).unwrap();
    }
    lab.run(&[], &[]).iter().for_each(|ended| _ = ended.assert(0, &[]));
    assert_eq!((mode(&kept), owner(&kept)), (0o600, mine));
    assert_eq!(fs::read(&kept).unwrap(), b"k\nx\n");
    assert_eq!(mode(&usual), mode(&lab.file(Connecting, "in.csv")));

    let shares = ["--answer", "shares", "--learns", "nobody"];
    fs::remove_file(&kept).unwrap();
    lab.run(&shares, &shares).iter().for_each(|ended| _ = ended.assert(0, &[]));
    for party in [Connecting, Listening] {
        let expected = if party == Connecting { 0o600 } else { mode(&usual) };
        // The listening side's output was there, from the run before.
        assert_eq!(mode(&lab.file(party, "out.csv")), expected, "{party:?}");
    }
}
