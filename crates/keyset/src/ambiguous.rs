//! Ambiguous keys: those that rows with different fields have.
//!
//! Two people of one table share such a key, so a person who has it in the other table would match both. These keys
//! take no part. If only rows are found, keys of the first rule do: tables hold people twice, and their records agree
//! by the strictest rule.

use crate::{
    brought::Linked,
    key_number::KeyNumber,
    key_rows::KeyRows,
    linked::{AmbiguousKeys, FIELDS_HASH},
    rule_findings::RuleFindings,
};

/// The keys of a set that stay, and the numbers of its rules.
pub(crate) struct Ambiguity {
    /// Whether each key takes part, in the order of their numbers.
    takes_part: Vec<bool>,
    /// The numbers by rule.
    rules: Vec<RuleFindings>,
}

impl Ambiguity {
    /// Leaves ambiguous keys out of a set, and returns the numbers by rule. `keys` has a value for each key of the set,
    /// and `of_rows` the contribution of the row for each place that has a key, in order; what belongs to other keys is
    /// removed from it. `rule` returns the rule of a place among the keys of all rows, and there are `rules` of them.
    pub(crate) fn leave_out<K>(
        set: &mut KeyRows,
        keys: &mut Vec<K>,
        of_rows: &mut Vec<u8>,
        linked: &Linked,
        rules: usize,
        rule: impl Fn(usize) -> usize,
    ) -> Vec<RuleFindings> {
        let Self { takes_part, rules } = Self::of(set, of_rows, linked, rules, rule);
        let keyed = set.numbers().iter().flatten().map(|key| takes_part[key.index()]);
        linked.keep(of_rows, keyed);
        set.retain(&takes_part);
        let mut stays = takes_part.iter();
        keys.retain(|_| stays.next().is_some_and(|stays| *stays));
        rules
    }

    /// Finds the ambiguous keys. The arguments are as for [`Ambiguity::leave_out`].
    fn of(
        set: &KeyRows,
        of_rows: &[u8],
        linked: &Linked,
        rules: usize,
        rule: impl Fn(usize) -> usize,
    ) -> Self {
        let keyed = set.numbers().iter().enumerate();
        let keyed = keyed.filter_map(|(place, key)| Some(KeyedPlace { place, key: (*key)? }));
        let hash = |of_row: &[u8]| {
            of_row.first_chunk::<FIELDS_HASH>().map_or(0, |hash| u64::from_le_bytes(*hash))
        };
        let keyed = keyed.zip(of_rows.chunks_exact(linked.len()).map(hash));
        let keys = set.counts().used as usize;
        let mut first: Vec<Option<u64>> = vec![None; keys];
        let mut is_ambiguous = vec![false; keys];
        for (KeyedPlace { key, .. }, hash) in keyed.clone() {
            let first = first[key.index()].get_or_insert(hash);
            is_ambiguous[key.index()] |= *first != hash;
        }
        let mut found = vec![RuleFindings::default(); rules];
        let mut takes_part = vec![true; keys];
        let mut rows_of_ambiguous = Vec::new();
        let is_whole = |rule: usize| linked.whole.get(rule).copied().unwrap_or_default();
        let mut rows_of_whole = vec![0_u32; if linked.whole.contains(&true) { keys } else { 0 }];
        for (KeyedPlace { place, key }, hash) in keyed {
            let rule = rule(place);
            found[rule].keyed += 1;
            if is_whole(rule) {
                let earlier = &mut rows_of_whole[key.index()];
                found[rule].pairs += u64::from(*earlier);
                *earlier += 1;
            }
            if is_ambiguous[key.index()] {
                found[rule].ambiguous += 1;
                takes_part[key.index()] =
                    rule == 0 && linked.ambiguous == AmbiguousKeys::ByFirstRule;
                rows_of_ambiguous.push((key, hash, rule));
            }
        }
        rows_of_ambiguous.sort_unstable();
        rows_of_ambiguous.dedup();
        for different in rows_of_ambiguous.chunk_by(|(one, ..), (other, ..)| one == other) {
            let (rows, rule) = (different.len() as u64, different[0].2);
            found[rule].pairs += if is_whole(rule) { 0 } else { rows * (rows - 1) / 2 };
        }
        Self { takes_part, rules: found }
    }
}

