//! Queries that people ask, with their shapes and their sentences; and the predicates of one side.

use vesica_select::{
    ColumnRef, Datum, Declared, Error, Formula, Keys, LabelValues, Select, Shape, Side, Summand,
    Width,
};

fn declared(columns: &[&str], keys: Keys) -> Declared {
    Declared::parse(columns, keys).unwrap()
}

const A: [&str; 10] = [
    "spend:decimal(2)",
    "small:decimal(2)[0..500]",
    "tiny:integer[0..9]",
    "v:integer",
    "balance:decimal(2)?",
    "age:integer",
    "country:text",
    "decile:{1,2,3,4,5,6,7,8,9,10}",
    "hits:integer?",
    "huge:label<=1025",
];
const B: [&str; 11] = [
    "segment:label<=20",
    "campaign:label<=64",
    "views:integer",
    "arm:{control,treated}",
    "genre:label<=30?",
    "region:label<=50",
    "diagnosis:label<=400",
    "opted_in:boolean",
    "defaulted:boolean",
    "price:integer[-100..1000]",
    "weight:decimal(3)?",
];

fn check(text: &str, keys: [Keys; 2]) -> Result<Shape, Error> {
    let query: Select = text.parse().unwrap();
    assert_eq!(query.to_string(), text);
    assert_eq!(query.mirrored().mirrored(), query);
    let (a, b) = (declared(&A, keys[0]), declared(&B, keys[1]));
    let shape = query.check(&a, &b);
    assert_eq!(query.mirrored().check(&b, &a).is_ok(), shape.is_ok());
    shape
}

const UNIQUE: [Keys; 2] = [Keys::Unique; 2];

/// The queries of a clean room: overlap, return on spend, frequency, lift, cross table, statistics, filters, scorecard.
const QUERIES: [(&str, u64, &str); 8] = [
    (
        "SELECT b.segment, count(*) FROM a JOIN b USING (key) GROUP BY b.segment",
        20,
        "the number of shared keys, for each of at most 20 values of bank's `segment`",
    ),
    (
        "SELECT b.campaign, count(*), sum(a.spend) FROM a JOIN b USING (key) GROUP BY b.campaign HAVING count(*) >= 50 \
         WITH REMAINDER",
        64,
        "the number of shared keys and the sum of shop's `spend`, for each of at most 64 values of bank's \
         `campaign` with at least 50 shared keys; the same for all other groups together, if they have at \
         least 50 shared keys",
    ),
    (
        "SELECT bucket(b.views, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), count(*) FROM a JOIN b USING (key) GROUP BY \
         bucket(b.views, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
        11,
        "the number of shared keys, for each of 11 ranges of bank's `views`, split at 1, 2, 3, 4, 5, 6, 7, \
         8, 9, and 10",
    ),
    (
        "SELECT b.arm, count(*), sum(a.v) AS total, sum(a.v * a.v) AS squares FROM a JOIN b USING (key) GROUP BY b.arm",
        2,
        "the number of shared keys, the sum of shop's `v`, and the sum of the squares of shop's `v`, for \
         each of 2 known values of bank's `arm`",
    ),
    (
        "SELECT bucket(a.age, 18, 30, 45, 60.5) AS age, b.genre, count(*) FROM a JOIN b USING (key) GROUP BY \
         bucket(a.age, 18, 30, 45, 60.5), b.genre",
        155,
        "the number of shared keys, for each of 5 ranges of shop's `age`, split at 18, 30, 45, and 60.5, and \
         each of at most 30 values of bank's `genre` or none",
    ),
    (
        "SELECT b.region, avg(a.balance), var_samp(a.balance) FROM a JOIN b USING (key) GROUP BY b.region",
        50,
        "the mean of shop's `balance` together with its sum and number of values, and the variance of shop's \
         `balance` together with its sum, sum of squares and number of values, for each of at most 50 values \
         of bank's `region`",
    ),
    (
        "SELECT count(DISTINCT key), sum(a.spend * b.price) FROM a JOIN b USING (key) WHERE a.country = 'DE' AND \
         (a.age < 18 OR a.age >= 65) AND b.opted_in HAVING count(*) >= 1",
        1,
        "the number of shared keys and the sum of the products of shop's `spend` and bank's `price`, if \
         there is at least 1 shared key; only rows of shop with `country = 'DE' AND (age < 18 OR age >= 65)` \
         count; only rows of bank with `opted_in` count",
    ),
    (
        "SELECT a.decile, b.defaulted, count(*), count(a.hits) FROM a JOIN b USING (key) GROUP BY a.decile, b.defaulted",
        20,
        "the number of shared keys and the number of values of shop's `hits`, for each of 10 known values of \
         shop's `decile` and each of 2 known values of bank's `defaulted`",
    ),
];

