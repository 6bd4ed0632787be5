//! Databases, where the build has them, through drivers that are loaded when they are needed.
//!
//! Where a database is, and who asks, is said by the environment. What drivers say of an error is not repeated, as it may
//! have a connection's settings or values of rows in it: [`Fault`] says what it comes to.

use std::{
    env,
    error::Error as StdError,
    fmt,
    io::{self, Read},
    sync::Arc,
};

use adbc_core::{
    Connection, Database, Driver, LOAD_FLAG_DEFAULT, Optionable, Statement,
    error::{Error, Status},
    options::{
        AdbcVersion, IngestMode, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
    },
};
use adbc_driver_manager::{ManagedConnection, ManagedDriver, ManagedStatement};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};

use super::Place;

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdbcStep {
    Load,
    Open,
    Begin,
    Query,
    Read,
    Batch,
    Exists,
    Create,
    Write,
    Commit,
}

/// What went wrong with a database.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    step: AdbcStep,
    reason: Option<&'static str>,
    sqlstate: Option<String>,
}

impl Fault {
    fn at(step: AdbcStep) -> Self {
        Self { step, reason: None, sqlstate: None }
    }

    fn of(step: AdbcStep, error: &Error) -> Self {
        let code: String = error.sqlstate.iter().map(|byte| char::from(*byte as u8)).collect();
        let is_code = code.chars().all(|c| c.is_ascii_alphanumeric()) && code != "00000";
        let sqlstate = is_code.then_some(code);
        let reason = sqlstate.as_deref().and_then(reason_of_code).or(reason_of(error.status));
        Self { step, reason, sqlstate }
    }
}

/// What a code of the SQL standard, or of PostgreSQL, means.
fn reason_of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "42P01" => "there is no such table",
        "42P07" => "there is a table of this name already",
        "42703" => "there is no such column",
        "42601" => "the syntax is wrong",
        "42501" => "permission is denied",
        "3D000" => "there is no such database",
        "3F000" => "there is no such schema",
        "53100" => "the disk is full",
        _ => match code.get(..2)? {
            "08" | "57" => "the server cannot be reached, or went away",
            "28" => "the credentials are not accepted",
            _ => return None,
        },
    })
}

fn reason_of(status: Status) -> Option<&'static str> {
    Some(match status {
        Status::NotFound => "it does not exist",
        Status::AlreadyExists => "it exists already",
        Status::NotImplemented => {
            "the driver cannot do this, or not with the type of one of the columns"
        }
        Status::IO => "the database cannot be reached, read or written, or went away",
        Status::Timeout => "it took too long",
        Status::Unauthenticated => "the credentials are not accepted",
        Status::Unauthorized => "permission is denied",
        Status::InvalidArguments => "the database or its driver does not accept what was asked",
        _ => return None,
    })
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.step {
            AdbcStep::Load => {
                "the driver cannot be loaded; install it so that its manifest or library is found by this name, or give \
                 the path of its library; VESICA_ADBC_ENTRYPOINT names the entry point if it is not the usual one"
            }
            AdbcStep::Open => "the database cannot be opened; check VESICA_ADBC_URI and the credentials in the environment",
            AdbcStep::Begin => "the database begins no transaction",
            AdbcStep::Query => "the database does not run the query",
            AdbcStep::Read => "the rows of the query could not be read to their end; run again when the database can be reached",
            AdbcStep::Batch => "the driver hands over more rows at once than --memory allows; raise it, or ask for fewer columns",
            AdbcStep::Exists => "there is a table of this name already; name another, or drop that one first",
            AdbcStep::Create => "the table cannot be created",
            AdbcStep::Write => "the rows cannot be written into the table",
            AdbcStep::Commit => "the transaction was not confirmed; look whether the table is there before you run again",
        })?;
        match (self.reason, &self.sqlstate) {
            (Some(reason), Some(code)) => write!(f, " ({reason}; SQLSTATE {code})"),
            (Some(reason), None) => write!(f, " ({reason})"),
            (None, Some(code)) => write!(f, " (SQLSTATE {code})"),
            (None, None) => Ok(()),
        }
    }
}

impl StdError for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::other(fault)
    }
}

