//! The quality of rules on tables in which it is known which rows are of one person.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use serde::Serialize;
use vesica_core::error::{Error, Result};
use vesica_keyset::linked::RuleKeys;
use vesica_linkage::{MatchField, Rules, rules_of};
use vesica_normalize::{digest::Digest, null_values::NullValues};
use vesica_spec::{self as spec, Fault, Judged, Table};
use vesica_table::{
    input::Columns,
    source::{Dialect, Source},
};

/// A table in which a column names the person of each row.
#[derive(Debug, Clone)]
struct LabelledTable {
    source: Source,
    dialect: Dialect,
    /// The rules on its columns.
    rules: Rules,
    /// The column that names the person, equal in both tables. A row without a value is a person of its own.
    truth: String,
}

/// The quality of rules: of each by itself, and of each with those before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatchQuality {
    /// The rows of both tables.
    pub rows: [u64; 2],
    /// Rows of the first table whose person is in the second.
    pub linked: u64,
    /// The rules in their order.
    pub rules: Vec<RuleQuality>,
    /// The rules in the order in which each adds most: right rows less false ones. Rules that add nothing are left out.
    pub greedy: Vec<GreedyStep>,
}

/// The quality of a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleQuality {
    /// The rule.
    pub rule: String,
    /// By itself.
    pub alone: Quality,
    /// Together with the rules before it.
    pub so_far: Quality,
}

/// A step of the greedy order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GreedyStep {
    /// The number of the rule, counted from 1.
    pub number: usize,
    /// The rule.
    pub rule: String,
    /// Together with the rules of earlier steps.
    pub so_far: Quality,
}

/// The quality of the matched rows of the first table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quality {
    /// Matched rows.
    pub matched: u64,
    /// Matched rows that match a row of the same person.
    pub right: u64,
    /// The share of right rows among those whose person is in the second table.
    pub recall: Option<Interval>,
    /// The share of right rows among matched ones.
    pub precision: Option<Interval>,
}

/// A share, and the interval of Wilson that covers the true one in 95 % of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The share.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns the share of `part` in `all`; `None` if `all` is 0.
    pub fn of(part: u64, all: u64) -> Option<Self> {
        /// The 97.5 % quantile of the normal distribution.
        const Z: f64 = 1.959_963_984_540_054;
        let (n, z) = (all as f64, Z * Z);
        let share = part as f64 / n;
        let middle = (share + z / (2.0 * n)) / (1.0 + z / n);
        let half = Z * (share * (1.0 - share) / n + z / (4.0 * n * n)).sqrt() / (1.0 + z / n);
        (all > 0).then(|| Self {
            share,
            low: (middle - half).clamp(0.0, share),
            high: (middle + half).clamp(share, 1.0),
        })
    }
}

/// Evaluates rules on two tables, or on the rows of one table that are of the same people: the first row of each person
/// is then compared with the others. A person with a single row goes to either part by turns.
///
/// # Errors
/// [`Fault`] of the specification, and any fault of the tables.
pub fn match_quality(
    judged: &Judged,
    first: Source,
    second: Option<Source>,
) -> spec::Result<MatchQuality> {
    let Judged { people, rules, .. } = judged;
    let purpose = "which column names the person";
    let truth = people.truth.clone().ok_or(Fault::Missing { options: &["truth"], purpose })?;
    if rules.r#match.is_empty() {
        let purpose = "by which rules rows match";
        return Err(Fault::Missing { options: &["match"], purpose }.into());
    }
    let own = &*judged.tables;
    let second = match second {
        Some(source) => {
            let mut table = own.clone();
            let is_other = |name: &str| people.their_field.iter().any(|field| field.name == name);
            table.field.retain(|field| !is_other(&field.name));
            table.field.extend(people.their_field.iter().cloned());
            let truth = people.their_truth.clone().unwrap_or_else(|| truth.clone());
            Some(LabelledTable::of(judged, table, source, truth)?)
        }
        None => {
            let options = [
                ("their-truth", people.their_truth.is_some()),
                ("their-field", !people.their_field.is_empty()),
            ];
            match options.iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => {
                    return Err(Fault::Unfit { option, why: "is for a second table" }.into());
                }
                None => None,
            }
        }
    };
    let first = LabelledTable::of(judged, own.clone(), first, truth)?;
    let null_values = rules.null_values.clone().unwrap_or_default();
    Ok(evaluate(first, second, &null_values)?)
}

