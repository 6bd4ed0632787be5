//! `calibrate`: measures the speed of this machine, for `plan` and for runs that choose their protocol.

use std::{
    fs,
    path::{Path, PathBuf},
};

use vesica::files::{self, Access, Output, Protected};
use vesica_lab::{
    record::results::Measured,
    run::calibrate::{self, Busy},
};
use vesica_planner::Figures;

use crate::{bench, exit::Failure};

#[derive(clap::Args)]
pub struct Args {
    /// Measure every protocol at every size
    ///
    /// A size is measured if it takes no more than --limit seconds. Without this, the quick protocols are measured at
    /// two sizes. It takes many minutes on an otherwise idle machine.
    #[arg(long)]
    full: bool,
    /// With --full: the approximate limit on a run, in seconds
    #[arg(long, default_value_t = 6.0, value_name = "SECONDS", requires = "full")]
    limit: f64,
    /// With --full: measure this protocol only
    #[arg(long, value_name = "NAME", requires = "full")]
    only: Option<String>,
    /// Take the runs from this file of results instead of measuring
    ///
    /// `vesica bench --performance` writes it. Only runs over memory count.
    #[arg(long, value_name = "FILE", conflicts_with = "full")]
    from: Option<PathBuf>,
    /// The file for the figures; - is standard output
    ///
    /// [default: where `plan` and `run` find them, $VESICA_FIGURES or vesica/figures.tsv in the user's cache]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print only errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let to = match &args.output {
        Some(path) => path.clone(),
        None => files::figures_file().ok_or_else(|| {
            Failure::usage(
                "this user has no home directory: name the file for the figures with --output",
            )
        })?,
    };
    let from = args.from.as_ref().map(|path| Protected::new("the results", path));
    files::check_results(&[Protected::new("the output", &to)], from.as_slice(), None)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)
            .map_err(|e| Failure::input(format!("{}: {e}", folder.display())))?;
    }
    let output = Output::prepare(&to, Access::Usual)?;
    let say = |key: &str, left: usize| {
        if !args.quiet {
            crate::say(&format!("{key} ({left} left)"));
        }
    };
    let bug = |error: vesica_lab::Error| match error.downcast_ref::<Busy>() {
        Some(busy) => Failure::input(format!("{busy}; no figures were written")),
        None => Failure::bug(error.to_string()),
    };
    let figures = match &args.from {
        Some(path) => from_results(path)?,
        None => {
            let run = bench::runner().map_err(bug)?;
            match args.full {
                true => calibrate::full(args.only.as_deref(), args.limit, run, say).map_err(bug)?,
                false => calibrate::quick(run, say).map_err(bug)?,
            }
        }
    };
    let text = figures.to_text();
    output.stage(|out| out.write_all(text.as_bytes()))?.commit()?;
    if !args.quiet {
        crate::say(&format!("figures written to {}", to.display()));
    }
    Ok(())
}

/// Returns the figures of runs over memory in a file of results.
fn from_results(path: &Path) -> Result<Figures, Failure> {
    let measured = Measured::read(path).map_err(|error| Failure::input(error.to_string()))?;
    let figures = calibrate::steady_figures(&measured.records)
        .map_err(|busy| Failure::input(format!("{}: {busy}", path.display())))?;
    if figures == Figures::default() {
        let path = path.display();
        return Err(Failure::input(format!("{path}: has no run of a protocol over memory")));
    }
    Ok(figures)
}
