//! Errors of a register that is kept by hand, each with its share of the rows.

use rand::{Rng, RngExt};

use super::{Address, Birthday, Person, Record, YEARS, names::Names};

/// Given names, each with names by which people go instead. Some belong to several given names. A third of the people
/// or fewer have one of these names, so nicknames are rarer than the share of rows that may get one.
const NICKNAMES: [(&str, &[&str]); 56] = [
    ("alexander", &["alex", "sandy"]),
    ("alexandra", &["alex"]),
    ("andrew", &["andy", "drew"]),
    ("anthony", &["tony"]),
    ("barbara", &["barb", "babs"]),
    ("benjamin", &["ben"]),
    ("brenda", &["bren"]),
    ("carolyn", &["carol", "lyn"]),
    ("catherine", &["cathy", "kate"]),
    ("charles", &["chuck", "charlie"]),
    ("christine", &["chris", "tina"]),
    ("christopher", &["chris"]),
    ("cynthia", &["cindy"]),
    ("daniel", &["dan", "danny"]),
    ("david", &["dave"]),
    ("deborah", &["debbie", "deb"]),
    ("donald", &["don"]),
    ("dorothy", &["dot", "dolly"]),
    ("edward", &["ed", "ted"]),
    ("elizabeth", &["liz", "beth", "betty"]),
    ("frank", &["francis"]),
    ("gary", &["gaz"]),
    ("george", &["georgie"]),
    ("gregory", &["greg"]),
    ("james", &["jim", "jimmy", "jamie"]),
    ("janet", &["jan"]),
    ("jennifer", &["jen", "jenny"]),
    ("jessica", &["jess"]),
    ("john", &["jack", "johnny"]),
    ("joseph", &["joe", "joey"]),
    ("joshua", &["josh"]),
    ("kathleen", &["kathy", "kate"]),
    ("kenneth", &["ken", "kenny"]),
    ("kimberly", &["kim"]),
    ("larry", &["lawrence"]),
    ("linda", &["lindy"]),
    ("margaret", &["peggy", "maggie", "meg"]),
    ("mary", &["molly", "marie"]),
    ("matthew", &["matt"]),
    ("michael", &["mike", "mick"]),
    ("nancy", &["nan"]),
    ("pamela", &["pam"]),
    ("patricia", &["pat", "patty", "tricia"]),
    ("patrick", &["pat"]),
    ("raymond", &["ray"]),
    ("rebecca", &["becky"]),
    ("richard", &["dick", "rick", "richie"]),
    ("robert", &["bob", "rob", "bobby"]),
    ("ronald", &["ron"]),
    ("samantha", &["sam"]),
    ("sandra", &["sandy"]),
    ("stephen", &["steve", "steven"]),
    ("susan", &["sue", "susie"]),
    ("thomas", &["tom", "tommy"]),
    ("timothy", &["tim"]),
    ("william", &["bill", "will", "billy"]),
];

/// Returns the address of a household in the other table: in three of ten cases, another household's.
pub(super) fn moved(home: Address, all: &[Address], rng: &mut impl Rng) -> Address {
    if rng.random_ratio(3, 10) { all[rng.random_range(0..all.len())] } else { home }
}

/// Adds errors to the row of a person.
pub(super) fn add(record: &mut Record, person: &Person, names: &Names, rng: &mut impl Rng) {
    match rng.random_range(0..1000) {
        0..50 => record.first = nickname(&person.first, rng),
        50..65 => record.first = mistyped(&person.first, rng),
        65..75 => record.first = names.given(rng),
        _ => {}
    }
    match rng.random_range(0..1000) {
        0..35 => record.last = names.family(rng),
        35..55 => record.last = mistyped(&person.last, rng),
        55..60 => std::mem::swap(&mut record.first, &mut record.last),
        _ => {}
    }
    record.birthday = birthday(person.birthday, rng);
    if rng.random_ratio(2, 100) {
        record.postcode.clear();
    }
    if rng.random_ratio(2, 100) {
        record.house = rng.random_range(1..400).to_string();
    }
    if rng.random_ratio(5, 100) {
        record.street = mistyped(&record.street, rng);
    }
}

/// Returns another name that a person may go by, or else the given name.
fn nickname(first: &str, rng: &mut impl Rng) -> String {
    let known = NICKNAMES.iter().find(|(name, _)| *name == first);
    known.map_or(first, |(_, all)| all[rng.random_range(0..all.len())]).to_owned()
}

/// Returns a name with a letter replaced, left out, added or exchanged with the next. The first letter is rarely wrong.
fn mistyped(name: &str, rng: &mut impl Rng) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    if letters.len() < 2 {
        return name.to_owned();
    }
    let at = if rng.random_ratio(5, 100) { 0 } else { rng.random_range(1..letters.len()) };
    let other = char::from(rng.random_range(b'a'..=b'z'));
    match rng.random_range(0..4) {
        0 => letters[at] = other,
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, other),
        _ if at + 1 < letters.len() => letters.swap(at, at + 1),
        _ => letters.swap(at - 1, at),
    }
    letters.into_iter().collect()
}

/// Writes a birthday, with an error or not at all in 39 of 1,000 cases.
fn birthday(is: Birthday, rng: &mut impl Rng) -> String {
    let Birthday { mut year, mut month, mut day } = is;
    match rng.random_range(0..1000) {
        0..20 => return String::new(),
        20..24 => year = 1930 + rng.random_range(0..YEARS),
        24..27 => month = rng.random_range(1..=12),
        27..30 => day = rng.random_range(1..=28),
        30..34 if day <= 12 => std::mem::swap(&mut month, &mut day),
        34..39 => {
            year = 1930 + rng.random_range(0..YEARS);
            month = rng.random_range(1..=12);
            day = rng.random_range(1..=28);
        }
        _ => {}
    }
    format!("{year:04}-{month:02}-{day:02}")
}
