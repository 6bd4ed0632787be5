//! The check phrase of an agreement: six words that both sides compare on the phone.

use std::num::NonZeroU32;

use ring::pbkdf2::{PBKDF2_HMAC_SHA256, derive};

const WORDS: usize = 6;

/// The number of hashes per guess. Finding another agreement with the same words costs 2^17 times 2^66 hashes.
const ROUNDS: NonZeroU32 = NonZeroU32::new(1 << 17).unwrap();

/// Returns six words of the BIP 39 list, of 11 bits each, for the agreement with this hash.
///
/// An attacker between the two sides needs two agreements with the same words. The accepting side adds a random number
/// to the agreement after everything else is fixed, so its words cannot be prepared: the attacker can only search, for
/// these words, an agreement for the inviting side.
pub fn of(hash: &str) -> String {
    let mut bits = [0; 9];
    derive(PBKDF2_HMAC_SHA256, ROUNDS, b"vesica 1 check phrase", hash.as_bytes(), &mut bits);
    let bit = |at: usize| usize::from(bits[at / 8] >> (7 - at % 8) & 1);
    let list = bip39::Language::English.word_list();
    let word = |number: usize| (0..11).fold(0, |word, i| word << 1 | bit(11 * number + i));
    (0..WORDS).map(|number| list[word(number)]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_fixed_and_differ() {
        let (one, other) = (of("a"), of("b"));
        assert_eq!(one, of("a"));
        assert_ne!(one, other);
        assert_eq!(one.split(' ').count(), WORDS);
    }
}
