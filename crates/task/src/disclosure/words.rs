//! The disclosure of a run in words.

use serde::Serialize;
use vesica_core::{
    parties::Role,
    words::{counted, grouped},
};

use super::{Answer, Assumption, Disclosure, Fact, Measure, Secret};
use crate::noise::Noise;

/// The point in time from which a disclosure is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    /// Before a run: "will learn".
    Future,
    /// After a run: "learned".
    Past,
}

impl Tense {
    /// Returns the verb "learn" in this tense.
    fn learned(self) -> &'static str {
        match self {
            Self::Future => "will learn",
            Self::Past => "learned",
        }
    }
}

/// A disclosure in sentences, from the point of view of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// The sentence on this side.
    pub me: String,
    /// The sentence on the other side.
    pub peer: String,
    /// The assumptions under which both are true.
    pub assuming: String,
}

/// The names of the two sides in a disclosure.
#[derive(Debug, Clone)]
pub struct Names {
    sides: [String; 2],
    /// The words for all parties together.
    all: &'static str,
}

impl Names {
    /// Returns the names for a reader on the side with this role: "this side" and "the other side".
    pub fn of_reader(role: Role) -> Self {
        let [this, other] = ["this side", "the other side"].map(str::to_owned);
        match role {
            Role::A => Self::new(this, other),
            Role::B => Self::new(other, this),
        }
    }

    /// Creates names of the connecting side and of the listening side, for a reader on neither.
    pub fn new(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { sides: [a.into(), b.into()], all: "the two sides" }
    }

    /// Creates the names of two of several parties.
    pub fn among(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { all: "all parties", ..Self::new(a, b) }
    }

    /// Returns the name of a side within a sentence.
    pub fn of(&self, role: Role) -> &str {
        &self.sides[role as usize]
    }

    /// Returns the name of a side at the beginning of a sentence.
    pub fn capital(&self, role: Role) -> String {
        let mut rest = self.of(role).chars();
        rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
    }
}

impl Disclosure {
    /// Describes in one sentence what a side learns.
    pub fn sentence(&self, learner: Role, names: &Names, tense: Tense) -> String {
        sentence(&names.capital(learner), tense, self.learned(learner, names))
    }

    /// Returns the facts that a side learns, as phrases that continue "learned …".
    pub fn learned(&self, learner: Role, names: &Names) -> Vec<String> {
        self.facts(learner).iter().map(|fact| fact.phrase(learner, names)).collect()
    }

    /// Returns the facts that neither side learns, as phrases that continue "neither side learned …".
    pub fn secrets(&self) -> Vec<&'static str> {
        self.neither.iter().map(|secret| secret.phrase()).collect()
    }

    /// Returns the assumptions, one or two sentences each.
    pub fn assumptions(&self, names: &Names, tense: Tense) -> Vec<String> {
        self.assuming.iter().map(|assumption| assumption.sentence(names, tense)).collect()
    }

    /// Describes in one line what the sides learned besides sizes, the reader's side first; in common if both learned
    /// the same.
    pub fn brief(&self, reader: Role, names: &Names) -> String {
        let learned = |role| {
            let facts = self.facts(role).iter();
            let facts = facts.filter(|fact| !matches!(fact, Fact::SetSize { .. }));
            facts.map(|fact| fact.phrase(role, names)).collect::<Vec<_>>()
        };
        let sides = [reader, reader.other()].map(|role| (role, learned(role)));
        let [(_, mine), (_, theirs)] = &sides;
        if mine == theirs && !mine.is_empty() {
            return format!("both sides learned {}", listed(mine));
        }
        let learners = sides.iter().filter(|(_, facts)| !facts.is_empty());
        let said: Vec<_> = learners
            .map(|(role, facts)| format!("{} learned {}", names.of(*role), listed(facts)))
            .collect();
        said.join("; ")
    }

    /// Describes a past run in sentences for a side, without the sentences that are true of every run.
    pub fn said(&self, reader: Role) -> Learned {
        let names = Names::of_reader(reader);
        let sentence = |side| self.sentence(side, &names, Tense::Past);
        let special = self.assuming.iter().filter(|assumption| !assumption.is_general());
        let assuming: Vec<_> =
            special.map(|assumption| assumption.sentence(&names, Tense::Past)).collect();
        Learned {
            me: sentence(reader),
            peer: sentence(reader.other()),
            assuming: assuming.join(" "),
        }
    }

    /// Returns the whole disclosure in lines: what each side learns, beginning with `first`, what neither does, and the
    /// assumptions.
    pub fn lines(&self, first: Role, names: &Names, tense: Tense) -> Vec<String> {
        let mut lines: Vec<_> =
            [first, first.other()].map(|side| self.sentence(side, names, tense)).into();
        if !self.neither.is_empty() {
            let secrets: Vec<_> = self.secrets().into_iter().map(str::to_owned).collect();
            lines.push(format!("Neither side {} {}.", tense.learned(), alternatives(&secrets)));
        }
        lines.extend(self.assumptions(names, tense));
        lines
    }
}

