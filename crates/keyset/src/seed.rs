//! The seed of a run, and the items that a protocol sees.
//!
//! Each key becomes a 256-bit digest as its row is read. Once both sets are fixed, the two sides agree on a seed that
//! neither could choose. An item is the digest's image under BLAKE3 keyed with the seed, so a side that fixed its set
//! could not prepare keys whose items collide or fall into chosen places.

mod joint;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_core::{error::Result, parties::Role};
use vesica_net::Channel;
use vesica_normalize::digest::Digest;
use vesica_primitives::{
    Block,
    hash::{ShortHash, ShortInput},
};
use vesica_psi::{DigestLength, Set};

/// The image of a key's digest under the seed of a run. Items are made of images, and only the two sides of the run can
/// make them.
///
/// Partitions of short items keep the first half of each image; the other half is zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image([u8; 32]);

impl Image {
    /// Returns the image that begins with these bytes, at most 32, and continues with zeros.
    pub(crate) fn of_prefix(bytes: &[u8]) -> Self {
        let mut image = [0; 32];
        image[..bytes.len()].copy_from_slice(bytes);
        Self(image)
    }

    /// Returns the image with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns an image that belongs to no key.
    pub(crate) fn random(rng: &mut dyn CryptoRng) -> Self {
        let mut image = [0; 32];
        rng.fill_bytes(&mut image);
        Self(image)
    }

    /// Returns the bytes of the image.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 64 bits.
    pub(crate) fn prefix(&self) -> u64 {
        let (words, _) = self.0.as_chunks();
        u64::from_be_bytes(words[0])
    }

    /// Returns both halves as blocks.
    fn halves(&self) -> [Block; 2] {
        let (halves, _) = self.0.as_chunks();
        [Block::from_bytes(halves[0]), Block::from_bytes(halves[1])]
    }
}

// With the seed, a guessed key takes one hash to compare.
impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Image(..)")
    }
}

/// A value to which both sides contributed after their sets were fixed.
pub struct Seed([u8; 32]);

/// The number of digests that a thread takes at a time.
const CHUNK: usize = 1 << 12;

const COMMIT: &str = "vesica/commit";
const OPEN: &str = "vesica/open";

impl Seed {
    /// Commits to 32 random bytes, opens them once the other side has committed to its own, and
    /// hashes both together.
    ///
    /// # Errors
    /// A peer whose opening does not match its commitment, and any error of receiving.
    pub fn agree(role: Role, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        Draw::commit(role, channel, rng)?.receive(channel)?.open(channel)?.finish(channel)
    }

    /// Restores the seed of a run that is resumed.
    pub fn again(bytes: [u8; 32], channel: &mut Channel) -> Self {
        channel.bind(OPEN, &bytes);
        Self(bytes)
    }

    /// Returns the seed with these bytes, for tasks that compare partitions of a run whose session has it.
    pub fn of_run(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the seed, for the journal of a run that can be resumed.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the items: the part of each digest's image that the protocol takes. Two different keys of one run have
    /// the same 128 bits with a probability below 2^-128 times the number of pairs, unless a side looks for such keys
    /// now that it knows the seed. With all 256 bits such a search is hopeless.
    pub fn items(&self, digests: &[Digest], taken: DigestLength) -> Set {
        let mut low_halves = vec![Block::ZERO; digests.len()];
        if taken == DigestLength::Short {
            let chunks = digests.par_chunks(CHUNK).zip(low_halves.par_chunks_mut(CHUNK));
            chunks.for_each(|(digests, low_halves)| {
                self.images(digests, |i, image| low_halves[i] = image.halves()[0]);
            });
            return Set::short(low_halves);
        }
        let mut high_halves = low_halves.clone();
        let halves = low_halves.par_chunks_mut(CHUNK).zip(high_halves.par_chunks_mut(CHUNK));
        digests.par_chunks(CHUNK).zip(halves).for_each(|(digests, (low_halves, high_halves))| {
            self.images(digests, |i, image| [low_halves[i], high_halves[i]] = image.halves());
        });
        Set::long(low_halves, high_halves)
    }

    /// Shows each digest's position and image.
    pub(crate) fn images(&self, digests: &[Digest], mut show: impl FnMut(usize, &Image)) {
        let inputs = digests.iter().filter_map(|digest| ShortInput::new(digest.as_bytes()));
        let mut position = 0;
        ShortHash::keyed(&self.0).hash(inputs, |image| {
            show(position, &Image(image));
            position += 1;
        });
    }

    /// Returns the items of these images.
    pub(crate) fn items_of(images: &[Image], taken: DigestLength) -> Set {
        let halves = images.iter().map(Image::halves);
        match taken {
            DigestLength::Short => Set::short(halves.map(|[low, _]| low).collect()),
            DigestLength::Long => {
                let (low_halves, high_halves) = halves.map(|[low, high]| (low, high)).unzip();
                Set::long(low_halves, high_halves)
            }
        }
    }
}

/// This side's part of a seed, to which it has committed. Each of its messages may travel with messages of other steps.
pub struct Draw {
    role: Role,
    ours: [u8; 32],
}

/// The state in which both sides have committed to their parts.
pub struct Committed {
    draw: Draw,
    theirs: [u8; 32],
}

/// The state in which this side has opened its part.
pub struct Opened(Committed);

impl Draw {
    /// Draws 32 bytes, and sends a commitment to them.
    ///
    /// # Errors
    /// Any error of sending.
    pub fn commit(role: Role, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut ours = [0; 32];
        rng.fill_bytes(&mut ours);
        channel.send(COMMIT, &commit(role, &ours))?;
        Ok(Self { role, ours })
    }

