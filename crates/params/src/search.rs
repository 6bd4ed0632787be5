//! Search for the smallest number that meets a bound.

/// The least number from `low` on that is enough, given that all above it are as well. Tries `guess` first, and
/// doubles it until it is enough.
pub fn least(mut low: usize, guess: usize, enough: impl Fn(usize) -> bool) -> usize {
    let mut high = guess.max(low);
    while !enough(high) {
        (low, high) = (high + 1, (2 * high).max(1));
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_the_least_for_any_guess() {
        for low in [0, 1, 7] {
            for needed in [0, 1, 2, 7, 8, 100, 1023] {
                for guess in [0, 1, 6, 100, 5000] {
                    assert_eq!(least(low, guess, |x| x >= needed), needed.max(low));
                }
            }
        }
    }
}