#[test]
fn the_queries_of_a_clean_room_have_a_shape_and_words() {
    for (text, groups, words) in QUERIES {
        let shape = check(text, UNIQUE).unwrap();
        assert_eq!(shape.groups, groups, "{text}");
        let query: Select = text.parse().unwrap();
        let mut said = query.phrases("shop", "bank", Some(&shape));
        said.extend(query.filters_in_words("shop", "bank"));
        assert_eq!(said.join("; "), words);
        let columns = Side::BOTH.map(|side| query.columns(side).len());
        assert!(columns.iter().sum::<usize>() > 0, "{text}");
    }
}

#[test]
fn sums_are_shared_and_have_widths_and_scales() {
    let text = "SELECT count(*), avg(a.balance), var_samp(a.balance), sum(a.small), sum(a.spend * b.price), \
                sum(a.small * b.price), sum(a.balance * b.weight), count(b.price) FROM a JOIN b USING (key)";
    let shape = check(text, UNIQUE).unwrap();
    let column = |side, name: &str| ColumnRef { side, name: name.to_owned() };
    let shown: Vec<_> = shape
        .sums
        .iter()
        .map(|sum| {
            let what = match &sum.summand {
                Summand::Key => "keys".to_owned(),
                Summand::Row => "rows".to_owned(),
                Summand::Present(columns) => format!("present {}", columns.len()),
                Summand::Product(factors) => factors
                    .iter()
                    .map(|factor| factor.column.to_string())
                    .collect::<Vec<_>>()
                    .join(" * "),
            };
            format!("{what}: {} bits, scale {}", sum.width.bits(), sum.scale)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "keys: 32 bits, scale 0",
            "a.balance: 64 bits, scale 2",
            "present 1: 32 bits, scale 0",
            "a.balance * a.balance: 128 bits, scale 4",
            // 50,000 · 2^28 is below 2^63.
            "a.small: 64 bits, scale 2",
            "a.spend * b.price: 128 bits, scale 2",
            // 50,000 · 1,000 · 2^28 is below 2^63.
            "a.small * b.price: 128 bits, scale 2",
            "a.balance * b.weight: 128 bits, scale 5",
            "present 2: 32 bits, scale 0",
        ]
    );
    assert_eq!(shape.results[1], Formula::Mean { sum: 1, present: 2 });
    assert_eq!(shape.results[2], Formula::Variance { sum: 1, squares: 3, present: 2 });
    assert_eq!(shape.results[3], Formula::Sum { sum: 4, present: None });
    assert_eq!(shape.results[7], Formula::Count { count: 0 });
    assert_eq!(
        shape.sums[8].summand,
        Summand::Present(vec![column(Side::A, "balance"), column(Side::B, "weight")])
    );
    assert_eq!(shape.sums[5].summand.sides(), [true; 2]);
    let Summand::Product(factors) = &shape.sums[6].summand else { panic!() };
    assert_eq!([factors[0].range.bits(), factors[1].range.bits()], [16, 11]);
    let sums = [5, 700, 4, 125_000, 0, 0, -12, 34, 0];
    let shown: Vec<_> = shape
        .aggregates(&sums)
        .iter()
        .map(|one| one.map_or("null".to_owned(), |one| one.to_string()))
        .collect();
    assert_eq!(shown, ["5", "1.75000000", "0.08333333", "0.00", "0.00", "-0.12", "null", "5"]);
    let narrow = check("SELECT sum(b.price) FROM a JOIN b USING (key)", UNIQUE).unwrap();
    assert_eq!(narrow.sums[0].width, Width::W64);
}

