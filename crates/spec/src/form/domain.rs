//! Forms of values that are specific to Vesica.

use std::{ffi::OsStr, path::PathBuf};

use serde_json::{Value, json};
use vesica_core::parties::{Learns, Role, Security};
use vesica_keyset::key::{Duplicates, Nulls};
use vesica_net::Proxy;
use vesica_normalize::{normalize::Normalize, null_values::NullValues};
use vesica_select::{Declaration, Select, Side};
use vesica_table::{format::Format, formulas::Formulas, source::Delimiter};
use vesica_task::query::{Query, QueryBodyForm};

use super::{
    Form, Kind,
    basic::{File, Words},
};
use crate::{
    names::{columns, names},
    whole,
};

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn listed(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

/// The form of the place of a table.
pub struct TableFile;

impl Form for TableFile {
    type Value = PathBuf;
    const IS_PATH: bool = true;

    fn more() -> String {
        let titles = Format::ALL.map(Format::title);
        let (last, others) = titles.split_last().unwrap_or((&"", &[]));
        format!(" The formats are {} and {last}.", others.join(", "))
    }

    fn schema() -> Value {
        File::schema()
    }

    fn read(value: &Value) -> Result<PathBuf, String> {
        File::read(value)
    }

    fn texts(texts: &[&OsStr]) -> Result<PathBuf, String> {
        File::texts(texts)
    }

    fn write(value: &PathBuf) -> Value {
        File::write(value)
    }
}

/// The form of names of columns.
pub struct Columns;

impl Form for Columns {
    type Value = Vec<String>;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Vec<String>, String> {
        match (text(value), listed(value)) {
            (Some(names), _) => columns(&names),
            (None, Some(names)) if !names.is_empty() => Ok(names),
            _ => Err("a name, or a list of names".to_owned()),
        }
    }

    fn write(value: &Vec<String>) -> Value {
        value.clone().into()
    }
}

/// The form of a key: the columns of each of its identifiers.
pub struct KeyForm;

impl KeyForm {
    /// The identifiers of a list in which each is a name or a list of names.
    fn identifiers(parts: &[Value]) -> Option<Vec<Vec<String>>> {
        let identifier = |part: &Value| match text(part) {
            Some(name) => Some(vec![name]),
            None => listed(part).filter(|names| !names.is_empty()),
        };
        parts.iter().map(identifier).collect()
    }
}

impl Form for KeyForm {
    type Value = Vec<Vec<String>>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        let names = json!({ "type": ["string", "array"], "items": { "type": "string" } });
        json!({ "type": ["string", "array"], "items": names })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let wanted = || "the name of a column, a list of names, or a list of such lists".to_owned();
        match (text(value), listed(value), value.as_array()) {
            (Some(names), ..) => Ok(vec![columns(&names)?]),
            (_, Some(names), _) if !names.is_empty() => Ok(vec![names]),
            (_, None, Some(parts)) => Self::identifiers(parts).ok_or_else(wanted),
            _ => Err(wanted()),
        }
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        texts.iter().map(|text| columns(text.to_str().ok_or("text in UTF-8")?)).collect()
    }

    fn write(value: &Self::Value) -> Value {
        value.clone().into()
    }
}

/// The form of the profiles by which keys are made comparable.
pub struct Profiles;

impl Form for Profiles {
    type Value = Vec<Normalize>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let all = match value {
            Value::String(text) => text.split(',').map(str::to_owned).collect(),
            value => listed(value).unwrap_or_default(),
        };
        match all.is_empty() {
            true => Err("a profile, or a list of profiles".to_owned()),
            false => all.iter().map(|name| name.parse()).collect(),
        }
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = texts.iter().map(|text| text.to_str()).collect();
        Self::read(&texts.ok_or("text in UTF-8")?.join(",").into())
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(ToString::to_string).collect()
    }
}

/// The form of values that count as empty.
pub struct NullValuesForm;

impl Form for NullValuesForm {
    type Value = NullValues;

    fn schema() -> Value {
        Columns::schema()
    }

    fn read(value: &Value) -> Result<NullValues, String> {
        let values = match text(value) {
            Some(values) => names(&values)?,
            None => listed(value).ok_or("a value, or a list of values")?,
        };
        NullValues::new(values).map_err(|error| error.to_string())
    }

    fn write(value: &NullValues) -> Value {
        value.values().into()
    }
}

/// A question for a run, and this side's part in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The query, the same on both sides.
    pub query: Query,
    /// This side's column of values.
    pub column: Option<String>,
}

impl From<Query> for Answer {
    fn from(query: Query) -> Self {
        Self { query, column: None }
    }
}

/// The form of an answer: `rows`, `sum:COL`, `threshold:K` and so on.
pub struct AnswerForm;

impl Form for AnswerForm {
    type Value = Answer;

