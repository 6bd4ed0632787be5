//! Whether any bit of a group is 1, where one party knows the groups and the other must not learn them.
//!
//! T and S hold XOR shares of bits, and T knows the group of each, or that it belongs to none ([`Groups`]). Both get
//! shares of as many bits, in an order that T knows: a group's bits are side by side, and at its first position is
//! whether any of them is 1. T sorts the bits by [Waksman's network](crate::programs::waksman), whose settings it
//! knows. A switch has two values with shares a_T ⊕ a_S and b_T ⊕ b_S; let d = a ⊕ b.
//!
//! - **A1.** One random OT with random choices for each switch: S has r₀ and r₁, T has c' and r = r_c'. For its
//!   settings c, T sends c ⊕ c'. If that is 1, S swaps r₀ and r₁.
//! - **A2.** S sends u = r₀ ⊕ r₁ ⊕ d_S and goes on with a_S ⊕ r₀ and b_S ⊕ r₀. T goes on with a_T ⊕ e and b_T ⊕ e,
//!   where e = c·(d_T ⊕ u) ⊕ r = c·d ⊕ r₀. S does not wait for T, so all layers take one message in each direction.
//! - **A3.** For δ = 1, 2, 4 … below the most bits of a group: x_i := x_i ∨ f_i·x_{i+δ}, where f_i says whether
//!   positions i and i + δ are of one group. That is a [look-up](crate::lookup): S's table has the result for all
//!   values of f_i and of T's shares of both bits, which are T's position in it. After it, x_i is whether any of the
//!   next 2δ bits from position i on is 1, as far as they are of its group.
//! - **A4.** At other positions than a group's first are now bits of the rest of a group, which must not be shown. If
//!   bits are opened or kept, x_i := f_i·x_i, where f_i says whether a group begins at position i: S's table is 0 and
//!   its share of x_i, and T's position in it f_i. T adds f_i times its own share.
//!
//! S sees masked choices and OTs only, in numbers that follow from the number of bits and the most bits of a group: it
//! learns nothing of the number of groups or of their sizes. T sees u, which the message that it did not choose masks,
//! and masked entries. T's time depends on its groups as far as caches and the search for the settings do; S's on
//! nothing. Semi-honest.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::Bits;
use zeroize::Zeroizing;

use crate::{
    WireBits,
    lookup::{self, TableShape},
    programs::waksman,
    triples::Tape,
};

const SETTINGS: &str = "any/settings";
const SWITCHES: &str = "any/switches";

/// Maximum words per message, which bounds the channel's buffers.
const MESSAGE_WORDS: usize = 1 << 20;

/// The tables of A3. A position has f in bit 2, and T's shares of the earlier bit in bit 1 and of the later in bit 0.
const TABLES: TableShape = TableShape { positions: 8, bits: 1 };

/// The positions with f.
const IS_SAME: u64 = 0b1111_0000;

/// The positions with T's share of the bit.
const OWN: u64 = 0b1100_1100;

/// The positions with T's share of the later bit.
const LATER: u64 = 0b1010_1010;

/// The tables of A4.
const OF_FIRSTS: TableShape = TableShape { positions: 2, bits: 1 };

/// Stands for no group.
const NONE: u32 = u32::MAX;

/// The groups of bits, in the order in which T gets them.
pub struct Groups {
    most: usize,
    /// The bit at each position.
    order: Zeroizing<Vec<u32>>,
    /// The group of each position, or [`NONE`].
    of_position: Zeroizing<Vec<u32>>,
}

impl Groups {
    /// The groups with these members: the group of each bit, if it has one. No group has more than `most` bits; 1 keeps
    /// the order.
    ///
    /// # Panics
    /// If a group has more.
    pub fn new(members: &[Option<u32>], most: usize) -> Self {
        let group = |bit: &u32| members[*bit as usize].unwrap_or(NONE);
        let mut order = Zeroizing::new((0..members.len() as u32).collect::<Vec<_>>());
        if most > 1 {
            order.sort_unstable_by_key(group);
        }
        let of_position = Zeroizing::new(order.iter().map(group).collect::<Vec<_>>());
        let later = of_position.iter().skip(most);
        let mut apart = of_position.iter().zip(later);
        let fits = apart.all(|(group, later)| *group == NONE || group != later);
        assert!(fits, "no more than {most} bits of a group");
        Self { most, order, of_position }
    }

