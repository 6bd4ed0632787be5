//! The reasons why questions are refused, and the responses to clients.

use hyper::StatusCode;
use serde_json::{Value, json};
use vesica_list::exchange::MAX_QUESTION;

use crate::limits::Rejection;

/// The reason why a question is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Malformed,
    TooMany,
    NoToken,
    /// A proxy did not forward the client's address.
    Forwarded,
    Epoch(u64),
    Limit(Rejection),
    Busy,
}

impl Refused {
    /// Returns whether the client could have avoided the refusal, for example by keeping to its limit.
    pub(crate) fn is_avoidable(self) -> bool {
        match self {
            Self::NoToken | Self::Busy | Self::Limit(Rejection::Client(_) | Rejection::Never) => {
                true
            }
            Self::Malformed
            | Self::Forwarded
            | Self::TooMany
            | Self::Epoch(_)
            | Self::Limit(Rejection::All(_)) => false,
        }
    }

    /// Returns the status, a keyword and a sentence.
    fn said(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::Malformed => {
                let what = "the body must be 32-byte elements, and the address must name an epoch";
                (StatusCode::BAD_REQUEST, "malformed", what.to_owned())
            }
            Self::Forwarded => {
                let what = "the last X-Forwarded-For header does not end with an address";
                (StatusCode::BAD_REQUEST, "malformed", what.to_owned())
            }
            Self::TooMany => {
                let what = format!("a question may have at most {MAX_QUESTION} elements");
                (StatusCode::PAYLOAD_TOO_LARGE, "too-many", what)
            }
            Self::NoToken => {
                let what = "this list answers only clients with a token";
                (StatusCode::UNAUTHORIZED, "token", what.to_owned())
            }
            Self::Epoch(epoch) => {
                let what = format!("the list is now at epoch {epoch}; fetch it again");
                (StatusCode::CONFLICT, "epoch", what)
            }
            Self::Limit(Rejection::Never) => {
                let what = "the question has more items than the limit allows at once".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "limit", what)
            }
            Self::Limit(Rejection::Client(_)) => {
                let what = "this client has reached its limit".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "limit", what)
            }
            Self::Limit(Rejection::All(_)) => {
                let what = "all clients together have reached the limit".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "limit", what)
            }
            Self::Busy => {
                let what = "too many questions are pending".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "busy", what)
            }
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.said().0
    }

    /// Returns the seconds after which the client may try again.
    pub(crate) fn retry_after(self) -> Option<u64> {
        match self {
            Self::Limit(Rejection::Client(wait) | Rejection::All(wait)) => Some(wait.as_secs() + 1),
            Self::Busy => Some(1),
            _ => None,
        }
    }

    /// Returns the keyword and the sentence as JSON, with the numbers as separate fields for programs.
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
            let json = Refused::Limit(Rejection::Client(wait)).json();
            assert_eq!(json["retryAfter"], after);
            assert!(json["message"].as_str().unwrap().ends_with(end), "{json}");
        }
        assert!(Refused::Malformed.json().get("retryAfter").is_none());
    }
}