    /// Receives the other side's commitment.
    ///
    /// # Errors
    /// Any error of receiving.
    pub fn receive(self, channel: &mut Channel) -> Result<Committed> {
        let mut theirs = [0; 32];
        channel.recv_into(COMMIT, &mut theirs)?;
        Ok(Committed { draw: self, theirs })
    }
}

impl Committed {
    /// Opens this side's commitment.
    ///
    /// # Errors
    /// Any error of sending.
    pub fn open(self, channel: &mut Channel) -> Result<Opened> {
        channel.send(OPEN, &self.draw.ours)?;
        Ok(Opened(self))
    }
}

impl Opened {
    /// Receives the other side's opening, and hashes both parts together.
    ///
    /// # Errors
    /// A peer whose opening does not match its commitment, and any error of receiving.
    pub fn finish(self, channel: &mut Channel) -> Result<Seed> {
        let Committed { draw: Draw { role, ours }, theirs: commitment } = self.0;
        let mut theirs = [0; 32];
        channel.recv_into(OPEN, &mut theirs)?;
        if commit(role.other(), &theirs) != commitment {
            let check = vesica_net::Deviation::CheckFailed { check: "seed commitment" };
            return Err(channel.deviation(check).into());
        }
        let (a, b) = match role {
            Role::A => (ours, theirs),
            Role::B => (theirs, ours),
        };
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 item seed");
        hasher.update(&a).update(&b);
        let seed = Seed(*hasher.finalize().as_bytes());
        channel.bind(OPEN, &seed.0);
        Ok(seed)
    }
}

/// Returns a commitment, which hides the bytes since they are uniform. The role prevents a side from returning the
/// other's commitment as its own.
fn commit(role: Role, bytes: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 seed commitment");
    hasher.update(&[role as u8]).update(bytes);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_core::error::Class;
    use vesica_net::transport::memory;

    use super::*;

    fn rng(seed: u64) -> StdRng {
        StdRng::seed_from_u64(seed)
    }

    #[test]
    fn both_sides_get_the_same_items() {
        let (a, b) = memory::pair();
        let other = std::thread::spawn(move || {
            Seed::agree(Role::B, &mut Channel::new(b), &mut rng(2)).unwrap()
        });
        let ours = Seed::agree(Role::A, &mut Channel::new(a), &mut rng(1)).unwrap();
        let theirs = other.join().unwrap();
        let digests: Vec<_> = (0..9001u32).map(|i| Digest::of(&i.to_le_bytes())).collect();
        let [short, long] = [DigestLength::Short, DigestLength::Long];
        let (set, again) = (ours.items(&digests, long), theirs.items(&digests, long));
        assert_eq!(set.items().low_halves(), again.items().low_halves());
        assert_eq!(set.items().high_halves(), again.items().high_halves());
        assert_eq!(ours.items(&digests, short).items().low_halves(), set.items().low_halves());
        assert!(ours.items(&digests, short).items().high_halves().is_empty());
        let image = *blake3::keyed_hash(&ours.0, digests[7].as_bytes()).as_bytes();
        let halves =
            [set.items().low_halves()[7], set.items().high_halves()[7]].map(Block::to_bytes);
        assert_eq!(halves.concat(), image);
        let others = Seed([0; 32]).items(&digests, short);
        assert_ne!(others.items().low_halves(), set.items().low_halves());
    }

    /// A resumed run, and a task that compares a partition of it, have the same items.
    #[test]
    fn a_seed_that_is_kept_gives_the_same_items() {
        let bytes: [u8; 32] = std::array::from_fn(|i| i as u8);
        let again = Seed::again(bytes, &mut Channel::new(memory::pair().0));
        assert_eq!((again.as_bytes(), Seed::of_run(bytes).as_bytes()), (&bytes, &bytes));
        let digests: Vec<_> = (0..100u32).map(|i| Digest::of(&i.to_le_bytes())).collect();
        let mut images = Vec::new();
        again.images(&digests, |_, image| images.push(*image));
        for taken in [DigestLength::Short, DigestLength::Long] {
            let [set, other] = [again.items(&digests, taken), Seed::items_of(&images, taken)];
            assert_eq!(set.items().low_halves(), other.items().low_halves());
            assert_eq!(set.items().high_halves(), other.items().high_halves());
        }
    }

    #[test]
    fn a_seed_chosen_late_is_caught() {
        let (a, b) = memory::pair();
        let cheat = std::thread::spawn(move || {
            let mut channel = Channel::new(b);
            let mut seen = [0; 32];
            channel.exchange(COMMIT, &commit(Role::B, &[1; 32]), &mut seen).unwrap();
            channel.exchange(OPEN, &[2; 32], &mut seen).unwrap();
        });
        let ended = Seed::agree(Role::A, &mut Channel::new(a), &mut rng(1)).err().unwrap();
        cheat.join().unwrap();
        assert_eq!(ended.class(), Class::Peer);
    }

    /// A side that returns the other's commitment, and then its opening, has committed to different bytes in its own
    /// role.
    #[test]
    fn a_mirrored_commitment_does_not_open() {
        assert_ne!(commit(Role::A, &[1; 32]), commit(Role::B, &[1; 32]));
    }
}
