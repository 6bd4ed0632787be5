//! The search for holders: the leader learns which of its keys enough other parties have, and who has them.

use std::{borrow::Cow, path::Path};

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::{key_rows::KeyRows, table_keys::TableKeys};
use vesica_psi::{
    DigestLength, Items,
    joint::{HeldItem, Holders, HoldersPlan, Place},
};
use vesica_table::{
    row_number::RowNumber,
    written::{Matched, Received},
};
use vesica_task::{
    interface::{Content, Found},
    outcome::Outcome,
    piece::Piece,
};
use zeroize::Zeroizing;

use super::{
    Computed, Session,
    circle::Folds,
    joint::{CHOICE, LEAST, sizes_of_parts},
    resumed::JointOpening,
};
use crate::ladder::halvings;

/// The name of the protocol in reports.
const PROTOCOL: &str = "joint-holders";

/// The name of the column with the parties that have a row's key.
const COLUMN: &str = "holders";

/// Bytes of a row and its holders in a piece.
const RECORD: usize = size_of::<u64>() + size_of::<u16>();

impl Session<'_> {
    /// Searches for the holders of the leader's keys. Otherwise as `Session::compute`.
    ///
    /// # Errors
    /// As `Session::compute`.
    pub(super) fn find_holders(
        &mut self,
        least: usize,
        keys: TableKeys,
        spill: &Path,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        let opening = self.begin_jointly(keys.len())?;
        let seed = self.joint_seed(&opening, rng)?;
        let are_held = matches!(keys, TableKeys::Held(_));
        let JointOpening { sizes, begun, done } = opening;
        let count = match &begun {
            Some(begun) => begun.partitions as usize,
            None => self.agree_on_partitions(&sizes, are_held, least)?,
        };
        let (of_part, of_run) = (sizes_of_parts(&sizes, count), *seed.as_bytes());
        let division = self.division(count);
        let folds = Folds { keys: sizes.clone(), sizes: of_part, partitions: count, seed: of_run };
        let circle = self.circle()?;
        circle.begin(folds);
        let leads = circle.place() == Place::Leader;
        let cast = circle.terms.cast();
        let partner = cast.partner(circle.me());
        let names: Vec<_> = cast.parties.iter().map(|party| party.name.clone()).collect();
        let layout = HeldLayout { rows: keys.counts().read, parties: names.len() };
        let mut all = HeldRows::default();
        match keys {
            TableKeys::Held(set) if self.is_whole(count) => {
                self.phase("joint");
                let (digests, rows) = set.into_parts();
                let items = seed.items(&digests, DigestLength::Short);
                drop(digests);
                let held = self.search_part(0, least, items.items(), rng)?;
                all.add(HeldRows::of(&held, &rows, |row| row));
            }
            keys => {
                self.begin_folds(PROTOCOL, done, |piece| {
                    HeldRows::read(piece, &layout)
                        .map(|piece| piece.into_iter().for_each(|piece| all.add(piece)))
                })?;
                self.phase("partitions");
                let directory = spill.to_owned();
                let partitions = self.meanwhile(move || {
                    keys.partition(&seed, division, DigestLength::Short, &directory)
                })?;
                self.phase("joint");
                for number in done as usize..count {
                    let partition = partitions.load(number, rng)?;
                    let held = self.search_part(number, least, partition.items.items(), rng)?;
                    let piece = HeldRows::of(&held, &partition.set, |row| partition.rows.row(row));
                    self.leave(&piece.clone().encode())?;
                    all.add(piece);
                }
                self.require_all_done()?;
            }
        }
        let found = match leads {
            true => all.found(names),
            false => Found { outcome: Outcome::default(), content: None },
        };
        self.standing.reveal(found.outcome.counted())?;
        Ok(Computed {
            protocol: PROTOCOL,
            adversary: HoldersPlan::ADVERSARY,
            peer_items: sizes[partner],
            partitions: count as u64,
            attempts: None,
            found,
            sizes: Some(sizes),
        })
    }

    /// Agrees with all parties on the number of partitions: the largest that one of them needs.
    fn agree_on_partitions(
        &mut self,
        sizes: &[u64],
        are_held: bool,
        least: usize,
    ) -> Result<usize> {
        self.phase("choice");
        let circle = self.circle()?;
        let (leader, me) = (circle.terms.cast().leader, circle.me());
        let memory = |partitions: usize| {
            let sizes = sizes_of_parts(sizes, partitions);
            let plan = HoldersPlan::new(sizes, leader, least, [0; 32]);
            plan.map_or(f64::INFINITY, |plan| plan.one_of(partitions).memory(me))
        };
        let fitting = self.fitting(sizes, me, are_held, &memory)?;
        let most = halvings(sizes.iter().copied().max().unwrap_or_default() as usize);
        if me == leader {
            let others: Vec<_> = (0..sizes.len()).filter(|party| *party != me).collect();
            let chosen = self.hear_least(&others, most)?.max(fitting as usize);
            let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
            mesh.tell(CHOICE, &[chosen as u8])?;
            return Ok(1 << chosen);
        }
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        mesh.to(leader).send(LEAST, &[fitting as u8])?;
        mesh.to(leader).flush()?;
        let chosen = mesh.talk(leader, |channel| channel.recv_len(CHOICE, 1))?;
        match chosen[..] {
            [chosen] if (fitting..=most).contains(&u32::from(chosen)) => Ok(1 << chosen),
            _ => {
                let what = "not a number of partitions of this run";
                Err(mesh.to(leader).malformed(CHOICE, what).into())
            }
        }
    }

    /// Takes this party's part in a partition. The leader gets its items with enough holders, the others nothing.
    fn search_part(
        &mut self,
        number: usize,
        least: usize,
        items: Items<'_>,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Vec<HeldItem>> {
        let pool = self.pool();
        let channel = &mut *self.channel;
        let circle = self.circle.as_mut().ok_or(Error::bug("there are several parties"))?;
        self.standing.begin_partition(number as u32, None)?;
        channel.set_gate(Some(self.standing.gate(number as u32)));
        let found = pool.install(|| circle.search(number, least, items, channel, rng));
        channel.set_gate(None);
        found.map_err(|error| Error::of_protocol(error, channel))
    }
}

