//! Derivations against published examples and other programs.

use vesica_linkage::{MatchField, Rules, rules_of};
use vesica_normalize::null_values::NullValues;

/// Lines of a function, a value, the derived value and its origin.
const VECTORS: &str = include_str!("vectors.tsv");

/// Returns the value that a function derives from one of the profile `none`, read out of the encoded key.
fn derived(function: &str, value: &str) -> Option<String> {
    let field: MatchField = "x=x:none".parse().unwrap();
    let rules = rules_of(&[format!("{function}(x)")], std::slice::from_ref(&field)).unwrap();
    let keys = Rules::new(rules, vec![field]).unwrap().keys(&[value], &NullValues::none());
    // The domain, the number of columns, the type and the length come before the value.
    let before = "vesica/key/1".len() + 4 + 1 + 8;
    keys[0].as_ref().map(|key| String::from_utf8(key[before..].to_vec()).unwrap())
}

#[test]
fn derived_values_are_those_of_others() {
    let mut tried = 0;
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<_> = line.split('\t').collect();
        let [function, value, expected, _] = columns[..] else { panic!("{line}") };
        assert_eq!(derived(function, value).unwrap_or_default(), expected, "{line}");
        tried += 1;
    }
    assert!(tried > 250, "{tried} vectors");
}
