//! Messages of a connection.

use std::{
    collections::BTreeSet,
    io::{self, Cursor, Read, Write},
};

use sha2::{Digest, Sha256};
use vesica::{WIRE_VERSION, decoders};
use vesica_net::{
    Channel, Deviation, Error, Identity,
    files::read_file,
    relay::{self, RelayRefusal},
};

use crate::{
    Valid,
    bytes::{Bytes, tells_no_secret, with_secrets},
    documents::PARTIES,
};

/// The longest message of the target's protocol.
const MOST: usize = 1 << 12;

const LABEL: &str = "fuzz/step";

/// A peer that has sent these bytes and left, and to which everything can be sent.
struct SentMessages(Cursor<Vec<u8>>);

impl Read for SentMessages {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for SentMessages {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// For any bytes of a peer, a channel returns the requested data within its bounds, or an error that shows none of it.
pub fn frames(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (steps, size) = (bytes.array::<6>(), bytes.below(MOST));
    let mut channel = Channel::new(SentMessages(Cursor::new(with_secrets(bytes.0))));
    for step in steps {
        if let Err(error) = received(&mut channel, step, size) {
            // A label is the name of a step, and not content.
            if !matches!(error, Error::Peer { deviation: Deviation::UnexpectedLabel { .. }, .. }) {
                tells_no_secret(&error);
            }
            // The peer has ended, or it has broken a rule. Later calls must return, but their results do not matter.
            let _ = channel.finish();
            return;
        }
    }
    valid.note("messages");
    let _ = channel.finish();
}

fn received(channel: &mut Channel, step: u8, size: usize) -> Result<(), Error> {
    let mut room = vec![0; size];
    match step % 5 {
        0 => channel.recv_into(LABEL, &mut room),
        1 => channel.recv_len(LABEL, size).map(|message| assert!(message.len() <= size)),
        2 => channel.recv_slice(LABEL, &mut vec![0u64; size / 8]),
        3 => channel.exchange(LABEL, b"ours", &mut room),
        _ => channel.await_message(LABEL, size).map(|message| assert!(message.len() <= size)),
    }
}

/// An offer is refused, or its encoding is read to the same encoding. Version 0 stands for the version of this program,
/// so that the corpus does not depend on the version.
pub fn offer(data: &[u8], valid: &mut Valid) {
    let version = format!("\"version\":{WIRE_VERSION}");
    let mut content = with_secrets(data);
    if let Ok(text) = str::from_utf8(&content) {
        content = text.replace("\"version\":0", &version).into_bytes();
    }
    match decoders::offer(&content) {
        Ok(form) => {
            assert_eq!(decoders::offer(&form).ok().as_ref(), Some(&form));
            valid.note("offer");
        }
        Err(error) => tells_no_secret(&error),
    }
}

/// The call of a relay: any bytes, or a party's call with at most one changed byte. A relay only accepts a party that
/// is admitted and has signed its challenge.
pub fn relay_call(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (mode, challenge) = (bytes.byte() % 3, bytes.array());
    let fingerprints = PARTIES.each_ref().map(|party| party.fingerprint());
    // The second party is admitted if the first wants to meet it.
    let admitted: BTreeSet<_> =
        fingerprints.into_iter().take(if mode == 1 { 2 } else { 1 }).collect();
    let addresses = [HERE.to_owned()];
    let hear = |said: &[u8]| relay::hear(said, &challenge, &addresses, &admitted);
    if mode == 0 {
        assert!(hear(bytes.0).is_err(), "nobody signed");
        return;
    }
    let (me, other) = (usize::from(mode - 1), usize::from(2 - mode));
    let mut said = call(&PARTIES[me], &PARTIES[other], &challenge);
    let (place, change) = (bytes.below(said.len()), bytes.byte());
    said[place] ^= change;
    let heard = hear(&said);
    match (change, me) {
        (0, 0) => {
            assert_eq!(heard, Ok(fingerprints));
            valid.note("call");
        }
        (0, _) => assert_eq!(heard, Err(RelayRefusal::NotAdmitted)),
        // A changed certificate identifies another party, whose signature may be valid.
        _ => assert!(heard.is_err(), "a changed byte is accepted"),
    }
}

/// The address of the relay.
const HERE: &str = "relay.example.org:7799";

/// Builds the call of a party that wants to meet another.
fn call(me: &Identity, other: &Identity, challenge: &[u8]) -> Vec<u8> {
    // A fingerprint is the first 160 bits.
    let peer = &Sha256::digest(other.certificate().as_der())[..20];
    let (here, length) = (HERE.as_bytes(), [HERE.len() as u8]);
    let message = [b"vesica 2 relay\n", challenge, &length, here, peer].concat();
    let signature = me.sign(&message).expect("a key that signs");
    let certificate = me.certificate();
    let der = certificate.as_der();
    [&(der.len() as u16).to_le_bytes()[..], der, &length, here, peer, &signature].concat()
}

/// Requests of a cluster and answers of its gateway.
pub fn gateway_messages(data: &[u8], valid: &mut Valid) {
    valid.note_if(is_same_again(decoders::gateway_question, data), "question");
    valid.note_if(is_same_again(decoders::gateway_answer, data), "answer");
}

/// Returns whether the data can be read. Its encoding must then be read to the same encoding.
fn is_same_again(form_of: impl Fn(&[u8]) -> Option<Vec<u8>>, data: &[u8]) -> bool {
    let Some(form) = form_of(data) else { return false };
    assert_eq!(form_of(&form).as_ref(), Some(&form));
    true
}

/// A profile of keys is refused, or its encoding has the same meaning, and is all zeros if it is empty.
pub fn key_profile(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let columns = usize::from(bytes.byte() % 17);
    let Some(form) = decoders::profile(bytes.0, columns) else { return };
    assert_eq!(form.len(), bytes.0.len());
    assert!(form == bytes.0 || form.iter().all(|byte| *byte == 0));
    valid.note("profile");
}

/// A file of an exchange directory: any bytes, or bytes with a valid checksum, which the fuzzer could not find.
pub fn exchange_file(data: &[u8], valid: &mut Valid) {
    const HEADER: usize = 49;
    let mut bytes = Bytes(data);
    let with_checksum = bytes.byte() != 0;
    let mut content = with_secrets(bytes.0);
    if with_checksum {
        let checksum = Sha256::digest(&content);
        content.extend_from_slice(&checksum);
    }
    match read_file(content.clone()) {
        Ok((number, payload)) => {
            let end = content.len() - Sha256::output_size();
            assert_eq!(payload, content[HEADER..end]);
            assert_eq!(number.to_le_bytes(), content[40..48]);
            valid.note("file");
        }
        Err(error) => tells_no_secret(&error),
    }
}
