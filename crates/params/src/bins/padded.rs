//! Both parties' bins, padded to their maximal load so that none shows how many items it holds (RR17 §5). A
//! place in a bin is a *slot*.

use super::simple::{log2_failure, max_load};
use crate::failure::log2_sum;

/// The bins that both parties use, and the slots of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bins of either party.
    pub bins: usize,
    /// Slots of each bin of the receiver.
    pub receiver: usize,
    /// Slots of each bin of the sender.
    pub sender: usize,
}

impl Shape {
    /// Bins for sets of `receiver` and `sender` items: some bin of a party has more items than slots with
    /// probability at most 2^-λ for each party, by [`max_load`]. `bins` must be at least 1.
    pub fn new(bins: usize, receiver: usize, sender: usize, lambda: u32) -> Self {
        let slots = |items| max_load(items, bins, lambda);
        Self { bins, receiver: slots(receiver), sender: slots(sender) }
    }

    /// log2 of a bound on the probability that some bin of either party has more items than slots.
    pub fn log2_failure(self, receiver: usize, sender: usize) -> f64 {
        let of_receiver = log2_failure(receiver, self.bins, self.receiver);
        log2_sum([of_receiver, log2_failure(sender, self.bins, self.sender)])
    }

    /// The slots of all bins of the receiver: the number of items that it can use if it deviates.
    pub fn receiver_slots(self) -> usize {
        self.bins * self.receiver
    }

    /// Slots of all bins of the sender.
    pub fn sender_slots(self) -> usize {
        self.bins * self.sender
    }
}

/// The shape with the lowest cost, given that more bins mean more slots in all and fewer in each. More slots
/// must not cost less; `None` means that a shape is impossible. Tries numbers of bins up to the larger set's
/// size, in steps of an eighth; of two with the same cost, takes the one with more bins.
/// cost the same, the one with more bins.
pub fn cheapest(
    receiver: usize,
    sender: usize,
    lambda: u32,
    cost: impl Fn(Shape) -> Option<u128>,
) -> Shape {
    let most = receiver.max(sender).max(1);
    let mut best: Option<(u128, Shape)> = None;
    let beats =
        |cost: &u128, best: Option<(u128, Shape)>| best.is_none_or(|(least, _)| *cost < least);
    for bins in numbers_down_from(most) {
        // A bound on the load of few bins takes long to compute, and is at least the mean.
        let [at_least, sender_at_least] = [receiver, sender].map(|items| items.div_ceil(bins));
        let least = Shape { bins, receiver: at_least, sender: sender_at_least };
        if cost(least).filter(|cost| beats(cost, best)).is_none() {
            continue;
        }
        let shape = Shape::new(bins, receiver, sender, lambda);
        if let Some(cost) = cost(shape).filter(|cost| beats(cost, best)) {
            best = Some((cost, shape));
        }
    }
    best.expect("as many bins as items are possible").1
}

/// Numbers from `most` down to 1, in steps of an eighth.
fn numbers_down_from(most: usize) -> impl Iterator<Item = usize> {
    let less = |number: &usize| Some(number - (number / 8).max(1)).filter(|next| *next > 0);
    std::iter::successors(Some(most), less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LAMBDA;

    #[test]
    fn slots_are_those_of_all_bins() {
        let shape = Shape { bins: 5, receiver: 3, sender: 7 };
        assert_eq!((shape.receiver_slots(), shape.sender_slots()), (15, 35));
    }

    #[test]
    fn of_equal_costs_more_bins_win() {
        assert_eq!(cheapest(100, 30, LAMBDA, |_| Some(1)).bins, 100);
    }

    /// Rows of 64 bytes for every slot, and masks of 8 bytes for each item of the sender and slot of its bin.
    fn cost(sender: usize) -> impl Fn(Shape) -> Option<u128> {
        move |shape| {
            let rows = 64 * (shape.receiver_slots() + shape.sender_slots());
            Some((rows + 8 * sender * shape.receiver) as u128)
        }
    }

    #[test]
    fn the_cheapest_lies_between_few_and_many_bins() {
        for n in [1 << 8, 1 << 12, 1 << 16, 1 << 20] {
            let best = cheapest(n, n, LAMBDA, cost(n));
            let per_bin = n / best.bins;
            assert!((5..25).contains(&per_bin), "{per_bin} of {n} items in a bin");
            for bins in [n / 2, n / 4, n / 50] {
                let other = Shape::new(bins, n, n, LAMBDA);
                assert!(cost(n)(best) <= cost(n)(other), "{bins} bins for {n}");
            }
        }
    }

    #[test]
    fn a_lone_item_needs_no_bins() {
        for (receiver, sender) in [(1, 1), (1, 1000), (1000, 1), (0, 0)] {
            let shape = cheapest(receiver, sender, LAMBDA, cost(sender));
            assert_eq!(shape, Shape { bins: 1, receiver, sender });
        }
    }

    #[test]
    fn the_largest_sets_have_a_shape() {
        let n = 1 << 28;
        let shape = cheapest(n, n, LAMBDA, cost(n));
        assert!(shape.receiver_slots() < 1 << 32);
        assert!(shape.bins * shape.receiver >= n && shape.receiver == shape.sender);
    }
}
