//! Looks up the keys of a table in a list.

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};

use rand::CryptoRng;
use vesica_core::{
    error::{Error, InputFault, Result},
    observe::{Observer, Progress, Unit},
    words::counted,
};
use vesica_keyset::{
    key::{Duplicates, KeyColumn, Nulls},
    key_number::KeyNumber,
    keyset::KeySet,
    reading::Reading,
};
use vesica_list::{head::Labels, lookup::Match};
use vesica_normalize::null_values::NullValues;
use vesica_table::{
    destination::Destination,
    formulas::{ColumnFormulas, Findings, Formulas},
    input::Columns,
    output::{Access, Output},
    row_number::RowNumber,
    sent_columns::SentColumns,
    source::{Dialect, Source},
    stage,
    target::{self, Protected},
    written::{Matched, Received},
};

use super::{
    ask::{Asking, ask},
    fetch::{Fetching, directory_of, fetch},
    origin::Origin,
};

/// A lookup.
pub struct LookUp {
    /// The table with the keys.
    pub input: Source,
    /// The dialect of the table.
    pub dialect: Dialect,
    /// The key columns.
    pub columns: Vec<KeyColumn>,
    /// Values of key columns that count as empty. The publisher must use the same ones.
    pub null_values: NullValues,
    /// The treatment of rows without a key.
    pub nulls: Nulls,
    /// Destination of the matched rows, with the columns of labels at their end.
    pub output: Destination,
    /// Whether to write all rows, with a column that says which of them are in the list. The others have no labels.
    pub all: bool,
    /// The treatment of labels that look like formulas, in delimited text.
    pub formulas: Formulas,
    /// Number of items in a question.
    pub batch: usize,
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Distinct keys of the table.
    pub keys: u64,
    /// Keys that are in the list.
    pub matches: u64,
    /// Rows written.
    pub rows: u64,
    /// Keys in the list whose labels cannot be read and count as missing.
    pub unreadable: u64,
    /// Whether the lookup had more keys than the number for which the list bounds wrong answers.
    pub beyond_promise: bool,
    /// Columns of labels with values that a spreadsheet would interpret as formulas.
    pub formulas: Vec<ColumnFormulas>,
}

/// The publisher of the list, and the local copy of it.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Fingerprint of the publisher.
    pub publisher: vesica_net::Fingerprint,
    /// Directory of the copy.
    pub cache: PathBuf,
    /// Maximum size of the list in bytes, or `None` for no limit.
    pub budget: Option<u64>,
}

/// Updates the copy of the list, asks, and writes the matched rows.
///
/// # Errors
/// Errors of the table, the list, its origin or the output.
pub fn look_up(
    job: &LookUp,
    origin: &mut dyn Origin,
    subscription: &Subscription,
    observer: &Arc<dyn Observer>,
    rng: &mut dyn CryptoRng,
) -> Result<Found> {
    let agreed: Vec<_> = job.columns.iter().map(|column| column.normalize.agreed()).collect();
    let normalize: Vec<_> = job.columns.iter().map(|column| column.normalize.clone()).collect();
    let null_values = job.null_values.applied_to(&normalize);
    let fetching = Fetching {
        publisher: subscription.publisher,
        keys: Some(&agreed),
        null_values: null_values.values(),
        budget: subscription.budget,
        cache: &subscription.cache,
    };
    let result = job.output.path().map(|path| Protected::new("the output", path));
    target::check(result.as_slice(), &[], Some(&job.input))?;
    let output = Output::to(&job.output, Access::Usual)?;
    let input = job.input.clone().open(job.dialect.clone())?;
    let mut list = fetch(origin, &fetching, &**observer)?;
    let mut behind = Duration::ZERO;
    observer.phase("read");
    let names: Vec<_> = job.columns.iter().map(|column| column.name.as_str()).collect();
    let scan = input.read_columns(Columns { keys: &names, ..Columns::default() })?;
    let header = !scan.header().is_missing();
    let reading = Reading {
        keys: job.columns.clone(),
        null_values: job.null_values.clone(),
        nulls: job.nulls,
        duplicates: Duplicates::First,
        ..Reading::default()
    };
    let (table, set, _) = KeySet::read(scan, &reading, |done, fraction| {
        let fraction = Some(fraction);
        observer.progress(Progress { done, unit: Unit::Rows, total: None, fraction });
    })?;
    if table.is_empty() {
        return Err(table.fault(InputFault::Empty { header }));
    }
    if let Some(path) = job.output.path() {
        stage::check_name(path, table.format())?;
    }
    let keys = set.counts().used;
    let kept = &directory_of(&fetching);
    let asking = Asking { keys: set.digests(), rows: set.counts().read, batch: job.batch, kept };
    let (mut found, answered) = loop {
        match ask(origin, &list, asking, &**observer, rng) {
            // The service has a newer list than this copy.
            Err(Error::List(vesica_list::Error::Epoch { found, expected })) if found > expected => {
                let known = list.head().epoch;
                list = fetch(origin, &fetching, &**observer)?;
                if list.head().epoch == known {
                    return Err(vesica_list::Error::Epoch { found, expected }.into());
                }
            }
            // The service reloads the list within seconds.
            Err(Error::List(vesica_list::Error::Epoch { found, expected }))
                if found < expected && behind < PATIENCE =>
            {
                observer.waiting("ask", behind);
                origin.pause(STEP)?;
                behind += STEP;
            }
            asked => break asked?,
        }
    };
    let matches = found.iter().flatten().count() as u64;
    let labels = list.head().labels.as_ref().map(sent);
    let unreadable = labels.as_ref().map_or(0, |sent| clear_unreadable(&mut found, sent));
    if unreadable > 0 {
        let keys = counted(unreadable, "key");
        observer
            .warning(&format!("the labels of {keys} cannot be read; their columns are left empty"));
    }
    observer.phase("finish");
    let mut matched = matched(&set, found, labels, job.all);
    let rows = matched.rows.len() as u64;
    let done = |done| observer.progress(Progress::of(done, rows, Unit::Rows));
    let formulas = stage::watch_formulas(&job.output, &table, &mut matched, job.formulas);
    let staged = stage::rows(&job.output, output, &table, &matched, None, done)?;
    staged.commit()?;
    answered.forget();
    let beyond_promise = keys > list.head().queries;
    if beyond_promise {
        observer.warning(
            "more keys were looked up than the list bounds wrong answers for, so some may be reported as matches by mistake",
        );
    }
    let formulas = formulas.map(Findings::into_columns).unwrap_or_default();
    Ok(Found { keys, matches, rows, unreadable, beyond_promise, formulas })
}

