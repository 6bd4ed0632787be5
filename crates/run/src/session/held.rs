//! The search for holders: the leader learns which of its keys enough other parties have, and who has them.

use std::{borrow::Cow, path::Path};

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::{key_rows::KeyRows, partitions, table_keys::TableKeys};
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
};

use super::{
    Computed, Session,
    circle::Folds,
    joint::{CHOICE, LEAST},
    ladder::halvings,
};

/// The name of the protocol in reports.
const PROTOCOL: &str = "joint-holders";

/// The name of the column with the parties that have a row's key.
const COLUMN: &str = "holders";

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
        let sizes = self.all_sizes(keys.counts().used)?;
        self.admit_jointly(&sizes)?;
        self.phase("seed");
        let seed = self.joint_seed(&sizes, rng)?;
        self.phase("choice");
        let are_held = matches!(keys, TableKeys::Held(_));
        let count = self.agree_on_partitions(&sizes, are_held, least)?;
        let part = |keys: &u64| partitions::capacity(*keys as usize, count);
        let (of_part, of_run) = (sizes.iter().map(part).collect(), *seed.as_bytes());
        let folds = Folds { keys: sizes.clone(), sizes: of_part, partitions: count, seed: of_run };
        let circle = self.circle()?;
        circle.begin(folds);
        let cast = circle.terms.cast();
        let partner = cast.partner(circle.me());
        let names = cast.parties.iter().map(|party| party.name.clone()).collect();
        let mut all = HeldRows { names, ..HeldRows::default() };
        match keys {
            TableKeys::Held(set) if count == 1 => {
                self.phase("joint");
                let (digests, rows) = set.into_parts();
                let items = seed.items(&digests, DigestLength::Short);
                drop(digests);
                let held = self.search_part(0, least, items.items(), rng)?;
                all.add(&held, &rows, |row| row);
            }
            keys => {
                self.phase("partitions");
                let directory = spill.to_owned();
                let partitions = self.meanwhile(move || {
                    keys.partition(&seed, count, DigestLength::Short, &directory)
                })?;
                self.phase("joint");
                for number in 0..count {
                    let partition = partitions.load(number, rng)?;
                    let held = self.search_part(number, least, partition.items.items(), rng)?;
                    all.add(&held, &partition.set, |row| partition.rows.row(row));
                }
            }
        }
        let is_leader = self.circle()?.place() == Place::Leader;
        let found = match is_leader {
            true => all.found(),
            false => Found { outcome: Outcome::default(), content: None },
        };
        self.standing.reveal(found.outcome.shared())?;
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
        let circle = self.circle()?;
        let (leader, me) = (circle.terms.cast().leader, circle.me());
        let memory = |partitions: usize| {
            let part = |keys: &u64| partitions::capacity(*keys as usize, partitions);
            let sizes = sizes.iter().map(part).collect();
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
        let found = pool.install(|| circle.search(number, least, items, channel, rng));
        found.map_err(|error| Error::of_protocol(error, channel))
    }
}

/// The rows whose key has enough holders, so far.
#[derive(Default)]
struct HeldRows {
    /// The names of all parties.
    names: Vec<String>,
    keys: u64,
    rows: Vec<(RowNumber, Holders)>,
}

impl HeldRows {
    /// Adds the rows of items with these positions in a set. `row` names the row of the table that a row of the set
    /// stands for.
    fn add(&mut self, held: &[HeldItem], set: &KeyRows, row: impl Fn(RowNumber) -> RowNumber) {
        let mut of_keys = vec![None; set.counts().used as usize];
        for HeldItem { position, holders } in held {
            // Items that fill up a partition have no key.
            if let Some(of_key) = of_keys.get_mut(*position as usize) {
                *of_key = Some(*holders);
            }
        }
        self.keys += held.len() as u64;
        let rows = RowNumber::all(set.counts().read);
        let holders = |own: RowNumber| Some((row(own), of_keys[set.key_of(own)?.index()]?));
        self.rows.extend(rows.filter_map(holders));
    }

    /// Returns all of them in the order of the table, with a column of the holders' names.
    fn found(mut self) -> Found {
        self.rows.sort_unstable_by_key(|(row, _)| *row);
        let (rows, of_rows): (Vec<_>, Vec<_>) = self.rows.into_iter().unzip();
        let outcome = Outcome {
            matches: Some(self.keys),
            rows_written: Some(rows.len() as u64),
            ..Outcome::default()
        };
        let columns = [COLUMN.to_owned()];
        let received = Some(Box::new(HolderNames { columns, names: self.names, of_rows }) as _);
        let rows = Matched { rows, received, ..Matched::default() };
        Found { outcome, content: Some(Content::Rows(rows)) }
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
