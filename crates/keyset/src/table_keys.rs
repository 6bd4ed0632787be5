//! The keys of a table, in memory or, if they are too many, on disk.

use vesica_core::{
    error::{Error, InputFault, Result},
    random::system_rng,
};
use vesica_table::{
    row_number::RowNumber,
    rows::{Scan, Table},
};

use crate::{
    brought::Brought,
    counts::RowCounts,
    findings::Findings,
    holding::{Held, Holding},
    key::Duplicates,
    key_rows::{ExcessRow, Repetition},
    keyset::KeySet,
    maker::{Made, Maker},
    profile::{Profile, Profiling},
    reading::Reading,
    side_by_side::SideBySide,
    sketch::Sketch,
    spilled::SpilledKeys,
    survey::Survey,
};

/// The keys of a table.
pub enum TableKeys {
    /// In memory.
    Held(KeySet),
    /// On disk.
    Spilled(SpilledKeys),
}

impl TableKeys {
    /// Reads every row, and reports from time to time the number of rows read and the part of the table. If there is a
    /// column of values, a key's value is the sum over its rows.
    ///
    /// # Errors
    /// Any fault of the table, and any row that the policies refuse.
    pub fn read(
        scan: Scan,
        reading: &Reading,
        mut show: impl FnMut(u64, f64),
    ) -> Result<(Table, Self, Findings)> {
        let width = scan.header().width();
        let maker = Maker::new(&scan, reading)?;
        let survey = || Survey::new(&scan, &reading.keys, &reading.null_values);
        let mut survey = reading.survey.then(survey).transpose()?;
        let mut held = Holding::new(&maker, reading);
        let table = match &mut survey {
            Some(survey) => alone(scan, maker, &mut held, Some(survey), &mut show)?,
            None if rayon::current_num_threads() == 1 => {
                alone(scan, maker, &mut held, None, &mut show)?
            }
            None => side_by_side(scan, maker, &mut held, &mut show)?,
        };
        show(held.rows(), 1.0);
        let Held { made, brought, spilling, memory } = held.finish()?;
        let Made { keys, mut tally, mut of_rows, kinds, .. } = made;
        if let Some(spilling) = spilling {
            let (keys, repetitions) =
                spilling.finish(&mut tally, memory, reading.sketch.as_ref())?;
            let counts = keys.counts();
            let places = |Repetition { first, again }| [first, again].map(|row| table.place(row));
            if let Some((rows, exceeded)) = repetitions.too_many {
                let [first, place] = places(rows);
                return Err(table.fault(reading.too_many(exceeded, first, place)));
            }
            if let Some(rows) = repetitions.any.filter(|_| reading.duplicates == Duplicates::Error)
            {
                let ([first, second], rows) = (places(rows), counts.duplicate);
                return Err(table.fault(InputFault::DuplicateKey { first, second, rows }));
            }
            let findings = tally.finish(width, counts, keys.rules(), &table);
            let mut keys = Self::Spilled(keys);
            if reading.pad {
                keys.pad()?;
            }
            return Ok((table, keys, findings));
        }
        let mut set = KeySet::of(keys);
        if let Brought::Linked(linked) = &brought {
            set.leave_out_ambiguous(&mut of_rows, linked);
        }
        set.bring(&brought, of_rows).map_err(|ExcessRow { row, of }| {
            let first = table.place(set.rows().first_row_like(row));
            table.fault(reading.too_many(of, first, table.place(row)))
        })?;
        if reading.duplicates == Duplicates::Error {
            set.refuse_duplicates(&table)?;
        }
        if reading.profile {
            let mut profiling = Profiling::new(reading.keys.len());
            set.rows().profile(&mut profiling, &kinds);
            set.keep_profile(profiling.finish());
        }
        if let Some(secret) = &reading.sketch {
            set.make_sketch(secret);
        }
        if let Some(survey) = survey {
            set.keep(survey.finish());
        }
        let (counts, changed) = (set.counts(), tally.take_changed());
        let identifiers = reading.number_of_identifiers();
        tally.group(set.rows().numbers(), counts.used, changed, |place| {
            RowNumber::at(place / identifiers)
        });
        let findings = tally.finish(width, counts, set.rules(), &table);
        let mut keys = Self::Held(set);
        if reading.pad {
            keys.pad()?;
        }
        Ok((table, keys, findings))
    }

    /// Adds random keys that match nothing, up to one for each row and identifier. The number of keys then reveals
    /// neither missing values nor repeated keys.
    fn pad(&mut self) -> Result<()> {
        match self {
            Self::Held(set) => {
                let most = set.counts().read as usize * set.rows().identifiers();
                set.pad(most, &mut system_rng()?);
            }
            // Random items fill up partitions.
            Self::Spilled(keys) => keys.pad(),
        }
        Ok(())
    }

