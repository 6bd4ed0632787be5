//! Two tables of made-up people, who overlap by half, with errors in one of them.
//!
//! The people live in households that share an address and often a surname; three in a hundred are twins. Names have
//! the frequencies of a census. Registers kept by hand have such errors: nicknames, slips of the keyboard, names
//! after a marriage, wrong and missing birthdays, and addresses before a move.

mod errors;
mod names;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};

use names::Names;

/// Postcodes of the country.
const POSTCODES: usize = 30_000;

/// Names of streets.
const STREETS: usize = 300;

/// The number of years of birth, from 1930 on.
const YEARS: u32 = 90;

/// A row of a table. Missing values are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The person, equal in both tables.
    pub person: u32,
    /// Given name.
    pub first: String,
    /// Surname.
    pub last: String,
    /// Birthday, in ISO 8601.
    pub birthday: String,
    /// House number.
    pub house: String,
    /// Street.
    pub street: String,
    /// Postcode.
    pub postcode: String,
}

/// Two tables of the same size.
pub struct TwoTables {
    /// Without errors.
    pub ours: Vec<Record>,
    /// With errors.
    pub theirs: Vec<Record>,
}

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Birthday {
    year: u32,
    month: u32,
    day: u32,
}

/// A place to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    house: u32,
    street: usize,
    postcode: usize,
}

/// A person before it is written down.
#[derive(Debug, Clone)]
struct Person {
    number: u32,
    household: usize,
    first: String,
    last: String,
    birthday: Birthday,
}

/// Returns two tables of this many rows. The same seed gives the same tables.
pub fn two_tables(rows: usize, seed: u64) -> TwoTables {
    let mut rng = StdRng::seed_from_u64(seed);
    let names = Names::of_the_census();
    let mut people = Vec::new();
    let mut addresses = Vec::new();
    while people.len() < rows + rows / 2 {
        addresses.push(address(&mut rng));
        add_household(&mut people, addresses.len() - 1, &names, &mut rng);
    }
    people.truncate(rows + rows / 2);
    add_twins(&mut people, &mut rng);
    let now: Vec<_> =
        addresses.iter().map(|home| errors::moved(*home, &addresses, &mut rng)).collect();
    people.shuffle(&mut rng);
    let ours = people[..rows].iter();
    let ours = ours.map(|person| written(person, addresses[person.household], &names)).collect();
    let theirs = people[rows / 2..].iter();
    let theirs = theirs.map(|person| {
        let mut record = written(person, now[person.household], &names);
        errors::add(&mut record, person, &names, &mut rng);
        record
    });
    let theirs = theirs.collect();
    TwoTables { ours, theirs }
}

/// Adds people until one household is full. It has two and a half on average.
fn add_household(people: &mut Vec<Person>, household: usize, names: &Names, rng: &mut impl Rng) {
    let family = names.family(rng);
    loop {
        let keeps_name = rng.random_ratio(3, 4);
        let last = if keeps_name { family.clone() } else { names.family(rng) };
        let (first, birthday) = (names.given(rng), birthday(rng));
        people.push(Person { number: people.len() as u32, household, first, last, birthday });
        if rng.random_ratio(2, 5) {
            return;
        }
    }
}

/// Makes three in a hundred people twins.
fn add_twins(people: &mut [Person], rng: &mut impl Rng) {
    for at in 1..people.len() {
        if rng.random_ratio(15, 1000) {
            let Person { household, last, birthday, .. } = people[at - 1].clone();
            let Person { number, first, .. } = people[at].clone();
            people[at] = Person { number, household, first, last, birthday };
        }
    }
}

fn birthday(rng: &mut impl Rng) -> Birthday {
    const DAYS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    // More people are young or of middle age than very young or very old.
    let year = 1930 + (4 * rng.random_range(0..YEARS) + rng.random_range(0..YEARS)) / 5;
    let mut day = rng.random_range(0..365);
    let mut month = 0;
    while day >= DAYS[month] {
        day -= DAYS[month];
        month += 1;
    }
    Birthday { year, month: month as u32 + 1, day: day + 1 }
}

/// Draws an address. Postcodes differ in size, as in the United States.
fn address(rng: &mut impl Rng) -> Address {
    let postcode = names::least(8, POSTCODES, rng);
    let house = match rng.random_ratio(7, 10) {
        true => rng.random_range(1..400),
        false => 1 + names::least(20, 9_999, rng) as u32,
    };
    Address { house, street: rng.random_range(0..STREETS), postcode }
}

fn written(person: &Person, home: Address, names: &Names) -> Record {
    let Birthday { year, month, day } = person.birthday;
    Record {
        person: person.number,
        first: person.first.clone(),
        last: person.last.clone(),
        birthday: format!("{year:04}-{month:02}-{day:02}"),
        house: home.house.to_string(),
        street: format!("{} street", names.street(home.street)),
        postcode: format!("{:05}", 10_000 + home.postcode),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn half_of_the_people_are_in_both_tables() {
        for rows in [0, 1, 2, 997] {
            let TwoTables { ours, theirs } = two_tables(rows, 7);
            assert_eq!((ours.len(), theirs.len()), (rows, rows));
            let of = |table: &[Record]| table.iter().map(|row| row.person).collect::<HashSet<_>>();
            let (ours, theirs) = (of(&ours), of(&theirs));
            assert_eq!((ours.len(), theirs.len()), (rows, rows), "each person once");
            assert_eq!(ours.intersection(&theirs).count(), rows - rows / 2);
        }
    }

    #[test]
    fn a_seed_gives_the_same_tables() {
        let [one, same, other] = [1, 1, 2].map(|seed| two_tables(500, seed));
        assert!(one.ours == same.ours && one.theirs == same.theirs);
        assert!(one.ours != other.ours && one.theirs != other.theirs);
    }

    /// The shares agree with the modules' description, within what chance allows.
    #[test]
    fn errors_have_their_shares() {
        let TwoTables { ours, theirs } = two_tables(40_000, 3);
        let pairs = ours[20_000..].iter().zip(&theirs);
        assert!(pairs.clone().all(|(our, their)| our.person == their.person));
        let share = |differs: fn(&Record, &Record) -> bool| {
            pairs.clone().filter(|(our, their)| differs(our, their)).count() as f64 / 20_000.0
        };
        for (name, found, low, high) in [
            ("first", share(|our, their| our.first != their.first), 0.034, 0.045),
            ("last", share(|our, their| our.last != their.last), 0.05, 0.07),
            ("birthday", share(|our, their| our.birthday != their.birthday), 0.033, 0.045),
            ("no birthday", share(|_, their| their.birthday.is_empty()), 0.017, 0.023),
            ("postcode", share(|our, their| our.postcode != their.postcode), 0.29, 0.34),
        ] {
            assert!((low..high).contains(&found), "{name}: {found}");
        }
    }
}
