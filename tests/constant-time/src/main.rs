//! Programs whose secrets are marked as undefined for valgrind's memcheck, which then reports every branch and every
//! address that depends on one. `cargo xtask constant-time` builds and runs them; docs/constant-time.md explains it.
//!
//! `vesica-constant-time list` prints the names of all cases, one a line; with a name this runs that case. Names that
//! begin with `control/` leak on purpose.
// A panic is how a case reports a wrong result.
#![allow(clippy::unwrap_used)]

mod controls;
mod marks;
mod ot;
mod parties;
mod primitives;

use std::process::ExitCode;

use vesica_ot::base::{co15::Co15, extended::Extended, mr19::Mr19, np01::Np01};
use vesica_primitives::group::{Ffdhe3072, Ristretto};

type Case = (String, Box<dyn Fn()>);

fn cases() -> Vec<Case> {
    let fixed: [(&str, fn()); 26] = [
        ("control/branch", controls::branch),
        ("control/address", controls::address),
        ("control/comparison", controls::comparison),
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
        ("vole/silent", ot::silent_vole),
        ("vole/silent-malicious", ot::silent_vole_malicious),
    ];
    let fixed = fixed.map(|(name, run)| (name.to_owned(), Box::new(run) as Box<dyn Fn()>));
    fixed.into_iter().collect()
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if wanted == "list" {
        cases().iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let Some((name, run)) = cases().into_iter().find(|(name, _)| *name == wanted) else {
        eprintln!("usage: vesica-constant-time list | CASE");
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
