//! The runs of the test of surfaces: every query with its options.

use vesica_agree::{
    disclosed::MatchRules,
    offer::{Offer, WireOffer},
    rule_terms::RuleTerms,
    terms::Terms,
};
use vesica_core::parties::{Learns, Parties, Role, Security};
use vesica_keyset::linked::AmbiguousKeys;
use vesica_linkage::{Rules, rules_of};
use vesica_partner::policy::Policy;
use vesica_select::{Declared, Keys, Side};
use vesica_table::sent_columns::SentColumns;
use vesica_task::{
    outcome::{CellCounts, Decimal, Outcome, QueryResult},
    query::Query,
    select::QueryTable,
};

use super::{MINIMUM, ROLES, SHARED};

/// Up to three rules about people.
fn rules(count: usize) -> Rules {
    let fields = ["first=a:name", "last=b:name", "dob=c:date"].map(|field| field.parse().unwrap());
    let rules = ["first, last, dob", "last, dob", "first, last"];
    Rules::new(rules_of(&rules[..count], &fields).unwrap(), fields.to_vec()).unwrap()
}

/// A query with its options. To try another one, add a line to [`cases`].
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) query: Query,
    pub(super) learns: Learns,
    /// Whether A and B provide values.
    pub(super) brings: [bool; 2],
    /// The maximum number of rows per key that B sends in a join.
    pub(super) rows: u32,
    pub(super) identifiers: usize,
    pub(super) minimum: u64,
    pub(super) noise: bool,
    pub(super) diagnose: bool,
    pub(super) digests: bool,
    /// The number of rules, if they make the keys.
    pub(super) by_rules: usize,
    pub(super) rules: MatchRules,
    pub(super) protocol: Option<&'static str>,
    pub(super) security: Security,
}

/// A query whose labels the second side has.
const QUERY: &str =
    "SELECT b.city, count(*), sum(a.spend) FROM a JOIN b USING (key) GROUP BY b.city";

/// Returns a side's table in that query.
fn table(role: Role) -> QueryTable {
    let (side, column) = match role {
        Role::A => (Side::A, "spend:decimal(2)"),
        Role::B => (Side::B, "city:{north,south}"),
    };
    QueryTable { side, declared: Some(Declared::parse(&[column], Keys::Unique).unwrap()) }
}

