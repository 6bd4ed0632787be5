//! Questions, from whoever asks and by whichever way: who it is, whether it may, and the answer.

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
    limits::Refusal,
    refused::Refused,
    visitors::{self, Holding, Taken, Turn, Visitors},
};

/// Bytes of the longest question.
pub(crate) const LONGEST: usize = ELEMENT_BYTES * MAX_QUESTION;

/// How long a client waits for a refusal that it could have known of, so that it asks no faster.
const PENANCE: Duration = Duration::from_secs(1);

/// What is needed to answer.
pub(crate) struct Asking {
    pub(crate) list: Arc<RwLock<Arc<Served>>>,
    pub(crate) answers: Answers,
    pub(crate) visitors: Arc<Visitors>,
    pub(crate) counts: Arc<Counts>,
    /// The clients that may ask; `None` if anybody may.
    pub(crate) tokens: Option<Tokens>,
    /// Origins whose pages may ask; `*` for all.
    pub(crate) origins: Vec<String>,
    /// Whether the last address of the last X-Forwarded-For is the client's.
    pub(crate) is_proxied: bool,
    /// How long a question may take to come.
    pub(crate) patience: Duration,
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

    /// The address of the client, which a proxy may have forwarded.
    pub(crate) fn origin(&self, headers: &HeaderMap, address: IpAddr) -> Result<IpAddr, Refused> {
        let forwarded = if self.is_proxied { forwarded(headers)? } else { None };
        Ok(forwarded.unwrap_or(address))
    }

    /// The client that asks from this address.
    pub(crate) fn client(&self, headers: &HeaderMap, origin: IpAddr) -> Result<Client, Refused> {
        match &self.tokens {
            Some(tokens) => tokens.client(headers).ok_or(Refused::NoToken),
            None => Ok(Client::at(origin)),
        }
    }

    /// Waits for the turn of a client that sends something.
    pub(crate) async fn turn(&self, client: Client) -> Result<(), Refused> {
        let wait = self.visitors.turn(client, (Turn::Request, 1), Instant::now());
        let wait = wait.ok_or(Refused::Limit(Refusal::Client(visitors::PATIENCE)))?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// Waits until the next bytes of a file may go. All connections of a client have one pace.
    pub(crate) async fn pace(&self, client: Client, bytes: usize) {
        let turns = bytes.div_ceil(1 << 10) as u32;
        loop {
            match self.visitors.turn(client, (Turn::Kilobyte, turns), Instant::now()) {
                Some(wait) => return tokio::time::sleep(wait).await,
                None => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Whether a question of so many bytes, or of any number, would be answered now; and room for it and its answer.
    pub(crate) fn expect(
        &self,
        client: Client,
        epoch: u64,
        bytes: Option<usize>,
    ) -> Result<Taken, Refused> {
        let now = Instant::now();
        let count = self.count(epoch, bytes.unwrap_or(ELEMENT_BYTES))?;
        self.visitors.look(client, count, now).map_err(Refused::Limit)?;
        let room = (Holding::Bytes, 2 * bytes.unwrap_or(LONGEST));
        self.visitors.place(client, room, now).ok_or(Refused::Busy)
    }

    /// How many items a question of so many bytes about this epoch has.
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

    /// The answer to a question, in its turn.
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

    /// Counts a refusal, and waits with it if the client could have known.
    pub(crate) async fn refuse(&self, why: Refused) {
        self.counts.refuse(why);
        if why.is_avoidable() {
            tokio::time::sleep(PENANCE).await;
        }
    }
}
