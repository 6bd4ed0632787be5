//! SHA-256 of files, and the list of them that `sha256sum --check` reads.

use std::{fs, path::Path};

use sha2::{Digest, Sha256};

use super::{folder, tool::at};
use crate::Failure;

/// The name of the list.
pub const LIST: &str = "SHA256SUMS";

/// Returns the digest in hexadecimal digits.
pub fn of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the digest of a file.
pub fn of_file(path: &Path) -> Result<String, Failure> {
    fs::read(path).map(|bytes| of(&bytes)).map_err(at(path))
}

/// Writes the list of all other files in this folder.
pub fn write_list(of: &Path) -> Result<(), Failure> {
    let mut list = String::new();
    for name in folder::names(of)?.iter().filter(|name| *name != LIST) {
        list += &format!("{}  {name}\n", of_file(&of.join(name))?);
    }
    folder::write(&of.join(LIST), list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::folder::Scratch;

    #[test]
    fn the_list_has_every_file_but_itself() {
        let scratch = Scratch::new("checksums");
        folder::write(&scratch.path("b"), "abc").unwrap();
        folder::write(&scratch.path("a"), "").unwrap();
        write_list(&scratch.path("")).unwrap();
        write_list(&scratch.path("")).unwrap();
        let list = fs::read_to_string(scratch.path(LIST)).unwrap();
        // The examples of FIPS 180-4.
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
                        ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n";
        assert_eq!(list, expected);
    }
}
