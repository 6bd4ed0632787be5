//! Shows the window attack on expand–convolute codes without an interleaver: `docs/notes/local-convolutions.md`.
//!
//! `cargo run --release -p vesica-lab --example local_convolutions -- [LOG2_OF_DIMENSION]`; the default is 21.

use std::time::Instant;

use vesica_lab::local_convolutions::attack;

/// Number of blocks of noise, as for a VOLE.
const BLOCKS: usize = 768;

fn main() {
    let log = std::env::args().nth(1).map_or(Ok(21), |log| log.parse());
    let Some(log) = log.ok().filter(|log| (17..=26).contains(log)) else {
        eprintln!("the dimension's logarithm is a number from 17 to 26");
        std::process::exit(2);
    };
    println!("dimension 2^{log}, {BLOCKS} blocks of noise, values of 128 bits");
    for (name, is_interleaved) in [("convolutions in a row", false), ("with an interleaver", true)]
    {
        let start = Instant::now();
        let outcome = attack(1 << log, BLOCKS, is_interleaved, 1);
        println!(
            "{name}: found {} of {} places of noise in the windows, and {} false ones, in {:.1} s",
            outcome.found,
            outcome.there,
            outcome.wrong,
            start.elapsed().as_secs_f64()
        );
    }
}
