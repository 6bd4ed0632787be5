//! The Cologne phonetics of Hans Joachim Postel (1969), for German names.

use super::latin::latin;

/// Returns the digits of the sounds, without repetitions, and without vowels except at the beginning.
pub(crate) fn cologne(value: &str) -> Option<String> {
    let letters = latin(value);
    let letters = letters.as_bytes();
    let mut sounds = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let digits = sound(*letter, before, letters.get(at + 1).copied());
        for digit in digits.chars() {
            if !sounds.ends_with(digit) {
                sounds.push(digit);
            }
        }
    }
    let keeps = |(at, digit): (usize, char)| (at == 0 || digit != '0').then_some(digit);
    let found: String = sounds.chars().enumerate().filter_map(keeps).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the digits of a letter between its neighbours: none for `h`.
fn sound(letter: u8, before: Option<u8>, after: Option<u8>) -> &'static str {
    let follows = |some: &[u8]| before.is_some_and(|before| some.contains(&before));
    let precedes = |some: &[u8]| after.is_some_and(|after| some.contains(&after));
    match letter {
        b'a' | b'e' | b'i' | b'j' | b'o' | b'u' | b'y' => "0",
        b'h' => "",
        b'p' if precedes(b"h") => "3",
        b'b' | b'p' => "1",
        b'd' | b't' if precedes(b"csz") => "8",
        b'd' | b't' => "2",
        b'f' | b'v' | b'w' => "3",
        b'g' | b'k' | b'q' => "4",
        b'c' if before.is_none() && precedes(b"ahkloqrux") => "4",
        b'c' if before.is_some() && !follows(b"sz") && precedes(b"ahkoqux") => "4",
        b'x' if !follows(b"ckq") => "48",
        b'l' => "5",
        b'm' | b'n' => "6",
        b'r' => "7",
        _ => "8", // `s`, `z`, and `c` and `x` elsewhere
    }
}
