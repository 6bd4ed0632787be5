//! A stand-in for objects in a build without them, which refuses them with the reason.

use std::io::{self, Write};

use vesica_net::files::Folder;

#[derive(Clone)]
pub(crate) enum Object {}

impl Object {
    pub(crate) fn open(_address: &str) -> io::Result<Self> {
        Err(refused())
    }

    pub(crate) fn len(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn read_at(&self, _at: u64, _to: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
        match *self {}
    }

    pub(crate) fn failure(&self) -> Option<io::Error> {
        match *self {}
    }
}

pub(crate) enum Upload {}

impl Upload {
    pub(crate) fn probe(_address: &str) -> io::Result<()> {
        Err(refused())
    }

    pub(crate) fn begin(_address: &str) -> io::Result<Self> {
        Err(refused())
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn complete(self) -> io::Result<()> {
        match self {}
    }
}

impl Write for Upload {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}

pub(crate) fn folder(_address: &str) -> io::Result<Box<dyn Folder>> {
    Err(refused())
}

/// Whether a store is to blame for an error.
pub(crate) fn is_fault(_error: &io::Error) -> bool {
    false
}

fn refused() -> io::Error {
    let why = "this build does not read or write object stores; build it with `--features stores`, or copy the \
               file here";
    io::Error::new(io::ErrorKind::Unsupported, why)
}
