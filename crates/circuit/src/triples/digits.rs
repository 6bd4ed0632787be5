//! Equality of strings by their digits: shares of whether two strings, one of each party, are equal. A digit has three
//! bits, and takes one 1-out-of-8 OT (as in Rathee et al., CCS 2020, and Chandran, Gupta and Shah, PETS 2022; here with
//! silent OTs of random bits, and with random strings of the first party).
//!
//! For digits z of T and w of C, from a random OT in which T has the bits m_0 … m_7, and C a random digit c and m_c:
//!
//! 1. C → T: d = w ⊕ c.
//! 2. T → C: u_x = m_x ⊕ m_0 ⊕ [x = z ⊕ d] ⊕ [0 = z ⊕ d], for x from 1 to 7; and u_0 = 0.
//! 3. T has the share m_0 ⊕ [0 = z ⊕ d], and C has m_c ⊕ u_c. They add up to [c = z ⊕ d] = [w = z].
//!
//! The shares of all digits are equal, one of them inverted, exactly if all digits are: they are strings again, of a
//! third of the bits, which are compared in the same way, down to a string of one bit. The parties take turns as T and
//! C, so that T sends its d of one *level* with its u of the one before.
//!
//! **The first level** sends less, because there T is the first party, whose digits are random: it takes them from the
//! OTs. The message of word x is a polynomial in the bits x_0, x_1, x_2; let M_S be its coefficients for the products
//! of the bits in S. With z'_i = z_i ⊕ d_i ⊕ 1, the polynomial of [x = z ⊕ d] is the product of the x_i ⊕ z'_i.
//!
//! 1. T takes the digit whose bits are z_k = M_ij ⊕ 1, where i and j are the two others. C → T: d, as above.
//! 2. T → C: M_012 ⊕ 1, and M_i ⊕ z'_j·z'_k for each i.
//! 3. T has the share M_∅ ⊕ z'_0·z'_1·z'_2. C corrects m_c by the message that it got, and by d_k·c_i·c_j, because z'_k
//!    is M_ij ⊕ d_k.
//!
//! The one or two bits that are left over of the first party's strings are drawn at random, and compared in later
//! levels.
//!
//! d is masked by c, and T's messages by coefficients that C does not know, because M_∅ masks the message it has; so
//! all messages are random. Lengths depend only on the number of strings and of their bits.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    CotReceiver, CotSender,
    one_of_n::silent::{self, WORD_BITS, WORDS},
};
use vesica_params::lpn::{self, Lpn};
use zeroize::Zeroizing;

use super::Tape;
use crate::{Party, WireBits};

const MASKED: &str = "digits/masked";
const TABLES: &str = "digits/tables";

/// Words of a message at most.
const MESSAGE_WORDS: usize = 1 << 17;

/// Bits that T sends for a digit.
const TABLE_BITS: usize = WORDS - 1;

/// Bits that T sends for a digit of the first level.
const DRAWN_TABLE_BITS: usize = 1 + WORD_BITS;

/// Leaves of a tree of the noise. With twice as many, noise takes about half the bytes, and a piece twice the memory.
const LEAVES: [usize; 2] = [1 << 9, 1 << 11];

/// The noise of `n` OTs: at least ten pieces, or those with the shortest trees.
pub(super) fn lpn(n: usize) -> Lpn {
    let [least, most] = LEAVES;
    let leaves = 1 << (n >> 12).max(1).ilog2();
    lpn::UNIFORM.with_piece(lpn::UNIFORM.blocks * leaves.clamp(least, most) / 2)
}

/// Strings to be compared: their number, and the bits of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strings {
    count: usize,
    bits: usize,
}

/// One round of comparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigitLevel {
    /// T: the party with the messages.
    holder: Party,
    /// Digits that are compared.
    digits: usize,
    /// Bits of a string that are in none of them, and remain as they are.
    kept: usize,
}

impl Strings {
    /// `count` strings of `bits` bits.
    ///
    /// # Panics
    /// For fewer than 1 bit or more than 128.
    pub fn new(count: usize, bits: usize) -> Self {
        assert!((1..=128).contains(&bits), "strings have 1 to 128 bits");
        Self { count, bits }
    }

    /// Words of a row: a bit of every string.
    fn width(self) -> usize {
        self.count.div_ceil(64)
    }

