//! Days and points in time.

use super::*;

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
            // A time that adds nothing.
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
fn timestamps_by_table() {
    let noon = "2024-02-29T10:00:00Z";
    assert_table(
        "timestamp",
        &[
            // Texts of typed columns, and of pandas, polars, DuckDB, PostgreSQL, Spark, BigQuery and Snowflake.
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

/// Compares instants of all years, in every notation, with the arithmetic of an independent calendar.
#[test]
fn timestamps_agree_with_the_calendar_in_every_notation() {
    let mut rng = StdRng::seed_from_u64(7);
    let plain = profile("timestamp");
    for _ in 0..5000 {
        // The second year to the last but one, so that offsets stay within the range.
        let seconds = rng.random_range(-62_104_060_800..253_370_764_800i64);
        let utc = time::OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let written = |at: time::OffsetDateTime, between: char| {
            let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
            let (hour, minute, second) = at.to_hms();
            format!("{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}")
        };
        let expected = format!("{}Z", written(utc, 'T'));
        let minutes = rng.random_range(-1439..1440i32);
        let offset = time::UtcOffset::from_whole_seconds(60 * minutes).unwrap();
        let there = written(utc.to_offset(offset), ' ');
        let (sign, ahead) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
        let (hours, rest) = (ahead / 60, ahead % 60);
        for text in [
            written(utc, ' '),
            format!("{}.000", written(utc, 'T')),
            format!("{there}{sign}{hours:02}:{rest:02}"),
            format!("{there} {sign}{hours:02}{rest:02}"),
        ] {
            assert_eq!(plain.apply(&text), expected, "{text}");
        }
        let local = profile(&format!("timestamp:{sign}{hours:02}:{rest:02}"));
        assert_eq!(local.apply(&there), expected, "{there} {minutes}");
        let day = profile("date").apply(&format!("{} 00:00:00", &expected[..10])).into_owned();
        assert_eq!(day, expected[..10]);
    }
}
