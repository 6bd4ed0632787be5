//! Programs whose secrets are marked as undefined for valgrind's memcheck, which then reports every branch and every
//! address that depends on one. `cargo xtask constant-time` builds and runs them. docs/security/constant-time.md
//! explains the details.
//!
//! `vesica-constant-time list` prints the names of all cases, one per line. With a name as its argument, the program
//! runs that case. Cases whose names begin with `control/` leak on purpose. `vesica-constant-time-quick` has the cases
//! that run with every change, because linking it takes a third of the time.
//!
//! **Must never import** files, tables or the command line, and must never be shipped.
// A case reports a wrong result by a panic.
#![allow(clippy::unwrap_used)]

mod circuits;
mod controls;
mod marks;
mod one_of_n;
mod ot;
mod parties;
mod primitives;
mod psi;

use std::process::ExitCode;

use vesica_ot::base::{co15::Co15, extended::Extended, mr19::Mr19, np01::Np01};
use vesica_primitives::group::{Ffdhe3072, Ristretto};

/// The name of a case, and its function.
pub type Case = (String, Box<dyn Fn()>);

/// The controls, and cases that take seconds.
pub fn quick() -> impl Iterator<Item = Case> {
    let cases: [(&str, fn()); 10] = [
        ("control/branch", controls::branch),
        ("control/address", controls::address),
        ("control/comparison", controls::comparison),
        ("control/protocol", controls::protocol),
        ("primitives/fields", primitives::fields),
        ("ot/softspoken", ot::softspoken),
        ("one-of-n/oos17-bch", one_of_n::oos17_bch),
        ("circuit/garbling", circuits::garbling),
        ("circuit/groups", circuits::groups),
        ("psi/rr22", psi::rr22),
    ];
    cases.into_iter().map(|(name, run)| case(name, run))
}

/// Every case.
pub fn every() -> impl Iterator<Item = Case> {
    let others: [(&str, fn()); 31] = [
        ("circuit/lookups", circuits::lookups),
        ("circuit/any-of-groups", circuits::any_of_groups),
        ("circuit/products", circuits::products),
        ("primitives/aes", primitives::aes),
        ("primitives/bits", primitives::bits),
        ("primitives/hashes", primitives::hashes),
        ("primitives/ristretto255", primitives::group::<Ristretto>),
        ("primitives/ffdhe3072", primitives::group::<Ffdhe3072>),
        ("primitives/rsa", primitives::rsa),
        ("primitives/paillier", primitives::paillier),
        ("ot/base-mr19", ot::base::<Mr19<Ristretto>>),
        ("ot/base-np01", ot::base::<Np01<Ristretto>>),
        ("ot/base-co15", ot::base::<Co15<Ristretto>>),
        ("ot/base-mr19-ffc", ot::base::<Mr19<Ffdhe3072>>),
        ("ot/base-np01-ffc", ot::base::<Np01<Ffdhe3072>>),
        ("ot/base-co15-ffc", ot::base::<Co15<Ffdhe3072>>),
        ("ot/base-extended", ot::base::<Extended>),
        ("ot/iknp03", ot::iknp03),
        ("ot/alsz13", ot::alsz13),
        ("ot/kos15", ot::kos15),
        ("ot/softspoken-malicious", ot::softspoken_malicious),
        ("ot/silent", ot::silent_ot),
        ("one-of-n/kk13", one_of_n::kk13),
        ("one-of-n/kkrt16", one_of_n::kkrt16),
        ("one-of-n/oos17-walsh-hadamard", one_of_n::oos17_walsh_hadamard),
        ("one-of-n/matrix-unchecked", one_of_n::matrix_unchecked),
        ("one-of-n/matrix-checked", one_of_n::matrix_checked),
        ("vole/silent", ot::silent_vole),
        ("vole/silent-malicious", ot::silent_vole_malicious),
        ("circuit/gmw-alsz13", circuits::gmw_alsz13),
        ("circuit/gmw-silent", circuits::gmw_silent),
    ];
    quick().chain(others.into_iter().map(|(name, run)| case(name, run))).chain(psi::cases())
}

fn case(name: &str, run: fn()) -> Case {
    (name.to_owned(), Box::new(run))
}

/// Lists these cases or runs one of them, according to the arguments.
pub fn main(mut cases: impl Iterator<Item = Case>) -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if wanted == "list" {
        cases.for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let Some((name, run)) = cases.find(|(name, _)| *name == wanted) else {
        eprintln!("usage: vesica-constant-time list | CASE");
        return ExitCode::from(2);
    };
    if !marks::are_seen() {
        eprintln!(
            "vesica-constant-time: `{name}` checks nothing without valgrind; see docs/security/constant-time.md"
        );
        return ExitCode::from(2);
    }
    run();
    ExitCode::SUCCESS
}
