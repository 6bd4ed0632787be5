//! Publishes a list from a table, and updates it.
//!
//! The keys of the table are sorted into partitions by item. For each partition in turn, known values are taken from
//! the list's records or from an interrupted publication, and the function is evaluated for the other items. The
//! removed and added items form the next part. If there are many changes, or a new epoch begins, the next part contains
//! all items. The head is written last.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rand::CryptoRng;
use tempfile::NamedTempFile;
use vesica_core::{
    error::{Error, Misuse, Result},
    host,
    moment::Moment,
    observe::{Observer, Progress, Unit},
};
use vesica_keyset::{
    key::{Duplicates, KeyColumn, Nulls},
    partitions::{Division, Partitions},
    reading::Reading,
    seed::Seed,
    table_keys::TableKeys,
};
use vesica_list::{
    head::{Head, Labels, SUITE, VERSION, tag_bits},
    hex::Hex,
    label::Place,
    part::{Entry, Header},
    signed,
    value::item_seed,
    voprf::ServerKey,
    writing::write_part,
};
use vesica_net::{CancelToken, Identity};
use vesica_normalize::null_values::NullValues;
use vesica_psi::DigestLength;
use vesica_table::{
    input::Columns,
    sent_columns::SentColumns,
    source::{Dialect, Source},
};

use super::{
    directory::{HEAD, LOG, ListDirectory, failed},
    merge::{Changes, Delta, KnownRecords, LabelledItems, merge},
    values::{Record, RecordReader, Writer},
    whole,
};

/// Number of items in a partition: about a minute's work, except in tests. The records are stored after each partition.
const PARTITION: u64 = if cfg!(test) { 1 << 8 } else { 1 << 20 };

/// Number of parts after which one part with all items is made.
const MANY_PARTS: usize = 256;

/// The content and the settings of a list.
#[derive(Clone)]
pub struct Publication {
    /// The table with the items.
    pub input: Source,
    /// The dialect of the table.
    pub dialect: Dialect,
    /// The key columns.
    pub columns: Vec<KeyColumn>,
    /// Values of key columns that count as empty.
    pub null_values: NullValues,
    /// The treatment of rows without a key.
    pub nulls: Nulls,
    /// The treatment of rows that repeat a key. The label of the first one is the key's label.
    pub duplicates: Duplicates,
    /// Accept a table without rows.
    pub allow_empty: bool,
    /// The columns of labels and the bytes to which labels are padded, if items have labels.
    pub labels: Option<(Vec<String>, u32)>,
    /// The directory of the list.
    pub directory: PathBuf,
    /// Name of the list.
    pub name: String,
    /// λ: the probability of any wrong answer, over all queries of a client in an epoch for items not in the list, is
    /// at most 2^-λ.
    pub lambda: u32,
    /// Number of queries of a client in an epoch.
    pub queries: u64,
    /// Maximum number of items in this epoch, or `None` for the next power of two.
    pub capacity: Option<u64>,
    /// Time for which the list is valid.
    pub valid: Duration,
    /// Whether to begin a new epoch, with a new key.
    pub new_epoch: bool,
    /// Maximum memory, or `None` for the default.
    pub memory: Option<u64>,
}

/// The result of a publication.
#[derive(Debug, Clone)]
pub struct Published {
    /// The new head.
    pub head: Head,
    /// The changes to the list.
    pub changes: Changes,
    /// Whether the new part contains all items.
    pub is_whole: bool,
}