/// The rows whose key has enough holders, in a partition or in several.
///
/// Its bytes are the number of keys, and of each row the number and the holders: the bit of each party, in two bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HeldRows {
    keys: u64,
    rows: Vec<(RowNumber, Holders)>,
}

/// The facts on which the layout of [`HeldRows`] depends.
struct HeldLayout {
    /// The rows of the table.
    rows: u64,
    /// The number of parties.
    parties: usize,
}

impl HeldRows {
    /// Returns the rows of items with these positions in a set. `row` names the row of the table that a row of the set
    /// stands for.
    fn of(held: &[HeldItem], set: &KeyRows, row: impl Fn(RowNumber) -> RowNumber) -> Self {
        let mut of_keys = vec![None; set.counts().used as usize];
        for HeldItem { position, holders } in held {
            // Items that fill up a partition have no key.
            if let Some(of_key) = of_keys.get_mut(*position as usize) {
                *of_key = Some(*holders);
            }
        }
        let rows = RowNumber::all(set.counts().read);
        let holders = |own: RowNumber| Some((row(own), of_keys[set.key_of(own)?.index()]?));
        Self { keys: held.len() as u64, rows: rows.filter_map(holders).collect() }
    }

    /// Adds the rows of another partition.
    fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.rows.extend(other.rows);
    }

    /// Returns all of them in the order of the table, with a column of the holders' names. `names` has the name
    /// of each party.
    fn found(mut self, names: Vec<String>) -> Found {
        self.rows.sort_unstable_by_key(|(row, _)| *row);
        let (rows, of_rows): (Vec<_>, Vec<_>) = self.rows.into_iter().unzip();
        let outcome = Outcome {
            matches: Some(self.keys),
            rows_written: Some(rows.len() as u64),
            ..Outcome::default()
        };
        let columns = [COLUMN.to_owned()];
        let received = Some(Box::new(HolderNames { columns, names, of_rows }) as _);
        let rows = Matched { rows, received, ..Matched::default() };
        Found { outcome, content: Some(Content::Rows(rows)) }
    }
}

impl Piece for HeldRows {
    type Layout = HeldLayout;

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(8 + RECORD * self.rows.len()));
        bytes.extend(self.keys.to_le_bytes());
        for (row, holders) in self.rows {
            let bits = holders.parties().fold(0u16, |bits, party| bits | 1 << party);
            bytes.extend(row.get().to_le_bytes().iter().chain(&bits.to_le_bytes()));
        }
        bytes
    }

    fn decode(bytes: &[u8], layout: &HeldLayout) -> Option<Self> {
        let (keys, records) = bytes.split_first_chunk()?;
        let (records, []) = records.as_chunks::<RECORD>() else { return None };
        let row = |record: &[u8; RECORD]| {
            let (row, bits) = record.split_first_chunk()?;
            let (row, bits) = (u64::from_le_bytes(*row), u16::from_le_bytes(bits.try_into().ok()?));
            let is_sound = row < layout.rows && u32::from(bits) >> layout.parties == 0;
            let holders = (0..layout.parties).filter(|party| bits >> party & 1 == 1).collect();
            is_sound.then_some((RowNumber::new(row), holders))
        };
        let rows = records.iter().map(row).collect::<Option<_>>()?;
        Some(Self { keys: u64::from_le_bytes(*keys), rows })
    }
}

/// The names of the holders of each row's key.
struct HolderNames {
    columns: [String; 1],
    /// The names of all parties.
    names: Vec<String>,
    of_rows: Vec<Holders>,
}

impl Received for HolderNames {
    fn names(&self) -> &[String] {
        &self.columns
    }

    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
        let names = self.of_rows[nth].parties().map(|party| &*self.names[party]);
        Ok(vec![Some(names.collect::<Vec<_>>().join(" ").into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_go_round_and_are_checked() {
        let layout = HeldLayout { rows: 10, parties: 4 };
        let piece = |rows: &[(u64, &[usize])]| {
            let rows = rows.iter().map(|(row, holders)| {
                (RowNumber::new(*row), holders.iter().copied().collect::<Holders>())
            });
            HeldRows { keys: 3, rows: rows.collect() }
        };
        for rows in [&[][..], &[(9, &[1, 3][..]), (0, &[2])]] {
            let bytes = piece(rows).encode();
            assert_eq!(HeldRows::decode(&bytes, &layout), Some(piece(rows)));
            for len in 0..bytes.len() {
                let cut = HeldRows::decode(&bytes[..len], &layout);
                assert!(cut.is_none_or(|cut| cut.rows.len() < rows.len()), "{len}");
            }
            assert!(HeldRows::decode(&[&bytes[..], &[0]].concat(), &layout).is_none());
        }
        for rows in [&[(10, &[1][..])], &[(9, &[4])]] {
            assert!(HeldRows::decode(&piece(rows).encode(), &layout).is_none(), "{rows:?}");
        }
    }
}
