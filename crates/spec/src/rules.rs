//! Rules about several options: which exclude each other, and which require others.

use crate::Fault;

/// Options that exclude all others of their group. A flag replaces the other options of its group in a project file.
pub(crate) const ALTERNATIVES: &[&[&str]] = &[
    &["listen", "connect", "relay", "exchange-dir"],
    &["input-query", "input-query-file"],
    &["query", "query-file"],
];

/// Options that exclude each other.
const EXCLUDES: &[(&str, &str)] = &[
    ("agreement", "peer"),
    ("parties", "agreement"),
    ("parties", "peer"),
    ("parties", "connect"),
    ("parties", "side"),
    ("parties", "learns"),
    ("parties", "query-side"),
    ("parties", "mine"),
    ("parties", "theirs"),
    ("parties", "prices"),
    ("at-least", "pivot"),
    ("send", "receive"),
    ("send", "answer"),
    ("receive", "answer"),
    ("align", "send"),
    ("align", "receive"),
    ("epsilon", "minimum"),
    ("query", "answer"),
    ("query", "send"),
    ("query", "receive"),
    ("query", "align"),
    ("query", "minimum"),
    ("query-file", "answer"),
    ("query-file", "send"),
    ("query-file", "receive"),
    ("query-file", "align"),
    ("query-file", "minimum"),
    ("address", "relay"),
    ("key", "field"),
    ("key", "match"),
    ("normalize", "field"),
    ("columns", "key"),
    ("columns", "field"),
    ("columns", "json"),
    ("value", "input"),
    ("value", "key"),
    ("check", "mine"),
    ("check", "theirs"),
    ("check", "json"),
    ("tls-certificate", "identity"),
    ("no-tls", "identity"),
    ("no-tls", "tls-certificate"),
];

/// Options that require another one.
const REQUIRES: &[(&str, &str)] = &[
    ("side", "exchange-dir"),
    ("leader", "parties"),
    ("pivot", "parties"),
    ("learners", "parties"),
    ("at-least", "parties"),
    ("match", "field"),
    ("agreement-hash", "agreement"),
    ("send-bytes", "send"),
    ("clamp", "epsilon"),
    ("label-bytes", "labels"),
    ("tls-certificate", "tls-key"),
    ("tls-key", "tls-certificate"),
];

/// Options that require another one, unless an agreement sets it.
const REQUIRES_OR_AGREEMENT: &[(&str, &str)] =
    &[("join", "receive"), ("min-rule", "match"), ("pad-keys", "match")];

/// Options that are for runs under an agreement.
pub(crate) const UNDER_AGREEMENT: &[&str] = &["ledger", "record"];

/// Options that an agreement settles.
pub(crate) const SETTLED: &[&str] = &[
    "learns",
    "match",
    "normalize",
    "null-values",
    "send",
    "send-bytes",
    "receive",
    "align",
    "query",
    "query-file",
    "query-side",
    "column",
    "repeated-keys",
    "scale",
    "minimum",
    "epsilon",
    "clamp",
    "protocol",
    "security",
    "diagnose",
    "max-peer-rows",
    "allow-research",
];

/// Refuses options that the agreement settles, even at their default: a user who sets one expects an effect.
pub(crate) fn check_settled(named: &[&'static str]) -> Result<(), Fault> {
    let options: Vec<_> = named.iter().copied().filter(|name| SETTLED.contains(name)).collect();
    match named.contains(&"agreement") && !options.is_empty() {
        true => Err(Fault::Settled { options }),
        false => Ok(()),
    }
}

/// Refuses options that cannot be set together.
pub(crate) fn check(named: &[&'static str]) -> Result<(), Fault> {
    let find = |name: &str| named.iter().copied().find(|known| *known == name);
    let is_agreed = find("agreement").is_some();
    for all in ALTERNATIVES {
        let mut named = all.iter().filter_map(|name| find(name));
        if let (Some(option), Some(other)) = (named.next(), named.next()) {
            return Err(Fault::Excludes { option, other });
        }
    }
    for (option, other) in EXCLUDES {
        if let (Some(option), Some(other)) = (find(option), find(other)) {
            return Err(Fault::Excludes { option, other });
        }
    }
    let unless_agreed = REQUIRES_OR_AGREEMENT.iter().filter(|_| !is_agreed);
    for (option, other) in REQUIRES.iter().chain(unless_agreed) {
        if find(option).is_some() && find(other).is_none() {
            return Err(Fault::Requires { option, other });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Acceptance, Check, Gateway, Invited, Job, Judged, List, ListService, Lookup, Options,
        Planned, Service, Terms,
    };

    #[test]
    fn rules_name_only_existing_options() {
        let all = [
            Job::described(),
            List::described(),
            Service::described(),
            ListService::described(),
            Lookup::described(),
            Check::described(),
            Judged::described(),
            Planned::described(),
            Gateway::described(),
            Invited::described(),
            Acceptance::described(),
        ];
        let all = all.concat();
        let alternatives = ALTERNATIVES.concat();
        let pairs = EXCLUDES.iter().chain(REQUIRES).chain(REQUIRES_OR_AGREEMENT);
        let named = pairs.flat_map(|(one, other)| [*one, *other]).chain(alternatives);
        for name in named.chain(UNDER_AGREEMENT.iter().copied()) {
            assert!(all.iter().any(|known| known.name == name), "{name}");
        }
    }

    /// A column of values must be named under an agreement too.
    #[test]
    fn an_agreement_settles_all_terms_except_the_answer() {
        let names = Terms::described().into_iter().map(|known| known.name);
        let mut terms: Vec<_> = names.filter(|name| *name != "answer").collect();
        let mut settled = SETTLED.to_vec();
        terms.sort();
        settled.sort();
        assert_eq!(terms, settled);
    }

    #[test]
    fn faults_name_both_options() {
        for (named, said) in [
            (&["listen", "relay"][..], "--listen and --relay exclude each other"),
            (&["clamp"], "--clamp requires --epsilon"),
            (&["join"], "--join requires --receive"),
        ] {
            assert_eq!(check(named).unwrap_err().to_string(), said);
        }
        assert_eq!(check(&["agreement", "join", "answer"]), Ok(()));
        let settled = check_settled(&["agreement", "scale", "answer", "learns"]).unwrap_err();
        let said = "the agreement settles --scale and --learns: leave them out";
        assert_eq!(settled.to_string(), said);
        assert_eq!(check_settled(&["scale", "learns"]), Ok(()));
    }
}
