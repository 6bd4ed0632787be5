//! The log of a service: a line for each event, without identifiers.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use vesica::{partnership::Moment, report::shown, spec::LogForm};

/// The time in which events of one kind have one line, and one more with their number.
const WINDOW: Duration = Duration::from_secs(60);

/// A fact about an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    Text(String),
    Number(u64),
    Seconds(Duration),
}

impl From<&str> for Fact {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Fact {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Fact {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<Duration> for Fact {
    fn from(time: Duration) -> Self {
        Self::Seconds(time)
    }
}

impl Fact {
    /// Returns the fact as text that is safe to show.
    fn text(&self) -> String {
        match self {
            Self::Text(text) => shown(text).into_owned(),
            Self::Number(number) => number.to_string(),
            Self::Seconds(time) => format!("{:.3}", time.as_secs_f64()),
        }
    }

    /// Returns the fact in JSON, where a number is a number.
    fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(_) => self.text().into(),
            Self::Number(number) => (*number).into(),
            Self::Seconds(time) => (time.as_millis() as f64 / 1e3).into(),
        }
    }
}

/// Facts about an event, with their names.
pub type Facts = Vec<(&'static str, Fact)>;

/// Writes lines to standard error.
#[derive(Clone, Copy)]
pub struct Log(LogForm);

impl Log {
    pub fn new(form: LogForm) -> Self {
        Self(form)
    }

    /// Logs an event with these facts.
    pub fn event(&self, what: &str, facts: &[(&'static str, Fact)]) {
        crate::say(&line(self.0, &Moment::now().to_string(), what, facts));
    }
}

/// A log of events that others can cause as often as they like. The first of a kind has its line, and those that follow
/// within a minute have one together, with their number. There must be few kinds.
pub struct Counted<K> {
    log: Log,
    kinds: Mutex<HashMap<K, Repeated>>,
}

/// Events of one kind after the first, which has its line.
struct Repeated {
    since: Instant,
    what: &'static str,
    facts: Facts,
    more: u64,
}

impl<K: Eq + Hash> Counted<K> {
    pub fn new(log: Log) -> Self {
        Self { log, kinds: Mutex::default() }
    }

    /// Logs or counts an event of this kind.
    pub fn event(&self, kind: K, what: &'static str, facts: Facts) {
        if let Some(facts) = note(&mut self.kinds(), kind, what, facts, Instant::now()) {
            self.log.event(what, &facts);
        }
    }

    /// Logs the number of events of each kind whose minute is over. Call it about every second.
    pub fn look(&self) {
        self.say(WINDOW);
    }

    /// Logs the number of events of all kinds.
    pub fn end(&self) {
        self.say(Duration::ZERO);
    }

    fn say(&self, age: Duration) {
        for Repeated { what, facts, .. } in over(&mut self.kinds(), age, Instant::now()) {
            self.log.event(what, &facts);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<K, Repeated>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts an event, and returns the facts of a line if it is the first of its kind.
fn note<K: Eq + Hash>(
    kinds: &mut HashMap<K, Repeated>,
    kind: K,
    what: &'static str,
    facts: Facts,
    now: Instant,
) -> Option<Facts> {
    if let Some(known) = kinds.get_mut(&kind) {
        known.more += 1;
        return None;
    }
    kinds.insert(kind, Repeated { since: now, what, facts: facts.clone(), more: 0 });
    Some(facts)
}

/// Takes the kinds of at least this age, and returns those that need a line, with its facts.
fn over<K: Eq + Hash>(
    kinds: &mut HashMap<K, Repeated>,
    age: Duration,
    now: Instant,
) -> Vec<Repeated> {
    let old = kinds.extract_if(|_, kind| now.saturating_duration_since(kind.since) >= age);
    let mut lines: Vec<_> = old.map(|(_, kind)| kind).filter(|kind| kind.more > 0).collect();
    for Repeated { facts, more, since, .. } in &mut lines {
        let seconds = now.saturating_duration_since(*since).as_secs();
        facts.extend([("more", (*more).into()), ("seconds", seconds.into())]);
    }
    lines
}

fn line(form: LogForm, time: &str, what: &str, facts: &[(&'static str, Fact)]) -> String {
    match form {
        LogForm::Text => {
            let facts: String =
                facts.iter().map(|(name, fact)| format!("  {name}: {}", fact.text())).collect();
            format!("{time}  {what}{facts}")
        }
        LogForm::Json => {
            let about = [("time", time.into()), ("event", what.into())];
            let all = about.iter().chain(facts);
            let map: serde_json::Map<_, _> =
                all.map(|(name, fact)| (name.replace(' ', "_"), fact.json())).collect();
            serde_json::Value::from(map).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_an_event_in_both_forms() {
        let facts = [("job", "acme".into()), ("peer keys", 7u64.into())];
        assert_eq!(line(LogForm::Text, "T", "began", &facts), "T  began  job: acme  peer keys: 7");
        let json = r#"{"event":"began","job":"acme","peer_keys":7,"time":"T"}"#;
        assert_eq!(line(LogForm::Json, "T", "began", &facts), json);
        let taken = [("seconds", Duration::from_millis(2074).into())];
        assert_eq!(line(LogForm::Text, "T", "ended", &taken), "T  ended  seconds: 2.074");
        let json = r#"{"event":"ended","seconds":2.074,"time":"T"}"#;
        assert_eq!(line(LogForm::Json, "T", "ended", &taken), json);
        let facts = [("why", "\u{202e}no\nT  began\u{1b}[2K".into())];
        let text = "T  failed  why: \u{fffd}no\u{fffd}T  began\u{fffd}[2K";
        assert_eq!(line(LogForm::Text, "T", "failed", &facts), text);
    }

    #[test]
    fn events_that_repeat_within_a_minute_are_counted() {
        let (mut kinds, start) = (HashMap::new(), Instant::now());
        let why = |why: &str| vec![("why", why.into())];
        let mut lines = 0;
        for call in 0..1000 {
            let now = start + Duration::from_millis(call);
            lines +=
                usize::from(note(&mut kinds, call % 2, "turned away", why("w"), now).is_some());
        }
        assert_eq!(lines, 2, "one of each kind");
        assert!(over(&mut kinds, WINDOW, start + WINDOW / 2).is_empty());
        let mut counted = over(&mut kinds, WINDOW, start + WINDOW + Duration::from_secs(1));
        assert_eq!(counted.len(), 2);
        let facts: Vec<_> = counted.remove(0).facts;
        assert!(
            matches!(
                &facts[..],
                [("why", _), ("more", Fact::Number(499)), ("seconds", Fact::Number(60 | 61))]
            ),
            "{facts:?}"
        );
        // The next one has a line again, and a single one has no number.
        assert!(note(&mut kinds, 0, "turned away", why("w"), start + 2 * WINDOW).is_some());
        assert!(over(&mut kinds, WINDOW, start + 4 * WINDOW).is_empty() && kinds.is_empty());
    }
}
