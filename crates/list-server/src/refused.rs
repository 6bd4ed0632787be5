//! Why questions are refused, and what clients are told.

use hyper::StatusCode;
use serde_json::{Value, json};
use vesica_list::exchange::MAX_QUESTION;

use crate::limits::Refusal;

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Malformed,
    TooMany,
    NoToken,
    /// A proxy does not say for whom it asks.
    Forwarded,
    Epoch(u64),
    Limit(Refusal),
    Busy,
}

impl Refused {
    /// Whether it concerns this client alone, and not what is wrong with one question.
    pub(crate) fn is_avoidable(self) -> bool {
        match self {
            Self::NoToken | Self::Busy | Self::Limit(Refusal::Client(_) | Refusal::Never) => true,
            Self::Malformed
            | Self::Forwarded
            | Self::TooMany
            | Self::Epoch(_)
            | Self::Limit(Refusal::All(_)) => false,
        }
    }

    /// Returns the status, a word, and a sentence.
    fn said(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::Malformed => {
                let what = "a question is elements of 32 bytes each, beside the number of an epoch";
                (StatusCode::BAD_REQUEST, "malformed", what.to_owned())
            }
            Self::Forwarded => {
                let what = "the last X-Forwarded-For has no address at its end";
                (StatusCode::BAD_REQUEST, "malformed", what.to_owned())
            }
            Self::TooMany => {
                let what = format!("a question has at most {MAX_QUESTION} elements");
                (StatusCode::PAYLOAD_TOO_LARGE, "too-many", what)
            }
            Self::NoToken => {
                let what = "this list answers only clients with a token";
                (StatusCode::UNAUTHORIZED, "token", what.to_owned())
            }
            Self::Epoch(epoch) => {
                let what = format!("the list is of epoch {epoch} now; fetch it again");
                (StatusCode::CONFLICT, "epoch", what)
            }
            Self::Limit(Refusal::Never) => {
                let what = "more items than may be asked for at once".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "limit", what)
            }
            Self::Limit(Refusal::Client(_)) => {
                let what = "this client has asked for as much as it may".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "limit", what)
            }
            Self::Limit(Refusal::All(_)) => {
                let what = "all clients together ask too much".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "limit", what)
            }
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "busy", "too many questions wait".to_owned())
            }
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.said().0
    }

    /// Returns the seconds after which the client may try again.
    pub(crate) fn retry_after(self) -> Option<u64> {
        match self {
            Self::Limit(Refusal::Client(wait) | Refusal::All(wait)) => Some(wait.as_secs() + 1),
            Self::Busy => Some(1),
            _ => None,
        }
    }

    /// Returns a word and a sentence, and for programs the numbers that are in the sentence.
    pub(crate) fn json(self) -> Value {
        let (_, error, message) = self.said();
        let mut json = json!({ "error": error, "message": message });
        if let Some(seconds) = self.retry_after() {
            let unit = if seconds == 1 { "second" } else { "seconds" };
            json["message"] = format!("{message}; try again in {seconds} {unit}").into();
            json["retryAfter"] = seconds.into();
        }
        if let Self::Epoch(epoch) = self {
            json["epoch"] = epoch.into();
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_are_data_and_in_the_sentence() {
        let epoch = Refused::Epoch(7).json();
        assert_eq!((&epoch["error"], &epoch["epoch"]), (&json!("epoch"), &json!(7)));
        for (wait, after, end) in [(0, 1, "in 1 second"), (1, 2, "in 2 seconds")] {
            let wait = Duration::from_secs(wait);
            let json = Refused::Limit(Refusal::Client(wait)).json();
            assert_eq!(json["retryAfter"], after);
            assert!(json["message"].as_str().unwrap().ends_with(end), "{json}");
        }
        assert!(Refused::Malformed.json().get("retryAfter").is_none());
    }
}
