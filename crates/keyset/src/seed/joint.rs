//! The seed of a run among several parties.
//!
//! Each party commits to 32 random bytes, and opens them only when it holds the commitments of all others. All derive
//! the *joint session* from the facts that they know, all commitments and all openings, and each two compare it, so
//! nobody can be led to another seed.

use rand::CryptoRng;
use vesica_core::error::Result;
use vesica_net::{Deviation, Mesh};

use super::{COMMIT, OPEN, Seed};

const SESSION: &str = "joint/session";

impl Seed {
    /// Draws a seed together with all other parties, whose sets are fixed. `facts` is a hash of everything that they
    /// agreed on before. Binds the session of each pair to it.
    ///
    /// # Errors
    /// A peer whose opening does not match its commitment, or that has seen others; and any error of a connection.
    pub fn agree_jointly(
        facts: &[u8; 32],
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut mine = [0; 32];
        rng.fill_bytes(&mut mine);
        let commitments = mesh.all(COMMIT, commit(mesh.me(), &mine))?;
        // From here on this party holds all commitments.
        let openings = mesh.all(OPEN, mine)?;
        let all = commitments.iter().zip(&openings).enumerate();
        let matches = all.map(|(party, (said, opened))| commit(party, opened) == *said);
        if let Some(party) = matches.into_iter().position(|is_match| !is_match) {
            let check = Deviation::CheckFailed { check: "seed commitment" };
            return Err(mesh.to(party).deviation(check).into());
        }
        let mut session = blake3::Hasher::new_derive_key("vesica 1 joint session");
        session.update(facts);
        for part in commitments.iter().chain(&openings) {
            session.update(part);
        }
        let session = *session.finalize().as_bytes();
        mesh.agree(SESSION, session, Deviation::CheckFailed { check: "joint session" })?;
        Ok(Self(blake3::derive_key("vesica 1 joint item seed", &session)))
    }

    /// Restores the seed of a run among several parties that is resumed, and binds the session of each pair to it.
    pub fn again_jointly(bytes: [u8; 32], mesh: &mut Mesh<'_>) -> Self {
        mesh.bind(SESSION, &bytes);
        Self(bytes)
    }
}

/// Returns a commitment, which hides the bytes since they are uniform. The number prevents a party from returning
/// another one's commitment as its own.
fn commit(party: usize, bytes: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 joint seed commitment");
    hasher.update(&(party as u64).to_le_bytes()).update(bytes);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_core::error::Class;
    use vesica_net::{Channel, transport::memory};

    use super::*;

    /// Runs three parties, each in a thread of its own.
    fn three<T: Send>(party: impl Fn(usize, &mut Mesh<'_>) -> T + Sync) -> Vec<T> {
        let mut ends: [Vec<Channel>; 3] = Default::default();
        for (left, right) in [(0, 1), (0, 2), (1, 2)] {
            let (one, other) = memory::pair();
            ends[left].push(Channel::new(one));
            ends[right].push(Channel::new(other));
        }
        let party = &party;
        std::thread::scope(|scope| {
            let started = ends.into_iter().enumerate().map(|(me, mut channels)| {
                scope.spawn(move || party(me, &mut Mesh::new(me, &mut channels)))
            });
            let started: Vec<_> = started.collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn honest(me: usize, mesh: &mut Mesh<'_>, facts: u8) -> Result<Seed> {
        Seed::agree_jointly(&[facts; 32], mesh, &mut StdRng::seed_from_u64(me as u64))
    }

    #[test]
    fn all_parties_get_the_same_seed() {
        let seeds = three(|me, mesh| *honest(me, mesh, 1).unwrap().as_bytes());
        assert!(seeds.iter().all(|seed| *seed == seeds[0]));
        let others = three(|me, mesh| *honest(me, mesh, 2).unwrap().as_bytes());
        assert_ne!(seeds[0], others[0]);
    }

    /// A party that shows the others different values is found by both: the one that looks at a wrong opening, or at
    /// another session.
    #[test]
    fn a_party_that_shows_two_values_is_caught() {
        let values = [[1; 32], [2; 32]];
        let ended = three(|me, mesh| {
            if me < 2 {
                return honest(me, mesh, 1).err().map(|error| error.class());
            }
            let mut seen = [0; 32];
            for (label, value) in [(COMMIT, values.map(|value| commit(2, &value))), (OPEN, values)]
            {
                for (party, value) in value.iter().enumerate() {
                    mesh.to(party).exchange(label, value, &mut seen).unwrap();
                }
            }
            // It cannot know both sessions; it returns to each what it says itself.
            for party in 0..2 {
                mesh.to(party).recv_into(SESSION, &mut seen).unwrap();
                mesh.to(party).send(SESSION, &seen).unwrap();
                mesh.to(party).flush().unwrap();
            }
            None
        });
        assert_eq!(ended, [Some(Class::Peer), Some(Class::Peer), None]);
    }

    #[test]
    fn parties_that_know_other_facts_are_refused() {
        let ended = three(|me, mesh| honest(me, mesh, u8::from(me == 1)).err().map(|e| e.class()));
        assert!(ended.iter().all(|class| *class == Some(Class::Peer)), "{ended:?}");
    }

    #[test]
    fn a_late_choice_does_not_open() {
        let ended = three(|me, mesh| {
            if me < 2 {
                return honest(me, mesh, 1).err().map(|error| error.class());
            }
            let mut seen = [0; 32];
            for (label, value) in [(COMMIT, commit(2, &[1; 32])), (OPEN, [2; 32])] {
                for party in 0..2 {
                    mesh.to(party).exchange(label, &value, &mut seen).unwrap();
                }
            }
            None
        });
        assert_eq!(ended, [Some(Class::Peer), Some(Class::Peer), None]);
    }
}
