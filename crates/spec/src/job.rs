//! The specification of a job.

use std::time::Duration;

use vesica_core::{
    moment::{Day, Hours},
    parties::{Learns, Role, Security},
    percentage::Percentage,
};
use vesica_keyset::{key::Nulls, numbers::MAX_SCALE};
use vesica_net::Fingerprint;
use vesica_normalize::normalize::Normalize;
use vesica_select::Side;
use vesica_table::{
    format::Format, formulas::Formulas, sent_columns::DEFAULT_BYTES, source::Delimiter,
};
use vesica_task::{noise::Epsilon, query::Query};

use crate::{
    form::{
        basic::{Amount, Count, File, Flag, Maybe, Mbits, Parsed, Seconds, Text, Whole, Word},
        domain::{
            AnswerForm, Columns, Declarations, Join, KeyForm, NullValuesForm, Profiles, Progress,
            ProtocolForm, ProxyForm, QueryForm, Repeats, RepeatsForm, TableFile,
        },
        linked::{FieldForm, RuleForm},
        members::MembersForm,
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
        /// The other party's fingerprint.
        ///
        /// Get it from the other party over a channel that you trust.
        "FINGERPRINT" peer: Maybe<Parsed<Fingerprint>> = None;
        /// All parties of a run among three or more, the same on each.
        ///
        /// NAME=FINGERPRINT@HOST:PORT, or NAME=FINGERPRINT for a party that can only connect; commas separate them.
        "LIST" parties: MembersForm = Vec::new();
        /// With --parties: the one that learns the result.
        "NAME" leader: Maybe<Text> = None;
        /// With --parties: the one with which the leader ends the run.
        ///
        /// If these two pool what they received, they learn which keys of the leader all others have.
        "NAME" pivot: Maybe<Text> = None;
        /// With --parties: find the leader's keys that at least K others have.
        ///
        /// In place of --pivot, from 2 on. The leader's rows get a column with the holders' names.
        "K" at_least: Maybe<Whole<usize, 2>> = None;
        /// With --parties: others that learn the result too, or all.
        ///
        /// Commas separate their names, the same on each party. The leader learns first and shows them the result.
        "NAMES" learners: Maybe<Columns> = None;
        /// The agreement with the other party, which settles the terms.
        ///
        /// `vesica invite` and `vesica accept` make agreements. Leave out the options that an agreement settles.
        "FILE" agreement: Maybe<File> = None;
        /// The hash of the agreement; a file with another one is refused.
        ///
        /// `vesica agreement` shows the hash.
        "HASH" agreement_hash: Maybe<Text> = None;
        /// This side's name for the other party, on pages and in lists.
        "NAME" partner: Maybe<Text> = None;
        /// The ledger of all runs under agreements.
        ///
        /// [default: vesica.ledger beside the agreement]
        "FILE" ledger: Maybe<File> = None;
        /// The file for the record of a run under an agreement.
        ///
        /// Both sides sign the record.
        "FILE" record: Maybe<File> = None;
    }
}

options! {
    /// The way between the two sides, and the times to wait.
    pub struct Connection in "Connection" {
        /// Listen for the other side at this address, as in 0.0.0.0:7788.
        ///
        /// Port 0 takes a free port and prints it.
        "ADDR" listen: Maybe<Text> = None;
        /// Connect to the other side, as in partner.example.org:7788.
        "ADDR" connect: Maybe<Text> = None;
        /// Meet the other side at this relay, to which both sides connect.
        ///
        /// See docs/guides/partners.md.
        "ADDR" relay: Maybe<Text> = None;
        /// Exchange files in this directory instead of connecting.
        ///
        /// The directory must exist, and both sides must be able to read and write in it. It may be a prefix of an
        /// object store, as in s3://BUCKET/PREFIX.
        "DIR" exchange_dir: Maybe<File> = None;
        /// With --exchange-dir: this side's role, a or b.
        ///
        /// The other side has the other role [default: derived from the two fingerprints].
        "SIDE" side: Maybe<Word<Role>> = None;
        /// The bandwidth of the link in Mbit/s, for choosing a protocol.
        ///
        /// The value of the connecting side applies [default: 1000 if the round trip is below 2 ms, else 100].
        "MBIT" bandwidth: Maybe<Mbits> = None;
        /// Wait this long for the other side to appear.
        "SECONDS" wait: Seconds = Duration::from_secs(300);
        /// Give up after this long without a sign of life.
        "SECONDS" stall_timeout: Seconds = Duration::from_secs(60);
        /// Stop a run that lasts longer than this after connecting.
        ///
        /// The default is a day.
        "SECONDS" deadline: Seconds = Duration::from_secs(86_400);
        /// Dial out through this proxy, as in socks5://HOST:PORT.
        ///
        /// http://HOST:PORT is a proxy with CONNECT. NAME:PASSWORD@ before the host logs in.
        "URL" proxy: Maybe<ProxyForm> = None;
    }
}

