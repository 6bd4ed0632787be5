//! Ordered rules over declared fields, and the keys that they make.

use std::{borrow::Cow, collections::BTreeSet};

use vesica_normalize::{encoding::Encoding, normalize::Normalize, null_values::NullValues};

use crate::{
    error::RuleError,
    field::{FieldKind, MAX_FIELDS, MatchField},
    function::KeyFunction,
    near::nearest,
    rule::{MatchRule, Operand},
};

/// The maximum number of rules.
pub const MAX_RULES: usize = 32;

/// Rules in their order, checked against the fields that they name.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<MatchRule>,
    fields: Vec<MatchField>,
    /// Every distinct value to derive, after the values that it is derived from.
    steps: Vec<KeyStep>,
    /// For each rule, the steps of its parts.
    parts: Vec<Vec<usize>>,
}

/// The keys of a row, and the values from which they are derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedKeys {
    /// The key by each rule, if the row has one.
    pub keys: Vec<Option<Vec<u8>>>,
    /// The normalised value of each of the fields, unless it is missing.
    pub fields: Vec<Option<String>>,
}

/// A value of a row that is computed once for all rules.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyStep {
    /// The normalised value of a field, by its number.
    MatchField(usize),
    /// A function of earlier steps.
    Derived { function: &'static KeyFunction, of: Vec<usize>, count: usize },
}

impl Rules {
    /// Checks rules against fields. Fields that no rule names are dropped.
    ///
    /// # Errors
    /// [`RuleError::List`] for no or equal rules, more than [`MAX_RULES`], or more than [`MAX_FIELDS`]
    /// fields or several of one name; [`RuleError::Unfit`] if a rule names another field, or a function does not take
    /// its values.
    pub fn new(rules: Vec<MatchRule>, fields: Vec<MatchField>) -> Result<Self, RuleError> {
        if rules.is_empty() {
            return Err(RuleError::list("there is no rule"));
        }
        if rules.len() > MAX_RULES || fields.len() > MAX_FIELDS {
            let what = format!("at most {MAX_RULES} rules and {MAX_FIELDS} fields are supported");
            return Err(RuleError::list(what));
        }
        for (at, field) in fields.iter().enumerate() {
            if fields[..at].iter().any(|earlier| earlier.name() == field.name()) {
                let what = format!("field `{}` is declared twice", field.name());
                return Err(RuleError::list(what));
            }
        }
        let is_used =
            |field: &MatchField| rules.iter().any(|rule| rule.fields().contains(&field.name()));
        let mut checked = Self { fields, rules: Vec::new(), steps: Vec::new(), parts: Vec::new() };
        let all = checked.fields.iter().map(|field| field.name().to_owned()).collect::<Vec<_>>();
        checked.fields.retain(is_used);
        // Both sides have the same order, however they declare the fields.
        let first_use: Vec<_> = rules.iter().flat_map(MatchRule::fields).collect();
        let place = |field: &MatchField| first_use.iter().position(|name| *name == field.name());
        checked.fields.sort_by_key(place);
        for (at, rule) in rules.iter().enumerate() {
            if let Some(earlier) = rules[..at].iter().position(|earlier| earlier == rule) {
                let what = format!("rules {} and {} are equal", earlier + 1, at + 1);
                return Err(RuleError::list(what));
            }
            let unfit = |fault: Unfit| RuleError::Unfit {
                rule: at + 1,
                part: fault.part,
                what: fault.what,
            };
            let steps =
                rule.parts.iter().map(|part| checked.add(part, &all).map(|added| added.step));
            let steps = steps.collect::<Result<_, _>>().map_err(unfit)?;
            checked.parts.push(steps);
        }
        checked.rules = rules;
        Ok(checked)
    }

