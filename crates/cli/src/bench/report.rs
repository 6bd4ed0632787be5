//! `vesica bench --report`: a page of results.

use std::{io::Write, path::PathBuf};

use clap::Args;
use vesica::files::{self, Access, Output, Protected};
use vesica_lab::{publish::report, record::results::Measured};

#[derive(Args)]
#[group(skip)]
pub struct Flags {
    /// Make a page of these files of results instead of running anything
    #[arg(long, num_args = 1.., group = "what", requires = "output", value_name = "FILE", conflicts_with_all = ["sizes", "link", "threads", "repeat", "json"])]
    report: Vec<PathBuf>,

    /// The file for the page, which is HTML and needs no other file
    #[arg(long, requires = "report", value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Flags {
    /// Returns whether a page is requested.
    pub fn asked(&self) -> bool {
        !self.report.is_empty()
    }

    /// Reads the files and writes the page.
    pub fn run(&self, out: &mut impl Write) -> vesica_lab::Result<()> {
        let path = self.output.as_deref().ok_or("--report needs --output")?;
        let read: Vec<_> =
            self.report.iter().map(|path| Protected::new("a file of results", path)).collect();
        files::check_results(&[Protected::new("the page", path)], &read, None)?;
        let measured = self.report.iter().map(|path| Measured::read(path));
        let measured = measured.collect::<vesica_lab::Result<Vec<_>>>()?;
        let page = report::page(&measured);
        Output::prepare(path, Access::Usual)?
            .stage(|out| out.write_all(page.as_bytes()))?
            .commit()?;
        let runs: usize = measured.iter().map(|file| file.records.len()).sum();
        writeln!(out, "{}: {runs} runs", path.display())?;
        Ok(())
    }
}