/// Returns the form of labels.
fn sent(Labels { columns, bytes }: &Labels) -> SentColumns {
    SentColumns { columns: columns.clone(), bytes: *bytes, rows: 1 }
}

/// Removes and counts unreadable labels. They are not reported as errors, because a publisher that deliberately seals
/// an unreadable label for a key must not see this in the client's behaviour.
fn clear_unreadable(found: &mut [Option<Match>], sent: &SentColumns) -> u64 {
    let mut unreadable = 0;
    for found in found.iter_mut().flatten() {
        if found.label.as_ref().is_none_or(|label| sent.row(label, 0).is_none()) {
            found.label = None;
            unreadable += 1;
        }
    }
    unreadable
}

/// The time within which a service must have loaded the newest list, and the interval between questions.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_secs(1);

/// Name of the column that says whether a row's key is in the list.
const IN_LIST: &str = "in_list";

/// Returns the rows to write, with the values of labels. If these are all rows, a column says which of them are in the
/// list.
fn matched(
    set: &KeySet,
    found: Vec<Option<Match>>,
    labels: Option<SentColumns>,
    all: bool,
) -> Matched {
    let key_of = |row: RowNumber| set.rows().key_of(row).filter(|key| found[key.index()].is_some());
    let rows: Vec<_> =
        RowNumber::all(set.counts().read).filter(|row| all || key_of(*row).is_some()).collect();
    let of_rows: Vec<_> = rows.iter().map(|row| key_of(*row)).collect();
    // A row without a key is not looked up.
    let is_member = |row: &RowNumber| set.rows().key_of(*row).map(|_| key_of(*row).is_some());
    let members = all.then(|| rows.iter().map(is_member).collect());
    let received = (all || labels.is_some()).then(|| {
        let of_labels = labels.iter().flat_map(|sent| sent.columns.iter().cloned());
        let names = all.then(|| IN_LIST.to_owned()).into_iter().chain(of_labels).collect();
        Box::new(Labelled { names, members, sent: labels, of_rows, found }) as Box<dyn Received>
    });
    Matched { rows, received, ..Matched::default() }
}

/// The labels of the rows to write.
struct Labelled {
    names: Vec<String>,
    /// Whether the key of each row is in the list, if that has a column.
    members: Option<Vec<Option<bool>>>,
    sent: Option<SentColumns>,
    /// The key of each row whose key is in the list.
    of_rows: Vec<Option<KeyNumber>>,
    found: Vec<Option<Match>>,
}