/// Says that somebody learns these phrases, and nothing else.
pub fn sentence(learner: &str, tense: Tense, mut learned: Vec<String>) -> String {
    learned.push("nothing else".to_owned());
    format!("{learner} {} {}.", tense.learned(), listed(&learned))
}

impl Fact {
    /// Returns the fact as a phrase that continues "learned …".
    pub fn phrase(&self, learner: Role, names: &Names) -> String {
        let other = names.of(learner.other());
        match self {
            Self::Matches { matches, keys, least } => {
                let found = matches.map(|matches| match keys {
                    Some(keys) => format!(" ({} of {})", grouped(matches), grouped(*keys)),
                    None => format!(" ({})", grouped(matches)),
                });
                let least = (*least > 0 && matches.is_none())
                    .then(|| format!(", if at least {} match", grouped(*least)));
                format!(
                    "which of its keys {other} has too{}{}",
                    found.unwrap_or_default(),
                    least.unwrap_or_default()
                )
            }
            Self::Identifiers => "by which of its identifiers each row matches".to_owned(),
            Self::Rules { rules } => {
                let rules = rules.iter().zip(1..).map(|(rule, at)| format!("{at}. {rule}"));
                format!(
                    "by which of the rules each row matches ({}), and so the parts in which {other} writes such a row in \
                     another way",
                    rules.collect::<Vec<_>>().join("; ")
                )
            }
            Self::MatchingRows { rows, least } => {
                let found = rows.map(|rows| format!(" ({} different ones)", grouped(rows)));
                let least = (*least > 0 && rows.is_none())
                    .then(|| format!(", if at least {} do", grouped(*least)));
                format!(
                    "which of its rows match a row of {other} by one of the rules{}{}",
                    found.unwrap_or_default(),
                    least.unwrap_or_default()
                )
            }
            Self::SameRow => format!("which of these keys are of one row of {other}"),
            Self::Columns { columns, rows } => {
                let names = match &columns[..] {
                    [] => format!("the values of columns that {other} names"),
                    [one] => format!("the values of the column {one} of {other}"),
                    several => format!("the values of the columns {} of {other}", all(several)),
                };
                match rows {
                    1 => format!("{names} for these keys"),
                    rows => {
                        format!("{names} in all its rows with these keys (up to {rows} a key)")
                    }
                }
            }
            Self::Number { of, rows_of: None, minimum, noise, answer } => {
                number(*of, *minimum, *noise, *answer, learner, names)
            }
            Self::Number { of, rows_of: Some(side), minimum, answer, .. } => {
                number_of_rows(*of, *side, *minimum, *answer, learner, names)
            }
            Self::Query { selection, rows_of, noise, cells } => {
                let [a, b] = selection.names(|role| names.of(role));
                let (select, shape) = (selection.select(), selection.shape());
                let said = match rows_of.map(|role| selection.side(role)) {
                    None => select.phrases(a, b, shape),
                    Some(side) => select.phrases_of_rows(a, b, shape, side),
                };
                let rows = cells.map(|cells| format!(" ({} shown)", counted(cells.shown, "row")));
                let noise = noise.map(|noise| {
                    format!(", with noise that hides any single key ({} in all)", noise.describe())
                });
                said.join("; ") + &noise.unwrap_or_default() + &rows.unwrap_or_default()
            }
            Self::ThresholdFirst { keys } => {
                format!(
                    "before anything else, whether {} share at least {}",
                    names.all,
                    of_keys(*keys)
                )
            }
            Self::SharedKeys => format!("how many keys {} share", names.all),
            Self::Share => "its secret share of the result".to_owned(),
            Self::SetSize { keys, together } => {
                let keys = keys.map(grouped);
                let together = together.then_some("of every kind together");
                let notes: Vec<_> = keys.iter().map(String::as_str).chain(together).collect();
                match &notes[..] {
                    [] => format!("how many keys {other} has"),
                    notes => format!("how many keys {other} has ({})", notes.join(", ")),
                }
            }
            Self::KeyProfile => format!(
                "by --diagnose, for each key column and to the nearest 10 %, what share of {other}'s keys have white space, \
                 capital letters, digits only, and so on (docs/guides/diagnose.md has the list)"
            ),
        }
    }
}