/// Makes or updates a list. If nothing has changed, signs the head again with a new expiry.
///
/// # Errors
/// Errors of the table and of the list's files. [`Error::Usage`] if the keys, labels or promises differ from the
/// published list's, or there are too many items, and no new epoch is begun.
pub fn publish(
    job: &Publication,
    me: &Identity,
    observer: &Arc<dyn Observer>,
    cancel: &CancelToken,
    rng: &mut dyn CryptoRng,
) -> Result<Published> {
    let directory = ListDirectory::create(&job.directory)?;
    let old = directory.head(me)?;
    let keys: Vec<_> = job.columns.iter().map(|column| column.normalize.agreed()).collect();
    let normalize: Vec<_> = job.columns.iter().map(|column| column.normalize.clone()).collect();
    let null_values = job.null_values.applied_to(&normalize).values().to_vec();
    let table = match read(job, &directory, observer) {
        Err(error) if old.is_none() => {
            directory.abandon();
            return Err(error);
        }
        read => read?,
    };
    let items = table.counts().used;
    let labels = job.labels.clone().map(|(columns, bytes)| Labels { columns, bytes });
    let continued = old.as_ref().filter(|_| !job.new_epoch);
    let capacity = match (job.capacity, continued) {
        (Some(capacity), _) => capacity,
        (None, Some(old)) => old.capacity,
        (None, None) => items.max(1).next_power_of_two(),
    };
    if let Some(old) = continued {
        let kept = [
            (old.keys == keys, "the normalisation of keys"),
            (old.null_values == null_values, "the set of empty values"),
            (old.labels == labels, "the form of labels"),
            (old.lambda == job.lambda, "the bound on wrong answers"),
            (old.queries == job.queries, "the number of queries"),
            (old.capacity == capacity, "the maximum number of items"),
        ];
        if let Some((_, what)) = kept.iter().find(|(is_kept, _)| !is_kept) {
            return Err(Error::usage(
                Misuse::List,
                format!(
                    "the published list has another value for {what}; publish it with --new-epoch"
                ),
            ));
        }
    }
    if items > capacity {
        return Err(Error::usage(
            Misuse::List,
            format!(
                "the table has {items} distinct keys, but the list may have only {capacity} in this epoch; publish it with \
             --new-epoch"
            ),
        ));
    }
    let tag_bits = tag_bits(job.lambda, job.queries, capacity);
    if tag_bits > 128 {
        let message =
            "the list would need tags of more than 128 bits; allow fewer queries or items";
        return Err(Error::usage(Misuse::List, message));
    }
    let epoch = match (&old, continued) {
        (_, Some(old)) => old.epoch,
        (Some(old), None) => old.epoch + 1,
        (None, None) => 1,
    };
    let key = match continued {
        Some(_) => directory.key(epoch)?,
        None => directory.new_key(epoch, rng)?,
    };
    if continued.is_some_and(|old| old.public_key.0 != *key.public()) {
        return Err(vesica_list::Error::Forked { epoch, version: 0 }.into());
    }
    let now = Moment::now().seconds();
    let mut head = Head {
        version: VERSION,
        name: job.name.clone(),
        publisher: String::new(),
        suite: SUITE.to_owned(),
        epoch,
        public_key: Hex(*key.public()),
        issued: now,
        expires: now.saturating_add(job.valid.as_secs()),
        keys,
        null_values,
        lambda: job.lambda,
        queries: job.queries,
        capacity,
        tag_bits,
        items,
        labels,
        parts: continued.map(|old| old.parts.clone()).unwrap_or_default(),
        state: Hex::default(),
        log: old.as_ref().map(|old| old.log).unwrap_or_default(),
    };
    head.set_certificate(me.certificate().as_der());
    let publishing = Publishing { job, directory: &directory, key: &key, observer, cancel };
    let partitions = items.div_ceil(PARTITION).max(1) as usize;
    let partitioned = table.partition(
        &Seed::of_run(item_seed(key.public())),
        Division { partitions, sets: 1 },
        DigestLength::Long,
        &directory.private(),
    )?;
    let Update { changes, is_whole, part } =
        publishing.update(&mut head, continued, &partitioned, rng)?;
    publishing.show(&mut head, old.as_ref(), part, me)?;
    Ok(Published { head, changes, is_whole })
}

/// Reads the keys of the table, and their labels.
fn read(
    job: &Publication,
    directory: &ListDirectory,
    observer: &Arc<dyn Observer>,
) -> Result<TableKeys> {
    observer.phase("read");
    let sends = job.labels.clone().map(|(columns, bytes)| SentColumns { columns, bytes, rows: 1 });
    if let Some(fault) = sends.as_ref().and_then(SentColumns::fault) {
        return Err(Error::usage(Misuse::Columns, fault));
    }
    let names: Vec<_> = job.columns.iter().map(|column| column.name.as_str()).collect();
    let sent = sends.as_ref().map(|sends| sends.columns.clone()).unwrap_or_default();
    let sent: Vec<_> = sent.iter().map(String::as_str).collect();
    let input = job.input.clone().open(job.dialect.clone())?;
    let scan = input.read_columns(Columns { keys: &names, sent: &sent, ..Columns::default() })?;
    let header = !scan.header().is_missing();
    let memory = job.memory.unwrap_or_else(host::budget);
    let reading = Reading {
        keys: job.columns.clone(),
        null_values: job.null_values.clone(),
        sends,
        nulls: job.nulls,
        duplicates: job.duplicates,
        memory: Some(memory / 2),
        spill: Some(directory.private()),
        ..Reading::default()
    };
    let show = |done, fraction| {
        let fraction = Some(fraction);
        observer.progress(Progress { done, unit: Unit::Rows, total: None, fraction });
    };
    let (table, keys, findings) = TableKeys::read(scan, &reading, show)?;
    if !job.allow_empty {
        findings.require_keys(&table, header)?;
    }
    findings.warnings.iter().for_each(|warning| observer.warning(&warning.to_string()));
    Ok(keys)
}

struct Publishing<'a> {
    job: &'a Publication,
    directory: &'a ListDirectory,
    key: &'a ServerKey,
    observer: &'a Arc<dyn Observer>,
    cancel: &'a CancelToken,
}

