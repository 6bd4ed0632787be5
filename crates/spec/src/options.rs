//! Tables that define each option once.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use serde_json::{Map, Value, json};

use crate::{
    Fault,
    form::{Form, Kind},
    rules,
};

/// The description of an option.
#[derive(Debug, Clone)]
pub struct Described {
    /// The name, as in JSON, in TOML and after the two hyphens of a flag.
    pub name: &'static str,
    /// The documentation, in paragraphs. The first one is a short help.
    pub doc: String,
    /// The name of the value in a help text.
    pub value: &'static str,
    /// The heading under which a help text lists the option; empty for a table that needs none.
    pub heading: &'static str,
    /// The number of values.
    pub kind: Kind,
    /// The words that the option takes, with their meanings, if it takes nothing else.
    pub words: Vec<(&'static str, &'static str)>,
    /// The default as text, unless the default is an absent value.
    pub default: Option<String>,
    /// Whether the value is a path.
    pub is_path: bool,
    /// The JSON Schema of the value.
    pub schema: Value,
    /// Reads the text of one flag, to refuse it early.
    pub check: fn(&OsStr) -> Result<(), String>,
}

impl Described {
    /// Returns the first paragraph of the documentation, without the period at its end, as a short help has it.
    pub fn short(&self) -> &str {
        let short = self.doc.split("\n\n").next().unwrap_or_default();
        short.strip_suffix('.').unwrap_or(short)
    }

    pub(crate) fn of<F: Form>(
        name: &'static str,
        doc: &str,
        value: &'static str,
        heading: &'static str,
        default: &F::Value,
    ) -> Self {
        let paragraphs = doc.split("\n\n").map(|lines| {
            lines
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        });
        let mut schema = F::schema();
        let mut doc = paragraphs.collect::<Vec<_>>().join("\n\n");
        doc += &F::more();
        schema["description"] = doc.clone().into();
        let is_absent = |value: &Value| matches!(value, Value::Null | Value::Bool(false));
        let written = F::write(default);
        if !is_absent(&written) && written != json!([]) && written != json!("") {
            schema["default"] = written;
        }
        let default = schema.get("default").map(|_| F::text(default));
        let check = |text: &OsStr| F::texts(&[text]).map(drop);
        let (kind, words, is_path) = (F::KIND, F::words(), F::IS_PATH);
        Self { name, doc, value, heading, kind, words, default, is_path, schema, check }
    }
}

/// The values given for options.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Values of JSON or TOML.
    pub table: Map<String, Value>,
    /// The directory to which files of the table are relative; `None` for the working directory.
    pub base: Option<PathBuf>,
    /// Texts of flags, which replace values of the table. A switch has none, and a flag that was repeated has several.
    pub flags: Vec<(String, Vec<OsString>)>,
}

impl Given {
    /// Creates the values of these flags, with one text each.
    pub fn flags<'a>(flags: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let flag = |(name, text): (&str, &str)| (name.to_owned(), vec![text.into()]);
        Self { flags: flags.into_iter().map(flag).collect(), ..Self::default() }
    }

    /// Returns the file of the table's directory that this value names, if it names one.
    fn based(&self, value: &Value) -> Option<PathBuf> {
        Some(self.base.as_ref()?.join(value.as_str().filter(|place| is_file(place))?))
    }

    /// Leaves out values of the table that flags replace, and those that are null.
    fn merged(mut self) -> Self {
        for (name, _) in &self.flags {
            let others = rules::ALTERNATIVES.iter().find(|all| all.contains(&&**name));
            others.into_iter().copied().flatten().for_each(|other| drop(self.table.remove(*other)));
            self.table.remove(name);
        }
        self.table.retain(|_, value| !value.is_null());
        self
    }
}

/// A table of options, or several tables in one.
pub trait Options: Default + Sized {
    /// Describes the options, in the order of a help text.
    fn described() -> Vec<Described>;

    /// Reads the value of an option from JSON.
    ///
    /// # Errors
    /// [`Fault::Unknown`] and [`Fault::Value`].
    fn set(&mut self, name: &str, value: &Value) -> Result<(), Fault>;

