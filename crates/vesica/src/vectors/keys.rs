//! `keys.json`: profiles, and the conversion of rows to digests.

use serde_json::{Value, json};
use vesica_keyset::{
    key::{KeyColumn, RowKey},
    reading::Reading,
};
use vesica_normalize::{
    digest::Digest,
    normalize::{Normalize, TravellingName},
    null_values::NullValues,
};
use vesica_table::source::{Delimiter, Source};
use vesica_testkit::vectors::{check, hex};

/// Profiles, each with values.
const PROFILES: &[(&str, &[&str])] = &[
    ("none", &[" A\u{308} ", "x"]),
    (
        "trim",
        &["\u{a0}\tA\u{308}\u{200b}\r\n", "A b", "\u{feff}", "\u{202a}A\u{ad}b\u{2060}\u{e0020}"],
    ),
    ("lower", &[" ÄB ", "STRASSE", "ΟΔΟΣ", "\u{212b}", "\u{130}x"]),
    (
        "text",
        &[
            " A  b\t\u{3000}C ",
            "Straße",
            "\u{1e9e}",
            "\u{130}stanbul",
            "ΟΔΟΣ",
            "\u{fb01}x",
            "\u{1f80}",
            "Q\u{307}\u{323}",
        ],
    ),
    (
        "email",
        &[
            "USER@example.com ",
            "JaneDoe+home@Gmail.com",
            "jane.doe+x@example.com",
            "+x@gmail.com",
            ". x@gmail.com",
            "e.\u{301}@gmail.com",
            "a@b@gmail.com",
            "@b",
            "a@",
            "none",
            "\u{200e}ann@x.org\u{2060}",
            "Ann <ann@x.org>",
            "\"ann@x.org\"",
            "ann @x.org",
            "ann@x..org",
            "o'neill@xn--bcher-kva.example",
            "jörg@bücher.example",
            "ann@x.org'",
        ],
    ),
    ("email:plain", &["Jane.Doe+home@Gmail.com", "x"]),
    (
        "name",
        &[
            "  José  María ",
            "O’Neill",
            "Straße",
            "Ørsted",
            "Nguyễn Thị",
            "Ǆon",
            "がぎ",
            "हिन्दी",
            "שָׁלוֹם",
            "葛\u{e0100}",
            "-'.",
            "O\u{b4}Neill",
            "Hawai\u{2bb}i",
            "\u{149}x",
            "An\u{ad}na\u{3164}",
        ],
    ),
    (
        "date",
        &[
            " 2024-02-29 ",
            "2023-02-29",
            "0000-01-01",
            "2024-1-02",
            "20240102",
            "2024-02-29T00:00:00",
            "2024-02-29 00:00:00.000+00:00",
            "2024-02-29T00:00:00+01:00",
            "2024-02-29T00:00:01",
            "\u{ff12}\u{ff10}\u{ff12}\u{ff14}\u{2212}02\u{2010}\u{662}\u{669}",
        ],
    ),
    (
        "date:%d.%m.%Y",
        &[
            "29.2.2024",
            "1.2.1999",
            "01.02.99",
            "01.02.19990",
            "29.2.2024 0:00",
            "29.2.2024 12:00:00 am",
        ],
    ),
    ("date:%Y%m%d", &["20010203", "2001023"]),
    (
        "timestamp",
        &[
            "2024-02-29T10:00:00Z",
            "2024-02-29 10:00:00",
            "2024-02-29 11:00:00.500+01",
            "2024-02-29 02:00:00.000 -0800",
            "2024-02-29 10:00:00 UTC",
            "2024-03-01T00:30+05:30:00",
            "2024-02-29",
            "2024-02-29 10:00:00,1234567890",
            "2024-02-29 10:00:00.1234567891",
            "9999-12-31T23:59:59-01:00",
            "2024-02-29T24:00:00",
            "2024-02-29 10:00 Europe/Berlin",
        ],
    ),
    ("timestamp:-05:30", &["2024-02-29 10:00", "2024-02-29 10:00Z"]),
    (
        "number",
        &[
            "007",
            "+1.50",
            "-0.00",
            "-0.10",
            ".5",
            "5.",
            "1e3",
            "1,000",
            ".",
            "\u{2212}5",
            "\u{661}\u{ff12}",
            "5-",
        ],
    ),
    ("number:point-comma", &["1.234,50", "1234,5", "12.34,5", "1.2345", ".123"]),
    ("number:space-comma", &["1 234,5", "1\u{a0}234,5", "1\u{202f}234,5"]),
    ("number:apostrophe-point", &["1'234.5", "1\u{2019}234.5"]),
    ("postcode:GB", &["sw1a 1aa", "GIR 0AA", "SW1A 1AC", "DN55 1PT"]),
    ("postcode:NL", &["1012 ab", "0999 AB"]),
    ("postcode:US", &["02134-1000", "2134"]),
    ("postcode:CA", &["k1a 0b1", "W1A 0B1"]),
    ("postcode:LU", &["L-1234", "lu 1234", "D-1234"]),
    (
        "google:email",
        &[
            "cloudy.sanfrancisco+shopping@gmail.com",
            "user.name+NYC@Example.com",
            "Jane.Doe+x@googlemail.com",
            "ja ne@x.org",
        ],
    ),
    ("google:name", &[" Zoë ", "PÉREZ"]),
    ("meta:email", &["John_Smith@gmail.com", "a.b+c@gmail.com"]),
    ("meta:name", &["Mary", "정", "Valéry", "O'Neill-Smith"]),
    ("uid2:email", &["JANESaoirse@gmail.com", "jane.doe+home@gmail.com", "JÄNE@x.org"]),
    ("liveramp:email", &["MyName@liveramp.com ", "my name@x.org"]),
    ("pair:email", &["USER@example.com", "a.b+c@gmail.com"]),
    ("sha256:uid2:email", &["JANESaoirse@gmail.com"]),
    ("sha256:meta:name", &["Valéry"]),
    ("sha256:email", &["Ann@Example.org", "none"]),
    (
        "hashed:email",
        &[
            "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08",
            "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
            "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg",
            "0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "\\x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "9f86",
        ],
    ),
];

