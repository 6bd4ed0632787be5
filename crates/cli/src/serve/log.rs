//! What a service says of itself: a line for each event, without identifiers.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use vesica::{partnership::Moment, report::shown};

/// For how long events of one kind have one line, and one more that says how many there were.
const WINDOW: Duration = Duration::from_secs(60);

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    Text,
    Json,
}

/// Writes lines to standard error.
#[derive(Clone, Copy)]
pub struct Log(Form);

impl Log {
    pub fn new(form: Form) -> Self {
        Self(form)
    }

    /// Something happened, about which there are these facts.
    pub fn event(&self, what: &str, facts: &[(&str, &str)]) {
        crate::say(&line(self.0, &Moment::now().to_string(), what, facts));
    }

    fn facts(&self, what: &str, facts: &[(&'static str, String)]) {
        let facts: Vec<_> = facts.iter().map(|(name, fact)| (*name, fact.as_str())).collect();
        self.event(what, &facts);
    }
}

/// A log of events that others can cause as often as they like: the first of a kind has its line, and those that
/// follow it within a minute have one together, which says how many they were. There must be few kinds.
pub struct Counted<K> {
    log: Log,
    kinds: Mutex<HashMap<K, Repeated>>,
}

/// Events of one kind after the first, which has its line.
struct Repeated {
    since: Instant,
    what: &'static str,
    facts: Vec<(&'static str, String)>,
    more: u64,
}

impl<K: Eq + Hash> Counted<K> {
    pub fn new(log: Log) -> Self {
        Self { log, kinds: Mutex::default() }
    }

    /// Something of this kind happened.
    pub fn event(&self, kind: K, what: &'static str, facts: Vec<(&'static str, String)>) {
        if let Some(facts) = note(&mut self.kinds(), kind, what, facts, Instant::now()) {
            self.log.facts(what, &facts);
        }
    }

    /// Says how many events there were, of each kind whose minute is over. Call it about every second.
    pub fn look(&self) {
        self.say(WINDOW);
    }

    /// As [`Counted::look`], of all kinds.
    pub fn end(&self) {
        self.say(Duration::ZERO);
    }

    fn say(&self, age: Duration) {
        for Repeated { what, facts, .. } in over(&mut self.kinds(), age, Instant::now()) {
            self.log.facts(what, &facts);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<K, Repeated>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The facts of a line, if the event is the first of its kind.
fn note<K: Eq + Hash>(
    kinds: &mut HashMap<K, Repeated>,
    kind: K,
    what: &'static str,
    facts: Vec<(&'static str, String)>,
    now: Instant,
) -> Option<Vec<(&'static str, String)>> {
    if let Some(known) = kinds.get_mut(&kind) {
        known.more += 1;
        return None;
    }
    kinds.insert(kind, Repeated { since: now, what, facts: facts.clone(), more: 0 });
    Some(facts)
}

/// Takes the kinds that are so old, and returns those that need a line, with the facts of it.
fn over<K: Eq + Hash>(
    kinds: &mut HashMap<K, Repeated>,
    age: Duration,
    now: Instant,
) -> Vec<Repeated> {
    let old = kinds.extract_if(|_, kind| now.saturating_duration_since(kind.since) >= age);
    let mut lines: Vec<_> = old.map(|(_, kind)| kind).filter(|kind| kind.more > 0).collect();
    for Repeated { facts, more, since, .. } in &mut lines {
        let seconds = now.saturating_duration_since(*since).as_secs();
        facts.extend([("more", more.to_string()), ("seconds", seconds.to_string())]);
    }
    lines
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

    #[test]
    fn events_that_repeat_within_a_minute_are_counted() {
        let (mut kinds, start) = (HashMap::new(), Instant::now());
        let why = |why: &str| vec![("why", why.to_owned())];
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
        let facts: Vec<_> = facts.iter().map(|(name, fact)| (*name, fact.as_str())).collect();
        assert!(
            matches!(facts[..], [("why", "w"), ("more", "499"), ("seconds", "60" | "61")]),
            "{facts:?}"
        );
        // The next one has a line again, and a single one has no number.
        assert!(note(&mut kinds, 0, "turned away", why("w"), start + 2 * WINDOW).is_some());
        assert!(over(&mut kinds, WINDOW, start + 4 * WINDOW).is_empty() && kinds.is_empty());
    }
}
