//! Files with texts that commands read and write: project files, invitations, agreements, records.

use std::{fs, io, path::Path};

use vesica::{
    files::{Access, Output},
    partnership::SignedError,
};

use crate::exit::Failure;

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<String, Failure> {
    let text = match path == Path::new("-") {
        true => io::read_to_string(io::stdin().lock()),
        false => fs::read_to_string(path),
    };
    text.map_err(|e| Failure::input(format!("{}: cannot be read: {e}", path.display())))
}

/// Writes a file that appears whole or not at all.
pub fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let staged =
        Output::prepare(path, Access::Usual)?.stage(|out| out.write_all(text.as_bytes()))?;
    Ok(staged.commit()?)
}

/// Writes a file like [`put`], unless it exists.
pub fn put_new(path: &Path, text: &str) -> Result<(), Failure> {
    let new = Output::prepare_new(path, Access::Usual)?;
    Ok(new.stage(|out| out.write_all(text.as_bytes()))?.commit()?)
}

/// Returns the failure of the document in this file.
pub fn of_file(path: &Path, error: &SignedError) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}