    /// Returns the number of keys that take part, including random ones.
    pub fn len(&self) -> u64 {
        match self {
            Self::Held(set) => set.digests().len() as u64,
            Self::Spilled(keys) => keys.len(),
        }
    }

    /// Returns whether no key takes part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers of rows by outcome.
    pub fn counts(&self) -> RowCounts {
        match self {
            Self::Held(set) => set.counts(),
            Self::Spilled(keys) => keys.counts(),
        }
    }

    /// Removes and returns the sketch of the set, if requested.
    pub fn take_sketch(&mut self) -> Option<Sketch> {
        match self {
            Self::Held(set) => set.take_sketch(),
            Self::Spilled(keys) => keys.take_sketch(),
        }
    }

    /// Removes and returns the features of the keys, if requested.
    pub fn take_profile(&mut self) -> Option<Profile> {
        match self {
            Self::Held(set) => set.take_profile(),
            Self::Spilled(keys) => keys.take_profile(),
        }
    }
}

/// A callback for the number of rows read and the part of the table.
type ShowRows<'a> = dyn FnMut(u64, f64) + 'a;

/// Reads all rows and makes keys of them on this thread.
fn alone(
    scan: Scan,
    mut maker: Maker,
    held: &mut Holding<'_>,
    mut survey: Option<&mut Survey>,
    show: &mut ShowRows<'_>,
) -> Result<Table> {
    scan.rows(|row| {
        if let Some(survey) = &mut survey {
            survey.see(|position| row.field(position));
        }
        maker.take(&row, &mut held.made)?;
        if held.look(&row)? {
            show(held.rows(), row.fraction());
        }
        Ok(())
    })
}

/// Reads all rows, while other threads make keys of them.
fn side_by_side(
    scan: Scan,
    maker: Maker,
    held: &mut Holding<'_>,
    show: &mut ShowRows<'_>,
) -> Result<Table> {
    rayon::in_place_scope(|scope| {
        let mut makers = SideBySide::new(scope, maker, scan.wanted());
        let table = scan.rows(|row| {
            if makers.take(&row, held)? && held.look(&row)? {
                show(held.rows(), row.fraction());
            }
            Ok(())
        })?;
        makers.finish(held, &table.origin())?;
        Ok(table)
    })
}