impl LabelledTable {
    /// Describes a table with these fields.
    fn of(judged: &Judged, table: Table, source: Source, truth: String) -> spec::Result<Self> {
        let rules = table.rules(&judged.rules.r#match)?;
        let input = match &source {
            Source::File(path) => Some(path.clone()),
            _ => None,
        };
        let most_bytes = judged.resources.memory;
        let dialect = Dialect { most_bytes, ..Table { input, ..table }.dialect() };
        Ok(Self { source, dialect, rules, truth })
    }
}

fn evaluate(
    first: LabelledTable,
    second: Option<LabelledTable>,
    null_values: &NullValues,
) -> Result<MatchQuality> {
    let mut people = People::default();
    let texts: Vec<_> = first.rules.rules().iter().map(ToString::to_string).collect();
    let names: Vec<_> = first.rules.fields().iter().map(|field| field.name().to_owned()).collect();
    let fields_of = first.rules.rules().iter().map(|rule| {
        let place = |name: &&str| names.iter().position(|other| other == name);
        rule.fields().iter().filter_map(place).fold(0, |fields, place| fields | 1 << place)
    });
    let fields_of = fields_of.collect();
    let first = KeyedRows::read(first, &mut people, null_values)?;
    let (first, second) = match second {
        Some(second) => (first, KeyedRows::read(second, &mut people, null_values)?),
        None => first.divided(),
    };
    let there: HashSet<_> = second.rows.iter().map(|row| row.person).collect();
    let linked = first.rows.iter().filter(|row| there.contains(&row.person)).count() as u64;
    let pair = LabelledPair { first, second, linked, fields_of, found: RefCell::default() };
    let all: Vec<_> = (0..texts.len()).collect();
    let rules = texts.iter().enumerate().map(|(at, rule)| RuleQuality {
        rule: rule.clone(),
        alone: pair.quality(&[at], &all),
        so_far: pair.quality(&all[..=at], &all),
    });
    let rules = rules.collect();
    let rows = [pair.first.rows.len() as u64, pair.second.rows.len() as u64];
    Ok(MatchQuality { rows, linked, rules, greedy: pair.greedy(&texts) })
}

/// The rows of two tables, and the rows that each rule finds.
struct LabelledPair {
    first: KeyedRows,
    second: KeyedRows,
    /// The rows of the first table whose person is in the second one.
    linked: u64,
    /// The fields of each rule, as bits.
    fields_of: Vec<u64>,
    found: RefCell<HashMap<RuleInRun, Rc<Vec<RowOutcome>>>>,
}

/// A rule in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct RuleInRun {
    rule: usize,
    /// The fields of all rules of the run, as bits; `None` for the first rule, whose ambiguous keys take part.
    fields: Option<u64>,
}

impl LabelledPair {
    /// Returns the quality of some rules of a run by all these rules, in this order.
    fn quality(&self, rules: &[usize], run: &[usize]) -> Quality {
        let fields = run.iter().fold(0, |fields, rule| fields | self.fields_of[*rule]);
        let mut all = vec![RowOutcome::default(); self.first.rows.len()];
        for rule in rules {
            let fields = Some(fields).filter(|_| run.first() != Some(rule));
            let in_run = RuleInRun { rule: *rule, fields };
            let found = self.found.borrow().get(&in_run).cloned();
            let found = found.unwrap_or_else(|| {
                let found = Rc::new(outcomes(in_run, &self.first, &self.second));
                self.found.borrow_mut().insert(in_run, found.clone());
                found
            });
            for (all, found) in all.iter_mut().zip(&*found) {
                all.is_any |= found.is_any;
                all.is_right |= found.is_right;
            }
        }
        Quality::of(&all, self.linked)
    }

    /// Returns the rules in the order in which each adds most to a run by those before it.
    fn greedy(&self, texts: &[String]) -> Vec<GreedyStep> {
        let gain = |found: &Quality| 2 * found.right as i64 - found.matched as i64;
        let (mut chosen, mut steps) = (Vec::new(), Vec::new());
        let mut best_gain = 0;
        loop {
            let rest = (0..texts.len()).filter(|at| !chosen.contains(at));
            let with = rest.map(|at| {
                let run = [&chosen[..], &[at]].concat();
                (at, self.quality(&run, &run))
            });
            // The earlier of two equal ones.
            let best = with.max_by_key(|(at, found)| (gain(found), std::cmp::Reverse(*at)));
            let Some((at, so_far)) = best.filter(|(_, found)| gain(found) > best_gain) else {
                return steps;
            };
            best_gain = gain(&so_far);
            chosen.push(at);
            steps.push(GreedyStep { number: at + 1, rule: texts[at].clone(), so_far });
        }
    }
}

/// The people that a column names, by number.
#[derive(Default)]
struct People {
    numbers: HashMap<Vec<u8>, u32>,
    next: u32,
}

