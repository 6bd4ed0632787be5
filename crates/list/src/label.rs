//! Labels: data that the publisher attaches to an item, readable only for clients that ask for the item.
//!
//! A sealed label is a synthetic initialisation vector followed by the label XOR a stream. The vector is a hash of the
//! item's label key, the label's place and the label itself. The stream is derived from the key and the vector. Two
//! labels therefore never share a stream, even if a part is made again after an interruption or from a backup. Labels
//! need no authentication because the part is signed. The vector distinguishes a label from labels of other items with
//! equal tags.

use subtle::ConstantTimeEq;

/// Bytes of the vector, by which a sealed label is longer than the label.
pub const OVERHEAD: usize = 16;

/// The part that contains a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The list's epoch.
    pub epoch: u64,
    /// The part's number.
    pub sequence: u64,
}

/// Seals a label in place: writes the first [`OVERHEAD`] bytes of `sealed` and encrypts the rest, which is the label.
pub fn seal(sealed: &mut [u8], key: &[u8; 16], place: Place) {
    let (front, label) = sealed.split_at_mut(OVERHEAD);
    let vector = vector(label, key, place);
    front.copy_from_slice(&vector);
    apply_stream(label, key, &vector);
}

/// Opens a label, or returns `None` if it belongs to another item.
pub fn open(sealed: &[u8], key: &[u8; 16], place: Place) -> Option<Vec<u8>> {
    let (front, label) = sealed.split_first_chunk()?;
    let mut label = label.to_vec();
    apply_stream(&mut label, key, front);
    bool::from(vector(&label, key, place).ct_eq(front)).then_some(label)
}

/// Computes the initialisation vector of a label.
fn vector(label: &[u8], key: &[u8; 16], place: Place) -> [u8; OVERHEAD] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list label vector");
    hasher.update(key).update(&place.epoch.to_le_bytes()).update(&place.sequence.to_le_bytes());
    let mut vector = [0; OVERHEAD];
    hasher.update(label).finalize_xof().fill(&mut vector);
    vector
}

fn apply_stream(label: &mut [u8], key: &[u8; 16], vector: &[u8; OVERHEAD]) {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list label stream");
    let mut stream = vec![0; label.len()];
    hasher.update(key).update(vector).finalize_xof().fill(&mut stream);
    label.iter_mut().zip(stream).for_each(|(byte, pad)| *byte ^= pad);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_opens_for_its_item_in_its_part() {
        let place = Place { epoch: 3, sequence: 7 };
        for len in [0, 1, 23, 24, 200] {
            let label: Vec<u8> = (0..len).collect();
            let mut sealed = [&[9; OVERHEAD][..], &label].concat();
            seal(&mut sealed, &[1; 16], place);
            assert_eq!(open(&sealed, &[1; 16], place), Some(label));
            assert_eq!(open(&sealed, &[2; 16], place), None);
            assert_eq!(open(&sealed, &[1; 16], Place { epoch: 4, ..place }), None);
            assert_eq!(open(&sealed, &[1; 16], Place { sequence: 8, ..place }), None);
        }
        assert_eq!(open(&[0; OVERHEAD - 1], &[1; 16], place), None);
    }

    /// A part made again, after an interruption or from a backup, may have a different label at the same place.
    #[test]
    fn two_labels_of_an_item_share_no_stream() {
        let (key, place) = ([1; 16], Place { epoch: 3, sequence: 7 });
        let sealed = |label: &[u8; 32]| {
            let mut sealed = [&[0; OVERHEAD][..], label].concat();
            seal(&mut sealed, &key, place);
            sealed
        };
        let (one, other) = (
            sealed(b"1980-01-01, and the same in both"),
            sealed(b"1990-01-01, and the same in both"),
        );
        // A shared stream would reveal the XOR of the labels, which has zeros where they are equal.
        let equal = one.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(equal < 8, "{equal} of {} bytes are equal", one.len());
        assert_eq!(one, sealed(b"1980-01-01, and the same in both"));
    }

    #[test]
    fn a_changed_label_opens_for_nobody() {
        let (key, place) = ([1; 16], Place { epoch: 3, sequence: 7 });
        let mut sealed = [&[0; OVERHEAD][..], b"label"].concat();
        seal(&mut sealed, &key, place);
        for at in 0..sealed.len() {
            let mut other = sealed.clone();
            other[at] ^= 1;
            assert_eq!(open(&other, &key, place), None, "byte {at}");
        }
    }
}
