//! All records, as measured.

use std::fmt::Write;

use crate::{Record, record::results::Measured};

use super::escaped::Escaped;

/// A cell of a table: a text, or a figure by which rows are sorted.
enum TableCell {
    Text(String),
    Figure(f64, usize),
    None,
}

use TableCell::{Figure, Text};

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        Text(text.to_owned())
    }
}

fn count(figure: u64) -> TableCell {
    Figure(figure as f64, 0)
}

fn known(figure: Option<f64>, decimals: usize) -> TableCell {
    figure.map_or(TableCell::None, |figure| Figure(figure, decimals))
}

fn yes(correct: bool) -> TableCell {
    if correct { "yes" } else { "NO" }.into()
}

/// A table for each kind of record present.
pub fn all(measured: &[Measured]) -> Vec<String> {
    let records = || measured.iter().flat_map(|file| &file.records);
    let protocols = records().filter_map(|record| match record {
        Record::Protocol(run) => Some(vec![
            run.protocol.as_str().into(),
            run.link.as_str().into(),
            count(run.receiver_items as u64),
            count(run.sender_items as u64),
            count(run.threads as u64),
            Figure(run.seconds, 3),
            Figure(run.offline_seconds, 3),
            Figure(run.online_seconds, 3),
            known(run.cpu_seconds, 3),
            known(run.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6), 0),
            count(run.bytes_to_receiver),
            count(run.bytes_to_sender),
            count(run.rounds),
            yes(run.correct),
        ]),
        _ => None,
    });
    let joint = records().filter_map(|record| match record {
        Record::Joint(run) => Some(vec![
            count(run.parties as u64),
            run.link.as_str().into(),
            count(run.leader_items as u64),
            count(run.other_items as u64),
            count(run.threads as u64),
            Figure(run.seconds, 3),
            known(run.cpu_seconds, 3),
            known(run.leader_cpu_seconds, 3),
            known(run.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6), 0),
            count(run.bytes),
            count(run.leader_bytes),
            yes(run.correct),
        ]),
        _ => None,
    });
    let ots = records().filter_map(|record| match record {
        Record::Ot(run) => Some(vec![
            (&*run.ot).into(),
            run.link.as_str().into(),
            count(run.ots as u64),
            count(run.threads as u64),
            Figure(run.seconds, 3),
            Figure(run.sender_seconds, 3),
            Figure(run.receiver_seconds, 3),
            known(run.cpu_seconds, 3),
            count(run.bytes_to_receiver),
            count(run.bytes_to_sender),
            count(run.rounds),
        ]),
        _ => None,
    });
    let structures = records().filter_map(|record| match record {
        Record::Structure(run) => Some(vec![
            (&*run.structure).into(),
            count(run.items as u64),
            count(run.threads as u64),
            Figure(run.build_seconds * 1e3, 3),
            Figure(run.query_nanoseconds, 1),
            count(run.bytes as u64),
            Figure(run.bits_per_item, 1),
            known(run.log2_risk, 1),
            yes(run.correct),
        ]),
        _ => None,
    });
    let primitives = records().filter_map(|record| match record {
        Record::Primitive(run) => {
            Some(vec![(&*run.primitive).into(), count(run.bits as u64), Figure(run.nanoseconds, 1)])
        }
        _ => None,
    });
    vec![
        table(
            "runs",
            "Every run",
            "protocol|line|receiver|sender|threads|s|offline s|online s|CPU s|peak MB|B to receiver|B to \
             sender|rounds|right",
            protocols.collect(),
        ),
        table(
            "joint",
            "Several parties",
            "parties|line|leader|others|threads|s|CPU s|leader CPU s|peak MB|bytes|of leader|right",
            joint.collect(),
        ),
        table(
            "ots",
            "Oblivious transfers",
            "OT|line|OTs|threads|s|sender s|receiver s|CPU s|B to receiver|B to sender|rounds",
            ots.collect(),
        ),
        table(
            "structures",
            "Structures",
            "structure|items|threads|build ms|ns a query|bytes|bits/item|log risk|right",
            structures.collect(),
        ),
        table("primitives", "Primitives", "primitive|bits|ns", primitives.collect()),
    ]
}

/// Writes a table, or nothing without rows.
fn table(id: &str, title: &str, columns: &str, rows: Vec<Vec<TableCell>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<section id=\"{id}\"><h2>{title}</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{title}\"><table><thead><tr>"
    );
    for name in columns.split('|') {
        let _ = write!(out, "<th scope=\"col\"><button type=\"button\">{name}</button></th>");
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = match cell {
                Text(text) => write!(out, "<td>{}</td>", Escaped(&text)),
                Figure(figure, decimals) => {
                    let shown = grouped(&format!("{figure:.decimals$}"));
                    write!(out, "<td data-value=\"{figure}\">{shown}</td>")
                }
                TableCell::None => write!(out, "<td data-value=\"-1\">–</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div></section>"
}

/// Thin spaces between groups of three digits before the point.
fn grouped(figure: &str) -> String {
    let whole = figure.find('.').unwrap_or(figure.len());
    let space = |i: usize| {
        i > 0 && i < whole && (whole - i).is_multiple_of(3) && figure.as_bytes()[i - 1] != b'-'
    };
    let mut out = String::new();
    for (i, digit) in figure.char_indices() {
        if space(i) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups() {
        for (figure, shown) in [
            ("0", "0"),
            ("999.125", "999.125"),
            ("1000", "1\u{202f}000"),
            ("-100", "-100"),
            ("1234567.5", "1\u{202f}234\u{202f}567.5"),
        ] {
            assert_eq!(grouped(figure), shown);
        }
    }
}
