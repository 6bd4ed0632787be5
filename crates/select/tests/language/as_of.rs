//! Joins by the latest earlier row.

use vesica_select::{AsOf, Declared, Error, Keys, Latest, Select, Shape, Side, Summand, Width};

const TEXT: &str = "SELECT b.campaign, count(*), sum(a.amount) FROM a ASOF JOIN b ON a.key = b.key AND \
                    a.ordered_at >= b.shown_at WHERE a.ordered_at - b.shown_at <= 14 AND a.country = 'DE' AND \
                    b.viewed GROUP BY b.campaign HAVING count(*) >= 50";

const A: [&str; 4] = [
    "ordered_at:date[2026-10-01..2026-11-30]",
    "amount:decimal(2)",
    "country:text",
    "cohort:label<=9/2",
];
const B: [&str; 5] =
    ["shown_at:date", "campaign:label<=16/4", "viewed:boolean", "cost:integer", "early:date?"];

fn check(text: &str, keys: [Keys; 2]) -> Result<Shape, Error> {
    let query: Select = text.parse().unwrap();
    let [a, b] = [Declared::parse(&A, keys[0]), Declared::parse(&B, keys[1])].map(Result::unwrap);
    let shape = query.check(&a, &b);
    assert_eq!(query.mirrored().check(&b, &a).is_ok(), shape.is_ok());
    shape
}

const KEYS: [Keys; 2] = [Keys::Unique, Keys::Repeats];

/// Several rows of a key of the later side count each by itself.
#[test]
fn several_rows_of_a_key_are_joined_if_their_maximum_is_declared() {
    let text = TEXT.replace("sum(a.amount)", "count(DISTINCT a.key), sum(a.amount * a.amount)");
    let query: Select = text.parse().unwrap();
    assert_eq!(query.to_string(), text);
    let of = |rows: &str, bounds: &str, keys: Keys| {
        let a = A.map(|column| column.replace("30]", &format!("30]{rows}")));
        let a = a.map(|column| column.replace("(2)", &format!("(2){bounds}")));
        let a = Declared::parse(&a, keys).unwrap();
        query.check(&a, &Declared::parse(&B, Keys::Repeats).unwrap())
    };
    let shape = of("/5", "", Keys::Repeats).unwrap();
    let latest = shape.latest.unwrap();
    assert_eq!((latest.rows, latest.positions()), (5, 62));
    assert_eq!(shape.keys, [Keys::Repeats, Keys::Unique]);
    let summands: Vec<_> = shape.sums.iter().map(|sum| (&sum.summand, sum.width)).collect();
    assert_eq!(summands[0], (&Summand::Row, Width::W64));
    assert_eq!(summands[1], (&Summand::Key, Width::W32));
    assert_eq!(summands[2].1, Width::W128);
    let phrases = query.phrases("shop", "paper", Some(&shape));
    assert!(phrases[0].contains("where each of at most 5 rows of a key counts by paper's latest"));
    assert!(
        phrases[0].starts_with("the number of rows with shared keys, the number of shared keys")
    );
    // Bounds hold for each row.
    let width = |bounds, rows| of(rows, bounds, Keys::Repeats).unwrap().sums[2].width;
    assert_eq!(width("[0..20]", "/2"), Width::W64);
    assert_eq!([width("[0..14.4]", "/2"), width("[0..14.4]", "/16")], [Width::W64, Width::W128]);
    // Unique keys have one row each, for any maximum.
    let latest = of("/5", "", Keys::Unique).unwrap().latest.unwrap();
    assert_eq!((latest.rows, latest.positions()), (1, 61));
    let error = of("", "", Keys::Repeats).unwrap_err().to_string();
    assert!(error.contains("declare a.ordered_at as date[FIRST..LAST]/ROWS"), "{error}");
    // A remainder would count a key with several rows twice.
    let query: Select = format!("{TEXT} WITH REMAINDER").parse().unwrap();
    let judge = |rows: &str, labels: &str, keys: Keys| {
        let a = A.map(|column| column.replace("30]", &format!("30]{rows}")));
        let b = B.map(|column| column.replace("16/4", &format!("16{labels}")));
        query.check(
            &Declared::parse(&a, keys).unwrap(),
            &Declared::parse(&b, Keys::Repeats).unwrap(),
        )
    };
    let error = judge("/2", "/4", Keys::Repeats).unwrap_err();
    assert_eq!(error, Error::RemainderOfSeveral);
    assert!(judge("/2", "", Keys::Repeats).is_ok() && judge("", "/4", Keys::Unique).is_ok());
}

