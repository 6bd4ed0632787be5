//! The page of all errors that a user can see, extracted from the sources.
//!
//! An error is the text of an `#[error(…)]` attribute or of a call such as `Failure::usage(…)`. Its class follows from
//! the enum or from the call.

mod literal;

use std::{collections::BTreeMap, fmt::Write as _};

use self::literal::{Literal, after, argument, arguments, errors};
use crate::repository::Tree;

/// A class of errors: its exit code, its title, and the general remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Usage,
    Input,
    Network,
    Terms,
    Peer,
    Unconfirmed,
    Policy,
    TooFew,
    Bug,
    Cancelled,
}

impl Class {
    const ALL: [Self; 10] = [
        Self::Usage,
        Self::Input,
        Self::Network,
        Self::Terms,
        Self::Peer,
        Self::Unconfirmed,
        Self::Policy,
        Self::TooFew,
        Self::Bug,
        Self::Cancelled,
    ];

    /// Returns the exit code, the title, and the general remedy.
    fn described(self) -> (u8, &'static str, &'static str) {
        match self {
            Self::Usage => (2, "Usage", "Correct the options; `--help` explains them."),
            Self::Input => (3, "Input", "Correct the file that the message names."),
            Self::Network => {
                (4, "Network", "Check the address and the other side, and run the command again.")
            }
            Self::Terms => (
                5,
                "Terms",
                "Agree with the other side on the same terms; both sides get this error.",
            ),
            Self::Peer => (
                6,
                "Peer",
                "The other side runs another or a changed program, or attacks; ask its operator.",
            ),
            Self::Unconfirmed => (
                7,
                "Unconfirmed",
                "The result is complete. Ask the other side whether it has its own.",
            ),
            Self::Policy => {
                (8, "Policy", "The policy works as intended; change it only by agreement.")
            }
            Self::TooFew => {
                (9, "Too few", "There is no answer. The report and the record say the same.")
            }
            Self::Bug => (70, "Bug", "Report it, with the message."),
            Self::Cancelled => (130, "Stopped", "Run the command again."),
        }
    }
}

/// The crates whose errors users can see, in the order of the page.
const CRATES: [&str; 15] = [
    "cli",
    "spec",
    "vesica",
    "agree",
    "run",
    "task",
    "table",
    "keyset",
    "normalize",
    "partner",
    "gateway",
    "list-store",
    "list",
    "net",
    "core",
];

/// Files whose `#[error(…)]` attributes users do not see as they are: others word these errors.
const INTERNAL: [&str; 2] = ["crates/list/src/voprf/mod.rs", "crates/gateway/src/client.rs"];

