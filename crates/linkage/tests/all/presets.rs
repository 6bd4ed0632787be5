//! Presets and the texts that both sides agree on.

use vesica_linkage::{MAX_RULES, MatchField, Preset, Rules, nickname_table_sha256, rules_of};

fn fields(names: &[&str]) -> Vec<MatchField> {
    let declared = |name: &&str| match *name {
        "dob" => "dob=Geburtstag:date:%d.%m.%Y".to_owned(),
        "postcode" => "postcode=PLZ:postcode:DE".to_owned(),
        name => format!("{name}={name}:name"),
    };
    names.iter().map(|name| declared(name).parse().unwrap()).collect()
}

#[test]
fn presets_are_lists_of_canonical_rules() {
    for (preset, name, rules) in [
        (Preset::Person, "person@1", 8),
        (Preset::PersonAndAddress, "person+address@1", 8),
        (Preset::Ladder, "ladder@1", 26),
    ] {
        assert_eq!(preset.to_string(), name);
        assert_eq!(name.parse::<Preset>().unwrap(), preset);
        assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        assert_eq!(preset.rules().len(), rules);
        assert!(preset.rules().len() <= MAX_RULES);
        for rule in preset.rules() {
            assert_eq!(rule.to_string().parse().as_ref(), Ok(&rule));
        }
        assert_eq!(preset.rules()[0].to_string(), "first, last, dob");
    }
}

#[test]
fn other_presets_are_refused() {
    for (text, reason) in [
        ("persons", "did you mean `person`?"),
        ("person+adress", "did you mean `person+address`?"),
        ("people", "there are person, person+address, ladder"),
        ("person@2", "this release has the version person@1"),
        ("person@", "this release has the version person@1"),
    ] {
        let error = rules_of(&[text], &fields(&["first"])).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_ladder_uses_the_declared_fields() {
    let some = fields(&["first", "last", "dob"]);
    let rules = rules_of(&["ladder"], &some).unwrap();
    assert_eq!(rules.len(), 13);
    assert!(Rules::new(rules, some.clone()).is_ok());
    let error = Rules::new(rules_of(&["person+address@1"], &some).unwrap(), some).unwrap_err();
    let expected =
        "rule 6, `postcode`: no field has this name: declare it, or use one of first, last, dob";
    assert_eq!(error.to_string(), expected);
}

/// The texts change only with a version.
#[test]
fn agreed_texts_have_versions_and_no_columns() {
    let rules = Rules::new(Preset::Person.rules(), fields(&["first", "last", "dob"])).unwrap();
    let [first, last] = ["first:name@2+unicode17", "last:name@2+unicode17"];
    let [dob, table] = ["dob:date@2", "0aaf"];
    let expected = [
        format!("{first}, {last}, {dob}"),
        format!("sorted_words@1({first}, {last}), swap_day_month@1({dob})"),
        format!("nickname@1+sha256:{table}({first}), {last}, {dob}"),
        format!("soundex@1({first}), soundex@1({last}), {dob}"),
        format!("left@1(letters@1({first}), 3), left@1(letters@1({last}), 3), {dob}"),
        format!("{first}, {last}, year_day@1({dob})"),
        format!("{first}, {last}, year_month@1({dob})"),
        format!("left@1(letters@1({first}), 1), {last}, {dob}"),
    ];
    let agreed = rules
        .agreed()
        .iter()
        .map(|text| text.replace(&nickname_table_sha256(), table))
        .collect::<Vec<_>>();
    assert_eq!(agreed, expected);
    let spelled = rules_of(&["left(letters(first), 3), left(last, 3), dob"], &[]).unwrap();
    let spelled = Rules::new(spelled, fields(&["first", "last", "dob"])).unwrap();
    assert_eq!(spelled.agreed(), rules.agreed()[4..5]);
}