/// Further values for builds with telephone numbers.
#[cfg(feature = "phone")]
const PHONES: &[(&str, &[&str])] = &[
    (
        "phone:GB",
        &[
            "020 7946 0018",
            "+44 (0)20 7946 0018",
            "0044 20 7946 0018",
            "+1 650-253-0000",
            "999",
            "020 7946 0018 x5",
        ],
    ),
    (
        "phone:DE",
        &[
            "030/123456",
            "0039 02 3661 8300",
            "12",
            "30123456.0",
            "030.123456",
            "(+49) 30 123456",
            "tel:+49-30-123456",
            "+49[30]\u{2212}123456",
            "'+4930123456",
            "\u{202a}+49\u{200b}30123456\u{202c}",
            "4915112345678",
        ],
    ),
    ("phone:JP", &["\u{ff10}\u{ff13}-1234-5678"]),
    ("phone", &["020 7946 0018", "+442079460018"]),
    ("google:phone:US", &["(800)555-0100"]),
    ("meta:phone:US", &["(650)555-1212", "+44 20 7946 0018"]),
    ("meta:phone", &["0044 20 7946 0018", "16505551212"]),
    ("uid2:phone:US", &["1 (234) 567-8901"]),
    ("pair:phone", &["+44 20 7946 0018"]),
];

#[cfg(feature = "phone")]
#[test]
fn vectors() {
    let profiles: Vec<Value> = PROFILES.iter().chain(PHONES).map(profile).collect();
    check(
        "keys",
        &json!({ "profiles": profiles, "rows": rows(), "null_values": NullValues::default().values() }),
    );
}

fn profile((name, values): &(&str, &[&str])) -> Value {
    let profile: Normalize = name.parse().unwrap();
    let values = values.iter().map(|value| {
        let normalised = profile.apply(value).into_owned();
        let digest = (!normalised.is_empty()).then(|| profile.digest(&normalised)).flatten();
        json!({ "value": value, "normalised": normalised, "digest": digest.map(hex) })
    });
    let values: Vec<Value> = values.collect();
    let offered = String::from(TravellingName::from(&profile));
    json!({ "offered": offered, "agreed": profile.agreed(), "values": values })
}

/// The encodings and digests of some rows.
fn rows() -> Value {
    let cases: [(&[&str], &[u8], &str); 6] = [
        (&["none"], &[], "a\nann@example.org\n x\nNULL\n"),
        (&["email"], &[], "a\nAnn@Example.org\nNULL\n n/a\nnobody\n"),
        (&["none", "date:%d.%m.%Y"], &[], "a,b\nx,29.2.2024\n\"x,\",1.1.2000\n,1.1.2000\n"),
        (&["sha256:email"], &[], "a\nAnn@Example.org\n"),
        (
            &["hashed:email"],
            &[],
            "a\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
        ),
        (
            &["email", "name", "date"],
            &[1, 2],
            "a,b,c\nx@y,Ann,2000-01-01\n,Ann,2000-01-01\nx@y,Ann,\n",
        ),
    ];
    cases.map(|(profiles, identifiers, text)| of_table(profiles, identifiers, text)).to_vec().into()
}

fn of_table(profiles: &[&str], identifiers: &[u8], text: &str) -> Value {
    let source = Source::Memory { name: "t.csv".into(), bytes: text.as_bytes().to_vec() };
    let scan = source.open(Delimiter::Comma).unwrap().read().unwrap();
    let column = |(name, profile): (char, &&str)| KeyColumn {
        name: name.into(),
        normalize: profile.parse().unwrap(),
    };
    let reading = Reading {
        keys: ('a'..).zip(profiles).map(column).collect(),
        identifiers: identifiers.to_vec(),
        ..Reading::default()
    };
    let mut extractors = reading.extractors(&scan).unwrap();
    let width = scan.header().width();
    let mut found = Vec::new();
    scan.rows(|row| {
        let fields: Vec<_> =
            (0..width).map(|i| String::from_utf8(row.field(i).to_vec()).unwrap()).collect();
        let keys = extractors.iter_mut().map(|extractor| match extractor.key(&row).unwrap() {
            RowKey::Present(encoding) => {
                json!({ "encoding": hex(encoding), "digest": hex(Digest::of(encoding).as_bytes()) })
            }
            RowKey::Missing { .. } => Value::Null,
        });
        let keys: Vec<Value> = keys.collect();
        found.push(json!({ "fields": fields, "keys": keys }));
        Ok(())
    })
    .unwrap();
    json!({ "profiles": profiles, "identifiers": identifiers, "rows": found })
}
