//! One value for each other party.

use std::slice;

use serde::{Deserialize, Serialize};

/// A value for the other party of a run, or for each of several.
///
/// In JSON, the first is the value itself and the second a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OfOthers<T> {
    /// The value of the only other party.
    One(T),
    /// A value for each of several, in the order of their numbers.
    Several(Vec<T>),
}

impl<T> OfOthers<T> {
    /// Returns the values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Several(values) => values,
        }
    }

    /// Returns an iterator over the values.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.as_slice().iter()
    }

    /// Applies a function to each value.
    pub fn map<U>(&self, apply: impl Fn(&T) -> U) -> OfOthers<U> {
        match self {
            Self::One(value) => OfOthers::One(apply(value)),
            Self::Several(values) => OfOthers::Several(values.iter().map(apply).collect()),
        }
    }

    /// Returns the value of the only other party, if there is one.
    pub fn only(&self) -> Option<&T> {
        match self {
            Self::One(value) => Some(value),
            Self::Several(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_written_without_a_list() {
        for (others, text) in [
            (OfOthers::One(5_u64), "5"),
            (OfOthers::Several(vec![5, 6]), "[5,6]"),
            (OfOthers::Several(vec![5]), "[5]"),
        ] {
            assert_eq!(serde_json::to_string(&others).unwrap(), text);
            assert_eq!(serde_json::from_str::<OfOthers<u64>>(text).unwrap(), others);
        }
    }
}