#[test]
fn rows_of_a_key_are_counted_once() {
    let [repeats_a, repeats_b, both] = [
        [Keys::Repeats, Keys::Unique],
        [Keys::Unique, Keys::Repeats],
        [Keys::Repeats, Keys::Repeats],
    ];
    let of = |aggregate: &str, keys| {
        check(&format!("SELECT {aggregate} FROM a JOIN b USING (key)"), keys)
    };
    for (aggregate, unfit) in [
        ("count(DISTINCT key)", &[][..]),
        ("count(*)", &[both]),
        ("count(b.price)", &[both]),
        ("count(b.weight)", &[repeats_a, both]),
        ("sum(a.spend)", &[repeats_b, both]),
        ("sum(b.price)", &[repeats_a, both]),
        ("avg(b.weight)", &[repeats_a, both]),
        ("var_samp(a.v)", &[repeats_b, both]),
        ("sum(a.spend * a.v)", &[repeats_b, both]),
        ("sum(a.v * b.price)", &[both]),
    ] {
        for keys in [repeats_a, repeats_b, both] {
            assert_eq!(
                of(aggregate, keys).is_err(),
                unfit.contains(&keys),
                "{aggregate}, {keys:?}"
            );
        }
    }
    assert_eq!(of("count(*)", repeats_a).unwrap().sums[0].width, Width::W64);
    // Bounds of a key's rows together do not bound the products of each row.
    assert_eq!(of("sum(a.tiny * a.tiny)", UNIQUE).unwrap().sums[0].width, Width::W64);
    assert_eq!(of("sum(a.spend * a.spend)", repeats_a).unwrap().sums[0].width, Width::W128);
    assert!(of("sum(a.tiny * a.tiny)", repeats_a).is_err());
}

#[test]
fn a_query_must_fit_the_declarations() {
    let group = |label: &str| {
        format!("SELECT {label}, count(*) FROM a JOIN b USING (key) GROUP BY {label}")
    };
    let filter = |text: &str| format!("SELECT count(*) FROM a JOIN b USING (key) WHERE {text}");
    let sum = |text: &str| format!("SELECT {text} FROM a JOIN b USING (key)");
    for (text, keys, words) in [
        (sum("sum(a.cost)"), UNIQUE, "side a does not declare a.cost: declare it, or correct the name"),
        (
            sum("sum(a.country)"),
            UNIQUE,
            "the query adds up a.country, which is declared as `country:text`: declare it as integer or decimal(SCALE)",
        ),
        (
            group("a.age"),
            UNIQUE,
            "the query groups by a.age, which is declared as `age:integer`: declare it as label<=N, {LABEL,...} or \
             boolean, or group by bucket(...)",
        ),
        (
            group("bucket(b.arm, 1)"),
            UNIQUE,
            "the query makes buckets of b.arm, which is declared as `arm:{control,treated}`: declare it as integer or \
             decimal(SCALE)",
        ),
        (
            filter("a.age"),
            UNIQUE,
            "the query uses as a condition a.age, which is declared as `age:integer`: declare it as boolean",
        ),
        (
            filter("a.country IN ('DE') AND NOT (a.country > 1)"),
            UNIQUE,
            "the query compares with a number a.country, which is declared as `country:text`: declare it as integer or \
             decimal(SCALE)",
        ),
        (
            filter("b.opted_in = 'yes'"),
            UNIQUE,
            "the query compares with a text b.opted_in, which is declared as `opted_in:boolean`: declare it as text, \
             label<=N or {LABEL,...}",
        ),
        (
            filter("b.arm IN ('control', 'treatd')"),
            UNIQUE,
            "the query compares b.arm with 'treatd', which is not one of its declared labels",
        ),
        (
            "SELECT a.huge, b.opted_in, b.arm, count(*) FROM a JOIN b USING (key) GROUP BY a.huge, b.opted_in, b.arm"
                .to_owned(),
            UNIQUE,
            "the query has 4100 possible groups, and at most 4096 are supported: declare fewer labels, or use buckets \
             with fewer edges",
        ),
        (
            sum("avg(a.v)"),
            [Keys::Unique, Keys::Repeats],
            "avg(a.v) would count values of side a once for each row of side b, which repeats keys: use columns of side \
             b, or combine its rows so that each key is unique",
        ),
        (
            sum("count(*)"),
            [Keys::Repeats, Keys::Repeats],
            "count(*) would count each pair of rows, because both sides repeat keys: use count(DISTINCT key), or combine \
             the rows of one side so that each key is unique",
        ),
    ] {
        assert_eq!(check(&text, keys).unwrap_err().to_string(), words);
    }
}