/// The class of an enum of errors, and the text before each.
struct Enum {
    file: &'static str,
    name: &'static str,
    class: Class,
    before: &'static str,
    /// Variants of another class.
    but: &'static [(Class, &'static [&'static str])],
}

const ENUMS: [Enum; 13] = [
    Enum {
        file: "crates/core/src/error.rs",
        name: "Error",
        class: Class::Input,
        before: "",
        but: &[
            (Class::Policy, &["Policy"]),
            (Class::Terms, &["Terms", "Version"]),
            (Class::Network, &["TooManyAttempts", "AlreadyRevealed", "Origin"]),
            (Class::Bug, &["Bug"]),
        ],
    },
    Enum {
        file: "crates/core/src/input_fault.rs",
        name: "InputFault",
        class: Class::Input,
        before: "{file}: ",
        but: &[],
    },
    Enum {
        file: "crates/core/src/refusal.rs",
        name: "Refusal",
        class: Class::Policy,
        before: "the policy refuses this run: ",
        but: &[],
    },
    Enum {
        file: "crates/list/src/error.rs",
        name: "Error",
        class: Class::Peer,
        before: "",
        but: &[
            (Class::Input, &["TooLarge", "Read", "Damaged"]),
            (Class::Terms, &["Profile", "NullValues", "Version", "Expired"]),
            (Class::Network, &["Epoch"]),
        ],
    },
    Enum {
        file: "crates/list/src/error.rs",
        name: "Fault",
        class: Class::Peer,
        before: "",
        but: &[],
    },
    Enum {
        file: "crates/net/src/error.rs",
        name: "Error",
        class: Class::Network,
        before: "",
        but: &[
            (Class::Cancelled, &["Cancelled"]),
            (Class::Terms, &["SameSide"]),
            (Class::Peer, &["Peer"]),
        ],
    },
    Enum {
        file: "crates/net/src/error.rs",
        name: "Deviation",
        class: Class::Peer,
        before: "the other side broke the protocol while {phase}: ",
        but: &[],
    },
    Enum {
        file: "crates/net/src/identity.rs",
        name: "IdentityError",
        class: Class::Input,
        before: "{file}: ",
        but: &[],
    },
    Enum {
        file: "crates/normalize/src/null_values.rs",
        name: "NullValuesError",
        class: Class::Usage,
        before: "",
        but: &[],
    },
    Enum {
        file: "crates/partner/src/signed.rs",
        name: "SignedError",
        class: Class::Input,
        before: "{file}: ",
        but: &[],
    },
    Enum {
        file: "crates/run/src/shortfall.rs",
        name: "Shortfall",
        class: Class::Unconfirmed,
        before: "",
        but: &[],
    },
    Enum {
        file: "crates/spec/src/error.rs",
        name: "Error",
        class: Class::Input,
        before: "",
        but: &[],
    },
    Enum {
        file: "crates/spec/src/fault.rs",
        name: "Fault",
        class: Class::Usage,
        before: "",
        but: &[],
    },
];

/// Calls that make an error of a class, and the number of the argument with the text.
const CALLS: [(&str, Class, usize); 6] = [
    ("Failure::usage(", Class::Usage, 0),
    ("Failure::input(", Class::Input, 0),
    ("Error::usage(", Class::Usage, 1),
    ("self.failed(", Class::Input, 0),
    ("Refusal::new(", Class::Policy, 1),
    ("Failure::new(TOO_FEW,", Class::TooFew, 1),
];

/// The verbs with which a remedy begins.
const REMEDIES: [&str; 43] = [
    "add", "allow", "ask", "begin", "check", "choose", "confirm", "copy", "correct", "decrypt",
    "do", "fetch", "first", "give", "install", "keep", "leave", "let", "lower", "make", "move",
    "name", "pass", "plan", "publish", "put", "raise", "read", "remove", "rename", "restore",
    "run", "say", "see", "set", "split", "treat", "try", "unpack", "unset", "use", "wait", "write",
];

/// Returns the page in Markdown.
pub fn markdown(tree: &Tree) -> String {
    let mut all = BTreeMap::<Class, Vec<String>>::new();
    for name in CRATES {
        let folder = format!("crates/{name}/src/");
        for (path, source) in tree.files() {
            if path.starts_with(&folder) && path.ends_with(".rs") {
                for (class, text) in of_file(path, source) {
                    let texts = all.entry(class).or_default();
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
        }
    }
    let mut page = "# Errors\n\n*For everybody who reads an error message, or handles one in a program. Generated from the \
                    sources by `cargo xtask docs`.*\n\nThe class of an error says whose fault it is, and is the exit code of \
                    the program. Words in braces stand for a name, a number or another message. No message holds a value of a \
                    table. The general remedy of a class stands above its errors; a remedy beside an error comes from its \
                    message.\n"
        .to_owned();
    for class in Class::ALL {
        let (code, title, remedy) = class.described();
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {title} (exit code {code})\n\n{remedy}\n");
        let Some(texts) = all.get(&class) else { continue };
        let _ = write!(page, "\n| error | remedy |\n|---|---|\n");
        for text in texts {
            let (fault, remedy) = divided(text);
            let _ = writeln!(page, "| {} | {} |", cell(fault), cell(remedy));
        }
    }
    page
}

/// Divides a message into the fault and the remedy, which may be empty.
fn divided(text: &str) -> (&str, &str) {
    let is_remedy = |rest: &str| {
        let first = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let is_command = rest.starts_with('`') && rest.contains("` ");
        is_command || REMEDIES.contains(&first.to_lowercase().as_str())
    };
    let ends = ["; ", ": ", ". "];
    let mut places: Vec<_> =
        ends.iter().flat_map(|end| text.match_indices(end).map(|(at, _)| at)).collect();
    places.sort_unstable();
    let found = places.into_iter().find(|at| is_remedy(&text[at + 2..]));
    found.map_or((text, ""), |at| (&text[..at], &text[at + 2..]))
}

/// Returns a text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Returns the errors of a file in the order of their appearance.
fn of_file(path: &str, source: &str) -> Vec<(Class, String)> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    for error in errors(code).into_iter().filter(|_| !INTERNAL.contains(&path)) {
        let of = |known: &&Enum| known.file == path && known.name == error.of;
        let Some(known) = ENUMS.iter().find(of) else { continue };
        let Some(text) = error.text.filter(|text| !is_only_words(text)) else { continue };
        let other = known.but.iter().find(|(_, variants)| variants.contains(&&*error.variant));
        let class = other.map_or(known.class, |(class, _)| *class);
        found.push((class, format!("{}{text}", known.before)));
    }
    for (call, class, number) in CALLS {
        for at in after(code, call) {
            let all = arguments(&code[at..]);
            let number = number - usize::from(call.ends_with(','));
            let text = all.get(number).and_then(|text| argument(text, &code[..at]));
            let before = if call.starts_with("self.") { "{file}: " } else { "" };
            let text = text.filter(|text| !is_only_words(text));
            found.extend(text.map(|text| (class, format!("{before}{text}"))));
        }
    }
    if path == "crates/spec/src/fault.rs" {
        let words = code.split("pub fn words(").nth(1).unwrap_or_default();
        let words = words.split("\n    }\n").next().unwrap_or_default();
        for at in after(words, "format!(") {
            let literal = Literal::at(&words[at..]).map(|literal| literal.text(words, at));
            found.extend(
                literal.filter(|text| !is_only_words(text)).map(|text| (Class::Usage, text)),
            );
        }
    }
    found
}

/// Returns whether a text has placeholders only, so that other texts say what it says.
fn is_only_words(text: &str) -> bool {
    let mut depth = 0;
    let outside = text.chars().filter(|c| match c {
        '{' => {
            depth += 1;
            false
        }
        '}' => {
            depth -= 1;
            false
        }
        _ => depth == 0,
    });
    !outside.collect::<String>().contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn errors_have_their_class_and_readable_placeholders() {
        let source = r#"
pub enum Error {
    /// A variant.
    #[error("cannot listen at {address}: {source} ({})", doing(phase))]
    Bind { address: String },
    #[error(
        "stopped on request \
         while {}", self.phase.name()
    )]
    Cancelled,
    #[error(transparent)]
    Other,
}
"#;
        let found = of_file("crates/net/src/error.rs", source);
        let bind = "cannot listen at {address}: {source} ({phase})".to_owned();
        let cancelled = "stopped on request while {phase}".to_owned();
        assert_eq!(found, [(Class::Network, bind), (Class::Cancelled, cancelled)]);
    }