/// A change of a list.
struct Update {
    changes: Changes,
    is_whole: bool,
    /// The new part, the last one in the head, or `None` if the list stays the same.
    part: Option<NamedTempFile>,
}

impl Publishing<'_> {
    /// Updates the records, and makes the next part if anything changed.
    fn update(
        &self,
        head: &mut Head,
        old: Option<&Head>,
        partitions: &Partitions,
        rng: &mut dyn CryptoRng,
    ) -> Result<Update> {
        self.observer.phase("evaluate");
        let labelled = head.labels.is_some();
        let sequence = old.map_or(0, |old| old.sequence() + 1);
        let place = Place { epoch: head.epoch, sequence };
        let progress = InterruptedDraft::find(self.directory, place, labelled)?;
        let old_values = match old {
            Some(old) => {
                let path = self.directory.values_path(old.epoch, old.sequence(), labelled);
                RecordReader::open(&path, labelled, Some(old.items))?
            }
            None => RecordReader::open(Path::new(""), labelled, None)?,
        };
        let (mut listed, mut evaluated) = (old_values, progress.reader(labelled)?);
        let path = self.directory.values_path(head.epoch, sequence, labelled);
        let mut writer = Writer::create(&path, labelled)?;
        // A delta with changes to more than a quarter of the items is hardly smaller than the whole list.
        let most = match old {
            Some(old) if old.parts.len() < MANY_PARTS => (old.items / 4).min(1 << 24) as usize,
            _ => 0,
        };
        let (mut delta, mut changes) = (Delta::new(most), Changes::default());
        let mut done = 0;
        let count = partitions.count();
        for partition in 0..count {
            let items = items_of(partitions, partition, rng)?;
            let end = Record::end(partition, count);
            let known =
                KnownRecords { listed: listed.before(end)?, evaluated: evaluated.before(end)? };
            let step = |more| {
                done += more;
                self.observer.progress(Progress::of(done, head.items, Unit::Rows));
                match self.cancel.is_cancelled() {
                    true => Err(vesica_net::Error::Cancelled { phase: "evaluate" }.into()),
                    false => Ok(()),
                }
            };
            let merged = merge(&items, &known, self.key, &mut delta, &mut changes, place, step);
            writer.write(&merged?)?;
            progress.note(self.directory, writer.keep()?)?;
        }
        if let (Some(old), 0, 0) = (old, changes.added, changes.removed) {
            debug_assert_eq!(old.items, head.items);
            return Ok(Update { changes, is_whole: false, part: None });
        }
        self.observer.phase("finish");
        let draft = self.directory.draft()?;
        let failed = failed(draft.path());
        let (draft, entry, is_whole) = if delta.is_over() || old.is_none() {
            head.parts.clear();
            let header = self.header(head, sequence, 0, head.items);
            let mut source = self.source(&path, head, partitions, place, rng);
            let memory = self.job.memory.unwrap_or_else(host::budget) / 4;
            let (draft, entry) = whole::write(draft, header, memory, &mut *source)?;
            (draft, entry, true)
        } else {
            let shift = 128 - head.tag_bits;
            let (removed, added) = (delta.removed.len() as u64, delta.added.len() as u64);
            let header = self.header(head, sequence, removed, added);
            delta.removed.sort_unstable();
            delta.added.sort_unstable();
            let removed: Vec<_> = delta.removed.iter().map(|tag| tag >> shift).collect();
            let added: Vec<_> = delta.added.iter().map(|(tag, _)| tag >> shift).collect();
            let label = head.sealed_label() as usize;
            let labels = delta.added.iter().map(|(_, at)| &delta.labels[*at..][..label]);
            let labels = labels.collect::<Vec<_>>().concat();
            let (_, entry) =
                write_part(draft.as_file(), header, &removed, &added, &labels).map_err(failed)?;
            (draft, entry, false)
        };
        head.parts.push(entry);
        Ok(Update { changes, is_whole, part: Some(draft) })
    }

    /// Returns the header of the part after the last one in the head.
    fn header(&self, head: &Head, sequence: u64, removed: u64, added: u64) -> Header {
        let entry = Entry { sequence, removed, added, bytes: 0, digest: Hex::default() };
        head.header(&entry, head.computed_state())
    }

    /// Returns a function that iterates over all records of the new version.
    fn source<'a>(
        &'a self,
        path: &'a Path,
        head: &'a Head,
        partitions: &'a Partitions,
        place: Place,
        rng: &'a mut dyn CryptoRng,
    ) -> Box<whole::Source<'a>> {
        let labelled = head.labels.is_some();
        if !labelled {
            return Box::new(move |show| {
                let mut records = RecordReader::open(path, labelled, Some(head.items))?;
                while let Some(record) = records.next()? {
                    show(record.value.whole_tag(), &[])?;
                }
                Ok(())
            });
        }
        Box::new(move |show| {
            let mut records = RecordReader::open(path, labelled, Some(head.items))?;
            let count = partitions.count();
            for partition in 0..count {
                let items = items_of(partitions, partition, rng)?;
                let known = records.before(Record::end(partition, count))?;
                for (nth, record) in known.iter().enumerate() {
                    show(record.value.whole_tag(), &items.seal(nth, &record.value, place))?;
                }
            }
            Ok(())
        })
    }

    /// Publishes the new part, then the log, and then the head.
    fn show(
        &self,
        head: &mut Head,
        old: Option<&Head>,
        part: Option<NamedTempFile>,
        me: &Identity,
    ) -> Result<()> {
        head.state = Hex(head.computed_state());
        let mut log = None;
        if old.is_none_or(|old| old.state != head.state) {
            let text = self.directory.log(&old.map(|old| old.log).unwrap_or_default())?;
            let (line, end) = head.log.append(&head.line());
            (log, head.log) = (Some(text + &line), end);
        }
        let message = signed::message(vesica_list::head::MEDIA_TYPE, &head.payload());
        let unusable = |_| Error::bug("the identity cannot sign");
        let text = head.sealed(&me.sign(&message).map_err(unusable)?);
        // Nothing is published that clients would refuse.
        Head::read(&text)?;
        if let (Some(part), Some(entry)) = (part, head.parts.last()) {
            self.directory.show(part, &entry.file_name())?;
        }
        if let Some(log) = log {
            self.directory.show_text(&log, LOG)?;
        }
        self.directory.show_text(&text, HEAD)?;
        self.directory.clean([head, old.unwrap_or(head)]);
        Ok(())
    }
}

