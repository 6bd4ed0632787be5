//! The specification of a job.

use std::time::Duration;

use vesica_core::{
    moment::{Day, Hours},
    parties::{Learns, Role, Security},
};
use vesica_keyset::{key::Nulls, numbers::MAX_SCALE};
use vesica_net::Fingerprint;
use vesica_normalize::normalize::Normalize;
use vesica_table::{
    format::Format, formulas::Formulas, sent_columns::DEFAULT_BYTES, source::Delimiter,
};
use vesica_task::{noise::Epsilon, query::Query};

use crate::{
    form::{
        basic::{Amount, Count, File, Flag, Maybe, Mbits, Parsed, Seconds, Text, Whole, Word},
        domain::{
            AnswerForm, Columns, Join, KeyForm, NullValuesForm, Profiles, Progress, ProtocolForm,
            ProxyForm, Repeats, RepeatsForm,
        },
    },
    options::{options, sections},
};

/// Options for reaching the other side.
pub const WAYS: &[&str] = &["listen", "connect", "relay", "exchange-dir"];

sections! {
    /// One side's part in a run: its table, the question, the other party, and the files for the result.
    pub struct Job {
        /// The two parties, and the agreement between them.
        parties: Parties,
        /// The way between them, and the times to wait.
        connection: Connection,
        /// This side's table and its keys.
        table: Table,
        /// The terms, on which both sides must agree.
        terms: Terms,
        /// This side's own limits.
        limits: Limits,
        /// The result of this side.
        outputs: Outputs,
        /// The resources of the machine.
        resources: Resources,
        /// Messages about the run.
        messages: Messages,
    }
}

options! {
    /// The two parties, and the agreement between them.
    pub struct Parties in "Parties and agreement" {
        /// This party's identity, created by `vesica keygen`.
        "FILE" identity: Maybe<File> = None;
        /// The other party's fingerprint, which you received from it over a trusted channel.
        "FINGERPRINT" peer: Maybe<Parsed<Fingerprint>> = None;
        /// The agreement with the other party, which names it and settles the terms.
        ///
        /// `vesica invite` and `vesica accept` make agreements. Options that an agreement settles are left out.
        "FILE" agreement: Maybe<File> = None;
        /// The hash of the agreement, as shown by `vesica agreement`; a file with a different hash is refused.
        "HASH" agreement_hash: Maybe<Text> = None;
        /// This side's name for the other party, on pages and in lists.
        "NAME" partner: Maybe<Text> = None;
        /// Under an agreement: the ledger of all runs [default: vesica.ledger beside the agreement].
        "FILE" ledger: Maybe<File> = None;
        /// Under an agreement: the file for the record that both sides sign.
        "FILE" record: Maybe<File> = None;
    }
}

options! {
    /// The way between the two sides, and the times to wait.
    pub struct Connection in "Connection" {
        /// Listen for the other side at this address, as in 0.0.0.0:7788; port 0 takes a free port and prints it.
        "ADDR" listen: Maybe<Text> = None;
        /// Connect to the other side, as in partner.example.org:7788.
        "ADDR" connect: Maybe<Text> = None;
        /// Meet the other side at the relay with this address, to which both sides connect.
        ///
        /// See docs/guides/partners.md.
        "ADDR" relay: Maybe<Text> = None;
        /// Exchange files in this directory, or objects of a store, as in s3://BUCKET/PREFIX.
        ///
        /// The directory must exist, and both sides must be able to read and write in it.
        "DIR" exchange_dir: Maybe<File> = None;
        /// With --exchange-dir: this side's role; the other side has the other role [default: derived from the two
        /// fingerprints].
        "SIDE" side: Maybe<Word<Role>> = None;
        /// The bandwidth of the link in Mbit/s, for choosing a protocol [default: 1000 if the round trip is below
        /// 2 ms, else 100].
        ///
        /// The value of the connecting side applies.
        "MBIT" bandwidth: Maybe<Mbits> = None;
        /// Wait this long for the other side to appear.
        "SECONDS" wait: Seconds = Duration::from_secs(300);
        /// Give up on the other side after this long without a sign of life.
        "SECONDS" stall_timeout: Seconds = Duration::from_secs(60);
        /// Stop the run if it lasts longer than this after the connection was made; the default is a day.
        "SECONDS" deadline: Seconds = Duration::from_secs(86_400);
        /// Dial out through this proxy: http://HOST:PORT (CONNECT) or socks5://HOST:PORT.
        ///
        /// NAME:PASSWORD@ before the host logs in.
        "URL" proxy: Maybe<ProxyForm> = None;
    }
}

