//! The profiles by tables, with the examples that their public rules give, and their properties.

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
    // One end is bare and the other is not; and the sign for kelvin is a letter of ASCII in its normal form.
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
            // Others than addresses, as programs for mail and careless exports write them.
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
    assert_eq!(profile("email:gmail"), Normalize::Email);
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
            // What looks like an accent and is none: voiced kana, vowels of Devanagari, Hangul.
            ("がぎ", "がぎ"),
            ("हिन्दी", "हिन्दी"),
            ("한글", "한글"),
            ("שָׁלוֹם", "שלום"),
            ("葛\u{e0100}", "葛"),
            ("-'.", ""),
            // Apostrophes and accents that stand for themselves, and characters that are not seen.
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
fn dates_by_table() {
    assert_table(
        "date",
        &[
            (" 2024-02-29 ", "2024-02-29"),
            ("2023-02-29", ""),
            ("1900-02-29", ""),
            ("2000-02-29", "2000-02-29"),
            ("0000-01-01", ""),
            ("2024-13-01", ""),
            ("2024-00-10", ""),
            ("2024-04-31", ""),
            ("2024-1-02", ""),
            ("20240102", ""),
            // A time that says nothing.
            ("2024-01-02T00:00:00", "2024-01-02"),
            ("2024-01-02 00:00:00", "2024-01-02"),
            ("2024-01-02T00:00:00.000000", "2024-01-02"),
            ("2024-01-02T00:00:00Z", "2024-01-02"),
            ("2024-01-02 00:00:00+00:00", "2024-01-02"),
            ("2024-01-02 00:00", "2024-01-02"),
            ("2024-01-02T00:00:01", ""),
            ("2024-01-02T00:00:00.1", ""),
            ("2024-01-02T00:00:00+01:00", ""),
            ("2024-01-02 00", ""),
            ("2024-01-02é00:00", ""),
            ("\u{200b}2024-02-29\u{200b}", "2024-02-29"),
            ("\u{ff12}\u{ff10}\u{ff12}\u{ff14}-\u{660}\u{662}-29", "2024-02-29"),
            ("", ""),
        ],
    );
    assert_table(
        "date:%d.%m.%Y",
        &[
            ("29.02.2024", "2024-02-29"),
            ("29.02.2023", ""),
            ("1.2.1999", "1999-02-01"),
            ("01.02.99", ""),
            ("1999-02-01", ""),
            ("01/02/1999", ""),
            ("01.02.19990", ""),
            ("31.04.2024", ""),
            ("29.02.2024 00:00:00", "2024-02-29"),
            ("29.02.2024 0:00", "2024-02-29"),
            ("29.02.2024 12:00", ""),
        ],
    );
    assert_table(
        "date:%m/%d/%Y",
        &[
            ("2/3/2001", "2001-02-03"),
            ("13/3/2001", ""),
            ("2/3/2001 12:00:00 AM", "2001-02-03"),
            ("2/3/2001 12:00:00 PM", ""),
        ],
    );
    assert_table("date:%Y%m%d", &[("20010203", "2001-02-03"), ("2001023", "")]);
    assert_table("date:%d %m %Y at", &[("03 02 2001 at", "2001-02-03")]);
    for format in ["", "%d.%m", "%d.%m.%y", "%d.%d.%m.%Y", "%B %d %Y", "%", "%d,%m,%Y", "1%d%m%Y"] {
        assert!(format!("date:{format}").parse::<Normalize>().is_err(), "{format}");
    }
    assert!(Format::new(&format!("%d{}%m%Y", ".".repeat(26))).is_ok());
    assert!(Format::new(&format!("%d{}%m%Y", ".".repeat(27))).is_err());
    assert!(Format::new("%d\u{e4}%m%Y").is_err() && Format::new("%d\u{1b}%m%Y").is_err());
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

#[cfg(feature = "phone")]
#[test]
fn telephone_numbers_by_table() {
    // Numbers that regulators keep free for examples, and those in E.164's and libphonenumber's documentation.
    assert_table(
        "phone:GB",
        &[
            ("020 7946 0018", "+442079460018"),
            ("+44 (0)20 7946 0018", "+442079460018"),
            ("0044 20 7946 0018", "+442079460018"),
            ("+1 650-253-0000", "+16502530000"),
            ("00 1 650 253 0000", "+16502530000"),
            ("07400 000000", "+447400000000"),
            ("999", ""),
            ("020 7946 0018 ext. 5", ""),
            ("020 7946 0018 x5", ""),
            ("0207 CALL NOW", ""),
            ("n/a", ""),
            ("", ""),
        ],
    );
    assert_table(
        "phone:DE",
        &[
            ("030 123456", "+4930123456"),
            ("(030) 12 34 56", "+4930123456"),
            ("030/123456", "+4930123456"),
            ("0151 12345678", "+4915112345678"),
            // An Italian number keeps the zero that a German one would lose.
            ("+39 02 3661 8300", "+390236618300"),
            ("0039 02 3661 8300", "+390236618300"),
            ("12", ""),
            // One digit more than the plan has.
            ("0900 1 2345675", ""),
            ("+49 900 1 2345675", ""),
            // A column of floating-point numbers.
            ("30123456.0", ""),
            ("030123456.00", ""),
            ("4930123456.0", ""),
            ("030.123456", "+4930123456"),
            // The plus sign in brackets, links, and the punctuation and the digits of other scripts.
            ("(+49) 30 123456", "+4930123456"),
            ("tel:+49-30-123456", "+4930123456"),
            ("TEL:030123456", "+4930123456"),
            ("+49[30]123456", "+4930123456"),
            ("030\u{2212}123456", "+4930123456"),
            ("\u{202a}+4930123456\u{202c}", "+4930123456"),
            ("+49\u{200b}30123456", "+4930123456"),
            ("'+4930123456", "+4930123456"),
            ("+\u{664}\u{669}30123456", "+4930123456"),
            ("49+30123456", ""),
            ("++4930123456", ""),
            // Either of two numbers.
            ("4915112345678", ""),
        ],
    );
    assert_table("phone:JP", &[("\u{ff10}\u{ff13}-1234-5678", "+81312345678")]);
    assert_table("phone:IT", &[("390236618300", "+390236618300")]);
    assert_table(
        "phone:US",
        &[("(650) 253-0000", "+16502530000"), ("011 44 20 7946 0018", "+442079460018")],
    );
    assert_table("phone:CH", &[("044 668 18 00", "+41446681800")]);
    // What is dialled before an area code is also what these numbers begin with.
    let free = "+78005553535";
    assert_table("phone:RU", &[("8 (800) 555-35-35", free), (free, free), ("800 555-35-35", free)]);
    assert_table("phone:BR", &[("0049 30 123456", ""), ("0 11 2345-6789", "+551123456789")]);
    assert_table(
        "phone",
        &[
            ("+41 44 668 18 00", "+41446681800"),
            ("044 668 18 00", ""),
            ("+", ""),
            ("+999123456", ""),
        ],
    );
    for name in ["phone:XX", "phone:de", "phone:", "phone:D", "phone:DEU", "phone:\u{e4}"] {
        let refused = name.parse::<Normalize>().unwrap_err();
        assert!(refused.contains("is no region"), "{refused}");
    }
}

#[test]
fn digests_by_table() {
    // UID2's example of an address and its digest.
    let hex = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    let digest = profile("sha256:email").digest("user@example.com").unwrap();
    assert_eq!(sha256::hex(&digest), hex);
    let upper = hex.to_uppercase();
    let padded = "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=";
    let url = padded.replace('/', "_").replace('=', "");
    let marked = ["0x", "0X", "\\x"].map(|mark| format!("{mark}{upper}\u{200b}"));
    for held in [hex, &upper, padded, &padded[..43], &url, &format!(" {url}=\n")]
        .into_iter()
        .chain(marked.iter().map(String::as_str))
    {
        assert_eq!(profile("hashed:email").apply(held), hex, "{held}");
        assert_eq!(profile("hashed:email").digest(held), Some(digest));
    }
    let bad = hex.replace('b', "g");
    for held in [
        "",
        "user@example.com",
        &hex[1..],
        &bad,
        &padded[1..],
        &padded.replace('/', "!"),
        "null",
        "0x",
        "éx",
    ] {
        assert_eq!(profile("hashed:email").apply(held), "", "{held}");
    }
    assert_eq!(profile("sha256:email").apply(" USER@example.com"), "user@example.com");
    assert_eq!(profile("sha256:email").apply("nobody"), "");
    for name in ["sha256", "hashed", "sha256:hashed:email", "hashed:sha256:email", "sha256:rot13"] {
        assert!(name.parse::<Normalize>().is_err(), "{name}");
    }
}

#[test]
fn timestamps_by_table() {
    let noon = "2024-02-29T10:00:00Z";
    assert_table(
        "timestamp",
        &[
            // The texts of columns with types, and those of pandas, polars, DuckDB, PostgreSQL, Spark, BigQuery and Snowflake.
            (noon, noon),
            ("2024-02-29T10:00:00", noon),
            ("2024-02-29 10:00:00", noon),
            ("2024-02-29 10:00:00+00:00", noon),
            ("2024-02-29 10:00:00+00", noon),
            ("2024-02-29 11:00:00+01", noon),
            ("2024-02-29T11:00:00.000+01:00", noon),
            ("2024-02-29T10:00:00.000000000", noon),
            ("2024-02-29 10:00:00 UTC", noon),
            ("2024-02-29 02:00:00.000 -0800", noon),
            ("2024-02-29 10:00", noon),
            ("2024-02-29t10:00:00z", noon),
            ("\u{feff}2024-02-29 10:00:00 ", noon),
            ("2024-02-29 10:00:00.50", "2024-02-29T10:00:00.5Z"),
            ("2024-02-29 10:00:00,123", "2024-02-29T10:00:00.123Z"),
            ("2024-02-29 10:00:00.123456789", "2024-02-29T10:00:00.123456789Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("2024-03-01T00:30:00+05:30", "2024-02-29T19:00:00Z"),
            ("9999-12-31 23:59:59", "9999-12-31T23:59:59Z"),
            ("9999-12-31 23:59:59-01:00", ""),
            ("0001-01-01T00:00:00+01:00", ""),
            ("2024-02-29 10:00:00.1234567891", ""),
            ("2023-02-29 10:00:00", ""),
            ("2024-02-29 24:00:00", ""),
            ("2024-02-29 10:60:00", ""),
            ("2024-02-29 10:00:60", ""),
            ("2024-02-29 10", ""),
            ("2024-02-29 10:00:00 Europe/Berlin", ""),
            ("2024-02-29 10:00:00 PM", ""),
            ("2024-02-29T10:00:00é", ""),
            ("10:00:00", ""),
            ("1709200800", ""),
            ("", ""),
        ],
    );
    assert_table("timestamp:+01:00", &[("2024-02-29 11:00:00", noon), (noon, noon)]);
    assert_table("timestamp:-08", &[("2024-02-29 02:00:00", noon)]);
    assert_eq!(profile("timestamp:-0530").to_string(), "timestamp:-05:30");
    for offset in ["", "1", "+1", "+24", "+01:60", "CET", "+01:00x"] {
        assert!(format!("timestamp:{offset}").parse::<Normalize>().is_err(), "{offset}");
    }
}

/// The examples that the companies publish with their rules.
#[test]
fn rules_of_partners_by_table() {
    assert_table(
        "google:email",
        &[
            ("cloudy.sanfrancisco+shopping@gmail.com", "cloudysanfrancisco@gmail.com"),
            ("user.name+NYC@Example.com", "user.name+nyc@example.com"),
            ("Jane.Doe+x@GoogleMail.com", "janedoe@googlemail.com"),
            (" ja ne@x.org ", "jane@x.org"),
            ("nobody", ""),
        ],
    );
    assert_table("google:name", &[(" Zoë ", "zoë"), ("Pérez Jr.", "pérez jr.")]);
    assert_table(
        "meta:email",
        &[("John_Smith@gmail.com", "john_smith@gmail.com"), ("a.b+c@gmail.com", "a.b+c@gmail.com")],
    );
    assert_table(
        "meta:name",
        &[("Mary", "mary"), ("정", "정"), ("Valéry", "valéry"), ("O'Neill-Smith", "oneillsmith")],
    );
    assert_table(
        "uid2:email",
        &[
            ("JANESaoirse@gmail.com", "janesaoirse@gmail.com"),
            ("jane.doe@gmail.com", "janedoe@gmail.com"),
            ("JaneDoe+home@gmail.com", "janedoe@gmail.com"),
            ("JÄNE@x.org", "jÄne@x.org"),
        ],
    );
    assert_table(
        "liveramp:email",
        &[("MyName@liveramp.com ", "myname@liveramp.com"), ("my name@x.org", "myname@x.org")],
    );
    assert_table(
        "pair:email",
        &[("User@example.com", "user@example.com"), ("a.b+c@gmail.com", "a.b+c@gmail.com")],
    );
    // Published digests.
    let digest = |name: &str, value: &str| {
        let profile = profile(&format!("sha256:{name}"));
        profile.digest(&profile.apply(value)).map(|digest| sha256::hex(&digest))
    };
    let user = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    for (name, value, expected) in [
        ("pair:email", "USER@example.com", user),
        ("uid2:email", "USER@example.com", user),
        (
            "meta:email",
            "John_Smith@gmail.com",
            "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f",
        ),
        ("meta:name", "Mary", "6915771be1c5aa0c886870b6951b03d7eafc121fea0e80a5ea83beb7c449f4ec"),
        ("meta:name", "정", "8fa8cd9c440be61d0151429310034083132b35975c4bea67fdd74158eb51db14"),
        ("meta:name", "Valéry", "08e1996b5dd49e62a4b4c010d44e4345592a863bb9f8e3976219bac29417149c"),
    ] {
        assert_eq!(digest(name, value).as_deref(), Some(expected), "{name} {value}");
    }
    // UID2 publishes its digests in base64.
    let uid2 = sha256::read("ku4mBX7Z3qJTXWyLFB1INzkyR2WZGW4ANSJUiW21iI8=")
        .map(|digest| sha256::hex(&digest));
    assert_eq!(digest("uid2:email", "JANESaoirse@gmail.com"), uid2);
    for name in [
        "google",
        "google:",
        "google:x",
        "google:email:x",
        "meta:date",
        "liveramp:phone",
        "uid2:name",
    ] {
        assert!(name.parse::<Normalize>().is_err(), "{name}");
    }
}

#[cfg(feature = "phone")]
#[test]
fn telephone_numbers_of_partners_by_table() {
    assert_table(
        "google:phone:US",
        &[("(800)555-0100", "+18005550100"), ("1-800-555-0100", "+18005550100")],
    );
    assert_table(
        "meta:phone:US",
        &[("(650)555-1212", "16505551212"), ("+44 20 7946 0018", "442079460018"), ("12", "")],
    );
    assert_table("uid2:phone:US", &[("1 (234) 567-8901", "+12345678901")]);
    assert_table("pair:phone", &[("+44 20 7946 0018", "+442079460018")]);
    let meta = profile("sha256:meta:phone:US");
    let digest = meta.digest(&meta.apply("(650)555-1212")).map(|digest| sha256::hex(&digest));
    let expected = "e323ec626319ca94ee8bff2e4c87cf613be6ea19919ed1364124e16807ab3176";
    assert_eq!(digest.as_deref(), Some(expected));
    assert_eq!(meta.agreed(), "sha256:meta:phone@1+plan9.0.33");
}

/// A profile of every kind and parameter.
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

/// What is normal already stays: a profile leaves its own values alone once it is free of what describes a column.
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
    let text = include_str!("../../../../docs/keys.md");
    let bare = |cell: &str| match cell.strip_prefix('`') {
        Some(cell) => cell.strip_suffix('`').unwrap().to_owned(),
        None => cell.replace("*no key*", ""),
    };
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        <[&str; 3]>::try_from(cells).ok()
    });
    let mut examples = 0;
    // Tables of other things do not begin with a name in code.
    for [name, value, key] in rows.filter(|[name, ..]| name.starts_with('`')) {
        examples += 1;
        assert_eq!(profile(&bare(name)).apply(&bare(value)), bare(key), "{name} {value}");
    }
    assert!(examples >= 20, "{examples}");
    for described in PROFILES {
        assert!(
            text.contains(&format!("| `{}", described.word)) || described.word == "hashed",
            "{}",
            described.word
        );
    }
}