    /// Adds the steps of a part.
    fn add(&mut self, part: &Operand, declared: &[String]) -> Result<Added, Unfit> {
        match part {
            Operand::Field(name) => {
                let Some(at) = self.fields.iter().position(|field| field.name() == name) else {
                    return Err(Unfit { part: part.to_string(), what: undeclared(name, declared) });
                };
                Ok(self.step(KeyStep::MatchField(at), self.fields[at].kind()))
            }
            Operand::Derived { function, of, count } => {
                let mut steps = Vec::new();
                for argument in of {
                    let Added { mut step, kind } = self.add(argument, declared)?;
                    if !function.takes(kind) {
                        let what = does_not_take(function, argument, kind);
                        return Err(Unfit { part: part.to_string(), what });
                    }
                    // The first letters of `j oel` and `joel` are the same.
                    if let (true, FieldKind::Name, Some(letters)) =
                        (function.counts(), kind, KeyFunction::of_name("letters"))
                    {
                        let letters =
                            KeyStep::Derived { function: letters, of: vec![step], count: 0 };
                        step = self.step(letters, FieldKind::Text).step;
                    }
                    steps.push(step);
                }
                let count = count.map_or(0, usize::from);
                Ok(self.step(KeyStep::Derived { function, of: steps, count }, function.gives))
            }
        }
    }

    /// Returns the number of a step, which is added if it is new.
    fn step(&mut self, step: KeyStep, kind: FieldKind) -> Added {
        let found = self.steps.iter().position(|other| *other == step);
        let number = found.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        });
        Added { step: number, kind }
    }

    /// Returns the rules, in order.
    pub fn rules(&self) -> &[MatchRule] {
        &self.rules
    }

    /// Returns the fields that the rules name, in the order of their first use. A row has a value for each.
    pub fn fields(&self) -> &[MatchField] {
        &self.fields
    }

    /// Returns the texts that the terms of both sides must have in common, one for each rule: its parts with the
    /// versions of functions, profiles and tables, without the parameters that describe this side's columns.
    pub fn agreed(&self) -> Vec<String> {
        let text = |parts: &Vec<usize>| {
            let parts: Vec<_> = parts.iter().map(|part| self.agreed_step(*part)).collect();
            parts.join(", ")
        };
        self.parts.iter().map(text).collect()
    }

    fn agreed_step(&self, step: usize) -> String {
        match &self.steps[step] {
            KeyStep::MatchField(at) => {
                let field = &self.fields[*at];
                format!("{}:{}", field.name(), field.normalize().agreed())
            }
            KeyStep::Derived { function, of, count } => {
                let of = of.iter().map(|step| self.agreed_step(*step));
                let count = function.counts().then(|| count.to_string());
                let all: Vec<_> = of.chain(count).collect();
                format!("{}({})", function.versioned(), all.join(", "))
            }
        }
    }

    /// Returns the functions that the rules use, with the versions of their rules and tables, sorted.
    pub fn functions(&self) -> Vec<String> {
        let used = self.steps.iter().filter_map(|step| match step {
            KeyStep::MatchField(_) => None,
            KeyStep::Derived { function, .. } => Some(function.versioned()),
        });
        used.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Derives a row's keys from a raw value for each of the [`fields`](Self::fields), as [`Rules::derive`] does.
    ///
    /// # Panics
    /// If the row does not have a value for each field.
    pub fn keys(&self, row: &[&str], null_values: &NullValues) -> Vec<Option<Vec<u8>>> {
        self.derive(row, null_values).keys
    }

    /// Derives a row's keys, one for each rule, from a raw value for each of the [`fields`](Self::fields). The keys are
    /// those that [`Rules::show_keys`] shows.
    ///
    /// # Panics
    /// If the row does not have a value for each field.
    pub fn derive(&self, row: &[&str], null_values: &NullValues) -> DerivedKeys {
        let mut keys = Vec::with_capacity(self.parts.len());
        let fields = self.show_keys(row, null_values, |key| keys.push(key.map(<[u8]>::to_vec)));
        DerivedKeys {
            keys,
            fields: fields.into_iter().map(|field| field.map(Cow::into_owned)).collect(),
        }
    }

    /// Shows a row's key by each rule, in their order, and returns the normalised value of each field, unless it is
    /// missing. The row has a raw value for each of the [`fields`](Self::fields). A rule makes no key if a part is
    /// missing: the value is empty, one of `null_values`, or not of its profile's kind, or a function derives nothing
    /// from it.
    ///
    /// The bytes are encoded as identifiers are: rule `i` makes keys of identifier `i`, and a single rule makes keys of
    /// rows with one identifier.
    ///
    /// # Panics
    /// If the row does not have a value for each field.
    pub fn show_keys<'r>(
        &self,
        row: &[&'r str],
        null_values: &NullValues,
        mut show: impl FnMut(Option<&[u8]>),
    ) -> Vec<Option<Cow<'r, str>>> {
        assert_eq!(row.len(), self.fields.len(), "a row has a value for each field");
        let mut values = self.values(row, null_values);
        let mut encoding = match self.parts.len() {
            1 => Encoding::default(),
            _ => Encoding::of_identifier(0),
        };
        for (number, parts) in self.parts.iter().enumerate() {
            if number > 0 {
                encoding.turn_to_identifier(number as u32);
            }
            encoding.begin(parts.len());
            let is_whole = parts.iter().all(|part| {
                let profile = match &self.steps[*part] {
                    KeyStep::MatchField(at) => self.fields[*at].normalize(),
                    KeyStep::Derived { .. } => &Normalize::NONE,
                };
                let value = values[*part].as_deref();
                value.map(|value| encoding.add(value, profile)).is_some()
            });
            show(is_whole.then(|| encoding.bytes()));
        }
        let mut fields = vec![None; self.fields.len()];
        for (step, value) in self.steps.iter().zip(&mut values) {
            if let KeyStep::MatchField(at) = step {
                fields[*at] = value.take();
            }
        }
        fields
    }

    /// Computes each step.
    fn values<'r>(&self, row: &[&'r str], null_values: &NullValues) -> Vec<Option<Cow<'r, str>>> {
        let mut values: Vec<Option<Cow<'r, str>>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            values.push(match step {
                KeyStep::MatchField(at) => {
                    let (raw, profile) = (row[*at], self.fields[*at].normalize());
                    let value = profile.apply(raw);
                    let is_missing = value.is_empty() || null_values.hold(raw, &value, profile);
                    (!is_missing).then_some(value)
                }
                KeyStep::Derived { function, of, count } => match &of[..] {
                    [one] => {
                        let value = values[*one].as_deref();
                        value.and_then(|value| function.apply(&[value], *count)).map(Cow::Owned)
                    }
                    several => {
                        let of: Option<Vec<_>> =
                            several.iter().map(|step| values[*step].as_deref()).collect();
                        of.and_then(|of| function.apply(&of, *count)).map(Cow::Owned)
                    }
                },
            });
        }
        values
    }
}