    /// Digits of the first level.
    fn drawn(self) -> usize {
        self.bits / WORD_BITS
    }

    /// The levels after the first: as few as there can be, with as few digits as these take.
    fn levels(self) -> impl Iterator<Item = DigitLevel> {
        let (mut bits, mut holder) = (self.drawn() + self.bits % WORD_BITS, Party::Second);
        std::iter::from_fn(move || {
            if bits == 1 {
                return None;
            }
            // A power of three that the following levels reduce to 1.
            let mut left = 1;
            while left * WORD_BITS < bits {
                left *= WORD_BITS;
            }
            let digits = (bits - left).div_ceil(WORD_BITS - 1);
            let kept = bits.saturating_sub(digits * WORD_BITS);
            let level = DigitLevel { holder, digits, kept };
            (bits, holder) = (digits + kept, holder.other());
            Some(level)
        })
    }

    /// The number of levels.
    pub fn depth(self) -> usize {
        usize::from(self.drawn() > 0) + self.levels().count()
    }

    /// The 1-out-of-8 OTs in which `holder` has the messages.
    pub fn ots(self, holder: Party) -> usize {
        let drawn = if holder == Party::First { self.drawn() } else { 0 };
        let levels = self.levels().filter(|level| level.holder == holder);
        (drawn + levels.map(|level| level.digits).sum::<usize>()) * self.count
    }

    /// Bytes of memory of a party: for the OTs that are kept, and for the OTs that are made at a time, with the number
    /// of threads of the current pool.
    pub fn memory(self, role: Party) -> usize {
        let [held, chosen] = [role, role.other()].map(|holder| self.ots(holder));
        let made = [held, chosen].map(|n| silent::memory(n, lpn(n)));
        (held * WORDS + chosen * (WORD_BITS + 1)) / 8 + made.into_iter().max().unwrap_or(0)
    }

    /// Payload bytes that a party sends while strings are compared.
    pub fn bytes(self, role: Party) -> usize {
        let rows = |level: DigitLevel| match level.holder == role {
            true => TABLE_BITS * level.digits,
            false => WORD_BITS * level.digits,
        };
        let drawn = match role {
            Party::First => DRAWN_TABLE_BITS,
            Party::Second => WORD_BITS,
        };
        let rows = drawn * self.drawn() + self.levels().map(rows).sum::<usize>();
        rows * self.width() * size_of::<u64>()
    }
}

/// One party's unused OTs for comparing strings.
pub struct Digits {
    role: Party,
    strings: Strings,
    held: Held,
    chosen: ChosenDigits,
    /// For each digit of the first level the coefficients of its OTs' messages, if this is the first party.
    drawn: Vec<[Row; WORDS]>,
}

/// A bit of every string.
type Row = Zeroizing<Vec<u64>>;

/// The OTs in which this party has the messages.
struct Held([Tape; WORDS]);

/// The OTs in which it has a choice.
struct ChosenDigits {
    words: [Tape; WORD_BITS],
    messages: Tape,
}

fn tapes<const N: usize>(count: usize) -> [Tape; N] {
    std::array::from_fn(|_| Tape::with_room(count))
}

impl Held {
    /// The messages of the next `count` OTs.
    fn take(&mut self, count: usize) -> [Row; WORDS] {
        self.0.each_mut().map(|tape| Zeroizing::new(tape.take_row(count)))
    }

    /// `n` OTs over an extension that has been set up.
    fn make(
        n: usize,
        cot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut held = tapes(n);
        if n > 0 {
            let mut ot = silent::Sender::setup(cot, lpn(n), channel, rng)?;
            ot.send(n, channel, |messages, count| {
                let tapes = held.iter_mut().zip(messages);
                tapes.for_each(|(tape, messages): (&mut Tape, _)| tape.push(*messages, count));
            })?;
        }
        Ok(Self(held))
    }
}

impl ChosenDigits {
    /// `n` OTs over an extension that has been set up.
    fn make(
        n: usize,
        cot: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut made = Self { words: tapes(n), messages: Tape::with_room(n) };
        if n > 0 {
            let mut ot = silent::Receiver::setup(cot, lpn(n), channel, rng)?;
            ot.receive(n, channel, |chosen, count| {
                let tapes = made.words.iter_mut().zip(chosen.words);
                tapes.for_each(|(tape, bits)| tape.push(bits, count));
                made.messages.push(chosen.messages, count);
            })?;
        }
        Ok(made)
    }
}

