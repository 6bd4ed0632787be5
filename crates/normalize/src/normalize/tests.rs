//! Tests of the profiles: tables, which include the examples of their public rules, and properties.

mod partners;
#[cfg(feature = "phone")]
mod phones;
mod times;

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;

fn profile(name: &str) -> Normalize {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn assert_table(name: &str, table: &[(&str, &str)]) {
    let profile = profile(name);
    for (value, expected) in table {
        assert_eq!(profile.apply(value), *expected, "{name} {value:?}");
    }
}

#[test]
fn text_by_table() {
    assert_table("none", &[(" A\u{308} ", " A\u{308} ")]);
    assert_table("trim", &[("\u{a0}\tA\u{308}\u{200b}\r\n", "Ä"), ("A b", "A b")]);
    assert_table(
        "lower",
        &[(" ÄB ", "äb"), ("STRASSE", "strasse"), ("ΟΔΟΣ", "οδος"), ("\u{212b}", "å")],
    );
    // One end is bare and the other is not; and the kelvin sign is an ASCII letter in its normal form.
    for profile in ["trim", "lower", "text"] {
        let table =
            [("a\u{200b}", "a"), ("\u{feff}a", "a"), ("a\u{a0}", "a"), ("\u{1}a\t", "\u{1}a")];
        assert_table(profile, &table);
    }
    assert_table("lower", &[("\u{212a}", "k"), ("zZ[`{@A", "zz[`{@a"), ("a\u{7f} B", "a\u{7f} b")]);
    assert_table(
        "text",
        &[
            (" A  b\t\u{3000}C ", "a b c"),
            ("plain text", "plain text"),
            // Unicode, CaseFolding.txt: the full mappings.
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("\u{1e9e}", "ss"),
            ("\u{130}stanbul", "i\u{307}stanbul"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("\u{fb01}x", "fix"),
            ("\u{1f80}", "\u{1f00}\u{3b9}"),
            // UAX #15: composition, singletons, Hangul.
            ("\u{212b}", "\u{e5}"),
            ("A\u{30a}", "\u{e5}"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글"),
            ("q\u{323}\u{307}", "q\u{323}\u{307}"),
            ("Q\u{307}\u{323}", "q\u{323}\u{307}"),
        ],
    );
}

#[test]
fn mail_addresses_by_table() {
    // UID2's examples of normalised addresses are among these.
    assert_table(
        "email",
        &[
            ("user@example.com", "user@example.com"),
            ("USER@example.com ", "user@example.com"),
            ("jane.doe@gmail.com", "janedoe@gmail.com"),
            ("JaneDoe+home@Gmail.com", "janedoe@gmail.com"),
            ("jane+saoirse@example.com", "jane+saoirse@example.com"),
            (" Ann.B+x@Example.ORG ", "ann.b+x@example.org"),
            ("unknown", ""),
            ("@", ""),
            ("a@", ""),
            ("@b", ""),
            (" @ ", ""),
            ("@@", ""),
            ("a@@b", ""),
            ("a@b@", ""),
            ("@a@b", ""),
            ("a@b@c", ""),
            ("a@b@gmail.com", ""),
            ("+x@gmail.com", ""),
            (". x@gmail.com", ""),
            (" . +x@gmail.com", ""),
            ("\u{200e}Ann@x.org\u{2060}", "ann@x.org"),
            ("o'neill_1%{}|~!#$&*-/=?^`@x.org", "o'neill_1%{}|~!#$&*-/=?^`@x.org"),
            ("jörg@münchen.de", "jörg@münchen.de"),
            ("a@sub.x.org", "a@sub.x.org"),
            // Values other than addresses, as mail programs and careless exports write them.
            ("\"ann@x.org\"", ""),
            ("<ann@x.org>", ""),
            ("Ann <ann@x.org>", ""),
            ("mailto:ann@x.org", ""),
            ("ann @x.org", ""),
            ("ann@x.org;", ""),
            ("ann@x.org,", ""),
            ("ann@x.org bob", ""),
            ("ann\u{200b}@x.org", ""),
            ("ann@x..org", ""),
            ("ann@.org", ""),
            ("ann@x.org.", ""),
            ("ann@x.org'", ""),
            ("ann@[127.0.0.1]", ""),
            ("\u{201c}ann@x.org\u{201d}", ""),
            ("an\u{7}n@x.org", ""),
            ("ann(work)@x.org", ""),
            ("e.\u{301}@gmail.com", "é@gmail.com"),
        ],
    );
    assert_table(
        "email:plain",
        &[("Jane.Doe+home@Gmail.com", "jane.doe+home@gmail.com"), ("x", "")],
    );
    assert_eq!(profile("email:gmail"), Normalize::EMAIL);
}

#[test]
fn names_by_table() {
    assert_table(
        "name",
        &[
            ("  José  María ", "jose maria"),
            ("JOSE MARIA", "jose maria"),
            ("Müller-Lüdenscheidt", "mullerludenscheidt"),
            ("O’Neill", "oneill"),
            ("O'Neill, Jr.", "oneill jr"),
            ("Straße", "strasse"),
            ("Ørsted", "ørsted"),
            ("Łukasz Žižek", "łukasz zizek"),
            ("Nguyễn Thị", "nguyen thi"),
            ("Ёлкин", "елкин"),
            ("Ǆon", "dzon"),
            ("ﬁona", "fiona"),
            // Characters that look like accents but are not: voiced kana, vowels of Devanagari, Hangul.
            ("がぎ", "がぎ"),
            ("हिन्दी", "हिन्दी"),
            ("한글", "한글"),
            ("שָׁלוֹם", "שלום"),
            ("葛\u{e0100}", "葛"),
            ("-'.", ""),
            // Free-standing apostrophes and accents, and invisible characters.
            ("O\u{b4}Neill", "oneill"),
            ("O\u{2bc}Neill", "oneill"),
            ("O\u{2b9}Neill", "oneill"),
            ("Hawai\u{2bb}i", "hawaii"),
            ("O\u{2019}Neill", "oneill"),
            ("O\u{ff07}Neill", "oneill"),
            ("Jos\u{a8}e\u{b8}", "jose"),
            ("\u{149}x", "nx"),
            ("An\u{ad}na\u{3164}", "anna"),
            ("\u{202a}Ann\u{202c}", "ann"),
        ],
    );
}

#[test]
fn numbers_by_table() {
    assert_table(
        "number",
        &[
            ("007", "7"),
            ("+1.50", "1.5"),
            ("-0", "0"),
            ("-0.00", "0"),
            ("-0.10", "-0.1"),
            (".5", "0.5"),
            ("5.", "5"),
            (" 10 ", "10"),
            ("100", "100"),
            ("1e3", ""),
            ("1,000", ""),
            ("1 000", ""),
            (".", ""),
            ("-", ""),
            ("+-1", ""),
            ("0x1f", ""),
            ("", ""),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.1"),
        ],
    );
    assert_table(
        "number:point-comma",
        &[
            ("1.234,50", "1234.5"),
            ("1.125", "1125"),
            ("1234,5", "1234.5"),
            ("12.34,5", ""),
            ("1.2345", ""),
            (".123", ""),
        ],
    );
    assert_table(
        "number",
        &[
            ("\u{feff}5", "5"),
            ("\u{2212}5", "-5"),
            ("\u{2013}5", "-5"),
            ("\u{ff0b}\u{661}\u{662}", "12"),
            ("5-", ""),
            ("\u{2460}", ""),
        ],
    );
    // Each space and each apostrophe that programs put between groups.
    for mark in [" ", "\u{a0}", "\u{202f}", "\u{2009}", "\u{2007}"] {
        assert_table("number:space-comma", &[(&format!("\u{2212}1{mark}234,5"), "-1234.5")]);
    }
    for mark in ["'", "\u{2019}", "\u{2018}", "\u{b4}", "\u{2bc}", "\u{ff07}"] {
        assert_table("number:apostrophe-point", &[(&format!("1{mark}234.5"), "1234.5")]);
    }
    assert_table("number:comma-point", &[("-1,234,567.0", "-1234567"), ("1,2", "")]);
    assert_table("number:apostrophe-point", &[("1'234.5", "1234.5")]);
    assert_table("number:space-comma", &[("1 234,5", "1234.5")]);
    assert_table("number:none-comma", &[("1234,5", "1234.5"), ("1234.5", "")]);
    for marks in ["", "point", "point-point", "x-point", "none-space", "none-none", "point-comma-x"]
    {
        assert!(format!("number:{marks}").parse::<Normalize>().is_err(), "{marks}");
    }
}

#[test]
fn postcodes_by_table() {
    assert_table(
        "postcode:GB",
        &[
            ("sw1a 1aa", "SW1A1AA"),
            ("M1 1AE", "M11AE"),
            ("B33 8TH", "B338TH"),
            ("CR2 6XH", "CR26XH"),
            ("DN55 1PT", "DN551PT"),
            ("W1A 0AX", "W1A0AX"),
            ("EC1A 1BB", "EC1A1BB"),
            ("GIR 0AA", "GIR0AA"),
            ("GIR 0AB", ""),
            ("SW1A 1AC", ""),
            ("SW1A", ""),
            ("12345", ""),
        ],
    );
    assert_table(
        "postcode:NL",
        &[("1012 ab", "1012AB"), ("1012AB", "1012AB"), ("0999 AB", ""), ("1012", "")],
    );
    assert_table(
        "postcode:US",
        &[
            ("02134", "02134"),
            ("02134-1000", "02134"),
            ("021341000", "02134"),
            ("2134", ""),
            ("02134-100", ""),
        ],
    );
    assert_table("postcode:CA", &[("k1a 0b1", "K1A0B1"), ("W1A 0B1", ""), ("K1D 0B1", "")]);
    assert_table(
        "postcode:DE",
        &[(" 01067", "01067"), ("1067", ""), ("D-01067", "01067"), ("\u{661}2345", "12345")],
    );
    assert_table("postcode:FR", &[("75001", "75001"), ("7500", "")]);
    assert_table("postcode:AT", &[("1010", "1010"), ("0100", "")]);
    assert_table("postcode:CH", &[("8001", "8001"), ("80011", "")]);
    // The country before the code, as on an envelope.
    for (country, value, code) in [
        ("LU", "L-1234", "1234"),
        ("LU", "LU 1234", "1234"),
        ("AT", "A-1010", "1010"),
        ("DE", "D 10115", "10115"),
        ("CH", "CH\u{2011}8001", "8001"),
        ("FI", "FI-00100", "00100"),
        ("FI", "FIN-00100", "00100"),
        ("DK", "DK-2100", "2100"),
        ("BE", "B-1000", "1000"),
        ("SE", "SE-111 22", "11122"),
        ("NL", "NL-1012 AB", "1012AB"),
        ("PT", "P-1000-001\u{200b}", "1000001"),
        ("DE", "A-10115", ""),
        ("AT", "CH-1010", ""),
        ("GB", "GB SW1A 1AA", ""),
    ] {
        assert_table(&format!("postcode:{country}"), &[(value, code)]);
    }
    for name in ["postcode:XX", "postcode:", "postcode:gb"] {
        let refused = name.parse::<Normalize>().unwrap_err();
        assert!(refused.contains("AT, AU, BE, CA, CH"), "{refused}");
    }
    assert!("postcode".parse::<Normalize>().unwrap_err().contains("postcode:GB"));
}

/// Returns a profile of every kind and parameter.
fn all() -> Vec<Normalize> {
    let mut names = vec![
        "none",
        "trim",
        "lower",
        "text",
        "email",
        "email:plain",
        "name",
        "date",
        "date:%d.%m.%Y",
        "date:%Y%m%d",
        "number",
        "number:point-comma",
        "number:space-point",
        "postcode:GB",
        "postcode:US",
        "postcode:NL",
        "sha256:none",
        "sha256:email",
        "hashed:email",
        "hashed:none",
        "timestamp",
        "timestamp:+05:30",
        "google:email",
        "google:name",
        "meta:email",
        "meta:name",
        "uid2:email",
        "liveramp:email",
        "pair:email",
        "sha256:google:email",
    ];
    if cfg!(feature = "phone") {
        names.extend([
            "phone",
            "phone:DE",
            "phone:US",
            "hashed:phone:DE",
            "google:phone:US",
            "meta:phone:DE",
            "uid2:phone",
        ]);
    }
    names.into_iter().map(profile).collect()
}

/// Asserts that a profile without its column's parameters leaves its own normalised values unchanged.
fn assert_settled(profile: &Normalize, value: &str) {
    let once = profile.apply(value);
    let again = match profile {
        Normalize::Hashed(_) => profile.clone(),
        Normalize::Sha256(inner) => inner.essence(),
        other => other.essence(),
    };
    assert_eq!(again.apply(&once), once, "{profile} {value:?}");
}

#[test]
fn normalising_twice_is_normalising_once() {
    let mut rng = StdRng::seed_from_u64(1);
    let pieces = [
        "İ",
        "Σ",
        "ς",
        "ǅ",
        "A\u{30a}",
        "\u{301}",
        "\u{345}",
        "\u{1e9e}",
        "ﬁ",
        "@",
        "gmail.com",
        "+",
        "-",
        ".",
        ",",
        " ",
        "\u{200b}",
        "\u{3000}",
        "0",
        "1",
        "29",
        "02",
        "2024",
        "49",
        "030",
        "(0)",
        "/",
        "SW1A",
        "1AA",
        "\u{1100}",
        "\u{1161}",
        "\u{3099}",
        "か",
        "\u{94d}",
        "\0",
        "\u{feff}",
        "e",
        "'",
        "\u{2bc}",
        "\u{b4}",
        "\u{ad}",
        "\u{202a}",
        "\u{2212}",
        "\u{ff11}",
        "T",
        ":00",
        "Z",
        "+01:00",
        "\"",
        "LU",
        "googlemail.com",
    ];
    let profiles = all();
    for round in 0..3000 {
        let length = rng.random_range(0..8);
        let value: String = if round % 3 == 0 {
            (0..length).map(|_| rng.random::<char>()).collect()
        } else {
            (0..length).map(|_| pieces[rng.random_range(0..pieces.len())]).collect()
        };
        profiles.iter().for_each(|profile| assert_settled(profile, &value));
    }
}

#[test]
fn every_character_settles() {
    let text = ["trim", "lower", "text", "name"].map(profile);
    for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii()) {
        let value = c.to_string();
        // Most of the rest of Unicode is unassigned.
        if u32::from(c) < 0x2_0000 {
            text.iter().for_each(|profile| assert_settled(profile, &value));
        }
    }
}

#[test]
fn names_of_profiles_are_read_as_they_are_written() {
    for profile in all() {
        assert_eq!(profile.to_string().parse().as_ref(), Ok(&profile));
        let travels = TravellingName::from(&profile);
        assert_eq!(travels.agreed(), profile.agreed());
        let again = TravellingName::try_from(String::from(travels.clone()));
        assert_eq!(again, Ok(travels));
    }
    let refused = "rot13".parse::<Normalize>().unwrap_err();
    assert!(refused.contains("none, trim, lower, text, email[:gmail|:plain], name"), "{refused}");
    assert!("lower:x".parse::<Normalize>().unwrap_err().contains("takes nothing"));
    let longest = format!("sha256:date:%d{}%m%Y@1", ".".repeat(26));
    assert!(TravellingName::try_from(longest).is_ok());
    for name in [String::new(), "x".repeat(65), "a\u{1b}[31m".into(), "\u{e4}@1".into()] {
        assert!(TravellingName::try_from(name.clone()).is_err(), "{name:?}");
    }
    let stranger = TravellingName::try_from("rot13@7".to_owned()).unwrap();
    assert_eq!((stranger.agreed(), stranger.unversioned()), ("rot13@7".to_owned(), "rot13"));
}

#[cfg(feature = "phone")]
#[test]
fn the_examples_of_the_documentation_hold() {
    let text = include_str!("../../../../docs/guides/keys.md");
    let bare = |cell: &str| match cell.strip_prefix('`') {
        Some(cell) => cell.strip_suffix('`').unwrap().to_owned(),
        None => cell.replace("*no key*", ""),
    };
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        <[&str; 3]>::try_from(cells).ok()
    });
    let mut examples = 0;
    // Tables on other subjects do not begin with a name in code.
    for [name, value, key] in rows.filter(|[name, ..]| name.starts_with('`')) {
        examples += 1;
        assert_eq!(profile(&bare(name)).apply(&bare(value)), bare(key), "{name} {value}");
    }
    assert!(examples >= 20, "{examples}");
    for described in &PROFILES {
        assert!(
            text.contains(&format!("| `{}", described.word)) || described.word == "hashed",
            "{}",
            described.word
        );
    }
}