/// The number of a step, and the kind of its values.
struct Added {
    step: usize,
    kind: FieldKind,
}

/// A part that does not fit the fields, and the fault.
struct Unfit {
    part: String,
    what: String,
}

fn undeclared(name: &str, declared: &[String]) -> String {
    if let Some(function) = KeyFunction::of_name(name) {
        return format!("no field has this name; the function is {name}({})", function.arguments);
    }
    match nearest(name, declared.iter().map(String::as_str)) {
        Some(near) => format!("no field has this name: did you mean `{near}`?"),
        None if declared.is_empty() => {
            "no field is declared: declare it, as in first=Vorname:name".to_owned()
        }
        None => {
            format!("no field has this name: declare it, or use one of {}", declared.join(", "))
        }
    }
}

fn does_not_take(function: &KeyFunction, argument: &Operand, kind: FieldKind) -> String {
    let KeyFunction { name, .. } = function;
    let is_date = kind == FieldKind::Date;
    let advice = match *name {
        "left" if is_date => ": write year(x) or year_month(x)",
        "right" if is_date => ": write month_day(x) or year_day(x)",
        _ if function.takes(FieldKind::Date) => ": declare it with the profile `date`",
        _ => "",
    };
    format!("{name} does not take `{argument}`, which is {}{advice}", kind.in_words())
}
