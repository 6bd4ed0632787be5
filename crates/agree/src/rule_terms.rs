//! The rules by which rows match, as both sides must have them.

use serde::{Deserialize, Serialize};
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
};
use vesica_keyset::linked::{AmbiguousKeys, TOKEN};
use vesica_linkage::{MAX_BYTES, MAX_FIELDS, MAX_RULES, MatchField, MatchRule, RuleError, Rules};
use vesica_normalize::normalize::Normalize;
use vesica_table::sent_columns::SentColumns;
use vesica_task::query::{QueryKind, RowsByRules};

/// The maximum length of a name of a field or a function on the wire, in bytes: a name, a version and a digest.
const LONGEST_NAME: usize = 128;

/// The rules of an offer. Their fields are the key columns of the offer, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTerms {
    /// The names of the fields, in the order of their first use.
    fields: Vec<String>,
    /// The rules in their canonical form, in order.
    rules: Vec<String>,
    /// The functions that the rules use, with the versions of their rules and tables, sorted.
    functions: Vec<String>,
    /// The treatment of ambiguous keys.
    ambiguous: AmbiguousKeys,
}

impl RuleTerms {
    /// Returns the part of these rules that both sides must have in common.
    pub fn of(rules: &Rules, ambiguous: AmbiguousKeys) -> Self {
        Self {
            fields: rules.fields().iter().map(|field| field.name().to_owned()).collect(),
            rules: rules.rules().iter().map(ToString::to_string).collect(),
            functions: rules.functions(),
            ambiguous,
        }
    }

    /// Returns the treatment of ambiguous keys.
    pub fn ambiguous(&self) -> AmbiguousKeys {
        self.ambiguous
    }

    /// Returns these rules for a query, which may treat ambiguous keys in another way.
    pub fn in_query(self, kind: &QueryKind) -> Self {
        let ambiguous = kind.takes_rules.map(RowsByRules::ambiguous);
        Self { ambiguous: ambiguous.unwrap_or(self.ambiguous), ..self }
    }

    /// Returns the names of the fields, in the order of their first use.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Returns the rules in their canonical form, in order.
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// Returns the rules on the columns of a table, which are given for each field with their normalisation.
    ///
    /// # Errors
    /// [`Error::Usage`] if this release does not have the same functions, or a function does not take a field's values.
    pub fn on(&self, columns: &[String], keys: &[Normalize]) -> Result<Rules> {
        let refused = |error: RuleError| Error::usage(Misuse::Key, error.to_string());
        let fields = self.fields.iter().zip(columns).zip(keys);
        let fields = fields
            .map(|((name, column), normalize)| MatchField::new(name, column, normalize.clone()));
        let fields = fields.collect::<std::result::Result<_, _>>().map_err(refused)?;
        let rules = self.rules.iter().map(|rule| rule.parse::<MatchRule>());
        let rules = rules.collect::<std::result::Result<_, _>>().map_err(refused)?;
        let rules = Rules::new(rules, fields).map_err(refused)?;
        if Self::of(&rules, self.ambiguous) != *self {
            let message = format!(
                "this release does not have the same functions of rules ({}); install the same release on both sides",
                self.functions.join(", ")
            );
            return Err(Error::usage(Misuse::Key, message));
        }
        Ok(rules)
    }

    /// Returns whether an offer with this query and these columns takes rules that treat ambiguous keys as these do.
    pub(crate) fn fit(&self, kind: &QueryKind, sent: Option<&SentColumns>) -> bool {
        kind.takes_rules.map(RowsByRules::ambiguous) == Some(self.ambiguous)
            && sent.is_none_or(|sent| sent.rows == 1)
    }

    /// Whether they are within all bounds, safe to show, and about this number of key columns. Rules of another release
    /// need not be rules of this one.
    pub(crate) fn is_sound(&self, columns: usize) -> bool {
        let is_shown = |text: &String, longest| {
            !text.is_empty()
                && text.len() <= longest
                && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        };
        let are = |texts: &[String], most, longest| {
            texts.len() <= most && texts.iter().all(|text| is_shown(text, longest))
        };
        self.fields.len() == columns
            && !self.rules.is_empty()
            && are(&self.fields, MAX_FIELDS, LONGEST_NAME)
            && are(&self.rules, MAX_RULES, MAX_BYTES)
            && are(&self.functions, MAX_RULES, LONGEST_NAME)
    }

    /// Returns the bytes of a payload with these columns, with a row's token if there are rules.
    pub(crate) fn payload_len(rules: Option<&Self>, sent: &SentColumns) -> usize {
        sent.payload_len() + rules.map_or(0, |_| TOKEN)
    }