impl People {
    fn number(&mut self, name: &[u8]) -> u32 {
        let next = &mut self.next;
        let mut new = || {
            *next += 1;
            *next
        };
        match name.trim_ascii() {
            [] => new(),
            name => *self.numbers.entry(name.to_vec()).or_insert_with(new),
        }
    }
}

/// The rows of a table.
struct KeyedRows {
    rows: Vec<KeyedRow>,
}

/// A row, with its keys shortened.
struct KeyedRow {
    person: u32,
    /// The key by each rule.
    keys: Vec<Option<u128>>,
    /// The value of each field.
    fields: Vec<Option<u128>>,
}

impl KeyedRows {
    fn read(table: LabelledTable, people: &mut People, null_values: &NullValues) -> Result<Self> {
        let LabelledTable { source, dialect, rules, truth } = table;
        let all: Vec<_> =
            rules.fields().iter().map(MatchField::column).chain([truth.as_str()]).collect();
        let columns = Columns { keys: &all, ..Columns::default() };
        let scan = source.open(dialect)?.read_columns(columns)?;
        if scan.header().is_missing() {
            return Ok(Self { rows: Vec::new() });
        }
        let truth = scan.find(&all)?.last().copied().unwrap_or_default();
        let maker = RuleKeys::new(&scan, Arc::new(rules.clone()), null_values.clone())?;
        // Each field by itself.
        let names: Vec<_> = rules.fields().iter().map(MatchField::name).collect();
        let single = rules_of(&names, rules.fields())
            .and_then(|single| Rules::new(single, rules.fields().to_vec()));
        let single = single.map_err(|_| Error::bug("a field is a rule"))?;
        let fields_maker = RuleKeys::new(&scan, Arc::new(single), null_values.clone())?;
        let mut rows = Vec::new();
        scan.rows(|row| {
            let short = |key: &[u8]| {
                let mut half = [0; 16];
                half.copy_from_slice(&Digest::of(key).as_bytes()[..16]);
                u128::from_le_bytes(half)
            };
            let mut keys = Vec::new();
            maker.show(&row, |key| keys.push(key.map(short)))?;
            let mut fields = Vec::new();
            fields_maker.show(&row, |key| fields.push(key.map(short)))?;
            rows.push(KeyedRow { person: people.number(row.field(truth)), keys, fields });
            Ok(())
        })?;
        Ok(Self { rows })
    }

    /// Divides a table into the first row of each person and the others.
    fn divided(self) -> (Self, Self) {
        let mut counts = HashMap::new();
        self.rows.iter().for_each(|row| *counts.entry(row.person).or_insert(0u32) += 1);
        let mut seen = HashSet::new();
        let mut to_first = false;
        let (first, second) = self.rows.into_iter().partition(|row| {
            if counts[&row.person] > 1 {
                return seen.insert(row.person);
            }
            to_first = !to_first;
            to_first
        });
        (Self { rows: first }, Self { rows: second })
    }

    /// Returns the rows of each key of a rule, without ambiguous keys unless the rule is the first.
    fn of_rule(&self, RuleInRun { rule, fields }: RuleInRun) -> HashMap<u128, Vec<usize>> {
        let mut rows: HashMap<u128, Vec<usize>> = HashMap::new();
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(key) = row.keys[rule] {
                rows.entry(key).or_default().push(at);
            }
        }
        let Some(fields) = fields else { return rows };
        let values = |row: usize| {
            let values = self.rows[row].fields.iter().enumerate();
            values.filter(move |(at, _)| fields >> at & 1 == 1).map(|(_, value)| value)
        };
        rows.retain(|_, rows| rows.iter().all(|row| values(*row).eq(values(rows[0]))));
        rows
    }
}

/// Whether a row matches.
#[derive(Debug, Clone, Copy, Default)]
struct RowOutcome {
    /// It matches some row.
    is_any: bool,
    /// It matches a row of the same person.
    is_right: bool,
}

/// Returns the outcome of each row of the first table by a rule.
fn outcomes(in_run: RuleInRun, first: &KeyedRows, second: &KeyedRows) -> Vec<RowOutcome> {
    let mut outcomes = vec![RowOutcome::default(); first.rows.len()];
    let there = second.of_rule(in_run);
    for (key, rows) in first.of_rule(in_run) {
        let Some(found) = there.get(&key) else { continue };
        for row in rows {
            let person = first.rows[row].person;
            let is_right = found.iter().any(|other| second.rows[*other].person == person);
            outcomes[row] = RowOutcome { is_any: true, is_right };
        }
    }
    outcomes
}