/// Returns the items of a partition, sorted by place, with their labels.
fn items_of(
    partitions: &Partitions,
    partition: usize,
    rng: &mut dyn CryptoRng,
) -> Result<LabelledItems> {
    let loaded = partitions.load(partition, rng)?;
    let set = &loaded.set;
    let images = loaded.images();
    let mut order: Vec<u32> = (0..images.len() as u32).collect();
    let place = |key: &u32| Record::place(images[*key as usize].as_bytes());
    order.sort_unstable_by_key(place);
    let items = order.iter().map(|key| (place(key), *images[*key as usize].as_bytes()));
    let items = items.collect();
    let label_bytes = set.payload_len();
    let mut labels = Vec::with_capacity(images.len() * label_bytes);
    if label_bytes > 0 {
        let payloads = set.payloads();
        order.iter().for_each(|key| labels.extend_from_slice(payloads.of(*key as usize)));
    }
    Ok(LabelledItems { items, labels, label_bytes })
}

/// The records of an interrupted publication of the same version.
pub struct InterruptedDraft {
    records: PathBuf,
    count: u64,
    path: PathBuf,
    note: PathBuf,
}

impl InterruptedDraft {
    /// Finds the records, and sets aside the last attempt's values, unless more were set aside before. An attempt may
    /// have been killed between any two steps of this function, or while its files were removed. Records that do not
    /// match their note are ignored.
    fn find(directory: &ListDirectory, place: Place, labelled: bool) -> Result<Self> {
        let path = directory.values_path(place.epoch, place.sequence, labelled);
        let with = |suffix: &str| path.with_extension(suffix);
        let (note, records, noted) = (with("note"), with("begun"), with("begun-note"));
        let count = |path: &Path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.trim_end().parse().unwrap_or(0u64)
        };
        let (last, before) = (count(&note), count(&noted));
        let set_aside = if last > before && RecordReader::holds(&path, labelled, last) {
            directory.replace(&noted, b"0\n")?;
            fs::rename(&path, &records).map_err(failed(&records))?;
            last
        } else if last > before && !path.exists() && RecordReader::holds(&records, labelled, last) {
            // The attempt was killed after the rename and before the note.
            last
        } else if RecordReader::holds(&records, labelled, before) {
            before
        } else {
            0
        };
        if set_aside != before {
            directory.replace(&noted, format!("{set_aside}\n").as_bytes())?;
        }
        directory.replace(&note, b"0\n")?;
        Ok(Self { records, count: set_aside, path, note })
    }

    fn reader(&self, labelled: bool) -> Result<RecordReader> {
        match self.count {
            0 => RecordReader::open(Path::new(""), labelled, None),
            count => RecordReader::open(&self.records, labelled, Some(count)),
        }
    }

    /// Notes the number of stored records of this attempt.
    fn note(&self, directory: &ListDirectory, records: u64) -> Result<()> {
        debug_assert!(self.path.exists());
        directory.replace(&self.note, format!("{records}\n").as_bytes())
    }
}