/// Whether rows are read or written.
#[derive(Debug, Clone, Copy)]
enum Side {
    Input,
    Output,
}

impl Side {
    /// A setting in the environment: the one for this side, or else the one for both.
    fn setting(self, name: &str) -> Option<String> {
        let side = match self {
            Self::Input => "INPUT",
            Self::Output => "OUTPUT",
        };
        let found = env::var(format!("VESICA_ADBC_{side}_{name}"));
        found.or_else(|_| env::var(format!("VESICA_ADBC_{name}"))).ok()
    }
}

/// The driver of this name, or the one with the name that packages of the drivers give it.
fn load(place: &Place, side: Side) -> Result<ManagedDriver, Fault> {
    let entrypoint = side.setting("ENTRYPOINT");
    let usual = place.driver.contains("duckdb").then_some("duckdb_adbc_init");
    let entrypoint = entrypoint.as_deref().or(usual).map(str::as_bytes);
    let packaged = format!("adbc_driver_{}", place.driver);
    let names = [place.driver.as_str(), packaged.as_str()];
    let mut loaded = names.into_iter().filter_map(|name| {
        let version = AdbcVersion::V110;
        ManagedDriver::load_from_name(name, entrypoint, version, LOAD_FLAG_DEFAULT, None).ok()
    });
    loaded.next().ok_or(Fault::at(AdbcStep::Load))
}

/// A connection in a transaction that ends with it.
fn connect(place: &Place, side: Side) -> Result<ManagedConnection, Fault> {
    let mut driver = load(place, side)?;
    let settings = [
        (OptionDatabase::Uri, "URI"),
        (OptionDatabase::Username, "USERNAME"),
        (OptionDatabase::Password, "PASSWORD"),
    ];
    let settings = settings
        .into_iter()
        .filter_map(|(option, name)| Some((option, OptionValue::String(side.setting(name)?))));
    let opened = driver.new_database_with_opts(settings).and_then(|opened| opened.new_connection());
    let mut connection = opened.map_err(|error| Fault::of(AdbcStep::Open, &error))?;
    let off = OptionValue::String("false".to_owned());
    let begun = connection.set_option(OptionConnection::AutoCommit, off);
    begun.map_err(|error| Fault::of(AdbcStep::Begin, &error))?;
    Ok(connection)
}

/// The rows of a query, as an Arrow stream.
pub(crate) struct Rows {
    /// `None` after the end.
    stream: Option<StreamWriter<Vec<u8>>>,
    /// What has been encoded, and how much of it was read.
    encoded: (Vec<u8>, usize),
    most_bytes: u64,
    // In the order in which they have to be dropped.
    batches: Box<dyn RecordBatchReader + Send>,
    _statement: ManagedStatement,
    connection: ManagedConnection,
}

impl Rows {
    /// Runs the query, in a transaction that changes nothing.
    pub(crate) fn of(place: &Place, query: &str, most_bytes: u64) -> io::Result<Self> {
        let mut connection = connect(place, Side::Input)?;
        let failed = |error: Error| Fault::of(AdbcStep::Query, &error);
        let mut statement = connection.new_statement().map_err(failed)?;
        statement.set_sql_query(query).map_err(failed)?;
        let batches = statement.execute().map_err(failed)?;
        let stream = StreamWriter::try_new(Vec::new(), &batches.schema());
        let stream = Some(stream.map_err(|_| Fault::at(AdbcStep::Read))?);
        let encoded = (Vec::new(), 0);
        Ok(Self { stream, encoded, most_bytes, batches, _statement: statement, connection })
    }

    /// Encodes the next rows, or else the end.
    fn encode(&mut self) -> Result<(), Fault> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let unread = |_| Fault::at(AdbcStep::Read);
        match self.batches.next() {
            Some(batch) => {
                let batch = batch.map_err(unread)?;
                if batch.get_array_memory_size() as u64 > self.most_bytes {
                    return Err(Fault::at(AdbcStep::Batch));
                }
                stream.write(&batch).map_err(unread)?;
                self.encoded = (std::mem::take(stream.get_mut()), 0);
            }
            None => {
                stream.finish().map_err(unread)?;
                self.encoded = (std::mem::take(stream.get_mut()), 0);
                self.stream = None;
            }
        }
        Ok(())
    }
}

