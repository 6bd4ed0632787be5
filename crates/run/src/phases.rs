//! Descriptions of a run's phases.

use vesica_net::phase;

/// Describes a phase in words.
pub fn described(phase: &str) -> String {
    match vesica_task::activity(phase) {
        Some(activity) => format!("{activity} ({phase})"),
        None => phase::doing(phase),
    }
}

/// Describes what this side waits for in a phase.
pub fn waited_for(phase: &str) -> &'static str {
    match phase {
        "terms" => "waiting for the other side's terms",
        "ask" => {
            "waiting until the publisher answers more queries; a restarted lookup continues from here"
        }
        "read" => "waiting for the other side to read its table",
        "partitions" => "waiting for the other side to sort its keys",
        "finish" => "waiting for the other side to write its result",
        _ => "waiting for the other side to do its part",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every phase has a description that a person can read.
    #[test]
    fn every_phase_of_a_run_has_words() {
        let keys = vesica_psi::CATALOGUE.iter().map(|entry| entry.key);
        let methods = vesica_psi::aggregate::METHODS.iter().map(|entry| entry.key);
        let own = ["terms", "read", "choice", "seed", "partitions", "evaluate", "finish"];
        for phase in keys.chain(methods).chain(own) {
            assert!(described(phase).contains(' '), "{phase}");
        }
    }
}