    /// Returns the difference between the rules of two offers. Either may have none.
    pub(crate) fn difference(ours: Option<&Self>, theirs: Option<&Self>) -> Option<Difference> {
        if ours == theirs {
            return None;
        }
        let rules = |terms: Option<&Self>| match terms {
            None => "none: keys are columns (--key)".to_owned(),
            Some(terms) => terms.numbered(),
        };
        let (here, there) = (rules(ours), rules(theirs));
        if here != there {
            return Some(Difference { what: "rules by which rows match (--match)", here, there });
        }
        let rest = |terms: Option<&Self>| {
            terms.map_or_else(String::new, |terms| {
                format!("{}; {:?}", terms.functions.join(", "), terms.ambiguous)
            })
        };
        let (here, there) = (rest(ours), rest(theirs));
        Some(Difference { what: "versions of the functions in rules", here, there })
    }

    /// Returns the rules in one line, with their numbers.
    pub fn numbered(&self) -> String {
        let rules = self.rules.iter().zip(1..).map(|(rule, number)| format!("{number}. {rule}"));
        rules.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use vesica_linkage::rules_of;

    use super::*;

    const FIELDS: [&str; 3] = ["first=f:name", "last=l:name", "dob=d:date:%d.%m.%Y"];

    fn rules(texts: &[&str]) -> Rules {
        let fields: Vec<MatchField> = FIELDS.map(|field| field.parse().unwrap()).to_vec();
        Rules::new(rules_of(texts, &fields).unwrap(), fields).unwrap()
    }

    #[test]
    fn rules_are_found_again_on_other_columns() {
        let rules = rules(&["person"]);
        let terms = RuleTerms::of(&rules, AmbiguousKeys::ByNoRule);
        let columns = ["Vorname", "Nachname", "Geburtstag"].map(str::to_owned);
        let keys: Vec<_> = rules.fields().iter().map(|field| field.normalize().clone()).collect();
        let again = terms.on(&columns, &keys).unwrap();
        assert_eq!(RuleTerms::of(&again, AmbiguousKeys::ByNoRule), terms);
        assert_eq!(again.fields()[2].column(), "Geburtstag");
        assert!(terms.is_sound(3) && !terms.is_sound(2));
        let other = RuleTerms { functions: vec!["soundex@2".to_owned()], ..terms };
        assert!(other.on(&columns, &keys).unwrap_err().to_string().contains("the same release"));
        assert!(other.is_sound(3));
    }

    #[test]
    fn all_bounds_are_checked() {
        let good = RuleTerms::of(&rules(&["first, last"]), AmbiguousKeys::default());
        type Change = fn(&mut RuleTerms);
        let changes: [Change; 7] = [
            |terms| terms.rules.clear(),
            |terms| terms.rules = vec!["first".to_owned(); MAX_RULES + 1],
            |terms| terms.rules[0] = "x".repeat(MAX_BYTES + 1),
            |terms| terms.rules[0] = "a\u{1b}[31m".to_owned(),
            |terms| terms.fields[0].clear(),
            |terms| terms.functions = vec!["left@1".to_owned(); MAX_RULES + 1],
            |terms| terms.functions = vec!["ä".to_owned()],
        ];
        assert!(good.is_sound(2));
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(!bad.is_sound(2), "{bad:?}");
        }
    }

    /// Terms differ if a rule, the order of rules, a version or the treatment of ambiguous keys differs.
    #[test]
    fn differences_show_both_texts() {
        let of = |texts: &[&str]| RuleTerms::of(&rules(texts), AmbiguousKeys::default());
        let mine = of(&["first, last", "soundex(last), dob"]);
        assert_eq!(RuleTerms::difference(Some(&mine), Some(&mine.clone())), None);
        for other in [
            of(&["soundex(last), dob", "first, last"]),
            of(&["first, last"]),
            of(&["last, first", "soundex(last), dob"]),
        ] {
            let found = RuleTerms::difference(Some(&mine), Some(&other)).unwrap();
            assert_eq!(found.here, "1. first, last; 2. soundex(last), dob");
            assert_eq!(found.there, other.numbered());
        }
        let found = RuleTerms::difference(Some(&mine), None).unwrap();
        assert!(found.there.starts_with("none"));
        let newer = RuleTerms { functions: vec!["soundex@2".to_owned()], ..mine.clone() };
        let found = RuleTerms::difference(Some(&mine), Some(&newer)).unwrap();
        assert!(found.here.starts_with("soundex@1") && found.there.starts_with("soundex@2"));
        let other = RuleTerms { ambiguous: AmbiguousKeys::ByNoRule, ..mine.clone() };
        assert!(RuleTerms::difference(Some(&mine), Some(&other)).is_some());
    }
}
