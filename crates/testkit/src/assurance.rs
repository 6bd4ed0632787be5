//! The effort of a test: a sample of its cases with every change, and all cases before a release.
//!
//! `cargo xtask assure` sets [`IN_FULL`]. The sample is always the same, so a failing test fails again.

/// The environment variable that requests all cases.
pub const IN_FULL: &str = "VESICA_ASSURE";

/// Returns whether all cases are requested.
pub fn is_in_full() -> bool {
    std::env::var_os(IN_FULL).is_some()
}

/// Returns the number of trials.
pub fn trials(with_every_change: usize, in_full: usize) -> usize {
    if is_in_full() { in_full } else { with_every_change }
}

/// Returns whether to try deviation `way` at place `place`. Each place gets one in `one_in` deviations, and
/// neighbouring places get different ones, so that `one_in` places together get all of them.
pub fn tries(place: usize, way: usize, one_in: usize) -> bool {
    is_in_full() || (place + way).is_multiple_of(one_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_touches_every_place_and_every_way() {
        if is_in_full() {
            return;
        }
        const ONE_IN: usize = 5;
        for fixed in 0..20 {
            assert!((0..ONE_IN).any(|way| tries(fixed, way, ONE_IN)));
            assert!((0..ONE_IN).any(|place| tries(place, fixed, ONE_IN)));
        }
        let tried = (0..20).flat_map(|place| (0..20).filter(move |way| tries(place, *way, ONE_IN)));
        assert_eq!(tried.count(), 20 * 20 / ONE_IN);
    }
}
