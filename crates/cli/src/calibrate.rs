//! `calibrate`: how fast this machine is, for `plan` and for runs that choose their protocol.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use vesica::output::Output;
use vesica_lab::calibrate;
use vesica_psi::plan::Figures;

use crate::exit::Failure;

#[derive(clap::Args)]
pub struct Args {
    /// Measure every protocol at every size that takes no more than --limit seconds, not only two sizes of the
    /// quick ones. Takes many minutes on a machine that does nothing else
    #[arg(long)]
    full: bool,
    /// With --full: the longest run, about
    #[arg(long, default_value_t = 6.0, value_name = "SECONDS", requires = "full")]
    limit: f64,
    /// With --full: this protocol alone
    #[arg(long, value_name = "NAME", requires = "full")]
    only: Option<String>,
    /// Where the figures go, `-` for standard output [default: where `plan` and `run` look for them:
    /// $VESICA_FIGURES, or vesica/figures.tsv in the user's cache]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let to = match &args.output {
        Some(path) => path.clone(),
        None => stored().ok_or_else(|| {
            Failure::usage("this user has no home: say where the figures go with --output")
        })?,
    };
    let say = |key: &str, left: usize| {
        if !args.quiet {
            crate::say(&format!("{key} ({left} left)"));
        }
    };
    let figures = match &args.only {
        Some(name) => calibrate::full(name, args.limit).map_err(|e| Failure::bug(e.to_string()))?,
        None if args.full => each_alone(args.limit, say)?,
        None => calibrate::quick(say).map_err(|e| Failure::bug(e.to_string()))?,
    };
    let text = figures.to_text();
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)
            .map_err(|e| Failure::input(format!("{}: {e}", folder.display())))?;
    }
    Output::prepare(&to)?.stage(|out| out.write_all(text.as_bytes()))?.commit()?;
    if !args.quiet {
        crate::say(&format!("figures written to {}", to.display()));
    }
    Ok(())
}

/// Every protocol in a process of its own, so that none is charged for memory that another one used.
fn each_alone(limit: f64, begins: impl Fn(&str, usize)) -> Result<Figures, Failure> {
    let mut figures = Figures::default();
    let names = calibrate::names();
    let program = env::current_exe().map_err(|e| Failure::bug(format!("this program: {e}")))?;
    for (i, name) in names.iter().enumerate() {
        begins(name, names.len() - i);
        let limit = limit.to_string();
        let arguments =
            ["calibrate", "--full", "--quiet", "--output", "-", "--limit", &limit, "--only", name];
        let run = Command::new(&program).args(arguments).stderr(Stdio::inherit()).output();
        let run = run.map_err(|e| Failure::bug(format!("{name}: {e}")))?;
        let text = String::from_utf8_lossy(&run.stdout);
        let parsed = Figures::parse(&text).ok().filter(|_| run.status.success());
        let of_one = parsed.ok_or_else(|| Failure::bug(format!("{name} could not be measured")))?;
        of_one.iter().for_each(|(name, run)| figures.insert(name, run));
    }
    Ok(figures)
}

/// The figures of this machine, or none where nobody has calibrated.
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

/// Where figures are kept.
fn stored() -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("VESICA_FIGURES").or_else(|| {
        let cache = named("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        Some(cache?.join("vesica/figures.tsv"))
    })
}