impl KeySet {
    /// Reads like [`TableKeys::read`], but keeps the set in memory.
    ///
    /// # Errors
    /// As [`TableKeys::read`].
    pub fn read(
        scan: Scan,
        reading: &Reading,
        show: impl FnMut(u64, f64),
    ) -> Result<(Table, Self, Findings)> {
        let in_memory = Reading { spill: None, ..reading.clone() };
        match TableKeys::read(scan, &in_memory, show)? {
            (table, TableKeys::Held(set), findings) => Ok((table, set, findings)),
            (_, TableKeys::Spilled(_), _) => Err(Error::bug("keys went to the disk")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_core::{
        error::{Class, Error},
        parties::Role,
    };
    use vesica_net::{Channel, transport::memory};
    use vesica_normalize::normalize::Normalize;
    use vesica_psi::DigestLength;
    use vesica_select::{Declared, Keys, Side};
    use vesica_table::{
        sent_columns::SentColumns,
        source::{Delimiter, Source},
    };

    use super::*;
    use crate::{
        key::{KeyColumn, Nulls},
        key_number::KeyNumber,
        partitions::{Division, Partitions},
        query_columns::QueryColumns,
        seed::Seed,
    };

    /// Returns rows without a key, with a key that the normalisation changes, and with a key that another row has.
    fn text() -> String {
        (0..50_000).fold("k,n\n".to_owned(), |text, row: u32| {
            let key = match row % 10 {
                0 => String::new(),
                1 => "  Frequent".to_owned(),
                2 => format!("KEY{}", row / 20),
                _ => format!("key{row}"),
            };
            text + &format!("{key},{row}\n")
        })
    }

    fn read(memory: Option<u64>, reading: Reading) -> Result<(TableKeys, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text().into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let keys = vec![KeyColumn { name: "k".into(), normalize: Normalize::LOWER }];
        let spill = Some(std::env::temp_dir());
        let reading = Reading { keys, memory, spill, ..reading };
        let (_, keys, findings) = TableKeys::read(scan, &reading, |_, _| {})?;
        Ok((keys, findings))
    }

    /// Returns the keys in memory, and those on disk.
    fn both() -> [(TableKeys, Findings); 2] {
        let both = [None, Some(1 << 20)].map(|memory| read(memory, Reading::default()).unwrap());
        assert!(matches!(both[0].0, TableKeys::Held(_)));
        assert!(matches!(both[1].0, TableKeys::Spilled(_)));
        both
    }

    #[test]
    fn the_same_is_found_in_keys_on_disk() {
        let [(held, held_findings), (spilled, spilled_findings)] = both();
        assert_eq!(held.counts(), spilled.counts());
        assert_eq!(held_findings, spilled_findings);
        assert!(held_findings.keys_merged > 0 && held_findings.frequent_keys.len() == 1);
    }

    fn columns(names: &[&str]) -> Vec<KeyColumn> {
        let column = |name: &&str| KeyColumn { name: (*name).into(), normalize: Normalize::LOWER };
        names.iter().map(column).collect()
    }

    fn read_keys(text: &str, memory: u64, reading: Reading) -> Result<(TableKeys, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let spill = Some(std::env::temp_dir());
        let reading = Reading { memory: Some(memory), spill, ..reading };
        let (_, keys, findings) = TableKeys::read(scan, &reading, |_, _| {})?;
        Ok((keys, findings))
    }

    /// A key's values, payload, rows and identifier.
    type OfKey = (Vec<i64>, Vec<u8>, Vec<RowNumber>, usize);

    /// Returns the data of every item, from all partitions.
    fn brought(keys: TableKeys) -> BTreeMap<[u8; 16], OfKey> {
        let parts = keys
            .partition(&seed(), Division::of_two(4), DigestLength::Short, &std::env::temp_dir())
            .unwrap();
        let mut all = BTreeMap::new();
        for part in 0..4 {
            let loaded = parts.load(part, &mut StdRng::seed_from_u64(9)).unwrap();
            let (set, rows) = (&loaded.set, &loaded.rows);
            let keys = (0..set.counts().used as usize).map(KeyNumber::at);
            let identifiers = rows.identifiers_of(set, keys);
            for row in RowNumber::all(set.counts().read) {
                let key = set.key_of(row).unwrap().index();
                let item = loaded.items.items().low_halves()[key].to_bytes();
                let brought = all.entry(item).or_insert_with(|| {
                    let payload = match set.brought().len() {
                        9 => set.payloads().of(key).to_vec(),
                        _ => Vec::new(),
                    };
                    let values = match set.query() {
                        Some((_, numbers)) => numbers.iter().map(|values| values[key]).collect(),
                        None => set.values().get(key).copied().into_iter().collect(),
                    };
                    (values, payload, Vec::new(), identifiers[key])
                });
                brought.2.push(rows.row(row));
            }
        }
        all
    }

    #[test]
    fn rows_contribute_the_same_from_the_disk() {
        let text = (0..60_000).fold("k,l,n\n".to_owned(), |text, row: u32| {
            let key =
                if row.is_multiple_of(10) { String::new() } else { format!("key{}", row / 2) };
            text + &format!("{key},l{},{}\n", row / 3 * 2, row % 1000)
        });
        let sends = |rows| Some(SentColumns { columns: vec!["n".to_owned()], bytes: 9, rows });
        let keys = || columns(&["k"]);
        for reading in [
            Reading { keys: keys(), values: Some(("n".to_owned(), 0)), ..Reading::default() },
            Reading { keys: keys(), sends: sends(1), ..Reading::default() },
            Reading {
                keys: keys(),
                sends: sends(2),
                duplicates: Duplicates::All,
                ..Reading::default()
            },
            Reading { keys: keys(), profile: true, ..Reading::default() },
            Reading { keys: columns(&["k", "l"]), identifiers: vec![1, 1], ..Reading::default() },
        ] {
            let [held, spilled] = [1 << 30, 1 << 20].map(|memory| {
                let (mut keys, findings) = read_keys(&text, memory, reading.clone()).unwrap();
                let profile = keys.take_profile();
                assert_eq!(matches!(keys, TableKeys::Spilled(_)), memory == 1 << 20);
                (keys.counts(), findings, profile, brought(keys))
            });
            assert_eq!((held.0, &held.1), (spilled.0, &spilled.1));
            assert!(held.2 == spilled.2 && held.3 == spilled.3);
            assert_eq!(held.2.is_some(), reading.profile);
            assert_eq!(held.3.len() as u64, held.0.used);
        }
    }

    /// Reads the side with the later rows of a query, which has up to `rows` of a key and a label of each key.
    fn as_of(rows: &str) -> Reading {
        let query = "SELECT a.word, count(*), sum(a.n) FROM a ASOF JOIN b ON a.key = b.key AND a.at >= b.at \
                     WHERE a.at - b.at <= 3 AND a.n <> 7 GROUP BY a.word";
        let query: vesica_select::Select = query.parse().unwrap();
        let at = format!("at:date[2026-01-01..2026-01-20]{rows}");
        let own = Declared::parse(&[&at, "n:integer", "word:{x,y}"], Keys::Repeats).unwrap();
        let theirs = Declared::parse(&["at:date"], Keys::Repeats).unwrap();
        let shape = query.check(&own, &theirs).unwrap();
        let query = Some(Arc::new(QueryColumns::new(&query, &shape, Side::A, &own)));
        Reading { keys: columns(&["k"]), query, duplicates: Duplicates::All, ..Reading::default() }
    }

    /// Three rows of each key with labels. The filter leaves out one row in eleven.
    fn with_dates(label: impl Fn(u32) -> &'static str) -> String {
        (0..60_000).fold("k,at,n,word\n".to_owned(), |text, row: u32| {
            let (key, day) = (row * 7 % 20_000, 1 + row % 20);
            text + &format!("key{key},2026-01-{day:02},{},{}\n", row % 11, label(row))
        })
    }

    #[test]
    fn a_key_keeps_the_same_rows_in_memory_and_on_disk() {
        let text = with_dates(|row| if row * 7 % 20_000 < 9_000 { "x" } else { "y" });
        let [held, spilled] = [1 << 30, 1 << 20].map(|memory| {
            let (keys, _) = read_keys(&text, memory, as_of("/3")).unwrap();
            assert_eq!(matches!(keys, TableKeys::Spilled(_)), memory == 1 << 20);
            brought(keys)
        });
        assert!(held == spilled);
        let rows: Vec<_> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
        for (values, _, places, _) in held.values() {
            let mut kept: Vec<_> = values.chunks_exact(values.len() / 3).collect();
            kept.retain(|of_row| of_row.iter().any(|number| *number != 0));
            let of_rows = places.iter().map(|row: &RowNumber| &rows[row.index()]);
            let passing = of_rows.filter(|fields: &&Vec<&str>| fields[2] != "7");
            let expected = passing.map(|fields| {
                let day: i64 = fields[1][8..].parse().unwrap();
                vec![1 + i64::from(fields[3] == "y"), 1, day - 1, fields[2].parse().unwrap()]
            });
            assert_eq!(kept, expected.collect::<Vec<_>>());
        }
        assert_eq!(held.len(), 20_000);
    }

    #[test]
    fn too_many_rows_or_labels_of_a_key_are_refused_in_memory_and_on_disk() {
        let text = with_dates(|row| if row == 50_000 { "y" } else { "x" });
        for (rows, said) in [
            (
                "/3",
                "row 50001 (line 50002) has the same key as row 10001 (line 10002), and another label",
            ),
            (
                "/2",
                "row 40001 (line 40002) has the same key as row 1 (line 2), and is one row too many",
            ),
        ] {
            let [held, spilled] = [1 << 30, 1 << 20]
                .map(|memory| read_keys(&text, memory, as_of(rows)).err().unwrap().to_string());
            assert_eq!(held, spilled);
            assert!(held.contains(said), "{held}");
        }
    }

    #[test]
    fn excess_rows_of_a_key_are_refused_in_memory_and_on_disk() {
        let text = (0..60_000).fold("k,n\n".to_owned(), |text, row: u32| {
            text + &format!("key{},{}\n", if row == 50_001 { 7 } else { row }, u64::MAX / 4)
        });
        let sends = Some(SentColumns { columns: vec!["k".to_owned()], bytes: 16, rows: 1 });
        let keys = || columns(&["k"]);
        let sends =
            Reading { keys: keys(), sends, duplicates: Duplicates::All, ..Reading::default() };
        let sums =
            Reading { keys: keys(), values: Some(("n".to_owned(), 0)), ..Reading::default() };
        for (reading, said) in [(sends, "row 50002 (line 50003) has"), (sums, "row 3 (line 4), ")] {
            let [held, spilled] = [1 << 30, 1 << 20]
                .map(|memory| read_keys(&text, memory, reading.clone()).err().unwrap().to_string());
            assert_eq!(held, spilled);
            assert!(held.contains(said), "{held}");
        }
    }

    /// Any number of threads finds the same, and of several faults the first.
    #[test]
    fn threads_change_nothing() {
        let text = |faults: &[u32]| {
            (0..40_000).fold("k,n\n".to_owned(), |text, row: u32| {
                let number = if faults.contains(&row) { "x".to_owned() } else { row.to_string() };
                text + &format!(
                    "{}key{},{number}\n",
                    if row.is_multiple_of(5) { " " } else { "" },
                    row / 2
                )
            })
        };
        let pools = [1, 2, 5]
            .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let reading = Reading {
            keys: columns(&["k"]),
            values: Some(("n".to_owned(), 0)),
            ..Reading::default()
        };
        let read = |faults: &[u32], memory| {
            let text = text(faults);
            let read = || read_keys(&text, memory, reading.clone());
            pools.each_ref().map(|pool| pool.install(read))
        };
        for memory in [1 << 30, 1 << 20] {
            let [one, two, five] = read(&[], memory).map(|read| {
                let (keys, findings) = read.unwrap();
                (keys.counts(), findings, brought(keys))
            });
            assert!(one == two && one == five);
            for fault in read(&[39_999, 8_001, 8_000], memory) {
                let said = "t: row 8001 (line 8002), column `n`: ";
                assert!(fault.err().unwrap().to_string().starts_with(said));
            }
        }
    }

    #[test]
    fn policies_hold_for_keys_on_disk() {
        let refused = |memory, nulls, duplicates| {
            let reading = Reading { nulls, duplicates, ..Reading::default() };
            read(memory, reading).err().unwrap().to_string()
        };
        for (nulls, duplicates) in
            [(Nulls::Error, Duplicates::First), (Nulls::Skip, Duplicates::Error)]
        {
            let spilled = refused(Some(1 << 20), nulls, duplicates);
            assert_eq!(spilled, refused(None, nulls, duplicates));
        }
        let nowhere = Some(PathBuf::from("/nowhere/at/all"));
        let source = Source::Memory { name: "t".into(), bytes: text().into() };
        let scan = source.open(Delimiter::Comma).unwrap().read().unwrap();
        let keys = vec![KeyColumn { name: "k".into(), normalize: Normalize::LOWER }];
        let reading = Reading { keys, memory: Some(1 << 20), spill: nowhere, ..Reading::default() };
        let error = TableKeys::read(scan, &reading, |_, _| {}).err().unwrap();
        assert_eq!(error.class(), Class::Input);
        assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    }

    fn seed() -> Seed {
        let (a, b) = memory::pair();
        let agree = |role, end, seed| {
            Seed::agree(role, &mut Channel::new(end), &mut StdRng::seed_from_u64(seed)).unwrap()
        };
        std::thread::scope(|scope| {
            let there = scope.spawn(move || agree(Role::B, b, 2));
            let here = agree(Role::A, a, 1);
            there.join().unwrap();
            here
        })
    }

    /// Returns the rows of each item, and its partition.
    fn loaded(parts: &Partitions, count: usize) -> BTreeMap<[u8; 16], (usize, Vec<RowNumber>)> {
        let mut all = BTreeMap::new();
        for part in 0..count {
            let loaded = parts.load(part, &mut StdRng::seed_from_u64(9)).unwrap();
            assert_eq!(loaded.items.len(), Division::of_two(count).capacity(35_751));
            for row in RowNumber::all(loaded.set.counts().read) {
                let key = loaded.set.key_of(row).unwrap().index();
                let item = loaded.items.items().low_halves()[key].to_bytes();
                let (of, rows) = all.entry(item).or_insert_with(|| (part, Vec::new()));
                assert_eq!(*of, part);
                rows.push(loaded.rows.row(row));
            }
        }
        all
    }

    #[test]
    fn a_key_is_in_the_same_partition_from_memory_and_from_disk() {
        for (count, length) in [(5, DigestLength::Short), (8, DigestLength::Long)] {
            let [held, spilled] = both().map(|(keys, _)| {
                assert_eq!(keys.counts().used, 35_751);
                let parts = keys
                    .partition(&seed(), Division::of_two(count), length, &std::env::temp_dir())
                    .unwrap();
                loaded(&parts, count)
            });
            assert!(held == spilled);
            assert_eq!(held.len(), 35_751);
            assert_eq!(held.values().map(|(_, rows)| rows.len()).sum::<usize>(), 45_000);
        }
    }

    #[test]
    fn an_overflowing_partition_is_refused_without_naming_its_keys() {
        let [(keys, _), _] = both();
        let length = DigestLength::Short;
        let parts =
            keys.partition(&seed(), Division::of_two(4), length, &std::env::temp_dir()).unwrap();
        let parts = parts.with_capacity(8_500);
        let error = parts.load(0, &mut StdRng::seed_from_u64(9)).err().unwrap();
        assert!(matches!(error, Error::StatisticalFailure(_)), "{error}");
        assert!(!error.to_string().contains("key"), "{error}");
    }
}