pub(super) fn case(query: Query, learns: Learns) -> Case {
    Case {
        query,
        learns,
        brings: [false; 2],
        rows: 1,
        identifiers: 1,
        minimum: 0,
        noise: false,
        diagnose: false,
        digests: false,
        by_rules: 0,
        rules: MatchRules::default(),
        protocol: None,
        security: Security::SemiHonest,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let learners = [Learns::Me, Learns::Peer, Learns::Both];
    for learns in learners {
        let rows = case(Query::ROWS, learns);
        let rule = |threshold_first| MatchRules { least: MINIMUM, threshold_first };
        all.extend([
            rows.clone(),
            Case { identifiers: 2, ..rows.clone() },
            Case { diagnose: true, ..rows.clone() },
            Case { digests: true, ..rows.clone() },
            Case { rules: rule(false), ..rows.clone() },
            Case { rules: rule(true), ..rows.clone() },
            Case { security: Security::Malicious, ..rows.clone() },
            Case { protocol: Some("naive"), ..rows.clone() },
            Case { protocol: Some("cm20-malicious-sender"), ..rows },
        ]);
        let numbers = [
            (Query::COUNT, [false; 2]),
            (Query::SUM, [true, false]),
            (Query::SUM, [false, true]),
            (Query::PRODUCTS, [true; 2]),
            (Query::at_least(MINIMUM), [false; 2]),
        ];
        for (query, brings) in numbers {
            let number = Case { brings, ..case(query.clone(), learns) };
            all.extend([
                number.clone(),
                Case { minimum: MINIMUM, ..number.clone() },
                Case { diagnose: true, ..number.clone() },
            ]);
            if query != Query::at_least(MINIMUM) {
                all.push(Case { noise: true, ..number.clone() });
            }
            if query == Query::SUM {
                all.push(Case { protocol: Some("dh-sum"), ..number });
            }
        }
    }
    for rows in [1, 3] {
        let join = Case { rows, ..case(Query::JOIN, Learns::Me) };
        let least = MatchRules { least: MINIMUM, threshold_first: false };
        all.extend([Case { rules: least, ..join.clone() }, join]);
    }
    for learns in learners {
        let having = format!("{QUERY} HAVING count(*) >= {MINIMUM}");
        for (text, minimum) in [(QUERY, 0), (&having, MINIMUM)] {
            let query = Query::select(text.parse().unwrap());
            all.push(Case { minimum, ..case(query, learns) });
        }
    }
    for brings in [[false; 2], [true, false], [true; 2]] {
        all.push(Case { brings, ..case(Query::SHARES, Learns::Nobody) });
    }
    let by_rules = |query, learns| Case { by_rules: 3, ..case(query, learns) };
    for learns in learners {
        let count = by_rules(Query::COUNT, learns);
        all.extend([
            Case { minimum: MINIMUM, ..count.clone() },
            count,
            by_rules(Query::ROWS, learns),
        ]);
    }
    for learns in [Learns::Me, Learns::Peer] {
        let linked = by_rules(Query::LINKED, learns);
        let least = MatchRules { least: MINIMUM, threshold_first: false };
        let by_one = Case { by_rules: 1, ..linked.clone() };
        all.extend([Case { rules: least, ..linked.clone() }, linked, by_one]);
    }
    for brings in [[false; 2], [true, false], [false, true]] {
        all.push(Case { brings, ..by_rules(Query::SHARES, Learns::Nobody) });
    }
    all
}

impl Case {
    pub(super) fn offer(&self, role: Role) -> Offer {
        let learns = match (self.learns, role) {
            (Learns::Me, Role::B) => Learns::Peer,
            (Learns::Peer, Role::B) => Learns::Me,
            (learns, _) => learns,
        };
        let profile = match (self.digests, role) {
            (false, _) => "email",
            (true, Role::A) => "sha256:email",
            (true, Role::B) => "hashed:email",
        };
        let clamp = if self.query == Query::COUNT { "null" } else { "10" };
        let noise = format!("{{\"epsilon\":\"0.5\",\"clamp\":{clamp}}}");
        let columns = || SentColumns {
            columns: ["tier", "city"].map(str::to_owned).into(),
            bytes: 64,
            rows: self.rows,
        };
        let sends = (self.query == Query::JOIN && role == Role::B).then(columns);
        let rules = (self.by_rules > 0).then(|| rules(self.by_rules));
        let keys = match &rules {
            None => vec![profile.parse().unwrap(); self.identifiers],
            Some(rules) => rules.fields().iter().map(|field| field.normalize().clone()).collect(),
        };
        let rules = rules.map(|rules| RuleTerms::of(&rules, AmbiguousKeys::default()));
        Offer {
            query: self.query.clone(),
            brings_values: self.brings[role as usize],
            minimum: if self.query.selected().is_some() { 0 } else { self.minimum },
            table: self.query.selected().map(|_| table(role)),
            noise: self.noise.then(|| serde_json::from_str(&noise).unwrap()),
            diagnose: self.diagnose,
            protocol: self.protocol.map(str::to_owned),
            allow_research: true,
            security: self.security,
            identifiers: if self.identifiers > 1 { vec![1; self.identifiers] } else { vec![] },
            sends,
            rules: rules.map(|rules| rules.in_query(self.query.kind)),
            ..Offer::new(keys, learns)
        }
    }

    /// Whether rows are counted or shown in place of keys.
    pub(super) fn is_of_rows(&self) -> bool {
        self.by_rules > 0 && self.query != Query::ROWS
    }

    pub(super) fn terms(&self) -> Terms {
        let offers = ROLES.map(|role| {
            let offer = self.offer(role);
            offer.check().unwrap_or_else(|error| panic!("{self:?}: {error}"));
            WireOffer::new(&offer, role)
        });
        let parties = Parties { role: Role::A, me: "a".into(), peer: "b".into() };
        Terms::merge(&offers[0], &offers[1], &parties).unwrap()
    }

    pub(super) fn policy(&self) -> Policy {
        let MatchRules { least, threshold_first } = self.rules;
        let min_result = (least > 0).then_some(least);
        Policy { min_result, threshold_first, ..Policy::default() }
    }

    pub(super) fn learns(&self, role: Role) -> bool {
        match self.learns {
            Learns::Both => true,
            Learns::Nobody => false,
            Learns::Me => role == Role::A,
            Learns::Peer => role == Role::B,
        }
    }

    /// Whether a side learns sums of its own numbers.
    pub(super) fn chooses(&self, role: Role) -> bool {
        let adds_up = match self.query.name() {
            "query" => role == Role::A,
            "shares" => false,
            _ => self.brings[role as usize],
        };
        adds_up && self.learns(role) && !self.noise
    }

    /// The protocol that runs.
    pub(super) fn method(&self) -> (&'static str, vesica_psi::Adversary) {
        let request = self.terms().request(vesica_psi::Sizes { sender: 1000, receiver: 300 });
        let all = self.query.kind.task.methods();
        let method = all.iter().find(|method| {
            let is_named = match self.protocol {
                Some(name) => method.key() == name,
                None => method.is_recommended() && method.meets(self.security),
            };
            is_named && method.candidate(&request).is_ok()
        });
        let method = method.unwrap_or_else(|| panic!("{self:?}"));
        (method.key(), method.adversary())
    }

    /// Returns the possible outcomes of a run, as a side that learns it knows them; an unknown number is `None`.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let number = |answer| Outcome { answer: Some(answer), ..Outcome::default() };
        let sum = Decimal { number: 7, scale: 0 };
        let mut all = match self.query.name() {
            "rows" | "join" => {
                return vec![Outcome { matches: Some(SHARED), ..Outcome::default() }];
            }
            "query" => {
                let cells = Some(CellCounts { shown: 5, suppressed: 2 });
                return vec![Outcome { cells, ..Outcome::default() }];
            }
            "shares" => return vec![Outcome { bins_written: Some(9), ..Outcome::default() }],
            "linked" => return vec![number(QueryResult::Count(SHARED))],
            _ if self.noise => return vec![number(QueryResult::Noisy(sum))],
            "count" => vec![number(QueryResult::Count(SHARED))],
            "sum" => vec![number(QueryResult::Sum(sum))],
            "products" => vec![number(QueryResult::SumOfProducts(sum))],
            _ => [true, false].map(QueryResult::AtLeast).map(number).into(),
        };
        if self.minimum > 0 {
            all.push(number(QueryResult::TooFew));
        }
        all
    }

    /// Returns the facts that a side learns, in the words of this table.
    pub(super) fn expected(&self, role: Role) -> Vec<String> {
        let mut all = Vec::new();
        let learns = self.learns(role);
        let minimum = if self.minimum > 0 { " unless too few" } else { "" };
        let noise = if self.noise { " with noise" } else { "" };
        let of = |owner: usize| if owner == role as usize { "own" } else { "other's" };
        all.extend(self.rules.threshold_first.then(|| "threshold first".to_owned()));
        match self.query.name() {
            "shares" => all.push("share".to_owned()),
            _ if !learns => {}
            "rows" if self.identifiers > 1 => {
                all.extend(["matches", "identifiers"].map(str::to_owned));
            }
            "rows" if self.by_rules > 1 => all.extend(["matches", "3 rules"].map(str::to_owned)),
            "rows" => all.push("matches".to_owned()),
            "linked" => all.push("matching rows".to_owned()),
            "join" => {
                all.push("matches".to_owned());
                all.push(format!("tier+city, {} rows", self.rows));
            }
            "query" => all.push(format!("query{minimum}")),
            "count" => all.push(format!("count{noise}{minimum}")),
            "sum" if self.brings[0] => all.push(format!("sum of {}{noise}{minimum}", of(0))),
            "sum" => all.push(format!("sum of {}{noise}{minimum}", of(1))),
            "products" => all.push(format!("products{noise}{minimum}")),
            _ => all.push(format!("at least {MINIMUM}{minimum}")),
        }
        // The paper's matcher is the side without values.
        if self.protocol == Some("dh-sum") && !self.brings[role as usize] {
            all.push("shared".to_owned());
        }
        all.push("size".to_owned());
        all.extend(self.diagnose.then(|| "profile".to_owned()));
        all
    }
}
