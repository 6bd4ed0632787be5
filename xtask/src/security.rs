//! The table of SECURITY.md: the protocols that are secure against each adversary, from the catalogue.

use crate::Failure;

/// The entries of one protocol in the catalogue's table.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    key: &'a str,
    status: &'a str,
    against: &'a str,
    receiver_learns: &'a str,
    sender_learns: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [key, _, status, against, receiver_learns, sender_learns, ..] = cells[..] else {
            return None;
        };
        Some(Self { key, status, against, receiver_learns, sender_learns })
    }

    /// Returns whether both can be on one line.
    fn is_like(&self, other: &Self) -> bool {
        let told =
            |row: &Self| [row.against, row.receiver_learns, row.sender_learns].map(str::to_owned);
        told(self) == told(other) && self.is_for_use() == other.is_for_use()
    }

    fn is_for_use(&self) -> bool {
        ["recommended", "sound"].contains(&self.status)
    }
}

/// Returns the protocols of the catalogue's table, grouped by their promises.
pub fn protocols(catalogue: &str) -> Result<String, Failure> {
    let rows: Vec<Row<'_>> = catalogue.lines().skip(2).filter_map(Row::read).collect();
    let mut groups: Vec<Vec<&Row<'_>>> = Vec::new();
    for row in &rows {
        match groups.iter_mut().find(|group| group[0].is_like(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    if groups.is_empty() {
        return Err("the catalogue has no protocols; has the format of its table changed?".into());
    }
    let mut text =
        "| secure against | protocols | receiver learns | sender learns |\n|---|---|---|---|\n"
            .to_owned();
    for group in groups {
        let first = group[0];
        let note = if first.is_for_use() { String::new() } else { format!(" ({})", first.status) };
        let keys: Vec<&str> = group.iter().map(|row| row.key).collect();
        let (keys, Row { against, receiver_learns, sender_learns, .. }) = (keys.join(", "), first);
        text += &format!("| {against}{note} | {keys} | {receiver_learns} | {sender_learns} |\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &str = "\
| protocol | what it is | status | secure against | receiver learns | sender learns | MB | paper |
|---|---|---|---|---|---|---|---|
| `a` | one | sound | semi-honest | the intersection | the size | 1 | A |
| `b` | two | insecure | none | everything | the size | 1 | B |
| `c` | three | recommended | semi-honest | the intersection | the size | 1 | C |
| `d` | four | research | semi-honest | the intersection | the size | 1 | D |
";

    #[test]
    fn protocols_with_one_promise_stand_together() {
        let wanted = "\
| secure against | protocols | receiver learns | sender learns |
|---|---|---|---|
| semi-honest | `a`, `c` | the intersection | the size |
| none (insecure) | `b` | everything | the size |
| semi-honest (research) | `d` | the intersection | the size |
";
        assert_eq!(protocols(CATALOGUE).as_deref(), Ok(wanted));
        assert!(protocols("").is_err());
    }
}