    /// For each position, a bit of the group that begins there, if one does.
    pub fn firsts(&self) -> impl Iterator<Item = Option<u32>> {
        let before = [NONE].into_iter().chain(self.of_position.iter().copied());
        let groups = self.of_position.iter().zip(before);
        let begins = groups.map(|(group, before)| *group != NONE && *group != before);
        begins.zip(self.order.iter()).map(|(begins, bit)| begins.then_some(*bit))
    }

    /// Whether this position and the one at this distance after it are of one group.
    fn is_same(&self, position: usize, distance: usize) -> bool {
        let group = self.of_position[position];
        group != NONE && self.of_position.get(position + distance) == Some(&group)
    }
}

/// The distances δ of A3.
fn distances(most: usize) -> impl Iterator<Item = usize> {
    (0..).map(|level| 1 << level).take_while(move |distance| *distance < most)
}

/// The number of switches: none if groups have one bit.
fn switches(bits: usize, most: usize) -> usize {
    if most > 1 { waksman::switch_count(bits) } else { 0 }
}

/// Payload bytes for this many bits: to S, which is the sender of the OTs, and to T. `of_random_ots` is the cost of one
/// call of the extension with random choices, and `of_ots` with choices that T makes, without its setup.
pub fn bytes(
    bits: usize,
    most: usize,
    of_random_ots: impl Fn(usize) -> Bytes,
    of_ots: impl Fn(usize) -> Bytes,
) -> Bytes {
    let switches = switches(bits, most);
    let of_settings = switches.div_ceil(64) * size_of::<u64>();
    let mut bytes_of_all = Bytes { to_sender: of_settings, to_receiver: of_settings };
    if switches > 0 {
        bytes_of_all = bytes_of_all + of_random_ots(switches);
    }
    distances(most).fold(bytes_of_all, |sum, _| sum + lookup::bytes(bits, TABLES, &of_ots))
}

/// Payload bytes of A4, as in [`bytes`].
pub fn bytes_of_firsts(bits: usize, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
    lookup::bytes(bits, OF_FIRSTS, of_ots)
}

/// Flights of A4, for bits whose messages are sent in one piece.
pub const ROUNDS_OF_FIRSTS: u32 = 4;

/// Bytes of memory of a party beside shares and groups.
pub fn memory(bits: usize, most: usize) -> usize {
    if most == 1 {
        return 0;
    }
    // Three tapes, both places of each value while it is switched, and T's search for the settings.
    let search = 2 * (2 * size_of::<u32>() + 2) * bits;
    3 * switches(bits, most) / 8 + 2 * bits + search + lookup::memory(TABLES) + 10 * bits
}

/// Bytes of memory of A4 beside shares and groups: tables, positions, and two numbers of T's for each bit.
pub fn memory_of_firsts(bits: usize) -> usize {
    lookup::memory(OF_FIRSTS) + (size_of::<u64>() + 2 + 2 * size_of::<u32>()) * bits
}

/// Flights, for bits whose messages are sent in one piece.
pub fn rounds(most: usize) -> u32 {
    if most > 1 { 4 + 4 * distances(most).count() as u32 } else { 0 }
}

