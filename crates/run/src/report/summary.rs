//! The report as lines for a terminal.

use std::path::Path;

use vesica_core::words::{counted, grouped};
use vesica_partner::account::LedgerLine;
use vesica_table::formulas::ColumnFormulas;
use vesica_task::{interface::Context, outcome::QueryResult, query::ResultForm};

use super::{Report, SecurityOfRun, parties::PartiesReport};

impl Report {
    /// Describes the outcome of a successful run, line by line. `output` is the destination of its result.
    pub fn summary(&self, output: Option<&Path>) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.result(output));
        lines.extend(self.place_of_answer(output));
        lines.extend(self.columns());
        lines.extend(self.formulas.iter().map(ColumnFormulas::sentence));
        lines.extend(self.left_out());
        lines.extend(self.linked());
        lines.push(self.costs());
        lines.extend(self.proof());
        lines.extend(self.hints.iter().map(|hint| format!("hint: {hint}")));
        if let Some(learned) = &self.learned {
            lines.extend([&learned.me, &learned.peer, &learned.assuming].map(Clone::clone));
        }
        lines
    }

    /// Describes the result; `None` if this side learns none.
    fn result(&self, output: Option<&Path>) -> Option<String> {
        let written = |what: String| match output {
            Some(path) if path == Path::new("-") => format!("{what} written to standard output"),
            Some(path) => format!("{what} written to {}", path.display()),
            None => format!("{what} found"),
        };
        let terms = self.terms.as_ref()?;
        if let Some(least) = self.parties.as_ref().and_then(|parties| parties.at_least) {
            let held = grouped(self.outcome.matches?);
            let keys = counted(self.rows.map_or(0, |rows| rows.used), "key");
            let rows = written(counted(self.outcome.rows_written.unwrap_or_default(), "row"));
            return Some(format!("at least {least} other parties have {held} of {keys}; {rows}"));
        }
        let context = Context {
            keys: self.rows.map_or(0, |rows| rows.used),
            number: terms.query().number(),
            minimum: terms.minimum(),
            noise: terms.noise(),
            scale: terms.scale(),
            by_rules: terms.rules().is_some(),
            written: &written,
        };
        terms.query().kind.task.headline(&self.outcome, &context)
    }

    /// Names the file with the answer, if the answer has its own line and a file.
    fn place_of_answer(&self, output: Option<&Path>) -> Option<String> {
        let query = self.terms.as_ref()?.query();
        let answer = self.outcome.answer.filter(|answer| *answer != QueryResult::TooFew);
        let is_line = answer.is_some() && query.result_form() == ResultForm::Line;
        let path = output.filter(|path| is_line && *path != Path::new("-"))?;
        Some(format!("the answer is in {}", path.display()))
    }

    /// Names the record and the line of the ledger that prove the run.
    fn proof(&self) -> Option<String> {
        let LedgerLine { file, line } = self.ledger.as_ref()?;
        Some(match &self.record {
            Some(record) => {
                format!("the signed record is in {record}; line {line} of {file} names it")
            }
            None => format!(
                "line {line} of {file} names the signed record, which was not kept (--record)"
            ),
        })
    }

    /// Returns whether this side is neither leader nor pivot of several parties.
    fn helps(&self) -> bool {
        let parties = self.parties.as_ref();
        parties.is_some_and(|PartiesReport { me, leader, pivot, .. }| {
            me != leader && pivot.as_ref() != Some(me)
        })
    }

    /// Names the columns that one side sent to the other, if any.
    fn columns(&self) -> Option<String> {
        let terms = self.terms.as_ref()?;
        let sent = terms.sent_columns()?.describe();
        let word = match terms.sends(self.role?) {
            true if self.helps() => return None,
            true => "sent",
            false => "received",
        };
        Some(format!("columns {word}: {sent}"))
    }

    /// Counts the rows that took no part, if there are any.
    fn left_out(&self) -> Option<String> {
        let rows = self.rows.filter(|rows| rows.null > 0 || rows.duplicate > 0)?;
        // Of the rows with one key, a join sends the first, or as many as --duplicates says.
        let sent = self.terms.as_ref().zip(self.role).and_then(|(terms, role)| {
            let sent = terms.sent_columns().filter(|sent| terms.sends(role) && sent.rows == 1);
            sent.filter(|_| !self.helps())
        });
        let unsent = if sent.is_some() && rows.duplicate > 0 {
            ", whose columns were not sent (--duplicates)"
        } else {
            ""
        };
        Some(format!(
            "{} read: {} without a key, {} repeating a key{unsent}",
            counted(rows.read, "row"),
            grouped(rows.null),
            grouped(rows.duplicate)
        ))
    }

    /// Describes the matches by rules: how many rows each is the first to match, how many false ones to expect, and how
    /// many rows of the first rule the others found too.
    fn linked(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(first) = &self.outcome.rows_of_rules {
            let by_rule = first.iter().zip(1..);
            let by_rule = by_rule.map(|(rows, rule)| format!("{} by rule {rule}", grouped(*rows)));
            let by_rule: Vec<_> = by_rule.collect();
            lines.push(format!("rows by the first rule that matches: {}", by_rule.join(", ")));
        }
        if let (Some(found), Some(_)) = (self.false_matches, self.outcome.rows_written) {
            lines.push(format!(
                "false matches to expect by all rules: {} at most, {:.2} % of the smaller table's rows",
                grouped(found.expected.ceil() as u64),
                100.0 * found.share()
            ));
        }
        let of_first = self.outcome.rows_of_rules.as_ref().and_then(|first| {
            let first_rule = *first.first().filter(|rows| **rows > 0)?;
            (first.len() > 1).then_some(first_rule)
        });
        if let (Some(again), Some(of_first)) = (self.outcome.rows_found_again, of_first) {
            lines.push(format!(
                "later rules also match {} of the {} of rule 1 ({:.1} %): if rule 1 is a number that identifies people, this \
                 estimates the share of people that the later rules find",
                grouped(again),
                counted(of_first, "row"),
                100.0 * again as f64 / of_first as f64
            ));
        }
        lines
    }

    fn costs(&self) -> String {
        let memory =
            self.peak_memory_bytes.map(|b| format!(", {:.0} MB of memory", b as f64 / 1e6));
        format!(
            "{}, {:.2} s, {:.2} MB sent, {:.2} MB received{}",
            self.protocol_line(),
            self.seconds,
            self.bytes_sent as f64 / 1e6,
            self.bytes_received as f64 / 1e6,
            memory.unwrap_or_default()
        )
    }

    /// Names the protocol and its security, and the required security if it differs.
    fn protocol_line(&self) -> String {
        let protocol = self.protocol.unwrap_or("no protocol");
        let Some(SecurityOfRun { required, provided: Some(provided) }) = self.security else {
            return protocol.to_owned();
        };
        match provided {
            "none" => format!("{protocol} (insecure)"),
            same if same == required.name() => format!("{protocol} ({same})"),
            other => format!("{protocol} ({other}; required: {})", required.name()),
        }
    }
}
