//! The figures of this machine, which a calibration writes, and which plans and runs read.

use std::{env, fs, io, path::PathBuf};

use vesica_core::error::{Error, Result};
use vesica_planner::Figures;

/// Reads the figures of this machine; empty if it was not calibrated.
///
/// # Errors
/// [`Error::Figures`] for a file that cannot be read or understood.
pub fn figures() -> Result<Figures> {
    let Some(path) = figures_file() else { return Ok(Figures::default()) };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Figures::default()),
        Err(error) => return Err(Error::Figures { path, fault: error.to_string() }),
    };
    Figures::parse(&text).map_err(|error| Error::Figures {
        path,
        fault: format!("{error}; write it again with `vesica calibrate`"),
    })
}

/// Returns the file of the figures; `None` for a user without a home directory.
pub fn figures_file() -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("VESICA_FIGURES").or_else(|| {
        let cache = named("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        Some(cache?.join("vesica/figures.tsv"))
    })
}