#[test]
fn a_query_may_look_for_the_latest_earlier_row() {
    let query: Select = TEXT.to_lowercase().replace("'de'", "'DE'").parse().unwrap();
    assert_eq!(query.to_string(), TEXT);
    let dates = ["ordered_at", "shown_at"].map(str::to_owned);
    let as_of = AsOf { later: Side::A, dates, within: 14 };
    assert_eq!(query.as_of(), Some(&as_of));
    let mirrored = query.mirrored();
    assert!(
        mirrored.to_string().contains(
            "FROM b ASOF JOIN a ON b.key = a.key AND b.ordered_at >= a.shown_at WHERE b."
        )
    );
    assert_eq!(mirrored.to_string().parse().as_ref(), Ok(&mirrored));
    assert_eq!(mirrored.mirrored(), query);
    let shape = check(TEXT, KEYS).unwrap();
    let Latest { earlier, period, within, labels, rows } = shape.latest.unwrap();
    assert_eq!((earlier, period.days(), within, labels, rows), (Side::B, 61, 14, 4, 1));
    assert_eq!((shape.keys, shape.groups, shape.sums.len()), ([Keys::Unique; 2], 16, 2));
    assert_eq!(
        query.phrases("shop", "paper", Some(&shape)),
        [
            "the number of shared keys and the sum of shop's `amount`, for each of at most 16 values of paper's `campaign` \
          with at least 50 shared keys, where a key counts by paper's latest `shown_at` up to 14 days before shop's \
          `ordered_at`, or not at all"
        ]
    );
    let dates = Side::BOTH.map(|side| query.columns(side).iter().any(|column| column.is_date));
    assert_eq!(dates, [true; 2]);
}

