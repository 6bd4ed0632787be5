//! Questions, from whoever asks and by whichever way: who it is, whether it may, and the answer.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use hyper::{HeaderMap, StatusCode, header::HeaderValue};
use vesica::lists::Served;
use vesica_list::exchange::{MAX_QUESTION, items};

use crate::{
    answers::{Answers, Outcome},
    clients::{Client, Tokens},
    limits::{Limiter, Refusal},
};

/// What is needed to answer.
pub(crate) struct Asking {
    pub(crate) list: Arc<RwLock<Arc<Served>>>,
    pub(crate) answers: Answers,
    pub(crate) limiter: Mutex<Limiter>,
    pub(crate) tokens: Tokens,
    /// Origins whose pages may ask; `*` for all.
    pub(crate) origins: Vec<String>,
    /// Whether the last address in X-Forwarded-For is the client's.
    pub(crate) is_proxied: bool,
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Malformed,
    TooMany,
    NoToken,
    Epoch(u64),
    Limit(Refusal),
    Busy,
}

impl Refused {
    /// The status, a word, and a sentence.
    pub(crate) fn said(self) -> (StatusCode, &'static str, String) {
        let wait = |wait: Duration| format!("try again in {} seconds", wait.as_secs() + 1);
        match self {
            Self::Malformed => {
                let what = "a question is elements of 32 bytes each, beside the number of an epoch";
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

impl Asking {
    /// The list that is served now.
    pub(crate) fn served(&self) -> Arc<Served> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether pages of this origin may ask.
    pub(crate) fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || origin == allowed.as_str())
    }

    /// Who asks.
    pub(crate) fn client(&self, headers: &HeaderMap, address: IpAddr) -> Result<Client, Refused> {
        if !self.tokens.is_empty() {
            return self.tokens.client(headers).ok_or(Refused::NoToken);
        }
        let forwarded = headers.get("x-forwarded-for").filter(|_| self.is_proxied);
        let last =
            forwarded.and_then(|all| all.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        Ok(Client::at(last.unwrap_or(address)))
    }

    /// The answer to a question, in its turn.
    pub(crate) async fn ask(
        &self,
        client: Client,
        epoch: u64,
        question: Vec<u8>,
    ) -> Result<Vec<u8>, Refused> {
        let count = items(question.len()).ok_or(Refused::Malformed)?;
        let now = self.served().head().epoch;
        if epoch != now {
            return Err(Refused::Epoch(now));
        }
        {
            let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
            limiter.take(client, count, Instant::now()).map_err(Refused::Limit)?;
        }
        let answer = self.answers.ask(client, epoch, question).map_err(|_| Refused::Busy)?;
        match answer.await {
            Ok(Outcome::Answer(answer)) => Ok(answer),
            Ok(Outcome::Epoch(epoch)) => Err(Refused::Epoch(epoch)),
            Ok(Outcome::Malformed) => Err(Refused::Malformed),
            Err(_) => Err(Refused::Busy),
        }
    }
}
