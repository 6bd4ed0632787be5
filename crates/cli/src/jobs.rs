//! `jobs`: an overview of the jobs of a project.

use std::path::PathBuf;

use serde::Serialize;
use vesica::partnership::Outlook;

use crate::{exit::Failure, keygen, project::Project};

#[derive(clap::Args)]
pub struct Args {
    /// The project file
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// Print JSON, a line for each job
    #[arg(long)]
    json: bool,
}

/// A job, as far as it can be known without the other side.
#[derive(Serialize)]
struct Row {
    job: String,
    /// The name of the other party, or else its fingerprint.
    partner: Option<String>,
    /// The party by its fingerprint.
    fingerprint: Option<String>,
    /// A fault of the job, or the event that it waits for.
    note: Option<String>,
    #[serde(flatten)]
    outlook: Option<Outlook>,
}

pub fn jobs(args: &Args) -> Result<(), Failure> {
    let project = Project::open(args.project.as_deref())?;
    keygen::load(&project.identity())?;
    let rows: Vec<_> = project.jobs().iter().map(|name| row(&project, name)).collect();
    if args.json {
        let lines: Result<Vec<_>, _> = rows.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|_| Failure::bug("a job has JSON"))?;
        return crate::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    if rows.is_empty() {
        crate::say("The project has no jobs yet; `vesica invite` and `vesica accept` add them.");
    }
    crate::print_lines(&table(&rows))
}

fn row(project: &Project, name: &str) -> Row {
    let mut row =
        Row { job: name.to_owned(), partner: None, fingerprint: None, note: None, outlook: None };
    if let Err(failure) = fill(project, &mut row) {
        row.note = Some(failure.message);
    }
    row
}

fn fill(project: &Project, row: &mut Row) -> Result<(), Failure> {
    let job = project.specified(&row.job, Vec::new())?;
    row.partner.clone_from(&job.parties.partner);
    let Some(agreement) = &job.parties.agreement else {
        row.note = Some("under no agreement".to_owned());
        return Ok(());
    };
    if !agreement.exists() {
        row.note = Some("waits for the reply to the invitation".to_owned());
        return Ok(());
    }
    let me = || job.parties.identity.as_deref().map(keygen::load);
    let me = || me().ok_or(Failure::bug("a job of a project has an identity"))?;
    let Some(partnership) = job.partnership(|| Ok::<_, Failure>(me()?.into()))? else {
        return Ok(());
    };
    let fingerprints = partnership.others().iter().map(|party| party.fingerprint().to_string());
    let fingerprint = fingerprints.collect::<Vec<_>>().join(", ");
    row.partner.get_or_insert_with(|| fingerprint.clone());
    row.fingerprint = Some(fingerprint);
    row.outlook = Some(partnership.outlook()?);
    Ok(())
}

/// Returns the rows in columns.
fn table(rows: &[Row]) -> String {
    let head = ["job", "partner", "runs", "last run", "next run", "left"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let outlook = row.outlook.as_ref();
        let dash = || "-".to_owned();
        let said = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(dash);
        [
            row.job.clone(),
            said(row.partner.as_deref().map(shortened)),
            said(outlook.map(|outlook| outlook.runs.to_string())),
            said(outlook.and_then(|outlook| Some(outlook.last?.to_string()))),
            said(row.note.clone().or_else(|| Some(outlook?.next.to_string()))),
            said(outlook.map(|outlook| outlook.left.join(", "))),
        ]
    });
    let cells: Vec<_> = [head].into_iter().chain(cells).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..cells[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &cells {
        let padded: String =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
        text += padded.trim_end();
        text.push('\n');
    }
    text
}

/// Returns a fingerprint without its end.
fn shortened(partner: &str) -> String {
    match partner.strip_prefix("vesica1-") {
        Some(rest) if rest.len() > 9 => format!("vesica1-{}…", &rest[..9]),
        _ => partner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_whatever_they_hold() {
        let row = |job: &str, partner: &str, note: &str| Row {
            job: job.to_owned(),
            partner: Some(partner.to_owned()),
            fingerprint: None,
            note: Some(note.to_owned()),
            outlook: None,
        };
        let text = table(&[
            row("a", "Müller", "under no agreement"),
            row("longer", "vesica1-cb6k-2h9h-zv5y-vbs9-x9hk-7s17-nebt-btgk-93tr", "waits"),
        ]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "a       Müller              -     -         under no agreement  -");
        assert_eq!(lines[2], "longer  vesica1-cb6k-2h9h…  -     -         waits               -");
    }
}
