//! Flags of the options of a specification.

use std::{
    ffi::{OsStr, OsString},
    marker::PhantomData,
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, ValueHint,
    builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser},
    error::Error,
    parser::ValueSource,
};
use vesica::spec::{Described, Fault, Form, Given, Kind, Options, Word, Words};

use crate::exit::Failure;

/// The flags of a table of options that were given, with their texts.
#[derive(Debug, Clone)]
pub struct Flags<T> {
    /// Flags of the command line.
    pub given: Vec<(String, Vec<OsString>)>,
    /// Flags that variables of the environment stand for.
    environment: Vec<(String, Vec<OsString>)>,
    options: PhantomData<T>,
}

impl<T: Options> Flags<T> {
    /// Makes the value of the flags.
    pub fn value(&self) -> Result<T, Failure> {
        let mut value = T::of(Given { flags: self.given.clone(), ..Given::default() })?;
        self.fall_back(&mut value)?;
        Ok(value)
    }

    /// Takes values that nothing else sets from the environment.
    pub fn fall_back(&self, value: &mut T) -> Result<(), Failure> {
        for (name, texts) in &self.environment {
            let texts: Vec<_> = texts.iter().map(OsString::as_os_str).collect();
            value.set_texts(name, &texts)?;
        }
        Ok(())
    }

    /// Returns whether a flag of this name was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }
}

impl<T: Options> clap::FromArgMatches for Flags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let from = |source: ValueSource| {
            let described = T::described().into_iter();
            let given = described.filter(|known| matches.value_source(known.name) == Some(source));
            let texts = |known: &Described| match known.kind {
                Kind::Switch => Vec::new(),
                _ => matches.get_many(known.name).into_iter().flatten().cloned().collect(),
            };
            given.map(|known| (known.name.to_owned(), texts(&known))).collect()
        };
        Ok(Self {
            given: from(ValueSource::CommandLine),
            environment: from(ValueSource::EnvVariable),
            options: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: Options> clap::Args for Flags<T> {
    fn augment_args(command: Command) -> Command {
        command.args(T::described().iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Makes the flag of an option.
fn arg(known: &Described) -> Arg {
    let heading = Some(known.heading).filter(|heading| !heading.is_empty());
    let arg = Arg::new(known.name).long(known.name).help_heading(heading);
    let arg = match known.doc.contains("\n\n") {
        true => arg.help(known.short().to_owned()).long_help(known.doc.clone()),
        false => arg.help(known.short().to_owned()),
    };
    let arg = match known.kind {
        Kind::Switch => return of_program(arg.action(ArgAction::SetTrue)),
        Kind::One => arg.action(ArgAction::Set),
        Kind::Many => arg.action(ArgAction::Append),
    };
    let may_hold_secret = known.schema.get("writeOnly").is_some();
    let arg = if !known.words.is_empty() {
        // The short help may name the words, and the long one then says their meanings.
        let mut said = known.short().split(|c: char| !c.is_alphanumeric() && c != '-');
        let is_said = known.words.iter().all(|(word, _)| said.clone().any(|said| said == *word));
        let is_said = is_said && said.next().is_some();
        let words = known.words.iter().map(|(word, _)| PossibleValue::new(*word));
        let parser = PossibleValuesParser::new(words).map(OsString::from);
        arg.hide_possible_values(is_said).value_parser(parser)
    } else if known.is_path || may_hold_secret {
        // A message about a wrong value would repeat it.
        let hint = if known.is_path { ValueHint::AnyPath } else { ValueHint::Other };
        arg.value_parser(OsStringValueParser::new()).value_hint(hint)
    } else {
        let check = known.check;
        arg.value_parser(move |text: &str| check(text.as_ref()).map(|()| OsString::from(text)))
    };
    let default = known.default.clone().filter(|_| !known.doc.contains("[default"));
    of_program(arg.value_name(known.value).default_values(default))
}

/// Adds the notations that only the program has: short flags, aliases, variables of the environment.
fn of_program(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "quiet" => arg.short('q'),
        "yes" => arg.short('y'),
        "check" => arg.num_args(1..),
        "exchange-dir" => arg.visible_alias("exchange"),
        "proxy" => arg.env("VESICA_PROXY").hide_env_values(true),
        "null-values" => arg.allow_hyphen_values(true),
        _ => arg,
    }
}

/// Returns the value of an option that the command requires. `purpose` stands after "say" in the error.
pub fn required<V>(
    value: Option<V>,
    options: &'static [&'static str],
    purpose: &'static str,
) -> Result<V, Failure> {
    value.ok_or_else(|| Fault::Missing { options, purpose }.into())
}

/// Reads the text of a flag in this form.
pub fn read<F: Form>(text: &str) -> Result<F::Value, String> {
    F::texts(&[OsStr::new(text)])
}

/// Reads one of the words of a type, and lets help list them.
pub fn word<T: Words>() -> impl TypedValueParser<Value = T> {
    let words = T::all().into_iter().map(|(_, word, _)| PossibleValue::new(word));
    PossibleValuesParser::new(words).try_map(|word| read::<Word<T>>(&word))
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};
    use serde_json::Value;
    use vesica::spec::Job;

    use super::*;

    fn command() -> Command {
        Flags::<Job>::augment_args(Command::new("run"))
    }

    #[test]
    fn flags_are_the_options() {
        let mut command = command();
        command.build();
        let flags = command.get_arguments().filter_map(Arg::get_long);
        let flags: Vec<_> = flags.filter(|flag| *flag != "help").collect();
        let options: Vec<_> = Job::described().iter().map(|known| known.name).collect();
        assert_eq!(flags, options);
    }

    /// The other notations are compared in `crates/spec/tests`.
    #[test]
    fn a_job_in_flags_is_the_same_value() {
        let lines = include_str!("../../spec/tests/samples.jsonl").lines();
        for sample in lines.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let option = sample["option"].as_str().unwrap();
            let texts =
                sample["flags"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
            let texts: Vec<_> = texts.collect();
            let words = match &texts[..] {
                [] => vec![format!("--{option}")],
                texts => texts.iter().map(|text| format!("--{option}={text}")).collect(),
            };
            let words = ["run".to_owned()].into_iter().chain(words);
            let matches = command().try_get_matches_from(words).unwrap();
            let flags = Flags::<Job>::from_arg_matches(&matches).unwrap().given;
            let table = sample["with"].as_object().cloned().unwrap_or_default();
            let job = Job::of(Given { table: table.clone(), flags, ..Given::default() }).unwrap();
            let texts = vec![(option.to_owned(), texts.iter().map(Into::into).collect())];
            let expected = Job::of(Given { table, flags: texts, ..Given::default() }).unwrap();
            assert_eq!(job, expected, "{option}");
        }
    }

    #[test]
    fn a_wrong_proxy_is_not_repeated() {
        let matches = command().try_get_matches_from(["run", "--proxy", "ftp://n:SENTINEL@h:1"]);
        let failure =
            Flags::<Job>::from_arg_matches(&matches.unwrap()).unwrap().value().unwrap_err();
        assert!(failure.message.starts_with("--proxy: ") && !failure.message.contains("SENTINEL"));
    }
}