    /// Reads the value of an option from the texts of flags.
    ///
    /// # Errors
    /// [`Fault::Unknown`] and [`Fault::Value`].
    fn set_texts(&mut self, name: &str, texts: &[&OsStr]) -> Result<(), Fault>;

    /// Adds the values that are not the default to an object.
    fn write_to(&self, object: &mut Map<String, Value>);

    /// Returns the values that are not the default. Options that may hold a password are left out.
    fn written(&self) -> Map<String, Value> {
        let mut object = Map::new();
        self.write_to(&mut object);
        object
    }

    /// Creates the options from the given values.
    ///
    /// # Errors
    /// Any [`Fault`] that can be found without the other side, files, and other tables of options.
    fn of(given: Given) -> Result<Self, Fault> {
        let given = given.merged();
        let mut made = Self::default();
        let described = Self::described();
        for (name, value) in &given.table {
            let is_path = described.iter().any(|known| known.name == name && known.is_path);
            match given.based(value).filter(|_| is_path) {
                Some(path) => made.set_texts(name, &[path.as_os_str()])?,
                None => made.set(name, value)?,
            }
        }
        for (name, texts) in &given.flags {
            let texts: Vec<_> = texts.iter().map(OsString::as_os_str).collect();
            made.set_texts(name, &texts)?;
        }
        let is_flag = |name: &str| given.flags.iter().any(|(flag, _)| flag == name);
        let named = names::<Self>(|name| given.table.contains_key(name) || is_flag(name));
        let is_off = |name: &&str| given.table.get(*name) == Some(&Value::Bool(false));
        let set: Vec<_> = named.iter().copied().filter(|name| !is_off(name)).collect();
        rules::check_settled(&named)?;
        rules::check(&set)?;
        Ok(made)
    }

    /// Checks all rules about several options, for a value that was made by hand.
    ///
    /// # Errors
    /// A [`Fault`].
    fn check(&self) -> Result<(), Fault> {
        let written = self.written();
        let set = names::<Self>(|name| written.contains_key(name));
        rules::check_settled(&set)?;
        rules::check(&set)
    }

    /// Returns the JSON Schema of the properties.
    fn properties() -> Map<String, Value> {
        Self::described().into_iter().map(|known| (known.name.to_owned(), known.schema)).collect()
    }
}

/// Returns whether a place is a file, and not a stream, an object or a database.
pub fn is_file(place: &str) -> bool {
    place != "-" && !place.contains("://") && !place.starts_with("adbc:")
}

fn names<T: Options>(is_named: impl Fn(&str) -> bool) -> Vec<&'static str> {
    T::described().iter().map(|known| known.name).filter(|name| is_named(name)).collect()
}

/// Returns the JSON Schema of an object with these properties.
pub(crate) fn schema(title: &str, description: &str, properties: Map<String, Value>) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the value in which a date of TOML is a text, as in JSON.
pub(crate) fn without_dates(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.contains_key(DATE) => {
            object.remove(DATE).unwrap_or_default()
        }
        Value::Object(object) => Value::Object(
            object.into_iter().map(|(key, value)| (key, without_dates(value))).collect(),
        ),
        value => value,
    }
}

/// The key under which the `toml` crate hands a date to serde.
const DATE: &str = "$__toml_private_datetime";