options! {
    /// This side's table and its keys.
    pub struct Table in "Table" {
        /// This party's table: CSV with a header row, NDJSON, Parquet, or Arrow IPC.
        ///
        /// `-` is standard input, and adbc:DRIVER or adbc:DRIVER#TABLE a database.
        "FILE" input: Maybe<File> = None;
        /// The query for the rows, if the table is a database: adbc:DRIVER.
        "SQL" query: Maybe<Text> = None;
        /// A file with that query.
        "FILE" query_file: Maybe<File> = None;
        /// The table's format [default: recognised by its content, or else its name].
        "FORMAT" format: Maybe<Word<Format>> = None;
        /// The separator of the fields [default: a tab if the name ends in .tsv or .tab, a bar if it ends in .psv, and
        /// else a comma].
        ///
        /// `auto` takes the separator that the first rows agree on.
        "DELIMITER" delimiter: Maybe<Word<Delimiter>> = None;
        /// The columns that make up the key, by name, separated by commas; the other side may use other names.
        ///
        /// A name with a comma is written in quotes: '"last, first",birthday'. If the option is given more than once,
        /// each is a separate identifier. A row matches if any of its identifiers matches the identifier of the other
        /// side at the same position: --key email --key last,phone
        "COLS" key: KeyForm = Vec::new();
        /// The treatment of rows without a key: skip them, or treat them as an error.
        "HOW" nulls: Word<Nulls> = Nulls::Skip;
        /// The treatment of rows that repeat a key: first, error or all:N.
        ///
        /// first: the key takes part once, and if it matches, every row with it is written. error: such rows are an
        /// error. With --send, first sends the first of these rows, and all:N sends all of them; more than N rows per
        /// key are then an error. The other side receives N times --send-bytes for each key.
        "HOW" duplicates: RepeatsForm = Repeats::default();
        /// Accept a table without rows, which is otherwise an error.
        "" allow_empty: Flag = false;
    }
}

options! {
    /// The terms of a run, on which both sides must agree.
    pub struct Terms in "Terms" {
        /// The question, the same on both sides: rows, count, sum:COL, products:COL, threshold:K or shares.
        ///
        /// These are the answers:
        "WHAT" answer: AnswerForm = Query::ROWS.into();
        /// The side that learns the result.
        "WHO" learns: Maybe<Word<Learns>> = None;
        /// The profile by which keys are made comparable: one for all columns, or one per column, separated by commas.
        ///
        /// Both sides must agree. none: bytes as they are; trim: Unicode NFC, no white space around; lower: also lower
        /// case; text: also single spaces, full case folding; email, email:plain (without the rules of gmail.com);
        /// phone:CC, in the country CC if a number does not begin with +; date:%d.%m.%Y, or date for ISO dates; number;
        /// name; postcode:CC; sha256:PROFILE if the other side has digests and uses hashed:PROFILE. See
        /// docs/guides/keys.md.
        "HOW" normalize: Profiles = vec![Normalize::None];
        /// Values that count as empty in normalised key columns, separated by commas [default: NULL, NA, N/A, none,
        /// unknown, - and similar ones].
        ///
        /// Upper and lower case are the same. Both sides must name the same values; '' stands for none.
        "VALUES" null_values: Maybe<NullValuesForm> = None;
        /// Join: send these columns of matching rows to the other side, which uses --receive and learns.
        ///
        /// Of several rows with the same key the first is sent, unless --duplicates says otherwise.
        /// docs/guides/computing.md explains what each side learns.
        "COLS" send: Maybe<Columns> = None;
        /// With --send: bytes that a row's values are padded to; each value takes its length plus 2.
        ///
        /// The other side receives this number of bytes for each key.
        "N" send_bytes: Whole<u32, 1> = DEFAULT_BYTES;
        /// Join: add the columns that the other side sends to this side's matched rows.
        "" receive: Flag = false;
        /// Write the matched rows of both sides in the same order, numbered in a first column `match_id`.
        ///
        /// The two outputs then correspond line by line. Both sides must use this option and learn; see
        /// docs/guides/computing.md.
        "" align: Flag = false;
        /// Decimal places of the values for sums, products and shares: with 2, a value may be 12.50.
        ///
        /// They must be the same on both sides. A sum has this number of places, and a sum of products twice that
        /// number.
        "PLACES" scale: Whole<u8, 0, { MAX_SCALE as u64 }> = 0;
        /// For numbers: if fewer keys than this are shared, reveal nothing else.
        ///
        /// The larger minimum of the two sides applies.
        "N" minimum: Count = 0;
        /// For counts and sums: add noise that hides any single key, for differential privacy with this ε, as in 0.5.
        ///
        /// It must be the same on both sides. Nobody learns the number without the noise; see docs/guides/computing.md.
        "E" epsilon: Maybe<Parsed<Epsilon>> = None;
        /// With --epsilon, for sums: the maximum magnitude with which the value of a key counts, a whole number.
        "N" clamp: Maybe<Count> = None;
        /// A protocol of `vesica protocols`, or auto.
        ///
        /// auto takes the recommended protocol that the other side names, or the one that `vesica plan` would choose
        /// for the sizes and the round trip. A protocol that is not recommended must be named on both sides.
        "NAME" protocol: ProtocolForm = None;
        /// The minimum security; the stricter of the two sides applies.
        "LEVEL" security: Word<Security> = Security::SemiHonest;
        /// Find out why nothing matches, if the other side wants that too.
        ///
        /// The sides compare what their keys look like, in coarse shares (white space, case, length).
        /// docs/guides/diagnose.md explains what this reveals.
        "" diagnose: Flag = false;
        /// The maximum number of distinct keys of the other side.
        "N" max_peer_rows: Count = 100_000_000;
        /// Allow protocols that are not for real data; both sides must.
        "" allow_research: Flag = false;
    }
}

