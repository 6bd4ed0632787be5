//! Why questions are refused, and what clients are told.

use std::time::Duration;

use hyper::StatusCode;
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

    /// The status, a word, and a sentence.
    pub(crate) fn said(self) -> (StatusCode, &'static str, String) {
        let wait = |wait: Duration| format!("try again in {} seconds", wait.as_secs() + 1);
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
                let what = "this list answers clients with a token alone";
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
            Self::Limit(Refusal::Client(after)) => {
                let what = format!("this client has asked for as much as it may; {}", wait(after));
                (StatusCode::TOO_MANY_REQUESTS, "limit", what)
            }
            Self::Limit(Refusal::All(after)) => {
                let what = format!("all clients together ask too much; {}", wait(after));
                (StatusCode::SERVICE_UNAVAILABLE, "limit", what)
            }
            Self::Busy => {
                let what = "too many questions wait; try again in 1 seconds".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "busy", what)
            }
        }
    }
}
