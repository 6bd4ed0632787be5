//! The grammar of rules, and the keys that they make.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_linkage::{
    MAX_BYTES, MAX_FIELDS, MAX_PARTS, MAX_RULES, MatchField, MatchRule, RuleError, Rules,
};
use vesica_normalize::{encoding::Encoding, normalize::Normalize, null_values::NullValues};

const FIELDS: [&str; 6] = [
    "first=Vorname:name",
    "last=Nachname:name",
    "dob=Geburtstag:date:%d.%m.%Y",
    "postcode=PLZ:postcode:DE",
    "mail=Mail:hashed:email",
    "number=Nummer:none",
];

fn fields() -> Vec<MatchField> {
    FIELDS.map(|field| field.parse().unwrap()).to_vec()
}

fn checked(rules: &[&str]) -> Result<Rules, RuleError> {
    let rules = rules.iter().map(|rule| rule.parse::<MatchRule>()).collect::<Result<_, _>>()?;
    Rules::new(rules, fields())
}

/// Returns a row's keys by these rules.
fn keys(rules: &[&str], value: fn(&str) -> &'static str) -> Vec<Option<Vec<u8>>> {
    let rules = checked(rules).unwrap();
    let row: Vec<_> = rules.fields().iter().map(|field| value(field.name())).collect();
    rules.keys(&row, &NullValues::default())
}

#[test]
fn rules_are_displayed_in_their_canonical_form() {
    for (text, canonical) in [
        ("first,last ,dob", "first, last, dob"),
        (" First\n,\tSOUNDEX( Last )", "first, soundex(last)"),
        ("left(first,01), dob", "left(first, 1), dob"),
        ("sorted_words(first,last)", "sorted_words(first, last)"),
        ("left(letters(nickname(first)), 3)", "left(letters(nickname(first)), 3)"),
        ("year, left", "year, left"),
    ] {
        let rule: MatchRule = text.parse().unwrap();
        assert_eq!(rule.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(rule));
    }
}

