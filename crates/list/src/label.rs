//! Labels: what the publisher says of an item, readable for those alone who ask for the item.
//!
//! A sealed label is 8 bytes that depend on the key, and the label XOR a stream. Both come from BLAKE3, keyed by the item's
//! label key, of the epoch and of the part's number: a label that changes is in another part, under another stream. What
//! is signed needs no authentication. The 8 bytes tell a label of another item whose tag is equal by chance.

/// Bytes that a sealed label has besides the label.
pub const OVERHEAD: usize = 8;

/// Which part a label is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The list's epoch.
    pub epoch: u64,
    /// The part's number.
    pub sequence: u64,
}

/// Seals a label in place: the first [`OVERHEAD`] bytes of `sealed` are written, and the others are the label.
pub fn seal(sealed: &mut [u8], key: &[u8; 16], place: Place) {
    let stream = stream(sealed.len(), key, place);
    sealed[..OVERHEAD].fill(0);
    sealed.iter_mut().zip(stream).for_each(|(byte, pad)| *byte ^= pad);
}

/// Opens a label, unless it is that of another item.
pub fn open(sealed: &[u8], key: &[u8; 16], place: Place) -> Option<Vec<u8>> {
    let stream = stream(sealed.len(), key, place);
    let opened: Vec<u8> = sealed.iter().zip(stream).map(|(byte, pad)| byte ^ pad).collect();
    let (check, label) = opened.split_at_checked(OVERHEAD)?;
    check.iter().all(|byte| *byte == 0).then(|| label.to_vec())
}

fn stream(length: usize, key: &[u8; 16], place: Place) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list label");
    hasher.update(key).update(&place.epoch.to_le_bytes()).update(&place.sequence.to_le_bytes());
    let mut stream = vec![0; length];
    hasher.finalize_xof().fill(&mut stream);
    stream
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
        assert_eq!(open(&[0; 7], &[1; 16], place), None);
    }
}
