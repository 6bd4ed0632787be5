//! Integers of a fixed bit length, packed without gaps.

/// The length in bytes of `count` numbers of `bits` bits each.
pub fn packed_len(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Appends numbers of `bits` bits, 1 to 128, to `bytes`, the first into the lowest bits of the first
/// byte.
pub fn pack_into(bytes: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u128>, bits: u32) {
    let end = bytes.len() + packed_len(numbers.len(), bits);
    bytes.reserve(end - bytes.len() + 8);
    // Bits that do not fill a word yet, and their number.
    let (mut word, mut filled) = (0u64, 0);
    let mut push = |part: u64, len: u32| {
        word |= part << filled;
        if filled + len < 64 {
            filled += len;
            return;
        }
        bytes.extend_from_slice(&word.to_le_bytes());
        word = part.checked_shr(64 - filled).unwrap_or(0);
        filled = filled + len - 64;
    };
    for number in numbers {
        if bits <= 64 {
            push(number as u64, bits);
        } else {
            push(number as u64, 64);
            push((number >> 64) as u64, bits - 64);
        }
    }
    bytes.extend_from_slice(&word.to_le_bytes());
    bytes.truncate(end);
}

/// Unpacks `count` numbers of `bits` bits each; missing bytes at the end count as zeros.
pub fn unpack(bytes: &[u8], count: usize, bits: u32) -> impl Iterator<Item = u128> + '_ {
    let word = |index: usize| {
        let from = (index * 8).min(bytes.len());
        let part = &bytes[from..(from + 8).min(bytes.len())];
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    let mask = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
    (0..count).map(move |i| {
        let (first, offset) = (i * bits as usize / 64, i * bits as usize % 64);
        let low = u128::from(word(first)) | u128::from(word(first + 1)) << 64;
        let mut number = low >> offset;
        if offset > 0 && bits as usize + offset > 128 {
            number |= u128::from(word(first + 2)) << (128 - offset);
        }
        number & mask
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn packed_values_are_unpacked_again() {
        let mut rng = StdRng::seed_from_u64(1);
        for bits in [1, 7, 8, 31, 59, 60, 63, 64, 65, 80, 100, 127, 128] {
            for count in [0, 1, 2, 3, 17, 64, 101] {
                let numbers: Vec<u128> =
                    (0..count).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
                for before in [&[][..], &[7]] {
                    let mut bytes = before.to_vec();
                    pack_into(&mut bytes, numbers.iter().copied(), bits);
                    let (kept, packed) = bytes.split_at(before.len());
                    assert_eq!((kept, packed.len()), (before, packed_len(count, bits)));
                    let unpacked: Vec<u128> = unpack(packed, count, bits).collect();
                    assert_eq!(unpacked, numbers, "{count} of {bits} bits");
                }
            }
        }
    }
}