#[test]
fn faults_have_a_place_and_a_remedy() {
    for (text, character, what) in [
        ("", 1, "a rule has fields and functions"),
        ("first,", 7, "missing at the end"),
        ("first,,dob", 7, "missing before the comma"),
        ("soundex()", 9, "missing before `)`"),
        ("(first)", 1, "the name of a function is missing"),
        ("first last", 7, "a comma is missing before `last`"),
        ("first AND last", 7, "a comma in place of AND"),
        ("first or last", 7, "rules of their own"),
        ("first; last", 6, "a text of its own"),
        ("first[1]", 6, "write left(x, n)"),
        ("first = last", 7, "`=` is not supported"),
        ("\"first\"", 1, "without quotes"),
        ("größe", 1, "letters from a to z"),
        ("é", 1, "letters from a to z"),
        ("first, substr(last, 1, 3)", 8, "write left(x, n)"),
        ("dmetaphone(last)", 1, "write double_metaphone(x)"),
        ("metaphone(last)", 1, "write double_metaphone(x)"),
        ("lower(last)", 1, "the profile of the field"),
        ("levenshtein(first, last)", 1, "not by distances"),
        ("sondex(last)", 1, "did you mean `soundex`?"),
        ("first, soundex(last, 3)", 22, "soundex takes no number"),
        ("soundex(first, last)", 1, "write soundex(x)"),
        ("left(first)", 1, "write left(x, n)"),
        ("left(3, first)", 6, "a number stands only after"),
        ("left(first, 0)", 13, "from 1 to 64"),
        ("left(first, 65)", 13, "from 1 to 64"),
        ("left(first, 1, 2)", 14, "`)` is missing after the number"),
        ("left(first, 1", 14, "`)` of left is missing"),
        ("first, last, FIRST", 14, "`first` stands twice"),
        ("letters(letters(letters(letters(letters(x)))))", 33, "at most 4 deep"),
        ("a,b,c,d,e,f,g,h,i", 17, "at most 8 parts"),
    ] {
        match text.parse::<MatchRule>() {
            Err(RuleError::Syntax { character: at, what: found, .. }) => {
                assert!(at == character && found.contains(what), "{text}: {at}, {found}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(MAX_PARTS, 8);
    assert!("x".repeat(MAX_BYTES + 1).parse::<MatchRule>().is_err());
}

#[test]
fn unfit_parts_are_named() {
    for (rules, message) in [
        (&["first, lst"][..], "rule 1, `lst`: no field has this name: did you mean `last`?"),
        (&["first", "city"], "rule 2, `city`: no field has this name: declare it, or use one of "),
        (&["soundex"], "rule 1, `soundex`: no field has this name; the function is soundex(x)"),
        (
            &["left(dob, 4)"],
            "rule 1, `left(dob, 4)`: left does not take `dob`, which is a date: write year(x)",
        ),
        (&["year(first)"], "which is a name: declare it with the profile `date`"),
        (&["soundex(mail)"], "soundex does not take `mail`, which is a digest"),
        (&["year(year(dob))"], "year does not take `year(dob)`, which is a text"),
        (&["first", "last", "First"], "rules 1 and 3 are equal"),
        (&[], "there is no rule"),
    ] {
        let error = checked(rules).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let rule =
        |number: usize| format!("left(first, {}), left(last, {})", 1 + number % 8, 1 + number / 8);
    let rules = |count| (0..count).map(|number| rule(number).parse().unwrap()).collect();
    assert!(Rules::new(rules(MAX_RULES), fields()).is_ok());
    assert!(Rules::new(rules(MAX_RULES + 1), fields()).is_err());
    let field = |number: usize| format!("f{number}=x:name").parse::<MatchField>().unwrap();
    let many = |count| [fields(), (6..count).map(field).collect()].concat();
    assert!(Rules::new(rules(1), many(MAX_FIELDS)).is_ok());
    assert!(Rules::new(rules(1), many(MAX_FIELDS + 1)).is_err());
    assert!(Rules::new(rules(1), [fields(), fields()].concat()).is_err());
}

#[test]
fn keys_are_those_of_identifiers() {
    let value = |name: &str| match name {
        "first" => "J oel",
        "dob" => "3.2.1990",
        _ => "van der Berg",
    };
    let [name, date] = ["name", "date"].map(|profile| profile.parse::<Normalize>().unwrap());
    let key = |mut encoding: Encoding, values: &[(&str, &Normalize)]| {
        encoding.begin(values.len());
        for (value, profile) in values {
            encoding.add(value, profile);
        }
        Some(encoding.bytes().to_vec())
    };
    let plain = [("j oel", &name), ("van der berg", &name), ("1990-02-03", &date)];
    assert_eq!(keys(&["first, last, dob"], value), [key(Encoding::default(), &plain)]);
    let derived =
        [("joe", &Normalize::NONE), ("V536", &Normalize::NONE), ("1990", &Normalize::NONE)];
    let found = keys(&["first, last, dob", "left(first, 3), soundex(last), year(dob)"], value);
    let expected =
        [key(Encoding::of_identifier(0), &plain), key(Encoding::of_identifier(1), &derived)];
    assert_eq!(found, expected);
}

/// Both sides have the same fields in the same order, however they declare them.
#[test]
fn fields_are_in_the_order_of_their_first_use() {
    let rules = checked(&["left(postcode, 2), year(dob)", "first, dob"]).unwrap();
    let names: Vec<_> = rules.fields().iter().map(MatchField::name).collect();
    assert_eq!(names, ["postcode", "dob", "first"]);
    assert_eq!(rules.functions(), ["left@1", "year@1"]);
    let found = rules.derive(&["10115", "31.2.1990", " Ann "], &NullValues::default());
    assert_eq!(found.fields, [Some("10115".to_owned()), None, Some("ann".to_owned())]);
    assert_eq!(found.keys, [None, None]);
    let named = checked(&["left(first, 1), nickname(last)"]).unwrap().functions();
    assert_eq!(named[..2], ["left@1", "letters@1"]);
    assert!(named[2].starts_with("nickname@1+sha256:") && named.len() == 3);
}

#[test]
fn a_missing_part_makes_no_key() {
    let value = |name: &str| match name {
        "first" => "Ёлкин",
        "last" => "n/a",
        "dob" => "31.2.1990",
        "postcode" => "10115",
        _ => "",
    };
    for (rule, makes) in [
        ("first, postcode", true),
        ("left(first, 1), postcode", true),
        ("soundex(first), postcode", false), // no Latin letter
        ("first, last", false),              // a null value
        ("sorted_words(first, last)", false),
        ("first, dob", false), // no such day
        ("first, year(dob)", false),
        ("first, mail", false), // empty
        ("number", false),
    ] {
        assert_eq!(keys(&[rule], value)[0].is_some(), makes, "{rule}");
    }
}

/// Values that a profile makes equal have equal derivations; and no text is a fault.
#[test]
fn rules_follow_the_normalised_values() {
    let text = "soundex(first), double_metaphone(first), cologne(first), nickname(first), left(first, 2), letters(first)";
    let rules = Rules::new(vec![text.parse().unwrap()], fields()).unwrap();
    let mut rng = StdRng::seed_from_u64(5);
    let letters: Vec<char> = "abcdehilmnorstuüöéßøłЁ李 -'\u{301}\u{0}".chars().collect();
    for _ in 0..5_000 {
        let length = rng.random_range(0..10);
        let name: String =
            (0..length).map(|_| letters[rng.random_range(0..letters.len())]).collect();
        let normal = Normalize::NAME.apply(&name);
        let [raw, again] =
            [&name[..], &normal].map(|name| rules.keys(&[name], &NullValues::default()));
        assert_eq!(raw, again, "{name:?}");
    }
}

/// A text that parses survives its display.
#[test]
fn texts_made_at_random_are_rules_or_refused() {
    const WORDS: [&str; 18] = [
        "first",
        "last",
        "dob",
        "left",
        "soundex",
        "sorted_words",
        "year",
        "(",
        "(",
        ")",
        ")",
        ",",
        ",",
        " ",
        "3",
        "é",
        ";",
        "x1",
    ];
    let (mut rng, mut rules) = (StdRng::seed_from_u64(9), 0);
    for _ in 0..100_000 {
        let length = rng.random_range(0..9);
        let text: String = (0..length).map(|_| WORDS[rng.random_range(0..WORDS.len())]).collect();
        if let Ok(rule) = text.parse::<MatchRule>() {
            assert_eq!(rule.to_string().parse(), Ok(rule), "{text}");
            rules += 1;
        }
    }
    assert!(rules > 1_000, "{rules}");
}