    fn more() -> String {
        format!(" {}", Query::help())
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<Answer, String> {
        let text = value.as_str().ok_or_else(|| format!("possible values: {}", Query::forms()))?;
        let (query, column) = Query::parse(text, whole)?;
        Ok(Answer { query, column })
    }

    fn write(value: &Answer) -> Value {
        let Answer { query, column } = value;
        let number = (query.kind.body == QueryBodyForm::Number).then(|| query.number().to_string());
        let parts = [Some(query.name()), number.as_deref(), column.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(":").into()
    }
}

/// The form of a query over both tables.
pub struct QueryForm;

impl Form for QueryForm {
    type Value = Select;

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<Select, String> {
        let text =
            value.as_str().ok_or("a query, as in SELECT count(*) FROM a JOIN b USING (key)")?;
        text.parse().map_err(|error: vesica_select::Error| error.to_string())
    }

    fn write(value: &Select) -> Value {
        value.to_string().into()
    }
}

/// The form of the columns that a side declares for a query.
pub struct Declarations;

impl Form for Declarations {
    type Value = Vec<Declaration>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let all = match value {
            Value::String(text) => vec![text.clone()],
            value => listed(value).ok_or("a column with its type, or a list of them")?,
        };
        let parse =
            |text: &String| text.parse().map_err(|error: vesica_select::Error| error.to_string());
        all.iter().map(parse).collect()
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = texts.iter().map(|text| text.to_str()).collect();
        Self::read(&texts.ok_or("text in UTF-8")?.into())
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(ToString::to_string).collect()
    }
}

/// The treatment of rows that repeat a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// The treatment.
    pub how: Duplicates,
    /// The maximum number of rows per key that are sent.
    pub rows: u32,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { how: Duplicates::First, rows: 1 }
    }
}

/// The form of the treatment of rows that repeat a key: `first`, `error`, `all:N`, or the number N itself.
pub struct RepeatsForm;

impl Form for RepeatsForm {
    type Value = Repeats;

    fn schema() -> Value {
        json!({ "type": ["string", "integer"], "minimum": 1 })
    }

    fn read(value: &Value) -> Result<Repeats, String> {
        let all = |rows: u64| u32::try_from(rows).ok().filter(|rows| *rows > 0);
        let rows = match (value, value.as_str()) {
            (_, Some("first")) => return Ok(Repeats::default()),
            (_, Some("error")) => return Ok(Repeats { how: Duplicates::Error, rows: 1 }),
            (_, Some("all")) => {
                return Err("name the maximum number of rows per key, as in all:3".to_owned());
            }
            (_, Some(text)) => text.strip_prefix("all:").map(|rows| whole(rows).and_then(all)),
            (Value::Number(rows), None) => Some(rows.as_u64().and_then(all)),
            _ => None,
        };
        match rows {
            Some(Some(rows)) => Ok(Repeats { how: Duplicates::All, rows }),
            Some(None) => Err("all:N requires a whole number of rows, at least 1".to_owned()),
            None => Err("possible values: first, error, all:N".to_owned()),
        }
    }

    fn write(value: &Repeats) -> Value {
        match value.how {
            Duplicates::First => "first".into(),
            Duplicates::Error => "error".into(),
            Duplicates::All => format!("all:{}", value.rows).into(),
        }
    }
}

/// The form of the name of a protocol; `auto` stands for an absent one.
pub struct ProtocolForm;

impl Form for ProtocolForm {
    type Value = Option<String>;

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let name = value.as_str().ok_or("the name of a protocol, or auto")?;
        Ok(Some(name.to_owned()).filter(|name| name != "auto"))
    }

    fn write(value: &Self::Value) -> Value {
        value.as_deref().unwrap_or("auto").into()
    }
}

/// The form of a proxy. It may contain a password, so it is read but never written.
pub struct ProxyForm;

impl Form for ProxyForm {
    type Value = Proxy;

    fn schema() -> Value {
        json!({ "type": "string", "writeOnly": true })
    }

    fn read(value: &Value) -> Result<Proxy, String> {
        let text = value.as_str().ok_or("an address")?;
        text.parse().map_err(|said: &str| said.to_owned())
    }

    fn write(_: &Proxy) -> Value {
        Value::Null
    }
}

/// The rows that a join writes, on the side that receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// The rows that match.
    #[default]
    Inner,
    /// All rows.
    Left,
}

/// The display of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// As a bar, if standard error is a terminal.
    #[default]
    Auto,
    /// As lines.
    Plain,
    /// Not at all.
    Off,
}

impl Words for Join {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::Inner, "inner", ""), (Self::Left, "left", "")]
    }
}

impl Words for Progress {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::Auto, "auto", ""), (Self::Plain, "plain", ""), (Self::Off, "off", "")]
    }
}

impl Words for Learns {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![
            (Self::Me, "me", "only this side"),
            (Self::Peer, "peer", "only the other side"),
            (Self::Both, "both", "both sides"),
            (Self::Nobody, "nobody", "neither side: for shares"),
        ]
    }
}

impl Words for Security {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        [Self::SemiHonest, Self::Malicious].map(|level| (level, level.name(), "")).to_vec()
    }
}

impl Words for Format {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        Self::ALL.map(|format| (format, format.name(), "")).to_vec()
    }
}

impl Words for Delimiter {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        Self::ALL.map(|delimiter| (delimiter, delimiter.name(), "")).to_vec()
    }
}

impl Words for Nulls {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::Skip, "skip", ""), (Self::Error, "error", "")]
    }
}

impl Words for Formulas {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::Keep, "keep", ""), (Self::Escape, "escape", "")]
    }
}

impl Words for Side {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::A, "a", ""), (Self::B, "b", "")]
    }
}

impl Words for Role {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![(Self::A, "a", ""), (Self::B, "b", "")]
    }
}