impl Received for Labelled {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
        let word = |is: bool| Cow::Borrowed(if is { "true" } else { "false" });
        let member = self.members.as_ref().map(|members| members[nth].map(word));
        let found = self.of_rows[nth].and_then(|key| self.found[key.index()].as_ref());
        let label = found.and_then(|found| found.label.as_ref());
        let labels = self.sent.iter().flat_map(|sent| {
            let values = label.and_then(|label| sent.row(label, 0));
            values.unwrap_or_else(|| vec![None; sent.columns.len()])
        });
        Ok(member.into_iter().chain(labels.map(|value| value.map(Cow::Borrowed))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_core::observe::NoObserver;
    use vesica_list::{exchange::answer, voprf::ServerKey};

    use super::*;
    use crate::{
        directory::ListDirectory,
        origin::{Asked, FromDirectory},
        tests::{Scratch, table},
    };

    /// A service that serves the lists of these directories one after another, and answers for these epochs.
    struct Service<'a> {
        /// The key of each epoch.
        keys: &'a [ServerKey; 2],
        shown: Vec<PathBuf>,
        answers: Vec<u64>,
        pauses: usize,
    }

    impl Service<'_> {
        fn now(&self) -> FromDirectory {
            FromDirectory(self.shown[0].clone())
        }
    }

    impl Origin for Service<'_> {
        fn text(&mut self, name: &str, longest: usize) -> Result<String> {
            self.now().text(name, longest)
        }

        fn bytes(
            &mut self,
            name: &str,
            from: u64,
            take: &mut dyn FnMut(&[u8]) -> Result<()>,
        ) -> Result<()> {
            self.now().bytes(name, from, take)
        }

        fn ask(&mut self, epoch: u64, question: &[u8], _: usize) -> Result<Asked> {
            let found = self.answers.remove(0);
            if self.shown.len() > 1 {
                self.shown.remove(0);
            }
            if found != epoch {
                return Err(vesica_list::Error::Epoch { found, expected: epoch }.into());
            }
            let key = &self.keys[epoch as usize - 1];
            Ok(Asked::Answer(answer(key, question, &mut StdRng::seed_from_u64(3))?))
        }

        fn pause(&mut self, _: Duration) -> Result<()> {
            self.pauses += 1;
            Ok(())
        }
    }

    fn copied(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }

    /// The epochs of the served lists, the epochs of the answers, and the number of times that the client waits, or
    /// `None` if it gives up.
    #[test]
    fn a_service_and_a_copy_of_other_epochs_come_together() {
        let scratch = Scratch::new(false);
        let aside = tempfile::tempdir().unwrap();
        let public = scratch.path().join("public");
        let [first, second] = ["first", "second"].map(|name| aside.path().join(name));
        // The epoch's key must be read before the next epoch begins.
        let key = |epoch| ListDirectory::open(&scratch.path()).key(epoch).unwrap();
        scratch.published(&table(0..20));
        copied(&public, &first);
        let of_first = key(1);
        let mut job = scratch.job(&table(0..20));
        job.new_epoch = true;
        scratch.publish(&job).unwrap();
        copied(&public, &second);
        let keys = &[of_first, key(2)];
        let cases: [(&[&PathBuf], Vec<u64>, Option<usize>); 5] = [
            (&[&first], vec![1], Some(0)),
            (&[&first, &second], vec![2, 2], Some(0)),
            (&[&second], vec![1, 1, 2], Some(2)),
            (&[&second], vec![1; 40], None),
            (&[&first], vec![2], None),
        ];
        for (number, (shown, answers, pauses)) in cases.into_iter().enumerate() {
            let shown: Vec<_> = shown.iter().map(|path| (*path).clone()).collect();
            let mut service = Service { keys, shown, answers, pauses: 0 };
            let output = aside.path().join(format!("{number}.csv"));
            let job = LookUp {
                input: Source::Memory {
                    name: "t.csv".into(),
                    bytes: "mail\nk7@example.org\n".into(),
                },
                dialect: Dialect::default(),
                columns: scratch.job(&table(0..1)).columns,
                null_values: NullValues::default(),
                nulls: Nulls::Skip,
                output: Destination::Path(output.clone()),
                all: false,
                batch: 8,
                formulas: Formulas::Keep,
            };
            let cache = aside.path().join(format!("cache-{number}"));
            let publisher = scratch.me.fingerprint();
            let of = Subscription { publisher, cache, budget: None };
            let observer: Arc<dyn Observer> = Arc::new(NoObserver);
            let found = look_up(&job, &mut service, &of, &observer, &mut StdRng::seed_from_u64(4));
            match pauses {
                Some(pauses) => {
                    assert_eq!(found.unwrap().matches, 1, "{number}");
                    assert_eq!(service.pauses, pauses, "{number}");
                }
                None => {
                    let error = found.err().unwrap();
                    assert!(
                        matches!(error, Error::List(vesica_list::Error::Epoch { .. })),
                        "{error}"
                    );
                    assert!(!output.exists());
                }
            }
        }
    }
}
