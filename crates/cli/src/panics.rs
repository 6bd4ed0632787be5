//! Panics, which must not show what is in a table.

use crate::terminal::say;

/// Makes a panic print where it happened and nothing else: its message might contain data of a table.
pub fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // A library gave a damaged file up; the error says so.
        if vesica::files::is_guarded() {
            return;
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        say(&format!(
            "vesica: internal error at {place}; no result was written. Please report this line."
        ));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTIFIER: &str = "Zq7SENTINEL";

    /// Panics, in the process that the next test starts.
    #[test]
    #[ignore = "started by a_panic_says_where_and_nothing_else: it panics on purpose"]
    fn panicking() {
        hide_panics();
        panic!("while looking at {IDENTIFIER}");
    }

    #[test]
    fn a_panic_says_where_and_nothing_else() {
        let this = std::env::current_exe().unwrap();
        let arguments = ["--ignored", "--exact", "--nocapture", "panics::tests::panicking"];
        let ended = std::process::Command::new(this).args(arguments).output().unwrap();
        let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        assert!(!ended.status.success());
        assert!(
            said.contains("vesica: internal error at ") && said.contains("panics.rs"),
            "{said}"
        );
        assert!(!said.contains(IDENTIFIER), "{said}");
    }
}
