//! What a service says of itself: a line for each event, without identifiers.

use clap::ValueEnum;
use vesica::{partnership::Moment, report::shown};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    Text,
    Json,
}

/// Writes lines to standard error.
pub struct Log(Form);

impl Log {
    pub fn new(form: Form) -> Self {
        Self(form)
    }

    /// Something happened, about which there are these facts.
    pub fn event(&self, what: &str, facts: &[(&str, &str)]) {
        crate::say(&line(self.0, &Moment::now().to_string(), what, facts));
    }
}

fn line(form: Form, time: &str, what: &str, facts: &[(&str, &str)]) -> String {
    match form {
        Form::Text => {
            let facts: String =
                facts.iter().map(|(name, value)| format!("  {name}: {}", shown(value))).collect();
            format!("{time}  {what}{facts}")
        }
        Form::Json => {
            let all = [("time", time), ("event", what)].into_iter().chain(facts.iter().copied());
            let text = |text: &str| serde_json::Value::from(shown(text));
            let map: serde_json::Map<_, _> =
                all.map(|(name, value)| (name.replace(' ', "_"), text(value))).collect();
            serde_json::Value::from(map).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_an_event_in_both_forms() {
        let facts = [("job", "acme"), ("peer keys", "7")];
        assert_eq!(line(Form::Text, "T", "began", &facts), "T  began  job: acme  peer keys: 7");
        let json = r#"{"event":"began","job":"acme","peer_keys":"7","time":"T"}"#;
        assert_eq!(line(Form::Json, "T", "began", &facts), json);
        let facts = [("why", "\u{202e}no\nT  began\u{1b}[2K")];
        let text = "T  failed  why: \u{fffd}no\u{fffd}T  began\u{fffd}[2K";
        assert_eq!(line(Form::Text, "T", "failed", &facts), text);
    }
}