/// Describes a number about the shared keys, as far as the learner learns it.
fn number(
    of: Measure,
    minimum: u64,
    noise: Option<Noise>,
    answer: Answer,
    learner: Role,
    names: &Names,
) -> String {
    let all = names.all;
    let share = |bound: &str, keys| format!("that {all} share {bound} {}", of_keys(keys));
    if answer == Answer::TooFew {
        return share("fewer than", minimum);
    }
    let sum = |values: &str| format!("the sum of {values} over the shared keys");
    let mut said = match of {
        Measure::Count => format!("how many keys {all} share"),
        Measure::Sum(owner) if owner == learner => sum("its own values"),
        Measure::Sum(owner) => sum(&format!("{}'s values", names.of(owner))),
        Measure::SumOfProducts => sum("the products of both sides' values"),
        Measure::AtLeast(keys) => match answer {
            // The number is then known to reach the minimum too.
            Answer::Reached(true) => return share("at least", keys.max(minimum)),
            Answer::Reached(false) => share("fewer than", keys),
            _ => format!("whether {all} share at least {}", of_keys(keys)),
        },
    };
    if let Some(noise) = noise {
        said += &format!(", with noise that hides any single key ({})", noise.describe());
    }
    match answer {
        Answer::Shown(Some(count)) => said + &format!(" ({})", grouped(count)),
        Answer::Unknown if minimum > 0 => {
            format!("{said} (or only {})", share("fewer than", minimum))
        }
        Answer::Unknown | Answer::TooFew => said,
        Answer::Shown(None) | Answer::Reached(_) if minimum > 0 => {
            format!("{said} and {}", share("at least", minimum))
        }
        Answer::Shown(None) | Answer::Reached(_) => said,
    }
}

/// Describes a number about the rows of a side that match by a rule, as far as the learner learns it.
fn number_of_rows(
    of: Measure,
    side: Role,
    minimum: u64,
    answer: Answer,
    learner: Role,
    names: &Names,
) -> String {
    let whose = match side == learner {
        true => "of its rows".to_owned(),
        false => format!("of {}'s rows", names.of(side)),
    };
    let matching = format!("match a row of {} by one of the rules", names.of(side.other()));
    let rows = format!("{whose} {matching}");
    let share = |bound: &str, number| format!("that {bound} {} {rows}", grouped(number));
    let said = match (of, answer) {
        (_, Answer::TooFew) => return share("fewer than", minimum),
        (Measure::AtLeast(least), Answer::Reached(true)) => {
            return share("at least", least.max(minimum));
        }
        (Measure::AtLeast(least), Answer::Reached(false)) => return share("fewer than", least),
        (Measure::AtLeast(least), _) => format!("whether at least {} {rows}", grouped(least)),
        (Measure::Count, _) => format!("how many {rows}"),
        (Measure::Sum(_) | Measure::SumOfProducts, _) => {
            let values = if side == learner { "its own values" } else { "the values" };
            format!("the sum of {values} over those {whose} that {matching}")
        }
    };
    match answer {
        Answer::Shown(Some(count)) => said + &format!(" ({})", grouped(count)),
        Answer::Unknown if minimum > 0 => {
            format!("{said} (or only that fewer than {} do)", grouped(minimum))
        }
        Answer::Shown(None) | Answer::Reached(_) if minimum > 0 => {
            format!("{said}, and that at least {} do", grouped(minimum))
        }
        _ => said,
    }
}

fn of_keys(number: u64) -> String {
    counted(number, "key")
}

impl Secret {
    fn phrase(self) -> &'static str {
        match self {
            Self::ForeignKeys => "any key of the other that it does not have itself",
            Self::Members => "which of its keys the other has",
            Self::KeysOfRules => "how many keys the other has by each rule, or left out",
            Self::ExactNumber => "the number without its noise",
            Self::RulesOfRows => "more about a row that matches than that one of its keys does",
            Self::Values => "any single value",
            Self::Result => "the result",
            Self::AllColumns => "any column of the other's table",
            Self::OtherColumns => "any column of the other's table but those named",
        }
    }
}

impl Assumption {
    /// Returns whether it is about the terms rather than the run, so that a summary need not repeat it.
    pub(crate) fn is_general(&self) -> bool {
        matches!(
            self,
            Self::FewKeys | Self::ChosenNumbers { .. } | Self::FalseMatches | Self::GuessedKeys
        )
    }