#[test]
fn the_join_must_fit_the_declarations() {
    let join = |select: &str, dates: [&str; 2], rest: &str| {
        let [later, earlier] = dates;
        format!(
            "SELECT {select} FROM a ASOF JOIN b ON a.key = b.key AND a.{later} >= b.{earlier} WHERE a.{later} - b.{earlier} <= 3{rest}"
        )
    };
    let of = |select: &str, dates| join(select, dates, "");
    let dates = ["ordered_at", "shown_at"];
    let [repeats, unique] = [[Keys::Repeats; 2], [Keys::Unique; 2]];
    assert!(check(&of("count(*), avg(a.amount)", dates), unique).is_ok());
    for (text, keys, words) in [
        (
            of("count(*)", ["amount", "shown_at"]),
            KEYS,
            "joins rows by a.amount, which is declared as `amount:decimal(2)`: declare it as date[FIRST..LAST]",
        ),
        (
            of("count(*)", ["ordered_at", "cost"]),
            KEYS,
            "declare it as date, without a question mark",
        ),
        (
            of("count(*)", ["ordered_at", "early"]),
            KEYS,
            "declare it as date, without a question mark",
        ),
        (of("count(*)", ["gone", "shown_at"]), KEYS, "does not declare a.gone"),
        (of("count(*)", dates), repeats, "with several rows of a key of side a"),
        (of("sum(b.cost)", dates), KEYS, "sum(b.cost) cannot use columns of side b"),
        (of("sum(a.amount * b.cost)", dates), KEYS, "cannot use columns of side b"),
        (
            join("a.cohort, count(*)", dates, " GROUP BY a.cohort"),
            KEYS,
            "only ASOF JOIN looks for one of several labels of a key",
        ),
        (
            "SELECT b.campaign, count(*) FROM a JOIN b USING (key) GROUP BY b.campaign".to_owned(),
            unique,
            "only ASOF JOIN looks for one of several",
        ),
        (join("b.shown_at, count(*)", dates, " GROUP BY b.shown_at"), KEYS, "groups by b.shown_at"),
    ] {
        let error = check(&text, keys).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn other_joins_by_dates_are_refused_with_their_place() {
    let after = "SELECT count(*) FROM ";
    for (text, column, words) in [
        ("a ASOF JOIN b USING (key, day)", 1, "write FROM a ASOF JOIN b ON a.key = b.key AND"),
        ("a ASOF JOIN a ON a.key = a.key", 1, "write FROM a ASOF JOIN b"),
        ("a ASOF LEFT JOIN b ON a.key = b.key AND a.x >= b.y", 1, "write FROM a ASOF JOIN b"),
        ("a ASOF JOIN b ON a.key = b.key AND b.y <= a.x", 36, "a column of side a belongs here"),
        ("a ASOF JOIN b ON a.key = b.key AND a.x > b.y", 40, "expected `>=`"),
        ("a ASOF JOIN b ON a.key = b.key AND a.x >= a.y", 43, "a column of side b belongs here"),
        (
            "a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.x - b.z <= 1",
            53,
            "the most days between two rows: a.x - b.y <= 14",
        ),
        ("a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.x - b.y <= 64", 66, "from 0 to 63"),
        ("a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.x - b.y < 4", 63, "`<=`"),
        ("a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.x - b.y <= 4 OR a.z", 68, "by AND"),
        (
            "a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.z AND a.x - b.y <= 4",
            53,
            "begin with the most days",
        ),
        (
            "a ASOF JOIN b ON a.key = b.key AND a.x >= b.y GROUP BY a.z",
            47,
            "needs the most days between two rows",
        ),
        ("a JOIN b USING (key) WHERE a.x - b.y <= 4", 32, "needs ASOF JOIN"),
        (
            "a ASOF JOIN b ON a.key = b.key AND a.x >= b.y WHERE a.x <= b.y + INTERVAL 4 DAY",
            57,
            "expected `-`",
        ),
    ] {
        let error = format!("{after}{text}").parse::<Select>().unwrap_err().to_string();
        let place = format!("line 1, column {}: ", after.len() + column);
        assert!(error.starts_with(&place) && error.contains(words), "{text}: {error}");
    }
}

/// Both sides of the join have keys, so SQL needs the side.
#[test]
fn keys_are_counted_of_a_side() {
    let of = |counted: &str, from: &str| {
        format!("SELECT count(*), {counted} FROM {from}").parse::<Select>()
    };
    let [by_day, by_key] = [
        "b ASOF JOIN a ON b.key = a.key AND b.x >= a.y WHERE b.x - a.y <= 4",
        "a JOIN b USING (key)",
    ];
    for (counted, from, words) in [
        ("count(DISTINCT key)", by_day, "line 1, column 18: write count(DISTINCT b.key)"),
        ("count(DISTINCT a.key)", by_key, "line 1, column 18: write count(DISTINCT key)"),
        ("count(DISTINCT a.x)", by_day, "DISTINCT is supported only in count(DISTINCT key)"),
    ] {
        let error = of(counted, from).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let query = of("count( distinct A . KEY )", by_day).unwrap();
    assert!(query.to_string().starts_with("SELECT count(*), count(DISTINCT a.key) FROM b ASOF"));
    assert!(query.mirrored().to_string().contains("count(DISTINCT b.key) FROM a ASOF"));
    assert_eq!(query.mirrored().mirrored(), query);
}
