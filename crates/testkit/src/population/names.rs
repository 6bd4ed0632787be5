//! Names with the frequencies of a census.

use rand::{Rng, RngExt};

/// Lines of a kind, a name and its share.
const CENSUS: &str = include_str!("names.txt");

/// The number of equal parts of all people.
const PARTS: u32 = 100_000;

/// Rarer given names, of each sex.
const RARE_GIVEN: usize = 4_000;

/// Rarer surnames.
const RARE_FAMILY: usize = 60_000;

/// All names.
pub(super) struct Names {
    women: Frequencies,
    men: Frequencies,
    families: Frequencies,
}

/// Frequent names with their shares; the rest of the people have rare ones.
struct Frequencies {
    names: Vec<&'static str>,
    /// The share of each name and of those before it.
    up_to: Vec<u32>,
    rare: usize,
}

impl Names {
    pub(super) fn of_the_census() -> Self {
        Self {
            women: Frequencies::of("woman", RARE_GIVEN),
            men: Frequencies::of("man", RARE_GIVEN),
            families: Frequencies::of("family", RARE_FAMILY),
        }
    }

    /// Draws a surname.
    pub(super) fn family(&self, rng: &mut impl Rng) -> String {
        self.families.draw(rng)
    }

    /// Draws a given name.
    pub(super) fn given(&self, rng: &mut impl Rng) -> String {
        if rng.random() { self.women.draw(rng) } else { self.men.draw(rng) }
    }

    /// Returns the name of a street.
    pub(super) fn street(&self, number: usize) -> &'static str {
        self.families.names[number]
    }
}

impl Frequencies {
    fn of(kind: &str, rare: usize) -> Self {
        let (mut names, mut up_to, mut sum) = (Vec::new(), Vec::new(), 0);
        for line in CENSUS.lines() {
            let words: Vec<_> = line.split(' ').collect();
            if let [of, name, share] = words[..]
                && of == kind
            {
                sum += share.parse::<u32>().unwrap();
                names.push(name);
                up_to.push(sum);
            }
        }
        Self { names, up_to, rare }
    }

    fn draw(&self, rng: &mut impl Rng) -> String {
        let part = rng.random_range(0..PARTS);
        let at = self.up_to.partition_point(|sum| *sum <= part);
        match self.names.get(at) {
            Some(name) => (*name).to_owned(),
            None => self.rare(least(3, self.rare, rng)),
        }
    }

    /// Makes a rare name of the beginning of one and the end of another.
    fn rare(&self, number: usize) -> String {
        let count = self.names.len();
        let begins = self.names[number % count];
        let ends = self.names[(number / count * 61 + number * 7 + 13) % count];
        format!("{}{}", &begins[..begins.len().div_ceil(2)], &ends[ends.len() / 2..])
    }
}

/// Returns the least of several draws below a bound: small numbers are more frequent than large ones.
pub(super) fn least(draws: usize, below: usize, rng: &mut impl Rng) -> usize {
    (0..draws).map(|_| rng.random_range(0..below)).min().unwrap_or(0)
}
