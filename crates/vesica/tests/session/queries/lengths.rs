//! The lengths of all messages of a session say nothing about labels, filters, nulls, values and matches.

use std::ops::Range;

use vesica::queries::{Keys, QueryTable, Selection};
use vesica_select::{Date, FixedPoint};
use vesica_testkit::assurance;

use super::{
    clear::{Cell, Row},
    random::{Column, Values},
    tables::declared,
    *,
};

const NAMES: &[&str] = &["x", "it's a longer label", "north"];

/// A side's keys and the content of its rows.
struct Content {
    keys: Range<u32>,
    /// Rows of each key, if keys repeat.
    rows: usize,
    number: fn(u32) -> Option<i64>,
    text: fn(u32) -> usize,
    is_chosen: fn(u32) -> bool,
}

/// Two sides with equally many keys: 60 and 50.
fn contents() -> Vec<[Content; 2]> {
    let usual = |keys: Range<u32>| Content {
        keys,
        rows: 1,
        number: |key| (!key.is_multiple_of(5)).then_some(key.into()),
        text: |key| key as usize % 3,
        is_chosen: |key| key.is_multiple_of(3),
    };
    let same = |content: Content| Content { text: |_| 1, ..content };
    let none = |content: Content| Content { is_chosen: |_| false, ..content };
    let null = |content: Content| Content { number: |_| None, ..content };
    let large = |content: Content| Content { number: |_| Some(-120_000_000_000), ..content };
    let many = |content: Content| Content { rows: 3, is_chosen: |_| true, ..content };
    let (a, b) = (0..60, 20..70);
    let both = |f: &dyn Fn(Content) -> Content| [f(usual(a.clone())), f(usual(b.clone()))];
    vec![
        both(&|content| content),
        [usual(a.clone()), usual(100..150)],
        [many(usual(a.clone())), many(usual(0..50))],
        both(&same),
        both(&none),
        both(&null),
        both(&large),
        both(&many),
    ]
}

fn columns(labels: &str) -> random::Columns {
    let column = |side: &str| {
        let (label, rows) = if side == "a" { ("text", "/3") } else { (labels, "") };
        vec![
            Column::new("n", "decimal(2)[-1000..1000]?", "", Values::Number(2)),
            Column::new("word", label, "", Values::Text(NAMES)),
            Column::new("chosen", "boolean", "", Values::Boolean),
            Column::new("at", format!("date[2026-01-01..2026-01-20]{rows}"), "", Values::Date(0)),
        ]
    };
    ["a", "b"].map(column)
}

/// The label and length of each message of both sides.
type Lengths = [Vec<(String, usize)>; 2];

/// The first message of two sessions that differs.
fn difference(one: &Lengths, other: &Lengths) -> Option<String> {
    let differs = |(one, other): (&Vec<_>, &Vec<_>)| {
        let at = one.iter().zip(other).position(|(one, other)| one != other);
        let at = at.or((one.len() != other.len()).then_some(one.len().min(other.len())));
        at.map(|at| format!("message {at}: {:?}, {:?}", one.get(at), other.get(at)))
    };
    one.iter().zip(other).find_map(differs)
}

