//! Made-up customers of a shop and of a club. Some people are in both.
//!
//! Both sides write the same addresses differently (case, spaces, dots and tags at Gmail), in files
//! of different shape and order. What each side must find is written down while its file is made.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

/// The files of one side.
#[derive(Clone, Copy)]
pub struct Files {
    pub name: &'static str,
    pub key: &'static str,
    pub input: &'static str,
    pub output: &'static str,
    pub report: &'static str,
}

pub const SHOP: Files = Files {
    name: "shop",
    key: "email",
    input: "shop customers.csv",
    output: "shop matches.csv",
    report: "shop report.json",
};

pub const CLUB: Files = Files {
    name: "club",
    key: "E-Mail",
    input: "club members.csv",
    output: "club matches.csv",
    report: "club report.json",
};

/// The matches that the run must find.
pub struct Expected {
    /// People who are in both files.
    pub matches: u64,
    /// The shop's output.
    pub shop: Vec<u8>,
    /// The club's output.
    pub club: Vec<u8>,
}

/// Writes both input files with this number of people each; three tenths are in both.
pub fn make(directory: &Path, rows: u32) -> io::Result<Expected> {
    let rows = u64::from(rows);
    let matches = rows * 3 / 10;
    // The shop knows people 0 to rows - 1, the club those from here on.
    let first_of_club = rows - matches;
    let shop = write(
        &directory.join(SHOP.input),
        "customer,name,email,phone\n",
        (0..rows)
            .map(|i| shuffled(i, rows))
            .map(|person| (person >= first_of_club, shop_row(person))),
    )?;
    let club = write(
        &directory.join(CLUB.input),
        "E-Mail,Phone,\"Member since, year\"\r\n",
        (0..rows)
            .map(|i| first_of_club + shuffled(rows - 1 - i, rows))
            .map(|person| (person < rows, club_row(person))),
    )?;
    Ok(Expected { matches, shop, club })
}

/// Writes a file, and returns its header and those rows that are to be found.
fn write(
    path: &Path,
    header: &str,
    rows: impl Iterator<Item = (bool, String)>,
) -> io::Result<Vec<u8>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut found = header.as_bytes().to_vec();
    file.write_all(header.as_bytes())?;
    for (shared, row) in rows {
        file.write_all(row.as_bytes())?;
        if shared {
            found.extend_from_slice(row.as_bytes());
        }
    }
    file.flush()?;
    Ok(found)
}

/// Returns a permutation of the numbers below `rows`.
fn shuffled(i: u64, rows: u64) -> u64 {
    // A prime larger than any demo, so that it shares no factor with the number of rows.
    const STEP: u64 = 1_000_000_007;
    (i * STEP + 12_345) % rows
}

/// Returns a number that looks random and is the same every time.
fn scatter(person: u64, about: u64) -> u64 {
    let mut z = person.wrapping_add(about << 40).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn pick<'a>(from: &[&'a str], person: u64, about: u64) -> &'a str {
    from[(scatter(person, about) % from.len() as u64) as usize]
}

/// Returns a person's given name, surname, mail domain and telephone number.
fn person(person: u64) -> (&'static str, &'static str, &'static str, String) {
    const GIVEN: [&str; 10] =
        ["Ada", "Bela", "Chidi", "Dana", "Emre", "Freya", "Goro", "Hana", "Ines", "Jun"];
    const SURNAMES: [&str; 10] = [
        "Almeida", "Brandt", "Costa", "Diallo", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito",
        "Jansen",
    ];
    const DOMAINS: [&str; 4] = ["example.com", "gmail.com", "example.org", "mail.example.net"];
    let phone = format!("+44 7700 {:06}", scatter(person, 4) % 1_000_000);
    (pick(&GIVEN, person, 1), pick(&SURNAMES, person, 2), pick(&DOMAINS, person, 3), phone)
}

/// Returns a row of the shop. The number in the address makes it unique.
fn shop_row(number: u64) -> String {
    let (given, surname, domain, phone) = person(number);
    let email = format!("{given}.{surname}{number}@{domain}");
    let email = match scatter(number, 5) % 4 {
        0 => email.to_lowercase(),
        1 => format!(" {email}"),
        2 => email.to_uppercase(),
        _ => email,
    };
    format!("{number},\"{surname}, {given}\",{email},{phone}\n")
}

fn club_row(number: u64) -> String {
    let (given, surname, domain, phone) = person(number);
    let name = format!("{given}.{surname}{number}").to_lowercase();
    let email = match (domain, scatter(number, 6) % 3) {
        ("gmail.com", 0) => format!("{}+club@{domain}", name.replace('.', "")),
        (_, 1) => format!("{name}@{} ", domain.to_uppercase()),
        _ => format!("{name}@{domain}"),
    };
    format!("{email},{},{}\r\n", phone.replace(' ', ""), 1990 + scatter(number, 7) % 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_permutation() {
        for rows in [1, 2, 10, 997, 1000] {
            let mut seen: Vec<_> = (0..rows).map(|i| shuffled(i, rows)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        }
    }
}