options! {
    /// This side's table and its keys.
    pub struct Table in "Table" {
        /// This side's table: a file, a database, or - for standard input.
        ///
        /// A file of text begins with a header row. A database is adbc:DRIVER or adbc:DRIVER#TABLE.
        "FILE" input: Maybe<TableFile> = None;
        /// The query for the rows, if the table is in a database.
        ///
        /// The input is then adbc:DRIVER.
        "SQL" input_query: Maybe<Text> = None;
        /// A file with that query.
        "FILE" input_query_file: Maybe<File> = None;
        /// The format of the table.
        ///
        /// [default: recognised by the content, or else the name]
        "FORMAT" format: Maybe<Word<Format>> = None;
        /// The separator of the fields.
        ///
        /// `auto` takes the one that the first rows agree on [default: a tab if the name ends in .tsv or .tab, a bar if
        /// it ends in .psv, and else a comma].
        "DELIMITER" delimiter: Maybe<Word<Delimiter>> = None;
        /// The columns that make up the key, separated by commas.
        ///
        /// The other side may have other names. A name with a comma is written in quotes: '"last, first",birthday'.
        /// If the option is given more than once, each is a
        /// separate identifier. A row matches if any of its identifiers matches the other side's at the same position:
        /// --key email --key last,phone
        "COLS" key: KeyForm = Vec::new();
        /// In place of --key: a column under a name that both sides use.
        ///
        /// As in first=Vorname:name or dob=Geburtstag:date:%d.%m.%Y, once for each field of the rules (--match). The
        /// profile after the colon normalises the values; an agreement has it.
        "NAME=COL:HOW" field: FieldForm = Vec::new();
        /// With --match: add random keys, so that only the number of rows shows.
        ///
        /// The number of keys then does not show how complete the table is.
        "" pad_keys: Flag = false;
        /// The treatment of rows without a key: skip or error.
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
        /// The answer: rows, count, sum:COL, threshold:K and others.
        ///
        /// It is the same on both sides. These are the answers:
        "WHAT" answer: AnswerForm = Query::ROWS.into();
        /// A query over both tables, in place of an answer.
        ///
        /// It is the same text on both sides, a subset of SQL: SELECT b.campaign, count(*), sum(a.spend) FROM a JOIN b
        /// USING (key) GROUP BY b.campaign HAVING count(*) >= 50. The result is a table, and nobody learns which keys
        /// match. See docs/guides/queries.md.
        "SQL" query: Maybe<QueryForm> = None;
        /// A file with the query.
        "FILE" query_file: Maybe<File> = None;
        /// This side's table in the query: a or b.
        ///
        /// [default: a on the side that connects or invites, b on the side that listens or accepts]
        "TABLE" query_side: Maybe<Word<Side>> = None;
        /// A column of this side that the query uses, with its type.
        ///
        /// The types are integer, decimal(2), text, boolean, date, label<=64 for at most 64 labels that only this side
        /// knows, and {north,south} for labels that both sides know. A range bounds numbers, as in decimal(2)[0..500],
        /// and a question mark at the end permits empty values. The option is given once for each column.
        "NAME:TYPE" column: Declarations = Vec::new();
        /// With a query: this side's table may have several rows with one key.
        "" repeated_keys: Flag = false;
        /// In place of --key: a rule by which rows match, or a list of rules.
        ///
        /// 'first, last, dob' matches rows in which these fields are equal; functions such as soundex(last),
        /// year(dob), left(first, 1), nickname(first) and swap_day_month(dob) permit differences. The option is given
        /// once for each rule, the strictest first. person, person+address and ladder are lists of rules. Both sides
        /// need the same rules; see docs/guides/linkage.md.
        "RULE" r#match: RuleForm = Vec::new();
        /// The side that learns the result: me, peer, both or nobody.
        ///
        /// Required without an agreement.
        "WHO" learns: Maybe<Word<Learns>> = None;
        /// The normalisation of keys: one profile, or one per column.
        ///
        /// One profile is for all columns; commas separate several. Both sides must agree. none: bytes as they are;
        /// trim: Unicode NFC, no white space around; lower: and lower case; text: and single spaces, full case folding;
        /// email, email:plain (without the rules of gmail.com); phone:CC, in the country CC if a number does not begin
        /// with +; date:%d.%m.%Y, or date for ISO dates; number; name; postcode:CC; sha256:PROFILE if the other side
        /// has digests and says hashed:PROFILE. See docs/guides/keys.md.
        "HOW" normalize: Profiles = vec![Normalize::NONE];
        /// Values that count as empty in normalised key columns.
        ///
        /// Commas separate them, and their case does not matter. They are the same on both sides; '' is for none
        /// [default: NULL, NA, N/A, none, unknown, - and others like them].
        "VALUES" null_values: Maybe<NullValuesForm> = None;
        /// Join: send these columns of matching rows to the other side.
        ///
        /// The other side says --receive, and learns. Of several rows with one key the first is sent, unless
        /// --duplicates says otherwise. docs/guides/computing.md says what each side learns.
        "COLS" send: Maybe<Columns> = None;
        /// With --send: bytes that a row's values are padded to.
        ///
        /// Each value takes its length plus 2. The other side receives this number of bytes for each key.
        "N" send_bytes: Whole<u32, 1> = DEFAULT_BYTES;
        /// Join: add the columns that the other side sends to matched rows.
        "" receive: Flag = false;
        /// Write the matched rows of both sides in one order.
        ///
        /// A first column `match_id` numbers them, so that the two outputs fit together. Both sides must ask for it and
        /// learn; see docs/guides/computing.md.
        "" align: Flag = false;
        /// Decimal places of the values for sums, products and shares.
        ///
        /// With 2, a value may be 12.50. They are the same on both sides. A sum has the same number of places, and a
        /// sum of products twice that number.
        "PLACES" scale: Whole<u8, 0, { MAX_SCALE as u64 }> = 0;
        /// For numbers: if fewer keys than this are shared, reveal nothing else.
        ///
        /// The larger minimum of the two sides applies.
        "N" minimum: Count = 0;
        /// For counts, sums and queries: add noise that hides any single key.
        ///
        /// It is the noise of differential privacy with this ε, for example 0.5, the same on both sides. Nobody learns
        /// the number without the noise; see docs/guides/computing.md.
        "E" epsilon: Maybe<Parsed<Epsilon>> = None;
        /// With --epsilon, for sums: the largest magnitude of a value.
        ///
        /// It is a whole number. The value of a key beyond it counts as this much.
        "N" clamp: Maybe<Count> = None;
        /// A protocol of `vesica protocols`, or auto.
        ///
        /// auto takes the recommended protocol that the other side names, or the one that `vesica plan` would choose
        /// for the sizes and the round trip. A protocol that is not recommended must be named on both sides.
        "NAME" protocol: ProtocolForm = None;
        /// The least security accepted: semi-honest or malicious.
        ///
        /// The stricter of the two sides applies.
        "LEVEL" security: Word<Security> = Security::SemiHonest;
        /// Find out why nothing matches, if the other side wants that too.
        ///
        /// The sides compare what their keys look like, in coarse shares (white space, case, length).
        /// docs/guides/diagnose.md says exactly what this reveals.
        "" diagnose: Flag = false;
        /// The maximum number of the other side's keys.
        "N" max_peer_rows: Count = 100_000_000;
        /// Allow protocols that are not for real data; both sides must.
        "" allow_research: Flag = false;
    }
}