#[test]
fn each_side_learns_what_to_provide() {
    let text = "SELECT a.x, count(a.n), sum(a.n * b.m) FROM a JOIN b USING (key) WHERE a.x = 'u' AND a.f GROUP BY a.x";
    let query: Select = text.parse().unwrap();
    let uses = |side| -> Vec<String> {
        let letters = |one: &vesica_select::ColumnUse<'_>| {
            let flags = [
                (one.is_number, 'n'),
                (one.is_counted, 'c'),
                (one.is_label, 'l'),
                (one.is_filter, 'f'),
            ];
            let set: String =
                flags.iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect();
            format!("{} {set}", one.name)
        };
        query.columns(side).iter().map(letters).collect()
    };
    assert_eq!(uses(Side::A), ["x lf", "n nc", "f f"]);
    assert_eq!(uses(Side::B), ["m n"]);
    assert_eq!(query.headings(), ["a.x", "count(a.n)", "sum(a.n * b.m)"]);
}

#[test]
fn predicates_follow_three_valued_logic() {
    let row = |name: &str| match name {
        "yes" => Some(Datum::Boolean(true)),
        "no" => Some(Datum::Boolean(false)),
        "ten" => Some(Datum::Number(vesica_select::FixedPoint::new(1000, 2))),
        "text" => Some(Datum::Text("é")),
        _ => None,
    };
    for (text, value) in [
        ("a.yes", Some(true)),
        ("NOT a.yes", Some(false)),
        ("a.null", None),
        ("NOT a.null", None),
        ("a.null AND a.no", Some(false)),
        ("a.null AND a.yes", None),
        ("a.null OR a.yes", Some(true)),
        ("a.null OR a.no", None),
        ("a.null IS NULL", Some(true)),
        ("a.ten IS NOT NULL", Some(true)),
        ("a.ten = 10", Some(true)),
        ("a.ten <> 10.01", Some(true)),
        ("a.ten < 10 OR a.ten > 10", Some(false)),
        ("a.ten <= 10 AND a.ten >= 10.0", Some(true)),
        ("a.ten IN (1, 10)", Some(true)),
        ("a.ten NOT IN (1, 2)", Some(true)),
        ("a.null NOT IN (1, 2)", None),
        ("a.ten BETWEEN -1 AND 9.9", Some(false)),
        ("a.ten NOT BETWEEN 11 AND 9", Some(true)),
        ("a.text > 'z'", Some(true)),
        ("a.text = 1", None),
        ("a.ten", None),
    ] {
        let text = format!("SELECT count(*) FROM a JOIN b USING (key) WHERE {text}");
        let query: Select = text.parse().unwrap();
        assert_eq!(query.filter(Side::A).unwrap().holds(&row), value, "{text}");
        assert!(query.filter(Side::B).is_none());
    }
}

#[test]
fn labels_are_texts_and_numbers_of_buckets() {
    let text = "SELECT bucket(a.x, -1, 2.50) AS \"the bucket\", b.\"in\", count(*) AS \"FROM\" FROM a JOIN b USING (key) \
                GROUP BY bucket(a.x, -1, 2.5), b.\"in\"";
    let query: Select = text.parse().unwrap();
    assert_eq!(query.to_string(), text.replace("2.50", "2.5"));
    let [bucket, column] = query.labels() else { panic!() };
    let of = |number, scale| {
        bucket.of(Some(Datum::Number(vesica_select::FixedPoint::new(number, scale))))
    };
    let buckets = [of(-101, 2), of(-1, 0), of(249, 2), of(25, 1), of(9, 0)]
        .map(|label| label.unwrap().into_owned());
    assert_eq!(buckets, ["0", "1", "1", "2", "2"]);
    assert_eq!((bucket.of(None), bucket.of(Some(Datum::Text("1")))), (None, None));
    assert_eq!(column.of(Some(Datum::Text("north"))).as_deref(), Some("north"));
    assert_eq!(column.of(Some(Datum::Boolean(true))).as_deref(), Some("true"));
    let shape = query.check(
        &declared(&["x:decimal(1)?"], Keys::Unique),
        &declared(&["\"in\":{north,south}"], Keys::Unique),
    );
    let shape = shape.unwrap();
    assert_eq!(shape.groups, 4 * 2);
    assert_eq!(
        shape.labels[0].values,
        LabelValues::Public(["0", "1", "2"].map(str::to_owned).into())
    );
}
