//! The table of SECURITY.md: the protocols that are secure against each adversary, from the catalogue.

use crate::Failure;

/// The promises of one protocol in the catalogue.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    key: &'a str,
    status: &'a str,
    promise: Promise<'a>,
}

/// The promise of all protocols of a table, in the sentences before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Promise<'a> {
    against: &'a str,
    receiver_learns: &'a str,
    sender_learns: &'a str,
}

impl<'a> Promise<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (against, rest) =
            line.strip_prefix("Secure against: **")?.split_once("**. The receiver learns ")?;
        let (receiver_learns, sender_learns) = rest.split_once(". The sender learns ")?;
        let sender_learns = sender_learns.strip_suffix('.')?;
        Some(Self { against, receiver_learns, sender_learns })
    }
}

impl<'a> Row<'a> {
    /// Reads all rows of the catalogue's tables.
    fn all(catalogue: &'a str) -> Vec<Self> {
        let mut promise = None;
        let mut rows = Vec::new();
        for line in catalogue.lines() {
            promise = Promise::read(line).or(promise);
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if let ([key, _, status, ..], Some(promise)) = (&cells[..], promise)
                && key.starts_with('`')
            {
                rows.push(Self { key, status, promise });
            }
        }
        rows
    }

    /// Returns whether both can be on one line.
    fn is_like(&self, other: &Self) -> bool {
        self.promise == other.promise && self.is_for_use() == other.is_for_use()
    }

    fn is_for_use(&self) -> bool {
        ["recommended", "sound"].contains(&self.status)
    }
}

/// Returns the protocols of the catalogue's tables, grouped by their promises.
pub fn protocols(catalogue: &str) -> Result<String, Failure> {
    let rows = Row::all(catalogue);
    let mut groups: Vec<Vec<&Row<'_>>> = Vec::new();
    for row in &rows {
        match groups.iter_mut().find(|group| group[0].is_like(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    if groups.is_empty() {
        return Err("the catalogue has no protocols; has the format of its tables changed?".into());
    }
    let mut text =
        "| secure against | protocols | receiver learns | sender learns |\n|---|---|---|---|\n"
            .to_owned();
    for group in groups {
        let first = group[0];
        let note = if first.is_for_use() { String::new() } else { format!(" ({})", first.status) };
        let keys: Vec<&str> = group.iter().map(|row| row.key).collect();
        let Promise { against, receiver_learns, sender_learns } = first.promise;
        let keys = keys.join(", ");
        text += &format!("| {against}{note} | {keys} | {receiver_learns} | {sender_learns} |\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &str = "\
Secure against: **semi-honest**. The receiver learns the intersection. The sender learns the size.

| protocol | construction | status | MB | paper |
|---|---|---|---|---|
| `a` | one | sound | 1 | A |
| `c` | three | recommended | 1 | C |
| `d` | four | research | 1 | D |

Secure against: **none**. The receiver learns everything. The sender learns the size.

| protocol | construction | status | MB | paper |
|---|---|---|---|---|
| `b` | two | insecure | 1 | B |
";

    #[test]
    fn protocols_with_one_promise_stand_together() {
        let wanted = "\
| secure against | protocols | receiver learns | sender learns |
|---|---|---|---|
| semi-honest | `a`, `c` | the intersection | the size |
| semi-honest (research) | `d` | the intersection | the size |
| none (insecure) | `b` | everything | the size |
";
        assert_eq!(protocols(CATALOGUE).as_deref(), Ok(wanted));
        assert!(protocols("").is_err());
    }
}
