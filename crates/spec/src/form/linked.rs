//! Forms of fields and rules.

use std::ffi::OsStr;

use serde_json::{Map, Value, json};

use super::{Form, Kind};
use crate::linked::{FieldColumn, check_rule};

/// The form of fields: texts such as `first=Vorname:name`, or a table in which each field has its column and profile.
pub struct FieldForm;

impl FieldForm {
    /// Reads the column of a field: its name, or a table with its name and profile.
    fn column(name: &str, value: &Value) -> Result<FieldColumn, String> {
        let wanted = || {
            format!("{name} needs a column, as in {{ column = \"Vorname\", normalize = \"name\" }}")
        };
        let Some(table) = value.as_object() else {
            return FieldColumn::new(name, value.as_str().ok_or_else(wanted)?, None);
        };
        let text = |key: &str| table.get(key).map(|value| value.as_str().ok_or_else(wanted));
        let column = text("column").unwrap_or_else(|| Err(wanted()))?;
        let normalize = text("normalize").transpose()?.map(str::parse).transpose()?;
        match table.keys().find(|key| !["column", "normalize"].contains(&key.as_str())) {
            Some(other) => {
                Err(format!("{name} has a column and a normalisation, and no `{other}`"))
            }
            None => FieldColumn::new(name, column, normalize),
        }
    }
}

impl Form for FieldForm {
    type Value = Vec<FieldColumn>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        let properties =
            json!({ "column": { "type": "string" }, "normalize": { "type": "string" } });
        let column = json!({
            "type": ["string", "object"],
            "additionalProperties": false,
            "required": ["column"],
            "properties": properties,
        });
        json!({
            "type": ["object", "array", "string"],
            "additionalProperties": column,
            "items": { "type": "string" },
        })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let parse = |value: &Value| {
            let text = value.as_str().ok_or("a field, as in first=Vorname:name");
            text.map_err(str::to_owned).and_then(str::parse)
        };
        let mut fields: Vec<FieldColumn> = match value {
            Value::Object(fields) if !fields.is_empty() => {
                let fields = fields.iter().map(|(name, value)| Self::column(name, value));
                fields.collect::<Result<_, _>>()?
            }
            Value::Array(texts) => texts.iter().map(parse).collect::<Result<_, _>>()?,
            text => vec![parse(text)?],
        };
        // Their order has no meaning.
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        let twice = fields.windows(2).find(|pair| pair[0].name == pair[1].name);
        match twice {
            Some(pair) => Err(format!("field `{}` is declared twice", pair[0].name)),
            None => Ok(fields),
        }
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = texts.iter().map(|text| text.to_str()).collect();
        Self::read(&texts.ok_or("text in UTF-8")?.into())
    }

    fn write(value: &Self::Value) -> Value {
        let field = |field: &FieldColumn| {
            let column = match &field.normalize {
                None => field.column.clone().into(),
                Some(normalize) => {
                    json!({ "column": field.column, "normalize": normalize.to_string() })
                }
            };
            (field.name.clone(), column)
        };
        match value.is_empty() {
            true => json!([]),
            false => Value::Object(value.iter().map(field).collect::<Map<_, _>>()),
        }
    }
}

/// The form of rules.
pub struct RuleForm;

impl Form for RuleForm {
    type Value = Vec<String>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let wanted = "a rule, as in \"first, last, dob\", or a list of rules";
        let texts: Vec<&str> = match value {
            Value::Array(texts) => {
                texts.iter().map(Value::as_str).collect::<Option<_>>().ok_or(wanted)?
            }
            text => vec![text.as_str().ok_or(wanted)?],
        };
        texts.iter().try_for_each(|text| check_rule(text))?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = texts.iter().map(|text| text.to_str()).collect();
        Self::read(&texts.ok_or("text in UTF-8")?.into())
    }

    fn write(value: &Self::Value) -> Value {
        value.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_same_value_in_every_notation() {
        let texts = json!(["dob=Tag:date:%d.%m.%Y", "first=Vorname"]);
        let table = json!({
            "dob": { "column": "Tag", "normalize": "date:%d.%m.%Y" },
            "first": "Vorname",
        });
        let fields = FieldForm::read(&texts).unwrap();
        assert_eq!(FieldForm::read(&table), Ok(fields.clone()));
        assert_eq!(FieldForm::write(&fields), table);
        for (wrong, said) in [
            (json!({ "dob": 1 }), "dob needs a column"),
            (json!({ "dob": { "normalize": "date" } }), "dob needs a column"),
            (json!({ "dob": { "column": "x", "format": "y" } }), "no `format`"),
            (json!({ "dob": { "column": "x", "normalize": "dat" } }), "possible values"),
            (json!(["dob=x", "dob=y"]), "declared twice"),
            (json!(7), "as in first=Vorname:name"),
        ] {
            let error = FieldForm::read(&wrong).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
