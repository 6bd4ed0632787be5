//! The threads that answer questions.

use std::{
    sync::{Arc, RwLock},
    thread::{self, JoinHandle},
};

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use tokio::sync::oneshot;
use vesica_list::exchange::answer;
use vesica_list_store::serving::Served;

use crate::{
    clients::Client,
    queue::{Full, Queue},
};

/// A question, and the channel for its answer.
struct Job {
    epoch: u64,
    question: Vec<u8>,
    reply: oneshot::Sender<Outcome>,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The answer.
    Answer(Vec<u8>),
    /// The question is for another epoch than the list, which has this one.
    Epoch(u64),
    /// The message is not a question.
    Malformed,
}

/// The threads that answer questions.
pub(crate) struct Answers {
    queue: Arc<Queue<Client, Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Answers {
    /// Starts this many threads. Each question is answered from the list served at that time.
    pub(crate) fn new(threads: usize, list: &Arc<RwLock<Arc<Served>>>) -> Self {
        let queue = Arc::new(Queue::new(threads));
        let spawn = |_| {
            let (queue, list) = (queue.clone(), list.clone());
            thread::spawn(move || work(&queue, &list))
        };
        Self { threads: (0..threads).map(spawn).collect(), queue }
    }

    /// Queues a question, and returns the channel for its answer.
    pub(crate) fn ask(
        &self,
        client: Client,
        epoch: u64,
        question: Vec<u8>,
    ) -> Result<oneshot::Receiver<Outcome>, Full> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(client, Job { epoch, question, reply })?;
        Ok(answer)
    }

    /// Ends the threads.
    pub(crate) fn stop(self) {
        self.queue.close();
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn work(queue: &Queue<Client, Job>, list: &RwLock<Arc<Served>>) {
    // Each question uses one thread: the thread's pool contains only itself.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let Ok(mut rng) = StdRng::try_from_rng(&mut SysRng) else { return };
    while let Some((client, Job { epoch, question, reply })) = queue.pop() {
        let list =
            list.read().map(|list| list.clone()).unwrap_or_else(|list| list.into_inner().clone());
        let outcome = if epoch != list.head().epoch {
            Outcome::Epoch(list.head().epoch)
        } else {
            match answer(list.key(), &question, &mut rng) {
                Ok(answer) => Outcome::Answer(answer),
                Err(_) => Outcome::Malformed,
            }
        };
        queue.done(client);
        // If the connection is closed, nobody waits for the answer.
        let _ = reply.send(outcome);
    }
    drop(alone);
}