impl Digits {
    /// Makes the OTs; the other party does the same in the other role.
    pub(super) fn make(
        role: Party,
        strings: Strings,
        sender: &mut impl CotSender,
        receiver: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let [own, others] = [role, role.other()].map(|holder| strings.ots(holder));
        let (held, chosen);
        match role {
            Party::First => {
                held = Held::make(own, sender, channel, rng)?;
                chosen = ChosenDigits::make(others, receiver, channel, rng)?;
            }
            Party::Second => {
                chosen = ChosenDigits::make(others, receiver, channel, rng)?;
                held = Held::make(own, sender, channel, rng)?;
            }
        }
        let mut made = Self { role, strings, held, chosen, drawn: Vec::new() };
        if role == Party::First {
            let digits = (0..strings.drawn()).map(|_| coefficients(made.held.take(strings.count)));
            made.drawn = digits.collect();
        }
        Ok(made)
    }

    /// The strings of the first party, whose other bits are drawn here; wire i holds bit i of the strings.
    pub fn draw(&self, rng: &mut dyn CryptoRng) -> WireBits {
        let Strings { count, bits } = self.strings;
        let mut strings = WireBits::random(bits, count, rng);
        for (digit, of_digit) in self.drawn.iter().enumerate() {
            for bit in 0..WORD_BITS {
                let others = &of_digit[WORDS - 1 - (1 << bit)];
                let row = strings.row_mut(digit * WORD_BITS + bit);
                row.iter_mut().zip(&**others).for_each(|(row, others)| *row = !*others);
            }
        }
        strings.clear_beyond();
        strings
    }

    /// Shares of whether this party's strings equal the other party's; wire i holds bit i of the strings. The first
    /// party uses the strings it has [drawn](Self::draw).
    ///
    /// # Panics
    /// If the number of strings, or of their bits, is not the agreed one.
    pub fn compare(mut self, strings: &WireBits, channel: &mut Channel) -> Result<WireBits> {
        let Strings { count, bits } = self.strings;
        assert_eq!((strings.instances(), strings.wires()), (count, bits), "as agreed on");
        let rows = (0..bits).map(|wire| Zeroizing::new(strings.row(wire).to_vec()));
        let mut rows: Vec<_> = rows.collect();
        let kept = rows.split_off(self.strings.drawn() * WORD_BITS);
        rows = match self.role {
            Party::First => self.hold_drawn(channel)?,
            Party::Second => self.choose_drawn(rows, channel)?,
        };
        rows.extend(kept);
        for level in self.strings.levels() {
            let kept = rows.split_off(rows.len() - level.kept);
            let width = self.strings.width();
            rows.resize_with(level.digits * WORD_BITS, || Zeroizing::new(vec![0; width]));
            rows = match level.holder == self.role {
                true => self.hold(rows, channel)?,
                false => self.choose(rows, channel)?,
            };
            rows.extend(kept);
        }
        channel.flush()?;
        let [last] = &mut rows[..] else { unreachable!("one bit is left") };
        if self.role == Party::First {
            last.iter_mut().for_each(|word| *word = !*word);
        }
        Ok(WireBits::from_words(1, count, std::mem::take(&mut **last)))
    }

    /// The first level, of the first party. Returns its shares, inverted.
    fn hold_drawn(&mut self, channel: &mut Channel) -> Result<Vec<Row>> {
        let (width, digits) = (self.strings.width(), std::mem::take(&mut self.drawn));
        // 1.
        let mut incoming = Incoming::new(MASKED, digits.len() * WORD_BITS * width, channel);
        let mut masked = Vec::new();
        for _ in 0..digits.len() * WORD_BITS {
            masked.push(incoming.row(width)?);
        }
        // 2. and 3.
        let mut outgoing = Outgoing::new(TABLES, channel);
        let mut shares = Vec::new();
        for (mut digit, masked) in digits.into_iter().zip(masked.chunks_exact(WORD_BITS)) {
            outgoing.channel.keep_alive()?;
            for word in 0..width {
                // z', from M_12, M_02 and M_01.
                let [low, middle, high] = [(6, 0), (5, 1), (3, 2)]
                    .map(|(others, bit)| digit[others][word] ^ masked[bit][word]);
                digit[7][word] = !digit[7][word];
                digit[1][word] ^= middle & high;
                digit[2][word] ^= low & high;
                digit[4][word] ^= low & middle;
                digit[0][word] = !(digit[0][word] ^ low & middle & high);
            }
            for coefficient in [7, 1, 2, 4] {
                outgoing.push(digit[coefficient].iter().copied())?;
            }
            let [share, ..] = digit;
            shares.push(share);
        }
        outgoing.finish()?;
        Ok(shares)
    }

