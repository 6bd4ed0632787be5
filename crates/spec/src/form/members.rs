//! The form of the parties of a run among several.

use std::ffi::OsStr;

use serde_json::{Value, json};
use vesica_net::{FingerprintError, connect::Member};

use super::{Form, Kind};

/// The form of several parties: `NAME=FINGERPRINT` or `NAME=FINGERPRINT@HOST:PORT` each.
pub struct MembersForm;

impl Form for MembersForm {
    type Value = Vec<Member>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = match value {
            Value::String(text) => Some(vec![text.as_str()]),
            Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let texts = texts.ok_or("a list of parties, as texts")?;
        texts.into_iter().flat_map(|text| text.split(',')).map(member).collect()
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        let texts: Option<Vec<_>> = texts.iter().map(|text| text.to_str()).collect();
        Self::read(&texts.ok_or("text in UTF-8")?.into())
    }

    fn write(value: &Self::Value) -> Value {
        let text = |Member { name, fingerprint, address }: &Member| match address {
            Some(address) => format!("{name}={fingerprint}@{address}"),
            None => format!("{name}={fingerprint}"),
        };
        value.iter().map(text).collect()
    }
}

/// Reads a party.
fn member(text: &str) -> Result<Member, String> {
    const FORM: &str = "each party is NAME=FINGERPRINT or NAME=FINGERPRINT@HOST:PORT";
    let (name, rest) = text.trim().split_once('=').ok_or(FORM)?;
    let (fingerprint, address) = match rest.split_once('@') {
        Some((fingerprint, address)) => (fingerprint, Some(address.to_owned())),
        None => (rest, None),
    };
    let refused = |error: FingerprintError| format!("{FORM}: {error}");
    let fingerprint = fingerprint.parse().map_err(refused)?;
    Ok(Member { name: name.to_owned(), fingerprint, address })
}

#[cfg(test)]
mod tests {
    use vesica_net::Identity;

    use super::*;

    #[test]
    fn parties_are_read_back_as_they_were_written() {
        let print = Identity::generate().unwrap().fingerprint();
        let text = format!("shop={print}@shop.example.org:7788, club={print}");
        let members = MembersForm::read(&text.into()).unwrap();
        assert_eq!(members[0].address.as_deref(), Some("shop.example.org:7788"));
        assert_eq!((members[1].name.as_str(), &members[1].address), ("club", &None));
        assert_eq!(MembersForm::read(&MembersForm::write(&members)).unwrap(), members);
        for refused in ["shop", "shop=1", "shop:1=2"] {
            let said = MembersForm::read(&refused.into()).unwrap_err();
            assert!(said.starts_with("each party is NAME=FINGERPRINT"), "{said}");
        }
    }
}
