//! Published lists: data that a client downloads, and the messages between client and publisher.

use std::{collections::BTreeMap, io::Cursor};

use rand::{SeedableRng, rngs::StdRng};
use vesica_list::{
    Error,
    checker::Checker,
    exchange::{self, Question},
    head::{Head, MEDIA_TYPE},
    hex::Hex,
    label::{self, Place},
    log::{self, Line, LogEnd, LoggedState},
    part::{self, CHUNK, Entry, HEADER_BYTES, Header, Part, Side},
    signed,
    table::MAX_LABEL,
    writing::write_part,
};

use crate::{
    Valid,
    bytes::{Bytes, tells_no_secret, with_secrets},
    documents::PARTIES,
};

/// The head of a list: any text, or any content that the target signs, with the state that its parts have.
pub fn list_head(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mode = bytes.byte() % 2;
    let content = with_secrets(bytes.0);
    if mode == 0 {
        if let Ok(text) = std::str::from_utf8(&content) {
            read_head(text);
        }
        return;
    }
    let Ok(mut head) = serde_json::from_slice::<Head>(&content) else { return };
    let me = &PARTIES[0];
    head.set_certificate(me.certificate().as_der());
    head.state = Hex(head.computed_state());
    let message = signed::message(MEDIA_TYPE, &head.payload());
    let text = head.sealed(&me.sign(&message).expect("a key that signs"));
    if let Some(again) = read_head(&text) {
        assert!(again == head, "the head read differs from the one signed");
        valid.note("head");
    }
    // A signature by another key is refused for any content.
    let stranger = PARTIES[1].sign(&message).expect("a key that signs");
    assert!(matches!(Head::read(&head.sealed(&stranger)), Err(error) if is_of_signature(&error)));
}

fn is_of_signature(error: &Error) -> bool {
    // A head that is too long, or of another version, is refused earlier.
    matches!(error, Error::Signature | Error::NotAHead(_) | Error::Version(_))
}

fn read_head(text: &str) -> Option<Head> {
    match Head::read(text) {
        Ok(head) => {
            assert!(head.items <= head.capacity && head.computed_state() == head.state.0);
            assert!(head.sequence() >= head.parts.len() as u64 - 1);
            Some(head)
        }
        Err(error) => {
            tells_no_secret(&error);
            None
        }
    }
}

/// The log of a list: any text, or lines with at most one changed byte.
pub fn list_log(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mode = bytes.byte() % 2;
    if mode == 0 {
        if let Ok(text) = std::str::from_utf8(&with_secrets(bytes.0)) {
            for known in [None, Some(&LogEnd { entries: 1, digest: Hex([0; 32]) })] {
                let end = LogEnd { entries: 1, digest: Hex::default() };
                // It is infeasible to find a text whose hash is zero.
                let error = log::check(text, LoggedState { end, state: Hex::default() }, known)
                    .expect_err("a hash");
                tells_no_secret(&error);
            }
        }
        return;
    }
    let (place, change) = (bytes.below(1 << 16), bytes.byte());
    let known_after = usize::from(bytes.byte());
    let mut text = String::new();
    let mut ends = vec![LogEnd::default()];
    let mut state = Hex::default();
    let mut lines = Vec::new();
    while !bytes.0.is_empty() && lines.len() < 15 {
        let [epoch, sequence, issued] = [0; 3].map(|_: u64| u64::from_le_bytes(bytes.array()));
        lines.push(Line { epoch, sequence, issued, state: Hex(bytes.array()) });
    }
    // Each version occurs once in a log, after the earlier ones.
    let version = |line: &Line| (line.epoch, line.sequence);
    lines.sort_by_key(version);
    lines.dedup_by_key(|line| version(line));
    for line in &lines {
        let (more, end) = ends[ends.len() - 1].append(line);
        text += &more;
        ends.push(end);
        state = line.state;
    }
    let end = ends[ends.len() - 1];
    let known = &ends[known_after % ends.len()];
    if ends.len() > 1 {
        assert_eq!(log::check(&text, LoggedState { end, state }, Some(known)), Ok(()));
        valid.note("log");
        let mut other = text.into_bytes();
        let place = place % other.len();
        other[place] ^= change;
        if let (Ok(other), true) = (String::from_utf8(other), change != 0) {
            assert!(
                log::check(&other, LoggedState { end, state }, Some(known)).is_err(),
                "a changed log"
            );
        }
    }
}

