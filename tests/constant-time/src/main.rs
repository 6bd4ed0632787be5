//! Programs whose secrets are marked as undefined for valgrind's memcheck, which then reports every branch and every
//! address that depends on one. `cargo xtask constant-time` builds and runs them; docs/constant-time.md explains it.
//!
//! `vesica-constant-time list` prints the names of all cases, one a line, and `list-quick` those that run with every
//! change; with a name this runs that case. Names that begin with `control/` leak on purpose.
// A panic is how a case reports a wrong result.
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

type Case = (String, Box<dyn Fn()>);

fn cases() -> Vec<Case> {
    let fixed: [(&str, fn()); 36] = [
        ("control/branch", controls::branch),
        ("control/address", controls::address),
        ("control/comparison", controls::comparison),
        ("control/protocol", controls::protocol),
        ("primitives/aes", primitives::aes),
        ("primitives/fields", primitives::fields),
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
        ("ot/softspoken", ot::softspoken),
        ("ot/softspoken-malicious", ot::softspoken_malicious),
        ("ot/silent", ot::silent_ot),
        ("one-of-n/kk13", one_of_n::kk13),
        ("one-of-n/kkrt16", one_of_n::kkrt16),
        ("one-of-n/oos17-walsh-hadamard", one_of_n::oos17_walsh_hadamard),
        ("one-of-n/oos17-bch", one_of_n::oos17_bch),
        ("one-of-n/matrix-unchecked", one_of_n::matrix_unchecked),
        ("one-of-n/matrix-checked", one_of_n::matrix_checked),
        ("vole/silent", ot::silent_vole),
        ("vole/silent-malicious", ot::silent_vole_malicious),
        ("circuit/gmw-alsz13", circuits::gmw_alsz13),
        ("circuit/gmw-silent", circuits::gmw_silent),
        ("circuit/garbling", circuits::garbling),
    ];
    let fixed = fixed.map(|(name, run)| (name.to_owned(), Box::new(run) as Box<dyn Fn()>));
    fixed.into_iter().chain(psi::cases()).collect()
}

/// Cases that take seconds and run with every change, beside the controls.
const QUICK: [&str; 5] =
    ["primitives/fields", "ot/softspoken", "one-of-n/oos17-bch", "circuit/garbling", "psi/rr22"];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let is_listed: Option<fn(&str) -> bool> = match &*wanted {
        "list" => Some(|_| true),
        "list-quick" => Some(|name| name.starts_with("control/") || QUICK.contains(&name)),
        _ => None,
    };
    if let Some(is_listed) = is_listed {
        let listed = cases().into_iter().filter(|(name, _)| is_listed(name));
        listed.for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let Some((name, run)) = cases().into_iter().find(|(name, _)| *name == wanted) else {
        eprintln!("usage: vesica-constant-time list | list-quick | CASE");
        return ExitCode::from(2);
    };
    if !marks::are_seen() {
        eprintln!(
            "vesica-constant-time: only valgrind sees what `{name}` does; see docs/constant-time.md"
        );
        return ExitCode::from(2);
    }
    run();
    ExitCode::SUCCESS
}