/// The lengths of the messages of both sides.
fn lengths(
    text: &str,
    labels: &str,
    keys: [Keys; 2],
    contents: &[Content; 2],
    learns: Learns,
    partitions: u32,
) -> Lengths {
    let columns = columns(labels);
    let query: vesica::queries::Select = text.parse().unwrap();
    let declared = Side::BOTH.map(|side| {
        let used = query.columns(side);
        let is_used = |column: &&Column| used.iter().any(|used| used.name == column.name);
        let used: Vec<_> = columns[side.index()].iter().filter(is_used).cloned().collect();
        declared(&used, keys[side.index()])
    });
    let [a, b] =
        Side::BOTH.map(|side| QueryTable { side, declared: Some(declared[side.index()].clone()) });
    let selection = Selection::of_roles(query.clone().into(), [&a, &b]).unwrap();
    let shape = selection.shape().unwrap().clone();
    let tables = Side::BOTH.map(|side| {
        let Content { keys: all, rows, number, text, is_chosen } = &contents[side.index()];
        let copies = if keys[side.index()] == Keys::Repeats { *rows } else { 1 };
        let row = |key, copy| {
            let number = number(key).map(|number| Cell::Number(FixedPoint::new(number.into(), 2)));
            let cells = [
                ("n", number),
                ("word", Some(Cell::Text(NAMES[text(key)]))),
                ("chosen", Some(Cell::Boolean(is_chosen(key)))),
                // Few labels are shared by many days, and the other way round.
                (
                    "at",
                    Date::new(2026, 1, 1 + (key * text(key) as u32 + copy) % 20).map(Cell::Date),
                ),
            ];
            Row { key, cells: cells.into() }
        };
        let rows = |key| (0..copies).map(move |copy| (key, copy as u32));
        all.clone().flat_map(rows).map(|(key, copy)| row(key, copy)).collect()
    });
    let case = Case {
        number: 0,
        text: text.to_owned(),
        query,
        shape,
        columns,
        declared,
        tables,
        is_extreme: false,
        a: Role::A,
        learns,
        partitions,
        keeps: partitions > 1,
        breaks: None,
    };
    let bench = Bench::new();
    let jobs = [Role::A, Role::B].map(|role| case.job(&bench, role));
    case.run(jobs, Link::Memory.connect().into()).map(|(ended, transcript)| {
        ended.unwrap();
        let shape = transcript.shape().into_iter();
        shape.map(|(label, len)| (label.to_owned(), len)).collect()
    })
}

const FROM: &str = "FROM a JOIN b USING (key)";

#[test]
fn lengths_of_a_session_follow_from_the_terms_and_sizes() {
    let by_group = format!(
        "SELECT b.word, count(*), sum(a.n), avg(b.n) {FROM} WHERE a.chosen AND b.n < 3 AND a.word <> 'x' GROUP BY b.word"
    );
    let few = format!("{by_group} HAVING count(*) >= 4 WITH REMAINDER");
    let total = format!("SELECT sum(a.n * b.n), count(a.n), var_samp(b.n) {FROM} WHERE b.chosen");
    let touched =
        "SELECT b.word, count(*), sum(a.n) FROM a ASOF JOIN b ON a.key = b.key AND a.at >= b.at \
                   WHERE a.at - b.at <= 7 AND b.chosen GROUP BY b.word HAVING count(*) >= 4"
            .to_owned();
    let unique = [Keys::Unique; 2];
    let (private, public) = ("label<=5", "{x,'it''s a longer label',north,south}?");
    for (place, (text, labels, keys)) in [
        (&few, private, unique),
        (&by_group, public, unique),
        (&total, private, unique),
        (&few.replace("avg(b.n)", "count(DISTINCT key)"), public, [Keys::Repeats, Keys::Unique]),
        (&touched, "label<=5/3", [Keys::Unique, Keys::Repeats]),
        (&touched, "label<=5/3", [Keys::Repeats, Keys::Repeats]),
    ]
    .into_iter()
    .enumerate()
    {
        let ways = [(Learns::Me, 1), (Learns::Peer, 1), (Learns::Both, 1), (Learns::Both, 4)];
        for (way, (learns, partitions)) in ways.into_iter().enumerate() {
            if !assurance::tries(place, way, ways.len()) {
                continue;
            }
            let of = |contents| lengths(text, labels, keys, contents, learns, partitions);
            let [first, others @ ..] = &contents()[..] else { unreachable!() };
            let first = of(first);
            for (number, contents) in (1..).zip(others) {
                let differs = difference(&first, &of(contents));
                assert_eq!(differs, None, "{text}, {learns:?}, content {number}");
            }
        }
    }
}

/// The comparison of lengths sees sizes, declarations and the query.
#[test]
fn lengths_of_other_terms_and_sizes_differ() {
    let text = format!("SELECT b.word, sum(a.n) {FROM} GROUP BY b.word HAVING count(*) >= 4");
    let usual = &contents()[0];
    let of = |text: &str, labels, contents| {
        lengths(text, labels, [Keys::Unique; 2], contents, Learns::Me, 1)
    };
    let first = of(&text, "label<=5", usual);
    let differs = |other: Lengths| difference(&first, &other).is_some();
    assert!(!differs(of(&text, "label<=5", usual)));
    assert!(differs(of(&text, "label<=50", usual)));
    assert!(differs(of(&text.replace("sum", "var_samp"), "label<=5", usual)));
    let [a, b] = contents().swap_remove(0);
    let more = [a, Content { keys: 20..110, ..b }];
    assert!(differs(of(&text, "label<=5", &more)));
}