options! {
    /// Limits on what runs under an agreement may reveal.
    ///
    /// In an invitation they apply to both sides; in a run they apply beside the limits of the agreement.
    pub struct Limits in "Policy" {
        /// The minimum number of distinct keys on either side.
        "N" min_set: Maybe<Count> = None;
        /// The minimum number of parties of a run.
        "N" min_parties: Maybe<Count> = None;
        /// The minimum number of shared keys that a run may reveal.
        ///
        /// With fewer, the side that finds out keeps the result back.
        "N" min_result: Maybe<Count> = None;
        /// For rows: compute first whether --min-result keys are shared.
        ///
        /// In an invitation. Both sides do so by circuit PSI, and compare rows only if they are.
        "" threshold_first: Flag = false;
        /// The maximum number of shared keys that a run may reveal.
        ///
        /// With more, nothing is revealed.
        "N" max_result: Maybe<Count> = None;
        /// The maximum number of shared keys that all runs together may reveal.
        "N" max_result_total: Maybe<Count> = None;
        /// For queries: the minimum number of keys of a group that is shown.
        ///
        /// The query must have at least this minimum: HAVING count(*) >= N.
        "N" min_cell: Maybe<Count> = None;
        /// For queries: the maximum number of groups.
        "N" max_cells: Maybe<Count> = None;
        /// With --match: the maximum share of false matches to expect, as in 0.5%.
        ///
        /// It is a share of the smaller table's rows. Each side predicts it from its own table, once both sizes are
        /// known and before anything is revealed; `vesica check` shows it for each rule.
        "SHARE" max_false: Maybe<Parsed<Percentage>> = None;
        /// For numbers with noise: the maximum ε of all runs together, as in 10.
        ///
        /// Each run that begins spends the ε of --epsilon.
        "E" epsilon_total: Maybe<Parsed<Epsilon>> = None;
        /// The maximum number of runs within 24 hours.
        "N" max_runs_per_day: Maybe<Count> = None;
        /// The maximum number of runs in total.
        "N" max_runs: Maybe<Count> = None;
        /// The maximum number of attempts to compare one partition.
        ///
        /// A run attempts it again after an interruption [default: 3].
        "N" max_attempts: Maybe<Count> = None;
        /// The minimum number of keys by which a set differs from earlier ones.
        ///
        /// Equal sets are allowed. Two runs whose sets differ by a few keys can expose those keys.
        "N" min_change: Maybe<Count> = None;
        /// The hours at which runs may begin, in UTC, as in 08:00-18:00.
        "HOURS" hours: Maybe<Parsed<Hours>> = None;
        /// The last day on which a run may begin, in UTC, as in 2027-12-31.
        "DAY" expires: Maybe<Parsed<Day>> = None;
    }
}

