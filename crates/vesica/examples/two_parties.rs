//! Both parties in one process: each learns its own matching rows.
//!
//! `cargo run -p vesica --example two_parties`

use std::{fs, path::Path, thread};

use vesica::{Job, Learns, Normalize, Offer, Report, Result, Role, Runner};
use vesica_net::{
    Channel,
    transport::memory::{self, Memory},
};

const SHOP: &str =
    "mail,total\nann@example.org,12.50\n Bob@Example.org,7.00\ncyd@example.org,3.20\n";
const CLUB: &str = "member,email\n7,bob@example.org\n8,dan@example.org\n9,cyd@example.org\n";

fn main() {
    let scratch = tempfile::tempdir().expect("there is a directory for temporary files");
    let [shop, club] = ["shop.csv", "club.csv"].map(|name| scratch.path().join(name));
    let (left, right) = memory::pair();
    let reports = thread::scope(|scope| {
        let club = scope.spawn(|| party(Role::B, CLUB, "email", &club, right));
        [party(Role::A, SHOP, "mail", &shop, left), club.join().expect("no party panics")]
    });
    for (report, output) in reports.into_iter().zip([shop, club]) {
        let report = report.expect("both tables are in order");
        report.summary(Some(&output)).iter().for_each(|line| println!("{line}"));
        println!("{}", fs::read_to_string(&output).expect("the output is in place"));
    }
}

fn party(role: Role, table: &str, key: &str, output: &Path, end: Memory) -> Result<Report> {
    let input =
        vesica::Source::Memory { name: format!("the table of {role:?}"), bytes: table.into() };
    let offer = Offer::new(vec![Normalize::EMAIL], Learns::Both);
    let job = Job { output: Some(output.into()), ..Job::new(input, [key], offer) };
    // Over a network, name the fingerprints of the identities; see the example `service`.
    Ok(Runner::new(job, role).run(&mut Channel::new(end))?.report)
}
