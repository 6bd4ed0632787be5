//! `keygen` and `fingerprint`: the identity of this party.

use std::path::{Path, PathBuf};

use vesica::files;
use vesica_net::Identity;

use crate::exit::Failure;

#[derive(clap::Args)]
pub struct KeygenArgs {
    /// The file for the identity; an existing file is never overwritten
    file: PathBuf,
}

#[derive(clap::Args)]
pub struct FingerprintArgs {
    /// The identity, created by `vesica keygen`
    file: PathBuf,
}

/// Makes an identity, readable by its owner only.
pub fn keygen(args: &KeygenArgs) -> Result<(), Failure> {
    let identity = generate(&args.file)?;
    crate::print(&format!("{}\n", identity.fingerprint()))?;
    crate::say(&format!(
        "The identity is in {}; keep that file secret. The line above is its fingerprint: send it to the other party over \
         a channel that you trust, and ask for theirs.",
        args.file.display()
    ));
    Ok(())
}

/// Prints the fingerprint of an identity.
pub fn fingerprint(args: &FingerprintArgs) -> Result<(), Failure> {
    crate::print(&format!("{}\n", load(&args.file)?.fingerprint()))
}

/// Creates an identity in a new file.
pub fn generate(file: &Path) -> Result<Identity, Failure> {
    Ok(files::create_identity(file)?)
}

/// Reads the identity in a file.
pub fn load(file: &Path) -> Result<Identity, Failure> {
    let identity = files::load_identity(file)?;
    if files::is_shared(file) {
        crate::say(&format!(
            "vesica: warning: {0} can be read by other users; protect it with `chmod 600 {0}`",
            file.display()
        ));
    }
    Ok(identity)
}