    /// Returns the assumption as one or two sentences.
    pub(crate) fn sentence(&self, names: &Names, tense: Tense) -> String {
        let past = tense == Tense::Past;
        match self {
            Self::Insecure { protocol, receiver } => format!(
                "Nothing enforces this: `{protocol}` is insecure and for measurements only. {} can find out each key of {} \
                 that it can guess.",
                names.capital(*receiver),
                names.of(receiver.other())
            ),
            Self::Research { protocol } => format!(
                "`{protocol}` is a research protocol: it reproduces its paper for comparison and is not for real data."
            ),
            Self::SemiHonest => {
                "This holds if both sides follow the protocol (semi-honest security).".to_owned()
            }
            Self::MaliciousSender { receiver } => format!(
                "This holds regardless of what {} does, if {} follows the protocol (security against a malicious sender).",
                names.of(receiver.other()),
                names.of(*receiver)
            ),
            Self::Malicious { receiver, tells } => malicious(names, *receiver, *tells, past),
            Self::OneToOne { receiver } => format!(
                "Columns reach the program of {} with each key that matches. It writes them only where one row of each side is \
                 linked, by the first rule that matches; the protocol does not enforce this.",
                names.of(*receiver)
            ),
            Self::SentValues { sender } => {
                let verb = if past { "sent" } else { "sends" };
                format!(
                    "The values are those that {} {verb}; nothing shows that they are in its table.",
                    names.of(*sender)
                )
            }
            Self::Digests { holder } => format!(
                "{} holds SHA-256 digests in place of identifiers: it can guess the identifiers behind them offline, with \
                 or without a run.",
                names.capital(*holder)
            ),
            Self::KeptBack { finder, least, of_rows } => format!(
                "If fewer than {} match, the program of {} withholds the result; the protocol does not enforce this.",
                counted(*least, if *of_rows { "row" } else { "key" }),
                names.of(*finder)
            ),
            Self::Shares => "A single side's share reveals nothing about the result.".to_owned(),
            Self::FewKeys => "If few keys are shared, the number reveals much about each of them; a minimum, or noise where \
                              it can be added, limits this."
                .to_owned(),
            Self::ChosenNumbers { learner } => format!(
                "{} learns sums of numbers of its own table: numbers that are 0 for all keys but some show whether these are \
                 shared. Noise limits this where it can be added; a minimum does not.",
                names.capital(*learner)
            ),
            Self::FalseMatches => {
                "By a rule, rows of different people may match, and the result is of these matches too: a row may stand for \
                 somebody else in the other table, with these parts. `vesica check` says how many to expect."
                    .to_owned()
            }
            Self::SingleRules { learner } => format!(
                "If a row has a key by only one rule, a match shows this rule. {} can write a person in several such \
                 rows.",
                names.capital(*learner)
            ),
            Self::GuessedKeys => {
                "A side may put guessed keys into its table, and learns the result for those too."
                    .to_owned()
            }
        }
    }
}

fn malicious(names: &Names, receiver: Role, tells: bool, past: bool) -> String {
    let (one, other, capital) =
        (names.of(receiver), names.of(receiver.other()), names.capital(receiver));
    let then = if past { "may then have used" } else { "may then use" };
    let mut text = format!(
        "This holds even if a side deviates from the protocol (malicious security), but {one} {then} somewhat more keys \
         than it {}.",
        if past { "announced" } else { "announces" }
    );
    if tells {
        text += &match past {
            true => format!(
                " {capital} learned first and then showed {other} the result: if it deviated, it may have left out \
                 matches, and learned whether {other} has all keys of a further list."
            ),
            false => format!(
                " {capital} learns first and then shows {other} the result: if it deviates, it may leave out matches, \
                 and learn whether {other} has all keys of a further list."
            ),
        };
    }
    text
}

/// Joins names with commas and "and".
fn all(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Joins several things in one sentence, with semicolons if one of them contains a comma.
fn listed(things: &[String]) -> String {
    joined(things, "and")
}

/// Joins several things that are all denied.
fn alternatives(things: &[String]) -> String {
    joined(things, "or")
}

fn joined(things: &[String], word: &str) -> String {
    let comma = if things.iter().any(|thing| thing.contains(", ")) { ";" } else { "," };
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] if comma == "," => format!("{one} {word} {other}"),
        [first @ .., last] => {
            format!("{}{comma} {word} {last}", first.join(&format!("{comma} ")))
        }
    }
}