options! {
    /// The result of this side.
    pub struct Outputs in "Result" {
        /// The file for rows, a number, a table or shares; - for standard output.
        ///
        /// adbc:DRIVER#TABLE is a new table of a database. Rows have the format of the input; CSV and NDJSON are
        /// compressed if the name ends in .gz or .zst. The answer to a query has the format that the name promises
        /// [default for a number or the answer to a query: standard output].
        "FILE" output: Maybe<File> = None;
        /// The columns of the matched rows to write, in this order.
        ///
        /// Commas separate them [default: all].
        "COLS" select: Maybe<Columns> = None;
        /// With --match: write only rows that match by the first N rules.
        ///
        /// The first column, match_rule, has the first rule by which each row matches. This side learns the matches by
        /// later rules nevertheless, false ones too.
        "N" min_rule: Maybe<Whole<u8, 1, 32>> = None;
        /// With --receive: write matched rows (inner), or all rows (left).
        ///
        /// Unmatched rows have no values in the added columns.
        "JOIN" join: Word<Join> = Join::Inner;
        /// For CSV: keep texts that look like formulas, or escape them.
        ///
        /// A spreadsheet would evaluate such a text of the other side. escape puts an apostrophe before each; keep
        /// leaves them as they are.
        "FORMULAS" formulas: Word<Formulas> = Formulas::Keep;
    }
}

options! {
    /// The resources of the machine, and the files for data that does not fit or must not be lost.
    pub struct Resources in "Memory and interruptions" {
        /// The maximum memory to use, as in 2G or 512M.
        ///
        /// Sets that would use more are compared in partitions, or refused before the run begins if that is not
        /// possible. The program's code comes on top [default: three quarters of what the machine, its control group
        /// or ulimit allow].
        "SIZE" memory: Maybe<Amount> = None;
        /// Compare the sets in at least this number of partitions.
        ///
        /// It is rounded up to a power of two [default: 1]. More are used automatically if memory requires it.
        "N" partitions: Whole<u32, 1> = 1;
        /// The directory for data that does not fit into memory.
        ///
        /// It holds, encrypted, without a name and only during the run: what comes through a pipe and is more than 64
        /// MiB, and keys that take more than an eighth of the memory [default: the directory of the output, or else the
        /// system's directory of temporary files].
        "DIR" spill: Maybe<File> = None;
        /// A journal, from which the same command resumes a broken run.
        ///
        /// Both sides must name one. It is encrypted for this identity, and removed when both sides have their results.
        "FILE" resume: Maybe<File> = None;
        /// Threads to compute with.
        ///
        /// [default: one per processor]
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
        /// Print that report on standard output, instead of the summary.
        ///
        /// A number is printed as part of it.
        "" json: Flag = false;
        /// Show progress: auto, plain or off.
        ///
        /// auto shows it on a terminal; plain prints a line for each phase, more in long ones.
        "HOW" progress: Word<Progress> = Progress::Auto;
        /// Print only errors and warnings.
        "" quiet: Flag = false;
    }
}