    /// The first level, of the second party, with the digits whose bits are `rows`. Returns its shares.
    fn choose_drawn(&mut self, mut rows: Vec<Row>, channel: &mut Channel) -> Result<Vec<Row>> {
        let (count, width) = (self.strings.count, self.strings.width());
        // 1.
        let chosen = self.mask(&mut rows, channel)?;
        // 3.
        let words = chosen.len() * DRAWN_TABLE_BITS * width;
        let mut incoming = Incoming::new(TABLES, words, channel);
        let mut shares = Vec::new();
        for (c, d) in chosen.iter().zip(rows.chunks_exact(WORD_BITS)) {
            incoming.channel.keep_alive()?;
            let mut share = Zeroizing::new(self.chosen.messages.take_row(count));
            let all = incoming.row(width)?;
            for word in 0..width {
                let [low, middle, high] = [0, 1, 2].map(|bit| c[bit][word]);
                let pairs = [(middle & high, 0), (low & high, 1), (low & middle, 2)];
                let of_pairs = pairs.map(|(others, bit)| others & d[bit][word]);
                share[word] ^= all[word] & low & middle & high;
                share[word] ^= of_pairs.into_iter().fold(0, |sum, pair| sum ^ pair);
            }
            for c in c {
                let single = incoming.row(width)?;
                let corrected = share.iter_mut().zip(single).zip(&**c);
                corrected.for_each(|((share, single), c)| *share ^= single & c);
            }
            shares.push(share);
        }
        Ok(shares)
    }

    /// A level in which this party is T, with the digits whose bits are `rows`. Returns its shares, inverted.
    fn hold(&mut self, mut rows: Vec<Row>, channel: &mut Channel) -> Result<Vec<Row>> {
        let (count, width) = (self.strings.count, self.strings.width());
        // 1.
        let mut incoming = Incoming::new(MASKED, rows.len() * width, channel);
        for row in &mut rows {
            let masked = incoming.row(width)?;
            row.iter_mut().zip(masked).for_each(|(row, masked)| *row ^= masked);
        }
        // 2. and 3.
        let mut outgoing = Outgoing::new(TABLES, channel);
        let mut shares = Vec::new();
        for digit in rows.chunks_exact(WORD_BITS) {
            outgoing.channel.keep_alive()?;
            let [mut share, mut tables @ ..] = self.held.take(count);
            for (word, share) in share.iter_mut().enumerate() {
                let [of_zero, is @ ..] = indicators(std::array::from_fn(|bit| digit[bit][word]));
                *share ^= of_zero;
                let tables = tables.iter_mut().zip(is);
                tables.for_each(|(table, is)| table[word] ^= is ^ *share);
                *share = !*share;
            }
            tables.iter().try_for_each(|table| outgoing.push(table.iter().copied()))?;
            shares.push(share);
        }
        outgoing.finish()?;
        Ok(shares)
    }

    /// A level in which this party is C, likewise. Returns its shares.
    fn choose(&mut self, mut rows: Vec<Row>, channel: &mut Channel) -> Result<Vec<Row>> {
        let (count, width) = (self.strings.count, self.strings.width());
        // 1.
        let chosen = self.mask(&mut rows, channel)?;
        // 3.
        let mut incoming = Incoming::new(TABLES, chosen.len() * TABLE_BITS * width, channel);
        let mut shares = Vec::new();
        for words in chosen {
            incoming.channel.keep_alive()?;
            let mut tables = Vec::with_capacity(TABLE_BITS);
            for _ in 0..TABLE_BITS {
                tables.push(incoming.row(width)?);
            }
            let mut share = Zeroizing::new(self.chosen.messages.take_row(count));
            for (word, share) in share.iter_mut().enumerate() {
                let [_, is @ ..] = indicators(std::array::from_fn(|bit| words[bit][word]));
                let tables = tables.iter().zip(is).map(|(table, is)| table[word] & is);
                *share = tables.fold(*share, |share, table| share ^ table);
            }
            shares.push(share);
        }
        Ok(shares)
    }

