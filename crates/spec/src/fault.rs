//! Faults of options, for programs to match and for people to read.

use std::fmt;

use vesica_core::words::counted;

/// A fault of options. Options have their names as in JSON: `send-bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The option does not exist.
    Unknown {
        /// The name.
        option: String,
    },
    /// The option cannot have this value.
    Value {
        /// The option.
        option: &'static str,
        /// The values that it can have, or why it cannot have this one.
        said: String,
    },
    /// Two options exclude each other.
    Excludes {
        /// The first option.
        option: &'static str,
        /// The other one.
        other: &'static str,
    },
    /// An option makes sense only with another one.
    Requires {
        /// The option.
        option: &'static str,
        /// The option that is missing.
        other: &'static str,
    },
    /// The agreement settles these options.
    Settled {
        /// The options.
        options: Vec<&'static str>,
    },
    /// One of these options is necessary.
    Missing {
        /// The options.
        options: &'static [&'static str],
        /// The purpose, after "say": "who learns the result".
        purpose: &'static str,
    },
    /// The option makes no sense in this job.
    Unfit {
        /// The option.
        option: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// `normalize` names a different number of profiles than `key` has columns.
    Profiles {
        /// The number of profiles.
        profiles: usize,
        /// The number of columns.
        columns: usize,
    },
    /// `key` names a different number of columns or identifiers than the agreement.
    KeyColumns {
        /// The number of columns of the agreement.
        agreed: usize,
        /// The number of columns that are named.
        named: usize,
    },
    /// `answer` differs from the agreement's answer.
    AgreedAnswer {
        /// The answer of the agreement.
        answer: String,
        /// Whether this side contributes values under the agreement.
        brings_values: bool,
    },
}

impl Fault {
    /// Returns the options that the fault is about.
    pub fn options(&self) -> Vec<&str> {
        match self {
            Self::Unknown { option } => vec![option],
            Self::Value { option, .. } | Self::Unfit { option, .. } => vec![option],
            Self::Excludes { option, other } | Self::Requires { option, other } => {
                vec![option, other]
            }
            Self::Settled { options } => options.clone(),
            Self::Missing { options, .. } => options.to_vec(),
            Self::Profiles { .. } => vec!["normalize", "key"],
            Self::KeyColumns { .. } => vec!["key"],
            Self::AgreedAnswer { .. } => vec!["answer"],
        }
    }

    /// Words the fault, with the names of options in the notation of a surface.
    pub fn words(&self, notation: impl Fn(&str) -> String) -> String {
        let all = |options: &[&str], last: &str| {
            let mut named: Vec<_> = options.iter().map(|option| notation(option)).collect();
            match (named.pop(), named.is_empty()) {
                (Some(end), false) => format!("{} {last} {end}", named.join(", ")),
                (end, _) => end.unwrap_or_default(),
            }
        };
        match self {
            Self::Unknown { option } => format!("unknown option {}", notation(option)),
            Self::Value { option, said } => format!("{}: {said}", notation(option)),
            Self::Excludes { option, other } => {
                format!("{} exclude each other", all(&[option, other], "and"))
            }
            Self::Requires { option, other } => {
                format!("{} requires {}", notation(option), notation(other))
            }
            Self::Settled { options } => {
                let them = if options.len() == 1 { "it" } else { "them" };
                format!("the agreement settles {}: leave {them} out", all(options, "and"))
            }
            Self::Missing { options, purpose } => {
                format!("say {purpose} with {}", all(options, "or"))
            }
            Self::Unfit { option, why } => format!("{} {why}", notation(option)),
            Self::Profiles { profiles, columns } => format!(
                "{} names {}, but the key has {}: name one for all columns, or one for each",
                notation("normalize"),
                counted(*profiles as u64, "profile"),
                counted(*columns as u64, "column"),
            ),
            Self::KeyColumns { agreed, named } => format!(
                "the agreement compares keys of {}, but {} names {}",
                counted(*agreed as u64, "column"),
                notation("key"),
                counted(*named as u64, "column"),
            ),
            Self::AgreedAnswer { answer, brings_values } => {
                let brings = if *brings_values { "a column of values" } else { "no values" };
                format!(
                    "under the agreement the answer is {answer}, and this side provides {brings}"
                )
            }
        }
    }
}

/// Uses the notation of flags, like errors of the layers below.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|option| format!("--{option}")))
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for vesica_core::error::Error {
    fn from(fault: Fault) -> Self {
        Self::usage(vesica_core::error::Misuse::Argument, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_surface_names_options_in_its_own_notation() {
        let fault = Fault::Requires { option: "send-bytes", other: "send" };
        assert_eq!(fault.to_string(), "--send-bytes requires --send");
        assert_eq!(fault.words(|name| format!("`{name}`")), "`send-bytes` requires `send`");
        assert_eq!(fault.words(|name| name.replace('-', "_")), "send_bytes requires send");
        assert_eq!(fault.options(), ["send-bytes", "send"]);
        let options = &["listen", "connect", "relay"];
        let fault = Fault::Missing { options, purpose: "how to reach the other side" };
        assert_eq!(
            fault.to_string(),
            "say how to reach the other side with --listen, --connect or --relay"
        );
        let fault = Fault::Settled { options: vec!["scale"] };
        assert_eq!(fault.to_string(), "the agreement settles --scale: leave it out");
    }
}
