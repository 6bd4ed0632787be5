//! The origin of a list: its files, and the answers to questions about it.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
    time::Duration,
};

use vesica_core::error::{Error, Result};

use super::directory::{failed, read_text};

/// An origin of a list.
pub trait Origin {
    /// Returns a short file as text.
    ///
    /// # Errors
    /// If the file cannot be fetched or is longer than `longest`.
    fn text(&mut self, name: &str, longest: usize) -> Result<String>;

    /// Fetches a long file, from this byte on, and passes each piece to `take`.
    ///
    /// # Errors
    /// If the file cannot be fetched, and errors of `take`.
    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Asks a question about this epoch. Its answer has `answer_bytes` bytes.
    ///
    /// # Errors
    /// Any reason for having no answer, except limits.
    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> Result<Asked>;

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// If the lookup is cancelled.
    fn pause(&mut self, time: Duration) -> Result<()> {
        std::thread::sleep(time);
        Ok(())
    }
}

/// The outcome of a question.
pub enum Asked {
    /// The answer.
    Answer(Vec<u8>),
    /// A limit. The question may be asked again after this time. The error is for a client that does not wait.
    Later(Duration, Error),
    /// The question has more items than may be asked for at once.
    Fewer(Error),
}

/// A list in a directory on this machine: `public/` of a publisher, or a copy of it. It does not answer questions.
pub struct FromDirectory(pub PathBuf);

impl FromDirectory {
    /// Returns the error for a missing file. If the path is a publisher's own directory, suggests its `public/`.
    fn without(&self, name: &str) -> Error {
        let public = self.0.join("public");
        let advice = match public.join(name).exists() {
            true => format!("; did you mean {}?", public.display()),
            false => String::new(),
        };
        let fault = format!("there is no published list here: {name} is missing{advice}");
        Error::Origin { place: self.0.display().to_string(), fault }
    }
}

impl Origin for FromDirectory {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        let path = self.0.join(name);
        read_text(&path, longest).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.without(name),
            _ => failed(&path)(error),
        })
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let path = self.0.join(name);
        let mut file = File::open(&path).map_err(failed(&path))?;
        file.seek(SeekFrom::Start(from)).map_err(failed(&path))?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer).map_err(failed(&path))? {
                0 => return Ok(()),
                read => take(&buffer[..read])?,
            }
        }
    }

    fn ask(&mut self, _: u64, _: &[u8], _: usize) -> Result<Asked> {
        let place = self.0.display().to_string();
        let fault = "a directory cannot answer questions; name a server with --ask".to_owned();
        Err(Error::Origin { place, fault })
    }
}
