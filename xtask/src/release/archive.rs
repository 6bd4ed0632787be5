//! Archives that are reproducible byte for byte from the same files.

use std::{path::Path, process::Command};

use super::tool;
use crate::Failure;

/// The options of tar that keep the machine, the user and the time out of an archive.
const REPRODUCIBLE: [&str; 5] =
    ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];

/// Packs the entry `name` of `folder` (`.` for the whole folder), with gzip unless the archive's name ends in `.tar`.
pub fn pack(archive: &Path, folder: &Path, name: &str) -> Result<(), Failure> {
    let plain = archive.extension().is_some_and(|extension| extension == "tar");
    let mut command = Command::new("tar");
    command.args(REPRODUCIBLE).arg(if plain { "-cf" } else { "-czf" }).arg(archive);
    tool::run(command.arg("-C").arg(folder).arg(name), "GNU tar and gzip").map(drop)
}

/// Unpacks an archive into an existing folder.
pub fn unpack(archive: &Path, folder: &Path) -> Result<(), Failure> {
    let mut command = Command::new("tar");
    tool::run(command.arg("-xf").arg(archive).arg("-C").arg(folder), "GNU tar and gzip").map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::release::folder::Scratch;

    #[test]
    fn the_same_files_make_the_same_archive_at_any_time() {
        let scratch = Scratch::new("archive");
        let pack_again = |name: &str, age: u64| {
            let folder = scratch.path(name);
            fs::create_dir_all(folder.join("v/bin")).unwrap();
            for file in ["v/bin/b", "v/a"] {
                fs::write(folder.join(file), file).unwrap();
                let opened = fs::File::options().write(true).open(folder.join(file)).unwrap();
                let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
                opened.set_modified(then).unwrap();
            }
            let archive = scratch.path(&format!("{name}.tar.gz"));
            pack(&archive, &folder, "v").unwrap();
            archive
        };
        let (now, before) = (pack_again("now", 0), pack_again("before", 100_000));
        assert_eq!(fs::read(&now).unwrap(), fs::read(before).unwrap());
        let out = scratch.path("out");
        fs::create_dir(&out).unwrap();
        unpack(&now, &out).unwrap();
        assert_eq!(fs::read(out.join("v/bin/b")).unwrap(), b"v/bin/b");
    }
}
