//! The rows of a key among which the other side's day selects the latest earlier one.
//!
//! A key keeps, for each of its labels, the days of its rows that count, as bits. So it takes the same room however
//! many rows it has, and rows may be joined in parts. Of several rows on one day, the last one counts.

use vesica_select::{Latest, MAX_PER_KEY, Period};

/// Numbers that a label and its days take.
const NUMBERS: usize = 3;

/// The most labels that a key keeps, with the rows that a filter leaves out.
const MAX_TOUCHES: usize = MAX_PER_KEY as usize + 1;

/// The most numbers that a row or a key has.
pub(crate) const MAX_NUMBERS: usize = MAX_TOUCHES * NUMBERS;

/// The layout of a key's labels and days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touches {
    period: Period,
    positions: u32,
    /// The most rows of a key of the other side.
    rows: u32,
    within: u32,
    /// The most labels of a key.
    labels: usize,
    /// Whether rows may be left out by a filter. They hide the rows before them, and have the first place.
    has_filter: bool,
}

/// A label's number plus 1, or 0 for none, and the days of its rows.
#[derive(Clone, Copy, Default)]
struct Touch {
    label: i64,
    days: u128,
}

impl Touches {
    pub(crate) fn new(latest: &Latest, has_filter: bool) -> Self {
        let Latest { period, within, labels, rows, .. } = *latest;
        let positions = latest.positions();
        Self { period, positions, rows, within, labels: labels as usize, has_filter }
    }

    /// Returns the number of numbers that a row or a key has.
    pub(crate) fn len(self) -> usize {
        (self.labels + usize::from(self.has_filter)) * NUMBERS
    }

    /// Returns the most labels of a key.
    pub fn labels(self) -> usize {
        self.labels
    }

    /// Returns the number of days that the other side's rows may have.
    pub fn days(self) -> usize {
        self.period.days() as usize
    }

    /// Returns the number of positions of the other side's rows: the days, and one of a missing row, if there may be
    /// one.
    pub fn positions(self) -> usize {
        self.positions as usize
    }

    /// Returns the most rows of a key of the other side that are each joined with the latest earlier one.
    pub fn rows(self) -> usize {
        self.rows as usize
    }

    /// Returns the day of the first bit.
    fn first(self) -> i32 {
        self.period.first.number() - self.within as i32
    }

    /// Appends the numbers of a row of a day with a label's number, or of one that a filter leaves out.
    pub(crate) fn of_row(self, day: i32, label: Option<i64>, numbers: &mut Vec<i64>) {
        let start = numbers.len();
        numbers.resize(start + self.len(), 0);
        let days = day - self.first();
        if days < 0 || day > self.period.last.number() {
            return;
        }
        let place = usize::from(self.has_filter && label.is_some()) * NUMBERS;
        let touch = Touch { label: label.unwrap_or(0) + 1, days: 1 << days };
        touch.put(&mut numbers[start + place..]);
    }

    /// Adds the numbers of later rows to a key's; `None` if the key has too many labels.
    pub(crate) fn add(self, key: &mut [i64], rows: &[i64]) -> Option<()> {
        let mut known = [Touch::default(); MAX_TOUCHES];
        let known = &mut known[..key.len() / NUMBERS];
        for (touch, numbers) in known.iter_mut().zip(key.chunks_exact(NUMBERS)) {
            *touch = Touch::of(numbers);
        }
        let left_out = usize::from(self.has_filter);
        for (place, touch) in rows.chunks_exact(NUMBERS).map(Touch::of).enumerate() {
            if touch.days == 0 {
                continue;
            }
            for other in &mut *known {
                other.days &= !touch.days;
                other.label *= i64::from(other.days != 0);
            }
            let place = match place < left_out {
                true => 0,
                false => {
                    let mut places = left_out..known.len();
                    let same = places.clone().find(|place| known[*place].label == touch.label);
                    same.or_else(|| places.find(|place| known[*place].label == 0))?
                }
            };
            known[place].label = touch.label;
            known[place].days |= touch.days;
        }
        known.iter().zip(key.chunks_exact_mut(NUMBERS)).for_each(|(touch, room)| touch.put(room));
        Some(())
    }

    /// Returns the numbers of a key's labels, 0 for none.
    pub fn labels_of(self, key: &[i64]) -> impl Iterator<Item = i64> {
        let touches = key.chunks_exact(NUMBERS).skip(usize::from(self.has_filter));
        touches.map(|touch| Touch::of(touch).label)
    }

