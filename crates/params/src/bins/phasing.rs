//! Permutation-based hashing, or phasing (PSSZ15 §5): a bin stores only the part of an item that the bin's
//! number does not determine.

/// The way in which an item splits into a place and a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// PSSZ15: the item is place ‖ rest, and the bin is place ⊕ f(rest). The number of bins is a power of
    /// two.
    Xor,
    /// RR17 §6.1: the item is rest · bins + place, and the bin is (place + f(rest)) mod bins.
    Modular,
}

/// The length of items, and the number of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    bits: u32,
    bins: usize,
    form: Form,
}

impl Shape {
    /// The shape of PSSZ15 for items of `bits` bits and 2^`log_bins` bins; `None` if an item does not fit in
    /// 128 bits or is shorter than the number of a bin, or if there are 2^32 bins or more.
    pub fn xor(bits: u32, log_bins: u32) -> Option<Self> {
        let fits = bits <= 128 && log_bins <= bits && log_bins < 32;
        fits.then(|| Self { bits, bins: 1 << log_bins, form: Form::Xor })
    }

    /// The shape of RR17 for any number of bins from 1; `None` if an item does not fit in 128 bits, or if there
    /// are more bins than items or 2^32 bins or more.
    pub fn modular(bits: u32, bins: usize) -> Option<Self> {
        let few = bins > 0 && u32::try_from(bins).is_ok() && (bits >= 32 || bins <= 1 << bits);
        (bits <= 128 && few).then_some(Self { bits, bins, form: Form::Modular })
    }

    /// Bits of an item.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Bins.
    pub fn bins(self) -> usize {
        self.bins
    }

    /// Returns the way in which an item splits.
    pub fn form(self) -> Form {
        self.form
    }

    /// Bits of the rest: about log bins fewer than an item has.
    pub fn rest_bits(self) -> u32 {
        match self.form {
            Form::Xor => self.bits - self.bins.ilog2(),
            Form::Modular => {
                let largest = u128::MAX.checked_shr(128 - self.bits).unwrap_or(0);
                128 - (largest / self.bins as u128).leading_zeros()
            }
        }
    }

    /// Bits that a bin stores: the rest, and which of `hashes` functions led there. Without the latter, two
    /// items with the same rest in the same bin by different functions could not be distinguished.
    pub fn stored_bits(self, hashes: usize) -> u32 {
        self.rest_bits() + hash_bits(hashes)
    }
}

/// Bits that identify one of `hashes` hash functions.
pub fn hash_bits(hashes: usize) -> u32 {
    hashes.next_power_of_two().ilog2()
}

/// The length in bits to which items of `item_bits` bits are hashed first, such that no two of both sets,
/// together `receiver + sender`, collide except with probability 2^-λ: at most λ + 2 log(receiver + sender) −
/// 1.
pub fn sound_bits(item_bits: u32, receiver: usize, sender: usize, lambda: u32) -> u32 {
    let pairs = 2.0 * crate::log2(receiver + sender) - 1.0;
    item_bits.min(libm::ceil(f64::from(lambda) + pairs.max(0.0)) as u32)
}

/// log2 of a bound on the probability that two items of both sets collide in `bits` bits; of `item_bits`, they do not.
pub fn log2_failure(item_bits: u32, receiver: usize, sender: usize, bits: u32) -> f64 {
    if bits >= item_bits {
        return f64::NEG_INFINITY;
    }
    2.0 * crate::log2(receiver + sender) - 1.0 - f64::from(bits)
}

/// As published, for sets of n: λ + 2 log n, which ignores collisions within a set.
pub fn published_bits(item_bits: u32, n: usize, lambda: u32) -> u32 {
    item_bits.min(libm::ceil(f64::from(lambda) + 2.0 * crate::log2(n)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_what_was_asked_for() {
        let (xor, modular) = (Shape::xor(64, 10).unwrap(), Shape::modular(64, 1000).unwrap());
        assert_eq!((xor.bits(), xor.bins(), xor.form()), (64, 1024, Form::Xor));
        assert_eq!((modular.bits(), modular.bins(), modular.form()), (64, 1000, Form::Modular));
    }

    #[test]
    fn the_bin_saves_its_number() {
        let xor = Shape::xor(80, 20).unwrap();
        assert_eq!((xor.rest_bits(), xor.stored_bits(1), xor.stored_bits(3)), (60, 60, 62));
        assert_eq!(Shape::modular(80, 1 << 20).unwrap().rest_bits(), 60);
        // 1.2 · 2^20 bins determine only a fraction of a bit more, so the rest is as long.
        assert_eq!(Shape::modular(80, 1_258_292).unwrap().rest_bits(), 60);
        assert_eq!(Shape::modular(128, 1).unwrap().rest_bits(), 128);
        assert_eq!(Shape::modular(8, 256).unwrap().rest_bits(), 0);
        assert_eq!(Shape::modular(0, 1).unwrap().rest_bits(), 0);
    }

    #[test]
    fn impossible_shapes_are_none() {
        assert_eq!(Shape::xor(129, 3), None);
        assert_eq!(Shape::xor(3, 4), None);
        assert_eq!(Shape::xor(64, 32), None);
        assert_eq!(Shape::modular(8, 257), None);
        assert_eq!(Shape::modular(8, 0), None);
        assert_eq!(Shape::modular(129, 8), None);
    }

    #[test]
    fn inside_a_set_items_must_not_collide_either() {
        assert_eq!(published_bits(128, 1 << 20, 40), 80);
        assert_eq!(sound_bits(128, 1 << 20, 1 << 20, 40), 81);
        assert_eq!(sound_bits(32, 1 << 20, 1 << 20, 40), 32);
        assert_eq!(sound_bits(128, 0, 0, 40), 40);
        // A.1: 2^-87 for 128 bits and twice 2^20 items, by the same formula.
        assert_eq!(sound_bits(128, 1 << 20, 1 << 20, 87), 128);
    }
}
