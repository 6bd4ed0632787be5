//! As much of JSON Schema as `docs/reference/report.schema.json` uses.

use serde_json::Value;

/// Words that constrain nothing.
const NOTES: [&str; 5] = ["$schema", "$defs", "title", "description", "format"];

/// Whether a value is as the schema says: where it is not, what is wrong there. A keyword that is not known here is
/// a panic, so that none is taken for met.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    against(schema, schema, value, "$")
}

fn against(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        let met = match keyword.as_str() {
            note if NOTES.contains(&note) => true,
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|name| is(value, name)),
                name => is(value, name),
            },
            "minimum" => value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()),
            "minLength" => {
                value.as_str().is_none_or(|s| s.len() as u64 >= wanted.as_u64().unwrap())
            }
            "maxLength" => {
                value.as_str().is_none_or(|s| s.len() as u64 <= wanted.as_u64().unwrap())
            }
            "required" => value.as_object().is_none_or(|object| {
                wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|key| object.contains_key(key.as_str().unwrap()))
            }),
            "additionalProperties" => {
                assert_eq!(wanted, false, "other forms are not known here");
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .is_none_or(|object| object.keys().all(|key| known.contains_key(key)))
            }
            "properties" => {
                for (key, schema) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        against(root, schema, value, &format!("{at}.{key}"))?;
                    }
                }
                true
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    against(root, wanted, value, &format!("{at}[{i}]"))?;
                }
                true
            }
            "oneOf" => {
                let met = |schema: &&Value| against(root, schema, value, at).is_ok();
                wanted.as_array().unwrap().iter().filter(met).count() == 1
            }
            "$ref" => {
                let path =
                    wanted.as_str().unwrap().strip_prefix('#').expect("a part of this schema");
                let schema =
                    root.pointer(path).unwrap_or_else(|| panic!("the schema has no {path}"));
                against(root, schema, value, at)?;
                true
            }
            other => panic!("`{other}` is not known here"),
        };
        if !met {
            return Err(format!("{at}: {value} does not meet {keyword} {wanted}"));
        }
    }
    Ok(())
}

fn is(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("`{other}` is not a type"),
    }
}