    /// Returns the place among a key's labels of the label that a position of the other side selects.
    pub fn choice(self, key: &[i64], position: usize) -> Option<usize> {
        let last = position as u32 + self.within;
        let window = (u128::MAX >> (127 - last)) & (u128::MAX << position);
        let latest = |touch: &[i64]| (Touch::of(touch).days & window).checked_ilog2();
        let touches = key.chunks_exact(NUMBERS).enumerate();
        let latest = touches.filter_map(|(place, touch)| Some((latest(touch)?, place))).max();
        latest?.1.checked_sub(usize::from(self.has_filter))
    }
}

impl Touch {
    fn of(numbers: &[i64]) -> Self {
        let [low, high] = [1, 2].map(|place| u128::from(numbers[place] as u64));
        Self { label: numbers[0], days: low | high << 64 }
    }

    fn put(self, room: &mut [i64]) {
        room[..NUMBERS].copy_from_slice(&[
            self.label,
            self.days as u64 as i64,
            (self.days >> 64) as u64 as i64,
        ]);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_select::{Date, Side};

    use super::*;

    fn date(number: i32) -> Date {
        let first: Date = "2026-10-01".parse().unwrap();
        Date::of_number(first.number() + number).unwrap()
    }

    fn of_row(touches: Touches, day: i32, label: Option<i64>) -> Vec<i64> {
        let mut numbers = Vec::new();
        touches.of_row(date(day).number(), label, &mut numbers);
        numbers
    }

    /// Labels and days of random rows, joined in random parts, give the choices of a plain search.
    #[test]
    fn the_latest_earlier_row_is_chosen() {
        let mut rng = StdRng::seed_from_u64(1);
        for case in 0..2_000 {
            let days = rng.random_range(1..=64);
            let within = [0, 7, 30, 63][case % 4];
            let has_filter = rng.random_bool(0.5);
            let period = Period { first: date(0), last: date(days - 1) };
            let labels = rng.random_range(1..=4);
            let latest = Latest { earlier: Side::B, period, within, labels, rows: 1 };
            let touches = Touches::new(&latest, has_filter);
            let rows: Vec<(i32, Option<i64>)> = (0..rng.random_range(0..12))
                .map(|_| {
                    let label = (!has_filter || rng.random_bool(0.7))
                        .then(|| rng.random_range(0..i64::from(labels)));
                    (rng.random_range(-70..70), label)
                })
                .collect();
            let numbers = rows.iter().map(|(day, label)| of_row(touches, *day, *label));
            let numbers: Vec<_> = numbers.collect();
            let parts = rng.random_range(1..=4).min(numbers.len().max(1));
            let mut key = vec![0; touches.len()];
            for part in numbers.chunks(numbers.len().div_ceil(parts).max(1)) {
                let mut of_part = vec![0; touches.len()];
                part.iter().for_each(|row| touches.add(&mut of_part, row).unwrap());
                touches.add(&mut key, &of_part).unwrap();
            }
            let known: Vec<i64> = touches.labels_of(&key).collect();
            for position in 0..days {
                let is_near = |day: i32| (position - within as i32..=position).contains(&day);
                let earlier = rows.iter().enumerate().filter(|(_, (day, _))| is_near(*day));
                let latest = earlier.max_by_key(|(place, (day, _))| (*day, *place));
                let expected = latest.and_then(|(_, (_, label))| *label);
                let chosen = touches.choice(&key, position as usize).map(|place| known[place] - 1);
                assert_eq!(
                    chosen, expected,
                    "{rows:?} on day {position} of {days}, within {within}"
                );
            }
        }
    }

    #[test]
    fn a_key_with_too_many_labels_is_refused() {
        let period = Period { first: date(0), last: date(9) };
        let latest = Latest { earlier: Side::B, period, within: 2, labels: 2, rows: 1 };
        let touches = Touches::new(&latest, true);
        let mut key = vec![0; touches.len()];
        for (day, label, fits) in [
            (0, Some(5), true),
            (1, Some(6), true),
            (2, None, true),
            (-3, Some(7), true),
            (10, Some(7), true),
            (3, Some(7), false),
            // The last row of a day replaces those before it.
            (0, Some(6), true),
            (3, Some(7), true),
        ] {
            let row = of_row(touches, day, label);
            assert_eq!(touches.add(&mut key, &row).is_some(), fits, "day {day}, label {label:?}");
        }
    }
}
