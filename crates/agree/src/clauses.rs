//! The terms of a run in plain words, except its disclosure.

use vesica_core::{
    parties::{Role, Security},
    words::{counted, grouped},
};
use vesica_keyset::linked::AmbiguousKeys;
use vesica_normalize::{normalize::TravellingName, null_values::NullValues};
use vesica_select::{Keys, Side};
use vesica_table::sent_columns::SentColumns;
use vesica_task::{disclosure::words::Names, select::Selection};

use super::{rule_terms::RuleTerms, terms::Terms};

impl Terms {
    /// Returns everything that binds the sides or reveals something, one phrase each, with these names for the sides.
    pub fn clauses(&self, names: &Names) -> Vec<String> {
        let mut said = match self.rules() {
            None => vec![self.key_clause(names)],
            Some(rules) => self.rule_clauses(rules, names),
        };
        let rows_of = self.rules().map(|_| self.receiver());
        said.extend(
            self.selection().iter().flat_map(|selection| query_clauses(selection, rows_of, names)),
        );
        let mut say = |clause: Option<String>| said.extend(clause);
        say(self.unusual_null_values());
        for role in [Role::A, Role::B] {
            let sent = self.sent_columns().filter(|_| self.sends(role));
            say(sent.map(|sent| sent_clause(names.of(role), sent)));
            say(self.brings_values(role).then(|| self.values_clause(names.of(role))));
        }
        say((self.minimum() > 0).then(|| {
            let minimum = self.minimum();
            let few = match self.rules().is_some() && self.query().kind.hides_rules() {
                true => format!("{} match", counted(minimum, "row")),
                false => format!("{} are shared", counted(minimum, "key")),
            };
            format!("if fewer than {few}, only that is shown")
        }));
        say(self.noise().map(|noise| {
            format!("noise that hides any single key is added to the number: {}", noise.describe())
        }));
        say(self
            .aligns()
            .then(|| "both sides write their matched rows in the same order, numbered".to_owned()));
        say(self.diagnoses().then(|| {
            "in each run the sides also compare what their keys look like (--diagnose)".to_owned()
        }));
        say(Some(self.protocol_clause()));
        let most = |role| grouped(self.max_keys(role));
        say(Some(match self.max_keys(Role::A) == self.max_keys(Role::B) {
            true => format!("each side may have at most {} keys", most(Role::A)),
            false => format!(
                "{} may have at most {} keys, and {} at most {}",
                names.of(Role::A),
                most(Role::A),
                names.of(Role::B),
                most(Role::B)
            ),
        }));
        said
    }

    /// Describes the columns of a key by the profiles that make them comparable.
    fn key_clause(&self, names: &Names) -> String {
        let [a, b] = [Role::A, Role::B].map(|role| self.key(role));
        if a == b {
            return format!("keys are compared {a}");
        }
        format!("keys are compared: {}'s {a}, {}'s {b}", names.of(Role::A), names.of(Role::B))
    }

    /// Describes the rules, their fields, and the keys that take no part.
    fn rule_clauses(&self, rules: &RuleTerms, names: &Names) -> Vec<String> {
        let fields = |role| {
            let profiles = self.keys_of(role).iter().map(TravellingName::unversioned);
            let fields = rules.fields().iter().zip(profiles);
            let fields = fields.map(|(name, profile)| format!("{name} as {profile}"));
            fields.collect::<Vec<_>>().join(", ")
        };
        let [a, b] = [Role::A, Role::B].map(fields);
        let fields = match a == b {
            true => a,
            false => format!("{}'s {a}; {}'s {b}", names.of(Role::A), names.of(Role::B)),
        };
        let kind = self.query().kind;
        let counted = match (kind.is_told, kind.keeps_rows) {
            (true, false) => "numbers, and a minimum, are of rows in place of keys".to_owned(),
            (true, true) => "a row is shown without the rules by which it matches; limits on results are of rows in place of keys"
                    .to_owned(),
            (false, _) => {
                let owner = names.of(self.receiver());
                format!("shares are of rows of {owner} in place of keys")
            }
        };
        let repeats = self.selection().is_some_and(|selection| {
            let declared = selection.declared(selection.side(self.receiver()));
            declared.is_some_and(|declared| declared.keys() == Keys::Repeats)
        });
        let equal = if repeats { "" } else { "; rows with equal fields count as one" };
        let mut clauses = vec![
            format!("rows match by any of these rules: {}", rules.numbered()),
            format!("the rules compare these fields: {fields}"),
            match rules.ambiguous() {
                AmbiguousKeys::ByFirstRule => {
                    "a key that rows with different fields have in one table takes part by the first rule only"
                }
                AmbiguousKeys::ByNoRule => {
                    "a key that rows with different fields have in one table takes no part"
                }
            }
            .to_owned(),
        ];
        clauses.extend(kind.hides_rules().then(|| format!("{counted}{equal}")));
        clauses
    }

