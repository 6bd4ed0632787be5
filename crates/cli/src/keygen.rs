//! `keygen` and `fingerprint`: who this party is.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use vesica_net::Identity;

use crate::exit::Failure;

#[derive(clap::Args)]
pub struct KeygenArgs {
    /// Where to put the identity; a file that exists is never overwritten
    file: PathBuf,
}

#[derive(clap::Args)]
pub struct FingerprintArgs {
    /// The identity, made by `vesica keygen`
    file: PathBuf,
}

/// Makes an identity, readable by its owner only.
pub fn keygen(args: &KeygenArgs) -> Result<(), Failure> {
    let identity = generate(&args.file)?;
    crate::print(&format!("{}\n", identity.fingerprint()))?;
    crate::say(&format!(
        "The identity is in {}; keep that file secret. The line above is its fingerprint: tell it \
         to the other party over a channel you trust, and ask for theirs.",
        args.file.display()
    ));
    Ok(())
}

/// Prints who an identity is.
pub fn fingerprint(args: &FingerprintArgs) -> Result<(), Failure> {
    crate::print(&format!("{}\n", load(&args.file)?.fingerprint()))
}

/// A new identity, in a new file.
pub fn generate(file: &Path) -> Result<Identity, Failure> {
    let identity = Identity::generate().map_err(|e| Failure::bug(e.to_string()))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut out| {
        out.write_all(identity.to_pem().as_bytes())?;
        out.sync_all()
    });
    match written {
        Ok(()) => Ok(identity),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::input(format!(
            "{}: exists already, and an identity is never overwritten; choose another name, or \
             show it with `vesica fingerprint`",
            file.display()
        ))),
        Err(error) => {
            Err(Failure::input(format!("{}: cannot be written: {error}", file.display())))
        }
    }
}

/// The identity in a file.
pub fn load(file: &Path) -> Result<Identity, Failure> {
    let failed = |what: String| Failure::input(format!("{}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|e| failed(format!("cannot be read: {e}")))?;
    warn_if_shared(file);
    Identity::from_pem(&text).map_err(|e| failed(e.to_string()))
}

#[cfg(unix)]
fn warn_if_shared(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(file).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        crate::say(&format!(
            "vesica: warning: {0} can be read by other users; protect it with `chmod 600 {0}`",
            file.display()
        ));
    }
}

#[cfg(not(unix))]
fn warn_if_shared(_file: &Path) {}
