use super::*;

fn prepare(path: &Path) -> Result<Output> {
    Output::prepare(path, Access::Usual)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    prepare(path)?.stage(|out| out.write_all(content))?.commit()
}

fn listing(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn nothing_is_seen_before_the_end() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("it's a; \"result\" .csv");
    let staged = prepare(&path).unwrap().stage(|out| out.write_all(b"x")).unwrap();
    assert!(!path.exists());
    #[cfg(target_os = "linux")]
    assert_eq!(listing(scratch.path()), [""; 0]);
    staged.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[test]
fn a_dropped_result_leaves_no_trace() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    drop(prepare(&path).unwrap().stage(|out| out.write_all(b"x")).unwrap());
    let failing = prepare(&path).unwrap().stage(|_| Err(io::ErrorKind::Other.into()));
    assert!(matches!(failing, Err(Error::Output { .. })));
    assert_eq!(listing(scratch.path()), [""; 0]);
}

/// Tests names taken before the work or during it, and files with and without a name meanwhile.
#[test]
fn a_new_file_takes_no_other_place() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    let staged = |path: &Path| {
        let new = Output::prepare_new(path, Access::Usual).unwrap();
        new.stage(|out| out.write_all(b"new")).unwrap()
    };
    let (first, second) = (staged(&path), staged(&path));
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert!(error.to_string().contains("exists"), "{error}");
    assert!(Output::prepare_new(&path, Access::Usual).is_err());
    assert_eq!(listing(scratch.path()), ["out"]);
    let temporary = tempfile::NamedTempFile::new_in(scratch.path()).unwrap();
    let named = Draft::Named(File::open(temporary.path()).unwrap(), temporary.into_temp_path());
    let published = named.publish(&path, scratch.path(), false);
    assert_eq!(published.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    #[cfg(unix)]
    {
        let dangling = scratch.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        assert!(Output::prepare_new(&dangling, Access::Usual).is_err());
    }
}

#[test]
fn an_existing_file_is_replaced() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    fs::write(&path, "old and longer").unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(listing(scratch.path()), ["out"]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_are_as_a_user_expects() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = tempfile::tempdir().unwrap();
    let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
    fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    write(&link, b"new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
    let plain = scratch.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), mode(&plain));
    let new = scratch.path().join("new");
    write(&new, b"rows").unwrap();
    assert_eq!(mode(&new), mode(&plain));
    for kept in [0o600, 0o640, 0o664] {
        fs::set_permissions(&real, fs::Permissions::from_mode(kept)).unwrap();
        write(&link, b"newer").unwrap();
        assert_eq!(mode(&real), kept);
    }
    let secret = scratch.path().join("secret");
    let shares = Output::prepare(&secret, Access::Owner).unwrap();
    shares.stage(|out| out.write_all(b"x")).unwrap().commit().unwrap();
    assert_eq!(mode(&secret), 0o600);
}

/// Only the superuser can give a file away, and so create one that belongs to somebody else.
#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_group_and_other_users_files_are_refused() {
    use std::os::unix::fs::{MetadataExt, chown};
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    fs::write(&path, "old").unwrap();
    let owner = |path: &Path| fs::metadata(path).map(|m| (m.uid(), m.gid())).unwrap();
    let before = owner(&path);
    if before.0 != 0 {
        return write(&path, b"new").unwrap();
    }
    chown(&path, None, Some(54321)).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!((owner(&path), fs::read(&path).unwrap()), ((0, 54321), b"new".to_vec()));
    chown(&path, Some(12345), None).unwrap();
    let error = write(&path, b"newer").unwrap_err().to_string();
    assert!(error.contains("belongs to another user"), "{error}");
    assert_eq!((owner(&path), fs::read(&path).unwrap()), ((12345, 54321), b"new".to_vec()));
    assert_eq!(listing(scratch.path()), ["out"]);
}

/// The system does not follow such a link, and so the program must not.
#[cfg(target_os = "linux")]
#[test]
fn another_users_link_in_a_shared_directory_is_not_followed() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
    let scratch = tempfile::tempdir().unwrap();
    let (shared, mine) = (scratch.path().join("shared"), scratch.path().join("mine"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(&mine, "precious").unwrap();
    let link = shared.join("link");
    symlink(&mine, &link).unwrap();
    write(&link, b"my own").unwrap();
    assert_eq!(fs::read(&mine).unwrap(), b"my own");
    if fs::metadata(&mine).unwrap().uid() != 0 {
        return;
    }
    lchown(&link, Some(12345), Some(54321)).unwrap();
    for name in ["link", "sub/../link", "./link"] {
        fs::create_dir_all(shared.join("sub")).unwrap();
        let error = write(&shared.join(name), b"x").unwrap_err().to_string();
        assert!(error.contains("another user's link"), "{name}: {error}");
    }
    assert_eq!(fs::read(&mine).unwrap(), b"my own");
    // If only this user may write, this user has allowed the link.
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    write(&link, b"again").unwrap();
}

#[test]
fn an_unwritable_place_is_found_early() {
    let scratch = tempfile::tempdir().unwrap();
    let missing = scratch.path().join("no").join("such").join("place");
    let error = prepare(&missing).unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
    assert!(prepare(scratch.path()).is_err());
    assert!(prepare(Path::new("/proc/vesica")).is_err());
}
