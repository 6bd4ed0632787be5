//! The compression function of BLAKE3 (§2.2 of its paper) on eight independent blocks at once, one per lane,
//! written so that a compiler can put each row of lanes into one vector instruction.
//!
//! The `blake3` crate hashes one short input at a time; protocols hash millions of them.

/// Blocks hashed at once.
pub const LANES: usize = 8;

type Lanes = [u32; LANES];

/// The initial values, which serve as the key without an explicit one.
pub const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// One chunk that is the whole input: CHUNK_START, CHUNK_END and ROOT.
pub const WHOLE: u32 = 1 | 2 | 8;

/// The mode of hashing with a key.
pub const KEYED: u32 = 16;

const ROUNDS: usize = 7;

/// The message word used at each place of each round.
pub const SCHEDULE: [[usize; 16]; ROUNDS] = schedule();

/// Each round permutes the words of the one before (Table 2 of the paper).
const fn schedule() -> [[usize; 16]; ROUNDS] {
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0; 16]; ROUNDS];
    let mut word = 0;
    while word < 16 {
        schedule[0][word] = word;
        word += 1;
    }
    let mut round = 1;
    while round < ROUNDS {
        let mut word = 0;
        while word < 16 {
            schedule[round][word] = schedule[round - 1][PERMUTATION[word]];
            word += 1;
        }
        round += 1;
    }
    schedule
}

/// The hash of each input, which is the first `lens` bytes (at most 64) of its block; the others must be 0.
/// `mode` is [`KEYED`], or 0 with the key [`IV`]. The hash is taken from the block of the output (§2.6) whose
/// number is given for the input.
pub fn hash(
    key: &[u32; 8],
    mode: u32,
    inputs: &[[u32; 16]; LANES],
    lens: &[u32; LANES],
    numbers: &[u64; LANES],
) -> [[u32; 8]; LANES] {
    let mut message = [[0; LANES]; 16];
    for (lane, input) in inputs.iter().enumerate() {
        for (word, lanes) in input.iter().zip(&mut message) {
            lanes[lane] = *word;
        }
    }
    let tail = [IV[0], IV[1], IV[2], IV[3], 0, 0, 0, WHOLE | mode];
    let mut state = [[0; LANES]; 16];
    for (lanes, word) in state.iter_mut().zip(key.iter().chain(&tail)) {
        *lanes = [*word; LANES];
    }
    state[12] = numbers.map(|number| number as u32);
    state[13] = numbers.map(|number| (number >> 32) as u32);
    state[14] = *lens;
    for words in &SCHEDULE {
        let m = |i: usize| message[words[i]];
        mix(&mut state, [0, 4, 8, 12], m(0), m(1));
        mix(&mut state, [1, 5, 9, 13], m(2), m(3));
        mix(&mut state, [2, 6, 10, 14], m(4), m(5));
        mix(&mut state, [3, 7, 11, 15], m(6), m(7));
        mix(&mut state, [0, 5, 10, 15], m(8), m(9));
        mix(&mut state, [1, 6, 11, 12], m(10), m(11));
        mix(&mut state, [2, 7, 8, 13], m(12), m(13));
        mix(&mut state, [3, 4, 9, 14], m(14), m(15));
    }
    let mut out = [[0; 8]; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        for (word, out) in out.iter_mut().enumerate() {
            *out = state[word][lane] ^ state[word + 8][lane];
        }
    }
    out
}

/// The quarter round G.
#[inline(always)]
fn mix(state: &mut [Lanes; 16], [a, b, c, d]: [usize; 4], x: Lanes, y: Lanes) {
    for lane in 0..LANES {
        state[a][lane] = state[a][lane].wrapping_add(state[b][lane]).wrapping_add(x[lane]);
        state[d][lane] = (state[d][lane] ^ state[a][lane]).rotate_right(16);
        state[c][lane] = state[c][lane].wrapping_add(state[d][lane]);
        state[b][lane] = (state[b][lane] ^ state[c][lane]).rotate_right(12);
        state[a][lane] = state[a][lane].wrapping_add(state[b][lane]).wrapping_add(y[lane]);
        state[d][lane] = (state[d][lane] ^ state[a][lane]).rotate_right(8);
        state[c][lane] = state[c][lane].wrapping_add(state[d][lane]);
        state[b][lane] = (state[b][lane] ^ state[c][lane]).rotate_right(7);
    }
}
