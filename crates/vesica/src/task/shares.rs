//! A side's shares as a table, for whatever computes with them later.
//!
//! CSV with a header and a line for each bin of the receiver's table, in the same order on both sides. What the
//! columns mean, and how two files are put together, is written down for strangers in `docs/answers.md`.

use std::io::{self, Write};

use vesica_psi::aggregate::shares::Shares;

use crate::agree::offer::Role;

/// Writes shares of a run in which `receiver` was the protocol's receiver. `rows` has the first row that bears
/// each of this side's keys, counted from 0; it is needed by the receiver alone.
pub(crate) fn write(
    shares: &Shares,
    receiver: Role,
    rows: &[u32],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (of_a, of_b) = match receiver {
        Role::A => (&shares.of_receiver, &shares.of_sender),
        Role::B => (&shares.of_sender, &shares.of_receiver),
    };
    let row = if shares.items.is_some() { ",row" } else { "" };
    let a = if of_a.is_some() { ",value_a" } else { "" };
    let b = if of_b.is_some() { ",value_b" } else { "" };
    writeln!(out, "bin{row},member{a}{b}")?;
    for (bin, member) in shares.members.iter().enumerate() {
        write!(out, "{bin}")?;
        match shares.items.as_ref().map(|items| items[bin]) {
            Some(Some(item)) => write!(out, ",{}", u64::from(rows[item as usize]) + 1)?,
            Some(None) => write!(out, ",")?,
            None => {}
        }
        write!(out, ",{}", u8::from(*member))?;
        for values in [of_a, of_b].into_iter().flatten() {
            write!(out, ",{:016x}", values[bin])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shares: &Shares, receiver: Role, rows: &[u32]) -> String {
        let mut out = Vec::new();
        write(shares, receiver, rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_those_that_there_are() {
        let members = || vec![true, false].into();
        let values = |values: [u64; 2]| Some(values.to_vec().into());
        let bare =
            || Shares { members: members(), of_sender: None, of_receiver: None, items: None };
        assert_eq!(written(&bare(), Role::A, &[]), "bin,member\n0,1\n1,0\n");
        let items = || Some(vec![None, Some(1)]);
        let receiver = Shares { items: items(), of_sender: values([7, u64::MAX]), ..bare() };
        assert_eq!(
            written(&receiver, Role::A, &[0, 4]),
            "bin,row,member,value_b\n0,,1,0000000000000007\n1,5,0,ffffffffffffffff\n"
        );
        let both = Shares { of_receiver: values([1, 2]), ..receiver };
        let lines = "bin,row,member,value_a,value_b\n\
                     0,,1,0000000000000001,0000000000000007\n\
                     1,5,0,0000000000000002,ffffffffffffffff\n";
        assert_eq!(written(&both, Role::A, &[0, 4]), lines);
        let turned = written(&both, Role::B, &[0, 4]);
        assert!(turned.contains("0,,1,0000000000000007,0000000000000001\n"), "{turned}");
    }
}
