//! Questions over HTTP or WebSocket: identifies the client, checks its limits, and answers.

use std::{
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use hyper::{HeaderMap, header::HeaderValue};
use vesica_list::{
    exchange::{MAX_QUESTION, items},
    voprf::ELEMENT_BYTES,
};
use vesica_list_store::serving::Served;

use crate::{
    answers::{Answers, Outcome},
    clients::{Client, Tokens},
    counts::{Counts, Present},
    forwarded::forwarded,
    limits::Rejection,
    refused::Refused,
    visitors::{self, Allowance, Holding, Taken, Visitors},
};

/// Length of the longest question, in bytes.
pub(crate) const LONGEST: usize = ELEMENT_BYTES * MAX_QUESTION;

/// Delay before a refusal that the client could have avoided, so that retrying at once gains nothing.
const PENANCE: Duration = Duration::from_secs(1);

/// The state needed to answer questions.
pub(crate) struct AnswerContext {
    pub(crate) list: Arc<RwLock<Arc<Served>>>,
    pub(crate) answers: Answers,
    pub(crate) visitors: Arc<Visitors>,
    pub(crate) counts: Arc<Counts>,
    /// The clients that may ask, or `None` if anybody may.
    pub(crate) tokens: Option<Tokens>,
    /// Origins whose pages may ask, or `*` for all.
    pub(crate) origins: Vec<String>,
    /// Whether the client's address is the last one in the last X-Forwarded-For.
    pub(crate) is_proxied: bool,
    /// Time limit for receiving a question.
    pub(crate) patience: Duration,
}

impl AnswerContext {
    /// Returns the list served now.
    pub(crate) fn served(&self) -> Arc<Served> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether pages of this origin may ask.
    pub(crate) fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || origin == allowed.as_str())
    }

    /// Returns the client's address, which a proxy may have forwarded.
    pub(crate) fn origin(&self, headers: &HeaderMap, address: IpAddr) -> Result<IpAddr, Refused> {
        let forwarded = if self.is_proxied { forwarded(headers)? } else { None };
        Ok(forwarded.unwrap_or(address))
    }

    /// Returns the client at this address, identified by its token if tokens are required.
    pub(crate) fn client(&self, headers: &HeaderMap, origin: IpAddr) -> Result<Client, Refused> {
        match &self.tokens {
            Some(tokens) => tokens.client(headers).ok_or(Refused::NoToken),
            None => Ok(Client::at(origin)),
        }
    }

    /// Waits for the turn of a client that sends something.
    pub(crate) async fn turn(&self, client: Client) -> Result<(), Refused> {
        let wait = self.visitors.turn(client, Allowance::Request, 1, Instant::now());
        let wait = wait.ok_or(Refused::Limit(Rejection::Client(visitors::PATIENCE)))?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// Waits until the next bytes of a file may be sent. All connections of a client share one pace.
    pub(crate) async fn pace(&self, client: Client, bytes: usize) {
        let turns = bytes.div_ceil(1 << 10) as u32;
        loop {
            match self.visitors.turn(client, Allowance::Kilobyte, turns, Instant::now()) {
                Some(wait) => return tokio::time::sleep(wait).await,
                None => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Checks whether a question of this length (or of unknown length) would be answered now, and reserves memory for
    /// it and its answer.
    pub(crate) fn expect(
        &self,
        client: Client,
        epoch: u64,
        bytes: Option<usize>,
    ) -> Result<Taken, Refused> {
        let now = Instant::now();
        let count = self.count(epoch, bytes.unwrap_or(ELEMENT_BYTES))?;
        self.visitors.look(client, count, now).map_err(Refused::Limit)?;
        let room = 2 * bytes.unwrap_or(LONGEST);
        self.visitors.place(client, Holding::Bytes, room, now).ok_or(Refused::Busy)
    }

    /// Returns the number of items in a question of this length about this epoch.
    fn count(&self, epoch: u64, bytes: usize) -> Result<usize, Refused> {
        if bytes > LONGEST {
            return Err(Refused::TooMany);
        }
        let count = items(bytes).ok_or(Refused::Malformed)?;
        match self.served().head().epoch {
            now if now == epoch => Ok(count),
            now => Err(Refused::Epoch(now)),
        }
    }

    /// Answers a question in its turn.
    pub(crate) async fn ask(
        &self,
        client: Client,
        epoch: u64,
        question: Vec<u8>,
    ) -> Result<Vec<u8>, Refused> {
        let began = Instant::now();
        let count = self.count(epoch, question.len())?;
        self.visitors.ask(client, count, began).map_err(Refused::Limit)?;
        let waiting = Present::new(&self.counts.waiting);
        let answer = self.answers.ask(client, epoch, question).map_err(|_| Refused::Busy)?;
        let outcome = answer.await;
        drop(waiting);
        match outcome {
            Ok(Outcome::Answer(answer)) => {
                self.counts.answered(count, began.elapsed());
                Ok(answer)
            }
            Ok(Outcome::Epoch(epoch)) => Err(Refused::Epoch(epoch)),
            Ok(Outcome::Malformed) => Err(Refused::Malformed),
            Err(_) => Err(Refused::Busy),
        }
    }

    /// Counts a refusal, and delays it if the client could have avoided it.
    pub(crate) async fn refuse(&self, why: Refused) {
        self.counts.refuse(why);
        if why.is_avoidable() {
            tokio::time::sleep(PENANCE).await;
        }
    }
}