    /// Step 1 for C: makes w into d. Returns the c.
    fn mask(&mut self, rows: &mut [Row], channel: &mut Channel) -> Result<Vec<[Row; WORD_BITS]>> {
        let count = self.strings.count;
        let mut outgoing = Outgoing::new(MASKED, channel);
        let mut chosen = Vec::new();
        for digit in rows.chunks_exact_mut(WORD_BITS) {
            let words = self.chosen.words.each_mut();
            let words = words.map(|tape| Zeroizing::new(tape.take_row(count)));
            for (row, word) in digit.iter_mut().zip(&words) {
                row.iter_mut().zip(&**word).for_each(|(w, c)| *w ^= c);
                outgoing.push(row.iter().copied())?;
            }
            chosen.push(words);
        }
        outgoing.finish()?;
        channel.flush()?;
        Ok(chosen)
    }
}

/// The coefficients of the polynomial in the bits of x whose values are these messages; index S holds the coefficient
/// for the product of the bits that are 1 in S.
fn coefficients(mut messages: [Row; WORDS]) -> [Row; WORDS] {
    for bit in 0..WORD_BITS {
        for x in (0..WORDS).filter(|x| x >> bit & 1 == 1) {
            let (without, with) = messages.split_at_mut(x);
            let without = &without[x - (1 << bit)];
            with[0].iter_mut().zip(&**without).for_each(|(with, without)| *with ^= without);
        }
    }
    messages
}

/// For each digit x whether those with these bits are x.
fn indicators([low, middle, high]: [u64; WORD_BITS]) -> [u64; WORDS] {
    let pairs = [!middle & !low, !middle & low, middle & !low, middle & low];
    let with = |high: u64| pairs.map(|pair| pair & high);
    let [zeros, ones] = [with(!high), with(high)];
    std::array::from_fn(|x| if x < WORDS / 2 { zeros[x] } else { ones[x - WORDS / 2] })
}

/// Rows of a level on their way to the other party, as a stream of words in messages of equal length.
struct Outgoing<'a> {
    label: &'static str,
    words: Vec<u64>,
    channel: &'a mut Channel,
}

impl<'a> Outgoing<'a> {
    fn new(label: &'static str, channel: &'a mut Channel) -> Self {
        Self { label, words: Vec::new(), channel }
    }

    fn push(&mut self, words: impl Iterator<Item = u64>) -> Result<()> {
        for word in words {
            if self.words.len() == MESSAGE_WORDS {
                self.channel.send_slice(self.label, &self.words)?;
                self.words.clear();
            }
            self.words.push(word);
        }
        Ok(())
    }

    /// Sends the rest of a level's rows.
    fn finish(self) -> Result<()> {
        match self.words.is_empty() {
            true => Ok(()),
            false => self.channel.send_slice(self.label, &self.words),
        }
    }
}

/// The other side of [`Outgoing`].
struct Incoming<'a> {
    label: &'static str,
    /// Words that have not been received.
    left: usize,
    words: std::vec::IntoIter<u64>,
    channel: &'a mut Channel,
}

impl<'a> Incoming<'a> {
    /// Expects `left` words in all.
    fn new(label: &'static str, left: usize, channel: &'a mut Channel) -> Self {
        Self { label, left, words: Vec::new().into_iter(), channel }
    }

    /// The next row, of `count` words.
    fn row(&mut self, count: usize) -> Result<Vec<u64>> {
        let mut row = Vec::with_capacity(count);
        loop {
            row.extend(self.words.by_ref().take(count - row.len()));
            if row.len() == count {
                return Ok(row);
            }
            let mut words = vec![0; self.left.min(MESSAGE_WORDS)];
            self.channel.recv_slice(self.label, &mut words)?;
            self.left -= words.len();
            self.words = words.into_iter();
        }
    }
}