/// Returns the name of a field without the mark of a name that is a word of the language.
pub(crate) const fn plain(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Converts the name of a field to the name of an option, with hyphens.
pub(crate) const fn kebab<const N: usize>(field: &str) -> [u8; N] {
    let mut name = [0; N];
    let mut at = 0;
    while at < N {
        let byte = field.as_bytes()[at];
        name[at] = if byte == b'_' { b'-' } else { byte };
        at += 1;
    }
    name
}

/// Defines a table of options: for each its documentation, the name of its value in help texts, its name, its form and
/// its default.
macro_rules! options {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $heading:literal {
            $($(#[doc = $doc:literal])* $value:literal $field:ident: $form:ty = $default:expr;)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: <$form as $crate::form::Form>::Value,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::options::Options for $name {
            fn described() -> Vec<$crate::options::Described> {
                let default = Self::default();
                vec![$($crate::options::Described::of::<$form>(
                    $crate::options::name!($field),
                    concat!($($doc, "\n",)*),
                    $value,
                    $heading,
                    &default.$field,
                ),)*]
            }

            fn set(
                &mut self,
                name: &str,
                value: &serde_json::Value,
            ) -> Result<(), $crate::fault::Fault> {
                $(if name == $crate::options::name!($field) {
                    let read = <$form as $crate::form::Form>::read(value);
                    let option = $crate::options::name!($field);
                    self.$field = read.map_err(|said| $crate::fault::Fault::Value { option, said })?;
                    return Ok(());
                })*
                Err($crate::fault::Fault::Unknown { option: name.to_owned() })
            }

            fn set_texts(
                &mut self,
                name: &str,
                texts: &[&std::ffi::OsStr],
            ) -> Result<(), $crate::fault::Fault> {
                $(if name == $crate::options::name!($field) {
                    let read = <$form as $crate::form::Form>::texts(texts);
                    let option = $crate::options::name!($field);
                    self.$field = read.map_err(|said| $crate::fault::Fault::Value { option, said })?;
                    return Ok(());
                })*
                Err($crate::fault::Fault::Unknown { option: name.to_owned() })
            }

            fn write_to(&self, object: &mut serde_json::Map<String, serde_json::Value>) {
                let default = Self::default();
                $(if self.$field != default.$field {
                    let value = <$form as $crate::form::Form>::write(&self.$field);
                    if !value.is_null() {
                        object.insert($crate::options::name!($field).to_owned(), value);
                    }
                })*
            }
        }

        $crate::options::by_serde!($name);
    };
}

/// Defines a table that combines other tables. Its text form is flat.
macro_rules! sections {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $($(#[doc = $doc:literal])* $field:ident: $section:ty,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $section,)*
        }

        impl $crate::options::Options for $name {
            fn described() -> Vec<$crate::options::Described> {
                [$(<$section as $crate::options::Options>::described(),)*].concat()
            }

            fn set(
                &mut self,
                name: &str,
                value: &serde_json::Value,
            ) -> Result<(), $crate::fault::Fault> {
                $(match self.$field.set(name, value) {
                    Err($crate::fault::Fault::Unknown { .. }) => {}
                    done => return done,
                })*
                Err($crate::fault::Fault::Unknown { option: name.to_owned() })
            }

            fn set_texts(
                &mut self,
                name: &str,
                texts: &[&std::ffi::OsStr],
            ) -> Result<(), $crate::fault::Fault> {
                $(match self.$field.set_texts(name, texts) {
                    Err($crate::fault::Fault::Unknown { .. }) => {}
                    done => return done,
                })*
                Err($crate::fault::Fault::Unknown { option: name.to_owned() })
            }

            fn write_to(&self, object: &mut serde_json::Map<String, serde_json::Value>) {
                $(self.$field.write_to(object);)*
            }
        }

        $crate::options::by_serde!($name);
    };
}

/// Returns the name of the option for a field.
macro_rules! name {
    ($field:ident) => {{
        const FIELD: &str = $crate::options::plain(stringify!($field));
        const NAME: [u8; FIELD.len()] = $crate::options::kebab(FIELD);
        const NAMED: &str = match str::from_utf8(&NAME) {
            Ok(name) => name,
            Err(_) => panic!("a name stays UTF-8"),
        };
        NAMED
    }};
}

/// Lets serde read and write a table of options.
macro_rules! by_serde {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&$crate::options::Options::written(self), serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let table =
                    <serde_json::Map<_, _> as serde::Deserialize>::deserialize(deserializer)?;
                let table = table.into_iter();
                let table = table.map(|(key, value)| (key, $crate::options::without_dates(value)));
                let given = $crate::options::Given {
                    table: table.collect(),
                    ..$crate::options::Given::default()
                };
                let made = <Self as $crate::options::Options>::of(given);
                made.map_err(|fault| {
                    serde::de::Error::custom(fault.words(|name| format!("`{name}`")))
                })
            }
        }
    };
}

pub(crate) use {by_serde, name, options, sections};