/// A part of a list: any content under a header that the target signs, or a valid part. All items are found in a valid
/// part, and changing one of its bytes is noticed.
pub fn list_part(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let mode = bytes.byte() % 3;
    let (bits, label) = (32 + u32::from(bytes.byte() % 97), u32::from(bytes.byte() % 3) * 11);
    if mode == 0 {
        let number = |bytes: &mut Bytes<'_>| u64::from_le_bytes(bytes.array());
        let (removed, added) = (number(&mut bytes), number(&mut bytes));
        let label = label.min(MAX_LABEL);
        let header = header(removed, added, bits, label);
        let content = [&header.encode()[..], bytes.0].concat();
        let (file, entry) = filed(&content, &header);
        open(&file, &entry, &header, &[0, 1, u128::MAX >> (128 - bits)]);
        // A part with an arbitrary header.
        let (file, entry) = filed(bytes.0, &header);
        open(&file, &entry, &header, &[]);
        return;
    }
    let (place, change, step) = (bytes.below(1 << 16), bytes.byte(), 1 + bytes.below(1 << 12));
    let tags = |bytes: &mut Bytes<'_>, most: usize| {
        let count = bytes.below(most);
        let mut tags: Vec<u128> =
            (0..count).map(|_| u128::from_be_bytes(bytes.array()) >> (128 - bits)).collect();
        tags.sort_unstable();
        tags
    };
    let (removed, added) = (tags(&mut bytes, 64), tags(&mut bytes, 512));
    let header = header(removed.len() as u64, added.len() as u64, bits, label);
    let key = [7; 16];
    let mut labels = vec![9; added.len() * label as usize];
    for sealed in labels.chunks_mut((label as usize).max(1)) {
        if sealed.len() > label::OVERHEAD {
            label::seal(sealed, &key, PLACE);
        }
    }
    let (file, entry) = write_part(Cursor::new(Vec::new()), header, &removed, &added, &labels)
        .expect("tags in order");
    let file = file.into_inner();
    checked(&file, &entry, &header, step).expect("a part that was written");
    let expected = [count(&removed), count(&added)];
    let mut asked: Vec<u128> = removed.iter().chain(&added).copied().collect();
    asked.sort_unstable();
    asked.dedup();
    let found = open(&file, &entry, &header, &asked).expect("a part that was written");
    assert!(found == expected, "the result differs from what was written");
    valid.note("part");
    if change == 0 || file.is_empty() {
        return;
    }
    let mut other = file.clone();
    let place = place % other.len();
    other[place] ^= change;
    assert!(checked(&other, &entry, &header, step).is_err(), "a changed byte is accepted");
    if mode == 2 {
        // If a publisher signs an invalid part, the part is refused or read as some valid part.
        let front = 32 * part::chunks(entry.bytes) as usize;
        let (file, entry) = filed(&other[front..], &header);
        open(&file, &entry, &header, &asked);
    }
}

const PLACE: Place = Place { epoch: 1, sequence: 2 };

fn header(removed: u64, added: u64, tag_bits: u32, label: u32) -> Header {
    let Place { epoch, sequence } = PLACE;
    Header { epoch, sequence, removed, added, tag_bits, label, previous: [3; 32] }
}

fn count(tags: &[u128]) -> BTreeMap<u128, usize> {
    let mut counts = BTreeMap::new();
    tags.iter().for_each(|tag| *counts.entry(*tag).or_default() += 1);
    counts
}