/// S's shares at all positions, from its shares of the bits. No group has more than `most` bits.
///
/// # Errors
/// Any error of the connection or the peer.
pub fn any_hidden(
    bits: &Bits,
    most: usize,
    ot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Bits> {
    // A1.
    let count = switches(bits.len(), most);
    let (mut zeros, mut sums) = (Tape::with_room(count), Tape::with_room(count));
    ot.send_chunks(count, channel, &mut |mut chunk| {
        chunk.take_bits(chunk.len(), |[zero, one], n| {
            zeros.push(zero, n);
            sums.push(zero ^ one, n);
        });
    })?;
    let mut swaps = Zeroizing::new(vec![0_u64; MESSAGE_WORDS.min(count.div_ceil(64))]);
    let parts = zeros.words_mut().chunks_mut(MESSAGE_WORDS).zip(sums.words().chunks(MESSAGE_WORDS));
    for (zeros, sums) in parts {
        let swaps = &mut swaps[..zeros.len()];
        channel.recv_slice(SETTINGS, swaps)?;
        let both = swaps.iter().zip(sums);
        zeros.iter_mut().zip(both).for_each(|(zero, (swap, sum))| *zero ^= swap & sum);
    }
    // A2.
    let mut masked = Tape::with_room(count);
    let mut values = Zeroizing::new(bits.iter().collect::<Vec<u8>>());
    if most > 1 {
        let mut next = 0;
        switch_all(&mut values, &mut |[a, b]| {
            let mask = bit(&zeros, next);
            masked.push(u64::from(bit(&sums, next) ^ a ^ b), 1);
            next += 1;
            [a ^ mask, b ^ mask]
        });
    }
    for words in masked.words().chunks(MESSAGE_WORDS) {
        channel.send_slice(SWITCHES, words)?;
        channel.keep_alive()?;
    }
    channel.flush()?;
    // A3.
    let turns = vec![0; values.len()];
    for distance in distances(most) {
        let later = values.iter().skip(distance).chain(std::iter::repeat(&0));
        let table = |(own, later): (&u8, &u8)| {
            let [own, later] = [own, later].map(|bit| u64::from(*bit).wrapping_neg());
            (OWN ^ own | IS_SAME & (LATER ^ later)) & 0xff
        };
        let tables = Zeroizing::new(values.iter().zip(later).map(table).collect::<Vec<_>>());
        let found = lookup::look_up_known(&tables, &turns, TABLES, ot, channel, rng)?;
        set(&mut values, &found);
    }
    Ok(Bits::from_fn(values.len(), |i| values[i]))
}

/// T's shares at all positions, from its shares of the bits and their groups.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If they are the groups of more or fewer bits.
pub fn any_known(
    bits: &Bits,
    groups: &Groups,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Bits> {
    let most = groups.most;
    assert_eq!(groups.order.len(), bits.len(), "the groups of these bits");
    // A1.
    let count = switches(bits.len(), most);
    let (mut choices, mut chosen) = (Tape::with_room(count), Tape::with_room(count));
    ot.receive_chunks(count, channel, rng, &mut |mut chunk| {
        chunk.take_bits(chunk.len(), |[choice, message], n| {
            choices.push(choice, n);
            chosen.push(message, n);
        });
    })?;
    let mut settings = Tape::with_room(count);
    if most > 1 {
        waksman::route(&groups.order, &mut |setting| settings.push(setting.into(), 1));
    }
    let swaps = choices.words_mut();
    swaps.iter_mut().zip(settings.words()).for_each(|(choice, setting)| *choice ^= setting);
    for words in swaps.chunks(MESSAGE_WORDS) {
        channel.send_slice(SETTINGS, words)?;
    }
    channel.flush()?;
    // A2.
    let mut masked = vec![0_u64; count.div_ceil(64)];
    for words in masked.chunks_mut(MESSAGE_WORDS) {
        channel.recv_slice(SWITCHES, words)?;
    }
    let masked = Tape::of_words(masked, count);
    let mut values = Zeroizing::new(bits.iter().collect::<Vec<u8>>());
    if most > 1 {
        let mut next = 0;
        switch_all(&mut values, &mut |[a, b]| {
            let setting = bit(&settings, next);
            let mask = setting & (a ^ b ^ bit(&masked, next)) ^ bit(&chosen, next);
            next += 1;
            [a ^ mask, b ^ mask]
        });
    }
    // A3.
    for distance in distances(most) {
        let later = values.iter().skip(distance).chain(std::iter::repeat(&0));
        let position = |(i, (own, later)): (usize, (&u8, &u8))| {
            u8::from(groups.is_same(i, distance)) << 2 | own << 1 | later
        };
        let pairs = values.iter().zip(later).enumerate();
        let positions = Zeroizing::new(pairs.map(position).collect::<Vec<_>>());
        set(&mut values, &lookup::look_up_hidden(&positions, TABLES, ot, channel)?);
    }
    Ok(Bits::from_fn(values.len(), |i| values[i]))
}

/// A4: S's shares of the bits at the first positions of groups, and of 0 at all others, from those that [`any_hidden`]
/// returns.
///
/// # Errors
/// Any error of the connection or the peer.
pub fn firsts_hidden(
    bits: &Bits,
    ot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Bits> {
    let tables = Zeroizing::new(bits.iter().map(|bit| u64::from(bit) << 1).collect::<Vec<_>>());
    let turns = vec![0; bits.len()];
    let found = lookup::look_up_known(&tables, &turns, OF_FIRSTS, ot, channel, rng)?;
    Ok(Bits::from_fn(bits.len(), |i| u8::from(found.get(0, i))))
}

/// A4: T's shares, from those that [`any_known`] returns.
///
/// # Errors
/// Any error of the connection or the peer.
pub fn firsts_known(
    bits: &Bits,
    groups: &Groups,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Bits> {
    let firsts = groups.firsts().map(|first| u8::from(first.is_some()));
    let firsts = Zeroizing::new(firsts.collect::<Vec<_>>());
    let found = lookup::look_up_hidden(&firsts, OF_FIRSTS, ot, channel)?;
    Ok(Bits::from_fn(bits.len(), |i| u8::from(found.get(0, i)) ^ firsts[i] & bits.get(i)))
}

/// The bit at a place of a tape.
fn bit(tape: &Tape, place: usize) -> u8 {
    (tape.words()[place / 64] >> (place % 64) & 1) as u8
}

/// Replaces values by shares that were looked up.
fn set(values: &mut [u8], found: &WireBits) {
    let bits = values.iter_mut().enumerate();
    bits.for_each(|(i, value)| *value = u8::from(found.get(0, i)));
}

/// Sends values through Waksman's network: `switch` gets the two values of each switch, in the order of the settings.
fn switch_all(values: &mut [u8], switch: &mut impl FnMut([u8; 2]) -> [u8; 2]) {
    let mut other = Zeroizing::new(vec![0; values.len()]);
    waksman::switch_in_place(values, &mut other, switch);
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_ot::extension::alsz13;
    use vesica_testkit::two_party::{self, Link};

    use super::*;

    /// The parties' shares of bits, and T's groups of them.
    struct Case {
        members: Vec<Option<u32>>,
        most: usize,
        /// S's and T's.
        shares: [Bits; 2],
    }

    impl Case {
        fn new(members: Vec<Option<u32>>, most: usize, value: impl Fn(usize) -> u8) -> Self {
            let n = members.len();
            let mask = Bits::random(n, &mut StdRng::seed_from_u64(n as u64));
            let other = Bits::from_fn(n, |i| value(i) ^ mask.get(i));
            Self { members, most, shares: [other, mask] }
        }

        /// The groups whose first position has a 1, and the bytes that S and T sent up to A3.
        ///
        /// # Panics
        /// If A4 changes that, or leaves a 1 at another position.
        fn run(&self) -> (Vec<u32>, [u64; 2]) {
            let groups = Groups::new(&self.members, self.most);
            let sent = |channel: &Channel, before: u64| channel.meter().sent() - before;
            let (other, own) = two_party::run(
                Link::Memory,
                |channel, rng| {
                    let mut ot = alsz13::Sender::setup(channel, rng)?;
                    channel.flush()?;
                    let before = channel.meter().sent();
                    let bits = any_hidden(&self.shares[0], self.most, &mut ot, channel, rng)?;
                    let sent = sent(channel, before);
                    let firsts = firsts_hidden(&bits, &mut ot, channel, rng)?;
                    Result::Ok(([bits, firsts], sent))
                },
                |channel, rng| {
                    let mut ot = alsz13::Receiver::setup(channel, rng)?;
                    channel.flush()?;
                    let before = channel.meter().sent();
                    let bits = any_known(&self.shares[1], &groups, &mut ot, channel, rng)?;
                    let sent = sent(channel, before);
                    let firsts = firsts_known(&bits, &groups, &mut ot, channel)?;
                    Result::Ok(([bits, firsts], sent))
                },
            );
            let [joined, firsts] =
                [0, 1].map(|step| other.0[step].iter().zip(own.0[step].iter()).map(|(a, b)| a ^ b));
            let mut found = Vec::new();
            for (bit, (joined, first)) in groups.firsts().zip(joined.zip(firsts)) {
                assert_eq!(first, if bit.is_some() { joined } else { 0 });
                let group = bit.and_then(|bit| self.members[bit as usize]);
                found.extend(group.filter(|_| joined == 1));
            }
            found.sort_unstable();
            (found, [other.1, own.1])
        }

        fn expected(&self) -> Vec<u32> {
            let [other, own] = &self.shares;
            let is_set = |bit: usize| other.get(bit) ^ own.get(bit) == 1;
            let set = (0..self.members.len()).filter(|bit| is_set(*bit));
            let mut groups: Vec<u32> = set.filter_map(|bit| self.members[bit]).collect();
            groups.sort_unstable();
            groups.dedup();
            groups
        }

        fn check(&self) {
            assert_eq!(self.run().0, self.expected(), "{:?}, {}", self.members, self.most);
        }
    }

    /// Groups of random sizes up to `most`, in random places, and some bits without any.
    fn random_members(n: usize, most: usize, rng: &mut StdRng) -> Vec<Option<u32>> {
        let mut members = Vec::new();
        for group in 0.. {
            let size = rng.random_range(1..=most).min(n - members.len());
            members.resize(members.len() + size, (!group % 5 != 0).then_some(group));
            if members.len() == n {
                break;
            }
        }
        let order = waksman::random(n, rng);
        order.iter().map(|bit| members[*bit as usize]).collect()
    }

    /// All ways to divide a few bits into groups.
    #[test]
    fn every_division_of_a_few_bits_is_right() {
        for n in 0..=3_u32 {
            for code in 0..(n + 1).pow(n) {
                let digit = |i: u32| code / (n + 1).pow(i) % (n + 1);
                let members: Vec<_> = (0..n).map(|i| digit(i).checked_sub(1)).collect();
                let bits = code as usize % (1 << n);
                Case::new(members, 3, |i| (bits >> i & 1) as u8).check();
            }
        }
    }

    #[test]
    fn random_groups_of_any_size_are_right() {
        let mut rng = StdRng::seed_from_u64(1);
        for most in [1, 2, 3, 4, 5, 8, 9, 32] {
            for n in [1, 2, 3, 63, 64, 65, 127, 128, 129, 1000] {
                let members = random_members(n, most, &mut rng);
                let members = if most > 1 { members } else { (0..n as u32).map(Some).collect() };
                let bits = Bits::random(n, &mut rng);
                Case::new(members, most, |i| bits.get(i) & bits.get(n - 1 - i)).check();
            }
        }
    }

    /// One group has all bits, every bit is one's own, or no bit is anybody's; no bit is 1, one is, or all are.
    #[test]
    fn extreme_groups_are_right() {
        let n = 37;
        let all: [fn(u32) -> Option<u32>; 3] = [|_| Some(7), Some, |_| None];
        for of in all {
            let members: Vec<_> = (0..n).map(of).collect();
            for bit in [n as usize, 0, 17, n as usize - 1, 99] {
                let is_set = |i: usize| u8::from(i == bit || bit == 99);
                Case::new(members.clone(), n as usize, is_set).check();
            }
        }
    }

    #[test]
    fn bits_may_need_several_calls() {
        let mut rng = StdRng::seed_from_u64(2);
        // More than the look-ups of one call.
        let n = (1 << 17) + 3;
        let bits = Bits::random(n, &mut rng);
        let members = random_members(n, 3, &mut rng);
        Case::new(members, 3, |i| bits.get(i) & bits.get(n - 1 - i)).check();
    }

    #[test]
    fn lengths_do_not_depend_on_groups_or_bits() {
        let n = 3000;
        let sent = |of: fn(u32) -> Option<u32>, value: u8| {
            Case::new((0..n).map(of).collect(), 8, |_| value).run().1
        };
        let lengths = sent(|_| None, 0);
        assert_eq!(sent(Some, 1), lengths);
        assert_eq!(sent(|i| Some(i / 8), 1), lengths);
        let bytes = bytes(n as usize, 8, alsz13::bytes, alsz13::bytes);
        for (real, predicted) in lengths.iter().zip([bytes.to_receiver, bytes.to_sender]) {
            let off = *real as f64 / predicted as f64;
            assert!((1.0..1.05).contains(&off), "{real} bytes, {predicted}");
        }
    }

    #[test]
    #[should_panic(expected = "no more than 3 bits of a group")]
    fn larger_groups_are_refused() {
        Groups::new(&[Some(1), None, Some(1), Some(1), Some(1)], 3);
    }
}
