//! Queries, declarations of columns and rules, as a partner sends them.

use vesica_linkage::{MatchField, MatchRule, Rules};
use vesica_normalize::null_values::NullValues;
use vesica_select::{Datum, Declaration, Declared, FixedPoint, Keys, Select, Shape, Side};

use crate::{Valid, documents::same_again};

/// Declarations of one side's columns, one a line, an empty line, the same for the other side, another empty line, and
/// a query. A canonical text parses to the same value. A query that passes the check can be put into words and
/// evaluated.
pub fn select(data: &[u8], valid: &mut Valid) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut parts = text.splitn(3, "\n\n");
    let columns = [(); 2].map(|()| {
        let lines = parts.next().unwrap_or_default().lines();
        lines.filter_map(same_again::<Declaration>).collect::<Vec<_>>()
    });
    valid.note_if(columns.iter().any(|columns| !columns.is_empty()), "declaration");
    let Some(query) = parts.next().and_then(same_again::<Select>) else { return };
    valid.note("query");
    assert_eq!(query.mirrored().mirrored(), query);
    same_again::<Select>(&query.mirrored().to_string()).expect("a canonical text");
    let numbers = [i128::MIN, -1, 0, 1, i128::MAX];
    let values = numbers.map(|number| Datum::Number(FixedPoint::new(number, 18)));
    for value in values.into_iter().chain([Datum::Text("a"), Datum::Boolean(true)]) {
        Side::BOTH.into_iter().filter_map(|side| query.filter(side)).for_each(|filter| {
            filter.holds(&|_| Some(value));
        });
        query.labels().iter().for_each(|label| _ = label.of(Some(value)));
    }
    for keys in [Keys::Unique, Keys::Repeats] {
        let sides = columns.each_ref().map(|columns| Declared::new(columns.clone(), keys));
        let [Ok(a), Ok(b)] = sides else { return };
        let shape: Option<Shape> = query.check(&a, &b).ok();
        assert!(!query.phrases("A", "B", shape.as_ref()).is_empty());
        let Some(shape) = shape else { continue };
        for number in numbers {
            shape.aggregates(&vec![number; shape.sums.len()]);
        }
        valid.note("shape");
    }
}

/// Fields, one a line, an empty line, rules, one a line, another empty line, and the values of a row. A canonical text
/// parses to the same value, and rules that fit their fields derive the same keys from any row twice.
pub fn match_rules(data: &[u8], valid: &mut Valid) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut parts = text.splitn(3, "\n\n").map(str::lines);
    let fields = parts.next().into_iter().flatten().filter_map(same_again::<MatchField>);
    let fields: Vec<_> = fields.collect();
    valid.note_if(!fields.is_empty(), "field");
    let rules = parts.next().into_iter().flatten().filter_map(same_again::<MatchRule>);
    let rules: Vec<_> = rules.collect();
    valid.note_if(!rules.is_empty(), "rule");
    let Ok(rules) = Rules::new(rules, fields) else { return };
    let values = parts.next().into_iter().flatten().chain(std::iter::repeat(""));
    let row: Vec<_> = values.take(rules.fields().len()).collect();
    let found = rules.derive(&row, &NullValues::default());
    assert_eq!(found, rules.derive(&row, &NullValues::default()));
    assert_eq!(found.keys.len(), rules.rules().len());
    valid.note_if(found.keys.iter().any(Option::is_some), "key");
}