    fn key(&self, role: Role) -> String {
        let profiles: Vec<_> = self.keys_of(role).iter().map(TravellingName::unversioned).collect();
        let one = [profiles.len() as u8];
        let several = self.columns_of_identifiers();
        let columns = if several.is_empty() { &one[..] } else { several };
        let mut rest = profiles.iter();
        let mut key = |columns: &u8| {
            let profiles: Vec<_> = rest.by_ref().take(usize::from(*columns)).copied().collect();
            match &profiles[..] {
                ["none"] => "byte by byte".to_owned(),
                [one] => format!("as {one}"),
                several if several.iter().all(|profile| *profile == "none") => {
                    format!("byte by byte, {} columns together", several.len())
                }
                several => format!("as {} together", several.join(" + ")),
            }
        };
        columns.iter().map(&mut key).collect::<Vec<_>>().join(", or ")
    }

    /// Describes the values that count as empty, if they are not the default ones.
    fn unusual_null_values(&self) -> Option<String> {
        let known: Vec<_> =
            self.keys_of(Role::A).iter().filter_map(TravellingName::known).collect();
        let default = NullValues::default().applied_to(&known);
        if default.values() == self.null_values() {
            return None;
        }
        let values = NullValues::new(self.null_values()).ok()?;
        Some(format!("values that count as empty and not as keys: {}", values.describe()))
    }

    fn values_clause(&self, side: &str) -> String {
        let places = match self.scale() {
            0 => "whole numbers".to_owned(),
            places => format!("numbers with up to {}", counted(places.into(), "decimal place")),
        };
        format!("{side} provides a column of values, {places}")
    }

    fn protocol_clause(&self) -> String {
        let security = match self.security() {
            Security::SemiHonest => "if both sides follow it",
            Security::Malicious => "even if a side deviates from it",
        };
        match self.protocol() {
            Some(name) => format!("the protocol is `{name}`"),
            None => format!("the protocol is a recommended one that is secure {security}"),
        }
    }
}

/// Describes a query, the columns that each side declares for it, and the rows that count. By rules, `counted` is the
/// side whose rows are counted in place of keys.
fn query_clauses(selection: &Selection, counted: Option<Role>, names: &Names) -> Vec<String> {
    let select = selection.select();
    let mut clauses = vec![format!("the query is `{select}`")];
    for side in Side::BOTH {
        let name = names.of(selection.role(side));
        clauses.push(match selection.declared(side) {
            None => format!("{name} has table `{side}`, whose columns it declares when it accepts"),
            Some(declared) => {
                let columns = declared.columns().iter().map(|column| format!("`{column}`"));
                let columns: Vec<_> = columns.collect();
                let columns = match &columns[..] {
                    [] => String::new(),
                    _ => format!(", with {}", columns.join(", ")),
                };
                let takes = selection.takes_numbers_or_labels(side);
                let keys = match (declared.keys(), counted) {
                    (Keys::Unique, None) => ", each key in one row",
                    (Keys::Repeats, None) => ", several rows with one key",
                    (Keys::Unique, Some(_)) if takes => ", no two rows with equal fields",
                    (Keys::Repeats, Some(_)) if takes => ", several rows with equal fields",
                    (_, Some(_)) => "",
                };
                format!("{name} has table `{side}`{columns}{keys}")
            }
        });
    }
    let [a, b] = Side::BOTH.map(|side| names.of(selection.role(side)));
    clauses.extend(counted.map(|role| {
        let (owner, other) = (names.of(role), names.of(role.other()));
        format!("a row of {owner} counts once, however many rows of {other} it matches")
    }));
    clauses.extend(select.filters_in_words(a, b));
    clauses
}

fn sent_clause(side: &str, sent: &SentColumns) -> String {
    match &sent.columns[..] {
        [] => format!("{side} sends columns of its matching rows, which it names when it accepts"),
        _ => format!("{side} sends columns of its matching rows: {}", sent.describe()),
    }
}

#[cfg(test)]
mod tests {
    use vesica_core::parties::{Learns, Parties, Security};
    use vesica_task::query::Query;

    use super::*;
    use crate::offer::{Offer, WireOffer};

    fn offer(learns: Learns) -> Offer {
        Offer::new(vec!["email".parse().unwrap()], learns)
    }

    /// Returns the clauses for a reader on the side of this offer, which the other side matches.
    fn said(offer: &Offer) -> Vec<String> {
        let [me, peer] = ["a", "b"].map(str::to_owned);
        let terms = Terms::expected(offer, &Parties { role: Role::A, me, peer }).unwrap();
        terms.clauses(&Names::of_reader(Role::A))
    }

