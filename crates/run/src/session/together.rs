//! The steps that this side takes with the other one, or with all other parties.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
};

use vesica_core::error::{Error, Result};
use vesica_net::{Mesh, Meter};

use super::Session;
use crate::partitions::POLL;

impl Session<'_> {
    /// Returns the channels to all other parties, in a run among several.
    pub(super) fn mesh(&mut self) -> Option<Mesh<'_>> {
        Some(self.circle.as_mut()?.mesh(self.channel))
    }

    /// Keeps all other parties from giving up.
    fn keep_alive(&mut self) -> vesica_net::Result<()> {
        match self.mesh() {
            Some(mut mesh) => mesh.keep_alive(),
            None => self.channel.keep_alive(),
        }
    }

    /// Enters a phase.
    pub fn phase(&mut self, name: &'static str) {
        self.channel.phase(name);
        self.mesh().into_iter().for_each(|mut mesh| mesh.phase(name));
        self.observer.phase(name);
    }

    /// Runs a job of this side on the session's threads, and keeps the other side from giving up in the meantime. A job
    /// cannot be stopped; if the session ends first, the job is left behind.
    ///
    /// # Errors
    /// The job's errors, a lost connection, and a request to stop.
    pub fn meanwhile<T: Send + 'static>(
        &mut self,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, waiting) = mpsc::sync_channel(1);
        let pool = self.pool.clone();
        let work = move || {
            // Nobody receives this if the session ended first.
            let _ = done.send(pool.install(job));
        };
        thread::Builder::new()
            .name("vesica-work".to_owned())
            .spawn(work)
            .map_err(|_| Error::bug("no thread could be started"))?;
        loop {
            match waiting.recv_timeout(POLL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => self.keep_alive()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::bug("a worker thread panicked"));
                }
            }
        }
    }

    /// Announces that this side has reached a step of the end.
    ///
    /// # Errors
    /// Every error of a send, and a request to stop.
    pub fn say(&mut self, step: &'static str) -> Result<()> {
        // A request to stop must be noticed before this side announces that it continues.
        self.keep_alive()?;
        match self.mesh() {
            Some(mut mesh) => mesh.tell(step, &[])?,
            None => self.channel.send(step, &[])?,
        }
        Ok(())
    }

    /// Waits until the other side has reached a step of the end.
    ///
    /// # Errors
    /// Every error of a receive.
    pub fn hear(&mut self, step: &'static str) -> Result<()> {
        match self.mesh() {
            Some(mut mesh) => mesh.hear(step)?,
            None => self.channel.recv_into(step, &mut [])?,
        }
        Ok(())
    }

    /// Announces that this side's results are in place, and waits for the other side to announce the same. Returns the
    /// cost of the run, and an error if the other side did not confirm.
    pub fn close(self) -> (Meter, Option<vesica_net::Error>) {
        let unconfirmed = match self.circle {
            Some(circle) => circle.finish(self.channel).err(),
            None => self.channel.finish().err(),
        };
        (self.channel.meter().clone(), unconfirmed)
    }
}
