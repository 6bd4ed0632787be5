//! `keygen` and `fingerprint`: who this party is.

use std::path::{Path, PathBuf};

use vesica::files;
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
    Ok(files::create_identity(file)?)
}

/// The identity in a file.
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