/// A place among the keys of all rows, and the number of the key there.
#[derive(Clone, Copy)]
struct KeyedPlace {
    place: usize,
    key: KeyNumber,
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::Arc,
    };

    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_linkage::{MatchField, Rules, rules_of};
    use vesica_normalize::null_values::NullValues;
    use vesica_psi::DigestLength;
    use vesica_table::{
        row_number::RowNumber,
        sent_columns::SentColumns,
        source::{Delimiter, Source},
    };

    use super::*;
    use crate::{
        linked::{TOKEN, TokenSecret},
        partitions::Division,
        reading::Reading,
        seed::Seed,
        table_keys::TableKeys,
    };

    const FIELDS: [&str; 3] = ["first=f:name", "last=l:name", "dob=d:date"];

    const RULES: [&str; 4] =
        ["first, last, dob", "soundex(first), last", "left(first, 1), dob", "last, year(dob)"];

    fn rules(texts: &[&str]) -> Rules {
        let fields: Vec<MatchField> = FIELDS.map(|field| field.parse().unwrap()).to_vec();
        Rules::new(rules_of(texts, &fields).unwrap(), fields).unwrap()
    }

    /// A key's rule, counted from 0, and its rows.
    type KeyOfRule = (usize, Vec<u64>);

    /// The keys that take part, and the numbers by rule.
    #[derive(Debug, PartialEq, Eq)]
    struct Plain {
        keys: BTreeSet<KeyOfRule>,
        rules: Vec<RuleFindings>,
    }

    /// Finds the same in the clear.
    fn plain(rules: &Rules, table: &[[String; 3]], ambiguous: AmbiguousKeys) -> Plain {
        let mut rows: BTreeMap<(usize, Vec<u8>), Vec<usize>> = BTreeMap::new();
        let derived: Vec<_> = table
            .iter()
            .map(|[first, last, dob]| {
                let value = |name: &str| match name {
                    "first" => first,
                    "last" => last,
                    _ => dob,
                };
                let values: Vec<_> =
                    rules.fields().iter().map(|field| value(field.name()).as_str()).collect();
                rules.derive(&values, &NullValues::default())
            })
            .collect();
        for (row, derived) in derived.iter().enumerate() {
            for (rule, key) in derived.keys.iter().enumerate() {
                if let Some(key) = key {
                    rows.entry((rule, key.clone())).or_default().push(row);
                }
            }
        }
        let mut found = Plain {
            keys: BTreeSet::new(),
            rules: vec![RuleFindings::default(); rules.rules().len()],
        };
        for ((rule, _), rows) in rows {
            let people: BTreeSet<_> = rows.iter().map(|row| &derived[*row].fields).collect();
            let (of_rule, people) = (&mut found.rules[rule], people.len() as u64);
            of_rule.keyed += rows.len() as u64;
            let is_whole = rules.rules()[rule].fields().len() == rules.fields().len();
            let apart = if is_whole { rows.len() as u64 } else { people };
            of_rule.pairs += apart * (apart - 1) / 2;
            of_rule.ambiguous += if people > 1 { rows.len() as u64 } else { 0 };
            if people == 1 || rule == 0 && ambiguous == AmbiguousKeys::ByFirstRule {
                found.keys.insert((rule, rows.iter().map(|row| *row as u64).collect()));
            }
        }
        found
    }

    fn read(
        rules: &Rules,
        table: &[[String; 3]],
        memory: u64,
        reading: Reading,
    ) -> (TableKeys, Vec<RuleFindings>) {
        let line = |[first, last, dob]: &[String; 3]| format!("{first},{last},{dob}\n");
        let text = "f,l,d\n".to_owned() + &table.iter().map(line).collect::<String>();
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma).unwrap().read().unwrap();
        let (spill, memory) = (Some(std::env::temp_dir()), Some(memory));
        let rules = Some(Arc::new(rules.clone()));
        let reading = Reading { rules, memory, spill, ..reading };
        let (_, keys, findings) = TableKeys::read(scan, &reading, |_, _| {}).unwrap();
        (keys, findings.rules)
    }

    /// Returns the keys that are in the partitions.
    fn in_partitions(keys: TableKeys, count: usize) -> BTreeSet<KeyOfRule> {
        payloads(keys, count).into_keys().collect()
    }

    /// Returns the keys that are in the partitions, with their payloads.
    fn payloads(keys: TableKeys, count: usize) -> BTreeMap<KeyOfRule, Vec<u8>> {
        let seed = Seed::of_run([7; 32]);
        let parts = keys
            .partition(&seed, Division::of_two(count), DigestLength::Short, &std::env::temp_dir())
            .unwrap();
        let mut found = BTreeMap::new();
        for part in 0..count {
            let part = parts.load(part, &mut StdRng::seed_from_u64(1)).unwrap();
            let mut rows: BTreeMap<usize, KeyOfRule> = BTreeMap::new();
            for row in RowNumber::all(part.set.counts().read) {
                let Some(key) = part.set.key_of(row) else { continue };
                let of_key = rows.entry(key.index()).or_default();
                of_key.0 = part.rows.identifier(row);
                of_key.1.push(part.rows.row(row).get());
            }
            assert_eq!(rows.len() as u64, part.set.counts().used);
            let payload = |key: usize| match part.set.payload_len() {
                0 => Vec::new(),
                _ => part.set.payloads().of(key).to_vec(),
            };
            found.extend(rows.into_iter().map(|(key, of_key)| (of_key, payload(key))));
        }
        found
    }

    fn table(rows: usize, values: usize, rng: &mut StdRng) -> Vec<[String; 3]> {
        const FIRST: [&str; 6] = ["ann", "Anne", "anna ", "bob", "", "robert"];
        (0..rows)
            .map(|_| {
                let last = match rng.random_range(0..values + 1) {
                    0 => String::new(),
                    number => format!("name{}", ["", "x", "y"][number % 3].repeat(number)),
                };
                let (year, month) = (1990 + rng.random_range(0..values), rng.random_range(1..14));
                let first = FIRST[rng.random_range(0..FIRST.len())].to_owned();
                [first, last, format!("{year}-{month:02}-01")]
            })
            .collect()
    }

    /// The keys of small tables, in which nearly all are ambiguous, are those found in the clear.
    #[test]
    fn ambiguous_keys_take_no_part_but_by_the_first_rule() {
        let mut rng = StdRng::seed_from_u64(1);
        for (round, rows) in [0, 1, 2, 3, 7, 31, 100].into_iter().cycle().take(70).enumerate() {
            let rules = rules(&RULES[..1 + round % 4]);
            let table = table(rows, 1 + round % 13, &mut rng);
            let expected = plain(&rules, &table, AmbiguousKeys::ByFirstRule);
            let (keys, found) = read(&rules, &table, 1 << 30, Reading::default());
            assert_eq!(found, expected.rules);
            assert_eq!(keys.counts().used, expected.keys.len() as u64);
            let TableKeys::Held(set) = &keys else { panic!("few keys stay in memory") };
            let by_rule = set.rows().keys_of_identifiers(KeyNumber::at_all(
                &(0..expected.keys.len() as u32).collect::<Vec<_>>(),
            ));
            let expected_by_rule = (0..rules.rules().len())
                .map(|rule| expected.keys.iter().filter(|(of, _)| *of == rule).count() as u64);
            assert!(by_rule.into_iter().eq(expected_by_rule));
            assert_eq!(in_partitions(keys, 3), expected.keys);
        }
    }

    #[test]
    fn all_ways_agree() {
        let mut rng = StdRng::seed_from_u64(2);
        for count in [1, 4] {
            let rules = rules(&RULES[..count]);
            let table = table(40_000, 60, &mut rng);
            let expected = plain(&rules, &table, AmbiguousKeys::ByFirstRule);
            for memory in [1 << 30, 1 << 20] {
                let (keys, found) = read(&rules, &table, memory, Reading::default());
                assert_eq!(matches!(keys, TableKeys::Spilled(_)), memory == 1 << 20);
                assert_eq!(found, expected.rules);
                assert_eq!(keys.len(), expected.keys.len() as u64);
                assert!(in_partitions(keys, 5) == expected.keys);
            }
        }
    }

    /// In a join, each key has the token and the values of the only person who has it, in memory and from the disk.
    #[test]
    fn columns_are_those_of_one_person() {
        let mut rng = StdRng::seed_from_u64(4);
        let rules = rules(&RULES);
        let sent = SentColumns { columns: vec!["f".to_owned()], bytes: 12, rows: 1 };
        for (rows, values) in [(0, 1), (9, 1), (300, 7), (20_000, 60)] {
            let table = table(rows, values, &mut rng);
            let expected = plain(&rules, &table, AmbiguousKeys::ByNoRule);
            let mut tokens = Vec::new();
            for (memory, pad) in [(1 << 30, false), (1 << 30, true), (1 << 20, true)] {
                let reading = Reading {
                    sends: Some(sent.clone()),
                    ambiguous: AmbiguousKeys::ByNoRule,
                    tokens: Some(TokenSecret::new([5; 32])),
                    pad,
                    ..Reading::default()
                };
                let (keys, found) = read(&rules, &table, memory, reading);
                assert_eq!(found, expected.rules);
                assert_eq!(keys.counts().used, expected.keys.len() as u64);
                if let TableKeys::Held(set) = &keys {
                    // Random keys have payloads, too.
                    (0..set.digests().len()).for_each(|key| _ = set.rows().payloads().of(key));
                }
                let payloads = payloads(keys, 3);
                assert!(payloads.keys().eq(&expected.keys));
                let mut rows_of_tokens = BTreeMap::new();
                for ((_, rows), payload) in &payloads {
                    let first = rows[0] as usize;
                    let (token, values) = payload.split_at(TOKEN);
                    assert_eq!(sent.row(values, 0), Some(vec![Some(&table[first][0][..])]));
                    rows_of_tokens
                        .entry(token.to_vec())
                        .or_insert_with(BTreeSet::new)
                        .insert(first);
                }
                let of_one_row: BTreeSet<_> = rows_of_tokens.values().flatten().collect();
                assert!(rows_of_tokens.values().all(|rows| rows.len() == 1));
                assert_eq!(of_one_row.len(), rows_of_tokens.len());
                tokens.push(rows_of_tokens);
            }
            assert!(tokens.iter().all(|all| *all == tokens[0]), "the secret decides");
        }
    }

    /// With random keys, the number of keys depends on the numbers of rows and rules only.
    #[test]
    fn random_keys_hide_how_complete_a_table_is() {
        let mut rng = StdRng::seed_from_u64(3);
        let rules = rules(&RULES);
        for (rows, memory) in [(30, 1 << 30), (20_000, 1 << 20)] {
            let table = table(rows, 5, &mut rng);
            let (keys, _) =
                read(&rules, &table, memory, Reading { pad: true, ..Reading::default() });
            assert_eq!(keys.len(), 4 * rows as u64);
            assert!(keys.counts().used < keys.len());
            let expected = plain(&rules, &table, AmbiguousKeys::ByFirstRule).keys;
            if let TableKeys::Held(set) = &keys {
                let digests: BTreeSet<_> = set.digests().iter().map(|d| *d.as_bytes()).collect();
                assert_eq!(digests.len() as u64, keys.len());
                let all: Vec<_> = (0..digests.len() as u32).collect();
                let rows = set.rows().rows_of(KeyNumber::at_all(&all));
                assert!(rows.len() as u64 <= set.counts().read);
            }
            assert!(in_partitions(keys, 4) == expected);
        }
    }
}
