//! Agreements and records, and the disclosures of planned runs.

use pyo3::{prelude::*, types::PyDict};
use serde_json::{Value, json};
use vesica::{
    Class, Error, Role,
    partnership::{AnyAgreement, AnyRecord, Statement},
    report::{Names, Tense},
    spec,
};
use vesica_net::Fingerprint;

use crate::{errors, request::specified};

/// The class and the message of an error.
struct Fault(Class, String);

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self(error.class(), error.to_string())
    }
}

impl From<spec::Error> for Fault {
    fn from(error: spec::Error) -> Self {
        Self(error.class(), error.to_string())
    }
}

impl Fault {
    fn input(error: impl ToString) -> Self {
        Self(Class::Input, error.to_string())
    }

    fn usage(error: impl ToString) -> Self {
        Self(Class::Usage, error.to_string())
    }
}

fn finished(py: Python<'_>, found: Result<Value, Fault>) -> PyResult<String> {
    found
        .map(|value| value.to_string())
        .map_err(|Fault(class, message)| errors::exception(py, class, &message, None))
}

/// Reads an agreement as this party, or as a reader who is neither party. Returns JSON.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
#[pyo3(signature = (text, me = None))]
pub fn agreement(py: Python<'_>, text: &str, me: Option<&str>) -> PyResult<String> {
    let read = || {
        let signed = AnyAgreement::from_file(text).map_err(Fault::input)?;
        let me = me.map(str::parse::<Fingerprint>).transpose().map_err(Fault::usage)?;
        let summary = signed.summary(me)?.to_json();
        let parties: Vec<_> =
            signed.parties().into_iter().map(|party| party.fingerprint()).collect();
        Ok(json!({
            "name": signed.name(),
            "hash": signed.hash(),
            "words": signed.check_phrase(),
            "parties": parties.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "made": signed.made().to_string(),
            "accepted": signed.accepted().to_string(),
            "is_signed": parties.iter().all(|party| signed.is_signed_by(*party)),
            "summary": summary,
        }))
    };
    finished(py, read())
}

/// Predicts the disclosures of a run with these terms, or under an agreement of this party. Returns JSON.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
#[pyo3(signature = (options, me = None))]
pub fn preview(options: &Bound<'_, PyDict>, me: Option<&str>) -> PyResult<String> {
    let job: spec::Job = specified(options)?;
    let made = || {
        let me = me.map(str::parse::<Fingerprint>).transpose().map_err(Fault::usage)?;
        Ok(match job.agreement()? {
            Some(agreement) => agreement.summary(me)?.to_json(),
            None => job.summary(None)?.to_json(),
        })
    };
    finished(options.py(), made())
}

/// Checks that exactly these parties signed a record and that it has not changed since. Returns its contents as JSON.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn verify(py: Python<'_>, text: &str, named: Vec<String>) -> PyResult<String> {
    let read = || {
        let record = AnyRecord::from_json(text).map_err(Fault::input)?;
        let named: Result<Vec<Fingerprint>, _> = named.iter().map(|text| text.parse()).collect();
        let named = named.map_err(Fault::usage)?;
        let statements = record.statements();
        let parties: Vec<_> = statements.iter().map(|side| side.party.fingerprint()).collect();
        if let Some(stranger) = named.iter().find(|who| !parties.contains(who)) {
            return Err(Fault::input(format!("{stranger} is not a party of the record")));
        }
        if let Some(unnamed) = parties.iter().find(|party| !named.contains(party)) {
            return Err(Fault::input(format!(
                "{unnamed} is a party of the record, too; if you expect this party, name it"
            )));
        }
        let sides: Vec<_> = statements.into_iter().map(side).collect();
        let mut content = match &record {
            AnyRecord::Pair(record) => {
                let record = record.document();
                let names = Names::new(parties[0].to_string(), parties[1].to_string());
                json!({
                    "name": record.name,
                    "agreement": record.agreement,
                    "agreed": record.agreed.to_string(),
                    "matches": record.matches,
                    "protocol": record.protocol,
                    "sentences": record.disclosure.lines(Role::A, &names, Tense::Past),
                })
            }
            AnyRecord::Joint(record) => {
                let record = record.document();
                json!({
                    "name": record.name,
                    "agreement": record.agreement,
                    "agreed": record.agreed.to_string(),
                    "matches": null,
                    "protocol": record.protocol,
                    "sentences": record.lines(),
                })
            }
        };
        content["hash"] = record.hash().into();
        content["sides"] = sides.into();
        Ok(content)
    };
    finished(py, read())
}

fn side(of: &Statement) -> Value {
    json!({
        "fingerprint": of.party.fingerprint().to_string(),
        "keys": of.keys,
        "started": of.started.to_string(),
        "ended": of.ended.to_string(),
    })
}
