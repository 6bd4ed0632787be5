//! The figures of this machine, which `calibrate` writes, and `plan` and `run` read.

use std::{env, fs, path::PathBuf};

use vesica_planner::Figures;

use crate::exit::Failure;

/// The figures of this machine; none if it was not calibrated.
pub fn load() -> Result<Figures, Failure> {
    let Some(path) = stored() else { return Ok(Figures::default()) };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Figures::default()),
        Err(e) => return Err(Failure::input(format!("{}: {e}", path.display()))),
    };
    Figures::parse(&text).map_err(|e| {
        let path = path.display();
        Failure::input(format!("{path}, {e}; write it anew with `vesica calibrate`"))
    })
}

/// The file of the figures; `None` for a user without a home directory.
pub fn stored() -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("VESICA_FIGURES").or_else(|| {
        let cache = named("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        Some(cache?.join("vesica/figures.tsv"))
    })
}