    #[test]
    fn every_term_has_a_clause() {
        let plain = [
            "keys are compared as email",
            "the protocol is a recommended one that is secure if both sides follow it",
            "each side may have at most 100,000,000 keys",
        ];
        assert_eq!(said(&offer(Learns::Both)), plain);
        let with = |change: &dyn Fn(&mut Offer)| {
            let mut offer = offer(Learns::Both);
            change(&mut offer);
            said(&offer)
        };
        type Change = fn(&mut Offer);
        let changes: [(Change, &str); 13] = [
            (|o| o.keys = vec!["none".parse().unwrap()], "keys are compared byte by byte"),
            (
                |o| o.keys = ["none", "none"].map(|name| name.parse().unwrap()).into(),
                "keys are compared byte by byte, 2 columns together",
            ),
            (
                |o| o.keys = ["email", "phone:DE"].map(|name| name.parse().unwrap()).into(),
                "keys are compared as email + phone:DE together",
            ),
            (
                |o| {
                    o.keys =
                        ["email", "phone:DE", "lower"].map(|name| name.parse().unwrap()).into();
                    o.identifiers = vec![1, 2];
                },
                "keys are compared as email, or as phone:DE + lower together",
            ),
            (
                |o| o.keys = vec!["sha256:email".parse().unwrap()],
                "keys are compared: this side's as sha256:email, the other side's as hashed:email",
            ),
            (
                |o| o.null_values = NullValues::new(["x", "ann@example.org"]).unwrap(),
                "values that count as empty and not as keys: ann@example.org, x",
            ),
            (
                |o| o.null_values = NullValues::none(),
                "values that count as empty and not as keys: only empty ones",
            ),
            (
                |o| (o.query, o.brings_values, o.scale) = (Query::SUM, true, 2),
                "this side provides a column of values, numbers with up to 2 decimal places",
            ),
            (|o| o.align = true, "both sides write their matched rows in the same order, numbered"),
            (
                |o| o.diagnose = true,
                "in each run the sides also compare what their keys look like (--diagnose)",
            ),
            (
                |o| (o.query, o.minimum) = (Query::COUNT, 51),
                "if fewer than 51 keys are shared, only that is shown",
            ),
            (
                |o| o.security = Security::Malicious,
                "the protocol is a recommended one that is secure even if a side deviates from it",
            ),
            (|o| o.protocol = Some("dh".to_owned()), "the protocol is `dh`"),
        ];
        for (change, clause) in changes {
            let said = with(&change);
            assert!(said.contains(&clause.to_owned()), "{clause}: {said:?}");
        }
        let noise = with(&|o| {
            o.query = Query::COUNT;
            o.noise = serde_json::from_str("{\"epsilon\":\"0.5\",\"clamp\":null}").ok();
        });
        assert!(noise.contains(
            &"noise that hides any single key is added to the number: ε = 0.5".to_owned()
        ));
    }

    #[test]
    fn columns_are_named_as_soon_as_they_are_known() {
        let sent = SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 };
        let sends = Offer { query: Query::JOIN, sends: Some(sent), ..offer(Learns::Peer) };
        assert_eq!(
            said(&sends)[1],
            "this side sends columns of its matching rows: c in 8 bytes a row"
        );
        let receives = Offer { query: Query::JOIN, ..offer(Learns::Me) };
        let later =
            "the other side sends columns of its matching rows, which it names when it accepts";
        assert_eq!(said(&receives)[1], later);
        // The sending side's offer has the names.
        let parties = Parties { role: Role::A, me: "a".to_owned(), peer: "b".to_owned() };
        let [a, b] =
            [(receives, Role::A), (sends, Role::B)].map(|(o, role)| WireOffer::new(&o, role));
        let terms = Terms::merge(&a, &b, &parties).unwrap();
        assert!(
            terms.clauses(&Names::of_reader(Role::A))[1]
                .starts_with("the other side sends columns of its matching rows: ")
        );
    }

    #[test]
    fn bounds_may_be_asymmetric() {
        let (mine, theirs) =
            (offer(Learns::Both), Offer { max_peer_rows: 5, ..offer(Learns::Both) });
        let parties = Parties { role: Role::A, me: "a".to_owned(), peer: "b".to_owned() };
        let [a, b] = [(mine, Role::A), (theirs, Role::B)].map(|(o, role)| WireOffer::new(&o, role));
        let terms = Terms::merge(&a, &b, &parties).unwrap();
        let last = terms.clauses(&Names::of_reader(Role::B)).pop().unwrap();
        assert_eq!(
            last,
            "the other side may have at most 5 keys, and this side at most 100,000,000"
        );
    }
}