impl Read for Rows {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.encoded.1 == self.encoded.0.len() && self.stream.is_some() {
            self.encode()?;
        }
        let (bytes, at) = &mut self.encoded;
        let read = (&bytes[*at..]).read(to)?;
        *at += read;
        Ok(read)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // The end of the connection has the same effect.
        let schema = self.batches.schema();
        self.batches = Box::new(RecordBatchIterator::new([], schema));
        let _ = self.connection.rollback();
    }
}

/// A table that nobody sees yet. Dropped, it was never there.
pub(crate) struct Transaction {
    connection: ManagedConnection,
    has_ended: bool,
}

impl Transaction {
    /// Makes sure, by trying, that the table can be created.
    pub(crate) fn probe(place: &Place, table: &str) -> io::Result<()> {
        let transaction = Self::begin(place)?;
        let schema = place.schema.as_deref();
        if transaction.connection.get_table_schema(None, schema, table).is_ok() {
            return Err(Fault::at(AdbcStep::Exists).into());
        }
        // Some databases end a transaction in which something was not found.
        drop(transaction);
        let schema = Arc::new(Schema::new(vec![Field::new("vesica", DataType::Int64, true)]));
        let empty = RecordBatch::new_empty(schema.clone());
        let batches = RecordBatchIterator::new([Ok(empty)], schema);
        Self::begin(place)?.ingest(place, table, Box::new(batches), AdbcStep::Create)?;
        Ok(())
    }

    /// Creates the table with these rows.
    pub(crate) fn write(
        place: &Place,
        table: &str,
        batches: Box<dyn RecordBatchReader + Send>,
    ) -> io::Result<Self> {
        Ok(Self::begin(place)?.ingest(place, table, batches, AdbcStep::Write)?)
    }

    fn begin(place: &Place) -> Result<Self, Fault> {
        Ok(Self { connection: connect(place, Side::Output)?, has_ended: false })
    }

    fn ingest(
        mut self,
        place: &Place,
        table: &str,
        batches: Box<dyn RecordBatchReader + Send>,
        step: AdbcStep,
    ) -> Result<Self, Fault> {
        let failed = |error: Error| Fault::of(step, &error);
        let mut statement = self.connection.new_statement().map_err(failed)?;
        let text = |text: &str| OptionValue::String(text.to_owned());
        statement.set_option(OptionStatement::TargetTable, text(table)).map_err(failed)?;
        if let Some(schema) = &place.schema {
            statement.set_option(OptionStatement::TargetDbSchema, text(schema)).map_err(failed)?;
        }
        let create = IngestMode::Create.into();
        statement.set_option(OptionStatement::IngestMode, create).map_err(failed)?;
        statement.bind_stream(batches).map_err(failed)?;
        statement.execute_update().map_err(failed)?;
        Ok(self)
    }

    /// Shows the table.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.has_ended = true;
        let committed = self.connection.commit();
        Ok(committed.map_err(|error| Fault::of(AdbcStep::Commit, &error))?)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.has_ended {
            // Whoever drops it has an error to tell already; and the end of the connection has the same effect.
            let _ = self.connection.rollback();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_says_is_not_repeated() {
        let mut error = Error::with_message_and_status("password=Zq7", Status::Internal);
        for (code, said) in [(b"42P01", "no such table; SQLSTATE 42P01"), (b"57P01", "went away")] {
            error.sqlstate = code.map(|byte| byte as _);
            let text = Fault::of(AdbcStep::Query, &error).to_string();
            assert!(text.contains(said) && !text.contains("Zq7"), "{text}");
        }
        error.sqlstate = [0; 5];
        assert_eq!(Fault::of(AdbcStep::Query, &error), Fault::at(AdbcStep::Query));
    }

    #[test]
    fn a_driver_that_is_not_there_is_said() {
        let place = Place::parse("adbc:/nowhere/libnone.so#t").unwrap();
        let error = Transaction::probe(&place, "t").unwrap_err().to_string();
        assert!(error.contains("driver cannot be loaded"), "{error}");
    }
}
