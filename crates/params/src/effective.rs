//! The number of inputs that a malicious receiver can fit into an OKVS.

use crate::{KAPPA, LAMBDA};

/// The maximal number of points at which a P of `columns` elements of GF(2^128) can agree with a random oracle
/// after 2^`queries` queries, except with probability 2^-λ (RS21 §4, equation 1): the least n' with C(q, n') ·
/// 2^(128 (m − n')) ≤ 2^-λ. It holds without any assumption on the OKVS's rows.
///
/// # Panics
/// If `queries` is above 128.
pub fn effective_inputs(columns: usize, queries: u32) -> usize {
    assert!(queries <= KAPPA, "no more queries than are out of reach");
    let m = columns as f64;
    // C(q, n') < (e q / n')^n'.
    let holds = |n: f64| {
        let per_point =
            f64::from(KAPPA) - f64::from(queries) + libm::log2(n) - std::f64::consts::LOG2_E;
        n * per_point >= f64::from(KAPPA) * m + f64::from(LAMBDA)
    };
    let (mut low, mut high) = (m, m.max(1.0) * 128.0);
    while high - low > 1.0 {
        let middle = libm::floor((low + high) / 2.0);
        if holds(middle) { high = middle } else { low = middle }
    }
    high as usize
}

/// The minimal number of bits per entry with which a P of `columns` entries agrees with a random oracle at no
/// more than `inputs` points after 2^`queries` queries, except with probability 2^-λ: the ℓ_1 of PRTY20, from
/// C(q, n') · 2^(ℓ_1 (m − n')) ≤ 2^-λ as above.
///
/// # Panics
/// If there are not more inputs than columns: no number of bits can rule that many inputs out.
pub fn entry_bits(columns: usize, inputs: usize, queries: u32) -> u32 {
    assert!(inputs > columns, "each column is good for an input");
    let (m, n) = (columns as f64, inputs as f64);
    let per_point = f64::from(queries) + std::f64::consts::LOG2_E - libm::log2(n);
    libm::ceil((n * per_point + f64::from(LAMBDA)) / (n - m)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::okvs::{paxos, shape};

    #[test]
    fn equals_what_rs21_computes() {
        // n'/m at m = 2.4 · 2^20, as derived from RS21's bound.
        let m = (1 << 20) * 12 / 5;
        let ratio = |queries| effective_inputs(m, queries) as f64 / m as f64;
        for (queries, derived) in [(64, 1.5), (100, 2.6), (128, 5.7)] {
            assert!((ratio(queries) - derived).abs() < 0.06, "{} for {derived}", ratio(queries));
        }
    }

    /// ℓ_1 for two to five times as many inputs as columns, against 2^128 queries.
    #[test]
    fn equals_what_prty20_computes() {
        let row = |e: u32| [2, 3, 4, 5].map(|times| entry_bits(1 << e, times << e, 128));
        assert_eq!(row(12), [233, 174, 154, 144]);
        assert_eq!(row(16), [225, 168, 149, 139]);
        assert_eq!(row(20), [217, 162, 144, 134]);
        assert_eq!(row(24), [209, 156, 138, 129]);
    }

    /// The entries of `prty20-malicious`; the code of OOS17 has words of 76.
    #[test]
    fn entries_of_128_bits_are_those_of_the_bound() {
        for n in [1, 64, 1000, 1 << 16, 1 << 20] {
            let columns = shape(n, 1 << 15, LAMBDA).columns();
            for queries in [64, 100, 128] {
                let inputs = effective_inputs(columns, queries);
                assert_eq!(entry_bits(columns, inputs, queries), KAPPA, "{n} items");
                // With one input fewer the bound no longer holds.
                assert!(entry_bits(columns, inputs - 2, queries) > KAPPA, "{n} items");
            }
            // 76 bits do not rule out a hundred inputs per column.
            assert!(entry_bits(columns, 100 * columns, 128) > 76, "{n} items");
        }
    }

    /// The tables on the page of `prty20-malicious` and `prty20-malicious-paxos`.
    #[test]
    fn inputs_are_those_that_the_page_states() {
        let stated = [
            (1, 42, [79, 160, 680]),
            (64, 105, [193, 384, 1483]),
            (100, 247, [444, 872, 3116]),
            (1 << 10, 1515, [2625, 4994, 15_541]),
            (1 << 16, 84_604, [136_029, 243_622, 609_279]),
            (1 << 20, 1_373_760, [2_104_316, 3_636_729, 8_171_280]),
        ];
        for (n, columns, inputs) in stated {
            assert_eq!(shape(n, 1 << 15, LAMBDA).columns(), columns, "{n} items");
            assert_eq!([64, 100, 128].map(|q| effective_inputs(columns, q)), inputs, "{n} items");
        }
        let with_paxos = [
            (100, 290, [520, 1017, 3586]),
            (1 << 10, 2512, [4309, 8132, 24_480]),
            (1 << 16, 157_350, [250_228, 444_425, 1_082_642]),
            (1 << 20, 2_516_651, [3_815_780, 6_547_413, 14_420_203]),
        ];
        for (n, columns, inputs) in with_paxos {
            assert_eq!(paxos(n, LAMBDA).columns(), columns, "{n} items");
            assert_eq!([64, 100, 128].map(|q| effective_inputs(columns, q)), inputs, "{n} items");
        }
    }

    #[test]
    fn more_columns_or_queries_never_mean_fewer_inputs() {
        let bounds = |queries| [1usize, 10, 1000, 100_000].map(|m| effective_inputs(m, queries));
        assert!(bounds(64).is_sorted() && bounds(100).is_sorted());
        assert!(bounds(64).iter().zip(bounds(100)).all(|(few, many)| *few <= many));
        assert!(effective_inputs(1000, 64) > 1000);
    }
}