options! {
    /// Limits on what runs under an agreement may reveal. In an invitation they apply to both sides; in a run they
    /// apply in addition to the limits of the agreement.
    pub struct Limits in "Policy" {
        /// The minimum number of distinct keys on either side.
        "N" min_set: Maybe<Count> = None;
        /// If fewer keys than this are shared, the side that finds out withholds the result.
        "N" min_result: Maybe<Count> = None;
        /// In an invitation, for rows, with --min-result: compute first whether that many keys are shared.
        ///
        /// Both sides do so by circuit PSI, and compare rows only if enough are shared.
        "" threshold_first: Flag = false;
        /// The maximum number of shared keys that a run may reveal; above it, nothing is revealed.
        "N" max_result: Maybe<Count> = None;
        /// The maximum number of shared keys that all runs together may reveal.
        "N" max_result_total: Maybe<Count> = None;
        /// For numbers with noise: the maximum ε of all runs together, as in 10.
        ///
        /// Each run that begins spends the ε of --epsilon.
        "E" epsilon_total: Maybe<Parsed<Epsilon>> = None;
        /// The maximum number of runs within 24 hours.
        "N" max_runs_per_day: Maybe<Count> = None;
        /// The maximum number of runs in total.
        "N" max_runs: Maybe<Count> = None;
        /// The maximum number of times that a run may begin to compare one partition, after interruptions [default: 3].
        "N" max_attempts: Maybe<Count> = None;
        /// The minimum number of keys by which a set differs from each earlier one, unless the two are equal.
        ///
        /// Two runs whose sets differ by a few keys can expose those keys.
        "N" min_change: Maybe<Count> = None;
        /// The hours of a day at which runs may begin, in UTC, as in 08:00-18:00.
        "HOURS" hours: Maybe<Parsed<Hours>> = None;
        /// The last day on which a run may begin, in UTC, as in 2027-12-31.
        "DAY" expires: Maybe<Parsed<Day>> = None;
    }
}

options! {
    /// The result of this side.
    pub struct Outputs in "Result" {
        /// The file for this side's matched rows, its number or its shares [default for a number: standard output].
        ///
        /// `-` is standard output, and adbc:DRIVER#TABLE a new table of a database. Rows have the format of the input;
        /// CSV and NDJSON are compressed if the name ends in .gz or .zst.
        "FILE" output: Maybe<File> = None;
        /// The columns of the matched rows to write, in this order, separated by commas [default: all].
        "COLS" select: Maybe<Columns> = None;
        /// With --receive: write only the matched rows (inner), or all rows of this side (left).
        ///
        /// Unmatched rows have no values in the added columns.
        "JOIN" join: Word<Join> = Join::Inner;
        /// In a join, on the receiving side: the treatment of texts in CSV that a spreadsheet would take for formulas.
        ///
        /// keep leaves them as they are, and escape puts an apostrophe before each.
        "FORMULAS" formulas: Word<Formulas> = Formulas::Keep;
    }
}

options! {
    /// The resources of the machine, and the files for data that does not fit or must not be lost.
    pub struct Resources in "Memory and interruptions" {
        /// The maximum memory that the run may use on this side, as in 2G or 512M [default: three quarters of what the
        /// machine, its control group or ulimit allow].
        ///
        /// Sets that would use more are compared in partitions, or refused before the run begins if that is not
        /// possible.
        "SIZE" memory: Maybe<Amount> = None;
        /// Compare the sets in at least this number of partitions, rounded up to a power of two [default: 1].
        ///
        /// More are used automatically if memory requires it.
        "N" partitions: Whole<u32, 1> = 1;
        /// The directory for data that does not fit into memory [default: the directory of the output, or else the
        /// system's directory of temporary files].
        ///
        /// It holds encrypted files without a name, only during the run: input from a pipe above 64 MiB, and keys that
        /// take more than an eighth of the memory.
        "DIR" spill: Maybe<File> = None;
        /// A journal, from which the same command resumes the run if either side is interrupted.
        ///
        /// Both sides must name one. It is encrypted for this identity, and removed when both sides have their results.
        "FILE" resume: Maybe<File> = None;
        /// Threads to compute with [default: one per processor].
        "N" threads: Whole<usize, 0, 65_536> = 0;
    }
}

options! {
    /// Reports and messages about the run.
    pub struct Messages in "Reports and messages" {
        /// Write a report in JSON, even if the run fails.
        ///
        /// It has the terms, sizes, bytes, seconds, who learned what, and why the run failed; no identifiers.
        /// docs/reference/report.schema.json describes it.
        "FILE" report: Maybe<File> = None;
        /// Print that report on standard output, instead of the summary and of a number.
        "" json: Flag = false;
        /// Show progress: auto (on a terminal), plain (a line for each phase, more in long ones) or off.
        "HOW" progress: Word<Progress> = Progress::Auto;
        /// Print only errors and warnings.
        "" quiet: Flag = false;
    }
}
