//! The origin of a list's files and of the answers to questions about it.

use vesica_core::error::Result;
use vesica_net::Fingerprint;

use super::client::Remote;
use crate::origin::{Asked, FromDirectory, Origin};

/// A list at an address or in a directory, and the server that answers questions.
pub enum ListOrigin {
    /// Files at an address.
    Remote(Box<Remote>),
    /// Files in a directory on this machine, and the server that answers, if there is one.
    ListDirectory(FromDirectory, Option<Box<Remote>>),
}

impl ListOrigin {
    /// Opens a list at an address such as `https://lists.example.org/v1`, or in a directory. Questions go to the list's
    /// address, or to `ask`.
    ///
    /// # Errors
    /// [`Error::Usage`](vesica_core::error::Error::Usage) for an invalid address.
    pub fn new(
        list: &str,
        ask: Option<&str>,
        publisher: Fingerprint,
        token: Option<String>,
    ) -> Result<Self> {
        let remote = |files: &str, ask| -> Result<_> {
            Ok(Box::new(Remote::new(files, ask, publisher, token.clone())?))
        };
        Ok(if list.contains("://") {
            Self::Remote(remote(list, ask)?)
        } else {
            let ask = ask.map(|address| remote(address, None)).transpose()?;
            Self::ListDirectory(FromDirectory(list.into()), ask)
        })
    }
}

impl Origin for ListOrigin {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        match self {
            Self::Remote(remote) => remote.text(name, longest),
            Self::ListDirectory(directory, _) => directory.text(name, longest),
        }
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Remote(remote) => remote.bytes(name, from, take),
            Self::ListDirectory(directory, _) => directory.bytes(name, from, take),
        }
    }

    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> Result<Asked> {
        match self {
            Self::Remote(remote) | Self::ListDirectory(_, Some(remote)) => {
                remote.ask(epoch, question, answer_bytes)
            }
            Self::ListDirectory(directory, None) => directory.ask(epoch, question, answer_bytes),
        }
    }
}
