//! A query in plain English, for people who consent to it.

use crate::{
    as_of::AsOf,
    column::{ColumnRef, Side},
    declaration::Keys,
    query::{Aggregate, Label, Select},
    shape::{Formula, LabelValues, Shape},
};

impl Select {
    /// Describes the facts that a side learns from a query, with the names of both sides, as phrases that continue
    /// "learns".
    pub fn phrases(&self, a: &str, b: &str, shape: Option<&Shape>) -> Vec<String> {
        self.phrases_in(&Wording { names: [a, b], shape, rows_of: None })
    }

    /// Describes the same facts if rows of this side are counted in place of keys, because rules match them.
    pub fn phrases_of_rows(
        &self,
        a: &str,
        b: &str,
        shape: Option<&Shape>,
        side: Side,
    ) -> Vec<String> {
        self.phrases_in(&Wording { names: [a, b], shape, rows_of: Some(side) })
    }

    fn phrases_in(&self, words: &Wording<'_>) -> Vec<String> {
        let groups: Vec<_> =
            (0..).zip(&self.labels).map(|(i, label)| words.label(i, label)).collect();
        let mut aggregates: Vec<String> = Vec::new();
        for (place, aggregate) in self.aggregates().enumerate() {
            // The same number may have two columns.
            let counted = words.counts_values(place);
            let said = words.aggregate(aggregate) + counted;
            if !aggregates.contains(&said) {
                aggregates.push(said);
            }
        }
        let aggregates = all(&aggregates);
        let least = words.least(self.least);
        let mut phrases = vec![match (groups.is_empty(), self.least) {
            (true, 0) => aggregates,
            (true, number) => {
                let be = if number == 1 { "is" } else { "are" };
                format!("{aggregates}, if there {be} {least}")
            }
            (false, 0) => format!("{aggregates}, for {}", all(&groups)),
            (false, _) => format!("{aggregates}, for {} with {least}", all(&groups)),
        }];
        if let Some(as_of) = self.as_of() {
            phrases[0] += &words.join(as_of);
        }
        if let Some(side) = words.rows_of {
            let [owner, other] = [side, side.other()].map(|side| words.names[side.index()]);
            phrases[0] +=
                &format!(", over {owner}'s rows that match a row of {other} by one of the rules");
        }
        if self.has_remainder {
            phrases.push(format!("the same for all other groups together, if they have {least}"));
        }
        phrases
    }

    /// Describes the filter of each side that has one: the rows of that side that count.
    pub fn filters_in_words(&self, a: &str, b: &str) -> Vec<String> {
        let named = Side::BOTH.into_iter().zip([a, b]);
        let filters = named.filter_map(|(side, name)| {
            let filter = self.filter(side)?.text(false);
            Some(format!("only rows of {name} with `{filter}` count"))
        });
        filters.collect()
    }
}

/// The names of both sides, and what is known of the query.
struct Wording<'a> {
    names: [&'a str; 2],
    shape: Option<&'a Shape>,
    /// The side whose rows are counted in place of keys, if rules match them.
    rows_of: Option<Side>,
}

impl Wording<'_> {
    /// Returns the words for at least this number of keys, or of rows in place of keys.
    fn least(&self, number: u64) -> String {
        let unit = match (self.rows_of, number) {
            (None, 1) => "shared key",
            (None, _) => "shared keys",
            (Some(_), 1) => "row",
            (Some(_), _) => "rows",
        };
        let different = if self.repeats_rows() { " with different fields" } else { "" };
        format!("at least {number} {unit}{different}")
    }

    /// Returns whether rows are counted, also those that are equal.
    fn repeats_rows(&self) -> bool {
        let keys = self.rows_of.zip(self.shape).map(|(side, shape)| shape.keys[side.index()]);
        keys == Some(Keys::Repeats)
    }

    fn column(&self, column: &ColumnRef) -> String {
        format!("{}'s `{}`", self.names[column.side.index()], column.name)
    }

    fn label(&self, number: usize, label: &Label) -> String {
        let column = self.column(label.column());
        let shape = self.shape.map(|shape| &shape.labels[number]);
        let values = match (label, shape.map(|shape| &shape.values)) {
            (Label::Bucket { edges, .. }, _) => {
                let edges: Vec<_> = edges.iter().map(ToString::to_string).collect();
                format!("each of {} ranges of {column}, split at {}", edges.len() + 1, all(&edges))
            }
            (Label::Column(_), Some(LabelValues::Public(labels))) => {
                format!("each of {} known values of {column}", labels.len())
            }
            (Label::Column(_), Some(LabelValues::Private { most })) => {
                format!("each of at most {most} values of {column}")
            }
            (Label::Column(_), None) => format!("each value of {column}"),
        };
        match shape {
            Some(shape) if shape.is_nullable => format!("{values} or none"),
            _ => values,
        }
    }

    /// Describes the join by the latest earlier row.
    fn join(&self, as_of: &AsOf) -> String {
        let [later, earlier] = [as_of.later, as_of.earlier()].map(|side| as_of.date(side));
        let owner = self.names[earlier.side.index()];
        let before = match as_of.within {
            0 => "on the day of".to_owned(),
            1 => "up to 1 day before".to_owned(),
            days => format!("up to {days} days before"),
        };
        let latest = self.shape.and_then(|shape| shape.latest);
        let counted = match latest.map_or(1, |latest| latest.rows) {
            1 => "a key counts".to_owned(),
            rows => format!("each of at most {rows} rows of a key counts"),
        };
        format!(
            ", where {counted} by {owner}'s latest `{}` {before} {}, or not at all",
            earlier.name,
            self.column(&later)
        )
    }

    /// Returns the words for the number of values that comes with a sum of a column that may be null.
    fn counts_values(&self, place: usize) -> &'static str {
        match self.shape.map(|shape| shape.results[place]) {
            Some(Formula::Sum { present: Some(_), .. }) => " together with its number of values",
            _ => "",
        }
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        match aggregate {
            Aggregate::CountKeys(_) if self.repeats_rows() => {
                "the number of rows with different fields".to_owned()
            }
            Aggregate::CountAll | Aggregate::CountKeys(_) if self.rows_of.is_some() => {
                "the number of rows".to_owned()
            }
            Aggregate::CountAll => match self.shape.map(|shape| shape.keys) {
                Some([Keys::Unique, Keys::Unique]) => "the number of shared keys".to_owned(),
                _ => "the number of rows with shared keys".to_owned(),
            },
            Aggregate::CountKeys(_) => "the number of shared keys".to_owned(),
            Aggregate::Count(column) => format!("the number of values of {}", self.column(column)),
            Aggregate::Sum(column) => format!("the sum of {}", self.column(column)),
            Aggregate::SumOfProducts(first, second) if first == second => {
                format!("the sum of the squares of {}", self.column(first))
            }
            Aggregate::SumOfProducts(first, second) => {
                format!(
                    "the sum of the products of {} and {}",
                    self.column(first),
                    self.column(second)
                )
            }
            Aggregate::Mean(column) => {
                format!(
                    "the mean of {} together with its sum and number of values",
                    self.column(column)
                )
            }
            Aggregate::Variance(column) => format!(
                "the variance of {} together with its sum, sum of squares and number of values",
                self.column(column)
            ),
        }
    }
}

/// Joins words by commas and "and".
fn all(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first, second] if ![", ", " and "].iter().any(|part| first.contains(part)) => {
            format!("{first} and {second}")
        }
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}