impl Quality {
    /// Returns the quality of rules by which the rows have these outcomes.
    fn of(outcomes: &[RowOutcome], linked: u64) -> Self {
        let matched = outcomes.iter().filter(|outcome| outcome.is_any).count() as u64;
        let right = outcomes.iter().filter(|outcome| outcome.is_right).count() as u64;
        let (recall, precision) = (Interval::of(right, linked), Interval::of(right, matched));
        Self { matched, right, recall, precision }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_table::source::Delimiter;

    use super::*;

    const FIELDS: [&str; 3] = ["first=f:name", "last=l:name", "dob=d:none"];

    fn table(text: &str, rules: &[&str]) -> LabelledTable {
        let fields: Vec<MatchField> = FIELDS.map(|field| field.parse().unwrap()).to_vec();
        LabelledTable {
            source: Source::Memory { name: "t".into(), bytes: text.into() },
            dialect: Delimiter::Comma.into(),
            rules: Rules::new(rules_of(rules, &fields).unwrap(), fields).unwrap(),
            truth: "p".to_owned(),
        }
    }

    const RULES: [&str; 3] = ["first, last, dob", "left(first, 1), dob", "last, dob"];

    /// The first rule finds Ann and Cleo, and Eve falsely; the third one Bob; the second one takes Bea for Ben. The
    /// twins Cleo and Dan share a key of the third rule here, so it takes no part.
    const A: &str =
        "p,f,l,d\n1,Ann,Lee,1\n2,Bob,Ray,2\n3,Bea,Fox,3\n4,Cleo,Day,4\n5,Dan,Day,4\n,Eve,Kay,5\n";
    const B: &str =
        "p,f,l,d\n1,Ann,Lee,1\n2,Robert,Ray,2\n9,Ben,Cox,3\n4,Cleo,Day,4\n7,Eve,Kay,5\n";

    #[test]
    fn rules_are_judged_alone_and_together() {
        let found =
            evaluate(table(A, &RULES), Some(table(B, &RULES)), &NullValues::default()).unwrap();
        assert_eq!((found.rows, found.linked), ([6, 5], 3));
        let counts = |quality: &Quality| (quality.matched, quality.right);
        let alone: Vec<_> = found.rules.iter().map(|rule| counts(&rule.alone)).collect();
        let so_far: Vec<_> = found.rules.iter().map(|rule| counts(&rule.so_far)).collect();
        // Eve is a person of her own here, and somebody else there.
        assert_eq!(alone, [(3, 2), (4, 2), (3, 2)]);
        assert_eq!(so_far, [(3, 2), (4, 2), (5, 3)]);
        let order: Vec<_> = found.greedy.iter().map(|step| step.number).collect();
        assert_eq!(order, [1, 3]);
    }

    /// A run by the rules of a step, in their order, has its quality.
    #[test]
    fn the_order_of_most_gain_comes_true() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..20 {
            let mut table_of = |rows: u32| {
                let row = |_| {
                    let mut draw = |values| rng.random_range(0..values);
                    format!("{},f{},l{},{}\n", draw(60), draw(9), draw(9), draw(20))
                };
                "p,f,l,d\n".to_owned() + &(0..rows).map(row).collect::<String>()
            };
            let [a, b] = [table_of(60), table_of(60)];
            let rules = ["last, dob", "first, last", "first, dob", "dob", "first, last, dob"];
            let judged = |rules: &[&str]| {
                let (a, b) = (table(&a, rules), table(&b, rules));
                evaluate(a, Some(b), &NullValues::default()).unwrap()
            };
            let greedy = judged(&rules).greedy;
            let order: Vec<_> = greedy.iter().map(|step| rules[step.number - 1]).collect();
            for (at, step) in greedy.iter().enumerate() {
                let run = judged(&order[..=at]);
                assert_eq!(step.so_far, run.rules[at].so_far);
            }
        }
    }

    #[test]
    fn a_table_with_known_duplicates_is_divided() {
        let text = A.to_owned() + B.trim_start_matches("p,f,l,d\n");
        let found = evaluate(table(&text, &RULES), None, &NullValues::default()).unwrap();
        // The first rows of 1, 2 and 4, and half of the six single ones.
        assert_eq!((found.rows, found.linked), ([6, 5], 3));
        assert_eq!(found.rules[0].alone.right, 2);
    }

    /// Values of Wilson's interval from Newcombe (1998), table I.
    #[test]
    fn intervals_are_those_published() {
        for (part, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = Interval::of(part, all).unwrap();
            assert!(
                (found.low - low).abs() < 6e-5 && (found.high - high).abs() < 6e-5,
                "{found:?}"
            );
        }
        assert_eq!(Interval::of(0, 0), None);
    }
}