    #[test]
    fn calls_give_their_literal_even_from_a_variable() {
        let source = r#"
fn f() {
    let message = "name a job";
    return Err(Failure::usage(message));
    Failure::input(format!("{}: has {count:>5} rows", path.display()))
    Error::usage(Misuse::Noise, "two\"quotes\"")
    Failure::input(error.to_string())
}
"#;
        let found = of_file("crates/cli/src/x.rs", source);
        let text = |class, text: &str| (class, text.to_owned());
        assert_eq!(
            found,
            [
                text(Class::Usage, "name a job"),
                text(Class::Input, "{path}: has {count} rows"),
                text(Class::Usage, "two\"quotes\""),
            ]
        );
    }

    #[test]
    fn remedy_is_the_part_that_asks_for_something() {
        for (text, fault, remedy) in [
            ("has no header; write one", "has no header", "write one"),
            (
                "x: has {n}: remove it, or choose another",
                "x: has {n}",
                "remove it, or choose another",
            ),
            ("the connection was lost: {source}", "the connection was lost: {source}", ""),
        ] {
            assert_eq!(divided(text), (fault, remedy));
        }
    }

    #[test]
    fn every_enum_of_errors_has_a_class() {
        let tree = Repository::here().unwrap().tree().unwrap();
        for name in CRATES {
            let folder = format!("crates/{name}/src/");
            for (path, source) in tree.files().filter(|(path, _)| path.starts_with(&folder)) {
                let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                for error in errors(code).iter().filter(|_| !INTERNAL.contains(&path)) {
                    let of = |known: &Enum| known.file == path && known.name == error.of;
                    assert!(ENUMS.iter().any(of), "{path}: {}", error.of);
                }
            }
        }
    }
}