/// Returns the file of a part with this content, and its entry for a head.
fn filed(content: &[u8], header: &Header) -> (Vec<u8>, Entry) {
    let digests: Vec<u8> =
        content.chunks(CHUNK as usize).flat_map(|chunk| *blake3::hash(chunk).as_bytes()).collect();
    let bytes = content.len() as u64;
    let Header { sequence, removed, added, .. } = *header;
    let digest = Hex(part::digest(bytes, &digests));
    ([&digests, content].concat(), Entry { sequence, removed, added, bytes, digest })
}

/// Checks a file whose bytes arrive in pieces of this length.
fn checked(file: &[u8], entry: &Entry, header: &Header, step: usize) -> Result<(), Error> {
    let mut checker = Checker::new(entry, header);
    for piece in file.chunks(step) {
        let before = checker.verified();
        checker.push(piece)?;
        assert!(checker.verified() >= before && checker.verified() <= entry.file_bytes());
    }
    checker.finish()
}

/// Opens a part, looks up sorted tags, and returns the number found of each in either table.
fn open(
    file: &[u8],
    entry: &Entry,
    header: &Header,
    tags: &[u128],
) -> Option<[BTreeMap<u128, usize>; 2]> {
    // A head refuses an entry without even a header.
    if entry.bytes < HEADER_BYTES as u64 {
        return None;
    }
    // A part that is accepted when it arrives never fails a lookup.
    let is_accepted = checked(file, entry, header, 1 << 16).is_ok();
    let part = match Part::open(file, entry, header) {
        Ok(part) => part,
        Err(error) => {
            assert!(matches!(error, Error::Part { .. } | Error::OutOfOrder { .. }), "{error:?}");
            assert!(!is_accepted, "a part that was accepted cannot be opened");
            return None;
        }
    };
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    let looked = part.find(tags, |side, nth, labels| {
        let length = if side == Side::Added { header.label as usize } else { 0 };
        for sealed in labels {
            assert_eq!(sealed.len(), length);
            let _ = label::open(sealed, &[7; 16], PLACE);
        }
        *found[side as usize].entry(tags[nth]).or_default() += labels.len();
    });
    assert!(looked.is_ok() || !is_accepted, "a part that was accepted cannot be looked up in");
    looked.is_ok().then_some(found)
}

/// A client's question and a publisher's answer: any bytes for either, or a valid answer with at most one changed byte.
pub fn list_exchange(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (count, place, change) = (1 + bytes.below(3), bytes.below(1 << 12), bytes.byte());
    let rng = &mut StdRng::seed_from_u64(1);
    let key = exchange::epoch_key(&[5; 32], 1).expect("a seed gives a key");
    match exchange::answer(&key, bytes.0, rng) {
        Ok(answer) => {
            let items = exchange::items(bytes.0.len()).expect("it was answered");
            assert_eq!(answer.len(), exchange::answer_bytes(items));
            valid.note("question");
        }
        Err(error) => tells_no_secret(&error),
    }
    let mut head: Head = serde_json::from_str(HEAD).expect("a head");
    head.public_key = Hex(*key.public());
    let items: Vec<[u8; 32]> = (0..count).map(|nth| [nth as u8; 32]).collect();
    let values = key.evaluate(&items).expect("short inputs");
    let question = || {
        let rng = &mut StdRng::seed_from_u64(2);
        Question::new(items.clone(), &head, rng).expect("few items")
    };
    assert!(question().finish(bytes.0).is_err(), "an answer without a proof");
    let mut answer =
        exchange::answer(&key, &question().bytes(), rng).expect("a question that was made");
    let place = place % answer.len();
    answer[place] ^= change;
    match question().finish(&answer) {
        Ok(found) => {
            assert_eq!(change, 0, "a changed answer is accepted");
            valid.note("answer");
            let tags =
                values.iter().map(|output| vesica_list::value::Value::of(output).whole_tag());
            assert!(found.iter().map(|value| value.whole_tag()).eq(tags));
        }
        Err(_) => assert_ne!(change, 0, "a true answer is refused"),
    }
}

/// A head. An exchange uses only its public key.
const HEAD: &str = include_str!("list-head.json");
