//! Databases, in builds with them, through drivers that are loaded when they are needed.
//!
//! The environment names the database and the user. Drivers' error messages are not repeated, as they may contain a
//! connection's settings or values of rows: [`Fault`] describes the error instead.

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

/// The step that failed.
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

/// An error of a database.
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

/// Returns the meaning of a code of the SQL standard, or of PostgreSQL.
fn reason_of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "42P01" => "the table does not exist",
        "42P07" => "a table of this name already exists",
        "42703" => "the column does not exist",
        "42601" => "the syntax is wrong",
        "42501" => "permission is denied",
        "3D000" => "the database does not exist",
        "3F000" => "the schema does not exist",
        "53100" => "the disk is full",
        _ => match code.get(..2)? {
            "08" | "57" => "the server cannot be reached, or the connection was lost",
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
        Status::IO => "the database cannot be reached, read or written, or the connection was lost",
        Status::Timeout => "it took too long",
        Status::Unauthenticated => "the credentials are not accepted",
        Status::Unauthorized => "permission is denied",
        Status::InvalidArguments => "the database or its driver does not accept the request",
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
            AdbcStep::Begin => "the transaction cannot be started",
            AdbcStep::Query => "the query cannot be run",
            AdbcStep::Read => "not all rows of the query could be read; run again when the database can be reached",
            AdbcStep::Batch => "the driver returns more rows at once than --memory allows; raise it, or query fewer columns",
            AdbcStep::Exists => "a table of this name already exists; name another, or drop that one first",
            AdbcStep::Create => "the table cannot be created",
            AdbcStep::Write => "the rows cannot be written into the table",
            AdbcStep::Commit => "the transaction was not confirmed; check whether the table exists before you run again",
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

/// The direction of the rows.
#[derive(Debug, Clone, Copy)]
enum Side {
    Input,
    Output,
}

impl Side {
    /// Returns a setting in the environment: the one for this side, or else the one for both.
    fn setting(self, name: &str) -> Option<String> {
        let side = match self {
            Self::Input => "INPUT",
            Self::Output => "OUTPUT",
        };
        let found = env::var(format!("VESICA_ADBC_{side}_{name}"));
        found.or_else(|_| env::var(format!("VESICA_ADBC_{name}"))).ok()
    }
}

/// Loads the driver of this name, or the one with the name in the drivers' packages.
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

/// Opens a connection in a transaction, which ends with it.
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
    /// The encoded bytes, and the number of those that were read.
    encoded: (Vec<u8>, usize),
    most_bytes: u64,
    // The fields are in the order in which they must be dropped.
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

    /// Encodes the next rows, or the end of the stream.
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

/// A table that is not yet visible. Dropped, it leaves no trace.
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
        // Some databases end a transaction if something was not found.
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
            // The caller already has an error to report, and the end of the connection has the same effect.
            let _ = self.connection.rollback();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_drivers_are_not_repeated() {
        let mut error = Error::with_message_and_status("password=Zq7", Status::Internal);
        for (code, said) in
            [(b"42P01", "the table does not exist; SQLSTATE 42P01"), (b"57P01", "was lost")]
        {
            error.sqlstate = code.map(|byte| byte as _);
            let text = Fault::of(AdbcStep::Query, &error).to_string();
            assert!(text.contains(said) && !text.contains("Zq7"), "{text}");
        }
        error.sqlstate = [0; 5];
        assert_eq!(Fault::of(AdbcStep::Query, &error), Fault::at(AdbcStep::Query));
    }

    #[test]
    fn a_missing_driver_is_reported() {
        let place = Place::parse("adbc:/nowhere/libnone.so#t").unwrap();
        let error = Transaction::probe(&place, "t").unwrap_err().to_string();
        assert!(error.contains("driver cannot be loaded"), "{error}");
    }
}
