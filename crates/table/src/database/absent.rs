//! A stand-in for databases in a build without them, which refuses them with the reason.

use std::io::{self, Read};

use arrow_array::RecordBatchReader;

use super::Place;

pub(crate) enum Rows {}

impl Rows {
    pub(crate) fn of(_place: &Place, _query: &str, _most_bytes: u64) -> io::Result<Self> {
        Err(refused())
    }
}

impl Read for Rows {
    fn read(&mut self, _to: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

pub(crate) enum Transaction {}

impl Transaction {
    pub(crate) fn probe(_place: &Place, _table: &str) -> io::Result<()> {
        Err(refused())
    }

    pub(crate) fn write(
        _place: &Place,
        _table: &str,
        _batches: Box<dyn RecordBatchReader + Send>,
    ) -> io::Result<Self> {
        Err(refused())
    }

    pub(crate) fn commit(self) -> io::Result<()> {
        match self {}
    }
}

fn refused() -> io::Error {
    let why = "this build does not read or write databases; build it with `--features databases`, or export the rows \
               to a file";
    io::Error::new(io::ErrorKind::Unsupported, why)
}
